/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The caller's own operations. A handle is a number; it names the operation until it is freed and
 * the last call that holds it has ended. lock: engine, but mci_fold_user_many() needs a hold only.
 */
#include "coll/coll_priv.h"

#include <assert.h>
#include <string.h>

#define OP_MAX 4096
#define BLOCK_NBYTES 4096 /* of a vector folded at a time: stays in the first cache */

static struct mci_user_op *ops[OP_MAX];

static unsigned index_of(mcomm_op_t op)
{
    return (unsigned)op - MCOMM_OP_USER;
}

static struct mci_user_op *op_of(mcomm_op_t op)
{
    return (unsigned)op >= MCOMM_OP_USER && index_of(op) < OP_MAX ? ops[index_of(op)] : NULL;
}

const struct mci_user_op *mci_fold_user_op(mcomm_op_t op)
{
    return op_of(op);
}

mcomm_err_t mci_fold_op_create(mcomm_reduce_fn_t fn, void *arg, bool is_commutative,
                               mcomm_op_t *op_p)
{
    struct mci_user_op *op;
    unsigned i = 0;

    while (i < OP_MAX && ops[i] != NULL)
        i++;
    if (i == OP_MAX)
        return mci_err_set(MCOMM_ERR_LIMIT, "%d operations exist, which is the most", OP_MAX);
    op = mci_mem_alloc(sizeof(*op));
    if (op == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an operation");
    *op = (struct mci_user_op){.fn = fn, .arg = arg, .is_commutative = is_commutative};
    ops[i] = op;
    *op_p = (mcomm_op_t)(MCOMM_OP_USER + i);
    return MCOMM_SUCCESS;
}

static void forget_if_unused(mcomm_op_t handle)
{
    struct mci_user_op *op = op_of(handle);

    assert(op != NULL);
    if (!op->is_freed || op->users > 0)
        return;
    ops[index_of(handle)] = NULL;
    mci_mem_free(op);
}

mcomm_err_t mci_fold_op_free(mcomm_op_t handle)
{
    struct mci_user_op *op = op_of(handle);

    if (op == NULL || op->is_freed)
        return mci_err_set(MCOMM_ERR_OP, "*op_p is %d, which mcomm_op_create() did not make",
                           (int)handle);
    op->is_freed = true;
    forget_if_unused(handle);
    return MCOMM_SUCCESS;
}

void mci_fold_op_hold(mcomm_op_t handle)
{
    struct mci_user_op *op = op_of(handle);

    if (op != NULL)
        op->users++;
}

void mci_fold_op_release(mcomm_op_t handle)
{
    struct mci_user_op *op = op_of(handle);

    if (op == NULL)
        return;
    op->users--;
    forget_if_unused(handle);
}

void mci_fold_ops_end(void)
{
    for (unsigned i = 0; i < OP_MAX; i++) {
        mci_mem_free(ops[i]);
        ops[i] = NULL;
    }
}

/* fn makes inout = in op inout: the right operand is copied to where the result goes. */
void mci_fold_user_many(const struct mci_user_op *op, void *dst, const void *const *srcs, int n,
                        size_t count, mcomm_datatype_t dtype)
{
    size_t elem = mci_dtype_nbytes(dtype), most = BLOCK_NBYTES / elem;
    char blocks[2][BLOCK_NBYTES] __attribute__((aligned(64)));

    if (n == 2 && dst == srcs[1]) {
        if (count > 0)
            op->fn(srcs[0], dst, count, dtype, op->arg);
        return;
    }
    for (size_t i = 0; i < count; i += most) {
        size_t num = count - i < most ? count - i : most;
        const char *left = (const char *)srcs[0] + i * elem;

        for (int s = 1; s < n; s++) {
            memcpy(blocks[s % 2], (const char *)srcs[s] + i * elem, num * elem);
            op->fn(left, blocks[s % 2], num, dtype, op->arg);
            left = blocks[s % 2];
        }
        memcpy((char *)dst + i * elem, left, num * elem);
    }
}
