/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduce: within each node to its leader, then among the leaders to the root (teams.c): each node
 * but the root's sends the vector once.
 */
#include "coll/algos.h"
#include "coll/stages.h"

void mci_coll_reduce_by_leaders(struct coll_call *call, size_t first, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    bool is_root = call->comm->rank == args.root, is_leader;
    const int *leaders;
    int place;

    leaders = mci_coll_leaders_with_root(call, args.root, &place);
    if (leaders == NULL)
        return;
    is_leader = tiers->local_rank == place;
    args.count = count;
    if (args.sendbuf != MCOMM_IN_PLACE)
        args.sendbuf = coll_at(args.sendbuf, first * args.elem);
    if (is_root)
        args.recvbuf = coll_at(args.recvbuf, first * args.elem);
    else if (is_leader && tiers->local_size > 1)
        args.recvbuf = mci_coll_stages_scratch(call->stages, coll_nbytes(&args));
    args.root = place;
    mci_coll_on_node(call, STAGE_ALL, args);
    if (tiers->local_size > 1)
        args.sendbuf = is_root ? MCOMM_IN_PLACE : args.recvbuf;
    args.root = call->comm->node_of[call->args.root];
    if (is_leader)
        mci_coll_across(call, STAGE_ALL, leaders, args);
}

mcomm_err_t mci_coll_reduce_leaders(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_coll_reduce_by_leaders(call, 0, call->args.count);
    return mci_coll_stages_end(call->stages);
}
