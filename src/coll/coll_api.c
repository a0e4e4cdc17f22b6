/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Exported collectives: each in three forms that fill the same arguments. They are checked here
 * and handed on; with the setting "check" the members compare theirs first (compare.c).
 */
#include "coll/coll_priv.h"
#include "base/settings.h"

/* The engine lock is held, and the communicator, if *comm_p is not NULL; the error may be of the
 * arguments. */
static mcomm_err_t enter(mcomm_comm_t handle, struct coll_args *args, struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    *comm_p = NULL;
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, comm_p);
    if (err == MCOMM_SUCCESS) {
        mci_comm_ref(*comm_p);
        return mci_coll_check_args(*comm_p, args);
    }
    mci_engine_unlock();
    return err;
}

static mcomm_err_t leave(struct mci_comm *comm, mcomm_err_t err)
{
    mci_comm_unref(comm);
    mci_engine_unlock();
    return err;
}

/* With the setting "check" the others learn of wrong arguments. */
static bool are_told(const struct mci_comm *comm)
{
    return mci_settings.check && comm->size > 1;
}

static mcomm_err_t run(mcomm_comm_t handle, struct coll_args args)
{
    struct mci_comm *comm;
    mcomm_err_t arg_err = enter(handle, &args, &comm), err = arg_err;

    if (comm == NULL)
        return err;
    if (arg_err == MCOMM_SUCCESS || are_told(comm))
        err = mci_coll_run_checked(comm, &args, arg_err);
    if (arg_err != MCOMM_SUCCESS)
        err = mci_coll_check_args(comm, &args); /* its text again */
    return leave(comm, err);
}

static mcomm_err_t start(mcomm_comm_t handle, struct coll_args args, bool is_persistent,
                         mcomm_request_t *request_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = enter(handle, &args, &comm);

    if (comm == NULL)
        return err;
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("request_p", request_p);
    if (err == MCOMM_SUCCESS)
        err = mci_coll_request_new(comm, &args, is_persistent, request_p);
    else if (!is_persistent && are_told(comm))
        mci_coll_refuse(comm, &args, err);
    return leave(comm, err);
}

/* ---- operations ---- */
mcomm_err_t mcomm_op_create(mcomm_reduce_fn_t fn, void *arg, int is_commutative, mcomm_op_t *op_p)
{
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS && fn == NULL)
        err = mci_err_set(MCOMM_ERR_ARG, "fn is NULL");
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("op_p", op_p);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_fold_op_create(fn, arg, is_commutative != 0, op_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_op_free(mcomm_op_t *op_p)
{
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("op_p", op_p);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_fold_op_free(*op_p);
    mci_engine_unlock();
    if (err == MCOMM_SUCCESS)
        *op_p = MCOMM_OP_NULL;
    return err;
}

static mcomm_err_t check_local(const void *in, const void *inout, size_t count,
                               mcomm_datatype_t dtype, mcomm_op_t op)
{
    size_t elem = mci_dtype_nbytes(dtype), nbytes = count * elem;
    mcomm_err_t err = mci_fold_check(dtype, op);

    if (err == MCOMM_SUCCESS && op == MCOMM_AVG)
        err = mci_err_set(MCOMM_ERR_OP, "op is AVG, which needs all ranks' elements");
    if (err == MCOMM_SUCCESS)
        err = mci_check_count("count", count, elem);
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer("in", in, nbytes);
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer("inout", inout, nbytes);
    if (err == MCOMM_SUCCESS && nbytes > 0 && (uintptr_t)in < (uintptr_t)inout + nbytes &&
        (uintptr_t)inout < (uintptr_t)in + nbytes)
        err = mci_err_set(MCOMM_ERR_BUFFER, "in %p overlaps inout %p (%zu bytes each)", in, inout,
                          nbytes);
    return err;
}

/* Without the lock while it works, which may take long. */
mcomm_err_t mcomm_reduce_local(const void *in, void *inout, size_t count, mcomm_datatype_t dtype,
                               mcomm_op_t op)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = check_local(in, inout, count, dtype, op);
    if (err == MCOMM_SUCCESS)
        mci_fold_op_hold(op);
    mci_engine_unlock();
    if (err != MCOMM_SUCCESS)
        return err;
    mci_fold_two(inout, in, inout, count, dtype, op);
    mci_engine_lock();
    mci_fold_op_release(op);
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}

/* ---- collectives ---- */
mcomm_err_t mcomm_barrier(mcomm_comm_t comm)
{
    return run(comm, (struct coll_args){.kind = COLL_BARRIER});
}

mcomm_err_t mcomm_ibarrier(mcomm_comm_t comm, mcomm_request_t *request_p)
{
    return start(comm, (struct coll_args){.kind = COLL_BARRIER}, false, request_p);
}

