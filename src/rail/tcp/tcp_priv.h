/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Inside the tcp rail. A *link* is what the rail keeps for a peer, a *lane* is one connection of
 * it (one for now; per pair of NICs later). tcp_peer.c makes and ends both, tcp_send.c and
 * tcp_recv.c move a lane's bytes, tcp_bulk.c cuts operations into slices, tcp_rail.c is the table.
 */
#ifndef MCI_RAIL_TCP_PRIV_H
#define MCI_RAIL_TCP_PRIV_H

#include "base/defer.h"
#include "base/hash.h"
#include "base/loop.h"
#include "base/mem.h"
#include "rail/handshake.h"
#include "rail/rail_priv.h"
#include "rail/tcp/tcp_wire.h"
#include "rt/addr.h"

#define MCI_TCP_WINDOW 4         /* slices a lane has in flight */
#define MCI_TCP_OBUF_BYTES 16384 /* small frames that are collected before they are sent */
#define MCI_TCP_RX_BYTES 65536   /* the one buffer that all lanes receive headers into */
#define MCI_TCP_RX_SMALL 512     /* read-ahead while large payloads come */

enum mci_tcp_lane_state {
    MCI_TCP_LANE_WAITING, /* admitted; the acceptor has not said that this is the connection */
    MCI_TCP_LANE_PARKED,  /* the peer's connection, kept in case that ours fails */
    MCI_TCP_LANE_READY,
    MCI_TCP_LANE_CLOSED,
    MCI_TCP_LANE_STATE_NUM
};

struct mci_tcp_link;

/* An outbound operation. */
struct mci_tcp_out {
    struct mci_outop *op;
    struct mci_tcp_link *link;
    struct mci_iov_cursor cur; /* at op->next_offset */
    uint32_t generation;
};

/* The item that has been sent in part: a frame, a slice, or the zeros that finish a void one. */
struct mci_tcp_part {
    bool is_active;
    bool is_void;
    struct mci_tx *tx;       /* or */
    struct mci_tcp_out *out; /* or both NULL: void */
    struct mci_tcp_header header;
    struct mci_iov_cursor cur; /* at the first payload byte that is not sent */
    size_t sent;               /* of header, payload, tail */
};

enum mci_tcp_rx_kind {
    MCI_TCP_RX_SCRATCH, /* thrown away */
    MCI_TCP_RX_SLICE,   /* into an operation's place */
    MCI_TCP_RX_SINK,    /* where the frame's module said */
    MCI_TCP_RX_STASH    /* a small frame, to be delivered whole */
};

struct mci_tcp_rx {
    struct mci_tcp_header header;
    size_t header_have; /* bytes of header; below 32 no payload is expected yet */
    size_t done;        /* payload bytes */
    size_t tail_have;
    enum mci_tcp_rx_kind kind;
    struct mci_inop *op;
    struct mci_sink sink;
    struct mci_iov_cursor cur; /* of the sink */
    uint8_t *stash;
    uint8_t tail[16];
    uint32_t window; /* bytes to read beyond the payload */
};

struct mci_tcp_ack { /* slices taken in but not yet acknowledged: adjacent ones are one ack */
    uint64_t offset;
    uint32_t nbytes;
    uint32_t generation;
    uint8_t flags;
};

/* About 450 bytes; the 16 KiB of obuf only while something is in it. */
struct mci_tcp_lane {
    struct mci_loop_fd io;
    struct mci_tcp_link *link; /* NULL: closed */
    struct mci_list node;      /* in the link, or among those that linger */
    enum mci_tcp_lane_state state;
    int depth;             /* calls into the lane on the stack: freed only at 0 */
    int cork;              /* > 0: small frames are collected */
    bool is_in_round;      /* of receiving, which has corked it */
    bool is_blocked;       /* EPOLLOUT is awaited */
    bool is_broken;        /* sending failed: only what has arrived is still read */
    bool is_bye;           /* the peer said that it leaves */
    int silent_looks;      /* of tcp_reap.c: an acknowledgement was owed all the time */
    struct mci_list queue; /* mci_tx in order; behind part and obuf */
    struct mci_tcp_part part;
    uint8_t *obuf;
    uint32_t obuf_begin, obuf_end;
    struct mci_deferred gathered; /* put off: sending what is in obuf, though it could leave */
    uint64_t soon_at;             /* ticks: when the last frame came that might be put off */
    uint64_t in_flight;           /* bytes of slices that are not acknowledged */
    struct mci_tcp_ack ack;
    struct mci_tcp_rx rx;
};

struct mci_tcp_connect; /* attempts to connect, tcp_connect.c */

struct mci_tcp_link {
    struct mci_peer *peer;
    struct mci_tcp_connect *connect; /* while connecting */
    struct mci_list lanes;
    struct mci_tcp_lane *lane; /* the one in use; NULL before ready */
    struct mci_list ready;     /* mci_outop with slices to send, in turn */
    struct mci_list unacked;   /* mci_outop, all sent */
};

struct mci_tcp_rail {
    struct mci_map links;      /* by proc_id */
    struct mci_list lingering; /* lanes closed in an orderly way, with bytes to deliver */
    struct mci_pool lanes, outs;
    uint8_t *spare_obuf; /* or NULL */
    struct mci_map outs_by_generation;
    uint32_t next_generation;
    size_t slice_nbytes;
};
extern struct mci_tcp_rail mci_tcp;

