/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * How a bulk operation over the tcp rail ends when it does not end well: its sender is killed or
 * its source vanishes, either side gives up, the receiver stops. And how a process leaves.
 */
#include "config.h"

#include "rail_pair.h"

#include "common/proc.h"
#include "rail/tcp/tcp_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define AM_DATA MCI_AM_P2P_EAGER
#define AM_OPEN MCI_AM_P2P_CTS /* w0: the receiver's operation */

#define BIG ((size_t)64 << 20)

static struct {
    struct mci_inop op;
    uint8_t *buf;
    mcomm_iov_t iov;
    mcomm_err_t err;
    bool is_done;
} big_in;
static struct {
    struct mci_outop op;
    uint8_t *buf;
    mcomm_iov_t iov;
    mcomm_err_t err;
    bool is_done;
} big_out;

static void big_in_done(struct mci_inop *op, mcomm_err_t err)
{
    (void)op;
    big_in.err = err;
    big_in.is_done = true;
}

static void big_out_done(struct mci_outop *op, mcomm_err_t err)
{
    (void)op;
    big_out.err = err;
    big_out.is_done = true;
}

static void big_receive(struct pair_end *end)
{
    struct mci_frame frame = {.am = AM_OPEN};

    big_in.buf = malloc(BIG);
    big_in.iov = (mcomm_iov_t){big_in.buf, BIG};
    big_in.op = (struct mci_inop){
        .peer = end->peer, .nbytes = BIG, .iov = &big_in.iov, .iov_count = 1, .done = big_in_done};
    CHECK(mci_inop_open(&big_in.op) == MCOMM_SUCCESS);
    frame.w0 = big_in.op.id;
    CHECK(mci_peer_send(end->peer, &frame, NULL, 0, NULL) == MCOMM_SUCCESS);
}

static void on_open_big(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                        struct mci_sink *sink)
{
    (void)payload;
    (void)sink;
    if (big_out.buf == NULL)
        big_out.buf = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(big_out.buf != MAP_FAILED);
    memset(big_out.buf, 0x5a, BIG);
    big_out.iov = (mcomm_iov_t){big_out.buf, BIG};
    big_out.op = (struct mci_outop){.peer = peer,
                                    .remote_id = frame->w0,
                                    .iov = &big_out.iov,
                                    .iov_count = 1,
                                    .nbytes = BIG,
                                    .done = big_out_done};
    CHECK(mci_outop_start(&big_out.op) == MCOMM_SUCCESS);
}

static void wait_received(size_t nbytes)
{
    struct mci_waiter w;

    mci_wait_begin(&w, 60000);
    while (big_in.op.received < nbytes && !big_in.is_done)
        CHECK(mci_wait_step(&w) == MCOMM_SUCCESS);
}

