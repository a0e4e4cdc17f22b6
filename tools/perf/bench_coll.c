/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives over all ranks, the root going round; a batch ends when all ranks have done theirs,
 * so that a root that only hands its data over is not measured alone. Bytes are those of one rank's
 * vector, and where every rank has a part (gather, reduce_scatter, alltoall, ...) of one part.
 */
#include "config.h"

#include "perf/bench.h"

#include <stdlib.h>

static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 2097152, 16777216};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))

#define SRC_PARTS 1u /* the source has a part for every rank */
#define DST_PARTS 2u
#define SRC_ROOT 4u /* only the root has one */
#define DST_ROOT 8u

struct row {
    const char *op;
    mcomm_err_t (*call)(struct bench *b, size_t nbytes, int root);
    unsigned flags;
};
static const struct row *row;   /* being measured */
static size_t *counts, *displs; /* of floats, equal for all ranks */

static mcomm_err_t barrier(struct bench *b, size_t nbytes, int root)
{
    (void)nbytes;
    (void)root;
    return mcomm_barrier(b->comm);
}

static mcomm_err_t bcast(struct bench *b, size_t nbytes, int root)
{
    return mcomm_bcast(b->rank == root ? b->src : b->dst, nbytes, MCOMM_BYTE, root, b->comm);
}

static mcomm_err_t reduce(struct bench *b, size_t nbytes, int root)
{
    return mcomm_reduce(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, root, b->comm);
}

static mcomm_err_t allreduce(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_allreduce(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm);
}

static mcomm_err_t iallreduce(struct bench *b, size_t nbytes, int root)
{
    mcomm_request_t request;
    mcomm_err_t err =
        mcomm_iallreduce(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm, &request);

    (void)root;
    return err == MCOMM_SUCCESS ? mcomm_wait(&request, MCOMM_FOREVER, MCOMM_STATUS_IGNORE) : err;
}

static mcomm_err_t gather(struct bench *b, size_t nbytes, int root)
{
    return mcomm_gather(b->src, b->dst, nbytes, MCOMM_BYTE, root, b->comm);
}

static mcomm_err_t gatherv(struct bench *b, size_t nbytes, int root)
{
    return mcomm_gatherv(b->src, nbytes / 4, b->dst, counts, displs, MCOMM_FLOAT, root, b->comm);
}

static mcomm_err_t scatter(struct bench *b, size_t nbytes, int root)
{
    return mcomm_scatter(b->src, b->dst, nbytes, MCOMM_BYTE, root, b->comm);
}

static mcomm_err_t scatterv(struct bench *b, size_t nbytes, int root)
{
    return mcomm_scatterv(b->src, counts, displs, b->dst, nbytes / 4, MCOMM_FLOAT, root, b->comm);
}

static mcomm_err_t allgather(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_allgather(b->src, b->dst, nbytes, MCOMM_BYTE, b->comm);
}

static mcomm_err_t allgatherv(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_allgatherv(b->src, nbytes / 4, b->dst, counts, displs, MCOMM_FLOAT, b->comm);
}

static mcomm_err_t reduce_scatter_block(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_reduce_scatter_block(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm);
}

static mcomm_err_t reduce_scatter(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    (void)nbytes;
    return mcomm_reduce_scatter(b->src, b->dst, counts, MCOMM_FLOAT, MCOMM_SUM, b->comm);
}

static mcomm_err_t alltoall(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_alltoall(b->src, b->dst, nbytes, MCOMM_BYTE, b->comm);
}

static mcomm_err_t alltoallv(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    (void)nbytes;
    return mcomm_alltoallv(b->src, counts, displs, b->dst, counts, displs, MCOMM_FLOAT, b->comm);
}

static mcomm_err_t scan(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_scan(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm);
}

static mcomm_err_t exscan(struct bench *b, size_t nbytes, int root)
{
    (void)root;
    return mcomm_exscan(b->src, b->dst, nbytes / 4, MCOMM_FLOAT, MCOMM_SUM, b->comm);
}

static const struct row rows[] = {
    {"bcast", bcast, SRC_ROOT},
    {"reduce", reduce, DST_ROOT},
    {"allreduce", allreduce, 0},
    {"iallreduce", iallreduce, 0},
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

static void loop(struct bench *b, size_t nbytes, long iterations)
{
    static unsigned
        turn; /* goes on from batch to batch: one of a single iteration has a root too */
    size_t parts_nbytes = nbytes * (size_t)b->size;

    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        int root = (int)(turn++ % (unsigned)b->size);

        if (!(row->flags & SRC_ROOT) || b->rank == root)
            bench_rewrite(b, b->src, row->flags & SRC_PARTS ? parts_nbytes : nbytes);
        bench_check(b, row->call(b, nbytes, root), row->op);
        if (!(row->flags & DST_ROOT) || b->rank == root)
            bench_read(b, b->dst, row->flags & DST_PARTS ? parts_nbytes : nbytes);
    }
    bench_check(b, mcomm_barrier(b->comm), "barrier");
}

static void measure_row(struct bench *b)
{
    for (size_t i = 0; i < SIZE_NUM; i++) {
        size_t parts = row->flags & (SRC_PARTS | DST_PARTS) ? (size_t)b->size : 1;

        if (sizes[i] * parts > b->buffer_nbytes)
            break;
        for (int r = 0; r < b->size; r++) {
            counts[r] = sizes[i] / 4;
            displs[r] = (size_t)r * sizes[i] / 4;
        }
        bench_measure(b, row->op, loop, sizes[i], 1);
    }
}

void bench_coll(struct bench *b)
{
    static const struct row barrier_row = {"barrier", barrier, 0};

    counts = malloc((size_t)b->size * sizeof(*counts));
    displs = malloc((size_t)b->size * sizeof(*displs));
    if (counts == NULL || displs == NULL) {
        b->failed = "no memory";
    } else {
        bench_heading(b, "collectives over all ranks");
        row = &barrier_row;
        bench_measure(b, row->op, loop, 0, 1);
        for (row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++)
            measure_row(b);
    }
    free(counts);
    free(displs);
}
