/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives that move data: the library's, of bytes. A side whose data lies close together is
 * given as it is; else a packed copy takes its place, packed at the start and unpacked at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/* ---- sides ---- */
static int piece_get(const struct owner *owner, const struct ends *ends, int i, struct piece *piece)
{
    MPI_Datatype handle = ends->types != NULL ? ends->types[i] : ends->type;
    MPI_Count count = ends->counts.array != NULL ? mpi_number(ends->counts, i) : ends->count;
    MPI_Count disp = ends->displs.array != NULL ? mpi_number(ends->displs, i) : 0;

    GET_TYPE(type, handle, owner);
    if (count < 0)
        return mpi_fail(owner, MPI_ERR_COUNT, "count %lld", (long long)count);
    *piece = (struct piece){ends->types != NULL ? disp : disp * type->extent, count, type};
    return MPI_SUCCESS;
}

/* Takes the caller's arrays; n pieces, 0: nothing on this side. */
int mpi_side_set(const struct owner *owner, struct side *side, const struct ends *ends, int n)
{
    MPI_Count at = 0, low = 0;
    int code;

    side->buf = ends->buf;
    side->n = n;
    side->pieces = &side->piece;
    side->bytes = &side->one_bytes;
    side->displs = &side->one_displ;
    if (n > 1) {
        side->pieces = malloc((size_t)n * (sizeof(*side->pieces) + 2 * sizeof(size_t)));
        if (side->pieces == NULL) {
            side->pieces = &side->piece;
            side->n = 0;
            return mpi_no_mem(owner, (size_t)n * sizeof(*side->pieces));
        }
        side->bytes = (size_t *)(side->pieces + n);
        side->displs = side->bytes + n;
    }
    for (int i = 0; i < n; i++) {
        struct piece *piece = &side->pieces[i];

        code = piece_get(owner, ends, i, piece);
        if (code != MPI_SUCCESS) {
            side->n = i;
            return code;
        }
        mpi_type_ref(piece->type);
        side->bytes[i] = (size_t)(piece->count * piece->type->size);
        side->is_copy = side->is_copy || !piece->type->is_dense;
        if (side->bytes[i] > 0)
            low = MIN(low, piece->disp + piece->type->true_lb);
    }
    for (int i = 0; i < n; i++) {
        const struct piece *piece = &side->pieces[i];

        side->displs[i] =
            side->is_copy ? (size_t)at : (size_t)(piece->disp + piece->type->true_lb - low);
        if (side->bytes[i] == 0)
            side->displs[i] = 0;
        at += (MPI_Count)side->bytes[i];
    }
    side->wire = n > 0 ? AT(side->buf, low) : NULL;
    if (n == 1 && !side->is_copy) {
        side->wire = AT(side->buf, side->piece.disp + side->piece.type->true_lb);
        side->displs[0] = 0;
    }
    if (!side->is_copy)
        return MPI_SUCCESS;
    side->wire = malloc(MAX((size_t)at, 1));
    if (side->wire == NULL) {
        side->is_copy = false;
        return mpi_no_mem(owner, (size_t)at);
    }
    return MPI_SUCCESS;
}

void mpi_side_pack(const struct side *side)
{
    for (int i = 0; side->is_copy && i < side->n; i++) {
        const struct piece *piece = &side->pieces[i];

        mpi_pack(AT(side->buf, piece->disp), piece->count, piece->type,
                 side->wire + side->displs[i]);
    }
}

void mpi_side_unpack(const struct side *side)
{
    for (int i = 0; side->is_copy && i < side->n; i++) {
        const struct piece *piece = &side->pieces[i];

        mpi_unpack(side->wire + side->displs[i], (MPI_Count)side->bytes[i],
                   AT(side->buf, piece->disp), piece->count, piece->type);
    }
}

void mpi_side_free(struct side *side)
{
    for (int i = 0; i < side->n; i++)
        mpi_type_unref(side->pieces[i].type);
    if (side->pieces != &side->piece)
        free(side->pieces);
    if (side->is_copy)
        free(side->wire);
}

/* ---- life of a call ---- */
static void exchange_pack(struct exchange *x)
{
    if (!x->send_in_place)
        mpi_side_pack(&x->send);
    if (x->recv_is_read) /* what is in place is sent from there */
        mpi_side_pack(&x->recv);
}

static mcomm_err_t start_exchange(struct request *request)
{
    exchange_pack(request->arg);
    return MCOMM_SUCCESS;
}

