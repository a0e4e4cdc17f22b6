/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Who of a node has come to which call: see node.h. */
#include "coll/node.h"

bool mci_coll_line_is_free(struct coll_node *node)
{
    uint64_t next = node->seq + 1, least = next;

    if (next - node->done_min <= NODE_GENS)
        return true;
    for (int i = 0; i < node->size; i++) {
        if (i == node->rank)
            continue;
        if (next - node->past[i] > NODE_GENS)
            node->past[i] =
                atomic_load_explicit(&node_words_of(node, i)->done, memory_order_acquire);
        if (next - node->past[i] > NODE_GENS)
            node_waits_for(node, i);
        if (node->past[i] < least)
            least = node->past[i];
    }
    node->done_min = least;
    return next - least <= NODE_GENS;
}

void mci_coll_line_say(struct coll_node *node, enum node_where where)
{
    atomic_store_explicit(&node_line_of(node, node->rank, node->seq)->word,
                          node->seq * NODE_WHERE_NUM + where, memory_order_release);
    mci_coll_node_ring_bells(node);
}

void mci_coll_line_done(struct coll_node *node)
{
    atomic_store_explicit(&node_words_of(node, node->rank)->done, node->seq, memory_order_release);
    mci_coll_node_ring_bells(node); /* for one that waits to write a line again */
}
