/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Handle table. A handle is 64 bits: type (8) | generation (24) | index (32). The table grows by
 * chunks that never move or go away, so that a lookup needs no lock: it reads the entry and
 * compares. The generation changes whenever an entry is used anew.
 */
#include "config.h"

#include "base/handle.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>

#define TYPE_MAX 8
#define GENERATION_MASK 0xffffffu

_Atomic(struct mci_handle_entry *) mci_handle_chunks[MCI_HANDLE_CHUNK_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t entry_count = 1; /* index 0 is never used */
/*
 * 0: none. Each type has its own list, and that of requests is under the engine lock, like all that
 * makes and frees requests: only a larger table takes the mutex.
 */
static uint32_t free_heads[TYPE_MAX];
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

static inline bool is_under_engine_lock(enum mci_handle_type type)
{
    return type == MCI_HANDLE_REQUEST;
}

static inline void list_lock(enum mci_handle_type type)
{
    if (!is_under_engine_lock(type))
        pthread_mutex_lock(&lock);
}

static inline void list_unlock(enum mci_handle_type type)
{
    if (!is_under_engine_lock(type))
        pthread_mutex_unlock(&lock);
}

/* The index of an entry never used before, 0: no memory. lock: the mutex */
__attribute__((noinline)) static uint32_t entry_add(void)
{
    uint32_t index = entry_count;
    struct mci_handle_entry *chunk;

    if ((index >> MCI_HANDLE_CHUNK_BITS) >= MCI_HANDLE_CHUNK_MAX)
        return 0;
    if (entry_at(index) == NULL) {
        chunk = mci_mem_zalloc(MCI_HANDLE_CHUNK_SIZE * sizeof(*chunk));
        if (chunk == NULL)
            return 0;
        atomic_store_explicit(&mci_handle_chunks[index >> MCI_HANDLE_CHUNK_BITS], chunk,
                              memory_order_release);
    }
    entry_count++;
    return index;
}

static inline uint32_t entry_new(enum mci_handle_type type)
{
    uint32_t index = free_heads[type];

    if (index != 0) {
        free_heads[type] = entry_known(index)->next_free;
        return index;
    }
    if (is_under_engine_lock(type))
        pthread_mutex_lock(&lock);
    index = entry_add();
    if (is_under_engine_lock(type))
        pthread_mutex_unlock(&lock);
    return index;
}

static uint64_t handle_make(enum mci_handle_type type, uint32_t generation, uint32_t index)
{
    return (uint64_t)type << 56 | (uint64_t)generation << 32 | index;
}

static inline void *handle_new(enum mci_handle_type type, void *obj)
{
    struct mci_handle_entry *entry;
    uint32_t index;
    uint64_t handle;

    list_lock(type);
    index = entry_new(type);
    if (index == 0) {
        list_unlock(type);
        return NULL;
    }
    entry = entry_known(index);
    entry->generation = (entry->generation + 1) & GENERATION_MASK;
    handle = handle_make(type, entry->generation, index);
    atomic_store_explicit(&entry->obj, obj, memory_order_relaxed);
    atomic_store_explicit(&entry->handle, handle, memory_order_release);
    live[type]++;
    list_unlock(type);
    return (void *)(uintptr_t)handle;
}

static inline void handle_free(enum mci_handle_type type, void *handle)
{
    uint32_t index = (uint32_t)(uintptr_t)handle;
    struct mci_handle_entry *entry;

    list_lock(type);
    if (mci_handle_get(type, handle) == NULL) {
        list_unlock(type);
        return;
    }
    entry = entry_known(index);
    atomic_store_explicit(&entry->handle, 0, memory_order_release);
    entry->next_free = free_heads[type];
    free_heads[type] = index;
    live[type]--;
    list_unlock(type);
}

/* Two copies of each: that of requests has no locking in it. */
void *mci_handle_new(enum mci_handle_type type, void *obj)
{
    return type == MCI_HANDLE_REQUEST ? handle_new(MCI_HANDLE_REQUEST, obj) : handle_new(type, obj);
}

void mci_handle_free(enum mci_handle_type type, void *handle)
{
    if (type == MCI_HANDLE_REQUEST)
        handle_free(MCI_HANDLE_REQUEST, handle);
    else
        handle_free(type, handle);
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

    list_lock(type);
    count = live[type];
    list_unlock(type);
    return count;
}
