/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The shared-memory rail inside. Two processes of a node share one sealed memfd (the pair
 * segment). Per direction it has 64 slots of one cache line (a frame header and up to 36 bytes),
 * and a byte ring for longer payloads. A slot's or flag's value is stored last, with release: what
 * is half written is never seen. The control socket stays open to notice the peer's end and to
 * pass descriptors of regions. The ring's sizes, pieces and kinds of stores are measured choices.
 */
#ifndef MCI_RAIL_SHM_SHM_PRIV_H
#define MCI_RAIL_SHM_SHM_PRIV_H

#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/loop.h"
#include "base/near.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#define MCI_SHM_SLOTS 64u
#define MCI_SHM_SLOT_ACK 16u   /* the receiver acknowledges every so many slots */
#define MCI_SHM_SLOT_TIMED 32u /* the slot of which the arrival is timed */
#define MCI_SHM_LOOKS_MAX 256u /* but not for ever: an idle connection costs one load a poll */
#define MCI_SHM_ALIGN 64u      /* payloads begin at such positions of the ring */
#define MCI_SHM_UNIT 4096u     /* one flag per so many bytes of ring */
#define MCI_SHM_FLAG_STRIDE                                                                        \
    128u                    /* bytes from flag to flag: adjacent lines are fetched in pairs        \
                             */
#define MCI_SHM_SMALL 4096u /* payloads up to this are in the ring before their slot is seen */
#define MCI_SHM_PIECE_MAX 32768u
#define MCI_SHM_WRAP 65536u /* the ring's start is mapped again behind its end */
#define MCI_SHM_RING_MIN 131072u
#define MCI_SHM_RING_MAX (64u << 20)
#define MCI_SHM_SLICE 262144u /* of bulk operations */
#define MCI_SHM_CHUNK 56u     /* payload bytes in a slot when there is no ring */
#define MCI_SHM_GROW 131072u  /* ring memory is taken in such steps: one page of flags */
#define MCI_SHM_PAGE 4096u
#define MCI_SHM_MAGIC 0x314d4853u /* "SHM1" */

#define mci_likely(x) __builtin_expect(!!(x), 1)
#define mci_unlikely(x) __builtin_expect(!!(x), 0)

/* One line. Longer payloads: rest holds a struct mci_shm_long. */
struct mci_shm_slot {
    struct mci_frame frame;
    uint8_t rest[MCI_INLINE_MAX];
    _Atomic uint32_t seq; /* number of the slot since the start, from 1; stored last */
};
_Static_assert(sizeof(struct mci_shm_slot) == 64, "one cache line");

enum mci_shm_how {
    MCI_SHM_WHOLE = 1, /* the payload is in the ring already */
    MCI_SHM_STREAM,    /* it comes through the ring in pieces */
    MCI_SHM_CHUNKS     /* it comes in the slots that follow */
};
struct mci_shm_long {
    uint64_t pos;    /* where in the ring it starts */
    uint64_t offset; /* slices: within the operation */
    uint32_t how;
};

/* Written by the receiver of a direction. The mode has a line of its own: it hardly changes. */
struct mci_shm_back {
    _Atomic uint64_t ring_done;  /* bytes of the ring that may be overwritten */
    _Atomic uint32_t slots_done; /* slots that may be overwritten */
    char pad1[128 - 12];
    _Atomic uint32_t is_near;
    char pad2[128 - 4];
};

/* First page of the segment, written by the connector before it is passed. */
struct mci_shm_head {
    uint32_t magic, version;
    uint64_t ring_nbytes; /* per direction, power of two, or 0 */
    uint64_t file_nbytes;
};

/* One process's view of the segment. */
struct mci_shm_dir {
    struct mci_shm_back *back;
    struct mci_shm_slot *slots;
    char *flags;
    char *ring; /* ring_nbytes, then the first MCI_SHM_WRAP bytes again; NULL: none */
};
struct mci_shm_seg {
    int fd;
    uint64_t ring_nbytes;
    void *base;
    size_t base_nbytes;
    struct mci_shm_dir dir[2]; /* 0: connector to acceptor */
};

/* ---- shm_seg.c --------------------------------------------------------------------------------
 */
