/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce and reduce by slices: reduce-scatter in the node, the same of each slice by the members
 * that have it, allgather in the node, or gather on the root's (teams.c): across the network goes
 * what the leaders alone would send, but from every member. A long vector goes in parts, so that
 * the node works on one while another crosses the network. What does not divide by the members of a
 * node goes by the leaders.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AHEAD 2 /* parts in the node before the first has come back */

struct slices {
    struct coll_call *call;
    bool has_result, is_home; /* on a node that has one */
    int place;                /* of the root there */
    char *spare;              /* for slices, where there is no result */
};

struct part {
    struct coll_args args; /* of the slice */
    char *whole;
    coll_stage_t wire;
};

/* elements [first, first + count) of the vector, a multiple of the node's members */
static struct part begin(struct slices *s, size_t first, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(s->call);
    struct part part = {.args = s->call->args};
    struct coll_args *args = &part.args;
    enum coll_kind kind = args->kind;
    size_t elem = args->elem;
    coll_stage_t node;

    part.whole = s->has_result ? coll_at(args->recvbuf, first * elem) : NULL;
    args->count = count / (size_t)tiers->local_size;
    args->sendbuf = coll_at(coll_input(&s->call->args), first * elem);
    /* in place: where its own part of the input lies */
    args->recvbuf = s->has_result ? part.whole + (size_t)tiers->local_rank * coll_nbytes(args)
                                  : s->spare + first / (size_t)tiers->local_size * elem;
    args->kind = COLL_REDUCE_SCATTER_BLOCK;
    node = mci_coll_on_node(s->call, STAGE_NONE, *args);
    args->sendbuf = s->is_home ? MCOMM_IN_PLACE : args->recvbuf;
    args->kind = kind;
    args->root = kind == COLL_REDUCE ? s->call->comm->node_of[args->root] : 0;
    part.wire = mci_coll_across(s->call, node, tiers->cross, *args);
    return part;
}

static void end(struct slices *s, struct part *part)
{
    struct coll_args *args = &part->args;

    if (!s->is_home)
        return;
    args->sendbuf = s->has_result ? MCOMM_IN_PLACE : args->recvbuf;
    args->recvbuf = part->whole;
    args->kind = args->kind == COLL_REDUCE ? COLL_GATHER : COLL_ALLGATHER;
    args->root = s->place;
    mci_coll_on_node(s->call, part->wire, *args);
}

static void lay_down(struct slices *s)
{
    struct coll_call *call = s->call;
    size_t n = (size_t)coll_tiers_of(call)->local_size, each = call->args.count / n;
    int parts = mci_coll_parts(coll_nbytes(&call->args));
    struct part part[AHEAD + 1];

    for (int i = 0; i < parts + AHEAD; i++) {
        size_t first = coll_part(each, parts, i), next = coll_part(each, parts, i + 1);

        if (i < parts)
            part[i % (AHEAD + 1)] = begin(s, first * n, (next - first) * n);
        if (i >= AHEAD)
            end(s, &part[(i - AHEAD) % (AHEAD + 1)]);
    }
}

mcomm_err_t mci_coll_allreduce_slices(struct coll_call *call)
{
    struct slices s = {.call = call, .has_result = true, .is_home = true};
    size_t rest = call->args.count % (size_t)coll_tiers_of(call)->local_size;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    lay_down(&s);
    if (rest > 0)
        mci_coll_allreduce_by_leaders(call, call->args.count - rest, rest);
    return mci_coll_stages_end(call->stages);
}

mcomm_err_t mci_coll_reduce_slices(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t n = (size_t)coll_tiers_of(call)->local_size, rest = args->count % n;
    struct slices s = {.call = call,
                       .has_result = call->comm->rank == args->root,
                       .is_home = coll_my_node(call) == call->comm->node_of[args->root]};
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_coll_leaders_with_root(call, args->root, &s.place) == NULL)
        return mci_coll_stages_end(call->stages);
    if (!s.has_result)
        s.spare = mci_coll_stages_scratch(call->stages, args->count / n * args->elem);
    if (!s.has_result && s.spare == NULL)
        return mci_coll_stages_end(call->stages);
    lay_down(&s);
    if (rest > 0)
        mci_coll_reduce_by_leaders(call, args->count - rest, rest);
    return mci_coll_stages_end(call->stages);
}
