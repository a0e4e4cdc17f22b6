/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reductions. Predefined operations on the library's element types are the library's. For all
 * others (callers' operations, callers' datatypes, long double) the ranks exchange their packed
 * vectors and fold them, in rank order, when the exchange has ended: a caller's function runs
 * without any lock.
 */
#include <stdlib.h>
#include <string.h>

#include "coll.h"

struct fold {
    enum collective which;
    struct comm *comm;
    struct op *op;
    struct type *type;
    int root;
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count;     /* of the vector given in */
    MPI_Count own_count; /* of the result here */
    int num_blocks;      /* that arrive, of own_count each; 0: nothing is folded here */
    char *sent, *blocks; /* packed */
    char *scratch;       /* one block unpacked, and the result, if type is not dense */
    size_t *counts;      /* send_bytes, send_displs, recv_bytes, recv_displs of reduce-scatter */
};

static bool is_scatter(enum collective which)
{
    return which == COLL_REDUCE_SCATTER || which == COLL_REDUCE_SCATTER_BLOCK;
}

static void fold_end(struct fold *fold)
{
    mpi_op_unref(fold->op);
    mpi_type_unref(fold->type);
    free(fold->sent);
    free(fold->blocks);
    free(fold->scratch);
    free(fold->counts);
}

/* Bytes that count elements span, and where the first begins in them */
static size_t span(const struct type *type, MPI_Count count)
{
    return count == 0 ? 1 : (size_t)(type->true_extent + (count - 1) * MAX(type->extent, 0));
}

static void fold_pack(struct fold *fold)
{
    mpi_pack(fold->sendbuf == MPI_IN_PLACE ? fold->recvbuf : fold->sendbuf, fold->count, fold->type,
             fold->sent);
}

/* The ranks that take part in the result here are 0 ... last; the last one's block comes first. */
static mcomm_err_t fold_blocks(struct fold *fold)
{
    const struct type *type = fold->type;
    size_t block = (size_t)(fold->own_count * type->size);
    int last = fold->which == COLL_SCAN     ? fold->comm->rank
               : fold->which == COLL_EXSCAN ? fold->comm->rank - 1
                                            : fold->num_blocks - 1;
    char *in = AT(fold->scratch, -type->true_lb);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (fold->num_blocks == 0 || last < 0)
        return err;
    mpi_unpack(fold->blocks + (size_t)last * block, (MPI_Count)block, fold->recvbuf,
               fold->own_count, type);
    for (int i = last - 1; i >= 0 && err == MCOMM_SUCCESS; i--) {
        mpi_unpack(fold->blocks + (size_t)i * block, (MPI_Count)block, in, fold->own_count, type);
        err = mpi_op_apply(fold->op, in, fold->recvbuf, fold->own_count, type);
    }
    return err;
}

