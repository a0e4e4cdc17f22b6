/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scatter of small blocks down a binomial tree, ceil(log2 n) rounds. A rank receives the blocks of
 * its subtree in tree order, its own first.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_scatter_binomial(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, rank = call->team.rank, root = args->root;
    int vrank = (rank - root + size) % size;
    size_t nbytes = coll_nbytes(args), head = (size_t)(size - root) * nbytes;
    int64_t bit = 1;
    char *blocks;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    blocks = mci_coll_plan_scratch(call->plan, (size_t)size * nbytes);
    if (blocks == NULL)
        return mci_coll_plan_end(call->plan);
    while (bit < size && !(vrank & bit))
        bit <<= 1;
    if (vrank == 0) {
        mci_coll_plan_copy(call->plan, blocks, coll_at(args->sendbuf, (size_t)root * nbytes), head);
        mci_coll_plan_copy(call->plan, blocks + head, args->sendbuf, (size_t)root * nbytes);
    } else {
        int64_t have = size - vrank < bit ? size - vrank : bit;

        mci_coll_plan_recv(call->plan, blocks, (size_t)have * nbytes,
                           (int)((vrank - bit + root) % size));
    }
    if (args->recvbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(call->plan, args->recvbuf, blocks, nbytes);
    mci_coll_plan_round(call->plan);
    for (bit >>= 1; bit > 0; bit >>= 1) {
        int64_t more = vrank + bit < size ? size - vrank - bit : 0;

        more = more < bit ? more : bit;
        if (more > 0)
            mci_coll_plan_send(call->plan, blocks + (size_t)bit * nbytes, (size_t)more * nbytes,
                               (int)((vrank + bit + root) % size));
    }
    return mci_coll_plan_end(call->plan);
}
