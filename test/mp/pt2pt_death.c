/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The last rank dies by SIGKILL while the others are in a call that needs it. Every call must end
 * with the right error, what had come before the death is still received, and the survivors go on
 * among themselves.
 */
#include "pt2pt_check.h"

#include <signal.h>

#define WORLD MCOMM_COMM_WORLD
#define LARGE ((size_t)4 << 20)

static int victim;
static unsigned char *buf;

/* The victim dies when all others have said that they are ready. */
static void victim_dies_when_all_are_ready(void)
{
    mp_leave_last(victim);
    if (mp_rank == victim)
        raise(SIGKILL);
}

static void in_blocking_receive(void)
{
    mcomm_status_t st = {0};

    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_recv(buf, LARGE, victim, 2, WORLD, &st));
    CHECK(st.source == victim && st.error == MCOMM_ERR_PROC_FAILED);
}

static void in_blocking_send(void)
{
    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_send(buf, LARGE, victim, 2, WORLD));
}

static void in_synchronous_send(void)
{
    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_ssend(buf, 8, victim, 2, WORLD));
}

/* Small messages may be lost on the way, but the sender hears of it sooner or later. */
static void in_a_stream_of_sends(void)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    victim_dies_when_all_are_ready();
    while (err == MCOMM_SUCCESS)
        err = mcomm_send(buf, 1024, victim, 2, WORLD);
    EXPECT(MCOMM_ERR_PROC_FAILED, err);
}

static void in_waitany(void)
{
    mcomm_request_t reqs[3];
    mcomm_status_t st;
    size_t index = 9;

    OK(mcomm_irecv(buf, 8, mp_rank, 3, WORLD, &reqs[0])); /* nobody sends this */
    OK(mcomm_irecv(buf + 8, 8, victim, 2, WORLD, &reqs[1]));
    OK(mcomm_isend(buf, LARGE, victim, 2, WORLD, &reqs[2]));
    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_waitany(3, reqs, MCOMM_FOREVER, &index, &st));
    CHECK((index == 1 || index == 2) && reqs[index] == MCOMM_REQUEST_NULL);
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_waitany(3, reqs, MCOMM_FOREVER, &index, &st));
    CHECK(index == 1 || index == 2);
    OK(mcomm_cancel(reqs[0]));
    EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&reqs[0], MCOMM_FOREVER, NULL));
}

static void in_a_receive_from_any(void)
{
    mcomm_request_t req, cancelled;
    mcomm_status_t st;
    int done = -1, value = mp_rank, got = -1;
    size_t index;

    OK(mcomm_irecv(&got, sizeof(got), MCOMM_ANY_SOURCE, 2, WORLD, &req));
    OK(mcomm_irecv(buf, 8, MCOMM_ANY_SOURCE, 3, WORLD, &cancelled));
    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_recv(buf, 8, MCOMM_ANY_SOURCE, 4, WORLD, &st));
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_wait(&req, MCOMM_FOREVER, &st));
    CHECK(req != MCOMM_REQUEST_NULL);
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_waitany(1, &req, MCOMM_FOREVER, &index, &st));
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_waitall(1, &req, MCOMM_FOREVER, &st));
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_test(&req, &done, &st));
    CHECK(done == 0 && req != MCOMM_REQUEST_NULL);
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_probe(MCOMM_ANY_SOURCE, 4, WORLD, NULL));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_probe(victim, 4, WORLD, NULL));
    OK(mcomm_cancel(cancelled));
    EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&cancelled, MCOMM_FOREVER, &st));
    CHECK(st.cancelled == 1);
    OK(mcomm_send(&value, sizeof(value), mp_rank, 2, WORLD)); /* it is still posted */
    while (got != mp_rank)
        mcomm_test(&req, &done, &st);
    CHECK(done == 1 && req == MCOMM_REQUEST_NULL && st.source == mp_rank);
}

