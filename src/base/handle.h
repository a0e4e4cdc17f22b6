/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Public handles are numbers in a pointer's clothes: type, generation and index into a table.
 * A stale, foreign or garbage handle is recognised without touching any memory of the object.
 */
#ifndef MCI_BASE_HANDLE_H
#define MCI_BASE_HANDLE_H

#include <stdatomic.h>
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

#define MCI_HANDLE_CHUNK_BITS 10
#define MCI_HANDLE_CHUNK_SIZE (1u << MCI_HANDLE_CHUNK_BITS)
#define MCI_HANDLE_CHUNK_MAX 65536u

struct mci_handle_entry {
    _Atomic uint64_t handle; /* as given out; 0: free */
    _Atomic(void *) obj;
    uint32_t generation;
    uint32_t next_free;
};
extern _Atomic(struct mci_handle_entry *) mci_handle_chunks[MCI_HANDLE_CHUNK_MAX];

/* Requests: under the engine lock. The others need none. */
void *mci_handle_new(enum mci_handle_type type, void *obj); /* never NULL but on lack of memory */
/* NULL: not valid; lock-free */
static inline void *mci_handle_get(enum mci_handle_type type, const void *handle)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    uint32_t index = (uint32_t)bits;
    struct mci_handle_entry *chunk;

    if (bits >> 56 != (uint64_t)type || index >> MCI_HANDLE_CHUNK_BITS >= MCI_HANDLE_CHUNK_MAX)
        return NULL;
    chunk = atomic_load_explicit(&mci_handle_chunks[index >> MCI_HANDLE_CHUNK_BITS],
                                 memory_order_acquire);
    if (chunk == NULL)
        return NULL;
    chunk += index & (MCI_HANDLE_CHUNK_SIZE - 1);
    return atomic_load_explicit(&chunk->handle, memory_order_acquire) == bits
               ? atomic_load_explicit(&chunk->obj, memory_order_relaxed)
               : NULL;
}
void mci_handle_free(enum mci_handle_type type, void *handle);
/* Live handles of a type one by one; *cursor starts at 0. Handles may be freed meanwhile. NULL: no
 * more. */
void *mci_handle_next(enum mci_handle_type type, uint32_t *cursor);
size_t mci_handle_count(enum mci_handle_type type); /* live ones, for leak messages */

#endif
