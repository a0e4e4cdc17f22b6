/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Inside pt2pt. match.c: tables of posted receives and unexpected messages. context.c: which match
 * object a context has. msg.c: what arrives. send.c, recv.c: operations. credit.c: state per peer.
 * watch.c: connects to peers that are waited for. request.c: what users hold.
 */
#ifndef MCI_PT2PT_PT2PT_PRIV_H
#define MCI_PT2PT_PT2PT_PRIV_H

#include "base/hash.h"
#include "base/mem.h"
#include "pt2pt/pt2pt.h"

#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define MSG_OVERHEAD 64u /* charged to the credit besides the payload */
#define RTS_OUT_MAX                                                                                \
    65536u /* unmatched rendezvous messages per receiver; further ones are held back */

/* ---- wire: see also struct mci_frame -------------------------------------------------------- */
/*
 * EAGER  w0 context, w1 tag, w2 sender's rank; payload: the message
 * RTS    the same; payload: struct mci_rts_wire, and the message behind it if FRAME_HAS_DATA
 * CTS    w0 sender's id, w1 | w2 << 32 the receiver's inbound operation
 * FIN    w0 sender's id, aux an error code: 0 = matched, else the receiver gave it up
 * CREDIT w0 bytes that are free again
 * CANCEL w0 sender's id, aux an error code: the sender gave it up
 */
#define FRAME_FREE 1u     /* flags: not charged to the credit */
#define FRAME_HAS_DATA 2u /* flags: a small synchronous message */

struct mci_rts_wire {
    uint64_t id; /* of the send at the sender */
    uint64_t nbytes;
};

/* ---- match.c ----------------------------------------------------------------------------------
 */
enum match_class { /* what a receive leaves open; bits */
    MATCH_EXACT = 0,
    MATCH_ANY_TAG = 1,
    MATCH_ANY_SOURCE = 2,
    MATCH_ANY_BOTH = 3,
    MATCH_CLASSES = 4
};
#define MATCH_FIRST_BITS 3u

/* Buckets by class and by hash of (space, source, tag), the open parts as ANY. FIFO within a
 * bucket. */
struct mci_match_table {
    struct mci_list *heads; /* [class << bits | hash] */
    uint32_t bits;
    size_t count;
    struct mci_list first[MATCH_CLASSES << MATCH_FIRST_BITS]; /* until it grows */
};

struct mci_match {
    struct mci_list link;  /* all of them */
    uint64_t key;          /* context without the space */
    struct mci_comm *comm; /* NULL: this process has not made it yet */
    uint64_t seq;
    int failed_count;                  /* members */
    bool is_watched;                   /* every member: connected or failed */
    struct mci_recv *lone;             /* posted when no other was, so the oldest; in no bucket */
    size_t class_count[MATCH_CLASSES]; /* of the other posted receives */
    struct mci_match_table posted;
    struct mci_match_table unexpected; /* a message is in one bucket of each class */
};

/* A message that is here, wholly or in part, and not received. */
struct mci_msg {
    struct mci_list link[MATCH_CLASSES]; /* unexpected; first member: see match.c */
    struct mci_list peer_link;           /* all of its peer */
    struct mci_peer *peer;               /* NULL: from nobody (MCOMM_RANK_NULL), or gone */
    struct mci_match *match;             /* NULL: taken out of matching, or to be dropped */
    struct mci_comm *comm;               /* matched probe: a reference */
    mcomm_message_t handle;
    struct mci_recv *recv; /* waits for the rest of it */
    int source, tag;
    uint8_t space, flags;
    bool is_rts, is_arriving, is_reserve;
    mcomm_err_t err;   /* taken by a matched probe, then the sender failed or withdrew */
    size_t nbytes;     /* of the message */
    size_t charge;     /* to be given back */
    uint64_t send_id;  /* 0: nobody waits for an answer */
    mcomm_iov_t place; /* where the frame's payload goes */
    char payload[];    /* of the frame */
};

