/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Who of a communicator is where: see coll_priv.h. Nothing is told; all members compute the same.
 */
#include "coll/coll_priv.h"

mcomm_err_t mci_coll_tiers_make(struct coll_tiers *tiers, const struct mci_comm *comm)
{
    int mine = comm->node_of[comm->rank], nodes = comm->node_count;
    int *lists;

    *tiers = (struct coll_tiers){.local_rank = comm->node_rank, .local_size = comm->node_size};
    if (nodes == 1 || nodes == comm->size)
        return MCOMM_SUCCESS;
    lists = mci_mem_zalloc((size_t)(comm->size + 4 * nodes) * sizeof(int));
    if (lists == NULL)
        return MCOMM_ERR_NO_MEM;
    tiers->has_tiers = tiers->is_even = tiers->is_blocked = true;
    tiers->order = lists;
    tiers->begin = lists + comm->size;
    tiers->sizes = tiers->begin + nodes;
    tiers->leaders = tiers->sizes + nodes;
    tiers->cross = tiers->leaders + nodes;
    for (int rank = 0; rank < comm->size; rank++) {
        tiers->sizes[comm->node_of[rank]]++;
        if (rank > 0 && comm->node_of[rank] < comm->node_of[rank - 1])
            tiers->is_blocked = false;
    }
    for (int node = 1; node < nodes; node++) {
        tiers->begin[node] = tiers->begin[node - 1] + tiers->sizes[node - 1];
        if (tiers->sizes[node] != tiers->sizes[0])
            tiers->is_even = false;
    }
    for (int rank = 0; rank < comm->size; rank++) /* begin serves as cursor, and is put back */
        tiers->order[tiers->begin[comm->node_of[rank]]++] = rank;
    for (int node = 0; node < nodes; node++) {
        tiers->begin[node] -= tiers->sizes[node];
        tiers->leaders[node] = tiers->order[tiers->begin[node]];
        if (comm->node_rank < tiers->sizes[node])
            tiers->cross[node] = tiers->order[tiers->begin[node] + comm->node_rank];
    }
    tiers->local = tiers->order + tiers->begin[mine];
    return MCOMM_SUCCESS;
}

void mci_coll_tiers_free(struct coll_tiers *tiers)
{
    mci_mem_free(tiers->order); /* and the lists behind it */
    tiers->order = tiers->local = NULL;
}
