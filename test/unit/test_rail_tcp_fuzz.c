/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The receiving side of the tcp rail eats a million mutated frames: never a crash, never a byte
 * outside the places it was given (guard bytes here, a sanitizer where built with one), and a
 * connection that breaks the protocol is closed. The process is one: lanes are fed directly.
 */
#include "config.h"

#include "rail/tcp/tcp_priv.h"
#include "rail_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED 987654321u
#define FRAMES 1000000
#define STREAM_MAX (1u << 17)
#define OPS 4
#define OP_BYTES (3u * MCI_SLICE_UNIT + 777)
#define GUARD 4096

static uint64_t rng_state = SEED;
static uint32_t rng(void)
{
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng_state >> 33);
}

static uint8_t places[OPS][OP_BYTES + 2 * GUARD];
static struct mci_inop ops[OPS];
static mcomm_iov_t iovs[OPS][2];
static uint8_t sink_place[2 * GUARD + 1000];
static mcomm_iov_t sink_iov = {sink_place + GUARD, 1000};
static uint64_t delivered, closed, completed, sinks_open;

static void op_done(struct mci_inop *op, mcomm_err_t err)
{
    (void)op;
    completed += err == MCOMM_SUCCESS;
}

static void ops_open(struct mci_peer *peer)
{
    for (int i = 0; i < OPS; i++) {
        if (ops[i].is_open)
            continue;
        iovs[i][0] = (mcomm_iov_t){places[i] + GUARD, 100001};
        /* shorter than what will come: the rest is discarded */
        iovs[i][1] = (mcomm_iov_t){places[i] + GUARD + 100001, OP_BYTES - 100001 - 5000};
        ops[i] = (struct mci_inop){
            .peer = peer, .iov = iovs[i], .iov_count = 2, .nbytes = OP_BYTES, .done = op_done};
        CHECK(mci_inop_open(&ops[i]) == MCOMM_SUCCESS);
    }
}

static void guards_set(void)
{
    memset(places, 0xa5, sizeof(places));
    memset(sink_place, 0xa5, sizeof(sink_place));
}

static void guards_check(void)
{
    for (int i = 0; i < OPS; i++) {
        for (size_t k = 0; k < GUARD; k++)
            CHECK(places[i][k] == 0xa5);
        for (size_t k = GUARD + OP_BYTES - 5000; k < sizeof(places[i]); k++)
            CHECK(places[i][k] == 0xa5);
    }
    for (size_t k = 0; k < GUARD; k++)
        CHECK(sink_place[k] == 0xa5 && sink_place[GUARD + 1000 + k] == 0xa5);
}

static void sink_done(void *arg, mcomm_err_t err)
{
    (void)arg;
    (void)err;
    sinks_open--;
}

static uint32_t payload_sum;
static void on_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    (void)peer;
    CHECK(frame->nbytes <= MCI_EAGER_MAX);
    delivered++;
    if (payload != NULL) {
        for (uint32_t i = 0; i < frame->nbytes; i++)
            payload_sum += ((const uint8_t *)payload)[i];
        return;
    }
    sinks_open++;
    sink->iov = &sink_iov;
    sink->iov_count = 1;
    sink->done = sink_done;
}

/* One frame that is right, into buf. Returns its bytes. */
static size_t frame_make(uint8_t *buf)
{
    static const uint32_t sizes[] = {0, 1, 8, 13, 300, 4000, 16384, 16392, 30000, 65536};
    struct mci_tcp_header h = {.frame = {.am = (uint8_t)(MCI_AM_P2P_EAGER + rng() % 24)}};
    struct mci_tcp_trailer trailer = {rng() % 8 ? MCI_TCP_GOOD : MCI_TCP_VOID, 0};
    size_t tail, pad;

    h.frame.nbytes = sizes[rng() % (rng() % 8 ? 5 : 10)];
    h.frame.w0 = rng();
    h.frame.w1 = rng();
    switch (rng() % 8) {
    case 0: /* ack */
        h.frame = (struct mci_frame){
            .am = MCI_AM_RAIL_ACK, .w0 = rng() % 4, .w1 = 1 + rng() % 3, .w2 = rng()};
        break;
    case 1: /* control */
        h.frame = (struct mci_frame){.am = MCI_AM_RAIL_CTL,
                                     .aux = MCI_TCP_CTL_ABORT,
                                     .w0 = ops[rng() % OPS].id + (rng() % 8 ? 99 : 0)};
        break;
    case 2:
    case 3: { /* slice, mostly of an open operation */
        uint64_t offset = (uint64_t)(rng() % 5) * MCI_SLICE_UNIT + (rng() % 16 ? 0 : rng() % 9);

        h.generation = 1 + rng() % 3;
        h.frame = (struct mci_frame){.am = MCI_AM_RAIL_SLICE,
                                     .nbytes = offset < 3 * MCI_SLICE_UNIT ? MCI_SLICE_UNIT : 777,
                                     .w0 = ops[rng() % OPS].id + (rng() % 16 == 0),
                                     .w1 = (uint32_t)offset};
        break;
    }
    default:
        break;
    }
    memcpy(buf, &h, sizeof(h));
    tail = mci_tcp_tail_nbytes(h.frame.nbytes);
    if (tail == 0)
        return sizeof(h);
    pad = tail - sizeof(trailer);
    memset(buf + sizeof(h), (int)rng(), h.frame.nbytes);
    memset(buf + sizeof(h) + h.frame.nbytes, 0, pad);
    memcpy(buf + sizeof(h) + h.frame.nbytes + pad, &trailer, sizeof(trailer));
    return sizeof(h) + h.frame.nbytes + tail;
}

