/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions whose partial results need another type (fold.h): the operands are widened, any
 * algorithm reduces those, and the result is rounded once. An algorithm that folds all operands at
 * once needs none of this. Sums of 16-bit floats so cost twice their bytes, of 8-bit ones four
 * times. A long allreduce is a reduce_scatter of wide elements and an allgather of results: 3/2 of
 * the bytes, or 5/2; across nodes it goes in parts, so that the nodes work on one while another
 * crosses the network.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AHEAD 2                          /* parts in the node before the first has come back */
#define SPLIT_NBYTES ((size_t)128 << 10) /* of a vector, from which on allreduce is two calls */

struct wide {
    struct coll_call *call;
    struct coll_args args; /* of the wide call */
};

static char *scratch(const struct wide *w, size_t count)
{
    return mci_coll_stages_scratch(w->call->stages, count * w->args.elem);
}

static void widen(const struct wide *w, void *wide, const void *from, size_t count)
{
    struct coll_plan *plan = mci_coll_stages_plan(w->call->stages, LANE_NODE, STAGE_NONE);

    if (plan != NULL)
        mci_coll_plan_widen(plan, wide, from, count);
}

static void narrow(const struct wide *w, enum coll_lane lane, void *to, const void *wide,
                   size_t count)
{
    struct coll_plan *plan = mci_coll_stages_plan(w->call->stages, lane, STAGE_NONE);

    if (plan != NULL)
        mci_coll_plan_narrow(plan, to, wide, count);
}

static void reduce(const struct wide *w)
{
    mci_coll_stages_add(w->call->stages, LANE_NODE, STAGE_NONE, w->call->team, w->args);
}

/* Part of a vector on its way: each on all nodes folds and rounds a share of it. */
struct part {
    struct coll_args args; /* of the rounded result, all of it */
    coll_stage_t wire;
};

/* Members of a node fold theirs, of all nodes those with the same place. all is the part, widened;
 * share elements of it are a member's. */
static struct part begin_part(struct wide *w, size_t first, size_t share, char *all, char *slice)
{
    struct coll_call *call = w->call;
    const struct coll_tiers *tiers = coll_tiers_of(call);
    size_t each = share * (size_t)call->comm->node_count, elem = call->args.elem;
    struct part part = {.args = call->args};
    struct coll_args cross;
    coll_stage_t node;

    part.args.recvbuf = coll_at(part.args.recvbuf, first * elem);
    part.args.count = each;
    part.args.sendbuf = MCOMM_IN_PLACE;
    part.args.kind = COLL_ALLGATHER;
    widen(w, all, coll_at(coll_input(&call->args), first * elem), each * (size_t)tiers->local_size);
    w->args.kind = COLL_REDUCE_SCATTER_BLOCK;
    w->args.sendbuf = all;
    w->args.recvbuf = slice;
    w->args.count = each;
    node = mci_coll_on_node(call, STAGE_NONE, w->args);
    w->args.sendbuf = slice;
    w->args.recvbuf = slice + each * w->args.elem;
    w->args.count = share;
    mci_coll_across(call, node, tiers->cross, w->args);
    cross = part.args;
    cross.count = share;
    cross.recvbuf = coll_at(cross.recvbuf, (size_t)tiers->local_rank * each * elem);
    narrow(w, LANE_WIRE, coll_at(cross.recvbuf, (size_t)coll_my_node(call) * share * elem),
           w->args.recvbuf, share);
    part.wire = mci_coll_across(call, STAGE_NONE, tiers->cross, cross);
    return part;
}

/* Of several nodes with as many members each, as by slices; shares: elements of each rank. */
static void allreduce_nodes(struct wide *w, size_t shares)
{
    struct coll_call *call = w->call;
    size_t size = (size_t)call->comm->size, nodes = (size_t)call->comm->node_count;
    int parts = mci_coll_parts(shares * size * call->args.elem);
    size_t most = shares / (size_t)parts + 1;
    char *all = scratch(w, most * size), *slice = scratch(w, (AHEAD + 1) * most * (nodes + 1));
    struct part part[AHEAD + 1];

    for (int i = 0; i < parts + AHEAD && all != NULL && slice != NULL; i++) {
        size_t first = coll_part(shares, parts, i), next = coll_part(shares, parts, i + 1);
        int at = i % (AHEAD + 1), done = (i + 1) % (AHEAD + 1);

        if (i < parts)
            part[at] = begin_part(w, first * size, next - first, all,
                                  slice + (size_t)at * most * (nodes + 1) * w->args.elem);
        if (i >= AHEAD)
            mci_coll_on_node(call, part[done].wire, part[done].args);
    }
}

