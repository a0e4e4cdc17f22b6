/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Hashing and the integer map. With xxHash: XXH3. Without: two passes of a multiply-mix over
 * 8-byte words (the finalizer of splitmix64), good enough for tables, not against an attacker.
 */
#include "config.h"

#include "base/hash.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#ifdef HAVE_XXHASH
#include <xxhash.h>
#endif

uint64_t mci_hash_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + 0x9e3779b97f4a7c15ull + (b ^ (b >> 29)) * 0xbf58476d1ce4e5b9ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

#ifndef HAVE_XXHASH
static uint64_t hash_words(const void *data, size_t nbytes, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = mci_hash_mix(seed, nbytes), word;

    for (; nbytes >= 8; p += 8, nbytes -= 8) {
        memcpy(&word, p, 8);
        h = mci_hash_mix(h, word);
    }
    word = 0;
    if (nbytes > 0)
        memcpy(&word, p, nbytes);
    return mci_hash_mix(h, word ^ 0x5bd1e995u);
}
#endif

uint64_t mci_hash64(const void *data, size_t nbytes, uint64_t seed)
{
#ifdef HAVE_XXHASH
    return XXH3_64bits_withSeed(data, nbytes, seed);
#else
    return hash_words(data, nbytes, seed);
#endif
}

struct mci_hash128 mci_hash128(const void *data, size_t nbytes, uint64_t seed)
{
    struct mci_hash128 out;
#ifdef HAVE_XXHASH
    XXH128_hash_t h = XXH3_128bits_withSeed(data, nbytes, seed);

    out.lo = h.low64;
    out.hi = h.high64;
#else
    out.lo = hash_words(data, nbytes, seed);
    out.hi = hash_words(data, nbytes, ~seed);
#endif
    return out;
}

mcomm_err_t mci_random(void *buf, size_t nbytes)
{
    unsigned char *p = buf;

    while (nbytes > 0) {
        ssize_t n = getrandom(p, nbytes, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mci_err_sys(MCOMM_ERR_SYS, errno, "getrandom");
        p += n;
        nbytes -= (size_t)n;
    }
    return MCOMM_SUCCESS;
}

/* ---- map: linear probing; slots are empty (value NULL, not a tomb), a tomb, or full ---- */
struct mci_map_slot {
    uint64_t key;
    void *value;
};
static char tomb_mark;
#define TOMB ((void *)&tomb_mark)

void mci_map_init(struct mci_map *map)
{
    memset(map, 0, sizeof(*map));
}

static struct mci_map_slot *map_find(const struct mci_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;

    if (map->capacity == 0)
        return NULL;
    for (size_t i = mci_hash_mix(key, 0) & mask; map->slots[i].value != NULL; i = (i + 1) & mask)
        if (map->slots[i].key == key && map->slots[i].value != TOMB)
            return &map->slots[i];
    return NULL;
}

void *mci_map_get(const struct mci_map *map, uint64_t key)
{
    struct mci_map_slot *slot = map_find(map, key);

    return slot != NULL ? slot->value : NULL;
}

static void map_insert(struct mci_map *map, uint64_t key, void *value)
{
    size_t mask = map->capacity - 1;
    size_t i = mci_hash_mix(key, 0) & mask;

    while (map->slots[i].value != NULL && map->slots[i].value != TOMB)
        i = (i + 1) & mask;
    if (map->slots[i].value == TOMB)
        map->tombs--;
    map->slots[i].key = key;
    map->slots[i].value = value;
    map->count++;
}

static mcomm_err_t map_resize(struct mci_map *map, size_t capacity)
{
    struct mci_map old = *map;

    map->slots = mci_mem_zalloc(capacity * sizeof(*map->slots));
    if (map->slots == NULL) {
        map->slots = old.slots;
        return MCOMM_ERR_NO_MEM;
    }
    map->capacity = capacity;
    map->count = map->tombs = 0;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].value != NULL && old.slots[i].value != TOMB)
            map_insert(map, old.slots[i].key, old.slots[i].value);
    mci_mem_free(old.slots);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_map_put(struct mci_map *map, uint64_t key, void *value)
{
    struct mci_map_slot *slot = map_find(map, key);

    if (slot != NULL) {
        slot->value = value;
        return MCOMM_SUCCESS;
    }
    if ((map->count + map->tombs + 1) * 4 > map->capacity * 3) {
        size_t capacity = map->capacity == 0 ? 16 : map->capacity;

        while ((map->count + 1) * 2 > capacity)
            capacity *= 2;
        if (map_resize(map, capacity) != MCOMM_SUCCESS &&
            map->count + map->tombs + 1 >= map->capacity)
            return MCOMM_ERR_NO_MEM; /* else it gets slow, until there is memory again */
    }
    map_insert(map, key, value);
    return MCOMM_SUCCESS;
}

void *mci_map_remove(struct mci_map *map, uint64_t key)
{
    struct mci_map_slot *slot = map_find(map, key);
    void *value;

    if (slot == NULL)
        return NULL;
    value = slot->value;
    slot->value = TOMB;
    map->count--;
    map->tombs++;
    return value;
}

void *mci_map_next(const struct mci_map *map, size_t *cursor, uint64_t *key_p)
{
    while (*cursor < map->capacity) {
        struct mci_map_slot *slot = &map->slots[(*cursor)++];

        if (slot->value != NULL && slot->value != TOMB) {
            if (key_p != NULL)
                *key_p = slot->key;
            return slot->value;
        }
    }
    return NULL;
}

void mci_map_fini(struct mci_map *map)
{
    mci_mem_free(map->slots);
    mci_map_init(map);
}
