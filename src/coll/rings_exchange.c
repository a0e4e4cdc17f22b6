/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gather, scatter and alltoall within a node: a writer puts the pieces for each other member into
 * its IN ring, in turn; the member copies its own from there. Of the forms whose counts only some
 * members know, the writer tells its counts in its slot, before the pieces or, where there is room,
 * the blocks themselves.
 */
#include "coll/rings.h"

#define COMPLETE SIZE_MAX /* of got[] */

static bool is_counted(const struct coll_call *call)
{
    return call->args.kind == COLL_GATHERV || call->args.kind == COLL_SCATTERV ||
           call->args.kind == COLL_ALLTOALLV;
}

/* Has writer a block for reader? */
static bool is_pair(const struct coll_call *call, int writer, int reader)
{
    if (writer == reader)
        return false;
    switch (call->args.kind) {
    case COLL_GATHER:
    case COLL_GATHERV:
        return reader == call->args.root;
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return writer == call->args.root;
    default:
        return true;
    }
}

static bool is_writer(const struct coll_call *call, const struct coll_node *node)
{
    return is_pair(call, node->rank, node->rank == 0 ? 1 : 0) ||
           is_pair(call, node->rank, call->args.root);
}

/* ---- the counts that a writer tells ---- */
static size_t told_number(const struct coll_call *call, const struct coll_node *node)
{
    return call->args.kind == COLL_GATHERV ? 1 : (size_t)node->size;
}

/* Bytes; behind them, unless the writer uses its ring, the blocks. */
static uint64_t *told_by(const struct coll_node *node, int writer, enum node_where where)
{
    return where == NODE_IN_LINE ? (uint64_t *)(void *)node_line_of(node, writer, node->seq)->data
                                 : (uint64_t *)(void *)node_slot_of(node, writer);
}

/* ---- blocks ---- */
static size_t own_nbytes(const struct coll_call *call, int reader)
{
    const struct coll_args *args = &call->args;

    return args->kind == COLL_SCATTERV || args->kind == COLL_ALLTOALLV
               ? args->send_counts[reader] * args->elem
               : coll_nbytes(args);
}

/* Of a writer whose line has come. */
static size_t block_nbytes(const struct coll_call *call, const struct coll_node *node, int writer,
                           int reader)
{
    const uint64_t *told;

    if (!is_counted(call))
        return coll_nbytes(&call->args);
    if (writer == node->rank)
        return own_nbytes(call, reader);
    told = told_by(node, writer, node_where_of(node, writer));
    return told[call->args.kind == COLL_GATHERV ? 0 : reader];
}

static const char *block_from(const struct coll_call *call, const void *input, int reader)
{
    const struct coll_args *args = &call->args;

    switch (args->kind) {
    case COLL_GATHER:
    case COLL_GATHERV:
        return input;
    case COLL_SCATTERV:
    case COLL_ALLTOALLV:
        return coll_at(input, args->send_displs[reader] * args->elem);
    default:
        return coll_at(input, (size_t)reader * coll_nbytes(args));
    }
}

static char *block_to(const struct coll_call *call, int writer)
{
    const struct coll_args *args = &call->args;

    switch (args->kind) {
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return args->recvbuf;
    case COLL_GATHERV:
    case COLL_ALLTOALLV:
        return coll_at(args->recvbuf, args->recv_displs[writer] * args->elem);
    default:
        return coll_at(args->recvbuf, (size_t)writer * coll_nbytes(args));
    }
}

static size_t room_nbytes(const struct coll_call *call, int writer)
{
    const struct coll_args *args = &call->args;

    return args->kind == COLL_GATHERV || args->kind == COLL_ALLTOALLV
               ? args->recv_counts[writer] * args->elem
               : coll_nbytes(args);
}

/* The size of pieces of a writer's blocks follows from its largest one. */
static size_t piece_of_writer(const struct coll_call *call, const struct coll_node *node,
                              int writer)
{
    size_t most = 0;

    for (int i = 0; i < node->size; i++) {
        size_t nbytes = is_pair(call, writer, i) ? block_nbytes(call, node, writer, i) : 0;

        if (nbytes > most)
            most = nbytes;
    }
    return mci_coll_piece_nbytes(node, most);
}