static mcomm_err_t done_exchange(struct request *request, mcomm_err_t err)
{
    struct exchange *x = request->arg;

    if (err == MCOMM_SUCCESS && x->recv_is_written)
        mpi_side_unpack(&x->recv);
    return err;
}

static void exchange_end(struct exchange *x)
{
    mpi_side_free(&x->send);
    mpi_side_free(&x->recv);
}

static void release_exchange(struct request *request)
{
    exchange_end(request->arg);
    free(request->arg);
}

/* ---- the library's calls ---- */
#define CALL(name, ...)                                                                            \
    (form == BLOCKING      ? mcomm_##name(__VA_ARGS__, comm)                                       \
     : form == NONBLOCKING ? mcomm_i##name(__VA_ARGS__, comm, inner_p)                             \
                           : mcomm_##name##_init(__VA_ARGS__, comm, inner_p))

static mcomm_err_t exchange_call(struct exchange *x, enum form form, mcomm_comm_t comm,
                                 mcomm_request_t *inner_p)
{
    const void *in = x->send_in_place ? MCOMM_IN_PLACE : x->send.wire;
    void *out = x->recv_in_place ? MCOMM_IN_PLACE : x->recv.wire;
    size_t each = x->each;

    switch (x->which) {
    case COLL_BCAST:
        return CALL(bcast, x->recv.wire, each, MCOMM_BYTE, x->root);
    case COLL_GATHER:
        return CALL(gather, in, out, each, MCOMM_BYTE, x->root);
    case COLL_SCATTER:
        return CALL(scatter, in, out, each, MCOMM_BYTE, x->root);
    case COLL_ALLGATHER:
        return CALL(allgather, in, out, each, MCOMM_BYTE);
    case COLL_ALLTOALL:
        return CALL(alltoall, in, out, each, MCOMM_BYTE);
    case COLL_GATHERV:
        return CALL(gatherv, in, each, out, x->recv.bytes, x->recv.displs, MCOMM_BYTE, x->root);
    case COLL_SCATTERV:
        return CALL(scatterv, in, x->send.bytes, x->send.displs, out, each, MCOMM_BYTE, x->root);
    case COLL_ALLGATHERV:
        return CALL(allgatherv, in, each, out, x->recv.bytes, x->recv.displs, MCOMM_BYTE);
    default:
        return CALL(alltoallv, in, x->send.bytes, x->send.displs, out, x->recv.bytes,
                    x->recv.displs, MCOMM_BYTE);
    }
}

/* ---- barrier ---- */
static int barrier(enum form form, MPI_Comm handle, MPI_Request *request_p)
{
    struct request *request;
    mcomm_err_t err;

    GET_COMM(comm, handle);
    if (form == BLOCKING)
        return mpi_done(&comm->owner, mcomm_barrier(comm->inner));
    request = mpi_request_new(comm);
    if (request == NULL)
        return mpi_no_mem(&comm->owner, sizeof(*request));
    request->is_collective = true;
    request->is_persistent = form == PERSISTENT;
    err =
        (form == PERSISTENT ? mcomm_barrier_init : mcomm_ibarrier)(comm->inner, &request->inner[0]);
    return mpi_request_give(request, err, request_p);
}

DEF(int, Barrier, (MPI_Comm comm))
{
    return barrier(BLOCKING, comm, NULL);
}

DEF(int, Ibarrier, (MPI_Comm comm, MPI_Request *request))
{
    return barrier(NONBLOCKING, comm, request);
}

DEF(int, Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request *request))
{
    if (mpi_info_check(NULL, info) != MPI_SUCCESS)
        return MPI_ERR_INFO;
    return barrier(PERSISTENT, comm, request);
}

/* ---- which side has what ---- */
/* n of each side: one piece for count of a type (of all ranks together), or one a rank; 0: unused.
 */
static void shape(struct exchange *x, const struct comm *comm, struct ends *send, struct ends *recv,
                  int *send_n, int *recv_n)
{
    bool is_root = comm->rank == x->root;

    *send_n = *recv_n = 1;
    x->recv_is_written = true;
    switch (x->which) {
    case COLL_BCAST:
        *send_n = 0;
        x->recv_is_read = is_root;
        x->recv_is_written = !is_root;
        break;
    case COLL_GATHER:
        recv->count *= comm->size;
        *recv_n = is_root;
        break;
    case COLL_GATHERV:
        *recv_n = is_root ? comm->size : 0;
        break;
    case COLL_SCATTER:
        send->count *= comm->size;
        *send_n = is_root;
        break;
    case COLL_SCATTERV:
        *send_n = is_root ? comm->size : 0;
        break;
    case COLL_ALLGATHER:
        recv->count *= comm->size;
        break;
    case COLL_ALLGATHERV:
        *recv_n = comm->size;
        break;
    case COLL_ALLTOALL:
        send->count *= comm->size;
        recv->count *= comm->size;
        break;
    default:
        *send_n = *recv_n = comm->size;
    }
    x->send_in_place = send->buf == MPI_IN_PLACE && *send_n > 0;
    x->recv_in_place = recv->buf == MPI_IN_PLACE && *recv_n > 0;
    if (x->send_in_place) {
        *send_n = 0;
        x->recv_is_read = true;
    }
    if (x->recv_in_place) {
        *recv_n = 0;
        x->recv_is_written = false;
    }
}

