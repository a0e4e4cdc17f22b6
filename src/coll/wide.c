/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions whose partial results need another type (fold.h): the operands are widened, any
 * algorithm reduces those, and the result is rounded once. An algorithm that folds all operands at
 * once needs none of this. Sums of 16-bit floats so cost twice their bytes, of 8-bit ones four
 * times. A long allreduce is a reduce_scatter of wide elements and an allgather of results: 3/2 of
 * the bytes, or 5/2.
 */
#include "coll/algos.h"
#include "coll/stages.h"

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
    struct coll_plan *plan = mci_coll_stages_plan(w->call->stages, LANE_NODE, STAGE_ALL);

    if (plan != NULL)
        mci_coll_plan_widen(plan, wide, from, count);
}

static void narrow(const struct wide *w, void *to, const void *wide, size_t count)
{
    struct coll_plan *plan = mci_coll_stages_plan(w->call->stages, LANE_NODE, STAGE_ALL);

    if (plan != NULL)
        mci_coll_plan_narrow(plan, to, wide, count);
}

static void reduce(const struct wide *w)
{
    mci_coll_stages_add(w->call->stages, LANE_NODE, STAGE_ALL, w->call->team, w->args);
}

/* Everybody's part of the vector, rounded, then all parts. */
static void allreduce_split(struct wide *w)
{
    struct coll_args args = w->call->args;
    size_t size = (size_t)w->call->team.size, each = args.count / size, rest = args.count % size;
    char *all = scratch(w, args.count), *part = scratch(w, each);
    char *mine = coll_at(args.recvbuf, (size_t)w->call->team.rank * each * args.elem);

    if (all == NULL || part == NULL)
        return;
    widen(w, all, coll_input(&args), args.count);
    if (rest > 0) {
        w->args.kind = COLL_ALLREDUCE;
        w->args.sendbuf = MCOMM_IN_PLACE;
        w->args.recvbuf = all + each * size * w->args.elem;
        w->args.count = rest;
        reduce(w);
        narrow(w, coll_at(args.recvbuf, each * size * args.elem), w->args.recvbuf, rest);
    }
    w->args.kind = COLL_REDUCE_SCATTER_BLOCK;
    w->args.sendbuf = all;
    w->args.recvbuf = part;
    w->args.count = each;
    reduce(w);
    narrow(w, mine, part, each);
    args.kind = COLL_ALLGATHER;
    args.sendbuf = MCOMM_IN_PLACE;
    args.count = each;
    mci_coll_stages_add(w->call->stages, LANE_NODE, STAGE_ALL, w->call->team, args);
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
        narrow(w, args->recvbuf, all, args->count);
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
    narrow(w, args->recvbuf, part, mine);
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
