/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Groups: the library's, in handles; ranges are written out. MPI_GROUP_EMPTY is made when needed.
 */
#include <stdlib.h>

#include "mpi_priv.h"

struct group {
    mcomm_group_t inner;
};
static struct group empty;

/* The library makes an empty group of any other. */
static mcomm_group_t empty_get(void)
{
    mcomm_group_t self;

    mpi_lock();
    if (empty.inner == MCOMM_GROUP_NULL &&
        mcomm_comm_group(mcomm_comm_self(), &self) == MCOMM_SUCCESS) {
        mcomm_group_incl(self, 0, NULL, &empty.inner);
        mcomm_group_free(&self);
    }
    mpi_unlock();
    return empty.inner;
}

void mpi_group_down(void)
{
    if (empty.inner != MCOMM_GROUP_NULL)
        mcomm_group_free(&empty.inner);
}

mcomm_group_t mpi_group_inner(MPI_Group handle)
{
    struct group *group;

    if (handle == MPI_GROUP_EMPTY)
        return empty_get();
    group = mpi_handle_get(KIND_GROUP, handle);
    return group != NULL ? group->inner : MCOMM_GROUP_NULL;
}

int mpi_group_new(mcomm_group_t inner, MPI_Group *handle_p)
{
    struct group *group;
    int size = 0;
    void *handle;

    mcomm_group_size(inner, &size);
    if (size == 0) {
        mcomm_group_free(&inner);
        *handle_p = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    group = malloc(sizeof(*group));
    handle = group != NULL ? mpi_handle_new(KIND_GROUP, group) : NULL;
    if (handle == NULL) {
        free(group);
        mcomm_group_free(&inner);
        return mpi_no_mem(NULL, sizeof(*group));
    }
    group->inner = inner;
    *handle_p = handle;
    return MPI_SUCCESS;
}

#define GET_GROUP(group, handle)                                                                   \
    mcomm_group_t group = mpi_group_inner(handle);                                                 \
    if (group == MCOMM_GROUP_NULL)                                                                 \
    return mpi_fail(NULL, MPI_ERR_GROUP, "group %p is none", (void *)(handle))

static int group_done(mcomm_err_t err, mcomm_group_t made, MPI_Group *handle_p)
{
    return err == MCOMM_SUCCESS ? mpi_group_new(made, handle_p) : mpi_fail_mcomm(NULL, err);
}

DEF(int, Group_size, (MPI_Group handle, int *size_p))
{
    GET_GROUP(group, handle);
    return mpi_done(NULL, mcomm_group_size(group, size_p));
}

DEF(int, Group_rank, (MPI_Group handle, int *rank_p))
{
    mcomm_err_t err;

    GET_GROUP(group, handle);
    err = mcomm_group_rank(group, rank_p);
    if (err == MCOMM_SUCCESS && *rank_p == MCOMM_RANK_UNDEFINED)
        *rank_p = MPI_UNDEFINED;
    return mpi_done(NULL, err);
}

DEF(int, Group_translate_ranks,
    (MPI_Group handle1, int n, const int ranks1[], MPI_Group handle2, int ranks2[]))
{
    mcomm_err_t err = MCOMM_SUCCESS;

    GET_GROUP(group1, handle1);
    GET_GROUP(group2, handle2);
    if (n < 0)
        return mpi_fail(NULL, MPI_ERR_ARG, "n = %d", n);
    for (int i = 0; i < n && err == MCOMM_SUCCESS; i++) {
        if (ranks1[i] == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
        }
        err = mcomm_group_translate(group1, 1, &ranks1[i], group2, &ranks2[i]);
        if (err == MCOMM_SUCCESS && ranks2[i] == MCOMM_RANK_UNDEFINED)
            ranks2[i] = MPI_UNDEFINED;
    }
    return mpi_done(NULL, err);
}

static const int compared[] = {[MCOMM_IDENT] = MPI_IDENT,
                               [MCOMM_CONGRUENT] = MPI_CONGRUENT,
                               [MCOMM_SIMILAR] = MPI_SIMILAR,
                               [MCOMM_UNEQUAL] = MPI_UNEQUAL};

DEF(int, Group_compare, (MPI_Group handle1, MPI_Group handle2, int *result_p))
{
    mcomm_compare_t result;
    mcomm_err_t err;

    GET_GROUP(group1, handle1);
    GET_GROUP(group2, handle2);
    err = mcomm_group_compare(group1, group2, &result);
    if (err == MCOMM_SUCCESS)
        *result_p = compared[result];
    return mpi_done(NULL, err);
}

DEF(int, Comm_compare, (MPI_Comm handle1, MPI_Comm handle2, int *result_p))
{
    mcomm_compare_t result;
    mcomm_err_t err;

    GET_COMM(comm1, handle1);
    GET_COMM(comm2, handle2);
    err = mcomm_comm_compare(comm1->inner, comm2->inner, &result);
    if (err == MCOMM_SUCCESS)
        *result_p = compared[result];
    return mpi_done(&comm1->owner, err);
}

#define GROUP_OF_TWO(Name, name)                                                                   \
    DEF(int, Group_##Name, (MPI_Group handle1, MPI_Group handle2, MPI_Group * handle_p))           \
    {                                                                                              \
        mcomm_group_t made;                                                                        \
        mcomm_err_t err;                                                                           \
                                                                                                   \
        GET_GROUP(group1, handle1);                                                                \
        GET_GROUP(group2, handle2);                                                                \
        err = mcomm_group_##name(group1, group2, &made);                                           \
        return group_done(err, made, handle_p);                                                    \
    }
GROUP_OF_TWO(union, union)
GROUP_OF_TWO(intersection, intersection)
GROUP_OF_TWO(difference, difference)

/* ranks of ranges (first, last, stride), written out in *list_p */
static int ranges_list(int n, int ranges[][3], int **list_p, size_t *count_p)
{
    size_t count = 0, room = 0;
    int *list = NULL, *grown;

    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], end = ranges[i][1], stride = ranges[i][2];

        if (stride == 0) {
            free(list);
            return mpi_fail(NULL, MPI_ERR_ARG, "range %d has stride 0", i);
        }
        for (int rank = first; stride > 0 ? rank <= end : rank >= end; rank += stride) {
            if (count == room) {
                room = room == 0 ? 64 : 2 * room;
                grown = realloc(list, room * sizeof(*list));
                if (grown == NULL) {
                    free(list);
                    return mpi_no_mem(NULL, room * sizeof(*list));
                }
                list = grown;
            }
            list[count++] = rank;
        }
    }
    *list_p = list;
    *count_p = count;
    return MPI_SUCCESS;
}

