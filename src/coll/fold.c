/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions of vectors: which kernel serves a type and an operation, and the caller's own
 * operations. The left operand is always the lower ranks', so that all ranks get the same bits,
 * NaNs included.
 */
#include "coll/coll_priv.h"
#include "rma/op_expr.h"

#include <string.h>

#define USER_MAX 4096
#define BLOCK_NBYTES 4096 /* of a vector folded at a time: stays in the first cache */

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

/* ---- the caller's own ---- */
static struct user_op {
    mcomm_reduce_fn_t fn;
    void *arg;
    bool is_commutative;
} * user_ops[USER_MAX];

static struct user_op *user_op_of(mcomm_op_t op)
{
    unsigned index = (unsigned)op - MCOMM_OP_USER;

    return (unsigned)op >= MCOMM_OP_USER && index < USER_MAX ? user_ops[index] : NULL;
}

mcomm_err_t mci_fold_op_create(mcomm_reduce_fn_t fn, void *arg, bool is_commutative,
                               mcomm_op_t *op_p)
{
    struct user_op *op;
    unsigned i = 0;

    while (i < USER_MAX && user_ops[i] != NULL)
        i++;
    if (i == USER_MAX)
        return mci_err_set(MCOMM_ERR_LIMIT, "%d operations exist, which is the most", USER_MAX);
    op = mci_mem_alloc(sizeof(*op));
    if (op == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an operation");
    *op = (struct user_op){fn, arg, is_commutative};
    user_ops[i] = op;
    *op_p = (mcomm_op_t)(MCOMM_OP_USER + i);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_fold_op_free(mcomm_op_t op)
{
    struct user_op *user = user_op_of(op);

    if (user == NULL)
        return mci_err_set(MCOMM_ERR_OP, "*op_p is %d, which mcomm_op_create() did not make",
                           (int)op);
    user_ops[(unsigned)op - MCOMM_OP_USER] = NULL;
    mci_mem_free(user);
    return MCOMM_SUCCESS;
}

void mci_fold_ops_end(void)
{
    for (unsigned i = 0; i < USER_MAX; i++) {
        mci_mem_free(user_ops[i]);
        user_ops[i] = NULL;
    }
}

/* ---- what there is ---- */
static mcomm_op_t plain_op(mcomm_op_t op)
{
    return op == MCOMM_AVG ? MCOMM_SUM : op;
}

static reduce_fn_t kernel_of(mcomm_datatype_t dtype, mcomm_op_t op)
{
    op = plain_op(op);
    return (unsigned)dtype < MCI_DTYPE_NUM && (unsigned)op < MCI_OP_NUM ? reduce_table[dtype][op]
                                                                        : NULL;
}

const char *mci_fold_op_name(mcomm_op_t op)
{
    if (user_op_of(op) != NULL)
        return "user-defined";
    return op == MCOMM_AVG ? "AVG" : mci_op_name(op);
}

mcomm_err_t mci_fold_check(mcomm_datatype_t dtype, mcomm_op_t op)
{
    if (mci_dtype_nbytes(dtype) == 0)
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)dtype);
    if (user_op_of(op) == NULL && kernel_of(dtype, op) == NULL)
        return mci_err_set(MCOMM_ERR_OP, "op is %d (%s), not legal for a reduction of %s", (int)op,
                           mci_fold_op_name(op), mci_dtype_name(dtype));
    return MCOMM_SUCCESS;
}

bool mci_fold_is_commutative(mcomm_op_t op)
{
    const struct user_op *user = user_op_of(op);

    return user == NULL || user->is_commutative;
}

/* ---- folding ---- */
/* inout = in op inout; so the right operand is copied to where the result goes. */
static void user_two(const struct user_op *user, void *dst, const void *left, const void *right,
                     size_t count, mcomm_datatype_t dtype)
{
    size_t elem = mci_dtype_nbytes(dtype), most = BLOCK_NBYTES / elem;
    char lefts[BLOCK_NBYTES] __attribute__((aligned(64)));

    if (dst == right) {
        user->fn(left, dst, count, dtype, user->arg);
        return;
    }
    for (size_t i = 0; i < count; i += most) {
        size_t n = count - i < most ? count - i : most;
        char *to = (char *)dst + i * elem;

        memcpy(lefts, (const char *)left + i * elem, n * elem);
        memcpy(to, (const char *)right + i * elem, n * elem);
        user->fn(lefts, to, n, dtype, user->arg);
    }
}

void mci_fold_two(void *dst, const void *left, const void *right, size_t count,
                  mcomm_datatype_t dtype, mcomm_op_t op)
{
    const struct user_op *user = user_op_of(op);

    if (count == 0)
        return;
    if (user != NULL)
        user_two(user, dst, left, right, count, dtype);
    else
        kernel_of(dtype, op)(dst, left, right, count);
}

static void fold_block(char *dst, const void *const *srcs, int n, size_t offset, size_t count,
                       mcomm_datatype_t dtype, mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype);
    char acc[BLOCK_NBYTES] __attribute__((aligned(64)));

    mci_fold_two(acc, (const char *)srcs[0] + offset, (const char *)srcs[1] + offset, count, dtype,
                 op);
    for (int i = 2; i < n - 1; i++)
        mci_fold_two(acc, acc, (const char *)srcs[i] + offset, count, dtype, op);
    if (n > 2)
        mci_fold_two(dst + offset, acc, (const char *)srcs[n - 1] + offset, count, dtype, op);
    else
        memcpy(dst + offset, acc, count * elem);
}

void mci_fold_many(void *dst, const void *const *srcs, int n, size_t count, mcomm_datatype_t dtype,
                   mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype), most = BLOCK_NBYTES / elem;

    if (n == 1) {
        if (dst != srcs[0])
            memcpy(dst, srcs[0], count * elem);
        return;
    }
    if (n == 2) {
        mci_fold_two(dst, srcs[0], srcs[1], count, dtype, op);
        return;
    }
    for (size_t i = 0; i < count; i += most)
        fold_block(dst, srcs, n, i * elem, count - i < most ? count - i : most, dtype, op);
}

void mci_fold_finish(void *buf, size_t count, int ranks, mcomm_datatype_t dtype, mcomm_op_t op)
{
    if (op != MCOMM_AVG)
        return;
    (void)buf;
    (void)count;
    (void)ranks;
    (void)dtype;
}
