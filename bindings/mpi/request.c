/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Requests: up to two of the library's, and what is to be done when they have ended (unpacking,
 * folding). Ending and being seen by the caller are two things: a test of many may find one ended
 * and leave it to a later call.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

static struct request *orphans; /* given up while active, and something is to be done at the end */

/* ---- life ---- */
static bool orphan_done(struct request *request)
{
    if (!mpi_request_advance(request, false))
        return false;
    mpi_request_drop(request);
    return true;
}

static void orphans_poll(void)
{
    struct request *list, *request;

    mpi_lock();
    list = orphans;
    orphans = NULL;
    mpi_unlock();
    while ((request = list) != NULL) {
        list = request->next_orphan;
        if (orphan_done(request))
            continue;
        mpi_lock();
        request->next_orphan = orphans;
        orphans = request;
        mpi_unlock();
    }
}

void mpi_requests_end(void)
{
    while (orphans != NULL) {
        mpi_request_advance(orphans, true);
        orphans_poll();
    }
}

struct request *mpi_request_new(struct comm *comm)
{
    struct request *request = calloc(1, sizeof(*request));

    if (orphans != NULL)
        orphans_poll();
    if (request == NULL)
        return NULL;
    request->handle = mpi_handle_new(KIND_REQUEST, request);
    if (request->handle == NULL) {
        free(request);
        return NULL;
    }
    if (comm != NULL) {
        mpi_comm_ref(comm);
        request->comm = comm;
        request->owner = &comm->owner;
    }
    mpi_status_empty(&request->own);
    return request;
}

void mpi_request_drop(struct request *request)
{
    if (request->release != NULL)
        request->release(request);
    for (int i = 0; i < 2; i++) {
        if (request->inner[i] != MCOMM_REQUEST_NULL)
            mcomm_request_free(&request->inner[i]);
    }
    if (request->comm != NULL)
        mpi_comm_unref(request->comm);
    if (request->handle != MPI_REQUEST_NULL)
        mpi_handle_free(request->handle);
    free(request);
}

static void pending_set(struct request *request)
{
    request->pending = (uint8_t)((request->inner[0] != MCOMM_REQUEST_NULL) |
                                 (request->inner[1] != MCOMM_REQUEST_NULL) << 1);
    request->has_own = request->pending == 0;
    request->is_active = true;
    request->is_finished = false;
    request->err = MCOMM_SUCCESS;
}

int mpi_request_give(struct request *request, mcomm_err_t err, MPI_Request *handle_p)
{
    const struct owner *owner = request->owner;

    if (err != MCOMM_SUCCESS) {
        mpi_request_drop(request);
        return mpi_fail_mcomm(owner, err);
    }
    if (!request->is_persistent)
        pending_set(request);
    *handle_p = request->handle;
    return MPI_SUCCESS;
}

/* ---- progress ---- */
/* One of inner has ended. */
static void ended(struct request *request, int i, mcomm_err_t err, const mcomm_status_t *status)
{
    request->pending &= (uint8_t) ~(1u << i);
    if (i == 0)
        request->status = *status;
    if (request->err == MCOMM_SUCCESS || request->err == MCOMM_ERR_CANCELLED)
        request->err = err;
}

static void finish(struct request *request)
{
    if (request->is_finished)
        return;
    request->is_finished = true;
    if (request->done != NULL)
        request->err = request->done(request, request->err);
}

bool mpi_request_advance(struct request *request, bool is_wait)
{
    mcomm_status_t status;
    mcomm_err_t err;
    int done = 1;

    if (request->general != NULL) {
        if (is_wait)
            mpi_general_wait(request->general);
        return mpi_general_is_done(request->general);
    }
    for (int i = 0; i < 2; i++) {
        if ((request->pending >> i & 1) == 0)
            continue;
        if (is_wait)
            err = mcomm_wait(&request->inner[i], MCOMM_FOREVER, &status);
        else
            err = mcomm_test(&request->inner[i], &done, &status);
        if (!done)
            return false;
        ended(request, i, err, &status);
    }
    finish(request);
    return true;
}

/* ---- what the caller sees ---- */
static int code_of(const struct request *request)
{
    return request->own_code != MPI_SUCCESS ? request->own_code : mpi_class_of(request->err);
}

