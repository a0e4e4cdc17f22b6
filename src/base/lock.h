/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The engine lock: one per process, held while any state of rails, matching, windows or progress
 * is touched. Taken by the _api.c functions and by the monitor thread. With MCOMM_THREAD_SINGLE it
 * is biased to the one calling thread: that thread pays two plain stores, the monitor a membarrier.
 */
#ifndef MCI_BASE_LOCK_H
#define MCI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mci_engine {
    _Atomic uint32_t word;    /* 0 free, 1 taken, 2 taken and somebody sleeps */
    _Atomic uint32_t waiters; /* threads that want it */
    bool is_biased;
};
extern struct mci_engine mci_engine;

void mci_engine_lock_init(bool single_thread);
void mci_engine_lock_slow(void); /* biased, or taken */
void mci_engine_unlock_biased(void);
void mci_engine_unlock_wake(void);

static inline void mci_engine_lock(void)
{
    uint32_t free = 0;

    if (__builtin_expect(mci_engine.is_biased, 0) ||
        __builtin_expect(!atomic_compare_exchange_strong_explicit(&mci_engine.word, &free, 1,
                                                                  memory_order_acquire,
                                                                  memory_order_relaxed),
                         0))
        mci_engine_lock_slow();
}

static inline void mci_engine_unlock(void)
{
    if (__builtin_expect(mci_engine.is_biased, 0))
        mci_engine_unlock_biased();
    else if (__builtin_expect(
                 atomic_exchange_explicit(&mci_engine.word, 0, memory_order_release) == 2, 0))
        mci_engine_unlock_wake();
}

/* Another thread waits for the lock: a polling loop should make room. */
bool mci_engine_is_contended_biased(void);
static inline bool mci_engine_is_contended(void)
{
    return __builtin_expect(mci_engine.is_biased, 0)
               ? mci_engine_is_contended_biased()
               : atomic_load_explicit(&mci_engine.waiters, memory_order_relaxed) != 0;
}
/* The monitor thread calls this once; its lock calls then take the other side of the bias. */
void mci_engine_lock_is_monitor(void);

#endif
