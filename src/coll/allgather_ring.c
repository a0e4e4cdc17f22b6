/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather of large blocks around a ring: n-1 rounds, each rank passes on the block it got last.
 * Own block is in recvbuf at its place.
 */
#include "coll/coll_priv.h"

mcomm_err_t mci_coll_allgather_ring(struct coll_call *call, void *recvbuf, size_t nbytes)
{
    int rank = call->comm->rank, size = call->comm->size;
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    char *out = recvbuf;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int round = 0; round < size - 1 && err == MCOMM_SUCCESS; round++) {
        size_t give = (size_t)((rank - round + size) % size);
        size_t take = (size_t)((rank - round - 1 + size) % size);

        err = mci_coll_sendrecv(call, out + give * nbytes, nbytes, next, out + take * nbytes,
                                nbytes, prev);
    }
    return err;
}
