/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Records as they lie in slabs, read with suspicion: a slab may be cleaned and filled again at any
 * time, so whatever comes out of a header is checked against the slab before it is used as a size.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#include <string.h>

uint32_t mci_kv_rec_check(const struct kv_rec *rec)
{
    uint64_t x = rec->gen * UINT64_C(0x9e3779b97f4a7c15) + KV_MAGIC;

    x = (x ^ x >> 29 ^ rec->nbytes) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 32 ^ rec->value_nbytes) * UINT64_C(0x94d049bb133111eb);
    x = (x ^ x >> 31 ^ rec->lo) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29 ^ rec->hi) * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= rec->origin ^ (uint64_t)rec->kind << 48 ^ (uint64_t)rec->key_nbytes << 32 ^
         rec->extent_count;
    return (uint32_t)(x ^ x >> 32);
}

bool mci_kv_rec_is_valid(const struct kv_rec *rec, uint64_t room)
{
    uint64_t body;

    if (rec->magic != KV_MAGIC || rec->nbytes > room || rec->nbytes < sizeof(*rec) ||
        rec->nbytes % KV_UNIT != 0 || rec->check != mci_kv_rec_check(rec))
        return false;
    body = kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes);
    if (rec->kind == KV_SPREAD)
        return rec->nbytes >= body + sizeof(struct kv_extent) * rec->extent_count;
    return (rec->kind == KV_INLINE || rec->kind == KV_EXTENT) && body <= rec->nbytes &&
           rec->value_nbytes <= rec->nbytes - body;
}

mcomm_err_t mci_kv_object_read(struct mci_kv *kv, uint64_t loc, struct kv_object *obj)
{
    const struct kv_part *part;
    mcomm_err_t err;

    obj->extents = NULL;
    obj->rank = kv_loc_rank(loc);
    obj->at = kv_loc_offset(loc);
    if (obj->rank >= kv->size || kv_is_dead(kv, obj->rank))
        return MCOMM_ERR_NOT_FOUND;
    part = &kv->parts[obj->rank];
    if (obj->at >= part->data_nbytes) /* a multiple of the slabs' size, or 0 */
        return MCOMM_ERR_NOT_FOUND;
    obj->slab = kv_slab_of(part, obj->at);
    err = mci_kv_read(kv, obj->rank, KV_DATA, obj->at, &obj->rec, sizeof(obj->rec));
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : err;
    if (!mci_kv_rec_is_valid(&obj->rec, part->slab_nbytes - (obj->at & (part->slab_nbytes - 1))) ||
        !kv_loc_is_gen(loc, obj->rec.gen))
        return MCOMM_ERR_NOT_FOUND;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_kv_object_extents(struct mci_kv *kv, struct kv_object *obj)
{
    const struct kv_rec *rec = &obj->rec;
    size_t nbytes = sizeof(struct kv_extent) * rec->extent_count;
    mcomm_err_t err;

    if (rec->kind != KV_SPREAD)
        return MCOMM_SUCCESS;
    obj->extents = mci_mem_alloc(nbytes);
    if (obj->extents == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a list of %u extents",
                           rec->extent_count);
    err = mci_kv_read(kv, obj->rank, KV_DATA,
                      obj->at + kv_body_at(KV_SPREAD, rec->key_nbytes, rec->value_nbytes),
                      obj->extents, nbytes);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_slab_check(kv, obj->rank, obj->slab, rec->gen);
    if (err == MCOMM_SUCCESS)
        return MCOMM_SUCCESS;
    mci_kv_object_free(obj);
    return err == MCOMM_ERR_TRY_AGAIN || err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : err;
}

mcomm_err_t mci_kv_object_at(struct mci_kv *kv, struct mci_hash128 hash, const struct kv_spot *spot,
                             struct kv_object *obj, bool *is_lost_p)
{
    mcomm_err_t err;

    obj->extents = NULL;
    *is_lost_p = kv_is_dead(kv, kv_loc_rank(spot->loc));
    if (*is_lost_p)
        return MCOMM_SUCCESS;
    err = mci_kv_object_read(kv, spot->loc, obj);
    if (err == MCOMM_SUCCESS &&
        (obj->rec.lo != hash.lo || obj->rec.hi != hash.hi || obj->rec.kind == KV_EXTENT))
        err = MCOMM_ERR_NOT_FOUND;
    if (err == MCOMM_SUCCESS)
        err = mci_kv_object_extents(kv, obj);
    if (err != MCOMM_ERR_NOT_FOUND)
        return err;
    err = mci_kv_dir_confirm(kv, hash, spot);
    *is_lost_p = err == MCOMM_SUCCESS; /* what was there went with a rank that died */
    return err;
}

void mci_kv_object_free(struct kv_object *obj)
{
    mci_mem_free(obj->extents);
    obj->extents = NULL;
}

mcomm_err_t mci_kv_extent_count(struct mci_kv *kv, int rank, uint64_t at, uint64_t rec_nbytes,
                                int sign)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t delta = sign > 0 ? rec_nbytes : -rec_nbytes;

    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    return mci_kv_add(kv, rank, kv_count_at(part, kv_slab_of(part, at)), &delta, 1);
}

mcomm_err_t mci_kv_object_count(struct mci_kv *kv, const struct kv_object *obj, int sign)
{
    uint64_t s = (uint64_t)(int64_t)sign;
    uint64_t deltas[3] = {obj->rec.nbytes * s, obj->rec.value_nbytes * s, s};
    mcomm_err_t err = MCOMM_ERR_PROC_FAILED, one;

    if (!kv_is_dead(kv, obj->rank))
        err = mci_kv_add(kv, obj->rank, kv_count_at(&kv->parts[obj->rank], obj->slab), deltas, 3);
    for (uint32_t i = 0; obj->extents != NULL && i < obj->rec.extent_count; i++) {
        const struct kv_extent *e = &obj->extents[i];

        one = mci_kv_extent_count(kv, kv_loc_rank(e->place), kv_loc_offset(e->place),
                                  kv_round(sizeof(struct kv_rec) + e->nbytes), sign);
        err = err == MCOMM_SUCCESS ? one : err;
    }
    return err;
}
