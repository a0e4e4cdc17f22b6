/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* MCOMM_CHECK=1: every rank learns which two ranks differ, and goes on. */
#include "mp.h"

static void test_mismatch(void)
{
    int x[4] = {0}, y[4], last = mp_size - 1, is_last = mp_rank == last;
    mcomm_comm_t w = MCOMM_COMM_WORLD;
    char rank_text[32];

    snprintf(rank_text, sizeof(rank_text), "rank %d", last);
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_bcast(x, is_last ? 3 : 2, MCOMM_INT32, 0, w));
    CHECK_TEXT("count is 2 at rank 0, 3 at ");
    CHECK_TEXT(rank_text);
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_bcast(x, 2, MCOMM_INT32, is_last ? 1 : 0, w));
    CHECK_TEXT("root is 0 at rank 0, 1 at ");
    EXPECT(MCOMM_ERR_MISMATCH,
           mcomm_allreduce(x, y, 2, is_last ? MCOMM_FLOAT : MCOMM_INT32, MCOMM_SUM, w));
    CHECK_TEXT("INT32 at rank 0, FLOAT");
    EXPECT(MCOMM_ERR_MISMATCH,
           mcomm_allreduce(x, y, 2, MCOMM_INT32, is_last ? MCOMM_MAX : MCOMM_SUM, w));
    CHECK_TEXT("SUM at rank 0, MAX");
    EXPECT(MCOMM_ERR_MISMATCH,
           is_last ? mcomm_barrier(w) : mcomm_allgather(MCOMM_IN_PLACE, NULL, 0, MCOMM_INT32, w));
    CHECK_TEXT("allgather");
    CHECK_TEXT("barrier");
    /* One member's bad argument reaches all. */
    CHECK(mcomm_bcast(is_last ? NULL : x, 2, MCOMM_INT32, 0, w) != MCOMM_SUCCESS);
    CHECK_TEXT(is_last ? "buf" : rank_text);
    OK(mcomm_barrier(w));
}

/* The same of nonblocking and persistent calls, which do not wait for the others. */
static void test_mismatch_started(void)
{
    int x[4] = {0}, y[4], last = mp_size - 1, is_last = mp_rank == last;
    mcomm_comm_t w = MCOMM_COMM_WORLD;
    mcomm_request_t first, second, kept;

    if (is_last) /* comes later than the others' calls return */
        OK(mcomm_recv(x, 4, 0, 1, w, NULL));
    OK(mcomm_ibcast(x, is_last ? 3 : 2, MCOMM_INT32, 0, w, &first));
    OK(mcomm_iallreduce(x, y, 2, MCOMM_INT32, MCOMM_SUM, w, &second));
    OK(mcomm_bcast_init(x, 2, MCOMM_INT32, is_last ? 1 : 0, w, &kept));
    OK(mcomm_start(kept));
    if (mp_rank == 0)
        OK(mcomm_send(x, 4, last, 1, w));
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&first, MCOMM_FOREVER, NULL));
    CHECK_TEXT("count is 2 at rank 0, 3 at ");
    OK(mcomm_wait(&second, MCOMM_FOREVER, NULL));
    for (int i = 0; i < 2; i++) {
        EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&kept, MCOMM_FOREVER, NULL));
        CHECK_TEXT("root is 0 at rank 0, 1 at ");
        OK(mcomm_start(kept));
    }
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&kept, MCOMM_FOREVER, NULL));
    OK(mcomm_request_free(&kept));
    /* A call that one member's arguments prevent. */
    if (is_last) {
        EXPECT(MCOMM_ERR_BUFFER, mcomm_ibcast(NULL, 2, MCOMM_INT32, 0, w, &first));
    } else {
        OK(mcomm_ibcast(x, 2, MCOMM_INT32, 0, w, &first));
        EXPECT(MCOMM_ERR_BUFFER, mcomm_wait(&first, MCOMM_FOREVER, NULL));
        CHECK_TEXT("rank ");
    }
    OK(mcomm_barrier(w));
}

int main(void)
{
    mp_init();
    test_mismatch();
    test_mismatch_started();
    OK(mcomm_finalize());
    return 0;
}
