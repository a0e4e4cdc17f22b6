/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Making room. A sealed slab is taken, its live records are moved to a new slab or evicted, and it
 * becomes free. One slab a rank is in reserve as the place to move to. Taken is the slab with most
 * dead bytes if a quarter of it is dead (everything alive moves), else the oldest one (what was
 * read since it was sealed moves, three quarters of a slab at most, the rest leaves): FIFO with
 * second chance. Rosenblum and Ousterhout 1992; Yang, Yue and Vinayak 2021 (Segcache). Any rank may
 * clean any other's slabs.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <stddef.h>
#include <string.h>

struct victim {
    uint32_t slab;
    uint64_t word; /* ours: CLEANING */
    uint64_t seal_tick;
    bool is_sparse; /* keep everything */
    bool is_evict_all;
    uint64_t budget; /* bytes that may still move */
};

/* ---- choice ---- */
static mcomm_err_t counts_load(struct mci_kv *kv, int rank, struct kv_count **counts_p)
{
    const struct kv_part *part = &kv->parts[rank];
    size_t nbytes = sizeof(struct kv_count) * part->slab_count;
    struct kv_count *counts = mci_mem_alloc(nbytes);
    mcomm_err_t err;

    if (counts == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the counters of %u slabs",
                           part->slab_count);
    err = mci_kv_read(kv, rank, KV_META, part->counts_at, counts, nbytes);
    if (err == MCOMM_SUCCESS)
        *counts_p = counts;
    else
        mci_mem_free(counts);
    return err;
}

/* The sealed slab to take next, -1: none. Those not to be had are marked open in words. */
static int64_t victim_choose(const struct kv_part *part, const uint64_t *words,
                             const struct kv_count *counts, bool *is_sparse_p)
{
    int64_t oldest = -1, sparse = -1;
    uint64_t most_dead = part->slab_nbytes / 4;

    for (uint32_t i = 0; i < part->slab_count; i++) {
        int64_t dead = (int64_t)(counts[i].used - counts[i].record_bytes);

        if (kv_word_state(words[i]) != KV_SLAB_SEALED)
            continue;
        if (dead >= (int64_t)most_dead) {
            most_dead = (uint64_t)dead;
            sparse = i;
        }
        if (oldest < 0 || counts[i].seal_tick < counts[oldest].seal_tick)
            oldest = i;
    }
    *is_sparse_p = sparse >= 0;
    return sparse >= 0 ? sparse : oldest;
}

/* SUCCESS, or NO_SPACE: none is to be had. */
static mcomm_err_t victim_take(struct mci_kv *kv, int rank, struct victim *v)
{
    const struct kv_part *part = &kv->parts[rank];
    struct kv_count *counts = NULL;
    uint64_t *words;
    int64_t slab;
    mcomm_err_t err = mci_kv_slab_words(kv, rank, &words);

    if (err != MCOMM_SUCCESS)
        return err;
    err = counts_load(kv, rank, &counts);
    if (err != MCOMM_SUCCESS) {
        mci_mem_free(words);
        return err;
    }
    err = MCOMM_ERR_NO_SPACE;
    while ((slab = victim_choose(part, words, counts, &v->is_sparse)) >= 0) {
        v->slab = (uint32_t)slab;
        v->seal_tick = counts[slab].seal_tick;
        v->word = kv_word(KV_SLAB_CLEANING, kv->rank, kv_word_gen(words[slab]));
        if (mci_kv_slab_swap(kv, rank, v->slab, words[slab], v->word)) {
            if (!mci_kv_slab_is_pinned(kv, rank, v->slab)) {
                err = MCOMM_SUCCESS;
                break;
            }
            (void)mci_kv_slab_swap(kv, rank, v->slab, v->word, words[slab]);
        }
        words[slab] = kv_word(KV_SLAB_OPEN, 0, 0);
    }
    mci_mem_free(counts);
    mci_mem_free(words);
    return err;
}

/* ---- eviction ---- */
mcomm_err_t mci_kv_evict(struct mci_kv *kv, struct mci_hash128 hash, const struct kv_spot *spot)
{
    struct kv_head *head = (void *)kv->parts[kv->rank].area[KV_META];
    struct kv_object obj;
    bool is_lost;
    mcomm_err_t err = mci_kv_object_at(kv, hash, spot, &obj, &is_lost);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_kv_entry_swap(kv, hash, spot, NULL, is_lost ? NULL : &obj);
    if (err == MCOMM_SUCCESS && !is_lost)
        kv_count_up(&head->evictions);
    mci_kv_object_free(&obj);
    return err;
}

