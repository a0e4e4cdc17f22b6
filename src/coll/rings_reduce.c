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

/* Reduce-scatter: a block for every member, of which each chunk has a piece. */
static bool is_scatter(const struct coll_call *call)
{
    return call->args.kind == COLL_REDUCE_SCATTER_BLOCK || call->args.kind == COLL_REDUCE_SCATTER;
}

/* Elements of the part of owner in a chunk. */
static size_t part_count(const struct coll_call *call, const struct coll_node *node, size_t chunk,
                         int owner)
{
    const struct node_flow *flow = &node->flow;

    if (is_scatter(call))
        return mci_coll_piece_of(coll_share(&call->args, owner), flow->piece, chunk);
    if (chunk < flow->chunks - 1)
        return flow->piece;
    return flow->last_part + ((size_t)owner < flow->last_more);
}

/* Its first element in the whole input. */
static size_t part_first(const struct coll_call *call, const struct coll_node *node, size_t chunk,
                         int owner)
{
    const struct coll_args *args = &call->args;
    const struct node_flow *flow = &node->flow;
    size_t first = chunk * flow->piece, at = (size_t)owner;

    if (!is_scatter(call)) {
        first *= (size_t)node->size;
        if (chunk < flow->chunks - 1)
            return first + at * flow->piece;
        return first + at * flow->last_part + (at < flow->last_more ? at : flow->last_more);
    }
    for (int i = 0; i < owner; i++)
        first += coll_share(args, i);
    return first;
}

static bool begin(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    struct node_flow *flow = &node->flow;
    size_t block = is_scatter(call) ? 0 : args->count / (size_t)node->size + 1, chunk, most;
    size_t unit = 64 / args->elem > 0 ? 64 / args->elem : 1;

    if (!mci_coll_rings_begin(node, true, 0))
        return false;
    mci_coll_rings_say(node);
    for (int i = 0; i < node->size && is_scatter(call); i++)
        if (coll_share(args, i) > block)
            block = coll_share(args, i);
    most = mci_coll_piece_nbytes(node, block * args->elem);
    flow->piece = (most / args->elem + unit - 1) / unit * unit;
    chunk = is_scatter(call) ? flow->piece : flow->piece * (size_t)node->size;
    flow->chunks = ((is_scatter(call) ? block : args->count) + chunk - 1) / chunk;
    if (!is_scatter(call) && flow->chunks > 0) {
        size_t rest = args->count - (flow->chunks - 1) * chunk;

        flow->last_part = rest / (size_t)node->size;
        flow->last_more = rest % (size_t)node->size;
    }
    if (args->kind == COLL_ALLREDUCE || (args->kind == COLL_REDUCE && node->rank == args->root))
        flow->unread = node->size - 1;
    return true;
}

