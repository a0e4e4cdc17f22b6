/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives over all ranks, the root going round; a batch ends when all ranks have done theirs,
 * so that a root that only hands its data over is not measured alone. Bytes are those of one rank's
 * vector, and where every rank has a part (gather, reduce_scatter, alltoall, ...) of one part.
 */
#include "config.h"

#include "perf/bench.h"

#include <stdio.h>
#include <stdlib.h>

static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 2097152, 16777216};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))

#define SRC_PARTS 1u /* the source has a part for every rank */
#define DST_PARTS 2u
#define SRC_ROOT 4u /* only the root has one */
#define DST_ROOT 8u

struct row {
    const char *op;
    mcomm_err_t (*call)(const struct bench *b, size_t nbytes, int root, mcomm_request_t *request_p);
    unsigned flags;
};
static const struct row *row;     /* being measured */
static size_t *counts, *displs;   /* of floats, equal for all ranks */
static mcomm_request_t *requests; /* persistent ones, by root */

/* The call in the form asked for; nbytes as bytes, or count floats, from src to dst. */
#define CALL(name, ...)                                                                            \
    static mcomm_err_t name(const struct bench *b, size_t nbytes, int root,                        \
                            mcomm_request_t *request_p)                                            \
    {                                                                                              \
        size_t count = nbytes / sizeof(float);                                                     \
                                                                                                   \
        (void)root;                                                                                \
        (void)count;                                                                               \
        return b->form == BENCH_BLOCKING      ? mcomm_##name(__VA_ARGS__)                          \
               : b->form == BENCH_NONBLOCKING ? mcomm_i##name(__VA_ARGS__, request_p)              \
                                              : mcomm_##name##_init(__VA_ARGS__, request_p);       \
    }
#define FLOATS MCOMM_FLOAT, MCOMM_SUM
CALL(barrier, b->comm)
CALL(bcast, b->rank == root ? b->src : b->dst, nbytes, MCOMM_BYTE, root, b->comm)
CALL(reduce, b->src, b->dst, count, FLOATS, root, b->comm)
CALL(allreduce, b->src, b->dst, count, FLOATS, b->comm)
CALL(gather, b->src, b->dst, nbytes, MCOMM_BYTE, root, b->comm)
CALL(gatherv, b->src, count, b->dst, counts, displs, MCOMM_FLOAT, root, b->comm)
CALL(scatter, b->src, b->dst, nbytes, MCOMM_BYTE, root, b->comm)
CALL(scatterv, b->src, counts, displs, b->dst, count, MCOMM_FLOAT, root, b->comm)
CALL(allgather, b->src, b->dst, nbytes, MCOMM_BYTE, b->comm)
CALL(allgatherv, b->src, count, b->dst, counts, displs, MCOMM_FLOAT, b->comm)
CALL(reduce_scatter_block, b->src, b->dst, count, FLOATS, b->comm)
CALL(reduce_scatter, b->src, b->dst, counts, FLOATS, b->comm)
CALL(alltoall, b->src, b->dst, nbytes, MCOMM_BYTE, b->comm)
CALL(alltoallv, b->src, counts, displs, b->dst, counts, displs, MCOMM_FLOAT, b->comm)
CALL(scan, b->src, b->dst, count, FLOATS, b->comm)
CALL(exscan, b->src, b->dst, count, FLOATS, b->comm)

static const struct row rows[] = {
    {"barrier", barrier, 0},
    {"bcast", bcast, SRC_ROOT},
    {"reduce", reduce, DST_ROOT},
    {"allreduce", allreduce, 0},
    {"gather", gather, DST_PARTS | DST_ROOT},
    {"gatherv", gatherv, DST_PARTS | DST_ROOT},
    {"scatter", scatter, SRC_PARTS | SRC_ROOT},
    {"scatterv", scatterv, SRC_PARTS | SRC_ROOT},
    {"allgather", allgather, DST_PARTS},
    {"allgatherv", allgatherv, DST_PARTS},
    {"reduce_scatter_block", reduce_scatter_block, SRC_PARTS},
    {"reduce_scatter", reduce_scatter, SRC_PARTS},
    {"alltoall", alltoall, SRC_PARTS | DST_PARTS},
    {"alltoallv", alltoallv, SRC_PARTS | DST_PARTS},
    {"scan", scan, 0},
    {"exscan", exscan, 0},
};

