/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Lock, wait and monitor loop: mutual exclusion in both modes, wake-ups within a process and
 * between processes are never lost, timers fire in order, a deleted descriptor is never called.
 */
#include "config.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/loop.h"
#include "base/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int engine_up(void **state)
{
    (void)state;
    mci_clock_init();
    mci_engine_lock_init(false);
    assert_int_equal(mci_doorbell_start(), MCOMM_SUCCESS);
    assert_int_equal(mci_loop_start(), MCOMM_SUCCESS);
    return 0;
}

static int engine_down(void **state)
{
    (void)state;
    mci_loop_stop();
    mci_doorbell_stop();
    return 0;
}

/* ---- lock ---- */
static long counter;

static void *count_up(void *arg)
{
    if (arg != NULL)
        mci_engine_lock_is_monitor();
    for (int i = 0; i < 200000; i++) {
        mci_engine_lock();
        counter++;
        mci_engine_unlock();
    }
    return NULL;
}

static void lock_excludes(bool single)
{
    pthread_t thread;

    counter = 0;
    mci_engine_lock_init(single);
    pthread_create(&thread, NULL, count_up, &counter);
    count_up(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(counter, 400000);
    mci_engine_lock_init(false);
}

static void lock_excludes_threads(void **state)
{
    (void)state;
    lock_excludes(false);
}

static void biased_lock_excludes_the_monitor(void **state)
{
    (void)state;
    lock_excludes(true);
}

/* ---- waiting ---- */
static void wait_ends_at_its_time_limit(void **state)
{
    bool never = false;
    int64_t begin = mci_clock_ns();

    (void)state;
    mci_engine_lock();
    assert_int_equal(mci_wait_flag(&never, 0), MCOMM_ERR_TIMEOUT);
    assert_int_equal(mci_wait_flag(&never, 30), MCOMM_ERR_TIMEOUT);
    mci_engine_unlock();
    assert_true(mci_clock_ns() - begin >= 30000000);
}

static int always_busy(void *arg)
{
    (void)arg;
    return 1;
}

static void wait_ends_at_its_time_limit_with_others_work_under_way(void **state)
{
    bool never = false;

    (void)state;
    mci_engine_lock();
    assert_int_equal(mci_poll_add(always_busy, NULL, 1), MCOMM_SUCCESS);
    assert_int_equal(mci_wait_flag(&never, 5), MCOMM_ERR_TIMEOUT);
    mci_poll_remove(always_busy, NULL);
    mci_engine_unlock();
}

static bool flags[2];

static void *set_flags(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        mci_engine_lock();
        if (mci_wait_flag(&flags[0], MCOMM_FOREVER) == MCOMM_SUCCESS) {
            flags[0] = false;
            flags[1] = true;
            mci_wake_self();
        }
        mci_engine_unlock();
    }
    return NULL;
}

static void threads_wake_each_other(void **state)
{
    pthread_t thread;

    (void)state;
    pthread_create(&thread, NULL, set_flags, NULL);
    for (int i = 0; i < 2000; i++) {
        mci_engine_lock();
        flags[0] = true;
        mci_wake_self();
        assert_int_equal(mci_wait_flag(&flags[1], 10000), MCOMM_SUCCESS);
        flags[1] = false;
        mci_engine_unlock();
    }
    pthread_join(thread, NULL);
}

/* Two processes: each stores a word and rings the other's doorbell. */
struct shared {
    _Atomic uint32_t word[2];
};
static struct shared *shared;
static int poll_side;
static bool poll_seen;
static uint32_t poll_want;

static int poll_word(void *arg)
{
    (void)arg;
    if (poll_seen || atomic_load(&shared->word[poll_side]) < poll_want)
        return 0;
    poll_seen = true;
    return 1;
}

