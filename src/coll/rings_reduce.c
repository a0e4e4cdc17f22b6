/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions of large vectors within a node. Every member owns a part of each chunk. It puts the
 * others' parts into its IN ring, folds its own part of the caller's vector and of everybody's IN
 * ring in rank order, publishes the result in its OUT ring and collects the others'. The three go
 * on side by side, piece by piece. Of n members each reads and writes 2(n-1)/n of the vector and
 * folds n/n of it once: the least there is with two copies. Reduce-scatter is the first half;
 * reduce sends the results to the root only.
 */
#include "coll/rings.h"

#define LINE_BLOCK ((size_t)8192) /* folded, then passed on while it is in the first cache */
#define AHEAD 2u                  /* chunks put before the own part of an earlier one is folded */

struct span { /* elements */
    size_t first, count;
};

/* The part of owner in a chunk, of the whole input. */
static struct span part_of(const struct coll_call *call, const struct coll_node *node, size_t chunk,
                           int owner)
{
    const struct coll_args *args = &call->args;
    size_t piece = node->flow.piece, n = (size_t)node->size, first, rest;

    if (args->kind == COLL_REDUCE_SCATTER_BLOCK) {
        first = chunk * piece;
        rest = args->count - first;
        return (struct span){(size_t)owner * args->count + first, rest < piece ? rest : piece};
    }
    first = chunk * piece * n;
    rest = args->count - first;
    if (rest >= piece * n)
        return (struct span){first + (size_t)owner * piece, piece};
    return (struct span){first + coll_part(rest, node->size, owner),
                         coll_part(rest, node->size, owner + 1) -
                             coll_part(rest, node->size, owner)};
}

static void begin(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t block = args->kind == COLL_REDUCE_SCATTER_BLOCK ? args->count
                                                           : args->count / (size_t)node->size + 1;
    size_t nbytes = block * args->elem, most = mci_coll_piece_nbytes(node, nbytes);
    size_t unit = 64 / args->elem > 0 ? 64 / args->elem : 1, chunk;

    mci_coll_rings_begin(node);
    node->flow.piece = (most / args->elem + unit - 1) / unit * unit;
    chunk = node->flow.piece * (args->kind == COLL_REDUCE_SCATTER_BLOCK ? 1 : (size_t)node->size);
    node->flow.chunks = (args->count + chunk - 1) / chunk;
}

/* ---- put ---- */
static bool put(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    size_t elem = call->args.elem;
    int owner = (node->rank + 1 + flow->put_turn) % node->size;
    struct ring_place place;
    struct span part;

    if (flow->put == flow->chunks || (!node->is_crowded && flow->put > flow->reduced + AHEAD))
        return false;
    part = part_of(call, node, flow->put, owner);
    place = ring_place(node, node->pos[NODE_IN][node->rank], part.count * elem);
    if (part.count > 0) {
        if (!mci_coll_ring_has_room(node, NODE_IN, place.end))
            return false;
        ring_copy(node, ring_at(node, NODE_IN, node->rank, place.begin),
                  coll_at(coll_input(&call->args), part.first * elem), part.count * elem);
        mci_coll_ring_put(node, NODE_IN, place.end);
    }
    if (++flow->put_turn == node->size - 1) {
        flow->put_turn = 0;
        flow->put++;
    }
    return true;
}

/* ---- reduce ---- */
/* My part of the chunk in the ring of writer; after_p: where the writer's next chunk begins. */
static struct ring_place part_in(struct coll_call *call, const struct coll_node *node, int writer,
                                 uint64_t *after_p)
{
    uint64_t pos = node->pos[NODE_IN][writer];
    struct ring_place mine = {pos, pos};

    for (int turn = 1; turn < node->size; turn++) {
        int owner = (writer + turn) % node->size;
        struct span part = part_of(call, node, node->flow.reduced, owner);
        struct ring_place place;

        if (part.count == 0)
            continue;
        place = ring_place(node, pos, part.count * call->args.elem);
        if (owner == node->rank)
            mine = place;
        pos = place.end;
    }
    *after_p = pos;
    return mine;
}

static bool is_wanted(const struct coll_call *call)
{
    return call->args.kind != COLL_REDUCE || call->team.rank == call->args.root;
}

