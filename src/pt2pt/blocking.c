/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Blocking messages: the operation lives on the caller's stack, so nothing is allocated and a
 * message that is small or already there costs no wait. Also the exchange that core uses.
 */
#include "config.h"

#include "base/clock.h"
#include "pt2pt/pt2pt_priv.h"

mcomm_err_t mci_pt2pt_send(struct mci_comm *comm, enum mci_ctx_space space, const void *buf,
                           size_t nbytes, int dest, int tag, int timeout_ms)
{
    struct mci_send op;

    if (mci_send_now(comm, space, buf, nbytes, dest, tag))
        return MCOMM_SUCCESS;
    op.done = NULL;
    mci_send_start(&op, comm, space, buf, nbytes, dest, tag, timeout_ms < 0 ? MCI_SEND_BORROW : 0);
    return mci_send_wait(&op, timeout_ms);
}

mcomm_err_t mci_pt2pt_recv(struct mci_comm *comm, enum mci_ctx_space space, void *buf,
                           size_t nbytes, int source, int tag, int timeout_ms,
                           mcomm_status_t *status_p)
{
    struct mci_recv op;
    mcomm_err_t err;

    op.done = NULL;
    op.stalled = NULL;
    mci_recv_start(&op, comm, space, buf, nbytes, source, tag);
    err = mci_recv_wait(&op, comm, timeout_ms);
    if (status_p != NULL && err != MCOMM_ERR_TIMEOUT)
        *status_p = op.status;
    return err;
}

mcomm_err_t mci_pt2pt_sendrecv(struct mci_comm *comm, enum mci_ctx_space space, const void *sendbuf,
                               size_t send_nbytes, int dest, int sendtag, void *recvbuf,
                               size_t recv_nbytes, int source, int recvtag, int timeout_ms,
                               mcomm_status_t *status_p)
{
    int64_t deadline_ns = mci_deadline_ns(timeout_ms);
    uint64_t ctx = comm->ctx;
    struct mci_send send;
    struct mci_recv recv;
    mcomm_err_t err;

    recv.done = NULL;
    recv.stalled = NULL;
    send.done = NULL;
    mci_recv_start(&recv, comm, space, recvbuf, recv_nbytes, source, recvtag);
    mci_send_start(&send, comm, space, sendbuf, send_nbytes, dest, sendtag,
                   timeout_ms < 0 ? MCI_SEND_BORROW : 0);
    err = mci_recv_wait(&recv, comm, timeout_ms);
    if (err == MCOMM_ERR_TIMEOUT) {
        mci_send_withdraw(&send);
        return err;
    }
    if (status_p != NULL)
        *status_p = recv.status;
    if (err == MCOMM_SUCCESS) {
        err = mci_send_wait(&send, mci_deadline_left_ms(deadline_ns));
        if (err == MCOMM_ERR_TIMEOUT)
            mci_err_set(err,
                        "send of %zu bytes to rank %d of %s, tag %d: not received within %d ms",
                        send_nbytes, dest, mci_comm_text(mci_comm_find(ctx)), sendtag, timeout_ms);
        return err;
    }
    if (mci_wait_flag(&send.is_done, mci_deadline_left_ms(deadline_ns)) != MCOMM_SUCCESS)
        mci_send_withdraw(&send);
    return mci_recv_explain(&recv, mci_comm_find(ctx)); /* it may have been freed meanwhile */
}