/* My own block does not travel. */
static void copy_own(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    bool is_among =
        args->kind == COLL_ALLTOALL || args->kind == COLL_ALLTOALLV || node->rank == args->root;

    if (is_among && args->sendbuf != MCOMM_IN_PLACE && args->recvbuf != MCOMM_IN_PLACE)
        coll_copy(block_to(call, node->rank), block_from(call, args->sendbuf, node->rank),
                  own_nbytes(call, node->rank));
}

/* ---- writing ---- */
/* Where the counts and, if they fit, the blocks go; bytes. */
static enum node_where tell_where(const struct coll_call *call, const struct coll_node *node,
                                  size_t *nbytes_p)
{
    size_t header = told_number(call, node) * sizeof(uint64_t), nbytes = header;

    for (int i = 0; i < node->size && nbytes <= NODE_SLOT; i++) {
        size_t mine = is_pair(call, node->rank, i) ? own_nbytes(call, i) : 0;

        nbytes += mine <= NODE_SLOT ? mine : NODE_SLOT + 1;
    }
    *nbytes_p = nbytes <= NODE_SLOT ? nbytes : header;
    return nbytes <= NODE_INLINE ? NODE_IN_LINE : nbytes <= NODE_SLOT ? NODE_IN_SLOT : NODE_IN_RING;
}

static void tell(const struct coll_call *call, struct coll_node *node, enum node_where where)
{
    uint64_t *told = told_by(node, node->rank, where);
    char *to = (char *)(told + told_number(call, node));

    for (int i = 0; i < node->size; i++) {
        bool has_block = is_pair(call, node->rank, i);
        size_t mine = has_block ? own_nbytes(call, i) : 0;

        if (call->args.kind != COLL_GATHERV)
            told[i] = mine;
        else if (has_block)
            told[0] = mine;
        if (where == NODE_IN_RING || mine == 0)
            continue;
        coll_copy(to, block_from(call, coll_input(&call->args), i), mine);
        to += mine;
    }
}

static void begin_writing(struct coll_call *call, struct coll_node *node, enum node_where where)
{
    struct node_flow *flow = &node->flow;

    if (is_counted(call))
        tell(call, node, where);
    if (where != NODE_IN_RING) {
        mci_coll_line_say(node, where);
        return;
    }
    mci_coll_rings_say(node);
    flow->piece = piece_of_writer(call, node, node->rank);
    for (int i = 0; i < node->size; i++) {
        size_t nbytes = is_pair(call, node->rank, i) ? own_nbytes(call, i) : 0;
        size_t chunks = (nbytes + flow->piece - 1) / flow->piece;

        if (chunks > flow->chunks)
            flow->chunks = chunks;
    }
}

static bool begin(struct coll_call *call, struct coll_node *node)
{
    enum node_where where = NODE_IN_RING;
    bool writes = is_writer(call, node);
    size_t nbytes = 0;

    if (writes && is_counted(call))
        where = tell_where(call, node, &nbytes);
    if (!mci_coll_rings_begin(node, writes, where != NODE_IN_LINE ? nbytes : 0))
        return false;
    if (writes)
        begin_writing(call, node, where);
    for (int i = 0; i < node->size; i++)
        node->flow.unread += is_pair(call, i, node->rank);
    copy_own(call, node);
    return true;
}

static bool put(struct coll_call *call, struct coll_node *node)
{
    struct node_flow *flow = &node->flow;
    int reader = (node->rank + 1 + flow->put_turn) % node->size;
    size_t nbytes;

    if (flow->put == flow->chunks)
        return false;
    nbytes = is_pair(call, node->rank, reader)
                 ? mci_coll_piece_of(own_nbytes(call, reader), flow->piece, flow->put)
                 : 0;
    if (nbytes > 0) {
        struct ring_place place = ring_place(node, node->own[NODE_IN], nbytes);

        if (!mci_coll_ring_has_room(node, NODE_IN, place.end))
            return false;
        ring_copy(node, ring_at(node, NODE_IN, node->rank, place.begin),
                  block_from(call, coll_input(&call->args), reader) + flow->put * flow->piece,
                  nbytes);
        mci_coll_ring_put(node, NODE_IN, reader, place.end);
    }
    if (++flow->put_turn == node->size - 1) {
        flow->put_turn = 0;
        flow->put++;
    }
    return true;
}

