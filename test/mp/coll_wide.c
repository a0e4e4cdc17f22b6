/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Sums and averages of 8- and 16-bit floats are rounded once, whatever way the operands take: one
 * rank has a number of which the others' ones are less than half of the last place. Averages
 * overflow only if they are too large themselves. In rank order where that is asked for.
 */
#include "common/random.h"
#include "mp.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

struct format {
    mcomm_datatype_t dtype;
    int nbytes, mant, bias;
    float large; /* its last place is 2 */
    unsigned most;
};
static const struct format formats[] = {{MCOMM_BFLOAT16, 2, 7, 127, 256, 0x7f7f},
                                        {MCOMM_FLOAT16, 2, 10, 15, 2048, 0x7bff},
                                        {MCOMM_FLOAT8_E4M3, 1, 3, 7, 16, 0x7e},
                                        {MCOMM_FLOAT8_E5M2, 1, 2, 15, 8, 0x7b}};
static const size_t counts[] = {1, 5, 100, 3001, 70001};

/* Normal numbers and 0 only; to nearest, ties to even. */
static unsigned encode(const struct format *f, float value)
{
    unsigned sign = signbit(value) ? 1u << (8 * f->nbytes - 1) : 0;
    int exponent;
    long units;

    if (value == 0)
        return sign;
    frexpf(value, &exponent);
    exponent--;
    units = lrint(ldexp(fabs((double)value), f->mant - exponent)); /* 2^mant .. 2^(mant + 1) */
    return sign | (unsigned)(units + ((long)(exponent + f->bias - 1) << f->mant));
}

static unsigned code_at(const struct format *f, const void *buf, size_t i)
{
    uint16_t two;

    if (f->nbytes == 1)
        return ((const uint8_t *)buf)[i];
    memcpy(&two, (const char *)buf + 2 * i, 2);
    return two;
}

static void store(const struct format *f, void *buf, size_t i, unsigned code)
{
    uint16_t two = (uint16_t)code;

    if (f->nbytes == 1)
        ((uint8_t *)buf)[i] = (uint8_t)code;
    else
        memcpy((char *)buf + 2 * i, &two, 2);
}

static float operand(const struct format *f, int rank, size_t i)
{
    return i % (size_t)mp_size == (size_t)rank ? f->large : 1;
}

/* Elements [from, from + count) of the sum of ranks below end, which got holds. */
static void expect(const struct format *f, const void *got, size_t from, size_t count, int end,
                   mcomm_op_t op, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        unsigned want;

        for (int rank = 0; rank < end; rank++)
            sum += operand(f, rank, from + i);
        want = encode(f, op == MCOMM_AVG ? sum / (float)end : sum);
        if (code_at(f, got, i) != want)
            MP_FAIL("%s, op %d: element %zu of %zu of type %d is %x, not %x", what, (int)op, i,
                    count, (int)f->dtype, code_at(f, got, i), want);
    }
}

static void one(const struct format *f, size_t count, mcomm_op_t op)
{
    size_t n = (size_t)mp_size, *each = malloc(n * sizeof(*each)), first = 0, nbytes;
    char *in, *out;
    int root = (int)(count % n);

    nbytes = n * (count + n) * (size_t)f->nbytes;
    in = malloc(nbytes);
    out = malloc(nbytes);
    CHECK(each != NULL && in != NULL && out != NULL);
    for (size_t i = 0; i < n * (count + n); i++)
        store(f, in, i, encode(f, operand(f, mp_rank, i)));
    OK(mcomm_allreduce(in, out, count, f->dtype, op, MCOMM_COMM_WORLD));
    expect(f, out, 0, count, mp_size, op, "allreduce");
    memcpy(out, in, count * (size_t)f->nbytes);
    OK(mcomm_allreduce(MCOMM_IN_PLACE, out, count, f->dtype, op, MCOMM_COMM_WORLD));
    expect(f, out, 0, count, mp_size, op, "allreduce in place");
    OK(mcomm_reduce(in, out, count, f->dtype, op, root, MCOMM_COMM_WORLD));
    if (mp_rank == root)
        expect(f, out, 0, count, mp_size, op, "reduce");
    OK(mcomm_reduce_scatter_block(in, out, count, f->dtype, op, MCOMM_COMM_WORLD));
    expect(f, out, (size_t)mp_rank * count, count, mp_size, op, "reduce_scatter_block");
    for (size_t i = 0; i < n; i++) {
        each[i] = count + i;
        first += i < (size_t)mp_rank ? each[i] : 0;
    }
    OK(mcomm_reduce_scatter(in, out, each, f->dtype, op, MCOMM_COMM_WORLD));
    expect(f, out, first, each[mp_rank], mp_size, op, "reduce_scatter");
    if (op == MCOMM_SUM) {
        OK(mcomm_scan(in, out, count, f->dtype, op, MCOMM_COMM_WORLD));
        expect(f, out, 0, count, mp_rank + 1, op, "scan");
        OK(mcomm_exscan(in, out, count, f->dtype, op, MCOMM_COMM_WORLD));
        if (mp_rank > 0)
            expect(f, out, 0, count, mp_rank, op, "exscan");
    }
    free(in);
    free(out);
    free(each);
}

