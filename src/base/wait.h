/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The only place that waits. A waiting thread drives progress: it polls, spins a little if every
 * local rank has a core, then yields, and sleeps on its doorbell when a foreign process wants the
 * core (a yield that lasted over 1 ms, and no peer had the core) or nothing has come for long.
 * Wakers ring only if the doorbell says that somebody sleeps.
 */
#ifndef MCI_BASE_WAIT_H
#define MCI_BASE_WAIT_H

#include "mooncake_comm.h"

#include <stdatomic.h>
#include <stdbool.h>

/* One page of shared memory per process, mapped by its local peers. */
struct mci_doorbell {
    _Atomic uint32_t seq;       /* futex word; changed by every ring */
    _Atomic uint32_t sleepers;  /* threads asleep or about to be */
    struct mci_presence {       /* for presence.h */
        _Atomic uint64_t since; /* twice the ticks, plus 1 if it is away */
        _Atomic int32_t core;
    } presence __attribute__((aligned(128)));
};

mcomm_err_t mci_doorbell_start(void); /* creates this process's page */
void mci_doorbell_stop(void);
extern struct mci_doorbell *mci_doorbell_self;
/* To be passed to local peers, which map 4096 bytes of it. From then on they may ring. */
int mci_doorbell_fd(void);

void mci_doorbell_wake(struct mci_doorbell *bell); /* the slow part of ring */
/* After a store that a sleeper of bell's process may wait for. No fence: sleepers use membarrier.
 */
static inline void mci_doorbell_ring(struct mci_doorbell *bell)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&bell->sleepers, memory_order_relaxed) != 0, 0))
        mci_doorbell_wake(bell);
}
/* Something completed in this process: wake its sleeping threads. lock: engine */
void mci_wake_self_slow(void);
extern unsigned
    mci_wait_sleepers; /* threads of this process, asleep or about to be. lock: engine */
static inline void mci_wake_self(void)
{
    if (__builtin_expect(mci_wait_sleepers != 0, 0))
        mci_wake_self_slow();
}

/* Pollers: called by whoever drives progress. Return the number of events handled. lock: engine */
typedef int (*mci_poll_fn_t)(void *arg);
mcomm_err_t mci_poll_add(mci_poll_fn_t fn, void *arg,
                         unsigned every); /* on each every-th round; a power of two */
void mci_poll_remove(mci_poll_fn_t fn, void *arg);
int mci_progress(void); /* one round over all pollers. lock: engine */

/* Processes of the job on this machine and cores this process may use: decides whether to spin. */
void mci_wait_set_local_ranks(int count, int allowed_cores);
bool mci_wait_may_spin(void); /* every local rank has a core of its own */

struct mci_waiter {
    int64_t deadline_ns; /* 0: not set yet; at the first look at the clock if timeout_ms >= 0 */
    uint32_t idle_rounds;
    uint32_t busy_rounds;
    int timeout_ms;
    bool is_late; /* found while there was work: the caller looks once more, then it is over */
};

/*
 * while (!done) { err = mci_wait_step(&w); if (err != MCOMM_SUCCESS) break; }
 * lock: engine is held on entry and on return; it is released while the thread relaxes. Returns
 * MCOMM_ERR_TIMEOUT once the limit has passed (after a last poll), else MCOMM_SUCCESS.
 */
static inline void mci_wait_begin(struct mci_waiter *w, int timeout_ms)
{
    w->deadline_ns = 0;
    w->idle_rounds = w->busy_rounds = 0;
    w->timeout_ms = timeout_ms;
    w->is_late = false;
}
mcomm_err_t mci_wait_step(struct mci_waiter *w);
/*
 * Until is_over(arg), which only what happens under the engine lock may bring about, before it
 * calls mci_wake_self(). One thread of the process drives progress, the others sleep until it is
 * over for them or their turn to drive. is_over is called by any thread, with the lock held, and
 * must not wait. Returns SUCCESS, or MCOMM_ERR_TIMEOUT. lock: engine, released meanwhile
 */
typedef bool (*mci_wait_fn_t)(void *arg);
mcomm_err_t mci_wait_until(mci_wait_fn_t is_over, void *arg, int timeout_ms);
mcomm_err_t mci_wait_flag(const bool *flag, int timeout_ms); /* until *flag. lock: engine */

#endif
