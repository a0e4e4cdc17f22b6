/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Putting and removing. The value is written where no reader looks, then one swap of the key's
 * directory word makes it the value; a writer that dies leaves the old one. A value that does not
 * fit a slab, or only after an eviction, is cut into extents; its head is written last.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

struct kv_rec mci_kv_rec_start(const struct kv_key *key, enum kv_kind kind, uint64_t nbytes)
{
    struct kv_rec rec = {.kind = (uint16_t)kind,
                         .key_nbytes = kind == KV_EXTENT ? 0 : (uint16_t)key->nbytes,
                         .value_nbytes = nbytes,
                         .lo = key->hash.lo,
                         .hi = key->hash.hi};

    return rec;
}

/* Header and key, and of the value what a frame takes; the rest is left. front: frame_max bytes */
static mcomm_err_t front_send(struct mci_kv *kv, const struct kv_room *room,
                              const struct kv_rec *rec, const struct kv_key *key, const char *body,
                              size_t nbytes, char *front, size_t frame_max, size_t *done_p)
{
    uint64_t body_at = kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes);

    *done_p = nbytes < frame_max - body_at ? nbytes : frame_max - body_at;
    memcpy(front, rec, sizeof(*rec));
    memset(front + sizeof(*rec), 0, body_at - sizeof(*rec));
    memcpy(front + sizeof(*rec), key->ptr, rec->key_nbytes);
    if (*done_p > 0)
        memcpy(front + body_at, body, *done_p);
    return kv->remote->put(kv, room->rank, KV_DATA, room->at, front, body_at + *done_p);
}

/* On its way; in frames, if *is_in_order_p: what is sent there later comes later. */
static mcomm_err_t body_send(struct mci_kv *kv, const struct kv_room *room,
                             const struct kv_rec *rec, const struct kv_key *key, const char *body,
                             size_t nbytes, bool *is_in_order_p)
{
    uint64_t at =
        room->at + kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes);
    size_t frame_max = kv->remote->frame_max(kv, room->rank), done = 0, n;
    char *front = NULL;
    mcomm_err_t err;

    if (frame_max > KV_CALL_MAX)
        frame_max = KV_CALL_MAX;
    if (frame_max >= 2 * KV_KEY_MAX)
        front = mci_mem_alloc(frame_max);
    *is_in_order_p = front != NULL && nbytes <= KV_INLINE_MAX;
    if (front != NULL) {
        err = front_send(kv, room, rec, key, body, nbytes, front, frame_max, &done);
        mci_mem_free(front);
    } else { /* from where they lie until the flush */
        err = kv->remote->put(kv, room->rank, KV_DATA, room->at, rec, sizeof(*rec));
        if (err == MCOMM_SUCCESS && rec->key_nbytes > 0)
            err = kv->remote->put(kv, room->rank, KV_DATA, room->at + sizeof(*rec), key->ptr,
                                  rec->key_nbytes);
    }
    for (; done < nbytes && err == MCOMM_SUCCESS; done += n) {
        n = *is_in_order_p && nbytes - done > frame_max ? frame_max : nbytes - done;
        err = kv->remote->put(kv, room->rank, KV_DATA, at + done, body + done, n);
    }
    return err;
}

static void body_copy(struct mci_kv *kv, const struct kv_room *room, const struct kv_rec *rec,
                      const struct kv_key *key, const void *body, size_t nbytes)
{
    char *at = kv->parts[room->rank].area[KV_DATA] + room->at;

    memcpy(at + sizeof(*rec), key->ptr, rec->key_nbytes);
    if (nbytes > 0)
        mci_kv_copy_in(at + kv_body_at((enum kv_kind)rec->kind, rec->key_nbytes, rec->value_nbytes),
                       body, nbytes);
}

