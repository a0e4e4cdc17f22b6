/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Between the rails and their common part. A rail is a folder that fills one struct mci_rail_ops:
 * self.c, shm/, tcp/. The common part is rail.c (start and stop), card.c (who this process is),
 * peer.c (peers and their states) and op.c (the table of inbound operations).
 */
#ifndef MCI_RAIL_RAIL_PRIV_H
#define MCI_RAIL_RAIL_PRIV_H

#include "base/err.h"
#include "rail/rail.h"

#define MCI_CARD_MAGIC 0x6d634361u
#define MCI_WIRE_VERSION 1u
#define MCI_CARD_ADDR_MAX 8
#define MCI_CARD_CPU_BYTES 128
#define MCI_CARD_MAX 2048

/* What a process publishes about itself; travels as these bytes. */
struct mci_card_addr {
    uint8_t family; /* 4 or 6 */
    uint8_t pad;
    uint16_t port; /* host order */
    uint32_t scope;
    uint32_t mbits;
    uint8_t bytes[16];
};
struct mci_card {
    uint32_t magic, version;
    uint64_t proc_id;
    uint8_t key[32]; /* whoever connects to this process proves that it knows it */
    uint64_t node_key;
    int64_t pid;
    uint64_t start_time; /* of the process, clock ticks since boot: pid reuse is noticed */
    uint32_t world_rank;
    uint32_t addr_count;
    struct mci_card_addr addr[MCI_CARD_ADDR_MAX];
    char host[64];         /* text only, never resolved */
    uint8_t unix_name[16]; /* abstract socket of the shm rail: "mcomm." + hex of these */
    uint8_t has_shm;
    uint8_t pad[7];
    uint8_t cpus[MCI_CARD_CPU_BYTES]; /* bit set of the CPUs it may run on; none: unknown */
};

struct mci_rail_ops {
    size_t size; /* of this struct, as the rail knows it */
    const char *name;
    /* Fill this process's part of the card; listeners up. */
    mcomm_err_t (*start)(struct mci_card *card);
    void (*stop)(void);
    /*
     * Begin to connect; ends in mci_peer_ready(), mci_peer_unreachable() or mci_peer_starved(),
     * perhaps from within.
     * Must not block, has no deadline of its own. After the setting connect_timeout peer.c asks
     * is_reached; if not, it calls close.
     */
    void (*connect)(struct mci_peer *peer);
    /* Connecting: the process is there, a connection of ours is with its system. */
    bool (*is_reached)(struct mci_peer *peer);
    /* As mci_peer_sendv(), peer READY, tx and iov valid; keeps the order of earlier pending ones.
     */
    mcomm_err_t (*send)(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                        size_t iov_count, size_t nbytes, struct mci_tx *tx);
    /* As mci_peer_sendv_soon(), peer READY. NULL: as send. */
    mcomm_err_t (*send_soon)(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                             size_t iov_count, size_t nbytes, struct mci_tx *tx);
    /* As mci_peer_send_now(), peer READY. NULL: never. */
    bool (*send_now)(struct mci_peer *peer, const struct mci_frame *frame, const void *payload);
    bool (*unsend)(struct mci_peer *peer, struct mci_tx *tx);
    mcomm_err_t (*outop_start)(struct mci_outop *op);
    void (*outop_close)(struct mci_outop *op);
    /* An inop is being closed: redirect a half-read slice of it to scratch. */
    void (*inop_closing)(struct mci_peer *peer, struct mci_inop *op);
    /* Peer failed or library stops: drop the connection, complete tx and outops with err. */
    void (*close)(struct mci_peer *peer, mcomm_err_t err);
    bool (*is_idle)(const struct mci_peer *peer); /* nothing queued outbound */
    void (*describe)(mcomm_rail_desc_t *desc);
};
extern const struct mci_rail_ops mci_rail_self_ops, mci_rail_shm_ops, mci_rail_tcp_ops;

/* ---- called by rails (peer.c) -------------------------------------------------------------- */
/* Connected in either direction: sends what waited. conn becomes peer->conn. */
void mci_peer_ready(struct mci_peer *peer, const struct mci_rail_ops *ops, void *conn,
                    size_t eager_max);
/* This rail cannot reach the peer: the next one is tried (shm -> tcp), else the peer failed. */
void mci_peer_unreachable(struct mci_peer *peer, const struct mci_rail_ops *ops,
                          const char *reason);
/*
 * This process lacks what a connection takes (sys_errno: descriptors, memory), which says nothing
 * about the peer: it stays CONNECTING, and is tried again after a while. The rail keeps nothing.
 */
