/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Post, start, complete, wait. */
#include "rma_window.h"

#include <signal.h>

static void test_pscw(const char *kind)
{
    mcomm_group_t world, others;

    window_make(kind, 8 * (size_t)mp_size);
    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &world));
    OK(mcomm_group_excl(world, 1, &mp_rank, &others));
    for (uint64_t round = 1; round <= 50; round++) {
        uint64_t word = round * 100 + (uint64_t)mp_rank;
        int done = 0;

        OK(mcomm_win_post(others, win));
        OK(mcomm_win_start(others, win));
        for (int i = 0; i < mp_size; i++)
            if (i != mp_rank)
                OK(mcomm_put(&word, 8, i, 8 * (uint64_t)mp_rank, win));
        OK(mcomm_win_complete(win));
        if (round % 2 == 0)
            OK(mcomm_win_wait(win));
        else
            while (!done)
                OK(mcomm_win_test(win, &done));
        for (int i = 0; i < mp_size; i++)
            if (i != mp_rank)
                CHECK_EQ(mine[i], round * 100 + (uint64_t)i);
    }
    OK(mcomm_group_free(&others));
    OK(mcomm_group_free(&world));
    window_free(kind);
}

/* Rank 2 dies in an epoch of rank 0; rank 1's late complete must not end the next one. */
static void test_pscw_death(const char *kind)
{
    mcomm_comm_t comm = MCOMM_COMM_WORLD;
    mcomm_group_t world, both, one;
    int zero = 0, others[] = {1, 2}, token = 0, done = 1;

    window_make(kind, 64);
    OK(mcomm_comm_group(comm, &world));
    OK(mcomm_group_incl(world, 2, others, &both));
    OK(mcomm_group_incl(world, 1, mp_rank == 0 ? &others[0] : &zero, &one));
    if (mp_rank == 0) {
        OK(mcomm_win_post(both, win));
        OK(mcomm_recv(&token, sizeof(token), 1, 1, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_send(&token, sizeof(token), 2, 1, comm));
        EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_wait(win));
        OK(mcomm_win_post(one, win));
        OK(mcomm_send(&token, sizeof(token), 1, 1, comm));
        OK(mcomm_recv(&token, sizeof(token), 1, 2, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_test(win, &done));
        CHECK_EQ(done, 0); /* that was the epoch before */
        OK(mcomm_send(&token, sizeof(token), 1, 2, comm));
        OK(mcomm_win_wait(win));
        CHECK_EQ(get_word(0, 0), 7);
    } else if (mp_rank == 1) {
        OK(mcomm_win_start(one, win));
        OK(mcomm_send(&token, sizeof(token), 0, 1, comm));
        OK(mcomm_recv(&token, sizeof(token), 0, 1, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_complete(win));
        OK(mcomm_send(&token, sizeof(token), 0, 2, comm));
        OK(mcomm_recv(&token, sizeof(token), 0, 2, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_start(one, win));
        put_word(0, 0, 7);
        OK(mcomm_win_complete(win));
    } else {
        OK(mcomm_recv(&token, sizeof(token), 0, 1, comm, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(mcomm_group_free(&one));
    OK(mcomm_group_free(&both));
    OK(mcomm_group_free(&world));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"pscw", test_pscw},
        {"pscw_death", test_pscw_death},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
