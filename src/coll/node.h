/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The segment that the members of a communicator on one node share. It is made at the first
 * collective: the member of lowest rank offers a region, the others map it and say so, and all use
 * it or none does.
 *
 * Every word in it has one writer. Every call that uses the segment has a number, and whoever has
 * something to say in it writes a line of his own, number mod NODE_GENS, once all are past the
 * line's last call (they say so by their word "done"; a line of a call says that its writer is past
 * the call before). What it says lies
 *  - in the line itself, or in the writer's slots, a ring of bytes of which the line tells where;
 *  - in the writer's two rings, IN (pieces that one other member each reads) and OUT (pieces that
 *    others read together). The line tells where the call begins in them and, as the call goes on,
 *    "put", up to where they are written; "acks" tell the writer how far a reader has come.
 */
#ifndef MCI_COLL_NODE_H
#define MCI_COLL_NODE_H

#include "base/near.h"
#include "coll/coll_priv.h"

#define NODE_GENS 64u /* how many calls one may be ahead of another */
#define NODE_INLINE 120u
#define NODE_SLOT 8192u             /* at most of one contribution */
#define NODE_SLOTS (4u * NODE_SLOT) /* of one member */
#define NODE_LINE 128u
#define NODE_FOLD_MAX 64      /* members whose vectors are folded at once */
#define NODE_MEMBERS_MAX 4096 /* a ring holds a piece of at least 64 bytes for each */
#define NODE_COUNTS_MAX ((int)(NODE_SLOT / sizeof(uint64_t))) /* in the header of a slot */

enum node_ring {
    NODE_IN,
    NODE_OUT,
    NODE_RING_NUM
};

/* Where what a line says lies; needed where a reader cannot know. */
enum node_where {
    NODE_IN_LINE,
    NODE_IN_SLOT,
    NODE_IN_RING,
    NODE_WHERE_NUM = 4
};

struct node_line {
    _Atomic uint64_t word; /* NODE_WHERE_NUM times the number of the call, and where */
    union {
        char data[NODE_INLINE];
        struct {
            uint64_t slot;
            uint64_t base[NODE_RING_NUM];
            char rest_of_cache_line[32];
            _Atomic uint64_t put[NODE_RING_NUM];
        };
    };
} __attribute__((aligned(NODE_LINE)));

struct node_words {
    _Atomic uint64_t done;
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
    int left;        /* a member that finalized and does not do what is waited for, or -1 */
    /* places in the segment */
    size_t stride; /* from one member's part to the next */
    size_t ring_nbytes;
    char *parts, *rings;
    /* lines */
    uint64_t seq;                  /* of the current call, or the last one */
    uint64_t done_min;             /* all are past this one, as last seen */
    uint64_t *past;                /* of each member the same */
    uint64_t slot_end;             /* of this member's slots: written up to there */
    uint64_t slot_ends[NODE_GENS]; /* after each of the last calls */
    const void **srcs;             /* size pointers, for folds */
    /* rings */
    struct mci_near near;
    bool is_far;
    uint64_t own[NODE_RING_NUM];          /* where this member's next piece goes */
    uint64_t *owed[NODE_RING_NUM];        /* end of the last own piece that each member reads */
    uint64_t *owed_before[NODE_RING_NUM]; /* the same when the call began */
    uint64_t own_before[NODE_RING_NUM];   /* own[] when the call began */
    uint64_t ack_min[NODE_RING_NUM];      /* all have read this member's rings up to there */
    uint64_t *pos[NODE_RING_NUM];         /* of each member's ring: where the next chunk begins */
    uint64_t *seen[NODE_RING_NUM];        /* of each member's ring: put as last seen */
    struct node_flow { /* how far the call has come; chunks: a piece of each block */
        size_t piece, chunks;
        size_t last_part, last_more; /* of the last chunk: its parts, how many are one longer */
        size_t put, reduced;
        int put_turn; /* pieces of the next chunk that are put */
        int unread;   /* members whose blocks are not complete */
        int ready;    /* members whose shares of the part to be folded are there */
    } flow;
    size_t *got;   /* chunks, from each member */
    size_t *piece; /* of each member, where they differ */
    bool *heard;   /* each member's line of this call */
};

