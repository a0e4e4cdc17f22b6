/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Folds element by element, of what the vector loops of fold_kernels.c do not have: products of
 * complex numbers (the plain formula, without C's rescue of infinities), pairs of a value and an
 * index, averages of integers (the sum wraps as everywhere, the quotient is truncated).
 */
#include "config.h"

#include "coll/fold_kernels.h"

#include <string.h>

/* gcc's analyzer loses sight of structs that memcpy() fills. */
#if __GNUC__ >= 12 && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-use-of-uninitialized-value"
#endif

/* STEP changes a by b, LAST changes a in the end. */
#define SCALAR(NAME, T, STEP, LAST)                                                                \
    static void fold_##NAME(char *dst, const char *const *srcs, int n, size_t nbytes, int divisor) \
    {                                                                                              \
        (void)divisor;                                                                             \
        for (size_t at = 0; at < nbytes; at += sizeof(T)) {                                        \
            T a, b;                                                                                \
            memcpy(&a, srcs[0] + at, sizeof(a));                                                   \
            for (int s = 1; s < n; s++) {                                                          \
                memcpy(&b, srcs[s] + at, sizeof(b));                                               \
                STEP;                                                                              \
            }                                                                                      \
            LAST;                                                                                  \
            memcpy(dst + at, &a, sizeof(a));                                                       \
        }                                                                                          \
    }

#define COMPLEX(NAME, T)                                                                           \
    struct NAME {                                                                                  \
        T re, im;                                                                                  \
    };                                                                                             \
    SCALAR(NAME##_PROD, struct NAME,                                                               \
           a = ((struct NAME){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}), )
COMPLEX(COMPLEX_FLOAT, float)
COMPLEX(COMPLEX_DOUBLE, double)

/* Whole elements are copied, what is between their members included. */
#define PAIR(NAME, T)                                                                              \
    struct NAME {                                                                                  \
        T value;                                                                                   \
        int index;                                                                                 \
    };                                                                                             \
    SCALAR(NAME##_MINLOC, struct NAME,                                                             \
           if (b.value < a.value || (b.value == a.value && b.index < a.index))                     \
               memcpy(&a, &b, sizeof(a)), )                                                        \
    SCALAR(NAME##_MAXLOC, struct NAME,                                                             \
           if (b.value > a.value || (b.value == a.value && b.index < a.index))                     \
               memcpy(&a, &b, sizeof(a)), )
PAIR(FLOAT_INT, float)
PAIR(DOUBLE_INT, double)
PAIR(LONG_INT, long)
PAIR(INT_INT, int)
PAIR(SHORT_INT, short)

#define AVERAGE(NAME, T)                                                                           \
    SCALAR(NAME##_AVG, T, a = (T)((uint64_t)a + (uint64_t)b), a = (T)(a / (wide_##T)divisor))
typedef int64_t wide_int8_t, wide_int16_t, wide_int32_t, wide_int64_t;
typedef uint64_t wide_uint8_t, wide_uint16_t, wide_uint32_t, wide_uint64_t;
AVERAGE(INT8, int8_t)
AVERAGE(UINT8, uint8_t)
AVERAGE(INT16, int16_t)
AVERAGE(UINT16, uint16_t)
AVERAGE(INT32, int32_t)
AVERAGE(UINT32, uint32_t)
AVERAGE(INT64, int64_t)
AVERAGE(UINT64, uint64_t)

#define ROW(DTYPE, OP) [MCOMM_##DTYPE][MCOMM_##OP] = fold_##DTYPE##_##OP
#define PAIR_ROWS(DTYPE) ROW(DTYPE, MINLOC), ROW(DTYPE, MAXLOC)

const mci_fold_table_t mci_fold_scalar = {
    ROW(COMPLEX_FLOAT, PROD), ROW(COMPLEX_DOUBLE, PROD),
    PAIR_ROWS(FLOAT_INT),     PAIR_ROWS(DOUBLE_INT),
    PAIR_ROWS(LONG_INT),      PAIR_ROWS(INT_INT),
    PAIR_ROWS(SHORT_INT),     ROW(INT8, AVG),
    ROW(UINT8, AVG),          ROW(INT16, AVG),
    ROW(UINT16, AVG),         ROW(INT32, AVG),
    ROW(UINT32, AVG),         ROW(INT64, AVG),
    ROW(UINT64, AVG),
};
