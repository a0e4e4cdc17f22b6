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
    return call->args.kind != COLL_BCAST || rank == call->args.root;
}

static size_t block_nbytes(const struct coll_call *call, int writer)
{
    const struct coll_args *args = &call->args;

    return args->kind == COLL_ALLGATHERV ? args->recv_counts[writer] * args->elem
                                         : coll_nbytes(args);
}

/* Where the block of writer is in the result. */
static char *block_to(const struct coll_call *call, int writer)
{
    const struct coll_args *args = &call->args;

    switch (args->kind) {
    case COLL_ALLGATHER:
        return coll_at(args->recvbuf, (size_t)writer * coll_nbytes(args));
    case COLL_ALLGATHERV:
        return coll_at(args->recvbuf, args->recv_displs[writer] * args->elem);
    default:
        return args->recvbuf;
    }
}

static bool has_copy(const struct coll_call *call)
{
    return call->args.kind == COLL_BCAST || call->args.sendbuf == MCOMM_IN_PLACE;
}

static bool put(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    const char *from = has_copy(call) ? block_to(call, node->rank) : call->args.sendbuf;
    struct ring_place place;
    size_t nbytes;

    if (flow->put == flow->chunks)
        return false;
    nbytes = mci_coll_piece_of(block_nbytes(call, node->rank), flow->piece, flow->put);
    place = ring_place(node, node->own[NODE_OUT], nbytes);
    if (!mci_coll_ring_has_room(node, NODE_OUT, place.end))
        return false;
    ring_copy(node, ring_at(node, NODE_OUT, node->rank, place.begin),
              from + flow->put * flow->piece, nbytes);
    mci_coll_ring_put(node, NODE_OUT, RING_ALL, place.end);
    flow->put++;
    return true;
}

static bool is_complete(const struct coll_call *call, const struct coll_node *node, int writer)
{
    size_t nbytes = block_nbytes(call, writer);

    return node->got[writer] * mci_coll_piece_nbytes(node, nbytes) >= nbytes;
}

static bool get(struct coll_call *call, struct coll_node *node, int writer)
{
    size_t block = block_nbytes(call, writer), piece = mci_coll_piece_nbytes(node, block), nbytes;
    size_t *got = &node->got[writer];
    struct ring_place place;

    if (!is_writer(call, writer) || is_complete(call, node, writer) ||
        !mci_coll_ring_hear(node, writer))
        return false;
    nbytes = mci_coll_piece_of(block, piece, *got);
    place = ring_place(node, node->pos[NODE_OUT][writer], nbytes);
    if (!mci_coll_ring_has(node, NODE_OUT, writer, place.end))
        return false;
    memcpy(block_to(call, writer) + *got * piece, ring_at(node, NODE_OUT, writer, place.begin),
           nbytes);
    mci_coll_ring_ack(node, NODE_OUT, writer, place.end);
    node->pos[NODE_OUT][writer] = place.end;
    ++*got;
    if (is_complete(call, node, writer))
        node->flow.unread--;
    return true;
}

static bool begin(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    size_t nbytes = block_nbytes(call, node->rank);
    bool writes = is_writer(call, node->rank);

    if (!mci_coll_rings_begin(node, writes, 0))
        return false;
    for (int i = 0; i < node->size; i++)
        flow->unread += i != node->rank && is_writer(call, i) && !is_complete(call, node, i);
    if (!writes)
        return true;
    mci_coll_rings_say(node);
    flow->piece = mci_coll_piece_nbytes(node, nbytes);
    flow->chunks = (nbytes + flow->piece - 1) / flow->piece;
    if (!has_copy(call) && nbytes > 0)
        coll_copy(block_to(call, node->rank), call->args.sendbuf, nbytes);
    return true;
}

bool mci_coll_rings_spread_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    bool went_on;

    if (call->stage == 0) {
        if (!begin(call, node))
            return false;
        call->stage = 1;
    }
    do {
        went_on = put(call, node);
        for (int turn = 1; turn < node->size && node->flow.unread > 0; turn++)
            went_on |= get(call, node, (node->rank + turn) % node->size);
    } while (went_on);
    if (node->flow.put < node->flow.chunks || node->flow.unread > 0)
        return false;
    mci_coll_rings_end(node);
    return true;
}
