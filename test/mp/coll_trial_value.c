/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Values of drawn collectives: any bits where they are only moved or fold exactly, else numbers
 * whose fold is exact in any order. Operations of the user's own that work on any type's bytes.
 */
#include "coll_trial.h"

/* ---- operations ---- */
mcomm_op_t trial_compose, trial_add;

/* A byte is the map x -> a x + b modulo 16: first that of in, then that of inout. */
static void compose(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    const unsigned char *first = in;
    unsigned char *then = inout;

    CHECK(arg == &trial_compose);
    for (size_t i = 0; i < count * mcomm_datatype_size(dtype); i++) {
        unsigned a = first[i] >> 4, b = first[i] & 15, c = then[i] >> 4, d = then[i] & 15;

        then[i] = (unsigned char)((c * a & 15) << 4 | ((c * b + d) & 15));
    }
}

static void add(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    CHECK(arg == &trial_add);
    for (size_t i = 0; i < count * mcomm_datatype_size(dtype); i++)
        ((unsigned char *)inout)[i] =
            (unsigned char)(((unsigned char *)inout)[i] + ((const unsigned char *)in)[i]);
}

void trial_ops_create(void)
{
    OK(mcomm_op_create(compose, &trial_compose, 0, &trial_compose));
    OK(mcomm_op_create(add, &trial_add, 1, &trial_add));
}

void trial_ops_free(void)
{
    OK(mcomm_op_free(&trial_compose));
    OK(mcomm_op_free(&trial_add));
}

/* ---- values ---- */
/* Whole numbers up to this are exact in the type. */
static long exact_most(mcomm_datatype_t dtype)
{
    switch ((int)dtype) {
    case MCOMM_FLOAT16:
        return 2048;
    case MCOMM_BFLOAT16:
        return 256;
    case MCOMM_FLOAT8_E4M3:
        return 16;
    case MCOMM_FLOAT8_E5M2:
        return 8;
    default:
        return 1 << 20;
    }
}

/* Any magnitude: the order of additions shows. */
static double wild(uint64_t z)
{
    double x = (double)(z >> 40) / (double)(1 << 24) - 0.5;

    return (float)(x * (double)(1u << (z % 21)) / (double)(1u << (z / 32 % 21)));
}

static double real_value(const struct trial *t, int rank, mcomm_datatype_t dtype, uint64_t z)
{
    long most = exact_most(dtype), each = most / t->size > 0 ? most / t->size : 1;

    if (t->op == MCOMM_PROD) /* of a few ranks powers of two */
        return (z & 1 ? -1.0 : 1.0) * (rank < 5 ? (z & 2 ? 2 : z & 4 ? 0.5 : 1) : 1);
    if (t->op == MCOMM_MIN || t->op == MCOMM_MAX)
        return (double)((long)(z % 17) - 8); /* no -0 */
    if (t->is_deterministic && (dtype == MCOMM_FLOAT || dtype == MCOMM_DOUBLE))
        return wild(z);
    return rank < most ? (double)((long)(z % (uint64_t)(2 * each + 1)) - each) : 0;
}

static void pair_value(const struct trial *t, int rank, uint64_t z, char *to)
{
    bool is_real = t->dtype == MCOMM_FLOAT_INT || t->dtype == MCOMM_DOUBLE_INT;
    int64_t value = (int64_t)(z % 3) - 1;
    int32_t index = (int32_t)(z & 8 ? (uint64_t)rank : z >> 40);

    memset(to, 0, t->elem); /* the padding too */
    if (is_real)
        oracle_real_set(t->elem == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE, to, (double)value);
    else
        memcpy(to, &value, t->dtype == MCOMM_SHORT_INT ? 2 : t->elem / 2);
    memcpy(to + t->elem / 2, &index, 4);
}

void trial_value(const struct trial *t, int rank, int block, size_t i, char *to)
{
    uint64_t z[2], where = (uint64_t)rank << 48 ^ (uint64_t)block << 56 ^ i;
    bool is_builtin = trial_folds(t) && t->op != trial_compose && t->op != trial_add;

    z[0] = mix(t->salt + where * 0x9e3779b97f4a7c15u);
    z[1] = ~z[0] * 0xbf58476d1ce4e5b9u;
    if (is_builtin && oracle_is_pair(t->dtype)) {
        pair_value(t, rank, z[0], to);
    } else if (is_builtin && oracle_is_real(t->dtype)) {
        oracle_real_set(t->dtype, to, real_value(t, rank, t->dtype, z[0]));
    } else if (is_builtin && oracle_is_complex(t->dtype)) {
        mcomm_datatype_t part = t->elem == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE;

        oracle_real_set(part, to, real_value(t, rank, part, z[0]));
        oracle_real_set(part, to + t->elem / 2, real_value(t, rank, part, z[0] >> 20));
    } else {
        memcpy(to, z, t->elem);
        if (z[1] % 8 == 0) /* truth values and ends of ranges */
            memset(to, z[1] & 64 ? 0 : 0xff, t->elem);
    }
}

/* Bits; of complex products numbers: the sign of a zero depends on the order. */
bool trial_is_same(const struct trial *t, const char *a, const char *b)
{
    mcomm_datatype_t part = t->elem == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE;

    if (trial_folds(t) && t->op == MCOMM_PROD && oracle_is_complex(t->dtype))
        return oracle_real(part, a) == oracle_real(part, b) &&
               oracle_real(part, a + t->elem / 2) == oracle_real(part, b + t->elem / 2);
    return memcmp(a, b, t->elem) == 0;
}
