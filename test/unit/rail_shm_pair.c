/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Sends and checks numbered frames between two ends: see rail_shm_pair.h. */
#include "rail_shm_pair.h"

struct mci_peer *ends[2];
uint64_t rng;

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
struct pair_got got[2];

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
uint32_t sent[2], sent_done[2];
mcomm_err_t sent_err;
int echoes;

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

struct outgoing *frame_send(int to, size_t nbytes, bool has_tx)
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

size_t random_size(void)
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
void pair_up(size_t ring_nbytes)
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

void pair_down(void)
{
    for (int i = 0; i < 2; i++) {
        mci_peer_fail(ends[i], "end of the test");
        mci_peer_release(ends[i]);
    }
    mci_engine_unlock();
}

void poll_until_idle(void)
{
    while (mci_shm_poll(NULL) > 0)
        ;
}

int rail_up(void **state)
{
    (void)state;
    base_up();
    printf("# seed %#llx\n", (unsigned long long)SEED);
    return mci_rail_start() == MCOMM_SUCCESS ? 0 : -1;
}

int rail_down(void **state)
{
    (void)state;
    mci_rail_stop(0);
    base_down();
    return 0;
}
