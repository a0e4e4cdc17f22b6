/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Barrier: a member of each node hears from its node, meets those of the others, and lets its node
 * go (teams.c): two turns in the node, ceil(log2 nodes) rounds across.
 */
#include "coll/algos.h"
#include "coll/stages.h"

mcomm_err_t mci_coll_barrier_leaders(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_coll_on_node(call, STAGE_ALL, (struct coll_args){.kind = COLL_GATHER, .elem = 1});
    if (coll_tiers_of(call)->local_rank == 0)
        mci_coll_across(call, STAGE_ALL, coll_tiers_of(call)->leaders,
                        (struct coll_args){.kind = COLL_BARRIER});
    mci_coll_on_node(call, STAGE_ALL, (struct coll_args){.kind = COLL_BCAST, .elem = 1});
    return mci_coll_stages_end(call->stages);
}
