/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scatter of small blocks: the root sends each node's blocks to its leader, which gives them to the
 * node (teams.c): one message a node. Where the ranks of a node are not consecutive the root sends
 * from a copy in their order.
 */
#include "coll/algos.h"
#include "coll/stages.h"

static const void *by_node(struct coll_call *call)
{
    const int *order = coll_tiers_of(call)->order;
    size_t nbytes = coll_nbytes(&call->args);
    char *all = mci_coll_stages_scratch(call->stages, (size_t)call->comm->size * nbytes);
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);

    for (int i = 0; i < call->comm->size && all != NULL && plan != NULL; i++)
        mci_coll_plan_copy(plan, all + (size_t)i * nbytes,
                           coll_at(call->args.sendbuf, (size_t)order[i] * nbytes), nbytes);
    return all;
}

mcomm_err_t mci_coll_scatter_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t nbytes = coll_nbytes(&args), *lists;
    bool is_root = call->comm->rank == args.root;
    const int *leaders;
    char *mine = args.recvbuf;
    int place;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    leaders = mci_coll_leaders_with_root(call, args.root, &place);
    if (leaders == NULL)
        return mci_coll_stages_end(call->stages);
    if (is_root && !tiers->is_blocked)
        args.sendbuf = by_node(call);
    if (is_root) /* its node's blocks stay */
        mine = args.sendbuf == NULL
                   ? NULL
                   : coll_at(args.sendbuf, (size_t)tiers->begin[coll_my_node(call)] * nbytes);
    else if (tiers->local_rank == place && tiers->local_size > 1)
        mine = mci_coll_stages_scratch(call->stages, (size_t)tiers->local_size * nbytes);
    lists = mci_coll_nodes_counts(call, args.count);
    if (tiers->local_rank == place && lists != NULL) {
        struct coll_args across = args;

        across.kind = tiers->is_even ? COLL_SCATTER : COLL_SCATTERV;
        across.send_counts = lists;
        across.send_displs = lists + call->comm->node_count;
        across.count *= (size_t)tiers->local_size;
        across.root = call->comm->node_of[args.root];
        across.recvbuf = is_root && tiers->local_size > 1 ? MCOMM_IN_PLACE : mine;
        if (is_root && tiers->local_size == 1)
            across.recvbuf = args.recvbuf;
        mci_coll_across(call, STAGE_ALL, leaders, across);
    }
    args.root = place;
    args.sendbuf = mine;
    mci_coll_on_node(call, is_root ? STAGE_NONE : STAGE_ALL, args);
    return mci_coll_stages_end(call->stages);
}
