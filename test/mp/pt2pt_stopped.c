/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The receiver is stopped while eager messages fill its socket or the ring. Cancelling ends a send
 * at once, also one of which half has left: it is not received, or (shm) it goes nevertheless, and
 * its buffer is read no more. All others arrive whole and in order.
 */
#include "pt2pt_check.h"
#include "common/proc.h"

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#define NBYTES 60000
#define CANCELS 5

static unsigned char buf[NBYTES];

/* False: it was cancelled. */
static int send_one(mcomm_comm_t comm)
{
    mcomm_request_t req;
    mcomm_err_t err;

    OK(mcomm_isend(buf, sizeof(buf), 1, 2, comm, &req));
    err = mcomm_wait(&req, 50, NULL);
    if (err == MCOMM_SUCCESS)
        return 1;
    CHECK(err == MCOMM_ERR_TIMEOUT);
    OK(mcomm_cancel(req));
    err = mcomm_wait(&req, MCOMM_FOREVER, NULL);
    CHECK(err == MCOMM_ERR_CANCELLED || err == MCOMM_SUCCESS); /* all of it but for the trailer */
    return err == MCOMM_SUCCESS;
}

static void sender(mcomm_comm_t comm)
{
    int number = 0, cancels = 0;
    pid_t pid;

    OK(mcomm_recv(&pid, sizeof(pid), 1, 1, MCOMM_COMM_WORLD, NULL));
    while (!is_stopped(pid))
        sched_yield();
    while (cancels < CANCELS) {
        memset(buf, number % 251, sizeof(buf));
        if (send_one(comm))
            number++;
        else
            cancels++;
        memset(buf, GUARD, sizeof(buf));
    }
    CHECK(kill(pid, SIGCONT) == 0);
    OK(mcomm_send(&number, sizeof(number), 1, 3, MCOMM_COMM_WORLD));
    printf("%d messages were sent\n", number);
}

static void receiver(mcomm_comm_t comm)
{
    pid_t pid = getpid();
    int number, came = 0;
    mcomm_err_t err;

    OK(mcomm_send(&pid, sizeof(pid), 0, 1, MCOMM_COMM_WORLD));
    raise(SIGSTOP);
    OK(mcomm_recv(&number, sizeof(number), 0, 3, MCOMM_COMM_WORLD, NULL));
    while (came < number) {
        err = mcomm_recv(buf, sizeof(buf), 0, 2, comm, NULL);
        CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_CANCELLED);
        if (err == MCOMM_ERR_CANCELLED)
            continue;
        for (size_t i = 0; i < sizeof(buf); i++)
            CHECK(buf[i] == came % 251);
        came++;
    }
}

int main(void)
{
    mcomm_comm_t comm;

    mp_init();
    CHECK(mp_size == 2);
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    if (mp_rank == 0)
        sender(comm);
    else
        receiver(comm);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_finalize());
    return 0;
}
