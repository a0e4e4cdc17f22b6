/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Operations by frames, origin's side. Small puts and accumulates are one frame and acknowledged by
 * count; the rest has a record that its own answer completes. Payloads of frames are sent or
 * copied before the call returns, bulk sources are borrowed: closing the record is enough to
 * get every buffer back.
 */
#include "config.h"

#include "rma/rma_priv.h"

#include <string.h>

#define ONE_FRAME_MAX (MCI_FRAME_MAX - 64u)

/* ---- sending ---- */
mcomm_err_t mci_rma_sync_send(struct mci_peer *peer, enum rma_sync what, uint64_t w0, uint32_t w1,
                              uint32_t w2)
{
    struct mci_frame frame = {
        .am = MCI_AM_RMA_SYNC, .aux = (uint16_t)what, .w0 = w0, .w1 = w1, .w2 = w2};

    return mci_peer_tell(peer, &frame);
}

mcomm_err_t mci_rma_ask_ack(struct mci_win *win, int target, struct rma_path *path)
{
    struct rma_target *t = &win->targets[target];
    mcomm_err_t err;

    if (path->asked == path->issued || path->acked == path->issued)
        return MCOMM_SUCCESS;
    err = mci_rma_sync_send(t->peer, RMA_SYNC_FLUSH, path->issued, t->key, win->key);
    if (err == MCOMM_SUCCESS) /* else the next one who waits asks again */
        path->asked = path->issued;
    return err;
}

/* Waits until no more than two marks are under way without acknowledgement. */
static mcomm_err_t make_room(struct mci_win *win, int target, struct rma_path *path, size_t nbytes)
{
    struct rma_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    path->since_mark += nbytes + 256;
    if (path->since_mark <= RMA_MARK_NBYTES && path->op_count < RMA_OPS_MAX)
        return MCOMM_SUCCESS;
    err = mci_rma_ask_ack(win, target, path);
    mci_rma_wait_begin(&w, path->peer, win->comm->timeout_ms);
    while (err == MCOMM_SUCCESS &&
           ((int32_t)(path->acked - path->mark) < 0 || path->op_count >= RMA_OPS_MAX))
        err = mci_rma_wait_step(&w);
    if (err != MCOMM_SUCCESS) /* the next one waits, too */
        return err;
    path->mark = path->issued;
    path->since_mark = 0;
    if (atomic_load(&win->targets[target].is_dead))
        err = mci_rma_dead(win, target);
    return err;
}

/* Who waits for it here completes it by a call; a signal or a transfer does not wait for that. */
static mcomm_err_t frame_send(struct mci_peer *peer, struct mci_frame *frame,
                              const mcomm_iov_t *iov, size_t iov_count, size_t nbytes)
{
    if (frame->flags & (RMA_F_SIGNAL_SET | RMA_F_SIGNAL_ADD | RMA_F_LARGE))
        return mci_peer_sendv(peer, frame, iov, iov_count, nbytes, NULL);
    return mci_peer_sendv_soon(peer, frame, iov, iov_count, nbytes, NULL);
}

