/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Small collectives back to back, single ranks late now and then. Every result is checked; of a
 * barrier, that nobody is behind it whose turn before it has not come.
 */
#include "coll_check.h"

#include <sched.h>
#include <stdatomic.h>

static mcomm_win_t win;
static atomic_long *turns[SMALL_RANKS]; /* of ranks that share memory, else NULL */

static void turns_make(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    void *base;

    attr.nbytes = sizeof(atomic_long);
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win));
    for (int r = 0; r < mp_size; r++)
        OK(mcomm_win_shared_query(win, r, (void **)&turns[r]));
    CHECK(turns[mp_rank] != NULL);
}

static void be_late(uint64_t draw)
{
    volatile int n = 0;

    if ((int)(draw >> 32) % 2)
        for (uint64_t i = 0; i < draw % 8; i++)
            sched_yield();
    else
        while (n < (int)(draw % 30000))
            n++;
}

int main(int argc, char **argv)
{
    static struct small s;
    uint64_t state = 7, own;
    long rounds = argc > 1 ? atol(argv[1]) : 1000;

    mp_init();
    own = (uint64_t)mp_rank + 99;
    turns_make();
    for (long round = 0; round < rounds; round++) {
        small_draw(&s, &state, round, MCOMM_COMM_WORLD, mp_rank, mp_size);
        if (rnd(&own) % 64 == 0)
            be_late(rnd(&own));
        atomic_store_explicit(turns[mp_rank], round, memory_order_relaxed);
        OK(small_call(&s, S_BLOCKING));
        small_check(&s);
        for (int r = 0; s.kind == S_BARRIER && r < mp_size; r++)
            if (turns[r] != NULL)
                CHECK(atomic_load_explicit(turns[r], memory_order_relaxed) >= round);
    }
    OK(mcomm_win_free(&win));
    OK(mcomm_finalize());
    return 0;
}
