/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather of large blocks by slices: the members with the same place on their nodes exchange
 * their blocks, and each tells its node what it got (teams.c): every byte enters a node once, at
 * any member. Blocks go in parts: while one crosses the network, the node spreads the one before.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define SPREADS_MAX 1024 /* broadcasts in a node: above, blocks are not cut */

static struct coll_args part_of(const struct coll_call *call, int rank, int parts, int i)
{
    struct coll_args args = call->args;
    size_t first = coll_part(args.count, parts, i);

    args.recvbuf = coll_at(args.recvbuf, ((size_t)rank * args.count + first) * args.elem);
    args.count = coll_part(args.count, parts, i + 1) - first;
    return args;
}

/* Part number i of the blocks of those who have my place. */
static coll_stage_t exchange(struct coll_call *call, int parts, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    size_t nodes = (size_t)call->comm->node_count;
    size_t *lists = mci_coll_stages_scratch(call->stages, 2 * nodes * sizeof(*lists));
    struct coll_args args = part_of(call, 0, parts, i);

    if (lists == NULL)
        return STAGE_NONE;
    for (size_t node = 0; node < nodes; node++) {
        lists[node] = args.count;
        lists[nodes + node] = (size_t)tiers->cross[node] * call->args.count;
    }
    args.kind = COLL_ALLGATHERV;
    args.sendbuf = MCOMM_IN_PLACE;
    args.recv_counts = lists;
    args.recv_displs = lists + nodes;
    return mci_coll_across(call, i == 0 ? STAGE_ALL : STAGE_NONE, tiers->cross, args);
}

/* The members of my node tell each other part number i of the blocks of node. */
static void spread(struct coll_call *call, coll_stage_t after, int node, int parts, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);

    for (int place = 0; place < tiers->local_size; place++) {
        int rank = tiers->order[tiers->begin[node] + place];
        struct coll_args args = part_of(call, rank, parts, i);

        args.kind = COLL_BCAST;
        args.root = place;
        mci_coll_on_node(call, place == tiers->local_rank ? after : STAGE_NONE, args);
    }
}

mcomm_err_t mci_coll_allgather_slices(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int parts = mci_coll_parts(coll_nbytes(args)), mine = coll_my_node(call);
    struct coll_plan *plan;
    coll_stage_t wire;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->comm->size > SPREADS_MAX / parts)
        parts = 1;
    plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_NONE);
    if (plan != NULL && args->sendbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(plan,
                           coll_at(args->recvbuf, (size_t)call->comm->rank * coll_nbytes(args)),
                           args->sendbuf, coll_nbytes(args));
    for (int i = 0; i < parts; i++) {
        wire = exchange(call, parts, i);
        if (i == 0)
            spread(call, STAGE_NONE, mine, 1, 0);
        for (int node = 0; node < call->comm->node_count; node++)
            if (node != mine)
                spread(call, wire, node, parts, i);
    }
    return mci_coll_stages_end(call->stages);
}