static mcomm_err_t run(struct bench *b, size_t nbytes, int root)
{
    mcomm_request_t request = requests[root];
    mcomm_err_t err =
        b->form == BENCH_PERSISTENT ? mcomm_start(request) : row->call(b, nbytes, root, &request);

    if (err != MCOMM_SUCCESS || b->form == BENCH_BLOCKING)
        return err;
    return mcomm_wait(&request, MCOMM_FOREVER, MCOMM_STATUS_IGNORE);
}

static void loop(struct bench *b, size_t nbytes, long iterations)
{
    static unsigned
        turn; /* goes on from batch to batch: one of a single iteration has a root too */
    size_t parts_nbytes = nbytes * (size_t)b->size;

    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        int root = (int)(turn++ % (unsigned)b->size);

        if (!(row->flags & SRC_ROOT) || b->rank == root)
            bench_rewrite(b, b->src, row->flags & SRC_PARTS ? parts_nbytes : nbytes);
        bench_check(b, run(b, nbytes, root), row->op);
        if (!(row->flags & DST_ROOT) || b->rank == root)
            bench_read(b, b->dst, row->flags & DST_PARTS ? parts_nbytes : nbytes);
    }
    bench_check(b, mcomm_barrier(b->comm), "barrier");
}

/* Persistent requests, one a root, are made outside of what is measured. */
static void requests_make(struct bench *b, size_t nbytes)
{
    for (int root = 0; root < b->size && b->failed == NULL; root++)
        bench_check(b, row->call(b, nbytes, root, &requests[root]), row->op);
}

static void requests_free(struct bench *b)
{
    for (int root = 0; root < b->size; root++)
        if (requests[root] != MCOMM_REQUEST_NULL)
            bench_check(b, mcomm_request_free(&requests[root]), "request_free");
}

static void measure_size(struct bench *b, const char *op, size_t nbytes)
{
    for (int r = 0; r < b->size; r++) {
        counts[r] = nbytes / sizeof(float);
        displs[r] = (size_t)r * counts[r];
    }
    if (b->failed != NULL || !bench_wants(b, op, nbytes))
        return;
    if (b->form == BENCH_PERSISTENT)
        requests_make(b, nbytes);
    bench_measure(b, op, loop, nbytes, 1);
    requests_free(b);
}

static void measure_row(struct bench *b)
{
    size_t parts = row->flags & (SRC_PARTS | DST_PARTS) ? (size_t)b->size : 1;
    char op[64];

    switch (b->form) {
    case BENCH_BLOCKING:
        snprintf(op, sizeof(op), "%s", row->op);
        break;
    case BENCH_NONBLOCKING:
        snprintf(op, sizeof(op), "i%s", row->op);
        break;
    case BENCH_PERSISTENT:
        snprintf(op, sizeof(op), "%s_init", row->op);
        break;
    }
    if (row == rows) /* a barrier has no bytes */
        measure_size(b, op, 0);
    for (size_t i = 0; row != rows && i < SIZE_NUM && sizes[i] * parts <= b->buffer_nbytes; i++)
        measure_size(b, op, sizes[i]);
}

void bench_coll(struct bench *b)
{
    counts = malloc((size_t)b->size * sizeof(*counts));
    displs = malloc((size_t)b->size * sizeof(*displs));
    requests = calloc((size_t)b->size, sizeof(*requests));
    if (counts == NULL || displs == NULL || requests == NULL) {
        b->failed = "no memory";
    } else {
        bench_heading(b, "collectives over all ranks");
        for (row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++)
            measure_row(b);
    }
    free(counts);
    free(displs);
    free(requests);
}
