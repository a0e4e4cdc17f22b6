/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Small collectives within a node: everybody who has something to say writes it to a slot of its
 * own, and everybody who needs it reads it there: one store and one load, 1 round, whatever the
 * kind. Folds go in rank order.
 */
#include "coll/node.h"

#include <string.h>

/* ---- who says how much, and who listens to whom ---- */
static bool is_root(const struct coll_call *call)
{
    return call->team.rank == call->args.root;
}

/* Bytes of what I contribute; of a block for each member where they differ. */
static size_t my_nbytes(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args), n = (size_t)node->size;

    switch (args->kind) {
    case COLL_BCAST:
        return is_root(call) ? nbytes : 0;
    case COLL_SCATTER:
        return is_root(call) ? n * nbytes : 0;
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER_BLOCK:
        return n * nbytes;
    case COLL_REDUCE:
    case COLL_GATHER:
        return is_root(call) ? 0 : nbytes;
    case COLL_BARRIER:
        return 0;
    default:
        return nbytes;
    }
}

static bool speaks(const struct coll_call *call)
{
    switch (call->args.kind) {
    case COLL_BCAST:
    case COLL_SCATTER:
        return is_root(call);
    case COLL_REDUCE:
    case COLL_GATHER:
        return !is_root(call);
    default:
        return true;
    }
}

/* Members [first, *end_p) are listened to. */
static int listens_from(const struct coll_call *call, const struct coll_node *node, int *end_p)
{
    *end_p = node->size;
    switch (call->args.kind) {
    case COLL_BCAST:
    case COLL_SCATTER:
        *end_p = call->args.root + 1;
        return call->args.root;
    case COLL_REDUCE:
    case COLL_GATHER:
        if (!is_root(call))
            *end_p = 0;
        return 0;
    case COLL_SCAN:
        *end_p = node->rank + 1;
        return 0;
    case COLL_EXSCAN:
        *end_p = node->rank;
        return 0;
    default:
        return 0;
    }
}

bool mci_coll_slots_fit(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t n = (size_t)node->size, nbytes = coll_nbytes(args);

    switch (args->kind) {
    case COLL_BARRIER:
        return true;
    case COLL_SCATTER:
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER_BLOCK:
        return nbytes <= NODE_SLOT / n;
    case COLL_BCAST:
    case COLL_REDUCE:
    case COLL_ALLREDUCE:
    case COLL_GATHER:
    case COLL_ALLGATHER:
    case COLL_SCAN:
    case COLL_EXSCAN:
        return nbytes <= NODE_SLOT;
    default:
        return false; /* counts are not known to all */
    }
}

/* ---- saying ---- */
/* All are past the content that lies where number seq will lie. */
static bool is_free(struct coll_node *node, uint32_t seq)
{
    uint32_t least = seq;

    if ((int32_t)(seq - node->done_min) <= (int32_t)NODE_GENS)
        return true;
    for (int i = 0; i < node->size; i++) {
        uint32_t done = i == node->rank ? seq - 1
                                        : atomic_load_explicit(&node_words_of(node, i)->done,
                                                               memory_order_acquire);

        if ((int32_t)(done - least) < 0)
            least = done;
    }
    node->done_min = least;
    return (int32_t)(seq - least) <= (int32_t)NODE_GENS;
}

static void say(struct coll_node *node, uint32_t seq, const void *data, size_t nbytes)
{
    struct node_line *line = node_line_of(node, node->rank, seq);

    if (nbytes == 8)
        memcpy(line->data, data, 8);
    else if (nbytes > 0)
        memcpy(nbytes <= NODE_INLINE ? line->data : node_slot_of(node, node->rank, seq), data,
               nbytes);
    atomic_store_explicit(&line->seq, seq, memory_order_release);
    mci_coll_node_ring_bells(node);
}

/* ---- listening ---- */
static const char *content(const struct coll_node *node, int rank, uint32_t seq, size_t nbytes)
{
    return nbytes <= NODE_INLINE ? node_line_of(node, rank, seq)->data
                                 : node_slot_of(node, rank, seq);
}

