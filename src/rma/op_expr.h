/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every operation of windows on every element type they have: atomics.c makes compare-exchange
 * loops of these rows. (Loops over plain memory: coll/fold_kernels.c, same results.) A row is
 * XX(DTYPE, OP, storage, word, load, store, expression of the loaded values a and b). Integer
 * arithmetic wraps; binary16 and bfloat16 are computed in float.
 */
#ifndef MCI_RMA_OP_EXPR_H
#define MCI_RMA_OP_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float mci_bf16_load(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* Round to nearest, ties to even; every NaN becomes the same one. */
static inline uint16_t mci_bf16_store(float value)
{
    uint32_t wide;

    memcpy(&wide, &value, sizeof(wide));
    if ((wide & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0;
    return (uint16_t)((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
}

static inline float mci_f16_load(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t mantissa = bits & 0x3ffu;
    uint32_t wide;
    float value;

    if (exponent == 0x1fu) {
        wide = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent != 0) {
        wide = sign | ((exponent + 112u) << 23) | (mantissa << 13);
    } else { /* zero or subnormal: mantissa * 2^-24 is exact in a float */
        value = (float)mantissa * 5.9604644775390625e-08f;
        memcpy(&wide, &value, sizeof(wide));
        wide |= sign;
    }
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* Round to nearest, ties to even; overflow gives infinity; every NaN becomes the same one. */
static inline uint16_t mci_f16_store(float value)
{
    uint32_t wide, sign, rest, shift;
    int exponent;

    memcpy(&wide, &value, sizeof(wide));
    sign = (wide >> 16) & 0x8000u;
    wide &= 0x7fffffffu;
    if (wide > 0x7f800000u)
        return 0x7e00;
    if (wide >= 0x477ff000u) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00u);
    exponent = (int)(wide >> 23) - 112;
    if (exponent > 0) { /* normal: the carry of rounding may move up the exponent, rightly */
        wide = wide - (112u << 23) + 0xfffu + ((wide >> 13) & 1u);
        return (uint16_t)(sign | (wide >> 13));
    }
    if (exponent < -10) /* below half of the smallest subnormal */
        return (uint16_t)sign;
    shift = (uint32_t)(14 - exponent);
    wide = (wide & 0x7fffffu) | 0x800000u;
    rest = wide & ((1u << shift) - 1u);
    wide >>= shift;
    if (rest > (1u << (shift - 1)) || (rest == (1u << (shift - 1)) && (wide & 1u)))
        wide++;
    return (uint16_t)(sign | wide);
}

#define MCI_OP_SAME(x) (x)
#define MCI_OP_TRUTH(x) ((x) != 0)

/* storage type T, unsigned word of the same size U */
#define MCI_OP_INT_ROWS(XX, DTYPE, T, U)                                                           \
    XX(DTYPE, SUM, T, U, MCI_OP_SAME, (T), (uint64_t)a + (uint64_t)b)                              \
    XX(DTYPE, PROD, T, U, MCI_OP_SAME, (T), (uint64_t)a *(uint64_t)b)                              \
    XX(DTYPE, MIN, T, U, MCI_OP_SAME, (T), b < a ? b : a)                                          \
    XX(DTYPE, MAX, T, U, MCI_OP_SAME, (T), b > a ? b : a)                                          \
    XX(DTYPE, LAND, T, U, MCI_OP_SAME, (T), (a != 0) & (b != 0))                                   \
    XX(DTYPE, LOR, T, U, MCI_OP_SAME, (T), (a != 0) | (b != 0))                                    \
    XX(DTYPE, LXOR, T, U, MCI_OP_SAME, (T), (a != 0) ^ (b != 0))                                   \
    MCI_OP_BIT_ROWS(XX, DTYPE, T, U)

#define MCI_OP_BIT_ROWS(XX, DTYPE, T, U)                                                           \
    XX(DTYPE, BAND, T, U, MCI_OP_SAME, (T), a &b)                                                  \
    XX(DTYPE, BOR, T, U, MCI_OP_SAME, (T), a | b)                                                  \
    XX(DTYPE, BXOR, T, U, MCI_OP_SAME, (T), a ^ b)

#define MCI_OP_FLOAT_ROWS(XX, DTYPE, T, U, LOAD, STORE)                                            \
    XX(DTYPE, SUM, T, U, LOAD, STORE, a + b)                                                       \
    XX(DTYPE, PROD, T, U, LOAD, STORE, a *b)                                                       \
    XX(DTYPE, MIN, T, U, LOAD, STORE, b < a ? b : a)                                               \
    XX(DTYPE, MAX, T, U, LOAD, STORE, b > a ? b : a)

/* A sum of truths is their or, a product their and. */
#define MCI_OP_BOOL_ROWS(XX)                                                                       \
    XX(BOOL, SUM, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a | b)                                \
    XX(BOOL, PROD, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a &b)                                \
    XX(BOOL, MIN, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a &b)                                 \
    XX(BOOL, MAX, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a | b)                                \
    XX(BOOL, LAND, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a &b)                                \
    XX(BOOL, LOR, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a | b)                                \
    XX(BOOL, LXOR, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a ^ b)                               \
    XX(BOOL, BAND, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a &b)                                \
    XX(BOOL, BOR, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a | b)                                \
    XX(BOOL, BXOR, uint8_t, uint8_t, MCI_OP_TRUTH, (uint8_t), a ^ b)

#define MCI_OP_ROWS(XX)                                                                            \
    MCI_OP_INT_ROWS(XX, INT8, int8_t, uint8_t)                                                     \
    MCI_OP_INT_ROWS(XX, UINT8, uint8_t, uint8_t)                                                   \
    MCI_OP_INT_ROWS(XX, INT16, int16_t, uint16_t)                                                  \
    MCI_OP_INT_ROWS(XX, UINT16, uint16_t, uint16_t)                                                \
    MCI_OP_INT_ROWS(XX, INT32, int32_t, uint32_t)                                                  \
    MCI_OP_INT_ROWS(XX, UINT32, uint32_t, uint32_t)                                                \
    MCI_OP_INT_ROWS(XX, INT64, int64_t, uint64_t)                                                  \
    MCI_OP_INT_ROWS(XX, UINT64, uint64_t, uint64_t)                                                \
    MCI_OP_FLOAT_ROWS(XX, FLOAT, float, uint32_t, MCI_OP_SAME, (float))                            \
    MCI_OP_FLOAT_ROWS(XX, DOUBLE, double, uint64_t, MCI_OP_SAME, (double))                         \
    MCI_OP_FLOAT_ROWS(XX, FLOAT16, uint16_t, uint16_t, mci_f16_load, mci_f16_store)                \
    MCI_OP_FLOAT_ROWS(XX, BFLOAT16, uint16_t, uint16_t, mci_bf16_load, mci_bf16_store)             \
    MCI_OP_BOOL_ROWS(XX)                                                                           \
    MCI_OP_BIT_ROWS(XX, BYTE, uint8_t, uint8_t)

#define MCI_DTYPE_NUM (MCOMM_SHORT_INT + 1)
#define MCI_WIN_DTYPE_NUM (MCOMM_BYTE + 1) /* windows have these */
#define MCI_OP_NUM (MCOMM_MAXLOC + 1)

#endif
