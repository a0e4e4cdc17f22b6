/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gatherv: the members of a node tell each other their counts; if they have little, it goes to the
 * root in one message of their leader (teams.c), else each sends its own. The root knows all counts
 * and so what comes how.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AT_ONCE 8

/* ---- who is not on the root's node: counts are its members' ---- */
static void send_alone(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);

    if (plan != NULL && args->count > 0)
        mci_coll_plan_send(plan, args->sendbuf, coll_nbytes(args), args->root);
}

static void send_together(struct coll_call *call, const size_t *counts, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t *displs =
        mci_coll_stages_scratch(call->stages, (size_t)tiers->local_size * sizeof(*displs));
    struct coll_plan *plan;

    args.recvbuf = mci_coll_stages_scratch(call->stages, count * args.elem);
    if (displs == NULL || args.recvbuf == NULL)
        return;
    displs[0] = 0;
    for (int i = 1; i < tiers->local_size; i++)
        displs[i] = displs[i - 1] + counts[i - 1];
    args.recv_counts = counts;
    args.recv_displs = displs;
    args.root = 0;
    mci_coll_on_node(call, STAGE_ALL, args);
    if (tiers->local_rank != 0)
        return;
    plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
    if (plan != NULL)
        mci_coll_plan_send(plan, args.recvbuf, count * args.elem, call->args.root);
}

static void send_node(struct coll_call *call, void *arg)
{
    const size_t *counts = arg;
    int n = coll_tiers_of(call)->local_size;
    size_t count = 0;

    for (int i = 0; i < n; i++)
        count += counts[i];
    if (n == 1 || !coll_go_together(count * call->args.elem))
        send_alone(call);
    else if (count > 0)
        send_together(call, counts, count);
}

/* ---- the root ---- */
static void recv_rank(struct coll_call *call, struct coll_plan *plan, int rank)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = args->recv_counts[rank] * args->elem;
    char *to = coll_at(args->recvbuf, args->recv_displs[rank] * args->elem);

    if (rank != args->root && nbytes > 0)
        mci_coll_plan_recv(plan, to, nbytes, rank);
    if (rank == args->root && args->sendbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(plan, to, args->sendbuf, nbytes);
}

static void recv_node(struct coll_call *call, struct coll_plan *plan, int node, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    const struct coll_args *args = &call->args;
    const int *ranks = tiers->order + tiers->begin[node];
    char *all = mci_coll_plan_scratch(plan, count * args->elem);

    if (all == NULL)
        return;
    mci_coll_plan_recv(plan, all, count * args->elem, tiers->leaders[node]);
    for (int i = 0; i < tiers->sizes[node]; i++) {
        size_t nbytes = args->recv_counts[ranks[i]] * args->elem;

        mci_coll_plan_copy(plan, coll_at(args->recvbuf, args->recv_displs[ranks[i]] * args->elem),
                           all, nbytes);
        all += nbytes;
    }
}

static void recv_all(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
    int live = 0;

    for (int node = 0; node < call->comm->node_count && plan != NULL; node++) {
        const int *ranks = tiers->order + tiers->begin[node];
        int n = tiers->sizes[node];
        size_t count = 0;

        for (int i = 0; i < n; i++)
            count += call->args.recv_counts[ranks[i]];
        if (node != coll_my_node(call) && n > 1 && coll_go_together(count * call->args.elem)) {
            if (count > 0)
                recv_node(call, plan, node, count);
            n = 0;
        }
        for (int i = 0; i < n; i++) {
            recv_rank(call, plan, ranks[i]);
            if (++live % AT_ONCE == 0)
                mci_coll_plan_round(plan);
        }
    }
}

mcomm_err_t mci_coll_gatherv_leaders(struct coll_call *call)
{
    size_t *counts;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->comm->rank == call->args.root) {
        recv_all(call);
    } else if (call->comm->node_of[call->args.root] == coll_my_node(call)) {
        send_alone(call);
    } else {
        counts = mci_coll_node_counts(call, &call->args.count);
        mci_coll_stages_then(call->stages, send_node, counts);
    }
    return mci_coll_stages_end(call->stages);
}
