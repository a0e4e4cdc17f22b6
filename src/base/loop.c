/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The monitor thread. One epoll for control descriptors, one (nested) for data descriptors. Whoever
 * waits sleeps in epoll_wait itself, so that one wake-up serves what has come: an application
 * thread on the data descriptors (it is the watcher), the monitor on all when nobody else looks.
 * While application threads poll or watch the data descriptors the nested one is disarmed; a 1 ms
 * timer arms it again once they have stopped.
 *
 * Events are fetched without the engine lock but dispatched under it. A handle that is deleted
 * meanwhile is crossed out in all batches (EPOLL_CTL_DEL waits for an epoll_wait that is copying
 * events out), so it is never called. A batch may be stale: another thread may have dealt with it.
 */
#include "config.h"

#include "base/loop.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/wait.h"

#include <assert.h>
#include <errno.h>
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
#define HOT_TRIES 4 /* so many polls of the descriptor that was ready last, then one of all */
#define FORK_FD_MAX 65536
#define LINGER_NS 20000         /* the monitor polls on for so long after it served something */
#define LINGER_ROUND_NS 1000000 /* then timers and control descriptors get their turn */
#define PREEMPTED_NS 200000     /* a poll that took so long: others want the core */
#define LINGER_PAUSE 1000       /* then it sleeps at once so many times */

struct batch {
    struct epoll_event events[BATCH]; /* data.ptr NULL: none, or crossed out */
};

static struct {
    int main_epfd, data_epfd;
    int wake_fd; /* wakes the monitor */
    int bell_fd; /* wakes the watcher */
    pthread_t thread;
    bool is_running;
    bool is_stopping;
    bool is_data_armed; /* the monitor wakes for data descriptors */
    bool is_watched;    /* an application thread sleeps on them */
    bool is_rung;       /* and it has been woken */
    bool is_parked;     /* neither armed nor the take-over timer set, since it is watched */
    unsigned data_count;
    _Atomic uint64_t app_polls, app_polls_seen; /* looked at without the lock while lingering */
    struct mci_list timers;                     /* by due time */
    struct mci_loop_timer take_over;
    struct batch monitor, watcher, poll;
    struct mci_loop_fd *hot; /* the only one that was ready when all were asked last */
    unsigned hot_tries;
    uint32_t linger_pause;
} loop = {.main_epfd = -1, .data_epfd = -1, .wake_fd = -1, .bell_fd = -1};
static __thread bool is_monitor;
/* Descriptors that a forked child closes: read there without any lock. */
static _Atomic uint64_t fork_fds[FORK_FD_MAX / 64];

/* ---- events ---- */
static void descriptor_write(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof(one));

    (void)n; /* full: its reader is awake anyway */
}

static void data_set_armed(bool is_armed)
{
    struct epoll_event event = {.events = is_armed ? EPOLLIN : 0, .data.ptr = &loop.data_epfd};

    if (loop.is_data_armed == is_armed)
        return;
    epoll_ctl(loop.main_epfd, EPOLL_CTL_MOD, loop.data_epfd, &event);
    loop.is_data_armed = is_armed;
}

/* The first count events of the batch; returns those of handles. lock: engine */
static int dispatch(struct batch *batch, int count, bool *is_data_ready_p)
{
    int events = 0;

    for (int i = 0; i < count; i++) {
        void *ptr = batch->events[i].data.ptr;
        struct mci_loop_fd *handle = ptr;
        uint64_t drained;

        batch->events[i].data.ptr = NULL;
        if (ptr == NULL)
            continue;
        if (ptr == &loop.wake_fd || (ptr == &loop.bell_fd && !loop.is_watched)) {
            drained = (uint64_t)read(*(int *)ptr, &drained, sizeof(drained));
            continue;
        }
        if (ptr == &loop.bell_fd) /* for the watcher, which has not got to it yet */
            continue;
        if (ptr == &loop.data_epfd) {
            assert(is_data_ready_p != NULL); /* the nested epoll is in the monitor's only */
            *is_data_ready_p = true;
            continue;
        }
        handle->fn(handle, batch->events[i].events);
        events++;
    }
    return events;
}

static int dispatch_data(void)
{
    return dispatch(&loop.poll, epoll_wait(loop.data_epfd, loop.poll.events, BATCH, 0), NULL);
}

