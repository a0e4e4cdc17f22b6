/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * How processes of one node meet: both sides connect at once, a socket is not there, a process is
 * stopped meanwhile.
 */
#include "rail_shm_kid.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void tcp_carries_a_peer_whose_socket_is_not_there(void **state)
{
    struct mci_card card;
    struct kid kid = kid_spawn("limit", &card);

    (void)state;
    mci_random(card.unix_name, sizeof(card.unix_name));
    kid_know(&card);
    kid_begin();
    kid_wait_failure();
    assert_ptr_equal(kid_seen.peer->ops, &mci_rail_tcp_ops);
    assert_int_equal(kid_seen.done, 300);
    kid_end(&kid, false);
}

/* The cards have been given out; all children say that they are done, may go, and do. */
static void mesh_ends(struct kid kids[KID_MESH_SIZE])
{
    char c;

    for (int i = 0; i < KID_MESH_SIZE; i++)
        kid_read(kids[i].fd, &c, 1);
    for (int i = 0; i < KID_MESH_SIZE; i++)
        assert_int_equal(write(kids[i].fd, "x", 1), 1);
    for (int i = 0; i < KID_MESH_SIZE; i++) {
        int status;

        assert_int_equal(waitpid(kids[i].pid, &status, 0), kids[i].pid);
        assert_int_equal(status, 0);
        close(kids[i].fd);
    }
}

static void mesh_begins(struct kid kids[KID_MESH_SIZE], const char *mode)
{
    struct mci_card cards[KID_MESH_SIZE];

    for (int i = 0; i < KID_MESH_SIZE; i++)
        kids[i] = kid_spawn(mode, &cards[i]);
    for (int i = 0; i < KID_MESH_SIZE; i++)
        assert_int_equal(write(kids[i].fd, cards, sizeof(cards)), sizeof(cards));
}

static void all_processes_may_connect_to_each_other_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct kid kids[KID_MESH_SIZE];

        mesh_begins(kids, "mesh");
        mesh_ends(kids);
    }
}

/* Everybody is stopped now and then, for longer than a connection may take. */
static void stops_at_any_moment_of_connecting_lose_nobody(void **state)
{
    uint64_t rng = KID_SEED;

    (void)state;
    setenv("MCOMM_CONNECT_TIMEOUT", "10ms", 1);
    for (int round = 0; round < 20; round++) {
        struct kid kids[KID_MESH_SIZE];

        mesh_begins(kids, "mesh-any");
        for (int i = 0; i < 12; i++) {
            struct kid *kid = &kids[rng_next(&rng) % KID_MESH_SIZE];

            poll(NULL, 0, (int)(rng_next(&rng) % 4));
            kill(kid->pid, SIGSTOP);
            poll(NULL, 0, (int)(rng_next(&rng) % 25)); /* longer than the time limit, or not */
            kill(kid->pid, SIGCONT);
        }
        mesh_ends(kids);
    }
    unsetenv("MCOMM_CONNECT_TIMEOUT");
}

/* Its system takes the connection, but nobody answers for many times the time limit. */
static void stopped_one_is_reached_when_it_goes_on(bool is_shm)
{
    int64_t keep = mci_settings.connect_timeout;
    struct mci_card card;
    struct mci_waiter w;
    struct kid kid = kid_spawn("limit", &card);

    kill(kid.pid, SIGSTOP);
    waitpid(kid.pid, NULL, WUNTRACED);
    mci_settings.connect_timeout = 20;
    if (!is_shm)
        mci_random(card.unix_name, sizeof(card.unix_name));
    kid_know(&card);
    kid_begin();
    mci_wait_begin(&w, 200); /* a quiet time is what is looked for here */
    while (mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    assert_int_equal(kid_seen.peer->state, MCI_PEER_CONNECTING);
    kill(kid.pid, SIGCONT);
    kid_wait_failure();
    assert_true(kid_seen.peer->has_left);
    assert_int_equal(kid_seen.done, 300);
    mci_settings.connect_timeout = keep;
    kid_end(&kid, false);
}

static void a_process_stopped_before_it_answers_is_reached_later(void **state)
{
    (void)state;
    stopped_one_is_reached_when_it_goes_on(true);
}

static void and_over_tcp_too(void **state)
{
    (void)state;
    stopped_one_is_reached_when_it_goes_on(false);
}

static void a_process_that_dies_stopped_is_noticed(void **state)
{
    struct mci_card card;
    struct kid kid = kid_spawn("limit", &card);

    (void)state;
    kill(kid.pid, SIGSTOP);
    waitpid(kid.pid, NULL, WUNTRACED);
    kid_know(&card);
    kid_begin();
    kill(kid.pid, SIGKILL);
    kid_wait_failure();
    assert_false(kid_seen.peer->has_left);
    kid_end(&kid, true);
}

static void a_process_that_counts_us_as_failed_says_so(void **state)
{
    struct mci_card card;
    struct kid kid = kid_spawn("refuser", &card);
    size_t nbytes;
    char c;

    (void)state;
    assert_int_equal(write(kid.fd, mci_rail_card(&nbytes), sizeof(card)), sizeof(card));
    kid_read(kid.fd, &c, 1);
    kid_know(&card);
    kid_begin();
    kid_wait_failure();
    assert_string_equal(mci_peer_reason(kid_seen.peer), "it counts this process as failed");
    kid_end(&kid, false);
}

static sem_t timer_ran;

static void timer_runs(struct mci_loop_timer *timer)
{
    (void)timer;
    sem_post(&timer_ran);
}

/* This process computes while the other one sends and kicks without end. */
static void kicks_without_end_leave_the_monitor_its_timers(void **state)
{
    struct kid kid = kid_start("kicks");
    struct mci_loop_timer timer;

    (void)state;
    sem_init(&timer_ran, 0, 0);
    mci_loop_timer_init(&timer, timer_runs, NULL);
    kid_begin();
    kid_wait_frames(100);
    mci_loop_timer_set(&timer, 100000000);
    mci_engine_unlock();
    while (sem_wait(&timer_ran) != 0)
        ;
    mci_engine_lock();
    kill(kid.pid, SIGKILL);
    kid_wait_failure();
    kid_end(&kid, true);
    sem_destroy(&timer_ran);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_carries_a_peer_whose_socket_is_not_there),
        cmocka_unit_test(all_processes_may_connect_to_each_other_at_once),
        cmocka_unit_test(stops_at_any_moment_of_connecting_lose_nobody),
        cmocka_unit_test(a_process_stopped_before_it_answers_is_reached_later),
        cmocka_unit_test(and_over_tcp_too),
        cmocka_unit_test(a_process_that_dies_stopped_is_noticed),
        cmocka_unit_test(a_process_that_counts_us_as_failed_says_so),
        cmocka_unit_test(kicks_without_end_leave_the_monitor_its_timers),
    };

    kid_main(argc, argv);
    return cmocka_run_group_tests(tests, kid_rail_up, kid_rail_down);
}
