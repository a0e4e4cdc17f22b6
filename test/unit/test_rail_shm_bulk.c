/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Bulk operations over a pair of connections of the shm rail in one process. */
#include "rail_shm_pair.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_operations_of_any_size_arrive_among_frames),
        cmocka_unit_test(a_closed_source_is_not_read_and_the_stream_stays_whole),
        cmocka_unit_test(a_closed_place_is_not_written),
        cmocka_unit_test(failure_ends_bulk_operations),
    };

    return cmocka_run_group_tests(tests, rail_up, rail_down);
}
