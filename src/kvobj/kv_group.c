/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Batches in a store with parts on other nodes: groups of keys take each step together. What a
 * group could not do at once (races, full memory, deaths) is done key by key afterwards, so every
 * entry has its own end. Equal keys are never in one group of changes: the last one stays.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

#define SEEN 512u /* slots for the hashes of a group, a power of two */

struct group_put {
    struct kv_writing wr;
    size_t item;
};

struct group {
    struct kv_fetch fetches[KV_FAR_GROUP];
    struct kv_change changes[KV_FAR_GROUP];
    struct group_put puts[KV_FAR_GROUP];
    uint16_t seen[SEEN]; /* 1 + index of a key, 0: none */
};

static mcomm_err_t group_new(struct group **group_p, mcomm_kv_item_t *items, size_t count)
{
    *group_p = mci_mem_alloc(sizeof(**group_p));
    if (*group_p != NULL)
        return MCOMM_SUCCESS;
    for (size_t i = 0; i < count; i++)
        items[i].error = MCOMM_ERR_NO_MEM;
    return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a batch");
}

static mcomm_err_t first_error(mcomm_err_t first, const mcomm_kv_item_t *items, size_t count)
{
    for (size_t i = 0; i < count && first == MCOMM_SUCCESS; i++)
        first = items[i].error;
    return first;
}

/* ---- get, exists ---- */
static void gets_run(struct mci_kv *kv, struct group *group, mcomm_kv_item_t *items, size_t count,
                     enum kv_want want)
{
    for (size_t i = 0; i < count; i++)
        group->fetches[i] = (struct kv_fetch){.key = kv_key_make(items[i].key, items[i].key_nbytes),
                                              .want = want,
                                              .buf = items[i].buf,
                                              .room = items[i].nbytes};
    mci_kv_far_fetch(kv, group->fetches, count);
    for (size_t i = 0; i < count; i++) {
        struct kv_fetch *f = &group->fetches[i];
        void *buf = items[i].buf;

        items[i].error = f->err;
        if (f->err == MCOMM_ERR_TRY_AGAIN) {
            kv_count_up(&kv->stat.retries);
            items[i].error = mci_kv_get(kv, &f->key, want, &buf, &items[i].nbytes);
            continue;
        }
        if (f->err == MCOMM_SUCCESS || f->err == MCOMM_ERR_TRUNCATE)
            items[i].nbytes = f->nbytes;
        if (want == KV_WANT_SIZE)
            continue;
        kv_count_up(&kv->stat.gets);
        if (f->err == MCOMM_ERR_NOT_FOUND)
            kv_count_up(&kv->stat.misses);
    }
}

mcomm_err_t mci_kv_group_get(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                             enum kv_want want)
{
    struct group *group;
    mcomm_err_t err = group_new(&group, items, count);

    for (size_t done = 0, n; done < count && group != NULL; done += n) {
        n = count - done < KV_FAR_GROUP ? count - done : KV_FAR_GROUP;
        gets_run(kv, group, items + done, n, want);
        err = first_error(err, items + done, n);
    }
    mci_mem_free(group);
    return err;
}

/* ---- changes ---- */
/* false: an equal key is in the group already. */
static bool key_note(struct group *group, const struct kv_key *key, size_t index)
{
    size_t slot = key->hash.lo % SEEN;

    for (; group->seen[slot] != 0; slot = (slot + 1) % SEEN) {
        const struct mci_hash128 *hash = &group->changes[group->seen[slot] - 1].key.hash;

        if (hash->lo == key->hash.lo && hash->hi == key->hash.hi)
            return false;
    }
    group->seen[slot] = (uint16_t)(index + 1);
    return true;
}

static size_t removes_run(struct mci_kv *kv, struct group *group, mcomm_kv_item_t *items,
                          size_t count)
{
    struct kv_waiter w;
    size_t n;

    memset(group->seen, 0, sizeof(group->seen));
    mci_kv_wait_begin(&w, KV_PATIENCE_MS);
    for (n = 0; n < count && n < KV_FAR_GROUP; n++) {
        struct kv_key key = kv_key_make(items[n].key, items[n].key_nbytes);

        if (!key_note(group, &key, n))
            break;
        group->changes[n] = (struct kv_change){.key = key};
    }
    mci_kv_changes_apply(kv, group->changes, n, &w);
    for (size_t i = 0; i < n; i++) {
        items[i].error = group->changes[i].err;
        if (items[i].error == MCOMM_ERR_TRY_AGAIN)
            items[i].error = mci_kv_remove(kv, &group->changes[i].key);
    }
    return n;
}

mcomm_err_t mci_kv_group_remove(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count)
{
    struct group *group;
    mcomm_err_t err = group_new(&group, items, count);

    for (size_t done = 0, n; done < count && group != NULL; done += n) {
        n = removes_run(kv, group, items + done, count - done);
        err = first_error(err, items + done, n);
    }
    mci_mem_free(group);
    return err;
}

/* ---- put ---- */
/* Records that are not yet to be seen keep their slabs from being cleaned: not too many. */
static uint64_t bytes_max(const struct mci_kv *kv)
{
    uint64_t share =
        atomic_load_explicit(&kv->pool_nbytes, memory_order_relaxed) / (8 * (uint64_t)kv->size);

    return share < 8u << 20 ? share : 8u << 20;
}

