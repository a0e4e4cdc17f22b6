/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The calls that make datatypes and tell their sizes; compiled twice, with int and MPI_Count. */
#include <stdlib.h>

#include "mpi_priv.h"

#ifdef LARGE
#define IS_LARGE true
#else
#define IS_LARGE false
#endif

#define GET_OLD(object, given)                                                                     \
    struct type *object = mpi_type_get(given);                                                     \
    if (object == NULL)                                                                            \
    return mpi_bad_type(NULL, given)

static int bad_count(const char *what, MPI_Count value)
{
    return mpi_fail(NULL, MPI_ERR_ARG, "%s %lld", what, (long long)value);
}

/* ---- loops ---- */
DEF_COUNT(Type_contiguous, (MPI_NUM count, MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_CONTIGUOUS, .is_large = IS_LARGE};

    GET_OLD(old, handle);
    if (count < 0)
        return bad_count("count", count);
    mpi_made_num(&made, count);
    mpi_made_type(&made, old);
    return mpi_type_publish(mpi_type_loop(count, old->extent, old), &made, handle_p);
}

/* count blocks of length blocklength, stride bytes apart */
static int vector(struct made *made, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                  struct type *old, MPI_Datatype *handle_p)
{
    struct type *block, *type;

    block = mpi_type_loop(blocklength, old->extent, old);
    type = block != NULL ? mpi_type_loop(count, stride, block) : NULL;
    if (block != NULL)
        mpi_type_unref(block);
    return mpi_type_publish(type, made, handle_p);
}

DEF_COUNT(Type_vector, (MPI_NUM count, MPI_NUM blocklength, MPI_NUM stride, MPI_Datatype handle,
                        MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_VECTOR, .is_large = IS_LARGE};

    GET_OLD(old, handle);
    if (count < 0 || blocklength < 0)
        return bad_count("count or blocklength", MIN(count, blocklength));
    mpi_made_num(&made, count);
    mpi_made_num(&made, blocklength);
    mpi_made_num(&made, stride);
    mpi_made_type(&made, old);
    return vector(&made, count, blocklength, stride * old->extent, old, handle_p);
}

DEF_COUNT(Type_create_hvector, (MPI_NUM count, MPI_NUM blocklength, MPI_BYTES stride,
                                MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_HVECTOR, .is_large = IS_LARGE};

    GET_OLD(old, handle);
    if (count < 0 || blocklength < 0)
        return bad_count("count or blocklength", MIN(count, blocklength));
    mpi_made_num(&made, count);
    mpi_made_num(&made, blocklength);
    mpi_made_bytes(&made, stride);
    mpi_made_type(&made, old);
    return vector(&made, count, blocklength, stride, old, handle_p);
}

/* ---- lists ---- */
struct blocks { /* lengths NULL: all of one length; types NULL: all of old */
    MPI_Count count;
    const MPI_NUM *lengths;
    MPI_NUM length;
    const MPI_NUM *elements; /* displacements in elements, or in bytes */
    const MPI_BYTES *bytes;
    struct type *old;
    const MPI_Datatype *types;
};

static int list(struct made *made, const struct blocks *blocks, MPI_Datatype *handle_p)
{
    struct piece *pieces;
    struct type *type;

    pieces = malloc(MAX((size_t)blocks->count, 1) * sizeof(*pieces));
    if (pieces == NULL)
        return mpi_type_publish(NULL, made, handle_p);
    for (MPI_Count i = 0; i < blocks->count; i++) {
        struct type *old = blocks->types != NULL ? mpi_type_get(blocks->types[i]) : blocks->old;
        MPI_Count length = blocks->lengths != NULL ? blocks->lengths[i] : blocks->length;

        pieces[i] = (struct piece){blocks->elements != NULL ? blocks->elements[i] * old->extent
                                                            : blocks->bytes[i],
                                   length, old};
    }
    type = mpi_type_list(blocks->count, pieces);
    if (type == NULL)
        free(pieces);
    return mpi_type_publish(type, made, handle_p);
}

static int blocks_make(int combiner, struct blocks *blocks, MPI_Datatype handle,
                       MPI_Datatype *handle_p)
{
    struct made made = {.combiner = combiner, .is_large = IS_LARGE};

    if (blocks->count < 0)
        return bad_count("count", blocks->count);
    blocks->old = mpi_type_get(handle);
    if (blocks->types == NULL && blocks->old == NULL)
        return mpi_bad_type(NULL, handle);
    for (MPI_Count i = 0; i < blocks->count; i++) {
        if (blocks->types != NULL && mpi_type_get(blocks->types[i]) == NULL)
            return mpi_bad_type(NULL, blocks->types[i]);
        if (blocks->lengths != NULL && blocks->lengths[i] < 0)
            return bad_count("blocklength", blocks->lengths[i]);
    }
    if (blocks->length < 0)
        return bad_count("blocklength", blocks->length);
    mpi_made_num(&made, blocks->count);
    if (blocks->lengths == NULL)
        mpi_made_num(&made, blocks->length);
    for (MPI_Count i = 0; blocks->lengths != NULL && i < blocks->count; i++)
        mpi_made_num(&made, blocks->lengths[i]);
    for (MPI_Count i = 0; i < blocks->count; i++) {
        if (blocks->elements != NULL)
            mpi_made_num(&made, blocks->elements[i]);
        else
            mpi_made_bytes(&made, blocks->bytes[i]);
        if (blocks->types != NULL)
            mpi_made_type(&made, mpi_type_get(blocks->types[i]));
    }
    if (blocks->types == NULL)
        mpi_made_type(&made, blocks->old);
    return list(&made, blocks, handle_p);
}

