/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Signals belong to the application: signals MODE.
 *   kept         the library sets no handler and no mask; a handler of the application runs while
 *                its thread waits in a call, which goes on
 *   interrupted  a signal that ends the process does so while it waits in a barrier
 */
#include "config.h"

#include "mp.h"

#include <pthread.h>
#include <signal.h>

#define W MCOMM_COMM_WORLD

struct signals {
    struct sigaction actions[NSIG];
    sigset_t mask;
};

static void look(struct signals *s)
{
    memset(s, 0, sizeof(*s));
    for (int signum = 1; signum < NSIG; signum++)
        sigaction(signum, NULL, &s->actions[signum]); /* of a few there is none */
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &s->mask) == 0);
}

static void expect_same(const struct signals *before, const char *when)
{
    struct signals now;

    look(&now);
    for (int signum = 1; signum < NSIG; signum++) {
        const struct sigaction *a = &before->actions[signum], *b = &now.actions[signum];

        if (a->sa_handler != b->sa_handler || a->sa_flags != b->sa_flags)
            MP_FAIL("%s: the handler of signal %d has changed", when, signum);
        if (sigismember(&before->mask, signum) != sigismember(&now.mask, signum))
            MP_FAIL("%s: the mask of signal %d has changed", when, signum);
    }
}

static void use_everything(void)
{
    mcomm_win_attr_t win_attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_kv_attr_t kv_attr = MCOMM_KV_ATTR_DEFAULT;
    int mine = mp_rank, sum, next = (mp_rank + 1) % mp_size;
    mcomm_win_t win;
    mcomm_kv_t kv;
    void *base;

    OK(mcomm_allreduce(&mine, &sum, 1, MCOMM_INT32, MCOMM_SUM, W));
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2);
    win_attr.nbytes = 4096;
    OK(mcomm_win_allocate(&win_attr, W, &base, &win));
    OK(mcomm_put(&mine, sizeof(mine), next, 0, win));
    OK(mcomm_win_free(&win));
    kv_attr.capacity = 1 << 20;
    OK(mcomm_kv_open(W, &kv_attr, &kv));
    OK(mcomm_kv_put(kv, &mine, sizeof(mine), "value", 5, NULL));
    OK(mcomm_kv_close(&kv));
}

/* The handler runs on the waiting thread, not on the library's, and tells it in the window. */
static _Atomic int64_t *handled;

static void on_signal(int signum)
{
    *handled = gettid() == getpid() ? signum : -1;
}

/* Rank 1 waits without limit until rank 0 has seen that its handler ran. */
static void wait_through_signals(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    pid_t self = getpid(), peer = 0;
    int64_t seen = 0;
    mcomm_win_t win;
    void *base;

    attr.nbytes = sizeof(*handled);
    OK(mcomm_win_allocate(&attr, W, &base, &win));
    handled = base;
    OK(mcomm_win_fence(win));
    if (mp_rank == 1) {
        OK(mcomm_send(&self, sizeof(self), 0, 1, W));
        OK(mcomm_recv(NULL, 0, 0, 2, W, NULL));
        CHECK_EQ(*handled, SIGUSR1);
    } else if (mp_rank == 0 && mp_size > 1) {
        OK(mcomm_recv(&peer, sizeof(peer), 1, 1, W, NULL));
        CHECK(kill(peer, SIGUSR1) == 0);
        while (seen == 0) {
            OK(mcomm_get(&seen, sizeof(seen), 1, 0, win));
            OK(mcomm_flush(1, win));
        }
        OK(mcomm_send(NULL, 0, 1, 2, W));
    }
    OK(mcomm_win_free(&win));
}

static void test_kept(void)
{
    static struct signals before;
    struct sigaction action = {.sa_handler = on_signal};

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    look(&before);
    mp_init();
    use_everything();
    wait_through_signals();
    expect_same(&before, "after the start");
    OK(mcomm_finalize());
    expect_same(&before, "after the end");
}

/* Ctrl-C, or a terminal that goes away, at rank 1 in a barrier that rank 0 has not come to. */
static void test_interrupted(int signum)
{
    pid_t self = getpid(), victim;
    mcomm_err_t err;

    CHECK(signal(signum, SIG_DFL) != SIG_ERR); /* nohup ignores one */
    mp_init();
    if (mp_rank == 1)
        OK(mcomm_send(&self, sizeof(self), 0, 1, W));
    else
        OK(mcomm_recv(&victim, sizeof(victim), 1, 1, W, NULL));
    if (mp_rank == 0)
        CHECK(kill(victim, signum) == 0);
    do /* what it has said in the first one may be enough for that */
        err = mcomm_barrier(W);
    while (err == MCOMM_SUCCESS);
    CHECK_EQ(err, MCOMM_ERR_PROC_FAILED);
    mcomm_finalize();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "kept";

    if (strcmp(mode, "kept") == 0)
        test_kept();
    else if (strcmp(mode, "interrupted") == 0)
        test_interrupted(argc > 2 ? atoi(argv[2]) : SIGINT);
    else
        MP_FAIL("no test %s", mode);
    return 0;
}
