/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The round trip of a flag in shared memory, which says how near the cores of two ranks are. */
#include "config.h"

#include "perf/bench.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURSTS 41
#define ROUNDS 100 /* of a burst */
#define NEAR_NS 300.0
#define LOOKS 10000 /* far longer than any flag is on its way */

static uint64_t turn; /* what the flags have come to: equal on both */

/* The other rank may need this core. */
static void await_turn(const _Atomic uint64_t *flag)
{
    for (unsigned looks = 1; atomic_load_explicit(flag, memory_order_acquire) < turn; looks++)
        if (looks % LOOKS == 0)
            sched_yield();
}

static double burst_ns(struct bench *b)
{
    _Atomic uint64_t *mine = b->flags[0], *theirs = b->flags[1];
    double begin = mcomm_wtime();

    for (int i = 0; i < ROUNDS; i++) {
        turn++;
        if (b->rank == 0)
            atomic_store_explicit(theirs, turn, memory_order_release);
        await_turn(mine);
        if (b->rank != 0)
            atomic_store_explicit(theirs, turn, memory_order_release);
    }
    return (mcomm_wtime() - begin) / ROUNDS * 1e9;
}

/* Ranks 0 and 1, with all others asleep or nearly so; the median leaves out what disturbed them. */
static double round_trip_ns(struct bench *b)
{
    double ns[BURSTS];

    for (int i = 0; i < BURSTS; i++)
        ns[i] = burst_ns(b);
    qsort(ns, BURSTS, sizeof(*ns), bench_compare);
    return ns[BURSTS / 2];
}

/* More ranks than two share cores: these two take different ones meanwhile, if they may. */
static int core_take(const struct bench *b, cpu_set_t *before)
{
    cpu_set_t one;
    int first = 0, last = CPU_SETSIZE - 1;

    if (b->size == 2)
        return 0;
    if (sched_getaffinity(0, sizeof(*before), before) != 0 || CPU_COUNT(before) < 2)
        return -1;
    while (!CPU_ISSET(first, before))
        first++;
    while (!CPU_ISSET(last, before))
        last--;
    CPU_ZERO(&one);
    CPU_SET(b->rank == 0 ? first : last, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

static void core_give(const struct bench *b, const cpu_set_t *before)
{
    if (b->size > 2)
        sched_setaffinity(0, sizeof(*before), before);
}

const char *bench_placement(struct bench *b)
{
    cpu_set_t before;
    int can, both = 0;

    if (b->flag_win == MCOMM_WIN_NULL || b->failed != NULL)
        return "-";
    CPU_ZERO(&before);
    can = b->rank > 1 || (b->flags[1] != NULL && core_take(b, &before) == 0);
    bench_check(b, mcomm_allreduce(&can, &both, 1, MCOMM_INT32, MCOMM_MIN, b->comm), "allreduce");
    if (both && b->failed == NULL && b->rank < 2)
        b->flag_ns = round_trip_ns(b);
    bench_check(b, mcomm_barrier(b->comm), "barrier"); /* the others wait here */
    if (can && b->rank < 2)
        core_give(b, &before);
    return !both ? "-" : b->flag_ns < NEAR_NS ? "near" : "far";
}

void bench_flag_open(struct bench *b)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    FILE *out = b->is_csv ? stderr : stdout;
    const char *comment = b->is_csv ? "# " : "", *state;

    if (b->size < 2)
        return;
    attr.nbytes = 4096;
    bench_check(b, mcomm_win_allocate(&attr, b->comm, &b->flags[0], &b->flag_win), "win_allocate");
    if (b->failed != NULL)
        return;
    if (b->rank < 2)
        bench_check(b, mcomm_win_shared_query(b->flag_win, 1 - b->rank, &b->flags[1]),
                    "win_shared_query");
    state = bench_placement(b);
    if (b->rank != 0)
        return;
    if (strcmp(state, "-") == 0)
        fprintf(out, "%sranks 0 and 1 do not share memory, or have one core: no placement\n",
                comment);
    else
        fprintf(out, "%sflag round trip %.0f ns: cores are %s\n", comment, b->flag_ns, state);
}

void bench_flag_close(struct bench *b)
{
    if (b->flag_win != MCOMM_WIN_NULL)
        bench_check(b, mcomm_win_free(&b->flag_win), "win_free");
}
