/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Heap memory and pools. A pool object's first word links the free ones. */
#include "config.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK_BYTES 16384u
#define POOL_HEADER_BYTES 64u

void *mci_mem_alloc(size_t nbytes)
{
    return malloc(nbytes ? nbytes : 1);
}

void *mci_mem_zalloc(size_t nbytes)
{
    return calloc(1, nbytes ? nbytes : 1);
}

void *mci_mem_realloc(void *ptr, size_t nbytes)
{
    return realloc(ptr, nbytes ? nbytes : 1);
}

void *mci_mem_dup(const void *src, size_t nbytes)
{
    void *copy = mci_mem_alloc(nbytes);

    if (copy != NULL && nbytes > 0)
        memcpy(copy, src, nbytes);
    return copy;
}

void mci_mem_free(void *ptr)
{
    free(ptr);
}

void mci_pool_init(struct mci_pool *pool, size_t obj_nbytes)
{
    memset(pool, 0, sizeof(*pool));
    pool->obj_nbytes = (obj_nbytes + 63) & ~(size_t)63; /* a cache line of its own */
}

static int pool_grow(struct mci_pool *pool)
{
    size_t count = POOL_CHUNK_BYTES / pool->obj_nbytes;
    char *chunk;

    if (count == 0)
        count = 1;
    chunk = aligned_alloc(64, POOL_HEADER_BYTES + count * pool->obj_nbytes);
    if (chunk == NULL)
        return -1;
    *(void **)chunk = pool->chunks;
    pool->chunks = chunk;
    for (size_t i = count; i-- > 0;) {
        void *obj = chunk + POOL_HEADER_BYTES + i * pool->obj_nbytes;

        *(void **)obj = pool->free_list;
        pool->free_list = obj;
    }
    return 0;
}

void *mci_pool_get(struct mci_pool *pool)
{
    void *obj;

    if (pool->free_list == NULL && pool_grow(pool) != 0)
        return NULL;
    obj = pool->free_list;
    pool->free_list = *(void **)obj;
    pool->live++;
    return obj;
}

void mci_pool_put(struct mci_pool *pool, void *obj)
{
    *(void **)obj = pool->free_list;
    pool->free_list = obj;
    pool->live--;
}

void mci_pool_fini(struct mci_pool *pool)
{
    void *chunk = pool->chunks;

    while (chunk != NULL) {
        void *next = *(void **)chunk;

        free(chunk);
        chunk = next;
    }
    memset(pool, 0, sizeof(*pool));
}
