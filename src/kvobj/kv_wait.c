/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Waiting for another process to let go of something: a bucket's lock, a slab. Nobody rings for
 * these, and no progress of ours is needed, so this backs off instead of sleeping on the doorbell.
 */
#include "config.h"

#include "base/clock.h"
#include "kvobj/kv_priv.h"

#include <sched.h>
#include <time.h>

#define PAUSES 32u
#define YIELDS 256u
#define SLEEP_MIN_NS 20000
#define SLEEP_MAX_NS 1000000

void mci_kv_wait_begin(struct kv_waiter *w, int timeout_ms)
{
    w->deadline_ns = 0;
    w->timeout_ms = timeout_ms;
    w->rounds = 0;
    w->is_hurried = false;
}

mcomm_err_t mci_kv_wait_step(struct kv_waiter *w)
{
    struct timespec ts = {0, SLEEP_MIN_NS};
    unsigned round = w->rounds++;

    if (w->is_hurried)
        return MCOMM_ERR_TIMEOUT;
    if (w->deadline_ns == 0 && w->timeout_ms >= 0)
        w->deadline_ns = mci_clock_ns() + (int64_t)w->timeout_ms * 1000000;
    if (round < PAUSES) {
        mci_cpu_pause();
        return MCOMM_SUCCESS;
    }
    if (w->timeout_ms >= 0 && mci_clock_ns() >= w->deadline_ns)
        return MCOMM_ERR_TIMEOUT;
    if (round < PAUSES + YIELDS) {
        sched_yield();
        return MCOMM_SUCCESS;
    }
    ts.tv_nsec = (long)(round - PAUSES - YIELDS + 1) * SLEEP_MIN_NS;
    if (ts.tv_nsec > SLEEP_MAX_NS)
        ts.tv_nsec = SLEEP_MAX_NS;
    nanosleep(&ts, NULL);
    return MCOMM_SUCCESS;
}
