/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * How the tcp rail connects: dead processes, addresses that swallow packets, strangers at the
 * door, foreign keys, and peers that can be reached from one side only.
 */
#include "config.h"

#include "rail/handshake.h"
#include "rail_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>

/* An address on which nobody ever answers: a listener whose queue is full. */
struct black_hole {
    int listener, fillers[8];
    struct mci_card_addr addr;
};

static void black_hole_open(struct black_hole *hole)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t nbytes = sizeof(sa);

    hole->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(hole->listener, (struct sockaddr *)&sa, nbytes) == 0);
    CHECK(listen(hole->listener, 0) == 0);
    CHECK(getsockname(hole->listener, (struct sockaddr *)&sa, &nbytes) == 0);
    for (int i = 0; i < 8; i++) {
        hole->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        CHECK(connect(hole->fillers[i], (struct sockaddr *)&sa, nbytes) == 0 ||
              errno == EINPROGRESS);
    }
    hole->addr = (struct mci_card_addr){.family = 4, .port = ntohs(sa.sin_port)};
    memcpy(hole->addr.bytes, &sa.sin_addr, 4);
}

static void black_hole_close(struct black_hole *hole)
{
    close(hole->listener);
    for (int i = 0; i < 8; i++)
        close(hole->fillers[i]);
}

/* The other side's card with other content is another process for us: never use end->peer then. */
static struct mci_peer *peer_of(const struct mci_card *card)
{
    struct mci_peer *peer;

    CHECK(mci_peer_intern(card, sizeof(*card), &peer) == MCOMM_SUCCESS);
    return peer;
}

/* ---- a process that is gone ---- */
static void exits_at_once(struct pair_end *end)
{
    (void)end;
}

static void connects_to_the_dead(struct pair_end *end)
{
    char c;

    mci_engine_unlock();
    CHECK(read(end->sock, &c, 1) == 0); /* the other side has ended */
    mci_engine_lock();
    mci_peer_watch(end->peer);
    pair_wait(&pair_seen.is_failed);
    CHECK(!pair_seen.has_left);
    CHECK(strstr(mci_peer_reason(end->peer), "refuses") != NULL);
}

static void a_process_that_is_gone_fails_at_once(void **state)
{
    (void)state;
    setenv("MCOMM_CONNECT_TIMEOUT", "1h", 1); /* so it is not the deadline that ends it */
    assert_int_equal(pair_run(connects_to_the_dead, exits_at_once), 0);
    unsetenv("MCOMM_CONNECT_TIMEOUT");
}

/* ---- addresses that swallow packets ---- */
static void connects_through_the_second_address(struct pair_end *end)
{
    struct mci_card card = end->other_card;
    struct black_hole hole;

    black_hole_open(&hole);
    memmove(&card.addr[1], &card.addr[0], sizeof(card.addr[0]) * (MCI_CARD_ADDR_MAX - 1));
    card.addr[0] = hole.addr;
    if (card.addr_count < MCI_CARD_ADDR_MAX)
        card.addr_count++;
    *end->peer->card = card;
    pair_exchange(end);
    black_hole_close(&hole);
}

static void waits_for_the_other(struct pair_end *end)
{
    pair_wait(&pair_seen.is_done); /* do not connect yourself */
    pair_seen.is_done = true;
    pair_exchange(end);
}

static void a_silent_address_does_not_hide_the_next_one(void **state)
{
    (void)state;
    setenv("MCOMM_CONNECT_TIMEOUT", "1h", 1);
    setenv("MCOMM_NET", "127.0.0.1", 1); /* the same network as the silent one's: order is kept */
    assert_int_equal(pair_run(connects_through_the_second_address, waits_for_the_other), 0);
    unsetenv("MCOMM_NET");
    unsetenv("MCOMM_CONNECT_TIMEOUT");
}

static void has_a_silent_peer_too(struct pair_end *end)
{
    struct mci_card card = end->other_card;
    struct mci_peer *silent;
    struct black_hole hole;

    black_hole_open(&hole);
    card.proc_id ^= 0x1234567;
    card.addr_count = 1;
    card.addr[0] = hole.addr;
    silent = peer_of(&card);
    mci_peer_watch(silent);
    CHECK(silent->state == MCI_PEER_CONNECTING);
    pair_exchange(end); /* is served meanwhile */
    pair_wait(&pair_seen.is_failed);
    CHECK(mci_peer_is_failed(silent) && !mci_peer_is_failed(end->peer));
    black_hole_close(&hole);
    pair_exchange(end);
}

static void exchanges_twice(struct pair_end *end)
{
    pair_exchange(end);
    pair_seen.is_done = false;
    pair_exchange(end);
}

