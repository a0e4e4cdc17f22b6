/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Accumulate operations on window memory, element by element with the processor's own atomics:
 * origins on this node and the owner that serves remote origins use the same words, so all are
 * atomic with respect to each other. Memory is aligned to its element (checked before); the
 * caller's operands need not be.
 */
#include "config.h"

#include "rma/rma.h"
#include "rma/op_expr.h"

typedef void (*acc_fn_t)(void *mem, const void *operand, void *old, size_t count);

/* Read, combine, compare-exchange; the old element goes to old, if wanted. */
#define ACC_FN(DTYPE, OP, T, U, LOAD, STORE, EXPR)                                                 \
    static void acc_##DTYPE##_##OP(void *mem, const void *operand, void *old, size_t count)        \
    {                                                                                              \
        U *words = mem;                                                                            \
        for (size_t i = 0; i < count; i++) {                                                       \
            U seen = __atomic_load_n(&words[i], __ATOMIC_RELAXED), next;                           \
            T left, right, result;                                                                 \
            memcpy(&right, (const char *)operand + i * sizeof(T), sizeof(T));                      \
            do {                                                                                   \
                memcpy(&left, &seen, sizeof(T));                                                   \
                {                                                                                  \
                    __auto_type a = LOAD(left);                                                    \
                    __auto_type b = LOAD(right);                                                   \
                    result = STORE(EXPR);                                                          \
                }                                                                                  \
                memcpy(&next, &result, sizeof(T));                                                 \
            } while (!__atomic_compare_exchange_n(&words[i], &seen, next, true, __ATOMIC_SEQ_CST,  \
                                                  __ATOMIC_RELAXED));                              \
            if (old != NULL)                                                                       \
                memcpy((char *)old + i * sizeof(T), &seen, sizeof(T));                             \
        }                                                                                          \
    }
MCI_OP_ROWS(ACC_FN)

static const acc_fn_t acc_table[MCI_WIN_DTYPE_NUM][MCI_OP_NUM] = {
#define ACC_ROW(DTYPE, OP, T, U, LOAD, STORE, EXPR)                                                \
    [MCOMM_##DTYPE][MCOMM_##OP] = acc_##DTYPE##_##OP,
    MCI_OP_ROWS(ACC_ROW)
#undef ACC_ROW
};

/* REPLACE and NO_OP depend on the element's size only. */
#define MOVE_FNS(U, NAME)                                                                          \
    static void replace_##NAME(void *mem, const void *operand, void *old, size_t count)            \
    {                                                                                              \
        U *words = mem, value;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            memcpy(&value, (const char *)operand + i * sizeof(U), sizeof(U));                      \
            value = __atomic_exchange_n(&words[i], value, __ATOMIC_SEQ_CST);                       \
            if (old != NULL)                                                                       \
                memcpy((char *)old + i * sizeof(U), &value, sizeof(U));                            \
        }                                                                                          \
    }                                                                                              \
    static void fetch_##NAME(void *mem, const void *operand, void *old, size_t count)              \
    {                                                                                              \
        U *words = mem, value;                                                                     \
        (void)operand;                                                                             \
        for (size_t i = 0; old != NULL && i < count; i++) {                                        \
            value = __atomic_load_n(&words[i], __ATOMIC_SEQ_CST);                                  \
            memcpy((char *)old + i * sizeof(U), &value, sizeof(U));                                \
        }                                                                                          \
    }                                                                                              \
    static void swap_##NAME(void *mem, const void *compare, const void *swap, void *old)           \
    {                                                                                              \
        U expected, desired;                                                                       \
        memcpy(&expected, compare, sizeof(U));                                                     \
        memcpy(&desired, swap, sizeof(U));                                                         \
        __atomic_compare_exchange_n((U *)mem, &expected, desired, false, __ATOMIC_SEQ_CST,         \
                                    __ATOMIC_SEQ_CST);                                             \
        memcpy(old, &expected, sizeof(U));                                                         \
    }
MOVE_FNS(uint8_t, 1)
MOVE_FNS(uint16_t, 2)
MOVE_FNS(uint32_t, 4)
MOVE_FNS(uint64_t, 8)

static const struct {
    acc_fn_t replace, fetch;
    void (*swap)(void *mem, const void *compare, const void *swap, void *old);
} move_table[] = {
    [1] = {replace_1, fetch_1, swap_1},
    [2] = {replace_2, fetch_2, swap_2},
    [4] = {replace_4, fetch_4, swap_4},
    [8] = {replace_8, fetch_8, swap_8},
};

#define PAIR_NBYTES(T)                                                                             \
    sizeof(struct {                                                                                \
        T value;                                                                                   \
        int index;                                                                                 \
    })

