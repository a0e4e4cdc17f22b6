/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What a datatype is: a leaf, a loop over another one, or a list of pieces of others, with its size
 * and its extents. Everything that looks at data (pack, unpack, counting elements, windows) walks
 * it and gets runs of equal leaves that lie close together.
 */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "mpi_priv.h"

/* ---- the predefined ones ---- */
#define INDEX(handle) ((uintptr_t)(handle)-TYPES_FIRST)
#define LEAF(kind, native_, nbytes, name_)                                                         \
    {                                                                                              \
        .size = nbytes, .extent = nbytes, .true_extent = nbytes, .is_dense = true,                 \
        .is_committed = true, .is_predefined = true, .leaf = kind, .native = native_, .n = 1,      \
        .refs = 1, .given_name = name_,                                                            \
    }
#define ROW(name, kind, native, nbytes) XX(name, kind, native, nbytes)
#define LEAVES                                                                                     \
    ROW(AINT, LEAF_INT, MCOMM_INT64, 8)                                                            \
    ROW(COUNT, LEAF_INT, MCOMM_INT64, 8)                                                           \
    ROW(OFFSET, LEAF_INT, MCOMM_INT64, 8)                                                          \
    ROW(PACKED, LEAF_CHAR, 0, 1)                                                                   \
    ROW(SHORT, LEAF_INT, MCOMM_INT16, 2)                                                           \
    ROW(INT, LEAF_INT, MCOMM_INT32, 4)                                                             \
    ROW(LONG, LEAF_INT, MCOMM_INT64, 8)                                                            \
    ROW(LONG_LONG, LEAF_INT, MCOMM_INT64, 8)                                                       \
    ROW(UNSIGNED_SHORT, LEAF_UINT, MCOMM_UINT16, 2)                                                \
    ROW(UNSIGNED, LEAF_UINT, MCOMM_UINT32, 4)                                                      \
    ROW(UNSIGNED_LONG, LEAF_UINT, MCOMM_UINT64, 8)                                                 \
    ROW(UNSIGNED_LONG_LONG, LEAF_UINT, MCOMM_UINT64, 8)                                            \
    ROW(FLOAT, LEAF_FLOAT, MCOMM_FLOAT, 4)                                                         \
    ROW(C_FLOAT_COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_FLOAT, 8)                                     \
    ROW(CXX_FLOAT_COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_FLOAT, 8)                                   \
    ROW(DOUBLE, LEAF_FLOAT, MCOMM_DOUBLE, 8)                                                       \
    ROW(C_DOUBLE_COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_DOUBLE, 16)                                  \
    ROW(CXX_DOUBLE_COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_DOUBLE, 16)                                \
    ROW(LOGICAL, LEAF_LOGICAL, MCOMM_INT32, 4)                                                     \
    ROW(INTEGER, LEAF_INT, MCOMM_INT32, 4)                                                         \
    ROW(REAL, LEAF_FLOAT, MCOMM_FLOAT, 4)                                                          \
    ROW(COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_FLOAT, 8)                                             \
    ROW(DOUBLE_PRECISION, LEAF_FLOAT, MCOMM_DOUBLE, 8)                                             \
    ROW(DOUBLE_COMPLEX, LEAF_COMPLEX, MCOMM_COMPLEX_DOUBLE, 16)                                    \
    ROW(LONG_DOUBLE, LEAF_FLOAT, 0, sizeof(long double))                                           \
    ROW(C_LONG_DOUBLE_COMPLEX, LEAF_COMPLEX, 0, 2 * sizeof(long double))                           \
    ROW(CXX_LONG_DOUBLE_COMPLEX, LEAF_COMPLEX, 0, 2 * sizeof(long double))                         \
    ROW(C_BOOL, LEAF_LOGICAL, MCOMM_BOOL, 1)                                                       \
    ROW(CXX_BOOL, LEAF_LOGICAL, MCOMM_BOOL, 1)                                                     \
    ROW(WCHAR, LEAF_CHAR, 0, sizeof(wchar_t))                                                      \
    ROW(INT8_T, LEAF_INT, MCOMM_INT8, 1)                                                           \
    ROW(UINT8_T, LEAF_UINT, MCOMM_UINT8, 1)                                                        \
    ROW(CHAR, LEAF_CHAR, 0, 1)                                                                     \
    ROW(SIGNED_CHAR, LEAF_INT, MCOMM_INT8, 1)                                                      \
    ROW(UNSIGNED_CHAR, LEAF_UINT, MCOMM_UINT8, 1)                                                  \
    ROW(BYTE, LEAF_BYTE, MCOMM_UINT8, 1)                                                           \
    ROW(INT16_T, LEAF_INT, MCOMM_INT16, 2)                                                         \
    ROW(UINT16_T, LEAF_UINT, MCOMM_UINT16, 2)                                                      \
    ROW(INT32_T, LEAF_INT, MCOMM_INT32, 4)                                                         \
    ROW(UINT32_T, LEAF_UINT, MCOMM_UINT32, 4)                                                      \
    ROW(INT64_T, LEAF_INT, MCOMM_INT64, 8)                                                         \
    ROW(UINT64_T, LEAF_UINT, MCOMM_UINT64, 8)                                                      \
    ROW(LOGICAL1, LEAF_LOGICAL, MCOMM_INT8, 1)                                                     \
    ROW(INTEGER1, LEAF_INT, MCOMM_INT8, 1)                                                         \
    ROW(CHARACTER, LEAF_CHAR, 0, 1)                                                                \
    ROW(LOGICAL2, LEAF_LOGICAL, MCOMM_INT16, 2)                                                    \
    ROW(INTEGER2, LEAF_INT, MCOMM_INT16, 2)                                                        \
    ROW(REAL2, LEAF_FLOAT, MCOMM_FLOAT16, 2)                                                       \
    ROW(LOGICAL4, LEAF_LOGICAL, MCOMM_INT32, 4)                                                    \
    ROW(INTEGER4, LEAF_INT, MCOMM_INT32, 4)                                                        \
    ROW(REAL4, LEAF_FLOAT, MCOMM_FLOAT, 4)                                                         \
    ROW(LOGICAL8, LEAF_LOGICAL, MCOMM_INT64, 8)                                                    \
    ROW(INTEGER8, LEAF_INT, MCOMM_INT64, 8)                                                        \
    ROW(REAL8, LEAF_FLOAT, MCOMM_DOUBLE, 8)                                                        \
    ROW(COMPLEX8, LEAF_COMPLEX, MCOMM_COMPLEX_FLOAT, 8)                                            \
    ROW(COMPLEX16, LEAF_COMPLEX, MCOMM_COMPLEX_DOUBLE, 16)

