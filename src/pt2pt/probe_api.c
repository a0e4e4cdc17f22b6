/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The exported functions of chapter 7, probes and receives of matched messages. */
#include "config.h"

#include "pt2pt/api_check.h"

/* One look, after one round of progress if the first finds nothing. */
static mcomm_err_t look(struct mci_comm *comm, int source, int tag, struct mci_msg **msg_p)
{
    mcomm_err_t err = mci_probe_once(comm, source, tag, msg_p);

    if (*msg_p != NULL)
        return err;
    mci_progress();
    return mci_probe_once(comm, source, tag, msg_p);
}

mcomm_err_t mcomm_probe(int source, int tag, mcomm_comm_t handle, mcomm_status_t *status_p)
{
    struct mci_msg *msg = NULL;
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_api_check_recv_from(comm, source, tag);
    if (err == MCOMM_SUCCESS && source != MCOMM_RANK_NULL)
        err = mci_probe_wait(comm, source, tag, comm->timeout_ms, &msg);
    if (err == MCOMM_SUCCESS)
        mci_probe_status(msg, status_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_iprobe(int source, int tag, mcomm_comm_t handle, int *found_p,
                         mcomm_status_t *status_p)
{
    struct mci_msg *msg = NULL;
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_api_check_recv_from(comm, source, tag);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("found_p", found_p);
    if (err == MCOMM_SUCCESS && source != MCOMM_RANK_NULL)
        err = look(comm, source, tag, &msg);
    if (err == MCOMM_SUCCESS) {
        *found_p = msg != NULL || source == MCOMM_RANK_NULL;
        if (*found_p)
            mci_probe_status(msg, status_p);
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_mprobe(int source, int tag, mcomm_comm_t handle, mcomm_message_t *message_p,
                         mcomm_status_t *status_p)
{
    struct mci_msg *msg = NULL;
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_api_check_recv_from(comm, source, tag);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("message_p", message_p);
    if (err == MCOMM_SUCCESS && source != MCOMM_RANK_NULL)
        err = mci_probe_wait(comm, source, tag, comm->timeout_ms, &msg);
    if (err == MCOMM_SUCCESS)
        err = mci_probe_take(comm, msg, message_p);
    if (err == MCOMM_SUCCESS)
        mci_probe_status(msg, status_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_improbe(int source, int tag, mcomm_comm_t handle, int *found_p,
                          mcomm_message_t *message_p, mcomm_status_t *status_p)
{
    struct mci_msg *msg = NULL;
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(handle, &comm);
    bool is_found;

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_api_check_recv_from(comm, source, tag);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("found_p", found_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("message_p", message_p);
    if (err == MCOMM_SUCCESS && source != MCOMM_RANK_NULL)
        err = look(comm, source, tag, &msg);
    is_found = msg != NULL || source == MCOMM_RANK_NULL;
    if (err == MCOMM_SUCCESS && is_found)
        err = mci_probe_take(comm, msg, message_p);
    if (err == MCOMM_SUCCESS) {
        *found_p = is_found;
        if (is_found)
            mci_probe_status(msg, status_p);
    }
    mci_engine_unlock();
    return err;
}

/* ---- receives of matched messages ---- */
/* On success the engine lock is held, and the message's handle is gone. */
static mcomm_err_t enter_message(void *buf, size_t nbytes, mcomm_message_t *message_p,
                                 struct mci_msg **msg_p)
{
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("message_p", message_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer("buf", buf, nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    *msg_p = mci_handle_get(MCI_HANDLE_MESSAGE, *message_p);
    if (*msg_p == NULL) {
        err = mci_err_set(MCOMM_ERR_MESSAGE, "*message_p = %p is not a matched message",
                          (void *)*message_p);
        mci_engine_unlock();
    }
    return err;
}

static void message_gone(struct mci_msg *msg, mcomm_message_t *message_p)
{
    mci_handle_free(MCI_HANDLE_MESSAGE, *message_p);
    msg->handle = MCOMM_MESSAGE_NULL;
    *message_p = MCOMM_MESSAGE_NULL;
}

mcomm_err_t mcomm_mrecv(void *buf, size_t nbytes, mcomm_message_t *message_p,
                        mcomm_status_t *status_p)
{
    mcomm_iov_t one = {buf, nbytes};
    struct mci_comm *comm;
    struct mci_msg *msg;
    struct mci_recv op;
    mcomm_err_t err = enter_message(buf, nbytes, message_p, &msg);

    if (err != MCOMM_SUCCESS)
        return err;
    message_gone(msg, message_p);
    comm = msg->comm;
    if (msg->source == MCOMM_RANK_NULL) {
        mci_msg_free(msg);
        mci_probe_status(NULL, status_p);
    } else {
        op.done = NULL;
        op.stalled = NULL;
        op.source = msg->source;
        op.tag = msg->tag;
        mci_recv_prepare(&op, &one, 1, nbytes);
        mci_recv_take(&op, msg);
        err = mci_recv_wait(&op, comm, comm->timeout_ms);
        if (status_p != NULL && err != MCOMM_ERR_TIMEOUT)
            *status_p = op.status;
    }
    mci_comm_unref(comm);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_imrecv(void *buf, size_t nbytes, mcomm_message_t *message_p,
                         mcomm_request_t *request_p)
{
    struct mci_pt2pt_call call = {.buf = buf, .nbytes = nbytes};
    struct mci_comm *comm;
    struct mci_msg *msg;
    mcomm_err_t err = enter_message(buf, nbytes, message_p, &msg);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_check_pointer("request_p", request_p);
    if (err == MCOMM_SUCCESS) {
        call.rank = msg->source;
        call.tag = msg->tag;
        call.msg = call.rank != MCOMM_RANK_NULL ? msg : NULL;
        comm = msg->comm;
        msg->handle = MCOMM_MESSAGE_NULL; /* the request may take and free it at once */
        err = mci_pt2pt_request_new(comm, &call, request_p);
        if (err == MCOMM_SUCCESS) {
            mci_handle_free(MCI_HANDLE_MESSAGE, *message_p);
            *message_p = MCOMM_MESSAGE_NULL;
            if (call.msg == NULL)
                mci_msg_free(msg);
            mci_comm_unref(comm);
        } else {
            msg->handle = *message_p;
        }
    }
    mci_engine_unlock();
    return err;
}