/* ---- moving ---- */
static struct kv_object object_at(const struct kv_rec *rec, int rank, uint32_t slab, uint64_t at)
{
    struct kv_object obj = {.rec = *rec, .rank = rank, .slab = slab, .at = at, .extents = NULL};

    return obj;
}

/* A copy of a record, bytes at src, in the open slab; not counted. To be given up by room_done. */
static bool record_copy(struct mci_kv *kv, int rank, struct victim *v, const struct kv_rec *old,
                        const char *src, struct kv_rec *rec, struct kv_room *room)
{
    *rec = *old;
    if (old->nbytes > v->budget ||
        mci_kv_slab_append(kv, rank, old->nbytes, old->nbytes, rec, room) != MCOMM_SUCCESS)
        return false;
    v->budget -= old->nbytes;
    if ((kv->parts[rank].area[KV_DATA] != NULL ||
         kv->remote->put(kv, rank, KV_DATA, room->at, rec, sizeof(*rec)) == MCOMM_SUCCESS) &&
        mci_kv_write(kv, rank, KV_DATA, room->at + sizeof(*rec), src + sizeof(*rec),
                     old->nbytes - sizeof(*rec)) == MCOMM_SUCCESS)
        return true;
    mci_kv_room_done(kv, room);
    return false;
}

/* The same of a head, counted: wr is DONE. Its extents stay what they are. */
static bool head_copy(struct mci_kv *kv, int rank, struct victim *v, const struct kv_rec *old,
                      const char *src, struct kv_writing *wr)
{
    if (!record_copy(kv, rank, v, old, src, &wr->obj.rec, &wr->head))
        return false;
    wr->obj = object_at(&wr->obj.rec, rank, wr->head.slab, wr->head.at);
    wr->is_counted = true;
    wr->state = KV_WRITING_DONE;
    if (mci_kv_object_count(kv, &wr->obj, 1) == MCOMM_SUCCESS)
        return true;
    wr->is_counted = false; /* or too much, which does no harm */
    return false;
}

static bool is_to_keep(const struct victim *v, const struct kv_spot *spot)
{
    return !v->is_evict_all && (v->is_sparse || spot->access > v->seal_tick);
}

/*
 * The head record at `at` of the victim; src: its bytes. SUCCESS: it is nobody's value any more;
 * TRY_AGAIN: look again.
 */
static mcomm_err_t head_clean(struct mci_kv *kv, int rank, struct victim *v,
                              const struct kv_rec *old, const char *src, uint64_t at)
{
    struct kv_object before = object_at(old, rank, v->slab, at);
    struct mci_hash128 hash = {old->lo, old->hi};
    struct kv_writing wr;
    struct kv_spot spot;
    mcomm_err_t err = mci_kv_dir_find(kv, hash, &spot);

    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_NOT_FOUND ? MCOMM_SUCCESS : err;
    if (spot.loc != kv_loc_value(kv_place(rank, at), old->gen))
        return MCOMM_SUCCESS;
    mci_kv_writing_begin(&wr);
    if (is_to_keep(v, &spot) && head_copy(kv, rank, v, old, src, &wr))
        err = mci_kv_entry_swap(kv, hash, &spot, &wr, &before);
    else
        err = mci_kv_evict(kv, hash, &spot);
    mci_kv_writing_end(kv, &wr);
    return err;
}

/*
 * An object's head again, with an extent elsewhere: wr->moved. Heads are never changed in place.
 * SUCCESS; TRY_AGAIN: the entry changed; NO_MEM: no room for it.
 */
static mcomm_err_t head_renew(struct mci_kv *kv, int rank, struct victim *v,
                              const struct kv_spot *spot, const struct kv_object *owner,
                              struct kv_writing *wr)
{
    const struct kv_rec *old = &owner->rec;
    struct mci_hash128 hash = {old->lo, old->hi};
    uint64_t list_at = kv_body_at(KV_SPREAD, old->key_nbytes, old->value_nbytes);
    char *bytes = mci_mem_alloc(old->nbytes);
    struct kv_object before = *owner;
    mcomm_err_t err = MCOMM_ERR_NO_MEM;

    before.extents = NULL; /* they stay what they are */
    if (bytes != NULL)
        err = mci_kv_read(kv, owner->rank, KV_DATA, owner->at, bytes, old->nbytes);
    if (err == MCOMM_SUCCESS) {
        memcpy(bytes + list_at, owner->extents, sizeof(struct kv_extent) * old->extent_count);
        err = head_copy(kv, rank, v, old, bytes, wr)
                  ? mci_kv_entry_swap(kv, hash, spot, wr, &before)
                  : MCOMM_ERR_NO_MEM;
    }
    mci_mem_free(bytes);
    return err;
}