static void receives_and_kills(struct pair_end *end)
{
    pid_t pid;

    CHECK(read(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    big_receive(end);
    wait_received(BIG / 4);
    kill(pid, SIGKILL);
    pair_wait(&pair_seen.is_failed);
    CHECK(!pair_seen.has_left);
    CHECK(big_in.is_done);
    CHECK(big_in.err == MCOMM_ERR_PROC_FAILED);
    CHECK(mci_peer_send(end->peer, &(struct mci_frame){.am = AM_DATA}, NULL, 0, NULL) ==
          MCOMM_ERR_PROC_FAILED);
}

static void sends_and_is_killed(struct pair_end *end)
{
    pid_t pid = getpid();

    CHECK(write(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    for (;;)
        pair_wait(&pair_seen.is_failed);
}

static void killed_sender_fails_the_receiver_s_operation(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    assert_int_equal(pair_run(receives_and_kills, sends_and_is_killed), 0);
}

static void stays(struct pair_end *end)
{
    pair_exchange(end);
    pair_wait(&pair_seen.is_failed);
    CHECK(pair_seen.has_left);
}

static void orderly_end_is_leaving_and_not_failure(void **state)
{
    (void)state;
    assert_int_equal(pair_run(stays, pair_exchange), 0);
}

static void receives_void(struct pair_end *end)
{
    big_receive(end);
    pair_wait(&big_in.is_done);
    CHECK(big_in.err == MCOMM_ERR_BUFFER);
    pair_exchange(end);
}

static void source_vanishes(struct pair_end *end)
{
    struct mci_waiter w;

    mci_wait_begin(&w, 60000);
    while (big_out.op.acked < BIG / 4)
        CHECK(mci_wait_step(&w) == MCOMM_SUCCESS);
    munmap(big_out.buf + BIG / 2, BIG / 2);
    pair_wait(&big_out.is_done);
    CHECK(big_out.err == MCOMM_ERR_BUFFER);
    pair_exchange(end);
}

static void vanished_source_fails_that_operation_only(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    assert_int_equal(pair_run(receives_void, source_vanishes), 0);
}

static void gives_up_receiving(struct pair_end *end)
{
    big_receive(end);
    wait_received(BIG / 8);
    mci_inop_close(&big_in.op);
    CHECK(!big_in.is_done);
    memset(big_in.buf, 0x11, BIG);
    pair_exchange(end); /* comes after all slices that were under way */
    CHECK(!big_in.is_done);
    for (size_t i = 0; i < BIG; i++)
        CHECK(big_in.buf[i] == 0x11);
}

static void sends_in_vain(struct pair_end *end)
{
    pair_wait(&big_out.is_done);
    CHECK(big_out.err == MCOMM_ERR_CANCELLED);
    pair_exchange(end);
}

static void closed_place_is_not_written(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    for (int i = 0; i < 5; i++)
        assert_int_equal(pair_run(gives_up_receiving, sends_in_vain), 0);
}

static void gives_up_sending(struct pair_end *end)
{
    struct mci_waiter w;

    mci_wait_begin(&w, 60000);
    while (big_out.op.acked < BIG / 8)
        CHECK(mci_wait_step(&w) == MCOMM_SUCCESS);
    mci_outop_close(&big_out.op);
    munmap(big_out.buf, BIG); /* would fault if it were read */
    CHECK(!big_out.is_done);
    pair_exchange(end);
    CHECK(!big_out.is_done);
}

static void receives_in_vain(struct pair_end *end)
{
    big_receive(end);
    pair_wait(&big_in.is_done);
    CHECK(big_in.err == MCOMM_ERR_CANCELLED);
    pair_exchange(end);
}

static void closed_source_is_not_read(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    assert_int_equal(pair_run(receives_in_vain, gives_up_sending), 0);
}

static void receives_and_stops(struct pair_end *end)
{
    pid_t pid = getpid();

    CHECK(write(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    big_receive(end);
    wait_received(BIG / 8);
    raise(SIGSTOP);
    pair_wait(&big_in.is_done);
    CHECK(big_in.err == MCOMM_SUCCESS);
    for (size_t i = 0; i < BIG; i++)
        CHECK(big_in.buf[i] == 0x5a);
    pair_exchange(end);
}

static void sends_to_the_stopped(struct pair_end *end)
{
    const bool never = false;
    pid_t pid;

    CHECK(read(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    while (!is_stopped(pid))
        mci_wait_flag(&never, 1);
    mci_wait_flag(&never, 1500); /* time itself is what is tested: many times the reap time-out */
    CHECK(!pair_seen.is_failed && !big_out.is_done);
    kill(pid, SIGCONT);
    pair_wait(&big_out.is_done);
    CHECK(big_out.err == MCOMM_SUCCESS);
    pair_exchange(end);
}

static void a_stopped_process_is_not_taken_for_a_dead_host(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    setenv("MCOMM_REAP_TIMEOUT", "200ms", 1);
    assert_int_equal(pair_run(receives_and_stops, sends_to_the_stopped), 0);
    unsetenv("MCOMM_REAP_TIMEOUT");
}

static int data_count;

static void on_data(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    (void)peer;
    (void)frame;
    (void)payload;
    (void)sink;
    data_count++;
}

static void data_send(struct pair_end *end)
{
    struct mci_frame frame = {.am = AM_DATA};

    CHECK(mci_peer_send(end->peer, &frame, NULL, 0, NULL) == MCOMM_SUCCESS);
}

static void data_wait(int count)
{
    struct mci_waiter w;

    mci_wait_begin(&w, 60000);
    while (data_count < count)
        CHECK(mci_wait_step(&w) == MCOMM_SUCCESS);
}

/* The last acknowledgement is old, and the next takes the other kernel some 40 ms. */
static void sends_after_silence(struct pair_end *end)
{
    const bool never = false;
    pid_t pid;

    CHECK(read(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    for (int i = 1; i <= 40; i++) { /* who has always answered acknowledges with an answer */
        data_send(end);
        data_wait(i);
    }
    while (!is_stopped(pid))
        mci_wait_flag(&never, 1);
    for (int i = 0; i < 8; i++) {
        mci_wait_flag(&never, 280);
        data_send(end);
    }
    kill(pid, SIGCONT);
    pair_exchange(end);
}

static void answers_and_stops(struct pair_end *end)
{
    pid_t pid = getpid();

    CHECK(write(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    for (int i = 1; i <= 40; i++) {
        data_wait(i);
        data_send(end);
    }
    raise(SIGSTOP);
    pair_exchange(end);
}

static void what_was_sent_just_now_is_not_overdue(void **state)
{
    (void)state;
    mci_rail_set_am(AM_DATA, on_data);
    setenv("MCOMM_REAP_TIMEOUT", "200ms", 1);
    assert_int_equal(pair_run(sends_after_silence, answers_and_stops), 0);
    unsetenv("MCOMM_REAP_TIMEOUT");
}

static int drop_all_that_comes(int fd)
{
    struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop_all};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static bool may_filter(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), err = drop_all_that_comes(fd) == 0 ? 0 : errno;

    close(fd);
    assert_true(err == 0 || err == EPERM);
    return err == 0;
}

/* Its kernel drops all that comes, as if the host were gone. */
static void vanishes(struct pair_end *end)
{
    struct mci_tcp_link *link;

    data_send(end);
    data_wait(1);
    link = end->peer->conn;
    CHECK(drop_all_that_comes(link->lane->io.fd) == 0);
    mci_engine_unlock();
    pair_say(end, 'v');
    pair_hear(end, 'v');
    mci_engine_lock();
}

static void sends_to_the_vanished(struct pair_end *end)
{
    data_send(end);
    data_wait(1);
    mci_engine_unlock();
    pair_hear(end, 'v');
    mci_engine_lock();
    data_send(end);
    pair_wait(&pair_seen.is_failed);
    CHECK(!pair_seen.has_left);
    mci_engine_unlock();
    pair_say(end, 'v');
    mci_engine_lock();
}

static void a_host_that_acknowledges_nothing_is_given_up(void **state)
{
    (void)state;
    if (!may_filter()) {
        print_message("SKIP: this user may not attach a filter to a socket\n");
        skip();
    }
    mci_rail_set_am(AM_DATA, on_data);
    setenv("MCOMM_REAP_TIMEOUT", "1s", 1);
    assert_int_equal(pair_run(sends_to_the_vanished, vanishes), 0);
    unsetenv("MCOMM_REAP_TIMEOUT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_sender_fails_the_receiver_s_operation),
        cmocka_unit_test(orderly_end_is_leaving_and_not_failure),
        cmocka_unit_test(vanished_source_fails_that_operation_only),
        cmocka_unit_test(closed_place_is_not_written),
        cmocka_unit_test(closed_source_is_not_read),
        cmocka_unit_test(a_stopped_process_is_not_taken_for_a_dead_host),
        cmocka_unit_test(what_was_sent_just_now_is_not_overdue),
        cmocka_unit_test(a_host_that_acknowledges_nothing_is_given_up),
    };

    setenv("MCOMM_SHM", "no", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
