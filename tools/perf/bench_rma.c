/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* One-sided operations of rank 0 on rank 1 (on itself when alone). */
#include "config.h"

#include "perf/bench.h"

#include <string.h>

static const size_t sizes[] = {8, 4096, 65536, 1048576, 4194304};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))

static int target_of(const struct bench *b)
{
    return b->size > 1 ? 1 : 0;
}

static void put(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        bench_rewrite(b, b->src, nbytes);
        bench_check(b, mcomm_put(b->src, nbytes, target_of(b), 0, b->win), "put");
        bench_check(b, mcomm_flush(target_of(b), b->win), "flush");
    }
}

static void get(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        bench_check(b, mcomm_get(b->dst, nbytes, target_of(b), 0, b->win), "get");
        bench_check(b, mcomm_flush(target_of(b), b->win), "flush");
        bench_read(b, b->dst, nbytes);
    }
}

static void put_window(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        for (size_t k = 0; k < BENCH_WINDOW; k++) {
            bench_rewrite(b, b->src + k * nbytes, nbytes);
            bench_check(b, mcomm_put(b->src + k * nbytes, nbytes, target_of(b), k * nbytes, b->win),
                        "put");
        }
        bench_check(b, mcomm_flush(target_of(b), b->win), "flush");
    }
}

static void get_window(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        for (size_t k = 0; k < BENCH_WINDOW; k++)
            bench_check(b, mcomm_get(b->dst + k * nbytes, nbytes, target_of(b), k * nbytes, b->win),
                        "get");
        bench_check(b, mcomm_flush(target_of(b), b->win), "flush");
        bench_read(b, b->dst, nbytes * BENCH_WINDOW);
    }
}

/* The target is told and reads what was put: here a put cannot leave its cost to the reader. */
static void put_read(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank > 1)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        if (b->rank == 0) {
            bench_rewrite(b, b->src, nbytes);
            bench_check(b, mcomm_put(b->src, nbytes, 1, 0, b->win), "put");
            bench_check(b, mcomm_flush(1, b->win), "flush");
            bench_check(b, mcomm_send(NULL, 0, 1, 4, b->comm), "send");
            bench_check(b, mcomm_recv(NULL, 0, 1, 5, b->comm, MCOMM_STATUS_IGNORE), "recv");
        } else {
            bench_check(b, mcomm_recv(NULL, 0, 0, 4, b->comm, MCOMM_STATUS_IGNORE), "recv");
            bench_read(b, b->win_base, nbytes);
            bench_check(b, mcomm_send(NULL, 0, 0, 5, b->comm), "send");
        }
    }
}

static void fetch_add(struct bench *b, size_t nbytes, long iterations)
{
    int64_t one = 1, old;

    (void)nbytes;
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++)
        bench_check(b,
                    mcomm_fetch_and_op(&one, &old, MCOMM_INT64, target_of(b), 0, MCOMM_SUM, b->win),
                    "fetch_and_op");
}

static void compare_swap(struct bench *b, size_t nbytes, long iterations)
{
    int64_t expected = 0, old = 0, wanted;

    (void)nbytes;
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) { /* the first may miss */
        wanted = expected + 1;
        bench_check(
            b,
            mcomm_compare_and_swap(&wanted, &expected, &old, MCOMM_INT64, target_of(b), 0, b->win),
            "compare_and_swap");
        expected = old == expected ? wanted : old;
    }
}

static void accumulate(struct bench *b, size_t nbytes, long iterations)
{
    size_t count = nbytes / sizeof(int64_t);

    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        bench_rewrite(b, b->src, nbytes);
        bench_check(
            b, mcomm_accumulate(b->src, count, MCOMM_INT64, target_of(b), 0, MCOMM_SUM, b->win),
            "accumulate");
        bench_check(b, mcomm_flush(target_of(b), b->win), "flush");
    }
}

void bench_rma(struct bench *b)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    void *base;

    attr.nbytes = b->buffer_nbytes;
    bench_check(b, mcomm_win_allocate(&attr, b->comm, &base, &b->win), "win_allocate");
    if (b->failed != NULL)
        return;
    b->win_base = base;
    memset(base, 1, attr.nbytes);
    bench_heading(b, "one-sided, rank 0 on rank 1: operation and flush");
    for (size_t i = 0; i < SIZE_NUM; i++)
        bench_measure(b, "put_flush", put, sizes[i], 1);
    for (size_t i = 0; i < SIZE_NUM; i++)
        bench_measure(b, "get_flush", get, sizes[i], 1);
    bench_heading(b, "one-sided, 16 operations and one flush, time of one");
    for (size_t i = 0; i < SIZE_NUM; i++)
        if (sizes[i] * BENCH_WINDOW <= b->buffer_nbytes)
            bench_measure(b, "put16_flush", put_window, sizes[i], BENCH_WINDOW);
    for (size_t i = 0; i < SIZE_NUM; i++)
        if (sizes[i] * BENCH_WINDOW <= b->buffer_nbytes)
            bench_measure(b, "get16_flush", get_window, sizes[i], BENCH_WINDOW);
    bench_heading(b, "atomics, rank 0 on rank 1");
    bench_measure(b, "fetch_add", fetch_add, 8, 1);
    bench_measure(b, "compare_swap", compare_swap, 8, 1);
    for (size_t i = 0; i < SIZE_NUM; i++)
        bench_measure(b, "accumulate", accumulate, sizes[i], 1);
    if (b->size > 1)
        bench_heading(b, "put, message, the target reads and answers");
    for (size_t i = 0; i < SIZE_NUM && b->size > 1; i++)
        bench_measure(b, "put_read", put_read, sizes[i], 1);
    bench_check(b, mcomm_win_free(&b->win), "win_free");
}
