/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The launcher's library is not ours to trust: a server that is stopped makes its calls block for
 * ever. Whoever of caller and thread is the last frees the record between them.
 */
#include "config.h"

#include "rt/rt_call.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define ARG_MAX_BYTES 512

struct call {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int refs;
    bool is_done;
    int rc;
    int (*fn)(void *arg);
    _Alignas(16) unsigned char arg[ARG_MAX_BYTES];
};

/* lock: call; gives it up */
static void call_unref(struct call *call)
{
    bool is_last = --call->refs == 0;

    pthread_mutex_unlock(&call->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&call->done);
    pthread_mutex_destroy(&call->lock);
    mci_mem_free(call);
}

static void *call_run(void *arg)
{
    struct call *call = arg;
    int rc = call->fn(call->arg);

    pthread_mutex_lock(&call->lock);
    call->rc = rc;
    call->is_done = true;
    pthread_cond_signal(&call->done);
    call_unref(call);
    return NULL;
}

static struct call *call_create(int (*fn)(void *arg), const void *arg, size_t nbytes)
{
    struct call *call = mci_mem_zalloc(sizeof(*call));
    pthread_condattr_t attr;

    if (call == NULL)
        return NULL;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&call->done, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&call->lock, NULL);
    call->refs = 2;
    call->fn = fn;
    if (nbytes > 0)
        memcpy(call->arg, arg, nbytes);
    return call;
}

/* Threads that fn makes inherit the mask, so the application's signals stay with its own threads.
 */
static int start_thread(struct call *call)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, call_run, call);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

bool mci_rt_call(int (*fn)(void *arg), void *arg, size_t nbytes, int64_t deadline_ns, int *rc_p)
{
    struct timespec end = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    struct call *call = nbytes <= ARG_MAX_BYTES ? call_create(fn, arg, nbytes) : NULL;
    bool is_done;
    int rc = 0;

    if (call == NULL || start_thread(call) != 0) { /* no thread to be had: then without a limit */
        mci_mem_free(call);
        rc = fn(arg);
        if (rc_p != NULL)
            *rc_p = rc;
        return true;
    }
    pthread_mutex_lock(&call->lock);
    while (!call->is_done && rc == 0)
        rc = pthread_cond_timedwait(&call->done, &call->lock, &end);
    is_done = call->is_done;
    if (is_done && nbytes > 0)
        memcpy(arg, call->arg, nbytes);
    if (is_done && rc_p != NULL)
        *rc_p = call->rc;
    call_unref(call);
    return is_done;
}
