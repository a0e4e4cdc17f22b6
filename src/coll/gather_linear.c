/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Gather and gatherv: everybody sends to the root, which takes a few at a time. */
#include "coll/algos.h"

#define AT_ONCE 8

static void root_plan(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    bool has_counts = args->kind == COLL_GATHERV;
    int rank = call->team.rank, live = 0;

    for (int i = 0; i < call->team.size; i++) {
        size_t nbytes = has_counts ? args->recv_counts[i] * args->elem : coll_nbytes(args);
        char *to = coll_at(args->recvbuf, has_counts ? args->recv_displs[i] * args->elem
                                                     : (size_t)i * coll_nbytes(args));

        if (i == rank && args->sendbuf != MCOMM_IN_PLACE)
            mci_coll_plan_copy(call->plan, to, args->sendbuf, nbytes);
        if (i == rank || nbytes == 0)
            continue;
        mci_coll_plan_recv(call->plan, to, nbytes, i);
        if (++live % AT_ONCE == 0)
            mci_coll_plan_round(call->plan);
    }
}

mcomm_err_t mci_coll_gather_linear(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->team.rank == args->root)
        root_plan(call);
    else if (args->count > 0)
        mci_coll_plan_send(call->plan, args->sendbuf, coll_nbytes(args), args->root);
    return mci_coll_plan_end(call->plan);
}
