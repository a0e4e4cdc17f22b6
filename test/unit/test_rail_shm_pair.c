/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Frames over a pair of connections of the shm rail in one process. */
#include "rail_shm_pair.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAMES 1500

static void exchange_random(size_t ring_nbytes)
{
    pair_up(ring_nbytes);
    for (int i = 0; i < FRAMES; i++) {
        frame_send((int)(rng_next(&rng) % 2), random_size(), rng_next(&rng) % 3 != 0);
        if (rng_next(&rng) % 8 == 0)
            mci_shm_poll(NULL);
        if (rng_next(&rng) % 64 == 0)
            poll_until_idle();
    }
    poll_until_idle();
    for (int from = 0; from < 2; from++) {
        assert_int_equal(got[from].next, sent[!from]);
        assert_int_equal(got[from].done, sent[!from]);
        assert_int_equal(sent_done[from], sent[!from]);
        assert_true(mci_rail_shm_ops.is_idle(ends[from]));
    }
    pair_down();
}

static void frames_of_any_size_arrive_in_order(void **state)
{
    (void)state;
    exchange_random(2u << 20);
}

static void frames_arrive_through_the_smallest_ring(void **state)
{
    (void)state;
    exchange_random(MCI_SHM_RING_MIN);
}

/* The sender, a lap further on, stored its flag over that of a payload not yet read. */
static void flag_of_the_next_lap_says_that_all_came(void **state)
{
    struct mci_shm_conn *from;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    from = ends[0]->conn;
    frame_send(0, 20000, true);
    *(uint64_t *)(void *)from->tx_flags = MCI_SHM_RING_MIN;
    poll_until_idle();
    assert_false(mci_peer_is_failed(ends[1]));
    assert_int_equal(got[1].done, 1);
    pair_down();
}

static void frames_arrive_without_a_ring(void **state)
{
    (void)state;
    exchange_random(0);
}

/* As if the system had no more memory for the ring: payloads go through the slots from then on. */
static void frames_arrive_when_memory_for_the_ring_runs_out(void **state)
{
    struct mci_shm_conn *conn;

    (void)state;
    mci_log_set_level("error");
    pair_up(2u << 20);
    conn = ends[0]->conn;
    for (int i = 0; i < 300; i++) {
        if (i == 150) {
            close(conn->seg.fd); /* nothing can be taken any more */
            conn->seg.fd = -1;
        }
        frame_send(0, random_size(), i % 2 == 0);
        if (i % 7 == 0)
            poll_until_idle();
    }
    poll_until_idle();
    assert_null(conn->tx_ring);
    assert_int_equal(got[1].done, 300);
    pair_down();
}

static void ring_positions_wrap_many_times(void **state)
{
    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int i = 0; i < 400; i++) {
        frame_send(0, 4096 + (size_t)i, true);
        frame_send(0, 100, true);
        poll_until_idle();
    }
    assert_int_equal(got[1].done, 800);
    pair_down();
}

static void full_ring_queues_frames_and_unsend_takes_them_back(void **state)
{
    struct outgoing *last[300];
    int pending = 0, taken = 0;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int i = 0; i < 300; i++) {
        last[i] = frame_send(0, 20000, true);
        pending += last[i] != NULL;
    }
    assert_true(pending > 250);
    for (int i = 299; i > 280; i--) {
        assert_true(mci_peer_unsend(ends[0], &last[i]->tx));
        assert_false(mci_peer_unsend(ends[0], &last[i]->tx));
        free(last[i]->buf);
        free(last[i]);
        taken++;
    }
    poll_until_idle();
    assert_int_equal(got[1].next, 300 - taken);
    assert_int_equal(got[1].done, 300 - taken);
    pair_down();
}

/* Else the flag of a piece one lap ahead would take the place of one that is still to be read. */
static void full_ring_leaves_the_unit_being_read_alone(void **state)
{
    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int round = 0; round < 200; round++) {
        struct mci_shm_conn *conn = ends[0]->conn;
        uint64_t done;

        while (mci_list_is_empty(&conn->tx_queue))
            frame_send(0, MCI_SHM_SMALL + 1 + rng_next(&rng) % 9000, true);
        done = atomic_load(&conn->tx_back->ring_done);
        assert_true((conn->tx_pos - 1) / MCI_SHM_UNIT - done / MCI_SHM_UNIT <
                    MCI_SHM_RING_MIN / MCI_SHM_UNIT);
        mci_shm_poll(NULL);
    }
    poll_until_idle();
    assert_int_equal(got[1].done, sent[0]);
    pair_down();
}