/* Also after an error: the caller's buffers are used no more. */
static mcomm_err_t data_flush(struct mci_kv *kv, int rank, enum kv_area area, mcomm_err_t err)
{
    mcomm_err_t flush_err = kv->remote->flush(kv, rank, area);

    if (flush_err == MCOMM_ERR_PROC_FAILED)
        mci_kv_rank_died(kv, rank);
    return err == MCOMM_SUCCESS ? flush_err : err;
}

/* lock-free: the room is ours */
static mcomm_err_t body_write(struct mci_kv *kv, const struct kv_room *room,
                              const struct kv_rec *rec, const struct kv_key *key, const void *body,
                              size_t nbytes)
{
    bool is_in_order;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (KV_LIKELY(kv->parts[room->rank].area[KV_DATA] != NULL)) {
        body_copy(kv, room, rec, key, body, nbytes);
        return MCOMM_SUCCESS;
    }
    err = body_send(kv, room, rec, key, body, nbytes, &is_in_order);
    return data_flush(kv, room->rank, KV_DATA, err);
}

/* A head and its counters; what is in order is not waited for here. */
static mcomm_err_t head_send(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                             const void *body, size_t nbytes)
{
    const struct kv_rec *rec = &wr->obj.rec;
    int rank = wr->head.rank;
    bool is_in_order;
    mcomm_err_t err = body_send(kv, &wr->head, rec, key, body, nbytes, &is_in_order);

    wr->deltas[0] = rec->nbytes;
    wr->deltas[1] = rec->value_nbytes;
    wr->deltas[2] = 1;
    if (err == MCOMM_SUCCESS)
        err =
            kv->remote->add(kv, rank, kv_count_at(&kv->parts[rank], wr->head.slab), wr->deltas, 3);
    if (err == MCOMM_SUCCESS && is_in_order) {
        wr->unflushed = rank;
        return MCOMM_SUCCESS;
    }
    err = data_flush(kv, rank, KV_DATA, err);
    return err == MCOMM_SUCCESS ? data_flush(kv, rank, KV_META, err) : err;
}

mcomm_err_t mci_kv_record_write(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
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
    wr->is_counted = true;
    if (KV_UNLIKELY(!kv_is_mapped(kv, wr->head.rank) && rec->kind == KV_INLINE)) {
        if (sizeof(struct kv_ask) + sizeof(*rec) + kv_round(key->nbytes) + kv_round(body_nbytes) <=
            KV_CALL_MAX) { /* goes along with the call that makes it seen */
            wr->is_counted = false;
            wr->held = body != NULL ? body : "";
            wr->unflushed = wr->head.rank;
        } else {
            err = head_send(kv, wr, key, body, body_nbytes);
        }
    } else {
        err = body_write(kv, &wr->head, rec, key, body, body_nbytes);
        if (err == MCOMM_SUCCESS)
            err = mci_kv_object_count(kv, &wr->obj, 1);
    }
    if (err != MCOMM_SUCCESS) {
        mci_kv_room_done(kv, &wr->head);
        return err;
    }
    wr->state = KV_WRITING_DONE;
    return MCOMM_SUCCESS;
}

/* ---- values in extents ---- */
static mcomm_err_t extent_list_grow(struct kv_writing *wr)
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

