/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scan and exscan where the ranks of a node are consecutive: scan in the node, exscan of the nodes'
 * sums by their last members, who tell their node what comes before it (teams.c): ceil(log2 nodes)
 * rounds across. The prefix lies left in every fold, so the order of ranks is kept.
 */
#include "coll/algos.h"
#include "coll/stages.h"

struct scan {
    struct coll_call *call;
    char *inner;  /* scan in the node, of all before me and me */
    char *before; /* of the nodes before mine */
    bool is_last; /* of my node */
};

/* inner, for exscan out of the result before me. */
static void scan_node(const struct scan *s)
{
    const struct coll_tiers *tiers = coll_tiers_of(s->call);
    struct coll_args args = s->call->args;
    struct coll_plan *plan;

    if (args.kind == COLL_SCAN) {
        mci_coll_on_node(s->call, STAGE_ALL, args); /* to recvbuf, which is inner */
        if (tiers->local_size > 1 || args.sendbuf == MCOMM_IN_PLACE)
            return;
    }
    /* The input is kept: in place the result is written over it. */
    plan = mci_coll_stages_plan(s->call->stages, LANE_NODE, STAGE_ALL);
    if (plan != NULL)
        mci_coll_plan_copy(plan, s->inner, coll_input(&args), coll_nbytes(&args));
    if (args.kind == COLL_SCAN)
        return;
    args.sendbuf = s->inner;
    mci_coll_on_node(s->call, STAGE_ALL, args);
    plan = s->is_last && tiers->local_size > 1
               ? mci_coll_stages_plan(s->call->stages, LANE_NODE, STAGE_ALL)
               : NULL;
    if (plan != NULL)
        mci_coll_plan_fold(plan, s->inner, args.recvbuf, s->inner, args.count);
}

static const int *last_members(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    int nodes = call->comm->node_count;
    int *ranks = mci_coll_stages_scratch(call->stages, (size_t)nodes * sizeof(*ranks));

    for (int i = 0; i < nodes && ranks != NULL; i++)
        ranks[i] = tiers->order[tiers->begin[i] + tiers->sizes[i] - 1];
    return ranks;
}

/* What comes before the node, to the result. */
static void add_before(const struct scan *s)
{
    const struct coll_args *args = &s->call->args;
    struct coll_plan *plan = mci_coll_stages_plan(s->call->stages, LANE_NODE, STAGE_ALL);

    if (plan == NULL)
        return;
    if (args->kind == COLL_EXSCAN && coll_tiers_of(s->call)->local_rank == 0)
        mci_coll_plan_copy(plan, args->recvbuf, s->before, coll_nbytes(args));
    else
        mci_coll_plan_fold(plan, args->recvbuf, s->before, args->recvbuf, args->count);
}

mcomm_err_t mci_coll_scan_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    struct scan s = {.call = call, .is_last = tiers->local_rank == tiers->local_size - 1};
    const int *ranks;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    s.inner = args.kind == COLL_SCAN ? args.recvbuf
                                     : mci_coll_stages_scratch(call->stages, coll_nbytes(&args));
    s.before = mci_coll_stages_scratch(call->stages, coll_nbytes(&args));
    ranks = last_members(call);
    if (s.before == NULL || ranks == NULL || (s.inner == NULL && args.count > 0))
        return mci_coll_stages_end(call->stages);
    scan_node(&s);
    args.sendbuf = s.inner;
    args.recvbuf = s.before;
    args.kind = COLL_EXSCAN;
    if (s.is_last)
        mci_coll_across(call, STAGE_ALL, ranks, args);
    if (coll_my_node(call) == 0)
        return mci_coll_stages_end(call->stages);
    args.kind = COLL_BCAST;
    args.root = tiers->local_size - 1;
    mci_coll_on_node(call, STAGE_ALL, args);
    add_before(&s);
    return mci_coll_stages_end(call->stages);
}
