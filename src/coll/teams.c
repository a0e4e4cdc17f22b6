/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What collectives of several nodes with several members each share. Most go within the nodes,
 * then one member of each node (its leader) among those, then within the nodes again, so that data
 * crosses the network once a node. With a root, the root leads its node. "Slices": every member of
 * a node does the work among the nodes for its own part, so that all cores and rails are used.
 * Karonis et al. 2000; Jain, Kaleem et al. 2018.
 */
#include "coll/stages.h"

#define PART_NBYTES ((size_t)256 << 10)
#define PARTS_MAX 128

coll_stage_t mci_coll_on_node(struct coll_call *call, coll_stage_t after, struct coll_args args)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_team team = {.rank = tiers->local_rank,
                             .size = tiers->local_size,
                             .ranks = tiers->local,
                             .is_node = true};

    if (tiers->local_size == 1)
        return STAGE_NONE;
    return mci_coll_stages_add(call->stages, LANE_NODE, after, team, args);
}

coll_stage_t mci_coll_across(struct coll_call *call, coll_stage_t after, const int *ranks,
                             struct coll_args args)
{
    struct coll_team team = {
        .rank = coll_my_node(call), .size = call->comm->node_count, .ranks = ranks};

    return mci_coll_stages_add(call->stages, LANE_WIRE, after, team, args);
}

const int *mci_coll_leaders_with_root(struct coll_call *call, int root, int *place_p)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    int nodes = call->comm->node_count;
    int *ranks = mci_coll_stages_scratch(call->stages, (size_t)nodes * sizeof(*ranks));

    if (ranks == NULL)
        return NULL;
    for (int i = 0; i < nodes; i++)
        ranks[i] = i == call->comm->node_of[root] ? root : tiers->leaders[i];
    for (*place_p = 0; tiers->local[*place_p] != ranks[coll_my_node(call)];)
        ++*place_p;
    return ranks;
}

size_t *mci_coll_nodes_counts(struct coll_call *call, size_t each)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    size_t nodes = (size_t)call->comm->node_count;
    size_t *lists = mci_coll_stages_scratch(call->stages, 2 * nodes * sizeof(*lists));

    for (size_t i = 0; i < nodes && lists != NULL; i++) {
        lists[i] = (size_t)tiers->sizes[i] * each;
        lists[nodes + i] = (size_t)tiers->begin[i] * each;
    }
    return lists;
}

size_t *mci_coll_node_counts(struct coll_call *call, size_t *mine)
{
    size_t n = (size_t)coll_tiers_of(call)->local_size;
    size_t *counts = mci_coll_stages_scratch(call->stages, n * sizeof(*counts));

    if (counts == NULL)
        return NULL;
    counts[0] = *mine; /* if alone */
    mci_coll_on_node(call, STAGE_ALL,
                     (struct coll_args){.kind = COLL_ALLGATHER,
                                        .sendbuf = mine,
                                        .recvbuf = counts,
                                        .count = sizeof(*counts),
                                        .dtype = MCOMM_BYTE,
                                        .elem = 1});
    return counts;
}

int mci_coll_parts(size_t nbytes)
{
    size_t parts = nbytes / PART_NBYTES;

    return parts < 1 ? 1 : parts > PARTS_MAX ? PARTS_MAX : (int)parts;
}
