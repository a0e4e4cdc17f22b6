/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Requests of users: an operation, what it was asked to do (persistent requests do it again), and a
 * copy of a buffer list. A request whose peer is MCOMM_RANK_NULL is complete at once.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

static struct mci_pt2pt_request *request_of(struct mci_request *base)
{
    return mci_container_of(base, struct mci_pt2pt_request, base);
}

static void send_completed(struct mci_send *op)
{
    struct mci_pt2pt_request *req = op->arg;

    mci_request_complete(&req->base, op->err);
}

static void recv_completed(struct mci_recv *op)
{
    struct mci_pt2pt_request *req = op->arg;

    req->base.status = op->status;
    mci_request_complete(&req->base, op->status.error);
}

static void recv_stalled(struct mci_recv *op)
{
    struct mci_pt2pt_request *req = op->arg;

    mci_request_stall(&req->base, MCOMM_ERR_PROC_FAILED_PENDING);
}

static void null_completed(struct mci_pt2pt_request *req)
{
    if (!req->is_send) {
        req->base.status.source = MCOMM_RANK_NULL;
        req->base.status.tag = MCOMM_ANY_TAG;
    }
    mci_request_complete(&req->base, MCOMM_SUCCESS);
}

static mcomm_err_t request_start(struct mci_request *base)
{
    struct mci_pt2pt_request *req = request_of(base);

    if (req->is_null) {
        null_completed(req);
    } else if (req->is_send) {
        req->send.done = send_completed;
        req->send.arg = req;
        if (req->iov != NULL)
            mci_send_startv(&req->send, base->comm, MCI_CTX_USER, req->iov, req->iov_count,
                            req->nbytes, req->rank, req->tag, req->flags);
        else
            mci_send_start(&req->send, base->comm, MCI_CTX_USER, req->buf, req->nbytes, req->rank,
                           req->tag, req->flags);
    } else {
        req->recv.done = recv_completed;
        req->recv.stalled = recv_stalled;
        req->recv.arg = req;
        if (req->iov != NULL)
            mci_recv_startv(&req->recv, base->comm, MCI_CTX_USER, req->iov, req->iov_count,
                            req->nbytes, req->rank, req->tag);
        else
            mci_recv_start(&req->recv, base->comm, MCI_CTX_USER, req->buf, req->nbytes, req->rank,
                           req->tag);
    }
    return MCOMM_SUCCESS;
}

static bool request_cancel(struct mci_request *base)
{
    struct mci_pt2pt_request *req = request_of(base);

    if (req->is_send)
        return mci_send_cancel(&req->send);
    if (req->recv.state != RECV_POSTED)
        return false;
    mci_recv_withdraw(&req->recv);
    return true;
}

static void request_explain(struct mci_request *base)
{
    struct mci_pt2pt_request *req = request_of(base);

    if (base->status.cancelled)
        mci_err_set(MCOMM_ERR_CANCELLED, "the %s was cancelled", req->is_send ? "send" : "receive");
    else if (req->is_send)
        mci_send_explain(&req->send, base->comm);
    else
        mci_recv_explain(&req->recv, base->comm);
}

static void request_free(struct mci_request *base)
{
    struct mci_pt2pt_request *req = request_of(base);

    mci_list_remove(&req->link);
    if (unlikely(req->iov != NULL))
        mci_mem_free(req->iov);
    mci_pool_put(&mci_pt2pt.requests, req);
}

static const struct mci_request_ops send_ops = {
    .name = "send",
    .start = request_start,
    .cancel = request_cancel,
    .free = request_free,
    .explain = request_explain,
};
static const struct mci_request_ops recv_ops = {
    .name = "receive",
    .is_receive = true,
    .start = request_start,
    .cancel = request_cancel,
    .free = request_free,
    .explain = request_explain,
};

/* Copy of a list without its empty pieces. */
static mcomm_err_t list_copy(struct mci_pt2pt_request *req, const mcomm_iov_t *iov,
                             size_t iov_count)
{
    req->iov = mci_mem_alloc((iov_count + 1) * sizeof(*iov));
    if (req->iov == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "copy of a list of %zu buffers", iov_count);
    req->iov_count = 0;
    req->iov[0] = (mcomm_iov_t){NULL, 0}; /* never an empty list */
    for (size_t i = 0; i < iov_count; i++)
        if (iov[i].nbytes > 0)
            req->iov[req->iov_count++] = iov[i];
    if (req->iov_count == 0)
        req->iov_count = 1;
    return MCOMM_SUCCESS;
}

static void receive_matched(struct mci_pt2pt_request *req, struct mci_msg *msg)
{
    mcomm_iov_t one = {req->buf, req->nbytes};

    req->recv.done = recv_completed;
    req->recv.stalled = NULL;
    req->recv.arg = req;
    mci_recv_prepare(&req->recv, &one, 1, req->nbytes);
    mci_recv_take(&req->recv, msg);
}

/*
 * A long message is announced and pushed once the receiver has answered, by whoever drives
 * progress. Who starts one after another does so in between: the first ones travel meanwhile.
 */
static void push_earlier(const struct mci_pt2pt_request *req)
{
    if (unlikely(req->is_send && req->nbytes > MCI_FRAME_MAX) && !req->send.is_done)
        mci_progress();
}

mcomm_err_t mci_pt2pt_request_new(struct mci_comm *comm, const struct mci_pt2pt_call *call,
                                  mcomm_request_t *request_p)
{
    struct mci_pt2pt_request *req = mci_pool_get(&mci_pt2pt.requests);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (req == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "request");
    mci_request_init(&req->base, call->is_send ? &send_ops : &recv_ops, comm);
    mci_list_push(&mci_pt2pt.live, &req->link);
    req->is_send = call->is_send;
    req->is_null = call->rank == MCOMM_RANK_NULL;
    req->flags = call->flags;
    req->rank = call->rank;
    req->tag = call->tag;
    req->buf = (void *)(uintptr_t)call->buf;
    req->nbytes = call->nbytes;
    req->iov = NULL;
    if (call->iov != NULL)
        err = list_copy(req, call->iov, call->iov_count);
    if (err == MCOMM_SUCCESS)
        err = mci_request_publish(&req->base, request_p);
    if (err != MCOMM_SUCCESS) {
        mci_request_release(&req->base);
        return err;
    }
    if (call->is_persistent) {
        req->base.is_persistent = true;
        req->base.is_active = false;
    } else if (call->msg != NULL) {
        receive_matched(req, call->msg);
    } else {
        request_start(&req->base);
        push_earlier(req);
    }
    return MCOMM_SUCCESS;
}

void mci_pt2pt_requests_end(void)
{
    while (!mci_list_is_empty(&mci_pt2pt.live))
        mci_request_release(
            &mci_container_of(mci_pt2pt.live.next, struct mci_pt2pt_request, link)->base);
}
