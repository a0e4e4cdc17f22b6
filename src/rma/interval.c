/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Treap with split and merge (Seidel, Aragon 1996), expected O(log n). Invariant: max_end of a node
 * is the largest end in its subtree, kept by node_update() on the way up.
 */
#include "config.h"

#include "base/hash.h"
#include "base/mem.h"
#include "rma/interval.h"

struct mci_interval {
    struct mci_interval *left, *right;
    uint64_t base, end, age;
    uint64_t max_end;
    uint64_t priority;
};

void mci_interval_init(struct mci_interval_set *set)
{
    set->root = NULL;
    set->age = 0;
    set->count = 0;
}

static void node_update(struct mci_interval *node)
{
    node->max_end = node->end;
    if (node->left != NULL && node->left->max_end > node->max_end)
        node->max_end = node->left->max_end;
    if (node->right != NULL && node->right->max_end > node->max_end)
        node->max_end = node->right->max_end;
}

/* left: all with base < key, right: the rest */
static void treap_split(struct mci_interval *node, uint64_t key, struct mci_interval **left_p,
                        struct mci_interval **right_p)
{
    if (node == NULL) {
        *left_p = *right_p = NULL;
    } else if (node->base < key) {
        treap_split(node->right, key, &node->right, right_p);
        node_update(node);
        *left_p = node;
    } else {
        treap_split(node->left, key, left_p, &node->left);
        node_update(node);
        *right_p = node;
    }
}

static struct mci_interval *treap_merge(struct mci_interval *left, struct mci_interval *right)
{
    if (left == NULL)
        return right;
    if (right == NULL)
        return left;
    if (left->priority >= right->priority) {
        left->right = treap_merge(left->right, right);
        node_update(left);
        return left;
    }
    right->left = treap_merge(left, right->left);
    node_update(right);
    return right;
}

/* Equal bases: the younger one is kept to the left, so that it is found first. */
mcomm_err_t mci_interval_add(struct mci_interval_set *set, uint64_t base, uint64_t nbytes)
{
    struct mci_interval *node = mci_mem_zalloc(sizeof(*node)), *left, *right;

    if (node == NULL)
        return MCOMM_ERR_NO_MEM;
    node->base = base;
    node->end = node->max_end = base + nbytes;
    node->age = ++set->age;
    node->priority = mci_hash_mix(node->age, 0x9e3779b97f4a7c15u);
    treap_split(set->root, base, &left, &right);
    set->root = treap_merge(treap_merge(left, node), right);
    set->count++;
    return MCOMM_SUCCESS;
}

/* Takes the leftmost node out of the tree at *link. */
static struct mci_interval *treap_pop_first(struct mci_interval **link)
{
    struct mci_interval *node = *link;

    if (node->left == NULL) {
        *link = node->right;
        return node;
    }
    node = treap_pop_first(&node->left);
    node_update(*link);
    return node;
}

bool mci_interval_remove(struct mci_interval_set *set, uint64_t base, uint64_t *nbytes_p)
{
    struct mci_interval *left, *right, *first, *victim = NULL;

    treap_split(set->root, base, &left, &right);
    for (first = right; first != NULL && first->left != NULL;)
        first = first->left;
    if (first != NULL && first->base == base)
        victim = treap_pop_first(&right);
    set->root = treap_merge(left, right);
    if (victim == NULL)
        return false;
    *nbytes_p = victim->end - victim->base;
    mci_mem_free(victim);
    set->count--;
    return true;
}

/* The furthest end among the ranges that begin at or before addr. */
static uint64_t furthest_end(const struct mci_interval *node, uint64_t addr)
{
    uint64_t end = 0;

    while (node != NULL) {
        if (node->base > addr) {
            node = node->left;
            continue;
        }
        if (node->left != NULL && node->left->max_end > end)
            end = node->left->max_end;
        if (node->end > end)
            end = node->end;
        node = node->right;
    }
    return end;
}

bool mci_interval_covers(const struct mci_interval_set *set, uint64_t addr, uint64_t nbytes)
{
    uint64_t last;

    if (__builtin_add_overflow(addr, nbytes, &last))
        return false;
    while (addr < last) {
        uint64_t end = furthest_end(set->root, addr);

        if (end <= addr)
            return false;
        addr = end;
    }
    return true;
}

/* Iterative: a merge of both children takes the place of the freed root. */
void mci_interval_fini(struct mci_interval_set *set)
{
    while (set->root != NULL) {
        struct mci_interval *node = set->root;

        set->root = treap_merge(node->left, node->right);
        mci_mem_free(node);
    }
    set->count = 0;
}
