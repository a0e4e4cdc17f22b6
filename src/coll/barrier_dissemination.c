/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Barrier by dissemination, ceil(log2 n) rounds; Hensgen, Finkel, Manber 1988. */
#include "coll/algos.h"

mcomm_err_t mci_coll_barrier_dissemination(struct coll_call *call)
{
    int rank = call->team.rank, size = call->team.size;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    for (int64_t step = 1; step < size; step <<= 1) {
        mci_coll_plan_send(call->plan, NULL, 0, (int)((rank + step) % size));
        mci_coll_plan_recv(call->plan, NULL, 0, (int)((rank - step + size) % size));
        mci_coll_plan_round(call->plan);
    }
    return mci_coll_plan_end(call->plan);
}
