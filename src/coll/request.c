/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Nonblocking and persistent collectives: a call with a request around it, and copies of the arrays
 * of counts, so that a caller may reuse them. A call cannot be cancelled: the others are in it.
 */
#include "coll/coll_priv.h"

struct coll_request {
    struct mci_request base;
    struct coll_call call;
    size_t *arrays; /* of the call's arguments */
};

static struct coll_request *request_of(struct mci_request *base)
{
    return mci_container_of(base, struct coll_request, base);
}

static void call_done(struct coll_call *call)
{
    struct coll_request *req = mci_container_of(call, struct coll_request, call);

    mci_request_complete(&req->base, call->err);
}

static mcomm_err_t request_start(struct mci_request *base)
{
    struct coll_request *req = request_of(base);

    mci_coll_call_begin(&req->call, base->comm);
    return MCOMM_SUCCESS;
}

static bool request_cancel(struct mci_request *base)
{
    (void)base;
    return false;
}

static void request_explain(struct mci_request *base)
{
    mci_coll_call_explain(&request_of(base)->call);
}

static void request_free(struct mci_request *base)
{
    struct coll_request *req = request_of(base);

    mci_coll_call_fini(&req->call);
    mci_fold_op_release(req->call.args.op);
    mci_mem_free(req->arrays);
    mci_mem_free(req);
}

static const struct mci_request_ops coll_request_ops = {
    .name = "collective",
    .start = request_start,
    .cancel = request_cancel,
    .free = request_free,
    .explain = request_explain,
};

/* The arrays that are there at all ranks alike, or at this one only; NULL stays NULL. */
static mcomm_err_t arrays_copy(struct coll_request *req, int size)
{
    struct coll_args *args = &req->call.args;
    const size_t **lists[] = {&args->send_counts, &args->send_displs, &args->recv_counts,
                              &args->recv_displs};
    size_t used = 0;

    req->arrays = mci_mem_alloc(4 * (size_t)size * sizeof(size_t));
    if (req->arrays == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the counts of %d ranks", size);
    for (int i = 0; i < 4; i++) {
        size_t *copy = req->arrays + used;

        if (*lists[i] == NULL)
            continue;
        for (int r = 0; r < size; r++)
            copy[r] = (*lists[i])[r];
        *lists[i] = copy;
        used += (size_t)size;
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_coll_request_new(struct mci_comm *comm, const struct coll_args *args,
                                 bool is_persistent, mcomm_request_t *request_p)
{
    struct coll_request *req = mci_mem_zalloc(sizeof(*req));
    mcomm_err_t err = MCOMM_SUCCESS;

    if (req == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a request");
    mci_request_init(&req->base, &coll_request_ops, comm);
    mci_list_init(&req->call.link);
    req->call.args = *args;
    mci_fold_op_hold(args->op);
    req->call.done = call_done;
    if (args->send_counts != NULL || args->recv_counts != NULL)
        err = arrays_copy(req, comm->size);
    if (err == MCOMM_SUCCESS)
        err = mci_request_publish(&req->base, request_p);
    if (err != MCOMM_SUCCESS) {
        mci_request_release(&req->base);
        return err;
    }
    if (is_persistent) {
        req->base.is_persistent = true;
        req->base.is_active = false;
    } else {
        request_start(&req->base);
    }
    return MCOMM_SUCCESS;
}

static void refused_done(struct coll_call *call)
{
    mci_coll_call_fini(call);
    mci_mem_free(call);
}

void mci_coll_refuse(struct mci_comm *comm, const struct coll_args *args, mcomm_err_t arg_err)
{
    struct coll_call *call = mci_mem_zalloc(sizeof(*call));

    if (call == NULL) /* the others wait, up to their time limit */
        return;
    mci_list_init(&call->link);
    call->args = *args;
    call->arg_err = arg_err;
    call->done = refused_done;
    mci_coll_call_begin(call, comm);
}
