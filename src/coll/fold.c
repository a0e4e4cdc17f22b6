/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions of vectors: which loop serves a type and an operation. The left operand is always the
 * lower ranks', so that all ranks get the same bits.
 */
#include "coll/coll_priv.h"
#include "coll/fold_kernels.h"

#include <string.h>

#if defined(MCI_FOLD_X86)
#include <cpuid.h>

#define HAS_F16C (1u << 29) /* of leaf 1, ecx; compilers do not agree on a name for it */

static bool has_avx2(void)
{
    unsigned a, b, c, d;

    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & HAS_F16C) != 0;
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

static bool has_all(void)
{
    return true;
}

/* The best first. */
static const struct fold_set {
    const char *name;
    const struct mci_fold_set *set;
    bool (*is_there)(void);
} sets[] = {
#if defined(MCI_FOLD_X86)
    {"avx512", &mci_fold_avx512, has_avx512},
    {"avx2", &mci_fold_avx2, has_avx2},
#endif
    {"plain", &mci_fold_plain, has_all},
};
#define SET_NUM (sizeof(sets) / sizeof(sets[0]))

static const struct mci_fold_set *best = &mci_fold_plain;

bool mci_fold_use(const char *instructions)
{
#if defined(MCI_FOLD_X86)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; i < SET_NUM; i++) {
        if (instructions != NULL && strcmp(sets[i].name, instructions) != 0)
            continue;
        if (!sets[i].is_there())
            continue;
        best = sets[i].set;
        return true;
    }
    return false;
}

void mci_fold_start(void)
{
    mci_fold_use(NULL);
}

/* ---- what there is ---- */
static mci_fold_fn_t loop_of(mcomm_datatype_t dtype, mcomm_op_t op)
{
    if ((unsigned)dtype >= MCI_DTYPE_NUM || (unsigned)op >= MCI_OP_NUM)
        return NULL;
    return best->fold[dtype][op] != NULL ? best->fold[dtype][op] : mci_fold_scalar[dtype][op];
}

const char *mci_fold_op_name(mcomm_op_t op)
{
    return mci_fold_user_op(op) != NULL ? "user-defined" : mci_op_name(op);
}

mcomm_err_t mci_fold_check(mcomm_datatype_t dtype, mcomm_op_t op)
{
    const struct mci_user_op *user = mci_fold_user_op(op);

    if (mci_dtype_nbytes(dtype) == 0)
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)dtype);
    if (user != NULL && user->is_freed)
        return mci_err_set(MCOMM_ERR_OP, "op is %d, which mcomm_op_free() has freed", (int)op);
    if (user == NULL && loop_of(dtype, op) == NULL)
        return mci_err_set(MCOMM_ERR_OP, "op is %d (%s), not legal for a reduction of %s", (int)op,
                           mci_fold_op_name(op), mci_dtype_name(dtype));
    return MCOMM_SUCCESS;
}

bool mci_fold_is_commutative(mcomm_op_t op)
{
    const struct mci_user_op *user = mci_fold_user_op(op);

    return user == NULL || user->is_commutative;
}

/* ---- folding ---- */
void mci_fold_two(void *dst, const void *left, const void *right, size_t count,
                  mcomm_datatype_t dtype, mcomm_op_t op)
{
    const void *const srcs[] = {left, right};

    mci_fold_many(dst, srcs, 2, count, dtype, op == MCOMM_AVG ? MCOMM_SUM : op);
}

void mci_fold_many(void *dst, const void *const *srcs, int n, size_t count, mcomm_datatype_t dtype,
                   mcomm_op_t op)
{
    size_t nbytes = count * mci_dtype_nbytes(dtype);
    const struct mci_user_op *user;

    if (n == 1) {
        if (nbytes > 0 && dst != srcs[0])
            memcpy(dst, srcs[0], nbytes);
        return;
    }
    user = mci_fold_user_op(op);
    if (user != NULL)
        mci_fold_user_many(user, dst, srcs, n, count, dtype);
    else
        loop_of(dtype, op)(dst, (const char *const *)srcs, n, nbytes, n);
}

void mci_fold_average(void *buf, size_t count, int ranks, mcomm_datatype_t dtype)
{
    const char *const srcs[] = {buf};

    loop_of(dtype, MCOMM_AVG)(buf, srcs, 1, count * mci_dtype_nbytes(dtype), ranks);
}

/* ---- partial results ---- */
mcomm_datatype_t mci_fold_wide_type(mcomm_datatype_t dtype, mcomm_op_t op)
{
    if (op != MCOMM_SUM && op != MCOMM_PROD && op != MCOMM_AVG)
        return 0;
    switch (dtype) {
    case MCOMM_FLOAT16:
    case MCOMM_BFLOAT16:
    case MCOMM_FLOAT8_E4M3:
    case MCOMM_FLOAT8_E5M2:
        return MCOMM_FLOAT;
    case MCOMM_FLOAT:
    case MCOMM_DOUBLE:
    case MCOMM_COMPLEX_FLOAT:
    case MCOMM_COMPLEX_DOUBLE:
        return op == MCOMM_AVG ? dtype : 0;
    default:
        return 0;
    }
}

void mci_fold_widen(void *dst, const void *src, size_t count, mcomm_datatype_t dtype, mcomm_op_t op,
                    int ranks)
{
    best->convert[dtype].widen(dst, src, count * mci_dtype_nbytes(dtype),
                               op == MCOMM_AVG ? ranks : 1);
}

void mci_fold_narrow(void *dst, const void *src, size_t count, mcomm_datatype_t dtype,
                     mcomm_op_t op, int ranks)
{
    best->convert[dtype].narrow(dst, src, count * mci_dtype_nbytes(dtype),
                                op == MCOMM_AVG ? ranks : 1);
}

void mci_fold_truth(void *buf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op)
{
    bool is_logical = op == MCOMM_LAND || op == MCOMM_LOR || op == MCOMM_LXOR;

    if (count > 0 && op < MCOMM_OP_USER && (dtype == MCOMM_BOOL || is_logical))
        mci_fold_two(buf, buf, buf, count, dtype, MCOMM_LOR);
}
