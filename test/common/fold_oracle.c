/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* See fold_oracle.h: slow, plain, of its own. */
#include "common/fold_oracle.h"
#include "common/random.h"

#include <math.h>
#include <string.h>

#define SRCS 64

/* ---- small floats, by arithmetic ---- */
struct small_float {
    int mant, bias, nbytes;
    bool has_inf;
    unsigned nan;
    double most;
};
static const struct small_float f16 = {10, 15, 2, true, 0x7e00, 65504};
static const struct small_float bf16 = {7, 127, 2, true, 0x7fc0, 0x1.fep127};
static const struct small_float e4m3 = {3, 7, 1, false, 0x7f, 448};
static const struct small_float e5m2 = {2, 15, 1, true, 0x7e, 57344};

static const struct small_float *small_of(mcomm_datatype_t dtype)
{
    switch ((int)dtype) {
    case MCOMM_FLOAT16:
        return &f16;
    case MCOMM_BFLOAT16:
        return &bf16;
    case MCOMM_FLOAT8_E4M3:
        return &e4m3;
    case MCOMM_FLOAT8_E5M2:
        return &e5m2;
    default:
        return NULL;
    }
}

float oracle_decode(mcomm_datatype_t dtype, unsigned code)
{
    const struct small_float *f = small_of(dtype);
    int bits = 8 * f->nbytes, mant = (int)(code & ((1u << f->mant) - 1));
    int exponent = (int)(code >> f->mant) & ((1 << (bits - 1 - f->mant)) - 1);
    int top = (1 << (bits - 1 - f->mant)) - 1;
    double value = exponent == 0 ? ldexp(mant, 1 - f->bias - f->mant)
                                 : ldexp(mant + (1 << f->mant), exponent - f->bias - f->mant);

    if (exponent == top && f->has_inf)
        value = mant == 0 ? (double)INFINITY : (double)NAN;
    else if (exponent == top && mant == (1 << f->mant) - 1 && !f->has_inf)
        value = (double)NAN;
    return (float)(code >> (bits - 1) ? -value : value);
}

/* Nearest, ties to even; too large: infinity, where there is none NaN with the sign. */
unsigned oracle_encode(mcomm_datatype_t dtype, float value)
{
    const struct small_float *f = small_of(dtype);
    double x = fabs((double)value), unit;
    unsigned sign = signbit(value) ? 1u << (8 * f->nbytes - 1) : 0;
    int exponent;

    if (isnan(value))
        return f->nan;
    frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < 1 - f->bias ? 1 - f->bias : exponent - 1;
    unit = ldexp(1, exponent - f->mant);
    if (!isinf(x))
        x = rint(x / unit) * unit;
    if (x > f->most)
        return sign | (f->has_inf ? (unsigned)((2 << (8 * f->nbytes - 2 - f->mant)) - 1) << f->mant
                                  : f->nan);
    if (x >= ldexp(2, exponent)) {
        exponent++;
        unit *= 2;
    }
    if (x < ldexp(1, 1 - f->bias))
        return sign | (unsigned)(x / unit);
    return sign | ((unsigned)(exponent + f->bias) << f->mant) |
           ((unsigned)(x / unit) - (1u << f->mant));
}

static unsigned code_at(const struct small_float *f, const char *from)
{
    uint16_t two;

    if (f->nbytes == 1)
        return (unsigned char)*from;
    memcpy(&two, from, 2);
    return two;
}

/* ---- one element by plain code ---- */
bool oracle_is_pair(mcomm_datatype_t dtype)
{
    return dtype >= MCOMM_FLOAT_INT && dtype <= MCOMM_SHORT_INT;
}

bool oracle_is_complex(mcomm_datatype_t dtype)
{
    return dtype == MCOMM_COMPLEX_FLOAT || dtype == MCOMM_COMPLEX_DOUBLE;
}

bool oracle_is_integer(mcomm_datatype_t dtype)
{
    return dtype >= MCOMM_INT8 && dtype <= MCOMM_UINT64;
}