/* TRY_AGAIN: not in this group. */
static mcomm_err_t put_begin(struct mci_kv *kv, struct group_put *put, struct kv_change *c,
                             const struct kv_key *key, const mcomm_kv_item_t *item,
                             const struct kv_put_how *how, uint64_t *left)
{
    uint64_t need = kv_body_at(KV_INLINE, key->nbytes, item->nbytes) + item->nbytes;
    struct kv_waiter w;
    mcomm_err_t err;

    mci_kv_writing_begin(&put->wr);
    if (need > *left || !mci_kv_is_small(kv, how->preferred, need))
        return MCOMM_ERR_TRY_AGAIN;
    put->wr.obj.rec = mci_kv_rec_start(key, KV_INLINE, item->nbytes);
    mci_kv_wait_begin(&w, 0);
    err = mci_kv_record_write(kv, &put->wr, key, item->buf, item->nbytes, how->preferred, true, &w);
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_TIMEOUT ? err : MCOMM_ERR_TRY_AGAIN;
    *left -= need;
    *c = (struct kv_change){.key = *key, .wr = &put->wr, .mode = how->mode};
    return MCOMM_SUCCESS;
}

static void put_finish(struct mci_kv *kv, struct group *group, size_t k, mcomm_kv_item_t *item,
                       const struct kv_put_how *how)
{
    struct group_put *put = &group->puts[k];
    const struct kv_change *c = &group->changes[k];

    item->error = c->err;
    if (c->is_published)
        put->wr.state = KV_WRITING_PUBLISHED;
    if (c->err == MCOMM_ERR_TRY_AGAIN) {
        item->error = mci_kv_put_written(kv, &put->wr, &c->key, item->buf, item->nbytes, how->mode,
                                         how->preferred);
        return;
    }
    if (c->err == MCOMM_ERR_EXISTS)
        item->error = mci_kv_put_exists(&c->key, how->mode);
    mci_kv_writing_end(kv, &put->wr);
    kv_count_up(&kv->stat.puts);
}

/* Those that exist need not be written. Sets the errors of these, SUCCESS otherwise. */
static void puts_probe(struct mci_kv *kv, struct group *group, mcomm_kv_item_t *items, size_t count,
                       const struct kv_put_how *how)
{
    for (size_t i = 0; i < count; i++)
        group->fetches[i] = (struct kv_fetch){.key = kv_key_make(items[i].key, items[i].key_nbytes),
                                              .want = KV_WANT_SIZE,
                                              .err = MCOMM_ERR_NOT_FOUND};
    if (how->mode != MCOMM_KV_REPLACE)
        mci_kv_far_fetch(kv, group->fetches, count);
}

/* Its home has been waited for in vain. */
static bool is_home_late(const struct mci_kv *kv, const struct kv_key *key)
{
    int home = kv_home(kv, key->hash);

    return home != KV_NO_HOME && mci_kv_is_late(home);
}

/* Returns how many items are done. */
static size_t puts_run(struct mci_kv *kv, struct group *group, mcomm_kv_item_t *items, size_t count,
                       const struct kv_put_how *how)
{
    uint64_t left = bytes_max(kv);
    size_t n = 0, i;
    struct kv_waiter w;

    count = count < KV_FAR_GROUP ? count : KV_FAR_GROUP;
    memset(group->seen, 0, sizeof(group->seen));
    puts_probe(kv, group, items, count, how);
    for (i = 0; i < count; i++) {
        const struct kv_key *key = &group->fetches[i].key;
        mcomm_err_t err = group->fetches[i].err;

        if (err == MCOMM_SUCCESS)
            err = mci_kv_put_exists(key, how->mode);
        else if (err == MCOMM_ERR_TIMEOUT || is_home_late(kv, key))
            err = MCOMM_ERR_TIMEOUT;
        else
            err = MCOMM_ERR_NOT_FOUND;
        if (err != MCOMM_ERR_NOT_FOUND) {
            items[i].error = err;
            kv_count_up(&kv->stat.puts);
            continue;
        }
        err = put_begin(kv, &group->puts[n], &group->changes[n], key, &items[i], how, &left);
        if (err != MCOMM_SUCCESS)
            break;
        if (!key_note(group, key, n)) {
            mci_kv_writing_end(kv, &group->puts[n].wr);
            break;
        }
        group->puts[n++].item = i;
    }
    mci_kv_wait_begin(&w, kv->put_timeout_ms);
    mci_kv_changes_apply(kv, group->changes, n, &w);
    for (size_t k = 0; k < n; k++)
        put_finish(kv, group, k, &items[group->puts[k].item], how);
    if (i > 0)
        return i;
    items[0].error = mci_kv_put(kv, &group->fetches[0].key, items[0].buf, items[0].nbytes,
                                how->mode, how->preferred);
    return 1;
}

mcomm_err_t mci_kv_group_put(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                             const struct kv_put_how *how)
{
    struct group *group;
    mcomm_err_t err = group_new(&group, items, count);

    for (size_t done = 0, n; done < count && group != NULL; done += n) {
        n = puts_run(kv, group, items + done, count - done, how);
        err = first_error(err, items + done, n);
    }
    mci_mem_free(group);
    return err;
}