#define GROUP_OF_RANKS(name)                                                                       \
    DEF(int, Group_##name, (MPI_Group handle, int n, const int ranks[], MPI_Group *handle_p))      \
    {                                                                                              \
        mcomm_group_t made;                                                                        \
        mcomm_err_t err;                                                                           \
                                                                                                   \
        GET_GROUP(group, handle);                                                                  \
        if (n < 0)                                                                                 \
            return mpi_fail(NULL, MPI_ERR_ARG, "n = %d", n);                                       \
        err = mcomm_group_##name(group, (size_t)n, ranks, &made);                                  \
        return group_done(err, made, handle_p);                                                    \
    }                                                                                              \
    DEF(int, Group_range_##name, (MPI_Group handle, int n, int ranges[][3], MPI_Group *handle_p))  \
    {                                                                                              \
        mcomm_group_t made;                                                                        \
        mcomm_err_t err;                                                                           \
        size_t count;                                                                              \
        int *list, code;                                                                           \
                                                                                                   \
        GET_GROUP(group, handle);                                                                  \
        code = ranges_list(n, ranges, &list, &count);                                              \
        if (code != MPI_SUCCESS)                                                                   \
            return code;                                                                           \
        err = mcomm_group_##name(group, count, list, &made);                                       \
        free(list);                                                                                \
        return group_done(err, made, handle_p);                                                    \
    }
GROUP_OF_RANKS(incl)
GROUP_OF_RANKS(excl)

DEF(int, Group_free, (MPI_Group * handle_p))
{
    struct group *group = mpi_handle_get(KIND_GROUP, *handle_p);

    if (group == NULL && *handle_p != MPI_GROUP_EMPTY)
        return mpi_fail(NULL, MPI_ERR_GROUP, "group %p is none", (void *)*handle_p);
    if (group != NULL) {
        mcomm_group_free(&group->inner);
        mpi_handle_free(*handle_p);
        free(group);
    }
    *handle_p = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

DEF(int, Comm_group, (MPI_Comm handle, MPI_Group *handle_p))
{
    mcomm_group_t made;
    mcomm_err_t err;

    GET_COMM(comm, handle);
    err = mcomm_comm_group(comm->inner, &made);
    return err == MCOMM_SUCCESS ? mpi_group_new(made, handle_p) : mpi_fail_mcomm(&comm->owner, err);
}
