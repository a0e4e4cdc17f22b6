/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The tcp rail between two processes: frames, bulk operations, and their ends of all kinds. */
#include "config.h"

#include "rail_pair.h"
#include "rail/tcp/tcp_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>

#define AM_DATA MCI_AM_P2P_EAGER
#define AM_DONE MCI_AM_P2P_FIN
#define AM_OPEN MCI_AM_P2P_CTS /* w0: the receiver's operation */
#define SEED 20260101u

static uint8_t pattern(uint64_t key, size_t i)
{
    return (uint8_t)((key * 2654435761u + i * 40503u) >> 7);
}

static void fill(uint8_t *buf, size_t nbytes, uint64_t key)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = pattern(key, i);
}

static void verify(const uint8_t *buf, size_t nbytes, uint64_t key)
{
    for (size_t i = 0; i < nbytes; i++)
        CHECK(buf[i] == pattern(key, i));
}

static uint32_t rng_state = SEED;
static uint32_t rng(void)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return rng_state >> 8;
}

/* ---- frames ---- */
#define FRAMES 4000

static struct {
    uint64_t next; /* number that must come next */
    bool is_done;
    uint8_t *sink_buf;
    mcomm_iov_t sink_iov;
    struct mci_frame sink_frame;
    bool is_peer_done;
} got;

static size_t frame_nbytes(uint64_t i)
{
    static const size_t edges[] = {0,    1,     7,     8,     9,     36,    488,   1999,   2000,
                                   2008, 16383, 16384, 16385, 65535, 65536, 65537, 262143, 262144};

    if (i < sizeof(edges) / sizeof(edges[0]))
        return edges[i];
    return i % 5 == 0 ? (i * 7919) % 65537 : (i * 131) % 300;
}

static void frame_came(const struct mci_frame *frame, const void *payload)
{
    CHECK(frame->w0 == got.next);
    CHECK(frame->nbytes == frame_nbytes(got.next));
    CHECK(frame->w1 == (uint32_t)got.next * 3 && frame->w2 == ~(uint32_t)got.next);
    verify(payload, frame->nbytes, got.next);
    got.next++;
    got.is_done = got.next == FRAMES;
}

static void sink_done(void *arg, mcomm_err_t err)
{
    (void)arg;
    CHECK(err == MCOMM_SUCCESS);
    frame_came(&got.sink_frame, got.sink_buf);
}

static void on_data(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    (void)peer;
    if (payload != NULL) {
        CHECK((uintptr_t)payload % 8 == 0);
        frame_came(frame, payload);
        return;
    }
    CHECK(frame->nbytes > 16384);
    got.sink_frame = *frame;
    got.sink_iov = (mcomm_iov_t){got.sink_buf, frame->nbytes};
    sink->iov = &got.sink_iov;
    sink->iov_count = 1;
    sink->done = sink_done;
}

static void on_done(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    (void)peer;
    (void)frame;
    (void)payload;
    (void)sink;
    got.is_peer_done = true;
}

struct sent {
    struct mci_tx tx;
    bool is_pending;
};

static void tx_done(struct mci_tx *tx, mcomm_err_t err)
{
    struct sent *s = mci_container_of(tx, struct sent, tx);

    CHECK(err == MCOMM_SUCCESS);
    s->is_pending = false;
}

static void say_done(struct pair_end *end)
{
    struct mci_frame frame = {.am = AM_DONE};

    CHECK(mci_peer_send(end->peer, &frame, NULL, 0, NULL) == MCOMM_SUCCESS);
}

static void end_together(struct pair_end *end)
{
    say_done(end);
    pair_wait(&got.is_peer_done);
    mci_engine_unlock();
    pair_say(end, 'e');
    pair_hear(end, 'e');
    mci_engine_lock();
}