void mci_match_init(struct mci_match *m, uint64_t key);
void mci_match_fini(struct mci_match *m);
void mci_match_post(struct mci_match *m, struct mci_recv *op);
void mci_match_unpost(struct mci_match *m, struct mci_recv *op);
struct mci_recv *mci_match_take_bucketed(struct mci_match *m, unsigned space, int source, int tag);
/* The first posted receive that fits, taken out; NULL: none. */
static inline struct mci_recv *mci_match_take_posted(struct mci_match *m, unsigned space,
                                                     int source, int tag)
{
    struct mci_recv *op = m->lone;

    if (likely(op != NULL) && op->space == space &&
        (op->source == source || op->source == MCOMM_ANY_SOURCE) &&
        (op->tag == tag || op->tag == MCOMM_ANY_TAG)) {
        m->lone = NULL;
        return op;
    }
    return m->posted.count > 0 ? mci_match_take_bucketed(m, space, source, tag) : NULL;
}
void mci_match_add(struct mci_match *m, struct mci_msg *msg);
void mci_match_remove(struct mci_match *m, struct mci_msg *msg);
struct mci_msg *mci_match_search(const struct mci_match *m, unsigned space, int source, int tag);
/* The first message that fits, left where it is; source and tag may be open. NULL: none. */
static inline struct mci_msg *mci_match_find(const struct mci_match *m, unsigned space, int source,
                                             int tag)
{
    return likely(m->unexpected.count == 0) ? NULL : mci_match_search(m, space, source, tag);
}
/*
 * Take out the posted receives that want says yes to, in order within a bucket, and push them to
 * out. want must not change the tables.
 */
void mci_match_extract(struct mci_match *m, bool (*want)(struct mci_recv *op, void *arg), void *arg,
                       struct mci_list *out);

/* ---- context.c --------------------------------------------------------------------------------
 */
#define CONTEXT_CACHE 16u
struct mci_pt2pt {
    struct mci_match *cache[CONTEXT_CACHE];
    struct mci_map contexts; /* key -> match */
    struct mci_list matches;
    struct mci_map sends; /* id -> struct mci_send */
    uint64_t next_id;
    struct mci_pool requests;
    struct mci_pool places; /* struct sink_place */
    struct mci_list live;   /* of requests */
    uint32_t tick;          /* of the watch timer */
    bool is_up;             /* frames may be sent */
};
extern struct mci_pt2pt mci_pt2pt;

mcomm_err_t mci_context_start(void);
void mci_context_stop(void);
struct mci_match *mci_context_find_slow(uint64_t key); /* NULL: unknown */
/* For a message of a context that is not known yet. NULL: freed before, or no memory. */
struct mci_match *mci_context_expect(uint64_t key, bool *was_freed_p);
mcomm_err_t mci_context_on_new(struct mci_comm *comm);
mcomm_err_t mci_context_on_gone(struct mci_comm *comm);
static inline struct mci_match *mci_context_find(uint64_t ctx)
{
    uint64_t key = ctx >> 2;
    struct mci_match *m = mci_pt2pt.cache[key % CONTEXT_CACHE];

    return likely(m != NULL && m->key == key) ? m : mci_context_find_slow(key);
}
static inline struct mci_match *mci_match_of(const struct mci_comm *comm)
{
    return comm->match;
}

/* ---- reserve.c: memory for what arrives when there is none */
enum mci_reserve {
    MCI_RESERVE_MSG, /* with MCI_EAGER_MAX bytes of payload */
    MCI_RESERVE_PEER,
    MCI_RESERVE_MATCH,
    MCI_RESERVE_NUM
};
void mci_reserve_start(void);
void mci_reserve_stop(void);
void *mci_reserve_take(enum mci_reserve kind); /* NULL: none left. Not zeroed */
void mci_reserve_give(enum mci_reserve kind, void *place);

