/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What results are: the same bits everywhere, truth values, folds in rank order where asked for. */
#include "common/random.h"
#include "mp.h"

/* NaNs of many kinds: whatever comes out, it is the same everywhere. */
static void test_same_bits(void)
{
    enum {
        COUNT = 50000
    };
    double *mine = malloc(COUNT * sizeof(double)), *sum = malloc(COUNT * sizeof(double));
    double *of_root = malloc(COUNT * sizeof(double));
    static const size_t sizes[] = {1, 5, 300, COUNT};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t i = 0; i < sizes[s]; i++) {
            uint64_t bits = 0x7ff8000000000000u + (uint64_t)mp_rank * 16 + i % 7;

            mine[i] = 1.0 / (3.0 + (double)i + mp_rank);
            if (i % 3 == (size_t)mp_rank % 3)
                memcpy(&mine[i], &bits, 8);
        }
        OK(mcomm_allreduce(mine, sum, sizes[s], MCOMM_DOUBLE, s % 2 ? MCOMM_MAX : MCOMM_SUM,
                           MCOMM_COMM_WORLD));
        memcpy(of_root, sum, sizes[s] * sizeof(double));
        OK(mcomm_bcast(of_root, sizes[s], MCOMM_DOUBLE, 0, MCOMM_COMM_WORLD));
        CHECK(memcmp(of_root, sum, sizes[s] * sizeof(double)) == 0);
    }
    free(mine);
    free(sum);
    free(of_root);
}

/* Truth values of results are 0 or 1, also where a result is of one rank's operand alone. */
static void expect_truth(mcomm_datatype_t dtype, mcomm_op_t op, const void *got, long want)
{
    int32_t n = *(const unsigned char *)got;

    if (dtype == MCOMM_INT32)
        memcpy(&n, got, sizeof(n));
    if (n != want)
        MP_FAIL("dtype %d, op %d: %d, not %ld", (int)dtype, (int)op, (int)n, want);
}

static void truth(mcomm_datatype_t dtype, mcomm_op_t op, const void *in)
{
    int is_xor = op == MCOMM_LXOR || op == MCOMM_BXOR;
    long all = is_xor ? mp_size % 2 : 1, before = is_xor ? mp_rank % 2 : 1;
    size_t ones[64];
    char in_all[64 * 4], out[4];

    CHECK(mp_size <= 64);
    for (int i = 0; i < mp_size; i++) {
        ones[i] = 1;
        memcpy(in_all + (size_t)i * mcomm_datatype_size(dtype), in, mcomm_datatype_size(dtype));
    }
    OK(mcomm_reduce(in, out, 1, dtype, op, 0, MCOMM_COMM_WORLD));
    if (mp_rank == 0)
        expect_truth(dtype, op, out, all);
    OK(mcomm_allreduce(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    memcpy(out, in, mcomm_datatype_size(dtype));
    OK(mcomm_allreduce(MCOMM_IN_PLACE, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_reduce_scatter_block(in_all, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_reduce_scatter(in_all, out, ones, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_scan(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, is_xor ? (mp_rank + 1) % 2 : 1);
    OK(mcomm_exscan(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    if (mp_rank > 0)
        expect_truth(dtype, op, out, before);
}

static void test_truth(void)
{
    static const mcomm_op_t logical[] = {MCOMM_LAND, MCOMM_LOR, MCOMM_LXOR};
    static const mcomm_op_t of_bool[] = {MCOMM_LAND, MCOMM_LOR, MCOMM_LXOR, MCOMM_SUM, MCOMM_PROD,
                                         MCOMM_MIN,  MCOMM_MAX, MCOMM_BAND, MCOMM_BOR, MCOMM_BXOR};
    const unsigned char yes = 7;
    const int32_t five = 5;
    int32_t out = 0;

    for (size_t i = 0; i < sizeof(of_bool) / sizeof(of_bool[0]); i++)
        truth(MCOMM_BOOL, of_bool[i], &yes);
    for (size_t i = 0; i < sizeof(logical) / sizeof(logical[0]); i++)
        truth(MCOMM_INT32, logical[i], &five);
    OK(mcomm_allreduce(&five, &out, 1, MCOMM_INT32, MCOMM_MAX, MCOMM_COMM_WORLD));
    CHECK_EQ(out, 5); /* a number is no truth value */
}

static float wild(int rank, size_t i) /* magnitudes from 2^-20 to 2^20 */
{
    uint64_t z = (uint64_t)rank * 1000003u + i * 7919u + 1;
    float f;

    z = mix(z);
    f = (float)(z >> 40) / (float)(1 << 24) - 0.5f;
    return f * (float)(1u << (z % 21)) / (float)(1u << (z / 32 % 21));
}

static void expect_fold(const float *got, size_t from, size_t count, int end)
{
    for (size_t i = 0; i < count; i++) {
        float want = wild(0, from + i);

        for (int r = 1; r < end; r++)
            want = want + wild(r, from + i);
        if (memcmp(&want, &got[i], 4) != 0)
            MP_FAIL("element %zu of %zu is %a, in rank order %a", i, count, (double)got[i],
                    (double)want);
    }
}

/* Sums are those of a loop in rank order, whatever the size and wherever the ranks are. */
static void test_deterministic(void)
{
    static const size_t sizes[] = {1, 100, 2000, 5000, 50000, 200001};
    size_t most = sizes[5], n = (size_t)mp_size;
    float *in = malloc(n * most * 4), *out = malloc(n * most * 4);
    mcomm_comm_t comm, child;
    mcomm_info_t info;

    OK(mcomm_info_create(&info));
    OK(mcomm_info_set(info, "deterministic", "maybe"));
    EXPECT(MCOMM_ERR_INFO, mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    OK(mcomm_info_set(info, "deterministic", "yes"));
    if (getenv("MCOMM_DETERMINISTIC") != NULL)
        OK(mcomm_info_free(&info)); /* all communicators are */
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    if (info != MCOMM_INFO_NULL)
        OK(mcomm_info_free(&info));
    OK(mcomm_comm_split(comm, 0, mp_rank, &child)); /* inherits */
    for (size_t i = 0; i < n * most; i++)
        in[i] = wild(mp_rank, i);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        mcomm_comm_t c = s % 2 ? child : comm;
        size_t count = sizes[s];
        int root = (int)s % mp_size;

        OK(mcomm_allreduce(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, 0, count, mp_size);
        OK(mcomm_reduce(in, out, count, MCOMM_FLOAT, MCOMM_SUM, root, c));
        if (mp_rank == root)
            expect_fold(out, 0, count, mp_size);
        OK(mcomm_reduce_scatter_block(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, (size_t)mp_rank * count, count, mp_size);
        OK(mcomm_scan(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, 0, count, mp_rank + 1);
        OK(mcomm_exscan(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        if (mp_rank > 0)
            expect_fold(out, 0, count, mp_rank);
    }
    OK(mcomm_comm_free(&child));
    OK(mcomm_comm_free(&comm));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    mp_init();
    if (strcmp(what, "bits") == 0)
        test_same_bits();
    else if (strcmp(what, "truth") == 0)
        test_truth();
    else if (strcmp(what, "deterministic") == 0)
        test_deterministic();
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
