/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Reduce_scatter(_block) of large data around a ring (ring.c): n-1 rounds, (n-1)/n of the data. */
#include "coll/algos.h"

mcomm_err_t mci_coll_reduce_scatter_ring(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, rank = call->team.rank;
    struct coll_ring_blocks blocks = {0};
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    blocks.begin = mci_coll_plan_scratch(call->plan, (size_t)(size + 1) * sizeof(*blocks.begin));
    if (blocks.begin == NULL)
        return mci_coll_plan_end(call->plan);
    coll_begins(args, size, blocks.begin);
    if (args->sendbuf == MCOMM_IN_PLACE) {
        blocks.buf = args->recvbuf;
    } else {
        blocks.buf = mci_coll_plan_scratch(call->plan, blocks.begin[size] * args->elem);
        mci_coll_plan_copy(call->plan, blocks.buf, args->sendbuf, blocks.begin[size] * args->elem);
        mci_coll_plan_round(call->plan);
    }
    mci_coll_ring_reduce_scatter(call, &blocks, -1);
    mci_coll_plan_copy(call->plan, args->recvbuf, blocks.buf + blocks.begin[rank] * args->elem,
                       coll_share(args, rank) * args->elem);
    return mci_coll_plan_end(call->plan);
}
