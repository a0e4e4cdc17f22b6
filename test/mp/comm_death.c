/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A member is killed; the others make communicators. All of them get PROC_FAILED with its rank in
 * the text, also those that have nothing to do with it in the tree, and none has a new
 * communicator. The survivors then make one among themselves. comm_death RANK fresh|talked|inside:
 * before it ever spoke, after all talked, or between two dups.
 */
#include "mp.h"

#include <signal.h>

static void talk(int victim)
{
    mcomm_comm_t comm;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    OK(mcomm_comm_free(&comm));
    mp_leave_last(victim);
}

static void expect_failed(mcomm_err_t err, mcomm_comm_t comm, int victim)
{
    char text[32];

    snprintf(text, sizeof(text), "rank %d of", victim);
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s (%s)", mcomm_err_name(err), mcomm_last_error());
    CHECK_TEXT(text);
    CHECK(comm == MCOMM_COMM_NULL);
}

static void survivors_go_on(int victim)
{
    mcomm_group_t world, rest;
    mcomm_comm_t comm;
    int size, got = -1, rank;

    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &world));
    OK(mcomm_group_excl(world, 1, &victim, &rest));
    OK(mcomm_comm_create_group(MCOMM_COMM_WORLD, rest, 3, &comm));
    OK(mcomm_comm_size(comm, &size));
    CHECK_EQ(size, mp_size - 1);
    OK(mcomm_comm_rank(comm, &rank));
    OK(mcomm_sendrecv(&rank, sizeof(rank), (rank + 1) % size, 1, &got, sizeof(got),
                      (rank + size - 1) % size, 1, comm, MCOMM_STATUS_IGNORE));
    CHECK_EQ(got, (rank + size - 1) % size);
    OK(mcomm_comm_free(&comm));
    OK(mcomm_group_free(&rest));
    OK(mcomm_group_free(&world));
}

int main(int argc, char **argv)
{
    int victim = argc > 1 ? atoi(argv[1]) : 0;
    const char *when = argc > 2 ? argv[2] : "fresh";
    mcomm_comm_t comm = MCOMM_COMM_NULL;
    mcomm_err_t err;

    mp_init();
    if (strcmp(when, "fresh") != 0)
        talk(victim);
    if (mp_rank == victim && strcmp(when, "inside") != 0)
        raise(SIGKILL);
    if (strcmp(when, "inside") == 0) { /* it dies while the others may be anywhere in the call */
        if (mp_rank == victim)
            alarm(1), signal(SIGALRM, SIG_DFL);
        while ((err = mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm)) == MCOMM_SUCCESS)
            OK(mcomm_comm_free(&comm));
        comm = MCOMM_COMM_NULL;
    } else {
        err = mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm);
    }
    expect_failed(err, comm, victim);
    for (int i = 0; i < 3; i++) /* again and again */
        expect_failed(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm), comm, victim);
    expect_failed(mcomm_comm_split(MCOMM_COMM_WORLD, 0, 0, &comm), comm, victim);
    survivors_go_on(victim);
    OK(mcomm_finalize());
    return 0;
}
