/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Pieces in the rings of a node. A piece never crosses a ring's end and begins at a multiple of 64,
 * so where it lies follows from the sizes of the pieces before it: writer and readers compute the
 * same positions, nothing but the writer's position is told.
 */
#ifndef MCI_COLL_RINGS_H
#define MCI_COLL_RINGS_H

#include "base/copy.h"
#include "coll/node.h"

#include <string.h>

struct ring_place {
    uint64_t begin, end;
};

/* The place of a piece after position pos. */
static inline struct ring_place ring_place(const struct coll_node *node, uint64_t pos,
                                           size_t nbytes)
{
    size_t in = (size_t)(pos & (node->ring_nbytes - 1)), room = (nbytes + 63) & ~(size_t)63;

    if (in + room > node->ring_nbytes)
        pos += node->ring_nbytes - in;
    return (struct ring_place){pos, pos + room};
}

static inline char *ring_at(const struct coll_node *node, enum node_ring ring, int rank,
                            uint64_t pos)
{
    return node_ring_of(node, ring, rank) + (pos & (node->ring_nbytes - 1));
}

/* Stores for another core to read: past the caches if that core is far. */
static inline void ring_copy(const struct coll_node *node, void *dst, const void *src,
                             size_t nbytes)
{
    if (node->is_far && nbytes >= 1024)
        mci_copy_stream(dst, src, nbytes);
    else
        memcpy(dst, src, nbytes);
}

/* May my piece lie there? All readers are past what lies there now. */
bool mci_coll_ring_has_room(struct coll_node *node, enum node_ring ring, uint64_t end);
/* My ring holds all up to pos. */
void mci_coll_ring_put(struct coll_node *node, enum node_ring ring, uint64_t pos);
/* Does writer's ring hold all up to pos? */
bool mci_coll_ring_has(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos);
/* I need no longer what lies, or will lie, before pos in writer's ring. Who does not read a ring at
 * all must say so too, as the call goes on: the writer may wait for it. */
void mci_coll_ring_ack(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos);
/* Beginning of a call that uses the rings; at its end pos[] stands behind all its pieces. */
void mci_coll_rings_begin(struct coll_node *node);

/* Bytes of a piece where each member has a block of nbytes. */
static inline size_t mci_coll_piece_nbytes(const struct coll_node *node, size_t nbytes)
{
    size_t most = nbytes < ((size_t)512 << 10) ? (size_t)32 << 10 : (size_t)64 << 10;

    if (most > node->ring_nbytes / 8)
        most = node->ring_nbytes / 8;
    return nbytes < most ? nbytes : most;
}

/* ---- the kinds: one file each ---- */
bool mci_coll_rings_reduce_step(struct coll_call *call);   /* reduce, allreduce, reduce_scatter */
bool mci_coll_rings_spread_step(struct coll_call *call);   /* bcast, allgather */
bool mci_coll_rings_exchange_step(struct coll_call *call); /* gather, scatter, alltoall */

#endif