static void play(int side, struct mci_doorbell *other, int rounds)
{
    poll_side = side;
    assert_int_equal(mci_poll_add(poll_word, NULL, 1), MCOMM_SUCCESS);
    for (int i = 1; i <= rounds; i++) {
        if (side == 0) {
            atomic_store_explicit(&shared->word[1], (uint32_t)i, memory_order_release);
            mci_doorbell_ring(other);
        }
        mci_engine_lock();
        poll_want = (uint32_t)i;
        poll_seen = false;
        assert_int_equal(mci_wait_flag(&poll_seen, 20000), MCOMM_SUCCESS);
        mci_engine_unlock();
        if (side == 1) {
            atomic_store_explicit(&shared->word[0], (uint32_t)i, memory_order_release);
            mci_doorbell_ring(other);
        }
    }
    mci_poll_remove(poll_word, NULL);
}

static void processes_wake_each_other(void **state)
{
    int fds[2], status;
    struct mci_doorbell *mine, *other;
    pid_t child;

    (void)state;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++) {
        fds[i] = memfd_create("bell", 0);
        assert_int_equal(ftruncate(fds[i], 4096), 0);
    }
    child = fork();
    mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[child == 0], 0);
    other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[child != 0], 0);
    mci_doorbell_fd(); /* passed on: from here on others may ring */
    mci_doorbell_self = mine;
    play(child == 0, other, 3000);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    munmap(shared, 4096);
}

/* ---- loop ---- */
static int fired[3], fired_count;
static bool all_fired;

static void timer_fired(struct mci_loop_timer *timer)
{
    fired[fired_count++] = *(int *)timer->arg;
    all_fired = fired_count == 3;
    mci_wake_self();
}

static void timers_fire_in_order_of_time(void **state)
{
    struct mci_loop_timer timers[4];
    int names[4] = {0, 1, 2, 3};
    const int64_t in_ms[4] = {30, 10, 20, 15};

    (void)state;
    fired_count = 0;
    all_fired = false;
    mci_engine_lock();
    for (int i = 0; i < 4; i++) {
        mci_loop_timer_init(&timers[i], timer_fired, &names[i]);
        mci_loop_timer_set(&timers[i], in_ms[i] * 1000000);
    }
    mci_loop_timer_cancel(&timers[3]);
    assert_int_equal(mci_wait_flag(&all_fired, 10000), MCOMM_SUCCESS);
    mci_engine_unlock();
    assert_int_equal(fired[0], 1);
    assert_int_equal(fired[1], 2);
    assert_int_equal(fired[2], 0);
}

static int calls[2];
static struct mci_loop_fd handles[2];
static bool was_called;

static void fd_ready(struct mci_loop_fd *handle, uint32_t events)
{
    (void)events;
    calls[handle - handles]++;
    mci_loop_fd_del(&handles[0]);
    mci_loop_fd_del(&handles[1]);
    was_called = true;
    mci_wake_self();
}

/* Both become ready at once and each deletes both: only one may be called. */
static void deleted_descriptors_are_never_called(bool is_data)
{
    memset(calls, 0, sizeof(calls));
    was_called = false;
    mci_engine_lock();
    for (int i = 0; i < 2; i++) {
        handles[i] = (struct mci_loop_fd){
            .fd = eventfd(1, 0), .is_data = is_data, .events = EPOLLIN, .fn = fd_ready};
        assert_int_equal(mci_loop_fd_add(&handles[i]), MCOMM_SUCCESS);
    }
    assert_int_equal(mci_wait_flag(&was_called, 10000), MCOMM_SUCCESS);
    mci_engine_unlock();
    assert_int_equal(calls[0] + calls[1], 1);
    close(handles[0].fd);
    close(handles[1].fd);
}

static void deleted_control_descriptors_are_never_called(void **state)
{
    (void)state;
    deleted_descriptors_are_never_called(false);
}

static void deleted_data_descriptors_are_never_called(void **state)
{
    (void)state;
    deleted_descriptors_are_never_called(true);
}

/* Nobody waits in a call: the monitor serves data descriptors by itself. */
static _Atomic int served;

static void fd_serve(struct mci_loop_fd *handle, uint32_t events)
{
    uint64_t value;

    (void)events;
    assert_int_equal(read(handle->fd, &value, sizeof(value)), sizeof(value));
    served++;
}