/* Nobody has a connection to the victim, so only a look at it tells. */
static void before_any_message(void)
{
    if (mp_rank == victim)
        raise(SIGKILL);
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_recv(buf, 8, victim, 2, WORLD, NULL));
    EXPECT(MCOMM_ERR_PROC_FAILED_PENDING, mcomm_recv(buf, 8, MCOMM_ANY_SOURCE, 2, WORLD, NULL));
}

/* What was complete before the death is received after it; what was only announced is not. */
static void after_it_has_sent(void)
{
    mcomm_request_t req;
    mcomm_status_t st;
    int value = 0;

    if (mp_rank == victim) {
        for (int to = 0; to < victim; to++) {
            for (value = 1; value <= 3; value++)
                OK(mcomm_send(&value, sizeof(value), to, 2, WORLD));
            OK(mcomm_isend(buf, LARGE, to, 5, WORLD, &req));
            OK(mcomm_send(NULL, 0, to, 6, WORLD));
        }
    } else {
        OK(mcomm_recv(NULL, 0, victim, 6, WORLD, NULL)); /* so all before it have come */
    }
    victim_dies_when_all_are_ready();
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_recv(buf, 8, victim, 7, WORLD, &st));
    for (int i = 1; i <= 3; i++) {
        OK(mcomm_recv(&value, sizeof(value), i == 2 ? MCOMM_ANY_SOURCE : victim, 2, WORLD, &st));
        CHECK(value == i && st.source == victim);
    }
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_recv(buf, LARGE, victim, 5, WORLD, NULL));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_recv(buf, 8, victim, 2, WORLD, NULL));
}

/* A large message is half way. */
static void in_the_middle_of_a_transfer(void)
{
    size_t nbytes = (size_t)64 << 20;
    unsigned char *large = malloc(nbytes);
    mcomm_request_t reqs[2];

    CHECK(large != NULL);
    memset(large, 1, nbytes);
    if (mp_rank == victim) {
        for (int i = 0; i < victim; i++) {
            OK(mcomm_isend(large, nbytes, i, 2, WORLD, &reqs[0]));
            OK(mcomm_recv(large, 8, i, 3, WORLD, NULL)); /* drives the transfer */
        }
        raise(SIGKILL);
    }
    OK(mcomm_irecv(large, nbytes, victim, 2, WORLD, &reqs[0]));
    OK(mcomm_irecv(buf, LARGE, victim, 4, WORLD, &reqs[1]));
    OK(mcomm_send(buf, 8, victim, 3, WORLD));
    for (int i = 0; i < 2; i++) { /* the first may just have made it */
        mcomm_err_t err = mcomm_wait(&reqs[i], MCOMM_FOREVER, NULL);

        CHECK(err == MCOMM_ERR_PROC_FAILED || (i == 0 && err == MCOMM_SUCCESS));
    }
    free(large);
}

/* The survivors' ring still works. */
static void survivors_go_on(void)
{
    int n = mp_size - 1, value = mp_rank, got = -1;

    OK(mcomm_sendrecv(&value, sizeof(value), (mp_rank + 1) % n, 9, &got, sizeof(got),
                      (mp_rank + n - 1) % n, 9, WORLD, NULL));
    CHECK(got == (mp_rank + n - 1) % n);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"recv", in_blocking_receive},
        {"send", in_blocking_send},
        {"ssend", in_synchronous_send},
        {"stream", in_a_stream_of_sends},
        {"waitany", in_waitany},
        {"any", in_a_receive_from_any},
        {"before", before_any_message},
        {"sent", after_it_has_sent},
        {"middle", in_the_middle_of_a_transfer},
    };

    mp_init();
    victim = mp_size - 1;
    buf = calloc(1, LARGE);
    CHECK(buf != NULL && mp_size > 1 && argc > 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    CHECK(mp_rank != victim);
    survivors_go_on();
    free(buf);
    OK(mcomm_finalize());
    return 0;
}
