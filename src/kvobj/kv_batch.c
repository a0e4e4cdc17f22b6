/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Many keys at once. Entries are done in list order, in groups: all keys of a group are hashed and
 * their directory lines, then their records fetched ahead, so that the misses overlap.
 */
#include "config.h"

#include "kvobj/kv_priv.h"

#define LINE 64
#define AHEAD 256 /* bytes of a record fetched ahead; the rest the hardware does */

static void lines_fetch(const char *at, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += LINE)
        __builtin_prefetch(at + i, 0, 3);
}

static void buckets_fetch(struct mci_kv *kv, const struct kv_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct kv_bucket *bk = mci_kv_dir_peek(kv, keys[i].hash);

        if (bk != NULL)
            lines_fetch((const char *)bk, 4 * LINE);
    }
}

static void records_fetch(struct mci_kv *kv, const struct kv_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct kv_bucket *bk = mci_kv_dir_peek(kv, keys[i].hash);

        for (unsigned slot = 0; bk != NULL && slot < KV_SLOTS; slot++) {
            uint64_t loc = atomic_load_explicit(&bk->loc[slot], memory_order_relaxed);

            if (atomic_load_explicit(&bk->lo[slot], memory_order_relaxed) != keys[i].hash.lo ||
                !kv_loc_is_value(loc) || kv_loc_rank(loc) >= kv->size)
                continue;
            if (kv->parts[kv_loc_rank(loc)].area[KV_DATA] != NULL &&
                kv_loc_offset(loc) < kv->parts[kv_loc_rank(loc)].data_nbytes)
                lines_fetch(kv->parts[kv_loc_rank(loc)].area[KV_DATA] + kv_loc_offset(loc), AHEAD);
            break;
        }
    }
}

mcomm_err_t mci_kv_each(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                        mcomm_err_t (*op)(struct mci_kv *kv, const struct kv_key *key,
                                          mcomm_kv_item_t *item, const void *arg),
                        const void *arg)
{
    mcomm_err_t first = MCOMM_SUCCESS;

    for (size_t done = 0; done < count; done += KV_GROUP) {
        size_t n = count - done < KV_GROUP ? count - done : KV_GROUP;
        struct kv_key keys[KV_GROUP];

        for (size_t i = 0; i < n; i++)
            keys[i] = kv_key_make(items[done + i].key, items[done + i].key_nbytes);
        buckets_fetch(kv, keys, n);
        records_fetch(kv, keys, n);
        for (size_t i = 0; i < n; i++) {
            mcomm_kv_item_t *item = &items[done + i];

            item->error = op(kv, &keys[i], item, arg);
            if (KV_UNLIKELY(item->error != MCOMM_SUCCESS && first == MCOMM_SUCCESS))
                first = item->error;
        }
    }
    return first;
}
