/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduction kernels: plain loops over the rows of op_expr.h, which the compiler makes vectors of.
 * The left operand is always the lower rank's, so that all ranks get the same bits, NaNs included.
 */
#include "coll/coll_priv.h"
#include "rma/op_expr.h"

typedef void (*reduce_fn_t)(void *dst, const void *left, const void *right, size_t count);

#define REDUCE_FN(DTYPE, OP, T, U, LOAD, STORE, EXPR)                                              \
    static void reduce_##DTYPE##_##OP(void *dst, const void *left, const void *right,              \
                                      size_t count)                                                \
    {                                                                                              \
        typedef T elem __attribute__((aligned(1), may_alias));                                     \
        elem *to = dst;                                                                            \
        const elem *from_left = left, *from_right = right;                                         \
        for (size_t i = 0; i < count; i++) {                                                       \
            T l = from_left[i], r = from_right[i];                                                 \
            __auto_type a = LOAD(l);                                                               \
            __auto_type b = LOAD(r);                                                               \
            to[i] = STORE(EXPR);                                                                   \
        }                                                                                          \
    }
MCI_OP_ROWS(REDUCE_FN)

static const reduce_fn_t reduce_table[MCI_DTYPE_NUM][MCI_OP_NUM] = {
#define REDUCE_ROW(DTYPE, OP, T, U, LOAD, STORE, EXPR)                                             \
    [MCOMM_##DTYPE][MCOMM_##OP] = reduce_##DTYPE##_##OP,
    MCI_OP_ROWS(REDUCE_ROW)
#undef REDUCE_ROW
};

bool mci_coll_op_is_legal(mcomm_op_t op, mcomm_datatype_t dtype)
{
    return (unsigned)dtype < MCI_DTYPE_NUM && (unsigned)op < MCI_OP_NUM &&
           reduce_table[dtype][op] != NULL;
}

void mci_coll_reduce(void *dst, const void *left, const void *right, size_t count,
                     mcomm_datatype_t dtype, mcomm_op_t op)
{
    reduce_table[dtype][op](dst, left, right, count);
}
