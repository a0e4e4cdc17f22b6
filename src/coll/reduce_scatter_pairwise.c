/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every rank collects what all have for its part and folds it in rank order: the bits depend
 * neither on timing nor on where the ranks run. n-1 messages of one part each; n parts of memory.
 * Serves reduce_scatter(_block), and as the first half reduce and allreduce.
 */
#include "coll/algos.h"

#define AT_ONCE 8

/* begin[i], begin[i+1]: part of rank i, elements of from. The result goes to dst. */
static void exchange_and_fold(struct coll_call *call, const char *from, const size_t *begin,
                              char *dst)
{
    int size = call->team.size, rank = call->team.rank;
    size_t elem = call->args.elem, mine = begin[rank + 1] - begin[rank];
    char *parts = mci_coll_plan_scratch(call->plan, (size_t)size * mine * elem);

    if (parts == NULL)
        return;
    for (int i = 1; i < size; i++) {
        int to = (rank + i) % size, source = (rank - i + size) % size;
        size_t out = begin[to + 1] - begin[to];

        if (out > 0)
            mci_coll_plan_send(call->plan, from + begin[to] * elem, out * elem, to);
        if (mine > 0)
            mci_coll_plan_recv(call->plan, parts + (size_t)source * mine * elem, mine * elem,
                               source);
        if (i % AT_ONCE == 0)
            mci_coll_plan_round(call->plan);
    }
    mci_coll_plan_copy(call->plan, parts + (size_t)rank * mine * elem, from + begin[rank] * elem,
                       mine * elem);
    if (mine > 0)
        mci_coll_plan_fold_many(call->plan, dst, parts, size, mine);
    mci_coll_plan_round(call->plan);
}

mcomm_err_t mci_coll_reduce_scatter_pairwise(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size;
    size_t *begin;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    begin = mci_coll_plan_scratch(call->plan, (size_t)(size + 1) * sizeof(*begin));
    if (begin == NULL)
        return mci_coll_plan_end(call->plan);
    coll_begins(args, size, begin);
    exchange_and_fold(call, coll_input(args), begin, args->recvbuf);
    return mci_coll_plan_end(call->plan);
}

mcomm_err_t mci_coll_allreduce_pairwise(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct coll_ring_blocks blocks;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_coll_ring_cut(call, args->recvbuf, args->count, &blocks) == MCOMM_SUCCESS) {
        exchange_and_fold(call, coll_input(args), blocks.begin,
                          coll_at(args->recvbuf, blocks.begin[call->team.rank] * args->elem));
        mci_coll_ring_allgather(call, &blocks, 0);
    }
    return mci_coll_plan_end(call->plan);
}

mcomm_err_t mci_coll_reduce_pairwise(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, rank = call->team.rank;
    bool is_root = rank == args->root;
    struct coll_ring_blocks blocks;
    mcomm_err_t err = mci_coll_plan_new(call);
    size_t first, nbytes;
    char *mine;

    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_coll_ring_cut(call, NULL, args->count, &blocks) != MCOMM_SUCCESS)
        return mci_coll_plan_end(call->plan);
    first = blocks.begin[rank] * args->elem;
    nbytes = blocks.begin[rank + 1] * args->elem - first;
    mine = is_root ? coll_at(args->recvbuf, first) : mci_coll_plan_scratch(call->plan, nbytes);
    exchange_and_fold(call, coll_input(args), blocks.begin, mine);
    for (int i = 0; i < size && is_root; i++)
        if (i != rank && blocks.begin[i + 1] > blocks.begin[i])
            mci_coll_plan_recv(call->plan, coll_at(args->recvbuf, blocks.begin[i] * args->elem),
                               (blocks.begin[i + 1] - blocks.begin[i]) * args->elem, i);
    if (!is_root && nbytes > 0)
        mci_coll_plan_send(call->plan, mine, nbytes, args->root);
    return mci_coll_plan_end(call->plan);
}
