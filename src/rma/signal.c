/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Put with signal, and waiting for one. A local origin stores into the mapped part and rings the
 * target's doorbell if somebody sleeps there; a remote one's frame wakes the target by arriving. A
 * waiter's word is also looked at by a poller, so that between its last look and its sleep no store
 * is missed.
 */
#include "config.h"

#include "base/clock.h"
#include "rma/rma_priv.h"

#define WATCH_AFTER_NS 20000000 /* then the members that may signal are connected and watched */

struct waiting { /* on the stack of the thread that waits */
    struct mci_list link;
    const uint64_t *word;
    mcomm_cmp_t cmp;
    uint64_t value;
    uint32_t failed_seen; /* deaths that were told before it began */
};
static struct mci_list waitings;

static bool compares(uint64_t seen, mcomm_cmp_t cmp, uint64_t value)
{
    switch (cmp) {
    case MCOMM_CMP_EQ:
        return seen == value;
    case MCOMM_CMP_NE:
        return seen != value;
    case MCOMM_CMP_GT:
        return seen > value;
    case MCOMM_CMP_GE:
        return seen >= value;
    case MCOMM_CMP_LT:
        return seen < value;
    case MCOMM_CMP_LE:
        return seen <= value;
    }
    return false;
}

static bool is_satisfied(const struct waiting *waiting, uint64_t *seen_p)
{
    *seen_p = __atomic_load_n(waiting->word, __ATOMIC_SEQ_CST);
    return compares(*seen_p, waiting->cmp, waiting->value);
}

static int poll_words(void *arg)
{
    struct mci_list *node;
    uint64_t seen;
    int events = 0;

    (void)arg;
    MCI_LIST_FOREACH (node, &waitings)
        events += is_satisfied(mci_container_of(node, struct waiting, link), &seen);
    return events;
}

mcomm_err_t mci_rma_signal_start(void)
{
    mci_list_init(&waitings);
    return mci_poll_add(poll_words, NULL, 1);
}

void mci_rma_signal_stop(void)
{
    mci_engine_lock();
    mci_poll_remove(poll_words, NULL);
    mci_engine_unlock();
}

/* ---- put with signal ---- */
/*
 * The signal's store was a full fence, and so is the waiter's increment: one sees the other. The
 * lock keeps the doorbell's page from going away.
 */
static void ring(struct mci_win *win, int target)
{
    struct rma_target *t = &win->targets[target];
    struct rma_ctl *ctl = target == win->rank ? win->ctl : t->path->ctl;

    if (__builtin_expect(atomic_load(&ctl->waiters) == 0, 1))
        return;
    mci_engine_lock();
    if (target == win->rank)
        mci_wake_self();
    else if (t->peer->bell != NULL)
        mci_doorbell_ring(t->peer->bell);
    mci_engine_unlock();
}

