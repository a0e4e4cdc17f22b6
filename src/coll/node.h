/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The segment that the members of a communicator on one node share. It is made at the first
 * collective: the member of lowest rank offers a region, the others map it and say so, and all use
 * it or none does.
 *
 * Every word in it has one writer. Of each member there are
 *  - slots: contribution number seq of this member lies in line seq mod NODE_GENS (or, above
 *    NODE_INLINE bytes, in the slot behind it) once the line's seq says so. A slot is written again
 *    when all have said, by their word "done", that they are past its last content;
 *  - two rings, IN (read by one other member each) and OUT (read by all), of pieces at positions
 *    that every member computes for itself. "put" is where the writer is, "acks" how far this
 *    member needs no longer what lies in each other's ring.
 */
#ifndef MCI_COLL_NODE_H
#define MCI_COLL_NODE_H

#include "base/near.h"
#include "coll/coll_priv.h"

#define NODE_GENS 4u
#define NODE_INLINE 120u
#define NODE_SLOT 8192u
#define NODE_LINE 128u
#define NODE_FOLD_MAX 64 /* members whose vectors are folded at once */

enum node_ring {
    NODE_IN,
    NODE_OUT,
    NODE_RING_NUM
};

struct node_line {
    _Atomic uint32_t seq;
    uint32_t zero;
    char data[NODE_INLINE];
} __attribute__((aligned(NODE_LINE)));

struct node_words { /* one line each */
    _Atomic uint32_t done __attribute__((aligned(NODE_LINE)));
    _Atomic uint64_t put[NODE_RING_NUM] __attribute__((aligned(NODE_LINE)));
} __attribute__((aligned(NODE_LINE)));

enum node_state {
    NODE_ASKED,      /* offered, or waiting for the offer; mapping; the others' answers */
    NODE_CONNECTING, /* all use it; not all local members are connected, so that one can wake them
                      */
    NODE_READY
};

struct coll_node {
    enum node_state state;
    struct coll_comm *cc;
    int size, rank; /* members on this node; place among them */
    struct mci_peer **peers;
    struct mci_region *region; /* of the member that offered */
    struct mci_region_ask ask; /* of the others, while they map */
    bool is_asking;
    int answers; /* members that have mapped it */
    bool is_refused;
    void *base;
    size_t nbytes;
    bool is_crowded; /* more members than cores */
    /* places in the segment */
    size_t stride; /* from one member's part to the next */
    size_t ring_nbytes;
    char *parts, *rings;
    /* slots */
    uint32_t seq;      /* contributions so far: equal on all members between calls */
    uint32_t done_min; /* of all, as last seen */
    const void **srcs; /* size pointers, for folds */
    /* rings */
    struct mci_near near;
    bool is_far;
    uint64_t *pos[NODE_RING_NUM];    /* of each member's ring: what this member has come to */
    uint64_t *seen[NODE_RING_NUM];   /* of each member's ring: put as last seen */
    uint64_t ack_min[NODE_RING_NUM]; /* of all, on this member's rings, as last seen */
    struct node_flow {               /* how far the call has come */
        size_t piece;                /* elements; 0: not begun */
        size_t chunks;
        size_t put, reduced, got; /* chunks */
        int put_turn, got_turn;   /* pieces of the next one */
    } flow;
};

static inline struct node_words *node_words_of(const struct coll_node *node, int rank)
{
    return (struct node_words *)(void *)(node->parts + (size_t)rank * node->stride);
}
static inline struct node_line *node_line_of(const struct coll_node *node, int rank, uint32_t seq)
{
    return (struct node_line *)(void *)(node_words_of(node, rank) + 1) + seq % NODE_GENS;
}
static inline char *node_slot_of(const struct coll_node *node, int rank, uint32_t seq)
{
    return (char *)((struct node_line *)(void *)(node_words_of(node, rank) + 1) + NODE_GENS) +
           (size_t)(seq % NODE_GENS) * NODE_SLOT;
}
/* Where reader is in the ring of writer. */
static inline _Atomic uint64_t *node_ack_of(const struct coll_node *node, enum node_ring ring,
                                            int reader, int writer)
{
    char *acks = node_slot_of(node, reader, 0) + NODE_GENS * NODE_SLOT;

    return (_Atomic uint64_t *)(void *)acks + (size_t)ring * (size_t)node->size + writer;
}
static inline char *node_ring_of(const struct coll_node *node, enum node_ring ring, int rank)
{
    return node->rings + ((size_t)rank * NODE_RING_NUM + ring) * node->ring_nbytes;
}

/* ---- node.c ---- */
mcomm_err_t mci_coll_node_start_module(void);
/* The segment, or NULL: not yet (then *is_plain_p false), or none for this communicator. */
struct coll_node *mci_coll_node_get(struct coll_comm *cc, bool *is_plain_p);
void mci_coll_node_free(struct coll_comm *cc);
/* The member of lowest rank made a segment. */
void mci_coll_node_offered(struct coll_comm *cc, uint64_t region_id);
/* News of a communicator that is not made yet (poison.c). */
void mci_coll_early_offer(uint64_t ctx, bool is_offer, uint64_t region_id);
/* Wake the members that sleep; after a store they may wait for. */
static inline void mci_coll_node_ring_bells(const struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank && node->peers[i]->bell != NULL)
            mci_doorbell_ring(node->peers[i]->bell);
}

/* ---- slots.c ---- */
bool mci_coll_slots_fit(const struct coll_call *call, const struct coll_node *node);
bool mci_coll_slots_step(struct coll_call *call);

#endif
