/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Requests: the head that every nonblocking operation carries. An activation completes exactly once
 * (mci_request_complete); whoever then looks, the user by wait or test, or on_done, takes it away.
 * States: active -> done -> (inactive, if persistent | released). A detached request, given up by
 * its user while active, releases itself when it completes.
 */
#include "config.h"

#include "core/core_priv.h"

#include <assert.h>

void mci_status_clear(mcomm_status_t *status)
{
    status->source = MCOMM_ANY_SOURCE;
    status->tag = MCOMM_ANY_TAG;
    status->error = MCOMM_SUCCESS;
    status->cancelled = 0;
    status->nbytes = 0;
}

void mci_request_init(struct mci_request *req, const struct mci_request_ops *ops,
                      struct mci_comm *comm)
{
    req->ops = ops;
    req->handle = MCOMM_REQUEST_NULL;
    req->comm = comm;
    if (comm != NULL)
        mci_comm_ref(comm);
    atomic_store_explicit(&req->is_done, false, memory_order_relaxed);
    req->is_persistent = false;
    req->is_active = true;
    req->is_detached = false;
    req->stall = MCOMM_SUCCESS;
    req->on_done = NULL;
    mci_status_clear(&req->status);
}

mcomm_err_t mci_request_publish(struct mci_request *req, mcomm_request_t *request_p)
{
    req->handle = mci_handle_new(MCI_HANDLE_REQUEST, req);
    if (req->handle == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the handle of a request");
    *request_p = req->handle;
    return MCOMM_SUCCESS;
}

void mci_request_complete(struct mci_request *req, mcomm_err_t err)
{
    bool is_detached = req->is_detached;

    assert(!atomic_load_explicit(&req->is_done, memory_order_relaxed));
    req->status.error = err;
    atomic_store_explicit(&req->is_done, true, memory_order_release);
    mci_wake_self();
    if (req->on_done != NULL)
        req->on_done(req);
    else if (is_detached)
        mci_request_release(req);
}

void mci_request_stall(struct mci_request *req, mcomm_err_t err)
{
    req->stall = err;
    mci_wake_self();
}

void mci_request_release(struct mci_request *req)
{
    struct mci_comm *comm = req->comm;

    if (req->handle != MCOMM_REQUEST_NULL)
        mci_handle_free(MCI_HANDLE_REQUEST, req->handle);
    req->handle = MCOMM_REQUEST_NULL;
    req->comm = NULL;
    req->ops->free(req);
    if (comm != NULL)
        mci_comm_unref(comm);
}

mcomm_err_t mci_request_lookup(const char *name, mcomm_request_t handle, struct mci_request **req_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    *req_p = mci_handle_get(MCI_HANDLE_REQUEST, handle);
    if (*req_p == NULL)
        return mci_err_set(MCOMM_ERR_REQUEST, "%s = %p is not a valid request", name,
                           (void *)handle);
    return MCOMM_SUCCESS;
}

static inline bool request_is_done(struct mci_request *req)
{
    return atomic_load_explicit(&req->is_done, memory_order_acquire);
}

static bool request_is_over(void *arg)
{
    const struct mci_request *req = arg;

    return atomic_load_explicit(&req->is_done, memory_order_acquire) || req->stall != MCOMM_SUCCESS;
}

mcomm_err_t mci_request_wait(struct mci_request *req, int timeout_ms)
{
    mcomm_err_t err = mci_wait_until(request_is_over, req, timeout_ms);

    if (request_is_done(req))
        return req->status.error;
    return req->stall != MCOMM_SUCCESS ? req->stall : err;
}

void mci_request_explain(struct mci_request *req)
{
    const mcomm_status_t *status = &req->status;

    if (req->ops->explain != NULL)
        req->ops->explain(req);
    else if (status->source >= 0 && req->comm != NULL)
        mci_err_set(status->error, "%s, rank %d of %s, tag %d, %zu bytes: %s", req->ops->name,
                    status->source, mci_comm_text(req->comm), status->tag, status->nbytes,
                    mcomm_err_text(status->error));
    else
        mci_err_set(status->error, "%s: %s", req->ops->name, mcomm_err_text(status->error));
}

mcomm_err_t mci_request_finish(struct mci_request *req, mcomm_request_t *request_p,
                               mcomm_status_t *status_p)
{
    mcomm_err_t err = req->status.error;

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        mci_request_explain(req);
    if (status_p != NULL)
        *status_p = req->status;
    if (req->is_persistent) {
        req->is_active = false;
        atomic_store_explicit(&req->is_done, false, memory_order_relaxed);
    } else {
        mci_request_release(req);
        *request_p = MCOMM_REQUEST_NULL;
    }
    return err;
}

void mci_request_detach(struct mci_request *req)
{
    if (!req->is_active || request_is_done(req)) {
        mci_request_release(req);
        return;
    }
    mci_handle_free(MCI_HANDLE_REQUEST, req->handle);
    req->handle = MCOMM_REQUEST_NULL;
    req->is_detached = true;
}

mcomm_err_t mci_request_cancel(struct mci_request *req)
{
    if (!req->is_active || request_is_done(req))
        return MCOMM_SUCCESS;
    if (req->ops->cancel == NULL)
        return mci_err_set(MCOMM_ERR_UNSUPPORTED, "a %s request cannot be cancelled",
                           req->ops->name);
    if (req->ops->cancel(req)) {
        req->status.cancelled = 1;
        mci_request_complete(req, MCOMM_ERR_CANCELLED);
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_request_start(struct mci_request *req)
{
    mcomm_err_t err;

    if (!req->is_persistent)
        return mci_err_set(MCOMM_ERR_REQUEST, "request = %p is not a persistent one",
                           (void *)req->handle);
    if (req->is_active)
        return mci_err_set(MCOMM_ERR_STATE, "request = %p is active: wait for it first",
                           (void *)req->handle);
    mci_status_clear(&req->status);
    atomic_store_explicit(&req->is_done, false, memory_order_relaxed);
    req->stall = MCOMM_SUCCESS;
    req->is_active = true;
    err = req->ops->start(req);
    if (err != MCOMM_SUCCESS)
        req->is_active = false;
    return err;
}
