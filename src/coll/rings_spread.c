/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Broadcast and allgather of large blocks within a node: who has something to say puts it into its
 * OUT ring piece by piece, and all others copy it from there. Two copies, of which the first and
 * the others' go on at the same time.
 */
#include "coll/rings.h"

static bool is_writer(const struct coll_call *call, int rank)
{
    return call->args.kind == COLL_ALLGATHER || rank == call->args.root;
}

static size_t piece_nbytes(const struct coll_call *call, const struct coll_node *node, size_t chunk)
{
    size_t first = chunk * node->flow.piece, rest = coll_nbytes(&call->args) - first;

    return rest < node->flow.piece ? rest : node->flow.piece;
}

static bool put(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    struct node_flow *flow = &node->flow;
    const char *from = args->kind == COLL_BCAST ? args->recvbuf
                       : args->sendbuf != MCOMM_IN_PLACE
                           ? args->sendbuf
                           : coll_at(args->recvbuf, (size_t)node->rank * coll_nbytes(args));
    struct ring_place place;
    size_t nbytes;

    if (flow->put == flow->chunks)
        return false;
    nbytes = piece_nbytes(call, node, flow->put);
    place = ring_place(node, node->pos[NODE_OUT][node->rank], nbytes);
    if (!mci_coll_ring_has_room(node, NODE_OUT, place.end))
        return false;
    ring_copy(node, ring_at(node, NODE_OUT, node->rank, place.begin),
              from + flow->put * flow->piece, nbytes);
    mci_coll_ring_put(node, NODE_OUT, place.end);
    flow->put++;
    return true;
}

static bool get(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    struct node_flow *flow = &node->flow;
    int writer = (node->rank + 1 + flow->got_turn) % node->size;
    size_t block = args->kind == COLL_BCAST ? 0 : (size_t)writer * coll_nbytes(args);

    if (flow->got == flow->chunks)
        return false;
    if (is_writer(call, writer)) {
        size_t nbytes = piece_nbytes(call, node, flow->got);
        struct ring_place place = ring_place(node, node->pos[NODE_OUT][writer], nbytes);

        if (!mci_coll_ring_has(node, NODE_OUT, writer, place.end))
            return false;
        memcpy(coll_at(args->recvbuf, block + flow->got * flow->piece),
               ring_at(node, NODE_OUT, writer, place.begin), nbytes);
        mci_coll_ring_ack(node, NODE_OUT, writer, place.end);
        node->pos[NODE_OUT][writer] = place.end;
    }
    if (++flow->got_turn == node->size - 1) {
        flow->got_turn = 0;
        flow->got++;
    }
    return true;
}

static void begin(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args);

    mci_coll_rings_begin(node);
    node->flow.piece = mci_coll_piece_nbytes(node, nbytes);
    node->flow.chunks = (nbytes + node->flow.piece - 1) / node->flow.piece;
    if (!is_writer(call, node->rank))
        node->flow.put = node->flow.chunks;
    else if (args->kind == COLL_BCAST)
        node->flow.got = node->flow.chunks;
    else if (args->sendbuf != MCOMM_IN_PLACE)
        memcpy(coll_at(args->recvbuf, (size_t)node->rank * nbytes), args->sendbuf, nbytes);
}

bool mci_coll_rings_spread_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    bool went_on;

    if (call->stage == 0) {
        begin(call, node);
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
