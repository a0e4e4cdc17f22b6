/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory runs out at each allocation of a window operation in turn. A process works on its own
 * dynamic window, so origin and target are here, and every frame goes over the rail to oneself.
 * Whatever fails, a call ends with success or MCOMM_ERR_NO_MEM, never by its time limit, and what
 * it had done before is all there or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core.h"
#include "mooncake_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BIG 300000u
#define WIDE 3000u /* elements: several frames */
#define LIMIT_MS 3000

void *__real_mci_mem_alloc(size_t nbytes);
void *__real_mci_mem_zalloc(size_t nbytes);
void *__wrap_mci_mem_alloc(size_t nbytes);
void *__wrap_mci_mem_zalloc(size_t nbytes);

/* -1: there is memory; n: n more allocations. */
static _Atomic int left = -1;
static _Atomic bool is_over; /* it ran out */

static bool runs_out(void)
{
    int n = atomic_load(&left);

    if (n < 0)
        return false;
    if (n == 0) {
        atomic_store(&is_over, true);
        return true;
    }
    atomic_store(&left, n - 1);
    return false;
}

void *__wrap_mci_mem_alloc(size_t nbytes)
{
    return runs_out() ? NULL : __real_mci_mem_alloc(nbytes);
}

void *__wrap_mci_mem_zalloc(size_t nbytes)
{
    return runs_out() ? NULL : __real_mci_mem_zalloc(nbytes);
}

static mcomm_win_t win;
static mcomm_group_t group;
static unsigned char *part, *data, *result;
static uint64_t at; /* displacement of part */

#define OK(call) assert_int_equal((call), MCOMM_SUCCESS)

static mcomm_err_t both(mcomm_err_t err)
{
    mcomm_err_t flush_err = mcomm_flush(0, win);

    return err != MCOMM_SUCCESS ? err : flush_err;
}

static mcomm_err_t waited(mcomm_err_t err, mcomm_request_t *req)
{
    return err == MCOMM_SUCCESS ? mcomm_wait(req, LIMIT_MS, MCOMM_STATUS_IGNORE) : err;
}

/* ---- the operations ---- */
static mcomm_err_t do_put(void)
{
    return both(mcomm_put(data, 100, 0, at, win));
}

static mcomm_err_t do_large_put(void)
{
    return both(mcomm_put(data, BIG, 0, at, win));
}

static mcomm_err_t do_rput(void)
{
    mcomm_request_t req = MCOMM_REQUEST_NULL;

    return waited(mcomm_rput(data, 100, 0, at, win, &req), &req);
}

static mcomm_err_t do_large_rput(void)
{
    mcomm_request_t req = MCOMM_REQUEST_NULL;

    return waited(mcomm_rput(data, BIG, 0, at, win, &req), &req);
}

static mcomm_err_t do_putv(void)
{
    mcomm_rma_seg_t segs[2] = {{data, 100, at}, {data + 200, 100, at + 200}};

    return both(mcomm_putv(segs, 2, 0, win));
}

static mcomm_err_t do_get(void)
{
    return both(mcomm_get(result, 100, 0, at, win));
}

static mcomm_err_t do_large_get(void)
{
    return both(mcomm_get(result, BIG, 0, at, win));
}

static mcomm_err_t do_rget(void)
{
    mcomm_request_t req = MCOMM_REQUEST_NULL;

    return waited(mcomm_rget(result, 100, 0, at, win, &req), &req);
}

static mcomm_err_t do_accumulate(void)
{
    return both(mcomm_accumulate(data, 10, MCOMM_UINT64, 0, at, MCOMM_REPLACE, win));
}

static mcomm_err_t do_wide_accumulate(void)
{
    return both(mcomm_accumulate(data, WIDE, MCOMM_UINT64, 0, at, MCOMM_REPLACE, win));
}

static mcomm_err_t do_wide_get_accumulate(void)
{
    return both(mcomm_get_accumulate(data, result, WIDE, MCOMM_UINT64, 0, at, MCOMM_REPLACE, win));
}

static mcomm_err_t do_fetch(void)
{
    return mcomm_fetch_and_op(data, result, MCOMM_UINT64, 0, at, MCOMM_REPLACE, win);
}

static mcomm_err_t do_swap(void)
{
    uint64_t compare = 0;

    return mcomm_compare_and_swap(data, &compare, result, MCOMM_UINT64, 0, at, win);
}