/* Pairs of a value and an index: struct { value; int index; } */
#define PAIRS                                                                                      \
    ROW(FLOAT_INT, FLOAT, MCOMM_FLOAT_INT, float)                                                  \
    ROW(DOUBLE_INT, DOUBLE, MCOMM_DOUBLE_INT, double)                                              \
    ROW(LONG_INT, LONG, MCOMM_LONG_INT, long)                                                      \
    ROW(2INT, INT, MCOMM_INT_INT, int)                                                             \
    ROW(SHORT_INT, SHORT, MCOMM_SHORT_INT, short)                                                  \
    ROW(LONG_DOUBLE_INT, LONG_DOUBLE, 0, long double)                                              \
    ROW(2INTEGER, INTEGER, MCOMM_INT_INT, int)

#define XX(name, value, native, c_type)                                                            \
    struct pair_##name {                                                                           \
        c_type val;                                                                                \
        int index;                                                                                 \
    };                                                                                             \
    static struct piece pieces_##name[] = {                                                        \
        {0, 1, &mpi_types[INDEX(MPI_##value)]},                                                    \
        {offsetof(struct pair_##name, index), 1, &mpi_types[INDEX(MPI_INT)]}};
PAIRS
#undef XX

/* Two reals of Fortran */
static struct piece pieces_2REAL[] = {{0, 2, &mpi_types[INDEX(MPI_REAL)]}};
static struct piece pieces_2DOUBLE[] = {{0, 2, &mpi_types[INDEX(MPI_DOUBLE_PRECISION)]}};
struct type mpi_types[TYPES_NUM] = {
#define XX(name, kind, native, nbytes)                                                             \
    [INDEX(MPI_##name)] = LEAF(kind, native, nbytes, "MPI_" #name),
    LEAVES
#undef XX
#define XX(name, value, native_, c_type)                                                           \
    [INDEX(MPI_##name)] = {.size = sizeof(c_type) + sizeof(int),                                   \
                           .extent = sizeof(struct pair_##name),                                   \
                           .true_extent = offsetof(struct pair_##name, index) + sizeof(int),       \
                           .is_dense = sizeof(struct pair_##name) == sizeof(c_type) + sizeof(int), \
                           .is_committed = true,                                                   \
                           .is_predefined = true,                                                  \
                           .native = native_,                                                      \
                           .n = 2,                                                                 \
                           .pieces = pieces_##name,                                                \
                           .refs = 1,                                                              \
                           .given_name = "MPI_" #name},
        PAIRS
#undef XX
            [INDEX(MPI_2REAL)] = {.size = 8,
                                  .extent = 8,
                                  .true_extent = 8,
                                  .is_dense = true,
                                  .is_committed = true,
                                  .is_predefined = true,
                                  .n = 1,
                                  .pieces = pieces_2REAL,
                                  .refs = 1,
                                  .given_name = "MPI_2REAL"},
    [INDEX(MPI_2DOUBLE_PRECISION)] = {.size = 16,
                                      .extent = 16,
                                      .true_extent = 16,
                                      .is_dense = true,
                                      .is_committed = true,
                                      .is_predefined = true,
                                      .n = 1,
                                      .pieces = pieces_2DOUBLE,
                                      .refs = 1,
                                      .given_name = "MPI_2DOUBLE_PRECISION"},
};

/* Pointers of one element of a table to another are set when the library is loaded. */
__attribute__((constructor)) static void types_link(void)
{
    for (uintptr_t i = 0; i < TYPES_NUM; i++) {
        struct type *type = &mpi_types[i];

        if (!type->is_predefined)
            continue;
        type->handle = (MPI_Datatype)(TYPES_FIRST + i); /* NOLINT */
        type->made.combiner = MPI_COMBINER_NAMED;
        type->basic = type->leaf != LEAF_NONE ? type : type->n == 1 ? type->pieces[0].type : NULL;
        strcpy(type->name, type->given_name);
    }
}

int mpi_bad_type(const struct owner *owner, MPI_Datatype handle)
{
    const struct type *type = mpi_type_get(handle);

    return mpi_fail(owner, MPI_ERR_TYPE, "datatype %p is %s", (void *)handle,
                    type != NULL ? "not committed" : "none");
}

/* ---- life ---- */
void mpi_type_ref(struct type *type)
{
    __atomic_add_fetch(&type->refs, 1, __ATOMIC_RELAXED);
}

void mpi_type_unref(struct type *type)
{
    if (type->is_predefined || __atomic_sub_fetch(&type->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (type->child != NULL)
        mpi_type_unref(type->child);
    for (MPI_Count i = 0; type->pieces != NULL && i < type->n; i++)
        mpi_type_unref(type->pieces[i].type);
    mpi_made_free(&type->made);
    free(type->pieces);
    free(type);
}

/* ---- extents ---- */
struct bounds {
    MPI_Count low, high, true_low, true_high;
    bool is_any;
};

/* count times a child at disp, stride apart */
static void bounds_add(struct bounds *all, const struct type *child, MPI_Count disp,
                       MPI_Count count, MPI_Count stride)
{
    MPI_Count last = disp + (count - 1) * stride, first = MIN(disp, last);

    if (count == 0)
        return;
    last = MAX(disp, last);
    if (!all->is_any)
        *all = (struct bounds){INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, true};
    all->low = MIN(all->low, first + child->lb);
    all->high = MAX(all->high, last + child->lb + child->extent);
    if (child->size > 0) {
        all->true_low = MIN(all->true_low, first + child->true_lb);
        all->true_high = MAX(all->true_high, last + child->true_lb + child->true_extent);
    }
}

static void bounds_set(struct type *type, const struct bounds *all)
{
    if (!all->is_any)
        return;
    type->lb = all->low;
    type->extent = all->high - all->low;
    if (all->true_high > all->true_low) {
        type->true_lb = all->true_low;
        type->true_extent = all->true_high - all->true_low;
    }
}

static struct type *type_alloc(void)
{
    struct type *type = calloc(1, sizeof(*type));

    if (type != NULL)
        type->refs = 1;
    return type;
}

struct type *mpi_type_loop(MPI_Count n, MPI_Aint stride, struct type *child)
{
    struct type *type = type_alloc();
    struct bounds all = {0};

    if (type == NULL)
        return NULL;
    type->n = n;
    type->stride = stride;
    type->child = child;
    mpi_type_ref(child);
    type->size = n * child->size;
    type->basic = child->basic;
    bounds_add(&all, child, 0, n, stride);
    bounds_set(type, &all);
    type->is_dense =
        child->is_dense && (n <= 1 || stride == child->size) && type->extent == type->size;
    return type;
}

struct type *mpi_type_list(MPI_Count n, struct piece *pieces)
{
    struct type *type = type_alloc();
    struct bounds all = {0};
    bool is_close = true, is_first = true;
    MPI_Count next = 0; /* byte after the pieces so far */

    if (type == NULL)
        return NULL;
    type->n = n;
    type->pieces = pieces;
    for (MPI_Count i = 0; i < n; i++) {
        const struct piece *piece = &pieces[i];
        const struct type *child = piece->type;

        mpi_type_ref(pieces[i].type);
        bounds_add(&all, child, piece->disp, piece->count, child->extent);
        type->size += piece->count * child->size;
        if (piece->count == 0 || child->size == 0)
            continue;
        is_close =
            is_close && child->is_dense && (is_first || piece->disp + child->true_lb == next);
        next = piece->disp + child->true_lb + piece->count * child->size;
        type->basic = is_first ? child->basic : type->basic == child->basic ? type->basic : NULL;
        is_first = false;
    }
    bounds_set(type, &all);
    type->is_dense = is_close && type->extent == type->size;
    return type;
}

/* ---- walking ---- */
static int walk(const struct type *type, MPI_Count count, MPI_Count stride, MPI_Aint at,
                run_fn_t run, void *arg);

static int walk_one(const struct type *type, MPI_Aint at, run_fn_t run, void *arg)
{
    int stop = 0;

    if (type->leaf != LEAF_NONE)
        return run(arg, at, 1, type);
    if (type->child != NULL)
        return walk(type->child, type->n, type->stride, at, run, arg);
    for (MPI_Count i = 0; i < type->n && stop == 0; i++) {
        const struct piece *piece = &type->pieces[i];

        stop = walk(piece->type, piece->count, piece->type->extent, at + piece->disp, run, arg);
    }
    return stop;
}

static int walk(const struct type *type, MPI_Count count, MPI_Count stride, MPI_Aint at,
                run_fn_t run, void *arg)
{
    int stop = 0;

    if (type->size == 0)
        return 0;
    if (type->is_dense && type->basic != NULL) {
        MPI_Count leaves = type->size / type->basic->size;

        if (stride == type->size)
            return count > 0 ? run(arg, at + type->true_lb, count * leaves, type->basic) : 0;
        for (MPI_Count i = 0; i < count && stop == 0; i++)
            stop = run(arg, at + i * stride + type->true_lb, leaves, type->basic);
        return stop;
    }
    for (MPI_Count i = 0; i < count && stop == 0; i++)
        stop = walk_one(type, at + i * stride, run, arg);
    return stop;
}

int mpi_type_walk(const struct type *type, MPI_Count count, MPI_Aint offset, run_fn_t run,
                  void *arg)
{
    return walk(type, count, type->extent, offset, run, arg);
}

/* ---- to close together and back ---- */
struct copying {
    char *buf;
    char *packed;
    MPI_Count left;
};

static int run_pack(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf)
{
    struct copying *copying = arg;
    size_t nbytes = (size_t)(count * leaf->size);

    memcpy(copying->packed, AT(copying->buf, offset), nbytes);
    copying->packed += nbytes;
    return 0;
}

static int run_unpack(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf)
{
    struct copying *copying = arg;
    size_t nbytes = (size_t)MIN(count * leaf->size, copying->left);

    memcpy(AT(copying->buf, offset), copying->packed, nbytes);
    copying->packed += nbytes;
    copying->left -= (MPI_Count)nbytes;
    return copying->left == 0;
}

void mpi_pack(const void *buf, MPI_Count count, const struct type *type, void *packed)
{
    struct copying copying = {AT(buf, 0), packed, 0};

    mpi_type_walk(type, count, 0, run_pack, &copying);
}

MPI_Count mpi_unpack(const void *packed, MPI_Count nbytes, void *buf, MPI_Count count,
                     const struct type *type)
{
    struct copying copying = {buf, AT(packed, 0), nbytes};

    if (nbytes > 0)
        mpi_type_walk(type, count, 0, run_unpack, &copying);
    return nbytes - copying.left;
}
