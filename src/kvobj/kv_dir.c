/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The directory: which record a key stands for. Readers and replacers need no lock: the word loc of
 * an entry is all that counts. A new key is put in under the lock of its home bucket, so that it
 * gets one entry only; the entry itself is claimed by a swap, since inserters of other homes may
 * want it. Order of an insertion: claim, hash, publish; a reader that mixes an old hash with a new
 * loc finds out by the record's key. The directory of a far rank is read from here, and changed by
 * that rank (kv_publish.c).
 */
#include "config.h"

#include "kvobj/kv_priv.h"

#include <stddef.h>
#include <string.h>

static inline uint64_t bucket_at(const struct kv_part *part, uint64_t bucket)
{
    return part->dir_at + bucket * sizeof(struct kv_bucket);
}

static inline uint64_t bucket_home(const struct kv_part *part, struct mci_hash128 hash)
{
    return (uint64_t)((unsigned __int128)hash.lo * part->bucket_count >> 64);
}

static inline uint64_t bucket_next(const struct kv_part *part, uint64_t bucket, uint64_t distance)
{
    bucket += distance;
    return bucket < part->bucket_count ? bucket : bucket - part->bucket_count;
}

#define FIELD_AT(part, b, field, i)                                                                \
    (bucket_at(part, b) + offsetof(struct kv_bucket, field) + 8 * (i))

/* The bucket where it lies, or a copy of it in buf. */
static mcomm_err_t bucket_see(struct mci_kv *kv, int home, uint64_t bucket, struct kv_bucket *buf,
                              struct kv_bucket **bucket_p)
{
    const struct kv_part *part = &kv->parts[home];
    uint64_t at = bucket_at(part, bucket);

    if (KV_LIKELY(part->area[KV_META] != NULL)) {
        *bucket_p = (struct kv_bucket *)(void *)(part->area[KV_META] + at);
        return MCOMM_SUCCESS;
    }
    *bucket_p = buf;
    return mci_kv_read(kv, home, KV_META, at, buf, sizeof(*buf));
}

struct kv_bucket *mci_kv_dir_peek(struct mci_kv *kv, struct mci_hash128 hash)
{
    int home = kv_home(kv, hash);
    const struct kv_part *part;

    if (home == KV_NO_HOME)
        return NULL;
    part = &kv->parts[home];
    if (part->area[KV_META] == NULL)
        return NULL;
    return (struct kv_bucket *)(void *)(part->area[KV_META] +
                                        bucket_at(part, bucket_home(part, hash)));
}

static bool bucket_find(struct kv_bucket *bk, struct mci_hash128 hash, struct kv_spot *spot)
{
    for (unsigned i = 0; i < KV_SLOTS; i++) {
        if (atomic_load_explicit(&bk->lo[i], memory_order_relaxed) != hash.lo ||
            atomic_load_explicit(&bk->hi[i], memory_order_relaxed) != hash.hi)
            continue;
        spot->loc = atomic_load_explicit(&bk->loc[i], memory_order_acquire);
        if (!kv_loc_is_value(spot->loc))
            continue;
        spot->slot = i;
        spot->access = atomic_load_explicit(&bk->access[i], memory_order_relaxed);
        spot->hint = atomic_load_explicit(&bk->hint[i], memory_order_relaxed);
        return true;
    }
    return false;
}

static bool is_claimable(struct mci_kv *kv, uint64_t loc)
{
    uint64_t place = loc & KV_PLACE_MASK;

    return place == 0 || (place == 1 && kv_is_void(kv, kv_loc_rank(loc)));
}

static void bucket_find_free(struct mci_kv *kv, struct kv_bucket *bk, uint64_t bucket,
                             struct kv_spot *free)
{
    for (unsigned i = 0; i < KV_SLOTS; i++) {
        free->loc = atomic_load_explicit(&bk->loc[i], memory_order_acquire);
        if (!is_claimable(kv, free->loc))
            continue;
        free->slot = i;
        free->bucket = bucket;
        free->access = atomic_load_explicit(&bk->access[i], memory_order_relaxed);
        free->hint = atomic_load_explicit(&bk->hint[i], memory_order_relaxed);
        return;
    }
}

