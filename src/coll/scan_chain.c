/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Scan and exscan from rank to rank, n-1 rounds in the last one's view: every result is the one of
 * the rank before with one more operand, so the bits depend on nothing but the inputs.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_scan_chain(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    bool is_exclusive = args->kind == COLL_EXSCAN;
    int size = call->team.size, rank = call->team.rank;
    size_t nbytes = coll_nbytes(args);
    char *mine, *before = NULL;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    mine = is_exclusive ? mci_coll_plan_scratch(call->plan, nbytes) : args->recvbuf;
    if (rank > 0)
        before = mci_coll_plan_scratch(call->plan, nbytes);
    mci_coll_plan_copy(call->plan, mine, coll_input(args), nbytes);
    if (rank > 0) {
        mci_coll_plan_recv(call->plan, before, nbytes, rank - 1);
        mci_coll_plan_fold(call->plan, mine, before, mine, args->count);
        if (is_exclusive)
            mci_coll_plan_copy(call->plan, args->recvbuf, before, nbytes);
    }
    mci_coll_plan_round(call->plan);
    if (rank + 1 < size)
        mci_coll_plan_send(call->plan, mine, nbytes, rank + 1);
    return mci_coll_plan_end(call->plan);
}
