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
    lists = mci_mem_zalloc((size_t)(comm->node_size + 3 * nodes) * sizeof(int));
    if (lists == NULL)
        return MCOMM_ERR_NO_MEM;
    tiers->has_tiers = tiers->is_even = tiers->is_blocked = true;
    tiers->local = lists;
    tiers->leaders = lists + comm->node_size;
    tiers->sizes = tiers->leaders + nodes;
    tiers->cross = tiers->sizes + nodes;
    for (int rank = 0, local = 0; rank < comm->size; rank++) {
        int node = comm->node_of[rank];

        if (tiers->sizes[node] == 0)
            tiers->leaders[node] = rank;
        if (tiers->sizes[node]++ == comm->node_rank)
            tiers->cross[node] = rank;
        if (node == mine)
            tiers->local[local++] = rank;
        if (rank > 0 && node < comm->node_of[rank - 1])
            tiers->is_blocked = false;
    }
    for (int node = 1; node < nodes; node++)
        if (tiers->sizes[node] != tiers->sizes[0])
            tiers->is_even = false;
    return MCOMM_SUCCESS;
}

void mci_coll_tiers_free(struct coll_tiers *tiers)
{
    mci_mem_free(tiers->local); /* and the lists behind it */
    tiers->local = NULL;
}