void mci_peer_starved(struct mci_peer *peer, const struct mci_rail_ops *ops, int sys_errno);
/*
 * An authenticated connection of a process came in. Both sides may connect at the same moment:
 * true = take it (an own attempt is abandoned by the caller), false = refuse, ours will win. The
 * connection made by the lower proc_id wins. The refusing side answers that it is busy; the refused
 * connector then waits for the other's connection and reports nothing (peer.c has a deadline).
 */
bool mci_peer_accepts(struct mci_peer *peer, const struct mci_rail_ops *ops);
/* A frame has come (header and, if it is all there, the payload). */
void mci_rail_deliver(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink);

/* ---- card.c ---------------------------------------------------------------------------------- */
/* The card of this process, new, for the rails to fill in their parts. */
mcomm_err_t mci_card_make(struct mci_card **card_p);
/* The handshake's payload carries the connector's card, so a process never seen before may connect.
 */
const struct mci_card *mci_rail_own_card(void);

/* ---- all peers, at start and stop (peer.c) -------------------------------------------------- */
void mci_peers_init(void);
mcomm_err_t mci_peers_add_self(void); /* the rail to oneself is up, the card made */
bool mci_peers_are_idle(void);        /* nothing is queued for anybody */
void mci_peers_close(void);           /* what is queued or under way ends with NOT_INIT */
void mci_peers_fini(void);

/* An op's peer failed, or everything stops: complete all its inbound operations with err. */
void mci_inop_fail_all(struct mci_peer *peer, mcomm_err_t err);
mcomm_err_t mci_op_start(void);
void mci_op_stop(void);

void mci_tell_start(void); /* tell.c */
void mci_tell_stop(void);

/* ---- inbound operations (op.c) --------------------------------------------------------------- */
/*
 * A slice of operation id is about to arrive: NULL if it is unknown, from another peer, out of
 * bounds or has been received before (then it goes to scratch). busy is raised until
 * arrived/dropped.
 */
struct mci_inop *mci_inop_slice_begin(struct mci_peer *peer, uint64_t id, uint64_t offset,
                                      uint32_t nbytes);
/* Slices start at multiples of MCI_SLICE_UNIT and are multiples of it long, but for the last one.
 */
/* Up to max pieces of the place at [offset, offset + nbytes); returns the bytes covered (rest:
 * scratch). */
size_t mci_inop_pieces(const struct mci_inop *op, uint64_t offset, size_t nbytes, mcomm_iov_t *out,
                       size_t max, size_t *count_p);
/* Do the open operations bring more than the caches hold? Then their bytes are best put past them.
 */
bool mci_inop_is_sweep(void);
/* The slice is in place: marks it; the last one completes the operation (done is called). true:
 * complete. */
bool mci_inop_slice_end(struct mci_inop *op, uint64_t offset, uint32_t nbytes);
void mci_inop_slice_drop(
    struct mci_inop *op); /* it will not be completed; op may be closed already */

/* The sender gives operation id up, or its place is not writable: done is called with err. */
void mci_inop_abort(struct mci_peer *peer, uint64_t id, mcomm_err_t err);

/* ---- small things for all rails ----------------------------------------------------------------
 */
struct mci_iov_cursor { /* walks a list */
    const mcomm_iov_t *iov;
    size_t count, index, offset;
};
void mci_iov_seek(struct mci_iov_cursor *cur, const mcomm_iov_t *iov, size_t count, size_t offset);
/* Next contiguous piece of at most max bytes: *ptr_p; returns its length, 0 at the end. Advances.
 */
size_t mci_iov_next(struct mci_iov_cursor *cur, size_t max, void **ptr_p);
void mci_iov_skip(struct mci_iov_cursor *cur, size_t nbytes);
size_t mci_iov_nbytes(const mcomm_iov_t *iov, size_t count);
size_t mci_iov_scatter(const mcomm_iov_t *iov, size_t count, size_t offset, const void *src,
                       size_t nbytes); /* returns bytes stored */

/* A tx of the rail's own with a copy of the payload, for tx == NULL. */
struct mci_tx *mci_tx_copy(const struct mci_frame *frame, const mcomm_iov_t *iov, size_t iov_count,
                           size_t nbytes);
void mci_tx_fill(struct mci_tx *tx, const struct mci_frame *frame, const mcomm_iov_t *iov,
                 size_t iov_count, size_t nbytes);
void mci_tx_finish(struct mci_tx *tx, mcomm_err_t err); /* unlink, call done, free if owned */

#endif