/* A frame that is acknowledged by count: one in RMA_ACK_EVERY asks for it, and the first. */
static mcomm_err_t send_counted(struct mci_win *win, int target, struct rma_path *path,
                                struct mci_frame *frame, const mcomm_iov_t *iov, size_t iov_count,
                                size_t nbytes)
{
    mcomm_err_t err = mci_peer_reach(win->targets[target].peer);

    if (err != MCOMM_SUCCESS)
        return err;
    if (path->issued == path->acked || path->issued + 1 - path->asked >= RMA_ACK_EVERY)
        frame->flags |= RMA_F_ACK;
    frame->w1 = win->targets[target].key;
    frame->w2 = win->key;
    err = frame_send(win->targets[target].peer, frame, iov, iov_count, nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    path->issued++;
    if (frame->flags & RMA_F_ACK)
        path->asked = path->issued;
    rma_busy(win, target);
    return MCOMM_SUCCESS;
}

static mcomm_err_t send_op(struct rma_op *op, struct mci_frame *frame, const mcomm_iov_t *iov,
                           size_t iov_count, size_t nbytes)
{
    struct rma_target *t = &op->win->targets[op->target];
    mcomm_err_t err = mci_peer_reach(t->peer);

    if (err != MCOMM_SUCCESS)
        return err;
    frame->flags |= RMA_F_OP;
    frame->w1 = t->key;
    frame->w2 = op->id;
    if (op->done_p != NULL) /* its call waits for it at once */
        return mci_peer_sendv(t->peer, frame, iov, iov_count, nbytes, NULL);
    return frame_send(t->peer, frame, iov, iov_count, nbytes);
}

/* A record whose frame could not be sent: the call tells the error, nothing else does. */
static mcomm_err_t op_undo(struct rma_op *op, mcomm_err_t err)
{
    if (op->req != NULL)
        op->req->op = NULL;
    mci_rma_op_drop(op);
    return err;
}

static void op_attach(struct rma_op *op, struct rma_req *req)
{
    op->req = req;
    if (req != NULL)
        req->op = op;
}

/* ---- put ---- */
static void large_put_sent(struct mci_outop *out, mcomm_err_t err)
{
    struct rma_op *op = out->arg;

    op->has_out = false;
    if (err != MCOMM_SUCCESS)
        mci_rma_op_complete(op, err);
    /* else the target's answer tells that all is in place */
}

static mcomm_err_t put_large(struct mci_win *win, int target, const void *buf, size_t nbytes,
                             struct mci_frame *frame, const struct rma_signal *signal,
                             struct rma_req *req)
{
    struct rma_op *op = mci_rma_op_new(win, target, RMA_OP_PUT);
    uint64_t announced = nbytes;
    mcomm_iov_t iov[2] = {{(void *)(uintptr_t)signal, signal != NULL ? sizeof(*signal) : 0},
                          {&announced, sizeof(announced)}};
    mcomm_err_t err;

    if (op == NULL)
        return MCOMM_ERR_NO_MEM;
    op_attach(op, req);
    op->buf = (char *)(uintptr_t)buf;
    op->nbytes = nbytes;
    op->iov = (mcomm_iov_t){op->buf, nbytes};
    frame->flags |= RMA_F_LARGE;
    err = send_op(op, frame, iov, 2, iov[0].nbytes + sizeof(announced));
    return err == MCOMM_SUCCESS ? err : op_undo(op, err);
}

mcomm_err_t mci_rma_remote_put(struct mci_win *win, int target, struct rma_path *path,
                               const void *buf, size_t nbytes, uint64_t offset,
                               const struct rma_signal *signal, unsigned signal_flag,
                               struct rma_req *req)
{
    struct mci_peer *peer = win->targets[target].peer;
    struct mci_frame frame = {.am = MCI_AM_RMA_PUT, .flags = (uint8_t)signal_flag, .w0 = offset};
    mcomm_iov_t iov[2] = {{(void *)(uintptr_t)signal, signal != NULL ? sizeof(*signal) : 0},
                          {(void *)(uintptr_t)buf, nbytes}};
    size_t total = iov[0].nbytes + nbytes;
    struct rma_op *op;
    mcomm_err_t err = make_room(win, target, path, nbytes <= ONE_FRAME_MAX ? nbytes : 0);

    if (err != MCOMM_SUCCESS)
        return err;
    if (nbytes > ONE_FRAME_MAX || nbytes > peer->eager_max)
        return put_large(win, target, buf, nbytes, &frame, signal, req);
    if (req == NULL)
        return send_counted(win, target, path, &frame, iov, 2, total);
    op = mci_rma_op_new(win, target, RMA_OP_PUT);
    if (op == NULL)
        return MCOMM_ERR_NO_MEM;
    op_attach(op, req);
    err = send_op(op, &frame, iov, 2, total);
    return err == MCOMM_SUCCESS ? err : op_undo(op, err);
}

/* ---- get ---- */
static void large_get_done(struct mci_inop *in, mcomm_err_t err)
{
    struct rma_op *op = in->arg;

    op->has_in = false;
    mci_rma_op_complete(op, err);
}

mcomm_err_t mci_rma_remote_get(struct mci_win *win, int target, struct rma_path *path, void *buf,
                               size_t nbytes, uint64_t offset, struct rma_req *req)
{
    struct mci_peer *peer = win->targets[target].peer;
    struct mci_frame frame = {.am = MCI_AM_RMA_GET, .w0 = offset};
    uint64_t ask[2] = {nbytes, 0};
    mcomm_iov_t iov = {ask, sizeof(ask)};
    struct rma_op *op;
    mcomm_err_t err = make_room(win, target, path, 0);

    if (err != MCOMM_SUCCESS)
        return err;
    op = mci_rma_op_new(win, target, RMA_OP_GET);
    if (op == NULL)
        return MCOMM_ERR_NO_MEM;
    op_attach(op, req);
    op->buf = buf;
    op->nbytes = op->left = nbytes;
    if (nbytes > RMA_GET_FRAME_MAX || nbytes > peer->eager_max) {
        op->iov = (mcomm_iov_t){buf, nbytes};
        op->in = (struct mci_inop){.peer = peer,
                                   .iov = &op->iov,
                                   .iov_count = 1,
                                   .nbytes = nbytes,
                                   .done = large_get_done,
                                   .arg = op};
        err = mci_inop_open(&op->in);
        if (err != MCOMM_SUCCESS)
            return op_undo(op, err);
        op->has_in = true;
        ask[1] = op->in.id;
        frame.flags = RMA_F_LARGE;
    }
    err = send_op(op, &frame, &iov, 1, sizeof(ask));
    return err == MCOMM_SUCCESS ? err : op_undo(op, err);
}

/* ---- atomics ---- */
static uint16_t acc_aux(mcomm_datatype_t dtype, mcomm_op_t op)
{
    return (uint16_t)((unsigned)dtype | (unsigned)op << 8);
}

/* NO_OP sends the number of elements in place of operands. */
static mcomm_err_t fetch_chunk(struct rma_op *rec, const char *operand, size_t count,
                               mcomm_datatype_t dtype, uint64_t offset, mcomm_op_t op)
{
    struct mci_frame frame = {.am = MCI_AM_RMA_FETCH, .aux = acc_aux(dtype, op), .w0 = offset};
    uint64_t number = count;
    mcomm_iov_t iov = {(void *)(uintptr_t)operand, count * mci_dtype_nbytes(dtype)};

    if (op == MCOMM_NO_OP)
        iov = (mcomm_iov_t){&number, sizeof(number)};
    return send_op(rec, &frame, &iov, 1, iov.nbytes);
}

/* One frame's worth of elements; result: of the first of them. */
static mcomm_err_t acc_chunk(struct mci_win *win, int target, struct rma_path *path,
                             const char *operand, char *result, size_t count,
                             mcomm_datatype_t dtype, uint64_t offset, mcomm_op_t op)
{
    struct mci_frame frame = {.am = MCI_AM_RMA_ACC, .aux = acc_aux(dtype, op), .w0 = offset};
    mcomm_iov_t iov = {(void *)(uintptr_t)operand, count * mci_dtype_nbytes(dtype)};
    mcomm_err_t err = make_room(win, target, path, iov.nbytes);
    struct rma_op *rec;

    if (err != MCOMM_SUCCESS)
        return err;
    if (result == NULL)
        return send_counted(win, target, path, &frame, &iov, 1, iov.nbytes);
    rec = mci_rma_op_new(win, target, RMA_OP_FETCH);
    if (rec == NULL)
        return MCOMM_ERR_NO_MEM;
    rec->buf = result;
    rec->nbytes = rec->left = iov.nbytes;
    err = fetch_chunk(rec, operand, count, dtype, offset, op);
    return err == MCOMM_SUCCESS ? err : op_undo(rec, err);
}

static mcomm_err_t acc_chunks(struct mci_win *win, int target, struct rma_path *path,
                              const char *buf, char *result, size_t count, mcomm_datatype_t dtype,
                              uint64_t offset, mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype), chunk = RMA_ACC_CHUNK / elem;
    mcomm_err_t err = MCOMM_SUCCESS;

    while (count > 0 && err == MCOMM_SUCCESS) {
        size_t n = count < chunk ? count : chunk;

        err = acc_chunk(win, target, path, buf, result, n, dtype, offset, op);
        buf = buf != NULL ? buf + n * elem : NULL;
        result = result != NULL ? result + n * elem : NULL;
        offset += n * elem;
        count -= n;
    }
    return err;
}