/* As head_renew(). */
static mcomm_err_t extent_move(struct mci_kv *kv, int rank, struct victim *v,
                               const struct kv_rec *old, const char *src,
                               const struct kv_spot *spot, struct kv_object *owner,
                               struct kv_extent *extent)
{
    struct kv_extent was = *extent;
    struct kv_writing wr;
    struct kv_rec rec;
    mcomm_err_t err = MCOMM_ERR_NO_MEM;

    mci_kv_writing_begin(&wr);
    if (old->nbytes + owner->rec.nbytes > v->budget ||
        !record_copy(kv, rank, v, old, src, &rec, &wr.moved.room))
        return err;
    extent->place = kv_place(rank, wr.moved.room.at);
    extent->gen = rec.gen;
    if (mci_kv_extent_count(kv, rank, wr.moved.room.at, rec.nbytes, 1) == MCOMM_SUCCESS) {
        wr.moved.was = kv_loc_offset(was.place);
        wr.moved.nbytes = rec.nbytes;
        err = head_renew(kv, rank, v, spot, owner, &wr);
    } else {
        mci_kv_room_done(kv, &wr.moved.room);
    }
    mci_kv_writing_end(kv, &wr);
    *extent = was;
    return err;
}

/* As head_clean(), for an extent: it is somebody's if the key's object lists it. */
static mcomm_err_t extent_clean(struct mci_kv *kv, int rank, struct victim *v,
                                const struct kv_rec *old, const char *src, uint64_t at)
{
    struct mci_hash128 hash = {old->lo, old->hi};
    struct kv_object owner;
    struct kv_spot spot;
    bool is_lost;
    mcomm_err_t err = mci_kv_dir_find(kv, hash, &spot);

    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_NOT_FOUND ? MCOMM_SUCCESS : err;
    err = mci_kv_object_at(kv, hash, &spot, &owner, &is_lost);
    if (err != MCOMM_SUCCESS || is_lost)
        return err;
    for (uint32_t i = 0; owner.extents != NULL && i < owner.rec.extent_count; i++) {
        if (owner.extents[i].place != kv_place(rank, at) || owner.extents[i].gen != old->gen)
            continue;
        err = MCOMM_ERR_NO_MEM;
        if (is_to_keep(v, &spot))
            err = extent_move(kv, rank, v, old, src, &spot, &owner, &owner.extents[i]);
        if (err != MCOMM_SUCCESS && err != MCOMM_ERR_TIMEOUT)
            err = mci_kv_evict(kv, hash, &spot);
        break;
    }
    mci_kv_object_free(&owner);
    return err;
}

static mcomm_err_t record_clean(struct mci_kv *kv, int rank, struct victim *v,
                                const struct kv_rec *rec, const char *src, uint64_t at)
{
    struct kv_waiter race;
    mcomm_err_t err;

    mci_kv_wait_begin(&race, KV_PATIENCE_MS);
    do
        err = rec->kind == KV_EXTENT ? extent_clean(kv, rank, v, rec, src, at)
                                     : head_clean(kv, rank, v, rec, src, at);
    while (
        (err == MCOMM_ERR_TRY_AGAIN || (err == MCOMM_ERR_PROC_FAILED && !kv_is_dead(kv, rank))) &&
        mci_kv_wait_step(&race) == MCOMM_SUCCESS);
    return err;
}

/* ---- a slab ---- */
/* Where its records end, at the latest: what its holder noted when it was full. */
static uint64_t slab_end(struct mci_kv *kv, int rank, uint32_t slab)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t used;

    if (mci_kv_load(kv, rank, kv_count_at(part, slab) + offsetof(struct kv_count, used), &used) !=
            MCOMM_SUCCESS ||
        used > part->slab_nbytes)
        used = part->slab_nbytes;
    return used;
}

