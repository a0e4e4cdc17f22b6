/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One member revokes a communicator: everything that waits on it ends at all members with
 * MCOMM_ERR_REVOKED, later calls too, and nothing else is disturbed. comm_revoke all|death|stopped:
 * death: rank 1 revokes and is killed at once; stopped: rank 1 takes nothing.
 */
#include "common/proc.h"
#include "mp.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define W MCOMM_COMM_WORLD
#define BIG (4 << 20)

static void expect_revoked(mcomm_err_t err, const char *what)
{
    if (err != MCOMM_ERR_REVOKED)
        MP_FAIL("%s: %s (%s)", what, mcomm_err_name(err), mcomm_last_error());
    CHECK_TEXT("revoke");
}

static int next(void)
{
    return (mp_rank + 1) % mp_size;
}

/* ---- what a member waits for; others do not do it ---- */
enum wait_for {
    ON_RECV,
    ON_ANY_SOURCE,
    ON_PROBE,
    ON_SSEND,
    ON_LONG_SEND,
    ON_BARRIER,
    ON_ALLREDUCE,
    ON_LONG_BCAST,
    ON_DUP,
    WAIT_FORMS
};

static char *big;

static mcomm_err_t wait_for(enum wait_for form, mcomm_comm_t comm)
{
    mcomm_comm_t made = MCOMM_COMM_NULL;
    double sum = mp_rank;
    mcomm_err_t err;
    char byte = 0;

    switch (form) {
    case ON_RECV:
        return mcomm_recv(&byte, 1, next(), 5, comm, MCOMM_STATUS_IGNORE);
    case ON_ANY_SOURCE:
        return mcomm_recv(&byte, 1, MCOMM_ANY_SOURCE, MCOMM_ANY_TAG, comm, MCOMM_STATUS_IGNORE);
    case ON_PROBE:
        return mcomm_probe(next(), 5, comm, MCOMM_STATUS_IGNORE);
    case ON_SSEND:
        return mcomm_ssend(&byte, 1, next(), 5, comm);
    case ON_LONG_SEND:
        return mcomm_send(big, BIG, next(), 5, comm);
    case ON_BARRIER:
        return mcomm_barrier(comm);
    case ON_ALLREDUCE:
        return mcomm_allreduce(MCOMM_IN_PLACE, &sum, 1, MCOMM_DOUBLE, MCOMM_SUM, comm);
    case ON_LONG_BCAST:
        return mcomm_bcast(big, BIG, MCOMM_BYTE, mp_size - 1, comm);
    case ON_DUP:
        err = mcomm_comm_dup(comm, MCOMM_INFO_NULL, &made);
        CHECK(made == MCOMM_COMM_NULL);
        return err;
    case WAIT_FORMS:
        break;
    }
    return MCOMM_SUCCESS;
}

static void go(int to)
{
    char byte = 1;

    OK(mcomm_send(&byte, 1, to, 9, W));
}

static void come(void)
{
    char byte;

    OK(mcomm_recv(&byte, 1, MCOMM_ANY_SOURCE, 9, W, MCOMM_STATUS_IGNORE));
}

/* The last rank revokes while the others are in a call, or about to be. */
static void test_waiting(enum wait_for form)
{
    mcomm_comm_t comm, child;
    int is_revoked = -1;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    OK(mcomm_comm_dup(comm, MCOMM_INFO_NULL, &child));
    OK(mcomm_comm_is_revoked(comm, &is_revoked));
    CHECK_EQ(is_revoked, 0);
    if (mp_rank == mp_size - 1) {
        for (int i = 0; i < mp_size - 1; i++)
            come();
        OK(mcomm_comm_revoke(comm));
        OK(mcomm_comm_revoke(comm));
    } else {
        go(mp_size - 1);
        expect_revoked(wait_for(form, comm), "waiting");
    }
    OK(mcomm_comm_is_revoked(comm, &is_revoked));
    CHECK_EQ(is_revoked, 1);
    for (int later = 0; later < WAIT_FORMS; later++)
        expect_revoked(wait_for((enum wait_for)later, comm), "later");
    OK(mcomm_barrier(child));
    OK(mcomm_comm_free(&child));
    OK(mcomm_comm_free(&comm));
}

/* ---- many requests of all kinds ---- */
enum {
    EACH = 40
};

