/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which algorithm serves a call: by bytes and ranks, which are equal on all members. Latency counts
 * below the limits, bandwidth above.
 */
#include "coll/coll_priv.h"

#include <string.h>

#define BCAST_CHAIN_FROM ((size_t)1 << 20)
#define ALLGATHER_RING_FROM ((size_t)64 << 10) /* of the result */
#define ALLREDUCE_RING_FROM ((size_t)128 << 10)

mcomm_err_t mci_coll_barrier(struct mci_comm *comm)
{
    struct coll_call call;
    mcomm_err_t err = mci_coll_begin(&call, comm, "barrier");

    if (err == MCOMM_SUCCESS)
        err = mci_coll_barrier_dissemination(&call);
    return mci_coll_end(&call, err);
}

mcomm_err_t mci_coll_bcast(struct mci_comm *comm, void *buf, size_t nbytes, int root)
{
    struct coll_call call;
    mcomm_err_t err = mci_coll_begin(&call, comm, "bcast");

    if (err == MCOMM_SUCCESS && nbytes > 0) {
        if (nbytes >= BCAST_CHAIN_FROM && comm->size > 2)
            err = mci_coll_bcast_chain(&call, buf, nbytes, root);
        else
            err = mci_coll_bcast_binomial(&call, buf, nbytes, root);
    }
    return mci_coll_end(&call, err);
}

mcomm_err_t mci_coll_allgather(struct mci_comm *comm, const void *sendbuf, void *recvbuf,
                               size_t nbytes)
{
    struct coll_call call;
    mcomm_err_t err = mci_coll_begin(&call, comm, "allgather");

    if (err == MCOMM_SUCCESS && nbytes > 0) {
        if (sendbuf != MCOMM_IN_PLACE)
            memmove((char *)recvbuf + (size_t)comm->rank * nbytes, sendbuf, nbytes);
        if (nbytes * (size_t)comm->size >= ALLGATHER_RING_FROM)
            err = mci_coll_allgather_ring(&call, recvbuf, nbytes);
        else
            err = mci_coll_allgather_bruck(&call, recvbuf, nbytes);
    }
    return mci_coll_end(&call, err);
}

mcomm_err_t mci_coll_allreduce(struct mci_comm *comm, const void *sendbuf, void *recvbuf,
                               size_t count, mcomm_datatype_t dtype, mcomm_op_t op)
{
    size_t nbytes = count * mci_dtype_nbytes(dtype);
    struct coll_call call;
    mcomm_err_t err = mci_coll_begin(&call, comm, "allreduce");

    if (err == MCOMM_SUCCESS && count > 0) {
        if (sendbuf != MCOMM_IN_PLACE)
            memmove(recvbuf, sendbuf, nbytes);
        if (nbytes >= ALLREDUCE_RING_FROM)
            err = mci_coll_allreduce_ring(&call, recvbuf, count, dtype, op);
        else
            err = mci_coll_allreduce_doubling(&call, recvbuf, count, dtype, op);
    }
    return mci_coll_end(&call, err);
}
