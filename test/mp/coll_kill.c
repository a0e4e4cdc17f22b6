/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One rank dies at a random moment within collectives of one form: all calls of the others end,
 * from some call on with PROC_FAILED, those that were outstanding too. Arguments: the form, the
 * rank (the last one if not given), elements of large vectors.
 */
#include "coll_check.h"

#include <sys/time.h>
#include <time.h>

#define LIVE 8
#define LARGE_MAX 200000

static struct small smalls[LIVE];
static int64_t large_in[LARGE_MAX], large_out[LARGE_MAX];
static size_t large = 20000;
static size_t counts[SMALL_RANKS], places[SMALL_RANKS]; /* of blocks of it */
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

static void counts_make(void)
{
    size_t n = large / (size_t)mp_size;

    for (int r = 0; r < mp_size; r++) {
        counts[r] = n;
        places[r] = (size_t)r * n;
    }
}

#define LARGE_CALL(name, ...)                                                                      \
    (form == S_BLOCKING      ? mcomm_##name(__VA_ARGS__, comm)                                     \
     : form == S_NONBLOCKING ? mcomm_i##name(__VA_ARGS__, comm, req)                               \
                             : mcomm_##name##_init(__VA_ARGS__, comm, req))

static mcomm_err_t large_call(uint64_t draw, enum small_form form, mcomm_request_t *req)
{
    const mcomm_datatype_t t = MCOMM_INT64;
    const void *in = large_in;
    void *out = large_out;
    int root = (int)((draw >> 32) % (uint64_t)mp_size);
    size_t n = counts[0];

    switch (draw % 9) {
    case 0:
        return LARGE_CALL(bcast, out, large, t, root);
    case 1:
        return LARGE_CALL(reduce_scatter, in, out, counts, t, MCOMM_SUM);
    case 2:
        return LARGE_CALL(gatherv, in, n, out, counts, places, t, root);
    case 3:
        return LARGE_CALL(scatterv, in, counts, places, out, n, t, root);
    case 4:
        return LARGE_CALL(allgatherv, in, n, out, counts, places, t);
    case 5:
        return LARGE_CALL(alltoallv, in, counts, places, out, counts, places, t);
    case 6:
        return LARGE_CALL(scan, in, out, large, t, MCOMM_SUM);
    default:
        return LARGE_CALL(allreduce, in, out, large, t, MCOMM_SUM);
    }
}

static mcomm_err_t turn_blocking(uint64_t *state, int64_t round)
{
    mcomm_err_t err;

    small_draw(&smalls[0], state, round, comm, mp_rank, mp_size);
    err = small_call(&smalls[0], S_BLOCKING);
    if (err == MCOMM_SUCCESS) {
        small_check(&smalls[0]);
        err = large_call(rnd(state), S_BLOCKING, NULL);
    }
    return err;
}

static mcomm_err_t end(mcomm_request_t *request, enum small_form form)
{
    mcomm_err_t err = mcomm_wait(request, MCOMM_FOREVER, NULL);

    if (form == S_PERSISTENT)
        OK(mcomm_request_free(request));
    return err;
}

static mcomm_err_t turn_requests(uint64_t *state, int64_t round, enum small_form form)
{
    mcomm_err_t err = MCOMM_SUCCESS, one;
    mcomm_request_t first;

    OK(large_call(rnd(state), form, &first));
    if (form == S_PERSISTENT)
        OK(mcomm_start(first));
    for (int i = 0; i < LIVE; i++) {
        small_draw(&smalls[i], state, round * LIVE + i, comm, mp_rank, mp_size);
        OK(small_call(&smalls[i], form));
        if (form == S_PERSISTENT)
            OK(mcomm_start(smalls[i].request));
    }
    for (int i = LIVE - 1; i >= 0; i--) {
        one = end(&smalls[i].request, form);
        if (one == MCOMM_SUCCESS)
            small_check(&smalls[i]);
        err = first_of(err, one);
    }
    return first_of(err, end(&first, form));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "blocking";
    uint64_t state = 5;
    mcomm_err_t err = MCOMM_SUCCESS;
    int dies;

    mp_init();
    dies = argc > 2 ? atoi(argv[2]) : mp_size - 1;
    large = argc > 3 ? strtoull(argv[3], NULL, 10) : large;
    CHECK(large <= LARGE_MAX);
    counts_make();
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    err = mcomm_barrier(MCOMM_COMM_WORLD);
    if (mp_rank == dies)
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