static void test_requests(void)
{
    static double sums[EACH];
    static char bytes[2 * EACH];
    mcomm_request_t coll[EACH], recv[EACH], send[EACH], persistent;
    mcomm_comm_t comm;
    double sum = 0;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    OK(mcomm_allreduce_init(MCOMM_IN_PLACE, &sum, 1, MCOMM_DOUBLE, MCOMM_SUM, comm, &persistent));
    if (mp_rank > 0) {
        OK(mcomm_start(persistent));
        for (int i = 0; i < EACH; i++) {
            OK(mcomm_irecv(&bytes[i], 1, next(), i, comm, &recv[i]));
            if (i % 2 == 0)
                OK(mcomm_issend(&bytes[EACH + i], 1, next(), EACH + i, comm, &send[i]));
            else
                OK(mcomm_isend(big, BIG, next(), EACH + i, comm, &send[i]));
            OK(mcomm_iallreduce(MCOMM_IN_PLACE, &sums[i], 1, MCOMM_DOUBLE, MCOMM_SUM, comm,
                                &coll[i]));
        }
        go(0);
        for (int i = 0; i < EACH; i++) {
            expect_revoked(mcomm_wait(&recv[i], MCOMM_FOREVER, NULL), "irecv");
            expect_revoked(mcomm_wait(&send[i], MCOMM_FOREVER, NULL), "isend");
            expect_revoked(mcomm_wait(&coll[i], MCOMM_FOREVER, NULL), "iallreduce");
        }
        expect_revoked(mcomm_wait(&persistent, MCOMM_FOREVER, NULL), "persistent");
    } else {
        for (int i = 1; i < mp_size; i++)
            come();
        OK(mcomm_comm_revoke(comm));
    }
    expect_revoked(mcomm_start(persistent) == MCOMM_SUCCESS
                       ? mcomm_wait(&persistent, MCOMM_FOREVER, NULL)
                       : MCOMM_ERR_REVOKED,
                   "started again");
    OK(mcomm_request_free(&persistent));
    OK(mcomm_comm_free(&comm));
}

static void test_persistent(void)
{
    mcomm_request_t req[3];
    mcomm_comm_t comm;
    char out = 1, in[1];

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    OK(mcomm_send_init(&out, 1, next(), 5, comm, &req[0]));
    OK(mcomm_ssend_init(&out, 1, next(), 6, comm, &req[1]));
    OK(mcomm_recv_init(in, 1, next(), 7, comm, &req[2]));
    OK(mcomm_barrier(W));
    if (mp_rank == 0)
        OK(mcomm_comm_revoke(comm));
    expect_revoked(mcomm_barrier(comm), "barrier");
    for (int i = 0; i < 3; i++) {
        expect_revoked(mcomm_start(req[i]), "start");
        OK(mcomm_request_free(&req[i]));
    }
    OK(mcomm_comm_free(&comm));
}

/* ---- the news comes before the communicator, or after it is gone; its window lives on ---- */
static void test_early_and_late(void)
{
    for (int round = 0; round < 300; round++) {
        mcomm_comm_t comm;

        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
        if (mp_rank == round % mp_size)
            OK(mcomm_comm_revoke(comm));
        if (round % 2 == 0)
            expect_revoked(mcomm_barrier(comm), "barrier");
        OK(mcomm_comm_free(&comm));
    }
}

static void test_window(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    uint64_t value = 7, got = 0, *base;
    mcomm_comm_t comm;
    mcomm_win_t win;
    void *p;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    attr.nbytes = sizeof(value);
    OK(mcomm_win_allocate(&attr, comm, &p, &win));
    base = p;
    OK(mcomm_put(&value, sizeof(value), next(), 0, win));
    OK(mcomm_flush(next(), win));
    OK(mcomm_barrier(W));
    CHECK_EQ(*base, 7);
    if (mp_rank == 0)
        OK(mcomm_comm_revoke(comm));
    OK(mcomm_get(&got, sizeof(got), next(), 0, win));
    OK(mcomm_flush(next(), win));
    CHECK_EQ(got, 7);
    OK(mcomm_barrier(W));
    mcomm_win_free(&win);
    CHECK(win == MCOMM_WIN_NULL);
    OK(mcomm_comm_free(&comm));
}

/* Amid making it some members get the window: they use it, then free it, and do not wait for those
 * that did not. */
static void test_window_made_by_some(void)
{
    for (int round = 0; round < 40; round++) {
        mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
        mcomm_comm_t comm;
        mcomm_win_t win;
        mcomm_err_t err;
        void *base;

        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
        attr.nbytes = BIG / 4;
        err = mcomm_win_allocate(&attr, comm, &base, &win);
        if (mp_rank == round % mp_size)
            OK(mcomm_comm_revoke(comm));
        if (err == MCOMM_SUCCESS) {
            OK(mcomm_put(big, attr.nbytes, next(), 0, win));
            mcomm_win_free(&win);
            CHECK(win == MCOMM_WIN_NULL);
        } else {
            CHECK_EQ(err, MCOMM_ERR_REVOKED);
        }
        OK(mcomm_comm_free(&comm));
        OK(mcomm_barrier(W));
    }
}

