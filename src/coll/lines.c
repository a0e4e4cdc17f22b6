/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Who of a node has come to which call: see node.h. */
#include "coll/node.h"

#define SLOT_UNIT 4096u /* closer ones are prefetched while their writer is about to write them */

/* All are past this call, as far as is known. */
static void find_least(struct coll_node *node)
{
    uint64_t least = node->seq;

    for (int i = 0; i < node->size; i++)
        if (i != node->rank && node->past[i] < least)
            least = node->past[i];
    node->done_min = least;
}

static void ask_all(struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank && node->past[i] < node->seq)
            node->past[i] =
                atomic_load_explicit(&node_words_of(node, i)->done, memory_order_acquire);
    find_least(node);
}

static bool is_free(const struct coll_node *node, uint64_t slot_end)
{
    return node->seq + 1 - node->done_min <= NODE_GENS &&
           slot_end - node->slot_ends[node->done_min % NODE_GENS] <= NODE_SLOTS;
}

static bool wait_for_last(struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank && node->past[i] == node->done_min)
            node_waits_for(node, i);
    return false;
}

void mci_coll_line_pass(struct coll_node *node)
{
    node->seq++;
    node->slot_ends[node->seq % NODE_GENS] = node->slot_end;
}

bool mci_coll_line_take(struct coll_node *node, size_t slot_nbytes)
{
    uint64_t begin = node->slot_end, in = begin % NODE_SLOTS, end;

    if (in + slot_nbytes > NODE_SLOTS)
        begin += NODE_SLOTS - in;
    end = begin + (slot_nbytes + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
    if (!is_free(node, end))
        find_least(node);
    if (!is_free(node, end))
        ask_all(node);
    if (!is_free(node, end))
        return wait_for_last(node);
    if (slot_nbytes > 0)
        node->slot_end = end;
    mci_coll_line_pass(node);
    if (slot_nbytes > 0)
        node_line_of(node, node->rank, node->seq)->slot = begin;
    return true;
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
