/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Views: the value where it lies. The slab is pinned in this process's own window before the entry
 * and the slab's state are looked at again, and a cleaner looks for pins after it has taken a slab:
 * one of the two sees the other. What cannot be seen in one piece here (another node, extents) is a
 * copy.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

/* The token of a copy is the memory to free, that of a pinned view the store it belongs to. */
static mcomm_err_t view_copy(struct mci_kv *kv, struct kv_object *obj, mcomm_kv_view_t *view)
{
    mcomm_err_t err;

    view->token = mci_mem_alloc(obj->rec.value_nbytes);
    if (view->token == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a copy of %llu bytes",
                           (unsigned long long)obj->rec.value_nbytes);
    err = mci_kv_value_read(kv, obj, view->token);
    if (err != MCOMM_SUCCESS) {
        mci_mem_free(view->token);
        return err;
    }
    view->is_copy = 1;
    view->data = view->token;
    return MCOMM_SUCCESS;
}

static mcomm_err_t view_pin(struct mci_kv *kv, const struct kv_spot *spot,
                            const struct kv_object *obj, mcomm_kv_view_t *view)
{
    const struct kv_part *part = &kv->parts[obj->rank];
    const struct kv_rec *rec = &obj->rec;
    uint64_t loc, word;

    mci_kv_slab_pin(kv, obj->rank, obj->slab, 1);
    kv_fence_full();
    if (mci_kv_load(kv, obj->rank, kv_word_at(part, obj->slab), &word) == MCOMM_SUCCESS &&
        kv_word_gen(word) == rec->gen && kv_word_state(word) != KV_SLAB_CLEANING &&
        mci_kv_dir_reload(kv, spot, &loc) == MCOMM_SUCCESS && loc == spot->loc) {
        view->token = kv;
        view->is_copy = 0;
        view->data = part->area[KV_DATA] + obj->at +
                     kv_body_at(KV_INLINE, rec->key_nbytes, rec->value_nbytes);
        return MCOMM_SUCCESS;
    }
    (void)mci_kv_slab_pin(kv, obj->rank, obj->slab, -1);
    return MCOMM_ERR_TRY_AGAIN;
}

static mcomm_err_t view_far(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_view_t *view)
{
    struct kv_fetch f = {.key = *key, .want = KV_WANT_ALLOC};

    mci_kv_far_fetch(kv, &f, 1);
    if (f.err != MCOMM_SUCCESS)
        return f.err;
    view->is_copy = 1;
    view->token = f.buf;
    view->data = f.buf;
    view->nbytes = f.nbytes;
    view->rank = f.lender;
    return MCOMM_SUCCESS;
}

static mcomm_err_t acquire_once(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_view_t *view)
{
    struct kv_spot spot;
    struct kv_object obj;
    mcomm_err_t err;

    if (kv_is_home_far(kv, key->hash))
        return view_far(kv, key, view);
    err = mci_kv_dir_find(kv, key->hash, &spot);
    if (err != MCOMM_SUCCESS)
        return err;
    if (kv_loc_rank(spot.loc) < kv->size && !kv_is_mapped(kv, kv_loc_rank(spot.loc)))
        return view_far(kv, key, view);
    err = mci_kv_lookup_at(kv, key, &spot, &obj);
    if (err != MCOMM_SUCCESS)
        return err;
    if (obj.rec.kind == KV_INLINE && kv->parts[obj.rank].area[KV_DATA] != NULL)
        err = view_pin(kv, &spot, &obj, view);
    else
        err = view_copy(kv, &obj, view);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_kv_use(kv, &spot, obj.rank);
    view->nbytes = obj.rec.value_nbytes;
    view->rank = obj.rank;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_kv_acquire(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_view_t *view)
{
    mcomm_kv_view_t found;
    struct kv_waiter w;
    mcomm_err_t err;

    mci_kv_wait_begin(&w, KV_PATIENCE_MS);
    while ((err = acquire_once(kv, key, &found)) == MCOMM_ERR_TRY_AGAIN) {
        kv_count_up(&kv->stat.retries);
        if (mci_kv_wait_step(&w) != MCOMM_SUCCESS) {
            err = mci_err_set(MCOMM_ERR_TIMEOUT, "the object was moved again and again for %d ms",
                              KV_PATIENCE_MS);
            break;
        }
    }
    kv_count_up(&kv->stat.gets);
    if (err == MCOMM_ERR_NOT_FOUND)
        kv_count_up(&kv->stat.misses);
    if (err == MCOMM_SUCCESS)
        *view = found;
    return err;
}

static mcomm_err_t view_unpin(struct mci_kv *kv, const mcomm_kv_view_t *view)
{
    const struct kv_part *part;
    uintptr_t at;

    if (view->token != kv)
        return mci_err_set(MCOMM_ERR_ARG, "view_p->token = %p: the view is of another store",
                           view->token);
    if (view->rank < 0 || view->rank >= kv->size)
        return mci_err_set(MCOMM_ERR_ARG, "view_p->rank = %d in a store of %d ranks", view->rank,
                           kv->size);
    part = &kv->parts[view->rank];
    at = (uintptr_t)view->data - (uintptr_t)part->area[KV_DATA];
    if (part->area[KV_DATA] == NULL || at - 1 >= part->data_nbytes)
        return mci_err_set(MCOMM_ERR_ARG, "view_p->data = %p is not in the memory of rank %d",
                           view->data, view->rank);
    /* a value of no bytes may begin where the next slab does */
    if (!mci_kv_slab_pin(kv, view->rank, kv_slab_of(part, at - 1), -1))
        return mci_err_set(MCOMM_ERR_STATE, "the view at %p was released already", view->data);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_kv_release(struct mci_kv *kv, mcomm_kv_view_t *view)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (view->is_copy)
        mci_mem_free(view->token);
    else
        err = view_unpin(kv, view);
    if (err == MCOMM_SUCCESS)
        memset(view, 0, sizeof(*view));
    return err;
}
