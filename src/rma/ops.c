/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Records of operations that need an answer of their own: bulk puts, gets, fetches, lock requests,
 * and everything with a request. A record is found by its id; it leaves the table, and its buffers
 * are out of the rails' reach, before its end is told. Exactly once.
 */
#include "config.h"

#include "rma/rma_priv.h"

#include <string.h>

static struct mci_map ops_by_id;
static struct mci_pool op_pool, req_pool;
static uint32_t next_id;
static _Thread_local char this_thread; /* its address is a name */

void mci_rma_ops_start(void)
{
    mci_map_init(&ops_by_id);
    mci_pool_init(&op_pool, sizeof(struct rma_op));
    mci_pool_init(&req_pool, sizeof(struct rma_req));
}

void mci_rma_ops_stop(void)
{
    mci_map_fini(&ops_by_id);
    mci_pool_fini(&op_pool);
    mci_pool_fini(&req_pool);
}

struct rma_op *mci_rma_op_new(struct mci_win *win, int target, enum rma_op_kind kind)
{
    struct rma_path *path = mci_rma_path_get(win, target);
    struct rma_op *op = path != NULL ? mci_pool_get(&op_pool) : NULL;

    if (op == NULL)
        goto no_mem;
    memset(op, 0, sizeof(*op));
    op->win = win;
    op->target = target;
    op->kind = kind;
    op->seq = ++win->op_seq;
    op->thread = &this_thread;
    do {
        op->id = ++next_id;
    } while (op->id == 0 || mci_map_get(&ops_by_id, op->id) != NULL);
    if (mci_map_put(&ops_by_id, op->id, op) != MCOMM_SUCCESS) {
        mci_pool_put(&op_pool, op);
        goto no_mem;
    }
    mci_list_push(&path->ops, &op->link);
    path->op_count++;
    rma_busy(win, target);
    return op;

no_mem:
    mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an operation on target %d", target);
    return NULL;
}

struct rma_op *mci_rma_op_find(uint32_t id, const struct mci_peer *peer)
{
    struct rma_op *op = mci_map_get(&ops_by_id, id);

    return op != NULL && op->win->targets[op->target].peer == peer ? op : NULL;
}

/* Buffers out of the rails' reach, record out of the tables. */
static void op_retire(struct rma_op *op)
{
    if (op->has_in)
        mci_inop_close(&op->in);
    if (op->has_out)
        mci_outop_close(&op->out);
    op->has_in = op->has_out = false;
    mci_map_remove(&ops_by_id, op->id);
    mci_list_remove(&op->link);
    op->win->targets[op->target].path->op_count--;
}

/* ---- errors that a completion call is to tell ---- */
static struct rma_op *untold_of(const struct rma_path *path, const void *thread)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &path->untold) {
        struct rma_op *op = mci_container_of(node, struct rma_op, link);

        if (op->thread == thread)
            return op;
    }
    return NULL;
}

/* Of a retired operation. True: the record is kept. */
static bool error_note(struct rma_path *path, struct rma_op *op, mcomm_err_t err)
{
    if (path->err == MCOMM_SUCCESS)
        path->err = err;
    if (untold_of(path, op->thread) != NULL)
        return false;
    op->err = err;
    mci_list_push(&path->untold, &op->link);
    return true;
}

mcomm_err_t mci_rma_error_take(struct rma_path *path)
{
    struct rma_op *op = untold_of(path, &this_thread);
    mcomm_err_t err = path->err;

    path->err = MCOMM_SUCCESS;
    if (op == NULL)
        return err;
    if (err == MCOMM_SUCCESS)
        err = op->err;
    mci_list_remove(&op->link);
    mci_pool_put(&op_pool, op);
    return err;
}

void mci_rma_errors_drop(struct rma_path *path)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&path->untold)) != NULL)
        mci_pool_put(&op_pool, mci_container_of(node, struct rma_op, link));
}

/* ---- their end ---- */
void mci_rma_op_complete(struct rma_op *op, mcomm_err_t err)
{
    struct rma_path *path = op->win->targets[op->target].path;
    bool is_kept = false;

    op_retire(op);
    if (op->req != NULL) {
        op->req->op = NULL;
        mci_request_complete(&op->req->head, err);
    } else if (op->done_p != NULL) {
        *op->err_p = err;
        *op->done_p = true;
    } else if (err != MCOMM_SUCCESS) {
        is_kept = error_note(path, op, err);
    }
    if (!is_kept)
        mci_pool_put(&op_pool, op);
    mci_wake_self();
}

void mci_rma_op_drop(struct rma_op *op)
{
    op_retire(op);
    mci_pool_put(&op_pool, op);
    mci_wake_self();
}

void mci_rma_op_abort(struct rma_op *op, mcomm_err_t err)
{
    struct rma_target *t = &op->win->targets[op->target];

    if ((op->kind == RMA_OP_PUT || op->kind == RMA_OP_LOCK) && !atomic_load(&t->is_dead))
        mci_rma_sync_send(t->peer, RMA_SYNC_ABANDON, 0, t->key, op->id);
    mci_rma_op_complete(op, err);
}

void mci_rma_ops_abort_own(struct mci_win *win, int target, uint64_t seq, mcomm_err_t err)
{
    struct rma_path *path = win->targets[target].path;
    struct mci_list *node, *tmp;
    mcomm_err_t ignored;
    bool is_done;

    if (path == NULL)
        return;
    MCI_LIST_FOREACH_SAFE (node, tmp, &path->ops) {
        struct rma_op *op = mci_container_of(node, struct rma_op, link);

        if (op->seq <= seq || op->thread != &this_thread)
            continue;
        op->done_p = &is_done; /* the call tells it, no flush does */
        op->err_p = &ignored;
        mci_rma_op_abort(op, err);
    }
}

/* ---- requests ---- */
static bool req_cancel(struct mci_request *head)
{
    (void)head;
    return false; /* it has been sent */
}

static void req_free(struct mci_request *head)
{
    struct rma_req *req = mci_container_of(head, struct rma_req, head);

    if (req->op != NULL)
        req->op->req = NULL;
    mci_pool_put(&req_pool, req);
}

static void req_explain(struct mci_request *head)
{
    mci_err_set(head->status.error, "window operation: %s", mcomm_err_text(head->status.error));
}

static const struct mci_request_ops req_ops = {
    .name = "window operation",
    .cancel = req_cancel,
    .free = req_free,
    .explain = req_explain,
};

mcomm_err_t mci_rma_req_new(struct mci_win *win, struct rma_req **req_p, mcomm_request_t *handle_p)
{
    struct rma_req *req = mci_pool_get(&req_pool);

    if (req == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a request");
    memset(req, 0, sizeof(*req));
    mci_request_init(&req->head, &req_ops, win->comm);
    if (mci_request_publish(&req->head, handle_p) != MCOMM_SUCCESS) {
        mci_request_release(&req->head);
        return MCOMM_ERR_NO_MEM;
    }
    *req_p = req;
    return MCOMM_SUCCESS;
}

/* Blocking form: the record is gone when this returns, whatever it returns. */
mcomm_err_t mci_rma_op_wait(struct rma_op *op, bool *done, mcomm_err_t *result)
{
    const volatile bool *is_done = done; /* set by callbacks in other threads, under the lock */
    struct rma_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_rma_wait_begin(&w, op->win->targets[op->target].peer, op->win->comm->timeout_ms);
    while (!*is_done && err == MCOMM_SUCCESS)
        err = mci_rma_wait_step(&w);
    if (*is_done)
        return *result;
    mci_rma_op_abort(op, err);
    return err;
}
