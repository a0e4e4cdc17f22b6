/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Large collectives of two nodes against the rail between them: how much of its rate is used, by
 * the bytes that must leave a node in one direction. Run by coll_rail.sh. Arguments: bits a second,
 * size of a rank's vector or block, seconds a figure, collectives (all if none).
 */
#include "mooncake_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 200
#define PAYLOAD (8948.0 / 9014.0) /* of a jumbo frame */

static int rank, size;
static float *in, *out;

static void ok(mcomm_err_t err)
{
    if (err == MCOMM_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, mcomm_last_error());
    exit(1);
}

static void message(size_t n) /* the rail alone: half of the ranks to the others */
{
    if (rank < size / 2)
        ok(mcomm_send(in, n * 4, rank + size / 2, 0, MCOMM_COMM_WORLD));
    else
        ok(mcomm_recv(out, n * 4, rank - size / 2, 0, MCOMM_COMM_WORLD, NULL));
}

static void bcast(size_t n)
{
    ok(mcomm_bcast(in, n, MCOMM_FLOAT, 0, MCOMM_COMM_WORLD));
}

static void reduce(size_t n)
{
    ok(mcomm_reduce(in, out, n, MCOMM_FLOAT, MCOMM_SUM, 0, MCOMM_COMM_WORLD));
}

static void allreduce(size_t n)
{
    ok(mcomm_allreduce(in, out, n, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD));
}

static void allreduce_bf16(size_t n)
{
    ok(mcomm_allreduce(in, out, 2 * n, MCOMM_BFLOAT16, MCOMM_SUM, MCOMM_COMM_WORLD));
}

static void reduce_scatter(size_t n)
{
    ok(mcomm_reduce_scatter_block(in, out, n, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD));
}

static void allgather(size_t n)
{
    ok(mcomm_allgather(in, out, n, MCOMM_FLOAT, MCOMM_COMM_WORLD));
}

static void alltoall(size_t n)
{
    ok(mcomm_alltoall(in, out, n, MCOMM_FLOAT, MCOMM_COMM_WORLD));
}

static void gather(size_t n)
{
    ok(mcomm_gather(in, out, n, MCOMM_FLOAT, 0, MCOMM_COMM_WORLD));
}

static void scatter(size_t n)
{
    ok(mcomm_scatter(in, out, n, MCOMM_FLOAT, 0, MCOMM_COMM_WORLD));
}

/* ---- counts that differ: a half and three halves of n ---- */
#define RANKS_MAX 64

static size_t counts[RANKS_MAX], displs[RANKS_MAX];

static void uneven(size_t n, int me)
{
    for (int i = 0; i < size; i++) {
        counts[i] = n / 2 + (size_t)((i + me) % 2) * n;
        displs[i] = i > 0 ? displs[i - 1] + counts[i - 1] : 0;
    }
}

static void allgatherv(size_t n)
{
    uneven(n, 0);
    ok(mcomm_allgatherv(in, counts[rank], out, counts, displs, MCOMM_FLOAT, MCOMM_COMM_WORLD));
}

static void alltoallv(size_t n)
{
    uneven(n, rank);
    ok(mcomm_alltoallv(in, counts, displs, out, counts, displs, MCOMM_FLOAT, MCOMM_COMM_WORLD));
}

static void gatherv(size_t n)
{
    uneven(n, 0);
    ok(mcomm_gatherv(in, counts[rank], out, counts, displs, MCOMM_FLOAT, 0, MCOMM_COMM_WORLD));
}

static void scatterv(size_t n)
{
    uneven(n, 0);
    ok(mcomm_scatterv(in, counts, displs, out, counts[rank], MCOMM_FLOAT, 0, MCOMM_COMM_WORLD));
}

/* ---- prefixes ---- */
static void scan(size_t n)
{
    ok(mcomm_scan(in, out, n, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD));
}

static void exscan(size_t n)
{
    ok(mcomm_exscan(in, out, n, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD));
}

/* m: ranks of a node; in sizes of a vector or block */
static const struct row {
    const char *name;
    void (*call)(size_t n);
    int least, per_m, per_m2; /* least + per_m m + per_m2 m m leave a node */
} rows[] = {
    {"message", message, 0, 1, 0},
    {"bcast", bcast, 1, 0, 0},
    {"reduce", reduce, 1, 0, 0},
    {"allreduce", allreduce, 1, 0, 0},
    {"allreduce_bf16", allreduce_bf16, 1, 0, 0},
    {"reduce_scatter", reduce_scatter, 0, 1, 0},
    {"allgather", allgather, 0, 1, 0},
    {"gather", gather, 0, 1, 0},
    {"scatter", scatter, 0, 1, 0},
    {"alltoall", alltoall, 0, 0, 1},
    {"scan", scan, 1, 0, 0},
    {"exscan", exscan, 1, 0, 0},
    {"allgatherv", allgatherv, 0, 1, 0},
    {"gatherv", gatherv, 0, 1, 0},
    {"scatterv", scatterv, 0, 1, 0},
    {"alltoallv", alltoallv, 0, 0, 1},
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const struct row *row, size_t nbytes, double bits, double seconds)
{
    double times[RUNS_MAX], begin, time, end = mcomm_wtime() + seconds;
    double m = size / 2,
           bytes = (row->least + row->per_m * m + row->per_m2 * m * m) * (double)nbytes;
    int runs = 0, go_on = 1;

    row->call(nbytes / 4);
    while (go_on) {
        ok(mcomm_barrier(MCOMM_COMM_WORLD));
        begin = mcomm_wtime();
        row->call(nbytes / 4);
        time = mcomm_wtime() - begin;
        ok(mcomm_allreduce(&time, &times[runs++], 1, MCOMM_DOUBLE, MCOMM_MAX, MCOMM_COMM_WORLD));
        go_on = runs < 5 || (mcomm_wtime() < end && runs < RUNS_MAX);
        ok(mcomm_bcast(&go_on, 1, MCOMM_INT32, 0, MCOMM_COMM_WORLD));
    }
    qsort(times, (size_t)runs, sizeof(times[0]), by_value);
    time = times[runs / 2];
    if (rank == 0)
        printf("%-16s %10zu bytes %10.1f us %6.3f of the rail (%d runs)\n", row->name, nbytes,
               time * 1e6, bytes * 8 / PAYLOAD / bits / time, runs);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double bits = argc > 1 ? atof(argv[1]) : 1e9, seconds = argc > 3 ? atof(argv[3]) : 1;
    size_t nbytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 << 20;

    ok(mcomm_init(NULL));
    ok(mcomm_comm_rank(MCOMM_COMM_WORLD, &rank));
    ok(mcomm_comm_size(MCOMM_COMM_WORLD, &size));
    in = calloc((size_t)size + 1, nbytes + 4); /* the half more of counts that differ */
    out = calloc((size_t)size + 1, nbytes + 4);
    if (in == NULL || out == NULL || size > RANKS_MAX)
        return 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int is_wanted = argc <= 4;

        for (int j = 4; j < argc; j++)
            is_wanted |= strcmp(argv[j], rows[i].name) == 0;
        if (is_wanted)
            measure(&rows[i], nbytes, bits, seconds);
    }
    free(in);
    free(out);
    ok(mcomm_finalize());
    return 0;
}
