/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Error handlers: objects with a count of references, attached to communicators, windows, sessions.
 */
#include <stdlib.h>

#include "mpi_priv.h"

struct errhandler mpi_errors_are_fatal = {.handle = MPI_ERRORS_ARE_FATAL};
struct errhandler mpi_errors_return = {.handle = MPI_ERRORS_RETURN};
struct errhandler mpi_errors_abort = {.handle = MPI_ERRORS_ABORT};

struct errhandler *mpi_errhandler_get(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL)
        return &mpi_errors_are_fatal;
    if (handle == MPI_ERRORS_RETURN)
        return &mpi_errors_return;
    if (handle == MPI_ERRORS_ABORT)
        return &mpi_errors_abort;
    return mpi_handle_get(KIND_ERRHANDLER, handle);
}

static bool is_made(const struct errhandler *errhandler)
{
    return errhandler != NULL && errhandler->fn != NULL;
}

void mpi_errhandler_ref(struct errhandler *errhandler)
{
    mpi_lock();
    errhandler->refs++;
    mpi_unlock();
}

void mpi_errhandler_unref(struct errhandler *errhandler)
{
    bool is_last;

    mpi_lock();
    is_last = --errhandler->refs == 0 && is_made(errhandler);
    mpi_unlock();
    if (is_last) {
        mpi_handle_free(errhandler->handle);
        free(errhandler);
    }
}

static int errhandler_create(enum kind kind, void (*fn)(void *, int *, ...),
                             MPI_Errhandler *handle_p)
{
    struct errhandler *errhandler;

    if (fn == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "the function of the error handler is NULL");
    errhandler = malloc(sizeof(*errhandler));
    if (errhandler == NULL)
        return mpi_no_mem(NULL, sizeof(*errhandler));
    *errhandler =
        (struct errhandler){(int)kind, 1, fn, mpi_handle_new(KIND_ERRHANDLER, errhandler)};
    if (errhandler->handle == NULL) {
        free(errhandler);
        return mpi_no_mem(NULL, sizeof(*errhandler));
    }
    *handle_p = errhandler->handle;
    return MPI_SUCCESS;
}

int mpi_errhandler_set(struct owner *owner, MPI_Errhandler handle)
{
    struct errhandler *errhandler = mpi_errhandler_get(handle), *old = owner->errhandler;

    if (errhandler == NULL || (errhandler->kind != 0 && errhandler->kind != (int)owner->kind))
        return mpi_fail(owner, MPI_ERR_ERRHANDLER, "errhandler %p is none for this object",
                        (void *)handle);
    mpi_errhandler_ref(errhandler);
    owner->errhandler = errhandler;
    mpi_errhandler_unref(old);
    return MPI_SUCCESS;
}

DEF(int, Errhandler_free, (MPI_Errhandler * handle_p))
{
    struct errhandler *errhandler = mpi_errhandler_get(*handle_p);

    if (errhandler == NULL)
        return mpi_fail(NULL, MPI_ERR_ERRHANDLER, "errhandler %p is none", (void *)*handle_p);
    mpi_errhandler_unref(errhandler);
    *handle_p = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

/* The functions of one kind of object; MPI_..._get gives a reference. */
#define ERRHANDLER_CALLS(Name, kind, handle_t, get, bad)                                           \
    DEF(int, Name##_create_errhandler,                                                             \
        (MPI_##Name##_errhandler_function * fn, MPI_Errhandler * handle_p))                        \
    {                                                                                              \
        return errhandler_create(kind, (void (*)(void *, int *, ...))(void (*)(void))fn,           \
                                 handle_p);                                                        \
    }                                                                                              \
    DEF(int, Name##_set_errhandler, (handle_t handle, MPI_Errhandler errhandler))                  \
    {                                                                                              \
        struct owner *owner = (struct owner *)get(handle);                                         \
                                                                                                   \
        return owner != NULL ? mpi_errhandler_set(owner, errhandler) : bad(handle);                \
    }                                                                                              \
    DEF(int, Name##_get_errhandler, (handle_t handle, MPI_Errhandler * errhandler_p))              \
    {                                                                                              \
        struct owner *owner = (struct owner *)get(handle);                                         \
                                                                                                   \
        if (owner == NULL)                                                                         \
            return bad(handle);                                                                    \
        mpi_errhandler_ref(owner->errhandler);                                                     \
        *errhandler_p = owner->errhandler->handle;                                                 \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    DEF(int, Name##_call_errhandler, (handle_t handle, int code))                                  \
    {                                                                                              \
        struct owner *owner = (struct owner *)get(handle);                                         \
                                                                                                   \
        if (owner == NULL)                                                                         \
            return bad(handle);                                                                    \
        mpi_raise(owner, code);                                                                    \
        return MPI_SUCCESS;                                                                        \
    }

#define SESSION_GET(handle) mpi_handle_get(KIND_SESSION, handle)
#define SESSION_BAD(handle) mpi_fail(NULL, MPI_ERR_SESSION, "session %p is none", (void *)(handle))
#define WIN_GET(handle) mpi_handle_get(KIND_WIN, handle)
#define WIN_BAD(handle) mpi_fail(NULL, MPI_ERR_WIN, "win %p is none", (void *)(handle))
ERRHANDLER_CALLS(Comm, KIND_COMM, MPI_Comm, mpi_comm_get, mpi_bad_comm)
ERRHANDLER_CALLS(Win, KIND_WIN, MPI_Win, WIN_GET, WIN_BAD)
ERRHANDLER_CALLS(Session, KIND_SESSION, MPI_Session, SESSION_GET, SESSION_BAD)

/* There are no files, but the handler of those to come, MPI_FILE_NULL's, may be set. */
static struct owner no_file = {0, MPI_FILE_NULL, &mpi_errors_return};
#define FILE_GET(handle) ((handle) == MPI_FILE_NULL ? &no_file : NULL)
#define FILE_BAD(handle) mpi_fail(&no_file, MPI_ERR_FILE, "file %p is none", (void *)(handle))
ERRHANDLER_CALLS(File, 0, MPI_File, FILE_GET, FILE_BAD)
