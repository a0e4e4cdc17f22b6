/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Broadcast of large data along a chain in chunks: every rank receives chunk i+1 while it passes on
 * chunk i. Each byte enters and leaves a rank once; the chain's length costs size-2 chunks.
 */
#include "coll/algos.h"

#define CHAIN_CHUNK ((size_t)256 << 10)

static size_t chunk_nbytes(size_t nbytes, size_t offset)
{
    return nbytes - offset < CHAIN_CHUNK ? nbytes - offset : CHAIN_CHUNK;
}

mcomm_err_t mci_coll_bcast_chain(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, vrank = (call->team.rank - args->root + size) % size;
    int prev = (call->team.rank + size - 1) % size, next = (call->team.rank + 1) % size;
    size_t nbytes = coll_nbytes(args), offset = 0;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (vrank > 0) {
        mci_coll_plan_recv(call->plan, args->recvbuf, chunk_nbytes(nbytes, 0), prev);
        mci_coll_plan_round(call->plan);
    }
    do { /* a vector of no bytes is one chunk, too */
        size_t after = offset + chunk_nbytes(nbytes, offset);

        if (vrank + 1 < size)
            mci_coll_plan_send(call->plan, coll_at(args->recvbuf, offset), after - offset, next);
        if (vrank > 0 && after < nbytes)
            mci_coll_plan_recv(call->plan, coll_at(args->recvbuf, after),
                               chunk_nbytes(nbytes, after), prev);
        mci_coll_plan_round(call->plan);
        offset = after;
    } while (offset < nbytes);
    return mci_coll_plan_end(call->plan);
}