/* Change some bytes, mostly of the header, in one of every `one_in` frames. */
static void mutate(uint8_t *buf, size_t nbytes, uint32_t one_in)
{
    uint32_t count = rng() % one_in ? 0 : 1 + rng() % 3;

    for (uint32_t i = 0; i < count; i++)
        buf[rng() % (rng() % 4 ? sizeof(struct mci_tcp_header) : nbytes)] ^=
            (uint8_t)(1 + rng() % 255);
}

static struct mci_peer *peer_make(uint64_t proc_id)
{
    struct mci_card card = *mci_rail_own_card();
    struct mci_peer *peer;

    card.proc_id = proc_id;
    CHECK(mci_peer_intern(&card, sizeof(card), &peer) == MCOMM_SUCCESS);
    return peer;
}

/* Feed in chunks of random length, as a socket would give them. */
static void feed(struct mci_tcp_lane *lane, const uint8_t *buf, size_t nbytes)
{
    uint8_t *exact;
    size_t at = 0, n;

    while (at < nbytes && lane->state != MCI_TCP_LANE_CLOSED) {
        n = rng() % 4 ? nbytes - at : 1 + rng() % (nbytes - at);
        exact = malloc(n); /* so that a sanitizer sees a read behind its end */
        CHECK(exact != NULL);
        memcpy(exact, buf + at, n);
        mci_tcp_rx_feed(lane, exact, n);
        free(exact);
        at += n;
    }
}

static void a_million_mutated_frames_do_no_harm(void **state)
{
    uint8_t *stream = malloc(STREAM_MAX);
    uint64_t fed = 0, proc_id = 1;
    int socks[2];

    (void)state;
    print_message("seed %u\n", SEED);
    setenv("MCOMM_SHM", "no", 1);
    setenv("MCOMM_LOG", "error", 1);
    for (int am = MCI_AM_P2P_EAGER; am < MCI_AM_MAX; am++)
        mci_rail_set_am((enum mci_am)am, on_frame);
    rails_up("fuzz");
    mci_log_max = -1; /* a line for every closed connection would be a million lines */
    mci_engine_lock();
    guards_set();
    while (fed < FRAMES) {
        struct mci_peer *peer = peer_make(proc_id++);
        struct mci_tcp_link *link = mci_tcp_link_get(peer);
        struct mci_tcp_lane *lane;
        uint32_t one_in = 1u << rng() % 12;

        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, socks) == 0);
        CHECK(mci_peer_accepts(peer, &mci_rail_tcp_ops));
        lane = mci_tcp_lane_create(link, socks[0], MCI_TCP_LANE_PARKED);
        CHECK(lane != NULL);
        mci_tcp_lane_accept(lane);
        mci_tcp_lane_enter(lane);
        lane->in_flight = 1u << 20; /* there is something to acknowledge */
        for (int i = 0; i < 2000 && lane->state != MCI_TCP_LANE_CLOSED; i++) {
            size_t nbytes = frame_make(stream);

            ops_open(peer);
            mutate(stream, nbytes, one_in);
            feed(lane, stream, nbytes);
            fed++;
        }
        closed += lane->state == MCI_TCP_LANE_CLOSED;
        mci_tcp_lane_leave(lane);
        mci_peer_fail(peer, "end of a round");
        for (int i = 0; i < OPS; i++)
            CHECK(!ops[i].is_open);
        mci_peer_release(peer);
        close(socks[1]);
        if (proc_id % 64 == 0)
            guards_check();
    }
    guards_check();
    CHECK(sinks_open == 0);
    print_message("%llu frames fed, %llu delivered, %llu operations completed, %llu closed\n",
                  (unsigned long long)fed, (unsigned long long)delivered,
                  (unsigned long long)completed, (unsigned long long)closed);
    assert_true(delivered > FRAMES / 10 && completed > 100 && closed > 100);
    mci_engine_unlock();
    rails_down();
    free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_mutated_frames_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