mcomm_err_t mci_shm_seg_create(struct mci_shm_seg *seg, size_t ring_nbytes);
/* Map a segment that a peer sent; takes fd over, also on failure. Checks all it reads. */
mcomm_err_t mci_shm_seg_attach(struct mci_shm_seg *seg, int fd);
void mci_shm_seg_free(struct mci_shm_seg *seg);
/* Take memory for [pos, pos + MCI_SHM_GROW) of a ring and its flags: an error instead of SIGBUS. */
mcomm_err_t mci_shm_seg_grow(struct mci_shm_seg *seg, int dir, uint64_t pos);
/* A memfd of the given size that can neither shrink nor grow; -1 and errno. */
int mci_shm_memfd(const char *name, size_t nbytes);

/* ---- connections ------------------------------------------------------------------------------
 */
enum mci_shm_state {
    MCI_SHM_CONNECTING,  /* the listener's queue is full, try again */
    MCI_SHM_ADMISSION,   /* connector: proving the secret, both ways */
    MCI_SHM_WAIT_HELLO,  /* acceptor, admitted */
    MCI_SHM_WAIT_ACCEPT, /* connector */
    MCI_SHM_YIELDED,     /* connector: the other side's own connection will come instead */
    MCI_SHM_READY,
    MCI_SHM_CLOSED,
    MCI_SHM_STATE_NUM
};

enum mci_shm_ctl_type {
    MCI_SHM_CTL_HELLO = 1, /* + segment, doorbell; probe address and token */
    MCI_SHM_CTL_ACCEPT,    /* + doorbell; probe address and token */
    MCI_SHM_CTL_REFUSE,
    MCI_SHM_CTL_BYE,        /* it leaves in good order */
    MCI_SHM_CTL_REGION_ASK, /* id, cookie */
    MCI_SHM_CTL_REGION,     /* + region; id, cookie, nbytes (0: unknown) */
    MCI_SHM_CTL_KICK        /* the receiver's monitor thread polls */
};
#define MCI_SHM_CTL_FDS 2
struct mci_shm_ctl {
    uint32_t magic, type;
    uint64_t arg[4];
};

struct mci_shm_out { /* a control message that the socket had no room for */
    struct mci_list link;
    struct mci_shm_ctl msg;
    int fds[MCI_SHM_CTL_FDS];
    int fd_count;
    bool owns_fds;
};

struct mci_handshake;

/* About 700 bytes, plus the segment. The first two lines are what a poll touches. */
struct mci_shm_conn {
    /* receiving */
    struct mci_shm_slot *rx_slots;
    uint32_t rx_seq;    /* slots received so far */
    bool tx_is_busy;    /* a payload is half sent or frames are queued: new frames must queue */
    bool tx_is_waiting; /* frames, slices or completions are left: pump */
    bool is_broken;
    bool is_closed;
    bool is_peer_gone;
    struct mci_peer *peer;
    struct mci_doorbell *bell; /* the peer's, or one that nobody sleeps on */
    struct mci_shm_back *rx_back;
    uint64_t rx_pos;
    uint64_t rx_acked; /* ring_done as last told */
    char *rx_ring;
    char *rx_flags;
    /* sending */
    struct mci_shm_slot *tx_slots __attribute__((aligned(64)));
    uint32_t tx_seq;        /* slots sent so far */
    uint32_t tx_slots_done; /* as last seen */
    struct mci_shm_back *tx_back;
    uint64_t tx_pos;
    uint64_t tx_ring_done; /* as last seen */
    uint64_t tx_grown;     /* ring positions below this have memory */
    char *tx_ring;         /* NULL: no ring (any more) */
    char *tx_flags;
    uint64_t ring_mask;
    /* the payload that is being sent in pieces */
    struct mci_tx *tx_cur;
    struct mci_outop *op_cur;
    void *copy_cur; /* what was detached */
    mcomm_iov_t copy_iov;
    struct mci_iov_cursor tx_cursor;
    size_t tx_left;
    uint32_t tx_piece;
    uint32_t tx_how;
    struct mci_list tx_queue; /* struct mci_tx, in order */
    struct mci_list op_queue; /* struct mci_outop, in turn */
    struct mci_list op_done;  /* struct mci_outop, to be told */
    /* the payload that is being received in pieces */
    struct mci_sink rx_sink;
    struct mci_iov_cursor rx_cursor;
    struct mci_inop *rx_inop; /* NULL: to the sink, or nowhere */
    uint64_t rx_offset;       /* within the operation, of the next byte */
    uint64_t rx_slice_offset;
    uint32_t rx_slice_nbytes;
    uint32_t rx_how;
    size_t rx_left;
    bool rx_is_slice;
    bool rx_is_first;  /* piece of this payload */
    uint32_t rx_looks; /* timed ones at the slot that comes */
    struct mci_near rx_near;
    /* the connection */
    enum mci_shm_state state;
    bool is_connector;
    int tries;             /* connector: this attempt's number */
    struct mci_card *card; /* acceptor, until the peer is known */
    int dir_tx;
    struct mci_shm_seg seg;
    struct mci_list link; /* all, or the dead ones */
    struct mci_loop_fd sock;
    struct mci_loop_fd pidfd;
    struct mci_loop_timer timer;
    struct mci_loop_timer out_timer; /* control messages whose descriptors are too many by now */
    struct mci_handshake *handshake;
    struct mci_list out; /* struct mci_shm_out */
    struct mci_shm_ctl in;
    size_t in_nbytes;
    int in_fds[MCI_SHM_CTL_FDS];
    int in_fd_count;
    pid_t pid; /* as seen from here; 0: unknown */
    int can_cma;
    int bell_fd;          /* of a page that is not mapped yet, for want of memory */
    struct mci_list asks; /* regions asked for */
};

