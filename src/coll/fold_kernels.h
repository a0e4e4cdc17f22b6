/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Loops over elements, one table for each set of instructions; fold.c chooses. */
#ifndef MCI_COLL_FOLD_KERNELS_H
#define MCI_COLL_FOLD_KERNELS_H

#include "rma/op_expr.h"

#include "mooncake_comm.h"

/*
 * dst = srcs[0] op srcs[1] op ...: n >= 1 vectors of nbytes, folded in this order, of AVG then
 * divided by divisor. dst may be one of srcs; else they do not overlap. Any alignment.
 */
typedef void (*mci_fold_fn_t)(char *dst, const char *const *srcs, int n, size_t nbytes,
                              int divisor);
typedef mci_fold_fn_t mci_fold_table_t[MCI_DTYPE_NUM][MCI_OP_NUM];

/*
 * Between operands, nbytes of them, and the partial results of a sum by and by, in float or double:
 * each operand times a power of two that makes so many of them no sum that overflows unless their
 * average does; back, divided by what is missing to the average. Of 1 operand neither changes a
 * value. dst may be src where both are as wide. Any alignment.
 */
typedef void (*mci_fold_convert_fn_t)(char *dst, const char *src, size_t nbytes, int operands);
struct mci_fold_convert {
    mci_fold_convert_fn_t widen, narrow;
};

struct mci_fold_set {
    mci_fold_table_t fold;
    struct mci_fold_convert convert[MCI_DTYPE_NUM];
};

/* fold_kernels.c, compiled once for each; NULL: fold_scalar.c has it, or there is none. */
extern const struct mci_fold_set mci_fold_plain, mci_fold_avx2, mci_fold_avx512;
extern const mci_fold_table_t mci_fold_scalar; /* complex products, pairs, averages of integers */

#endif
