/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather and allgatherv: each node to its leader, the nodes' blocks among the leaders, and all
 * to all of the node (teams.c). Blocks travel in the order of the nodes; where the result has
 * another one, or gaps, they are put to their places in the end.
 */
#include "coll/algos.h"
#include "coll/stages.h"

struct blocks {
    struct coll_call *call;
    bool is_in_order; /* of the nodes, one behind the other */
    char *all;        /* so; the result if that is in order */
    size_t *counts;   /* of each member of my node, then of each node; elements */
    size_t *firsts;   /* where in all, alike */
    size_t total;
};

static bool blocks_new(struct blocks *b)
{
    const struct coll_tiers *tiers = coll_tiers_of(b->call);
    const struct coll_args *args = &b->call->args;
    int n = tiers->local_size, nodes = b->call->comm->node_count;
    size_t lists = (size_t)(n + nodes);

    b->counts = mci_coll_stages_scratch(b->call->stages, 2 * lists * sizeof(*b->counts));
    if (b->counts == NULL)
        return false;
    b->firsts = b->counts + lists;
    for (int node = 0; node < nodes; node++) {
        b->firsts[n + node] = b->total;
        for (int i = 0; i < tiers->sizes[node]; i++) {
            size_t count = coll_block_count(args, tiers->order[tiers->begin[node] + i]);

            if (node == coll_my_node(b->call)) {
                b->counts[i] = count;
                b->firsts[i] = b->total - b->firsts[n + node];
            }
            b->total += count;
        }
        b->counts[n + node] = b->total - b->firsts[n + node];
    }
    b->is_in_order = args->kind == COLL_ALLGATHER && tiers->is_blocked;
    b->all = b->is_in_order ? args->recvbuf
                            : mci_coll_stages_scratch(b->call->stages, b->total * args->elem);
    return b->all != NULL || b->total == 0;
}

static void gather(const struct blocks *b, char *node_blocks)
{
    const struct coll_tiers *tiers = coll_tiers_of(b->call);
    struct coll_args args = b->call->args;
    int rank = b->call->comm->rank;

    if (args.sendbuf == MCOMM_IN_PLACE && !(b->is_in_order && tiers->local_rank == 0))
        args.sendbuf = coll_at(args.recvbuf, coll_block_first(&args, rank) * args.elem);
    args.kind = args.kind == COLL_ALLGATHER ? COLL_GATHER : COLL_GATHERV;
    args.recvbuf = node_blocks;
    args.count = b->counts[tiers->local_rank];
    args.recv_counts = b->counts;
    args.recv_displs = b->firsts;
    args.root = 0;
    mci_coll_on_node(b->call, STAGE_ALL, args);
}

/* Among the leaders. */
static void exchange(const struct blocks *b)
{
    const struct coll_tiers *tiers = coll_tiers_of(b->call);
    struct coll_args args = b->call->args;
    int n = tiers->local_size;

    if (n > 1)
        args.sendbuf = MCOMM_IN_PLACE;
    else if (args.sendbuf == MCOMM_IN_PLACE && !b->is_in_order)
        args.sendbuf =
            coll_at(args.recvbuf, coll_block_first(&args, b->call->comm->rank) * args.elem);
    args.kind = args.kind == COLL_ALLGATHER && tiers->is_even ? COLL_ALLGATHER : COLL_ALLGATHERV;
    args.recvbuf = b->all;
    args.count = b->counts[n + coll_my_node(b->call)];
    args.recv_counts = b->counts + n;
    args.recv_displs = b->firsts + n;
    mci_coll_across(b->call, STAGE_ALL, tiers->leaders, args);
}

static void put_to_places(const struct blocks *b)
{
    const struct coll_args *args = &b->call->args;
    const int *order = coll_tiers_of(b->call)->order;
    struct coll_plan *plan = mci_coll_stages_plan(b->call->stages, LANE_NODE, STAGE_ALL);
    const char *from = b->all;

    for (int i = 0; i < b->call->comm->size && plan != NULL; i++) {
        size_t nbytes = coll_block_count(args, order[i]) * args->elem;

        mci_coll_plan_copy(plan,
                           coll_at(args->recvbuf, coll_block_first(args, order[i]) * args->elem),
                           from, nbytes);
        from += nbytes;
    }
}

mcomm_err_t mci_coll_allgather_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct blocks b = {.call = call};
    struct coll_args args = call->args;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (!blocks_new(&b))
        return mci_coll_stages_end(call->stages);
    gather(&b, b.all + b.firsts[tiers->local_size + coll_my_node(call)] * args.elem);
    if (tiers->local_rank == 0)
        exchange(&b);
    args.kind = COLL_BCAST;
    args.recvbuf = b.all;
    args.count = b.total;
    args.root = 0;
    mci_coll_on_node(call, STAGE_ALL, args);
    if (!b.is_in_order)
        put_to_places(&b);
    return mci_coll_stages_end(call->stages);
}
