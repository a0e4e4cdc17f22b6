/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Operations of the caller's own: folded in order, with every type; held, freed, counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coll/coll_priv.h"
#include "common/fold_oracle.h"
#include "common/random.h"

#include <string.h>

#define COUNT 300 /* elements */
#define SRCS 9

static uint64_t random_state = 21;

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

static struct {
    char mem[SRCS][COUNT * ORACLE_ELEM_MAX + SRCS];
    char dst[COUNT * ORACLE_ELEM_MAX], want[COUNT * ORACLE_ELEM_MAX];
    const char *srcs[SRCS];
} t;

static void draw_and_weave(const struct weave *w, int n)
{
    for (int s = 0; s < n; s++) {
        t.srcs[s] = t.mem[s] + s;
        for (size_t i = 0; i < COUNT; i++)
            oracle_draw((char *)t.srcs[s] + i * w->elem, w->dtype, &random_state);
    }
    memcpy(t.want, t.srcs[n - 1], COUNT * w->elem);
    for (size_t i = 0; i < COUNT; i++) {
        char acc = t.srcs[0][i * w->elem];

        for (int s = 1; s < n; s++)
            acc = (char)(acc * 3 + t.srcs[s][i * w->elem]);
        t.want[i * w->elem] = acc;
    }
}

/* place: the source in whose memory the result goes, or -1. */
static void fold_and_compare(const struct weave *w, mcomm_op_t op, int n, int place)
{
    const void *srcs[SRCS];

    for (int s = 0; s < n; s++)
        srcs[s] = t.srcs[s];
    if (place >= 0) {
        memcpy(t.dst, srcs[place], COUNT * w->elem);
        srcs[place] = t.dst;
    }
    mci_fold_many(t.dst, srcs, n, COUNT, w->dtype, op);
    assert_memory_equal(t.dst, t.want, COUNT * w->elem);
}

static void own_operations_fold_in_order_with_every_type(void **state)
{
    mcomm_op_t op;
    struct weave w;

    (void)state;
    assert_int_equal(mci_fold_op_create(weave, &w, false, &op), MCOMM_SUCCESS);
    assert_false(mci_fold_is_commutative(op));
    for (int dtype = MCOMM_INT8; dtype <= MCOMM_SHORT_INT; dtype++) {
        w.dtype = (mcomm_datatype_t)dtype;
        w.elem = mci_dtype_nbytes(w.dtype);
        assert_int_equal(mci_fold_check(w.dtype, op), MCOMM_SUCCESS);
        for (int n = 1; n <= SRCS; n++) {
            draw_and_weave(&w, n);
            for (int place = -1; place < n; place++)
                fold_and_compare(&w, op, n, place);
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
        cmocka_unit_test(own_operations_fold_in_order_with_every_type),
        cmocka_unit_test(a_freed_operation_serves_those_who_hold_it),
        cmocka_unit_test(so_many_operations_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
