/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Broadcast down a binomial tree, ceil(log2 n) rounds; Thakur, Rabenseifner, Gropp 2005. */
#include "coll/coll_priv.h"

mcomm_err_t mci_coll_bcast_binomial(struct coll_call *call, void *buf, size_t nbytes, int root)
{
    int size = call->comm->size, vrank = (call->comm->rank - root + size) % size;
    mcomm_err_t err = MCOMM_SUCCESS;
    int64_t bit = 1;

    while (bit < size && !(vrank & bit))
        bit <<= 1;
    if (vrank != 0)
        err = mci_coll_sendrecv(call, NULL, 0, COLL_NOBODY, buf, nbytes,
                                (int)((vrank - bit + root) % size));
    for (bit >>= 1; bit > 0 && err == MCOMM_SUCCESS; bit >>= 1)
        if (vrank + bit < size)
            err = mci_coll_sendrecv(call, buf, nbytes, (int)((vrank + bit + root) % size), NULL, 0,
                                    COLL_NOBODY);
    return err;
}
