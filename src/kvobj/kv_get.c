/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reading. Directory word, header and key (of the generation that the word names, so the record
 * was the key's value at that moment), the bytes, the slab's generation (so they were its bytes to
 * the last). No lock, no system call, no memory on the way of a value whose parts are mapped. A
 * value replaced while it is read is still a good answer; one cleaned away is looked up again.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <stddef.h>
#include <string.h>

void mci_kv_hit_count(struct mci_kv *kv, int rank)
{
    if (rank == kv->rank)
        kv_count_up(&kv->stat.hits_local);
    else if (kv->parts[rank].node == kv->parts[kv->rank].node)
        kv_count_up(&kv->stat.hits_node);
    else
        kv_count_up(&kv->stat.hits_remote);
}

static mcomm_err_t key_compare(struct mci_kv *kv, const struct kv_object *obj,
                               const struct kv_key *key, bool *is_equal_p)
{
    const char *base = kv->parts[obj->rank].area[KV_DATA];
    uint64_t at = obj->at + sizeof(obj->rec);
    char copy[KV_KEY_MAX];
    mcomm_err_t err = MCOMM_SUCCESS;

    *is_equal_p = false;
    if (obj->rec.key_nbytes != key->nbytes || obj->rec.lo != key->hash.lo ||
        obj->rec.hi != key->hash.hi || obj->rec.kind == KV_EXTENT)
        return MCOMM_SUCCESS;
    if (KV_LIKELY(base != NULL)) {
        *is_equal_p = mci_kv_equal_racy(base + at, key->ptr, key->nbytes);
        return MCOMM_SUCCESS;
    }
    err = mci_kv_read(kv, obj->rank, KV_DATA, at, copy, key->nbytes);
    *is_equal_p = err == MCOMM_SUCCESS && memcmp(copy, key->ptr, key->nbytes) == 0;
    return err;
}

mcomm_err_t mci_kv_record_find(struct mci_kv *kv, const struct kv_key *key, uint64_t loc,
                               struct kv_object *obj)
{
    bool is_equal = false;
    mcomm_err_t err = mci_kv_object_read(kv, loc, obj);

    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = key_compare(kv, obj, key, &is_equal);
    if (KV_UNLIKELY(err != MCOMM_SUCCESS))
        return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : err;
    return KV_LIKELY(is_equal) ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND;
}

/* What is at spot, if it is key's. The entry named this one record, so it was the key's then. */
mcomm_err_t mci_kv_lookup_at(struct mci_kv *kv, const struct kv_key *key,
                             const struct kv_spot *spot, struct kv_object *obj)
{
    uint64_t loc;
    mcomm_err_t err = mci_kv_record_find(kv, key, spot->loc, obj);

    if (KV_LIKELY(err != MCOMM_ERR_NOT_FOUND))
        return err;
    if (kv_loc_rank(spot->loc) < kv->size && kv_is_dead(kv, kv_loc_rank(spot->loc)))
        return err;
    kv_fence_acquire();
    err = mci_kv_dir_reload(kv, spot, &loc);
    return err != MCOMM_SUCCESS || loc != spot->loc ? MCOMM_ERR_TRY_AGAIN : MCOMM_ERR_NOT_FOUND;
}

static mcomm_err_t piece_read(struct mci_kv *kv, int rank, uint64_t at, void *buf, uint64_t nbytes,
                              uint64_t gen)
{
    const struct kv_part *part;
    mcomm_err_t err;

    if (rank >= kv->size || kv_is_dead(kv, rank))
        return MCOMM_ERR_NOT_FOUND;
    part = &kv->parts[rank];
    if (at > part->data_nbytes || nbytes > part->data_nbytes - at)
        return MCOMM_ERR_TRY_AGAIN;
    err = mci_kv_read(kv, rank, KV_DATA, at, buf, nbytes);
    if (KV_LIKELY(err == MCOMM_SUCCESS))
        err = mci_kv_slab_check(kv, rank, kv_slab_of(part, at), gen);
    return KV_UNLIKELY(err == MCOMM_ERR_PROC_FAILED) ? MCOMM_ERR_NOT_FOUND : err;
}

static mcomm_err_t spread_read(struct mci_kv *kv, struct kv_object *obj, char *buf)
{
    uint64_t done = 0;
    mcomm_err_t err = mci_kv_object_extents(kv, obj);

    if (err == MCOMM_ERR_NOT_FOUND)
        return MCOMM_ERR_TRY_AGAIN;
    for (uint32_t i = 0; i < obj->rec.extent_count && err == MCOMM_SUCCESS; i++) {
        const struct kv_extent *e = &obj->extents[i];

        if (!kv_loc_is_value(e->place) || e->nbytes > obj->rec.value_nbytes - done)
            err = MCOMM_ERR_TRY_AGAIN;
        else
            err = piece_read(kv, kv_loc_rank(e->place),
                             kv_loc_offset(e->place) + sizeof(struct kv_rec), buf + done, e->nbytes,
                             e->gen);
        done += e->nbytes;
    }
    mci_kv_object_free(obj);
    return err == MCOMM_SUCCESS && done != obj->rec.value_nbytes ? MCOMM_ERR_TRY_AGAIN : err;
}

mcomm_err_t mci_kv_value_read(struct mci_kv *kv, struct kv_object *obj, void *buf)
{
    const struct kv_rec *rec = &obj->rec;

    if (KV_UNLIKELY(rec->kind == KV_SPREAD))
        return spread_read(kv, obj, buf);
    return piece_read(kv, obj->rank,
                      obj->at + kv_body_at(KV_INLINE, rec->key_nbytes, rec->value_nbytes), buf,
                      rec->value_nbytes, rec->gen);
}

void mci_kv_use(struct mci_kv *kv, const struct kv_spot *spot, int rank)
{
    uint64_t tick;

    if (mci_kv_load(kv, rank, offsetof(struct kv_head, tick), &tick) == MCOMM_SUCCESS)
        mci_kv_dir_touch(kv, spot, tick + 1);
    mci_kv_hit_count(kv, rank);
}

/* TRY_AGAIN: it moved away; whatever is in the buffer is nothing. */
mcomm_err_t mci_kv_get_at(struct mci_kv *kv, const struct kv_key *key, const struct kv_spot *spot,
                          enum kv_want want, void **buf_p, size_t room, size_t *nbytes_p)
{
    struct kv_object obj;
    void *buf = *buf_p;
    mcomm_err_t err = mci_kv_lookup_at(kv, key, spot, &obj);

    if (err != MCOMM_SUCCESS)
        return err;
    if (want == KV_WANT_SIZE || (want == KV_WANT_INTO && obj.rec.value_nbytes > room)) {
        *nbytes_p = obj.rec.value_nbytes;
        return want == KV_WANT_SIZE ? MCOMM_SUCCESS : MCOMM_ERR_TRUNCATE;
    }
    if (want == KV_WANT_ALLOC) {
        buf = mci_mem_alloc(obj.rec.value_nbytes);
        if (buf == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a value of %llu bytes",
                               (unsigned long long)obj.rec.value_nbytes);
    }
    err = mci_kv_value_read(kv, &obj, buf);
    if (KV_LIKELY(err == MCOMM_SUCCESS)) {
        mci_kv_use(kv, spot, obj.rank);
        *nbytes_p = obj.rec.value_nbytes;
        *buf_p = buf;
    } else if (want == KV_WANT_ALLOC) {
        mci_mem_free(buf);
    }
    return err;
}

__attribute__((noinline)) static mcomm_err_t get_far(struct mci_kv *kv, const struct kv_key *key,
                                                     enum kv_want want, void **buf_p, size_t room,
                                                     size_t *nbytes_p)
{
    struct kv_fetch f = {.key = *key, .want = want, .buf = *buf_p, .room = room};

    mci_kv_far_fetch(kv, &f, 1);
    if (f.err == MCOMM_SUCCESS || f.err == MCOMM_ERR_TRUNCATE)
        *nbytes_p = f.nbytes;
    if (f.err == MCOMM_SUCCESS)
        *buf_p = f.buf;
    return f.err;
}

static mcomm_err_t get_once(struct mci_kv *kv, const struct kv_key *key, enum kv_want want,
                            void **buf_p, size_t room, size_t *nbytes_p)
{
    struct kv_spot spot;
    mcomm_err_t err;

    if (KV_UNLIKELY(kv_is_home_far(kv, key->hash)))
        return get_far(kv, key, want, buf_p, room, nbytes_p);
    err = mci_kv_dir_find(kv, key->hash, &spot);
    if (err != MCOMM_SUCCESS)
        return err;
    if (KV_UNLIKELY(kv_loc_rank(spot.loc) < kv->size && !kv_is_mapped(kv, kv_loc_rank(spot.loc))))
        return get_far(kv, key, want, buf_p, room, nbytes_p);
    return mci_kv_get_at(kv, key, &spot, want, buf_p, room, nbytes_p);
}

mcomm_err_t mci_kv_get(struct mci_kv *kv, const struct kv_key *key, enum kv_want want, void **buf_p,
                       size_t *nbytes_p)
{
    size_t room = want == KV_WANT_INTO ? *nbytes_p : 0;
    mcomm_err_t err = get_once(kv, key, want, buf_p, room, nbytes_p);

    if (KV_UNLIKELY(err == MCOMM_ERR_TRY_AGAIN)) {
        struct kv_waiter w;

        mci_kv_wait_begin(&w, KV_PATIENCE_MS);
        do {
            kv_count_up(&kv->stat.retries);
            err = get_once(kv, key, want, buf_p, room, nbytes_p);
        } while (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(&w) == MCOMM_SUCCESS);
        if (err == MCOMM_ERR_TRY_AGAIN)
            err = mci_err_set(MCOMM_ERR_TIMEOUT,
                              "the object was moved again and again for %d ms while it was read",
                              KV_PATIENCE_MS);
    }
    if (want == KV_WANT_SIZE)
        return err;
    kv_count_up(&kv->stat.gets);
    if (err == MCOMM_ERR_NOT_FOUND)
        kv_count_up(&kv->stat.misses);
    return err;
}
