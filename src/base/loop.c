/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The monitor thread. One epoll for control descriptors, one (nested, one-shot) for data
 * descriptors. While application threads poll the data descriptors themselves the nested one stays
 * disarmed; a 1 ms timer arms it again once they have stopped, a thread that goes to sleep at once.
 * Dispatch happens under the engine lock only, so a handle that was deleted is never called.
 */
#include "config.h"

#include "base/loop.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/wait.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH 32
#define TAKE_OVER_NS 1000000
#define DATA_POLL_EVERY 8

static struct {
    int main_epfd, data_epfd, wake_fd;
    pthread_t thread;
    bool is_running;
    bool is_stopping;
    bool is_data_armed;
    unsigned data_count;
    uint64_t app_polls, app_polls_seen;
    struct mci_list timers; /* by due time */
    struct mci_loop_timer take_over;
    struct epoll_event *batch; /* being dispatched */
    int batch_count;
} loop = {.main_epfd = -1, .data_epfd = -1, .wake_fd = -1};
static __thread bool is_monitor;

static void data_arm(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &loop.data_epfd};

    epoll_ctl(loop.main_epfd, EPOLL_CTL_MOD, loop.data_epfd, &event);
    loop.is_data_armed = true;
}

/* One batch of ready descriptors of epfd. lock: engine */
static int dispatch(int epfd)
{
    struct epoll_event batch[BATCH];
    int count = epoll_wait(epfd, batch, BATCH, 0);
    int events = 0;

    loop.batch = batch;
    loop.batch_count = count;
    for (int i = 0; i < count; i++) {
        void *ptr = batch[i].data.ptr;
        struct mci_loop_fd *handle = ptr;
        uint64_t drained;

        if (ptr == NULL)
            continue;
        if (ptr == &loop.wake_fd) {
            drained = (uint64_t)read(loop.wake_fd, &drained, sizeof(drained));
            continue;
        }
        if (ptr == &loop.data_epfd) {
            loop.is_data_armed = false;
            continue;
        }
        handle->fn(handle, batch[i].events);
        events++;
    }
    loop.batch = NULL;
    loop.batch_count = 0;
    return events;
}

static int poll_data(void *arg)
{
    (void)arg;
    if (loop.data_count == 0)
        return 0;
    loop.app_polls++;
    return dispatch(loop.data_epfd);
}

/* The monitor found the nested epoll ready, or the timer looks again. lock: engine */
static void data_ready(void)
{
    if (loop.app_polls != loop.app_polls_seen) {
        loop.app_polls_seen = loop.app_polls;
        mci_loop_timer_set(&loop.take_over, TAKE_OVER_NS);
        return;
    }
    dispatch(loop.data_epfd);
    data_arm();
}

static void take_over_check(struct mci_loop_timer *timer)
{
    (void)timer;
    if (!loop.is_data_armed)
        data_ready();
}

void mci_loop_take_over(void)
{
    loop.app_polls_seen = loop.app_polls;
    if (loop.data_count > 0 && !loop.is_data_armed)
        data_arm();
}

/* ---- timers ---- */
static void timers_run(void)
{
    int64_t now = mci_clock_ns();

    while (!mci_list_is_empty(&loop.timers)) {
        struct mci_loop_timer *timer =
            mci_container_of(loop.timers.next, struct mci_loop_timer, link);

        if (timer->due_ns > now)
            return;
        mci_list_remove(&timer->link);
        timer->fn(timer);
    }
}

static int next_timeout_ms(void)
{
    struct mci_loop_timer *timer;
    int64_t ns;

    if (mci_list_is_empty(&loop.timers))
        return -1;
    timer = mci_container_of(loop.timers.next, struct mci_loop_timer, link);
    ns = timer->due_ns - mci_clock_ns();
    return ns <= 0 ? 0 : ns > 3600000000000 ? 3600000 : (int)((ns + 999999) / 1000000);
}

static void monitor_wake(void)
{
    uint64_t one = 1;
    ssize_t n;

    if (is_monitor || !loop.is_running)
        return;
    n = write(loop.wake_fd, &one, sizeof(one));
    (void)n; /* full: it is awake anyway */
}

void mci_loop_timer_init(struct mci_loop_timer *timer, void (*fn)(struct mci_loop_timer *),
                         void *arg)
{
    mci_list_init(&timer->link);
    timer->due_ns = 0;
    timer->fn = fn;
    timer->arg = arg;
}

void mci_loop_timer_set(struct mci_loop_timer *timer, int64_t in_ns)
{
    struct mci_list *node;

    mci_list_remove(&timer->link);
    timer->due_ns = mci_clock_ns() + in_ns;
    MCI_LIST_FOREACH (node, &loop.timers)
        if (mci_container_of(node, struct mci_loop_timer, link)->due_ns > timer->due_ns)
            break;
    mci_list_push(node, &timer->link); /* before node */
    if (loop.timers.next == &timer->link)
        monitor_wake();
}