static void frames_both_ways(struct pair_end *end)
{
    struct sent *sent = calloc(FRAMES, sizeof(*sent));
    uint8_t **bufs = calloc(FRAMES, sizeof(*bufs));

    got.sink_buf = malloc(MCI_EAGER_MAX);
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct mci_frame frame = {
            .am = AM_DATA, .w0 = i, .w1 = (uint32_t)i * 3, .w2 = ~(uint32_t)i};
        size_t nbytes = frame_nbytes(i);
        struct mci_tx *tx = i % 3 == 0 ? NULL : &sent[i].tx;
        mcomm_err_t err;

        bufs[i] = malloc(nbytes + 1);
        fill(bufs[i], nbytes, i);
        sent[i].tx.done = tx_done;
        err = mci_peer_send(end->peer, &frame, bufs[i], nbytes, tx);
        CHECK(err == MCOMM_SUCCESS || (err == MCI_PENDING && tx != NULL));
        if (err == MCI_PENDING)
            sent[i].is_pending = true;
        else
            memset(bufs[i], 0xee, nbytes);
    }
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct mci_waiter w;

        mci_wait_begin(&w, 60000);
        while (sent[i].is_pending)
            CHECK(mci_wait_step(&w) == MCOMM_SUCCESS);
        free(bufs[i]);
    }
    pair_wait(&got.is_done);
    end_together(end);
    free(bufs);
    free(sent);
    free(got.sink_buf);
}

static void frames_of_all_sizes_come_whole_and_in_order(void **state)
{
    (void)state;
    mci_rail_set_am(AM_DATA, on_data);
    mci_rail_set_am(AM_DONE, on_done);
    assert_int_equal(pair_run(frames_both_ways, frames_both_ways), 0);
}

static void both_sides_may_connect_at_the_same_moment(void **state)
{
    (void)state;
    mci_rail_set_am(AM_DATA, on_data);
    mci_rail_set_am(AM_DONE, on_done);
    for (int i = 0; i < 20; i++)
        assert_int_equal(pair_run(end_together, end_together), 0);
}

/* ---- bulk ---- */
struct bulk_in {
    struct mci_inop op;
    uint8_t *buf;
    mcomm_iov_t iov[64];
    mcomm_err_t err;
    bool is_done;
};
struct bulk_out {
    struct mci_outop op;
    uint8_t *buf;
    mcomm_iov_t iov[64];
    mcomm_err_t err;
    bool is_done;
};
static const size_t bulk_sizes[] = {1,      4097,    65535,   65536,   65537,    262144,
                                    262145, 1000003, 1048576, 4194305, 16777216, 33333333};
#define BULKS (sizeof(bulk_sizes) / sizeof(bulk_sizes[0]))
static struct bulk_in in[BULKS];
static struct bulk_out out[BULKS];
static size_t ends_left;
static bool are_ended;

static void in_done(struct mci_inop *op, mcomm_err_t err)
{
    struct bulk_in *b = op->arg;

    CHECK(!b->is_done);
    b->err = err;
    b->is_done = true;
    are_ended = --ends_left == 0;
}

static void out_done(struct mci_outop *op, mcomm_err_t err)
{
    struct bulk_out *b = op->arg;

    CHECK(!b->is_done);
    b->err = err;
    b->is_done = true;
    are_ended = --ends_left == 0;
}

/* A list of random pieces of buf with gaps of 0 bytes; piece_max bounds its length. */
static size_t cut(mcomm_iov_t *iov, uint8_t *buf, size_t nbytes)
{
    size_t count = 1 + rng() % 60, at = 0;

    for (size_t i = 0; i < count; i++) {
        size_t n = i + 1 == count ? nbytes - at : rng() % (nbytes - at + 1);

        if (rng() % 3 == 0 && i + 1 < count)
            n = n % 5000;
        iov[i] = (mcomm_iov_t){buf + at, n};
        at += n;
    }
    return count;
}

static void on_open(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    struct bulk_out *b = &out[frame->w1];

    (void)payload;
    (void)sink;
    b->op = (struct mci_outop){.peer = peer, .remote_id = frame->w0, .done = out_done, .arg = b};
    b->op.nbytes = bulk_sizes[frame->w1];
    b->op.iov = b->iov;
    b->op.iov_count = cut(b->iov, b->buf, b->op.nbytes);
    CHECK(mci_outop_start(&b->op) == MCOMM_SUCCESS);
}

