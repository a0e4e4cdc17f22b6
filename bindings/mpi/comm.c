/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Communicators: the library's, with MPI's error handler, attributes, name, info and topology. An
 * object lives until its handle and the last request on it are gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

struct comm mpi_world = {.owner = {KIND_COMM, MPI_COMM_WORLD, &mpi_errors_are_fatal},
                         .name = "MPI_COMM_WORLD"};
struct comm mpi_self = {.owner = {KIND_COMM, MPI_COMM_SELF, &mpi_errors_are_fatal},
                        .name = "MPI_COMM_SELF"};

int mpi_bad_comm(MPI_Comm handle)
{
    if (!mpi_is_up)
        return mpi_fail(NULL, MPI_ERR_OTHER, "MPI is not initialized, or finalized");
    return mpi_fail(NULL, MPI_ERR_COMM, "comm %p is none", (void *)handle);
}

/* ---- life ---- */
void mpi_comm_ref(struct comm *comm)
{
    __atomic_add_fetch(&comm->refs, 1, __ATOMIC_RELAXED);
}

void mpi_comm_unref(struct comm *comm)
{
    if (__atomic_sub_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL) > 0 || comm == &mpi_world ||
        comm == &mpi_self)
        return;
    mpi_errhandler_unref(comm->owner.errhandler);
    free(comm);
}

