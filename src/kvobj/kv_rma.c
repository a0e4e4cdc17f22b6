/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The remote table over the public window calls: for parts on other nodes. */
#include "config.h"

#include "core/core.h"
#include "kvobj/kv_far.h"
#include "rma/rma.h"

/* A step at rank: one that was late is asked, but not waited for again. */
static void step_begin(int rank)
{
    if (KV_UNLIKELY(mci_kv_is_late(rank)))
        mci_rma_wait_cap(0);
}

static mcomm_err_t step_end(int rank, mcomm_err_t err)
{
    mci_rma_wait_cap(-1);
    mci_kv_late_note(rank, err);
    return err;
}

static mcomm_err_t rma_get(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, void *buf,
                           size_t nbytes)
{
    step_begin(rank);
    return step_end(rank, mcomm_get(buf, nbytes, rank, at, kv->wins[area]));
}

static mcomm_err_t rma_put(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                           const void *buf, size_t nbytes)
{
    step_begin(rank);
    return step_end(rank, mcomm_put(buf, nbytes, rank, at, kv->wins[area]));
}

static mcomm_err_t rma_flush(struct mci_kv *kv, int rank, enum kv_area area)
{
    step_begin(rank);
    return step_end(rank, mcomm_flush(rank, kv->wins[area]));
}

static mcomm_err_t rma_cas(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect, uint64_t want,
                           uint64_t *seen_p)
{
    step_begin(rank);
    return step_end(rank, mcomm_compare_and_swap(&want, &expect, seen_p, MCOMM_UINT64, rank, at,
                                                 kv->wins[KV_META]));
}

static mcomm_err_t rma_add(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                           size_t count)
{
    step_begin(rank);
    return step_end(rank, mcomm_accumulate(deltas, count, MCOMM_UINT64, rank, at, MCOMM_SUM,
                                           kv->wins[KV_META]));
}

static mcomm_err_t rma_fetch_add(struct mci_kv *kv, int rank, uint64_t at, uint64_t delta,
                                 uint64_t *old_p)
{
    step_begin(rank);
    return step_end(rank, mcomm_fetch_and_op(&delta, old_p, MCOMM_UINT64, rank, at, MCOMM_SUM,
                                             kv->wins[KV_META]));
}

static size_t rma_frame_max(struct mci_kv *kv, int rank)
{
    return mci_comm_peer(kv->core_comm, rank)->eager_max;
}

const struct kv_remote_ops mci_kv_rma_ops = {
    .size = sizeof(struct kv_remote_ops),
    .get = rma_get,
    .put = rma_put,
    .flush = rma_flush,
    .cas = rma_cas,
    .add = rma_add,
    .fetch_add = rma_fetch_add,
    .frame_max = rma_frame_max,
    .call_start = mci_kv_frame_start,
    .call_wait = mci_kv_frame_wait,
    .call_post = mci_kv_frame_post,
};
