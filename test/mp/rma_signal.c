/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Put with signal, and waiting for one. */
#include "base/wait.h"
#include "rma_window.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Whoever sees the signal sees the data, whatever its size. */
static void test_signal(const char *kind)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 17000, 70000, BLOCK};
    int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size;
    unsigned char *data = malloc(BLOCK);
    uint64_t seen = 0;

    window_make(kind, 64 + BLOCK);
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_wait_signal(0, MCOMM_CMP_NE, 0, 20, &seen, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_wait_signal(64 + BLOCK, MCOMM_CMP_NE, 0, 20, &seen, win));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_wait_signal(4, MCOMM_CMP_NE, 0, 20, &seen, win));
    OK(mcomm_win_fence(win));
    for (uint64_t i = 1; i <= 140; i++) {
        size_t nbytes = sizes[i % 7];

        fill(data, nbytes, i * 3 + (uint64_t)mp_rank);
        OK(mcomm_put_signal(data, nbytes, next, 64, 0, i % 2 ? i : 1,
                            i % 2 ? MCOMM_SIGNAL_SET : MCOMM_SIGNAL_ADD, win));
        OK(mcomm_wait_signal(0, MCOMM_CMP_GE, i, MCOMM_FOREVER, &seen, win));
        CHECK_EQ(seen, i);
        expect_fill((unsigned char *)mine + 64, nbytes, i * 3 + (uint64_t)prev);
        OK(mcomm_flush(next, win));
        OK(mcomm_put_signal(NULL, 0, prev, 0, 8, i, MCOMM_SIGNAL_SET, win)); /* you may write */
        OK(mcomm_wait_signal(8, MCOMM_CMP_EQ, i, MCOMM_FOREVER, NULL, win));
    }
    free(data);
    window_free(kind);
}

/* Waiting for a signal of one that dies ends; the window goes on. */
static void test_signal_death(const char *kind)
{
    int last = mp_size - 1;
    uint64_t seen;

    window_make(kind, 64);
    OK(mcomm_win_fence(win));
    mp_leave_last(last);
    if (mp_rank == last)
        raise(SIGKILL);
    EXPECT(MCOMM_ERR_PROC_FAILED,
           mcomm_wait_signal(0, MCOMM_CMP_GE, (uint64_t)mp_size * 2, MCOMM_FOREVER, &seen, win));
    CHECK_TEXT("rank");
    for (int i = 0; i < last; i++)
        OK(mcomm_put_signal(NULL, 0, i, 0, 8, 1, MCOMM_SIGNAL_ADD, win));
    OK(mcomm_wait_signal(8, MCOMM_CMP_EQ, (uint64_t)last, MCOMM_FOREVER, &seen, win));
    OK(mcomm_flush_all(win));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_put(&seen, 8, last, 0, win));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

static void *wait_in_vain(void *arg)
{
    uint64_t disp = (uint64_t)(uintptr_t)arg, seen;

    EXPECT(MCOMM_ERR_PROC_FAILED,
           mcomm_wait_signal(disp, MCOMM_CMP_NE, 0, MCOMM_FOREVER, &seen, win));
    CHECK_TEXT("rank");
    return NULL;
}

/* A death ends the wait of every thread, not of one. */
static void test_signal_death_threads(const char *kind)
{
    enum {
        WAITERS = 3
    };
    pthread_t threads[WAITERS];
    int last = mp_size - 1, token = 0;

    window_make(kind, 64);
    OK(mcomm_win_fence(win));
    if (mp_rank == last) {
        for (int i = 0; i < last; i++)
            OK(mcomm_recv(&token, sizeof(token), i, 1, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    for (uintptr_t i = 0; i < WAITERS; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_in_vain, (void *)(i * 8)) == 0);
    /* A wait that begins after another was told goes on: all have begun when all are asleep. */
    while (atomic_load(&mci_doorbell_self->sleepers) < WAITERS)
        sched_yield();
    OK(mcomm_send(&token, sizeof(token), last, 1, MCOMM_COMM_WORLD));
    for (int i = 0; i < WAITERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"signal", test_signal},
        {"signal_death", test_signal_death},
        {"signal_death_threads", test_signal_death_threads},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
