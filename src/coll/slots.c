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

/* Bytes of a member's block. */
static size_t block_nbytes(const struct coll_args *args, int rank)
{
    return args->kind == COLL_ALLGATHERV ? args->recv_counts[rank] * args->elem : coll_nbytes(args);
}

static size_t sum_nbytes(const struct coll_args *args, int size)
{
    size_t count = 0;

    for (int i = 0; i < size; i++)
        count += args->recv_counts[i];
    return count * args->elem;
}

/* Bytes of what I contribute; of a block for each member where they differ. */
static size_t my_nbytes(const struct coll_call *call, const struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args), n = (size_t)node->size;

    switch (args->kind) {
    case COLL_SCATTER:
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER_BLOCK:
        return n * nbytes;
    case COLL_REDUCE_SCATTER:
        return sum_nbytes(args, node->size);
    case COLL_BARRIER:
        return 0;
    default:
        return block_nbytes(args, node->rank);
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

    switch (args->kind) {
    case COLL_BARRIER:
        return true;
    case COLL_SCATTER:
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER_BLOCK:
        return coll_nbytes(args) <= NODE_SLOT / (size_t)node->size;
    case COLL_REDUCE_SCATTER:
        return sum_nbytes(args, node->size) <= NODE_SLOT;
    case COLL_ALLGATHERV:
        for (int i = 0; i < node->size; i++)
            if (block_nbytes(args, i) > NODE_SLOT)
                return false;
        return true;
    default:
        return coll_nbytes(args) <= NODE_SLOT;
    }
}

/* ---- saying ---- */
static bool say(struct coll_node *node, const void *data, size_t nbytes)
{
    bool is_short = nbytes <= NODE_INLINE;

    if (!mci_coll_line_take(node, is_short ? 0 : nbytes))
        return false;
    if (nbytes == 8)
        memcpy(node_line_of(node, node->rank, node->seq)->data, data, 8);
    else if (nbytes > 0)
        memcpy(is_short ? node_line_of(node, node->rank, node->seq)->data
                        : node_slot_of(node, node->rank),
               data, nbytes);
    mci_coll_line_say(node, is_short ? NODE_IN_LINE : NODE_IN_SLOT);
    return true;
}

/* ---- listening ---- */
static const char *content(const struct coll_node *node, int rank, size_t nbytes)
{
    return nbytes <= NODE_INLINE ? node_line_of(node, rank, node->seq)->data
                                 : node_slot_of(node, rank);
}

/* Of members [0, end), each of whom said so many bytes, count elements from offset on. */
static void fold(struct coll_call *call, struct coll_node *node, int end, size_t offset,
                 size_t count, size_t said)
{
    const struct coll_args *args = &call->args;

    if (end == 0 || count == 0)
        return;
    for (int i = 0; i < end; i++)
        node->srcs[i] =
            i == node->rank ? coll_at(coll_input(args), offset) : content(node, i, said) + offset;
    mci_fold_many(args->recvbuf, node->srcs, end, count, args->dtype, coll_fold_op(call));
}

static char *block_to(const struct coll_args *args, int rank)
{
    return coll_at(args->recvbuf, args->kind == COLL_ALLGATHERV
                                      ? args->recv_displs[rank] * args->elem
                                      : (size_t)rank * coll_nbytes(args));
}

/* A block of every member, who said so many blocks, from offset on; own one from the caller's
 * buffer. */
static void collect(struct coll_call *call, const struct coll_node *node, size_t offset,
                    size_t blocks_said)
{
    const struct coll_args *args = &call->args;

    for (int i = 0; i < node->size; i++) {
        size_t nbytes = block_nbytes(args, i);

        if (nbytes == 0)
            continue;
        if (i != node->rank)
            coll_copy(block_to(args, i), content(node, i, blocks_said * nbytes) + offset, nbytes);
        else if (args->sendbuf != MCOMM_IN_PLACE)
            coll_copy(block_to(args, i), coll_at(args->sendbuf, offset), nbytes);
    }
}

static void take_from_root(struct coll_call *call, const struct coll_node *node, size_t offset,
                           size_t said)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args);

    if (nbytes == 0)
        return;
    if (!is_root(call))
        coll_copy(args->recvbuf, content(node, args->root, said) + offset, nbytes);
    else if (args->kind == COLL_SCATTER && args->recvbuf != MCOMM_IN_PLACE)
        coll_copy(args->recvbuf, coll_at(args->sendbuf, offset), nbytes);
}

static void take(struct coll_call *call, struct coll_node *node)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args), n = (size_t)node->size, mine = (size_t)node->rank * nbytes;

    switch (args->kind) {
    case COLL_BCAST:
        take_from_root(call, node, 0, nbytes);
        break;
    case COLL_SCATTER:
        take_from_root(call, node, mine, n * nbytes);
        break;
    case COLL_REDUCE:
        if (is_root(call))
            fold(call, node, node->size, 0, args->count, nbytes);
        break;
    case COLL_ALLREDUCE:
        fold(call, node, node->size, 0, args->count, nbytes);
        break;
    case COLL_SCAN:
        fold(call, node, node->rank + 1, 0, args->count, nbytes);
        break;
    case COLL_EXSCAN:
        fold(call, node, node->rank, 0, args->count, nbytes);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        fold(call, node, node->size, mine, args->count, n * nbytes);
        break;
    case COLL_REDUCE_SCATTER:
        fold(call, node, node->size, sum_nbytes(args, node->rank), args->recv_counts[node->rank],
             sum_nbytes(args, node->size));
        break;
    case COLL_GATHER:
        if (is_root(call))
            collect(call, node, 0, 1);
        break;
    case COLL_ALLGATHER:
    case COLL_ALLGATHERV:
        collect(call, node, 0, 1);
        break;
    case COLL_ALLTOALL:
        collect(call, node, mine, n);
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
    if (args->sendbuf == MCOMM_IN_PLACE &&
        (args->kind == COLL_ALLGATHER || args->kind == COLL_ALLGATHERV))
        return block_to(args, call->team.rank);
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
        if (!speaks(call))
            mci_coll_line_pass(node);
        else if (!say(node, my_words(call), my_nbytes(call, node)))
            return false;
        call->cursor = first;
        call->stage = SLOTS_LISTEN;
    }
    for (; call->cursor < end; call->cursor++)
        if (call->cursor != node->rank && !node_has_line(node, call->cursor))
            return false;
    take(call, node);
    mci_coll_line_done(node);
    return true;
}