static void bulk_both_ways(struct pair_end *end)
{
    rng_state = SEED + (unsigned)end->side;
    ends_left = 2 * BULKS;
    for (size_t i = 0; i < BULKS; i++) {
        in[i].buf = malloc(bulk_sizes[i]);
        out[i].buf = malloc(bulk_sizes[i]);
        fill(out[i].buf, bulk_sizes[i], i * 2 + (unsigned)end->side);
    }
    for (size_t i = 0; i < BULKS; i++) {
        struct mci_inop *op = &in[i].op;
        struct mci_frame frame = {.am = AM_OPEN, .w1 = (uint32_t)i};

        *op = (struct mci_inop){.peer = end->peer, .done = in_done, .arg = &in[i]};
        op->nbytes = bulk_sizes[i];
        op->iov = in[i].iov;
        op->iov_count = cut(in[i].iov, in[i].buf, op->nbytes);
        CHECK(mci_inop_open(op) == MCOMM_SUCCESS);
        frame.w0 = op->id;
        CHECK(mci_peer_send(end->peer, &frame, NULL, 0, NULL) == MCOMM_SUCCESS);
    }
    pair_wait(&are_ended);
    for (size_t i = 0; i < BULKS; i++) {
        CHECK(in[i].err == MCOMM_SUCCESS && out[i].err == MCOMM_SUCCESS);
        verify(in[i].buf, bulk_sizes[i], i * 2 + 1u - (unsigned)end->side);
        free(in[i].buf);
        free(out[i].buf);
    }
    end_together(end);
}

static void bulk_operations_arrive_in_scattered_places(void **state)
{
    (void)state;
    print_message("seed %u\n", SEED);
    mci_rail_set_am(AM_OPEN, on_open);
    assert_int_equal(pair_run(bulk_both_ways, bulk_both_ways), 0);
}

/* ---- ends ---- */
static struct {
    bool is_failed, has_left;
} fate;

static void on_failed(struct mci_peer *peer)
{
    fate.has_left = peer->has_left;
    fate.is_failed = true;
}

static struct bulk_in big_in;
static struct bulk_out big_out;

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

#define BIG ((size_t)64 << 20)