mcomm_err_t mcomm_barrier_init(mcomm_comm_t comm, mcomm_request_t *request_p)
{
    return start(comm, (struct coll_args){.kind = COLL_BARRIER}, true, request_p);
}

/* The three forms of a collective: parameters, then the arguments they make. */
#define PARAMS(...) __VA_ARGS__
#define FORMS(NAME, PARAMETERS, ...)                                                               \
    mcomm_err_t mcomm_##NAME(PARAMS PARAMETERS, mcomm_comm_t comm)                                 \
    {                                                                                              \
        return run(comm, (struct coll_args){__VA_ARGS__});                                         \
    }                                                                                              \
    mcomm_err_t mcomm_i##NAME(PARAMS PARAMETERS, mcomm_comm_t comm, mcomm_request_t *request_p)    \
    {                                                                                              \
        return start(comm, (struct coll_args){__VA_ARGS__}, false, request_p);                     \
    }                                                                                              \
    mcomm_err_t mcomm_##NAME##_init(PARAMS PARAMETERS, mcomm_comm_t comm,                          \
                                    mcomm_request_t *request_p)                                    \
    {                                                                                              \
        return start(comm, (struct coll_args){__VA_ARGS__}, true, request_p);                      \
    }

FORMS(bcast, (void *buf, size_t count, mcomm_datatype_t dtype, int root), .kind = COLL_BCAST,
      .recvbuf = buf, .count = count, .dtype = dtype, .root = root)
FORMS(reduce,
      (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op,
       int root),
      .kind = COLL_REDUCE, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype,
      .op = op, .root = root)
FORMS(allreduce,
      (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op),
      .kind = COLL_ALLREDUCE, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
      .dtype = dtype, .op = op)
FORMS(gather, (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, int root),
      .kind = COLL_GATHER, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype,
      .root = root)
FORMS(gatherv,
      (const void *sendbuf, size_t send_count, void *recvbuf, const size_t *recv_counts,
       const size_t *displs, mcomm_datatype_t dtype, int root),
      .kind = COLL_GATHERV, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = send_count,
      .recv_counts = recv_counts, .recv_displs = displs, .dtype = dtype, .root = root)
FORMS(scatter, (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, int root),
      .kind = COLL_SCATTER, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype,
      .root = root)
FORMS(scatterv,
      (const void *sendbuf, const size_t *send_counts, const size_t *displs, void *recvbuf,
       size_t recv_count, mcomm_datatype_t dtype, int root),
      .kind = COLL_SCATTERV, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = recv_count,
      .send_counts = send_counts, .send_displs = displs, .dtype = dtype, .root = root)
FORMS(allgather, (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype),
      .kind = COLL_ALLGATHER, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
      .dtype = dtype)
FORMS(allgatherv,
      (const void *sendbuf, size_t send_count, void *recvbuf, const size_t *recv_counts,
       const size_t *displs, mcomm_datatype_t dtype),
      .kind = COLL_ALLGATHERV, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = send_count,
      .recv_counts = recv_counts, .recv_displs = displs, .dtype = dtype)
FORMS(reduce_scatter_block,
      (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op),
      .kind = COLL_REDUCE_SCATTER_BLOCK, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count,
      .dtype = dtype, .op = op)
FORMS(reduce_scatter,
      (const void *sendbuf, void *recvbuf, const size_t *recv_counts, mcomm_datatype_t dtype,
       mcomm_op_t op),
      .kind = COLL_REDUCE_SCATTER, .sendbuf = sendbuf, .recvbuf = recvbuf,
      .recv_counts = recv_counts, .dtype = dtype, .op = op)
FORMS(alltoall, (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype),
      .kind = COLL_ALLTOALL, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype)
FORMS(alltoallv,
      (const void *sendbuf, const size_t *send_counts, const size_t *send_displs, void *recvbuf,
       const size_t *recv_counts, const size_t *recv_displs, mcomm_datatype_t dtype),
      .kind = COLL_ALLTOALLV, .sendbuf = sendbuf, .recvbuf = recvbuf, .send_counts = send_counts,
      .send_displs = send_displs, .recv_counts = recv_counts, .recv_displs = recv_displs,
      .dtype = dtype)
FORMS(scan,
      (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op),
      .kind = COLL_SCAN, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype,
      .op = op)
FORMS(exscan,
      (const void *sendbuf, void *recvbuf, size_t count, mcomm_datatype_t dtype, mcomm_op_t op),
      .kind = COLL_EXSCAN, .sendbuf = sendbuf, .recvbuf = recvbuf, .count = count, .dtype = dtype,
      .op = op)