/* ---- put ---- */
static bool put(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    size_t elem = call->args.elem, nbytes;
    int owner = (node->rank + 1 + flow->put_turn) % node->size;

    if (flow->put == flow->chunks || (!node->is_crowded && flow->put > flow->reduced + AHEAD))
        return false;
    nbytes = part_count(call, node, flow->put, owner) * elem;
    if (nbytes > 0) {
        struct ring_place place = ring_place(node, node->own[NODE_IN], nbytes);

        if (!mci_coll_ring_has_room(node, NODE_IN, place.end))
            return false;
        ring_copy(node, ring_at(node, NODE_IN, node->rank, place.begin),
                  coll_at(coll_input(&call->args), part_first(call, node, flow->put, owner) * elem),
                  nbytes);
        mci_coll_ring_put(node, NODE_IN, owner, place.end);
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
        size_t count = part_count(call, node, node->flow.reduced, owner);
        struct ring_place place;

        if (count == 0)
            continue;
        place = ring_place(node, pos, count * call->args.elem);
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

/* The result of my part of the chunk, from first on. */
static char *result_at(const struct coll_call *call, const struct coll_node *node, size_t first)
{
    const struct coll_args *args = &call->args;

    return coll_at(args->recvbuf,
                   (is_scatter(call) ? node->flow.reduced * node->flow.piece : first) * args->elem);
}

/* Where the result of my part goes: to the caller's buffer and to the OUT ring, or one of them. */
static void fold(struct coll_call *call, struct coll_node *node, size_t nbytes, char *user,
                 char *out)
{
    const struct coll_args *args = &call->args;
    size_t elem = args->elem, step = LINE_BLOCK / elem * elem;

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

static bool has_out(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;

    return args->kind == COLL_ALLREDUCE || (args->kind == COLL_REDUCE && node->rank != args->root);
}

/* Are all members' shares of my part there? Each is looked for until it is; then srcs tells where
 * it begins, and pos where the writer's next chunk does. */
static bool has_all(struct coll_call *call, struct coll_node *node, size_t first)
{
    int *i = &node->flow.ready;

    for (; *i < node->size; ++*i) {
        struct ring_place in;
        uint64_t after;

        if (*i == node->rank) {
            node->srcs[*i] = coll_at(coll_input(&call->args), first * call->args.elem);
            continue;
        }
        if (!mci_coll_ring_hear(node, *i) ||
            !mci_coll_ring_has(node, NODE_IN, *i, node->pos[NODE_IN][*i] + 1))
            return false;
        in = part_in(call, node, *i, &after);
        if (!mci_coll_ring_has(node, NODE_IN, *i, in.end))
            return false;
        node->srcs[*i] = ring_at(node, NODE_IN, *i, in.begin);
        node->pos[NODE_IN][*i] = after;
    }
    return true;
}

static void ack_all(struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank)
            mci_coll_ring_ack(node, NODE_IN, i, node->pos[NODE_IN][i]);
    node->flow.ready = 0;
}

static bool reduce(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    const struct coll_args *args = &call->args;
    size_t nbytes, first;
    struct ring_place out = {0, 0};
    bool has_ring = has_out(call, node);

    if (flow->reduced == flow->chunks || flow->put < flow->reduced)
        return false;
    nbytes = part_count(call, node, flow->reduced, node->rank) * args->elem;
    first = part_first(call, node, flow->reduced, node->rank);
    if (nbytes > 0) {
        if (!has_all(call, node, first))
            return false;
        if (has_ring) {
            out = ring_place(node, node->own[NODE_OUT], nbytes);
            if (!mci_coll_ring_has_room(node, NODE_OUT, out.end))
                return false;
        }
        fold(call, node, nbytes, is_wanted(call) ? result_at(call, node, first) : NULL,
             has_ring ? ring_at(node, NODE_OUT, node->rank, out.begin) : NULL);
        if (has_ring)
            mci_coll_ring_put(node, NODE_OUT, args->kind == COLL_REDUCE ? args->root : RING_ALL,
                              out.end);
        ack_all(node);
    }
    flow->reduced++; /* who has no part of this chunk has none of the next ones */
    return true;
}

/* ---- get ---- */
static bool get(struct coll_call *call, struct coll_node *node, int owner)
{
    const struct coll_args *args = &call->args;
    size_t *got = &node->got[owner], nbytes;
    struct ring_place place;

    if (*got == node->flow.chunks || !mci_coll_ring_hear(node, owner))
        return false;
    nbytes = part_count(call, node, *got, owner) * args->elem;
    if (nbytes > 0) {
        place = ring_place(node, node->pos[NODE_OUT][owner], nbytes);
        if (!mci_coll_ring_has(node, NODE_OUT, owner, place.end))
            return false;
        memcpy(coll_at(args->recvbuf, part_first(call, node, *got, owner) * args->elem),
               ring_at(node, NODE_OUT, owner, place.begin), nbytes);
        node->pos[NODE_OUT][owner] = place.end;
        mci_coll_ring_ack(node, NODE_OUT, owner, place.end);
    }
    if (++*got == node->flow.chunks)
        node->flow.unread--;
    return true;
}

bool mci_coll_rings_reduce_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    struct node_flow *flow = &node->flow;
    bool went_on;

    if (call->stage == 0) {
        if (!begin(call, node))
            return false;
        call->stage = 1;
    }
    do {
        went_on = put(call, node);
        went_on |= reduce(call, node);
        for (int turn = 1; turn < node->size && flow->unread > 0; turn++)
            went_on |= get(call, node, (node->rank + turn) % node->size);
    } while (went_on);
    if (flow->put < flow->chunks || flow->reduced < flow->chunks || flow->unread > 0)
        return false;
    mci_coll_rings_end(node);
    return true;
}
