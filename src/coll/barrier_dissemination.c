/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Barrier by dissemination, ceil(log2 n) rounds; Hensgen, Finkel, Manber 1988. */
#include "coll/coll_priv.h"

mcomm_err_t mci_coll_barrier_dissemination(struct coll_call *call)
{
    int rank = call->comm->rank, size = call->comm->size;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int64_t step = 1; step < size && err == MCOMM_SUCCESS; step <<= 1) {
        int to = (int)((rank + step) % size), from = (int)((rank - step + size) % size);

        err = mci_coll_sendrecv(call, "", 0, to, (char[1]){0}, 0, from);
    }
    return err;
}
