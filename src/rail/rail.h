/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Rails move bytes between processes; this is their contract to the layers above. A *peer* is a
 * process we know, named by a random 64-bit identity, never by an address. Above, one sees
 * ordered frames (a 24-byte header and a payload of up to MCI_FRAME_MAX bytes) and bulk operations
 * (any number of bytes pushed into a place that the receiver named beforehand). Which rail carries
 * them (self, shm, tcp; later ucx) is decided when a peer is connected.
 *
 * All calls: lock: engine, unless said otherwise. All callbacks run with the engine lock held, on
 * whichever thread drives progress; they may send frames but must not wait.
 */
#ifndef MCI_RAIL_RAIL_H
#define MCI_RAIL_RAIL_H

#include "base/list.h"
#include "mooncake_comm.h"

#define MCI_FRAME_MAX 65536u  /* payload bytes of one frame */
#define MCI_EAGER_MAX 262144u /* of a frame of pt2pt, over a rail whose eager_max says so */
#define MCI_SLICE_UNIT 65536u /* slices of bulk operations begin at multiples of it */
#define MCI_INLINE_MAX 36u    /* payload that travels inside the header's cache line over shm */

/* Who interprets a frame. Numbers are on the wire. */
enum mci_am {
    MCI_AM_NONE = 0,
    MCI_AM_RAIL_SLICE = 1, /* rail's own: bulk data */
    MCI_AM_RAIL_ACK,       /* rail's own: bulk operation applied / abandoned */
    MCI_AM_RAIL_CTL,       /* rail's own */
    MCI_AM_P2P_EAGER = 8,
    MCI_AM_P2P_RTS,
    MCI_AM_P2P_CTS,
    MCI_AM_P2P_FIN,
    MCI_AM_P2P_CREDIT,
    MCI_AM_P2P_CANCEL,
    MCI_AM_RMA_PUT = 16,
    MCI_AM_RMA_GET,
    MCI_AM_RMA_ACC,
    MCI_AM_RMA_FETCH,
    MCI_AM_RMA_ACK,
    MCI_AM_RMA_REPLY,
    MCI_AM_RMA_SYNC,
    MCI_AM_RMA_HOLD,
    MCI_AM_COLL_POISON, /* a member gave up a collective: the others must not wait for it */
    MCI_AM_CORE_FAILED, /* w0 names a process that failed: look for yourself */
    MCI_AM_KV_CALL,
    MCI_AM_KV_REPLY,
    MCI_AM_REVOKE,    /* w0 names a communicator that a member revoked */
    MCI_AM_COLL_NODE, /* members of a communicator on one node agree on a shared segment */
    MCI_AM_MAX = 32
};

/* Frame header: 24 bytes, host order (all supported machines are little-endian). */
struct mci_frame {
    uint8_t am;
    uint8_t flags;   /* the module's */
    uint16_t aux;    /* the module's */
    uint32_t nbytes; /* payload; set by send */
    uint64_t w0;
    uint32_t w1, w2;
};
_Static_assert(sizeof(struct mci_frame) == 24, "wire format");

/* ---- peers -------------------------------------------------------------------------------- */
enum mci_peer_state {
    MCI_PEER_IDLE, /* known by its card only */
    MCI_PEER_CONNECTING,
    MCI_PEER_READY,
    MCI_PEER_FAILED, /* for good: a recovered rank is a new peer */
    MCI_PEER_STATE_NUM
};

