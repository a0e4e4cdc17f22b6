/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Exported collectives: check the arguments, with the setting "check" compare them with the other
 * members', call select.c. With that setting a member's bad argument is told to the others too.
 */
#include "coll/coll_priv.h"
#include "base/settings.h"

/* On success the engine lock is held. */
static mcomm_err_t enter(mcomm_comm_t handle, struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, comm_p);
    if (err != MCOMM_SUCCESS)
        mci_engine_unlock();
    return err;
}

static mcomm_err_t leave(mcomm_err_t err)
{
    mci_engine_unlock();
    return err;
}

static mcomm_err_t compare(struct mci_comm *comm, mcomm_err_t err,
                           const struct coll_signature *mine)
{
    return mci_settings.check && comm->size > 1 ? mci_coll_check(comm, err, mine) : err;
}

static mcomm_err_t check_elements(size_t count, mcomm_datatype_t dtype, size_t ranks)
{
    size_t elem = mci_dtype_nbytes(dtype);

    if (elem == 0)
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)dtype);
    return mci_check_count("count", count, elem * ranks);
}

static bool overlaps(const void *a, size_t a_nbytes, const void *b, size_t b_nbytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

    return a_nbytes > 0 && b_nbytes > 0 && x < y + b_nbytes && y < x + a_nbytes;
}

static mcomm_err_t check_two(const void *sendbuf, size_t send_nbytes, const void *recvbuf,
                             size_t recv_nbytes)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (recvbuf == MCOMM_IN_PLACE && recv_nbytes > 0)
        return mci_err_set(MCOMM_ERR_BUFFER, "recvbuf is MCOMM_IN_PLACE; only sendbuf may be");
    err = mci_check_buffer("recvbuf", recvbuf, recv_nbytes);
    if (err != MCOMM_SUCCESS || sendbuf == MCOMM_IN_PLACE)
        return err;
    err = mci_check_buffer("sendbuf", sendbuf, send_nbytes);
    if (err == MCOMM_SUCCESS && overlaps(sendbuf, send_nbytes, recvbuf, recv_nbytes))
        err = mci_err_set(MCOMM_ERR_BUFFER,
                          "sendbuf %p (%zu bytes) overlaps recvbuf %p (%zu bytes); "
                          "use MCOMM_IN_PLACE",
                          sendbuf, send_nbytes, recvbuf, recv_nbytes);
    return err;
}

mcomm_err_t mcomm_barrier(mcomm_comm_t comm)
{
    struct coll_signature mine = {.what = COLL_BARRIER};
    struct mci_comm *c;
    mcomm_err_t err = enter(comm, &c);

    if (err != MCOMM_SUCCESS)
        return err;
    err = compare(c, MCOMM_SUCCESS, &mine);
    if (err == MCOMM_SUCCESS)
        err = mci_coll_barrier(c);
    return leave(err);
}

mcomm_err_t mcomm_bcast(void *buf, size_t count, mcomm_datatype_t dtype, int root,
                        mcomm_comm_t comm)
{
    struct coll_signature mine = {
        .what = COLL_BCAST, .count = count, .dtype = (int32_t)dtype, .root = root};
    struct mci_comm *c;
    mcomm_err_t err = enter(comm, &c);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_elements(count, dtype, 1);
    if (err == MCOMM_SUCCESS)
        err = mci_check_rank(c, "root", root);
    if (err == MCOMM_SUCCESS && buf == MCOMM_IN_PLACE && count > 0)
        err = mci_err_set(MCOMM_ERR_BUFFER, "buf is MCOMM_IN_PLACE, which bcast does not know");
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer("buf", buf, count * mci_dtype_nbytes(dtype));
    err = compare(c, err, &mine);
    if (err == MCOMM_SUCCESS)
        err = mci_coll_bcast(c, buf, count * mci_dtype_nbytes(dtype), root);
    return leave(err);
}

mcomm_err_t mcomm_allgather(const void *sendbuf, void *recvbuf, size_t count,
                            mcomm_datatype_t dtype, mcomm_comm_t comm)
{
    struct coll_signature mine = {.what = COLL_ALLGATHER, .count = count, .dtype = (int32_t)dtype};
    struct mci_comm *c;
    size_t nbytes = 0;
    mcomm_err_t err = enter(comm, &c);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_elements(count, dtype, (size_t)c->size);
    if (err == MCOMM_SUCCESS) {
        nbytes = count * mci_dtype_nbytes(dtype);
        err = check_two(sendbuf, nbytes, recvbuf, nbytes * (size_t)c->size);
    }
    err = compare(c, err, &mine);
    if (err == MCOMM_SUCCESS)
        err = mci_coll_allgather(c, sendbuf, recvbuf, nbytes);
    return leave(err);
}

mcomm_err_t mcomm_allreduce(const void *sendbuf, void *recvbuf, size_t count,
                            mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm)
{
    struct coll_signature mine = {
        .what = COLL_ALLREDUCE, .count = count, .dtype = (int32_t)dtype, .op = (int32_t)op};
    struct mci_comm *c;
    mcomm_err_t err = enter(comm, &c);

    if (err != MCOMM_SUCCESS)
        return err;
    err = check_elements(count, dtype, 1);
    if (err == MCOMM_SUCCESS && !mci_coll_op_is_legal(op, dtype))
        err = mci_err_set(MCOMM_ERR_OP, "op is %d (%s), not legal for a reduction of %s", (int)op,
                          mci_op_name(op), mci_dtype_name(dtype));
    if (err == MCOMM_SUCCESS)
        err = check_two(sendbuf, count * mci_dtype_nbytes(dtype), recvbuf,
                        count * mci_dtype_nbytes(dtype));
    err = compare(c, err, &mine);
    if (err == MCOMM_SUCCESS)
        err = mci_coll_allreduce(c, sendbuf, recvbuf, count, dtype, op);
    return leave(err);
}