static int status_give(struct request *request, MPI_Status *status)
{
    MPI_Status ignored;

    if (request->general != NULL)
        return mpi_general_query(request->general, status != NULL ? status : &ignored);
    if (status == MPI_STATUS_IGNORE)
        return code_of(request);
    if (request->has_own) {
        int error = status->MPI_ERROR;

        *status = request->own;
        status->MPI_ERROR = error;
    } else {
        mpi_status_set(status, &request->status);
    }
    return code_of(request);
}

/* Gives the status, and ends the request or makes it inactive. Returns its code, not yet raised. */
static int retire(struct request *request, MPI_Request *handle_p, MPI_Status *status)
{
    int code = status_give(request, status), free_code;

    if (request->is_persistent) {
        request->is_active = false;
        return code;
    }
    if (request->general != NULL) {
        free_code = mpi_general_free(request->general);
        code = code != MPI_SUCCESS ? code : free_code;
    }
    mpi_request_drop(request);
    *handle_p = MPI_REQUEST_NULL;
    return code;
}

static struct request *request_get(MPI_Request handle)
{
    return mpi_handle_get(KIND_REQUEST, handle);
}

static int bad_request(MPI_Request handle)
{
    return mpi_fail(NULL, MPI_ERR_REQUEST, "request %p is none", (void *)handle);
}

static void no_status(MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE)
        mpi_status_empty(status);
}

static bool is_idle(const struct request *request)
{
    return request == NULL || (request->is_persistent && !request->is_active);
}

static int requests_check(int count, const MPI_Request *handles)
{
    if (count < 0)
        return mpi_fail(NULL, MPI_ERR_COUNT, "count %d", count);
    if (count > 0 && handles == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "array_of_requests is NULL");
    for (int i = 0; i < count; i++) {
        if (handles[i] != MPI_REQUEST_NULL && request_get(handles[i]) == NULL)
            return bad_request(handles[i]);
    }
    return MPI_SUCCESS;
}

/* ---- one ---- */
/* owner outlives the request: of a communicator freed before, its parent's is not known any more.
 */
static int raise_of(const struct owner *owner, int code)
{
    return code == MPI_SUCCESS ? code : mpi_fail(owner, code, "%s", mcomm_last_error());
}

/* Retires one and raises its error while its communicator is still there. */
static int retire_one(struct request *request, MPI_Request *handle_p, MPI_Status *status)
{
    struct comm *comm = request->comm;
    const struct owner *owner = request->owner;
    int code;

    if (comm != NULL)
        mpi_comm_ref(comm);
    code = raise_of(owner, retire(request, handle_p, status));
    if (comm != NULL)
        mpi_comm_unref(comm);
    return code;
}

static int one(MPI_Request *handle_p, bool is_wait, int *flag, MPI_Status *status)
{
    struct request *request = request_get(*handle_p);

    *flag = 1;
    if (request == NULL && *handle_p != MPI_REQUEST_NULL)
        return bad_request(*handle_p);
    if (is_idle(request)) {
        no_status(status);
        return MPI_SUCCESS;
    }
    *flag = mpi_request_advance(request, is_wait);
    return *flag ? retire_one(request, handle_p, status) : MPI_SUCCESS;
}

DEF(int, Wait, (MPI_Request * handle_p, MPI_Status *status))
{
    int flag;

    return one(handle_p, true, &flag, status);
}

DEF(int, Test, (MPI_Request * handle_p, int *flag, MPI_Status *status))
{
    return one(handle_p, false, flag, status);
}

/* ---- all ---- */
static int retire_all(int count, MPI_Request *handles, MPI_Status *statuses)
{
    int first = MPI_SUCCESS;
    const struct owner *owner = NULL;

    for (int i = 0; i < count; i++) {
        struct request *request = request_get(handles[i]);
        MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
        int code = MPI_SUCCESS;

        if (is_idle(request)) {
            no_status(status);
        } else {
            bool is_kept = request->comm == &mpi_world || request->comm == &mpi_self;
            const struct owner *its = is_kept ? request->owner : NULL;

            code = retire(request, &handles[i], status);
            if (code != MPI_SUCCESS && first == MPI_SUCCESS) {
                first = code;
                owner = its;
            }
        }
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = code;
    }
    if (first == MPI_SUCCESS)
        return first;
    return mpi_fail(owner, MPI_ERR_IN_STATUS, "%s", mcomm_last_error());
}

static int all(int count, MPI_Request *handles, bool is_wait, int *flag, MPI_Status *statuses)
{
    int code = requests_check(count, handles);

    *flag = 1;
    if (code != MPI_SUCCESS)
        return code;
    for (int i = 0; i < count; i++) {
        struct request *request = request_get(handles[i]);

        if (!is_idle(request) && !mpi_request_advance(request, is_wait))
            *flag = 0;
    }
    return *flag ? retire_all(count, handles, statuses) : MPI_SUCCESS;
}