struct mci_shm_rail {
    bool is_up;
    struct mci_loop_fd listener;
    uint8_t name[16];
    struct mci_shm_conn **conns;  /* ready ones; NULL: closed during a poll */
    size_t conn_count, conn_room; /* room for the pending ones, too */
    bool has_holes;
    int poll_depth;
    struct mci_list pending; /* not ready yet */
    struct mci_list dead;    /* closed, memory not yet free */
    size_t pending_count;
    size_t ring_nbytes;   /* of all connections, one direction */
    uint64_t probe_token; /* what peers read to find out whether CMA works */
};
extern struct mci_shm_rail mci_shm_rail;

/* ---- shm_ring.c: sending ------------------------------------------------------------------------
 */
mcomm_err_t mci_shm_send(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                         size_t iov_count, size_t nbytes, struct mci_tx *tx);
bool mci_shm_send_now(struct mci_peer *peer, const struct mci_frame *frame, const void *payload);
bool mci_shm_unsend(struct mci_peer *peer, struct mci_tx *tx);
/* Go on with what waits; events. */
int mci_shm_pump(struct mci_shm_conn *conn);
/*
 * Publish the header of a payload that follows in pieces, and make it the current one. The caller
 * has set tx_cursor. false: no slot.
 */
bool mci_shm_stream_begin(struct mci_shm_conn *conn, const struct mci_frame *frame, uint64_t offset,
                          bool is_first);
/* Send pieces of the current payload. true: all of it is out. */
bool mci_shm_stream_push(struct mci_shm_conn *conn);

/* ---- shm_bulk.c
 * ----------------------------------------------------------------------------------- */
mcomm_err_t mci_shm_outop_start(struct mci_outop *op);
void mci_shm_outop_close(struct mci_outop *op);
/* Start and push slices of waiting operations while there is room. No payload is half sent. */
int mci_shm_outop_pump(struct mci_shm_conn *conn, int max_slices);
/* The receiver waits for the rest of what is half sent: keep a copy of it, let the source go. */
void mci_shm_detach(struct mci_shm_conn *conn);
/* The current slice, or what was detached, is all in the ring. */
void mci_shm_outop_slice_sent(struct mci_shm_conn *conn);
/* Tell the finished ones. */
int mci_shm_outop_finish(struct mci_shm_conn *conn);
/* Complete all with err; forget the half-sent copy of a closed one. */
void mci_shm_outop_abort(struct mci_shm_conn *conn, mcomm_err_t err);

/* Is the slot that comes next one whose arrival is timed? */
static inline bool mci_shm_slot_is_timed(const struct mci_shm_conn *conn)
{
    return conn->rx_seq % MCI_SHM_SLOTS == MCI_SHM_SLOT_TIMED && conn->rx_looks < MCI_SHM_LOOKS_MAX;
}

/* ---- shm_recv.c
 * ----------------------------------------------------------------------------------- */
int mci_shm_recv(struct mci_shm_conn *conn);
void mci_shm_inop_closing(struct mci_peer *peer, struct mci_inop *op);
/* Everything the dead peer had published is delivered. */
void mci_shm_drain(struct mci_shm_conn *conn);
/* The half-received payload will not be completed. */
void mci_shm_recv_abort(struct mci_shm_conn *conn, mcomm_err_t err);

/* ---- shm_conn.c ---------------------------------------------------------------------------------
 */
struct mci_shm_conn *mci_shm_conn_new(void);
void mci_shm_conn_move(struct mci_shm_conn *conn, enum mci_shm_state state);
/* seg is mapped: set up both directions. */
void mci_shm_conn_wire(struct mci_shm_conn *conn);
/*
 * The peer's doorbell page; takes fd over. On an error the connection works, but wakes nobody who
 * sleeps there: the peer then looks by itself, at the latest when its sleep's bound is over. Once
 * ready, the page is tried again.
 */