void mci_loop_timer_cancel(struct mci_loop_timer *timer)
{
    mci_list_remove(&timer->link);
}

/* ---- descriptors ---- */
static int fd_ctl(struct mci_loop_fd *handle, int op)
{
    struct epoll_event event = {.events = handle->events, .data.ptr = handle};

    return epoll_ctl(handle->is_data ? loop.data_epfd : loop.main_epfd, op, handle->fd, &event);
}

mcomm_err_t mci_loop_fd_add(struct mci_loop_fd *handle)
{
    if (fd_ctl(handle, EPOLL_CTL_ADD) != 0)
        return mci_err_sys(MCOMM_ERR_SYS, errno, "epoll_ctl add descriptor %d", handle->fd);
    if (handle->is_data && loop.data_count++ == 0)
        mci_loop_take_over();
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_loop_fd_mod(struct mci_loop_fd *handle, uint32_t events)
{
    if (handle->events == events)
        return MCOMM_SUCCESS;
    handle->events = events;
    if (fd_ctl(handle, EPOLL_CTL_MOD) != 0)
        return mci_err_sys(MCOMM_ERR_SYS, errno, "epoll_ctl change descriptor %d", handle->fd);
    return MCOMM_SUCCESS;
}

void mci_loop_fd_del(struct mci_loop_fd *handle)
{
    if (handle->fd < 0 || fd_ctl(handle, EPOLL_CTL_DEL) != 0)
        return;
    if (handle->is_data)
        loop.data_count--;
    for (int i = 0; i < loop.batch_count; i++)
        if (loop.batch[i].data.ptr == handle)
            loop.batch[i].data.ptr = NULL;
}

/* ---- the thread ---- */
static void *loop_main(void *arg)
{
    struct pollfd fd = {.fd = loop.main_epfd, .events = POLLIN};
    int timeout_ms = 0;

    (void)arg;
    is_monitor = true;
    mci_engine_lock_is_monitor();
    for (;;) {
        /* Only to sleep (one-shot descriptors must not be consumed): asked again under the lock. */
        poll(&fd, 1, timeout_ms);
        mci_engine_lock();
        if (loop.is_stopping)
            break;
        dispatch(loop.main_epfd);
        if (loop.data_count > 0 && !loop.is_data_armed && mci_list_is_empty(&loop.take_over.link))
            data_ready();
        timers_run();
        timeout_ms = next_timeout_ms();
        mci_engine_unlock();
    }
    mci_engine_unlock();
    return NULL;
}

static mcomm_err_t thread_start(void)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&loop.thread, NULL, loop_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return mci_err_sys(MCOMM_ERR_SYS, rc, "cannot start the monitor thread");
    pthread_setname_np(loop.thread, "mcomm-monitor");
    return MCOMM_SUCCESS;
}

static void close_all(void)
{
    if (loop.main_epfd >= 0)
        close(loop.main_epfd);
    if (loop.data_epfd >= 0)
        close(loop.data_epfd);
    if (loop.wake_fd >= 0)
        close(loop.wake_fd);
    loop.main_epfd = loop.data_epfd = loop.wake_fd = -1;
}

mcomm_err_t mci_loop_start(void)
{
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = &loop.wake_fd};
    struct epoll_event data = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &loop.data_epfd};
    mcomm_err_t err;

    mci_list_init(&loop.timers);
    mci_loop_timer_init(&loop.take_over, take_over_check, NULL);
    loop.is_stopping = false;
    loop.is_data_armed = true;
    loop.data_count = 0;
    loop.main_epfd = epoll_create1(EPOLL_CLOEXEC);
    loop.data_epfd = epoll_create1(EPOLL_CLOEXEC);
    loop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop.main_epfd < 0 || loop.data_epfd < 0 || loop.wake_fd < 0 ||
        epoll_ctl(loop.main_epfd, EPOLL_CTL_ADD, loop.wake_fd, &wake) != 0 ||
        epoll_ctl(loop.main_epfd, EPOLL_CTL_ADD, loop.data_epfd, &data) != 0) {
        err = mci_err_sys(MCOMM_ERR_SYS, errno, "cannot make the monitor's event descriptors");
        goto close_fds;
    }
    err = mci_poll_add(poll_data, NULL, DATA_POLL_EVERY);
    if (err != MCOMM_SUCCESS)
        goto close_fds;
    err = thread_start();
    if (err != MCOMM_SUCCESS)
        goto remove_poller;
    loop.is_running = true;
    return MCOMM_SUCCESS;

remove_poller:
    mci_poll_remove(poll_data, NULL);
close_fds:
    close_all();
    return err;
}

void mci_loop_stop(void)
{
    if (!loop.is_running)
        return;
    mci_engine_lock();
    loop.is_stopping = true;
    monitor_wake();
    mci_engine_unlock();
    pthread_join(loop.thread, NULL);
    loop.is_running = false;
    mci_poll_remove(poll_data, NULL);
    close_all();
}
