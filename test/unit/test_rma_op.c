/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Operations on elements: binary16 and bfloat16 against the compiler's arithmetic on all their
 * values, the reduction kernels and the atomic ones against each other, legality.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coll/coll_priv.h"
#include "rma/op_expr.h"

#include <math.h>
#include <stdlib.h>

static void every_binary16_value_survives_the_way_through_float(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        float value = mci_f16_load((uint16_t)bits);
        uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;

        if (exponent == 0x1f && mantissa != 0) {
            assert_true(isnan(value));
            assert_true(isnan(mci_f16_load(mci_f16_store(value))));
            continue;
        }
        if (exponent == 0x1f)
            assert_true(isinf(value));
        else
            assert_true(fabsf(value) ==
                        (exponent == 0 ? ldexpf((float)mantissa, -24)
                                       : ldexpf((float)(1024 + mantissa), (int)exponent - 25)));
        assert_int_equal(mci_f16_store(value), bits);
    }
}

/* Nearest, ties to even: between each two neighbours, the middle and its neighbours. */
static void binary16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        float low = mci_f16_load((uint16_t)bits), high = mci_f16_load((uint16_t)(bits + 1));
        float middle = (low + high) / 2;

        assert_int_equal(mci_f16_store(middle), bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(mci_f16_store(nextafterf(middle, low)), bits);
        assert_int_equal(mci_f16_store(nextafterf(middle, high)), bits + 1);
        assert_int_equal(mci_f16_store(-nextafterf(middle, high)), (bits + 1) | 0x8000);
    }
    assert_int_equal(mci_f16_store(65519.0f), 0x7bff);
    assert_int_equal(mci_f16_store(65520.0f), 0x7c00);
    assert_int_equal(mci_f16_store(1e30f), 0x7c00);
    assert_int_equal(mci_f16_store(-1e-30f), 0x8000);
}

static void bfloat16_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f7f; bits++) {
        float low = mci_bf16_load((uint16_t)bits), high = mci_bf16_load((uint16_t)(bits + 1));
        float middle = low + (high - low) / 2;

        assert_int_equal(mci_bf16_store(low), bits);
        assert_int_equal(mci_bf16_store(middle), bits % 2 == 0 ? bits : bits + 1);
        assert_int_equal(mci_bf16_store(nextafterf(middle, high)), bits + 1);
    }
    assert_true(isnan(mci_bf16_load(mci_bf16_store(NAN))));
    assert_int_equal(mci_bf16_store(INFINITY), 0x7f80);
}

/* Random bits, in all types and operations: the two kinds of kernels agree, at any alignment. */
static void plain_and_atomic_kernels_agree(void **state)
{
    enum {
        COUNT = 37
    };
    _Alignas(8) unsigned char mem[COUNT * 8], before[COUNT * 8], old[COUNT * 8 + 1];
    unsigned char left[COUNT * 8 + 1], right[COUNT * 8 + 1], out[COUNT * 8 + 1];
    unsigned tested = 0;

    (void)state;
    srand(7);
    for (int dtype = 0; dtype <= MCOMM_BYTE; dtype++) {
        for (int op = 0; op <= MCOMM_NO_OP; op++) {
            size_t nbytes = mci_dtype_nbytes((mcomm_datatype_t)dtype) * COUNT;

            if (mci_fold_check((mcomm_datatype_t)dtype, (mcomm_op_t)op) != MCOMM_SUCCESS)
                continue;
            assert_true(mci_op_is_legal((mcomm_op_t)op, (mcomm_datatype_t)dtype));
            for (size_t i = 0; i < nbytes; i++) {
                mem[i] = before[i] = left[i + 1] = (unsigned char)rand();
                right[i + 1] = (unsigned char)rand();
            }
            mci_fold_two(out + 1, left + 1, right + 1, COUNT, (mcomm_datatype_t)dtype,
                         (mcomm_op_t)op);
            mci_rma_acc_apply(mem, right + 1, old + 1, COUNT, (mcomm_datatype_t)dtype,
                              (mcomm_op_t)op);
            assert_memory_equal(old + 1, before, nbytes);
            assert_memory_equal(mem, out + 1, nbytes);
            mci_fold_two(left + 1, left + 1, right + 1, COUNT, (mcomm_datatype_t)dtype,
                         (mcomm_op_t)op);
            assert_memory_equal(left + 1, out + 1, nbytes);
            tested++;
        }
    }
    assert_int_equal(tested, 8 * 10 + 4 * 4 + 10 + 3);
}

static void replace_fetch_and_swap_work_on_all_sizes(void **state)
{
    static const mcomm_datatype_t types[] = {MCOMM_BYTE, MCOMM_FLOAT16, MCOMM_FLOAT, MCOMM_DOUBLE,
                                             MCOMM_INT8, MCOMM_UINT16,  MCOMM_INT32, MCOMM_UINT64};

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint64_t mem = 0x1122334455667788u, operand = ~0ull, old = 0, compare = mem, other = 5;
        size_t n = mci_dtype_nbytes(types[i]);

        mci_rma_acc_apply(&mem, NULL, &old, 1, types[i], MCOMM_NO_OP);
        assert_memory_equal(&old, &mem, n);
        mci_rma_swap_apply(&mem, &other, &operand, &old, types[i]); /* not equal */
        assert_true(mem == 0x1122334455667788u);
        mci_rma_swap_apply(&mem, &compare, &operand, &old, types[i]);
        assert_memory_equal(&mem, &operand, n);
        mci_rma_acc_apply(&mem, &compare, &old, 1, types[i], MCOMM_REPLACE);
        assert_memory_equal(&old, &operand, n);
        assert_true(mem == 0x1122334455667788u); /* and nothing beside it */
    }
    assert_false(mci_rma_swap_is_legal(MCOMM_FLOAT));
    assert_false(mci_op_is_legal(MCOMM_SUM, MCOMM_BYTE));
    assert_false(mci_op_is_legal(MCOMM_BAND, MCOMM_DOUBLE));
    assert_false(mci_op_is_legal((mcomm_op_t)-1, MCOMM_INT8));
    assert_int_equal(mci_dtype_nbytes((mcomm_datatype_t)-1), 0);
}

static void booleans_become_zero_or_one(void **state)
{
    const uint8_t left[4] = {0, 2, 0, 255}, right[4] = {0, 0, 128, 7};
    uint8_t out[4];

    (void)state;
    mci_fold_two(out, left, right, 4, MCOMM_BOOL, MCOMM_SUM);
    assert_memory_equal(out, ((uint8_t[4]){0, 1, 1, 1}), 4);
    mci_fold_two(out, left, right, 4, MCOMM_BOOL, MCOMM_BAND);
    assert_memory_equal(out, ((uint8_t[4]){0, 0, 0, 1}), 4);
    mci_fold_two(out, left, right, 4, MCOMM_BOOL, MCOMM_LXOR);
    assert_memory_equal(out, ((uint8_t[4]){0, 1, 1, 0}), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_binary16_value_survives_the_way_through_float),
        cmocka_unit_test(binary16_rounds_to_nearest_even),
        cmocka_unit_test(bfloat16_rounds_to_nearest_even),
        cmocka_unit_test(plain_and_atomic_kernels_agree),
        cmocka_unit_test(replace_fetch_and_swap_work_on_all_sizes),
        cmocka_unit_test(booleans_become_zero_or_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
