/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Time. mci_clock_ns() is a vDSO call (about 25 ns); mci_clock_ticks() a few ns, for short spans.
 */
#ifndef MCI_BASE_CLOCK_H
#define MCI_BASE_CLOCK_H

#include <stdint.h>

int64_t mci_clock_ns(void); /* CLOCK_MONOTONIC */
/* When timeout_ms from now is over; INT64_MAX if that is MCOMM_FOREVER. */
int64_t mci_deadline_ns(int timeout_ms);
/* What is left until then, rounded up, as a time-out: 0 when it is over, MCOMM_FOREVER. */
int mci_deadline_left_ms(int64_t deadline_ns);
void mci_clock_init(void); /* calibrates ticks once; idempotent */
extern double mci_clock_ns_per_tick;

static inline uint64_t mci_clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)mci_clock_ns();
#endif
}

static inline void mci_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
