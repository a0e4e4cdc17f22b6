/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Slabs: FREE -> OPEN (holder) -> SEALED -> CLEANING (cleaner) -> FREE, one word, by
 * compare-and-swap. A header names its record's size, so the records of a slab can be walked; where
 * one is missing, since its writer died, the next one is looked for. The generation in a header
 * tells it from bytes of the slab's past.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define TOUCH_AHEAD (512u << 10)

mcomm_err_t mci_kv_slab_check(struct mci_kv *kv, int rank, uint32_t slab, uint64_t gen)
{
    uint64_t word;
    mcomm_err_t err;

    kv_fence_acquire();
    err = mci_kv_load(kv, rank, kv_word_at(&kv->parts[rank], slab), &word);
    return err == MCOMM_SUCCESS && kv_word_gen(word) != gen ? MCOMM_ERR_TRY_AGAIN : err;
}

/*
 * The word stays `word` meanwhile, or this fails: then somebody thought we were dead. A far rank is
 * not waited for: whatever it was sent before, and what it is sent next, it takes in order.
 */
mcomm_err_t mci_kv_slab_seal(struct mci_kv *kv, int rank, uint32_t slab, uint64_t word,
                             uint64_t used)
{
    const struct kv_part *part = &kv->parts[rank];
    struct kv_ask ask = {.loc = slab, .expect = word, .hint = used};
    uint64_t count_at = kv_count_at(part, slab), tick, seen;
    mcomm_err_t err;

    if (part->area[KV_META] == NULL)
        return mci_kv_call_post(kv, rank, KV_CALL_SEAL, &ask);
    err = mci_kv_load(kv, rank, kv_word_at(part, slab), &seen);
    if (err == MCOMM_SUCCESS && seen != word)
        return MCOMM_ERR_TRY_AGAIN;
    if (err == MCOMM_SUCCESS)
        err = mci_kv_fetch_add(kv, rank, offsetof(struct kv_head, tick), 1, &tick);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_store(kv, rank, count_at + offsetof(struct kv_count, seal_tick), tick + 1);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_store(kv, rank, count_at + offsetof(struct kv_count, used), used);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_cas(kv, rank, kv_word_at(part, slab), word,
                         kv_word(KV_SLAB_SEALED, 0, kv_word_gen(word)), &seen);
    return err == MCOMM_SUCCESS && seen != word ? MCOMM_ERR_TRY_AGAIN : err;
}

static void seal_if_dead(struct mci_kv *kv, int rank, uint32_t slab, uint64_t *word)
{
    enum kv_slab_state state = kv_word_state(*word);
    int holder = kv_word_holder(*word);

    if ((state == KV_SLAB_OPEN || state == KV_SLAB_CLEANING) && kv_is_void(kv, holder) &&
        mci_kv_slab_seal(kv, rank, slab, *word, kv->parts[rank].slab_nbytes) == MCOMM_SUCCESS)
        *word = kv_word(KV_SLAB_SEALED, 0, kv_word_gen(*word));
}

mcomm_err_t mci_kv_slab_words(struct mci_kv *kv, int rank, uint64_t **words_p)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t *words = mci_mem_alloc(sizeof(*words) * part->slab_count);
    mcomm_err_t err = MCOMM_SUCCESS;

    if (words == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a list of %u slabs", part->slab_count);
    if (part->area[KV_META] == NULL)
        err = mci_kv_read(kv, rank, KV_META, part->words_at, words, 8 * (size_t)part->slab_count);
    for (uint32_t i = 0; i < part->slab_count && err == MCOMM_SUCCESS; i++) {
        if (part->area[KV_META] != NULL)
            err = mci_kv_load(kv, rank, kv_word_at(part, i), &words[i]);
        seal_if_dead(kv, rank, i, &words[i]);
    }
    if (err == MCOMM_SUCCESS)
        *words_p = words;
    else
        mci_mem_free(words);
    return err;
}

unsigned mci_kv_slab_free_count(struct mci_kv *kv, int rank)
{
    uint64_t *words;
    unsigned count = 0;

    if (kv->parts[rank].slab_count == 0 || kv_is_dead(kv, rank) ||
        mci_kv_slab_words(kv, rank, &words) != MCOMM_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < kv->parts[rank].slab_count; i++)
        count += kv_word_state(words[i]) == KV_SLAB_FREE;
    mci_mem_free(words);
    return count;
}

/* ---- the open slab of this process at a rank. lock: open[rank] ---- */
static void seal_own(struct mci_kv *kv, int rank, uint32_t slab)
{
    uint32_t i = kv->parts[rank].slab_base + slab;
    struct kv_held held = kv->held[i];

    atomic_store_explicit(&kv->pending[i], 0, memory_order_relaxed);
    (void)mci_kv_slab_seal(kv, rank, slab, kv_word(KV_SLAB_OPEN, kv->rank, held.gen), held.used);
}

