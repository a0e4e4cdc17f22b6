/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One collective call: its number, its messages, and its waiting. Every wait also looks at the
 * communicator: a member that failed or gave up ends it. Nothing touches a buffer after an error:
 * what is under way is withdrawn first.
 */
#include "coll/coll_priv.h"

mcomm_err_t mci_coll_begin(struct coll_call *call, struct mci_comm *comm, const char *name)
{
    call->comm = comm;
    call->name = name;
    call->seq = comm->coll_seq++;
    call->tag = (int)(call->seq & MCOMM_TAG_MAX);
    mci_wait_begin(&call->limit, comm->timeout_ms);
    mci_comm_ref(comm);
    return mci_coll_poisoned(call);
}

mcomm_err_t mci_coll_end(struct coll_call *call, mcomm_err_t err)
{
    if (err != MCOMM_SUCCESS)
        mci_coll_poison(call, err);
    mci_comm_unref(call->comm);
    return err;
}

void mci_coll_send_start(struct coll_call *call, struct mci_send *op, const void *buf,
                         size_t nbytes, int dest)
{
    op->done = NULL;
    mci_send_start(op, call->comm, MCI_CTX_COLL, buf, nbytes, dest, call->tag, 0);
}

void mci_coll_recv_start(struct coll_call *call, struct mci_recv *op, void *buf, size_t nbytes,
                         int source)
{
    op->done = NULL;
    op->stalled = NULL;
    mci_recv_start(op, call->comm, MCI_CTX_COLL, buf, nbytes, source, call->tag);
}

static mcomm_err_t call_step(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_poisoned(call);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_wait_step(&call->limit);
    if (err == MCOMM_ERR_TIMEOUT)
        err = mci_err_set(err, "%s number %u did not end within %d ms", call->name, call->seq,
                          call->comm->timeout_ms);
    return err;
}

/* The other side withdrew its half: it ends this call with an error and tells which. */
static mcomm_err_t given_up(struct coll_call *call)
{
    mcomm_err_t err;

    do {
        err = call_step(call);
    } while (err == MCOMM_SUCCESS);
    return err;
}

static mcomm_err_t send_result(struct coll_call *call, const struct mci_send *op)
{
    if (op->err == MCOMM_ERR_CANCELLED)
        return given_up(call);
    return op->err == MCOMM_SUCCESS ? MCOMM_SUCCESS : mci_send_explain(op, call->comm);
}

static mcomm_err_t recv_result(struct coll_call *call, const struct mci_recv *op, size_t nbytes)
{
    if (op->status.error == MCOMM_ERR_CANCELLED)
        return given_up(call);
    if (op->status.error != MCOMM_SUCCESS && op->status.error != MCOMM_ERR_TRUNCATE)
        return mci_recv_explain(op, call->comm);
    if (op->status.nbytes != nbytes)
        return mci_err_set(MCOMM_ERR_MISMATCH,
                           "%s: rank %d sends %zu bytes where rank %d expects %zu", call->name,
                           op->status.source, op->status.nbytes, call->comm->rank, nbytes);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_coll_send_wait(struct coll_call *call, struct mci_send *op)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    while (!op->is_done && err == MCOMM_SUCCESS)
        err = call_step(call);
    if (op->is_done)
        return send_result(call, op);
    mci_send_withdraw(op);
    return err;
}

mcomm_err_t mci_coll_recv_wait(struct coll_call *call, struct mci_recv *op)
{
    size_t nbytes = op->nbytes;
    mcomm_err_t err = MCOMM_SUCCESS;

    while (!op->is_done && err == MCOMM_SUCCESS)
        err = call_step(call);
    if (op->is_done)
        return recv_result(call, op, nbytes);
    mci_recv_withdraw(op);
    return err;
}

mcomm_err_t mci_coll_sendrecv(struct coll_call *call, const void *sendbuf, size_t send_nbytes,
                              int dest, void *recvbuf, size_t recv_nbytes, int source)
{
    struct mci_send send;
    struct mci_recv recv;
    mcomm_err_t err = MCOMM_SUCCESS, send_err = MCOMM_SUCCESS;

    if (source != COLL_NOBODY)
        mci_coll_recv_start(call, &recv, recvbuf, recv_nbytes, source);
    if (dest != COLL_NOBODY)
        mci_coll_send_start(call, &send, sendbuf, send_nbytes, dest);
    if (source != COLL_NOBODY)
        err = mci_coll_recv_wait(call, &recv);
    if (dest != COLL_NOBODY) {
        if (err == MCOMM_SUCCESS)
            send_err = mci_coll_send_wait(call, &send);
        else
            mci_send_withdraw(&send);
    }
    return err != MCOMM_SUCCESS ? err : send_err;
}
