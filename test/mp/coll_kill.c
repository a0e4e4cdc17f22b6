/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One rank dies at a random moment within collectives of one form: all calls of the others end,
 * from some call on with PROC_FAILED, those that were outstanding too. Arguments: the form, the
 * rank (the last one if not given), elements of large vectors.
 */
#include "coll_kinds.h"

#include <sys/time.h>
#include <time.h>

#define LIVE 8
#define LARGE_MAX 200000

static struct small smalls[LIVE];
static int64_t large_in[LARGE_MAX], large_out[LARGE_MAX];
static size_t large = 20000;
static mcomm_comm_t comm;

static void die_soon(void)
{
    struct timespec now;
    struct itimerval soon = {.it_value = {.tv_usec = 1}};

    clock_gettime(CLOCK_MONOTONIC, &now);
    soon.it_value.tv_usec = 1 + now.tv_nsec / 100 % 30000;
    setitimer(ITIMER_REAL, &soon, NULL); /* SIGALRM ends the process */
}

static enum small_form form_of(const char *what)
{
    struct timespec now;
    int32_t form = S_BLOCKING;

    if (strcmp(what, "any") == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        form = (int32_t)(now.tv_nsec / 100 % S_FORMS);
        OK(mcomm_bcast(&form, 1, MCOMM_INT32, 0, MCOMM_COMM_WORLD));
    } else if (strcmp(what, "blocking") != 0) {
        form = strcmp(what, "nonblocking") == 0 ? S_NONBLOCKING : S_PERSISTENT;
    }
    return (enum small_form)form;
}

static mcomm_err_t first_of(mcomm_err_t a, mcomm_err_t b)
{
    return a != MCOMM_SUCCESS ? a : b;
}

static mcomm_err_t large_call(uint64_t draw, enum small_form form, mcomm_request_t *request_p)
{
    const struct kind *kind = &kinds[draw % KIND_NUM];
    struct args a = good_args();

    a.send = large_in;
    a.recv = large_out;
    if (kind->takes & VECTOR)
        a.count = large;
    a.dtype = MCOMM_INT64;
    a.root = (int)((draw >> 32) % (uint64_t)mp_size);
    a.comm = comm;
    return kind->call(&a, form, request_p);
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
    uint64_t state = 5;
    mcomm_err_t err = MCOMM_SUCCESS;
    enum small_form form;
    int dies;

    mp_init();
    form = form_of(argc > 1 ? argv[1] : "blocking");
    dies = argc > 2 ? atoi(argv[2]) : mp_size - 1;
    large = argc > 3 ? strtoull(argv[3], NULL, 10) : large;
    CHECK(large <= LARGE_MAX);
    kinds_prepare(large / (size_t)mp_size);
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    err = mcomm_barrier(MCOMM_COMM_WORLD);
    if (mp_rank == dies)
        die_soon();
    for (int64_t round = 0; err == MCOMM_SUCCESS; round++)
        err =
            form == S_BLOCKING ? turn_blocking(&state, round) : turn_requests(&state, round, form);
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s: %s", mcomm_err_name(err), mcomm_last_error());
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(comm));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_finalize());
    return 0;
}
