/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A ring of one-sided messages: each rank puts a block into the next one's window and signals it.
 */
#include <mooncake_comm.h>

#include <stdint.h>
#include <stdio.h>

#define WORDS 1024
#define ROUNDS 100

struct part { /* of every rank's window */
    uint64_t signal;
    uint64_t block[WORDS];
};

static void must(mcomm_err_t err, const char *what)
{
    if (err == MCOMM_SUCCESS)
        return;
    fprintf(stderr, "put_signal: %s: %s\n", what, mcomm_last_error());
    mcomm_abort(MCOMM_COMM_WORLD, 1, what);
}

int main(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    uint64_t out[WORDS], wrong = 0;
    struct part *mine;
    mcomm_win_t win;
    int rank, size;

    must(mcomm_init(NULL), "init");
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    attr.nbytes = sizeof(*mine);
    must(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&mine, &win), "win_allocate");
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (uint64_t i = 0; i < WORDS; i++)
            out[i] = (uint64_t)rank << 32 | round * WORDS | i;
        must(mcomm_put_signal(out, sizeof(out), (rank + 1) % size, offsetof(struct part, block),
                              offsetof(struct part, signal), 1, MCOMM_SIGNAL_ADD, win),
             "put_signal");
        must(
            mcomm_wait_signal(offsetof(struct part, signal), MCOMM_CMP_GE, round, 10000, NULL, win),
            "wait_signal");
        for (uint64_t i = 0; i < WORDS; i++)
            wrong +=
                mine->block[i] != ((uint64_t)((rank + size - 1) % size) << 32 | round * WORDS | i);
        must(mcomm_win_fence(win), "fence"); /* nobody overwrites what is still being read */
    }
    must(mcomm_win_free(&win), "win_free");
    if (rank == 0)
        printf("%d rounds over %d ranks, rank 0 saw %llu wrong words\n", ROUNDS, size,
               (unsigned long long)wrong);
    must(mcomm_finalize(), "finalize");
    return wrong != 0;
}