static void a_silent_peer_ends_by_the_deadline_and_holds_up_nobody(void **state)
{
    (void)state;
    setenv("MCOMM_CONNECT_TIMEOUT", "2s", 1);
    assert_int_equal(pair_run(has_a_silent_peer_too, exchanges_twice), 0);
    unsetenv("MCOMM_CONNECT_TIMEOUT");
}

static void cannot_reach_the_other(struct pair_end *end)
{
    struct black_hole hole;

    black_hole_open(&hole);
    end->peer->card->addr_count = 1;
    end->peer->card->addr[0] = hole.addr;
    pair_exchange(end);
    black_hole_close(&hole);
}

/* Whichever process id is lower: half of the runs have to fall back on the parked connection. */
static void one_direction_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(pair_run(cannot_reach_the_other, pair_exchange), 0);
}

/* ---- strangers ---- */
static int raw_connect(const struct mci_card_addr *addr)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(addr->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(addr->family == 4);
    memcpy(&sa.sin_addr, addr->bytes, 4);
    CHECK(connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0);
    return fd;
}

static void knocks(struct pair_end *end)
{
    static const char garbage[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fds[MCI_HANDSHAKE_INCOMING_MAX * 2];
    struct pollfd closed;

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        fds[i] = raw_connect(&end->other_card.addr[0]); /* silent ones */
    /* More than may wait: the oldest is dropped. */
    closed = (struct pollfd){.fd = fds[0], .events = POLLIN | POLLRDHUP};
    CHECK(poll(&closed, 1, 60000) == 1);
    for (int i = 0; i < 8; i++) {
        int fd = raw_connect(&end->other_card.addr[0]);
        char c;

        CHECK(write(fd, garbage, sizeof(garbage)) == (ssize_t)sizeof(garbage));
        CHECK(recv(fd, &c, 1, 0) <= 0); /* closed without a word */
        close(fd);
    }
    pair_exchange(end);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close(fds[i]);
}

static void strangers_are_bounded_and_garbage_closes_its_socket_only(void **state)
{
    (void)state;
    setenv("MCOMM_CONNECT_TIMEOUT", "1h", 1); /* they are not dropped by time */
    assert_int_equal(pair_run(knocks, waits_for_the_other), 0);
    unsetenv("MCOMM_CONNECT_TIMEOUT");
}

static void has_another_key(struct pair_end *end)
{
    end->peer->card->key[7] ^= 1;
    mci_peer_watch(end->peer);
    pair_wait(&pair_seen.is_failed);
    CHECK(strstr(mci_peer_reason(end->peer), "another process") != NULL);
    mci_engine_unlock();
    pair_say(end, 'k');
    mci_engine_lock();
}

static void admits_nobody(struct pair_end *end)
{
    mci_engine_unlock();
    pair_hear(end, 'k');
    mci_engine_lock();
    CHECK(end->peer->state == MCI_PEER_IDLE);
}

static void a_wrong_key_is_not_admitted(void **state)
{
    (void)state;
    assert_int_equal(pair_run(has_another_key, admits_nobody), 0);
}

/* ---- settings ---- */
static void listens_in_the_range(struct pair_end *end)
{
    const struct mci_card *own = mci_rail_own_card();

    CHECK(own->addr_count >= 1);
    for (uint32_t i = 0; i < own->addr_count; i++)
        CHECK(own->addr[i].port >= 23450 && own->addr[i].port <= 23499);
    pair_exchange(end);
}

static void ports_come_from_the_range_that_was_set(void **state)
{
    (void)state;
    setenv("MCOMM_PORT", "23450-23499", 1);
    assert_int_equal(pair_run(listens_in_the_range, listens_in_the_range), 0);
    unsetenv("MCOMM_PORT");
}

static void talks_over_ipv6(struct pair_end *end)
{
    const struct mci_card *own = mci_rail_own_card();

    CHECK(own->addr_count == 1 && own->addr[0].family == 6);
    pair_exchange(end);
}

static void ipv6_alone_is_enough(void **state)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    (void)state;
    if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0) {
        print_message("no ::1 here\n");
        if (fd >= 0)
            close(fd);
        skip();
    }
    close(fd);
    setenv("MCOMM_NET", "::1", 1);
    assert_int_equal(pair_run(talks_over_ipv6, talks_over_ipv6), 0);
    unsetenv("MCOMM_NET");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_is_gone_fails_at_once),
        cmocka_unit_test(a_silent_address_does_not_hide_the_next_one),
        cmocka_unit_test(a_silent_peer_ends_by_the_deadline_and_holds_up_nobody),
        cmocka_unit_test(one_direction_is_enough),
        cmocka_unit_test(strangers_are_bounded_and_garbage_closes_its_socket_only),
        cmocka_unit_test(a_wrong_key_is_not_admitted),
        cmocka_unit_test(ports_come_from_the_range_that_was_set),
        cmocka_unit_test(ipv6_alone_is_enough),
    };

    setenv("MCOMM_SHM", "no", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
