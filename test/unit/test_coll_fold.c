/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Folds of every type and operation, by every set of instructions this machine has, against plain
 * code of the test's own: all lengths, odd addresses, 1 to 9 vectors, special values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coll/coll_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 300 /* elements: four vectors of the smallest type and some */
#define SRCS 9
#define ELEM_MAX 16
#define SPACE (COUNT * ELEM_MAX + 64)

static const char *const sets[] = {"plain", "avx2", "avx512"};
#define SET_NUM 3

static uint64_t seed_state = 20;

static uint64_t next_random(void)
{
    seed_state += 0x9e3779b97f4a7c15u;
    uint64_t z = seed_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- small floats, by arithmetic ---- */
struct small {
    int mant, bias, nbytes;
    bool has_inf;
    unsigned nan;
    double most;
};
static const struct small f16 = {10, 15, 2, true, 0x7e00, 65504};
static const struct small bf16 = {7, 127, 2, true, 0x7fc0, 0x1.fep127};
static const struct small e4m3 = {3, 7, 1, false, 0x7f, 448};
static const struct small e5m2 = {2, 15, 1, true, 0x7e, 57344};

static const struct small *small_of(mcomm_datatype_t dtype)
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

static float decode(const struct small *f, unsigned code)
{
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
static unsigned encode(const struct small *f, float value)
{
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

static unsigned code_at(const struct small *f, const char *from)
{
    uint16_t two;

    if (f->nbytes == 1)
        return (unsigned char)*from;
    memcpy(&two, from, 2);
    return two;
}

/* ---- one element by plain code ---- */
static bool is_pair(mcomm_datatype_t dtype)
{
    return dtype >= MCOMM_FLOAT_INT && dtype <= MCOMM_SHORT_INT;
}

static bool is_complex(mcomm_datatype_t dtype)
{
    return dtype == MCOMM_COMPLEX_FLOAT || dtype == MCOMM_COMPLEX_DOUBLE;
}

static bool is_integer(mcomm_datatype_t dtype)
{
    return dtype >= MCOMM_INT8 && dtype <= MCOMM_UINT64;
}

static bool is_real(mcomm_datatype_t dtype)
{
    return dtype == MCOMM_FLOAT || dtype == MCOMM_DOUBLE || small_of(dtype) != NULL;
}

static bool is_there(mcomm_datatype_t dtype, mcomm_op_t op)
{
    bool is_bits = op >= MCOMM_BAND && op <= MCOMM_BXOR;
    bool is_logic = op >= MCOMM_LAND && op <= MCOMM_LXOR;
    bool is_order = op == MCOMM_MIN || op == MCOMM_MAX;

    if (op == MCOMM_MINLOC || op == MCOMM_MAXLOC)
        return is_pair(dtype);
    if (op == MCOMM_SUM || op == MCOMM_PROD)
        return is_integer(dtype) || is_real(dtype) || is_complex(dtype) || dtype == MCOMM_BOOL;
    if (op == MCOMM_AVG)
        return is_integer(dtype) || is_real(dtype) || is_complex(dtype);
    if (is_order)
        return is_integer(dtype) || is_real(dtype) || dtype == MCOMM_BOOL;
    if (is_bits)
        return is_integer(dtype) || dtype == MCOMM_BOOL || dtype == MCOMM_BYTE;
    return is_logic && (is_integer(dtype) || dtype == MCOMM_BOOL);
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

static double real_at(mcomm_datatype_t dtype, const char *from)
{
    float single;
    double twice;

    if (small_of(dtype) != NULL)
        return (double)decode(small_of(dtype), code_at(small_of(dtype), from));
    if (dtype == MCOMM_DOUBLE) {
        memcpy(&twice, from, 8);
        return twice;
    }
    memcpy(&single, from, 4);
    return (double)single;
}

static void real_set(mcomm_datatype_t dtype, char *to, double value)
{
    float single = (float)value;
    uint16_t code;

    if (dtype == MCOMM_DOUBLE) {
        memcpy(to, &value, 8);
    } else if (small_of(dtype) != NULL) {
        code = (uint16_t)encode(small_of(dtype), single);
        memcpy(to, &code, mci_dtype_nbytes(dtype));
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
        double next = real_at(dtype, srcs[s]) * scale;

        next = is_float ? (double)(float)next : next;
        acc = s == 0 ? next : real_op(op, acc, next, is_float);
    }
    if (op == MCOMM_AVG)
        acc = is_float ? (double)((float)acc / (float)(n * scale)) : acc / (n * scale);
    real_set(dtype, to, acc);
}

static void complex_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                         mcomm_op_t op)
{
    mcomm_datatype_t part = dtype == MCOMM_COMPLEX_FLOAT ? MCOMM_FLOAT : MCOMM_DOUBLE;
    size_t half = mci_dtype_nbytes(part);
    bool is_float = part == MCOMM_FLOAT;
    const char *imags[SRCS];
    double re = real_at(part, srcs[0]), im = real_at(part, srcs[0] + half);

    if (op != MCOMM_PROD) {
        for (int s = 0; s < n; s++)
            imags[s] = srcs[s] + half;
        real_fold(to, srcs, n, part, op);
        real_fold(to + half, imags, n, part, op);
        return;
    }
    for (int s = 1; s < n; s++) {
        double c = real_at(part, srcs[s]), d = real_at(part, srcs[s] + half), old = re;

        re = real_op(MCOMM_SUM, real_op(MCOMM_PROD, re, c, is_float),
                     -real_op(MCOMM_PROD, im, d, is_float), is_float);
        im = real_op(MCOMM_SUM, real_op(MCOMM_PROD, old, d, is_float),
                     real_op(MCOMM_PROD, im, c, is_float), is_float);
    }
    real_set(part, to, re);
    real_set(part, to + half, im);
}

static __int128 integer_at(mcomm_datatype_t dtype, const char *from)
{
    size_t nbytes = mci_dtype_nbytes(dtype);
    uint64_t bits = 0;
    bool is_signed = (dtype - MCOMM_INT8) % 2 == 0 && is_integer(dtype);

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
    size_t nbytes = mci_dtype_nbytes(dtype);
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

        if (is_real(value)) {
            is_less = real_at(value, srcs[s]) < real_at(value, best);
            is_more = real_at(value, srcs[s]) > real_at(value, best);
            if (isnan(real_at(value, srcs[s])) || isnan(real_at(value, best)))
                continue; /* a NaN is neither less nor more nor equal */
        } else {
            is_less = integer_at(value, srcs[s]) < integer_at(value, best);
            is_more = integer_at(value, srcs[s]) > integer_at(value, best);
        }
        if ((op == MCOMM_MINLOC ? is_less : is_more) || (!is_less && !is_more && j < i))
            best = srcs[s];
    }
    memcpy(to, best, mci_dtype_nbytes(dtype));
}

static void plain_fold(char *to, const char *const *srcs, int n, mcomm_datatype_t dtype,
                       mcomm_op_t op)
{
    if (n == 1)
        memcpy(to, srcs[0], mci_dtype_nbytes(dtype));
    else if (is_pair(dtype))
        pair_fold(to, srcs, n, dtype, op);
    else if (is_complex(dtype))
        complex_fold(to, srcs, n, dtype, op);
    else if (is_real(dtype))
        real_fold(to, srcs, n, dtype, op);
    else
        integer_fold(to, srcs, n, dtype, op);
}

/* ---- elements ---- */
static double draw_real(void)
{
    static const double specials[] = {0.0,   -0.0,   INFINITY, -INFINITY, NAN,
                                      1e-45, -1e-40, 3.4e38,   -3.4e38,   1.0};
    uint64_t z = next_random();

    if (z % 4 == 0)
        return specials[(z >> 8) % 10];
    return ldexp((double)(int32_t)(z >> 32), (int)((z >> 8) % 40) - 50);
}

static void draw_element(char *to, mcomm_datatype_t dtype)
{
    size_t nbytes = mci_dtype_nbytes(dtype);
    uint64_t z[2] = {next_random(), next_random()};
    int16_t few = (int16_t)(z[1] % 3 - 1);
    int32_t index = (int32_t)(z[1] >> 8) % 4;
    int64_t wide = few;

    memcpy(to, z, nbytes);
    if (dtype == MCOMM_FLOAT || dtype == MCOMM_DOUBLE) {
        real_set(dtype, to, draw_real());
    } else if (is_complex(dtype)) {
        mcomm_datatype_t part = nbytes == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE;

        real_set(part, to, draw_real());
        real_set(part, to + nbytes / 2, draw_real());
    } else if (dtype == MCOMM_FLOAT_INT || dtype == MCOMM_DOUBLE_INT) {
        real_set(nbytes == 8 ? MCOMM_FLOAT : MCOMM_DOUBLE, to,
                 z[1] % 11 == 0 ? (double)NAN : (double)few);
        memcpy(to + nbytes / 2, &index, 4);
    } else if (is_pair(dtype)) {
        memcpy(to, &wide, dtype == MCOMM_SHORT_INT ? 2 : nbytes / 2);
        memcpy(to + nbytes / 2, &index, 4);
    } else if (z[1] % 4 == 0) {
        memset(to, z[1] & 16 ? 0 : 0xff, nbytes);
    }
}

/* Bits, but that a NaN of a float or double is a NaN. */
static bool is_same(mcomm_datatype_t dtype, const char *a, const char *b)
{
    mcomm_datatype_t part = dtype == MCOMM_COMPLEX_FLOAT    ? MCOMM_FLOAT
                            : dtype == MCOMM_COMPLEX_DOUBLE ? MCOMM_DOUBLE
                                                            : dtype;
    size_t nbytes = mci_dtype_nbytes(part);

    if (part != MCOMM_FLOAT && part != MCOMM_DOUBLE)
        return memcmp(a, b, nbytes) == 0;
    for (size_t at = 0; at < mci_dtype_nbytes(dtype); at += nbytes)
        if (memcmp(a + at, b + at, nbytes) != 0 &&
            !(isnan(real_at(part, a + at)) && isnan(real_at(part, b + at))))
            return false;
    return true;
}

/* ---- tests ---- */
static void only_operations_with_a_meaning_are_legal(void **state)
{
    (void)state;
    for (int dtype = 0; dtype <= MCOMM_SHORT_INT + 1; dtype++) {
        for (int op = 0; op <= MCOMM_MAXLOC + 1; op++) {
            bool is_type = dtype >= MCOMM_INT8 && dtype <= MCOMM_SHORT_INT;
            mcomm_err_t want = !is_type                                            ? MCOMM_ERR_TYPE
                               : is_there((mcomm_datatype_t)dtype, (mcomm_op_t)op) ? MCOMM_SUCCESS
                                                                                   : MCOMM_ERR_OP;

            assert_int_equal(mci_fold_check((mcomm_datatype_t)dtype, (mcomm_op_t)op), want);
        }
    }
    assert_int_equal(mcomm_datatype_size(MCOMM_FLOAT_INT), 8);
    assert_int_equal(mcomm_datatype_size(MCOMM_DOUBLE_INT), 16);
    assert_int_equal(mcomm_datatype_size(MCOMM_LONG_INT), sizeof(long) * 2);
    assert_int_equal(mcomm_datatype_size(MCOMM_INT_INT), 8);
    assert_int_equal(mcomm_datatype_size(MCOMM_SHORT_INT), 8);
    assert_int_equal(mcomm_datatype_size(MCOMM_COMPLEX_DOUBLE), 16);
    for (int dtype = MCOMM_FLOAT8_E4M3; dtype <= MCOMM_SHORT_INT; dtype++)
        assert_false(mci_op_is_legal(MCOMM_REPLACE, (mcomm_datatype_t)dtype));
    assert_false(mci_op_is_legal(MCOMM_AVG, MCOMM_FLOAT));
}

static struct {
    char mem[SRCS][SPACE], dst[SPACE], want[SPACE];
    const char *srcs[SRCS];
} t;

static void fold_and_compare(const char *set, mcomm_datatype_t dtype, mcomm_op_t op, int n,
                             size_t first, size_t count, bool is_in_place)
{
    size_t elem = mci_dtype_nbytes(dtype), nbytes = count * elem;
    const void *srcs[SRCS];
    int own = (int)(count % (size_t)n);
    char *dst = t.dst + 32 + count % 3;

    for (int s = 0; s < n; s++)
        srcs[s] = t.srcs[s] + first * elem;
    memset(t.dst, 0x5a, nbytes + 64);
    if (is_in_place) {
        memcpy(dst, srcs[own], nbytes);
        srcs[own] = dst;
    }
    if (n == 2 && op != MCOMM_AVG)
        mci_fold_two(dst, srcs[0], srcs[1], count, dtype, op);
    else
        mci_fold_many(dst, srcs, n, count, dtype, op);
    for (size_t i = 0; i < count; i++)
        if (!is_same(dtype, dst + i * elem, t.want + (first + i) * elem))
            fail_msg("%s: %s of %s, %d vectors of %zu: element %zu is wrong", set,
                     mci_fold_op_name(op), mci_dtype_name(dtype), n, count, i);
    for (char *at = t.dst; at < dst; at++)
        assert_int_equal(*at, 0x5a);
    for (char *at = dst + nbytes; at < t.dst + nbytes + 64; at++)
        assert_int_equal(*at, 0x5a);
}

static void every_length(const char *set, mcomm_datatype_t dtype, mcomm_op_t op, int n)
{
    static const size_t more[] = {127, 128, 129, 255, 256, 257, COUNT};

    if (!mci_fold_use(set))
        return;
    for (size_t count = 0; count <= 67; count++)
        fold_and_compare(set, dtype, op, n, (count * 7) % (COUNT - 67), count, count % 2);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        fold_and_compare(set, dtype, op, n, 0, more[i], i % 2);
}

static void draw_and_fold(mcomm_datatype_t dtype, mcomm_op_t op, int n)
{
    size_t elem = mci_dtype_nbytes(dtype);

    for (int s = 0; s < n; s++) {
        t.srcs[s] = t.mem[s] + (s + n) % 5;
        for (size_t i = 0; i < COUNT; i++)
            draw_element((char *)t.srcs[s] + i * elem, dtype);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const char *ones[SRCS];

        for (int s = 0; s < n; s++)
            ones[s] = t.srcs[s] + i * elem;
        plain_fold(t.want + i * elem, ones, n, dtype, op);
    }
    for (int set = 0; set < SET_NUM; set++)
        every_length(sets[set], dtype, op, n);
}

static void all_types_operations_lengths_and_sets_agree_with_plain_code(void **state)
{
    unsigned tested = 0;

    (void)state;
    for (int dtype = MCOMM_INT8; dtype <= MCOMM_SHORT_INT; dtype++) {
        for (int op = MCOMM_SUM; op <= MCOMM_MAXLOC; op++) {
            if (!is_there((mcomm_datatype_t)dtype, (mcomm_op_t)op))
                continue;
            for (int n = 1; n <= SRCS; n++)
                draw_and_fold((mcomm_datatype_t)dtype, (mcomm_op_t)op, n);
            tested++;
        }
    }
    assert_int_equal(tested, 8 * 11 + 6 * 5 + 10 + 3 + 2 * 3 + 5 * 2);
}

/* Every pair of 8-bit floats; every 16-bit float with some. */
static void all_small_floats_are_added_rightly(void **state)
{
    static const mcomm_datatype_t types[] = {MCOMM_FLOAT8_E4M3, MCOMM_FLOAT8_E5M2, MCOMM_FLOAT16,
                                             MCOMM_BFLOAT16};
    static uint16_t left[1 << 16], right[1 << 16], out[1 << 16];

    (void)state;
    for (int set = 0; set < SET_NUM; set++) {
        for (int i = 0; i < 4 && mci_fold_use(sets[set]); i++) {
            const struct small *f = small_of(types[i]);
            char *a = (char *)left, *b = (char *)right;
            size_t elem = (size_t)f->nbytes;

            for (unsigned k = 0; k < 1 << 16; k++) {
                unsigned partner = f->nbytes == 1 ? k >> 8 : (unsigned)next_random();
                uint16_t x = (uint16_t)(f->nbytes == 1 ? k & 255 : k), y = (uint16_t)partner;

                memcpy(a + k * elem, &x, elem);
                memcpy(b + k * elem, &y, elem);
            }
            mci_fold_two(out, left, right, 1 << 16, types[i], MCOMM_SUM);
            for (size_t k = 0; k < 1 << 16; k++)
                assert_int_equal(code_at(f, (char *)out + k * elem),
                                 encode(f, decode(f, code_at(f, a + k * elem)) +
                                               decode(f, code_at(f, b + k * elem))));
        }
    }
}

static unsigned small_sum(mcomm_datatype_t dtype, float x, float y)
{
    uint16_t a = (uint16_t)encode(small_of(dtype), x), b = (uint16_t)encode(small_of(dtype), y);
    uint16_t sum = 0;

    mci_fold_two(&sum, &a, &b, 1, dtype, MCOMM_SUM);
    return sum;
}

static void small_floats_overflow_as_their_formats_say(void **state)
{
    (void)state;
    for (int set = 0; set < SET_NUM; set++) {
        if (!mci_fold_use(sets[set]))
            continue;
        assert_int_equal(small_sum(MCOMM_FLOAT8_E4M3, 448, 16), 0x7e); /* 464 rounds to even */
        assert_int_equal(small_sum(MCOMM_FLOAT8_E4M3, 448, 18), 0x7f); /* NaN */
        assert_int_equal(small_sum(MCOMM_FLOAT8_E4M3, -448, -448), 0xff);
        assert_int_equal(small_sum(MCOMM_FLOAT8_E5M2, 57344, 4096), 0x7c); /* infinity */
        assert_int_equal(small_sum(MCOMM_FLOAT8_E5M2, 57344, 3584), 0x7b);
        assert_int_equal(small_sum(MCOMM_FLOAT16, 65504, 16), 0x7c00);
        assert_int_equal(small_sum(MCOMM_FLOAT16, 65504, 15.5f), 0x7bff);
        assert_int_equal(small_sum(MCOMM_FLOAT16, INFINITY, -INFINITY), 0x7e00);
    }
}

static void a_fold_of_many_rounds_once(void **state)
{
    const void *srcs[SRCS];
    uint16_t large = (uint16_t)encode(&bf16, 256), one = (uint16_t)encode(&bf16, 1), sum;
    uint8_t most = (uint8_t)encode(&e4m3, 448), average;

    (void)state;
    for (int set = 0; set < SET_NUM; set++) {
        if (!mci_fold_use(sets[set]))
            continue;
        for (int s = 0; s < SRCS; s++)
            srcs[s] = s == 0 ? &large : &one;
        mci_fold_many(&sum, srcs, SRCS, 1, MCOMM_BFLOAT16, MCOMM_SUM);
        assert_int_equal(sum, encode(&bf16, 264)); /* 256 + 1 alone rounds to 256 */
        for (int s = 0; s < SRCS; s++)
            srcs[s] = &most;
        mci_fold_many(&average, srcs, SRCS, 1, MCOMM_FLOAT8_E4M3, MCOMM_AVG);
        assert_int_equal(average, most); /* the sum alone is too large */
    }
}

/* ---- the caller's operations ---- */
struct weave {
    mcomm_datatype_t dtype;
    size_t elem;
};

/* Not commutative: the left operand's first byte, the right one's others. */
static void weave(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    const struct weave *w = arg;

    assert_int_equal(dtype, w->dtype);
    for (size_t i = 0; i < count; i++)
        ((char *)inout)[i * w->elem] =
            (char)(((const char *)in)[i * w->elem] * 3 + ((char *)inout)[i * w->elem]);
}

static void own_operations_fold_in_order_with_every_type(void **state)
{
    mcomm_op_t op;
    struct weave w;

    (void)state;
    assert_int_equal(mci_fold_op_create(weave, &w, false, &op), MCOMM_SUCCESS);
    assert_false(mci_fold_is_commutative(op));
    for (int dtype = MCOMM_INT8; dtype <= MCOMM_SHORT_INT; dtype++) {
        size_t elem = mci_dtype_nbytes((mcomm_datatype_t)dtype);

        w = (struct weave){(mcomm_datatype_t)dtype, elem};
        assert_int_equal(mci_fold_check(w.dtype, op), MCOMM_SUCCESS);
        for (int n = 1; n <= SRCS; n++) {
            for (int s = 0; s < n; s++) {
                t.srcs[s] = t.mem[s] + s;
                for (size_t i = 0; i < COUNT; i++)
                    draw_element((char *)t.srcs[s] + i * elem, w.dtype);
            }
            memcpy(t.want, t.srcs[n - 1], COUNT * elem);
            for (size_t i = 0; i < COUNT; i++) {
                char acc = t.srcs[0][i * elem];

                for (int s = 1; s < n; s++)
                    acc = (char)(acc * 3 + t.srcs[s][i * elem]);
                t.want[i * elem] = acc;
            }
            for (int dst = -1; dst < n; dst++) {
                const void *srcs[SRCS];

                for (int s = 0; s < n; s++)
                    srcs[s] = t.srcs[s];
                if (dst >= 0) {
                    memcpy(t.dst, srcs[dst], COUNT * elem);
                    srcs[dst] = t.dst;
                }
                mci_fold_many(t.dst, srcs, n, COUNT, w.dtype, op);
                assert_memory_equal(t.dst, t.want, COUNT * elem);
            }
        }
    }
    assert_int_equal(mci_fold_op_free(op), MCOMM_SUCCESS);
    assert_int_equal(mci_fold_op_free(op), MCOMM_ERR_OP);
}

static void a_freed_operation_serves_those_who_hold_it(void **state)
{
    uint8_t left = 2, right = 5;
    struct weave w = {MCOMM_UINT8, 1};
    mcomm_op_t op, other;

    (void)state;
    assert_int_equal(mci_fold_op_create(weave, &w, true, &op), MCOMM_SUCCESS);
    mci_fold_op_hold(op);
    assert_int_equal(mci_fold_op_free(op), MCOMM_SUCCESS);
    assert_int_equal(mci_fold_check(MCOMM_UINT8, op), MCOMM_ERR_OP); /* for new calls */
    assert_int_equal(mci_fold_op_create(weave, &w, true, &other), MCOMM_SUCCESS);
    assert_int_not_equal(other, op);
    mci_fold_two(&right, &left, &right, 1, MCOMM_UINT8, op);
    assert_int_equal(right, 11);
    mci_fold_op_release(op);
    assert_null(mci_fold_user_op(op));
    assert_int_equal(mci_fold_op_free(other), MCOMM_SUCCESS);
}

static void so_many_operations_and_no_more(void **state)
{
    static mcomm_op_t ops[4096];
    mcomm_op_t more = MCOMM_OP_NULL;

    (void)state;
    for (int i = 0; i < 4096; i++)
        assert_int_equal(mci_fold_op_create(weave, NULL, true, &ops[i]), MCOMM_SUCCESS);
    assert_int_equal(mci_fold_op_create(weave, NULL, true, &more), MCOMM_ERR_LIMIT);
    assert_int_equal(more, MCOMM_OP_NULL);
    assert_int_equal(mci_fold_op_free(ops[77]), MCOMM_SUCCESS);
    assert_int_equal(mci_fold_op_create(weave, NULL, true, &more), MCOMM_SUCCESS);
    mci_fold_ops_end();
    assert_int_equal(mci_fold_check(MCOMM_UINT8, more), MCOMM_ERR_OP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_operations_with_a_meaning_are_legal),
        cmocka_unit_test(all_types_operations_lengths_and_sets_agree_with_plain_code),
        cmocka_unit_test(all_small_floats_are_added_rightly),
        cmocka_unit_test(small_floats_overflow_as_their_formats_say),
        cmocka_unit_test(a_fold_of_many_rounds_once),
        cmocka_unit_test(own_operations_fold_in_order_with_every_type),
        cmocka_unit_test(a_freed_operation_serves_those_who_hold_it),
        cmocka_unit_test(so_many_operations_and_no_more),
    };

    for (int set = 0; set < SET_NUM; set++)
        print_message("# %s: %s\n", sets[set], mci_fold_use(sets[set]) ? "tested" : "not here");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
