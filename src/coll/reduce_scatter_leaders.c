/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduce_scatter(_block): each node to its leader, reduce_scatter of the nodes' parts among the
 * leaders, scatter in the node (teams.c): nodes-1 messages a node.
 */
#include "coll/algos.h"
#include "coll/stages.h"

/* Elements of each node's parts. */
static size_t *node_counts(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    int nodes = call->comm->node_count;
    size_t *counts = mci_coll_stages_scratch(call->stages, (size_t)nodes * sizeof(*counts));

    for (int node = 0; node < nodes && counts != NULL; node++) {
        counts[node] = 0;
        for (int i = 0; i < tiers->sizes[node]; i++)
            counts[node] += coll_share(&call->args, tiers->order[tiers->begin[node] + i]);
    }
    return counts;
}

/* The vector with the parts of a node together. */
static const void *by_node(struct coll_call *call, const void *vector, const size_t *begin)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    size_t elem = call->args.elem, at = 0;
    char *all;
    struct coll_plan *plan;

    all = mci_coll_stages_scratch(call->stages, begin[call->comm->size] * elem);
    plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);
    for (int i = 0; i < call->comm->size && all != NULL && plan != NULL; i++) {
        int rank = tiers->order[i];
        size_t nbytes = (begin[rank + 1] - begin[rank]) * elem;

        mci_coll_plan_copy(plan, all + at, coll_at(vector, begin[rank] * elem), nbytes);
        at += nbytes;
    }
    return all;
}

/* The parts of my node, to its members. */
static void scatter(struct coll_call *call, const void *parts)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t n = (size_t)tiers->local_size;

    args.root = 0;
    args.sendbuf = parts;
    args.count = coll_share(&call->args, call->comm->rank);
    args.kind = COLL_SCATTER;
    if (call->args.kind == COLL_REDUCE_SCATTER) {
        size_t *lists = mci_coll_stages_scratch(call->stages, 2 * n * sizeof(*lists));

        if (lists == NULL)
            return;
        for (size_t i = 0; i < n; i++) {
            lists[i] = coll_share(&call->args, tiers->local[i]);
            lists[n + i] = i > 0 ? lists[n + i - 1] + lists[i - 1] : 0;
        }
        args.kind = COLL_SCATTERV;
        args.send_counts = lists;
        args.send_displs = lists + n;
    }
    mci_coll_on_node(call, STAGE_ALL, args);
}

/* Among the leaders; vector is the node's, parts are what it gets. */
static void exchange(struct coll_call *call, const void *vector, const size_t *begin,
                     const size_t *counts, void *parts)
{
    struct coll_args args = call->args;

    args.kind = COLL_REDUCE_SCATTER;
    args.sendbuf = vector;
    if (!coll_tiers_of(call)->is_blocked)
        args.sendbuf = by_node(call, vector == MCOMM_IN_PLACE ? args.recvbuf : vector, begin);
    args.recvbuf = parts;
    args.recv_counts = counts;
    mci_coll_across(call, STAGE_ALL, coll_tiers_of(call)->leaders, args);
}

mcomm_err_t mci_coll_reduce_scatter_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    bool is_leader = tiers->local_rank == 0;
    size_t *counts, *begin;
    char *vector, *parts;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    begin = mci_coll_stages_scratch(call->stages, (size_t)(call->comm->size + 1) * sizeof(*begin));
    counts = node_counts(call);
    if (counts == NULL || begin == NULL)
        return mci_coll_stages_end(call->stages);
    coll_begins(&args, call->comm->size, begin);
    if (tiers->local_size == 1) {
        exchange(call, args.sendbuf, begin, counts, args.recvbuf);
        return mci_coll_stages_end(call->stages);
    }
    args.count = begin[call->comm->size];
    vector = is_leader ? mci_coll_stages_scratch(call->stages, coll_nbytes(&args)) : NULL;
    parts = is_leader
                ? mci_coll_stages_scratch(call->stages, counts[coll_my_node(call)] * args.elem)
                : NULL;
    if (is_leader && (vector == NULL || parts == NULL))
        return mci_coll_stages_end(call->stages);
    args.kind = COLL_REDUCE;
    args.sendbuf = coll_input(&call->args);
    args.recvbuf = vector;
    args.root = 0;
    mci_coll_on_node(call, STAGE_ALL, args);
    if (is_leader)
        exchange(call, vector, begin, counts, parts);
    scatter(call, parts);
    return mci_coll_stages_end(call->stages);
}