/* Asking one socket costs a system call less than asking all and then the one. */
static void hot_choose(const struct batch *batch, int count)
{
    struct mci_loop_fd *handle = batch->events[0].data.ptr;

    loop.hot = NULL;
    if (count == 1 && (void *)handle != &loop.bell_fd && handle->try_fn != NULL)
        loop.hot = handle;
}

static bool app_has_polled(void)
{
    return atomic_load_explicit(&loop.app_polls, memory_order_relaxed) != loop.app_polls_seen;
}

static void app_polled(void)
{
    atomic_store_explicit(&loop.app_polls,
                          atomic_load_explicit(&loop.app_polls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static int poll_data(void *arg)
{
    int count;

    (void)arg;
    if (loop.data_count == 0)
        return 0;
    app_polled();
    if (loop.hot != NULL && loop.hot_tries++ % HOT_TRIES != 0)
        return loop.hot->try_fn(loop.hot);
    count = epoll_wait(loop.data_epfd, loop.poll.events, BATCH, 0);
    if (count > 0)
        hot_choose(&loop.poll, count);
    return dispatch(&loop.poll, count, NULL);
}

/* Until nothing has come for a while: who asked once often asks again. lock: engine, released */
static void monitor_linger(void)
{
    int64_t begin = mci_clock_ns(), last = begin, before, now = begin;
    int count;

    mci_engine_unlock();
    while (!app_has_polled() && now - begin < LINGER_ROUND_NS && now - last < LINGER_NS) {
        mci_cpu_pause();
        before = now;
        count = epoll_wait(loop.data_epfd, loop.monitor.events, BATCH, 0);
        now = mci_clock_ns();
        if (now - before > PREEMPTED_NS)
            loop.linger_pause = LINGER_PAUSE;
        if (count > 0) {
            mci_engine_lock();
            dispatch(&loop.monitor, count, NULL);
            mci_engine_unlock();
            last = now = mci_clock_ns();
        }
    }
    mci_engine_lock();
}

static bool may_linger(void)
{
    if (loop.linger_pause == 0)
        return mci_wait_may_spin();
    loop.linger_pause--;
    return false;
}

/* The monitor found the nested epoll ready, or the timer looks again. lock: engine */
static void data_ready(void)
{
    if (loop.is_watched || app_has_polled()) {
        loop.app_polls_seen = loop.app_polls;
        data_set_armed(false);
        mci_loop_timer_set(&loop.take_over, TAKE_OVER_NS);
        return;
    }
    if (dispatch_data() > 0 && may_linger())
        monitor_linger();
    data_set_armed(true);
}

static void take_over_check(struct mci_loop_timer *timer)
{
    (void)timer;
    if (loop.is_watched)
        loop.is_parked = true;
    else if (!loop.is_data_armed)
        data_ready();
}

void mci_loop_take_over(void)
{
    loop.app_polls_seen = loop.app_polls;
    if (loop.data_count > 0 && !loop.is_watched)
        data_set_armed(true);
}

int mci_loop_watch(int64_t ns)
{
    int timeout_ms = (int)((ns + 999999) / 1000000);
    int count;

    if (loop.data_count == 0 || loop.is_watched)
        return -1;
    if (loop.is_data_armed) {
        data_set_armed(false);
        loop.is_parked = true;
    }
    loop.is_watched = true;
    mci_engine_unlock();
    count = epoll_wait(loop.data_epfd, loop.watcher.events, BATCH, timeout_ms);
    mci_engine_lock();
    loop.is_watched = loop.is_rung = false;
    app_polled();
    if (loop.is_parked)
        data_set_armed(true);
    loop.is_parked = false;
    return dispatch(&loop.watcher, count, NULL);
}

bool mci_loop_has_data(void)
{
    return loop.data_count > 0;
}

void mci_loop_watch_wake(void)
{
    if (!loop.is_watched || loop.is_rung)
        return;
    loop.is_rung = true;
    descriptor_write(loop.bell_fd);
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
    if (!is_monitor && loop.is_running)
        descriptor_write(loop.wake_fd);
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

static void fork_note(int fd, bool is_open)
{
    uint64_t bit = (uint64_t)1 << (fd % 64);

    if (fd >= FORK_FD_MAX)
        return;
    if (is_open)
        atomic_fetch_or(&fork_fds[fd / 64], bit);
    else
        atomic_fetch_and(&fork_fds[fd / 64], ~bit);
}

static void close_all(void)
{
    if (loop.main_epfd >= 0)
        close(loop.main_epfd);
    if (loop.data_epfd >= 0)
        close(loop.data_epfd);
    if (loop.wake_fd >= 0)
        close(loop.wake_fd);
    if (loop.bell_fd >= 0)
        close(loop.bell_fd);
    loop.main_epfd = loop.data_epfd = loop.wake_fd = loop.bell_fd = -1;
}

/* The epoll descriptors are shared with the parent: nothing may be taken out of them. */
void mci_loop_forked(void)
{
    for (int i = 0; i < FORK_FD_MAX / 64; i++)
        for (uint64_t bits = fork_fds[i]; bits != 0; bits &= bits - 1)
            close(i * 64 + __builtin_ctzll(bits));
    close_all();
    memset(fork_fds, 0, sizeof(fork_fds));
    loop.is_running = false;
}

mcomm_err_t mci_loop_fd_add(struct mci_loop_fd *handle)
{
    if (fd_ctl(handle, EPOLL_CTL_ADD) != 0)
        return mci_err_sys(mci_err_of_errno(errno), errno, "epoll_ctl add descriptor %d",
                           handle->fd);
    fork_note(handle->fd, true);
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

static void batch_cross_out(struct batch *batch, const struct mci_loop_fd *handle)
{
    for (int i = 0; i < BATCH; i++)
        if (batch->events[i].data.ptr == handle)
            batch->events[i].data.ptr = NULL;
}

void mci_loop_fd_del(struct mci_loop_fd *handle)
{
    if (handle->fd < 0 || fd_ctl(handle, EPOLL_CTL_DEL) != 0)
        return;
    fork_note(handle->fd, false);
    if (loop.hot == handle)
        loop.hot = NULL;
    if (handle->is_data)
        loop.data_count--;
    batch_cross_out(&loop.monitor, handle);
    batch_cross_out(&loop.watcher, handle);
    batch_cross_out(&loop.poll, handle);
}

/* ---- the thread ---- */
static void *loop_main(void *arg)
{
    int timeout_ms = 0, count;
    bool is_data_ready;

    (void)arg;
    is_monitor = true;
    mci_engine_lock_is_monitor();
    for (;;) {
        count = epoll_wait(loop.main_epfd, loop.monitor.events, BATCH, timeout_ms);
        mci_engine_lock();
        if (loop.is_stopping)
            break;
        is_data_ready = false;
        dispatch(&loop.monitor, count, &is_data_ready);
        if (is_data_ready && loop.is_data_armed)
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

mcomm_err_t mci_loop_start(void)
{
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = &loop.wake_fd};
    struct epoll_event data = {.events = EPOLLIN, .data.ptr = &loop.data_epfd};
    struct epoll_event bell = {.events = EPOLLIN, .data.ptr = &loop.bell_fd};
    mcomm_err_t err;

    mci_list_init(&loop.timers);
    mci_loop_timer_init(&loop.take_over, take_over_check, NULL);
    loop.is_stopping = false;
    loop.is_data_armed = true;
    loop.is_watched = loop.is_rung = loop.is_parked = false;
    loop.data_count = 0;
    loop.hot = NULL;
    memset(&loop.monitor, 0, sizeof(loop.monitor));
    memset(&loop.watcher, 0, sizeof(loop.watcher));
    memset(&loop.poll, 0, sizeof(loop.poll));
    loop.main_epfd = epoll_create1(EPOLL_CLOEXEC);
    loop.data_epfd = epoll_create1(EPOLL_CLOEXEC);
    loop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop.bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop.main_epfd < 0 || loop.data_epfd < 0 || loop.wake_fd < 0 || loop.bell_fd < 0 ||
        epoll_ctl(loop.main_epfd, EPOLL_CTL_ADD, loop.wake_fd, &wake) != 0 ||
        epoll_ctl(loop.data_epfd, EPOLL_CTL_ADD, loop.bell_fd, &bell) != 0 ||
        epoll_ctl(loop.main_epfd, EPOLL_CTL_ADD, loop.data_epfd, &data) != 0) {
        err = mci_err_sys(mci_err_of_errno(errno), errno,
                          "cannot make the monitor's event descriptors");
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
