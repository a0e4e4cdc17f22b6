/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Errors: codes are classes, what exactly was wrong is kept per thread for MPI_Error_string; then
 * the error handler of the object decides.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

static const char *const texts[] = {
    [MPI_SUCCESS] = "MPI_SUCCESS: no error",
    [MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer",
    [MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
    [MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid datatype",
    [MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
    [MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
    [MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank",
    [MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request",
    [MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root",
    [MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
    [MPI_ERR_OP] = "MPI_ERR_OP: invalid operation",
    [MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: invalid topology",
    [MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions",
    [MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
    [MPI_ERR_UNKNOWN] = "MPI_ERR_UNKNOWN: unknown error",
    [MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: message longer than the receive buffer",
    [MPI_ERR_OTHER] = "MPI_ERR_OTHER: known error not in this list",
    [MPI_ERR_INTERN] = "MPI_ERR_INTERN: internal error",
    [MPI_ERR_PENDING] = "MPI_ERR_PENDING: request still pending",
    [MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: error code is in the status",
    [MPI_ERR_ACCESS] = "MPI_ERR_ACCESS: permission denied",
    [MPI_ERR_AMODE] = "MPI_ERR_AMODE: invalid access mode",
    [MPI_ERR_ASSERT] = "MPI_ERR_ASSERT: invalid assertion",
    [MPI_ERR_BAD_FILE] = "MPI_ERR_BAD_FILE: invalid file name",
    [MPI_ERR_BASE] = "MPI_ERR_BASE: invalid base address",
    [MPI_ERR_CONVERSION] = "MPI_ERR_CONVERSION: error in a conversion of data",
    [MPI_ERR_DISP] = "MPI_ERR_DISP: invalid displacement",
    [MPI_ERR_DUP_DATAREP] = "MPI_ERR_DUP_DATAREP: data representation defined twice",
    [MPI_ERR_FILE_EXISTS] = "MPI_ERR_FILE_EXISTS: file exists",
    [MPI_ERR_FILE_IN_USE] = "MPI_ERR_FILE_IN_USE: file in use",
    [MPI_ERR_FILE] = "MPI_ERR_FILE: invalid file",
    [MPI_ERR_INFO_KEY] = "MPI_ERR_INFO_KEY: invalid info key",
    [MPI_ERR_INFO_NOKEY] = "MPI_ERR_INFO_NOKEY: info key not set",
    [MPI_ERR_INFO_VALUE] = "MPI_ERR_INFO_VALUE: invalid info value",
    [MPI_ERR_INFO] = "MPI_ERR_INFO: invalid info object",
    [MPI_ERR_IO] = "MPI_ERR_IO: input or output error",
    [MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid attribute key",
    [MPI_ERR_LOCKTYPE] = "MPI_ERR_LOCKTYPE: invalid lock type",
    [MPI_ERR_NAME] = "MPI_ERR_NAME: service name not published",
    [MPI_ERR_NO_MEM] = "MPI_ERR_NO_MEM: out of memory",
    [MPI_ERR_NOT_SAME] = "MPI_ERR_NOT_SAME: arguments differ between processes",
    [MPI_ERR_NO_SPACE] = "MPI_ERR_NO_SPACE: not enough space",
    [MPI_ERR_NO_SUCH_FILE] = "MPI_ERR_NO_SUCH_FILE: no such file",
    [MPI_ERR_PORT] = "MPI_ERR_PORT: invalid port",
    [MPI_ERR_QUOTA] = "MPI_ERR_QUOTA: quota exceeded",
    [MPI_ERR_READ_ONLY] = "MPI_ERR_READ_ONLY: read-only file",
    [MPI_ERR_RMA_ATTACH] = "MPI_ERR_RMA_ATTACH: memory cannot be attached",
    [MPI_ERR_RMA_CONFLICT] = "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    [MPI_ERR_RMA_RANGE] = "MPI_ERR_RMA_RANGE: access outside the window",
    [MPI_ERR_RMA_SHARED] = "MPI_ERR_RMA_SHARED: memory cannot be shared",
    [MPI_ERR_RMA_SYNC] = "MPI_ERR_RMA_SYNC: wrong synchronisation of a window",
    [MPI_ERR_SERVICE] = "MPI_ERR_SERVICE: invalid service",
    [MPI_ERR_SIZE] = "MPI_ERR_SIZE: invalid size",
    [MPI_ERR_SPAWN] = "MPI_ERR_SPAWN: error in spawning processes",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "MPI_ERR_UNSUPPORTED_DATAREP: data representation not known",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "MPI_ERR_UNSUPPORTED_OPERATION: not supported",
    [MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
    [MPI_ERR_RMA_FLAVOR] = "MPI_ERR_RMA_FLAVOR: wrong flavor of window",
    [MPI_ERR_PROC_ABORTED] = "MPI_ERR_PROC_ABORTED: a process failed",
    [MPI_ERR_VALUE_TOO_LARGE] = "MPI_ERR_VALUE_TOO_LARGE: value too large for its type",
    [MPI_ERR_SESSION] = "MPI_ERR_SESSION: invalid session",
    [MPI_ERR_ERRHANDLER] = "MPI_ERR_ERRHANDLER: invalid error handler",
    [MPI_ERR_ABI] = "MPI_ERR_ABI: ABI mismatch",
};
#define NUM_TEXTS ((int)(sizeof(texts) / sizeof(texts[0])))

/* ---- the caller's codes: classes and codes share one row of numbers ---- */
#define ADDED_MAX 4096
struct added {
    bool is_used, is_class;
    int class;
    char *text;
};
static struct added *added; /* of code MPI_ERR_LASTCODE + 1 + index */
static int num_added;
int mpi_last_used_code = MPI_ERR_LASTCODE;

static struct added *added_get(int code)
{
    int index = code - MPI_ERR_LASTCODE - 1;

    return index >= 0 && index < num_added && added[index].is_used ? &added[index] : NULL;
}

static bool is_code(int code)
{
    return (code >= 0 && code < NUM_TEXTS && texts[code] != NULL) ||
           (code >= MPI_T_ERR_CANNOT_INIT && code <= MPI_T_ERR_PVAR_NO_ATOMIC) ||
           added_get(code) != NULL;
}

static int class_of_code(int code)
{
    struct added *own = added_get(code);

    return own != NULL ? own->class : code;
}

static int code_add(bool is_class, int class, int *code_p)
{
    struct added *grown;

    if (num_added == ADDED_MAX)
        return mpi_fail(NULL, MPI_ERR_NO_SPACE, "over %d codes were added", ADDED_MAX);
    grown = realloc(added, (size_t)(num_added + 1) * sizeof(*added));
    if (grown == NULL)
        return mpi_no_mem(NULL, sizeof(*added));
    added = grown;
    mpi_last_used_code = MPI_ERR_LASTCODE + 1 + num_added;
    added[num_added++] =
        (struct added){true, is_class, is_class ? mpi_last_used_code : class, NULL};
    *code_p = mpi_last_used_code;
    return MPI_SUCCESS;
}

DEF(int, Add_error_class, (int *class_p))
{
    return code_add(true, 0, class_p);
}

DEF(int, Add_error_code, (int class, int *code_p))
{
    if (!is_code(class) || class_of_code(class) != class)
        return mpi_fail(NULL, MPI_ERR_ARG, "errorclass %d is none", class);
    return code_add(false, class, code_p);
}

static int text_set(int code, const char *text)
{
    struct added *own = added_get(code);

    if (own == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "error code %d was not added", code);
    free(own->text);
    own->text = NULL;
    if (text != NULL) {
        own->text = strndup(text, MPI_MAX_ERROR_STRING - 1);
        if (own->text == NULL)
            return mpi_no_mem(NULL, MPI_MAX_ERROR_STRING);
    }
    return MPI_SUCCESS;
}

DEF(int, Add_error_string, (int code, const char *text))
{
    return text_set(code, text);
}

DEF(int, Remove_error_string, (int code))
{
    return text_set(code, NULL);
}

static int code_remove(int code, bool is_class)
{
    struct added *own = added_get(code);

    if (own == NULL || own->is_class != is_class)
        return mpi_fail(NULL, MPI_ERR_ARG, "error code %d was not added", code);
    free(own->text);
    *own = (struct added){0};
    while (num_added > 0 && !added[num_added - 1].is_used)
        num_added--;
    mpi_last_used_code = MPI_ERR_LASTCODE + num_added;
    return MPI_SUCCESS;
}

DEF(int, Remove_error_class, (int class))
{
    return code_remove(class, true);
}

DEF(int, Remove_error_code, (int code))
{
    return code_remove(code, false);
}

/* ---- texts ---- */
static __thread struct {
    int code;
    char text[400];
} last;

DEF(int, Error_class, (int code, int *class_p))
{
    if (!is_code(code))
        return mpi_fail(NULL, MPI_ERR_ARG, "errorcode %d is none", code);
    *class_p = class_of_code(code);
    return MPI_SUCCESS;
}

DEF(int, Error_string, (int code, char *string, int *length_p))
{
    struct added *own = added_get(code);

    if (!is_code(code))
        return mpi_fail(NULL, MPI_ERR_ARG, "errorcode %d is none", code);
    if (own != NULL)
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", own->text != NULL ? own->text : "");
    else if (code >= MPI_T_ERR_CANNOT_INIT)
        snprintf(string, MPI_MAX_ERROR_STRING, "MPI_T error %d", code);
    else if (code != MPI_SUCCESS && code == last.code)
        snprintf(string, MPI_MAX_ERROR_STRING, "%s: %s", texts[code], last.text);
    else
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", texts[code]);
    *length_p = (int)strlen(string);
    return MPI_SUCCESS;
}

/* ---- raising ---- */
static void fatal(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    PMPI_Error_string(code, text, &length);
    fprintf(stderr, "MPI error on rank %d of MPI_COMM_WORLD: %s\n", mpi_world.rank, text);
    fflush(stderr);
    if (mpi_is_up)
        mcomm_abort(mcomm_comm_world(), code, text);
    exit(code);
}

int mpi_raise(const struct owner *owner, int code)
{
    struct errhandler *errhandler;

    if (owner == NULL)
        owner = &mpi_self.owner;
    errhandler = owner->errhandler;
    if (errhandler == &mpi_errors_are_fatal || errhandler == &mpi_errors_abort) {
        fatal(code);
    } else if (errhandler != &mpi_errors_return) {
        void *handle = owner->handle;
        int given = code;

        errhandler->fn(&handle, &given);
    }
    return code;
}

int mpi_fail(const struct owner *owner, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(last.text, sizeof(last.text), format, args);
    va_end(args);
    last.code = code;
    return mpi_raise(owner, code);
}

int mpi_no_mem(const struct owner *owner, size_t nbytes)
{
    return mpi_fail(owner, MPI_ERR_NO_MEM, "no memory for %zu bytes", nbytes);
}

int mpi_class_of(mcomm_err_t err)
{
    switch (err) {
    case MCOMM_SUCCESS:
    case MCOMM_ERR_CANCELLED:
        return MPI_SUCCESS;
    case MCOMM_ERR_ARG:
        return MPI_ERR_ARG;
    case MCOMM_ERR_COMM:
        return MPI_ERR_COMM;
    case MCOMM_ERR_RANK:
        return MPI_ERR_RANK;
    case MCOMM_ERR_TAG:
        return MPI_ERR_TAG;
    case MCOMM_ERR_COUNT:
        return MPI_ERR_COUNT;
    case MCOMM_ERR_TYPE:
        return MPI_ERR_TYPE;
    case MCOMM_ERR_OP:
        return MPI_ERR_OP;
    case MCOMM_ERR_REQUEST:
    case MCOMM_ERR_MESSAGE:
        return MPI_ERR_REQUEST;
    case MCOMM_ERR_WIN:
        return MPI_ERR_WIN;
    case MCOMM_ERR_GROUP:
        return MPI_ERR_GROUP;
    case MCOMM_ERR_INFO:
        return MPI_ERR_INFO;
    case MCOMM_ERR_BUFFER:
        return MPI_ERR_BUFFER;
    case MCOMM_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case MCOMM_ERR_UNSUPPORTED:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    case MCOMM_ERR_MISMATCH:
        return MPI_ERR_NOT_SAME;
    case MCOMM_ERR_RMA_RANGE:
        return MPI_ERR_RMA_RANGE;
    case MCOMM_ERR_RMA_ACCESS:
        return MPI_ERR_ACCESS;
    case MCOMM_ERR_RMA_SYNC:
        return MPI_ERR_RMA_SYNC;
    case MCOMM_ERR_NO_MEM:
        return MPI_ERR_NO_MEM;
    case MCOMM_ERR_INTERNAL:
        return MPI_ERR_INTERN;
    case MCOMM_ERR_PROC_FAILED:
    case MCOMM_ERR_UNREACHABLE:
        return MPI_ERR_PROC_ABORTED;
    case MCOMM_ERR_PROC_FAILED_PENDING:
        return MPI_ERR_PENDING;
    default:
        return MPI_ERR_OTHER;
    }
}

int mpi_fail_mcomm(const struct owner *owner, mcomm_err_t err)
{
    int code = mpi_class_of(err);

    if (code == MPI_SUCCESS)
        return code;
    return mpi_fail(owner, code, "%s (%s)", mcomm_last_error(), mcomm_err_name(err));
}
