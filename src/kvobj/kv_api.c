/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Exported functions of kvobj: check the arguments, call mci_. None takes the engine lock. */
#include "config.h"

#include "base/settings.h"
#include "kvobj/kv_far.h"
#include "kvobj/kvobj.h"

#include <stddef.h>
#include <string.h>
#include <sys/types.h>

static mcomm_err_t kv_bad(mcomm_kv_t handle)
{
    return mci_err_set(MCOMM_ERR_ARG, "kv = %p is not an open store", (void *)handle);
}

static inline mcomm_err_t kv_enter(mcomm_kv_t handle, struct mci_kv **kv_p)
{
    mcomm_err_t err = mci_check_init();

    if (KV_UNLIKELY(err != MCOMM_SUCCESS))
        return err;
    *kv_p = mci_handle_get(MCI_HANDLE_KV, handle);
    if (KV_UNLIKELY(*kv_p == NULL))
        return kv_bad(handle);
    if ((*kv_p)->has_far) {
        mci_kv_late_forget();
        mci_kv_orphans_settle(*kv_p);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t key_bad(const void *key, size_t key_nbytes)
{
    if (key_nbytes == 0)
        return mci_err_set(MCOMM_ERR_ARG, "key_nbytes = 0: keys have 1 to %u bytes", KV_KEY_MAX);
    if (key_nbytes > KV_KEY_MAX)
        return mci_err_set(MCOMM_ERR_TOO_LARGE,
                           "key_nbytes = %zu (%zd if it was negative): keys have 1 to %u bytes",
                           key_nbytes, (ssize_t)key_nbytes, KV_KEY_MAX);
    return mci_check_pointer("key", key);
}

static inline mcomm_err_t key_check(const void *key, size_t key_nbytes)
{
    return KV_LIKELY(key != NULL && key_nbytes - 1 < KV_KEY_MAX) ? MCOMM_SUCCESS
                                                                 : key_bad(key, key_nbytes);
}

static inline mcomm_err_t value_check(const char *name, const void *buf, size_t nbytes)
{
    return KV_LIKELY(buf != NULL && nbytes <= PTRDIFF_MAX) ? MCOMM_SUCCESS
                                                           : mci_check_buffer(name, buf, nbytes);
}

static inline mcomm_err_t kv_key_enter(mcomm_kv_t handle, const void *key, size_t key_nbytes,
                                       struct mci_kv **kv_p)
{
    mcomm_err_t err = kv_enter(handle, kv_p);

    return KV_LIKELY(err == MCOMM_SUCCESS) ? key_check(key, key_nbytes) : err;
}

static mcomm_err_t not_found(mcomm_err_t err, size_t key_nbytes)
{
    return err == MCOMM_ERR_NOT_FOUND
               ? mci_err_set(err, "no object with this key of %zu bytes", key_nbytes)
               : err;
}

/* ---- open, close ---- */
static mcomm_err_t open_attr(const mcomm_kv_attr_t *attr, mcomm_kv_attr_t *a)
{
    int64_t ms = 0;
    mcomm_err_t err;

    if (attr != NULL) {
        if (attr->struct_size < offsetof(mcomm_kv_attr_t, max_objects))
            return mci_err_set(MCOMM_ERR_ARG, "attr->struct_size = %zu is too small",
                               attr->struct_size);
        memcpy(a, attr, attr->struct_size < sizeof(*a) ? attr->struct_size : sizeof(*a));
    }
    err = mci_check_timeout("attr->put_timeout_ms", a->put_timeout_ms);
    if (err == MCOMM_SUCCESS)
        err = mci_settings_int(a->info, "kv_put_timeout", &ms);
    if (err == MCOMM_SUCCESS && a->capacity > KV_CAPACITY_MAX)
        err = mci_err_set(MCOMM_ERR_COUNT, "attr->capacity = %zu: at most %llu (4 TiB) a rank",
                          a->capacity, (unsigned long long)KV_CAPACITY_MAX);
    if (err == MCOMM_SUCCESS && a->max_objects >> 36 != 0)
        err = mci_err_set(MCOMM_ERR_COUNT, "attr->max_objects = %zu is too large", a->max_objects);
    return err;
}

mcomm_err_t mcomm_kv_open(mcomm_comm_t comm, const mcomm_kv_attr_t *attr, mcomm_kv_t *kv_p)
{
    mcomm_kv_attr_t a = MCOMM_KV_ATTR_DEFAULT;
    struct mci_comm *core_comm;
    struct mci_kv *kv;
    mcomm_err_t err = mci_comm_lookup("comm", comm, &core_comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_check_pointer("kv_p", kv_p);
    if (err == MCOMM_SUCCESS)
        err = open_attr(attr, &a);
    err = mci_kv_open(comm, err, &a, &kv); /* a bad argument is told: nobody waits in vain */
    if (err == MCOMM_SUCCESS)
        *kv_p = kv->handle;
    return err;
}

mcomm_err_t mcomm_kv_close(mcomm_kv_t *kv_p)
{
    struct mci_kv *kv;
    mcomm_err_t err = mci_check_pointer("kv_p", kv_p);

    if (err == MCOMM_SUCCESS)
        err = kv_enter(*kv_p, &kv);
    if (err != MCOMM_SUCCESS)
        return err;
    *kv_p = MCOMM_KV_NULL;
    return mci_kv_close(kv);
}

/* ---- single objects ---- */
static mcomm_err_t put_how(const struct mci_kv *kv, const mcomm_kv_put_attr_t *attr,
                           struct kv_put_how *how)
{
    mcomm_kv_put_attr_t a = MCOMM_KV_PUT_ATTR_DEFAULT;

    how->mode = MCOMM_KV_REPLACE;
    how->preferred = -1;
    if (attr == NULL)
        return MCOMM_SUCCESS;
    if (attr->struct_size < offsetof(mcomm_kv_put_attr_t, preferred_rank))
        return mci_err_set(MCOMM_ERR_ARG, "attr->struct_size = %zu is too small",
                           attr->struct_size);
    memcpy(&a, attr, attr->struct_size < sizeof(a) ? attr->struct_size : sizeof(a));
    if (a.mode > MCOMM_KV_EXCLUSIVE)
        return mci_err_set(MCOMM_ERR_ARG,
                           "attr->mode = %u: one of MCOMM_KV_REPLACE, IF_ABSENT, "
                           "EXCLUSIVE",
                           a.mode);
    if (a.preferred_rank < -1 || a.preferred_rank >= kv->size)
        return mci_err_set(MCOMM_ERR_RANK, "attr->preferred_rank = %d in a store of %d ranks",
                           a.preferred_rank, kv->size);
    how->mode = a.mode;
    how->preferred = a.preferred_rank;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_kv_put(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes,
                         const void *value, size_t nbytes, const mcomm_kv_put_attr_t *attr)
{
    struct mci_kv *kv;
    struct kv_key k;
    struct kv_put_how how;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = value_check("value", value, nbytes);
    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = put_how(kv, attr, &how);
    if (KV_UNLIKELY(err != MCOMM_SUCCESS))
        return err;
    k = kv_key_make(key, key_nbytes);
    return mci_kv_put(kv, &k, value, nbytes, how.mode, how.preferred);
}

mcomm_err_t mcomm_kv_get(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes, void **value_p,
                         size_t *nbytes_p)
{
    struct mci_kv *kv;
    struct kv_key k;
    void *value = NULL;
    size_t nbytes = 0;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("value_p", value_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("nbytes_p", nbytes_p);
    if (err != MCOMM_SUCCESS)
        return err;
    k = kv_key_make(key, key_nbytes);
    err = mci_kv_get(kv, &k, KV_WANT_ALLOC, &value, &nbytes);
    if (err != MCOMM_SUCCESS)
        return not_found(err, key_nbytes);
    *value_p = value;
    *nbytes_p = nbytes;
    return MCOMM_SUCCESS;
}

static mcomm_err_t get_into(struct mci_kv *kv, const struct kv_key *key, void *buf, size_t capacity,
                            size_t *nbytes_p)
{
    size_t nbytes = capacity;
    mcomm_err_t err = mci_kv_get(kv, key, KV_WANT_INTO, &buf, &nbytes);

    if (KV_LIKELY(err == MCOMM_SUCCESS)) {
        *nbytes_p = nbytes;
        return MCOMM_SUCCESS;
    }
    if (err == MCOMM_ERR_TRUNCATE) {
        *nbytes_p = nbytes;
        return mci_err_set(err, "the value has %zu bytes, capacity = %zu", nbytes, capacity);
    }
    return not_found(err, key->nbytes);
}

mcomm_err_t mcomm_kv_get_into(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes, void *buf,
                              size_t capacity, size_t *nbytes_p)
{
    struct mci_kv *kv;
    struct kv_key k;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = value_check("buf", buf, capacity);
    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = mci_check_pointer("nbytes_p", nbytes_p);
    if (KV_UNLIKELY(err != MCOMM_SUCCESS))
        return err;
    k = kv_key_make(key, key_nbytes);
    return get_into(kv, &k, buf, capacity, nbytes_p);
}

mcomm_err_t mcomm_kv_exists(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes, int *exists_p)
{
    struct mci_kv *kv;
    struct kv_key k;
    void *none = NULL;
    size_t nbytes;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("exists_p", exists_p);
    if (err != MCOMM_SUCCESS)
        return err;
    k = kv_key_make(key, key_nbytes);
    err = mci_kv_get(kv, &k, KV_WANT_SIZE, &none, &nbytes);
    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_NOT_FOUND)
        return err;
    *exists_p = err == MCOMM_SUCCESS;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_kv_size(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes,
                          size_t *nbytes_p)
{
    struct mci_kv *kv;
    struct kv_key k;
    void *none = NULL;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("nbytes_p", nbytes_p);
    if (err != MCOMM_SUCCESS)
        return err;
    k = kv_key_make(key, key_nbytes);
    return not_found(mci_kv_get(kv, &k, KV_WANT_SIZE, &none, nbytes_p), key_nbytes);
}

mcomm_err_t mcomm_kv_remove(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes)
{
    struct mci_kv *kv;
    struct kv_key k;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (err != MCOMM_SUCCESS)
        return err;
    k = kv_key_make(key, key_nbytes);
    return not_found(mci_kv_remove(kv, &k), key_nbytes);
}

mcomm_err_t mcomm_kv_acquire(mcomm_kv_t kv_handle, const void *key, size_t key_nbytes,
                             mcomm_kv_view_t *view_p)
{
    struct mci_kv *kv;
    struct kv_key k;
    mcomm_err_t err = kv_key_enter(kv_handle, key, key_nbytes, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("view_p", view_p);
    if (err != MCOMM_SUCCESS)
        return err;
    k = kv_key_make(key, key_nbytes);
    return not_found(mci_kv_acquire(kv, &k, view_p), key_nbytes);
}

mcomm_err_t mcomm_kv_release(mcomm_kv_t kv_handle, mcomm_kv_view_t *view_p)
{
    struct mci_kv *kv;
    mcomm_err_t err = kv_enter(kv_handle, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("view_p", view_p);
    if (err == MCOMM_SUCCESS && view_p->token == NULL)
        err = mci_err_set(MCOMM_ERR_STATE, "view_p->token is NULL: never acquired, or released "
                                           "already");
    return err == MCOMM_SUCCESS ? mci_kv_release(kv, view_p) : err;
}

/* ---- batches ---- */
/* The whole list is checked before anything is done; the first bad entry is named. */
static mcomm_err_t items_check(const mcomm_kv_item_t *items, size_t count, bool has_values)
{
    mcomm_err_t err = mci_check_count("count", count, sizeof(*items));

    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_pointer("items", items);
    for (size_t i = 0; i < count && err == MCOMM_SUCCESS; i++) {
        const char *what;

        err = key_check(items[i].key, items[i].key_nbytes);
        if (err == MCOMM_SUCCESS && has_values)
            err = value_check("buf", items[i].buf, items[i].nbytes);
        if (err == MCOMM_SUCCESS)
            continue;
        what = mcomm_last_error();
        return mci_err_set(err, "items[%zu]: %.200s", i, what);
    }
    return err;
}

static mcomm_err_t items_enter(mcomm_kv_t handle, const mcomm_kv_item_t *items, size_t count,
                               bool has_values, struct mci_kv **kv_p)
{
    mcomm_err_t err = kv_enter(handle, kv_p);

    return err == MCOMM_SUCCESS ? items_check(items, count, has_values) : err;
}

static mcomm_err_t item_put(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_item_t *item,
                            const void *arg)
{
    const struct kv_put_how *how = arg;

    return mci_kv_put(kv, key, item->buf, item->nbytes, how->mode, how->preferred);
}

static mcomm_err_t item_get(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_item_t *item,
                            const void *arg)
{
    (void)arg;
    return get_into(kv, key, item->buf, item->nbytes, &item->nbytes);
}

static mcomm_err_t item_exists(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_item_t *item,
                               const void *arg)
{
    void *none = NULL;

    (void)arg;
    return mci_kv_get(kv, key, KV_WANT_SIZE, &none, &item->nbytes);
}

static mcomm_err_t item_remove(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_item_t *item,
                               const void *arg)
{
    (void)arg;
    (void)item;
    return not_found(mci_kv_remove(kv, key), key->nbytes);
}

/* The text of the first error of a batch. */
static mcomm_err_t items_explain(mcomm_err_t err, const mcomm_kv_item_t *items, size_t count)
{
    size_t i = 0;

    while (i < count && items[i].error == MCOMM_SUCCESS)
        i++;
    if (err == MCOMM_ERR_NOT_FOUND && i < count)
        return not_found(err, items[i].key_nbytes);
    if (err == MCOMM_ERR_TRUNCATE && i < count)
        return mci_err_set(err, "items[%zu]: the value has %zu bytes", i, items[i].nbytes);
    return err;
}

mcomm_err_t mcomm_kv_put_batch(mcomm_kv_t kv_handle, mcomm_kv_item_t *items, size_t count,
                               const mcomm_kv_put_attr_t *attr)
{
    struct mci_kv *kv;
    struct kv_put_how how;
    mcomm_err_t err = items_enter(kv_handle, items, count, true, &kv);

    if (err == MCOMM_SUCCESS)
        err = put_how(kv, attr, &how);
    if (err != MCOMM_SUCCESS)
        return err;
    return kv->has_far ? mci_kv_group_put(kv, items, count, &how)
                       : mci_kv_each(kv, items, count, item_put, &how);
}

mcomm_err_t mcomm_kv_get_batch(mcomm_kv_t kv_handle, mcomm_kv_item_t *items, size_t count)
{
    struct mci_kv *kv;
    mcomm_err_t err = items_enter(kv_handle, items, count, true, &kv);

    if (err != MCOMM_SUCCESS)
        return err;
    if (!kv->has_far)
        return mci_kv_each(kv, items, count, item_get, NULL);
    return items_explain(mci_kv_group_get(kv, items, count, KV_WANT_INTO), items, count);
}

mcomm_err_t mcomm_kv_exists_batch(mcomm_kv_t kv_handle, mcomm_kv_item_t *items, size_t count)
{
    struct mci_kv *kv;
    mcomm_err_t err = items_enter(kv_handle, items, count, false, &kv);

    if (err != MCOMM_SUCCESS)
        return err;
    if (kv->has_far)
        (void)mci_kv_group_get(kv, items, count, KV_WANT_SIZE);
    else
        (void)mci_kv_each(kv, items, count, item_exists, NULL);
    for (size_t i = 0; i < count; i++) /* absence is an answer */
        if (items[i].error != MCOMM_SUCCESS && items[i].error != MCOMM_ERR_NOT_FOUND)
            return items[i].error;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_kv_remove_batch(mcomm_kv_t kv_handle, mcomm_kv_item_t *items, size_t count)
{
    struct mci_kv *kv;
    mcomm_err_t err = items_enter(kv_handle, items, count, false, &kv);

    if (err != MCOMM_SUCCESS)
        return err;
    if (!kv->has_far)
        return mci_kv_each(kv, items, count, item_remove, NULL);
    return items_explain(mci_kv_group_remove(kv, items, count), items, count);
}

mcomm_err_t mcomm_kv_stats(mcomm_kv_t kv_handle, mcomm_kv_stats_t *stats_p)
{
    mcomm_kv_stats_t stats;
    struct mci_kv *kv;
    size_t struct_size;
    mcomm_err_t err = kv_enter(kv_handle, &kv);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("stats_p", stats_p);
    if (err == MCOMM_SUCCESS && stats_p->struct_size < 2 * sizeof(size_t))
        err = mci_err_set(MCOMM_ERR_ARG,
                          "stats_p->struct_size = %zu: set it to the sizeof of the "
                          "struct",
                          stats_p->struct_size);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_get_stats(kv, &stats);
    if (err != MCOMM_SUCCESS)
        return err;
    struct_size = stats_p->struct_size;
    stats.struct_size = struct_size;
    memcpy(stats_p, &stats, struct_size < sizeof(stats) ? struct_size : sizeof(stats));
    return MCOMM_SUCCESS;
}