/* Everybody's share of the vector, rounded, then all shares. */
static void allreduce_all(struct wide *w, size_t shares)
{
    struct coll_args args = w->call->args;
    size_t count = shares * (size_t)w->call->team.size;
    char *all = scratch(w, count), *share = scratch(w, shares);

    if (all == NULL || share == NULL)
        return;
    widen(w, all, coll_input(&args), count);
    w->args.kind = COLL_REDUCE_SCATTER_BLOCK;
    w->args.sendbuf = all;
    w->args.recvbuf = share;
    w->args.count = shares;
    reduce(w);
    narrow(w, LANE_NODE, coll_at(args.recvbuf, (size_t)w->call->team.rank * shares * args.elem),
           share, shares);
    args.kind = COLL_ALLGATHER;
    args.sendbuf = MCOMM_IN_PLACE;
    args.count = shares;
    mci_coll_stages_add(w->call->stages, LANE_NODE, STAGE_NONE, w->call->team, args);
}

/* A reduce_scatter of wide elements, an allgather of rounded ones. */
static void allreduce_split(struct wide *w)
{
    const struct coll_args *args = &w->call->args;
    const struct coll_tiers *tiers = coll_tiers_of(w->call);
    size_t size = (size_t)w->call->team.size, rest = args->count % size;
    size_t first = args->count - rest;
    char *some;

    if (rest > 0) {
        some = scratch(w, rest);
        if (some == NULL)
            return;
        widen(w, some, coll_at(coll_input(args), first * args->elem), rest);
        w->args.kind = COLL_ALLREDUCE;
        w->args.sendbuf = MCOMM_IN_PLACE;
        w->args.recvbuf = some;
        w->args.count = rest;
        reduce(w);
        narrow(w, LANE_NODE, coll_at(args->recvbuf, first * args->elem), some, rest);
    }
    if (w->call->team.ranks == NULL && tiers->has_tiers && tiers->is_even)
        allreduce_nodes(w, args->count / size);
    else
        allreduce_all(w, args->count / size);
}

/* The vector is as long as the result. */
static void reduce_whole(struct wide *w)
{
    const struct coll_args *args = &w->call->args;
    int rank = w->call->team.rank;
    bool has_result = args->kind != COLL_REDUCE || rank == args->root;
    char *all = w->args.elem == args->elem && has_result ? args->recvbuf : scratch(w, args->count);

    if (all == NULL && args->count > 0)
        return;
    widen(w, all, coll_input(args), args->count);
    w->args.sendbuf = has_result ? MCOMM_IN_PLACE : all;
    w->args.recvbuf = all;
    reduce(w);
    if (has_result && (args->kind != COLL_EXSCAN || rank > 0))
        narrow(w, LANE_NODE, args->recvbuf, all, args->count);
}

static void reduce_scatter(struct wide *w)
{
    const struct coll_args *args = &w->call->args;
    size_t mine = coll_share(args, w->call->team.rank), count = 0;
    char *all, *part;

    for (int i = 0; i < w->call->team.size; i++)
        count += coll_share(args, i);
    all = scratch(w, count);
    part = scratch(w, mine);
    if (all == NULL || part == NULL)
        return;
    widen(w, all, coll_input(args), count);
    w->args.sendbuf = all;
    w->args.recvbuf = part;
    reduce(w);
    narrow(w, LANE_NODE, args->recvbuf, part, mine);
}

mcomm_err_t mci_coll_wide(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct wide w = {.call = call, .args = *args};
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    w.args.dtype = mci_fold_wide_type(args->dtype, args->op);
    w.args.elem = mci_dtype_nbytes(w.args.dtype);
    w.args.op = args->op == MCOMM_AVG ? MCOMM_SUM : args->op;
    if (args->kind == COLL_REDUCE_SCATTER || args->kind == COLL_REDUCE_SCATTER_BLOCK)
        reduce_scatter(&w);
    else if (args->kind == COLL_ALLREDUCE && w.args.elem > args->elem &&
             coll_nbytes(args) >= SPLIT_NBYTES)
        allreduce_split(&w);
    else
        reduce_whole(&w);
    return mci_coll_stages_end(call->stages);
}
