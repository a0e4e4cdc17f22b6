/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Signals are the application's: the library changes no disposition and no mask, and the
 * application's handler runs at once while its thread waits in a call.
 */
#include "mp.h"

#include <pthread.h>
#include <signal.h>

static void dispositions_get(struct sigaction all[NSIG], sigset_t *mask)
{
    memset(all, 0, NSIG * sizeof(all[0]));
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &all[i]); /* some numbers are libc's own */
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, mask) == 0);
}

static void unchanged(const struct sigaction before[NSIG], const sigset_t *mask_before)
{
    struct sigaction now[NSIG];
    sigset_t mask;

    dispositions_get(now, &mask);
    for (int i = 1; i < NSIG; i++) {
        if (now[i].sa_handler != before[i].sa_handler || now[i].sa_flags != before[i].sa_flags)
            MP_FAIL("signal %d is handled otherwise than before", i);
        CHECK_EQ(sigismember(&mask, i), sigismember(mask_before, i));
    }
}

static void answer(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    kill(info->si_pid, SIGUSR2);
}

/* Rank 0 waits in a call; its handler answers rank 1, which only then lets the call end. */
static void handler_runs_in_a_call(void)
{
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct timespec limit = {.tv_sec = 20};
    sigset_t usr2;
    pid_t pid = getpid();

    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    if (mp_rank == 0) {
        CHECK(sigaction(SIGHUP, &action, NULL) == 0);
        OK(mcomm_send(&pid, sizeof(pid), 1, 1, MCOMM_COMM_WORLD));
        OK(mcomm_recv(NULL, 0, 1, 2, MCOMM_COMM_WORLD, NULL));
    } else if (mp_rank == 1) {
        CHECK(pthread_sigmask(SIG_BLOCK, &usr2, NULL) == 0);
        OK(mcomm_recv(&pid, sizeof(pid), 0, 1, MCOMM_COMM_WORLD, NULL));
        CHECK(kill(pid, SIGHUP) == 0);
        CHECK_EQ(sigtimedwait(&usr2, NULL, &limit), SIGUSR2);
        OK(mcomm_send(NULL, 0, 0, 2, MCOMM_COMM_WORLD));
    }
}

int main(void)
{
    struct sigaction before[NSIG];
    sigset_t mask;

    dispositions_get(before, &mask);
    mp_init();
    unchanged(before, &mask);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    unchanged(before, &mask);
    handler_runs_in_a_call();
    dispositions_get(before, &mask);
    OK(mcomm_finalize());
    unchanged(before, &mask);
    return 0;
}
