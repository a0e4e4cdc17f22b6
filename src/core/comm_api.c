/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Exported functions on communicators: check, lock, call comm.c and comm_make.c. */
#include "config.h"

#include "core/core_priv.h"

#include <limits.h>
#include <string.h>

#include "base/info.h"

mcomm_comm_t mcomm_comm_world(void)
{
    if (atomic_load_explicit(&mci_core_phase, memory_order_acquire) != MCI_CORE_UP)
        return MCOMM_COMM_NULL;
    return mci_core.world->handle;
}

mcomm_comm_t mcomm_comm_self(void)
{
    if (atomic_load_explicit(&mci_core_phase, memory_order_acquire) != MCI_CORE_UP)
        return MCOMM_COMM_NULL;
    return mci_core.self->handle;
}

mcomm_err_t mci_comm_enter(mcomm_comm_t handle, const char *name, const void *out,
                           struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, comm_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer(name, out);
    if (err != MCOMM_SUCCESS)
        mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_comm_rank(mcomm_comm_t handle, int *rank_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "rank_p", rank_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    *rank_p = comm->rank;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_size(mcomm_comm_t handle, int *size_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "size_p", size_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    *size_p = comm->size;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_node_count(mcomm_comm_t handle, int *count_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "count_p", count_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    *count_p = comm->node_count;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

/* lock: engine */
static mcomm_err_t compare(mcomm_comm_t handle_a, mcomm_comm_t handle_b, mcomm_compare_t *result_p)
{
    struct mci_comm *a, *b;
    mcomm_compare_t result;
    mcomm_err_t err = mci_comm_lookup("a", handle_a, &a);

    if (err == MCOMM_SUCCESS)
        err = mci_comm_lookup("b", handle_b, &b);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("result_p", result_p);
    if (err != MCOMM_SUCCESS)
        return err;
    result = mci_group_compare(a->group, b->group);
    if (result == MCOMM_IDENT && a != b)
        result = MCOMM_CONGRUENT;
    *result_p = result;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_compare(mcomm_comm_t a, mcomm_comm_t b, mcomm_compare_t *result_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = compare(a, b, result_p);
    mci_engine_unlock();
    return err;
}

static mcomm_err_t make_leave(mcomm_err_t err, struct mci_comm *made, const void *made_at,
                              mcomm_comm_t *newcomm_p)
{
    if (err == MCOMM_SUCCESS) {
        if (made != NULL)
            made->made_at = made_at;
        *newcomm_p = made != NULL ? made->handle : MCOMM_COMM_NULL;
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_comm_dup(mcomm_comm_t handle, mcomm_info_t info, mcomm_comm_t *newcomm_p)
{
    struct mci_comm *comm, *made = NULL;
    struct mci_info *hints;
    mcomm_err_t err = mci_comm_enter(handle, "newcomm_p", newcomm_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_info_get(info, &hints);
    if (err == MCOMM_SUCCESS)
        err = mci_comm_dup(comm, hints, &made);
    return make_leave(err, made, __builtin_return_address(0), newcomm_p);
}

mcomm_err_t mcomm_comm_split(mcomm_comm_t handle, int colour, int key, mcomm_comm_t *newcomm_p)
{
    struct mci_comm *comm, *made = NULL;
    mcomm_err_t err = mci_comm_enter(handle, "newcomm_p", newcomm_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    if (colour < 0 && colour != MCOMM_RANK_UNDEFINED)
        err = mci_err_set(MCOMM_ERR_ARG, "colour = %d: 0 or more, or MCOMM_RANK_UNDEFINED", colour);
    else
        err = mci_comm_split(comm, colour, key, &made);
    return make_leave(err, made, __builtin_return_address(0), newcomm_p);
}

mcomm_err_t mcomm_comm_split_node(mcomm_comm_t handle, int key, mcomm_comm_t *newcomm_p)
{
    struct mci_comm *comm, *made = NULL;
    mcomm_err_t err = mci_comm_enter(handle, "newcomm_p", newcomm_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_comm_split(comm, comm->node_of[comm->rank], key, &made);
    return make_leave(err, made, __builtin_return_address(0), newcomm_p);
}

static mcomm_err_t check_create_group(mcomm_group_t handle, int tag, struct mci_group **group_p)
{
    mcomm_err_t err = mci_group_lookup("group", handle, group_p);

    if (err != MCOMM_SUCCESS)
        return err;
    if (tag < 0)
        return mci_err_set(MCOMM_ERR_TAG, "tag = %d: 0 or more", tag);
    if ((*group_p)->rank == MCOMM_RANK_UNDEFINED)
        return mci_err_set(MCOMM_ERR_GROUP, "group of %d does not hold the calling process",
                           (*group_p)->size);
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_create_group(mcomm_comm_t handle, mcomm_group_t group_handle, int tag,
                                    mcomm_comm_t *newcomm_p)
{
    struct mci_comm *comm, *made = NULL;
    struct mci_group *group;
    mcomm_err_t err = mci_comm_enter(handle, "newcomm_p", newcomm_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_create_group(group_handle, tag, &group);
    if (err == MCOMM_SUCCESS)
        err = mci_comm_create_group(comm, group, tag, &made);
    return make_leave(err, made, __builtin_return_address(0), newcomm_p);
}

mcomm_err_t mcomm_comm_create_oob(const mcomm_oob_t *oob, mcomm_comm_t *newcomm_p)
{
    struct mci_comm *made;
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("oob", oob);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("newcomm_p", newcomm_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_oob("oob", oob);
    if (err == MCOMM_SUCCESS)
        err = mci_comm_create_oob(oob, &made);
    if (err != MCOMM_SUCCESS)
        return err;
    made->made_at = __builtin_return_address(0);
    *newcomm_p = made->handle;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_free(mcomm_comm_t *comm_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("comm_p", comm_p);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("*comm_p", *comm_p, &comm);
    if (err == MCOMM_SUCCESS && (comm == mci_core.world || comm == mci_core.self))
        err = mci_err_set(MCOMM_ERR_COMM, "*comm_p is %s, which cannot be freed",
                          comm == mci_core.world ? "MCOMM_COMM_WORLD" : "MCOMM_COMM_SELF");
    if (err == MCOMM_SUCCESS) {
        mci_comm_free(comm);
        *comm_p = MCOMM_COMM_NULL;
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_comm_set_name(mcomm_comm_t handle, const char *name)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "name", name, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    if (strnlen(name, sizeof(comm->name)) == sizeof(comm->name))
        err = mci_err_set(MCOMM_ERR_ARG, "name = \"%.20s...\" is longer than %zu characters", name,
                          sizeof(comm->name) - 1);
    else
        strcpy(comm->name, name);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_comm_get_name(mcomm_comm_t handle, const char **name_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "name_p", name_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    *name_p = comm->name;
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_comm_set_timeout(mcomm_comm_t handle, int timeout_ms)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, &comm);
    if (err == MCOMM_SUCCESS)
        err = mci_check_timeout("timeout_ms", timeout_ms);
    if (err == MCOMM_SUCCESS)
        comm->timeout_ms = timeout_ms;
    mci_engine_unlock();
    return err;
}
