/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the pt2pt tests share: checks that name the place and the rank, random numbers, patterns. */
#ifndef TEST_MP_PT2PT_CHECK_H
#define TEST_MP_PT2PT_CHECK_H

#include "mooncake_comm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_rank = -1, test_size;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "rank %d: %s:%d: not true: %s; last error: %s\n", test_rank, __FILE__, \
                    __LINE__, #cond, mcomm_last_error());                                          \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define EXPECT(want, call)                                                                         \
    do {                                                                                           \
        mcomm_err_t got_ = (call);                                                                 \
        if (got_ != (want)) {                                                                      \
            fprintf(stderr, "rank %d: %s:%d: %s = %s, not %s; last error: %s\n", test_rank,        \
                    __FILE__, __LINE__, #call, mcomm_err_name(got_), mcomm_err_name(want),         \
                    mcomm_last_error());                                                           \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define OK(call) EXPECT(MCOMM_SUCCESS, call)

static inline void test_begin(void)
{
    OK(mcomm_init(NULL));
    OK(mcomm_comm_rank(MCOMM_COMM_WORLD, &test_rank));
    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &test_size));
}

/* Everybody has come here; messages only, so that it is good for pt2pt alone. Tag is the caller's. */
static inline void test_meet(int tag)
{
    for (int step = 1; step < test_size; step <<= 1) {
        int to = (test_rank + step) % test_size, from = (test_rank - step + test_size) % test_size;

        OK(mcomm_sendrecv(NULL, 0, to, tag, NULL, 0, from, tag, MCOMM_COMM_WORLD, NULL));
    }
}

static inline uint32_t draw(uint64_t *rng, uint32_t below)
{
    *rng = *rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*rng >> 33) % below;
}

/* Bytes that depend on the message and the place in it. */
static inline void pattern_fill(unsigned char *buf, size_t nbytes, uint32_t id)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = (unsigned char)(id * 31u + i + (i >> 8) * 7u + (i >> 16) * 13u);
}

static inline size_t pattern_wrong_at(const unsigned char *buf, size_t nbytes, uint32_t id)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != (unsigned char)(id * 31u + i + (i >> 8) * 7u + (i >> 16) * 13u))
            return i;
    return (size_t)-1;
}

#define GUARD 0xa5
static inline int guard_is_whole(const unsigned char *buf, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != GUARD)
            return 0;
    return 1;
}

/* Resident memory of this process in bytes. */
static inline size_t test_rss(void)
{
    unsigned long pages = 0, total;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%lu %lu", &total, &pages) != 2)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * 4096;
}

#endif