/* Where the result of my part goes: to the caller's buffer and to the OUT ring, or one of them. */
static void fold(struct coll_call *call, struct coll_node *node, struct span part, char *out)
{
    const struct coll_args *args = &call->args;
    size_t elem = args->elem, nbytes = part.count * elem;
    size_t first = args->kind == COLL_REDUCE_SCATTER_BLOCK
                       ? part.first - (size_t)node->rank * args->count
                       : part.first;
    char *user = is_wanted(call) ? coll_at(args->recvbuf, first * elem) : NULL;
    size_t step = LINE_BLOCK / elem * elem;

    for (size_t at = 0; at < nbytes; at += step) {
        size_t n = nbytes - at < step ? nbytes - at : step;
        const void *srcs[NODE_FOLD_MAX];

        for (int i = 0; i < node->size; i++)
            srcs[i] = (const char *)node->srcs[i] + at;
        mci_fold_many(user != NULL ? user + at : out + at, srcs, node->size, n / elem, args->dtype,
                      coll_fold_op(call));
        if (user != NULL && out != NULL)
            ring_copy(node, out + at, user + at, n);
    }
}

static bool reduce(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    const struct coll_args *args = &call->args;
    bool has_out =
        args->kind == COLL_ALLREDUCE || (args->kind == COLL_REDUCE && node->rank != args->root);
    struct ring_place out = {0, 0};
    struct span part;
    uint64_t after;

    if (flow->reduced == flow->chunks || flow->put < flow->reduced)
        return false;
    part = part_of(call, node, flow->reduced, node->rank);
    for (int i = 0; i < node->size && part.count > 0; i++) {
        struct ring_place in = i != node->rank ? part_in(call, node, i, &after) : out;

        if (i != node->rank && !mci_coll_ring_has(node, NODE_IN, i, in.end))
            return false;
        node->srcs[i] = i != node->rank ? ring_at(node, NODE_IN, i, in.begin)
                                        : coll_at(coll_input(args), part.first * args->elem);
    }
    if (has_out && part.count > 0) {
        out = ring_place(node, node->pos[NODE_OUT][node->rank], part.count * args->elem);
        if (!mci_coll_ring_has_room(node, NODE_OUT, out.end))
            return false;
    }
    if (part.count > 0)
        fold(call, node, part, has_out ? ring_at(node, NODE_OUT, node->rank, out.begin) : NULL);
    if (has_out && part.count > 0)
        mci_coll_ring_put(node, NODE_OUT, out.end);
    for (int i = 0; i < node->size; i++) {
        if (i == node->rank)
            continue;
        part_in(call, node, i, &after);
        node->pos[NODE_IN][i] = after;
        mci_coll_ring_ack(node, NODE_IN, i, after);
    }
    flow->reduced++;
    return true;
}

/* ---- get ---- */
static bool get(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    const struct coll_args *args = &call->args;
    int owner = (node->rank + 1 + flow->got_turn) % node->size;
    struct ring_place place;
    struct span part;

    if (flow->got == flow->chunks)
        return false;
    part = part_of(call, node, flow->got, owner);
    place = ring_place(node, node->pos[NODE_OUT][owner], part.count * args->elem);
    /* of reduce the root has no OUT pieces, and only the root gets */
    if (part.count > 0 && !(args->kind == COLL_REDUCE && owner == args->root)) {
        if (is_wanted(call)) {
            if (!mci_coll_ring_has(node, NODE_OUT, owner, place.end))
                return false;
            memcpy(coll_at(args->recvbuf, part.first * args->elem),
                   ring_at(node, NODE_OUT, owner, place.begin), part.count * args->elem);
        }
        node->pos[NODE_OUT][owner] = place.end;
        mci_coll_ring_ack(node, NODE_OUT, owner, place.end);
    }
    if (++flow->got_turn == node->size - 1) {
        flow->got_turn = 0;
        flow->got++;
    }
    return true;
}

bool mci_coll_rings_reduce_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    struct node_flow *flow = &node->flow;
    bool has_got, went_on;

    if (call->stage == 0) {
        begin(call, node);
        call->stage = 1;
    }
    do {
        went_on = put(call, node);
        went_on |= reduce(call, node);
        if (call->args.kind != COLL_REDUCE_SCATTER_BLOCK)
            went_on |= get(call, node);
    } while (went_on);
    has_got = call->args.kind == COLL_REDUCE_SCATTER_BLOCK || flow->got == flow->chunks;
    if (flow->put < flow->chunks || flow->reduced < flow->chunks || !has_got)
        return false;
    return true;
}
