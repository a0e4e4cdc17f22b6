/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Pieces in the rings of a node. A piece never crosses a ring's end and begins at a multiple of 64,
 * so where it lies follows from where the call begins in the ring, which the writer's line tells,
 * and the sizes of the call's pieces before it, which the readers know or are told.
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

/* Beginning of a call, with so much in the slots. false: not yet; only if this member writes. */
bool mci_coll_rings_begin(struct coll_node *node, bool is_writer, size_t slot_nbytes);
/* A writer's line: where the call begins in its rings. */
void mci_coll_rings_say(struct coll_node *node);
void mci_coll_rings_end(struct coll_node *node);

/* Has writer's line come? pos[] and seen[] are set then. */
bool mci_coll_ring_hear(struct coll_node *node, int writer);
/* Does writer's ring, whose line has come, hold all up to pos? */
bool mci_coll_ring_has(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos);
/*
 * I need no longer what lies before pos in writer's ring. Say the begin of the next chunk, not the
 * end of the own piece: the writer must not keep room for the others' pieces in between.
 */
void mci_coll_ring_ack(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos);

#define RING_ALL (-1)
/* The own next piece, up to end. Have all who read what lies there now done so? */
bool mci_coll_ring_has_room(struct coll_node *node, enum node_ring ring, uint64_t end);
/* It is there, for one reader or for all. */
void mci_coll_ring_put(struct coll_node *node, enum node_ring ring, int reader, uint64_t end);

/*
 * Bytes of a piece where each member has a block of nbytes. A ring holds a piece for every member:
 * readers make room only once they have had theirs, which may be the last.
 */
static inline size_t mci_coll_piece_nbytes(const struct coll_node *node, size_t nbytes)
{
    size_t most = nbytes < ((size_t)512 << 10) ? (size_t)32 << 10 : (size_t)64 << 10;
    size_t parts = node->size > 8 ? (size_t)node->size : 8;

    if (most > node->ring_nbytes / parts)
        most = node->ring_nbytes / parts / 64 * 64;
    return nbytes < most && nbytes > 0 ? nbytes : most;
}
/* Of chunk number chunk of a block. */
static inline size_t mci_coll_piece_of(size_t nbytes, size_t piece, size_t chunk)
{
    size_t first = chunk * piece;

    if (first >= nbytes)
        return 0;
    return nbytes - first < piece ? nbytes - first : piece;
}

/* ---- the kinds: one file each ---- */
bool mci_coll_rings_reduce_step(
    struct coll_call *call); /* reduce, allreduce, reduce_scatter(_block) */
bool mci_coll_rings_spread_step(struct coll_call *call);   /* bcast, allgather(v) */
bool mci_coll_rings_exchange_step(struct coll_call *call); /* gather(v), scatter(v), alltoall(v) */
bool mci_coll_rings_scan_step(struct coll_call *call);     /* scan, exscan */

#endif
