/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Where things are: the layout of every rank's windows, and the home of every key. The hash space
 * has 4096 slices; each has its home by rendezvous hashing weighted with the capacities (Thaler and
 * Ravishankar 1998), so a rank that dies gives its slices to the others and no other slice moves.
 * All ranks compute the same from the same facts: integers only.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#include <string.h>

#define SALT UINT64_C(0x6d636f6d6d6b7631)
#define LOG_BITS 26 /* of the fraction of a logarithm */

/* -log2(h / 2^64) as a fixed-point number, at least 1. */
static uint64_t minus_log2(uint64_t h)
{
    unsigned zeros = (unsigned)__builtin_clzll(h | 1);
    uint64_t x = (h | 1) << zeros >> 32; /* mantissa in [2^31, 2^32) */
    uint64_t log = (uint64_t)(63 - zeros) << LOG_BITS;

    for (unsigned bit = LOG_BITS; bit-- > 0;) {
        x = x * x >> 31;
        if (x >> 32 != 0) {
            x >>= 1;
            log |= UINT64_C(1) << bit;
        }
    }
    return (UINT64_C(64) << LOG_BITS) - log;
}

/* The living storage rank with the least -log2(u) / weight, u a hash of slice and rank. */
static uint16_t slice_home(const struct mci_kv *kv, unsigned slice)
{
    uint64_t best_log = 0, best_weight = 0;
    uint16_t best = KV_NO_HOME;

    for (int rank = 0; rank < kv->size; rank++) {
        uint64_t weight = kv->parts[rank].capacity >> 10 | 1;
        uint64_t log;

        if (kv->parts[rank].capacity == 0 || kv_is_dead(kv, rank))
            continue;
        log = minus_log2(mci_hash_mix(SALT + slice, (uint64_t)rank + 1));
        if (best == KV_NO_HOME ||
            (unsigned __int128)log * best_weight < (unsigned __int128)best_log * weight) {
            best = (uint16_t)rank;
            best_log = log;
            best_weight = weight;
        }
    }
    return best;
}

static void part_set_slabs(struct kv_part *part, int size)
{
    uint64_t count, least = size + 4 < 8 ? 8 : (uint64_t)size + 4;

    part->slab_shift = 0;
    if (part->capacity == 0)
        return;
    part->slab_nbytes = KV_SLAB_MIN;
    while (part->slab_nbytes * 2 <= part->capacity / 64 && part->slab_nbytes < KV_SLAB_MAX)
        part->slab_nbytes *= 2;
    part->slab_shift = (uint32_t)__builtin_ctzll(part->slab_nbytes);
    count = (part->capacity + part->slab_nbytes - 1) / part->slab_nbytes + 1; /* one in reserve */
    part->slab_count = (uint32_t)(count < least ? least : count);
    part->data_nbytes = part->slab_count * part->slab_nbytes;
}

static void part_set_meta(struct kv_part *part, int size, uint32_t slab_total, uint64_t entries)
{
    uint64_t at = sizeof(struct kv_head);

    part->fences_at = at;
    at = kv_round(at + ((uint64_t)size + 63) / 64 * 8);
    part->words_at = at;
    at = kv_round(at + 8 * (uint64_t)part->slab_count);
    part->counts_at = at;
    at += sizeof(struct kv_count) * part->slab_count;
    part->pins_at = at;
    at = kv_round(at + 4 * (uint64_t)slab_total);
    part->dir_at = at;
    if (part->capacity > 0) {
        part->bucket_count = entries / KV_SLOTS + 1;
        if (part->bucket_count < KV_PROBE)
            part->bucket_count = KV_PROBE;
    }
    part->meta_nbytes = at + sizeof(struct kv_bucket) * part->bucket_count;
}

/* Entries are dealt to the ranks as the slices are, with one in eight to spare. */
static bool parts_set(struct mci_kv *kv, const struct kv_facts *facts)
{
    uint64_t max_objects = 0, capacity = 0;
    uint32_t *slices = mci_mem_zalloc(sizeof(*slices) * (size_t)kv->size);

    if (slices == NULL)
        return false;
    for (int rank = 0; rank < kv->size; rank++) {
        struct kv_part *part = &kv->parts[rank];

        part->capacity = facts[rank].capacity;
        part->node = facts[rank].node;
        if (facts[rank].max_objects > max_objects)
            max_objects = facts[rank].max_objects;
        capacity += part->capacity;
        part_set_slabs(part, kv->size);
        part->slab_base = kv->slab_total;
        kv->slab_total += part->slab_count;
    }
    if (max_objects == 0)
        max_objects = capacity / 1024 < 1024 ? 1024 : capacity / 1024;
    for (unsigned slice = 0; slice < KV_SLICES; slice++) {
        uint16_t home = slice_home(kv, slice);

        atomic_init(&kv->homes[slice], home);
        if (home != KV_NO_HOME)
            slices[home]++;
    }
    for (int rank = 0; rank < kv->size; rank++)
        part_set_meta(&kv->parts[rank], kv->size, kv->slab_total,
                      (max_objects + max_objects / 3 + KV_SLOTS) * slices[rank] / KV_SLICES +
                          KV_SLOTS);
    mci_mem_free(slices);
    return true;
}