DEF(int, Waitall, (int count, MPI_Request handles[], MPI_Status statuses[]))
{
    int flag;

    return all(count, handles, true, &flag, statuses);
}

DEF(int, Testall, (int count, MPI_Request handles[], int *flag, MPI_Status statuses[]))
{
    return all(count, handles, false, flag, statuses);
}

/* ---- any, some ---- */
/* The next that has ended from *at on; -1: none; *is_any tells whether one is active. */
static int find_done(int count, MPI_Request *handles, int from, bool *is_any)
{
    for (int i = from; i < count; i++) {
        struct request *request = request_get(handles[i]);

        if (is_idle(request))
            continue;
        *is_any = true;
        if (mpi_request_advance(request, false))
            return i;
    }
    return -1;
}

/* Sleeps until one of the library's requests has ended; where a caller's own one (general) is among
 * them, for a moment at most. */
static int block_any(int count, MPI_Request *handles)
{
    mcomm_request_t *inner = malloc((size_t)count * sizeof(*inner));
    int timeout_ms = MCOMM_FOREVER;
    struct request *request;
    mcomm_status_t status;
    mcomm_err_t err;
    size_t index;
    int which;

    if (inner == NULL)
        return mpi_no_mem(NULL, (size_t)count * sizeof(*inner));
    for (int i = 0; i < count; i++) {
        request = request_get(handles[i]);
        inner[i] = MCOMM_REQUEST_NULL;
        if (is_idle(request))
            continue;
        if (request->general != NULL)
            timeout_ms = 1;
        else
            inner[i] = request->inner[request->pending & 1 ? 0 : 1];
    }
    err = mcomm_waitany((size_t)count, inner, timeout_ms, &index, &status);
    if (err != MCOMM_ERR_TIMEOUT && index != MCOMM_INDEX_NONE) {
        request = request_get(handles[index]);
        which = request->pending & 1 ? 0 : 1;
        request->inner[which] = inner[index];
        ended(request, which, err, &status);
    }
    free(inner);
    return MPI_SUCCESS;
}

DEF(int, Testany, (int count, MPI_Request handles[], int *index_p, int *flag, MPI_Status *status))
{
    int code = requests_check(count, handles), index;
    bool is_any = false;

    if (code != MPI_SUCCESS)
        return code;
    index = find_done(count, handles, 0, &is_any);
    *flag = index >= 0 || !is_any;
    *index_p = index >= 0 ? index : MPI_UNDEFINED;
    if (index >= 0)
        return retire_one(request_get(handles[index]), &handles[index], status);
    if (!is_any)
        no_status(status);
    return MPI_SUCCESS;
}

DEF(int, Waitany, (int count, MPI_Request handles[], int *index_p, MPI_Status *status))
{
    int flag, code = PMPI_Testany(count, handles, index_p, &flag, status);

    while (code == MPI_SUCCESS && !flag) {
        code = block_any(count, handles);
        if (code == MPI_SUCCESS)
            code = PMPI_Testany(count, handles, index_p, &flag, status);
    }
    return code;
}