/* ---- credit.c: what pt2pt knows of a peer
 * --------------------------------------------------------- */
struct mci_pt2pt_peer {
    struct mci_peer *peer;
    size_t used;             /* of the credit at the receiver */
    size_t owed;             /* to the sender: free again, not told yet */
    uint32_t rts_out;        /* unmatched rendezvous messages there */
    struct mci_list held;    /* sends that may not even announce themselves */
    struct mci_list queued;  /* eager sends that await their turn in the rail */
    struct mci_list waiting; /* sends that await CTS or FIN */
    struct mci_list msgs;    /* from it */
    struct mci_list bulk;    /* receives under way from it */
};
struct mci_pt2pt_peer *mci_pt2pt_peer_new(struct mci_peer *peer); /* NULL: no memory */
static inline struct mci_pt2pt_peer *mci_pt2pt_peer_of(struct mci_peer *peer)
{
    return likely(peer->p2p != NULL) ? peer->p2p : mci_pt2pt_peer_new(peer);
}
/* The same where something has come from it, which must not be lost. */
struct mci_pt2pt_peer *mci_pt2pt_peer_new_arriving(struct mci_peer *peer);
static inline struct mci_pt2pt_peer *mci_pt2pt_peer_of_sender(struct mci_peer *peer)
{
    return likely(peer->p2p != NULL) ? peer->p2p : mci_pt2pt_peer_new_arriving(peer);
}
void mci_credit_return(struct mci_pt2pt_peer *pp); /* sends what is owed */
void mci_credit_on_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink);
void mci_pt2pt_on_failed(struct mci_peer *peer);
void mci_pt2pt_on_gone(struct mci_peer *peer);
void mci_pt2pt_fail_list(struct mci_list *ops, mcomm_err_t err); /* of taken out receives */

extern size_t mci_credit_limit, mci_credit_batch;
static inline void mci_credit_owe(struct mci_pt2pt_peer *pp, size_t nbytes)
{
    pp->owed += nbytes;
    if (unlikely(pp->owed >= mci_credit_batch))
        mci_credit_return(pp);
}

/* ---- send.c
 * -------------------------------------------------------------------------------------- */
void mci_send_finish(struct mci_send *op, mcomm_err_t err); /* out of all tables, and done */
/* op, which is held, queued or awaits an answer, ends with err; the receiver is told. A frame that
 * the rail does not give back goes on. */
void mci_send_give_up(struct mci_send *op, mcomm_err_t err);
bool mci_send_cancel(struct mci_send *op); /* true: nothing has left; op is free */
void mci_send_release_held(struct mci_pt2pt_peer *pp);
void mci_send_on_cts(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink);
void mci_send_on_fin(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink);
void mci_send_fin(struct mci_peer *peer, uint64_t send_id, mcomm_err_t err);

/* ---- msg.c
 * --------------------------------------------------------------------------------------- */
void mci_msg_on_eager(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink);
void mci_msg_on_rts(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink);
void mci_msg_on_cancel(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink);
void mci_msg_settle(struct mci_msg *msg); /* out of its peer's list, credit given back */
void mci_msg_free(struct mci_msg *msg);   /* settle, and free the memory */
void mci_msg_memory_free(struct mci_msg *msg);
/* Nobody will receive it: the sender is told why; out of the tables, freed at once or when it is
 * all here. */
void mci_msg_drop(struct mci_msg *msg, mcomm_err_t err);
static inline const void *mci_msg_data(const struct mci_msg *msg)
{
    return msg->payload + (msg->is_rts ? sizeof(struct mci_rts_wire) : 0);
}

/* ---- recv.c
 * -------------------------------------------------------------------------------------- */
