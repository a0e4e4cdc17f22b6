/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Putting and removing. The value is written where no reader looks, then one swap of the key's
 * directory word makes it the value; a writer that dies leaves the old one. A value that does not
 * fit a slab, or only after an eviction, is cut into extents; its head is written last.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_priv.h"

#include <string.h>

enum writing_state {
    WRITING_NOTHING,
    WRITING_DONE, /* whole, counted, not yet to be seen */
    WRITING_PUBLISHED
};

struct writing {
    enum writing_state state;
    struct kv_object obj;
    struct kv_room head;
    struct kv_room *rooms; /* of the extents, as many as obj.rec.extent_count */
    uint32_t extent_max;
    size_t piece_min; /* bytes of value */
};

static struct kv_rec rec_start(const struct kv_key *key, enum kv_kind kind, uint64_t nbytes)
{
    struct kv_rec rec = {.kind = (uint16_t)kind,
                         .key_nbytes = kind == KV_EXTENT ? 0 : (uint16_t)key->nbytes,
                         .value_nbytes = nbytes,
                         .lo = key->hash.lo,
                         .hi = key->hash.hi};

    return rec;
}

/* lock-free: the room is ours */
static mcomm_err_t body_write(struct mci_kv *kv, const struct kv_room *room,
                              const struct kv_rec *rec, const struct kv_key *key, const void *body,
                              size_t nbytes)
{
    uint64_t body_at = kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes);
    char *base = kv->parts[room->rank].area[KV_DATA];
    mcomm_err_t err = MCOMM_SUCCESS;

    if (KV_LIKELY(base != NULL)) {
        memcpy(base + room->at + sizeof(*rec), key->ptr, rec->key_nbytes);
        if (nbytes > 0)
            mci_kv_copy_in(base + room->at + body_at, body, nbytes);
        return MCOMM_SUCCESS;
    }
    if (rec->key_nbytes > 0)
        err = kv->remote->put(kv, room->rank, KV_DATA, room->at + sizeof(*rec), key->ptr,
                              rec->key_nbytes);
    if (err == MCOMM_SUCCESS && nbytes > 0)
        err = kv->remote->put(kv, room->rank, KV_DATA, room->at + body_at, body, nbytes);
    if (err == MCOMM_SUCCESS)
        err = kv->remote->flush(kv, room->rank, KV_DATA);
    if (err == MCOMM_ERR_PROC_FAILED)
        mci_kv_rank_died(kv, room->rank);
    return err;
}

static mcomm_err_t record_write(struct mci_kv *kv, struct writing *wr, const struct kv_key *key,
                                const void *body, size_t body_nbytes, int preferred,
                                bool is_fresh_only, struct kv_waiter *w)
{
    struct kv_rec *rec = &wr->obj.rec;
    uint64_t need =
        kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes) + body_nbytes;
    mcomm_err_t err = mci_kv_room_take(kv, preferred, need, need, is_fresh_only, rec, w, &wr->head);

    if (err != MCOMM_SUCCESS)
        return err;
    wr->obj.rank = wr->head.rank;
    wr->obj.slab = wr->head.slab;
    wr->obj.at = wr->head.at;
    err = body_write(kv, &wr->head, rec, key, body, body_nbytes);
    if (err != MCOMM_SUCCESS) {
        mci_kv_room_done(kv, &wr->head);
        return err;
    }
    mci_kv_object_count(kv, &wr->obj, 1);
    wr->state = WRITING_DONE;
    return MCOMM_SUCCESS;
}

