/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Keys whose directory entry or value is on another node, any number at once. A key is asked for at
 * its home, which answers with a small value if it can reach it; else the rank that lends the
 * memory is asked. Large values go straight into the reader's buffer, all of them at once, and are
 * looked at again afterwards.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

struct fetching {
    struct kv_fetch *fetches;
    size_t count;
};

static void fetch_end(struct kv_fetch *f, mcomm_err_t err)
{
    f->err = err;
    f->state = KV_FETCH_DONE;
}

static void nonsense(struct kv_fetch *f)
{
    fetch_end(f, mci_err_set(MCOMM_ERR_INTERNAL, "rank %d answers nonsense", f->asked));
}

/* There is a buffer for a value of nbytes. */
static bool value_room(struct kv_fetch *f, uint64_t nbytes)
{
    if (f->want != KV_WANT_ALLOC || f->buf != NULL) {
        if (nbytes > f->room)
            nonsense(f);
        return nbytes <= f->room;
    }
    f->buf = mci_mem_alloc(nbytes);
    f->room = nbytes;
    if (f->buf == NULL)
        fetch_end(f, mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a value of %llu bytes",
                                 (unsigned long long)nbytes));
    return f->buf != NULL;
}

static bool piece_take(struct kv_fetch *f, const struct kv_answer *a, const char *bytes)
{
    if (a->offset > a->value_nbytes || a->nbytes > a->value_nbytes - a->offset ||
        a->value_nbytes > KV_INLINE_MAX || f->want >= KV_WANT_SIZE) {
        nonsense(f);
        return true;
    }
    if (!value_room(f, a->value_nbytes))
        return true;
    if (a->nbytes > 0)
        memcpy((char *)f->buf + a->offset, bytes, a->nbytes);
    if (a->offset + a->nbytes < a->value_nbytes)
        return false;
    f->nbytes = a->value_nbytes;
    fetch_end(f, (mcomm_err_t)a->err);
    return true;
}

static bool fetch_take(void *arg, const struct kv_answer *a, const char *bytes)
{
    struct fetching *all = arg;
    struct kv_fetch *f = &all->fetches[a->index < all->count ? a->index : 0];
    struct kv_spot_wire wire;

    if (a->index >= all->count || f->state != KV_FETCH_ASKED)
        return false;
    f->lender = (int)a->rank;
    f->tick = a->tick;
    if (a->say == KV_SAY_VALUE)
        return piece_take(f, a, bytes);
    f->nbytes = a->value_nbytes;
    if (a->say == KV_SAY_NOTHING || a->nbytes < sizeof(wire)) {
        fetch_end(f, (mcomm_err_t)a->err);
        return true;
    }
    if (f->is_by_spot && a->say == KV_SAY_SPOT) { /* it lends the memory: who else could know? */
        nonsense(f);
        return true;
    }
    memcpy(&wire, bytes, sizeof(wire));
    if (!f->is_by_spot)
        f->spot = kv_spot_of(f->asked, &wire);
    f->state = KV_FETCH_SPOT;
    if (a->say == KV_SAY_REC && a->nbytes >= sizeof(wire) + sizeof(f->obj.rec)) {
        memcpy(&f->obj.rec, bytes + sizeof(wire), sizeof(f->obj.rec));
        f->state = KV_FETCH_REC;
    }
    if (f->want == KV_WANT_REC)
        fetch_end(f, f->state == KV_FETCH_REC ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND);
    return true;
}

/* A home that died has a successor: the caller looks again. */
static void fetch_lost(void *arg, uint32_t first, uint32_t end, mcomm_err_t err)
{
    struct fetching *all = arg;

    for (uint32_t i = first; i < end; i++)
        if (all->fetches[i].state == KV_FETCH_ASKED)
            fetch_end(&all->fetches[i], err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err);
}

