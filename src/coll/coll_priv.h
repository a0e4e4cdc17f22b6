/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the files of this folder share. A *call* is one collective under way, on the stack of its
 * thread. Whoever ends a call with an error tells all members (poison.c), so that nobody waits for
 * a message that will not come.
 */
#ifndef MCI_COLL_COLL_PRIV_H
#define MCI_COLL_COLL_PRIV_H

#include "config.h"

#include "base/mem.h"
#include "coll/coll.h"
#include "pt2pt/pt2pt.h"
#include "rma/rma.h"

struct coll_call {
    struct mci_comm *comm;
    const char *name;
    uint32_t seq; /* number of the call in its communicator */
    int tag;
    struct mci_waiter limit; /* of the whole call */
};

#define COLL_NOBODY (-1)

/* ---- call.c. lock: engine ---- */
mcomm_err_t mci_coll_begin(struct coll_call *call, struct mci_comm *comm, const char *name);
/* Tells the members if err is one; returns it. */
mcomm_err_t mci_coll_end(struct coll_call *call, mcomm_err_t err);
/* Both at once; COLL_NOBODY leaves one side out. A message of another size is MCOMM_ERR_MISMATCH.
 */
mcomm_err_t mci_coll_sendrecv(struct coll_call *call, const void *sendbuf, size_t send_nbytes,
                              int dest, void *recvbuf, size_t recv_nbytes, int source);
/* Wait until op is done; on an error it is withdrawn. */
mcomm_err_t mci_coll_send_wait(struct coll_call *call, struct mci_send *op);
mcomm_err_t mci_coll_recv_wait(struct coll_call *call, struct mci_recv *op);
void mci_coll_send_start(struct coll_call *call, struct mci_send *op, const void *buf,
                         size_t nbytes, int dest);
void mci_coll_recv_start(struct coll_call *call, struct mci_recv *op, void *buf, size_t nbytes,
                         int source);

/* ---- poison.c. lock: engine ---- */
mcomm_err_t mci_coll_poison_start(void);
void mci_coll_poison_stop(void);
/* Has a member given up this call, or an earlier one? Error with text. */
mcomm_err_t mci_coll_poisoned(const struct coll_call *call);
void mci_coll_poison(struct coll_call *call, mcomm_err_t err);

/* ---- check.c ---- */
struct coll_signature { /* on the wire */
    uint64_t count;
    int32_t what, dtype, op, root;
};
enum coll_what {
    COLL_BARRIER = 1,
    COLL_BCAST,
    COLL_ALLGATHER,
    COLL_ALLREDUCE
};
/* err: of this member's own arguments. lock: engine */
mcomm_err_t mci_coll_check(struct mci_comm *comm, mcomm_err_t err,
                           const struct coll_signature *mine);

/* ---- op.c ---- */
/* dst[i] = left[i] op right[i]; dst may be left or right. Any alignment. */
void mci_coll_reduce(void *dst, const void *left, const void *right, size_t count,
                     mcomm_datatype_t dtype, mcomm_op_t op);
bool mci_coll_op_is_legal(mcomm_op_t op, mcomm_datatype_t dtype);

/* ---- algorithms: one file each ---- */
mcomm_err_t mci_coll_barrier_dissemination(struct coll_call *call);
mcomm_err_t mci_coll_bcast_binomial(struct coll_call *call, void *buf, size_t nbytes, int root);
mcomm_err_t mci_coll_bcast_chain(struct coll_call *call, void *buf, size_t nbytes, int root);
mcomm_err_t mci_coll_allgather_bruck(struct coll_call *call, void *recvbuf, size_t nbytes);
mcomm_err_t mci_coll_allgather_ring(struct coll_call *call, void *recvbuf, size_t nbytes);
mcomm_err_t mci_coll_allreduce_doubling(struct coll_call *call, void *buf, size_t count,
                                        mcomm_datatype_t dtype, mcomm_op_t op);
mcomm_err_t mci_coll_allreduce_ring(struct coll_call *call, void *buf, size_t count,
                                    mcomm_datatype_t dtype, mcomm_op_t op);

#endif