mcomm_err_t mci_rma_remote_acc(struct mci_win *win, int target, struct rma_path *path,
                               const void *buf, void *result, size_t count, mcomm_datatype_t dtype,
                               uint64_t offset, mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype);
    uint64_t seq = win->op_seq;
    struct rma_holding hold;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (count <= RMA_ACC_CHUNK / elem || win->kind != RMA_DYNAMIC) {
        err = acc_chunks(win, target, path, buf, result, count, dtype, offset, op);
    } else {
        mci_rma_hold_begin(&hold, win, target, MCOMM_WIN_ATOMIC, elem);
        err = mci_rma_hold_add(&hold, offset, count * elem);
        if (err == MCOMM_SUCCESS)
            err = mci_rma_hold_end(&hold);
        if (err == MCOMM_SUCCESS)
            err = acc_chunks(win, target, path, buf, result, count, dtype, offset, op);
        mci_rma_hold_release(&hold);
    }
    if (err != MCOMM_SUCCESS)
        mci_rma_ops_abort_own(win, target, seq, err);
    return err;
}

mcomm_err_t mci_rma_remote_fetch(struct mci_win *win, int target, struct rma_path *path,
                                 const void *buf, const void *swap, void *result,
                                 mcomm_datatype_t dtype, uint64_t offset, mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype);
    struct mci_frame frame = {
        .am = MCI_AM_RMA_FETCH, .flags = RMA_F_SWAP, .aux = acc_aux(dtype, op), .w0 = offset};
    mcomm_iov_t iov[2] = {{(void *)(uintptr_t)buf, elem}, {(void *)(uintptr_t)swap, elem}};
    struct rma_op *rec = mci_rma_op_new(win, target, RMA_OP_FETCH);
    mcomm_err_t err, answer = MCOMM_SUCCESS;
    uint64_t old = 0;
    bool is_done = false;

    (void)path;
    if (rec == NULL)
        return MCOMM_ERR_NO_MEM;
    rec->buf = (char *)&old;
    rec->nbytes = rec->left = elem;
    rec->done_p = &is_done;
    rec->err_p = &answer;
    err = swap != NULL ? send_op(rec, &frame, iov, 2, 2 * elem)
                       : fetch_chunk(rec, buf, 1, dtype, offset, op);
    if (err != MCOMM_SUCCESS)
        return op_undo(rec, err);
    err = mci_rma_op_wait(rec, &is_done, &answer);
    if (err == MCOMM_SUCCESS)
        memcpy(result, &old, elem);
    else if (err == MCOMM_ERR_PROC_FAILED)
        err = mci_rma_dead(win, target);
    else
        err = mci_err_set(err, "atomic operation on target %d: %s", target, mcomm_err_text(err));
    return err;
}

