/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Exported functions on groups: check, lock, call group.c. */
#include "config.h"

#include "core/core_priv.h"

#include <stddef.h>

#include "base/mem.h"

/* group: a reference that goes to the handle, or is given up; NULL: there was no memory. lock:
 * engine */
static mcomm_err_t group_publish(struct mci_group *group, mcomm_group_t *group_p)
{
    void *handle = NULL;

    if (group != NULL)
        handle = mci_handle_new(MCI_HANDLE_GROUP, group);
    if (handle == NULL) {
        mci_group_unref(group);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a group");
    }
    *group_p = handle;
    return MCOMM_SUCCESS;
}

/* Are ranks[0..count) ranks of the group, each at most once? */
static mcomm_err_t check_ranks(const struct mci_group *group, size_t count, const int *ranks)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    char *seen;

    if (count == 0)
        return MCOMM_SUCCESS;
    if (count > (size_t)group->size)
        return mci_err_set(MCOMM_ERR_COUNT,
                           "count = %zu (%td if it was negative) for a group of %d", count,
                           (ptrdiff_t)count, group->size);
    if (ranks == NULL)
        return mci_check_pointer("ranks", ranks);
    seen = mci_mem_zalloc((size_t)group->size);
    if (seen == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory to check %zu ranks", count);
    for (size_t i = 0; i < count && err == MCOMM_SUCCESS; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size)
            err = mci_err_set(MCOMM_ERR_RANK, "ranks[%zu] = %d in a group of %d", i, ranks[i],
                              group->size);
        else if (seen[ranks[i]]++)
            err = mci_err_set(MCOMM_ERR_RANK, "ranks[%zu] = %d comes twice", i, ranks[i]);
    }
    mci_mem_free(seen);
    return err;
}

mcomm_err_t mcomm_comm_group(mcomm_comm_t handle, mcomm_group_t *group_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "group_p", group_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = group_publish(mci_group_ref(comm->group), group_p);
    mci_engine_unlock();
    return err;
}

