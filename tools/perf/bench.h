/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the benchmarks of mcomm_perf share: the measuring loop, and buffers that are rewritten
 * before and read after every transfer (a transfer that leaves its cost to the user's next write
 * or read would look fast otherwise).
 */
#ifndef MCOMM_PERF_BENCH_H
#define MCOMM_PERF_BENCH_H

#include "mooncake_comm.h"

enum bench_form { /* of collectives */
    BENCH_BLOCKING,
    BENCH_NONBLOCKING,
    BENCH_PERSISTENT
};

struct bench {
    int rank, size;
    int is_hot; /* leave the buffers alone */
    int is_csv;
    double box_seconds;       /* of one figure */
    size_t min_nbytes;        /* smaller sizes are left out */
    size_t max_nbytes;        /* larger ones too */
    const char *ops;          /* names with commas between; NULL: all */
    unsigned char *src, *dst; /* buffer_nbytes each */
    size_t buffer_nbytes;
    mcomm_comm_t comm;
    mcomm_win_t win;
    unsigned char *win_base; /* this rank's part */
    mcomm_kv_t kv;
    int row_num; /* figures printed so far */
    enum bench_form form;
    mcomm_win_t flag_win; /* a flag at ranks 0 and 1 */
    void *flags[2];       /* mine, the other's; NULL where they share no memory */
    double flag_ns;       /* round trip when last looked at */
    const char *failed;   /* what went wrong, NULL */
};

#define BENCH_WINDOW 16 /* operations in flight of the streaming forms */

/* A loop of iterations over nbytes. Ranks that do not take part return at once. */
typedef void (*bench_fn_t)(struct bench *b, size_t nbytes, long iterations);

/* Is this figure among those asked for? */
int bench_wants(const struct bench *b, const char *op, size_t nbytes);
/* Median over up to 11 batches; prints a row on rank 0. divisor: operations per iteration. */
void bench_measure(struct bench *b, const char *op, bench_fn_t fn, size_t nbytes, double divisor);
/* Notes the first error of a call. */
void bench_check(struct bench *b, mcomm_err_t err, const char *what);
void bench_rewrite(const struct bench *b, unsigned char *buf, size_t nbytes);
void bench_read(const struct bench *b, const unsigned char *buf, size_t nbytes);
void bench_heading(const struct bench *b, const char *text);

/* Of doubles, for qsort(). */
int bench_compare(const void *a, const void *b);

/* bench_flag.c: ranks 0 and 1 pass a flag to and fro, which tells how near their cores are. */
void bench_flag_open(struct bench *b);
void bench_flag_close(struct bench *b);
/* "near" or "far" now, "-" where there is no telling (one rank, one core, no shared memory). All
 * ranks call it. */
const char *bench_placement(struct bench *b);

void bench_p2p(struct bench *b);
void bench_rma(struct bench *b);
void bench_coll(struct bench *b);
void bench_kv(struct bench *b);

#endif
