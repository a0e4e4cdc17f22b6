/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Allreduce of large data around a ring (ring.c): 2(n-1) rounds, 2(n-1)/n of the data per rank. */
#include "coll/algos.h"

mcomm_err_t mci_coll_allreduce_ring(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct coll_ring_blocks blocks;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (args->sendbuf != MCOMM_IN_PLACE) {
        mci_coll_plan_copy(call->plan, args->recvbuf, args->sendbuf, coll_nbytes(args));
        mci_coll_plan_round(call->plan);
    }
    if (mci_coll_ring_cut(call, args->recvbuf, args->count, &blocks) == MCOMM_SUCCESS) {
        mci_coll_ring_reduce_scatter(call, &blocks, 0);
        mci_coll_ring_allgather(call, &blocks, 1);
    }
    return mci_coll_plan_end(call->plan);
}
