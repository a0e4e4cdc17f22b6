/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduce of large data: a reduce-scatter around a ring (ring.c), then the root collects the blocks:
 * n rounds; the root receives twice (n-1)/n of the data, the others send twice that.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_reduce_ring(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int rank = call->team.rank, size = call->team.size, mine = (rank + 1) % size;
    bool is_root = rank == args->root;
    struct coll_ring_blocks blocks;
    size_t elem = args->elem;
    char *work;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    work = is_root ? args->recvbuf : mci_coll_plan_scratch(call->plan, coll_nbytes(args));
    if (work == NULL || mci_coll_ring_cut(call, work, args->count, &blocks) != MCOMM_SUCCESS)
        return mci_coll_plan_end(call->plan);
    mci_coll_plan_copy(call->plan, work, coll_input(args), coll_nbytes(args));
    mci_coll_plan_round(call->plan);
    mci_coll_ring_reduce_scatter(call, &blocks, 0);
    for (int i = 0; i < size && is_root; i++) {
        size_t from = blocks.begin[(i + 1) % size], end = blocks.begin[(i + 1) % size + 1];

        if (i != rank && end > from)
            mci_coll_plan_recv(call->plan, work + from * elem, (end - from) * elem, i);
    }
    if (!is_root && blocks.begin[mine + 1] > blocks.begin[mine])
        mci_coll_plan_send(call->plan, work + blocks.begin[mine] * elem,
                           (blocks.begin[mine + 1] - blocks.begin[mine]) * elem, args->root);
    return mci_coll_plan_end(call->plan);
}