void mci_kv_slab_close(struct mci_kv *kv, int rank)
{
    struct kv_open *open = &kv->open[rank];
    const struct kv_part *part = &kv->parts[rank];

    if (!open->is_open)
        return;
    open->is_open = false;
    kv->held[part->slab_base + open->slab] = (struct kv_held){open->gen, open->pos};
    if (atomic_fetch_or(&kv->pending[part->slab_base + open->slab], KV_CLOSING) == 0)
        seal_own(kv, rank, open->slab);
}

void mci_kv_room_done(struct mci_kv *kv, const struct kv_room *room)
{
    _Atomic uint32_t *pending = &kv->pending[kv->parts[room->rank].slab_base + room->slab];

    if (atomic_fetch_sub(pending, 1) == (KV_CLOSING | 1))
        seal_own(kv, room->rank, room->slab);
}

static void open_set(struct mci_kv *kv, int rank, uint32_t slab, uint64_t gen)
{
    const struct kv_part *part = &kv->parts[rank];
    struct kv_open *open = &kv->open[rank];

    mci_kv_slab_close(kv, rank);
    kv_fence_full(); /* who sees a byte written from now on sees the new generation, too */
    open->is_open = true;
    open->slab = slab;
    open->gen = gen;
    open->pos = 0;
    open->touched = kv->is_touched[part->slab_base + slab] ? part->slab_nbytes : 0;
    kv->is_touched[part->slab_base + slab] = true;
}

bool mci_kv_slab_swap(struct mci_kv *kv, int rank, uint32_t slab, uint64_t from, uint64_t to)
{
    uint64_t at = kv_word_at(&kv->parts[rank], slab), gen = kv_word_gen(to), seen;
    mcomm_err_t err = mci_kv_cas(kv, rank, at, from, to, &seen);

    if (KV_UNLIKELY(err == MCOMM_ERR_TIMEOUT) && kv_word_state(to) == KV_SLAB_OPEN)
        (void)mci_kv_cas(kv, rank, at, to, kv_word(KV_SLAB_FREE, 0, gen), &seen);
    else if (KV_UNLIKELY(err == MCOMM_ERR_TIMEOUT) && kv_word_state(to) == KV_SLAB_CLEANING)
        (void)mci_kv_cas(kv, rank, at, to, kv_word(KV_SLAB_SEALED, 0, gen), &seen);
    return err == MCOMM_SUCCESS && seen == from;
}

/* The counters of a part that is not mapped, in one piece; NULL: it is mapped, or they are not to
 * be had. */
static struct kv_count *far_counts(struct mci_kv *kv, int rank)
{
    const struct kv_part *part = &kv->parts[rank];
    size_t nbytes = sizeof(struct kv_count) * part->slab_count;
    struct kv_count *counts = part->area[KV_META] == NULL ? mci_mem_alloc(nbytes) : NULL;

    if (counts != NULL &&
        mci_kv_read(kv, rank, KV_META, part->counts_at, counts, nbytes) != MCOMM_SUCCESS) {
        mci_mem_free(counts);
        counts = NULL;
    }
    return counts;
}

/*
 * Whose last object went: costs nothing to take, and its memory is warm. As long as the counters
 * are exact: until somebody dies.
 */
static bool open_empty_of(struct mci_kv *kv, int rank, const uint64_t *words,
                          const struct kv_count *counts)
{
    const struct kv_part *part = &kv->parts[rank];

    for (uint32_t i = 0; i < part->slab_count; i++) {
        uint64_t gen = kv_word_gen(words[i]), live;
        uint64_t taken = kv_word(KV_SLAB_CLEANING, kv->rank, gen);

        if (kv_word_state(words[i]) != KV_SLAB_SEALED)
            continue;
        if (counts != NULL)
            live = atomic_load_explicit(&counts[i].record_bytes, memory_order_relaxed);
        else if (mci_kv_load(kv, rank, kv_count_at(part, i), &live) != MCOMM_SUCCESS)
            continue;
        if (live != 0 || !mci_kv_slab_swap(kv, rank, i, words[i], taken))
            continue;
        if (!mci_kv_slab_is_pinned(kv, rank, i) &&
            mci_kv_slab_swap(kv, rank, i, taken, kv_word(KV_SLAB_OPEN, kv->rank, gen + 1))) {
            open_set(kv, rank, i, gen + 1);
            return true;
        }
        (void)mci_kv_slab_swap(kv, rank, i, taken, words[i]);
    }
    return false;
}

static bool open_empty(struct mci_kv *kv, int rank, const uint64_t *words)
{
    bool is_exact = !atomic_load_explicit(&kv->has_dead, memory_order_relaxed);
    struct kv_count *counts = is_exact ? far_counts(kv, rank) : NULL;
    bool is_found = is_exact && (counts != NULL || kv->parts[rank].area[KV_META] != NULL) &&
                    open_empty_of(kv, rank, words, counts);

    mci_mem_free(counts);
    return is_found;
}

