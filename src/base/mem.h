/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Heap memory and pools of equal objects. A pool's memory is type-stable until the pool is freed.
 */
#ifndef MCI_BASE_MEM_H
#define MCI_BASE_MEM_H

#include <stddef.h>

void *mci_mem_alloc(size_t nbytes);  /* NULL if there is none; size 0 gives a valid pointer */
void *mci_mem_zalloc(size_t nbytes); /* zeroed */
void *mci_mem_realloc(void *ptr, size_t nbytes);
void *mci_mem_dup(const void *src, size_t nbytes);
void mci_mem_free(void *ptr);

/* Pool of objects of one size; grows by chunks, never shrinks before fini. lock: the caller's. */
struct mci_pool {
    size_t obj_nbytes;
    void *free_list;
    void *chunks;
    size_t live;
};
void mci_pool_init(struct mci_pool *pool, size_t obj_nbytes);
void *mci_pool_get(struct mci_pool *pool); /* not zeroed; NULL: no memory */
void mci_pool_put(struct mci_pool *pool, void *obj);
void mci_pool_fini(struct mci_pool *pool);

#endif
