/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Broadcast down a binomial tree, ceil(log2 n) rounds; Thakur, Rabenseifner, Gropp 2005. */
#include "coll/algos.h"

mcomm_err_t mci_coll_bcast_binomial(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, vrank = (call->team.rank - args->root + size) % size;
    size_t nbytes = coll_nbytes(args);
    int64_t bit = 1;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    while (bit < size && !(vrank & bit))
        bit <<= 1;
    if (vrank != 0) {
        mci_coll_plan_recv(call->plan, args->recvbuf, nbytes,
                           (int)((vrank - bit + args->root) % size));
        mci_coll_plan_round(call->plan);
    }
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (vrank + bit < size)
            mci_coll_plan_send(call->plan, args->recvbuf, nbytes,
                               (int)((vrank + bit + args->root) % size));
    return mci_coll_plan_end(call->plan);
}
