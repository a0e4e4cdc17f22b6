/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Handle table. A handle is 64 bits: type (8) | generation (24) | index (32). The table grows by
 * chunks that never move or go away, so that a lookup needs no lock: it reads the entry and
 * compares. The generation changes whenever an entry is freed or renewed.
 */
#include "config.h"

#include "base/handle.h"
#include "base/mem.h"

#include <pthread.h>

#define TYPE_MAX 8
#define GENERATION_MASK 0xffffffu

_Atomic(struct mci_handle_entry *) mci_handle_chunks[MCI_HANDLE_CHUNK_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t entry_count = 1; /* index 0 is never used */
static uint32_t free_head;       /* 0: none */
static size_t live[TYPE_MAX];

static struct mci_handle_entry *entry_at(uint32_t index)
{
    struct mci_handle_entry *chunk;

    if ((index >> MCI_HANDLE_CHUNK_BITS) >= MCI_HANDLE_CHUNK_MAX)
        return NULL;
    chunk = atomic_load_explicit(&mci_handle_chunks[index >> MCI_HANDLE_CHUNK_BITS],
                                 memory_order_acquire);
    return chunk != NULL ? &chunk[index & (MCI_HANDLE_CHUNK_SIZE - 1)] : NULL;
}

/* Of an index that was handed out: its chunk is there, and never goes away. */
static struct mci_handle_entry *entry_known(uint32_t index)
{
    return &atomic_load_explicit(&mci_handle_chunks[index >> MCI_HANDLE_CHUNK_BITS],
                                 memory_order_acquire)[index & (MCI_HANDLE_CHUNK_SIZE - 1)];
}

static struct mci_handle_entry *entry_new(uint32_t *index_p)
{
    uint32_t index = free_head;
    struct mci_handle_entry *entry;

    if (index != 0) {
        entry = entry_known(index);
        free_head = entry->next_free;
        *index_p = index;
        return entry;
    }
    index = entry_count;
    if ((index >> MCI_HANDLE_CHUNK_BITS) >= MCI_HANDLE_CHUNK_MAX)
        return NULL;
    if (entry_at(index) == NULL) {
        struct mci_handle_entry *chunk = mci_mem_zalloc(MCI_HANDLE_CHUNK_SIZE * sizeof(*chunk));

        if (chunk == NULL)
            return NULL;
        atomic_store_explicit(&mci_handle_chunks[index >> MCI_HANDLE_CHUNK_BITS], chunk,
                              memory_order_release);
    }
    entry_count++;
    *index_p = index;
    return entry_known(index);
}

static uint64_t handle_make(enum mci_handle_type type, uint32_t generation, uint32_t index)
{
    return (uint64_t)type << 56 | (uint64_t)generation << 32 | index;
}

void *mci_handle_new(enum mci_handle_type type, void *obj)
{
    struct mci_handle_entry *entry;
    uint32_t index;
    uint64_t handle;

    pthread_mutex_lock(&lock);
    entry = entry_new(&index);
    if (entry == NULL) {
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    entry->generation = (entry->generation + 1) & GENERATION_MASK;
    handle = handle_make(type, entry->generation, index);
    atomic_store_explicit(&entry->obj, obj, memory_order_relaxed);
    atomic_store_explicit(&entry->handle, handle, memory_order_release);
    live[type]++;
    pthread_mutex_unlock(&lock);
    return (void *)(uintptr_t)handle;
}

void mci_handle_free(enum mci_handle_type type, void *handle)
{
    uint32_t index = (uint32_t)(uintptr_t)handle;
    struct mci_handle_entry *entry;

    pthread_mutex_lock(&lock);
    if (mci_handle_get(type, handle) == NULL) {
        pthread_mutex_unlock(&lock);
        return;
    }
    entry = entry_known(index);
    atomic_store_explicit(&entry->handle, 0, memory_order_release);
    entry->next_free = free_head;
    free_head = index;
    live[type]--;
    pthread_mutex_unlock(&lock);
}

void *mci_handle_renew(enum mci_handle_type type, void *handle)
{
    uint32_t index = (uint32_t)(uintptr_t)handle;
    struct mci_handle_entry *entry = entry_known(index);
    uint64_t renewed;

    entry->generation = (entry->generation + 1) & GENERATION_MASK;
    renewed = handle_make(type, entry->generation, index);
    atomic_store_explicit(&entry->handle, renewed, memory_order_release);
    return (void *)(uintptr_t)renewed;
}

void *mci_handle_next(enum mci_handle_type type, uint32_t *cursor)
{
    uint64_t handle;
    uint32_t end;

    pthread_mutex_lock(&lock);
    end = entry_count;
    pthread_mutex_unlock(&lock);
    while (++*cursor < end) {
        handle = atomic_load_explicit(&entry_at(*cursor)->handle, memory_order_acquire);
        if (handle >> 56 == (uint64_t)type)
            return (void *)(uintptr_t)handle;
    }
    return NULL;
}

size_t mci_handle_count(enum mci_handle_type type)
{
    size_t count;

    pthread_mutex_lock(&lock);
    count = live[type];
    pthread_mutex_unlock(&lock);
    return count;
}