static mcomm_err_t extent_write(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                                const char *value, size_t left, int preferred, struct kv_waiter *w,
                                size_t *written_p)
{
    struct kv_rec rec = mci_kv_rec_start(key, KV_EXTENT, left), *head = &wr->obj.rec;
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

static mcomm_err_t spread_write(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                                const char *value, size_t nbytes, int preferred,
                                struct kv_waiter *w)
{
    mcomm_err_t err = piece_min(kv, key, nbytes, &wr->piece_min);
    size_t n = 0;

    wr->obj.rec = mci_kv_rec_start(key, KV_SPREAD, nbytes);
    for (size_t done = 0; done < nbytes && err == MCOMM_SUCCESS; done += n)
        err = extent_write(kv, wr, key, value + done, nbytes - done, preferred, w, &n);
    if (err != MCOMM_SUCCESS)
        return err;
    return mci_kv_record_write(kv, wr, key, wr->obj.extents,
                               sizeof(struct kv_extent) * wr->obj.rec.extent_count, preferred,
                               false, w);
}

/* Nothing more will be published: the slabs may be sealed. */
void mci_kv_writing_end(struct mci_kv *kv, struct kv_writing *wr)
{
    const struct kv_moved *moved = &wr->moved;

    if (KV_UNLIKELY(moved->nbytes > 0)) {
        bool is_moved = wr->state == KV_WRITING_PUBLISHED;

        (void)mci_kv_extent_count(kv, moved->room.rank, is_moved ? moved->was : moved->room.at,
                                  moved->nbytes, -1);
        mci_kv_room_done(kv, &moved->room);
        wr->moved.nbytes = 0;
    }
    if (wr->state == KV_WRITING_DONE && wr->is_counted)
        (void)mci_kv_object_count(kv, &wr->obj, -1);
    if (wr->state != KV_WRITING_NOTHING)
        mci_kv_room_done(kv, &wr->head);
    wr->state = KV_WRITING_NOTHING;
    wr->unflushed = -1;
    wr->held = NULL;
    if (KV_LIKELY(wr->rooms == NULL && wr->obj.extents == NULL))
        return;
    for (uint32_t i = 0; wr->rooms != NULL && i < wr->obj.rec.extent_count; i++)
        mci_kv_room_done(kv, &wr->rooms[i]);
    mci_mem_free(wr->rooms);
    wr->rooms = NULL;
    wr->extent_max = 0;
    mci_kv_object_free(&wr->obj);
}

bool mci_kv_is_small(const struct mci_kv *kv, int preferred, uint64_t need)
{
    int rank = preferred >= 0 && kv->parts[preferred].slab_count > 0 ? preferred : kv->rank;
    uint64_t slab_nbytes = kv->parts[rank].slab_nbytes;

    return need <= (slab_nbytes != 0 ? slab_nbytes : KV_SLAB_MIN) / 4;
}

/* Also again, when a storage rank died under the first try. */
static mcomm_err_t value_write(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
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
        wr->obj.rec = mci_kv_rec_start(key, KV_INLINE, nbytes);
        err = mci_kv_record_write(kv, wr, key, value, nbytes, preferred,
                                  !mci_kv_is_small(kv, preferred, need), w);
        if (err == MCOMM_SUCCESS || mci_kv_is_small(kv, preferred, need))
            continue;
        if (err == MCOMM_ERR_TRY_AGAIN || err == MCOMM_ERR_NO_SPACE)
            err = spread_write(kv, wr, key, value, nbytes, preferred, w);
        if (err != MCOMM_SUCCESS)
            mci_kv_writing_end(kv, wr);
    } while (err == MCOMM_ERR_PROC_FAILED &&
             atomic_load_explicit(&kv->pool_nbytes, memory_order_relaxed) > 0);
    return err;
}

/* ---- publication ---- */
struct race { /* against others who change the same key */
    struct kv_waiter w;
    uint64_t origin; /* of the value that was there first */
};

/*
 * TRY_AGAIN: the entry changed meanwhile. loc 0: removal. EXISTS: another value was put after this
 * call began, so that this change may count as made just before that. *is_lost_p: there was an
 * entry, but no object any more.
 */
static mcomm_err_t replace(struct mci_kv *kv, const struct kv_key *key, const struct kv_spot *spot,
                           uint64_t loc, uint64_t hint, struct race *race, bool *is_lost_p)
{
    struct kv_object old;
    mcomm_err_t err;

    if (!kv_is_mapped(kv, spot->home)) /* since a moment ago: the one before died */
        return MCOMM_ERR_TRY_AGAIN;
    err = mci_kv_object_at(kv, key->hash, spot, &old, is_lost_p);
    if (err != MCOMM_SUCCESS)
        return err;
    if (!*is_lost_p && race->origin != 0 && race->origin != old.rec.origin)
        err = MCOMM_ERR_EXISTS;
    else
        err = mci_kv_dir_swap(kv, spot, loc, hint);
    if (!*is_lost_p)
        race->origin = old.rec.origin;
    if (err == MCOMM_SUCCESS && !*is_lost_p)
        (void)mci_kv_object_count(kv, &old, -1);
    mci_kv_object_free(&old);
    return err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err;
}

