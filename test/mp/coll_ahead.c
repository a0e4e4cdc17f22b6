/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Members that run ahead of others as far as a call lets them: roots that only speak, ranks of a
 * scan that nobody is before, beside one that comes late to every call. And counts that differ: an
 * error at the one who receives, in the segment of a node as by messages.
 */
#include "mp.h"

#include <stdint.h>
#include <time.h>

#define ROUNDS 400
#define MOST 40000

static const size_t counts[] = {1, 2, 30, 31, 1024, 2048, 5000, 3, 1500, 10000};
#define COUNT_NUM (sizeof(counts) / sizeof(counts[0]))

static int32_t src[MOST], dst[MOST];
static size_t parts[64], places[64];

static int32_t value(int round, int rank, size_t i)
{
    return (int32_t)(round * 31 + rank * 7 + (int)(i % 1000));
}

static void fill(int round, size_t count)
{
    for (size_t i = 0; i < count; i++)
        src[i] = value(round, mp_rank, i);
}

/* Sum of ranks [0, end). */
static int32_t sum(int round, int end, size_t i)
{
    int32_t all = 0;

    for (int r = 0; r < end; r++)
        all += value(round, r, i);
    return all;
}

static void expect_sum(int round, int end, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(dst[i], sum(round, end, i));
}

static void late(int round, int rank)
{
    if (mp_rank == rank && round % 7 == 0)
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
}

static void bcast_round(int round, size_t count)
{
    late(round, mp_size - 1);
    fill(round, count);
    OK(mcomm_bcast(mp_rank == 0 ? src : dst, count, MCOMM_INT32, 0, MCOMM_COMM_WORLD));
    for (size_t i = 0; i < count && mp_rank != 0; i++)
        CHECK_EQ(dst[i], value(round, 0, i));
}

static void reduce_round(int round, size_t count)
{
    late(round, 0);
    fill(round, count);
    OK(mcomm_reduce(src, dst, count, MCOMM_INT32, MCOMM_SUM, 0, MCOMM_COMM_WORLD));
    if (mp_rank == 0)
        expect_sum(round, mp_size, count);
}

static void scan_round(int round, size_t count)
{
    late(round, mp_size - 1);
    fill(round, count);
    OK(mcomm_scan(src, dst, count, MCOMM_INT32, MCOMM_SUM, MCOMM_COMM_WORLD));
    expect_sum(round, mp_rank + 1, count);
}

/* Rank r brings (r + 1)/size of count. */
static void gatherv_round(int round, size_t count)
{
    int root = mp_size - 1;

    late(round, root);
    for (int r = 0; r < mp_size; r++) {
        parts[r] = count * (size_t)(r + 1) / (size_t)mp_size;
        places[r] = r > 0 ? places[r - 1] + parts[r - 1] : 0;
        if (places[r] + parts[r] > MOST)
            parts[r] = MOST - places[r];
    }
    fill(round, parts[mp_rank]);
    OK(mcomm_gatherv(src, parts[mp_rank], dst, parts, places, MCOMM_INT32, root, MCOMM_COMM_WORLD));
    for (int r = 0; r < mp_size && mp_rank == root; r++)
        for (size_t i = 0; i < parts[r]; i++)
            CHECK_EQ(dst[places[r] + i], value(round, r, i));
}

static void ahead(void (*one)(int round, size_t count))
{
    for (int round = 0; round < ROUNDS; round++)
        one(round, counts[(size_t)round % COUNT_NUM]);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
}

/* The last rank sends rank 0 more elements, or fewer, than it expects. */
static void differ(size_t count, size_t sent, int kind)
{
    mcomm_comm_t comm;
    size_t zero[64] = {0}, mine[64] = {0}, all[64] = {0};
    mcomm_err_t err;
    int last = mp_size - 1;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    all[last] = count;
    mine[0] = sent;
    if (kind == 0)
        err = mcomm_gatherv(src, mp_rank == last ? sent : 0, dst, all, zero, MCOMM_INT32, 0, comm);
    else if (kind == 1)
        err =
            mcomm_scatterv(src, mine, zero, dst, mp_rank == 0 ? count : 0, MCOMM_INT32, last, comm);
    else
        err = mcomm_alltoallv(src, mp_rank == last ? mine : zero, zero, dst,
                              mp_rank == 0 ? all : zero, zero, MCOMM_INT32, comm);
    if (mp_rank == 0)
        CHECK_EQ(err, MCOMM_ERR_MISMATCH);
    OK(mcomm_comm_free(&comm));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
}

int main(void)
{
    mp_init();
    ahead(bcast_round);
    ahead(reduce_round);
    ahead(scan_round);
    ahead(gatherv_round);
    for (int kind = 0; kind < 3 && mp_size > 1; kind++) {
        differ(1, 2, kind);
        differ(200, 199, kind);
        differ(200, 10000, kind);
        differ(10000, 10001, kind);
        differ(10000, 5, kind);
    }
    OK(mcomm_finalize());
    return 0;
}
