/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather and allgatherv of large blocks around a ring: n-1 rounds, each rank passes on the block
 * it got last.
 */
#include "coll/algos.h"

struct block {
    char *at;
    size_t nbytes;
};

static struct block block_of(const struct coll_args *args, int rank)
{
    return (struct block){coll_at(args->recvbuf, coll_block_first(args, rank) * args->elem),
                          coll_block_count(args, rank) * args->elem};
}

mcomm_err_t mci_coll_allgather_ring(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int rank = call->team.rank, size = call->team.size;
    struct block mine = block_of(args, rank);
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (args->sendbuf != MCOMM_IN_PLACE) {
        mci_coll_plan_copy(call->plan, mine.at, args->sendbuf, mine.nbytes);
        mci_coll_plan_round(call->plan);
    }
    for (int round = 0; round < size - 1; round++) {
        struct block give = block_of(args, (rank - round + size) % size);
        struct block take = block_of(args, (rank - round - 1 + size) % size);

        mci_coll_plan_send(call->plan, give.at, give.nbytes, (rank + 1) % size);
        mci_coll_plan_recv(call->plan, take.at, take.nbytes, (rank + size - 1) % size);
        mci_coll_plan_round(call->plan);
    }
    return mci_coll_plan_end(call->plan);
}