/* free, if not NULL: the first entry that an insertion may claim, if there is one within reach. */
static mcomm_err_t find_at(struct mci_kv *kv, int home, struct mci_hash128 hash,
                           struct kv_spot *spot, struct kv_spot *free)
{
    const struct kv_part *part = &kv->parts[home];
    uint64_t first = bucket_home(part, hash), reach = 0;
    struct kv_bucket buf, *bk;

    spot->home = home;
    for (uint64_t d = 0; d <= reach; d++) {
        mcomm_err_t err;

        spot->bucket = bucket_next(part, first, d);
        err = bucket_see(kv, home, spot->bucket, &buf, &bk);
        if (err != MCOMM_SUCCESS)
            return err;
        if (bucket_find(bk, hash, spot))
            return MCOMM_SUCCESS;
        if (free != NULL && free->slot == KV_SLOTS)
            bucket_find_free(kv, bk, spot->bucket, free);
        if (d == 0)
            reach = atomic_load_explicit(&bk->reach, memory_order_acquire) % KV_PROBE;
    }
    return MCOMM_ERR_NOT_FOUND;
}

mcomm_err_t mci_kv_dir_find_at(struct mci_kv *kv, int home, struct mci_hash128 hash,
                               struct kv_spot *spot)
{
    return find_at(kv, home, hash, spot, NULL);
}

mcomm_err_t mci_kv_dir_find(struct mci_kv *kv, struct mci_hash128 hash, struct kv_spot *spot)
{
    for (;;) {
        int home = kv_home(kv, hash);
        mcomm_err_t err;

        if (KV_UNLIKELY(home == KV_NO_HOME))
            return MCOMM_ERR_NOT_FOUND;
        err = find_at(kv, home, hash, spot, NULL);
        if (KV_LIKELY(err != MCOMM_ERR_PROC_FAILED))
            return err;
    }
}

mcomm_err_t mci_kv_dir_reload(struct mci_kv *kv, const struct kv_spot *spot, uint64_t *loc_p)
{
    return mci_kv_load(kv, spot->home,
                       FIELD_AT(&kv->parts[spot->home], spot->bucket, loc, spot->slot), loc_p);
}

mcomm_err_t mci_kv_dir_confirm(struct mci_kv *kv, struct mci_hash128 hash,
                               const struct kv_spot *spot)
{
    const struct kv_part *part = &kv->parts[spot->home];
    uint64_t ats[3] = {FIELD_AT(part, spot->bucket, lo, spot->slot),
                       FIELD_AT(part, spot->bucket, hi, spot->slot),
                       FIELD_AT(part, spot->bucket, loc, spot->slot)};
    uint64_t words[3];
    mcomm_err_t err = mci_kv_load_words(kv, spot->home, ats, words, 3);

    if (err == MCOMM_ERR_PROC_FAILED)
        return MCOMM_ERR_TRY_AGAIN;
    if (err == MCOMM_SUCCESS &&
        (words[0] != hash.lo || words[1] != hash.hi || words[2] != spot->loc))
        return MCOMM_ERR_TRY_AGAIN;
    return err;
}

mcomm_err_t mci_kv_dir_swap(struct mci_kv *kv, const struct kv_spot *spot, uint64_t loc,
                            uint64_t hint)
{
    const struct kv_part *part = &kv->parts[spot->home];
    struct kv_word_store stores[2];
    size_t count = 0;
    uint64_t want = kv_loc_is_value(loc) ? loc : kv_loc_next(spot->loc, loc), seen;
    mcomm_err_t err = mci_kv_cas(kv, spot->home, FIELD_AT(part, spot->bucket, loc, spot->slot),
                                 spot->loc, want, &seen);

    if (err != MCOMM_SUCCESS)
        return err;
    if (seen != spot->loc)
        return MCOMM_ERR_TRY_AGAIN;
    if (kv_loc_is_value(loc)) { /* both only help: a lost race between two writers is no harm */
        if (spot->access != 0)
            stores[count++] =
                (struct kv_word_store){FIELD_AT(part, spot->bucket, access, spot->slot), 0};
        if (spot->hint != hint)
            stores[count++] =
                (struct kv_word_store){FIELD_AT(part, spot->bucket, hint, spot->slot), hint};
        if (count > 0)
            (void)mci_kv_store_words(kv, spot->home, stores, count);
    }
    return MCOMM_SUCCESS;
}

