/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Doubly linked list, embedded links. An unlinked node points to itself. */
#ifndef MCI_BASE_LIST_H
#define MCI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mci_list {
    struct mci_list *next, *prev;
};

#define mci_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void mci_list_init(struct mci_list *head)
{
    head->next = head->prev = head;
}

static inline bool mci_list_is_empty(const struct mci_list *head)
{
    return head->next == head;
}

static inline void mci_list_push(struct mci_list *head, struct mci_list *node)
{
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

static inline void mci_list_push_front(struct mci_list *head, struct mci_list *node)
{
    mci_list_push(head->next, node);
}

static inline void mci_list_remove(struct mci_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = node;
}

/* First node taken out, NULL if empty. */
static inline struct mci_list *mci_list_pop(struct mci_list *head)
{
    struct mci_list *node = head->next;

    if (node == head)
        return NULL;
    mci_list_remove(node);
    return node;
}

#define MCI_LIST_FOREACH(node, head) for (node = (head)->next; node != (head); node = node->next)
#define MCI_LIST_FOREACH_SAFE(node, tmp, head)                                                     \
    for (node = (head)->next, tmp = node->next; node != (head); node = tmp, tmp = node->next)

#endif