static void monitor_serves_data_when_nobody_polls(void **state)
{
    struct mci_loop_fd handle = {
        .fd = eventfd(0, 0), .is_data = true, .events = EPOLLIN, .fn = fd_serve};
    uint64_t one = 1;
    int64_t limit = mci_clock_ns() + 10000000000;

    (void)state;
    mci_engine_lock();
    assert_int_equal(mci_loop_fd_add(&handle), MCOMM_SUCCESS);
    mci_engine_unlock();
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(write(handle.fd, &one, sizeof(one)), sizeof(one));
        while (served < i && mci_clock_ns() < limit)
            sched_yield();
        assert_int_equal(served, i);
    }
    mci_engine_lock();
    mci_loop_fd_del(&handle);
    mci_engine_unlock();
    close(handle.fd);
}

/* ---- a thread that sleeps on the data descriptors ---- */
static struct mci_loop_fd socket_like;
static bool got_event, got_ring;
static pthread_t served_by;

static void fd_note(struct mci_loop_fd *handle, uint32_t events)
{
    uint64_t value;

    (void)events;
    if (read(handle->fd, &value, sizeof(value)) != sizeof(value))
        return; /* another thread was faster */
    served_by = pthread_self();
    got_event = true;
    mci_wake_self();
}

static void socket_like_open(void)
{
    socket_like = (struct mci_loop_fd){
        .fd = eventfd(0, EFD_NONBLOCK), .is_data = true, .events = EPOLLIN, .fn = fd_note};
    mci_engine_lock();
    assert_int_equal(mci_loop_fd_add(&socket_like), MCOMM_SUCCESS);
    mci_engine_unlock();
}

static void socket_like_close(void)
{
    mci_engine_lock();
    mci_loop_fd_del(&socket_like);
    mci_engine_unlock();
    close(socket_like.fd);
}

static void until_asleep(uint32_t count)
{
    while (atomic_load(&mci_doorbell_self->sleepers) < count)
        sched_yield();
}

static void *write_when_asleep(void *arg)
{
    uint64_t one = 1;

    (void)arg;
    until_asleep(1);
    mci_engine_lock(); /* it has released the lock: it sleeps, or is just about to */
    mci_engine_unlock();
    assert_int_equal(write(socket_like.fd, &one, sizeof(one)), sizeof(one));
    return NULL;
}

static void thread_that_sleeps_serves_its_sockets_itself(void **state)
{
    pthread_t thread;

    (void)state;
    socket_like_open();
    for (int i = 0; i < 100; i++) {
        got_event = false;
        pthread_create(&thread, NULL, write_when_asleep, NULL);
        mci_engine_lock();
        assert_int_equal(mci_wait_flag(&got_event, 10000), MCOMM_SUCCESS);
        assert_true(pthread_equal(served_by, pthread_self()));
        mci_engine_unlock();
        pthread_join(thread, NULL);
    }
    socket_like_close();
}

static void *ring_when_asleep(void *arg)
{
    (void)arg;
    until_asleep(1);
    mci_engine_lock();
    got_ring = true;
    mci_wake_self();
    mci_engine_unlock();
    return NULL;
}

static void thread_that_sleeps_on_sockets_is_woken_by_others(void **state)
{
    pthread_t thread;

    (void)state;
    socket_like_open();
    for (int i = 0; i < 100; i++) {
        got_ring = false;
        pthread_create(&thread, NULL, ring_when_asleep, NULL);
        mci_engine_lock();
        assert_int_equal(mci_wait_flag(&got_ring, 10000), MCOMM_SUCCESS);
        mci_engine_unlock();
        pthread_join(thread, NULL);
    }
    socket_like_close();
}

static void *wait_for_ring(void *arg)
{
    mcomm_err_t *err_p = arg;

    mci_engine_lock();
    *err_p = mci_wait_flag(&got_ring, 10000);
    mci_engine_unlock();
    return NULL;
}

static void fd_ring(struct mci_loop_fd *handle, uint32_t events)
{
    (void)handle;
    (void)events;
    got_ring = true;
    mci_loop_fd_del(handle);
    mci_wake_self();
}