/* ---- tcp_peer.c ---- */
struct mci_tcp_link *mci_tcp_link_find(const struct mci_peer *peer);
struct mci_tcp_link *mci_tcp_link_get(struct mci_peer *peer); /* made if there is none; or NULL */
/* A lane over an admitted connection, fd taken over (closed on error). */
struct mci_tcp_lane *mci_tcp_lane_create(struct mci_tcp_link *link, int fd,
                                         enum mci_tcp_lane_state state);
void mci_tcp_lane_enter(struct mci_tcp_lane *lane);
void mci_tcp_lane_leave(struct mci_tcp_lane *lane); /* frees it if it was closed meanwhile */
/* Descriptor and all; with NOT_INIT it lingers. */
void mci_tcp_lane_close(struct mci_tcp_lane *lane, mcomm_err_t err);
void mci_tcp_lane_use(struct mci_tcp_lane *lane); /* it is the link's connection now: peer ready */
/* As the acceptor: take it and tell the connector. */
void mci_tcp_lane_accept(struct mci_tcp_lane *lane);
/* The connection ended: sys_errno, or 0 at the end of the stream. */
void mci_tcp_lane_lost(struct mci_tcp_lane *lane, int sys_errno);
void mci_tcp_lane_violation(struct mci_tcp_lane *lane, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void mci_tcp_link_close(struct mci_tcp_link *link, mcomm_err_t err);
/* An admission of another process ended. */
void mci_tcp_admitted(void *arg, const struct mci_handshake_end *end);
void mci_tcp_linger_stop(int timeout_ms); /* wait until the last bytes have arrived; then close */
bool mci_tcp_hello_check(const struct mci_handshake_end *end);
extern const struct mci_tcp_hello mci_tcp_hello;

/* ---- tcp_reap.c ---- */
void mci_tcp_reap_start(void);
void mci_tcp_reap_stop(void);

/* ---- tcp_connect.c ---- */
void mci_tcp_connect_start(struct mci_tcp_link *link);
void mci_tcp_connect_stop(struct mci_tcp_link *link);   /* give up all attempts */
void mci_tcp_connect_parked(struct mci_tcp_link *link); /* the peer's connection waits for use */
/* The process is there: its system holds a connection of ours. */
bool mci_tcp_connect_is_reached(struct mci_tcp_link *link);
/* A lane of ours was closed by the acceptor, or a parked one by its connector. */
void mci_tcp_connect_refused(struct mci_tcp_link *link, bool was_ours);

/* ---- tcp_listen.c ---- */
mcomm_err_t mci_tcp_listen_start(struct mci_card *card);
void mci_tcp_listen_stop(void);
/* The place in our list of the interface whose network holds addr, -1: none; its address. */
int mci_tcp_listen_near(const struct mci_addr *addr, struct mci_addr *own_p);
void mci_tcp_listen_describe(mcomm_rail_desc_t *desc);
void mci_tcp_socket_tune(int fd);

/* ---- tcp_send.c ---- */
mcomm_err_t mci_tcp_lane_send(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                              const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                              struct mci_tx *tx);
/* As mci_peer_sendv_soon(). */
mcomm_err_t mci_tcp_lane_send_soon(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                                   const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                                   struct mci_tx *tx);
void mci_tcp_lane_send_gathered(struct mci_deferred *work);
bool mci_tcp_lane_unsend(struct mci_tcp_lane *lane, struct mci_tx *tx);
void mci_tcp_lane_flush(struct mci_tcp_lane *lane); /* send what can be sent */
void mci_tcp_lane_uncork(struct mci_tcp_lane *lane);
mcomm_err_t mci_tcp_ctl_send(struct mci_tcp_lane *lane, enum mci_tcp_ctl what, uint64_t w0,
                             uint32_t w1);
bool mci_tcp_lane_is_drained(const struct mci_tcp_lane *lane);
/* Complete all frames with err. */
void mci_tcp_lane_drop_queue(struct mci_tcp_lane *lane, mcomm_err_t err);
void mci_tcp_part_void(struct mci_tcp_part *part); /* its source is not read any more */

/* ---- tcp_recv.c ---- */
bool mci_tcp_lane_receive(struct mci_tcp_lane *lane); /* false: nothing has come */
/* Parse bytes that were received. False: the lane is closed. */
bool mci_tcp_rx_feed(struct mci_tcp_lane *lane, const uint8_t *buf, size_t nbytes);
void mci_tcp_rx_drop(struct mci_tcp_lane *lane, mcomm_err_t err); /* the lane ends amid a frame */
void mci_tcp_rx_forget(struct mci_tcp_lane *lane, struct mci_inop *op);

/* ---- tcp_bulk.c ---- */
mcomm_err_t mci_tcp_outop_start(struct mci_outop *op);
void mci_tcp_outop_close(struct mci_outop *op);
void mci_tcp_outop_fail_all(struct mci_tcp_link *link, mcomm_err_t err);
void mci_tcp_out_failed(struct mci_tcp_out *out, mcomm_err_t err); /* source vanished */
/* The next slice to send becomes lane's part. False: none, or the window is full. */
bool mci_tcp_slice_next(struct mci_tcp_lane *lane);
/* A slice has been received: acknowledge it, soon. */
void mci_tcp_ack_slice(struct mci_tcp_lane *lane, const struct mci_tcp_header *header,
                       uint8_t flags);
void mci_tcp_ack_emit(struct mci_tcp_lane *lane);
/* An ack has come; returns what is wrong with it, or NULL. */
const char *mci_tcp_ack_handle(struct mci_tcp_lane *lane, const struct mci_frame *frame);

#endif