mcomm_err_t mci_kv_slab_open(struct mci_kv *kv, int rank, unsigned leave)
{
    const struct kv_part *part = &kv->parts[rank];
    uint64_t *words;
    unsigned num_free = 0;
    bool is_found;
    mcomm_err_t err = mci_kv_slab_words(kv, rank, &words);

    if (err != MCOMM_SUCCESS)
        return err;
    is_found = open_empty(kv, rank, words);
    for (uint32_t i = 0; i < part->slab_count; i++)
        num_free += kv_word_state(words[i]) == KV_SLAB_FREE;
    for (uint32_t i = 0; i < part->slab_count && num_free > leave && !is_found; i++) {
        uint64_t gen = kv_word_gen(words[i]);

        if (kv_word_state(words[i]) != KV_SLAB_FREE)
            continue;
        is_found = mci_kv_slab_swap(kv, rank, i, words[i], kv_word(KV_SLAB_OPEN, kv->rank, gen));
        if (is_found)
            open_set(kv, rank, i, gen);
        num_free--;
    }
    mci_mem_free(words);
    return is_found ? MCOMM_SUCCESS : MCOMM_ERR_TRY_AGAIN;
}

/*
 * Map what comes next into this process by one call instead of a fault for each page; the first
 * time through a slab only.
 */
static void pages_touch(const struct kv_part *part, struct kv_open *open, uint64_t end)
{
#if defined(MADV_POPULATE_WRITE)
    uint64_t slab_at = (uint64_t)open->slab << part->slab_shift, to;
    char *base = part->area[KV_DATA];

    if (KV_LIKELY(end <= open->touched) || base == NULL)
        return;
    to = end + TOUCH_AHEAD < part->slab_nbytes ? (end + TOUCH_AHEAD) & ~(uint64_t)4095
                                               : part->slab_nbytes;
    (void)madvise(base + slab_at + open->touched, to - open->touched, MADV_POPULATE_WRITE);
    open->touched = to; /* if it failed the faults do it */
#else
    (void)part;
    (void)open;
    (void)end;
#endif
}

mcomm_err_t mci_kv_slab_append(struct mci_kv *kv, int rank, uint64_t min, uint64_t max,
                               struct kv_rec *rec, struct kv_room *room)
{
    const struct kv_part *part = &kv->parts[rank];
    struct kv_open *open = &kv->open[rank];
    uint64_t left = open->is_open ? part->slab_nbytes - open->pos : 0;

    min = kv_round(min);
    max = kv_round(max);
    if (left < min || left == 0)
        return MCOMM_ERR_TRY_AGAIN;
    rec->magic = KV_MAGIC;
    rec->gen = open->gen;
    rec->nbytes = left < max ? left : max;
    if (rec->kind == KV_EXTENT && rec->value_nbytes > rec->nbytes - sizeof(*rec))
        rec->value_nbytes = rec->nbytes - sizeof(*rec);
    room->rank = rank;
    room->slab = open->slab;
    room->at = ((uint64_t)open->slab << part->slab_shift) + open->pos;
    if (rec->origin == 0)
        rec->origin = kv_loc_value(kv_place(rank, room->at), open->gen);
    rec->check = mci_kv_rec_check(rec);
    pages_touch(part, open, open->pos + rec->nbytes);
    if (part->area[KV_DATA] != NULL)
        memcpy(part->area[KV_DATA] + room->at, rec, sizeof(*rec));
    open->pos += rec->nbytes;
    atomic_fetch_add(&kv->pending[part->slab_base + open->slab], 1);
    return MCOMM_SUCCESS;
}

/* ---- pins: a count for each slab in this process's own META ---- */
static uint64_t pin_at(const struct mci_kv *kv, int owner, int rank, uint32_t slab)
{
    return kv->parts[owner].pins_at + 4 * (uint64_t)(kv->parts[rank].slab_base + slab);
}

bool mci_kv_slab_is_pinned(struct mci_kv *kv, int rank, uint32_t slab)
{
    for (int owner = 0; owner < kv->size; owner++) {
        const struct kv_part *part = &kv->parts[owner];
        uint64_t at = pin_at(kv, owner, rank, slab);
        uint32_t pins = 0;

        if (part->node != kv->parts[rank].node || kv_is_void(kv, owner))
            continue; /* views across nodes are copies */
        if (part->area[KV_META] != NULL)
            pins = atomic_load((_Atomic uint32_t *)(void *)(part->area[KV_META] + at));
        else if (kv_is_dead(kv, owner) ||
                 mci_kv_read(kv, owner, KV_META, at, &pins, sizeof(pins)) != MCOMM_SUCCESS)
            pins = 1; /* not known: as if */
        if (pins != 0)
            return true;
    }
    return false;
}

bool mci_kv_slab_pin(struct mci_kv *kv, int rank, uint32_t slab, int delta)
{
    char *base = kv->parts[kv->rank].area[KV_META];
    _Atomic uint32_t *pins = (void *)(base + pin_at(kv, kv->rank, rank, slab));

    if (atomic_fetch_add(pins, (uint32_t)delta) != 0 || delta > 0)
        return true;
    atomic_fetch_add(pins, 1);
    return false;
}