DEF(int, Testsome,
    (int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[]))
{
    int code = requests_check(count, handles), found = 0, first = MPI_SUCCESS;
    bool is_any = false;

    if (code != MPI_SUCCESS)
        return code;
    for (int at = 0; (at = find_done(count, handles, at, &is_any)) >= 0; at++) {
        MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[found] : MPI_STATUS_IGNORE;

        code = retire(request_get(handles[at]), &handles[at], status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = code;
        first = first != MPI_SUCCESS ? first : code;
        indices[found++] = at;
    }
    *outcount = is_any ? found : MPI_UNDEFINED;
    return first == MPI_SUCCESS ? first
                                : mpi_fail(NULL, MPI_ERR_IN_STATUS, "%s", mcomm_last_error());
}

DEF(int, Waitsome,
    (int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[]))
{
    int code = PMPI_Testsome(count, handles, outcount, indices, statuses);

    while (code == MPI_SUCCESS && *outcount == 0) {
        code = block_any(count, handles);
        if (code == MPI_SUCCESS)
            code = PMPI_Testsome(count, handles, outcount, indices, statuses);
    }
    return code;
}

/* ---- looking only ---- */
DEF(int, Request_get_status, (MPI_Request handle, int *flag, MPI_Status *status))
{
    struct request *request = request_get(handle);

    *flag = 1;
    if (request == NULL && handle != MPI_REQUEST_NULL)
        return bad_request(handle);
    if (is_idle(request)) {
        no_status(status);
        return MPI_SUCCESS;
    }
    *flag = mpi_request_advance(request, false);
    if (*flag)
        status_give(request, status);
    return MPI_SUCCESS;
}

DEF(int, Request_get_status_any,
    (int count, const MPI_Request handles[], int *index_p, int *flag, MPI_Status *status))
{
    int code = requests_check(count, handles), index;
    bool is_any = false;

    if (code != MPI_SUCCESS)
        return code;
    index = find_done(count, (MPI_Request *)(uintptr_t)handles, 0, &is_any);
    *flag = index >= 0 || !is_any;
    *index_p = index >= 0 ? index : MPI_UNDEFINED;
    if (index >= 0)
        status_give(request_get(handles[index]), status);
    else if (!is_any)
        no_status(status);
    return MPI_SUCCESS;
}

DEF(int, Request_get_status_all,
    (int count, const MPI_Request handles[], int *flag, MPI_Status statuses[]))
{
    int code = requests_check(count, handles);

    *flag = 1;
    for (int i = 0; i < count && code == MPI_SUCCESS && *flag; i++) {
        struct request *request = request_get(handles[i]);

        *flag = is_idle(request) || mpi_request_advance(request, false);
    }
    for (int i = 0; i < count && code == MPI_SUCCESS && *flag; i++)
        PMPI_Request_get_status(handles[i], flag,
                                statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE);
    return code;
}

DEF(int, Request_get_status_some,
    (int count, const MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[]))
{
    int code = requests_check(count, handles), found = 0;
    bool is_any = false;

    if (code != MPI_SUCCESS)
        return code;
    for (int at = 0; (at = find_done(count, (MPI_Request *)(uintptr_t)handles, at, &is_any)) >= 0;
         at++) {
        status_give(request_get(handles[at]),
                    statuses != MPI_STATUSES_IGNORE ? &statuses[found] : MPI_STATUS_IGNORE);
        indices[found++] = at;
    }
    *outcount = is_any ? found : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- start, cancel, free ---- */
DEF(int, Start, (MPI_Request * handle_p))
{
    struct request *request = request_get(*handle_p);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (request == NULL || !request->is_persistent || request->is_active)
        return mpi_fail(NULL, MPI_ERR_REQUEST, "request %p is no inactive persistent one",
                        (void *)*handle_p);
    if (request->start != NULL)
        err = request->start(request);
    for (int i = 0; i < 2 && err == MCOMM_SUCCESS; i++) {
        if (request->inner[i] != MCOMM_REQUEST_NULL)
            err = mcomm_start(request->inner[i]);
    }
    if (err != MCOMM_SUCCESS)
        return mpi_fail_mcomm(request->owner, err);
    pending_set(request);
    return MPI_SUCCESS;
}

DEF(int, Startall, (int count, MPI_Request handles[]))
{
    int code = requests_check(count, handles);

    for (int i = 0; i < count && code == MPI_SUCCESS; i++)
        code = PMPI_Start(&handles[i]);
    return code;
}

DEF(int, Cancel, (MPI_Request * handle_p))
{
    struct request *request = request_get(*handle_p);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (request == NULL || request->is_collective)
        return bad_request(*handle_p);
    if (request->general != NULL)
        return mpi_general_cancel(request->general);
    for (int i = 0; i < 2 && err == MCOMM_SUCCESS; i++) {
        if (request->pending >> i & 1)
            err = mcomm_cancel(request->inner[i]);
    }
    return mpi_done(request->owner, err);
}

DEF(int, Request_free, (MPI_Request * handle_p))
{
    struct request *request = request_get(*handle_p);
    int code = MPI_SUCCESS;

    if (request == NULL)
        return bad_request(*handle_p);
    *handle_p = MPI_REQUEST_NULL;
    if (request->general != NULL && !mpi_general_let_go(request->general))
        return MPI_SUCCESS;
    if (request->general != NULL)
        code = mpi_general_free(request->general);
    mpi_handle_free(request->handle);
    request->handle = MPI_REQUEST_NULL;
    if (!is_idle(request) && request->general == NULL && request->pending != 0) {
        mpi_lock();
        request->next_orphan = orphans;
        orphans = request;
        mpi_unlock();
        return code;
    }
    mpi_request_drop(request);
    return code;
}
