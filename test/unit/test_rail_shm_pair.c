/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The shm rail's data path between two connections in one process: what is sent to peer a comes
 * out as from peer b and the other way round. Every byte is checked.
 */
#include "rail_shm_common.h"

#include "rail/shm/shm_priv.h"

#include <unistd.h>

#define SEED 0x9e3779b97f4a7c15u
#define AM_TEST MCI_AM_P2P_EAGER
#define FRAMES 1500

static struct mci_peer *ends[2];
static uint64_t rng;

/* ---- receiving frames ---- */
struct incoming {
    struct incoming *next;
    mcomm_iov_t iov[2];
    uint8_t *buf;
    size_t nbytes, room;
    uint32_t number;
    mcomm_err_t err;
    bool is_done;
};
static struct {
    uint32_t next;    /* number of the next frame */
    uint32_t done;    /* frames whose payload is all there */
    bool discard;     /* leave the sink empty */
    bool short_place; /* give less room than the payload needs */
    mcomm_err_t last_err;
} got[2]; /* by the peer they come from: 0 = a */

static int from_index(const struct mci_peer *peer)
{
    return peer == ends[1];
}

static void incoming_done(void *arg, mcomm_err_t err)
{
    struct incoming *in = arg;
    int from = (int)(in->number >> 31);

    if (err == MCOMM_SUCCESS)
        assert_int_equal(pattern_check(in->buf, in->room, in->number, 0), in->room);
    got[from].last_err = err;
    got[from].done++;
    free(in->buf);
    free(in);
}

static void frame_received(struct mci_peer *peer, const struct mci_frame *frame,
                           const void *payload, struct mci_sink *sink)
{
    int from = from_index(peer);
    uint32_t number = frame->w1;
    struct incoming *in;
    size_t cut;

    assert_int_equal(number & 0x7fffffff, got[from].next);
    assert_int_equal(number >> 31, from);
    assert_int_equal(frame->w0, ~(uint64_t)number);
    assert_int_equal(frame->aux, number & 0xffff);
    got[from].next++;
    if (payload != NULL) {
        assert_int_equal(pattern_check(payload, frame->nbytes, number, 0), frame->nbytes);
        got[from].done++;
        return;
    }
    if (got[from].discard) {
        got[from].done++;
        return;
    }
    in = calloc(1, sizeof(*in));
    in->number = number;
    in->nbytes = frame->nbytes;
    in->room = got[from].short_place ? in->nbytes / 2 : in->nbytes;
    in->buf = malloc(in->room);
    cut = in->room == 0 ? 0 : rng_next(&rng) % in->room;
    in->iov[0] = (mcomm_iov_t){in->buf, cut};
    in->iov[1] = (mcomm_iov_t){in->buf + cut, in->room - cut};
    *sink = (struct mci_sink){in->iov, 2, incoming_done, in};
}

/* ---- sending frames ---- */
struct outgoing {
    struct mci_tx tx;
    mcomm_iov_t iov[4];
    uint8_t *buf;
    uint32_t number;
    bool is_pending;
};
static uint32_t sent[2], sent_done[2];
static mcomm_err_t sent_err;
static int echoes; /* so many frames are sent from within done */
static struct outgoing *frame_send(int to, size_t nbytes, bool has_tx);

static void outgoing_done(struct mci_tx *tx, mcomm_err_t err)
{
    struct outgoing *out = mci_container_of(tx, struct outgoing, tx);

    assert_true(out->is_pending);
    sent_err = err;
    sent_done[out->number >> 31]++;
    memset(out->buf, 0xee, 1); /* reusable: damage must not be seen by the receiver */
    free(out->buf);
    free(out);
    if (echoes > 0) {
        echoes--;
        frame_send(0, 10, true);
    }
}

/* To peer ends[to]; arrives as from ends[!to]. */
static struct outgoing *frame_send(int to, size_t nbytes, bool has_tx)
{
    struct outgoing *out = calloc(1, sizeof(*out));
    uint32_t number = sent[to]++ | (uint32_t)!to << 31;
    struct mci_frame frame = {
        .am = AM_TEST, .aux = (uint16_t)number, .w0 = ~(uint64_t)number, .w1 = number};
    size_t at = 0;
    mcomm_err_t err;