void mci_kv_dir_touch(struct mci_kv *kv, const struct kv_spot *spot, uint64_t tick)
{
    if (spot->access != tick)
        (void)mci_kv_store(kv, spot->home,
                           FIELD_AT(&kv->parts[spot->home], spot->bucket, access, spot->slot),
                           tick);
}

/* ---- insertion ---- */
static mcomm_err_t bucket_lock(struct mci_kv *kv, int home, uint64_t bucket, struct kv_waiter *w)
{
    uint64_t at = FIELD_AT(&kv->parts[home], bucket, lock, 0), mine = (uint64_t)kv->rank + 1;
    uint64_t expect = 0, seen;

    for (;;) {
        mcomm_err_t err = mci_kv_cas(kv, home, at, expect, mine, &seen);

        if (err != MCOMM_SUCCESS || seen == expect)
            return err;
        expect =
            seen != 0 && seen <= (uint64_t)kv->size && kv_is_void(kv, (int)seen - 1) ? seen : 0;
        if (expect != 0)
            continue;
        if (!w->is_hurried)
            mci_kv_settle(kv);
        if (kv_is_dead(kv, home)) /* mapped, but an unlock from another node will never arrive */
            return MCOMM_ERR_PROC_FAILED;
        if (mci_kv_wait_step(w) != MCOMM_SUCCESS)
            return mci_err_set(MCOMM_ERR_TIMEOUT,
                               "rank %d holds a lock of the directory at rank %d since %d ms",
                               (int)seen - 1, home, w->timeout_ms);
    }
}

/* SUCCESS: the entry is ours and spot->loc the claim; TRY_AGAIN: somebody was faster. */
static mcomm_err_t spot_claim(struct mci_kv *kv, struct kv_spot *spot)
{
    mcomm_err_t err = mci_kv_dir_swap(kv, spot, kv_loc_claim(kv->rank), spot->hint);

    if (err == MCOMM_SUCCESS)
        spot->loc = kv_loc_next(spot->loc, kv_loc_claim(kv->rank));
    return err;
}

/* A free entry of the bucket becomes ours. NOT_FOUND: all are taken. */
static mcomm_err_t bucket_claim(struct mci_kv *kv, struct kv_spot *spot)
{
    struct kv_bucket buf, *bk;
    mcomm_err_t err = bucket_see(kv, spot->home, spot->bucket, &buf, &bk);

    while (err == MCOMM_SUCCESS) {
        spot->slot = KV_SLOTS;
        bucket_find_free(kv, bk, spot->bucket, spot);
        if (spot->slot == KV_SLOTS)
            return MCOMM_ERR_NOT_FOUND;
        err = spot_claim(kv, spot);
        if (err != MCOMM_ERR_TRY_AGAIN)
            return err;
        err = bucket_see(kv, spot->home, spot->bucket, &buf, &bk);
    }
    return err;
}

bool mci_kv_dir_is_pinned(struct mci_kv *kv, const struct kv_spot *spot)
{
    int rank = kv_loc_rank(spot->loc);

    return kv_loc_is_value(spot->loc) && !kv_is_dead(kv, rank) &&
           kv_loc_offset(spot->loc) < kv->parts[rank].data_nbytes && /* a home may say anything */
           mci_kv_slab_is_pinned(kv, rank, kv_slab_of(&kv->parts[rank], kv_loc_offset(spot->loc)));
}

