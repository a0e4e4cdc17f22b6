/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Alltoall of small blocks, ceil(log2 n) rounds, each moves half of the blocks; Bruck et al. 1997.
 * Block i on its way to the rank i above travels in the rounds whose bits i has.
 */
#include "coll/algos.h"

/* Blocks with this bit between their places and one message. Returns how many. */
static size_t pack(struct coll_plan *plan, char *blocks, char *packed, int size, int64_t bit,
                   size_t nbytes, bool is_back)
{
    size_t count = 0;

    for (int64_t i = bit; i < size; i++) {
        if (!(i & bit))
            continue;
        if (is_back)
            mci_coll_plan_copy(plan, blocks + (size_t)i * nbytes, packed + count * nbytes, nbytes);
        else
            mci_coll_plan_copy(plan, packed + count * nbytes, blocks + (size_t)i * nbytes, nbytes);
        count++;
    }
    return count;
}

mcomm_err_t mci_coll_alltoall_bruck(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    const char *from = coll_input(args);
    int size = call->team.size, rank = call->team.rank;
    size_t nbytes = coll_nbytes(args), all = (size_t)size * nbytes;
    char *blocks, *out, *in;
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    blocks = mci_coll_plan_scratch(call->plan, 3 * all);
    if (blocks == NULL)
        return mci_coll_plan_end(call->plan);
    out = blocks + all;
    in = out + all;
    mci_coll_plan_copy(call->plan, blocks, from + (size_t)rank * nbytes,
                       (size_t)(size - rank) * nbytes);
    mci_coll_plan_copy(call->plan, blocks + (size_t)(size - rank) * nbytes, from,
                       (size_t)rank * nbytes);
    for (int64_t bit = 1; bit < size; bit <<= 1) {
        size_t count = pack(call->plan, blocks, out, size, bit, nbytes, false);

        mci_coll_plan_round(call->plan);
        mci_coll_plan_send(call->plan, out, count * nbytes, (int)((rank + bit) % size));
        mci_coll_plan_recv(call->plan, in, count * nbytes, (int)((rank - bit + size) % size));
        pack(call->plan, blocks, in, size, bit, nbytes, true);
    }
    mci_coll_plan_round(call->plan);
    for (int i = 0; i < size; i++)
        mci_coll_plan_copy(call->plan,
                           coll_at(args->recvbuf, (size_t)((rank - i + size) % size) * nbytes),
                           blocks + (size_t)i * nbytes, nbytes);
    return mci_coll_plan_end(call->plan);
}