/* ---- answers ---- */
static void on_ack(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                   struct mci_sink *sink)
{
    struct mci_win *win;
    struct rma_path *path;
    struct rma_op *op;
    int target;

    (void)payload;
    (void)sink;
    if (frame->flags & RMA_F_OP) {
        op = mci_rma_op_find(frame->w2, peer);
        if (op != NULL)
            mci_rma_op_complete(op, (mcomm_err_t)frame->aux);
        return;
    }
    win = mci_rma_win_by_key(frame->w1);
    target = win != NULL ? mci_rma_rank_of(win, peer) : -1;
    path = target >= 0 ? win->targets[target].path : NULL;
    if (path == NULL)
        return;
    if ((int32_t)(frame->w2 - path->acked) > 0 && (int32_t)(path->issued - frame->w2) >= 0)
        path->acked = frame->w2;
    if (frame->aux == MCOMM_ERR_WIN) /* gone at the target: nothing more will be counted there */
        path->acked = path->asked = path->issued;
    if (frame->aux != MCOMM_SUCCESS && path->err == MCOMM_SUCCESS)
        path->err = (mcomm_err_t)frame->aux;
    mci_wake_self();
}

static void start_push(struct rma_op *op, uint64_t remote_id)
{
    mcomm_err_t err;

    if (op->kind != RMA_OP_PUT || op->has_out)
        return;
    op->out = (struct mci_outop){.peer = op->win->targets[op->target].peer,
                                 .remote_id = remote_id,
                                 .iov = &op->iov,
                                 .iov_count = 1,
                                 .nbytes = op->nbytes,
                                 .done = large_put_sent,
                                 .arg = op};
    op->has_out = true;
    err = mci_outop_start(&op->out);
    if (err != MCOMM_SUCCESS) {
        op->has_out = false;
        mci_rma_op_abort(op, err);
    }
}

/* w1: operation; w0: offset of the data in its buffer, or the id of what the target opened. */
static void on_reply(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    struct rma_op *op = mci_rma_op_find(frame->w1, peer);

    if (payload == NULL && frame->nbytes > 0) {
        if (op != NULL)
            mci_rma_defer(peer, frame, sink, on_reply);
        return;
    }
    if (op == NULL)
        return;
    if (frame->flags & RMA_F_INOP) {
        start_push(op, frame->w0);
        return;
    }
    if (op->kind == RMA_OP_PUT || frame->w0 > op->nbytes || frame->nbytes > op->left ||
        frame->nbytes > op->nbytes - frame->w0)
        return;
    memcpy(op->buf + frame->w0, payload, frame->nbytes);
    op->left -= frame->nbytes;
    if (op->left == 0)
        mci_rma_op_complete(op, MCOMM_SUCCESS);
}

void mci_rma_remote_start(void)
{
    mci_rail_set_am(MCI_AM_RMA_ACK, on_ack);
    mci_rail_set_am(MCI_AM_RMA_REPLY, on_reply);
}