/* Its record, and who might have a view of it, are seen from here; it is in one piece. */
static bool is_all_here(struct mci_kv *kv, const struct kv_spot *spot)
{
    int rank = kv_loc_rank(spot->loc);
    struct kv_object obj;

    if (kv_is_dead(kv, rank))
        return true;
    if (kv->parts[rank].area[KV_META] == NULL || kv->parts[rank].area[KV_DATA] == NULL)
        return false;
    for (int owner = 0; owner < kv->size; owner++)
        if (kv->parts[owner].node == kv->parts[rank].node &&
            kv->parts[owner].area[KV_META] == NULL && !kv_is_void(kv, owner))
            return false;
    return mci_kv_object_read(kv, spot->loc, &obj) != MCOMM_SUCCESS || obj.rec.kind == KV_INLINE;
}

bool mci_kv_dir_victim(struct mci_kv *kv, int home, struct mci_hash128 hash, bool is_hurried,
                       struct kv_spot *spot, struct mci_hash128 *victim_p, bool *is_here_p)
{
    const struct kv_part *part = &kv->parts[home];
    uint64_t first = bucket_home(part, hash);
    bool is_found = false;

    *is_here_p = false;
    for (uint64_t d = 0; d < KV_PROBE; d++) {
        uint64_t bucket = bucket_next(part, first, d);
        struct kv_bucket *bk = (void *)(part->area[KV_META] + bucket_at(part, bucket));

        for (unsigned i = 0; i < KV_SLOTS; i++) {
            struct kv_spot s = {.home = home, .slot = i, .bucket = bucket};
            bool is_here;

            s.loc = atomic_load_explicit(&bk->loc[i], memory_order_acquire);
            s.access = atomic_load_explicit(&bk->access[i], memory_order_relaxed);
            if (!kv_loc_is_value(s.loc))
                continue;
            is_here = !is_hurried || is_all_here(kv, &s);
            if (is_found &&
                (is_here < *is_here_p || (is_here == *is_here_p && s.access >= spot->access)))
                continue;
            if (is_here && mci_kv_dir_is_pinned(kv, &s))
                continue;
            *spot = s;
            victim_p->lo = atomic_load_explicit(&bk->lo[i], memory_order_acquire);
            victim_p->hi = atomic_load_explicit(&bk->hi[i], memory_order_acquire);
            *is_here_p = is_here;
            is_found = true;
        }
    }
    return is_found;
}

/* All entries are taken: the one that was read longest ago leaves. */
static mcomm_err_t bucket_make_room(struct mci_kv *kv, int home, struct mci_hash128 hash,
                                    bool is_hurried)
{
    struct mci_hash128 victim;
    struct kv_spot spot;
    bool is_here;

    if (!mci_kv_dir_victim(kv, home, hash, is_hurried, &spot, &victim, &is_here) || !is_here)
        return MCOMM_ERR_TRY_AGAIN;
    return mci_kv_evict(kv, victim, &spot);
}

mcomm_err_t mci_kv_dir_full(int home)
{
    return mci_err_set(MCOMM_ERR_NO_SPACE,
                       "the directory of rank %d is full of objects in use; open the store with a "
                       "larger max_objects",
                       home);
}

static mcomm_err_t claim_near(struct mci_kv *kv, int home, uint64_t first, struct kv_spot *spot)
{
    const struct kv_part *part = &kv->parts[home];
    mcomm_err_t err = MCOMM_ERR_NOT_FOUND;
    uint64_t reach_at = FIELD_AT(part, first, reach, 0), reach;

    spot->home = home;
    for (uint64_t d = 0; d < KV_PROBE; d++) {
        spot->bucket = bucket_next(part, first, d);
        err = bucket_claim(kv, spot);
        if (err == MCOMM_ERR_NOT_FOUND)
            continue;
        if (err != MCOMM_SUCCESS || d == 0)
            return err;
        err = mci_kv_load(kv, home, reach_at, &reach);
        if (err == MCOMM_SUCCESS && reach < d)
            err = mci_kv_store(kv, home, reach_at, d);
        if (err != MCOMM_SUCCESS)
            (void)mci_kv_dir_swap(kv, spot, 0, 0);
        return err;
    }
    return err;
}