mcomm_err_t mci_kv_put_exists(const struct kv_key *key, unsigned mode)
{
    return mode == MCOMM_KV_IF_ABSENT
               ? MCOMM_SUCCESS
               : mci_err_set(MCOMM_ERR_EXISTS, "a key of %zu bytes exists", key->nbytes);
}

static uint64_t written_loc(const struct kv_writing *wr)
{
    return kv_loc_value(kv_place(wr->head.rank, wr->head.at), wr->obj.rec.gen);
}

/* By way of the key's home, or with a record that is still on its way to its lender. */
static mcomm_err_t far_change(struct mci_kv *kv, const struct kv_key *key, struct kv_writing *wr,
                              unsigned mode, struct race *race, struct kv_waiter *w)
{
    struct kv_change c = {.key = *key, .mode = mode, .wr = wr, .origin = race->origin};

    mci_kv_changes_apply(kv, &c, 1, w);
    race->origin = c.origin;
    if (wr != NULL && c.is_published)
        wr->state = KV_WRITING_PUBLISHED;
    return wr != NULL && c.err == MCOMM_ERR_EXISTS ? mci_kv_put_exists(key, mode) : c.err;
}

/* What the mode says to an object that is there. NOT_FOUND: the put may go on. */
static mcomm_err_t mode_check(struct mci_kv *kv, const struct kv_key *key,
                              const struct kv_spot *spot, unsigned mode)
{
    struct kv_fetch f = {.key = *key, .want = KV_WANT_SIZE};

    if (mode == MCOMM_KV_REPLACE)
        return MCOMM_ERR_NOT_FOUND;
    if (spot != NULL)
        f.err = mci_kv_lookup_at(kv, key, spot, &f.obj);
    else
        mci_kv_far_fetch(kv, &f, 1);
    return f.err == MCOMM_SUCCESS ? mci_kv_put_exists(key, mode) : f.err;
}

static bool is_near(const struct mci_kv *kv, const struct kv_key *key, const struct kv_writing *wr)
{
    return !kv_is_home_far(kv, key->hash) && wr->unflushed < 0;
}

/* SUCCESS: done one way or the other; TRY_AGAIN: look again. */
static mcomm_err_t put_once(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                            const void *value, size_t nbytes, unsigned mode, int preferred,
                            struct kv_waiter *w, struct race *race)
{
    struct kv_spot spot;
    bool is_there = false, is_here, is_lost;
    mcomm_err_t err = MCOMM_ERR_NOT_FOUND;