/* ---- averages of the largest numbers ---- */
#define LARGEST 20000

static void largest(const struct format *f)
{
    static uint16_t in[LARGEST], out[LARGEST];

    for (size_t i = 0; i < LARGEST; i++)
        store(f, in, i, f->most);
    OK(mcomm_allreduce(in, out, LARGEST, f->dtype, MCOMM_AVG, MCOMM_COMM_WORLD));
    for (size_t i = 0; i < LARGEST; i++)
        CHECK_EQ(code_at(f, out, i), f->most);
}

static void largest_wide(void)
{
    static float in[LARGEST], out[LARGEST];
    static double in2[LARGEST], out2[LARGEST];

    for (size_t i = 0; i < LARGEST; i++) {
        in[i] = -FLT_MAX;
        in2[i] = DBL_MAX;
    }
    OK(mcomm_allreduce(in, out, LARGEST, MCOMM_FLOAT, MCOMM_AVG, MCOMM_COMM_WORLD));
    OK(mcomm_reduce(in2, out2, LARGEST, MCOMM_DOUBLE, MCOMM_AVG, 0, MCOMM_COMM_WORLD));
    for (size_t i = 0; i < LARGEST; i++) {
        CHECK(out[i] >= -FLT_MAX && out[i] < -FLT_MAX * 0.99999f);
        CHECK(mp_rank != 0 || (out2[i] <= DBL_MAX && out2[i] > DBL_MAX * 0.99999));
    }
}

/* ---- in rank order ---- */
/* Of 8 bits, with magnitudes that a float cannot add without loss. */
static float wild(int rank, size_t i)
{
    uint64_t z = mix((uint64_t)rank * 1000003u + i * 7919u + 1);

    return ldexpf((float)(128 + z % 128) * (z & 256 ? 1 : -1), (int)(z >> 20) % 32);
}

static void expect_order(const void *got, size_t from, size_t count, int end, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        float sum = wild(0, from + i);

        for (int rank = 1; rank < end; rank++)
            sum = sum + wild(rank, from + i);
        if (code_at(&formats[0], got, i) != encode(&formats[0], sum))
            MP_FAIL("%s: element %zu of %zu is %x, in rank order %x", what, i, count,
                    code_at(&formats[0], got, i), encode(&formats[0], sum));
    }
}

static void deterministic(size_t count)
{
    const mcomm_datatype_t t = MCOMM_BFLOAT16;
    size_t all = (size_t)mp_size * count;
    uint16_t *in = malloc(all * 2), *out = malloc(all * 2);
    mcomm_info_t info;
    mcomm_comm_t comm;

    CHECK(in != NULL && out != NULL);
    OK(mcomm_info_create(&info));
    OK(mcomm_info_set(info, "deterministic", "yes"));
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    OK(mcomm_info_free(&info));
    for (size_t i = 0; i < all; i++)
        store(&formats[0], in, i, encode(&formats[0], wild(mp_rank, i)));
    OK(mcomm_allreduce(in, out, count, t, MCOMM_SUM, comm));
    expect_order(out, 0, count, mp_size, "allreduce");
    OK(mcomm_reduce(in, out, count, t, MCOMM_SUM, 1, comm));
    if (mp_rank == 1)
        expect_order(out, 0, count, mp_size, "reduce");
    OK(mcomm_reduce_scatter_block(in, out, count, t, MCOMM_SUM, comm));
    expect_order(out, (size_t)mp_rank * count, count, mp_size, "reduce_scatter_block");
    OK(mcomm_scan(in, out, count, t, MCOMM_SUM, comm));
    expect_order(out, 0, count, mp_rank + 1, "scan");
    OK(mcomm_exscan(in, out, count, t, MCOMM_SUM, comm));
    if (mp_rank > 0)
        expect_order(out, 0, count, mp_rank, "exscan");
    OK(mcomm_comm_free(&comm));
    free(in);
    free(out);
}

int main(void)
{
    mp_init();
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
            one(&formats[i], counts[j], MCOMM_SUM);
            one(&formats[i], counts[j], MCOMM_AVG);
        }
        largest(&formats[i]);
    }
    largest_wide();
    for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
        deterministic(counts[j]);
    OK(mcomm_finalize());
    return 0;
}
