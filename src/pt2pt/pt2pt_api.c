/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The exported functions of chapter 7, sends and receives: check the arguments, take the lock, call
 * the work. Blocking ones on the caller's stack, the others with a request. Probes: probe_api.c.
 */
#include "config.h"

#include "pt2pt/api_check.h"

/* ---- blocking ---- */
static mcomm_err_t send_blocking(const void *buf, size_t nbytes, int dest, int tag,
                                 mcomm_comm_t handle, unsigned flags)
{
    struct mci_comm *comm;
    struct mci_send op;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    err = mci_api_check_send(comm, buf, nbytes, dest, tag, &mci_api_of_send);
    if (likely(err == MCOMM_SUCCESS && dest != MCOMM_RANK_NULL) &&
        (flags & MCI_SEND_SYNC || !mci_send_now(comm, MCI_CTX_USER, buf, nbytes, dest, tag))) {
        op.done = NULL;
        mci_send_start(&op, comm, MCI_CTX_USER, buf, nbytes, dest, tag,
                       flags | (comm->timeout_ms < 0 ? MCI_SEND_BORROW : 0));
        err = mci_send_wait(&op, comm->timeout_ms);
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_send(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm)
{
    return send_blocking(buf, nbytes, dest, tag, comm, 0);
}

mcomm_err_t mcomm_ssend(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm)
{
    return send_blocking(buf, nbytes, dest, tag, comm, MCI_SEND_SYNC);
}

mcomm_err_t mcomm_recv(void *buf, size_t nbytes, int source, int tag, mcomm_comm_t handle,
                       mcomm_status_t *status_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    err = mci_api_check_recv(comm, buf, nbytes, source, tag, &mci_api_of_recv);
    if (unlikely(err != MCOMM_SUCCESS || source == MCOMM_RANK_NULL)) {
        if (err == MCOMM_SUCCESS)
            mci_probe_status(NULL, status_p);
    } else {
        err = mci_pt2pt_recv(comm, MCI_CTX_USER, buf, nbytes, source, tag, comm->timeout_ms,
                             status_p);
    }
    mci_engine_unlock();
    return err;
}

static mcomm_err_t check_overlap(const void *sendbuf, size_t send_nbytes, int dest,
                                 const void *recvbuf, size_t recv_nbytes, int source)
{
    uintptr_t s = (uintptr_t)sendbuf, r = (uintptr_t)recvbuf;

    if (send_nbytes == 0 || recv_nbytes == 0 || dest == MCOMM_RANK_NULL ||
        source == MCOMM_RANK_NULL || s >= r + recv_nbytes || r >= s + send_nbytes)
        return MCOMM_SUCCESS;
    return mci_err_set(MCOMM_ERR_BUFFER,
                       "sendbuf [%p, %zu bytes] and recvbuf [%p, %zu bytes] overlap", sendbuf,
                       send_nbytes, recvbuf, recv_nbytes);
}

mcomm_err_t mcomm_sendrecv(const void *sendbuf, size_t send_nbytes, int dest, int sendtag,
                           void *recvbuf, size_t recv_nbytes, int source, int recvtag,
                           mcomm_comm_t handle, mcomm_status_t *status_p)
{
    static const struct mci_api_names of_send = {"sendbuf", "dest", "sendtag"},
                                      of_recv = {"recvbuf", "source", "recvtag"};
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    err = mci_api_check_send(comm, sendbuf, send_nbytes, dest, sendtag, &of_send);
    if (err == MCOMM_SUCCESS)
        err = mci_api_check_recv(comm, recvbuf, recv_nbytes, source, recvtag, &of_recv);
    if (err == MCOMM_SUCCESS)
        err = check_overlap(sendbuf, send_nbytes, dest, recvbuf, recv_nbytes, source);
    if (err == MCOMM_SUCCESS && source == MCOMM_RANK_NULL)
        mci_probe_status(NULL, status_p);
    if (err != MCOMM_SUCCESS || (dest == MCOMM_RANK_NULL && source == MCOMM_RANK_NULL))
        ;
    else if (source == MCOMM_RANK_NULL)
        err = mci_pt2pt_send(comm, MCI_CTX_USER, sendbuf, send_nbytes, dest, sendtag,
                             comm->timeout_ms);
    else if (dest == MCOMM_RANK_NULL)
        err = mci_pt2pt_recv(comm, MCI_CTX_USER, recvbuf, recv_nbytes, source, recvtag,
                             comm->timeout_ms, status_p);
    else
        err = mci_pt2pt_sendrecv(comm, MCI_CTX_USER, sendbuf, send_nbytes, dest, sendtag, recvbuf,
                                 recv_nbytes, source, recvtag, comm->timeout_ms, status_p);
    mci_engine_unlock();
    return err;
}

/* ---- with a request ---- */
static mcomm_err_t start_call(mcomm_comm_t handle, struct mci_pt2pt_call *call,
                              mcomm_request_t *request_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    err = call->is_send ? mci_api_check_send(comm, call->buf, call->nbytes, call->rank, call->tag,
                                             &mci_api_of_send)
                        : mci_api_check_recv(comm, call->buf, call->nbytes, call->rank, call->tag,
                                             &mci_api_of_recv);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("request_p", request_p);
    if (likely(err == MCOMM_SUCCESS))
        err = mci_pt2pt_request_new(comm, call, request_p);
    mci_engine_unlock();
    return err;
}

static mcomm_err_t start_buffer(bool is_send, const void *buf, size_t nbytes, int rank, int tag,
                                mcomm_comm_t comm, unsigned flags, bool is_persistent,
                                mcomm_request_t *request_p)
{
    struct mci_pt2pt_call call = {
        .is_send = is_send,
        .is_persistent = is_persistent,
        .flags = flags | MCI_SEND_BORROW | MCI_SEND_SOON,
        .rank = rank,
        .tag = tag,
        .buf = buf,
        .nbytes = nbytes,
    };

    return start_call(comm, &call, request_p);
}

mcomm_err_t mcomm_isend(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm,
                        mcomm_request_t *request_p)
{
    return start_buffer(true, buf, nbytes, dest, tag, comm, 0, false, request_p);
}

mcomm_err_t mcomm_issend(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm,
                         mcomm_request_t *request_p)
{
    return start_buffer(true, buf, nbytes, dest, tag, comm, MCI_SEND_SYNC, false, request_p);
}

mcomm_err_t mcomm_irecv(void *buf, size_t nbytes, int source, int tag, mcomm_comm_t comm,
                        mcomm_request_t *request_p)
{
    return start_buffer(false, buf, nbytes, source, tag, comm, 0, false, request_p);
}

mcomm_err_t mcomm_send_init(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm,
                            mcomm_request_t *request_p)
{
    return start_buffer(true, buf, nbytes, dest, tag, comm, 0, true, request_p);
}

mcomm_err_t mcomm_ssend_init(const void *buf, size_t nbytes, int dest, int tag, mcomm_comm_t comm,
                             mcomm_request_t *request_p)
{
    return start_buffer(true, buf, nbytes, dest, tag, comm, MCI_SEND_SYNC, true, request_p);
}

mcomm_err_t mcomm_recv_init(void *buf, size_t nbytes, int source, int tag, mcomm_comm_t comm,
                            mcomm_request_t *request_p)
{
    return start_buffer(false, buf, nbytes, source, tag, comm, 0, true, request_p);
}

/* ---- lists of buffers ---- */
static mcomm_err_t start_list(bool is_send, const mcomm_iov_t *iov, size_t iov_count, int rank,
                              int tag, mcomm_comm_t comm, mcomm_request_t *request_p)
{
    static const mcomm_iov_t nothing;
    struct mci_pt2pt_call call = {
        .is_send = is_send,
        .flags = MCI_SEND_BORROW | MCI_SEND_SOON,
        .rank = rank,
        .tag = tag,
        .buf = "", /* the list is checked by itself */
        .iov = iov != NULL ? iov : &nothing,
        .iov_count = iov_count,
    };
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_api_check_list(iov, iov_count, &call.nbytes);
    return err == MCOMM_SUCCESS ? start_call(comm, &call, request_p) : err;
}

mcomm_err_t mcomm_isendv(const mcomm_iov_t *iov, size_t iov_count, int dest, int tag,
                         mcomm_comm_t comm, mcomm_request_t *request_p)
{
    return start_list(true, iov, iov_count, dest, tag, comm, request_p);
}

mcomm_err_t mcomm_irecvv(const mcomm_iov_t *iov, size_t iov_count, int source, int tag,
                         mcomm_comm_t comm, mcomm_request_t *request_p)
{
    return start_list(false, iov, iov_count, source, tag, comm, request_p);
}
