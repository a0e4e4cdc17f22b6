/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Inclusive and exclusive prefixes by recursive doubling, ceil(log2 n) rounds, each rank sends and
 * receives all data in each; Hillis, Steele 1986. partial holds the ranks (rank - bit, rank].
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_scan_doubling(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    bool is_exclusive = args->kind == COLL_EXSCAN, has_result = !is_exclusive;
    int size = call->team.size, rank = call->team.rank;
    size_t nbytes = coll_nbytes(args);
    char *partial, *other;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    partial = mci_coll_plan_scratch(call->plan, nbytes);
    other = mci_coll_plan_scratch(call->plan, nbytes);
    mci_coll_plan_copy(call->plan, partial, coll_input(args), nbytes);
    if (!is_exclusive)
        mci_coll_plan_copy(call->plan, args->recvbuf, coll_input(args), nbytes);
    mci_coll_plan_round(call->plan);
    for (int64_t bit = 1; bit < size; bit <<= 1) {
        if (rank + bit < size)
            mci_coll_plan_send(call->plan, partial, nbytes, (int)(rank + bit));
        if (rank - bit >= 0) {
            mci_coll_plan_recv(call->plan, other, nbytes, (int)(rank - bit));
            if (has_result)
                mci_coll_plan_fold(call->plan, args->recvbuf, other, args->recvbuf, args->count);
            else
                mci_coll_plan_copy(call->plan, args->recvbuf, other, nbytes);
            has_result = true;
            mci_coll_plan_fold(call->plan, partial, other, partial, args->count);
        }
        mci_coll_plan_round(call->plan);
    }
    return mci_coll_plan_end(call->plan);
}
