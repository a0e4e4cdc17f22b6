/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A million mutated frames against the admission, and many more against both sides of the
 * rendezvous: nobody is admitted, nothing crashes, no state is left behind. MCOMM_TEST_SEED
 * gives another seed than the fixed one.
 */
#include "config.h"

#include "rt/rdv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NUM_AUTH_FRAMES 1000000
#define NUM_CONN_FRAMES 500000
#define NUM_CLIENT_FRAMES 300000
#define FRAME_MAX 8192
#define SIZE 4

static const uint8_t secret[MCI_AUTH_SECRET_BYTES] = "nobody else knows this secret..";
static uint64_t seed = 20261130;

static uint32_t next_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

struct frame {
    uint8_t bytes[FRAME_MAX];
    size_t nbytes;
};

static void flip_bits(struct frame *frame)
{
    for (uint32_t n = 1 + next_random() % 4; n > 0; n--)
        frame->bytes[next_random() % frame->nbytes] ^= (uint8_t)(1 << next_random() % 8);
}

static void set_bytes(struct frame *frame)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff, 32, 64, 4};
    size_t at = next_random() % frame->nbytes;

    for (uint32_t n = 1 + next_random() % 4; n > 0 && at < frame->nbytes; n--)
        frame->bytes[at++] = special[next_random() % sizeof(special)];
}

/* The header's fields are what parsers trip over: aim at them. */
static void set_header(struct frame *frame)
{
    size_t n = frame->nbytes < 8 ? frame->nbytes : 8;

    frame->bytes[next_random() % n] = (uint8_t)next_random();
    frame->bytes[n - 1 - next_random() % (n < 4 ? n : 4)] = (uint8_t)next_random();
}

static void cut(struct frame *frame)
{
    frame->nbytes = next_random() % frame->nbytes;
}

static void insert(struct frame *frame)
{
    size_t at = next_random() % frame->nbytes;
    size_t n = 1 + next_random() % 40;

    if (frame->nbytes + n > FRAME_MAX)
        return;
    memmove(frame->bytes + at + n, frame->bytes + at, frame->nbytes - at);
    for (size_t i = 0; i < n; i++)
        frame->bytes[at + i] = (uint8_t)next_random();
    frame->nbytes += n;
}

static void take_out(struct frame *frame)
{
    size_t at = next_random() % frame->nbytes;
    size_t n = 1 + next_random() % 40;

    n = n < frame->nbytes - at ? n : frame->nbytes - at;
    memmove(frame->bytes + at, frame->bytes + at + n, frame->nbytes - at - n);
    frame->nbytes -= n;
}

static void all_random(struct frame *frame)
{
    for (size_t i = 0; i < frame->nbytes; i++)
        frame->bytes[i] = (uint8_t)next_random();
}

static void (*const mutations[])(struct frame *frame) = {
    flip_bits, set_bytes, set_header, cut, insert, take_out, all_random,
};

/* A mutation of good in which at least one of good's bytes is wrong or missing. */
static void mutate(const struct frame *good, struct frame *bad)
{
    do {
        memcpy(bad->bytes, good->bytes, good->nbytes);
        bad->nbytes = good->nbytes;
        for (uint32_t n = 1 + next_random() % 2; n > 0 && bad->nbytes > 0; n--)
            mutations[next_random() % (sizeof(mutations) / sizeof(mutations[0]))](bad);
    } while (bad->nbytes >= good->nbytes && memcmp(bad->bytes, good->bytes, good->nbytes) == 0);
}

/* ---- admission */

struct scene {
    struct mci_auth auth; /* about to get the frame */
    struct frame frame;   /* the right one */
    struct frame next;    /* what the honest peer would say after that, or empty */
};

static void take_output(struct mci_auth *auth, struct frame *frame)
{
    const void *buf;

    frame->nbytes = mci_auth_output(auth, &buf);
    memcpy(frame->bytes, buf, frame->nbytes);
    mci_auth_sent(auth, frame->nbytes);
}

static void give(struct mci_auth *auth, const struct frame *frame)
{
    size_t used;

    assert_int_equal(mci_auth_input(auth, frame->bytes, frame->nbytes, &used), MCOMM_SUCCESS);
    assert_int_equal(used, frame->nbytes);
}

