/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gather, scatter and alltoall of large blocks within a node: a writer puts the pieces for each
 * other member into its IN ring, in turn; the member copies its own from there.
 */
#include "coll/rings.h"

/* Has writer a block for reader? */
static bool is_pair(const struct coll_call *call, int writer, int reader)
{
    if (writer == reader)
        return false;
    if (call->args.kind == COLL_GATHER)
        return reader == call->args.root;
    return call->args.kind == COLL_ALLTOALL || writer == call->args.root;
}

static size_t piece_nbytes(const struct coll_call *call, const struct coll_node *node, size_t chunk)
{
    size_t first = chunk * node->flow.piece, rest = coll_nbytes(&call->args) - first;

    return rest < node->flow.piece ? rest : node->flow.piece;
}

/* Of the sender's blocks, and of the receiver's. */
static const char *block_from(const struct coll_call *call, const void *input, int reader)
{
    return coll_at(input,
                   call->args.kind == COLL_GATHER ? 0 : (size_t)reader * coll_nbytes(&call->args));
}

static char *block_to(const struct coll_call *call, int writer)
{
    return coll_at(call->args.recvbuf,
                   call->args.kind == COLL_SCATTER ? 0 : (size_t)writer * coll_nbytes(&call->args));
}

static bool put(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    int reader = (node->rank + 1 + flow->put_turn) % node->size;

    if (flow->put == flow->chunks)
        return false;
    if (is_pair(call, node->rank, reader)) {
        size_t nbytes = piece_nbytes(call, node, flow->put);
        struct ring_place place = ring_place(node, node->pos[NODE_IN][node->rank], nbytes);

        if (!mci_coll_ring_has_room(node, NODE_IN, place.end))
            return false;
        ring_copy(node, ring_at(node, NODE_IN, node->rank, place.begin),
                  block_from(call, coll_input(&call->args), reader) + flow->put * flow->piece,
                  nbytes);
        mci_coll_ring_put(node, NODE_IN, place.end);
    }
    if (++flow->put_turn == node->size - 1) {
        flow->put_turn = 0;
        flow->put++;
    }
    return true;
}

/* My piece of chunk number got in the ring of writer; after_p: where its next chunk begins. */
static struct ring_place piece_in(const struct coll_call *call, const struct coll_node *node,
                                  int writer, uint64_t *after_p)
{
    uint64_t pos = node->pos[NODE_IN][writer];
    struct ring_place mine = {pos, pos};

    for (int turn = 1; turn < node->size; turn++) {
        int reader = (writer + turn) % node->size;
        struct ring_place place;

        if (!is_pair(call, writer, reader))
            continue;
        place = ring_place(node, pos, piece_nbytes(call, node, node->flow.got));
        if (reader == node->rank)
            mine = place;
        pos = place.end;
    }
    *after_p = pos;
    return mine;
}

static bool get(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    int writer = (node->rank + node->size - 1 - flow->got_turn) % node->size;
    struct ring_place place;
    uint64_t after;

    if (flow->got == flow->chunks)
        return false;
    place = piece_in(call, node, writer, &after);
    if (is_pair(call, writer, node->rank)) {
        if (!mci_coll_ring_has(node, NODE_IN, writer, place.end))
            return false;
        memcpy(block_to(call, writer) + flow->got * flow->piece,
               ring_at(node, NODE_IN, writer, place.begin), piece_nbytes(call, node, flow->got));
    }
    node->pos[NODE_IN][writer] = after;
    mci_coll_ring_ack(node, NODE_IN, writer, after);
    if (++flow->got_turn == node->size - 1) {
        flow->got_turn = 0;
        flow->got++;
    }
    return true;
}

/* My own block does not travel. */
static void copy_own(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;

    if (args->kind != COLL_ALLTOALL && node->rank != args->root)
        return;
    if (args->sendbuf != MCOMM_IN_PLACE && args->recvbuf != MCOMM_IN_PLACE)
        memcpy(block_to(call, node->rank), block_from(call, args->sendbuf, node->rank),
               coll_nbytes(args));
}

bool mci_coll_rings_exchange_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    size_t nbytes = coll_nbytes(&call->args);
    bool went_on;

    if (call->stage == 0) {
        mci_coll_rings_begin(node);
        node->flow.piece = mci_coll_piece_nbytes(node, nbytes);
        node->flow.chunks = (nbytes + node->flow.piece - 1) / node->flow.piece;
        copy_own(call, node);
        call->stage = 1;
    }
    do {
        went_on = put(call, node);
        went_on |= get(call, node);
    } while (went_on);
    if (node->flow.put < node->flow.chunks || node->flow.got < node->flow.chunks)
        return false;
    return true;
}
