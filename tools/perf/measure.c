/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The measuring loop. Rank 0's estimate fixes the iterations of all ranks; rank 0's times are
 * printed. */
#include "config.h"

#include "perf/bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 11
#define ITERATIONS_MAX 100000

int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double timed(struct bench *b, bench_fn_t fn, size_t nbytes, long iterations)
{
    double begin;

    bench_check(b, mcomm_barrier(b->comm), "barrier");
    begin = mcomm_wtime();
    fn(b, nbytes, iterations);
    return mcomm_wtime() - begin;
}

static long choose_iterations(struct bench *b, bench_fn_t fn, size_t nbytes)
{
    double estimate;
    int64_t iterations;

    timed(b, fn, nbytes, 1);
    estimate = timed(b, fn, nbytes, 2) / 2;
    iterations = (int64_t)(b->box_seconds / (estimate + 1e-9));
    if (iterations < 3)
        iterations = 3;
    if (iterations > ITERATIONS_MAX)
        iterations = ITERATIONS_MAX;
    bench_check(b, mcomm_bcast(&iterations, 1, MCOMM_INT64, 0, b->comm), "bcast");
    return (long)iterations;
}

static void print_row(const struct bench *b, const char *op, size_t nbytes, double usec,
                      const char *state)
{
    double gbps = usec > 0 ? (double)nbytes / usec / 1e3 : 0;

    if (b->rank != 0)
        return;
    if (b->is_csv)
        printf("proj,%s,%d,%zu,%.3f,%.3f,%s\n", op, b->size, nbytes, usec, gbps, state);
    else
        printf("  %-20s %10zu B %12.3f us %9.3f GB/s\n", op, nbytes, usec, gbps);
    fflush(stdout);
}

int bench_wants(const struct bench *b, const char *op, size_t nbytes)
{
    const char *at = b->ops;
    size_t length = strlen(op);

    if (nbytes > b->max_nbytes || nbytes < b->min_nbytes)
        return 0;
    while (at != NULL &&
           (strncmp(at, op, length) != 0 || (at[length] != ',' && at[length] != '\0'))) {
        at = strchr(at, ',');
        if (at == NULL)
            return 0;
        at++;
    }
    return 1;
}

void bench_measure(struct bench *b, const char *op, bench_fn_t fn, size_t nbytes, double divisor)
{
    const char *before, *after;
    double seconds[BATCHES];
    long iterations, batch;
    int batches;

    if (b->failed != NULL || !bench_wants(b, op, nbytes))
        return;
    before = bench_placement(b);
    iterations = choose_iterations(b, fn, nbytes);
    batches = iterations >= BATCHES ? BATCHES : (int)iterations;
    batch = iterations / batches;
    for (int i = 0; i < batches && b->failed == NULL; i++)
        seconds[i] = timed(b, fn, nbytes, batch) / (double)batch / divisor;
    if (b->failed != NULL)
        return;
    after = bench_placement(b);
    qsort(seconds, (size_t)batches, sizeof(*seconds), bench_compare);
    b->row_num++;
    print_row(b, op, nbytes, seconds[batches / 2] * 1e6,
              strcmp(before, after) == 0 ? before : "mixed");
}

void bench_check(struct bench *b, mcomm_err_t err, const char *what)
{
    if (err == MCOMM_SUCCESS || b->failed != NULL)
        return;
    b->failed = what;
    fprintf(stderr, "mcomm_perf: rank %d: %s: %s: %s\n", b->rank, what, mcomm_err_text(err),
            mcomm_last_error());
}

void bench_rewrite(const struct bench *b, unsigned char *buf, size_t nbytes)
{
    static unsigned char value;

    if (!b->is_hot)
        memset(buf, ++value, nbytes);
}

static inline uint64_t word_at(const unsigned char *buf, size_t offset)
{
    uint64_t word;

    memcpy(&word, buf + offset, sizeof(word));
    return word;
}

/* Four words a round: with one, the loop's place in memory makes it twice as slow or not. */
void bench_read(const struct bench *b, const unsigned char *buf, size_t nbytes)
{
    uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;

    if (b->is_hot)
        return;
    for (; i + 32 <= nbytes; i += 32) {
        s0 += word_at(buf, i);
        s1 += word_at(buf, i + 8);
        s2 += word_at(buf, i + 16);
        s3 += word_at(buf, i + 24);
    }
    for (; i + 8 <= nbytes; i += 8)
        s0 += word_at(buf, i);
    __asm__ volatile("" : : "r"(s0 + s1 + s2 + s3) : "memory");
}

void bench_heading(const struct bench *b, const char *text)
{
    if (b->rank == 0 && !b->is_csv)
        printf("%s\n", text);
}
