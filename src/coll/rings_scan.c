/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scan and exscan of large vectors within a node: a chain. Each member takes the prefix of those
 * before it from the IN ring of the previous one and puts its own prefix into its IN ring for the
 * next one, piece by piece, so that all work at the same time.
 */
#include "coll/rings.h"

static bool begin(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    struct node_flow *flow = &node->flow;
    bool is_last = node->rank == node->size - 1;

    if (!mci_coll_rings_begin(node, !is_last, 0))
        return false;
    if (!is_last)
        mci_coll_rings_say(node);
    flow->piece = mci_coll_piece_nbytes(node, coll_nbytes(args)) / args->elem;
    flow->chunks = (args->count + flow->piece - 1) / flow->piece;
    return true;
}

/* This member's prefix of a piece; of the first member its input. prefix: of those before it. */
static void fold(const struct coll_call *call, void *to, const char *prefix, const char *input,
                 size_t count)
{
    const struct coll_args *args = &call->args;

    if (prefix != NULL)
        mci_fold_two(to, prefix, input, count, args->dtype, args->op);
    else if (to != input)
        coll_copy(to, input, count * args->elem);
}

static bool one_piece(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t first = node->flow.put * node->flow.piece;
    size_t count = mci_coll_piece_of(args->count, node->flow.piece, node->flow.put);
    size_t nbytes = count * args->elem;
    const char *input = coll_at(coll_input(args), first * args->elem), *prefix = NULL;
    char *result = coll_at(args->recvbuf, first * args->elem), *out = NULL;
    struct ring_place in = {0, 0}, next = {0, 0};

    if (node->rank > 0) {
        if (!mci_coll_ring_hear(node, node->rank - 1))
            return false;
        in = ring_place(node, node->pos[NODE_IN][node->rank - 1], nbytes);
        if (!mci_coll_ring_has(node, NODE_IN, node->rank - 1, in.end))
            return false;
        prefix = ring_at(node, NODE_IN, node->rank - 1, in.begin);
    }
    if (node->rank < node->size - 1) {
        next = ring_place(node, node->own[NODE_IN], nbytes);
        if (!mci_coll_ring_has_room(node, NODE_IN, next.end))
            return false;
        out = ring_at(node, NODE_IN, node->rank, next.begin);
    }
    if (args->kind == COLL_SCAN)
        fold(call, result, prefix, input, count);
    if (args->kind == COLL_SCAN && out != NULL)
        ring_copy(node, out, result, nbytes);
    if (args->kind == COLL_EXSCAN && out != NULL)
        fold(call, out, prefix, input, count);
    if (args->kind == COLL_EXSCAN && prefix != NULL)
        memcpy(result, prefix, nbytes);
    if (out != NULL)
        mci_coll_ring_put(node, NODE_IN, node->rank + 1, next.end);
    if (prefix != NULL) {
        node->pos[NODE_IN][node->rank - 1] = in.end;
        mci_coll_ring_ack(node, NODE_IN, node->rank - 1, in.end);
    }
    node->flow.put++;
    return true;
}

bool mci_coll_rings_scan_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;

    if (call->stage == 0) {
        if (!begin(call, node))
            return false;
        call->stage = 1;
    }
    while (node->flow.put < node->flow.chunks)
        if (!one_piece(call, node))
            return false;
    mci_coll_rings_end(node);
    return true;
}