static void pool_measure(struct mci_kv *kv)
{
    uint64_t sum = 0;

    for (int rank = 0; rank < kv->size; rank++)
        if (kv->parts[rank].slab_count > 1 && !kv_is_dead(kv, rank))
            sum += (kv->parts[rank].slab_count - 1) * kv->parts[rank].slab_nbytes;
    atomic_store_explicit(&kv->pool_nbytes, sum, memory_order_relaxed);
}

struct mci_kv *mci_kv_new(int rank, int size, const struct kv_facts *facts)
{
    struct mci_kv *kv = mci_mem_zalloc(sizeof(*kv));

    if (kv == NULL)
        return NULL;
    mci_list_init(&kv->link);
    pthread_mutex_init(&kv->death_lock, NULL);
    kv->rank = rank;
    kv->size = size;
    kv->last_rank = rank;
    kv->put_timeout_ms = 1000;
    kv->parts = mci_mem_zalloc(sizeof(*kv->parts) * (size_t)size);
    kv->open = mci_mem_zalloc(sizeof(*kv->open) * (size_t)size);
    if (kv->parts != NULL && kv->open != NULL) {
        for (int i = 0; i < size; i++)
            pthread_mutex_init(&kv->open[i].lock, NULL);
        if (parts_set(kv, facts)) {
            pool_measure(kv);
            kv->pending = mci_mem_zalloc(sizeof(*kv->pending) * kv->slab_total);
            kv->held = mci_mem_zalloc(sizeof(*kv->held) * kv->slab_total);
            kv->is_touched = mci_mem_zalloc(sizeof(*kv->is_touched) * kv->slab_total);
        }
        if (kv->pending != NULL && kv->held != NULL && kv->is_touched != NULL)
            return kv;
    }
    mci_kv_delete(kv);
    return NULL;
}

void mci_kv_delete(struct mci_kv *kv)
{
    for (int i = 0; kv->open != NULL && i < kv->size; i++)
        pthread_mutex_destroy(&kv->open[i].lock);
    pthread_mutex_destroy(&kv->death_lock);
    mci_mem_free((void *)kv->pending);
    mci_mem_free(kv->held);
    mci_mem_free(kv->is_touched);
    mci_mem_free(kv->open);
    mci_mem_free(kv->parts);
    mci_mem_free(kv);
}

/* ---- deaths ---- */
static uint64_t fence_at(const struct kv_part *part, int rank)
{
    return part->fences_at + 8 * ((uint64_t)rank / 64);
}

/* For all to see: what the rank has sent and did not arrive here, never will. */
static void fence_set(struct mci_kv *kv, int rank)
{
    const struct kv_part *own = &kv->parts[kv->rank];
    char *base = own->area[KV_META];

    if (base != NULL)
        atomic_fetch_or((_Atomic uint64_t *)(void *)(base + fence_at(own, rank)), UINT64_C(1)
                                                                                      << rank % 64);
}

void mci_kv_rank_died(struct mci_kv *kv, int rank)
{
    pthread_mutex_lock(&kv->death_lock);
    if (!atomic_exchange(&kv->parts[rank].is_dead, true)) {
        atomic_store_explicit(&kv->has_dead, true, memory_order_relaxed);
        atomic_fetch_add(&kv->unsettled, 1);
        for (unsigned slice = 0; slice < KV_SLICES; slice++)
            if (kv->homes[slice] == rank)
                atomic_store_explicit(&kv->homes[slice], slice_home(kv, slice),
                                      memory_order_relaxed);
        pool_measure(kv);
    }
    pthread_mutex_unlock(&kv->death_lock);
    fence_set(kv, rank);
}

static bool is_cut_off(struct mci_kv *kv, int rank)
{
    for (int i = 0; i < kv->size; i++) {
        const struct kv_part *part = &kv->parts[i];
        uint64_t fences = 0;

        if (part->capacity > 0 && !kv_is_dead(kv, i) &&
            mci_kv_load(kv, i, fence_at(part, rank), &fences) != MCOMM_ERR_PROC_FAILED &&
            (fences >> rank % 64 & 1) == 0)
            return false;
    }
    return true;
}

void mci_kv_settle_dead(struct mci_kv *kv)
{
    for (int rank = 0; rank < kv->size; rank++)
        if (kv_is_dead(kv, rank) && !kv_is_void(kv, rank) && is_cut_off(kv, rank) &&
            !atomic_exchange(&kv->parts[rank].is_void, true))
            atomic_fetch_sub(&kv->unsettled, 1);
}