#define CALL(name, ...)                                                                            \
    (form == BLOCKING      ? mcomm_##name(__VA_ARGS__, comm)                                       \
     : form == NONBLOCKING ? mcomm_i##name(__VA_ARGS__, comm, inner_p)                             \
                           : mcomm_##name##_init(__VA_ARGS__, comm, inner_p))

static mcomm_err_t fold_call(struct fold *fold, enum form form, mcomm_comm_t comm,
                             mcomm_request_t *inner_p)
{
    size_t nbytes = (size_t)(fold->count * fold->type->size);
    int size = fold->comm->size;

    if (fold->which == COLL_REDUCE)
        return CALL(gather, fold->sent, fold->blocks, nbytes, MCOMM_BYTE, fold->root);
    if (!is_scatter(fold->which))
        return CALL(allgather, fold->sent, fold->blocks, nbytes, MCOMM_BYTE);
    return CALL(alltoallv, fold->sent, fold->counts, fold->counts + size, fold->blocks,
                fold->counts + 2 * size, fold->counts + 3 * size, MCOMM_BYTE);
}

/* Counts of a reduce-scatter, in bytes */
static mcomm_err_t fold_counts(struct fold *fold, const struct reduction *what)
{
    size_t size = (size_t)fold->comm->size, element = (size_t)fold->type->size, at = 0;

    fold->counts = malloc(4 * size * sizeof(*fold->counts));
    if (fold->counts == NULL)
        return MCOMM_ERR_NO_MEM;
    for (size_t i = 0; i < size; i++) {
        MPI_Count count =
            what->counts.array != NULL ? mpi_number(what->counts, (int)i) : what->count;

        fold->counts[i] = (size_t)count * element;
        fold->counts[size + i] = at;
        fold->counts[2 * size + i] = (size_t)fold->own_count * element;
        fold->counts[3 * size + i] = i * (size_t)fold->own_count * element;
        at += fold->counts[i];
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t fold_set(struct fold *fold, const struct reduction *what)
{
    size_t block;

    if (is_scatter(fold->which) && fold_counts(fold, what) != MCOMM_SUCCESS)
        return MCOMM_ERR_NO_MEM;
    fold->num_blocks =
        fold->which == COLL_REDUCE && fold->root != fold->comm->rank ? 0 : fold->comm->size;
    block = (size_t)(fold->own_count * fold->type->size);
    fold->sent = malloc(MAX((size_t)(fold->count * fold->type->size), 1));
    fold->blocks = malloc(MAX((size_t)fold->num_blocks * block, 1));
    fold->scratch = malloc(span(fold->type, fold->own_count));
    return fold->sent != NULL && fold->blocks != NULL && fold->scratch != NULL ? MCOMM_SUCCESS
                                                                               : MCOMM_ERR_NO_MEM;
}

static mcomm_err_t start_fold(struct request *request)
{
    fold_pack(request->arg);
    return MCOMM_SUCCESS;
}

static mcomm_err_t done_fold(struct request *request, mcomm_err_t err)
{
    return err == MCOMM_SUCCESS ? fold_blocks(request->arg) : err;
}

static void release_fold(struct request *request)
{
    fold_end(request->arg);
    free(request->arg);
}

static int fold_run(enum form form, struct fold *given, const struct reduction *what,
                    MPI_Request *request_p)
{
    struct comm *comm = given->comm;
    struct fold *fold = given;
    struct request *request = NULL;
    mcomm_err_t err;

    if (form != BLOCKING) {
        request = mpi_request_new(comm);
        fold = request != NULL ? malloc(sizeof(*fold)) : NULL;
        if (fold == NULL) {
            if (request != NULL)
                mpi_request_drop(request);
            return mpi_no_mem(&comm->owner, sizeof(*fold));
        }
        *fold = *given;
        request->is_collective = true;
        request->is_persistent = form == PERSISTENT;
        request->arg = fold;
        request->start = start_fold;
        request->done = done_fold;
        request->release = release_fold;
    }
    mpi_op_ref(fold->op);
    mpi_type_ref(fold->type);
    err = fold_set(fold, what);
    if (err == MCOMM_SUCCESS && form != PERSISTENT)
        fold_pack(fold);
    if (err == MCOMM_SUCCESS)
        err = fold_call(fold, form, comm->inner, request != NULL ? &request->inner[0] : NULL);
    if (request != NULL)
        return mpi_request_give(request, err, request_p);
    if (err == MCOMM_SUCCESS)
        err = fold_blocks(fold);
    fold_end(fold);
    return mpi_done(&comm->owner, err);
}

/* ---- the library's ---- */

static void release_native(struct request *request)
{
    free(request->arg);
}

static mcomm_err_t native_call(enum form form, enum collective which, const struct reduction *what,
                               const size_t *counts, const struct op *op, const struct type *type,
                               mcomm_comm_t comm, mcomm_request_t *inner_p)
{
    const void *in = what->sendbuf == MPI_IN_PLACE ? MCOMM_IN_PLACE : what->sendbuf;
    size_t count = (size_t)what->count;

    switch (which) {
    case COLL_REDUCE:
        return CALL(reduce, in, what->recvbuf, count, type->native, op->native, what->root);
    case COLL_ALLREDUCE:
        return CALL(allreduce, in, what->recvbuf, count, type->native, op->native);
    case COLL_REDUCE_SCATTER_BLOCK:
        return CALL(reduce_scatter_block, in, what->recvbuf, count, type->native, op->native);
    case COLL_REDUCE_SCATTER:
        return CALL(reduce_scatter, in, what->recvbuf, counts, type->native, op->native);
    case COLL_SCAN:
        return CALL(scan, in, what->recvbuf, count, type->native, op->native);
    default:
        return CALL(exscan, in, what->recvbuf, count, type->native, op->native);
    }
}

static int native_run(enum form form, enum collective which, const struct reduction *what,
                      struct comm *comm, const struct op *op, const struct type *type,
                      MPI_Request *request_p)
{
    struct request *request = NULL;
    size_t *counts = NULL;
    mcomm_err_t err;

    if (what->counts.array != NULL) {
        counts = malloc((size_t)comm->size * sizeof(*counts));
        if (counts == NULL)
            return mpi_no_mem(&comm->owner, (size_t)comm->size * sizeof(*counts));
        for (int i = 0; i < comm->size; i++)
            counts[i] = (size_t)mpi_number(what->counts, i);
    }
    if (form == BLOCKING) {
        err = native_call(form, which, what, counts, op, type, comm->inner, NULL);
        free(counts);
        return mpi_done(&comm->owner, err);
    }
    request = mpi_request_new(comm);
    if (request == NULL) {
        free(counts);
        return mpi_no_mem(&comm->owner, sizeof(*request));
    }
    request->arg = counts;
    request->release = release_native;
    request->is_collective = true;
    request->is_persistent = form == PERSISTENT;
    err = native_call(form, which, what, counts, op, type, comm->inner, &request->inner[0]);
    return mpi_request_give(request, err, request_p);
}

/* ---- both ---- */
int mpi_reduction(enum form form, enum collective which, const struct reduction *what,
                  MPI_Comm comm_handle, MPI_Request *request_p)
{
    struct op *op = mpi_op_get(what->op);
    struct fold fold;
    MPI_Count own;

    GET_COMM(comm, comm_handle);
    GET_TYPE(type, what->type, &comm->owner);
    if (op == NULL)
        return mpi_bad_op(&comm->owner, what->op);
    if (mpi_op_check(&comm->owner, op, type) != MPI_SUCCESS)
        return MPI_ERR_OP;
    if (mpi_root_check(which, comm, what->root) != MPI_SUCCESS)
        return MPI_ERR_ROOT;
    own = what->count;
    fold = (struct fold){.which = which,
                         .comm = comm,
                         .op = op,
                         .type = type,
                         .root = what->root,
                         .sendbuf = what->sendbuf,
                         .recvbuf = what->recvbuf,
                         .count = own};
    for (int i = 0; what->counts.array != NULL && i < comm->size; i++) {
        MPI_Count count = mpi_number(what->counts, i);

        own = MIN(own, count);
        fold.count += count;
    }
    if (own < 0)
        return mpi_fail(&comm->owner, MPI_ERR_COUNT, "count %lld", (long long)own);
    if (mpi_op_is_native(op, type))
        return native_run(form, which, what, comm, op, type, request_p);
    if (which == COLL_REDUCE_SCATTER_BLOCK)
        fold.count *= comm->size;
    fold.own_count =
        what->counts.array != NULL ? mpi_number(what->counts, comm->rank) : what->count;
    return fold_run(form, &fold, what, request_p);
}
