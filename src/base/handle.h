/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Public handles are numbers in a pointer's clothes: type, generation and index into a table.
 * A stale, foreign or garbage handle is recognised without touching any memory of the object.
 */
#ifndef MCI_BASE_HANDLE_H
#define MCI_BASE_HANDLE_H

#include <stddef.h>
#include <stdint.h>

enum mci_handle_type {
    MCI_HANDLE_COMM = 1,
    MCI_HANDLE_GROUP,
    MCI_HANDLE_REQUEST,
    MCI_HANDLE_MESSAGE,
    MCI_HANDLE_INFO,
    MCI_HANDLE_WIN,
    MCI_HANDLE_KV
};

void *mci_handle_new(enum mci_handle_type type, void *obj); /* never NULL but on lack of memory */
void *mci_handle_get(enum mci_handle_type type,
                     const void *handle); /* NULL: not valid; lock-free */
void mci_handle_free(enum mci_handle_type type, void *handle);
/* For objects in pools: the same table entry with a new generation, so that old copies are stale.
 */
void *mci_handle_renew(enum mci_handle_type type, void *handle);
/* Live handles of a type one by one; *cursor starts at 0. Handles may be freed meanwhile. NULL: no
 * more. */
void *mci_handle_next(enum mci_handle_type type, uint32_t *cursor);
size_t mci_handle_count(enum mci_handle_type type); /* live ones, for leak messages */

#endif
