/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Sessions: each is one use of the library; the process sets are the job and the process itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

struct session {
    struct owner owner; /* first */
};

static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};

#define GET_SESSION(session, session_handle)                                                       \
    struct session *session = mpi_handle_get(KIND_SESSION, session_handle);                        \
    if (session == NULL)                                                                           \
    return mpi_fail(NULL, MPI_ERR_SESSION, "session %p is none", (void *)(session_handle))

DEF(int, Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session *handle_p))
{
    struct errhandler *wanted = mpi_errhandler_get(errhandler);
    const char *level = mpi_info_find(mpi_info_get(info), "thread_level");
    struct session *session;
    int code;

    if (mpi_info_check(NULL, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    if (wanted == NULL)
        return mpi_fail(NULL, MPI_ERR_ERRHANDLER, "errhandler %p is none", (void *)errhandler);
    code = mpi_up(level != NULL && strcmp(level, "MPI_THREAD_SINGLE") == 0 ? MPI_THREAD_SINGLE
                                                                           : MPI_THREAD_MULTIPLE);
    if (code != MPI_SUCCESS)
        return code;
    session = calloc(1, sizeof(*session));
    if (session != NULL)
        session->owner =
            (struct owner){KIND_SESSION, mpi_handle_new(KIND_SESSION, session), wanted};
    if (session == NULL || session->owner.handle == NULL) {
        free(session);
        mpi_down();
        return mpi_no_mem(NULL, sizeof(*session));
    }
    mpi_errhandler_ref(wanted);
    *handle_p = session->owner.handle;
    return MPI_SUCCESS;
}

DEF(int, Session_finalize, (MPI_Session * handle_p))
{
    GET_SESSION(session, *handle_p);
    mpi_handle_free(*handle_p);
    mpi_errhandler_unref(session->owner.errhandler);
    free(session);
    *handle_p = MPI_SESSION_NULL;
    return mpi_down();
}

DEF(int, Session_get_num_psets, (MPI_Session handle, MPI_Info info, int *num_p))
{
    GET_SESSION(session, handle);
    if (mpi_info_check(&session->owner, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    *num_p = (int)(sizeof(psets) / sizeof(psets[0]));
    return MPI_SUCCESS;
}

DEF(int, Session_get_nth_pset,
    (MPI_Session handle, MPI_Info info, int n, int *length_p, char *name))
{
    size_t length;

    GET_SESSION(session, handle);
    if (mpi_info_check(&session->owner, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    if (n < 0 || n >= (int)(sizeof(psets) / sizeof(psets[0])))
        return mpi_fail(&session->owner, MPI_ERR_ARG, "n = %d is no process set", n);
    length = strlen(psets[n]);
    if (*length_p > 0) {
        size_t part = MIN(length, (size_t)*length_p - 1);

        memcpy(name, psets[n], part);
        name[part] = '\0';
    }
    *length_p = (int)length + 1;
    return MPI_SUCCESS;
}

static struct comm *pset_comm(const char *name)
{
    return strcmp(name, psets[0]) == 0   ? &mpi_world
           : strcmp(name, psets[1]) == 0 ? &mpi_self
                                         : NULL;
}

DEF(int, Session_get_pset_info, (MPI_Session handle, const char *name, MPI_Info *info_p))
{
    char number[16];
    struct comm *comm;
    int code;

    GET_SESSION(session, handle);
    comm = pset_comm(name);
    if (comm == NULL)
        return mpi_fail(&session->owner, MPI_ERR_ARG, "process set \"%.60s\"", name);
    snprintf(number, sizeof(number), "%d", comm->size);
    code = PMPI_Info_create(info_p);
    return code == MPI_SUCCESS ? PMPI_Info_set(*info_p, "mpi_size", number) : code;
}

DEF(int, Session_get_info, (MPI_Session handle, MPI_Info *info_p))
{
    int code;

    GET_SESSION(session, handle);
    code = PMPI_Info_create(info_p);
    if (code != MPI_SUCCESS)
        return code;
    return PMPI_Info_set(*info_p, "thread_level",
                         mpi_thread_level >= MPI_THREAD_SERIALIZED ? "MPI_THREAD_MULTIPLE"
                                                                   : "MPI_THREAD_SINGLE");
}

DEF(int, Group_from_session_pset, (MPI_Session handle, const char *name, MPI_Group *group_p))
{
    struct comm *comm;
    mcomm_group_t group;
    mcomm_err_t err;

    GET_SESSION(session, handle);
    comm = pset_comm(name);
    if (comm == NULL)
        return mpi_fail(&session->owner, MPI_ERR_ARG, "process set \"%.60s\"", name);
    err = mcomm_comm_group(comm->inner, &group);
    return err == MCOMM_SUCCESS ? mpi_group_new(group, group_p)
                                : mpi_fail_mcomm(&session->owner, err);
}
