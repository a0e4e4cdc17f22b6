/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The rail to oneself: a bulk operation arrives; one that its receiver closes is not called again.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_operation_to_oneself_arrives),
        cmocka_unit_test(operation_closed_by_its_receiver_is_not_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
