/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Broadcast: among the leaders of the nodes, then within each (teams.c). A long one goes in parts
 * along the chain of the leaders: every byte enters and leaves a node once, and while a part is in
 * a node the next one crosses the network.
 */
#include "coll/algos.h"
#include "coll/stages.h"

static struct coll_args part_of(const struct coll_call *call, int parts, int i)
{
    struct coll_args args = call->args;
    size_t first = coll_part(args.count, parts, i);

    args.count = coll_part(args.count, parts, i + 1) - first;
    args.recvbuf = coll_at(args.recvbuf, first * args.elem);
    return args;
}

/* Part number i comes in and the one before goes out. */
static coll_stage_t pass_on(struct coll_call *call, const int *leaders, int parts, int i)
{
    int nodes = call->comm->node_count, node = coll_my_node(call);
    int place = (node - call->comm->node_of[call->args.root] + nodes) % nodes;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_NONE);
    struct coll_args args;

    if (plan == NULL)
        return STAGE_NONE;
    if (place > 0 && i < parts) {
        args = part_of(call, parts, i);
        mci_coll_plan_recv(plan, args.recvbuf, coll_nbytes(&args),
                           leaders[(node + nodes - 1) % nodes]);
    }
    if (place + 1 < nodes && i > 0) {
        args = part_of(call, parts, i - 1);
        mci_coll_plan_send(plan, args.recvbuf, coll_nbytes(&args), leaders[(node + 1) % nodes]);
    }
    return mci_coll_stages_last(call->stages);
}

mcomm_err_t mci_coll_bcast_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    int parts = mci_coll_parts(coll_nbytes(&call->args)), place;
    coll_stage_t here = STAGE_NONE;
    struct coll_args args = call->args;
    const int *leaders;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    leaders = mci_coll_leaders_with_root(call, args.root, &place);
    if (leaders == NULL)
        return mci_coll_stages_end(call->stages);
    if (parts == 1 && tiers->local_rank == place) {
        args.root = call->comm->node_of[call->args.root];
        mci_coll_across(call, STAGE_NONE, leaders, args);
    }
    for (int i = 0; i < parts; i++) {
        if (parts > 1 && tiers->local_rank == place)
            here = pass_on(call, leaders, parts, i);
        else if (parts == 1)
            here = STAGE_ALL;
        args = part_of(call, parts, i);
        args.root = place;
        mci_coll_on_node(call, call->comm->rank == call->args.root ? STAGE_NONE : here, args);
    }
    if (parts > 1 && tiers->local_rank == place)
        pass_on(call, leaders, parts, parts);
    return mci_coll_stages_end(call->stages);
}
