/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Statistics. What a rank stores is counted in its slabs' counter lines, by whoever changes it; a
 * rank that died takes its part of the numbers along.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#include <stddef.h>

static mcomm_err_t part_sum(struct mci_kv *kv, int rank, mcomm_kv_stats_t *stats)
{
    const struct kv_part *part = &kv->parts[rank];
    size_t nbytes = sizeof(struct kv_count) * part->slab_count;
    struct kv_count *counts;
    uint64_t evictions;
    mcomm_err_t err = mci_kv_load(kv, rank, offsetof(struct kv_head, evictions), &evictions);

    if (err != MCOMM_SUCCESS)
        return err;
    stats->evictions += evictions;
    if (part->slab_count == 0 || kv_is_dead(kv, rank))
        return MCOMM_SUCCESS;
    counts = mci_mem_alloc(nbytes);
    if (counts == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the counters of %u slabs",
                           part->slab_count);
    err = mci_kv_read(kv, rank, KV_META, part->counts_at, counts, nbytes);
    for (uint32_t i = 0; i < part->slab_count && err == MCOMM_SUCCESS; i++) {
        if ((int64_t)counts[i].objects <= 0 || (int64_t)counts[i].value_bytes < 0)
            continue; /* what the dead did not count */
        stats->used += counts[i].value_bytes;
        stats->objects += counts[i].objects;
    }
    mci_mem_free(counts);
    return err;
}

mcomm_err_t mci_kv_get_stats(struct mci_kv *kv, mcomm_kv_stats_t *stats)
{
    const struct kv_stat *own = &kv->stat;

    stats->used = stats->objects = stats->evictions = 0;
    stats->capacity = atomic_load_explicit(&kv->pool_nbytes, memory_order_relaxed);
    for (int rank = 0; rank < kv->size; rank++) {
        mcomm_err_t err = part_sum(kv, rank, stats);

        if (err != MCOMM_SUCCESS && err != MCOMM_ERR_PROC_FAILED)
            return err;
    }
    stats->puts = atomic_load_explicit(&own->puts, memory_order_relaxed);
    stats->gets = atomic_load_explicit(&own->gets, memory_order_relaxed);
    stats->hits_local = atomic_load_explicit(&own->hits_local, memory_order_relaxed);
    stats->hits_node = atomic_load_explicit(&own->hits_node, memory_order_relaxed);
    stats->hits_remote = atomic_load_explicit(&own->hits_remote, memory_order_relaxed);
    stats->misses = atomic_load_explicit(&own->misses, memory_order_relaxed);
    stats->retries = atomic_load_explicit(&own->retries, memory_order_relaxed);
    stats->waits_space = atomic_load_explicit(&own->waits_space, memory_order_relaxed);
    return MCOMM_SUCCESS;
}
