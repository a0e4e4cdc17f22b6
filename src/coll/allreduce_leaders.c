/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce: each node to its leader, allreduce among the leaders, and to all of the node
 * (teams.c). A long vector goes in parts: while one is with the leaders, the node folds the next.
 */
#include "coll/algos.h"
#include "coll/stages.h"

struct part {
    struct coll_args args;
    coll_stage_t wire;
};

static struct part reduce(struct coll_call *call, size_t first, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct part part = {.args = call->args};
    bool is_leader = tiers->local_rank == 0;
    coll_stage_t node;

    part.args.count = count;
    part.args.root = 0;
    part.args.recvbuf = coll_at(part.args.recvbuf, first * part.args.elem);
    if (part.args.sendbuf != MCOMM_IN_PLACE)
        part.args.sendbuf = coll_at(part.args.sendbuf, first * part.args.elem);
    else if (!is_leader)
        part.args.sendbuf = part.args.recvbuf;
    part.args.kind = COLL_REDUCE;
    node = mci_coll_on_node(call, STAGE_NONE, part.args);
    if (tiers->local_size > 1)
        part.args.sendbuf = MCOMM_IN_PLACE;
    part.args.kind = COLL_ALLREDUCE;
    if (is_leader)
        part.wire = mci_coll_across(call, node, tiers->leaders, part.args);
    return part;
}

static void spread(struct coll_call *call, struct part *part)
{
    part->args.kind = COLL_BCAST;
    mci_coll_on_node(call, part->wire, part->args);
}

void mci_coll_allreduce_by_leaders(struct coll_call *call, size_t first, size_t count)
{
    int parts = mci_coll_parts(count * call->args.elem);
    struct part before = {.args = call->args}, part;

    for (int i = 0; i < parts; i++) {
        size_t begin = coll_part(count, parts, i), end = coll_part(count, parts, i + 1);

        part = reduce(call, first + begin, end - begin);
        if (i > 0)
            spread(call, &before);
        before = part;
    }
    spread(call, &before);
}

mcomm_err_t mci_coll_allreduce_leaders(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_coll_allreduce_by_leaders(call, 0, call->args.count);
    return mci_coll_stages_end(call->stages);
}