/* ---- values in extents ---- */
static mcomm_err_t extent_list_grow(struct writing *wr)
{
    uint32_t max = wr->extent_max == 0 ? 16 : wr->extent_max * 2;
    struct kv_extent *extents = mci_mem_realloc(wr->obj.extents, sizeof(*extents) * max);
    struct kv_room *rooms;

    if (extents == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a list of %u extents", max);
    wr->obj.extents = extents;
    rooms = mci_mem_realloc(wr->rooms, sizeof(*rooms) * max);
    if (rooms == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a list of %u extents", max);
    wr->rooms = rooms;
    wr->extent_max = max;
    return MCOMM_SUCCESS;
}

static mcomm_err_t extent_write(struct mci_kv *kv, struct writing *wr, const struct kv_key *key,
                                const char *value, size_t left, int preferred, struct kv_waiter *w,
                                size_t *written_p)
{
    struct kv_rec rec = rec_start(key, KV_EXTENT, left), *head = &wr->obj.rec;
    size_t least = left < wr->piece_min ? left : wr->piece_min;
    struct kv_room room;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (head->extent_count == wr->extent_max)
        err = extent_list_grow(wr);
    if (err == MCOMM_SUCCESS)
        err = mci_kv_room_take(kv, preferred, sizeof(rec) + least, sizeof(rec) + left, false, &rec,
                               w, &room);
    if (err != MCOMM_SUCCESS)
        return err;
    wr->rooms[head->extent_count] = room;
    wr->obj.extents[head->extent_count] = (struct kv_extent){
        .place = kv_place(room.rank, room.at), .nbytes = rec.value_nbytes, .gen = rec.gen};
    head->extent_count++;
    *written_p = rec.value_nbytes;
    return body_write(kv, &room, &rec, key, value, rec.value_nbytes);
}

/* Pieces so large that the list of them fits a slab; the last one may be smaller. */
static mcomm_err_t piece_min(const struct mci_kv *kv, const struct kv_key *key, size_t nbytes,
                             size_t *least_p)
{
    uint64_t slab_nbytes = KV_SLAB_MIN, count, least, most;

    for (int rank = 0; rank < kv->size; rank++)
        if (!kv_is_dead(kv, rank) && kv->parts[rank].slab_nbytes > slab_nbytes)
            slab_nbytes = kv->parts[rank].slab_nbytes;
    count = (slab_nbytes - kv_body_at(KV_SPREAD, key->nbytes, nbytes)) / sizeof(struct kv_extent);
    most = slab_nbytes - sizeof(struct kv_rec);
    least = nbytes / (count - 1) + 1;
    if (least > most)
        return mci_err_set(MCOMM_ERR_TOO_LARGE,
                           "value of %zu bytes: with slabs of %llu bytes (a 64th of a rank's "
                           "capacity) a value has at most %llu",
                           nbytes, (unsigned long long)slab_nbytes,
                           (unsigned long long)((most - 1) * (count - 1)));
    *least_p = least < KV_PIECE_MIN ? KV_PIECE_MIN : least;
    return MCOMM_SUCCESS;
}

static mcomm_err_t spread_write(struct mci_kv *kv, struct writing *wr, const struct kv_key *key,
                                const char *value, size_t nbytes, int preferred,
                                struct kv_waiter *w)
{
    mcomm_err_t err = piece_min(kv, key, nbytes, &wr->piece_min);
    size_t n = 0;

    wr->obj.rec = rec_start(key, KV_SPREAD, nbytes);
    for (size_t done = 0; done < nbytes && err == MCOMM_SUCCESS; done += n)
        err = extent_write(kv, wr, key, value + done, nbytes - done, preferred, w, &n);
    if (err != MCOMM_SUCCESS)
        return err;
    return record_write(kv, wr, key, wr->obj.extents,
                        sizeof(struct kv_extent) * wr->obj.rec.extent_count, preferred, false, w);
}

/* Nothing more will be published: the slabs may be sealed. */
static void writing_end(struct mci_kv *kv, struct writing *wr)
{
    if (wr->state == WRITING_DONE)
        mci_kv_object_count(kv, &wr->obj, -1);
    if (wr->state != WRITING_NOTHING)
        mci_kv_room_done(kv, &wr->head);
    wr->state = WRITING_NOTHING;
    if (KV_LIKELY(wr->rooms == NULL && wr->obj.extents == NULL))
        return;
    for (uint32_t i = 0; wr->rooms != NULL && i < wr->obj.rec.extent_count; i++)
        mci_kv_room_done(kv, &wr->rooms[i]);
    mci_mem_free(wr->rooms);
    wr->rooms = NULL;
    wr->extent_max = 0;
    mci_kv_object_free(&wr->obj);
}

static bool is_small(const struct mci_kv *kv, int preferred, uint64_t need)
{
    int rank = preferred >= 0 && kv->parts[preferred].slab_count > 0 ? preferred : kv->rank;
    uint64_t slab_nbytes = kv->parts[rank].slab_nbytes;

    return need <= (slab_nbytes != 0 ? slab_nbytes : KV_SLAB_MIN) / 4;
}

/* Also again, when a storage rank died under the first try. */
static mcomm_err_t value_write(struct mci_kv *kv, struct writing *wr, const struct kv_key *key,
                               const void *value, size_t nbytes, int preferred, struct kv_waiter *w)
{
    uint64_t need = kv_body_at(KV_INLINE, key->nbytes, nbytes) + nbytes;
    uint64_t pool = atomic_load_explicit(&kv->pool_nbytes, memory_order_relaxed);
    mcomm_err_t err;

    if (KV_UNLIKELY(need > pool && pool > 0))
        return mci_err_set(MCOMM_ERR_TOO_LARGE,
                           "value of %zu bytes with a key of %zu bytes: the store holds %llu bytes",
                           nbytes, key->nbytes, (unsigned long long)pool);
    do {
        wr->obj.rec = rec_start(key, KV_INLINE, nbytes);
        err =
            record_write(kv, wr, key, value, nbytes, preferred, !is_small(kv, preferred, need), w);
        if (err == MCOMM_SUCCESS || is_small(kv, preferred, need))
            continue;
        if (err == MCOMM_ERR_TRY_AGAIN || err == MCOMM_ERR_NO_SPACE)
            err = spread_write(kv, wr, key, value, nbytes, preferred, w);
        if (err != MCOMM_SUCCESS)
            writing_end(kv, wr);
    } while (err == MCOMM_ERR_PROC_FAILED &&
             atomic_load_explicit(&kv->pool_nbytes, memory_order_relaxed) > 0);
    return err;
}

/* ---- publication ---- */
/*
 * TRY_AGAIN: the entry changed meanwhile. loc 0: removal. *is_lost_p: there was an entry, but no
 * object any more.
 */
static mcomm_err_t replace(struct mci_kv *kv, const struct kv_key *key, const struct kv_spot *spot,
                           uint64_t loc, uint64_t hint, bool *is_lost_p)
{
    struct kv_object old;
    mcomm_err_t err = mci_kv_object_at(kv, key->hash, spot, &old, is_lost_p);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_kv_dir_swap(kv, spot, loc, hint);
    if (err == MCOMM_SUCCESS && !*is_lost_p)
        mci_kv_object_count(kv, &old, -1);
    mci_kv_object_free(&old);
    return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err;
}

/* What the mode says to an object that is there. NOT_FOUND: the put may go on. */
static mcomm_err_t mode_check(struct mci_kv *kv, const struct kv_key *key,
                              const struct kv_spot *spot, unsigned mode)
{
    struct kv_object obj;
    mcomm_err_t err =
        mode == MCOMM_KV_REPLACE ? MCOMM_ERR_NOT_FOUND : mci_kv_lookup_at(kv, key, spot, &obj);

    if (err == MCOMM_SUCCESS && mode == MCOMM_KV_EXCLUSIVE)
        err = mci_err_set(MCOMM_ERR_EXISTS, "a key of %zu bytes exists", key->nbytes);
    return err;
}

/* SUCCESS: done one way or the other; TRY_AGAIN: look again. */
static mcomm_err_t put_once(struct mci_kv *kv, struct writing *wr, const struct kv_key *key,
                            const void *value, size_t nbytes, unsigned mode, int preferred,
                            struct kv_waiter *w)
{
    struct kv_spot spot;
    uint64_t loc;
    bool is_lost;
    mcomm_err_t err = mci_kv_dir_find(kv, key->hash, &spot);
    bool is_there = err == MCOMM_SUCCESS;

    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_NOT_FOUND)
        return err;
    if (is_there) {
        err = mode_check(kv, key, &spot, mode);
        if (err != MCOMM_ERR_NOT_FOUND)
            return err;
    }
    if (wr->state == WRITING_NOTHING) {
        err = value_write(kv, wr, key, value, nbytes, preferred, w);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    loc = kv_loc_value(kv_place(wr->head.rank, wr->head.at), wr->obj.rec.gen);
    if (is_there)
        err = replace(kv, key, &spot, loc, wr->obj.rec.nbytes, &is_lost);
    else
        err = mci_kv_dir_insert(kv, key->hash, loc, wr->obj.rec.nbytes, w);
    if (err == MCOMM_SUCCESS)
        wr->state = WRITING_PUBLISHED;
    return !is_there && err == MCOMM_ERR_EXISTS ? MCOMM_ERR_TRY_AGAIN : err;
}

/* A far writer against near ones that replace the object all the time. */
static mcomm_err_t lost_races(void)
{
    return mci_err_set(MCOMM_ERR_TIMEOUT,
                       "the object was changed by others again and again for %d ms",
                       KV_PATIENCE_MS);
}

mcomm_err_t mci_kv_put(struct mci_kv *kv, const struct kv_key *key, const void *value,
                       size_t nbytes, unsigned mode, int preferred)
{
    struct writing wr;
    struct kv_waiter w, race;
    mcomm_err_t err;

    wr.state = WRITING_NOTHING;
    wr.obj.extents = NULL;
    wr.rooms = NULL;
    wr.extent_max = 0;
    mci_kv_wait_begin(&w, kv->put_timeout_ms);
    mci_kv_wait_begin(&race, KV_PATIENCE_MS);
    mci_kv_settle(kv);
    do
        err = put_once(kv, &wr, key, value, nbytes, mode, preferred, &w);
    while (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(&race) == MCOMM_SUCCESS);
    if (err == MCOMM_ERR_TRY_AGAIN)
        err = lost_races();
    writing_end(kv, &wr);
    kv_count_up(&kv->stat.puts);
    return err;
}

mcomm_err_t mci_kv_remove(struct mci_kv *kv, const struct kv_key *key)
{
    struct kv_waiter race;
    mcomm_err_t err;

    mci_kv_wait_begin(&race, KV_PATIENCE_MS);
    do {
        struct kv_spot spot;
        bool is_lost;

        err = mci_kv_dir_find(kv, key->hash, &spot);
        if (err != MCOMM_SUCCESS)
            break;
        err = replace(kv, key, &spot, 0, 0, &is_lost);
        if (err == MCOMM_SUCCESS && is_lost)
            err = MCOMM_ERR_NOT_FOUND;
    } while (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(&race) == MCOMM_SUCCESS);
    return err == MCOMM_ERR_TRY_AGAIN ? lost_races() : err;
}
