/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Collectives over all ranks. Bytes are those of one rank's vector (allgather: of one rank's part).
 */
#include "config.h"

#include "perf/bench.h"

static const size_t sizes[] = {8, 1024, 65536, 1048576};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))

static void barrier(struct bench *b, size_t nbytes, long iterations)
{
    (void)nbytes;
    for (long i = 0; i < iterations && b->failed == NULL; i++)
        bench_check(b, mcomm_barrier(b->comm), "barrier");
}

static void bcast(struct bench *b, size_t nbytes, long iterations)
{
    for (long i = 0; i < iterations && b->failed == NULL; i++)
        bench_check(b, mcomm_bcast(b->src, nbytes, MCOMM_BYTE, (int)(i % b->size), b->comm),
                    "bcast");
}

static void allgather(struct bench *b, size_t nbytes, long iterations)
{
    for (long i = 0; i < iterations && b->failed == NULL; i++)
        bench_check(b, mcomm_allgather(b->src, b->dst, nbytes, MCOMM_BYTE, b->comm), "allgather");
}

static void allreduce(struct bench *b, size_t nbytes, long iterations)
{
    for (long i = 0; i < iterations && b->failed == NULL; i++)
        bench_check(b, mcomm_allreduce(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm),
                    "allreduce");
}

void bench_coll(struct bench *b)
{
    static const struct {
        const char *op;
        bench_fn_t fn;
    } rows[] = {{"bcast", bcast}, {"allgather", allgather}, {"allreduce", allreduce}};

    bench_heading(b, "collectives over all ranks");
    bench_measure(b, "barrier", barrier, 0, 1);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t i = 0; i < SIZE_NUM; i++)
            if (sizes[i] * (size_t)b->size <= b->buffer_nbytes)
                bench_measure(b, rows[r].op, rows[r].fn, sizes[i], 1);
}
