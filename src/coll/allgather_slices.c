/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather(v) of large blocks by slices: the members with the same place on their nodes exchange
 * their blocks, and each tells its node what it got (teams.c): every byte enters a node once, at
 * any member. Blocks go in parts: while one crosses the network, the node spreads the one before.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define SPREADS_MAX 1024 /* of a call: above, blocks are not cut */

/* Part number i of the blocks of ranks[0..n); in place. */
static struct coll_args part_of(struct coll_call *call, const int *ranks, int n, int parts, int i)
{
    struct coll_args args = call->args;
    size_t *lists = mci_coll_stages_scratch(call->stages, 2 * (size_t)n * sizeof(*lists));

    for (int k = 0; k < n && lists != NULL; k++) {
        size_t count = coll_block_count(&call->args, ranks[k]), first = coll_part(count, parts, i);

        lists[k] = coll_part(count, parts, i + 1) - first;
        lists[n + k] = coll_block_first(&call->args, ranks[k]) + first;
    }
    args.kind = COLL_ALLGATHERV;
    args.sendbuf = MCOMM_IN_PLACE;
    args.recv_counts = lists;
    args.recv_displs = lists + n;
    return args;
}

/* Of those who have my place. */
static coll_stage_t exchange(struct coll_call *call, coll_stage_t after, int parts, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = part_of(call, tiers->cross, call->comm->node_count, parts, i);

    return args.recv_counts != NULL ? mci_coll_across(call, after, tiers->cross, args) : STAGE_NONE;
}

/* The members of my node tell each other what they have of those of node. */
static void spread(struct coll_call *call, coll_stage_t after, int node, int parts, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args =
        part_of(call, tiers->order + tiers->begin[node], tiers->local_size, parts, i);

    if (args.recv_counts != NULL)
        mci_coll_on_node(call, after, args);
}

static size_t largest(const struct coll_call *call)
{
    size_t most = 0;

    for (int rank = 0; rank < call->comm->size; rank++)
        if (coll_block_count(&call->args, rank) > most)
            most = coll_block_count(&call->args, rank);
    return most;
}

mcomm_err_t mci_coll_allgather_slices(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int parts = mci_coll_parts(largest(call) * args->elem), mine = coll_my_node(call);
    int rank = call->comm->rank, nodes = call->comm->node_count;
    struct coll_plan *plan;
    coll_stage_t wire;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (nodes > SPREADS_MAX / parts)
        parts = 1;
    plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_NONE);
    if (plan != NULL && args->sendbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(plan, coll_at(args->recvbuf, coll_block_first(args, rank) * args->elem),
                           args->sendbuf, coll_block_count(args, rank) * args->elem);
    wire = exchange(call, mci_coll_stages_last(call->stages), parts, 0);
    spread(call, STAGE_NONE, mine, 1, 0);
    for (int i = 0; i < parts; i++) {
        coll_stage_t next = i + 1 < parts ? exchange(call, STAGE_NONE, parts, i + 1) : STAGE_NONE;

        for (int node = 0; node < nodes; node++)
            if (node != mine)
                spread(call, wire, node, parts, i);
        wire = next;
    }
    return mci_coll_stages_end(call->stages);
}