bool oracle_is_real(mcomm_datatype_t dtype)
{
    return dtype == MCOMM_FLOAT || dtype == MCOMM_DOUBLE || small_of(dtype) != NULL;
}

bool oracle_has(mcomm_datatype_t dtype, mcomm_op_t op)
{
    bool is_bits = op >= MCOMM_BAND && op <= MCOMM_BXOR;
    bool is_logic = op >= MCOMM_LAND && op <= MCOMM_LXOR;
    bool is_order = op == MCOMM_MIN || op == MCOMM_MAX;

    if (op == MCOMM_MINLOC || op == MCOMM_MAXLOC)
        return oracle_is_pair(dtype);
    if (op == MCOMM_SUM || op == MCOMM_PROD)
        return oracle_is_integer(dtype) || oracle_is_real(dtype) || oracle_is_complex(dtype) ||
               dtype == MCOMM_BOOL;
    if (op == MCOMM_AVG)
        return oracle_is_integer(dtype) || oracle_is_real(dtype) || oracle_is_complex(dtype);
    if (is_order)
        return oracle_is_integer(dtype) || oracle_is_real(dtype) || dtype == MCOMM_BOOL;
    if (is_bits)
        return oracle_is_integer(dtype) || dtype == MCOMM_BOOL || dtype == MCOMM_BYTE;
    return is_logic && (oracle_is_integer(dtype) || dtype == MCOMM_BOOL);
}

static double real_op(mcomm_op_t op, double a, double b, bool is_float)
{
    switch ((int)op) {
    case MCOMM_PROD:
        return is_float ? (double)((float)a * (float)b) : a * b;
    case MCOMM_MIN:
        return b < a ? b : a;
    case MCOMM_MAX:
        return b > a ? b : a;
    default:
        return is_float ? (double)((float)a + (float)b) : a + b;
    }
}

double oracle_real(mcomm_datatype_t dtype, const char *from)
{
    float single;
    double twice;

    if (small_of(dtype) != NULL)
        return (double)oracle_decode(dtype, code_at(small_of(dtype), from));
    if (dtype == MCOMM_DOUBLE) {
        memcpy(&twice, from, 8);
        return twice;
    }
    memcpy(&single, from, 4);
    return (double)single;
}

void oracle_real_set(mcomm_datatype_t dtype, char *to, double value)
{
    float single = (float)value;
    uint16_t code;

    if (dtype == MCOMM_DOUBLE) {
        memcpy(to, &value, 8);
    } else if (small_of(dtype) != NULL) {
        code = (uint16_t)oracle_encode(dtype, single);
        memcpy(to, &code, mcomm_datatype_size(dtype));
    } else {
        memcpy(to, &single, 4);
    }
}

static void real_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                      mcomm_op_t op)
{
    bool is_float = dtype != MCOMM_DOUBLE;
    double acc = 0, scale = 1;

    while (op == MCOMM_AVG && scale * n > 1) /* so that the sum does not overflow */
        scale /= 2;
    for (int s = 0; s < n; s++) {
        double next = oracle_real(dtype, srcs[s]) * scale;

        next = is_float ? (double)(float)next : next;
        acc = s == 0 ? next : real_op(op, acc, next, is_float);
    }
    if (op == MCOMM_AVG)
        acc = is_float ? (double)((float)acc / (float)(n * scale)) : acc / (n * scale);
    oracle_real_set(dtype, to, acc);
}