    out->number = number;
    out->buf = malloc(nbytes + 1);
    pattern_fill(out->buf, nbytes, number, 0);
    for (int i = 0; i < 4; i++) {
        size_t left = nbytes - at, n = i == 3 || left == 0 ? left : rng_next(&rng) % (left + 1);

        out->iov[i] = (mcomm_iov_t){out->buf + at, n};
        at += n;
    }
    out->tx.done = outgoing_done;
    out->is_pending = true;
    err = mci_peer_sendv(ends[to], &frame, out->iov, 4, nbytes, has_tx ? &out->tx : NULL);
    if (err == MCI_PENDING) {
        assert_true(has_tx);
        return out;
    }
    assert_int_equal(err, MCOMM_SUCCESS);
    out->is_pending = false;
    sent_done[!to]++;
    memset(out->buf, 0xee, nbytes + 1);
    free(out->buf);
    free(out);
    return NULL;
}

static size_t random_size(void)
{
    switch (rng_next(&rng) % 6) {
    case 0:
        return rng_next(&rng) % (MCI_INLINE_MAX + 1);
    case 1:
        return MCI_INLINE_MAX - 1 + rng_next(&rng) % 4;
    case 2:
        return rng_next(&rng) % 300;
    case 3:
        return 4095 + rng_next(&rng) % 3;
    case 4:
        return rng_next(&rng) % 9000;
    default:
        return rng_next(&rng) % (MCI_FRAME_MAX + 1);
    }
}

/* ---- set-up ---- */
static void pair_up(size_t ring_nbytes)
{
    rng = SEED;
    memset(got, 0, sizeof(got));
    memset(sent, 0, sizeof(sent));
    memset(sent_done, 0, sizeof(sent_done));
    sent_err = MCOMM_SUCCESS;
    mci_rail_set_am(AM_TEST, frame_received);
    mci_engine_lock();
    ends[0] = peer_invent(0);
    ends[1] = peer_invent(1);
    assert_int_equal(mci_shm_conn_pair(ends[0], ends[1], ring_nbytes), MCOMM_SUCCESS);
}

static void pair_down(void)
{
    for (int i = 0; i < 2; i++) {
        mci_peer_fail(ends[i], "end of the test");
        mci_peer_release(ends[i]);
    }
    mci_engine_unlock();
}

static void poll_until_idle(void)
{
    while (mci_shm_poll(NULL) > 0)
        ;
}

static int rail_up(void **state)
{
    (void)state;
    base_up();
    printf("# seed %#llx\n", (unsigned long long)SEED);
    return mci_rail_start() == MCOMM_SUCCESS ? 0 : -1;
}

static int rail_down(void **state)
{
    (void)state;
    mci_rail_stop(0);
    base_down();
    return 0;
}

/* ---- frames ---- */
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

/* ---- bulk ---- */
struct bulk {
    struct mci_inop in;
    struct mci_outop out;
    mcomm_iov_t in_iov[3], out_iov[3];
    uint8_t *src, *dst;
    size_t nbytes, room;
    uint32_t number;
    int in_done, out_done;
    mcomm_err_t in_err, out_err;
};

static void bulk_in_done(struct mci_inop *op, mcomm_err_t err)
{
    struct bulk *b = op->arg;

    b->in_done++;
    b->in_err = err;
}

static void bulk_out_done(struct mci_outop *op, mcomm_err_t err)
{
    struct bulk *b = op->arg;

    b->out_done++;
    b->out_err = err;
    memset(b->src, 0xdd, b->nbytes); /* the source may be reused now */
}

static void iov_cut(mcomm_iov_t iov[3], uint8_t *buf, size_t nbytes)
{
    size_t a = nbytes == 0 ? 0 : rng_next(&rng) % nbytes;
    size_t b = nbytes - a == 0 ? 0 : rng_next(&rng) % (nbytes - a);

    iov[0] = (mcomm_iov_t){buf, a};
    iov[1] = (mcomm_iov_t){buf + a, b};
    iov[2] = (mcomm_iov_t){buf + a + b, nbytes - a - b};
}

/* To ends[to]. The inbound end belongs to the peer that the other connection has. */
static struct bulk *bulk_start(int to, size_t nbytes, size_t room)
{
    struct bulk *b = calloc(1, sizeof(*b));