/* What lives leaves or moves. On an error something may still live there. bytes: of the slab */
static mcomm_err_t records_clean(struct mci_kv *kv, int rank, struct victim *v, const char *bytes)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t start = (uint64_t)v->slab << part->slab_shift;
    uint64_t end = slab_end(kv, rank, v->slab);
    mcomm_err_t err = MCOMM_SUCCESS;
    struct kv_rec rec;

    for (uint64_t pos = 0; pos + sizeof(rec) <= end && err == MCOMM_SUCCESS; pos += rec.nbytes) {
        mci_kv_copy_racy(&rec, bytes + pos, sizeof(rec));
        if (rec.gen != kv_word_gen(v->word) || !mci_kv_rec_is_valid(&rec, part->slab_nbytes - pos))
            rec.nbytes = KV_UNIT; /* of a writer that died; there may be more behind it */
        else
            err = record_clean(kv, rank, v, &rec, bytes + pos, start + pos);
    }
    return err;
}

static mcomm_err_t slab_clean(struct mci_kv *kv, int rank, struct victim *v)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t start = (uint64_t)v->slab << part->slab_shift;
    char *copy;
    mcomm_err_t err;

    if (part->area[KV_DATA] != NULL)
        return records_clean(kv, rank, v, part->area[KV_DATA] + start);
    copy = mci_mem_alloc(part->slab_nbytes);
    if (copy == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a slab of %llu bytes",
                           (unsigned long long)part->slab_nbytes);
    err = mci_kv_read(kv, rank, KV_DATA, start, copy, part->slab_nbytes);
    if (err == MCOMM_SUCCESS)
        err = records_clean(kv, rank, v, copy);
    mci_mem_free(copy);
    return err;
}

/* Nothing in the slab lives: what is still counted went with the directory of a rank that died. */
static void counts_clear(struct mci_kv *kv, int rank, uint32_t slab)
{
    uint64_t at = kv_count_at(&kv->parts[rank], slab);
    struct kv_word_store stores[3] = {{at, 0}, {at + 8, 0}, {at + 16, 0}};

    (void)mci_kv_store_words(kv, rank, stores, 3);
}

static mcomm_err_t victim_clean(struct mci_kv *kv, int rank, struct victim *v)
{
    uint64_t gen = kv_word_gen(v->word);
    mcomm_err_t err = slab_clean(kv, rank, v);

    if (err == MCOMM_SUCCESS && atomic_load_explicit(&kv->has_dead, memory_order_relaxed))
        counts_clear(kv, rank, v->slab);
    (void)mci_kv_slab_swap(kv, rank, v->slab, v->word,
                           err == MCOMM_SUCCESS ? kv_word(KV_SLAB_FREE, 0, gen + 1)
                                                : kv_word(KV_SLAB_SEALED, 0, gen));
    return err;
}

static bool is_other_cleaning(struct mci_kv *kv, int rank)
{
    uint64_t *words;
    bool is_found = false;

    if (mci_kv_slab_words(kv, rank, &words) != MCOMM_SUCCESS)
        return false;
    for (uint32_t i = 0; i < kv->parts[rank].slab_count; i++)
        is_found |=
            kv_word_state(words[i]) == KV_SLAB_CLEANING && kv_word_holder(words[i]) != kv->rank;
    mci_mem_free(words);
    return is_found;
}

mcomm_err_t mci_kv_clean(struct mci_kv *kv, int rank, uint64_t need, bool is_urgent)
{
    const struct kv_part *part = &kv->parts[rank];
    struct victim v = {.is_evict_all = false};
    mcomm_err_t err;

    need = kv_round(need);
    if (mci_kv_slab_free_count(kv, rank) == 0) { /* the reserve is gone: make one first */
        if (!is_urgent && is_other_cleaning(kv, rank))
            return MCOMM_ERR_TRY_AGAIN;
        err = victim_take(kv, rank, &v);
        if (err != MCOMM_SUCCESS)
            return err;
        v.is_evict_all = true;
        err = victim_clean(kv, rank, &v);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    memset(&v, 0, sizeof(v));
    err = victim_take(kv, rank, &v);
    if (err != MCOMM_SUCCESS) /* all are held or pinned: the reserve it is */
        return err == MCOMM_ERR_NO_SPACE && mci_kv_slab_open(kv, rank, 0) == MCOMM_SUCCESS
                   ? MCOMM_SUCCESS
                   : err;
    err = mci_kv_slab_open(kv, rank, 0);
    if (err != MCOMM_SUCCESS) { /* somebody took the reserve */
        (void)mci_kv_slab_swap(kv, rank, v.slab, v.word,
                               kv_word(KV_SLAB_SEALED, 0, kv_word_gen(v.word)));
        return err;
    }
    v.budget = part->slab_nbytes / 4 * 3; /* else a hot slab would cost more than it gives */
    if (v.budget > part->slab_nbytes - need)
        v.budget = part->slab_nbytes - need;
    return victim_clean(kv, rank, &v);
}
