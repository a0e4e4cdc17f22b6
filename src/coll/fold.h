/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Operations on vectors of elements, the caller's own included. */
#ifndef MCI_COLL_FOLD_H
#define MCI_COLL_FOLD_H

#include "mooncake_comm.h"

#include <stdbool.h>

/* MCOMM_ERR_TYPE or _OP, with text, if op is none for dtype. */
mcomm_err_t mci_fold_check(mcomm_datatype_t dtype, mcomm_op_t op);
bool mci_fold_is_commutative(mcomm_op_t op);
const char *mci_fold_op_name(mcomm_op_t op); /* user-defined ones too */
/* dst[i] = left[i] op right[i]; dst may be left or right, else they do not overlap. Any alignment.
 * Of AVG: the sum. */
void mci_fold_two(void *dst, const void *left, const void *right, size_t count,
                  mcomm_datatype_t dtype, mcomm_op_t op);
/*
 * dst[i] = srcs[0][i] op srcs[1][i] op ... in this order, rounded once; n >= 1. dst may be one of
 * srcs. Of AVG: the average of the n.
 */
void mci_fold_many(void *dst, const void *const *srcs, int n, size_t count, mcomm_datatype_t dtype,
                   mcomm_op_t op);
/* The last step of an AVG of integers made by mci_fold_two(): divide by the number of ranks. */
void mci_fold_average(void *buf, size_t count, int ranks, mcomm_datatype_t dtype);

/*
 * Partial results of op that are made one after the other (of many messages) are kept in another
 * type: of 8- and 16-bit floats, so that they are rounded once; of averages of floats, so that the
 * sum does not overflow. 0: op needs none.
 */
mcomm_datatype_t mci_fold_wide_type(mcomm_datatype_t dtype, mcomm_op_t op);
/* dst in that type; the sums (of an average, too) of ranks such operands are partial results. dst
 * may be src if that is the type. */
void mci_fold_widen(void *dst, const void *src, size_t count, mcomm_datatype_t dtype, mcomm_op_t op,
                    int ranks);
/* And back, of an average divided. */
void mci_fold_narrow(void *dst, const void *src, size_t count, mcomm_datatype_t dtype,
                     mcomm_op_t op, int ranks);

/* A result of one operand alone: truth values are 0 or 1 all the same. */
void mci_fold_truth(void *buf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op);

/* Take the best loops for this processor, or those of a name: false if it cannot run them. */
void mci_fold_start(void);
bool mci_fold_use(const char *instructions);

/* ---- op.c: the caller's own operations ---- */
mcomm_err_t mci_fold_op_create(mcomm_reduce_fn_t fn, void *arg, bool is_commutative,
                               mcomm_op_t *op_p);
/* From now on unknown; those who hold it still use it. */
mcomm_err_t mci_fold_op_free(mcomm_op_t op);
/* For the time of a call; nothing for the library's operations. */
void mci_fold_op_hold(mcomm_op_t op);
void mci_fold_op_release(mcomm_op_t op);
void mci_fold_ops_end(void);

struct mci_user_op {
    mcomm_reduce_fn_t fn;
    void *arg;
    bool is_commutative, is_freed;
    unsigned users; /* calls that hold it */
};
/* NULL: none. A freed one that is held is there. lock: engine, or a hold */
const struct mci_user_op *mci_fold_user_op(mcomm_op_t op);
/* As mci_fold_many(). */
void mci_fold_user_many(const struct mci_user_op *op, void *dst, const void *const *srcs, int n,
                        size_t count, mcomm_datatype_t dtype);

#endif
