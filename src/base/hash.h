/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Hashing (xxHash where built in) and a map from uint64_t to pointer. */
#ifndef MCI_BASE_HASH_H
#define MCI_BASE_HASH_H

#include "mooncake_comm.h"

struct mci_hash128 {
    uint64_t lo, hi;
};

uint64_t mci_hash64(const void *data, size_t nbytes, uint64_t seed);
struct mci_hash128 mci_hash128(const void *data, size_t nbytes, uint64_t seed);
/* Mix of two words, for derived identifiers. */
uint64_t mci_hash_mix(uint64_t a, uint64_t b);
mcomm_err_t mci_random(void *buf, size_t nbytes); /* the kernel's; SYS if it is forbidden */

/* Open-addressed map; key 0 is legal. lock: the caller's. */
struct mci_map {
    struct mci_map_slot *slots;
    size_t capacity, count, tombs;
};
void mci_map_init(struct mci_map *map);
void *mci_map_get(const struct mci_map *map, uint64_t key); /* NULL if absent */
mcomm_err_t mci_map_put(struct mci_map *map, uint64_t key,
                        void *value);                    /* value != NULL; replaces */
void *mci_map_remove(struct mci_map *map, uint64_t key); /* the value, NULL if absent */
/* Next entry: *cursor starts at 0; returns the value, NULL at the end. No change meanwhile but
 * remove. */
void *mci_map_next(const struct mci_map *map, size_t *cursor, uint64_t *key_p);
void mci_map_fini(struct mci_map *map);

#endif