mcomm_err_t mci_shm_conn_bell(struct mci_shm_conn *conn, int fd);
/* Wired: polled from now on, and the peer is ready. Cannot fail: the other end is ready, too. */
void mci_shm_conn_start(struct mci_shm_conn *conn);
/* Out of everything, whatever is under way ends with err; memory goes when nobody uses it. */
void mci_shm_conn_close(struct mci_shm_conn *conn, mcomm_err_t err);
void mci_shm_conn_reap(void);
/* An attempt that never got ready goes without a sound. */
void mci_shm_conn_drop(struct mci_shm_conn *conn);
/* The same for one of ours, to be followed by the next rail or the peer's failure. */
void mci_shm_conn_unreachable(struct mci_shm_conn *conn, const char *reason);
size_t mci_shm_ring_choose(void); /* ring bytes for one more connection */
int mci_shm_poll(void *arg);
void mci_shm_kicked(void); /* in the monitor thread: poll for a while */
void mci_shm_kick_stop(void);
/* Two connected ends in this process, for tests and measurements. */
mcomm_err_t mci_shm_conn_pair(struct mci_peer *a, struct mci_peer *b, size_t ring_nbytes);

/* ---- shm_ctl.c ----------------------------------------------------------------------------------
 */
/* fds are borrowed; duplicated if the message must wait. */
mcomm_err_t mci_shm_ctl_send(struct mci_shm_conn *conn, enum mci_shm_ctl_type type,
                             const uint64_t arg[4], const int *fds, int fd_count);
mcomm_err_t mci_shm_ctl_flush(struct mci_shm_conn *conn);
void mci_shm_ctl_out_again(struct mci_loop_timer *timer);
/* Read one message into conn->in. TRY_AGAIN: not all there yet; PROC_FAILED: it has closed. */
mcomm_err_t mci_shm_ctl_recv(struct mci_shm_conn *conn);
/* The index-th descriptor of the last message, the caller's from now on; -1: there was none. */
int mci_shm_ctl_take_fd(struct mci_shm_conn *conn, int index);
void mci_shm_ctl_next(struct mci_shm_conn *conn); /* done with the last message */
void mci_shm_ctl_fini(struct mci_shm_conn *conn);

/* ---- shm_listen.c ------------------------------------------------------------------------------
 */
mcomm_err_t mci_shm_listen(struct mci_card *card);
void mci_shm_unlisten(void);
/* The address of a listener, by its card's unix_name; returns its length. */
socklen_t mci_shm_socket_name(const uint8_t name[16], struct sockaddr_un *addr);

/* ---- shm_connect.c -----------------------------------------------------------------------------
 */
void mci_shm_connect(struct mci_peer *peer);
bool mci_shm_is_reached(struct mci_peer *peer);
void mci_shm_close(struct mci_peer *peer, mcomm_err_t err);
/* This process's own attempt to reach peer, if there is one. */
struct mci_shm_conn *mci_shm_attempt_find(const struct mci_peer *peer);
/* It closed before it answered: its time for us was over, or too many came at once. */
void mci_shm_attempt_again(struct mci_shm_conn *conn, const char *reason);
/* The peer's own connection is to come instead. */
void mci_shm_attempt_yield(struct mci_shm_conn *conn);

/* ---- shm_peer.c ---------------------------------------------------------------------------------
 */
/* fd is its control socket from now on, also on failure. */
mcomm_err_t mci_shm_conn_take(struct mci_shm_conn *conn, int fd);
/* Makes the segment and sends it. */
mcomm_err_t mci_shm_hello_send(struct mci_shm_conn *conn);
void mci_shm_watch_process(struct mci_shm_conn *conn);

/* ---- shm_cma.c
 * -------------------------------------------------------------------------------------- */
void mci_shm_cma_init(void);
/* A real read of the peer's probe token. */
void mci_shm_cma_probe(struct mci_shm_conn *conn, uint64_t addr, uint64_t token);

/* ---- shm_region.c
 * ----------------------------------------------------------------------------------- */
void mci_shm_region_asked(struct mci_shm_conn *conn, uint64_t id, uint64_t cookie);
void mci_shm_region_answered(struct mci_shm_conn *conn, const struct mci_shm_ctl *msg, int fd);
void mci_shm_region_abort(struct mci_shm_conn *conn, mcomm_err_t err);

#endif
