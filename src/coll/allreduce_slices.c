/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce by slices: reduce-scatter in the node, allreduce of each slice by the members that have
 * it, allgather in the node (teams.c): across the network goes what the leaders alone would send,
 * but from every member. A long vector goes in parts, so that the node works on one while another
 * crosses the network. What does not divide by the members of a node goes by the leaders.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AHEAD 2 /* parts in the node before the first has come back */

struct part {
    struct coll_args args; /* of the slice, at its place */
    char *whole;
    coll_stage_t wire;
};

/* elements [first, first + count) of the vector, a multiple of the node's members */
static struct part begin(struct coll_call *call, size_t first, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct part part = {.args = call->args};
    size_t elem = part.args.elem;
    coll_stage_t node;

    part.whole = coll_at(part.args.recvbuf, first * elem);
    part.args.count = count / (size_t)tiers->local_size;
    part.args.sendbuf = coll_at(coll_input(&call->args), first * elem);
    /* in place: where its own part of the input lies */
    part.args.recvbuf = part.whole + (size_t)tiers->local_rank * coll_nbytes(&part.args);
    part.args.kind = COLL_REDUCE_SCATTER_BLOCK;
    node = mci_coll_on_node(call, STAGE_NONE, part.args);
    part.args.sendbuf = MCOMM_IN_PLACE;
    part.args.kind = COLL_ALLREDUCE;
    part.wire = mci_coll_across(call, node, tiers->cross, part.args);
    return part;
}

static void end(struct coll_call *call, struct part *part)
{
    part->args.recvbuf = part->whole;
    part->args.kind = COLL_ALLGATHER;
    mci_coll_on_node(call, part->wire, part->args);
}

mcomm_err_t mci_coll_allreduce_slices(struct coll_call *call)
{
    size_t n = (size_t)coll_tiers_of(call)->local_size, each = call->args.count / n;
    int parts = mci_coll_parts(coll_nbytes(&call->args));
    struct part part[AHEAD + 1];
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    for (int i = 0; i < parts + AHEAD; i++) {
        size_t first = coll_part(each, parts, i), next = coll_part(each, parts, i + 1);

        if (i < parts)
            part[i % (AHEAD + 1)] = begin(call, first * n, (next - first) * n);
        if (i >= AHEAD)
            end(call, &part[(i - AHEAD) % (AHEAD + 1)]);
    }
    if (call->args.count > each * n)
        mci_coll_allreduce_by_leaders(call, each * n, call->args.count - each * n);
    return mci_coll_stages_end(call->stages);
}