static const struct {
    const char *name;
    uint8_t nbytes;
} dtypes[MCI_DTYPE_NUM] = {
    [MCOMM_INT8] = {"INT8", 1},
    [MCOMM_UINT8] = {"UINT8", 1},
    [MCOMM_INT16] = {"INT16", 2},
    [MCOMM_UINT16] = {"UINT16", 2},
    [MCOMM_INT32] = {"INT32", 4},
    [MCOMM_UINT32] = {"UINT32", 4},
    [MCOMM_INT64] = {"INT64", 8},
    [MCOMM_UINT64] = {"UINT64", 8},
    [MCOMM_FLOAT] = {"FLOAT", 4},
    [MCOMM_DOUBLE] = {"DOUBLE", 8},
    [MCOMM_FLOAT16] = {"FLOAT16", 2},
    [MCOMM_BFLOAT16] = {"BFLOAT16", 2},
    [MCOMM_BOOL] = {"BOOL", 1},
    [MCOMM_BYTE] = {"BYTE", 1},
    /* collectives only */
    [MCOMM_FLOAT8_E4M3] = {"FLOAT8_E4M3", 1},
    [MCOMM_FLOAT8_E5M2] = {"FLOAT8_E5M2", 1},
    [MCOMM_COMPLEX_FLOAT] = {"COMPLEX_FLOAT", 2 * sizeof(float)},
    [MCOMM_COMPLEX_DOUBLE] = {"COMPLEX_DOUBLE", 2 * sizeof(double)},
    [MCOMM_FLOAT_INT] = {"FLOAT_INT", PAIR_NBYTES(float)},
    [MCOMM_DOUBLE_INT] = {"DOUBLE_INT", PAIR_NBYTES(double)},
    [MCOMM_LONG_INT] = {"LONG_INT", PAIR_NBYTES(long)},
    [MCOMM_INT_INT] = {"INT_INT", PAIR_NBYTES(int)},
    [MCOMM_SHORT_INT] = {"SHORT_INT", PAIR_NBYTES(short)},
};

static const char *const op_names[MCI_OP_NUM] = {
    [MCOMM_SUM] = "SUM",   [MCOMM_PROD] = "PROD",       [MCOMM_MIN] = "MIN",
    [MCOMM_MAX] = "MAX",   [MCOMM_LAND] = "LAND",       [MCOMM_LOR] = "LOR",
    [MCOMM_LXOR] = "LXOR", [MCOMM_BAND] = "BAND",       [MCOMM_BOR] = "BOR",
    [MCOMM_BXOR] = "BXOR", [MCOMM_REPLACE] = "REPLACE", [MCOMM_NO_OP] = "NO_OP",
    [MCOMM_AVG] = "AVG",   [MCOMM_MINLOC] = "MINLOC",   [MCOMM_MAXLOC] = "MAXLOC",
};

size_t mci_dtype_nbytes(mcomm_datatype_t dtype)
{
    return (unsigned)dtype < MCI_DTYPE_NUM ? dtypes[dtype].nbytes : 0;
}

const char *mci_dtype_name(mcomm_datatype_t dtype)
{
    return mci_dtype_nbytes(dtype) != 0 ? dtypes[dtype].name : "invalid";
}

const char *mci_op_name(mcomm_op_t op)
{
    return (unsigned)op < MCI_OP_NUM && op_names[op] != NULL ? op_names[op] : "invalid";
}

bool mci_dtype_is_windows(mcomm_datatype_t dtype)
{
    return (unsigned)dtype < MCI_WIN_DTYPE_NUM && mci_dtype_nbytes(dtype) != 0;
}

bool mci_op_is_legal(mcomm_op_t op, mcomm_datatype_t dtype)
{
    if (!mci_dtype_is_windows(dtype) || (unsigned)op >= MCI_OP_NUM)
        return false;
    return op == MCOMM_REPLACE || op == MCOMM_NO_OP || acc_table[dtype][op] != NULL;
}

void mci_rma_acc_apply(void *mem, const void *operand, void *old, size_t count,
                       mcomm_datatype_t dtype, mcomm_op_t op)
{
    if (op == MCOMM_REPLACE)
        move_table[dtypes[dtype].nbytes].replace(mem, operand, old, count);
    else if (op == MCOMM_NO_OP)
        move_table[dtypes[dtype].nbytes].fetch(mem, operand, old, count);
    else
        acc_table[dtype][op](mem, operand, old, count);
}

bool mci_rma_swap_is_legal(mcomm_datatype_t dtype)
{
    return mci_dtype_is_windows(dtype) && dtype != MCOMM_FLOAT && dtype != MCOMM_DOUBLE &&
           dtype != MCOMM_FLOAT16 && dtype != MCOMM_BFLOAT16;
}

void mci_rma_swap_apply(void *mem, const void *compare, const void *swap, void *old,
                        mcomm_datatype_t dtype)
{
    move_table[dtypes[dtype].nbytes].swap(mem, compare, swap, old);
}
