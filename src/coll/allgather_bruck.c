/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather of small blocks, ceil(log2 n) rounds; Bruck et al. 1997. Blocks are kept rotated, own
 * one first, and put in order at the end.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_allgather_bruck(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int rank = call->team.rank, size = call->team.size;
    size_t nbytes = coll_nbytes(args), tail = (size_t)(size - rank) * nbytes;
    mcomm_err_t err = mci_coll_plan_new(call);
    char *rotated;

    if (err != MCOMM_SUCCESS)
        return err;
    rotated = mci_coll_plan_scratch(call->plan, (size_t)size * nbytes);
    if (rotated == NULL)
        return mci_coll_plan_end(call->plan);
    mci_coll_plan_copy(call->plan, rotated,
                       args->sendbuf != MCOMM_IN_PLACE
                           ? args->sendbuf
                           : coll_at(args->recvbuf, (size_t)rank * nbytes),
                       nbytes);
    mci_coll_plan_round(call->plan);
    for (int64_t have = 1; have < size; have <<= 1) {
        size_t blocks = (size_t)(have < size - have ? have : size - have);

        mci_coll_plan_send(call->plan, rotated, blocks * nbytes,
                           (int)((rank - have + size) % size));
        mci_coll_plan_recv(call->plan, rotated + (size_t)have * nbytes, blocks * nbytes,
                           (int)((rank + have) % size));
        mci_coll_plan_round(call->plan);
    }
    mci_coll_plan_copy(call->plan, coll_at(args->recvbuf, (size_t)rank * nbytes), rotated, tail);
    mci_coll_plan_copy(call->plan, args->recvbuf, rotated + tail, (size_t)rank * nbytes);
    return mci_coll_plan_end(call->plan);
}
