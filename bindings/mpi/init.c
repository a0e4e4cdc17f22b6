/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Start and end: MPI_Init and every session are one use of the library each; the first makes
 * MPI_COMM_WORLD and MPI_COMM_SELF, the last takes them away. And what belongs to no object.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_priv.h"

bool mpi_is_up;
int mpi_thread_level = MPI_THREAD_SINGLE;
static int num_users;
static enum {
    BEFORE,
    DURING,
    AFTER
} world_state;
static pthread_t main_thread;

static bool is_level(int level)
{
    return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED ||
           level == MPI_THREAD_SERIALIZED || level == MPI_THREAD_MULTIPLE;
}

static void comm_up(struct comm *comm, mcomm_comm_t inner)
{
    comm->inner = inner;
    comm->refs = 1;
    mcomm_comm_rank(inner, &comm->rank);
    mcomm_comm_size(inner, &comm->size);
}

/* One more user, who wants this thread level. */
int mpi_up(int level)
{
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    mcomm_err_t err;

    if (level < MPI_THREAD_SERIALIZED)
        attr.thread_level = MCOMM_THREAD_SINGLE;
    err = mcomm_init(&attr);
    if (err != MCOMM_SUCCESS)
        return mpi_fail(NULL, MPI_ERR_OTHER, "%s", mcomm_last_error());
    if (num_users++ == 0) {
        comm_up(&mpi_world, mcomm_comm_world());
        comm_up(&mpi_self, mcomm_comm_self());
        mpi_thread_level = level;
        main_thread = pthread_self();
        mpi_is_up = true;
    }
    return MPI_SUCCESS;
}

int mpi_down(void)
{
    mcomm_err_t err;

    if (--num_users == 0) {
        mpi_requests_end();
        mpi_bsend_end(&mpi_bsend_buffer);
        mpi_group_down();
        mpi_comm_release(&mpi_world);
        mpi_is_up = false;
        mpi_world.inner = mpi_self.inner = MCOMM_COMM_NULL;
    }
    err = mcomm_finalize();
    return err == MCOMM_SUCCESS ? MPI_SUCCESS : mpi_fail_mcomm(NULL, err);
}

DEF(int, Init_thread, (int *argc, char ***argv, int required, int *provided))
{
    int code;

    (void)argc;
    (void)argv;
    if (world_state != BEFORE)
        return mpi_fail(NULL, MPI_ERR_OTHER, "MPI_Init was called before");
    if (!is_level(required))
        return mpi_fail(NULL, MPI_ERR_ARG, "required = %d is no thread level", required);
    code = mpi_up(required);
    if (code != MPI_SUCCESS)
        return code;
    world_state = DURING;
    *provided = mpi_thread_level;
    return MPI_SUCCESS;
}

DEF(int, Init, (int *argc, char ***argv))
{
    int provided;

    return PMPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

DEF(int, Finalize, (void))
{
    int code;

    if (world_state != DURING)
        return mpi_fail(NULL, MPI_ERR_OTHER, "MPI_Init was not called, or MPI_Finalize was before");
    code = mpi_comm_release(&mpi_self);
    if (code != MPI_SUCCESS)
        return code;
    world_state = AFTER;
    return mpi_down();
}

DEF(int, Initialized, (int *flag))
{
    *flag = world_state != BEFORE;
    return MPI_SUCCESS;
}

DEF(int, Finalized, (int *flag))
{
    *flag = world_state == AFTER;
    return MPI_SUCCESS;
}

DEF(int, Query_thread, (int *provided))
{
    *provided = mpi_thread_level;
    return MPI_SUCCESS;
}

DEF(int, Is_thread_main, (int *flag))
{
    *flag = mpi_is_up && pthread_equal(main_thread, pthread_self());
    return MPI_SUCCESS;
}

DEF(int, Abort, (MPI_Comm handle, int code))
{
    char text[64];

    (void)handle;
    snprintf(text, sizeof(text), "MPI_Abort(%d)", code);
    if (mpi_is_up)
        mcomm_abort(mcomm_comm_world(), code, text);
    exit(code);
}

/* ---- what belongs to no object ---- */
DEF(int, Get_version, (int *version, int *subversion))
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

DEF(int, Get_library_version, (char *version, int *length_p))
{
    int major, minor, patch;

    mcomm_get_version(&major, &minor, &patch);
    *length_p =
        snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Mooncake Comm %d.%d.%d, MPI %d.%d",
                 major, minor, patch, MPI_VERSION, MPI_SUBVERSION);
    return MPI_SUCCESS;
}

DEF(int, Abi_get_version, (int *major, int *minor))
{
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

static int info_of(const char *const (*pairs)[2], size_t count, MPI_Info *info_p)
{
    int code = PMPI_Info_create(info_p);

    for (size_t i = 0; i < count && code == MPI_SUCCESS; i++)
        code = PMPI_Info_set(*info_p, pairs[i][0], pairs[i][1]);
    return code;
}

#define TEXT_(value) #value
#define TEXT(value) TEXT_(value)
DEF(int, Abi_get_info, (MPI_Info * info_p))
{
    static const char *const pairs[][2] = {{"mpi_aint_size", TEXT(__SIZEOF_POINTER__)},
                                           {"mpi_count_size", "8"},
                                           {"mpi_offset_size", "8"}};

    return info_of(pairs, sizeof(pairs) / sizeof(pairs[0]), info_p);
}

DEF(int, Get_hw_resource_info, (MPI_Info * info_p))
{
    static const char *const pairs[][2] = {{"mpi_shared_memory", "true"}};

    return info_of(pairs, 1, info_p);
}

DEF(int, Get_processor_name, (char *name, int *length_p))
{
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
        strcpy(name, "localhost");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length_p = (int)strlen(name);
    return MPI_SUCCESS;
}

DEF(double, Wtime, (void))
{
    return mcomm_wtime();
}

DEF(double, Wtick, (void))
{
    return 1e-9;
}

DEF(int, Pcontrol, (const int level, ...)) /* for tools that put themselves before it */
{
    (void)level;
    return MPI_SUCCESS;
}

/* ---- memory ---- */
DEF(int, Alloc_mem, (MPI_Aint size, MPI_Info info, void *base_p))
{
    const char *wish;
    size_t alignment = 64;
    void *base;

    if (mpi_info_check(NULL, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    if (size < 0)
        return mpi_fail(NULL, MPI_ERR_ARG, "size %lld", (long long)size);
    wish = mpi_info_find(mpi_info_get(info), "mpi_minimum_memory_alignment");
    while (wish != NULL && alignment < (size_t)strtoul(wish, NULL, 10) && alignment < 1u << 21)
        alignment *= 2;
    if (posix_memalign(&base, alignment, MAX((size_t)size, 1)) != 0)
        return mpi_no_mem(NULL, (size_t)size);
    *(void **)base_p = base;
    return MPI_SUCCESS;
}

DEF(int, Free_mem, (void *base))
{
    free(base);
    return MPI_SUCCESS;
}

DEF(int, Get_address, (const void *location, MPI_Aint *address_p))
{
    *address_p = (MPI_Aint)location;
    return MPI_SUCCESS;
}

DEF(MPI_Aint, Aint_add, (MPI_Aint base, MPI_Aint disp))
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

DEF(MPI_Aint, Aint_diff, (MPI_Aint address1, MPI_Aint address2))
{
    return (MPI_Aint)((uintptr_t)address1 - (uintptr_t)address2);
}