struct mci_peer {
    const struct mci_rail_ops *ops; /* of the rail that carries it; NULL until chosen */
    void *conn;                     /* that rail's own */
    enum mci_peer_state state;
    bool is_local; /* by its card: same machine, same network, same MCOMM_NODE */
    bool has_left; /* FAILED only since it finalized in an orderly way: no failure to report */
    int refs;
    int world_rank;    /* in its own job, for texts */
    uint64_t proc_id;  /* identity: random, new for every process */
    uint64_t node_key; /* equal = may share memory */
    int64_t pid;
    /* Largest payload worth sending as one frame; set when ready, else tcp's. Read without the
     * lock, too. */
    _Atomic size_t eager_max;
    struct mci_list waiting;     /* frames and operations queued until it is ready */
    struct mci_list doomed_link; /* a frame to it was lost: it is about to be given up */
    struct mci_card *card;
    _Atomic bool is_near;      /* its core and ours share a cache: learnt from what came over shm */
    struct mci_doorbell *bell; /* of a shm peer, set by the shm rail when ready; else NULL */
    void *p2p;                 /* pt2pt's per-peer state (credits), freed through its own hook */
    void *rma;                 /* rma's */
    void *fault;               /* fault's */
};

/* Rails and listeners up; makes this process's card. lock: none */
mcomm_err_t mci_rail_start(void);
/* Sends what is queued (bounded by timeout_ms), closes all. lock: none */
void mci_rail_stop(int timeout_ms);
/* This process's address card, to be given to others by the bootstrap; at most 2048 bytes. */
const void *mci_rail_card(size_t *nbytes_p);
void mci_rail_set_world_rank(int rank); /* before the card is taken */
/* The peer of a card, made if it is new; takes a reference. MCOMM_ERR_ARG if it is no card. */
mcomm_err_t mci_peer_intern(const void *card, size_t nbytes, struct mci_peer **peer_p);
struct mci_peer *mci_peer_self(void);
struct mci_peer *mci_peer_find(uint64_t proc_id); /* NULL if not known */
void mci_peer_release(struct mci_peer *peer);
/* While it is on, a peer without a reference stays known. */
void mci_rail_keep_peers(bool is_on);
const char *mci_peer_host(const struct mci_peer *peer);
const char *mci_peer_rail_name(const struct mci_peer *peer); /* "none" unless ready */
const char *mci_peer_reason(const struct mci_peer *peer);    /* why it failed, "" */
/* How many CPUs those of peers on this node may run on, all together; 0: unknown. */
int mci_peer_cpu_count(struct mci_peer *const *peers, int count);
/* Begin to connect, so that its death is noticed. Does not block. Failed peers: no effect. */
void mci_peer_watch(struct mci_peer *peer);
/* Sets state FAILED, completes all that is queued or under way with PROC_FAILED, tells the
 * callbacks. */
void mci_peer_fail(struct mci_peer *peer, const char *reason);
/* The same for a peer that finalized: has_left is set, the callbacks tell failure and leaving apart
 * by it. */
void mci_peer_leave(struct mci_peer *peer);
static inline bool mci_peer_is_failed(const struct mci_peer *peer)
{
    return peer->state == MCI_PEER_FAILED;
}
/* Registered for the life of the process; called once per peer, after its own operations ended. */
typedef void (*mci_peer_failed_fn_t)(struct mci_peer *peer);
void mci_rail_on_failed(mci_peer_failed_fn_t fn);
/* Called when a peer's memory goes (rail stop, last reference): free p2p / rma / fault parts. */
typedef void (*mci_peer_gone_fn_t)(struct mci_peer *peer);
void mci_rail_on_gone(mci_peer_gone_fn_t fn);

/* ---- frames ------------------------------------------------------------------------------- */
/* Where the payload of a frame that is still arriving goes. */
struct mci_sink {
    const mcomm_iov_t *iov; /* must stay valid until done; NULL with iov_count 0: discard */
    size_t iov_count;       /* the iov may hold less than the payload: the rest is discarded */
    /* NULL: nobody wants to know. err: PROC_FAILED; CANCELLED: the sender took the frame back */
    void (*done)(void *arg, mcomm_err_t err);
    void *arg;
};
/*
 * A frame came. If payload != NULL all frame->nbytes are there, valid during the call only. Else
 * (a longer payload that is still arriving) fill sink, and wait for its done.
 */
