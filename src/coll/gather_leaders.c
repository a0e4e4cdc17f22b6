/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gather of small blocks: each node to its leader, the nodes' blocks to the root (teams.c), which
 * puts them in rank order where the ranks of a node are not consecutive: one message a node.
 */
#include "coll/algos.h"
#include "coll/stages.h"

/* The leaders' part: all blocks by node, in the root's buffer if that is the order of ranks. */
static void gather_nodes(struct coll_call *call, struct coll_args args, const int *leaders)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    size_t *lists = mci_coll_nodes_counts(call, args.count);

    if (lists == NULL)
        return;
    args.recv_counts = lists;
    args.recv_displs = lists + call->comm->node_count;
    args.count *= (size_t)tiers->local_size;
    args.root = call->comm->node_of[call->args.root];
    args.kind = tiers->is_even ? COLL_GATHER : COLL_GATHERV;
    mci_coll_across(call, STAGE_ALL, leaders, args);
}

static void put_in_order(struct coll_call *call, char *all)
{
    const int *order = coll_tiers_of(call)->order;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);
    size_t nbytes = coll_nbytes(&call->args);

    for (int i = 0; i < call->comm->size && plan != NULL; i++)
        mci_coll_plan_copy(plan, coll_at(call->args.recvbuf, (size_t)order[i] * nbytes),
                           all + (size_t)i * nbytes, nbytes);
}

mcomm_err_t mci_coll_gather_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t nbytes = coll_nbytes(&args);
    bool is_root = call->comm->rank == args.root, is_leader;
    const int *leaders;
    char *all = NULL, *mine = NULL;
    int place;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    leaders = mci_coll_leaders_with_root(call, args.root, &place);
    if (leaders == NULL)
        return mci_coll_stages_end(call->stages);
    is_leader = tiers->local_rank == place;
    if (is_root) {
        all = tiers->is_blocked
                  ? args.recvbuf
                  : mci_coll_stages_scratch(call->stages, (size_t)call->comm->size * nbytes);
        if (all != NULL)
            mine = all + (size_t)tiers->begin[coll_my_node(call)] * nbytes;
        if (args.sendbuf == MCOMM_IN_PLACE && !tiers->is_blocked)
            args.sendbuf = coll_at(args.recvbuf, (size_t)args.root * nbytes);
    } else if (is_leader && tiers->local_size > 1) {
        mine = mci_coll_stages_scratch(call->stages, (size_t)tiers->local_size * nbytes);
    }
    args.root = place;
    args.recvbuf = mine;
    mci_coll_on_node(call, STAGE_ALL, args);
    if (tiers->local_size > 1)
        args.sendbuf = is_root ? MCOMM_IN_PLACE : mine;
    args.recvbuf = all;
    if (is_leader)
        gather_nodes(call, args, leaders);
    if (is_root && !tiers->is_blocked)
        put_in_order(call, all);
    return mci_coll_stages_end(call->stages);
}
