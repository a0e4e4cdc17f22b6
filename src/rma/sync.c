/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Completion of a process's own operations, and the frames by which members synchronise. A flush
 * waits for what was issued before it: the acknowledged count, and the records up to its own
 * number. When it gives up it takes every buffer back first, those of other threads too, whose own
 * flush then tells them.
 */
#include "config.h"

#include "base/defer.h"
#include "rma/rma_priv.h"

/* ---- flush ---- */
static bool has_ops_before(const struct rma_path *path, uint64_t seq)
{
    return !mci_list_is_empty(&path->ops) &&
           mci_container_of(path->ops.next, struct rma_op, link)->seq <= seq;
}

/* No buffer of an operation without a request is touched after this. */
static void abort_ops(struct rma_path *path, uint64_t seq, mcomm_err_t err)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &path->ops) {
        struct rma_op *op = mci_container_of(node, struct rma_op, link);

        if (op->seq <= seq && op->req == NULL && op->done_p == NULL)
            mci_rma_op_abort(op, err);
    }
}

static mcomm_err_t take_error(struct mci_win *win, int target)
{
    struct rma_path *path = win->targets[target].path;
    mcomm_err_t err = mci_rma_error_take(path);

    if (err == MCOMM_SUCCESS)
        return err;
    if (err == MCOMM_ERR_PROC_FAILED && atomic_load(&win->targets[target].is_dead))
        return mci_rma_dead(win, target);
    return mci_err_set(err, "an operation on target %d since the last completion call: %s", target,
                       mcomm_err_text(err));
}

/* lock: engine */
static mcomm_err_t target_flush(struct mci_win *win, int target, bool is_local)
{
    struct rma_target *t = &win->targets[target];
    struct rma_path *path = t->path;
    uint64_t seq = win->op_seq;
    uint32_t issued = path->issued;
    struct rma_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (!is_local)
        err = mci_rma_ask_ack(win, target, path);
    mci_defer_run();
    mci_rma_wait_begin(&w, t->peer, win->comm->timeout_ms);
    while (err == MCOMM_SUCCESS &&
           (has_ops_before(path, seq) || (!is_local && (int32_t)(path->acked - issued) < 0)))
        err = mci_rma_wait_step(&w);
    if (err != MCOMM_SUCCESS) {
        abort_ops(path, seq, err);
        if (path->err == MCOMM_SUCCESS)
            path->err = err;
    }
    err = take_error(win, target);
    if (mci_list_is_empty(&path->ops) && path->acked == path->issued &&
        mci_list_is_empty(&path->untold))
        atomic_store_explicit(&t->is_busy, false, memory_order_release);
    return err;
}

static mcomm_err_t flush_one(struct mci_win *win, int target, bool is_local)
{
    struct rma_target *t;
    mcomm_err_t err;

    if (target == MCOMM_RANK_NULL)
        return MCOMM_SUCCESS;
    if ((unsigned)target >= (unsigned)win->size)
        return mci_err_set(MCOMM_ERR_RANK, "target is %d, the window has %d members", target,
                           win->size);
    t = &win->targets[target];
    atomic_thread_fence(memory_order_seq_cst); /* stores through the map are seen by the target */
    if (__builtin_expect(atomic_load_explicit(&t->is_busy, memory_order_acquire), 0)) {
        mci_engine_lock();
        err = target_flush(win, target, is_local);
        mci_engine_unlock();
        if (err != MCOMM_SUCCESS)
            return err;
    }
    if (__builtin_expect(atomic_load_explicit(&t->is_dead, memory_order_relaxed), 0))
        return mci_rma_dead(win, target);
    return MCOMM_SUCCESS;
}