    b->nbytes = nbytes;
    b->room = room;
    b->number = rng_next(&rng);
    b->src = malloc(nbytes + 1);
    b->dst = malloc(room + 1);
    pattern_fill(b->src, nbytes, b->number, 0);
    memset(b->dst, 0xaa, room + 1);
    iov_cut(b->in_iov, b->dst, room);
    iov_cut(b->out_iov, b->src, nbytes);
    b->in = (struct mci_inop){.peer = ends[!to],
                              .iov = b->in_iov,
                              .iov_count = 3,
                              .nbytes = nbytes,
                              .done = bulk_in_done,
                              .arg = b};
    assert_int_equal(mci_inop_open(&b->in), MCOMM_SUCCESS);
    b->out = (struct mci_outop){.peer = ends[to],
                                .remote_id = b->in.id,
                                .iov = b->out_iov,
                                .iov_count = 3,
                                .nbytes = nbytes,
                                .done = bulk_out_done,
                                .arg = b};
    assert_int_equal(mci_outop_start(&b->out), MCOMM_SUCCESS);
    return b;
}

static void bulk_free(struct bulk *b)
{
    assert_int_equal(b->dst[b->room], 0xaa); /* nothing past the end */
    free(b->src);
    free(b->dst);
    free(b);
}

static void bulk_expect_complete(struct bulk *b)
{
    assert_int_equal(b->in_done, 1);
    assert_int_equal(b->out_done, 1);
    assert_int_equal(b->in_err, MCOMM_SUCCESS);
    assert_int_equal(b->out_err, MCOMM_SUCCESS);
    assert_int_equal(pattern_check(b->dst, b->room, b->number, 0), b->room);
    bulk_free(b);
}

static void bulk_exchange(size_t ring_nbytes, size_t max)
{
    struct bulk *ops[24];

    pair_up(ring_nbytes);
    for (int i = 0; i < 24; i++) {
        size_t nbytes = i == 0 ? 0 : 1 + rng_next(&rng) % max;

        ops[i] = bulk_start(i % 2, nbytes, i % 5 == 4 ? nbytes / 3 : nbytes);
        frame_send(i % 2, random_size(), true); /* frames between slices */
        if (i % 3 == 0)
            mci_shm_poll(NULL);
    }
    poll_until_idle();
    for (int i = 0; i < 24; i++)
        bulk_expect_complete(ops[i]);
    assert_int_equal(got[0].done + got[1].done, 24);
    pair_down();
}

static void bulk_operations_of_any_size_arrive_among_frames(void **state)
{
    (void)state;
    bulk_exchange(2u << 20, 3u << 20);
    bulk_exchange(MCI_SHM_RING_MIN, 1u << 20);
    bulk_exchange(0, 200000);
}

static void a_closed_source_is_not_read_and_the_stream_stays_whole(void **state)
{
    struct bulk *a, *b;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    a = bulk_start(0, 3u << 20, 3u << 20); /* stops half-way in a slice: the ring is full */
    mci_outop_close(&a->out);
    mci_outop_close(&a->out);
    memset(a->src, 0x55, a->nbytes);
    b = bulk_start(0, 1u << 20, 1u << 20);
    frame_send(0, 30000, true);
    poll_until_idle();
    bulk_expect_complete(b);
    assert_int_equal(got[1].done, 1);
    assert_int_equal(a->in_done + a->out_done, 0);
    assert_int_equal(pattern_check(a->dst, 262144, a->number, 0), 262144); /* the slice begun */
    mci_inop_close(&a->in);
    bulk_free(a);
    pair_down();
}

static void a_closed_place_is_not_written(void **state)
{
    struct bulk *a, *b;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    a = bulk_start(0, 2u << 20, 2u << 20);
    mci_shm_recv(ends[1]->conn); /* half a slice */
    mci_inop_close(&a->in);
    mci_inop_close(&a->in);
    memset(a->dst, 0x55, a->room);
    b = bulk_start(0, 500000, 500000);
    poll_until_idle();
    for (size_t i = 0; i < a->room; i++)
        assert_int_equal(a->dst[i], 0x55);
    assert_int_equal(a->in_done, 0);
    assert_int_equal(a->out_done, 1);
    bulk_expect_complete(b);
    bulk_free(a);
    pair_down();
}

