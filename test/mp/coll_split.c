/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The last two ranks, of one node, and the others tell different counts whose sums are equal: what
 * goes by leaders is split wrongly nowhere, who finds it names it and all learn that the
 * communicator is lost. Without MCOMM_CHECK.
 */
#include "mp.h"

#define RANKS_MAX 8
#define T MCOMM_INT32

static int in[4 * RANKS_MAX], out[4 * RANKS_MAX];
static size_t counts[RANKS_MAX], displs[RANKS_MAX];
static int last, before_last;

/* Of each rank two, but of the last ones three and one, or one and three. */
static void draw(int is_swapped)
{
    for (int i = 0; i < mp_size; i++) {
        counts[i] = i == last ? 1 : i == before_last ? 3 : 2;
        if (i >= before_last && is_swapped)
            counts[i] = 4 - counts[i];
        displs[i] = 4 * (size_t)i;
    }
}

static mcomm_err_t gatherv(mcomm_comm_t comm)
{
    draw(mp_rank != 0);
    return mcomm_gatherv(in, counts[mp_rank], out, counts, displs, T, 0, comm);
}

static mcomm_err_t scatterv(mcomm_comm_t comm)
{
    draw(mp_rank != 0);
    return mcomm_scatterv(in, counts, displs, out, counts[mp_rank], T, 0, comm);
}

/* Rank 0 sends others than the last ones expect of it. */
static mcomm_err_t alltoallv(mcomm_comm_t comm)
{
    size_t recv_counts[RANKS_MAX];

    draw(1);
    for (int i = 0; i < mp_size; i++)
        recv_counts[i] = counts[mp_rank];
    draw(mp_rank != 0);
    return mcomm_alltoallv(in, counts, displs, out, recv_counts, displs, T, comm);
}

/* finder: the rank that must see it in this call; the others see it in the next one at the latest
 */
static void expect_found(mcomm_err_t (*call)(mcomm_comm_t comm), int finder, const char *text)
{
    mcomm_comm_t comm;
    mcomm_err_t err;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    err = call(comm);
    if (mp_rank == finder) {
        EXPECT(MCOMM_ERR_MISMATCH, err);
        CHECK_TEXT(text);
    } else if (err != MCOMM_SUCCESS) {
        EXPECT(MCOMM_ERR_MISMATCH, err);
    }
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_barrier(comm));
    OK(mcomm_comm_free(&comm));
}

int main(void)
{
    char text[96];

    mp_init();
    CHECK(mp_size <= RANKS_MAX);
    last = mp_size - 1;
    before_last = mp_size - 2;
    snprintf(text, sizeof(text), "gatherv: rank %d sends 1 elements to rank 0, which expects 3",
             before_last);
    expect_found(gatherv, 0, text);
    snprintf(text, sizeof(text), "scatterv: rank 0 sends 3 elements to rank %d, which expects 1",
             before_last);
    expect_found(scatterv, mp_size / 2, text);
    snprintf(text, sizeof(text), "alltoallv: rank 0 sends 3 elements to rank %d, which expects 1",
             before_last);
    expect_found(alltoallv, mp_size / 2, text);
    OK(mcomm_finalize());
    return 0;
}