/* The four moments of an admission, each with the frame that belongs there. */
static void make_scenes(struct scene scenes[4])
{
    struct mci_auth a, b;

    assert_int_equal(mci_auth_start(&a, MCI_AUTH_INITIATOR, secret, "payload", 7), 0);
    assert_int_equal(mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret, "answer", 6), 0);
    for (int i = 0; i < 4; i += 2) {
        scenes[i].auth = b;
        take_output(&a, &scenes[i].frame);
        give(&b, &scenes[i].frame);
        scenes[i + 1].auth = a;
        take_output(&b, &scenes[i + 1].frame);
        give(&a, &scenes[i + 1].frame);
    }
    assert_true(mci_auth_done(&a));
    assert_true(mci_auth_done(&b));
    scenes[0].next = scenes[2].frame;
    scenes[1].next = scenes[3].frame;
}

/* Feed in random pieces, as a network would. */
static mcomm_err_t feed_auth(struct mci_auth *auth, const struct frame *frame)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t at = 0, used;

    while (at < frame->nbytes && err == MCOMM_SUCCESS) {
        size_t n = next_random() % 4 == 0 ? 1 + next_random() % 16 : frame->nbytes;

        n = n < frame->nbytes - at ? n : frame->nbytes - at;
        err = mci_auth_input(auth, frame->bytes + at, n, &used);
        assert_true(used <= n);
        if (err == MCOMM_SUCCESS && used == 0)
            break;
        at += used;
    }
    return err;
}

static void no_mutated_frame_admits_anybody(void **state)
{
    static struct scene scenes[4];
    static struct mci_auth auth;
    static struct frame bad;
    size_t used;
    const void *buf;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    make_scenes(scenes);
    for (int i = 0; i < NUM_AUTH_FRAMES; i++) {
        const struct scene *scene = &scenes[next_random() % 4];

        auth = scene->auth;
        mutate(&scene->frame, &bad);
        if (feed_auth(&auth, &bad) == MCOMM_SUCCESS && scene->next.nbytes > 0)
            mci_auth_input(&auth, scene->next.bytes, scene->next.nbytes, &used);
        assert_int_not_equal(auth.state, MCI_AUTH_PROVEN);
        assert_null(mci_auth_peer_payload(&auth, &used));
        assert_true(mci_auth_output(&auth, &buf) <= MCI_AUTH_FRAME_MAX);
        assert_true(auth.in_nbytes <= MCI_AUTH_FRAME_MAX);
    }
}

/* ---- rendezvous, rank 0's side */

static void record(struct frame *to, const void *buf, size_t nbytes)
{
    assert_true(to->nbytes + nbytes <= FRAME_MAX);
    memcpy(to->bytes + to->nbytes, buf, nbytes);
    to->nbytes += nbytes;
}

/* Bytes of an unknown sender: each lives or dies by itself, no slot is ever taken. */
static void unproven_connections_never_touch_the_server(void **state)
{
    static struct mci_rdv_server server;
    static struct mci_rdv_conn conn, fresh;
    static struct frame hello, bad;
    struct mci_rdv_hello who = {.version = MCI_RDV_VERSION, .rank = 1, .size = SIZE};
    static struct mci_rdv_client client;
    const void *buf;
    size_t n;

    (void)state;
    assert_int_equal(mci_rdv_server_init(&server, SIZE, secret, "0", 1), 0);
    assert_int_equal(mci_rdv_conn_init(&fresh, &server, "nowhere"), 0);
    assert_int_equal(mci_rdv_client_init(&client, secret, &who, "1", 1), 0);
    hello.nbytes = 0;
    n = mci_rdv_client_output(&client, &buf);
    record(&hello, buf, n);
    for (int i = 0; i < NUM_CONN_FRAMES / 2; i++) {
        conn = fresh;
        mutate(&hello, &bad);
        mci_rdv_conn_input(&conn, bad.bytes, bad.nbytes);
        assert_int_equal(conn.state, MCI_RDV_CONN_ADMISSION);
        assert_int_equal(server.num_arrived, 1);
        assert_null(server.slots[1].conn);
    }
    mci_rdv_client_fini(&client);
    mci_rdv_conn_fini(&fresh);
    mci_rdv_server_fini(&server);
}

