/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Buffered sends: a copy of the message is sent, and counts against the attached buffer's size
 * until it has left. The copy is in memory of its own: the caller's buffer only says how much.
 */
#include <stdlib.h>

#include "mpi_priv.h"

struct sending {
    struct sending *next;
    mcomm_request_t inner;
    MPI_Count nbytes; /* with MPI_BSEND_OVERHEAD */
    char data[];
};
struct bsend_buffer {
    void *base; /* MPI_BUFFER_AUTOMATIC: no limit */
    MPI_Count size, used;
    struct sending *first;
};
struct bsend_buffer *mpi_bsend_buffer;

/* Takes out what has left; is_wait: all. */
static void reap(struct bsend_buffer *buffer, bool is_wait)
{
    struct sending **at = &buffer->first, *sending;
    int done = 1;

    while ((sending = *at) != NULL) {
        if (is_wait)
            mcomm_wait(&sending->inner, MCOMM_FOREVER, MCOMM_STATUS_IGNORE);
        else if (mcomm_test(&sending->inner, &done, MCOMM_STATUS_IGNORE) == MCOMM_SUCCESS &&
                 !done) {
            at = &sending->next;
            continue;
        }
        *at = sending->next;
        buffer->used -= sending->nbytes;
        free(sending);
    }
}

/* Room for nbytes of data; NULL with an error set */
static struct sending *sending_new(struct bsend_buffer *buffer, size_t nbytes)
{
    struct sending *sending;
    MPI_Count all = (MPI_Count)nbytes + MPI_BSEND_OVERHEAD;

    reap(buffer, false);
    if (buffer->base != MPI_BUFFER_AUTOMATIC && buffer->used + all > buffer->size)
        return NULL;
    sending = malloc(sizeof(*sending) + nbytes);
    if (sending == NULL)
        return NULL;
    sending->nbytes = all;
    return sending;
}

mcomm_err_t mpi_bsend(struct comm *comm, const void *buf, MPI_Count count, const struct type *type,
                      int dest, int tag)
{
    struct bsend_buffer *buffer = comm->buffer != NULL ? comm->buffer : mpi_bsend_buffer;
    size_t nbytes = (size_t)(count * type->size);
    struct sending *sending;
    mcomm_err_t err;

    if (buffer == NULL)
        return MCOMM_ERR_BUFFER;
    sending = sending_new(buffer, nbytes);
    if (sending == NULL)
        return MCOMM_ERR_BUFFER;
    mpi_pack(buf, count, type, sending->data);
    err = mcomm_isend(sending->data, nbytes, dest, tag, comm->inner, &sending->inner);
    if (err != MCOMM_SUCCESS) {
        free(sending);
        return err;
    }
    buffer->used += sending->nbytes;
    sending->next = buffer->first;
    buffer->first = sending;
    return MCOMM_SUCCESS;
}

static const struct owner *owner_of(struct comm *comm)
{
    return comm != NULL ? &comm->owner : NULL;
}

int mpi_bsend_attach(struct comm *comm, struct bsend_buffer **buffer_p, void *base, MPI_Count size)
{
    if (*buffer_p != NULL)
        return mpi_fail(owner_of(comm), MPI_ERR_BUFFER, "a buffer is attached already");
    if (size < 0)
        return mpi_fail(owner_of(comm), MPI_ERR_ARG, "size %lld", (long long)size);
    *buffer_p = calloc(1, sizeof(**buffer_p));
    if (*buffer_p == NULL)
        return mpi_no_mem(owner_of(comm), sizeof(**buffer_p));
    (*buffer_p)->base = base;
    (*buffer_p)->size = size;
    return MPI_SUCCESS;
}

void mpi_bsend_end(struct bsend_buffer **buffer_p)
{
    if (*buffer_p != NULL)
        reap(*buffer_p, true);
    free(*buffer_p);
    *buffer_p = NULL;
}

int mpi_bsend_detach(struct comm *comm, struct bsend_buffer **buffer_p, void *base_p,
                     MPI_Count *size_p)
{
    struct bsend_buffer *buffer = *buffer_p;

    *size_p = 0;
    if (buffer == NULL)
        return mpi_fail(owner_of(comm), MPI_ERR_BUFFER, "no buffer is attached");
    *(void **)base_p = buffer->base;
    *size_p = buffer->base == MPI_BUFFER_AUTOMATIC ? 0 : buffer->size;
    mpi_bsend_end(buffer_p);
    return MPI_SUCCESS;
}

DEF(int, Buffer_flush, (void))
{
    if (mpi_bsend_buffer != NULL)
        reap(mpi_bsend_buffer, true);
    return MPI_SUCCESS;
}

DEF(int, Comm_flush_buffer, (MPI_Comm handle))
{
    GET_COMM(comm, handle);
    if (comm->buffer != NULL)
        reap(comm->buffer, true);
    return MPI_SUCCESS;
}