static mcomm_err_t do_signal(void)
{
    return both(mcomm_put_signal(data, 100, 0, at, at + 104, 1, MCOMM_SIGNAL_SET, win));
}

static mcomm_err_t do_large_signal(void)
{
    return both(mcomm_put_signal(data, BIG - 8, 0, at + 8, at, 1, MCOMM_SIGNAL_SET, win));
}

/* One after the other: an epoch that a call opened must be closed by the next. */
static mcomm_err_t do_epoch(void)
{
    mcomm_err_t err = mcomm_win_post(group, win), one;

    if (err != MCOMM_SUCCESS)
        return err;
    do {
        err = mcomm_win_start(group, win);
    } while (err == MCOMM_ERR_NO_MEM);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mcomm_put(data, 100, 0, at, win);
    one = mcomm_win_complete(win);
    err = err == MCOMM_SUCCESS ? one : err;
    one = mcomm_win_wait(win);
    return one != MCOMM_SUCCESS ? one : err;
}

static mcomm_err_t do_attach(void)
{
    mcomm_err_t err = mcomm_win_attach(win, part, 8);

    return err == MCOMM_SUCCESS ? mcomm_win_detach(win, part) : err;
}

static mcomm_err_t do_window(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_win_t made = MCOMM_WIN_NULL;
    mcomm_err_t err;
    void *base;

    attr.nbytes = 4096;
    err = mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &made);
    return err == MCOMM_SUCCESS ? mcomm_win_free(&made) : err;
}

static const struct {
    const char *name;
    mcomm_err_t (*fn)(void);
    size_t whole; /* so many bytes of part are written, all or none */
} operations[] = {
    {"put", do_put, 100},
    {"large put", do_large_put, 0}, /* the source may vanish half-way */
    {"rput", do_rput, 100},
    {"large rput", do_large_rput, 0},
    {"putv", do_putv, 0},
    {"get", do_get, 0},
    {"large get", do_large_get, 0},
    {"rget", do_rget, 0},
    {"accumulate", do_accumulate, 80},
    {"wide accumulate", do_wide_accumulate, 0},
    {"wide get_accumulate", do_wide_get_accumulate, 0},
    {"fetch_and_op", do_fetch, 8},
    {"compare_and_swap", do_swap, 8},
    {"put_signal", do_signal, 100},
    {"large put_signal", do_large_signal, 0},
    {"epoch", do_epoch, 100},
    {"attach", do_attach, 0},
    {"window", do_window, 0},
};

static void expect_all_or_none(size_t nbytes, mcomm_err_t err)
{
    size_t same = 0;

    for (size_t i = 0; i < nbytes; i++)
        same += part[i] == data[i];
    if (err == MCOMM_SUCCESS)
        assert_int_equal(same, nbytes);
    else if (nbytes > 0)
        assert_true(same == 0 || same == nbytes);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        int allowed = 0;

        do {
            mcomm_err_t err;

            memset(part, 0, BIG);
            atomic_store(&is_over, false);
            atomic_store(&left, allowed++);
            err = operations[i].fn();
            atomic_store(&left, -1);
            if (err != MCOMM_SUCCESS && err != MCOMM_ERR_NO_MEM)
                print_error("%s, %d allocations: %s (%s)\n", operations[i].name, allowed - 1,
                            mcomm_err_name(err), mcomm_last_error());
            assert_true(err == MCOMM_SUCCESS || err == MCOMM_ERR_NO_MEM);
            OK(mcomm_flush_all(win));
            expect_all_or_none(operations[i].whole, err);
        } while (atomic_load(&is_over));
        assert_true(allowed < 200);
        OK(operations[i].fn()); /* nothing was left behind that disturbs */
    }
}

static int set_up(void **state)
{
    (void)state;
    OK(mcomm_init(NULL));
    OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, LIMIT_MS));
    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &group));
    part = calloc(1, BIG);
    data = malloc(BIG);
    result = malloc(BIG);
    memset(data, 0x5a, BIG);
    at = (uint64_t)(uintptr_t)part;
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    OK(mcomm_win_attach(win, part, BIG));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(mcomm_win_free(&win));
    OK(mcomm_group_free(&group));
    OK(mcomm_finalize());
    free(part);
    free(data);
    free(result);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