static void fold(struct coll_call *call, struct coll_node *node, int end, size_t offset,
                 size_t said)
{
    const struct coll_args *args = &call->args;

    if (end == 0)
        return;
    for (int i = 0; i < end; i++)
        node->srcs[i] = i == node->rank ? coll_at(coll_input(args), offset)
                                        : content(node, i, node->seq, said) + offset;
    mci_fold_many(args->recvbuf, node->srcs, end, args->count, args->dtype, coll_fold_op(call));
}

/* A block of every member; own one from the caller's buffer. */
static void collect(struct coll_call *call, const struct coll_node *node, size_t offset,
                    size_t said)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args);

    for (int i = 0; i < node->size; i++) {
        char *to = coll_at(args->recvbuf, (size_t)i * nbytes);

        if (i != node->rank)
            memcpy(to, content(node, i, node->seq, said) + offset, nbytes);
        else if (args->sendbuf != MCOMM_IN_PLACE)
            memcpy(to, coll_at(args->sendbuf, offset), nbytes);
    }
}

static void take(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args), n = (size_t)node->size, mine = (size_t)node->rank * nbytes;

    if (nbytes == 0)
        return;
    switch (args->kind) {
    case COLL_BCAST:
        if (!is_root(call))
            memcpy(args->recvbuf, content(node, args->root, node->seq, nbytes), nbytes);
        break;
    case COLL_SCATTER:
        if (!is_root(call))
            memcpy(args->recvbuf, content(node, args->root, node->seq, n * nbytes) + mine, nbytes);
        else if (args->recvbuf != MCOMM_IN_PLACE)
            memcpy(args->recvbuf, coll_at(args->sendbuf, mine), nbytes);
        break;
    case COLL_REDUCE:
        if (is_root(call))
            fold(call, node, node->size, 0, nbytes);
        break;
    case COLL_ALLREDUCE:
        fold(call, node, node->size, 0, nbytes);
        break;
    case COLL_SCAN:
        fold(call, node, node->rank + 1, 0, nbytes);
        break;
    case COLL_EXSCAN:
        fold(call, node, node->rank, 0, nbytes);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        fold(call, node, node->size, mine, n * nbytes);
        break;
    case COLL_GATHER:
        if (is_root(call))
            collect(call, node, 0, nbytes);
        break;
    case COLL_ALLGATHER:
        collect(call, node, 0, nbytes);
        break;
    case COLL_ALLTOALL:
        collect(call, node, mine, n * nbytes);
        break;
    default:
        break;
    }
}

/* What I say: my block of allgather in place lies in recvbuf, else the input. */
static const void *my_words(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;

    if (args->kind == COLL_BCAST)
        return args->recvbuf;
    if (args->kind == COLL_ALLGATHER && args->sendbuf == MCOMM_IN_PLACE)
        return coll_at(args->recvbuf, (size_t)call->team.rank * coll_nbytes(args));
    return coll_input(args);
}

enum slots_stage {
    SLOTS_SAY,
    SLOTS_LISTEN
};

bool mci_coll_slots_step(struct coll_call *call)
{
    struct coll_node *node = coll_comm_of(call->comm)->node;
    int end, first = listens_from(call, node, &end);

    if (call->stage == SLOTS_SAY) {
        if (speaks(call)) {
            if (!is_free(node, node->seq + 1))
                return false;
            say(node, node->seq + 1, my_words(call), my_nbytes(call, node));
        }
        node->seq++;
        call->cursor = first;
        call->stage = SLOTS_LISTEN;
    }
    for (; call->cursor < end; call->cursor++) {
        const struct node_line *line = node_line_of(node, call->cursor, node->seq);

        if (call->cursor != node->rank &&
            atomic_load_explicit(&line->seq, memory_order_acquire) != node->seq)
            return false;
    }
    take(call, node);
    atomic_store_explicit(&node_words_of(node, node->rank)->done, node->seq, memory_order_release);
    mci_coll_node_ring_bells(node); /* for one that waits to write a slot again */
    return true;
}