static mcomm_err_t remote_put_signal(struct mci_win *win, const void *buf, size_t nbytes,
                                     int target, uint64_t offset, const struct rma_signal *signal,
                                     mcomm_signal_op_t op)
{
    unsigned flag = op == MCOMM_SIGNAL_ADD ? RMA_F_SIGNAL_ADD : RMA_F_SIGNAL_SET;
    struct rma_path *path;
    mcomm_err_t err;
    char *map;

    mci_engine_lock();
    err = mci_rma_path_probe(win, target, &path);
    map = rma_map(&win->targets[target]);
    if (err == MCOMM_SUCCESS && map == NULL)
        err = mci_rma_remote_put(win, target, path, buf, nbytes, offset, signal, flag, NULL);
    mci_engine_unlock();
    return err != MCOMM_SUCCESS ? err : map != NULL ? MCI_PENDING : MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_put_signal(struct mci_win *win, const void *buf, size_t nbytes, int target,
                               uint64_t disp, uint64_t signal_disp, uint64_t signal,
                               mcomm_signal_op_t op)
{
    struct rma_target *t;
    struct rma_signal at = {0, signal};
    uint64_t offset = 0;
    char *map;
    mcomm_err_t err;

    if (op != MCOMM_SIGNAL_SET && op != MCOMM_SIGNAL_ADD)
        return mci_err_set(MCOMM_ERR_OP, "op is %d, not a MCOMM_SIGNAL_ operation", (int)op);
    err = rma_resolve(win, target, signal_disp, sizeof(uint64_t), MCOMM_WIN_ATOMIC, &t, &at.offset);
    if (err != MCOMM_SUCCESS)
        return err == MCI_PENDING ? MCOMM_SUCCESS : err;
    if ((t->base + at.offset) % sizeof(uint64_t) != 0)
        return mci_err_set(MCOMM_ERR_BUFFER,
                           "signal_disp %llu at target %d is not aligned to 8 bytes",
                           (unsigned long long)signal_disp, target);
    if (nbytes > 0) {
        err = rma_resolve(win, target, disp, nbytes, MCOMM_WIN_WRITE, &t, &offset);
        if (err == MCOMM_SUCCESS)
            err = mci_check_buffer("buf", buf, nbytes);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    map = rma_map(t);
    if (map == NULL) {
        err = remote_put_signal(win, buf, nbytes, target, offset, &at, op);
        if (err != MCI_PENDING)
            return err;
        map = rma_map(t);
    }
    if (nbytes > 0)
        mci_rma_copy_out(t, map + offset, buf, nbytes);
    mci_rma_signal_apply(map + at.offset, signal, op == MCOMM_SIGNAL_ADD);
    ring(win, target);
    return MCOMM_SUCCESS;
}

/* ---- wait ---- */
/* A death ends every wait that has begun, or else the next one; waiting again goes on: others may
 * still signal. */
static mcomm_err_t new_death(struct mci_win *win, const struct waiting *waiting)
{
    if (win->comm->failed_count == waiting->failed_seen)
        return MCOMM_SUCCESS;
    win->failed_seen = win->comm->failed_count;
    return mci_err_set(MCOMM_ERR_PROC_FAILED,
                       "rank %d failed while this rank waits for a signal; it may wait again",
                       mci_comm_first_failed(win->comm));
}

/* A member that might signal is watched once the wait has become long. lock: engine */
static void watch_all(struct mci_win *win)
{
    for (int i = 0; i < win->size; i++)
        if (i != win->rank)
            mci_peer_watch(win->targets[i].peer);
}

static mcomm_err_t wait_loop(struct mci_win *win, struct waiting *waiting, int timeout_ms,
                             uint64_t *seen_p)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;
    int64_t watch_ns = mci_clock_ns() + WATCH_AFTER_NS;
    bool is_watched = false;

    mci_wait_begin(&w, timeout_ms);
    while (!is_satisfied(waiting, seen_p) && err == MCOMM_SUCCESS) {
        err = mci_wait_step(&w);
        if (is_satisfied(waiting, seen_p))
            return MCOMM_SUCCESS;
        if (err == MCOMM_SUCCESS)
            err = new_death(win, waiting);
        if (err == MCOMM_SUCCESS && atomic_load(&win->comm->is_revoked))
            err = mci_err_set(MCOMM_ERR_REVOKED, "the window's communicator is revoked");
        if (!is_watched && mci_clock_ns() >= watch_ns) {
            is_watched = true;
            watch_all(win);
        }
    }
    return err;
}

mcomm_err_t mci_rma_wait_signal(struct mci_win *win, uint64_t signal_disp, mcomm_cmp_t cmp,
                                uint64_t value, int timeout_ms, uint64_t *value_p)
{
    struct waiting waiting = {.cmp = cmp, .value = value};
    uint64_t offset, seen;
    void *place;
    mcomm_err_t err;

    if (cmp < MCOMM_CMP_EQ || cmp > MCOMM_CMP_LE)
        return mci_err_set(MCOMM_ERR_ARG, "cmp is %d, not a MCOMM_CMP_ value", (int)cmp);
    if (__builtin_mul_overflow(signal_disp, win->targets[win->rank].disp_unit, &offset))
        offset = UINT64_MAX;
    if (win->kind == RMA_DYNAMIC) {
        mci_engine_lock();
        err = mci_interval_covers(&win->attached, offset, sizeof(uint64_t)) ? MCOMM_SUCCESS
                                                                            : MCOMM_ERR_RMA_RANGE;
        mci_engine_unlock();
        place = (void *)(uintptr_t)offset;
    } else {
        err = offset <= win->nbytes && win->nbytes - offset >= sizeof(uint64_t)
                  ? MCOMM_SUCCESS
                  : MCOMM_ERR_RMA_RANGE;
        place = err == MCOMM_SUCCESS ? win->base + offset : NULL;
    }
    if (err != MCOMM_SUCCESS)
        return mci_err_set(err, "signal_disp %llu is outside this rank's part",
                           (unsigned long long)signal_disp);
    if ((uintptr_t)place % sizeof(uint64_t) != 0)
        return mci_err_set(MCOMM_ERR_BUFFER, "signal_disp %llu is not aligned to 8 bytes",
                           (unsigned long long)signal_disp);
    waiting.word = place;
    if (!is_satisfied(&waiting, &seen)) {
        mci_engine_lock();
        waiting.failed_seen = win->failed_seen;
        mci_list_push(&waitings, &waiting.link);
        atomic_fetch_add(&win->ctl->waiters, 1);
        err = wait_loop(win, &waiting, timeout_ms, &seen);
        atomic_fetch_sub(&win->ctl->waiters, 1);
        mci_list_remove(&waiting.link);
        mci_engine_unlock();
    }
    if (err == MCOMM_SUCCESS && value_p != NULL)
        *value_p = seen;
    return err;
}
