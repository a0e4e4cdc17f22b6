/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Messages between members of a communicator, for the layers above. Operations are structs that the
 * caller embeds: no handle, no memory, no reference. A struct belongs to pt2pt from start until it
 * is done, a wait returned, or it was withdrawn.
 *
 * Messages of one sender match in the order sent, large and small mixed. Small ones travel at once
 * within a credit per sender, the others wait at the sender until they are matched. lock: engine
 * for all of this file; waits release it.
 */
#ifndef MCI_PT2PT_PT2PT_H
#define MCI_PT2PT_PT2PT_H

#include "core/core.h"

struct mci_match;
struct mci_msg;

#define MCI_SEND_SYNC 1u /* done only when the receiver has matched it */
#define MCI_SEND_BORROW                                                                            \
    2u                   /* a small message that cannot leave at once borrows the buffer; without  \
                          * this flag it is copied then, so that it can be withdrawn at any time */
#define MCI_SEND_FREE 4u /* not bound by credits, up to MCI_FRAME_MAX bytes (start-up traffic) */
#define MCI_SEND_SOON 8u /* may leave a little later, with others: mci_peer_sendv_soon() */

struct mci_send {
    bool is_done;
    mcomm_err_t err;                   /* valid once done */
    void (*done)(struct mci_send *op); /* set before start; NULL: somebody waits on is_done */
    void *arg;                         /* the caller's */
    /* pt2pt's own */
    uint8_t state, flags;
    int dest, tag;
    size_t nbytes;
    struct mci_peer *peer;
    struct mci_list link; /* of its peer: held, queued, or awaiting an answer */
    uint64_t ctx, id;
    uint32_t rank; /* of this process */
    const mcomm_iov_t *iov;
    size_t iov_count;
    mcomm_iov_t one;
    union {
        struct mci_tx tx;
        struct mci_outop outop;
    };
};

struct mci_recv {
    bool is_done;
    mcomm_status_t status;             /* valid once done; status.error tells how it ended */
    void (*done)(struct mci_recv *op); /* set before start; NULL: somebody waits on is_done */
    /*
     * NULL: an any-source receive ends with PROC_FAILED_PENDING when a member has failed. Else it
     * stays posted, and this is called.
     */
    void (*stalled)(struct mci_recv *op);
    void *arg; /* the caller's */
    /* pt2pt's own */
    uint8_t state, space;
    uint32_t born;        /* tick of the watch timer */
    int source, tag;      /* as asked for */
    size_t nbytes;        /* room */
    uint64_t seq;         /* order of posting */
    struct mci_list link; /* posted, failing, or bulk */
    struct mci_match *match;
    struct mci_msg *msg;     /* still arriving */
    struct sink_place *sink; /* a frame that is arriving straight into the buffer */
    uint64_t send_id;
    size_t sent_nbytes;
    const mcomm_iov_t *iov;
    size_t iov_count;
    mcomm_iov_t one;
    struct mci_inop inop;
};

/* dest and source: members or (receive) MCOMM_ANY_SOURCE; no MCOMM_RANK_NULL. done may be called
 * from within. */
void mci_send_start(struct mci_send *op, struct mci_comm *comm, enum mci_ctx_space space,
                    const void *buf, size_t nbytes, int dest, int tag, unsigned flags);
/* iov is borrowed until done; nbytes is its sum. */
void mci_send_startv(struct mci_send *op, struct mci_comm *comm, enum mci_ctx_space space,
                     const mcomm_iov_t *iov, size_t iov_count, size_t nbytes, int dest, int tag,
                     unsigned flags);
void mci_recv_start(struct mci_recv *op, struct mci_comm *comm, enum mci_ctx_space space, void *buf,
                    size_t nbytes, int source, int tag);
void mci_recv_startv(struct mci_recv *op, struct mci_comm *comm, enum mci_ctx_space space,
                     const mcomm_iov_t *iov, size_t iov_count, size_t nbytes, int source, int tag);

/* A short message to a member that nothing holds up: true, it is gone, and needs no operation. */
bool mci_send_now(struct mci_comm *comm, enum mci_ctx_space space, const void *buf, size_t nbytes,
                  int dest, int tag);

/* Own error, with mci_err_set(). On TIMEOUT the operation is withdrawn: op is the caller's again.
 */
mcomm_err_t mci_send_wait(struct mci_send *op, int timeout_ms);
mcomm_err_t mci_recv_wait(struct mci_recv *op, const struct mci_comm *comm, int timeout_ms);
/*
 * After these return nothing touches the buffers and done is not called. The other side of a
 * matched message gets MCOMM_ERR_CANCELLED. Legal if it is done.
 */
void mci_send_withdraw(struct mci_send *op);
void mci_recv_withdraw(struct mci_recv *op);
/* Text for mcomm_last_error() of an operation that ended with an error; returns the error. */
mcomm_err_t mci_send_explain(const struct mci_send *op, const struct mci_comm *comm);
mcomm_err_t mci_recv_explain(const struct mci_recv *op, const struct mci_comm *comm);

/* Blocking forms for the layers above; dest and source are members. status_p may be NULL. */
mcomm_err_t mci_pt2pt_send(struct mci_comm *comm, enum mci_ctx_space space, const void *buf,
                           size_t nbytes, int dest, int tag, int timeout_ms);
mcomm_err_t mci_pt2pt_recv(struct mci_comm *comm, enum mci_ctx_space space, void *buf,
                           size_t nbytes, int source, int tag, int timeout_ms,
                           mcomm_status_t *status_p);
/* Both at the same time; the error of the receive goes first. */
mcomm_err_t mci_pt2pt_sendrecv(struct mci_comm *comm, enum mci_ctx_space space, const void *sendbuf,
                               size_t send_nbytes, int dest, int sendtag, void *recvbuf,
                               size_t recv_nbytes, int source, int recvtag, int timeout_ms,
                               mcomm_status_t *status_p);

/*
 * End with err what waits for a member of comm: posted receives, those that others are filling by
 * an inbound operation, sends that await an answer or room. Unexpected messages are dropped. A
 * frame that is half here goes on. lock: engine
 */
void mci_pt2pt_interrupt(struct mci_comm *comm, mcomm_err_t err);

extern const struct mci_core_module mci_pt2pt_module;

#endif