/* ---- reading ---- */
static void complete(struct coll_node *node, int writer)
{
    node->got[writer] = COMPLETE;
    node->flow.unread--;
}

/* My piece of the writer's next chunk; after_p: where the chunk after it begins. */
static struct ring_place piece_in(const struct coll_call *call, const struct coll_node *node,
                                  int writer, size_t piece, uint64_t *after_p)
{
    uint64_t pos = node->pos[NODE_IN][writer];
    struct ring_place mine = {pos, pos};

    for (int turn = 1; turn < node->size; turn++) {
        int reader = (writer + turn) % node->size;
        struct ring_place place;
        size_t nbytes;

        if (!is_pair(call, writer, reader))
            continue;
        nbytes =
            mci_coll_piece_of(block_nbytes(call, node, writer, reader), piece, node->got[writer]);
        if (nbytes == 0)
            continue;
        place = ring_place(node, pos, nbytes);
        if (reader == node->rank)
            mine = place;
        pos = place.end;
    }
    *after_p = pos;
    return mine;
}

/* The block lies behind the counts, after those of the members before. */
static void take_told(struct coll_call *call, struct coll_node *node, int writer,
                      enum node_where where)
{
    const uint64_t *told = told_by(node, writer, where);
    const char *from = (const char *)(told + told_number(call, node));
    bool is_one = call->args.kind == COLL_GATHERV;

    for (int i = 0; i < node->rank && !is_one; i++)
        from += told[i];
    coll_copy(block_to(call, writer), from, room_nbytes(call, writer));
    complete(node, writer);
}

static void differ(struct coll_call *call, int writer, size_t nbytes)
{
    call->err =
        mci_err_set(MCOMM_ERR_MISMATCH, "%s: rank %d sends %zu bytes where rank %d expects %zu",
                    mci_coll_kind_name(call->args.kind), coll_rank_of(call, writer), nbytes,
                    call->comm->rank, room_nbytes(call, writer));
}

/* true: it went on, or ended the call with an error. */
static bool get(struct coll_call *call, struct coll_node *node, int writer)
{
    size_t nbytes, piece, *got = &node->got[writer];
    struct ring_place place;
    uint64_t after;

    if (*got == COMPLETE || !is_pair(call, writer, node->rank) || !mci_coll_ring_hear(node, writer))
        return false;
    nbytes = room_nbytes(call, writer); /* told once, and not believed again */
    if (*got == 0) {
        if (block_nbytes(call, node, writer, node->rank) != nbytes) {
            differ(call, writer, block_nbytes(call, node, writer, node->rank));
            return true;
        }
        if (is_counted(call) && node_where_of(node, writer) != NODE_IN_RING) {
            take_told(call, node, writer, node_where_of(node, writer));
            return true;
        }
        node->piece[writer] = piece_of_writer(call, node, writer);
    }
    piece = node->piece[writer];
    if (nbytes > 0) {
        if (!mci_coll_ring_has(node, NODE_IN, writer, node->pos[NODE_IN][writer] + 1))
            return false;
        place = piece_in(call, node, writer, piece, &after);
        if (!mci_coll_ring_has(node, NODE_IN, writer, place.end))
            return false;
        memcpy(block_to(call, writer) + *got * piece, ring_at(node, NODE_IN, writer, place.begin),
               mci_coll_piece_of(nbytes, piece, *got));
        node->pos[NODE_IN][writer] = after;
        mci_coll_ring_ack(node, NODE_IN, writer, after);
    }
    if (++*got * piece >= nbytes)
        complete(node, writer);
    return true;
}

bool mci_coll_rings_exchange_step(struct coll_call *call)
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
            went_on |= get(call, node, (node->rank + node->size - turn) % node->size);
        if (call->err != MCOMM_SUCCESS)
            return true;
    } while (went_on);
    if (node->flow.put < node->flow.chunks || node->flow.unread > 0)
        return false;
    mci_coll_rings_end(node);
    return true;
}