/* Even an admitted one that sends nonsense harms nobody but itself. */
static void admitted_nonsense_leaves_nothing_behind(void **state)
{
    static struct mci_rdv_server server;
    static struct mci_rdv_conn conn, admitted;
    static struct mci_rdv_client client;
    static struct frame join, bad;
    struct mci_rdv_hello who = {.version = MCI_RDV_VERSION, .rank = 1, .size = SIZE};
    const void *buf;
    size_t n;

    (void)state;
    assert_int_equal(mci_rdv_server_init(&server, SIZE, secret, "0", 1), 0);
    assert_int_equal(mci_rdv_conn_init(&conn, &server, "nowhere"), 0);
    assert_int_equal(mci_rdv_client_init(&client, secret, &who, "a packet", 8), 0);
    while (client.state == MCI_RDV_CLIENT_ADMISSION) {
        while (client.auth.state != MCI_AUTH_PROVEN &&
               (n = mci_rdv_client_output(&client, &buf)) > 0) {
            assert_int_equal(mci_rdv_conn_input(&conn, buf, n), 0);
            mci_rdv_client_sent(&client, n);
        }
        n = mci_rdv_conn_output(&conn, &buf);
        assert_int_equal(mci_rdv_client_input(&client, buf, n), 0);
        mci_rdv_conn_sent(&conn, n);
    }
    assert_int_equal(conn.state, MCI_RDV_CONN_ADMITTED);
    admitted = conn;
    join.nbytes = 0;
    n = mci_rdv_client_output(&client, &buf);
    record(&join, buf, n);
    mci_rdv_header_put(bad.bytes, MCI_RDV_ASK, 0);
    mci_rdv_header_put(bad.bytes + 8, MCI_RDV_GOT, 0);
    record(&join, bad.bytes, 16);
    for (int i = 0; i < NUM_CONN_FRAMES / 2; i++) {
        conn = admitted;
        server.slots[1].conn = &conn;
        mutate(&join, &bad);
        mci_rdv_conn_input(&conn, bad.bytes, bad.nbytes);
        assert_int_not_equal(conn.state, MCI_RDV_CONN_DONE);
        assert_true(server.num_arrived == 1 || conn.state == MCI_RDV_CONN_JOINED);
        mci_rdv_conn_fini(&conn);
        assert_int_equal(server.num_arrived, 1);
        assert_null(server.slots[1].packet);
    }
    mci_rdv_client_fini(&client);
    mci_rdv_server_fini(&server);
}

/* ---- rendezvous, the other ranks' side */

static void client_survives_a_mad_server(void **state)
{
    static struct mci_rdv_client client, admitted;
    static struct frame good[3], bad;
    static const uint8_t packets[] = {2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0,
                                      1, 0, 0, 0, 'c', 1,   0, 0, 0, 'd'};
    struct mci_rdv_hello who = {.version = MCI_RDV_VERSION, .rank = 1, .size = SIZE};
    uint8_t head[MCI_RDV_HEADER_BYTES];

    (void)state;
    assert_int_equal(mci_rdv_client_init(&admitted, secret, &who, "a packet", 8), 0);
    admitted.auth.state = MCI_AUTH_PROVEN;
    admitted.state = MCI_RDV_CLIENT_WAITING;
    mci_rdv_header_put(head, MCI_RDV_ALL, sizeof(packets));
    record(&good[0], head, sizeof(head));
    record(&good[0], packets, sizeof(packets));
    mci_rdv_header_put(head, MCI_RDV_MISSING, 4);
    record(&good[1], head, sizeof(head));
    record(&good[1], "1, 2", 4);
    record(&good[1], good[0].bytes, good[0].nbytes);
    mci_rdv_header_put(head, MCI_RDV_REFUSED, 6);
    record(&good[2], head, sizeof(head));
    record(&good[2], "so not", 6);
    for (int i = 0; i < NUM_CLIENT_FRAMES; i++) {
        client = admitted;
        mutate(&good[next_random() % 3], &bad);
        mci_rdv_client_input(&client, bad.bytes, bad.nbytes);
        mci_rdv_client_ask(&client);
        assert_true(client.out_nbytes <= sizeof(client.out));
        if (client.state == MCI_RDV_CLIENT_DONE)
            assert_int_equal(client.blobs.num, SIZE);
        mci_rdv_client_fini(&client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_mutated_frame_admits_anybody),
        cmocka_unit_test(unproven_connections_never_touch_the_server),
        cmocka_unit_test(admitted_nonsense_leaves_nothing_behind),
        cmocka_unit_test(client_survives_a_mad_server),
    };

    if (getenv("MCOMM_TEST_SEED") != NULL)
        seed = strtoull(getenv("MCOMM_TEST_SEED"), NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
