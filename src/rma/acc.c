/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Atomic operations at the origin: check, and where the target's part is mapped do them here and
 * now with the processor's own (atomics.c), else by frames (remote.c).
 */
#include "config.h"

#include "rma/rma_priv.h"

/* MCI_PENDING: the target is nobody. */
static mcomm_err_t acc_resolve(struct mci_win *win, const void *buf, size_t count,
                               mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op,
                               uint64_t *offset_p)
{
    size_t elem = mci_dtype_nbytes(dtype);
    struct rma_target *t;
    mcomm_err_t err;

    if (elem == 0)
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)dtype);
    if (!mci_dtype_is_windows(dtype))
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d (%s), which only collectives have",
                           (int)dtype, mci_dtype_name(dtype));
    if (!mci_op_is_legal(op, dtype))
        return mci_err_set(MCOMM_ERR_OP, "op is %d (%s), not legal for %s", (int)op,
                           mci_op_name(op), mci_dtype_name(dtype));
    err = mci_check_count("count", count, elem);
    if (err == MCOMM_SUCCESS)
        err = rma_resolve(win, target, disp, count * elem, MCOMM_WIN_ATOMIC, &t, offset_p);
    if (err == MCOMM_SUCCESS && op != MCOMM_NO_OP && buf == NULL)
        err = mci_check_buffer("buf", buf, count * elem);
    if (err == MCOMM_SUCCESS && (t->base + *offset_p) % elem != 0)
        err = mci_err_set(MCOMM_ERR_BUFFER,
                          "displacement %llu at target %d is not aligned to %zu bytes",
                          (unsigned long long)disp, target, elem);
    return err;
}

/* An operation whose arguments are legal. */
struct acc {
    const void *buf;  /* operand; compare */
    const void *swap; /* compare and swap, else NULL */
    void *result;
    size_t count;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    uint64_t offset;
    bool is_fetch; /* one element, the result is there on return */
};

/* lock: engine */
static mcomm_err_t acc_remote(struct mci_win *win, int target, struct rma_path *path,
                              const struct acc *a)
{
    if (a->is_fetch)
        return mci_rma_remote_fetch(win, target, path, a->buf, a->swap, a->result, a->dtype,
                                    a->offset, a->op);
    return mci_rma_remote_acc(win, target, path, a->buf, a->result, a->count, a->dtype, a->offset,
                              a->op);
}

static inline void acc_here(char *map, const struct acc *a)
{
    if (a->swap != NULL)
        mci_rma_swap_apply(map + a->offset, a->buf, a->swap, a->result, a->dtype);
    else
        mci_rma_acc_apply(map + a->offset, a->buf, a->result, a->count, a->dtype, a->op);
}

/* Not mapped, or not yet. */
static __attribute__((noinline)) mcomm_err_t acc_far(struct mci_win *win, int target,
                                                     const struct acc *a)
{
    struct rma_path *path;
    mcomm_err_t err;
    char *map;

    mci_engine_lock();
    err = mci_rma_path_probe(win, target, &path);
    map = rma_map(&win->targets[target]);
    if (err == MCOMM_SUCCESS && map == NULL)
        err = acc_remote(win, target, path, a);
    mci_engine_unlock();
    if (err == MCOMM_SUCCESS && map != NULL)
        acc_here(map, a);
    return err;
}

static mcomm_err_t acc_apply(struct mci_win *win, int target, const struct acc *a)
{
    char *map = rma_map(&win->targets[target]);

    if (map == NULL)
        return acc_far(win, target, a);
    acc_here(map, a);
    return MCOMM_SUCCESS;
}

static inline mcomm_err_t nobody(mcomm_err_t err)
{
    return err == MCI_PENDING ? MCOMM_SUCCESS : err;
}

mcomm_err_t mci_rma_accumulate(struct mci_win *win, const void *buf, size_t count,
                               mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    struct acc a = {.buf = buf, .count = count, .dtype = dtype, .op = op};
    mcomm_err_t err = acc_resolve(win, buf, count, dtype, target, disp, op, &a.offset);

    if (err != MCOMM_SUCCESS || count == 0 || op == MCOMM_NO_OP)
        return nobody(err);
    return acc_apply(win, target, &a);
}

mcomm_err_t mci_rma_get_accumulate(struct mci_win *win, const void *buf, void *result, size_t count,
                                   mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    struct acc a = {.buf = buf, .result = result, .count = count, .dtype = dtype, .op = op};
    mcomm_err_t err = acc_resolve(win, buf, count, dtype, target, disp, op, &a.offset);

    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer("result", result, count * mci_dtype_nbytes(dtype));
    if (err != MCOMM_SUCCESS || count == 0)
        return nobody(err);
    return acc_apply(win, target, &a);
}

mcomm_err_t mci_rma_fetch_and_op(struct mci_win *win, const void *buf, void *result,
                                 mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    uint64_t offset;
    mcomm_err_t err = acc_resolve(win, buf, 1, dtype, target, disp, op, &offset);
    char *map;

    if (err == MCOMM_SUCCESS && result == NULL)
        err = mci_check_buffer("result", result, 1);
    if (err != MCOMM_SUCCESS)
        return nobody(err);
    map = rma_map(&win->targets[target]);
    if (__builtin_expect(map == NULL, 0))
        return acc_far(win, target,
                       &(struct acc){.buf = buf,
                                     .result = result,
                                     .count = 1,
                                     .dtype = dtype,
                                     .op = op,
                                     .offset = offset,
                                     .is_fetch = true});
    mci_rma_acc_apply(map + offset, buf, result, 1, dtype, op);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_compare_and_swap(struct mci_win *win, const void *swap, const void *compare,
                                     void *result, mcomm_datatype_t dtype, int target,
                                     uint64_t disp)
{
    struct acc a = {.buf = compare,
                    .swap = swap,
                    .result = result,
                    .count = 1,
                    .dtype = dtype,
                    .op = MCOMM_REPLACE,
                    .is_fetch = true};
    mcomm_err_t err;

    if (!mci_rma_swap_is_legal(dtype))
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d (%s), not an integer type", (int)dtype,
                           mci_dtype_name(dtype));
    if (swap == NULL || compare == NULL || result == NULL)
        return mci_err_set(MCOMM_ERR_BUFFER, "%s is NULL",
                           swap == NULL      ? "swap"
                           : compare == NULL ? "compare"
                                             : "result");
    err = acc_resolve(win, compare, 1, dtype, target, disp, a.op, &a.offset);
    return err == MCOMM_SUCCESS ? acc_apply(win, target, &a) : nobody(err);
}
