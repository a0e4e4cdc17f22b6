/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Several threads of each process on one window at once. */
#include "rma_window.h"

#include <pthread.h>
#include <sched.h>

#define THREADS 4
#define TURNS 150

/* A process has one lock on a target at a time: its threads take turns, they never share it. */
static void count_locked(void)
{
    mcomm_err_t err;

    while ((err = mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win)) == MCOMM_ERR_RMA_SYNC)
        sched_yield();
    CHECK_EQ(err, MCOMM_SUCCESS);
    put_word(0, 24, get_word(0, 24) + 1);
    OK(mcomm_win_unlock(0, win));
}

static void *thread_main(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg, one = 1, old;
    uint64_t slot = 64 + ((uint64_t)mp_rank * THREADS + me) * 2048, data[256], back[256];

    for (uint64_t i = 0; i < TURNS; i++) {
        int target = (mp_rank + (int)(i + me)) % mp_size;

        for (size_t k = 0; k < 256; k++)
            data[k] = i * 7 + me * 3 + k;
        OK(mcomm_put(data, sizeof(data), target, slot, win));
        OK(mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, target, 0, MCOMM_SUM, win));
        OK(mcomm_accumulate(&one, 1, MCOMM_UINT64, target, 8, MCOMM_SUM, win));
        OK(mcomm_flush(target, win));
        OK(mcomm_get(back, sizeof(back), target, slot, win));
        OK(mcomm_flush(target, win));
        CHECK(memcmp(data, back, sizeof(data)) == 0);
        OK(mcomm_put_signal(NULL, 0, target, 0, 16, 1, MCOMM_SIGNAL_ADD, win));
        if (i % 10 == 0)
            count_locked();
    }
    return NULL;
}

static void test_threads(const char *kind)
{
    pthread_t threads[THREADS];
    uint64_t sums[3];

    window_make(kind, 64 + (size_t)mp_size * THREADS * 2048);
    OK(mcomm_win_fence(win));
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(mcomm_win_fence(win));
    memcpy(sums, mine, sizeof(sums));
    OK(mcomm_allreduce(MCOMM_IN_PLACE, sums, 3, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sums[i], (uint64_t)mp_size * THREADS * TURNS);
    if (mp_rank == 0)
        CHECK_EQ(mine[3], (uint64_t)mp_size * THREADS * (TURNS / 10));
    OK(mcomm_win_fence(win));
    window_free(kind);
}

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"threads", test_threads},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
