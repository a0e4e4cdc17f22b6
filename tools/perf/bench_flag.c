/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The round trip of a flag in shared memory, which says how near the cores of two ranks are. */
#include "config.h"

#include "perf/bench.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 4000
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

static double round_trip_ns(struct bench *b)
{
    _Atomic uint64_t *mine = b->flags[0], *theirs = b->flags[1];
    double begin;

    bench_check(b, mcomm_barrier(b->comm), "barrier");
    begin = mcomm_wtime();
    for (int i = 0; i < ROUNDS && b->failed == NULL; i++) {
        turn++;
        if (b->rank == 0)
            atomic_store_explicit(theirs, turn, memory_order_release);
        await_turn(mine);
        if (b->rank != 0)
            atomic_store_explicit(theirs, turn, memory_order_release);
    }
    return (mcomm_wtime() - begin) / ROUNDS * 1e9;
}

const char *bench_placement(struct bench *b)
{
    if (b->flags[1] == NULL)
        return "-";
    return round_trip_ns(b) < NEAR_NS ? "near" : "far";
}

void bench_flag_open(struct bench *b)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    FILE *out = b->is_csv ? stderr : stdout;
    const char *comment = b->is_csv ? "# " : "";
    double ns;

    if (b->size != 2) /* spinning needs a core for each */
        return;
    attr.nbytes = 4096;
    bench_check(b, mcomm_win_allocate(&attr, b->comm, &b->flags[0], &b->flag_win), "win_allocate");
    if (b->failed != NULL)
        return;
    bench_check(b, mcomm_win_shared_query(b->flag_win, 1 - b->rank, &b->flags[1]),
                "win_shared_query");
    ns = b->flags[1] != NULL ? round_trip_ns(b) : 0;
    if (b->rank != 0)
        return;
    if (b->flags[1] == NULL)
        fprintf(out, "%sranks do not share memory\n", comment);
    else
        fprintf(out, "%sflag round trip %.0f ns: cores are %s\n", comment, ns,
                ns < NEAR_NS ? "near" : "far");
}

void bench_flag_close(struct bench *b)
{
    if (b->flag_win != MCOMM_WIN_NULL)
        bench_check(b, mcomm_win_free(&b->flag_win), "win_free");
}
