/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Detach, and a flush that gives up, while bulk operations are under way. A process works on its
 * own dynamic window; a rail in front of that to oneself holds the pushing of data back until it is
 * told to go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core.h"
#include "mooncake_comm.h"
#include "rail/rail_priv.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)1 << 20)
#define OK(call) assert_int_equal((call), MCOMM_SUCCESS)

static struct mci_rail_ops slow_ops;
static struct mci_outop *held[4];
static int held_count;

static mcomm_err_t hold_back(struct mci_outop *op)
{
    op->is_open = true;
    mci_list_init(&op->link);
    held[held_count++] = op;
    return MCOMM_SUCCESS;
}

static void forget(struct mci_outop *op)
{
    for (int i = 0; i < held_count; i++)
        if (held[i] == op)
            held[i] = NULL;
    op->is_open = false;
}

/* All that is still wanted goes out. */
static void go_on(void)
{
    mci_engine_lock();
    mci_peer_self()->ops = &mci_rail_self_ops;
    for (int i = 0; i < held_count; i++)
        if (held[i] != NULL)
            mci_rail_self_ops.outop_start(held[i]);
    mci_engine_unlock();
}

static mcomm_win_t win;
static unsigned char *part, *data;

static void begin_puts(mcomm_request_t *reqs, int count)
{
    slow_ops = mci_rail_self_ops;
    slow_ops.outop_start = hold_back;
    slow_ops.outop_close = forget;
    held_count = 0;
    mci_engine_lock();
    mci_peer_self()->ops = &slow_ops;
    mci_engine_unlock();
    for (int i = 0; i < count; i++)
        OK(mcomm_rput(data, PIECE, 0, (uint64_t)(uintptr_t)part + (size_t)i * PIECE, win,
                      &reqs[i]));
    mci_engine_lock();
    while (held_count < count) /* announced, and opened at the target */
        mci_progress();
    mci_engine_unlock();
}

static void expect_bytes(size_t piece, unsigned char byte)
{
    for (size_t i = 0; i < PIECE; i++)
        assert_int_equal(part[piece * PIECE + i], byte);
}

/* [0, 2) and [1, 3) are attached. */
static void detach_cuts_off_only_what_loses_its_place(void **state)
{
    mcomm_request_t reqs[3];

    (void)state;
    memset(part, 0, 3 * PIECE);
    OK(mcomm_win_attach(win, part, 2 * PIECE));
    OK(mcomm_win_attach(win, part + PIECE, 2 * PIECE));
    begin_puts(reqs, 3);
    assert_int_equal(mcomm_win_detach(win, part), MCOMM_ERR_TIMEOUT);
    go_on();
    assert_int_equal(mcomm_wait(&reqs[0], 3000, MCOMM_STATUS_IGNORE), MCOMM_ERR_RMA_RANGE);
    OK(mcomm_wait(&reqs[1], 3000, MCOMM_STATUS_IGNORE));
    OK(mcomm_wait(&reqs[2], 3000, MCOMM_STATUS_IGNORE));
    expect_bytes(0, 0);
    expect_bytes(1, 0x5a);
    expect_bytes(2, 0x5a);
    mcomm_flush(0, win);
    OK(mcomm_win_detach(win, part + PIECE));
}

/* Attached twice: the first detach has nothing to wait for. */
static void detach_of_what_stays_attached_does_not_wait(void **state)
{
    mcomm_request_t req;

    (void)state;
    memset(part, 0, PIECE);
    OK(mcomm_win_attach(win, part, PIECE));
    OK(mcomm_win_attach(win, part, PIECE));
    begin_puts(&req, 1);
    OK(mcomm_win_detach(win, part));
    go_on();
    OK(mcomm_wait(&req, 3000, MCOMM_STATUS_IGNORE));
    expect_bytes(0, 0x5a);
    OK(mcomm_win_detach(win, part));
}

/* ---- a flush that gives up, and what another thread issued meanwhile ---- */
static _Atomic bool is_flushing;

static mcomm_err_t watch_send(struct mci_peer *peer, struct mci_frame *frame,
                              const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                              struct mci_tx *tx)
{
    if (frame->am == MCI_AM_RMA_SYNC) /* asks for the count of what has been applied */
        atomic_store(&is_flushing, true);
    return mci_rail_self_ops.send(peer, frame, iov, iov_count, nbytes, tx);
}

static void *flush_in_vain(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)mcomm_flush(0, win);
}

static void flush_gives_up_what_was_issued_before_it(void **state)
{
    uint64_t at = (uint64_t)(uintptr_t)part;
    pthread_t thread;
    void *err;

    (void)state;
    memset(part, 0, 2 * PIECE);
    OK(mcomm_win_attach(win, part, 2 * PIECE));
    begin_puts(NULL, 0);
    slow_ops.send = watch_send;
    OK(mcomm_put(data, PIECE, 0, at, win));
    mci_engine_lock();
    while (held_count < 1)
        mci_progress();
    mci_engine_unlock();
    OK(mcomm_put(data, 8, 0, at, win)); /* counted: the first asks for its answer itself */
    OK(mcomm_put(data, 8, 0, at, win));
    atomic_store(&is_flushing, false);
    assert_int_equal(pthread_create(&thread, NULL, flush_in_vain, NULL), 0);
    while (!atomic_load(&is_flushing))
        sched_yield();
    OK(mcomm_put(data, PIECE, 0, at + PIECE, win));
    assert_int_equal(pthread_join(thread, &err), 0);
    assert_int_equal((mcomm_err_t)(uintptr_t)err, MCOMM_ERR_TIMEOUT);
    go_on();
    assert_int_equal(mcomm_flush(0, win), MCOMM_ERR_TIMEOUT); /* of the put of this thread */
    OK(mcomm_flush(0, win));
    expect_bytes(1, 0x5a);
    OK(mcomm_win_detach(win, part));
}

static int set_up(void **state)
{
    (void)state;
    OK(mcomm_init(NULL));
    OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, 100));
    part = calloc(3, PIECE);
    data = malloc(PIECE);
    memset(data, 0x5a, PIECE);
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(mcomm_win_free(&win));
    OK(mcomm_finalize());
    free(part);
    free(data);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detach_cuts_off_only_what_loses_its_place),
        cmocka_unit_test(detach_of_what_stays_attached_does_not_wait),
        cmocka_unit_test(flush_gives_up_what_was_issued_before_it),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
