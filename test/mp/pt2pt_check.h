/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the pt2pt tests share: random numbers, patterns, guard bytes, a meeting by messages alone.
 */
#ifndef TEST_MP_PT2PT_CHECK_H
#define TEST_MP_PT2PT_CHECK_H

#include "mp.h"

#include <stdint.h>

/* Everybody has come here; messages only, so that it is good for pt2pt alone. Tag is the caller's.
 */
static inline void test_meet(int tag)
{
    for (int step = 1; step < mp_size; step <<= 1) {
        int to = (mp_rank + step) % mp_size, from = (mp_rank - step + mp_size) % mp_size;

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

#endif
