/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * How far apart two cores are, found out by timing loads that bring a new value: pure cache misses,
 * 20-50 ns where the cores share a cache, over 130 where not. It decides the kind of store. The
 * start is far, since a wrong guess costs less that way.
 */
#ifndef MCI_BASE_NEAR_H
#define MCI_BASE_NEAR_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>

#define MCI_NEAR_MISS_NS 75u
#define MCI_NEAR_CAP_NS 600u
#define MCI_NEAR_WEIGHT 8u /* samples that the running average stands for */
#define MCI_NEAR_FEW 4u    /* fewer decide nothing */

struct mci_near {
    uint32_t miss;  /* average, sixteenths of ns */
    uint32_t count; /* of samples, up to the weight */
    bool is_near;
};

/* Hysteresis of 10 % around the threshold. */
static inline void mci_near_sample(struct mci_near *near, uint64_t ticks)
{
    double ns = (double)ticks * mci_clock_ns_per_tick;
    uint32_t sample = ns < MCI_NEAR_CAP_NS ? (uint32_t)(ns * 16) : MCI_NEAR_CAP_NS * 16;

    if (near->count < MCI_NEAR_WEIGHT)
        near->count++;
    near->miss = (near->miss * (near->count - 1) + sample) / near->count;
    if (near->count < MCI_NEAR_FEW)
        return;
    if (near->miss < MCI_NEAR_MISS_NS * 16 * 9 / 10)
        near->is_near = true;
    else if (near->miss > MCI_NEAR_MISS_NS * 16 * 11 / 10)
        near->is_near = false;
}

/* Ticks since begin, all loads before included. */
static inline uint64_t mci_near_elapsed(uint64_t begin)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#endif
    return mci_clock_ticks() - begin;
}

/* Load, and how many ticks it took. */
static inline uint64_t mci_near_load(const _Atomic uint64_t *word, uint64_t *ticks_p)
{
    uint64_t begin = mci_clock_ticks();
    uint64_t value = atomic_load_explicit(word, memory_order_acquire);

    *ticks_p = mci_near_elapsed(begin);
    return value;
}

#endif