/* The first one watches the sockets; when it has left, what comes still reaches the second. */
static void sockets_are_served_when_one_of_two_sleepers_leaves(void **state)
{
    struct mci_loop_fd other = {.is_data = true, .events = EPOLLIN, .fn = fd_ring};
    uint64_t one = 1;
    pthread_t second, writer;
    mcomm_err_t err;

    (void)state;
    socket_like_open();
    got_event = got_ring = false;
    other.fd = eventfd(0, EFD_NONBLOCK);
    mci_engine_lock();
    assert_int_equal(mci_loop_fd_add(&other), MCOMM_SUCCESS);
    mci_engine_unlock();
    pthread_create(&second, NULL, wait_for_ring, &err);
    pthread_create(&writer, NULL, write_when_asleep, NULL);
    mci_engine_lock();
    assert_int_equal(mci_wait_flag(&got_event, 10000), MCOMM_SUCCESS);
    mci_engine_unlock();
    pthread_join(writer, NULL);
    until_asleep(1);
    assert_int_equal(write(other.fd, &one, sizeof(one)), sizeof(one));
    pthread_join(second, NULL);
    assert_int_equal(err, MCOMM_SUCCESS);
    close(other.fd);
    socket_like_close();
}

/* ---- one drives, the others sleep ---- */
#define TURNS 8
#define ROUNDS_OF_TURNS 200
static bool turn_flags[TURNS];
static _Atomic int turns_done;

static void *wait_for_turn(void *arg)
{
    bool *flag = arg;

    for (int i = 0; i < ROUNDS_OF_TURNS; i++) {
        mci_engine_lock();
        assert_int_equal(mci_wait_flag(flag, MCOMM_FOREVER), MCOMM_SUCCESS);
        *flag = false;
        mci_engine_unlock();
        atomic_fetch_add(&turns_done, 1);
    }
    return NULL;
}

/* Whichever thread it is that drives, and leaves: everybody gets what is told to it alone. */
static void each_waiting_thread_gets_its_own(void **state)
{
    pthread_t threads[TURNS];
    int told = 0;

    (void)state;
    for (int i = 0; i < TURNS; i++)
        pthread_create(&threads[i], NULL, wait_for_turn, &turn_flags[i]);
    for (unsigned round = 0; round < ROUNDS_OF_TURNS * TURNS; round++) {
        int which = (int)((round * 5 + round / TURNS * 3) % TURNS);

        mci_engine_lock();
        turn_flags[which] = true;
        mci_wake_self();
        mci_engine_unlock();
        told++;
        if (round % 3 == 0) /* one at a time, or a few together */
            while (atomic_load(&turns_done) < told)
                sched_yield();
        else if (round % TURNS == TURNS - 1)
            while (atomic_load(&turns_done) < told)
                sched_yield();
    }
    for (int i = 0; i < TURNS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(turns_done, ROUNDS_OF_TURNS * TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_excludes_threads),
        cmocka_unit_test(biased_lock_excludes_the_monitor),
        cmocka_unit_test_setup_teardown(wait_ends_at_its_time_limit, engine_up, engine_down),
        cmocka_unit_test_setup_teardown(wait_ends_at_its_time_limit_with_others_work_under_way,
                                        engine_up, engine_down),
        cmocka_unit_test_setup_teardown(threads_wake_each_other, engine_up, engine_down),
        cmocka_unit_test_setup_teardown(each_waiting_thread_gets_its_own, engine_up, engine_down),
        cmocka_unit_test_setup_teardown(timers_fire_in_order_of_time, engine_up, engine_down),
        cmocka_unit_test_setup_teardown(deleted_control_descriptors_are_never_called, engine_up,
                                        engine_down),
        cmocka_unit_test_setup_teardown(deleted_data_descriptors_are_never_called, engine_up,
                                        engine_down),
        cmocka_unit_test_setup_teardown(monitor_serves_data_when_nobody_polls, engine_up,
                                        engine_down),
        cmocka_unit_test_setup_teardown(thread_that_sleeps_serves_its_sockets_itself, engine_up,
                                        engine_down),
        cmocka_unit_test_setup_teardown(thread_that_sleeps_on_sockets_is_woken_by_others, engine_up,
                                        engine_down),
        cmocka_unit_test_setup_teardown(sockets_are_served_when_one_of_two_sleepers_leaves,
                                        engine_up, engine_down),
        cmocka_unit_test_setup_teardown(processes_wake_each_other, engine_up, NULL),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
