/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Locks on a member's part. Each rank has a word of its own for sharing; one word names who has, or
 * waits for, exclusive use. A word has one writer at a time and names it, so whoever waits can
 * tell that the holder died: its sharing is ignored, its exclusive word is taken away. Local peers
 * use the words directly, remote ones ask the owner, and again when it tells that somebody let go;
 * or after growing pauses, since its local peers let go without a word.
 */
#include "config.h"

#include "base/clock.h"
#include "rma/rma_priv.h"

#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 8

static bool is_dead(const struct mci_win *win, int rank)
{
    return atomic_load_explicit(&win->targets[rank].is_dead, memory_order_relaxed);
}

/* The rank that stands in the way is watched, so that its death is noticed. */
static void watch(const struct mci_win *win, int rank)
{
    if (rank != win->rank)
        mci_peer_watch(win->targets[rank].peer);
}

/* True: nobody holds the exclusive word (a dead holder's is taken away), or rank itself does. */
static bool exclusive_is_free(struct mci_win *win, struct rma_ctl *ctl, int rank)
{
    uint64_t holder = atomic_load(&ctl->exclusive);

    if (holder == 0 || holder == (uint64_t)rank + 1)
        return true;
    if (holder > (uint64_t)win->size)
        return false; /* not written by us: the part's owner overran its memory */
    if (is_dead(win, (int)holder - 1))
        return atomic_compare_exchange_strong(&ctl->exclusive, &holder, 0);
    watch(win, (int)holder - 1);
    return false;
}

static bool try_shared(struct mci_win *win, struct rma_ctl *ctl, int rank)
{
    atomic_store(&ctl->shared[rank], 1);
    if (exclusive_is_free(win, ctl, rank))
        return true;
    atomic_store(&ctl->shared[rank], 0);
    return false;
}

/* Takes the word first, which keeps new sharers out, then waits for those inside. */
static bool try_exclusive(struct mci_win *win, struct rma_ctl *ctl, int rank)
{
    uint64_t mine = (uint64_t)rank + 1, none = 0;

    if (atomic_load(&ctl->exclusive) != mine) {
        if (!exclusive_is_free(win, ctl, rank) ||
            !atomic_compare_exchange_strong(&ctl->exclusive, &none, mine))
            return false;
    }
    for (int i = 0; i < win->size; i++) {
        if (i == rank || atomic_load(&ctl->shared[i]) == 0 || is_dead(win, i))
            continue;
        watch(win, i);
        return false;
    }
    return true;
}

bool mci_rma_lock_try(struct mci_win *win, struct rma_ctl *ctl, int rank, mcomm_lock_type_t type)
{
    return type == MCOMM_LOCK_EXCLUSIVE ? try_exclusive(win, ctl, rank)
                                        : try_shared(win, ctl, rank);
}

void mci_rma_lock_release(struct rma_ctl *ctl, int rank, mcomm_lock_type_t type)
{
    uint64_t mine = (uint64_t)rank + 1;

    if (type == MCOMM_LOCK_EXCLUSIVE)
        atomic_compare_exchange_strong(&ctl->exclusive, &mine, 0);
    else
        atomic_store(&ctl->shared[rank], 0);
}

void mci_rma_lock_want(struct mci_win *win, int origin, bool is_wanted)
{
    struct rma_origin *o = &win->origins[origin];

    win->lock_wanted_count += is_wanted - o->is_lock_wanted;
    o->is_lock_wanted = is_wanted;
}

void mci_rma_lock_tell_free(struct mci_win *win)
{
    for (int i = 0; i < win->size && win->lock_wanted_count > 0; i++) {
        if (!win->origins[i].is_lock_wanted)
            continue;
        mci_rma_lock_want(win, i, false);
        mci_rma_sync_send(win->targets[i].peer, RMA_SYNC_LOCK_FREE, 0, win->targets[i].key, 0);
    }
}

/* One question to the owner: SUCCESS, TRY_AGAIN or why not. */
static mcomm_err_t ask_owner(struct mci_win *win, int target, mcomm_lock_type_t type)
{
    struct rma_target *t = &win->targets[target];
    struct rma_op *op = mci_rma_op_new(win, target, RMA_OP_LOCK);
    mcomm_err_t err, answer = MCOMM_SUCCESS;
    bool is_done = false;

    if (op == NULL)
        return MCOMM_ERR_NO_MEM;
    op->done_p = &is_done;
    op->err_p = &answer;
    t->path->is_lock_free = false;
    err = mci_rma_sync_send(t->peer, RMA_SYNC_LOCK, (uint64_t)type, t->key, op->id);
    if (err != MCOMM_SUCCESS) {
        mci_rma_op_complete(op, err);
        return err;
    }
    err = mci_rma_op_wait(op, &is_done, &answer);
    if (err == MCOMM_ERR_PROC_FAILED)
        return mci_rma_dead(win, target);
    if (err == MCOMM_ERR_WIN)
        return mci_err_set(err, "lock: target %d has freed the window", target);
    return err;
}

static mcomm_err_t lock_once(struct mci_win *win, struct rma_ctl *ctl, mcomm_lock_type_t type,
                             int target)
{
    if (is_dead(win, target) && target != win->rank)
        return mci_rma_dead(win, target);
    if (ctl == NULL)
        return ask_owner(win, target, type);
    return mci_rma_lock_try(win, ctl, win->rank, type) ? MCOMM_SUCCESS : MCOMM_ERR_TRY_AGAIN;
}