    if (wr->state == KV_WRITING_DONE && KV_UNLIKELY(kv_is_dead(kv, wr->head.rank)))
        mci_kv_writing_end(kv, wr);
    is_here = is_near(kv, key, wr);
    if (KV_LIKELY(is_here)) {
        err = mci_kv_dir_find(kv, key->hash, &spot);
        is_there = err == MCOMM_SUCCESS;
    }
    if (is_there || (!is_here && wr->state == KV_WRITING_NOTHING))
        err = mode_check(kv, key, is_there ? &spot : NULL, mode);
    if (err != MCOMM_ERR_NOT_FOUND)
        return err;
    if (wr->state == KV_WRITING_NOTHING) {
        err = value_write(kv, wr, key, value, nbytes, preferred, w);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    if (KV_UNLIKELY(!is_here || wr->unflushed >= 0))
        return far_change(kv, key, wr, mode, race, w);
    if (is_there)
        err = replace(kv, key, &spot, written_loc(wr), wr->obj.rec.nbytes, race, &is_lost);
    else
        err = mci_kv_dir_insert(kv, key->hash, written_loc(wr), wr->obj.rec.nbytes, w);
    if (err == MCOMM_SUCCESS)
        wr->state = KV_WRITING_PUBLISHED;
    if (err != MCOMM_ERR_EXISTS)
        return err;
    return is_there ? MCOMM_SUCCESS : MCOMM_ERR_TRY_AGAIN;
}

/* Others removed and put the object all the time. */
static mcomm_err_t lost_races(void)
{
    return mci_err_set(MCOMM_ERR_TIMEOUT,
                       "the object was changed by others again and again for %d ms",
                       KV_PATIENCE_MS);
}

void mci_kv_writing_begin(struct kv_writing *wr)
{
    wr->state = KV_WRITING_NOTHING;
    wr->obj.extents = NULL;
    wr->rooms = NULL;
    wr->extent_max = 0;
    wr->unflushed = -1;
    wr->held = NULL;
    wr->moved.nbytes = 0;
}

void mci_kv_writing_move(struct kv_writing *to, struct kv_writing *from)
{
    *to = *from;
    mci_kv_writing_begin(from);
    to->held = NULL; /* the caller's */
}

void mci_kv_writing_leave(struct kv_writing *wr)
{
    mci_mem_free(wr->rooms);
    mci_kv_object_free(&wr->obj);
    mci_kv_writing_begin(wr);
}

mcomm_err_t mci_kv_put_written(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                               const void *value, size_t nbytes, unsigned mode, int preferred)
{
    struct kv_waiter w;
    struct race race = {.origin = 0};
    mcomm_err_t err;

    mci_kv_wait_begin(&w, kv->put_timeout_ms);
    mci_kv_wait_begin(&race.w, KV_PATIENCE_MS);
    mci_kv_settle(kv);
    do
        err = put_once(kv, wr, key, value, nbytes, mode, preferred, &w, &race);
    while (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(&race.w) == MCOMM_SUCCESS);
    if (err == MCOMM_ERR_TRY_AGAIN)
        err = lost_races();
    mci_kv_writing_end(kv, wr);
    kv_count_up(&kv->stat.puts);
    return err;
}

mcomm_err_t mci_kv_put(struct mci_kv *kv, const struct kv_key *key, const void *value,
                       size_t nbytes, unsigned mode, int preferred)
{
    struct kv_writing wr;

    mci_kv_writing_begin(&wr);
    return mci_kv_put_written(kv, &wr, key, value, nbytes, mode, preferred);
}

static mcomm_err_t remove_once(struct mci_kv *kv, const struct kv_key *key, struct race *race)
{
    struct kv_spot spot;
    bool is_lost;
    mcomm_err_t err;

    if (kv_is_home_far(kv, key->hash))
        return far_change(kv, key, NULL, MCOMM_KV_REPLACE, race, &race->w);
    err = mci_kv_dir_find(kv, key->hash, &spot);
    if (err != MCOMM_SUCCESS)
        return err;
    err = replace(kv, key, &spot, 0, 0, race, &is_lost);
    if (err == MCOMM_SUCCESS && is_lost)
        return MCOMM_ERR_NOT_FOUND;
    return err == MCOMM_ERR_EXISTS ? MCOMM_SUCCESS : err;
}

mcomm_err_t mci_kv_remove(struct mci_kv *kv, const struct kv_key *key)
{
    struct race race = {.origin = 0};
    mcomm_err_t err;

    mci_kv_wait_begin(&race.w, KV_PATIENCE_MS);
    do
        err = remove_once(kv, key, &race);
    while (err == MCOMM_ERR_TRY_AGAIN && mci_kv_wait_step(&race.w) == MCOMM_SUCCESS);
    return err == MCOMM_ERR_TRY_AGAIN ? lost_races() : err;
}