static void fetch_ask(struct kv_talk *talk, struct kv_fetch *f, size_t index, int rank)
{
    struct kv_ask ask = {.loc = f->state == KV_FETCH_SPOT ? f->spot.loc : 0,
                         .expect = f->room,
                         .index = (uint32_t)index,
                         .key_nbytes = (uint16_t)f->key.nbytes,
                         .mode = (uint8_t)f->want};
    size_t bound = f->want == KV_WANT_INTO && f->room < KV_INLINE_MAX ? f->room : KV_INLINE_MAX;

    f->is_by_spot = f->state == KV_FETCH_SPOT;
    f->state = KV_FETCH_ASKED;
    f->asked = rank;
    mci_kv_talk_ask(talk, rank, &ask, &f->key, NULL, f->want >= KV_WANT_SIZE ? 0 : bound);
}

/* Asks whoever sees more of it than this rank. false: nobody does. */
static bool fetch_step(struct mci_kv *kv, struct kv_talk *talk, struct kv_fetch *f, size_t index)
{
    int home = kv_home(kv, f->key.hash), rank;
    mcomm_err_t err;

    if (f->state == KV_FETCH_NEW && home != KV_NO_HOME && !kv_is_mapped(kv, home)) {
        fetch_ask(talk, f, index, home);
        return true;
    }
    if (f->state == KV_FETCH_NEW) {
        err = mci_kv_dir_find(kv, f->key.hash, &f->spot);
        if (err != MCOMM_SUCCESS) {
            fetch_end(f, err);
            return false;
        }
        f->state = KV_FETCH_SPOT;
    }
    rank = kv_loc_rank(f->spot.loc);
    if (rank >= kv->size || kv_is_dead(kv, rank)) {
        fetch_end(f, MCOMM_ERR_NOT_FOUND);
        return false;
    }
    if (!kv_is_mapped(kv, rank)) {
        fetch_ask(talk, f, index, rank);
        return true;
    }
    f->asked = -1; /* it is counted and noted there */
    f->lender = rank;
    fetch_end(f, mci_kv_get_at(kv, &f->key, &f->spot, f->want, &f->buf, f->room, &f->nbytes));
    return false;
}

/* ---- large values ---- */
static mcomm_err_t large_begin(struct mci_kv *kv, struct kv_fetch *f)
{
    struct kv_object *obj = &f->obj;
    const struct kv_part *part;

    obj->extents = NULL;
    obj->rank = f->lender = kv_loc_rank(f->spot.loc);
    obj->at = kv_loc_offset(f->spot.loc);
    f->nbytes = obj->rec.value_nbytes;
    if (obj->rank >= kv->size || kv_is_dead(kv, obj->rank))
        return MCOMM_ERR_NOT_FOUND;
    if (mci_kv_is_late(obj->rank))
        return MCOMM_ERR_TIMEOUT;
    part = &kv->parts[obj->rank];
    obj->slab = kv_slab_of(part, obj->at);
    if (obj->at >= part->data_nbytes || obj->rec.kind == KV_EXTENT ||
        !mci_kv_rec_is_valid(&obj->rec, part->slab_nbytes - (obj->at & (part->slab_nbytes - 1)))) {
        nonsense(f);
        return f->err;
    }
    if (!value_room(f, f->nbytes))
        return f->err;
    if (obj->rec.kind != KV_INLINE || kv_is_mapped(kv, obj->rank))
        return mci_kv_value_read(kv, obj, f->buf);
    return kv->remote->get(kv, obj->rank, KV_DATA,
                           obj->at +
                               kv_body_at(KV_INLINE, obj->rec.key_nbytes, obj->rec.value_nbytes),
                           f->buf, f->nbytes);
}

static bool is_by_get(const struct mci_kv *kv, const struct kv_fetch *f)
{
    return f->state == KV_FETCH_REC && f->err == MCOMM_SUCCESS && f->obj.rec.kind == KV_INLINE &&
           !kv_is_mapped(kv, f->obj.rank);
}

/* One flush a rank; its error is that of all that was read there. */
static void larges_flush(struct mci_kv *kv, struct kv_fetch *fetches, size_t count,
                         enum kv_area area)
{
    int flushed = -1;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        struct kv_fetch *f = &fetches[i];