static void lock_withdraw(struct mci_win *win, struct rma_ctl *ctl, mcomm_lock_type_t type,
                          int target)
{
    struct rma_target *t = &win->targets[target];

    if (ctl != NULL)
        mci_rma_lock_release(ctl, win->rank, type);
    else if (!is_dead(win, target))
        mci_rma_sync_send(t->peer, RMA_SYNC_UNLOCK, (uint64_t)type, t->key, 0);
}

/* Words in shared memory ring no bell: rounds of waiting are short, so that they are looked at. */
static mcomm_err_t lock_wait(struct mci_win *win, struct rma_ctl *ctl, mcomm_lock_type_t type,
                             int target)
{
    int timeout_ms = win->comm->timeout_ms, pause_ms = PAUSE_MIN_MS;
    int64_t deadline_ns = mci_clock_ns() + (int64_t)timeout_ms * 1000000;
    struct mci_waiter w;
    mcomm_err_t err;

    mci_wait_begin(&w, pause_ms);
    while ((err = lock_once(win, ctl, type, target)) == MCOMM_ERR_TRY_AGAIN) {
        bool is_over = false;

        if (timeout_ms >= 0 && mci_clock_ns() >= deadline_ns) {
            err = mci_err_set(MCOMM_ERR_TIMEOUT, "lock on target %d not granted within %d ms",
                              target, timeout_ms);
            break;
        }
        if (ctl != NULL) {
            is_over = mci_wait_step(&w) == MCOMM_ERR_TIMEOUT;
        } else { /* each question costs a round trip */
            while (!win->targets[target].path->is_lock_free && mci_wait_step(&w) == MCOMM_SUCCESS)
                ;
            is_over = true;
            pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
        }
        if (is_over)
            mci_wait_begin(&w, pause_ms);
    }
    if (err != MCOMM_SUCCESS)
        lock_withdraw(win, ctl, type, target);
    return err;
}

static mcomm_err_t target_check(const struct mci_win *win, int target)
{
    if ((unsigned)target >= (unsigned)win->size)
        return mci_err_set(MCOMM_ERR_RANK, "target is %d, the window has %d members", target,
                           win->size);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_lock(struct mci_win *win, mcomm_lock_type_t type, int target)
{
    struct rma_ctl *ctl = NULL;
    struct rma_path *path;
    mcomm_err_t err;

    if (target == MCOMM_RANK_NULL)
        return MCOMM_SUCCESS;
    err = target_check(win, target);
    if (err != MCOMM_SUCCESS)
        return err;
    path = mci_rma_path_get(win, target);
    if (path == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the way to target %d", target);
    if (path->held != 0 || path->is_locking)
        return mci_err_set(MCOMM_ERR_RMA_SYNC,
                           "this process holds, or waits for, a lock on target %d already", target);
    path->is_locking = true; /* else a second thread that waits would be granted the same words */
    err = mci_rma_map_ctl(win, target, &ctl);
    if (err == MCOMM_SUCCESS)
        err = lock_wait(win, ctl, type, target);
    path->is_locking = false;
    if (err == MCOMM_SUCCESS)
        path->held = (uint8_t)type;
    return err;
}

/* The caller has flushed. */
static mcomm_err_t lock_give_back(struct mci_win *win, int target)
{
    struct rma_path *path = win->targets[target].path;
    struct rma_ctl *ctl = target == win->rank ? win->ctl : path->ctl;

    lock_withdraw(win, ctl, (mcomm_lock_type_t)path->held, target);
    path->held = 0;
    if (target == win->rank)
        mci_rma_lock_tell_free(win);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_unlock(struct mci_win *win, int target)
{
    mcomm_err_t err;

    if (target == MCOMM_RANK_NULL)
        return MCOMM_SUCCESS;
    err = target_check(win, target);
    if (err != MCOMM_SUCCESS)
        return err;
    if (win->targets[target].path == NULL || win->targets[target].path->held == 0)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "this process holds no lock on target %d", target);
    if (win->is_locked_all)
        return mci_err_set(MCOMM_ERR_RMA_SYNC,
                           "target %d is locked by lock_all, which unlock_all ends", target);
    mci_engine_unlock();
    err = mci_rma_flush(win, target);
    mci_engine_lock();
    lock_give_back(win, target);
    return err;
}

/* Dead members are passed over: the window goes on for the others. */
mcomm_err_t mci_rma_lock_all(struct mci_win *win)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (win->is_locked_all)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "lock_all while it is in force already");
    for (int i = 0; i < win->size && err == MCOMM_SUCCESS; i++) {
        if (is_dead(win, i))
            continue;
        err = mci_rma_lock(win, MCOMM_LOCK_SHARED, i);
        if (err == MCOMM_ERR_PROC_FAILED)
            err = MCOMM_SUCCESS;
        else if (err != MCOMM_SUCCESS)
            while (--i >= 0)
                if (win->targets[i].path != NULL && win->targets[i].path->held != 0)
                    lock_give_back(win, i);
        if (err != MCOMM_SUCCESS)
            break;
    }
    win->is_locked_all = err == MCOMM_SUCCESS;
    return err;
}

mcomm_err_t mci_rma_unlock_all(struct mci_win *win)
{
    mcomm_err_t err;

    if (!win->is_locked_all)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "unlock_all without lock_all");
    mci_engine_unlock();
    err = mci_rma_flush_all(win);
    mci_engine_lock();
    for (int i = 0; i < win->size; i++)
        if (win->targets[i].path != NULL && win->targets[i].path->held != 0)
            lock_give_back(win, i);
    win->is_locked_all = false;
    return err;
}