static void big_receive(struct pair_end *end)
{
    struct mci_frame frame = {.am = AM_OPEN};

    big_in.buf = malloc(BIG);
    big_in.iov[0] = (mcomm_iov_t){big_in.buf, BIG};
    big_in.op = (struct mci_inop){
        .peer = end->peer, .nbytes = BIG, .iov = big_in.iov, .iov_count = 1, .done = big_in_done};
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
    big_out.iov[0] = (mcomm_iov_t){big_out.buf, BIG};
    big_out.op = (struct mci_outop){.peer = peer,
                                    .remote_id = frame->w0,
                                    .iov = big_out.iov,
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

    mci_rail_on_failed(on_failed);
    CHECK(read(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    big_receive(end);
    wait_received(BIG / 4);
    kill(pid, SIGKILL);
    pair_wait(&fate.is_failed);
    CHECK(!fate.has_left);
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
        pair_wait(&fate.is_failed);
}

static void killed_sender_fails_the_receiver_s_operation(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    assert_int_equal(pair_run(receives_and_kills, sends_and_is_killed), 0);
}

static void stays(struct pair_end *end)
{
    mci_rail_on_failed(on_failed);
    say_done(end);
    pair_wait(&got.is_peer_done);
    mci_engine_unlock();
    pair_say(end, 's');
    mci_engine_lock();
    pair_wait(&fate.is_failed);
    CHECK(fate.has_left);
}

static void leaves(struct pair_end *end)
{
    say_done(end);
    pair_wait(&got.is_peer_done);
    mci_engine_unlock();
    pair_hear(end, 's');
    mci_engine_lock();
}

static void orderly_end_is_leaving_and_not_failure(void **state)
{
    (void)state;
    mci_rail_set_am(AM_DONE, on_done);
    assert_int_equal(pair_run(stays, leaves), 0);
}

static void receives_void(struct pair_end *end)
{
    big_receive(end);
    pair_wait(&big_in.is_done);
    CHECK(big_in.err == MCOMM_ERR_BUFFER);
    end_together(end);
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
    end_together(end);
}

static void vanished_source_fails_that_operation_only(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    mci_rail_set_am(AM_DONE, on_done);
    assert_int_equal(pair_run(receives_void, source_vanishes), 0);
}

static void gives_up_receiving(struct pair_end *end)
{
    big_receive(end);
    wait_received(BIG / 8);
    mci_inop_close(&big_in.op);
    CHECK(!big_in.is_done);
    memset(big_in.buf, 0x11, BIG);
    end_together(end); /* comes after all slices that were under way */
    CHECK(!big_in.is_done);
    for (size_t i = 0; i < BIG; i++)
        CHECK(big_in.buf[i] == 0x11);
}

static void sends_in_vain(struct pair_end *end)
{
    pair_wait(&big_out.is_done);
    CHECK(big_out.err == MCOMM_ERR_CANCELLED);
    end_together(end);
}

static void closed_place_is_not_written(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    mci_rail_set_am(AM_DONE, on_done);
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
    end_together(end);
    CHECK(!big_out.is_done);
}

static void receives_in_vain(struct pair_end *end)
{
    big_receive(end);
    pair_wait(&big_in.is_done);
    CHECK(big_in.err == MCOMM_ERR_CANCELLED);
    end_together(end);
}

static void closed_source_is_not_read(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    mci_rail_set_am(AM_DONE, on_done);
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
    end_together(end);
}

static bool is_stopped(pid_t pid)
{
    char path[64], line[128] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    CHECK(file != NULL && fgets(line, sizeof(line), file) != NULL);
    fclose(file);
    return strstr(line, ") T ") != NULL;
}

static void sends_to_the_stopped(struct pair_end *end)
{
    const bool never = false;
    pid_t pid;

    mci_rail_on_failed(on_failed);
    CHECK(read(end->sock, &pid, sizeof(pid)) == sizeof(pid));
    while (!is_stopped(pid))
        mci_wait_flag(&never, 1);
    mci_wait_flag(&never, 1500); /* time itself is what is tested: many times the reap time-out */
    CHECK(!fate.is_failed && !big_out.is_done);
    kill(pid, SIGCONT);
    pair_wait(&big_out.is_done);
    CHECK(big_out.err == MCOMM_SUCCESS);
    end_together(end);
}

static void a_stopped_process_is_not_taken_for_a_dead_host(void **state)
{
    (void)state;
    mci_rail_set_am(AM_OPEN, on_open_big);
    mci_rail_set_am(AM_DONE, on_done);
    setenv("MCOMM_REAP_TIMEOUT", "200ms", 1);
    assert_int_equal(pair_run(receives_and_stops, sends_to_the_stopped), 0);
    unsetenv("MCOMM_REAP_TIMEOUT");
}

/* Nothing behind its header could tell the receiver that it does not count. */
static void frame_without_payload_cannot_be_taken_back_half_sent(void **state)
{
    struct mci_tcp_part part = {.is_active = true, .sent = 10};

    (void)state;
    mci_tcp_part_void(&part);
    assert_false(part.is_void);
    part.header.frame.nbytes = 8;
    mci_tcp_part_void(&part);
    assert_true(part.is_void);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_without_payload_cannot_be_taken_back_half_sent),
        cmocka_unit_test(frames_of_all_sizes_come_whole_and_in_order),
        cmocka_unit_test(both_sides_may_connect_at_the_same_moment),
        cmocka_unit_test(bulk_operations_arrive_in_scattered_places),
        cmocka_unit_test(killed_sender_fails_the_receiver_s_operation),
        cmocka_unit_test(orderly_end_is_leaving_and_not_failure),
        cmocka_unit_test(vanished_source_fails_that_operation_only),
        cmocka_unit_test(closed_place_is_not_written),
        cmocka_unit_test(closed_source_is_not_read),
        cmocka_unit_test(a_stopped_process_is_not_taken_for_a_dead_host),
    };

    setenv("MCOMM_SHM", "no", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
