/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Partial results of sums and averages of floats, with every set of loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "coll/coll_priv.h"

#include <float.h>
#include <string.h>

#define SRCS 6
#define MOST 70

static const char *const sets[] = {"plain", "avx2", "avx512"};
#define SET_NUM (sizeof(sets) / sizeof(sets[0]))

/* A sum of floats or doubles is rounded at each step. */
static void assert_near(mcomm_datatype_t dtype, const char *got, const void *want)
{
    float single;
    double twice;

    memcpy(&single, got, 4);
    memcpy(&twice, got, 8);
    if (dtype == MCOMM_FLOAT)
        assert_true(single <= FLT_MAX && single > FLT_MAX * 0.999999f);
    else if (dtype == MCOMM_DOUBLE)
        assert_true(twice <= DBL_MAX && twice > DBL_MAX * 0.999999);
    else
        assert_memory_equal(got, want, mci_dtype_nbytes(dtype));
}

static void check_largest(mcomm_datatype_t dtype, const void *most)
{
    const void *srcs[SRCS];
    char average[8] = {0}, wide[SRCS][8], sum[8];

    for (int s = 0; s < SRCS; s++)
        srcs[s] = most;
    mci_fold_many(average, srcs, SRCS, 1, dtype, MCOMM_AVG);
    assert_near(dtype, average, most);
    for (int s = 0; s < SRCS; s++) {
        mci_fold_widen(wide[s], most, 1, dtype, MCOMM_AVG, SRCS);
        srcs[s] = wide[s];
    }
    mci_fold_many(sum, srcs, SRCS, 1, mci_fold_wide_type(dtype, MCOMM_AVG), MCOMM_SUM);
    mci_fold_narrow(average, sum, 1, dtype, MCOMM_AVG, SRCS);
    assert_near(dtype, average, most);
}

static void average_of_the_largest_is_the_largest(void **state)
{
    const float single = FLT_MAX;
    const double twice = DBL_MAX;
    const uint16_t half = 0x7bff, upper = 0x7f7f;
    const uint8_t e4 = 0x7e, e5 = 0x7b;

    (void)state;
    for (size_t set = 0; set < SET_NUM; set++) {
        if (!mci_fold_use(sets[set]))
            continue;
        check_largest(MCOMM_FLOAT, &single);
        check_largest(MCOMM_DOUBLE, &twice);
        check_largest(MCOMM_FLOAT16, &half);
        check_largest(MCOMM_BFLOAT16, &upper);
        check_largest(MCOMM_FLOAT8_E4M3, &e4);
        check_largest(MCOMM_FLOAT8_E5M2, &e5);
    }
}

/* Every code of a type but its NaNs, from bit pattern first on. */
static void check_codes(mcomm_datatype_t dtype, unsigned first, size_t count)
{
    size_t nbytes = mci_dtype_nbytes(dtype);
    uint8_t in[2 * MOST], out[2 * MOST + 1];
    float wide[MOST + 1];

    for (size_t i = 0; i < count; i++) {
        unsigned code = first + (unsigned)i * 251;

        memcpy(in + i * nbytes, &code, nbytes);
    }
    out[count * nbytes] = 0x5a;
    wide[count] = 7;
    mci_fold_widen(wide, in, count, dtype, MCOMM_SUM, SRCS);
    mci_fold_narrow(out, wide, count, dtype, MCOMM_SUM, SRCS);
    for (size_t i = 0; i < count; i++)
        if (wide[i] == wide[i])
            assert_memory_equal(out + i * nbytes, in + i * nbytes, nbytes);
    assert_true(wide[count] == 7);
    assert_int_equal(out[count * nbytes], 0x5a);
}

static void one_operand_comes_back_as_it_was(void **state)
{
    static const mcomm_datatype_t types[] = {MCOMM_FLOAT16, MCOMM_BFLOAT16, MCOMM_FLOAT8_E4M3,
                                             MCOMM_FLOAT8_E5M2};

    (void)state;
    for (size_t set = 0; set < SET_NUM; set++) {
        if (!mci_fold_use(sets[set]))
            continue;
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
            for (unsigned first = 0; first < 1000; first++)
                check_codes(types[i], first, first % (MOST + 1));
    }
}

static void only_sums_products_and_averages_of_floats_are_kept_wide(void **state)
{
    (void)state;
    assert_int_equal(mci_fold_wide_type(MCOMM_BFLOAT16, MCOMM_SUM), MCOMM_FLOAT);
    assert_int_equal(mci_fold_wide_type(MCOMM_FLOAT8_E5M2, MCOMM_PROD), MCOMM_FLOAT);
    assert_int_equal(mci_fold_wide_type(MCOMM_FLOAT16, MCOMM_MAX), 0);
    assert_int_equal(mci_fold_wide_type(MCOMM_FLOAT, MCOMM_SUM), 0);
    assert_int_equal(mci_fold_wide_type(MCOMM_COMPLEX_DOUBLE, MCOMM_AVG), MCOMM_COMPLEX_DOUBLE);
    assert_int_equal(mci_fold_wide_type(MCOMM_INT8, MCOMM_AVG), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_of_the_largest_is_the_largest),
        cmocka_unit_test(one_operand_comes_back_as_it_was),
        cmocka_unit_test(only_sums_products_and_averages_of_floats_are_kept_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
