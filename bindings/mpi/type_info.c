/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Datatypes: commit, free, names, how they were made, and those chosen by what they hold. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "mpi_priv.h"

#define GET_OLD(object, given)                                                                     \
    struct type *object = mpi_type_get(given);                                                     \
    if (object == NULL)                                                                            \
    return mpi_bad_type(NULL, given)

DEF(int, Type_commit, (MPI_Datatype * handle_p))
{
    GET_OLD(type, *handle_p);
    type->is_committed = true;
    return MPI_SUCCESS;
}

DEF(int, Type_free, (MPI_Datatype * handle_p))
{
    int code;

    GET_OLD(type, *handle_p);
    if (type->is_predefined)
        return mpi_fail(NULL, MPI_ERR_TYPE, "%s cannot be freed", type->name);
    if (type->num_handles == 1) {
        code = mpi_attrs_free(KIND_TYPE, *handle_p, &type->attrs);
        if (code != MPI_SUCCESS)
            return code;
    }
    type->num_handles--;
    mpi_handle_free(*handle_p);
    mpi_type_unref(type);
    *handle_p = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

DEF(int, Type_set_name, (MPI_Datatype handle, const char *name))
{
    GET_OLD(type, handle);
    snprintf(type->name, sizeof(type->name), "%s", name);
    return MPI_SUCCESS;
}

DEF(int, Type_get_name, (MPI_Datatype handle, char *name, int *length_p))
{
    const struct type *type = mpi_type_get(handle);

    if (type == NULL && handle != MPI_DATATYPE_NULL)
        return mpi_bad_type(NULL, handle);
    strcpy(name, type != NULL ? type->name : "MPI_DATATYPE_NULL");
    *length_p = (int)strlen(name);
    return MPI_SUCCESS;
}

/* ---- how it was made ---- */
DEF(int, Type_get_envelope_c,
    (MPI_Datatype handle, MPI_Count *num_ints, MPI_Count *num_addresses, MPI_Count *num_counts,
     MPI_Count *num_types, int *combiner))
{
    GET_OLD(type, handle);
    *num_ints = type->made.num_ints;
    *num_addresses = type->made.num_addresses;
    *num_counts = type->made.num_counts;
    *num_types = type->made.num_types;
    *combiner = type->made.combiner;
    return MPI_SUCCESS;
}

static int too_large(void)
{
    return mpi_fail(NULL, MPI_ERR_TYPE, "datatype was made with large counts: use the _c call");
}

DEF(int, Type_get_envelope,
    (MPI_Datatype handle, int *num_ints, int *num_addresses, int *num_types, int *combiner))
{
    GET_OLD(type, handle);
    if (type->made.num_counts > 0)
        return too_large();
    *num_ints = type->made.num_ints;
    *num_addresses = type->made.num_addresses;
    *num_types = type->made.num_types;
    *combiner = type->made.combiner;
    return MPI_SUCCESS;
}

#define COPY_MADE(to, max, array, num)                                                             \
    do {                                                                                           \
        if ((max) < type->made.num)                                                                \
            return mpi_fail(NULL, MPI_ERR_ARG, #max " is %lld, there are %d", (long long)(max),    \
                            type->made.num);                                                       \
        if (type->made.num > 0)                                                                    \
            memcpy(to, type->made.array, (size_t)type->made.num * sizeof(*(to)));                  \
    } while (0)

DEF(int, Type_get_contents_c,
    (MPI_Datatype handle, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_counts,
     MPI_Count max_datatypes, int ints[], MPI_Aint addresses[], MPI_Count counts[],
     MPI_Datatype types[]))
{
    int code = MPI_SUCCESS;

    GET_OLD(type, handle);
    if (type->made.combiner == MPI_COMBINER_NAMED)
        return mpi_fail(NULL, MPI_ERR_TYPE, "datatype %s is predefined: it has no contents",
                        type->name);
    COPY_MADE(ints, max_integers, ints, num_ints);
    COPY_MADE(addresses, max_addresses, addresses, num_addresses);
    COPY_MADE(counts, max_counts, counts, num_counts);
    if (max_datatypes < type->made.num_types)
        return mpi_fail(NULL, MPI_ERR_ARG, "max_datatypes is %lld, there are %d",
                        (long long)max_datatypes, type->made.num_types);
    for (int i = 0; i < type->made.num_types && code == MPI_SUCCESS; i++)
        code = mpi_type_reopen(type->made.types[i], &types[i]);
    return code;
}

DEF(int, Type_get_contents,
    (MPI_Datatype handle, int max_integers, int max_addresses, int max_datatypes, int ints[],
     MPI_Aint addresses[], MPI_Datatype types[]))
{
    GET_OLD(type, handle);
    if (type->made.num_counts > 0)
        return too_large();
    return PMPI_Type_get_contents_c(handle, max_integers, max_addresses, 0, max_datatypes, ints,
                                    addresses, NULL, types);
}

/* ---- the older names of large sizes ---- */
DEF(int, Type_size_x, (MPI_Datatype handle, MPI_Count *size_p))
{
    return PMPI_Type_size_c(handle, size_p);
}

DEF(int, Type_get_extent_x, (MPI_Datatype handle, MPI_Count *lb_p, MPI_Count *extent_p))
{
    return PMPI_Type_get_extent_c(handle, lb_p, extent_p);
}

DEF(int, Type_get_true_extent_x, (MPI_Datatype handle, MPI_Count *lb_p, MPI_Count *extent_p))
{
    return PMPI_Type_get_true_extent_c(handle, lb_p, extent_p);
}

/* ---- chosen by what they hold ---- */
struct choice {
    int typeclass, size;
    MPI_Datatype type;
};
static const struct choice choices[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_REAL, 2, MPI_REAL2},         {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
    {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
    {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
};

DEF(int, Type_match_size, (int typeclass, int size, MPI_Datatype *handle_p))
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        if (choices[i].typeclass == typeclass && choices[i].size == size) {
            *handle_p = choices[i].type;
            return MPI_SUCCESS;
        }
    }
    return mpi_fail(NULL, MPI_ERR_ARG, "there is no datatype of class %d with %d bytes", typeclass,
                    size);
}

DEF(int, Type_get_value_index, (MPI_Datatype value, MPI_Datatype index, MPI_Datatype *handle_p))
{
    static const struct {
        MPI_Datatype value, pair;
    } pairs[] = {{MPI_FLOAT, MPI_FLOAT_INT}, {MPI_DOUBLE, MPI_DOUBLE_INT},
                 {MPI_LONG, MPI_LONG_INT},   {MPI_INT, MPI_2INT},
                 {MPI_SHORT, MPI_SHORT_INT}, {MPI_LONG_DOUBLE, MPI_LONG_DOUBLE_INT}};

    *handle_p = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && index == MPI_INT; i++) {
        if (pairs[i].value == value)
            *handle_p = pairs[i].pair;
    }
    return MPI_SUCCESS;
}
