/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gather(v) and scatter(v) of large blocks: the root takes from everybody, or gives to everybody, a
 * few at a time: n-1 messages of one block, nothing is passed on.
 */
#include "coll/algos.h"

#define AT_ONCE 8

struct block {
    char *at;
    size_t nbytes;
};

/* Of rank, at the root. */
static struct block block_of(const struct coll_args *args, int rank)
{
    size_t nbytes = coll_nbytes(args);

    switch (args->kind) {
    case COLL_GATHERV:
        return (struct block){coll_at(args->recvbuf, args->recv_displs[rank] * args->elem),
                              args->recv_counts[rank] * args->elem};
    case COLL_SCATTERV:
        return (struct block){coll_at(args->sendbuf, args->send_displs[rank] * args->elem),
                              args->send_counts[rank] * args->elem};
    case COLL_GATHER:
        return (struct block){coll_at(args->recvbuf, (size_t)rank * nbytes), nbytes};
    default:
        return (struct block){coll_at(args->sendbuf, (size_t)rank * nbytes), nbytes};
    }
}

static void root_plan(struct coll_call *call, bool is_gather)
{
    const struct coll_args *args = &call->args;
    struct block block = block_of(args, args->root);
    int live = 0;

    if (is_gather && args->sendbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(call->plan, block.at, args->sendbuf, block.nbytes);
    if (!is_gather && args->recvbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(call->plan, args->recvbuf, block.at, block.nbytes);
    for (int i = 0; i < call->team.size; i++) {
        block = block_of(args, i);
        if (i == args->root || block.nbytes == 0)
            continue;
        if (is_gather)
            mci_coll_plan_recv(call->plan, block.at, block.nbytes, i);
        else
            mci_coll_plan_send(call->plan, block.at, block.nbytes, i);
        if (++live % AT_ONCE == 0)
            mci_coll_plan_round(call->plan);
    }
}

static mcomm_err_t linear(struct coll_call *call, bool is_gather)
{
    const struct coll_args *args = &call->args;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->team.rank == args->root)
        root_plan(call, is_gather);
    else if (args->count > 0 && is_gather)
        mci_coll_plan_send(call->plan, args->sendbuf, coll_nbytes(args), args->root);
    else if (args->count > 0)
        mci_coll_plan_recv(call->plan, args->recvbuf, coll_nbytes(args), args->root);
    return mci_coll_plan_end(call->plan);
}

mcomm_err_t mci_coll_gather_linear(struct coll_call *call)
{
    return linear(call, true);
}

mcomm_err_t mci_coll_scatter_linear(struct coll_call *call)
{
    return linear(call, false);
}