        if (!is_by_get(kv, f))
            continue;
        if (f->obj.rank != flushed) {
            flushed = f->obj.rank;
            err = kv->remote->flush(kv, flushed, area);
            if (err == MCOMM_ERR_PROC_FAILED)
                mci_kv_rank_died(kv, flushed);
            for (size_t j = i + 1; j < count && err != MCOMM_SUCCESS; j++)
                if (is_by_get(kv, &fetches[j]) && fetches[j].obj.rank == flushed)
                    fetches[j].err = err;
        }
        f->err = err;
    }
}

/* All at once, then the words of their slabs, all at once. */
static void larges_read(struct mci_kv *kv, struct kv_fetch *fetches, size_t count)
{
    bool has_any = false;

    for (size_t i = 0; i < count; i++) {
        if (fetches[i].state != KV_FETCH_REC)
            continue;
        has_any = true;
        fetches[i].err = large_begin(kv, &fetches[i]);
    }
    if (!has_any)
        return;
    larges_flush(kv, fetches, count, KV_DATA);
    for (size_t i = 0; i < count; i++)
        if (is_by_get(kv, &fetches[i]))
            fetches[i].err =
                kv->remote->get(kv, fetches[i].obj.rank, KV_META,
                                kv_word_at(&kv->parts[fetches[i].obj.rank], fetches[i].obj.slab),
                                &fetches[i].word, 8);
    larges_flush(kv, fetches, count, KV_META);
    for (size_t i = 0; i < count; i++) {
        struct kv_fetch *f = &fetches[i];

        if (is_by_get(kv, f) && kv_word_gen(f->word) != f->obj.rec.gen)
            f->err = MCOMM_ERR_TRY_AGAIN;
        if (f->state == KV_FETCH_REC)
            fetch_end(f, f->err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_NOT_FOUND : f->err);
    }
}

/* What was read at a place that its lender cannot know to be the key's. */
static void fetch_confirm(struct mci_kv *kv, struct kv_fetch *f)
{
    uint64_t loc;
    mcomm_err_t err;

    if (f->err == MCOMM_SUCCESS && f->want < KV_WANT_SIZE)
        mci_kv_dir_touch(kv, &f->spot, f->tick + 1);
    if (f->err != MCOMM_ERR_NOT_FOUND || kv_is_dead(kv, kv_loc_rank(f->spot.loc)))
        return;
    err = mci_kv_dir_reload(kv, &f->spot, &loc);
    if (err != MCOMM_SUCCESS || loc != f->spot.loc)
        f->err = MCOMM_ERR_TRY_AGAIN;
}

static void fetch_finish(struct mci_kv *kv, struct kv_fetch *f)
{
    if (f->asked >= 0 && f->is_by_spot)
        fetch_confirm(kv, f);
    if (f->asked >= 0 && f->err == MCOMM_SUCCESS && f->want < KV_WANT_SIZE)
        mci_kv_hit_count(kv, f->lender >= 0 && f->lender < kv->size ? f->lender : f->asked);
    if (f->want == KV_WANT_ALLOC && f->err != MCOMM_SUCCESS) {
        mci_mem_free(f->buf);
        f->buf = NULL;
    }
}

void mci_kv_far_fetch(struct mci_kv *kv, struct kv_fetch *fetches, size_t count)
{
    struct fetching all = {fetches, count};
    struct kv_talk talk;
    bool has_asked = true;

    mci_kv_talk_begin(&talk, kv, KV_CALL_GET);
    talk.take = fetch_take;
    talk.lost = fetch_lost;
    talk.arg = &all;
    for (size_t i = 0; i < count; i++) {
        fetches[i].state = fetches[i].is_placed ? KV_FETCH_SPOT : KV_FETCH_NEW;
        fetches[i].is_by_spot = false;
        fetches[i].asked = -1;
    }
    while (has_asked) { /* twice at most: home, lender */
        has_asked = false;
        for (size_t i = 0; i < count; i++)
            if (fetches[i].state == KV_FETCH_NEW || fetches[i].state == KV_FETCH_SPOT)
                has_asked |= fetch_step(kv, &talk, &fetches[i], i);
        mci_kv_talk_end(&talk);
    }
    larges_read(kv, fetches, count);
    for (size_t i = 0; i < count; i++)
        fetch_finish(kv, &fetches[i]);
}