/* Bytes of one rank's part, from the side that is there */
static size_t each_of(const struct exchange *x, const struct comm *comm)
{
    size_t size = (size_t)comm->size;

    switch (x->which) {
    case COLL_BCAST:
        return x->recv.bytes[0];
    case COLL_GATHER:
    case COLL_ALLGATHER:
        return x->send.n > 0 ? x->send.bytes[0] : x->recv.bytes[0] / size;
    case COLL_GATHERV:
    case COLL_ALLGATHERV:
        return x->send.n > 0 ? x->send.bytes[0] : x->recv.bytes[comm->rank];
    case COLL_SCATTER:
        return x->recv.n > 0 ? x->recv.bytes[0] : x->send.bytes[0] / size;
    case COLL_SCATTERV:
        return x->recv.n > 0 ? x->recv.bytes[0] : x->send.bytes[comm->rank];
    case COLL_ALLTOALL:
        return x->recv.bytes[0] / size;
    default:
        return 0;
    }
}

static int exchange_set(struct exchange *x, struct comm *comm, const struct ends *send,
                        const struct ends *recv)
{
    static const struct ends none;
    struct ends in = send != NULL ? *send : none, out = *recv;
    int send_n, recv_n, code;

    shape(x, comm, &in, &out, &send_n, &recv_n);
    code = mpi_side_set(&comm->owner, &x->send, &in, send_n);
    if (code == MPI_SUCCESS)
        code = mpi_side_set(&comm->owner, &x->recv, &out, recv_n);
    if (code == MPI_SUCCESS)
        x->each = each_of(x, comm);
    return code;
}

static bool has_root(enum collective which)
{
    return which == COLL_BCAST || which == COLL_GATHER || which == COLL_GATHERV ||
           which == COLL_SCATTER || which == COLL_SCATTERV || which == COLL_REDUCE;
}

int mpi_root_check(enum collective which, const struct comm *comm, int root)
{
    if (!has_root(which) || (root >= 0 && root < comm->size))
        return MPI_SUCCESS;
    return mpi_fail(&comm->owner, MPI_ERR_ROOT, "root %d of %d ranks", root, comm->size);
}

int mpi_exchange(enum form form, enum collective which, const struct ends *send,
                 const struct ends *recv, int root, MPI_Comm comm_handle, MPI_Request *request_p)
{
    struct exchange local = {.which = which, .root = root}, *x = &local;
    struct request *request = NULL;
    mcomm_err_t err;
    int code;

    GET_COMM(comm, comm_handle);
    if (mpi_root_check(which, comm, root) != MPI_SUCCESS)
        return MPI_ERR_ROOT;
    if (form != BLOCKING) {
        request = mpi_request_new(comm);
        x = request != NULL ? calloc(1, sizeof(*x)) : NULL;
        if (x == NULL) {
            if (request != NULL)
                mpi_request_drop(request);
            return mpi_no_mem(&comm->owner, sizeof(*x));
        }
        *x = local;
        request->is_collective = true;
        request->is_persistent = form == PERSISTENT;
        request->arg = x;
        request->start = start_exchange;
        request->done = done_exchange;
        request->release = release_exchange;
    }
    code = exchange_set(x, comm, send, recv);
    if (code != MPI_SUCCESS) {
        if (request != NULL)
            mpi_request_drop(request);
        else
            exchange_end(x);
        return code;
    }
    if (form != PERSISTENT)
        exchange_pack(x);
    err = exchange_call(x, form, comm->inner, request != NULL ? &request->inner[0] : NULL);
    if (request != NULL)
        return mpi_request_give(request, err, request_p);
    if (err == MCOMM_SUCCESS && x->recv_is_written)
        mpi_side_unpack(&x->recv);
    exchange_end(x);
    return mpi_done(&comm->owner, err);
}
