/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Room, positions and acknowledgements of the rings: see rings.h and node.h. */
#include "coll/rings.h"

bool mci_coll_rings_begin(struct coll_node *node, bool is_writer, size_t slot_nbytes)
{
    size_t n = (size_t)node->size;

    if (!is_writer)
        mci_coll_line_pass(node);
    else if (!mci_coll_line_take(node, slot_nbytes))
        return false;
    memset(&node->flow, 0, sizeof(node->flow));
    memset(node->got, 0, n * sizeof(*node->got));
    memset(node->heard, 0, n * sizeof(*node->heard));
    return true;
}

void mci_coll_rings_say(struct coll_node *node)
{
    struct node_line *line = node_line_of(node, node->rank, node->seq);

    for (int i = 0; i < NODE_RING_NUM; i++) {
        node->own_before[i] = node->own[i];
        memcpy(node->owed_before[i], node->owed[i], (size_t)node->size * sizeof(*node->owed[i]));
        line->base[i] = node->own[i];
        atomic_store_explicit(&line->put[i], node->own[i], memory_order_relaxed);
    }
    mci_coll_line_say(node, NODE_IN_RING);
}

void mci_coll_rings_end(struct coll_node *node)
{
    mci_coll_line_done(node);
}

/* ---- reading ---- */
bool mci_coll_ring_hear(struct coll_node *node, int writer)
{
    const struct node_line *line = node_line_of(node, writer, node->seq);

    if (node->heard[writer])
        return true;
    if (!node_has_line(node, writer))
        return false;
    for (int i = 0; i < NODE_RING_NUM; i++)
        node->pos[i][writer] = node->seen[i][writer] = line->base[i];
    node->heard[writer] = true;
    return true;
}

bool mci_coll_ring_has(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos)
{
    const _Atomic uint64_t *put = &node_line_of(node, writer, node->seq)->put[ring];
    uint64_t *seen = &node->seen[ring][writer], ticks;

    if (*seen >= pos)
        return true;
    if (node->is_crowded || mci_copy_stays_cached) {
        *seen = atomic_load_explicit(put, memory_order_acquire);
        return *seen >= pos || node_waits_for(node, writer);
    }
    *seen = mci_near_load(put, &ticks);
    if (*seen < pos)
        return node_waits_for(node, writer);
    mci_near_sample(&node->near, ticks);
    node->is_far = !node->near.is_near;
    return true;
}

void mci_coll_ring_ack(struct coll_node *node, enum node_ring ring, int writer, uint64_t pos)
{
    atomic_store_explicit(node_ack_of(node, ring, node->rank, writer), pos, memory_order_release);
    mci_coll_node_ring_bell(node, writer);
}

/* ---- writing ---- */
bool mci_coll_ring_has_room(struct coll_node *node, enum node_ring ring, uint64_t end)
{
    uint64_t least = node->own[ring];

    if (end - node->ack_min[ring] <= node->ring_nbytes)
        return true;
    for (int i = 0; i < node->size; i++) {
        uint64_t ack;

        if (i == node->rank)
            continue;
        ack = atomic_load_explicit(node_ack_of(node, ring, i, node->rank), memory_order_acquire);
        if (ack >= node->owed[ring][i])
            continue;
        if (ack >= node->owed_before[ring][i] && ack < node->own_before[ring])
            ack = node->own_before[ring]; /* it needs nothing but what this call has put */
        if (end - ack > node->ring_nbytes)
            node_waits_for(node, i);
        if (ack < least)
            least = ack;
    }
    node->ack_min[ring] = least;
    return end - least <= node->ring_nbytes;
}

void mci_coll_ring_put(struct coll_node *node, enum node_ring ring, int reader, uint64_t end)
{
    node->own[ring] = end;
    if (reader == RING_ALL)
        for (int i = 0; i < node->size; i++)
            node->owed[ring][i] = end;
    else
        node->owed[ring][reader] = end;
    atomic_store_explicit(&node_line_of(node, node->rank, node->seq)->put[ring], end,
                          memory_order_release);
    if (reader == RING_ALL)
        mci_coll_node_ring_bells(node);
    else
        mci_coll_node_ring_bell(node, reader);
}