/* What callbacks send is behind all that had been sent before it. */
static void frames_that_waited_for_the_connection_go_first(void **state)
{
    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int i = 0; i < 2; i++) {
        mci_peer_fail(ends[i], "make room");
        mci_peer_release(ends[i]);
        ends[i] = peer_invent(i);
        ends[i]->state = MCI_PEER_CONNECTING;
    }
    for (int i = 0; i < 5; i++)
        frame_send(0, 100, true);
    echoes = 3;
    assert_int_equal(mci_shm_conn_pair(ends[0], ends[1], MCI_SHM_RING_MIN), MCOMM_SUCCESS);
    assert_int_equal(echoes, 0);
    poll_until_idle();
    assert_int_equal(got[1].done, 8);
    pair_down();
}

static void full_slots_queue_short_frames(void **state)
{
    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int i = 0; i < 1000; i++)
        frame_send(1, (size_t)(i % 37), i % 2 == 0);
    poll_until_idle();
    assert_int_equal(got[0].done, 1000);
    pair_down();
}

static void a_short_place_takes_the_beginning_and_the_rest_is_discarded(void **state)
{
    (void)state;
    pair_up(2u << 20);
    got[1].short_place = true;
    for (int i = 0; i < 50; i++)
        frame_send(0, 5000 + (size_t)i * 1000, true);
    poll_until_idle();
    got[1].discard = true;
    for (int i = 0; i < 50; i++)
        frame_send(0, 5000 + (size_t)i * 1000, true);
    poll_until_idle();
    assert_int_equal(got[1].done, 100);
    pair_down();
}

static void failure_ends_queued_and_half_received_frames(void **state)
{
    uint32_t before;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    for (int i = 0; i < 20; i++)
        frame_send(0, 60000, true);
    mci_shm_recv(ends[1]->conn); /* some arrive, one is half there */
    before = got[1].done;
    assert_true(got[1].next > before);
    mci_peer_fail(ends[1], "test");
    assert_int_equal(got[1].done, before + 1);
    assert_int_equal(got[1].last_err, MCOMM_ERR_PROC_FAILED);
    mci_peer_fail(ends[0], "test");
    assert_int_equal(sent_done[1], 20);
    assert_int_equal(sent_err, MCOMM_ERR_PROC_FAILED);
    mci_shm_poll(NULL);
    pair_down();
}

/* The socket is full and no descriptor can be duplicated: the message is not queued without it. */
static void control_message_keeps_its_descriptors_or_is_refused(void **state)
{
    struct rlimit keep, none;
    struct mci_shm_conn *conn;
    struct mci_list *node;
    int socks[2], fds[2];
    uint64_t arg[4] = {0};

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    conn = ends[0]->conn;
    fds[0] = fds[1] = conn->seg.fd;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks), 0);
    assert_int_equal(mci_shm_conn_take(conn, socks[0]), MCOMM_SUCCESS);
    while (mci_list_is_empty(&conn->out))
        assert_int_equal(mci_shm_ctl_send(conn, MCI_SHM_CTL_KICK, arg, NULL, 0), MCOMM_SUCCESS);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &keep), 0);
    none = keep;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(mci_shm_ctl_send(conn, MCI_SHM_CTL_REGION, arg, fds, 2), MCOMM_ERR_LIMIT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &keep), 0);
    assert_int_equal(mci_shm_ctl_send(conn, MCI_SHM_CTL_REGION, arg, fds, 2), MCOMM_SUCCESS);
    MCI_LIST_FOREACH (node, &conn->out) {
        struct mci_shm_out *out = mci_container_of(node, struct mci_shm_out, link);

        for (int i = 0; i < out->fd_count; i++)
            assert_true(fcntl(out->fds[i], F_GETFD) >= 0);
    }
    close(socks[1]);
    pair_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_any_size_arrive_in_order),
        cmocka_unit_test(frames_arrive_through_the_smallest_ring),
        cmocka_unit_test(flag_of_the_next_lap_says_that_all_came),
        cmocka_unit_test(frames_arrive_without_a_ring),
        cmocka_unit_test(frames_arrive_when_memory_for_the_ring_runs_out),
        cmocka_unit_test(ring_positions_wrap_many_times),
        cmocka_unit_test(full_ring_queues_frames_and_unsend_takes_them_back),
        cmocka_unit_test(full_ring_leaves_the_unit_being_read_alone),
        cmocka_unit_test(frames_that_waited_for_the_connection_go_first),
        cmocka_unit_test(full_slots_queue_short_frames),
        cmocka_unit_test(a_short_place_takes_the_beginning_and_the_rest_is_discarded),
        cmocka_unit_test(failure_ends_queued_and_half_received_frames),
        cmocka_unit_test(control_message_keeps_its_descriptors_or_is_refused),
    };

    return cmocka_run_group_tests(tests, rail_up, rail_down);
}
