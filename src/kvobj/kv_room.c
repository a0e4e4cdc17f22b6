/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Room for a record: on which rank, and what to do when there is none. First the rank of choice
 * (the caller's, else this rank, else where this process appended last), while it has free slabs;
 * then the rank with most free slabs; then the rest of the open slab, if the record may be cut;
 * then cleaning; then waiting, up to the put time-out.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#define SKIP_WHEN_FULL 64u /* appends before a full rank is looked at again */
#define URGENT_AFTER 400u  /* rounds of waiting for another cleaner before evicting on our own */

static bool is_usable(const struct mci_kv *kv, int rank)
{
    return rank >= 0 && rank < kv->size && kv->parts[rank].slab_count > 0 && !kv_is_dead(kv, rank);
}

static int rank_with_most_free(struct mci_kv *kv, int but)
{
    unsigned most = 1; /* the last one is the reserve */
    int best = -1;

    for (int i = 1; i <= kv->size; i++) {
        int rank = (kv->rank + i) % kv->size;
        unsigned count;

        if (rank == but || !is_usable(kv, rank))
            continue;
        count = mci_kv_slab_free_count(kv, rank);
        if (count > most) {
            most = count;
            best = rank;
        }
    }
    return best;
}

/* -1: nobody stores anything any more. */
static int rank_of_choice(struct mci_kv *kv, int preferred)
{
    int rank;

    if (is_usable(kv, preferred))
        return preferred;
    if (is_usable(kv, kv->rank))
        return kv->rank;
    rank = atomic_load_explicit(&kv->last_rank, memory_order_relaxed);
    for (int i = 0; i < kv->size && !is_usable(kv, rank); i++)
        rank = (rank + 1) % kv->size;
    return is_usable(kv, rank) ? rank : -1;
}

enum how {
    HOW_APPEND, /* whole, in the open slab */
    HOW_FRESH,  /* whole, in the open slab or a free one */
    HOW_REST,   /* cut to what is left of the open slab */
    HOW_CLEAN,
    HOW_CLEAN_URGENT
};

static mcomm_err_t take_at(struct mci_kv *kv, int rank, enum how how, uint64_t min, uint64_t max,
                           struct kv_rec *rec, struct kv_room *room)
{
    uint64_t slab_nbytes = kv->parts[rank].slab_nbytes;
    mcomm_err_t err;

    if (kv_round(min) > slab_nbytes)
        return MCOMM_ERR_TRY_AGAIN;
    if (max > slab_nbytes)
        max = slab_nbytes;
    pthread_mutex_lock(&kv->open[rank].lock);
    err = mci_kv_slab_append(kv, rank, how == HOW_REST ? min : max, max, rec, room);
    if (err == MCOMM_ERR_TRY_AGAIN && how != HOW_REST && how != HOW_APPEND) {
        err = how == HOW_FRESH ? mci_kv_slab_open(kv, rank, 1)
                               : mci_kv_clean(kv, rank, min, how == HOW_CLEAN_URGENT);
        if (err == MCOMM_SUCCESS)
            err = mci_kv_slab_append(kv, rank, how == HOW_FRESH ? max : min, max, rec, room);
    }
    pthread_mutex_unlock(&kv->open[rank].lock);
    if (err == MCOMM_SUCCESS)
        atomic_store_explicit(&kv->last_rank, rank, memory_order_relaxed);
    return err;
}

/* Not now: also for a rank that died meanwhile. */
static bool is_not_now(mcomm_err_t err)
{
    return err == MCOMM_ERR_TRY_AGAIN || err == MCOMM_ERR_NO_SPACE || err == MCOMM_ERR_PROC_FAILED;
}

static mcomm_err_t take_once(struct mci_kv *kv, int first, uint64_t min, uint64_t max,
                             bool is_fresh_only, bool is_urgent, struct kv_rec *rec,
                             struct kv_room *room)
{
    uint64_t value_nbytes = rec->value_nbytes;
    int other = atomic_load_explicit(&kv->last_rank, memory_order_relaxed);
    _Atomic unsigned *skip = &kv->open[first].skip;
    mcomm_err_t err;

    if (atomic_load_explicit(skip, memory_order_relaxed) > 0 && other != first &&
        is_usable(kv, other)) { /* it was full just now: do not look through its slabs again */
        atomic_fetch_sub_explicit(skip, 1, memory_order_relaxed);
        err = take_at(kv, other, HOW_APPEND, min, max, rec, room);
        if (!is_not_now(err))
            return err;
    }
    err = take_at(kv, first, HOW_FRESH, min, max, rec, room);
    if (!is_not_now(err))
        return err;
    atomic_store_explicit(skip, SKIP_WHEN_FULL, memory_order_relaxed);
    other = rank_with_most_free(kv, first);
    rec->value_nbytes = value_nbytes;
    if (other >= 0)
        err = take_at(kv, other, HOW_FRESH, min, max, rec, room);
    if (!is_not_now(err) || is_fresh_only)
        return err;
    rec->value_nbytes = value_nbytes;
    if (min < max)
        err = take_at(kv, first, HOW_REST, min, max, rec, room);
    for (int i = 0; i < kv->size && is_not_now(err); i++) {
        int rank = (first + i) % kv->size;

        rec->value_nbytes = value_nbytes;
        if (is_usable(kv, rank))
            err = take_at(kv, rank, is_urgent ? HOW_CLEAN_URGENT : HOW_CLEAN, min, max, rec, room);
    }
    return err;
}

mcomm_err_t mci_kv_room_take(struct mci_kv *kv, int preferred, uint64_t min, uint64_t max,
                             bool is_fresh_only, struct kv_rec *rec, struct kv_waiter *w,
                             struct kv_room *room)
{
    for (;;) {
        int first = rank_of_choice(kv, preferred);
        mcomm_err_t err;

        mci_kv_settle(kv);
        if (first < 0)
            return mci_err_set(MCOMM_ERR_PROC_FAILED, "no rank that stores objects lives any more");
        err = take_once(kv, first, min, max, is_fresh_only, w->rounds > URGENT_AFTER, rec, room);
        if (!is_not_now(err) || is_fresh_only)
            return err;
        if (w->rounds == 0)
            kv_count_up(&kv->stat.waits_space);
        if (mci_kv_wait_step(w) != MCOMM_SUCCESS)
            return mci_err_set(
                MCOMM_ERR_NO_SPACE,
                "no room for %llu bytes after %d ms: the store holds %llu bytes, all "
                "under views or being written",
                (unsigned long long)min, w->timeout_ms,
                (unsigned long long)atomic_load(&kv->pool_nbytes));
    }
}
