/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Monotonic time, and the length of a tick of the CPU's counter, measured once over 2 ms. */
#include "config.h"

#include "base/clock.h"

#include "mooncake_comm.h"

#include <limits.h>
#include <pthread.h>
#include <time.h>

double mci_clock_ns_per_tick = 1.0;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int64_t mci_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t mci_deadline_ns(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : mci_clock_ns() + (int64_t)timeout_ms * 1000000;
}

int mci_deadline_left_ms(int64_t deadline_ns)
{
    int64_t left_ms;

    if (deadline_ns == INT64_MAX)
        return MCOMM_FOREVER;
    left_ms = (deadline_ns - mci_clock_ns() + 999999) / 1000000;
    return left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

double mcomm_wtime(void)
{
    return (double)mci_clock_ns() * 1e-9;
}

static void clock_calibrate(void)
{
    int64_t ns = mci_clock_ns(), end;
    uint64_t ticks = mci_clock_ticks();

    do {
        end = mci_clock_ns();
    } while (end - ns < 2000000);
    mci_clock_ns_per_tick = (double)(end - ns) / (double)(mci_clock_ticks() - ticks);
}

void mci_clock_init(void)
{
    pthread_once(&once, clock_calibrate);
}