DEF_COUNT(Type_indexed, (MPI_NUM count, const MPI_NUM lengths[], const MPI_NUM disps[],
                         MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct blocks blocks = {.count = count, .lengths = lengths, .elements = disps};

    return blocks_make(MPI_COMBINER_INDEXED, &blocks, handle, handle_p);
}

DEF_COUNT(Type_create_hindexed, (MPI_NUM count, const MPI_NUM lengths[], const MPI_BYTES disps[],
                                 MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct blocks blocks = {.count = count, .lengths = lengths, .bytes = disps};

    return blocks_make(MPI_COMBINER_HINDEXED, &blocks, handle, handle_p);
}

DEF_COUNT(Type_create_indexed_block, (MPI_NUM count, MPI_NUM length, const MPI_NUM disps[],
                                      MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct blocks blocks = {.count = count, .length = length, .elements = disps};

    return blocks_make(MPI_COMBINER_INDEXED_BLOCK, &blocks, handle, handle_p);
}

DEF_COUNT(Type_create_hindexed_block, (MPI_NUM count, MPI_NUM length, const MPI_BYTES disps[],
                                       MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct blocks blocks = {.count = count, .length = length, .bytes = disps};

    return blocks_make(MPI_COMBINER_HINDEXED_BLOCK, &blocks, handle, handle_p);
}

DEF_COUNT(Type_create_struct, (MPI_NUM count, const MPI_NUM lengths[], const MPI_BYTES disps[],
                               const MPI_Datatype types[], MPI_Datatype *handle_p))
{
    static const MPI_Datatype none[1];
    struct blocks blocks = {
        .count = count, .lengths = lengths, .bytes = disps, .types = types != NULL ? types : none};

    return blocks_make(MPI_COMBINER_STRUCT, &blocks, MPI_DATATYPE_NULL, handle_p);
}

DEF_COUNT(Type_create_resized,
          (MPI_Datatype handle, MPI_BYTES lb, MPI_BYTES extent, MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_RESIZED, .is_large = IS_LARGE};
    struct type *type;

    GET_OLD(old, handle);
    mpi_made_bytes(&made, lb);
    mpi_made_bytes(&made, extent);
    mpi_made_type(&made, old);
    type = mpi_type_loop(1, old->extent, old);
    if (type != NULL)
        mpi_type_resize(type, lb, extent);
    return mpi_type_publish(type, &made, handle_p);
}

/* ---- arrays ---- */
DEF_COUNT(Type_create_subarray,
          (int ndims, const MPI_NUM sizes[], const MPI_NUM subsizes[], const MPI_NUM starts[],
           int order, MPI_Datatype handle, MPI_Datatype *handle_p))
{
    struct made made = {.combiner = MPI_COMBINER_SUBARRAY, .is_large = IS_LARGE};
    const MPI_NUM *const given[] = {sizes, subsizes, starts};
    struct type *type = NULL;
    MPI_Count *wide;

    GET_OLD(old, handle);
    if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
        return mpi_fail(NULL, MPI_ERR_ARG, "ndims %d, order %d", ndims, order);
    for (int i = 0; i < ndims; i++) {
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return mpi_fail(NULL, MPI_ERR_ARG, "dimension %d: size %lld, subsize %lld, start %lld",
                            i, (long long)sizes[i], (long long)subsizes[i], (long long)starts[i]);
    }
    mpi_made_int(&made, ndims);
    wide = malloc(3 * (size_t)ndims * sizeof(*wide));
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < ndims; i++) {
            mpi_made_num(&made, given[which][i]);
            if (wide != NULL)
                wide[which * ndims + i] = given[which][i];
        }
    }
    mpi_made_int(&made, order);
    mpi_made_type(&made, old);
    if (wide != NULL) {
        struct array array = {ndims, wide, wide + ndims, wide + 2 * ndims};

        type = mpi_type_subarray(&array, order, old);
    }
    free(wide);
    return mpi_type_publish(type, &made, handle_p);
}

/* ---- sizes ---- */
/* What does not fit in the caller's integer is MPI_UNDEFINED. */
#define FITS(value) ((value) >= -NUM_MAX && (value) <= NUM_MAX)

DEF_COUNT(Type_size, (MPI_Datatype handle, MPI_NUM *size_p))
{
    GET_OLD(type, handle);
    *size_p = FITS(type->size) ? (MPI_NUM)type->size : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

DEF_COUNT(Type_get_extent, (MPI_Datatype handle, MPI_BYTES *lb_p, MPI_BYTES *extent_p))
{
    GET_OLD(type, handle);
    *lb_p = type->lb;
    *extent_p = type->extent;
    return MPI_SUCCESS;
}

DEF_COUNT(Type_get_true_extent, (MPI_Datatype handle, MPI_BYTES *lb_p, MPI_BYTES *extent_p))
{
    GET_OLD(type, handle);
    *lb_p = type->true_lb;
    *extent_p = type->true_extent;
    return MPI_SUCCESS;
}