/* Asks everybody first, then waits: one round trip for all. Tells the first error by rank. */
static mcomm_err_t flush_each(struct mci_win *win, bool is_local)
{
    mcomm_err_t err = MCOMM_SUCCESS, one;

    atomic_thread_fence(memory_order_seq_cst);
    mci_engine_lock();
    for (int i = 0; i < win->size && !is_local; i++) {
        if (win->targets[i].path != NULL)
            (void)mci_rma_ask_ack(win, i, win->targets[i].path); /* told when it is waited for */
    }
    for (int i = 0; i < win->size; i++) {
        if (!atomic_load_explicit(&win->targets[i].is_busy, memory_order_relaxed))
            continue;
        one = target_flush(win, i, is_local);
        err = err == MCOMM_SUCCESS ? one : err;
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_flush(struct mci_win *win, int target)
{
    return flush_one(win, target, false);
}

mcomm_err_t mci_rma_flush_local(struct mci_win *win, int target)
{
    return flush_one(win, target, true);
}

mcomm_err_t mci_rma_flush_all(struct mci_win *win)
{
    return flush_each(win, false);
}

mcomm_err_t mci_rma_flush_local_all(struct mci_win *win)
{
    return flush_each(win, true);
}

mcomm_err_t mci_rma_fence(struct mci_win *win)
{
    mcomm_err_t err = mci_rma_flush_all(win), barrier_err;

    mci_engine_lock();
    barrier_err = mci_comm_barrier(win->comm, MCOMM_SUCCESS);
    mci_engine_unlock();
    return err != MCOMM_SUCCESS ? err : barrier_err;
}

/* ---- frames ---- */
/* The window is gone here, or was never: who waits for an answer gets one. */
static void sync_unknown(struct mci_peer *peer, const struct mci_frame *frame)
{
    struct mci_frame ack = {
        .am = MCI_AM_RMA_ACK, .aux = MCOMM_ERR_WIN, .w1 = frame->w2, .w2 = (uint32_t)frame->w0};

    if (frame->aux == RMA_SYNC_FLUSH)
        mci_peer_tell(peer, &ack);
    else if (frame->aux == RMA_SYNC_LOCK)
        mci_rma_answer_op(peer, frame->w2, MCOMM_ERR_WIN);
    else if (frame->aux == RMA_SYNC_FREE_ASK)
        mci_rma_sync_send(peer, RMA_SYNC_FREE_ANSWER, 0, frame->w2, 0);
}

static void sync_abandon(struct mci_win *win, int origin, uint32_t op_id)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &win->serves) {
        struct rma_serve *serve = mci_container_of(node, struct rma_serve, link);

        if (serve->origin == origin && serve->op_id == op_id)
            mci_rma_serve_close(serve);
    }
}

static void sync_flush(struct mci_win *win, int origin, uint32_t count, uint32_t key)
{
    struct rma_origin *o = &win->origins[origin];

    o->key = key;
    o->flush_at = count;
    o->is_flush_wanted = true;
    mci_rma_count_applied(win, origin, false);
}

static void on_sync(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    struct mci_win *win = mci_rma_win_by_key(frame->w1);
    int origin = win != NULL ? mci_rma_rank_of(win, peer) : -1;
    struct rma_origin *o;
    bool is_granted;

    (void)payload;
    (void)sink;
    if (origin < 0) {
        sync_unknown(peer, frame);
        return;
    }
    o = &win->origins[origin];
    switch (frame->aux) {
    case RMA_SYNC_FLUSH:
        sync_flush(win, origin, (uint32_t)frame->w0, frame->w2);
        break;
    case RMA_SYNC_POST:
        o->posts++;
        break;
    case RMA_SYNC_COMPLETE:
        if (o->late_completes > 0)
            o->late_completes--;
        else
            o->completes++;
        break;
    case RMA_SYNC_LOCK:
        is_granted = mci_rma_lock_try(win, win->ctl, origin, (mcomm_lock_type_t)frame->w0);
        mci_rma_lock_want(win, origin, !is_granted);
        mci_rma_answer_op(peer, frame->w2, is_granted ? MCOMM_SUCCESS : MCOMM_ERR_TRY_AGAIN);
        break;
    case RMA_SYNC_UNLOCK:
        mci_rma_lock_release(win->ctl, origin, (mcomm_lock_type_t)frame->w0);
        mci_rma_lock_want(win, origin, false);
        mci_rma_lock_tell_free(win);
        break;
    case RMA_SYNC_LOCK_FREE:
        if (win->targets[origin].path != NULL)
            win->targets[origin].path->is_lock_free = true;
        break;
    case RMA_SYNC_FREE_ASK:
        o->key = frame->w2;
        o->has_asked_free = true;
        if (win->is_freeing)
            mci_rma_sync_send(peer, RMA_SYNC_FREE_ANSWER, 0, o->key, 0);
        break;
    case RMA_SYNC_FREE_ANSWER:
        o->has_answered_free = true;
        break;
    case RMA_SYNC_ABANDON:
        sync_abandon(win, origin, frame->w2);
        break;
    default:
        break;
    }
    mci_wake_self();
}

void mci_rma_sync_start(void)
{
    mci_rail_set_am(MCI_AM_RMA_SYNC, on_sync);
}
