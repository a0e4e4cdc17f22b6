/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The last rank dies at a random moment within collectives of one form: all calls of the others
 * end, from some call on with PROC_FAILED, those that were outstanding too.
 */
#include "coll_check.h"

#include <sys/time.h>
#include <time.h>

#define LIVE 8
#define LARGE 20000

static struct small smalls[LIVE];
static int64_t large_in[LARGE], large_out[LARGE];
static mcomm_comm_t comm;

static void die_soon(void)
{
    struct timespec now;
    struct itimerval soon = {.it_value = {.tv_usec = 1}};

    clock_gettime(CLOCK_MONOTONIC, &now);
    soon.it_value.tv_usec = 1 + now.tv_nsec / 100 % 30000;
    setitimer(ITIMER_REAL, &soon, NULL); /* SIGALRM ends the process */
}

static mcomm_err_t first_of(mcomm_err_t a, mcomm_err_t b)
{
    return a != MCOMM_SUCCESS ? a : b;
}

static mcomm_err_t turn_blocking(uint64_t *state, int64_t round)
{
    mcomm_err_t err;

    small_draw(&smalls[0], state, round, comm, mp_rank, mp_size);
    err = small_call(&smalls[0], S_BLOCKING);
    if (err == MCOMM_SUCCESS) {
        small_check(&smalls[0]);
        err = mcomm_allreduce(large_in, large_out, LARGE, MCOMM_INT64, MCOMM_SUM, comm);
    }
    return err;
}

static mcomm_err_t turn_requests(uint64_t *state, int64_t round, enum small_form form)
{
    mcomm_err_t err = MCOMM_SUCCESS, one;
    mcomm_request_t large;

    OK(mcomm_iallreduce(large_in, large_out, LARGE, MCOMM_INT64, MCOMM_SUM, comm, &large));
    for (int i = 0; i < LIVE; i++) {
        small_draw(&smalls[i], state, round * LIVE + i, comm, mp_rank, mp_size);
        OK(small_call(&smalls[i], form));
        if (form == S_PERSISTENT)
            OK(mcomm_start(smalls[i].request));
    }
    for (int i = LIVE - 1; i >= 0; i--) {
        one = mcomm_wait(&smalls[i].request, MCOMM_FOREVER, NULL);
        if (one == MCOMM_SUCCESS)
            small_check(&smalls[i]);
        if (form == S_PERSISTENT)
            OK(mcomm_request_free(&smalls[i].request));
        err = first_of(err, one);
    }
    return first_of(err, mcomm_wait(&large, MCOMM_FOREVER, NULL));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "blocking";
    uint64_t state = 5;
    mcomm_err_t err = MCOMM_SUCCESS;

    mp_init();
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    err = mcomm_barrier(MCOMM_COMM_WORLD);
    if (mp_rank == mp_size - 1)
        die_soon();
    for (int64_t round = 0; err == MCOMM_SUCCESS; round++)
        err = strcmp(what, "blocking") == 0      ? turn_blocking(&state, round)
              : strcmp(what, "nonblocking") == 0 ? turn_requests(&state, round, S_NONBLOCKING)
                                                 : turn_requests(&state, round, S_PERSISTENT);
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s: %s", mcomm_err_name(err), mcomm_last_error());
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(comm));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_finalize());
    return 0;
}
