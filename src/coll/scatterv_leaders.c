/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scatterv: as gatherv_leaders.c, the other way. A node that gets little gets it in one message to
 * its leader.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AT_ONCE 8

/* ---- who is not on the root's node: counts are its members' ---- */
static void recv_alone(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);

    if (plan != NULL && args->count > 0)
        mci_coll_plan_recv(plan, args->recvbuf, coll_nbytes(args), args->root);
}

static void recv_together(struct coll_call *call, const size_t *counts, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t *displs =
        mci_coll_stages_scratch(call->stages, (size_t)tiers->local_size * sizeof(*displs));
    char *all = mci_coll_stages_scratch(call->stages, count * args.elem);
    struct coll_plan *plan;

    if (displs == NULL || all == NULL)
        return;
    displs[0] = 0;
    for (int i = 1; i < tiers->local_size; i++)
        displs[i] = displs[i - 1] + counts[i - 1];
    if (tiers->local_rank == 0) {
        plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
        if (plan != NULL)
            mci_coll_plan_recv(plan, all, count * args.elem, args.root);
    }
    args.sendbuf = all;
    args.send_counts = counts;
    args.send_displs = displs;
    args.root = 0;
    mci_coll_on_node(call, STAGE_ALL, args);
}

static void recv_node(struct coll_call *call, void *arg)
{
    const size_t *counts = arg;
    int n = coll_tiers_of(call)->local_size;
    size_t count = 0;

    for (int i = 0; i < n; i++)
        count += counts[i];
    if (n == 1 || !coll_go_together(count * call->args.elem))
        recv_alone(call);
    else if (count > 0)
        recv_together(call, counts, count);
}

/* ---- the root ---- */
static const char *block_of(const struct coll_args *args, int rank)
{
    return coll_at(args->sendbuf, args->send_displs[rank] * args->elem);
}

static void send_rank(struct coll_call *call, struct coll_plan *plan, int rank)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = args->send_counts[rank] * args->elem;

    if (rank != args->root && nbytes > 0)
        mci_coll_plan_send(plan, block_of(args, rank), nbytes, rank);
    if (rank == args->root && args->recvbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(plan, args->recvbuf, block_of(args, rank), nbytes);
}

/* A copy of the node's blocks is made in packs, and sent by plan. */
static void send_node(struct coll_call *call, struct coll_plan *packs, struct coll_plan *plan,
                      int node, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    const struct coll_args *args = &call->args;
    const int *ranks = tiers->order + tiers->begin[node];
    char *all = mci_coll_plan_scratch(packs, count * args->elem);
    size_t at = 0;

    if (all == NULL)
        return;
    for (int i = 0; i < tiers->sizes[node]; i++) {
        size_t nbytes = args->send_counts[ranks[i]] * args->elem;

        mci_coll_plan_copy(packs, all + at, block_of(args, ranks[i]), nbytes);
        at += nbytes;
    }
    mci_coll_plan_send(plan, all, at, tiers->leaders[node]);
}

static void send_all(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_plan *packs = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
    int live = 0;

    for (int node = 0; node < call->comm->node_count && packs != NULL && plan != NULL; node++) {
        const int *ranks = tiers->order + tiers->begin[node];
        int n = tiers->sizes[node];
        size_t count = 0;

        for (int i = 0; i < n; i++)
            count += call->args.send_counts[ranks[i]];
        if (node != coll_my_node(call) && n > 1 && coll_go_together(count * call->args.elem)) {
            if (count > 0)
                send_node(call, packs, plan, node, count);
            n = 0;
        }
        for (int i = 0; i < n; i++) {
            send_rank(call, plan, ranks[i]);
            if (++live % AT_ONCE == 0)
                mci_coll_plan_round(plan);
        }
    }
}

mcomm_err_t mci_coll_scatterv_leaders(struct coll_call *call)
{
    size_t *counts;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->comm->rank == call->args.root) {
        send_all(call);
    } else if (call->comm->node_of[call->args.root] == coll_my_node(call)) {
        recv_alone(call);
    } else {
        counts = mci_coll_node_counts(call, &call->args.count);
        mci_coll_stages_then(call->stages, recv_node, counts);
    }
    return mci_coll_stages_end(call->stages);
}
