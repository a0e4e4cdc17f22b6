/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scan and exscan where the ranks of a node are consecutive: scan in the node, then the last
 * members of the nodes find what comes before each and tell their node (teams.c). The prefix lies
 * left in every fold, so the order of ranks is kept. Small vectors go by an exscan of the nodes'
 * sums, ceil(log2 nodes) rounds. Long ones go in parts along the chain of the nodes: every byte
 * enters and leaves a node once, and while a part crosses the network the node works on others.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AHEAD 2 /* parts scanned in the node before it hears what precedes the first */

struct scan {
    struct coll_call *call;
    int parts;
    bool is_chain;
    const int *last;         /* member of each node */
    bool is_last;            /* that is me */
    char *inner;             /* scan in the node, of all before me and me */
    char *before[AHEAD + 1]; /* of the nodes before mine, by part */
};

static struct coll_args part_of(const struct scan *s, int i)
{
    struct coll_args args = s->call->args;
    size_t first = coll_part(args.count, s->parts, i);

    args.count = coll_part(args.count, s->parts, i + 1) - first;
    args.recvbuf = coll_at(args.recvbuf, first * args.elem);
    if (args.sendbuf != MCOMM_IN_PLACE)
        args.sendbuf = coll_at(args.sendbuf, first * args.elem);
    return args;
}

static char *inner_of(const struct scan *s, int i)
{
    const struct coll_args *args = &s->call->args;

    return s->inner + coll_part(args->count, s->parts, i) * args->elem;
}

/* inner of a part, for exscan out of the result before me. */
static coll_stage_t scan_node(const struct scan *s, int i)
{
    struct coll_stages *stages = s->call->stages;
    struct coll_args args = part_of(s, i);
    bool is_alone = coll_tiers_of(s->call)->local_size == 1;
    struct coll_plan *plan;

    if (args.kind == COLL_SCAN && !is_alone)
        return mci_coll_on_node(s->call, STAGE_NONE, args); /* to recvbuf, which is inner */
    /* The input is kept: in place the result is written over it. */
    plan = mci_coll_stages_plan(stages, LANE_NODE, STAGE_NONE);
    if (plan != NULL)
        mci_coll_plan_copy(plan, inner_of(s, i), coll_input(&args), coll_nbytes(&args));
    if (args.kind == COLL_EXSCAN && !is_alone) {
        args.sendbuf = inner_of(s, i);
        mci_coll_on_node(s->call, STAGE_NONE, args);
        plan = s->is_last ? mci_coll_stages_plan(stages, LANE_NODE, STAGE_NONE) : NULL;
        if (plan != NULL)
            mci_coll_plan_fold(plan, inner_of(s, i), args.recvbuf, inner_of(s, i), args.count);
    }
    return mci_coll_stages_last(stages);
}

/* Part number i comes in, the one before goes out; from the first node what is scanned. inner
 * becomes the prefix of the node's end. */
static coll_stage_t pass_on(const struct scan *s, coll_stage_t after, int i)
{
    int node = coll_my_node(s->call), out = node == 0 ? i : i - 1;
    bool has_next = node + 1 < s->call->comm->node_count;
    struct coll_plan *plan = mci_coll_stages_plan(s->call->stages, LANE_WIRE, after);
    struct coll_args args;

    if (plan == NULL)
        return STAGE_NONE;
    if (has_next && out >= 0 && out < s->parts) {
        args = part_of(s, out);
        mci_coll_plan_send(plan, inner_of(s, out), coll_nbytes(&args), s->last[node + 1]);
    }
    if (node > 0 && i < s->parts) {
        char *before = s->before[i % (AHEAD + 1)];

        args = part_of(s, i);
        mci_coll_plan_recv(plan, before, coll_nbytes(&args), s->last[node - 1]);
        if (has_next || args.kind == COLL_SCAN)
            mci_coll_plan_fold(plan, inner_of(s, i), before, inner_of(s, i), args.count);
    }
    return mci_coll_stages_last(s->call->stages);
}

static coll_stage_t cross(const struct scan *s, coll_stage_t after, int i)
{
    struct coll_args args = part_of(s, i);

    if (!s->is_last)
        return STAGE_NONE;
    if (s->is_chain)
        return pass_on(s, after, i);
    args.sendbuf = inner_of(s, i);
    args.recvbuf = s->before[i % (AHEAD + 1)];
    args.kind = COLL_EXSCAN;
    return mci_coll_across(s->call, after, s->last, args);
}

/* What comes before the node, to all of it and to the results. */
static void add_before(const struct scan *s, coll_stage_t wire, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(s->call);
    struct coll_args args = part_of(s, i), bcast = args;
    char *before = s->before[i % (AHEAD + 1)];
    struct coll_plan *plan;

    if (coll_my_node(s->call) == 0)
        return;
    bcast.kind = COLL_BCAST;
    bcast.recvbuf = before;
    bcast.root = tiers->local_size - 1;
    mci_coll_on_node(s->call, wire, bcast);
    if (s->is_chain && s->is_last && args.kind == COLL_SCAN)
        return; /* it did that to pass it on */
    plan = mci_coll_stages_plan(s->call->stages, LANE_NODE, wire);
    if (plan == NULL)
        return;
    if (args.kind == COLL_EXSCAN && tiers->local_rank == 0)
        mci_coll_plan_copy(plan, args.recvbuf, before, coll_nbytes(&args));
    else
        mci_coll_plan_fold(plan, args.recvbuf, before, args.recvbuf, args.count);
}

static void lay_down(const struct scan *s)
{
    int node = coll_my_node(s->call);
    coll_stage_t wire[AHEAD + 1];

    for (int i = 0; i < s->parts + AHEAD; i++) {
        if (i < s->parts)
            wire[i % (AHEAD + 1)] = cross(s, scan_node(s, i), i);
        if (i >= AHEAD)
            add_before(s, wire[(i - AHEAD) % (AHEAD + 1)], i - AHEAD);
    }
    if (s->is_chain && s->is_last && node > 0 && node + 1 < s->call->comm->node_count)
        pass_on(s, STAGE_NONE, s->parts);
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

/* Parts pass nodes one after the other; in an exscan each passes the network log2 nodes times. */
static bool chain_is_shorter(int nodes, int parts)
{
    int rounds = 0;

    for (int64_t bit = 1; bit < nodes; bit <<= 1)
        rounds++;
    return parts > 1 && nodes - 2 + parts <= rounds * parts;
}

mcomm_err_t mci_coll_scan_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    const struct coll_args *args = &call->args;
    int parts = mci_coll_parts(coll_nbytes(args));
    struct scan s = {.call = call,
                     .parts = parts,
                     .is_chain = chain_is_shorter(call->comm->node_count, parts),
                     .is_last = tiers->local_rank == tiers->local_size - 1};
    size_t most = (args->count / (size_t)parts + 1) * args->elem;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    s.inner = args->kind == COLL_SCAN ? args->recvbuf
                                      : mci_coll_stages_scratch(call->stages, coll_nbytes(args));
    s.before[0] = mci_coll_stages_scratch(call->stages, (AHEAD + 1) * most);
    s.last = last_members(call);
    if (s.before[0] == NULL || s.last == NULL || (s.inner == NULL && args->count > 0))
        return mci_coll_stages_end(call->stages);
    for (int i = 1; i <= AHEAD; i++)
        s.before[i] = s.before[i - 1] + most;
    lay_down(&s);
    return mci_coll_stages_end(call->stages);
}