enum recv_state {
    RECV_POSTED,
    RECV_FAILING,  /* taken out of the tables, about to be ended */
    RECV_SINK,     /* a frame is arriving into the buffer */
    RECV_ARRIVING, /* a message is arriving into memory of its own */
    RECV_BULK,     /* an inbound operation is open */
    RECV_DONE
};
struct sink_place {      /* outlives a receive that is withdrawn meanwhile */
    struct mci_recv *op; /* NULL: withdrawn */
    mcomm_iov_t iov;
    struct mci_pt2pt_peer *from;
    size_t charge; /* to be given back if the frame counts */
};
void mci_recv_finish(struct mci_recv *op, mcomm_err_t err);
/* A whole message is at data: fills the buffer, ends op. */
void mci_recv_fill(struct mci_recv *op, int source, int tag, const void *data, size_t nbytes);
/* op, which is being filled by an inbound operation, ends with err; the sender is told. */
void mci_recv_give_up(struct mci_recv *op, mcomm_err_t err);
/* op takes msg, which is in no table any more. */
void mci_recv_take(struct mci_recv *op, struct mci_msg *msg);
/* op gets its bytes by an inbound operation. */
void mci_recv_bulk(struct mci_recv *op, struct mci_peer *peer, int source, int tag,
                   uint64_t send_id, size_t nbytes);
/* The rest of a frame goes straight into op's buffer. false: it cannot. */
bool mci_recv_sink(struct mci_recv *op, struct mci_pt2pt_peer *from, size_t charge, int source,
                   int tag, size_t nbytes, struct mci_sink *sink);
void mci_recv_prepare(struct mci_recv *op, const mcomm_iov_t *iov, size_t iov_count, size_t nbytes);

/* ---- watch.c
 * ------------------------------------------------------------------------------------- */
void mci_watch_start(void);
void mci_watch_stop(void);
void mci_watch_arm(void);
/* op was posted: see that the death of a sender without connection is noticed. */
static inline void mci_watch_posted(const struct mci_match *m, const struct mci_recv *op)
{
    if (op->source == MCOMM_ANY_SOURCE ? !m->is_watched
                                       : mci_comm_peer(m->comm, op->source)->state == MCI_PEER_IDLE)
        mci_watch_arm();
}

/* ---- request.c
 * ----------------------------------------------------------------------------------- */
struct mci_pt2pt_request {
    struct mci_request base; /* first */
    struct mci_list link;
    bool is_send, is_null; /* null: peer is MCOMM_RANK_NULL */
    unsigned flags;
    int rank, tag;
    void *buf;
    size_t nbytes;
    mcomm_iov_t *iov; /* own copy of a list */
    size_t iov_count;
    union {
        struct mci_send send;
        struct mci_recv recv;
    };
};
/* What a nonblocking call asks for. */
struct mci_pt2pt_call {
    bool is_send, is_persistent;
    unsigned flags;
    int rank, tag;
    const void *buf;
    size_t nbytes;
    const mcomm_iov_t *iov;
    size_t iov_count;
    struct mci_msg *msg; /* imrecv */
};
void mci_pt2pt_requests_end(void); /* the library ends: so do all requests */
mcomm_err_t mci_pt2pt_request_new(struct mci_comm *comm, const struct mci_pt2pt_call *call,
                                  mcomm_request_t *request_p);

/* ---- probe.c
 * ------------------------------------------------------------------------------------- */
/* *msg_p: NULL if there is none; stays in matching. PROC_FAILED(_PENDING) if none can come. */
mcomm_err_t mci_probe_once(struct mci_comm *comm, int source, int tag, struct mci_msg **msg_p);
mcomm_err_t mci_probe_wait(struct mci_comm *comm, int source, int tag, int timeout_ms,
                           struct mci_msg **msg_p);
/* Takes msg (NULL: the message of nobody) out of matching and makes a handle for it. */
mcomm_err_t mci_probe_take(struct mci_comm *comm, struct mci_msg *msg, mcomm_message_t *message_p);
void mci_probe_status(const struct mci_msg *msg, mcomm_status_t *status_p);

#endif
