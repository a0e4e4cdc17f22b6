/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A local peer that computes does not look at its shared memory. While an answer of such a peer is
 * due, it is kicked: at growing intervals by the thread that waits, and every millisecond by this
 * process's monitor for operations that nobody waits for yet. A peer that is in a call answers
 * long before the first kick.
 */
#include "config.h"

#include "base/clock.h"
#include "base/loop.h"
#include "rma/rma_priv.h"

#define FIRST_NS 20000
#define LAST_NS 1000000

static struct mci_list due;
static struct mci_loop_timer timer;
static bool is_armed;
static _Thread_local int cap_ms = -1;

static void timer_fired(struct mci_loop_timer *t)
{
    struct mci_list *node, *tmp;

    is_armed = false;
    MCI_LIST_FOREACH_SAFE (node, tmp, &due) {
        struct rma_path *path = mci_container_of(node, struct rma_path, kick_link);

        if (mci_list_is_empty(&path->ops) && path->issued == path->acked)
            mci_list_remove(node);
        else
            mci_peer_kick(path->peer);
    }
    if (mci_list_is_empty(&due))
        return;
    is_armed = true;
    mci_loop_timer_set(t, LAST_NS);
}

void mci_rma_kick_start(void)
{
    mci_list_init(&due);
    mci_loop_timer_init(&timer, timer_fired, NULL);
    is_armed = false;
}

/* lock: none; before the windows, whose paths are in the list, go */
void mci_rma_kick_stop(void)
{
    mci_engine_lock();
    mci_loop_timer_cancel(&timer);
    is_armed = false;
    while (mci_list_pop(&due) != NULL)
        ;
    mci_engine_unlock();
}

void mci_rma_kick_later(struct rma_path *path)
{
    if (mci_list_is_empty(&path->kick_link))
        mci_list_push(&due, &path->kick_link);
    if (is_armed)
        return;
    is_armed = true;
    mci_loop_timer_set(&timer, LAST_NS);
}

void mci_rma_wait_cap(int timeout_ms)
{
    cap_ms = timeout_ms;
}

void mci_rma_wait_begin(struct rma_waiter *w, struct mci_peer *peer, int timeout_ms)
{
    if (cap_ms >= 0 && (timeout_ms < 0 || cap_ms < timeout_ms))
        timeout_ms = cap_ms;
    w->peer = peer->bell != NULL ? peer : NULL;
    w->timeout_ms = timeout_ms;
    mci_wait_begin(&w->inner, w->peer != NULL ? 1 : timeout_ms);
    if (w->peer == NULL)
        return;
    w->interval_ns = FIRST_NS;
    w->kick_ns = mci_clock_ns() + FIRST_NS;
    w->deadline_ns = mci_clock_ns() + (int64_t)timeout_ms * 1000000;
}

mcomm_err_t mci_rma_wait_step(struct rma_waiter *w)
{
    mcomm_err_t err = mci_wait_step(&w->inner);
    int64_t now;

    if (w->peer == NULL)
        return err;
    now = mci_clock_ns();
    if (now >= w->kick_ns) {
        mci_peer_kick(w->peer);
        w->interval_ns = w->interval_ns * 2 < LAST_NS ? w->interval_ns * 2 : LAST_NS;
        w->kick_ns = now + w->interval_ns;
    }
    if (w->timeout_ms >= 0 && now >= w->deadline_ns)
        return mci_err_set(MCOMM_ERR_TIMEOUT, "nothing came within %d ms", w->timeout_ms);
    if (err == MCOMM_ERR_TIMEOUT)
        mci_wait_begin(&w->inner, 1);
    return MCOMM_SUCCESS;
}