static void complex_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                         mcomm_op_t op)
{
    mcomm_datatype_t part = dtype == MCOMM_COMPLEX_FLOAT ? MCOMM_FLOAT : MCOMM_DOUBLE;
    size_t half = mcomm_datatype_size(part);
    bool is_float = part == MCOMM_FLOAT;
    const char *imags[SRCS];
    double re = oracle_real(part, srcs[0]), im = oracle_real(part, srcs[0] + half);

    if (op != MCOMM_PROD) {
        for (int s = 0; s < n; s++)
            imags[s] = srcs[s] + half;
        real_fold(to, srcs, n, part, op);
        real_fold(to + half, imags, n, part, op);
        return;
    }
    for (int s = 1; s < n; s++) {
        double c = oracle_real(part, srcs[s]), d = oracle_real(part, srcs[s] + half), old = re;

        re = real_op(MCOMM_SUM, real_op(MCOMM_PROD, re, c, is_float),
                     -real_op(MCOMM_PROD, im, d, is_float), is_float);
        im = real_op(MCOMM_SUM, real_op(MCOMM_PROD, old, d, is_float),
                     real_op(MCOMM_PROD, im, c, is_float), is_float);
    }
    oracle_real_set(part, to, re);
    oracle_real_set(part, to + half, im);
}

static __int128 integer_at(mcomm_datatype_t dtype, const char *from)
{
    size_t nbytes = mcomm_datatype_size(dtype);
    uint64_t bits = 0;
    bool is_signed = (dtype - MCOMM_INT8) % 2 == 0 && oracle_is_integer(dtype);

    memcpy(&bits, from, nbytes);
    if (is_signed && bits >> (8 * nbytes - 1))
        return (__int128)bits - ((__int128)1 << (8 * nbytes));
    return bits;
}

static __int128 integer_op(mcomm_op_t op, __int128 a, __int128 b)
{
    switch ((int)op) {
    case MCOMM_PROD:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case MCOMM_MIN:
        return a < b ? a : b;
    case MCOMM_MAX:
        return a > b ? a : b;
    case MCOMM_LAND:
        return a && b;
    case MCOMM_LOR:
        return a || b;
    case MCOMM_LXOR:
        return !a != !b;
    case MCOMM_BAND:
        return a & b;
    case MCOMM_BOR:
        return a | b;
    case MCOMM_BXOR:
        return a ^ b;
    default:
        return (__int128)((unsigned __int128)a + (unsigned __int128)b);
    }
}

static void integer_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                         mcomm_op_t op)
{
    size_t nbytes = mcomm_datatype_size(dtype);
    __int128 acc = integer_at(dtype, srcs[0]);

    for (int s = 1; s < n; s++) {
        __int128 next = integer_at(dtype, srcs[s]);

        if (dtype == MCOMM_BOOL)
            acc = acc != 0, next = next != 0;
        acc = integer_op(op, acc, next);
        if (dtype == MCOMM_BOOL)
            acc = op == MCOMM_SUM || op == MCOMM_PROD ? acc != 0 : acc;
        memcpy(to, &acc, nbytes); /* wraps */
        acc = integer_at(dtype, to);
    }
    if (op == MCOMM_AVG)
        acc /= n;
    memcpy(to, &acc, nbytes);
}

static void pair_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                      mcomm_op_t op)
{
    static const struct {
        mcomm_datatype_t value;
        size_t index_at;
    } layouts[] = {
        {MCOMM_FLOAT, 4}, {MCOMM_DOUBLE, 8}, {MCOMM_INT64, 8}, {MCOMM_INT32, 4}, {MCOMM_INT16, 4}};
    mcomm_datatype_t value = layouts[dtype - MCOMM_FLOAT_INT].value;
    size_t index_at = layouts[dtype - MCOMM_FLOAT_INT].index_at;
    const char *best = srcs[0];

    for (int s = 1; s < n; s++) {
        __int128 i = integer_at(MCOMM_INT32, best + index_at);
        __int128 j = integer_at(MCOMM_INT32, srcs[s] + index_at);
        bool is_less, is_more;

        if (oracle_is_real(value)) {
            is_less = oracle_real(value, srcs[s]) < oracle_real(value, best);
            is_more = oracle_real(value, srcs[s]) > oracle_real(value, best);
            if (isnan(oracle_real(value, srcs[s])) || isnan(oracle_real(value, best)))
                continue; /* a NaN is neither less nor more nor equal */
        } else {
            is_less = integer_at(value, srcs[s]) < integer_at(value, best);
            is_more = integer_at(value, srcs[s]) > integer_at(value, best);
        }
        if ((op == MCOMM_MINLOC ? is_less : is_more) || (!is_less && !is_more && j < i))
            best = srcs[s];
    }
    memcpy(to, best, mcomm_datatype_size(dtype));
}