typedef void (*mci_am_fn_t)(struct mci_peer *peer, const struct mci_frame *frame,
                            const void *payload, struct mci_sink *sink);
void mci_rail_set_am(enum mci_am am, mci_am_fn_t fn); /* before rail start */

/* A frame that may have to wait; embedded in the caller's request. */
struct mci_tx {
    void (*done)(struct mci_tx *tx, mcomm_err_t err); /* the payload may be reused */
    /* the rails' own */
    struct mci_list link;
    struct mci_frame frame;
    const mcomm_iov_t *iov;
    size_t iov_count, iov_index, iov_offset;
    mcomm_iov_t one; /* for the one-piece form */
    size_t sent;
    mcomm_err_t err; /* of one that waited for the connection, until done is called */
    bool is_owned;   /* made by the rail, payload copied behind it */
};
/*
 * Send one frame, in order with the other frames to this peer.
 * Returns MCOMM_SUCCESS: gone, payload reusable, tx not used. MCI_PENDING: tx->done will tell; iov
 * and payload are borrowed until then. Else an error (PROC_FAILED), nothing was sent.
 * tx == NULL: if it cannot go at once the payload is copied; then never MCI_PENDING.
 */
mcomm_err_t mci_peer_send(struct mci_peer *peer, struct mci_frame *frame, const void *payload,
                          size_t nbytes, struct mci_tx *tx);
mcomm_err_t mci_peer_sendv(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                           size_t iov_count, size_t nbytes, struct mci_tx *tx);
/*
 * The same for a frame that nobody waits for before this process next drives progress or looks
 * whether something is complete: a short one that follows another closely may be kept back until
 * then (base/defer.h), to leave together with those behind it. Its payload is copied.
 */
mcomm_err_t mci_peer_sendv_soon(struct mci_peer *peer, struct mci_frame *frame,
                                const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                                struct mci_tx *tx);
/*
 * Before an operation of the user's: connects on first use. MCOMM_ERR_LIMIT or NO_MEM: this process
 * lacks what the connection takes. Frames that are sent all the same wait until it is there.
 */
mcomm_err_t mci_peer_reach_first(struct mci_peer *peer);
static inline mcomm_err_t mci_peer_reach(struct mci_peer *peer)
{
    return peer->state == MCI_PEER_READY ? MCOMM_SUCCESS : mci_peer_reach_first(peer);
}
/*
 * Send a frame if all of it can leave at once, in one short piece. false: nothing happened, use
 * mci_peer_send().
 */
bool mci_peer_send_now(struct mci_peer *peer, struct mci_frame *frame, const void *payload,
                       size_t nbytes);
/*
 * A frame without payload that the peer waits for (answer, acknowledgement, release): never lost
 * for want of memory, see tell.c. MCOMM_SUCCESS, or PROC_FAILED if the peer is.
 */
mcomm_err_t mci_peer_tell(struct mci_peer *peer, struct mci_frame *frame);
/*
 * Take back a frame that has not gone entirely. true: withdrawn, done is not called, the payload is
 * read no more and the frame does not count at the receiver. False: it is too late, done has been
 * called, by now at the latest.
 */
bool mci_peer_unsend(struct mci_peer *peer, struct mci_tx *tx);

/* ---- bulk operations ---------------------------------------------------------------------- */
/*
 * The receiver opens an inbound operation, which names a place, and tells the sender its id in a
 * frame of its own. The sender pushes into that id. The receiver's bitmap of slices is the fence:
 * once the operation is done or closed, late slices go to scratch memory.
 */
