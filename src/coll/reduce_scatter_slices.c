/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduce_scatter(_block) by slices: in the node each member gets, of all nodes, the parts of those
 * who have its place there; then it exchanges with these (teams.c). Every member sends its share of
 * the (nodes-1)/nodes of the vector that leave a node. Long vectors go in columns: while one
 * crosses the network, the node folds the next.
 */
#include "coll/algos.h"
#include "coll/stages.h"

struct slices {
    struct coll_call *call;
    int columns;
    size_t *begin;  /* of each rank's part, elements */
    char *packed;   /* a column by place and node; used again by the next */
    size_t *counts; /* of a column: by place, then of my place by node */
    char *result;   /* recvbuf, but not while that is read, too */
};

/* Elements [*first_p, *first_p + result) of rank's part. */
static size_t column_of(const struct slices *s, int rank, int column, size_t *first_p)
{
    size_t count = s->begin[rank + 1] - s->begin[rank];

    *first_p = coll_part(count, s->columns, column);
    return coll_part(count, s->columns, column + 1) - *first_p;
}

/* Make packed, and count. */
static void pack(struct slices *s, int column)
{
    const struct coll_tiers *tiers = coll_tiers_of(s->call);
    struct coll_plan *plan = mci_coll_stages_plan(s->call->stages, LANE_NODE, STAGE_NONE);
    const char *from = coll_input(&s->call->args);
    size_t elem = s->call->args.elem, at = 0, first;
    int nodes = s->call->comm->node_count, n = tiers->local_size;

    for (int place = 0; place < n; place++) {
        size_t before = at;

        for (int node = 0; node < nodes; node++) {
            int rank = tiers->order[tiers->begin[node] + place];
            size_t count = column_of(s, rank, column, &first);

            if (plan != NULL)
                mci_coll_plan_copy(plan, s->packed + at * elem,
                                   from + (s->begin[rank] + first) * elem, count * elem);
            if (place == tiers->local_rank)
                s->counts[n + node] = count;
            at += count;
        }
        s->counts[place] = at - before;
    }
}

static void column(struct slices *s, int i)
{
    const struct coll_tiers *tiers = coll_tiers_of(s->call);
    struct coll_args args = s->call->args;
    int n = tiers->local_size, mine = coll_my_node(s->call);
    size_t lists = (size_t)(n + s->call->comm->node_count) * sizeof(*s->counts), first;
    bool is_block = args.kind == COLL_REDUCE_SCATTER_BLOCK;
    void *slice;
    coll_stage_t node;

    s->counts = mci_coll_stages_scratch(s->call->stages, lists);
    if (s->counts == NULL)
        return;
    pack(s, i);
    slice = mci_coll_stages_scratch(s->call->stages, s->counts[tiers->local_rank] * args.elem);
    if (slice == NULL)
        return;
    args.sendbuf = s->packed;
    args.recvbuf = slice;
    args.recv_counts = s->counts;
    args.count = is_block ? s->counts[tiers->local_rank] : 0;
    node = mci_coll_on_node(s->call, STAGE_NONE, args);
    column_of(s, s->call->comm->rank, i, &first);
    args.sendbuf = slice;
    args.recvbuf = s->result + first * args.elem;
    args.recv_counts = s->counts + n;
    args.count = is_block ? s->counts[n + mine] : 0;
    mci_coll_across(s->call, node, tiers->cross, args);
}

mcomm_err_t mci_coll_reduce_scatter_slices(struct coll_call *call)
{
    int size = call->comm->size;
    size_t nbytes = coll_share(&call->args, call->comm->rank) * call->args.elem;
    struct slices s = {.call = call};
    struct coll_plan *plan;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    s.begin = mci_coll_stages_scratch(call->stages, (size_t)(size + 1) * sizeof(*s.begin));
    if (s.begin == NULL)
        return mci_coll_stages_end(call->stages);
    coll_begins(&call->args, size, s.begin);
    s.columns = mci_coll_parts(s.begin[size] * call->args.elem);
    s.packed = mci_coll_stages_scratch(
        call->stages, (s.begin[size] / (size_t)s.columns + (size_t)size) * call->args.elem);
    s.result = call->args.recvbuf;
    if (call->args.sendbuf == MCOMM_IN_PLACE && s.columns > 1)
        s.result = mci_coll_stages_scratch(call->stages, nbytes);
    if (s.packed == NULL || (s.result == NULL && nbytes > 0))
        return mci_coll_stages_end(call->stages);
    for (int i = 0; i < s.columns; i++)
        column(&s, i);
    plan = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);
    if (plan != NULL)
        mci_coll_plan_copy(plan, call->args.recvbuf, s.result, nbytes);
    return mci_coll_stages_end(call->stages);
}
