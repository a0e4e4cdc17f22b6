/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Locks. What is counted under one is counted by plain reads and writes, so that two holders at
 * once would lose some.
 */
#include "rma_window.h"

#include <signal.h>

static void test_lock(const char *kind)
{
    enum {
        TURNS = 60
    };
    uint64_t total = 0;

    window_make(kind, 64);
    for (int i = 0; i < TURNS; i++) {
        int target = i % mp_size;

        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, target, win));
        EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_lock(MCOMM_LOCK_SHARED, target, win));
        put_word(target, 0, get_word(target, 0) + 1);
        OK(mcomm_win_unlock(target, win));
        OK(mcomm_win_lock(MCOMM_LOCK_SHARED, target, win));
        CHECK(get_word(target, 8) == 0); /* nobody is inside exclusively */
        OK(mcomm_win_unlock(target, win));
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, target, win));
        put_word(target, 8, 1);
        put_word(target, 8, 0);
        OK(mcomm_win_unlock(target, win));
    }
    OK(mcomm_win_lock_all(win));
    EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_unlock(0, win)); /* only unlock_all ends it */
    CHECK_TEXT("lock_all");
    OK(mcomm_win_unlock_all(win));
    EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_unlock_all(win));
    OK(mcomm_win_fence(win));
    total = mine[0];
    OK(mcomm_allreduce(MCOMM_IN_PLACE, &total, 1, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    CHECK_EQ(total, TURNS * mp_size);
    window_free(kind);
}

/* The last rank dies with locks on rank 0; the others get them all the same. */
static void test_lock_death(const char *kind)
{
    mcomm_comm_t comm = MCOMM_COMM_WORLD;
    int last = mp_size - 1, token = 0;

    window_make(kind, 64);
    if (mp_rank == last) {
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win));
        if (mp_size > 2)
            OK(mcomm_win_lock(MCOMM_LOCK_SHARED, 1, win));
        for (int i = 0; i < last; i++)
            OK(mcomm_send(&token, sizeof(token), i, 1, comm));
        for (int i = 0; i < last; i++) /* all are out of the window's making */
            OK(mcomm_recv(&token, sizeof(token), i, 2, comm, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(mcomm_recv(&token, sizeof(token), last, 1, comm, MCOMM_STATUS_IGNORE));
    OK(mcomm_send(&token, sizeof(token), last, 2, comm));
    OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win));
    put_word(0, 0, get_word(0, 0) + 1);
    OK(mcomm_win_unlock(0, win));
    if (mp_size > 2) {
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 1, win));
        OK(mcomm_win_unlock(1, win));
    }
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_lock(MCOMM_LOCK_SHARED, last, win));
    OK(mcomm_win_lock_all(win)); /* of those that live */
    OK(mcomm_win_unlock_all(win));
    while (mp_rank == 0 && get_word(0, 0) < (uint64_t)last) { /* everybody got it */
        OK(mcomm_win_lock(MCOMM_LOCK_SHARED, 0, win));
        OK(mcomm_win_unlock(0, win));
    }
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"lock", test_lock},
        {"lock_death", test_lock_death},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