struct mci_inop {
    uint64_t id; /* set by open */
    struct mci_peer *peer;
    const mcomm_iov_t *iov; /* place; may hold less than nbytes: the rest is discarded */
    size_t iov_count;
    size_t nbytes; /* that will come */
    void (*done)(struct mci_inop *op,
                 mcomm_err_t err); /* all bytes are in place, or the peer failed */
    void *arg;
    /* the rails' own */
    struct mci_list link;
    size_t received;
    uint64_t *bitmap; /* one bit for each MCI_SLICE_UNIT bytes; small ones are in word */
    uint64_t word;
    bool is_open;
    int busy; /* slices being copied in right now */
};
mcomm_err_t mci_inop_open(struct mci_inop *op); /* nbytes 0: done is called from within */
/* Forget it: nothing is written to its place after this returns. done is not called. Twice is
 * legal. */
void mci_inop_close(struct mci_inop *op);

struct mci_outop {
    struct mci_peer *peer;
    uint64_t remote_id;     /* the receiver's inop */
    const mcomm_iov_t *iov; /* source, borrowed until done */
    size_t iov_count;
    size_t nbytes;
    void (*done)(struct mci_outop *op,
                 mcomm_err_t err); /* source reusable, data will arrive (tcp: has arrived) */
    void *arg;
    /* the rails' own */
    struct mci_list link;
    uint64_t next_offset; /* of the next slice to start */
    uint64_t acked;
    uint32_t generation;
    uint32_t in_flight;
    struct mci_list slices;
    void *rail;
    bool is_open;
};
mcomm_err_t mci_outop_start(struct mci_outop *op);
/* Stop: the source is not read after this returns. done is not called. Twice is legal. */
void mci_outop_close(struct mci_outop *op);

/* ---- memory of local peers ---------------------------------------------------------------- */
/* 1: process_vm_readv/writev work, 0: not, -1: not connected yet. */
int mci_peer_can_cma(struct mci_peer *peer);
/* Copy between local memory and the peer's address space at once. UNSUPPORTED if CMA does not work;
 * BUFFER on a bad address. */
mcomm_err_t mci_peer_cma_read(struct mci_peer *peer, void *local, uint64_t remote, size_t nbytes);
mcomm_err_t mci_peer_cma_write(struct mci_peer *peer, const void *local, uint64_t remote,
                               size_t nbytes);

/*
 * The peer may be computing: have its monitor thread look at what came over shared memory. Costs a
 * system call here and a thread switch there; no effect on peers of other rails, whose monitor
 * wakes by itself.
 */
void mci_peer_kick(struct mci_peer *peer);

/* Shared memory of the library that local peers may map. */
struct mci_region {
    uint64_t id; /* unique in this process, never used again */
    void *base;
    size_t nbytes;
    int fd;
};
mcomm_err_t mci_region_create(size_t nbytes, size_t alignment, struct mci_region **region_p);
void mci_region_free(struct mci_region *region); /* peers' mappings live on */
/*
 * Map region id of a local peer; asks the peer's monitor thread for it, so the peer need not be in
 * a call. Releases the lock while it waits. UNSUPPORTED: not a shm peer. Unmap with munmap.
 */
mcomm_err_t mci_region_map(struct mci_peer *peer, uint64_t id, int timeout_ms, void **base_p,
                           size_t *nbytes_p);
/* The same in two steps, without waiting, for a peer that is connected. */
struct mci_region_ask {
    void (*done)(struct mci_region_ask *ask); /* once; the answer is there, or the peer failed */
    void *arg;
    /* the rail's own */
    struct mci_list link;
    uint64_t cookie;
    uint64_t nbytes;
    int fd;
    mcomm_err_t err;
};
mcomm_err_t mci_region_ask(struct mci_peer *peer, uint64_t id, struct mci_region_ask *ask);
mcomm_err_t mci_region_answer(struct mci_region_ask *ask, void **base_p, size_t *nbytes_p);
void mci_region_ask_cancel(struct mci_region_ask *ask); /* done is not called; safe once done */
void mci_region_unmap(void *base, size_t nbytes);

/* ---- for mcomm_rail_get() ------------------------------------------------------------------- */
size_t mci_rail_count(void);
mcomm_err_t mci_rail_describe(size_t index, mcomm_rail_desc_t *desc_p);

#endif
