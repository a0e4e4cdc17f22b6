/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The exported functions of chapter 7, probes and receives of matched messages. */
#include "config.h"

#include "pt2pt/api_check.h"

struct probe_call {
    int source, tag;
    mcomm_comm_t comm;
    bool is_blocking; /* else found_p tells */
    int *found_p;
    bool is_matched;
    mcomm_message_t *message_p;
    mcomm_status_t *status_p;
};

static mcomm_err_t probe_check(const struct probe_call *call, const struct mci_comm *comm)
{
    mcomm_err_t err = mci_api_check_recv_from(comm, call->source, call->tag, &mci_api_of_recv);

    if (err == MCOMM_SUCCESS && !call->is_blocking)
        err = mci_check_pointer("found_p", call->found_p);
    if (err == MCOMM_SUCCESS && call->is_matched)
        err = mci_check_pointer("message_p", call->message_p);
    return err;
}

/* *msg_p stays NULL if there is none yet. */
static mcomm_err_t probe_look(const struct probe_call *call, struct mci_comm *comm,
                              struct mci_msg **msg_p)
{
    mcomm_err_t err;

    if (call->is_blocking)
        return mci_probe_wait(comm, call->source, call->tag, comm->timeout_ms, msg_p);
    err = mci_probe_once(comm, call->source, call->tag, msg_p);
    if (*msg_p != NULL)
        return err;
    mci_progress();
    return mci_probe_once(comm, call->source, call->tag, msg_p);
}

static mcomm_err_t probe_held(const struct probe_call *call, struct mci_comm *comm)
{
    struct mci_msg *msg = NULL;
    mcomm_err_t err = probe_check(call, comm);
    bool is_found;

    if (err == MCOMM_SUCCESS && call->source != MCOMM_RANK_NULL)
        err = probe_look(call, comm, &msg);
    is_found = msg != NULL || call->source == MCOMM_RANK_NULL;
    if (err == MCOMM_SUCCESS && is_found && call->is_matched)
        err = mci_probe_take(comm, msg, call->message_p);
    if (err != MCOMM_SUCCESS)
        return err;
    if (!call->is_blocking)
        *call->found_p = is_found;
    if (is_found)
        mci_probe_status(msg, call->status_p);
    return MCOMM_SUCCESS;
}

static mcomm_err_t probe(const struct probe_call *call)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_api_enter(call->comm, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_comm_ref(comm); /* another thread may free it during the wait */
    err = probe_held(call, comm);
    mci_comm_unref(comm);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_probe(int source, int tag, mcomm_comm_t comm, mcomm_status_t *status_p)
{
    return probe(&(struct probe_call){
        .source = source, .tag = tag, .comm = comm, .is_blocking = true, .status_p = status_p});
}

mcomm_err_t mcomm_iprobe(int source, int tag, mcomm_comm_t comm, int *found_p,
                         mcomm_status_t *status_p)
{
    return probe(&(struct probe_call){
        .source = source, .tag = tag, .comm = comm, .found_p = found_p, .status_p = status_p});
}

mcomm_err_t mcomm_mprobe(int source, int tag, mcomm_comm_t comm, mcomm_message_t *message_p,
                         mcomm_status_t *status_p)
{
    return probe(&(struct probe_call){.source = source,
                                      .tag = tag,
                                      .comm = comm,
                                      .is_blocking = true,
                                      .is_matched = true,
                                      .message_p = message_p,
                                      .status_p = status_p});
}

mcomm_err_t mcomm_improbe(int source, int tag, mcomm_comm_t comm, int *found_p,
                          mcomm_message_t *message_p, mcomm_status_t *status_p)
{
    return probe(&(struct probe_call){.source = source,
                                      .tag = tag,
                                      .comm = comm,
                                      .found_p = found_p,
                                      .is_matched = true,
                                      .message_p = message_p,
                                      .status_p = status_p});
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