/* ---- another thread of the same process ---- */
static void *waiter(void *arg)
{
    mcomm_comm_t comm = arg;
    char byte;

    expect_revoked(mcomm_recv(&byte, 1, MCOMM_ANY_SOURCE, 1, comm, MCOMM_STATUS_IGNORE), "thread");
    return NULL;
}

static void test_threads(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t thread;
        mcomm_comm_t comm;

        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
        CHECK(pthread_create(&thread, NULL, waiter, comm) == 0);
        if (mp_rank == round % mp_size)
            OK(mcomm_comm_revoke(comm));
        CHECK(pthread_join(thread, NULL) == 0);
        OK(mcomm_comm_free(&comm));
    }
}

static void test_bad_arguments(void)
{
    int is_revoked = 5;

    EXPECT(MCOMM_ERR_COMM, mcomm_comm_revoke(MCOMM_COMM_NULL));
    EXPECT(MCOMM_ERR_COMM, mcomm_comm_is_revoked(MCOMM_COMM_NULL, &is_revoked));
    EXPECT(MCOMM_ERR_ARG, mcomm_comm_is_revoked(W, NULL));
    CHECK_TEXT("is_revoked_p");
    CHECK_EQ(is_revoked, 5);
}

/* ---- rank 1 revokes and dies ---- */
static void test_death(void)
{
    mcomm_comm_t comm;
    char byte;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    if (mp_rank == 1) {
        for (int i = 1; i < mp_size; i++)
            come();
        OK(mcomm_comm_revoke(comm));
        raise(SIGKILL);
    }
    go(1);
    /* A live rank never sends: only the news ends this. */
    expect_revoked(mcomm_recv(&byte, 1, mp_rank == 0 ? 2 : 0, 1, comm, MCOMM_STATUS_IGNORE),
                   "after the death");
    OK(mcomm_comm_free(&comm));
}

/* ---- rank 1 is stopped: the rail cannot pass on a message that goes eagerly ---- */
static void fill_and_revoke(mcomm_comm_t comm, unsigned char *bytes, size_t nbytes)
{
    mcomm_request_t req;
    mcomm_err_t err;
    pid_t pid;

    OK(mcomm_recv(&pid, sizeof(pid), 1, 9, W, MCOMM_STATUS_IGNORE));
    while (!is_stopped(pid))
        sched_yield();
    memset(bytes, 1, nbytes);
    do {
        OK(mcomm_isend(bytes, nbytes, 1, 5, comm, &req));
        err = mcomm_wait(&req, 50, NULL);
    } while (err == MCOMM_SUCCESS);
    CHECK_EQ(err, MCOMM_ERR_TIMEOUT);
    OK(mcomm_comm_revoke(comm));
    err = mcomm_wait(&req, MCOMM_FOREVER, NULL);
    CHECK(err == MCOMM_ERR_REVOKED || err == MCOMM_SUCCESS); /* shm: half has left, so it goes */
    memset(bytes, 2, nbytes);
    CHECK(kill(pid, SIGCONT) == 0);
}

static void test_stopped(void)
{
    static unsigned char bytes[60000];
    mcomm_comm_t comm;
    mcomm_err_t err = MCOMM_SUCCESS;
    pid_t pid = getpid();

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    if (mp_rank == 0) {
        fill_and_revoke(comm, bytes, sizeof(bytes));
    } else {
        OK(mcomm_send(&pid, sizeof(pid), 0, 9, W));
        raise(SIGSTOP);
        while (err == MCOMM_SUCCESS) {
            err = mcomm_recv(bytes, sizeof(bytes), 0, 5, comm, MCOMM_STATUS_IGNORE);
            for (size_t i = 0; err == MCOMM_SUCCESS && i < sizeof(bytes); i++)
                CHECK_EQ(bytes[i], 1);
        }
        CHECK(err == MCOMM_ERR_REVOKED || err == MCOMM_ERR_CANCELLED);
    }
    OK(mcomm_barrier(W));
    OK(mcomm_comm_free(&comm));
}

int main(int argc, char **argv)
{
    big = calloc(1, BIG);
    CHECK(argc == 2 && big != NULL);
    mp_init();
    if (strcmp(argv[1], "death") == 0) {
        test_death();
    } else if (strcmp(argv[1], "stopped") == 0) {
        test_stopped();
    } else {
        test_bad_arguments();
        for (int form = 0; form < WAIT_FORMS; form++)
            test_waiting((enum wait_for)form);
        test_requests();
        test_persistent();
        test_early_and_late();
        test_window();
        test_window_made_by_some();
        test_threads();
        OK(mcomm_barrier(W));
    }
    free(big);
    OK(mcomm_finalize());
    return 0;
}
