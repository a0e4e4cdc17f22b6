/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reading an object on another node in four round trips: the bucket (done before), the record as
 * far as the entry's hint says, the directory word, and together the slab's word and the tick.
 * Unchanged words say that all of it was the key's value. Large values go straight into the
 * reader's buffer.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#include <stddef.h>
#include <string.h>

#define FIRST_MAX 32768u /* bytes of a record read at once, to be copied */

struct far_get {
    struct mci_kv *kv;
    const struct kv_key *key;
    const struct kv_spot *spot;
    struct kv_object obj;
    char *first; /* of the record */
    uint64_t first_nbytes;
};

/* Header and key, and a small value with them. NOT_FOUND: what is there is not the key's. */
static mcomm_err_t first_read(struct far_get *g)
{
    struct mci_kv *kv = g->kv;
    struct kv_object *obj = &g->obj;
    const struct kv_part *part;
    uint64_t to_end;
    mcomm_err_t err;

    obj->extents = NULL;
    obj->rank = kv_loc_rank(g->spot->loc);
    obj->at = kv_loc_offset(g->spot->loc);
    part = &kv->parts[obj->rank];
    if (kv_is_dead(kv, obj->rank) || obj->at >= part->data_nbytes)
        return MCOMM_ERR_NOT_FOUND;
    obj->slab = kv_slab_of(part, obj->at);
    to_end = part->slab_nbytes - (obj->at & (part->slab_nbytes - 1));
    g->first_nbytes = g->spot->hint < FIRST_MAX ? g->spot->hint : 0;
    if (g->first_nbytes < sizeof(obj->rec) + g->key->nbytes)
        g->first_nbytes = sizeof(obj->rec) + g->key->nbytes;
    if (g->first_nbytes > to_end)
        g->first_nbytes = to_end;
    err = mci_kv_read(kv, obj->rank, KV_DATA, obj->at, g->first, g->first_nbytes);
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : err;
    memcpy(&obj->rec, g->first, sizeof(obj->rec));
    if (!mci_kv_rec_is_valid(&obj->rec, to_end) || obj->rec.kind == KV_EXTENT ||
        obj->rec.key_nbytes != g->key->nbytes ||
        g->first_nbytes < sizeof(obj->rec) + g->key->nbytes ||
        memcmp(g->first + sizeof(obj->rec), g->key->ptr, g->key->nbytes) != 0)
        return MCOMM_ERR_NOT_FOUND;
    return MCOMM_SUCCESS;
}

static mcomm_err_t value_take(struct far_get *g, void *buf)
{
    const struct kv_rec *rec = &g->obj.rec;
    uint64_t body_at = kv_body_at(KV_INLINE, rec->key_nbytes, rec->value_nbytes);

    if (rec->kind != KV_INLINE || body_at + rec->value_nbytes > g->first_nbytes)
        return mci_kv_value_read(g->kv, &g->obj, buf);
    if (rec->value_nbytes > 0)
        memcpy(buf, g->first + body_at, rec->value_nbytes);
    return MCOMM_SUCCESS;
}

/* Was it the key's value, and are the bytes its own? found: as first_read() said */
static mcomm_err_t far_confirm(struct far_get *g, mcomm_err_t found, bool is_use)
{
    struct mci_kv *kv = g->kv;
    const struct kv_part *part = &kv->parts[g->obj.rank];
    uint64_t ats[2] = {kv_word_at(part, g->obj.slab), offsetof(struct kv_head, tick)};
    uint64_t loc, words[2];
    mcomm_err_t err = mci_kv_dir_reload(kv, g->spot, &loc);

    if (err != MCOMM_SUCCESS || loc != g->spot->loc)
        return MCOMM_ERR_TRY_AGAIN;
    if (found != MCOMM_SUCCESS)
        return found;
    err = mci_kv_load_words(kv, g->obj.rank, ats, words, 2);
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : err;
    if (kv_word_gen(words[0]) != g->obj.rec.gen)
        return MCOMM_ERR_TRY_AGAIN;
    if (is_use) {
        mci_kv_dir_touch(kv, g->spot, words[1] + 1);
        mci_kv_hit_count(kv, g->obj.rank);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t far_value(struct far_get *g, enum kv_want want, void **buf_p)
{
    void *buf = *buf_p;
    mcomm_err_t err;

    if (want == KV_WANT_ALLOC) {
        buf = mci_mem_alloc(g->obj.rec.value_nbytes);
        if (buf == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a value of %llu bytes",
                               (unsigned long long)g->obj.rec.value_nbytes);
    }
    err = value_take(g, buf);
    if (err == MCOMM_SUCCESS)
        err = far_confirm(g, MCOMM_SUCCESS, true);
    if (err == MCOMM_SUCCESS)
        *buf_p = buf;
    else if (want == KV_WANT_ALLOC)
        mci_mem_free(buf);
    return err;
}

mcomm_err_t mci_kv_far_get(struct mci_kv *kv, const struct kv_key *key, const struct kv_spot *spot,
                           enum kv_want want, void **buf_p, size_t room, size_t *nbytes_p)
{
    char first[FIRST_MAX];
    struct far_get g = {.kv = kv, .key = key, .spot = spot, .first = first};
    mcomm_err_t err = first_read(&g);

    if (err == MCOMM_ERR_NOT_FOUND && !kv_is_dead(kv, g.obj.rank))
        return far_confirm(&g, err, false);
    if (err != MCOMM_SUCCESS)
        return err;
    if (want == KV_WANT_SIZE || (want == KV_WANT_INTO && g.obj.rec.value_nbytes > room)) {
        err = far_confirm(&g, MCOMM_SUCCESS, false);
        if (err == MCOMM_SUCCESS && want == KV_WANT_INTO)
            err = MCOMM_ERR_TRUNCATE;
    } else {
        err = far_value(&g, want, buf_p);
    }
    if (err == MCOMM_SUCCESS || err == MCOMM_ERR_TRUNCATE)
        *nbytes_p = g.obj.rec.value_nbytes;
    return err;
}