void oracle_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype, mcomm_op_t op)
{
    if (n == 1)
        memcpy(to, srcs[0], mcomm_datatype_size(dtype));
    else if (oracle_is_pair(dtype))
        pair_fold(to, srcs, n, dtype, op);
    else if (oracle_is_complex(dtype))
        complex_fold(to, srcs, n, dtype, op);
    else if (oracle_is_real(dtype))
        real_fold(to, srcs, n, dtype, op);
    else
        integer_fold(to, srcs, n, dtype, op);
}

void oracle_truth(char *to, mcomm_datatype_t dtype, mcomm_op_t op)
{
    bool is_logic = op >= MCOMM_LAND && op <= MCOMM_LXOR;
    __int128 truth;

    if (dtype != MCOMM_BOOL && !is_logic)
        return;
    truth = integer_at(dtype, to) != 0;
    memcpy(to, &truth, mcomm_datatype_size(dtype));
}

/* ---- elements ---- */
static double draw_real(uint64_t *state)
{
    static const double specials[] = {0.0,   -0.0,   INFINITY, -INFINITY, NAN,
                                      1e-45, -1e-40, 3.4e38,   -3.4e38,   1.0};
    uint64_t z = rnd(state);

    if (z % 4 == 0)
        return specials[(z >> 8) % 10];
    return ldexp((double)(int32_t)(z >> 32), (int)((z >> 8) % 40) - 50);
}

void oracle_draw(char *to, mcomm_datatype_t dtype, uint64_t *state)
{
    size_t nbytes = mcomm_datatype_size(dtype);
    uint64_t z[2] = {rnd(state), rnd(state)};
    int16_t few = (int16_t)(z[1] % 3 - 1);
    int32_t index = (int32_t)(z[1] >> 8) % 4;
    int64_t wide = few;

    memcpy(to, z, nbytes);
    if (dtype == MCOMM_FLOAT || dtype == MCOMM_DOUBLE) {
        oracle_real_set(dtype, to, draw_real(state));
    } else if (oracle_is_complex(dtype)) {
        mcomm_datatype_t part = nbytes == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE;

        oracle_real_set(part, to, draw_real(state));
        oracle_real_set(part, to + nbytes / 2, draw_real(state));
    } else if (dtype == MCOMM_FLOAT_INT || dtype == MCOMM_DOUBLE_INT) {
        oracle_real_set(nbytes == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE, to,
                        z[1] % 11 == 0 ? (double)NAN : (double)few);
        memcpy(to + nbytes / 2, &index, 4);
    } else if (oracle_is_pair(dtype)) {
        memcpy(to, &wide, dtype == MCOMM_SHORT_INT ? 2 : nbytes / 2);
        memcpy(to + nbytes / 2, &index, 4);
    } else if (z[1] % 4 == 0) {
        memset(to, z[1] & 16 ? 0 : 0xff, nbytes);
    }
}

/* Bits, but that a NaN of a float or double is a NaN. */
bool oracle_is_same(mcomm_datatype_t dtype, const char *a, const char *b)
{
    mcomm_datatype_t part = dtype == MCOMM_COMPLEX_FLOAT    ? MCOMM_FLOAT
                            : dtype == MCOMM_COMPLEX_DOUBLE ? MCOMM_DOUBLE
                                                            : dtype;
    size_t nbytes = mcomm_datatype_size(part);

    if (part != MCOMM_FLOAT && part != MCOMM_DOUBLE)
        return memcmp(a, b, nbytes) == 0;
    for (size_t at = 0; at < mcomm_datatype_size(dtype); at += nbytes)
        if (memcmp(a + at, b + at, nbytes) != 0 &&
            !(isnan(oracle_real(part, a + at)) && isnan(oracle_real(part, b + at))))
            return false;
    return true;
}