/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Room, positions and acknowledgements of the rings: see rings.h and node.h. */
#include "coll/rings.h"

bool mci_coll_ring_has_room(struct coll_node *node, enum node_ring ring, uint64_t end)
{
    uint64_t least = end;

    if (end - node->ack_min[ring] <= node->ring_nbytes)
        return true;
    for (int i = 0; i < node->size; i++) {
        uint64_t ack;

        if (i == node->rank)
            continue;
        ack = atomic_load_explicit(node_ack_of(node, ring, i, node->rank), memory_order_acquire);
        if (ack < least)
            least = ack;
    }
    node->ack_min[ring] = least;
    return end - least <= node->ring_nbytes;
}

void mci_coll_ring_put(struct coll_node *node, enum node_ring ring, uint64_t pos)
{
    node->pos[ring][node->rank] = pos;
    atomic_store_explicit(&node_words_of(node, node->rank)->put[ring], pos, memory_order_release);
    mci_coll_node_ring_bells(node);
}

bool mci_coll_ring_has(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos)
{
    uint64_t *seen = &node->seen[ring][writer], ticks;

    if (*seen >= pos)
        return true;
    *seen = mci_near_load(&node_words_of(node, writer)->put[ring], &ticks);
    if (*seen < pos)
        return false;
    mci_near_sample(&node->near, ticks);
    node->is_far = !node->near.is_near;
    return true;
}

void mci_coll_ring_ack(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos)
{
    struct mci_doorbell *bell = node->peers[writer]->bell;

    atomic_store_explicit(node_ack_of(node, ring, node->rank, writer), pos, memory_order_release);
    if (bell != NULL)
        mci_doorbell_ring(bell);
}

void mci_coll_rings_begin(struct coll_node *node)
{
    memset(&node->flow, 0, sizeof(node->flow));
}