/* On success the engine lock is held, so that no other thread frees the group meanwhile. */
static mcomm_err_t group_enter(mcomm_group_t handle, const char *name, const void *out,
                               struct mci_group **group_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_group_lookup("group", handle, group_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer(name, out);
    if (err != MCOMM_SUCCESS)
        mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_group_size(mcomm_group_t handle, int *size_p)
{
    struct mci_group *group;
    mcomm_err_t err = group_enter(handle, "size_p", size_p, &group);

    if (err != MCOMM_SUCCESS)
        return err;
    *size_p = group->size;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_group_rank(mcomm_group_t handle, int *rank_p)
{
    struct mci_group *group;
    mcomm_err_t err = group_enter(handle, "rank_p", rank_p, &group);

    if (err != MCOMM_SUCCESS)
        return err;
    *rank_p = group->rank;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

/* What incl and excl have in common. */
static mcomm_err_t subset(mcomm_group_t handle, size_t count, const int *ranks,
                          struct mci_group *(*make)(struct mci_group *, size_t, const int *),
                          mcomm_group_t *group_p)
{
    struct mci_group *group;
    mcomm_err_t err = group_enter(handle, "group_p", group_p, &group);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_ranks(group, count, ranks);
    if (err == MCOMM_SUCCESS)
        err = group_publish(make(group, count, ranks), group_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_group_incl(mcomm_group_t group, size_t count, const int *ranks,
                             mcomm_group_t *group_p)
{
    return subset(group, count, ranks, mci_group_incl, group_p);
}

mcomm_err_t mcomm_group_excl(mcomm_group_t group, size_t count, const int *ranks,
                             mcomm_group_t *group_p)
{
    return subset(group, count, ranks, mci_group_excl, group_p);
}

static struct mci_group *group_intersection(struct mci_group *a, struct mci_group *b)
{
    return mci_group_select(a, b, true);
}

static struct mci_group *group_difference(struct mci_group *a, struct mci_group *b)
{
    return mci_group_select(a, b, false);
}

/* As group_enter(), for two. */
static mcomm_err_t enter_two(mcomm_group_t handle_a, mcomm_group_t handle_b, struct mci_group **a_p,
                             struct mci_group **b_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_group_lookup("a", handle_a, a_p);
    if (err == MCOMM_SUCCESS)
        err = mci_group_lookup("b", handle_b, b_p);
    if (err != MCOMM_SUCCESS)
        mci_engine_unlock();
    return err;
}

static mcomm_err_t combine(mcomm_group_t handle_a, mcomm_group_t handle_b,
                           struct mci_group *(*make)(struct mci_group *, struct mci_group *),
                           mcomm_group_t *group_p)
{
    struct mci_group *a, *b;
    mcomm_err_t err = enter_two(handle_a, handle_b, &a, &b);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_check_pointer("group_p", group_p);
    if (err == MCOMM_SUCCESS)
        err = group_publish(make(a, b), group_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_group_union(mcomm_group_t a, mcomm_group_t b, mcomm_group_t *group_p)
{
    return combine(a, b, mci_group_union, group_p);
}

mcomm_err_t mcomm_group_intersection(mcomm_group_t a, mcomm_group_t b, mcomm_group_t *group_p)
{
    return combine(a, b, group_intersection, group_p);
}

mcomm_err_t mcomm_group_difference(mcomm_group_t a, mcomm_group_t b, mcomm_group_t *group_p)
{
    return combine(a, b, group_difference, group_p);
}

static mcomm_err_t check_translate(const struct mci_group *a, size_t count, const int *ranks_a,
                                   const int *ranks_b)
{
    mcomm_err_t err = mci_check_count("count", count, sizeof(int));

    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_pointer("ranks_a", ranks_a);
    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_pointer("ranks_b_p", ranks_b);
    for (size_t i = 0; err == MCOMM_SUCCESS && i < count; i++) {
        if (ranks_a[i] != MCOMM_RANK_NULL && (ranks_a[i] < 0 || ranks_a[i] >= a->size))
            err = mci_err_set(MCOMM_ERR_RANK, "ranks_a[%zu] = %d in a group of %d", i, ranks_a[i],
                              a->size);
    }
    return err;
}

static void translate(const struct mci_group *a, size_t count, const int *ranks_a,
                      const struct mci_group *b, int *ranks_b)
{
    for (size_t i = 0; i < count; i++) {
        int index;

        if (ranks_a[i] == MCOMM_RANK_NULL) {
            ranks_b[i] = MCOMM_RANK_NULL;
            continue;
        }
        index = mci_group_index(b, a->peers[ranks_a[i]]);
        ranks_b[i] = index >= 0 ? index : MCOMM_RANK_UNDEFINED;
    }
}

mcomm_err_t mcomm_group_translate(mcomm_group_t handle_a, size_t count, const int *ranks_a,
                                  mcomm_group_t handle_b, int *ranks_b_p)
{
    struct mci_group *a, *b;
    mcomm_err_t err = enter_two(handle_a, handle_b, &a, &b);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_translate(a, count, ranks_a, ranks_b_p);
    if (err == MCOMM_SUCCESS)
        translate(a, count, ranks_a, b, ranks_b_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_group_compare(mcomm_group_t handle_a, mcomm_group_t handle_b,
                                mcomm_compare_t *result_p)
{
    struct mci_group *a, *b;
    mcomm_err_t err = enter_two(handle_a, handle_b, &a, &b);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_check_pointer("result_p", result_p);
    if (err == MCOMM_SUCCESS)
        *result_p = mci_group_compare(a, b);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_group_free(mcomm_group_t *group_p)
{
    struct mci_group *group;
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("group_p", group_p);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_group_lookup("*group_p", *group_p, &group);
    if (err == MCOMM_SUCCESS) {
        mci_handle_free(MCI_HANDLE_GROUP, *group_p);
        mci_group_unref(group);
        *group_p = MCOMM_GROUP_NULL;
    }
    mci_engine_unlock();
    return err;
}
