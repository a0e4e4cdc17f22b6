/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Making datatypes: the notes for MPI_Type_get_contents, other bounds, parts of arrays, copies. */
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

/* ---- notes ---- */
/* Room for one more element in an array that doubles. */
static bool grow(void *array_p, int num, size_t nbytes)
{
    void **array = array_p, *grown;

    if ((num & (num - 1)) != 0)
        return true;
    grown = realloc(*array, (num == 0 ? 1 : 2 * (size_t)num) * nbytes);
    if (grown == NULL)
        return false;
    *array = grown;
    return true;
}

#define PUSH(made, array, num, value)                                                              \
    do {                                                                                           \
        if (grow(&(made)->array, (made)->num, sizeof(*(made)->array)))                             \
            (made)->array[(made)->num++] = (value);                                                \
        else                                                                                       \
            (made)->is_failed = true;                                                              \
    } while (0)

void mpi_made_int(struct made *made, int number)
{
    PUSH(made, ints, num_ints, number);
}

void mpi_made_num(struct made *made, MPI_Count num)
{
    if (made->is_large)
        PUSH(made, counts, num_counts, num);
    else
        PUSH(made, ints, num_ints, (int)num);
}

void mpi_made_bytes(struct made *made, MPI_Count nbytes)
{
    if (made->is_large)
        PUSH(made, counts, num_counts, nbytes);
    else
        PUSH(made, addresses, num_addresses, nbytes);
}

void mpi_made_type(struct made *made, struct type *type)
{
    mpi_type_ref(type);
    PUSH(made, types, num_types, type);
}

void mpi_made_free(struct made *made)
{
    for (int i = 0; i < made->num_types; i++)
        mpi_type_unref(made->types[i]);
    free(made->ints);
    free(made->addresses);
    free(made->counts);
    free(made->types);
}

int mpi_type_publish(struct type *type, const struct made *given, MPI_Datatype *handle_p)
{
    struct made made = *given;

    if (type == NULL || made.is_failed) {
        mpi_made_free(&made);
        if (type != NULL)
            mpi_type_unref(type);
        return mpi_no_mem(NULL, sizeof(*type));
    }
    type->made = made;
    if (mpi_type_reopen(type, handle_p) != MPI_SUCCESS) {
        mpi_type_unref(type);
        return MPI_ERR_NO_MEM;
    }
    mpi_type_unref(type);
    type->handle = *handle_p;
    return MPI_SUCCESS;
}

int mpi_type_reopen(struct type *type, MPI_Datatype *handle_p)
{
    void *handle;

    if (type->is_predefined) {
        *handle_p = type->handle;
        return MPI_SUCCESS;
    }
    handle = mpi_handle_new(KIND_TYPE, type);
    if (handle == NULL)
        return mpi_no_mem(NULL, sizeof(*type));
    mpi_type_ref(type);
    type->num_handles++;
    *handle_p = handle;
    return MPI_SUCCESS;
}

/* ---- copies with other bounds ---- */
/* One of old, disp bytes on */
static struct type *type_moved(struct type *old, MPI_Aint disp)
{
    struct piece *piece = malloc(sizeof(*piece));
    struct type *type;

    if (piece == NULL)
        return NULL;
    *piece = (struct piece){disp, 1, old};
    type = mpi_type_list(1, piece);
    if (type == NULL)
        free(piece);
    return type;
}

void mpi_type_resize(struct type *type, MPI_Count lb, MPI_Count extent)
{
    type->is_dense = type->is_dense && extent == type->size;
    type->lb = lb;
    type->extent = extent;
}

DEF(int, Type_dup, (MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_DUP};
    struct type *old = mpi_type_get(handle), *type;
    MPI_Datatype new_handle;
    int code;

    if (old == NULL)
        return mpi_bad_type(NULL, handle);
    mpi_made_type(&made, old);
    type = type_moved(old, 0);
    if (type != NULL) {
        mpi_type_resize(type, old->lb, old->extent);
        type->is_committed = old->is_committed;
        type->native = old->native;
    }
    code = mpi_type_publish(type, &made, &new_handle);
    if (code != MPI_SUCCESS)
        return code;
    code = mpi_attrs_copy(KIND_TYPE, handle, &old->attrs, &mpi_type_get(new_handle)->attrs);
    if (code != MPI_SUCCESS) {
        PMPI_Type_free(&new_handle);
        return code;
    }
    *handle_p = new_handle;
    return MPI_SUCCESS;
}

/* ---- parts of arrays ---- */
/* From the fastest dimension outwards: a row of the part, rows at the array's distance. */
struct type *mpi_type_subarray(const struct array *array, int order, struct type *old)
{
    struct type *type = old, *outer;
    MPI_Count stride = old->extent, first = 0;

    mpi_type_ref(type);
    for (int i = 0; i < array->ndims && type != NULL; i++) {
        int dim = order == MPI_ORDER_C ? array->ndims - 1 - i : i;

        outer = mpi_type_loop(array->subsizes[dim], stride, type);
        mpi_type_unref(type);
        type = outer;
        first += array->starts[dim] * stride;
        stride *= array->sizes[dim];
    }
    if (type == NULL)
        return NULL;
    outer = type_moved(type, first);
    mpi_type_unref(type);
    if (outer != NULL)
        mpi_type_resize(outer, 0, stride);
    return outer;
}