int mpi_comm_new(struct comm *parent, mcomm_comm_t inner, MPI_Comm *handle_p)
{
    struct comm *comm;

    if (inner == MCOMM_COMM_NULL) {
        *handle_p = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    comm = calloc(1, sizeof(*comm));
    if (comm == NULL)
        return mpi_no_mem(&parent->owner, sizeof(*comm));
    comm->owner =
        (struct owner){KIND_COMM, mpi_handle_new(KIND_COMM, comm), parent->owner.errhandler};
    if (comm->owner.handle == NULL) {
        free(comm);
        return mpi_no_mem(&parent->owner, sizeof(*comm));
    }
    mpi_errhandler_ref(comm->owner.errhandler);
    comm->inner = inner;
    comm->refs = 1;
    mcomm_comm_rank(inner, &comm->rank);
    mcomm_comm_size(inner, &comm->size);
    *handle_p = comm->owner.handle;
    return MPI_SUCCESS;
}

static int comm_done(struct comm *parent, mcomm_err_t err, mcomm_comm_t inner, MPI_Comm *handle_p)
{
    return err == MCOMM_SUCCESS ? mpi_comm_new(parent, inner, handle_p)
                                : mpi_fail_mcomm(&parent->owner, err);
}

int mpi_comm_release(struct comm *comm)
{
    int code = mpi_attrs_free(KIND_COMM, comm->owner.handle, &comm->attrs);

    if (code != MPI_SUCCESS)
        return code;
    mpi_bsend_end(&comm->buffer);
    mpi_info_free(comm->info);
    comm->info = NULL;
    mpi_cart_free(comm->cart);
    comm->cart = NULL;
    return MPI_SUCCESS;
}

DEF(int, Comm_free, (MPI_Comm * handle_p))
{
    mcomm_err_t err;
    int code;

    GET_COMM(comm, *handle_p);
    if (comm == &mpi_world || comm == &mpi_self)
        return mpi_fail(&comm->owner, MPI_ERR_COMM, "%s cannot be freed", comm->name);
    code = mpi_comm_release(comm);
    if (code != MPI_SUCCESS)
        return code;
    err = mcomm_comm_free(&comm->inner);
    mpi_handle_free(*handle_p);
    *handle_p = MPI_COMM_NULL;
    code = mpi_done(&comm->owner, err);
    mpi_comm_unref(comm);
    return code;
}

/* Who disconnects has nothing under way; then only the others are waited for. */
DEF(int, Comm_disconnect, (MPI_Comm * handle_p))
{
    mcomm_err_t err;

    GET_COMM(comm, *handle_p);
    err = mcomm_barrier(comm->inner);
    if (err != MCOMM_SUCCESS)
        return mpi_fail_mcomm(&comm->owner, err);
    return PMPI_Comm_free(handle_p);
}

/* ---- what is known of one ---- */
DEF(int, Comm_rank, (MPI_Comm handle, int *rank_p))
{
    GET_COMM(comm, handle);
    *rank_p = comm->rank;
    return MPI_SUCCESS;
}

DEF(int, Comm_size, (MPI_Comm handle, int *size_p))
{
    GET_COMM(comm, handle);
    *size_p = comm->size;
    return MPI_SUCCESS;
}

DEF(int, Comm_test_inter, (MPI_Comm handle, int *flag))
{
    GET_COMM(comm, handle);
    *flag = 0;
    return MPI_SUCCESS;
}

static int not_inter(const struct comm *comm)
{
    return mpi_fail(&comm->owner, MPI_ERR_COMM,
                    "comm is no intercommunicator: it has no remote group");
}

DEF(int, Comm_remote_size, (MPI_Comm handle, int *size_p))
{
    (void)size_p;
    GET_COMM(comm, handle);
    return not_inter(comm);
}

DEF(int, Comm_remote_group, (MPI_Comm handle, MPI_Group *group_p))
{
    (void)group_p;
    GET_COMM(comm, handle);
    return not_inter(comm);
}

DEF(int, Comm_get_parent, (MPI_Comm * parent_p)) /* nobody is spawned */
{
    *parent_p = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

DEF(int, Comm_set_name, (MPI_Comm handle, const char *name))
{
    GET_COMM(comm, handle);
    snprintf(comm->name, sizeof(comm->name), "%s", name);
    return MPI_SUCCESS;
}

DEF(int, Comm_get_name, (MPI_Comm handle, char *name, int *length_p))
{
    struct comm *comm = mpi_comm_get(handle);

    if (comm == NULL && (handle != MPI_COMM_NULL || !mpi_is_up))
        return mpi_bad_comm(handle);
    strcpy(name, comm != NULL ? comm->name : "MPI_COMM_NULL");
    *length_p = (int)strlen(name);
    return MPI_SUCCESS;
}

DEF(int, Comm_set_info, (MPI_Comm handle, MPI_Info info))
{
    struct info *copy;

    GET_COMM(comm, handle);
    if (mpi_info_check(&comm->owner, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    copy = mpi_info_dup(mpi_info_get(info));
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    mpi_info_free(comm->info);
    comm->info = copy;
    return MPI_SUCCESS;
}

DEF(int, Comm_get_info, (MPI_Comm handle, MPI_Info *info_p))
{
    GET_COMM(comm, handle);
    return mpi_info_publish(mpi_info_dup(comm->info), info_p);
}

/* ---- making others ---- */
/* The hints that the library knows, as one of its info objects; MCOMM_INFO_NULL: none. */
static mcomm_err_t hints_of(const struct info *info, mcomm_info_t *hints_p)
{
    static const char *const keys[] = {"deterministic", "coll"};
    mcomm_err_t err = MCOMM_SUCCESS;

    *hints_p = MCOMM_INFO_NULL;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && err == MCOMM_SUCCESS; i++) {
        const char *value = mpi_info_find(info, keys[i]);

        if (value == NULL)
            continue;
        if (*hints_p == MCOMM_INFO_NULL)
            err = mcomm_info_create(hints_p);
        if (err == MCOMM_SUCCESS)
            err = mcomm_info_set(*hints_p, keys[i], value);
    }
    return err;
}

static struct cart *cart_dup(const struct cart *cart)
{
    size_t room;
    struct cart *copy;

    if (cart == NULL)
        return NULL;
    room = (size_t)cart->ndims * sizeof(int);
    copy = malloc(sizeof(*copy) + 3 * room);
    if (copy == NULL)
        return NULL;
    copy->ndims = cart->ndims;
    copy->dims = (int *)(copy + 1);
    copy->periods = copy->dims + cart->ndims;
    copy->coords = copy->periods + cart->ndims;
    memcpy(copy->dims, cart->dims, room);
    memcpy(copy->periods, cart->periods, room);
    memcpy(copy->coords, cart->coords, room);
    return copy;
}

static int comm_dup(MPI_Comm handle, bool has_info, MPI_Info given, MPI_Comm *handle_p)
{
    struct comm *made;
    const struct info *info;
    mcomm_info_t hints;
    mcomm_comm_t inner = MCOMM_COMM_NULL;
    MPI_Comm new_handle;
    mcomm_err_t err;
    int code;

    GET_COMM(comm, handle);
    if (has_info && mpi_info_check(&comm->owner, given) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    info = has_info ? mpi_info_get(given) : comm->info;
    err = hints_of(info, &hints);
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_dup(comm->inner, hints, &inner);
    if (hints != MCOMM_INFO_NULL)
        mcomm_info_free(&hints);
    code = comm_done(comm, err, inner, &new_handle);
    if (code != MPI_SUCCESS)
        return code;
    made = mpi_comm_get(new_handle);
    made->info = mpi_info_dup(info);
    made->cart = cart_dup(comm->cart);
    code = mpi_attrs_copy(KIND_COMM, handle, &comm->attrs, &made->attrs);
    if (code != MPI_SUCCESS) {
        PMPI_Comm_free(&new_handle);
        return code;
    }
    *handle_p = new_handle;
    return MPI_SUCCESS;
}

DEF(int, Comm_dup, (MPI_Comm handle, MPI_Comm *handle_p))
{
    return comm_dup(handle, false, MPI_INFO_NULL, handle_p);
}

DEF(int, Comm_dup_with_info, (MPI_Comm handle, MPI_Info info, MPI_Comm *handle_p))
{
    return comm_dup(handle, true, info, handle_p);
}

DEF(int, Comm_split, (MPI_Comm handle, int colour, int key, MPI_Comm *handle_p))
{
    mcomm_comm_t inner = MCOMM_COMM_NULL;
    mcomm_err_t err;

    GET_COMM(comm, handle);
    if (colour < 0 && colour != MPI_UNDEFINED)
        return mpi_fail(&comm->owner, MPI_ERR_ARG, "color %d", colour);
    err = mcomm_comm_split(comm->inner, colour == MPI_UNDEFINED ? MCOMM_RANK_UNDEFINED : colour,
                           key, &inner);
    return comm_done(comm, err, inner, handle_p);
}

/* One kind of hardware is known: what shares memory. */
DEF(int, Comm_split_type,
    (MPI_Comm handle, int split_type, int key, MPI_Info info, MPI_Comm *handle_p))
{
    mcomm_peer_desc_t me = {.struct_size = sizeof(me)};
    const char *resource;
    bool is_node;
    mcomm_comm_t inner = MCOMM_COMM_NULL;
    mcomm_err_t err;

    GET_COMM(comm, handle);
    if (mpi_info_check(&comm->owner, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    resource = mpi_info_find(mpi_info_get(info), "mpi_hw_resource_type");
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        is_node = true;
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        is_node = resource != NULL && strcmp(resource, "mpi_shared_memory") == 0;
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
    case MPI_UNDEFINED:
        is_node = false;
        break;
    default:
        return mpi_fail(&comm->owner, MPI_ERR_ARG, "split_type %d", split_type);
    }
    err = mcomm_peer_query(comm->inner, comm->rank, 0, &me);
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_split(comm->inner, is_node ? me.node : MCOMM_RANK_UNDEFINED, key, &inner);
    return comm_done(comm, err, inner, handle_p);
}

/* Of groups that are disjoint on different ranks, each is its first member's colour. */
DEF(int, Comm_create, (MPI_Comm handle, MPI_Group group_handle, MPI_Comm *handle_p))
{
    mcomm_group_t all, group = mpi_group_inner(group_handle);
    int rank, first = 0, colour = MCOMM_RANK_UNDEFINED;
    mcomm_comm_t inner = MCOMM_COMM_NULL;
    mcomm_err_t err;

    GET_COMM(comm, handle);
    if (group == MCOMM_GROUP_NULL)
        return mpi_fail(&comm->owner, MPI_ERR_GROUP, "group %p is none", (void *)group_handle);
    err = mcomm_group_rank(group, &rank);
    if (err == MCOMM_SUCCESS && rank != MCOMM_RANK_UNDEFINED) {
        err = mcomm_comm_group(comm->inner, &all);
        if (err == MCOMM_SUCCESS) {
            err = mcomm_group_translate(group, 1, &first, all, &colour);
            mcomm_group_free(&all);
        }
    }
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_split(comm->inner, colour, rank < 0 ? 0 : rank, &inner);
    return comm_done(comm, err, inner, handle_p);
}

DEF(int, Comm_create_group, (MPI_Comm handle, MPI_Group group_handle, int tag, MPI_Comm *handle_p))
{
    mcomm_group_t group = mpi_group_inner(group_handle);
    mcomm_comm_t inner = MCOMM_COMM_NULL;
    mcomm_err_t err;
    int rank;

    GET_COMM(comm, handle);
    if (group == MCOMM_GROUP_NULL)
        return mpi_fail(&comm->owner, MPI_ERR_GROUP, "group %p is none", (void *)group_handle);
    err = mcomm_group_rank(group, &rank);
    if (err == MCOMM_SUCCESS && rank != MCOMM_RANK_UNDEFINED)
        err = mcomm_comm_create_group(comm->inner, group, tag, &inner);
    return comm_done(comm, err, inner, handle_p);
}

DEF(int, Comm_create_from_group,
    (MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler,
     MPI_Comm *handle_p))
{
    uint32_t tag = 2166136261u; /* FNV-1a of stringtag */
    int code;

    if (!mpi_is_up)
        return mpi_bad_comm(MPI_COMM_NULL);
    if (mpi_info_check(NULL, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    if (mpi_errhandler_get(errhandler) == NULL)
        return mpi_fail(NULL, MPI_ERR_ERRHANDLER, "errhandler %p is none", (void *)errhandler);
    for (const char *c = stringtag; *c != '\0'; c++)
        tag = (tag ^ (unsigned char)*c) * 16777619u;
    code = PMPI_Comm_create_group(MPI_COMM_WORLD, group, (int)(tag & INT32_MAX), handle_p);
    if (code == MPI_SUCCESS && *handle_p != MPI_COMM_NULL)
        code = PMPI_Comm_set_errhandler(*handle_p, errhandler);
    return code;
}