static void failure_ends_bulk_operations(void **state)
{
    struct bulk *a;

    (void)state;
    pair_up(MCI_SHM_RING_MIN);
    a = bulk_start(0, 2u << 20, 2u << 20);
    mci_shm_recv(ends[1]->conn);
    mci_peer_fail(ends[1], "test");
    assert_int_equal(a->in_done, 1);
    assert_int_equal(a->in_err, MCOMM_ERR_PROC_FAILED);
    mci_peer_fail(ends[0], "test");
    assert_int_equal(a->out_done, 1);
    assert_int_equal(a->out_err, MCOMM_ERR_PROC_FAILED);
    bulk_free(a);
    pair_down();
}

/* ---- garbage in the segment ---- */
/* Each case damages one thing; the receiver must fail the peer and stay alive. */
static void garbage_case(int which)
{
    struct mci_shm_conn *from, *to;
    struct mci_shm_slot *slot;
    struct mci_shm_long head;

    pair_up(MCI_SHM_RING_MIN);
    from = ends[0]->conn;
    to = ends[1]->conn;
    slot = &from->tx_slots[0];
    frame_send(0, which == 6 ? 8 : 20000, true);
    memcpy(&head, slot->rest, sizeof(head));
    switch (which) {
    case 0:
        slot->frame.nbytes = UINT32_MAX;
        break;
    case 1:
        head.pos = 1u << 20;
        break;
    case 2:
        head.how = 77;
        break;
    case 3:
        head.how = MCI_SHM_WHOLE;
        break;
    case 4:
        *(uint64_t *)(void *)from->tx_flags = UINT64_MAX / 3;
        break;
    case 5:
        slot->frame.am = MCI_AM_RAIL_SLICE;
        slot->frame.nbytes = 1u << 30;
        break;
    default:
        /* The other way: a receiver acknowledges more than was sent. */
        to->rx_back->slots_done = 5000;
        to->rx_back->ring_done = UINT64_MAX / 2;
        for (int i = 0; i < 70; i++)
            frame_send(0, 60000, true);
        break;
    }
    if (which < 6)
        memcpy(slot->rest, &head, sizeof(head));
    for (int i = 0; i < 10; i++)
        mci_shm_poll(NULL);
    assert_true(mci_peer_is_failed(which < 6 ? ends[1] : ends[0]));
    pair_down();
}

static void garbage_in_shared_memory_fails_the_peer_only(void **state)
{
    (void)state;
    mci_log_set_level("error");
    for (int which = 0; which < 7; which++)
        garbage_case(which);
}

/* Random damage anywhere in head, slots and flags: any outcome but a crash or a hang is right. */
static void ignore_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink)
{
    volatile uint8_t sum = 0;

    (void)peer;
    (void)sink;
    if (payload != NULL)
        for (size_t i = 0; i < frame->nbytes; i++)
            sum ^= ((const uint8_t *)payload)[i];
}

static void random_damage_never_crashes(void **state)
{
    (void)state;
    mci_log_set_level("error");
    for (int round = 0; round < 200; round++) {
        struct mci_shm_conn *conn;
        uint64_t keep;

        pair_up(MCI_SHM_RING_MIN);
        mci_rail_set_am(AM_TEST, ignore_frame);
        rng = keep = SEED + (uint64_t)round * 7919;
        for (int i = 0; i < 40 && ends[0]->conn != NULL && ends[1]->conn != NULL; i++) {
            frame_send(i % 2, random_size(), false);
            conn = ends[0]->conn;
            for (int k = 0; k < 4; k++)
                ((uint8_t *)conn->seg.base)[rng_next(&rng) % conn->seg.base_nbytes] =
                    (uint8_t)rng_next(&rng);
            for (int k = 0; k < 4; k++)
                ((uint8_t *)conn->tx_slots)[rng_next(&rng) % 512] ^= (uint8_t)rng_next(&rng);
            mci_shm_poll(NULL);
        }
        pair_down();
    }
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
        cmocka_unit_test(bulk_operations_of_any_size_arrive_among_frames),
        cmocka_unit_test(a_closed_source_is_not_read_and_the_stream_stays_whole),
        cmocka_unit_test(a_closed_place_is_not_written),
        cmocka_unit_test(failure_ends_bulk_operations),
        cmocka_unit_test(garbage_in_shared_memory_fails_the_peer_only),
        cmocka_unit_test(random_damage_never_crashes),
    };

    return cmocka_run_group_tests(tests, rail_up, rail_down);
}
