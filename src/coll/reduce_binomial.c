/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reduce up a binomial tree, ceil(log2 n) rounds; Thakur, Rabenseifner, Gropp 2005. The tree's root
 * is the caller's; rank 0, which passes the result on, if the order of ranks must be kept.
 */
#include "coll/algos.h"

mcomm_err_t mci_coll_reduce_binomial(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, rank = call->team.rank;
    int top = mci_fold_is_commutative(args->op) ? args->root : 0,
        vrank = (rank - top + size) % size;
    size_t nbytes = coll_nbytes(args);
    char *acc, *other;
    int64_t bit;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    acc = rank == args->root ? args->recvbuf : mci_coll_plan_scratch(call->plan, nbytes);
    other = mci_coll_plan_scratch(call->plan, nbytes);
    mci_coll_plan_copy(call->plan, acc, coll_input(args), nbytes);
    mci_coll_plan_round(call->plan);
    for (bit = 1; bit < size && !(vrank & bit); bit <<= 1) {
        if (vrank + bit >= size)
            continue;
        mci_coll_plan_recv(call->plan, other, nbytes, (int)((vrank + bit + top) % size));
        mci_coll_plan_fold(call->plan, acc, acc, other, args->count);
        mci_coll_plan_round(call->plan);
    }
    if (vrank != 0)
        mci_coll_plan_send(call->plan, acc, nbytes, (int)((vrank - bit + top) % size));
    mci_coll_plan_round(call->plan);
    if (top != args->root && rank == top)
        mci_coll_plan_send(call->plan, acc, nbytes, args->root);
    if (top != args->root && rank == args->root)
        mci_coll_plan_recv(call->plan, acc, nbytes, top);
    return mci_coll_plan_end(call->plan);
}
