/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The engine lock. MULTIPLE: a futex mutex with a waiter count. SINGLE: Dekker's flags, the
 * application's side without a fence; the monitor makes the fence for both with membarrier()
 * (Dice, Moir, Scherer: quickly reacquirable locks). Where membarrier is refused, SINGLE =
 * MULTIPLE.
 */
#include "config.h"

#include "base/lock.h"
#include "base/clock.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mci_engine mci_engine __attribute__((aligned(64)));
static struct {
    _Atomic uint32_t app;     /* the application's thread is inside */
    _Atomic uint32_t monitor; /* the monitor wants in or is inside */
} bias __attribute__((aligned(64)));
static __thread bool is_monitor;

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void mci_engine_lock_init(bool single_thread)
{
    mci_engine.is_biased =
        single_thread &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void mci_engine_lock_is_monitor(void)
{
    is_monitor = true;
}

static void lock_taken(void)
{
    atomic_fetch_add(&mci_engine.waiters, 1);
    for (int i = 0; i < 64; i++) {
        uint32_t free = 0;

        if (atomic_compare_exchange_strong(&mci_engine.word, &free, 1))
            goto taken;
        mci_cpu_pause();
    }
    while (atomic_exchange(&mci_engine.word, 2) != 0)
        futex_wait(&mci_engine.word, 2);
taken:
    atomic_fetch_sub(&mci_engine.waiters, 1);
}

static void bias_app_enter(void)
{
    for (;;) {
        atomic_store_explicit(&bias.app, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* the monitor's membarrier makes it a fence */
        if (__builtin_expect(atomic_load_explicit(&bias.monitor, memory_order_acquire) == 0, 1))
            return;
        atomic_store_explicit(&bias.app, 0, memory_order_release);
        futex_wake(&bias.app, 1);
        while (atomic_load_explicit(&bias.monitor, memory_order_acquire) != 0)
            futex_wait(&bias.monitor, 1);
    }
}

static void bias_app_leave(void)
{
    atomic_store_explicit(&bias.app, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&bias.monitor, memory_order_relaxed) != 0, 0))
        futex_wake(&bias.app, 1);
}

static void bias_monitor_enter(void)
{
    atomic_store(&bias.monitor, 1);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    while (atomic_load_explicit(&bias.app, memory_order_acquire) != 0)
        futex_wait(&bias.app, 1);
}

static void bias_monitor_leave(void)
{
    atomic_store(&bias.monitor, 0);
    futex_wake(&bias.monitor, 1);
}

void mci_engine_lock_slow(void)
{
    if (!mci_engine.is_biased)
        lock_taken();
    else if (is_monitor)
        bias_monitor_enter();
    else
        bias_app_enter();
}

void mci_engine_unlock_biased(void)
{
    if (is_monitor)
        bias_monitor_leave();
    else
        bias_app_leave();
}

void mci_engine_unlock_wake(void)
{
    futex_wake(&mci_engine.word, 1);
}

bool mci_engine_is_contended_biased(void)
{
    return atomic_load_explicit(&bias.monitor, memory_order_relaxed) != 0;
}