/* spot: a free entry that was seen, or slot KV_SLOTS; becomes the claimed one */
static mcomm_err_t claim(struct mci_kv *kv, int home, struct mci_hash128 hash, struct kv_spot *spot,
                         struct kv_waiter *w)
{
    uint64_t first = bucket_home(&kv->parts[home], hash);
    mcomm_err_t err = spot->slot < KV_SLOTS ? spot_claim(kv, spot) : MCOMM_ERR_TRY_AGAIN;

    while (err == MCOMM_ERR_TRY_AGAIN &&
           (err = claim_near(kv, home, first, spot)) == MCOMM_ERR_NOT_FOUND) {
        err = bucket_make_room(kv, home, hash, w->is_hurried);
        if (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(w) != MCOMM_SUCCESS)
            return mci_kv_dir_full(home);
        if (err != MCOMM_SUCCESS && err != MCOMM_ERR_TRY_AGAIN)
            return err;
        err = MCOMM_ERR_TRY_AGAIN;
    }
    return err;
}

/* lock: the home bucket's */
static mcomm_err_t insert_locked(struct mci_kv *kv, int home, struct mci_hash128 hash, uint64_t loc,
                                 uint64_t hint, struct kv_waiter *w)
{
    const struct kv_part *part = &kv->parts[home];
    struct kv_word_store stores[4];
    struct kv_spot spot, found;
    mcomm_err_t err;

    spot = (struct kv_spot){.home = home, .slot = KV_SLOTS};
    err = find_at(kv, home, hash, &found, &spot);
    if (err != MCOMM_ERR_NOT_FOUND)
        return err == MCOMM_SUCCESS ? MCOMM_ERR_EXISTS : err;
    err = claim(kv, home, hash, &spot, w);
    if (err != MCOMM_SUCCESS)
        return err;
    stores[0] = (struct kv_word_store){FIELD_AT(part, spot.bucket, lo, spot.slot), hash.lo};
    stores[1] = (struct kv_word_store){FIELD_AT(part, spot.bucket, hi, spot.slot), hash.hi};
    stores[2] = (struct kv_word_store){FIELD_AT(part, spot.bucket, access, spot.slot), 0};
    stores[3] = (struct kv_word_store){FIELD_AT(part, spot.bucket, hint, spot.slot), hint};
    err = mci_kv_store_words(kv, home, stores, 4);
    spot.access = 0;
    spot.hint = hint;
    if (err == MCOMM_SUCCESS)
        err = mci_kv_dir_swap(kv, &spot, loc, hint);
    if (err != MCOMM_SUCCESS)
        (void)mci_kv_dir_swap(kv, &spot, 0, 0);
    return err;
}

mcomm_err_t mci_kv_dir_insert(struct mci_kv *kv, struct mci_hash128 hash, uint64_t loc,
                              uint64_t hint, struct kv_waiter *w)
{
    int home = kv_home(kv, hash);

    if (home == KV_NO_HOME)
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "no rank that stores objects lives any more");
    if (kv->parts[home].area[KV_META] == NULL) /* since a moment ago: that of another one died */
        return MCOMM_ERR_EXISTS;
    return mci_kv_dir_insert_at(kv, home, hash, loc, hint, w);
}

mcomm_err_t mci_kv_dir_insert_at(struct mci_kv *kv, int home, struct mci_hash128 hash, uint64_t loc,
                                 uint64_t hint, struct kv_waiter *w)
{
    uint64_t first = bucket_home(&kv->parts[home], hash);
    mcomm_err_t err = bucket_lock(kv, home, first, w);

    if (err == MCOMM_SUCCESS) {
        err = insert_locked(kv, home, hash, loc, hint, w);
        mci_kv_clear(kv, home, FIELD_AT(&kv->parts[home], first, lock, 0));
    }
    /* A home that died: the caller looks again, in the new one. */
    return err == MCOMM_ERR_PROC_FAILED || err == MCOMM_ERR_TRY_AGAIN ? MCOMM_ERR_EXISTS : err;
}
