/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Folds of every type and operation, by every set of instructions this machine has, against plain
 * code: all lengths, odd addresses, 1 to 9 vectors, special values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coll/coll_priv.h"
#include "common/fold_oracle.h"
#include "common/random.h"

#include <math.h>
#include <string.h>

#define COUNT 300 /* elements: four vectors of the smallest type and some */
#define SRCS 9
#define SPACE (COUNT * ORACLE_ELEM_MAX + 64)

static const char *const sets[] = {"plain", "avx2", "avx512"};
#define SET_NUM 3

static uint64_t random_state = 20;

/* ---- tests ---- */
static void only_operations_with_a_meaning_are_legal(void **state)
{
    (void)state;
    for (int dtype = 0; dtype <= MCOMM_SHORT_INT + 1; dtype++) {
        for (int op = 0; op <= MCOMM_MAXLOC + 1; op++) {
            bool is_type = dtype >= MCOMM_INT8 && dtype <= MCOMM_SHORT_INT;
            mcomm_err_t want = !is_type ? MCOMM_ERR_TYPE
                               : oracle_has((mcomm_datatype_t)dtype, (mcomm_op_t)op) ? MCOMM_SUCCESS
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
        if (!oracle_is_same(dtype, dst + i * elem, t.want + (first + i) * elem))
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
            oracle_draw((char *)t.srcs[s] + i * elem, dtype, &random_state);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const char *ones[SRCS];

        for (int s = 0; s < n; s++)
            ones[s] = t.srcs[s] + i * elem;
        oracle_fold(t.want + i * elem, ones, n, dtype, op);
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
            if (!oracle_has((mcomm_datatype_t)dtype, (mcomm_op_t)op))
                continue;
            for (int n = 1; n <= SRCS; n++)
                draw_and_fold((mcomm_datatype_t)dtype, (mcomm_op_t)op, n);
            tested++;
        }
    }
    assert_int_equal(tested, 8 * 11 + 6 * 5 + 10 + 3 + 2 * 3 + 5 * 2);
}

static const char *sum_of(mcomm_datatype_t dtype, const char *a, const char *b)
{
    static char sum[ORACLE_ELEM_MAX];

    oracle_fold(sum, (const char *const[]){a, b}, 2, dtype, MCOMM_SUM);
    return sum;
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
            size_t elem = mci_dtype_nbytes(types[i]);
            char *a = (char *)left, *b = (char *)right;

            for (unsigned k = 0; k < 1 << 16; k++) {
                uint16_t x = (uint16_t)(elem == 1 ? k & 255 : k);
                uint16_t y = (uint16_t)(elem == 1 ? k >> 8 : rnd(&random_state));

                memcpy(a + k * elem, &x, elem);
                memcpy(b + k * elem, &y, elem);
            }
            mci_fold_two(out, left, right, 1 << 16, types[i], MCOMM_SUM);
            for (size_t k = 0; k < 1 << 16; k++)
                assert_memory_equal((char *)out + k * elem,
                                    sum_of(types[i], a + k * elem, b + k * elem), elem);
        }
    }
}

static unsigned small_sum(mcomm_datatype_t dtype, float x, float y)
{
    uint16_t a = (uint16_t)oracle_encode(dtype, x), b = (uint16_t)oracle_encode(dtype, y);
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
    uint16_t large = (uint16_t)oracle_encode(MCOMM_BFLOAT16, 256),
             one = (uint16_t)oracle_encode(MCOMM_BFLOAT16, 1), sum;
    uint8_t most = (uint8_t)oracle_encode(MCOMM_FLOAT8_E4M3, 448), average;

    (void)state;
    for (int set = 0; set < SET_NUM; set++) {
        if (!mci_fold_use(sets[set]))
            continue;
        for (int s = 0; s < SRCS; s++)
            srcs[s] = s == 0 ? &large : &one;
        mci_fold_many(&sum, srcs, SRCS, 1, MCOMM_BFLOAT16, MCOMM_SUM);
        assert_int_equal(sum, oracle_encode(MCOMM_BFLOAT16, 264)); /* 256 + 1 alone rounds to 256 */
        for (int s = 0; s < SRCS; s++)
            srcs[s] = &most;
        mci_fold_many(&average, srcs, SRCS, 1, MCOMM_FLOAT8_E4M3, MCOMM_AVG);
        assert_int_equal(average, most); /* the sum alone is too large */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_operations_with_a_meaning_are_legal),
        cmocka_unit_test(all_types_operations_lengths_and_sets_agree_with_plain_code),
        cmocka_unit_test(all_small_floats_are_added_rightly),
        cmocka_unit_test(small_floats_overflow_as_their_formats_say),
        cmocka_unit_test(a_fold_of_many_rounds_once),
    };

    for (int set = 0; set < SET_NUM; set++)
        print_message("# %s: %s\n", sets[set], mci_fold_use(sets[set]) ? "tested" : "not here");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
