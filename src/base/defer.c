/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Deferred work and its alarm. The alarm is a timer descriptor that the monitor listens to: setting
 * it wakes nobody. It is left to go off when the work was done before, so that a steady flow of
 * work sets it once in a while only, and seldom where it finds nothing to do.
 */
#include "config.h"

#include "base/defer.h"
#include "base/err.h"
#include "base/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ALARM_MIN_NS 250000
#define ALARM_MAX_NS 2000000

struct mci_list mci_defer_list = {&mci_defer_list, &mci_defer_list};
static struct mci_loop_fd alarm_io = {.fd = -1};
static bool is_alarm_set;
static long alarm_ns = ALARM_MIN_NS;

void mci_defer_run_all(void)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&mci_defer_list)) != NULL) {
        struct mci_deferred *work = mci_container_of(node, struct mci_deferred, link);

        work->fn(work);
    }
}

void mci_defer(struct mci_deferred *work)
{
    const struct itimerspec once = {.it_value.tv_nsec = alarm_ns};

    mci_list_remove(&work->link);
    mci_list_push(&mci_defer_list, &work->link);
    if (is_alarm_set)
        return;
    is_alarm_set = timerfd_settime(alarm_io.fd, 0, &once, NULL) == 0;
    if (!is_alarm_set) /* not started: nothing may depend on what comes later */
        mci_defer_run_all();
}

static void on_alarm(struct mci_loop_fd *io, uint32_t events)
{
    uint64_t count;
    ssize_t n = read(io->fd, &count, sizeof(count));

    (void)events;
    (void)n;
    is_alarm_set = false;
    if (!mci_list_is_empty(&mci_defer_list))
        alarm_ns = ALARM_MIN_NS;
    else if (alarm_ns < ALARM_MAX_NS)
        alarm_ns *= 2;
    mci_defer_run();
}

mcomm_err_t mci_defer_start(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    mcomm_err_t err;

    if (fd < 0)
        return mci_err_sys(MCOMM_ERR_SYS, errno, "timerfd_create for work that is put off");
    alarm_io = (struct mci_loop_fd){.fd = fd, .events = EPOLLIN, .fn = on_alarm};
    is_alarm_set = false;
    err = mci_loop_fd_add(&alarm_io);
    if (err != MCOMM_SUCCESS) {
        close(fd);
        alarm_io.fd = -1;
    }
    return err;
}

void mci_defer_stop(void)
{
    if (alarm_io.fd < 0)
        return;
    mci_defer_run();
    mci_loop_fd_del(&alarm_io);
    close(alarm_io.fd);
    alarm_io.fd = -1;
}
