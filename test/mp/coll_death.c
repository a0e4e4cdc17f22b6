/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The last rank dies or gives up within collectives: the others' calls end and say so. */
#include "mp.h"

#include <signal.h>
#include <sys/time.h>

/* The last rank dies in the middle of round 20, the others at once or soon after see it. */
static void test_death(void)
{
    static int in[40000], out[40000];
    mcomm_err_t err = MCOMM_SUCCESS;
    int round;

    for (round = 0; round < 100000 && err == MCOMM_SUCCESS; round++) {
        if (mp_rank == mp_size - 1 && round == 20)
            raise(SIGKILL);
        if (round % 4 == 0)
            err = mcomm_barrier(MCOMM_COMM_WORLD);
        else if (round % 4 == 1)
            err = mcomm_allreduce(in, out, round % 8 < 4 ? 3 : 40000, MCOMM_INT32, MCOMM_SUM,
                                  MCOMM_COMM_WORLD);
        else if (round % 4 == 2)
            err = mcomm_bcast(in, 40000, MCOMM_INT32, round % mp_size, MCOMM_COMM_WORLD);
        else
            err = mcomm_allgather(in, out, 5, MCOMM_INT32, MCOMM_COMM_WORLD);
    }
    CHECK_EQ(err, MCOMM_ERR_PROC_FAILED);
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(MCOMM_COMM_WORLD));
}

/* The last rank dies anywhere in a call whose messages are large: halves are withdrawn. */
static void test_death_amid(void)
{
    static float in[60000], out[60000];
    const struct itimerval soon = {.it_value = {.tv_usec = 3000}}; /* SIGALRM ends the process */
    mcomm_err_t err = mcomm_barrier(MCOMM_COMM_WORLD); /* a slow rank may still be in it */

    if (mp_rank == mp_size - 1)
        setitimer(ITIMER_REAL, &soon, NULL);
    while (err == MCOMM_SUCCESS)
        err = mcomm_allreduce(in, out, 60000, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD);
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s: %s", mcomm_err_name(err), mcomm_last_error());
}

/* A member that gave up takes the others with it, whatever they wait for. */
static void test_timeout(void)
{
    static int in[100000], out[100000];
    mcomm_comm_t comm;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    if (mp_rank == 0)
        OK(mcomm_comm_set_timeout(comm, 100)); /* the others wait without limit */
    if (mp_rank != mp_size - 1)
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_allreduce(in, out, 100000, MCOMM_INT32, MCOMM_SUM, comm));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == mp_size - 1) /* late: is told at once */
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_allreduce(in, out, 100000, MCOMM_INT32, MCOMM_SUM, comm));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    mp_init();
    if (strcmp(what, "death") == 0)
        test_death();
    else if (strcmp(what, "death_amid") == 0)
        test_death_amid();
    else if (strcmp(what, "timeout") == 0)
        test_timeout();
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
