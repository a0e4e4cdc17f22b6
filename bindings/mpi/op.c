/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Operations: MPI's on the library's element types are the library's; those on long double are done
 * here; a caller's is called.
 */
#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

#define OPS_FIRST 0x20u
#define OPS_NUM 0x20u
#define OP(given)                                                                                  \
    [(uintptr_t)MPI_##given - OPS_FIRST] = {                                                       \
        .native = MCOMM_##given, .name = "MPI_" #given, .is_commutative = true, .refs = 1}
static struct op ops[OPS_NUM] = {OP(SUM),    OP(MIN),    OP(MAX),     OP(PROD), OP(BAND),
                                 OP(BOR),    OP(BXOR),   OP(LAND),    OP(LOR),  OP(LXOR),
                                 OP(MINLOC), OP(MAXLOC), OP(REPLACE), OP(NO_OP)};

struct op *mpi_op_get(MPI_Op handle)
{
    uintptr_t index = (uintptr_t)handle - OPS_FIRST;

    if (index < OPS_NUM)
        return ops[index].name != NULL ? &ops[index] : NULL;
    return mpi_handle_get(KIND_OP, handle);
}

int mpi_bad_op(const struct owner *owner, MPI_Op handle)
{
    return mpi_fail(owner, MPI_ERR_OP, "op %p is none", (void *)handle);
}

void mpi_op_ref(struct op *op)
{
    __atomic_add_fetch(&op->refs, 1, __ATOMIC_RELAXED);
}

void mpi_op_unref(struct op *op)
{
    if (op->name == NULL && __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(op);
}

/* ---- which operation goes with which type ---- */
static bool fits(const struct op *op, const struct type *type)
{
    bool is_integer = type->leaf == LEAF_INT || type->leaf == LEAF_UINT;

    switch (op->native) {
    case MCOMM_SUM:
    case MCOMM_PROD:
        return is_integer || type->leaf == LEAF_FLOAT || type->leaf == LEAF_COMPLEX;
    case MCOMM_MIN:
    case MCOMM_MAX:
        return is_integer || type->leaf == LEAF_FLOAT;
    case MCOMM_LAND:
    case MCOMM_LOR:
    case MCOMM_LXOR:
        return is_integer || type->leaf == LEAF_LOGICAL;
    case MCOMM_BAND:
    case MCOMM_BOR:
    case MCOMM_BXOR:
        return is_integer || type->leaf == LEAF_BYTE;
    case MCOMM_MINLOC:
    case MCOMM_MAXLOC:
        return type->leaf == LEAF_NONE && type->n == 2;
    default:
        return false;
    }
}

int mpi_op_check(const struct owner *owner, const struct op *op, const struct type *type)
{
    if (op->name == NULL || (type->is_predefined && fits(op, type)))
        return MPI_SUCCESS;
    return mpi_fail(owner, MPI_ERR_OP, "%s is no operation on %s", op->name, type->name);
}

/* ---- long double ---- */
struct value_index {
    long double value;
    int index;
};

static long double combine(mcomm_op_t op, long double a, long double b)
{
    switch (op) {
    case MCOMM_SUM:
        return a + b;
    case MCOMM_PROD:
        return a * b;
    case MCOMM_MIN:
        return MIN(a, b);
    default:
        return MAX(a, b);
    }
}

static void fold_real(mcomm_op_t op, const long double *in, long double *inout, MPI_Count count)
{
    for (MPI_Count i = 0; i < count; i++)
        inout[i] = combine(op, in[i], inout[i]);
}

static void fold_complex(mcomm_op_t op, const long double complex *in, long double complex *inout,
                         MPI_Count count)
{
    for (MPI_Count i = 0; i < count; i++)
        inout[i] = op == MCOMM_SUM ? in[i] + inout[i] : in[i] * inout[i];
}

static void fold_place(mcomm_op_t op, const struct value_index *in, struct value_index *inout,
                       MPI_Count count)
{
    for (MPI_Count i = 0; i < count; i++) {
        bool is_equal = in[i].value == inout[i].value;
        bool is_first =
            op == MCOMM_MINLOC ? in[i].value < inout[i].value : in[i].value > inout[i].value;

        if (is_first || (is_equal && in[i].index < inout[i].index)) {
            inout[i].value = in[i].value; /* by parts: the last pair may end without its padding */
            inout[i].index = in[i].index;
        }
    }
}

static void fold_wide(mcomm_op_t op, const void *in, void *inout, MPI_Count count,
                      const struct type *type)
{
    if (type->leaf == LEAF_FLOAT)
        fold_real(op, in, inout, count);
    else if (type->leaf == LEAF_COMPLEX)
        fold_complex(op, in, inout, count);
    else
        fold_place(op, in, inout, count);
}

mcomm_err_t mpi_op_apply(const struct op *op, const void *in, void *inout, MPI_Count count,
                         const struct type *type)
{
    MPI_Datatype handle = type->handle;

    if (count == 0)
        return MCOMM_SUCCESS;
    if (mpi_op_is_native(op, type))
        return mcomm_reduce_local(in, inout, (size_t)count, type->native, op->native);
    if (op->name != NULL) {
        fold_wide(op->native, in, inout, count, type);
    } else if (op->is_large) {
        op->fn.large(AT(in, 0), inout, &count, &handle);
    } else {
        while (count > 0) {
            int part = (int)MIN(count, 1 << 30);

            op->fn.small(AT(in, 0), inout, &part, &handle);
            in = AT(in, part * type->extent);
            inout = AT(inout, part * type->extent);
            count -= part;
        }
    }
    return MCOMM_SUCCESS;
}

/* ---- calls ---- */
static int op_create(const struct op *given, MPI_Op *handle_p)
{
    struct op *op = malloc(sizeof(*op));

    if (op == NULL)
        return mpi_no_mem(NULL, sizeof(*op));
    *op = *given;
    op->refs = 1;
    op->handle = mpi_handle_new(KIND_OP, op);
    if (op->handle == MPI_OP_NULL || op->handle == NULL) {
        free(op);
        return mpi_no_mem(NULL, sizeof(*op));
    }
    *handle_p = op->handle;
    return MPI_SUCCESS;
}

DEF(int, Op_create, (MPI_User_function * fn, int commute, MPI_Op *handle_p))
{
    struct op op = {.fn.small = fn, .is_commutative = commute != 0};

    if (fn == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "user_fn is NULL");
    return op_create(&op, handle_p);
}

DEF(int, Op_create_c, (MPI_User_function_c * fn, int commute, MPI_Op *handle_p))
{
    struct op op = {.fn.large = fn, .is_commutative = commute != 0, .is_large = true};

    if (fn == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "user_fn is NULL");
    return op_create(&op, handle_p);
}

DEF(int, Op_free, (MPI_Op * handle_p))
{
    struct op *op = mpi_op_get(*handle_p);

    if (op == NULL || op->name != NULL)
        return mpi_bad_op(NULL, *handle_p);
    mpi_handle_free(*handle_p);
    mpi_op_unref(op);
    *handle_p = MPI_OP_NULL;
    return MPI_SUCCESS;
}

DEF(int, Op_commutative, (MPI_Op handle, int *commute))
{
    struct op *op = mpi_op_get(handle);

    if (op == NULL)
        return mpi_bad_op(NULL, handle);
    *commute = op->is_commutative && op->native != MCOMM_REPLACE && op->native != MCOMM_NO_OP;
    return MPI_SUCCESS;
}