static inline struct node_words *node_words_of(const struct coll_node *node, int rank)
{
    return (struct node_words *)(void *)(node->parts + (size_t)rank * node->stride);
}
static inline struct node_line *node_line_of(const struct coll_node *node, int rank, uint64_t seq)
{
    return (struct node_line *)(void *)(node_words_of(node, rank) + 1) + seq % NODE_GENS;
}
static inline char *node_slots_of(const struct coll_node *node, int rank)
{
    return (char *)((struct node_line *)(void *)(node_words_of(node, rank) + 1) + NODE_GENS);
}
/* Of the current call, as the member's line tells. */
static inline char *node_slot_of(const struct coll_node *node, int rank)
{
    return node_slots_of(node, rank) + node_line_of(node, rank, node->seq)->slot % NODE_SLOTS;
}
/* Where reader is in the ring of writer. */
static inline _Atomic uint64_t *node_ack_of(const struct coll_node *node, enum node_ring ring,
                                            int reader, int writer)
{
    char *acks = node_slots_of(node, reader) + NODE_SLOTS;

    return (_Atomic uint64_t *)(void *)acks + (size_t)ring * (size_t)node->size + writer;
}
static inline char *node_ring_of(const struct coll_node *node, enum node_ring ring, int rank)
{
    return node->rings + ((size_t)rank * NODE_RING_NUM + ring) * node->ring_nbytes;
}

/* Not yet: member i has something to do first. Always false. */
static inline bool node_waits_for(struct coll_node *node, int i)
{
    if (__builtin_expect(node->peers[i]->has_left, 0))
        node->left = i;
    return false;
}

/* ---- lines.c: who has come to which call ---- */
/* Go on to the next call, as one who only listens. */
void mci_coll_line_pass(struct coll_node *node);
/* Or as one who says something, with slot_nbytes in the slots. false: not yet: not all are past the
 * call whose place that takes. */
bool mci_coll_line_take(struct coll_node *node, size_t slot_nbytes);
/* Has the member's line of the current call come? */
static inline bool node_has_line(struct coll_node *node, int rank)
{
    const struct node_line *line = node_line_of(node, rank, node->seq);

    if (atomic_load_explicit(&line->word, memory_order_acquire) / NODE_WHERE_NUM != node->seq)
        return node_waits_for(node, rank);
    node->past[rank] = node->seq - 1;
    return true;
}
/* Of one that has come. */
static inline enum node_where node_where_of(const struct coll_node *node, int rank)
{
    const struct node_line *line = node_line_of(node, rank, node->seq);

    return (enum node_where)(atomic_load_explicit(&line->word, memory_order_relaxed) %
                             NODE_WHERE_NUM);
}
/* The own line of the current call is filled in. */
void mci_coll_line_say(struct coll_node *node, enum node_where where);
/* This member is past the current call. */
void mci_coll_line_done(struct coll_node *node);

/* ---- node.c ---- */
mcomm_err_t mci_coll_node_start_module(void);
/* The segment, or NULL: not yet (then *is_plain_p false), or none for this communicator. */
struct coll_node *mci_coll_node_get(struct coll_comm *cc, bool *is_plain_p);
void mci_coll_node_free(struct coll_comm *cc);
/* The member of lowest rank made a segment. */
void mci_coll_node_offered(struct coll_comm *cc, uint64_t region_id);
/* News of a communicator that is not made yet (poison.c). */
void mci_coll_early_offer(uint64_t ctx, bool is_offer, uint64_t region_id);
/* Wake the member, or all, if asleep; after a store it may wait for. */
static inline void mci_coll_node_ring_bell(const struct coll_node *node, int rank)
{
    struct mci_doorbell *bell = node->peers[rank]->bell;

    if (bell != NULL)
        mci_doorbell_ring(bell);
}
static inline void mci_coll_node_ring_bells(const struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank)
            mci_coll_node_ring_bell(node, i);
}

/* ---- slots.c ---- */
bool mci_coll_slots_fit(const struct coll_call *call, const struct coll_node *node);
bool mci_coll_slots_step(struct coll_call *call);

#endif
