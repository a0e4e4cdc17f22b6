/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather of small blocks, ceil(log2 n) rounds; Bruck et al. 1997. Blocks are kept rotated, own
 * one first, and put in order at the end. Own block is in recvbuf at its place.
 */
#include "coll/coll_priv.h"

#include <string.h>

mcomm_err_t mci_coll_allgather_bruck(struct coll_call *call, void *recvbuf, size_t nbytes)
{
    int rank = call->comm->rank, size = call->comm->size;
    char *out = recvbuf, *rotated = mci_mem_alloc((size_t)size * nbytes);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (rotated == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "allgather: no memory for %d blocks of %zu bytes",
                           size, nbytes);
    memcpy(rotated, out + (size_t)rank * nbytes, nbytes);
    for (int64_t have = 1; have < size && err == MCOMM_SUCCESS; have <<= 1) {
        size_t blocks = (size_t)(have < size - have ? have : size - have);
        int to = (int)((rank - have + size) % size), from = (int)((rank + have) % size);

        err = mci_coll_sendrecv(call, rotated, blocks * nbytes, to, rotated + (size_t)have * nbytes,
                                blocks * nbytes, from);
    }
    if (err == MCOMM_SUCCESS) {
        size_t tail = (size_t)(size - rank) * nbytes;

        memcpy(out + (size_t)rank * nbytes, rotated, tail);
        memcpy(out, rotated + tail, (size_t)rank * nbytes);
    }
    mci_mem_free(rotated);
    return err;
}
