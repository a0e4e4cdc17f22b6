/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Members that finalize while others still need them: what they have called completes, given up or
 * not; what they never called ends with an error at those who wait for it.
 */
#include "coll_check.h"

#define W MCOMM_COMM_WORLD
#define CALLS 12

static struct small all[CALLS];

/* The others have said that they finalize now, and had time for it. */
static void be_late(void)
{
    mcomm_request_t never;

    for (int r = 1; r < mp_size; r++)
        OK(mcomm_recv(NULL, 0, r, 1, W, NULL));
    OK(mcomm_irecv(NULL, 0, 0, 99, MCOMM_COMM_SELF, &never));
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_wait(&never, 50, NULL));
    OK(mcomm_cancel(never));
    EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&never, MCOMM_FOREVER, NULL));
}

/* Calls in which rank 0 gives nothing that the others need: they are done when it begins. */
static void test_done(mcomm_comm_t comm)
{
    uint64_t state = 43;

    for (int64_t round = 0; round < CALLS; round++) {
        do
            small_draw(&all[0], &state, round, comm, mp_rank, mp_size);
        while (all[0].root != 0 || (all[0].kind != S_GATHER && all[0].kind != S_REDUCE));
        if (round == CALLS - 3 && mp_rank == 0)
            be_late(); /* the others may be a few calls ahead */
        if (round == CALLS - 1 && mp_rank != 0)
            OK(mcomm_send(NULL, 0, 0, 1, W));
        OK(small_call(&all[0], S_BLOCKING));
        small_check(&all[0]);
    }
}

/* Calls that the others give up, or forget, before rank 0 has begun them. */
static void test_given_up(mcomm_comm_t comm)
{
    uint64_t state = 47;

    if (mp_rank == 0)
        be_late();
    for (int i = 0; i < CALLS; i++) {
        small_draw(&all[i], &state, i, comm, mp_rank, mp_size);
        OK(small_call(&all[i], S_NONBLOCKING));
        if (mp_rank != 0 && i % 2)
            OK(mcomm_request_free(&all[i].request));
    }
    if (mp_rank != 0)
        OK(mcomm_send(NULL, 0, 0, 1, W));
    for (int i = 0; mp_rank == 0 && i < CALLS; i++) {
        OK(mcomm_wait(&all[i].request, MCOMM_FOREVER, NULL));
        small_check(&all[i]);
    }
}

/* Rank 0 waits for calls that nobody else makes; how much they had agreed on before differs. */
static void test_never(mcomm_comm_t comm, int before)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; i < before; i++)
        OK(mcomm_barrier(comm));
    for (int i = 0; mp_rank == 0 && i < 8 && err == MCOMM_SUCCESS; i++)
        err = mcomm_bcast(all[0].out, SMALL_COUNT, MCOMM_INT64, 0, comm); /* the first ones go */
    if (mp_rank == 0 && err == MCOMM_SUCCESS)
        err = mcomm_barrier(comm);
    CHECK_EQ(err, mp_rank == 0 && mp_size > 1 ? MCOMM_ERR_PROC_FAILED : MCOMM_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    mcomm_comm_t comm;

    mp_init();
    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    if (strcmp(what, "done") == 0)
        test_done(comm);
    else if (strcmp(what, "given_up") == 0)
        test_given_up(comm);
    else if (strcmp(what, "never_first") == 0)
        test_never(comm, 0);
    else if (strcmp(what, "never_later") == 0)
        test_never(comm, 3);
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_comm_free(&comm));
    OK(mcomm_finalize());
    return 0;
}
