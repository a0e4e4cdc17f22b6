/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Generalized requests: the caller does the work and says when it is done. */
#include <pthread.h>
#include <stdlib.h>

#include "mpi_priv.h"

struct general {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
    bool is_done;
    bool is_let_go; /* freed before it was done: MPI_Grequest_complete() ends it */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some_done = PTHREAD_COND_INITIALIZER;

DEF(int, Grequest_start,
    (MPI_Grequest_query_function * query, MPI_Grequest_free_function *free_fn,
     MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *handle_p))
{
    struct general *general = malloc(sizeof(*general));
    struct request *request = general != NULL ? mpi_request_new(NULL) : NULL;

    if (request == NULL) {
        free(general);
        return mpi_no_mem(NULL, sizeof(*general));
    }
    *general = (struct general){query, free_fn, cancel, extra, false, false};
    request->general = general;
    return mpi_request_give(request, MCOMM_SUCCESS, handle_p);
}

bool mpi_general_is_done(struct general *general)
{
    bool is_done;

    pthread_mutex_lock(&lock);
    is_done = general->is_done;
    pthread_mutex_unlock(&lock);
    return is_done;
}

void mpi_general_wait(struct general *general)
{
    pthread_mutex_lock(&lock);
    while (!general->is_done)
        pthread_cond_wait(&some_done, &lock);
    pthread_mutex_unlock(&lock);
}

DEF(int, Grequest_complete, (MPI_Request handle))
{
    struct request *request = mpi_handle_get(KIND_REQUEST, handle);
    bool is_let_go;
    int code;

    if (request == NULL || request->general == NULL)
        return mpi_fail(NULL, MPI_ERR_REQUEST, "request %p is no generalized one", (void *)handle);
    pthread_mutex_lock(&lock);
    request->general->is_done = true;
    is_let_go = request->general->is_let_go; /* if not, another thread may end it from here on */
    pthread_cond_broadcast(&some_done);
    pthread_mutex_unlock(&lock);
    if (!is_let_go)
        return MPI_SUCCESS;
    code = mpi_general_free(request->general);
    mpi_request_drop(request);
    return code;
}

bool mpi_general_let_go(struct general *general)
{
    bool is_done;

    pthread_mutex_lock(&lock);
    is_done = general->is_done;
    general->is_let_go = !is_done;
    pthread_mutex_unlock(&lock);
    return is_done;
}

int mpi_general_query(struct general *general, MPI_Status *status)
{
    mpi_status_empty(status);
    return general->query != NULL ? general->query(general->extra, status) : MPI_SUCCESS;
}

int mpi_general_cancel(struct general *general)
{
    return general->cancel != NULL ? general->cancel(general->extra, mpi_general_is_done(general))
                                   : MPI_SUCCESS;
}

int mpi_general_free(struct general *general)
{
    int code = general->free != NULL ? general->free(general->extra) : MPI_SUCCESS;

    free(general);
    return code;
}
