/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gather of small blocks up a binomial tree, ceil(log2 n) rounds. A rank collects the blocks of its
 * subtree in tree order, its own first; the root puts them in rank order.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_gather_binomial(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, rank = call->team.rank, root = args->root;
    int vrank = (rank - root + size) % size;
    size_t nbytes = coll_nbytes(args), head = (size_t)(size - root) * nbytes;
    bool is_root = vrank == 0;
    int64_t bit, have = 1;
    char *blocks;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    blocks = mci_coll_plan_scratch(call->plan, (size_t)size * nbytes);
    if (blocks == NULL)
        return mci_coll_plan_end(call->plan);
    mci_coll_plan_copy(call->plan, blocks,
                       args->sendbuf != MCOMM_IN_PLACE
                           ? args->sendbuf
                           : coll_at(args->recvbuf, (size_t)rank * nbytes),
                       nbytes);
    mci_coll_plan_round(call->plan);
    for (bit = 1; bit < size && !(vrank & bit); bit <<= 1) {
        int64_t more = vrank + bit < size ? size - vrank - bit : 0;

        more = more < bit ? more : bit;
        if (more == 0)
            continue;
        mci_coll_plan_recv(call->plan, blocks + (size_t)bit * nbytes, (size_t)more * nbytes,
                           (int)((vrank + bit + root) % size));
        have = bit + more;
    }
    mci_coll_plan_round(call->plan);
    if (!is_root) {
        mci_coll_plan_send(call->plan, blocks, (size_t)have * nbytes,
                           (int)((vrank - bit + root) % size));
    } else {
        mci_coll_plan_copy(call->plan, coll_at(args->recvbuf, (size_t)root * nbytes), blocks, head);
        mci_coll_plan_copy(call->plan, args->recvbuf, blocks + head, (size_t)root * nbytes);
    }
    return mci_coll_plan_end(call->plan);
}
