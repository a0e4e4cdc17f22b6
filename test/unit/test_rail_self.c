/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The rail to oneself: a bulk operation arrives; one that its receiver closes is not called again;
 * a frame that is borrowed can be taken back.
 */
#include "config.h"

#include "rail_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NBYTES ((size_t)40 << 20) /* more than one slice of the rail */

static struct {
    struct mci_inop in;
    struct mci_outop out;
    mcomm_iov_t from, to;
    bool is_received, is_sent;
    bool closes; /* the sender's operation when all has been received */
} bulk;

static void received(struct mci_inop *op, mcomm_err_t err)
{
    (void)op;
    assert_int_equal(err, MCOMM_SUCCESS);
    bulk.is_received = true;
    if (bulk.closes) {
        mci_outop_close(&bulk.out);
        memset(&bulk.out, 0xff, sizeof(bulk.out)); /* it is the caller's again */
    }
}

static void sent(struct mci_outop *op, mcomm_err_t err)
{
    (void)op;
    assert_int_equal(err, MCOMM_SUCCESS);
    bulk.is_sent = true;
}

static void transfer(bool closes)
{
    char *src = malloc(NBYTES), *dst = calloc(1, NBYTES);

    memset(src, 7, NBYTES);
    memset(&bulk, 0, sizeof(bulk));
    bulk.closes = closes;
    bulk.from = (mcomm_iov_t){src, NBYTES};
    bulk.to = (mcomm_iov_t){dst, NBYTES};
    rails_up("self");
    mci_engine_lock();
    bulk.in = (struct mci_inop){.peer = mci_peer_self(),
                                .iov = &bulk.to,
                                .iov_count = 1,
                                .nbytes = NBYTES,
                                .done = received};
    assert_int_equal(mci_inop_open(&bulk.in), MCOMM_SUCCESS);
    bulk.out = (struct mci_outop){.peer = mci_peer_self(),
                                  .remote_id = bulk.in.id,
                                  .iov = &bulk.from,
                                  .iov_count = 1,
                                  .nbytes = NBYTES,
                                  .done = sent};
    assert_int_equal(mci_outop_start(&bulk.out), MCOMM_SUCCESS);
    assert_int_equal(mci_wait_flag(closes ? &bulk.is_received : &bulk.is_sent, 60000),
                     MCOMM_SUCCESS);
    assert_true(bulk.is_received);
    assert_int_equal(bulk.is_sent, !closes);
    assert_memory_equal(src, dst, NBYTES);
    mci_engine_unlock();
    rails_down();
    free(src);
    free(dst);
}

static void bulk_operation_to_oneself_arrives(void **state)
{
    (void)state;
    transfer(false);
}

static void operation_closed_by_its_receiver_is_not_called(void **state)
{
    (void)state;
    transfer(true);
}

/* ---- frames that are borrowed: there is no memory for a copy ---- */
void *__real_mci_mem_alloc(size_t nbytes);
void *__wrap_mci_mem_alloc(size_t nbytes);

static bool has_no_memory;

void *__wrap_mci_mem_alloc(size_t nbytes)
{
    return has_no_memory ? NULL : __real_mci_mem_alloc(nbytes);
}

enum {
    FRAMES = 4
};

static struct {
    struct mci_tx tx[FRAMES];
    bool is_done[FRAMES], has_come[FRAMES];
    int taken_back; /* by the handler of the first one, -1: none */
    bool is_taken_back;
} borrowed;

static void frame_done(struct mci_tx *tx, mcomm_err_t err)
{
    assert_int_equal(err, MCOMM_SUCCESS);
    borrowed.is_done[tx - borrowed.tx] = true;
}

static void frame_came(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink)
{
    (void)sink;
    assert_int_equal(*(const uint64_t *)payload, frame->w0);
    borrowed.has_come[frame->w0] = true;
    if (frame->w0 == 0 && borrowed.taken_back >= 0)
        borrowed.is_taken_back = mci_peer_unsend(peer, &borrowed.tx[borrowed.taken_back]);
}

/* lock: engine */
static void frames_send(int taken_back)
{
    static const uint64_t payloads[FRAMES] = {0, 1, 2, 3};

    memset(&borrowed, 0, sizeof(borrowed));
    borrowed.taken_back = taken_back;
    has_no_memory = true;
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct mci_frame frame = {.am = MCI_AM_P2P_EAGER, .w0 = i};

        borrowed.tx[i].done = frame_done;
        assert_int_equal(mci_peer_send(mci_peer_self(), &frame, &payloads[i], sizeof(payloads[i]),
                                       &borrowed.tx[i]),
                         MCI_PENDING);
    }
    has_no_memory = false;
}

static void borrowed_frame_is_taken_back_before_it_arrives(void **state)
{
    (void)state;
    mci_rail_set_am(MCI_AM_P2P_EAGER, frame_came);
    rails_up("self");
    mci_engine_lock();
    frames_send(-1);
    assert_true(mci_peer_unsend(mci_peer_self(), &borrowed.tx[1]));
    assert_int_equal(mci_wait_flag(&borrowed.is_done[FRAMES - 1], 60000), MCOMM_SUCCESS);
    for (int i = 0; i < FRAMES; i++) {
        assert_int_equal(borrowed.has_come[i], i != 1);
        assert_int_equal(borrowed.is_done[i], i != 1);
    }
    assert_false(mci_peer_unsend(mci_peer_self(), &borrowed.tx[0])); /* too late */
    mci_engine_unlock();
    rails_down();
}

static void borrowed_frame_is_taken_back_while_others_arrive(void **state)
{
    (void)state;
    mci_rail_set_am(MCI_AM_P2P_EAGER, frame_came);
    rails_up("self");
    mci_engine_lock();
    frames_send(2); /* due in the same poll */
    assert_int_equal(mci_wait_flag(&borrowed.is_done[FRAMES - 1], 60000), MCOMM_SUCCESS);
    assert_true(borrowed.is_taken_back);
    assert_false(borrowed.has_come[2]);
    assert_false(borrowed.is_done[2]);
    frames_send(0); /* by its own handler: too late, but done */
    assert_int_equal(mci_wait_flag(&borrowed.is_done[FRAMES - 1], 60000), MCOMM_SUCCESS);
    assert_false(borrowed.is_taken_back);
    assert_true(borrowed.is_done[0]);
    mci_engine_unlock();
    rails_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_operation_to_oneself_arrives),
        cmocka_unit_test(operation_closed_by_its_receiver_is_not_called),
        cmocka_unit_test(borrowed_frame_is_taken_back_before_it_arrives),
        cmocka_unit_test(borrowed_frame_is_taken_back_while_others_arrive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
