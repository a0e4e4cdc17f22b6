/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Calls of other nodes, answered with the same steps as a local get or put. Runs under the engine
 * lock on whatever thread drives progress, so nothing here may wait or go over a network: what
 * would have to is told to the asker instead.
 */
#include "config.h"

#include "kvobj/kv_far.h"
#include "rail/rail.h"

#include <stddef.h>
#include <string.h>

#define TRIES 16u
#define PIECE_MIN 1024u /* smaller pieces of a value are not worth a header */

struct serving {
    struct mci_kv *kv;
    kv_emit_fn_t emit;
    void *arg;
    struct kv_ask ask;
    struct kv_key key;
    struct kv_spot spot;
    struct kv_object obj;
    struct kv_object record; /* that came with it */
    const char *value;
};

/* Answers on their way into one frame. lock: engine */
static _Alignas(64) char out[MCI_FRAME_MAX];
static size_t out_nbytes;

static void out_send(struct serving *s)
{
    if (out_nbytes > 0)
        s->emit(s->arg, out, out_nbytes);
    out_nbytes = 0;
}

/* Room for an answer and at least least bytes behind it. */
static struct kv_answer *answer_begin(struct serving *s, size_t least, mcomm_err_t err,
                                      enum kv_say say)
{
    struct kv_answer *answer;

    if (sizeof(out) - out_nbytes < sizeof(*answer) + least)
        out_send(s);
    answer = (struct kv_answer *)(void *)(out + out_nbytes);
    *answer = (struct kv_answer){.index = s->ask.index, .err = (uint16_t)err, .say = (uint16_t)say};
    return answer;
}

static void answer_end(struct kv_answer *answer, size_t nbytes)
{
    answer->nbytes = nbytes;
    out_nbytes += sizeof(*answer);
    while (nbytes % 8 != 0)
        out[out_nbytes + nbytes++] = 0;
    out_nbytes += nbytes;
}

static void say_nothing(struct serving *s, mcomm_err_t err, uint64_t value_nbytes)
{
    struct kv_answer *answer = answer_begin(s, 0, err, KV_SAY_NOTHING);

    answer->value_nbytes = value_nbytes;
    answer_end(answer, 0);
}

/* It is being read: the entry learns of it. Returns the lender's tick. */
static uint64_t use_note(struct serving *s)
{
    uint64_t tick = 0;

    (void)mci_kv_load(s->kv, s->obj.rank, offsetof(struct kv_head, tick), &tick);
    if (s->ask.loc == 0)
        mci_kv_dir_touch(s->kv, &s->spot, tick + 1);
    return tick;
}

/* The spot, then nbytes of more. */
static void say_spot_and(struct serving *s, enum kv_say say, mcomm_err_t err, uint64_t tick,
                         const void *more, size_t nbytes)
{
    struct kv_spot_wire *wire;
    struct kv_answer *answer = answer_begin(s, sizeof(*wire) + nbytes, err, say);

    wire = (struct kv_spot_wire *)(void *)(answer + 1);
    *wire = (struct kv_spot_wire){s->spot.bucket, s->spot.slot, s->spot.loc, s->spot.access,
                                  s->spot.hint};
    if (nbytes > 0)
        memcpy(wire + 1, more, nbytes);
    answer->tick = tick;
    answer_end(answer, sizeof(*wire) + nbytes);
}

static void say_spot(struct serving *s, mcomm_err_t err)
{
    say_spot_and(s, KV_SAY_SPOT, err, 0, NULL, 0);
}

/* ---- get ---- */
/* The value in pieces; whether they are whole is said with the last one. */
static void say_value(struct serving *s)
{
    struct mci_kv *kv = s->kv;
    const struct kv_object *obj = &s->obj;
    const char *body = kv->parts[obj->rank].area[KV_DATA] + obj->at +
                       kv_body_at(KV_INLINE, obj->rec.key_nbytes, obj->rec.value_nbytes);
    uint64_t left = obj->rec.value_nbytes, tick = use_note(s), n;

    do {
        struct kv_answer *answer = answer_begin(s, left < PIECE_MIN ? (left + 7) & ~7u : PIECE_MIN,
                                                MCOMM_SUCCESS, KV_SAY_VALUE);

        n = sizeof(out) - out_nbytes - sizeof(*answer);
        n = left < n ? left : n;
        mci_kv_copy_racy(answer + 1, body + (obj->rec.value_nbytes - left), n);
        answer->rank = (uint32_t)obj->rank;
        answer->value_nbytes = obj->rec.value_nbytes;
        answer->offset = obj->rec.value_nbytes - left;
        answer->tick = tick;
        left -= n;
        if (left == 0 && mci_kv_slab_check(kv, obj->rank, obj->slab, obj->rec.gen) != MCOMM_SUCCESS)
            answer->err = MCOMM_ERR_TRY_AGAIN;
        answer_end(answer, n);
    } while (left > 0);
}

/* SUCCESS: s->obj is the key's; TRY_AGAIN; else it has been answered. */
static mcomm_err_t get_find(struct serving *s)
{
    struct mci_kv *kv = s->kv;
    mcomm_err_t err;
    int rank;

    s->spot.loc = s->ask.loc;
    if (s->ask.loc == 0 &&
        mci_kv_dir_find_at(kv, kv->rank, s->key.hash, &s->spot) != MCOMM_SUCCESS) {
        say_nothing(s, MCOMM_ERR_NOT_FOUND, 0);
        return MCOMM_ERR_NOT_FOUND;
    }
    rank = kv_loc_rank(s->spot.loc);
    if (rank < kv->size && !kv_is_dead(kv, rank) && !kv_is_mapped(kv, rank)) {
        say_spot(s, MCOMM_SUCCESS);
        return MCOMM_ERR_NOT_FOUND;
    }
    err = s->ask.loc != 0 ? mci_kv_record_find(kv, &s->key, s->spot.loc, &s->obj)
                          : mci_kv_lookup_at(kv, &s->key, &s->spot, &s->obj);
    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_TRY_AGAIN)
        say_nothing(s, err, 0);
    return err;
}

static void serve_get(struct serving *s)
{
    mcomm_err_t err = MCOMM_ERR_TRY_AGAIN;
    uint64_t value_nbytes;

    for (unsigned i = 0; i < TRIES && err == MCOMM_ERR_TRY_AGAIN; i++)
        err = get_find(s);
    if (err == MCOMM_ERR_TRY_AGAIN)
        say_nothing(s, err, 0);
    if (err != MCOMM_SUCCESS)
        return;
    value_nbytes = s->obj.rec.value_nbytes;
    if (s->ask.mode == KV_WANT_SIZE)
        say_nothing(s, MCOMM_SUCCESS, value_nbytes);
    else if (s->ask.mode == KV_WANT_INTO && value_nbytes > s->ask.expect)
        say_nothing(s, MCOMM_ERR_TRUNCATE, value_nbytes);
    else if (s->ask.mode == KV_WANT_REC || s->obj.rec.kind != KV_INLINE ||
             value_nbytes > KV_INLINE_MAX)
        say_spot_and(s, KV_SAY_REC, MCOMM_SUCCESS, use_note(s), &s->obj.rec, sizeof(s->obj.rec));
    else
        say_value(s);
}

/* ---- records ---- */
/* Into a slab of this rank, as long as its holder may write there. */
static mcomm_err_t record_write(struct serving *s)
{
    struct mci_kv *kv = s->kv;
    const struct kv_part *part = &kv->parts[kv->rank];
    struct kv_object *obj = &s->record;
    const struct kv_rec *rec = &obj->rec;
    char *base = part->area[KV_DATA];
    uint64_t word;

    obj->rank = kv->rank;
    obj->extents = NULL;
    obj->at = kv_loc_offset(s->ask.loc);
    if (kv_loc_rank(s->ask.loc) != kv->rank || obj->at >= part->data_nbytes ||
        !mci_kv_rec_is_valid(rec, part->slab_nbytes - (obj->at & (part->slab_nbytes - 1))) ||
        rec->kind != KV_INLINE || rec->key_nbytes != s->key.nbytes)
        return MCOMM_ERR_INTERNAL;
    obj->slab = kv_slab_of(part, obj->at);
    if (mci_kv_load(kv, kv->rank, kv_word_at(part, obj->slab), &word) != MCOMM_SUCCESS ||
        kv_word_gen(word) != rec->gen || kv_word_state(word) != KV_SLAB_OPEN)
        return MCOMM_ERR_STATE; /* the writer is taken for dead */
    memcpy(base + obj->at, rec, sizeof(*rec));
    memcpy(base + obj->at + sizeof(*rec), s->key.ptr, s->key.nbytes);
    if (rec->value_nbytes > 0)
        mci_kv_copy_in(base + obj->at + kv_body_at(KV_INLINE, rec->key_nbytes, rec->value_nbytes),
                       s->value, rec->value_nbytes);
    return MCOMM_SUCCESS;
}

static void record_count(struct serving *s)
{
    if (s->ask.mode & KV_ASK_RECORD)
        (void)mci_kv_object_count(s->kv, &s->record, 1);
}

static void serve_write(struct serving *s)
{
    mcomm_err_t err = s->ask.mode & KV_ASK_RECORD ? record_write(s) : MCOMM_ERR_INTERNAL;

    if (err == MCOMM_SUCCESS)
        record_count(s);
    say_nothing(s, err, 0);
}

/* The asker knows from its header what the record took. */
static void serve_count(struct serving *s)
{
    const struct kv_part *part = &s->kv->parts[s->kv->rank];
    struct kv_object obj = {.rank = s->kv->rank, .at = kv_loc_offset(s->ask.loc)};
    mcomm_err_t err = MCOMM_ERR_INTERNAL;

    if (kv_loc_rank(s->ask.loc) == s->kv->rank && obj.at < part->data_nbytes) {
        obj.slab = kv_slab_of(part, obj.at);
        obj.rec.nbytes = s->ask.hint;
        obj.rec.value_nbytes = s->ask.expect;
        (void)mci_kv_object_count(s->kv, &obj, -1);
        err = MCOMM_SUCCESS;
    }
    say_nothing(s, err, 0);
}

/* ---- publish ---- */
enum old { /* the record that an entry names */
    OLD_SEEN,
    OLD_LOST,   /* there is none any more */
    OLD_FAR,    /* not to be seen from here in one step */
    OLD_CHANGED /* the entry changed */
};

static enum old old_see(struct serving *s)
{
    struct mci_kv *kv = s->kv;
    int rank = kv_loc_rank(s->spot.loc);

    s->obj.extents = NULL;
    if (rank >= kv->size || kv_is_dead(kv, rank))
        return OLD_LOST;
    if (!kv_is_mapped(kv, rank))
        return OLD_FAR;
    if (mci_kv_object_read(kv, s->spot.loc, &s->obj) == MCOMM_SUCCESS &&
        s->obj.rec.lo == s->key.hash.lo && s->obj.rec.hi == s->key.hash.hi &&
        s->obj.rec.kind != KV_EXTENT)
        return s->obj.rec.kind == KV_INLINE ? OLD_SEEN : OLD_FAR;
    return mci_kv_dir_confirm(kv, s->key.hash, &s->spot) == MCOMM_SUCCESS ? OLD_LOST : OLD_CHANGED;
}

/* TRY_AGAIN: the entry changed; else it has been answered. */
static mcomm_err_t publish_over(struct serving *s)
{
    struct mci_kv *kv = s->kv;
    enum old old = old_see(s);
    mcomm_err_t err;

    if (old == OLD_CHANGED)
        return MCOMM_ERR_TRY_AGAIN;
    if (old != OLD_LOST && s->ask.loc != 0 && (s->ask.mode & ~KV_ASK_RECORD) != MCOMM_KV_REPLACE) {
        say_nothing(s, MCOMM_ERR_EXISTS, 0);
        return MCOMM_SUCCESS;
    }
    if (old == OLD_FAR && s->spot.loc != s->ask.expect) {
        say_spot(s, MCOMM_ERR_TRY_AGAIN);
        return MCOMM_SUCCESS;
    }
    err = mci_kv_dir_swap(kv, &s->spot, s->ask.loc, s->ask.hint);
    if (err != MCOMM_SUCCESS)
        return err;
    if (old == OLD_SEEN)
        (void)mci_kv_object_count(kv, &s->obj, -1);
    record_count(s);
    err = old == OLD_LOST && s->ask.loc == 0 ? MCOMM_ERR_NOT_FOUND : MCOMM_SUCCESS;
    answer_end(answer_begin(s, 0, err, old == OLD_FAR ? KV_SAY_COUNT : KV_SAY_NOTHING), 0);
    return MCOMM_SUCCESS;
}

/* No entry is free, and no object seen from here may leave. */
static void say_full(struct serving *s)
{
    struct mci_hash128 victim;
    bool is_here;

    if (mci_kv_dir_victim(s->kv, s->kv->rank, s->key.hash, true, &s->spot, &victim, &is_here))
        say_spot_and(s, KV_SAY_FULL, MCOMM_ERR_NO_SPACE, 0, &victim, sizeof(victim));
    else
        say_nothing(s, MCOMM_ERR_NO_SPACE, 0);
}

/* As publish_over(). */
static mcomm_err_t publish_new(struct serving *s)
{
    struct kv_waiter hurry = {.is_hurried = true};
    mcomm_err_t err =
        mci_kv_dir_insert_at(s->kv, s->kv->rank, s->key.hash, s->ask.loc, s->ask.hint, &hurry);

    if (err == MCOMM_ERR_EXISTS)
        return MCOMM_ERR_TRY_AGAIN;
    if (err == MCOMM_SUCCESS)
        record_count(s);
    if (err == MCOMM_ERR_NO_SPACE)
        say_full(s);
    else
        say_nothing(s, err == MCOMM_SUCCESS ? err : MCOMM_ERR_UNSUPPORTED, 0);
    return MCOMM_SUCCESS;
}

static mcomm_err_t publish_once(struct serving *s)
{
    mcomm_err_t err = mci_kv_dir_find_at(s->kv, s->kv->rank, s->key.hash, &s->spot);

    if (err == MCOMM_SUCCESS)
        return publish_over(s);
    if (s->ask.loc != 0)
        return publish_new(s);
    say_nothing(s, err, 0);
    return MCOMM_SUCCESS;
}

static void serve_publish(struct serving *s)
{
    mcomm_err_t err = s->ask.mode & KV_ASK_RECORD ? record_write(s) : MCOMM_SUCCESS;

    if (err != MCOMM_SUCCESS) {
        say_nothing(s, err, 0);
        return;
    }
    err = MCOMM_ERR_TRY_AGAIN;
    for (unsigned i = 0; i < TRIES && err == MCOMM_ERR_TRY_AGAIN; i++)
        err = publish_once(s);
    if (err != MCOMM_SUCCESS)
        say_nothing(s, MCOMM_ERR_TRY_AGAIN, 0);
}

static void serve_swap(struct serving *s)
{
    mcomm_err_t err = mci_kv_dir_find_at(s->kv, s->kv->rank, s->key.hash, &s->spot);

    if (err == MCOMM_SUCCESS && s->spot.loc == s->ask.expect)
        err = mci_kv_dir_swap(s->kv, &s->spot, s->ask.loc, s->ask.hint);
    else
        err = MCOMM_ERR_TRY_AGAIN;
    say_nothing(s, err, 0);
}

/* Nobody waits for an answer. */
static void serve_seal(struct serving *s)
{
    const struct kv_part *part = &s->kv->parts[s->kv->rank];

    if (s->ask.loc < part->slab_count && s->ask.hint <= part->slab_nbytes)
        (void)mci_kv_slab_seal(s->kv, s->kv->rank, (uint32_t)s->ask.loc, s->ask.expect,
                               s->ask.hint);
}

/* ---- calls ---- */
/* Takes the next ask out of bytes; 0: it is not well formed. */
static size_t ask_take(struct serving *s, const char *bytes, size_t left)
{
    size_t used = sizeof(s->ask), padded;

    if (left < used)
        return 0;
    memcpy(&s->ask, bytes, sizeof(s->ask));
    padded = ((size_t)s->ask.key_nbytes + 7) & ~(size_t)7;
    if (padded > left - used || s->ask.key_nbytes == 0 || s->ask.key_nbytes > KV_KEY_MAX)
        return 0;
    s->key = kv_key_make(bytes + used, s->ask.key_nbytes);
    if (s->ask.mode & KV_ASK_HASH) {
        if (s->ask.key_nbytes != sizeof(s->key.hash))
            return 0;
        memcpy(&s->key.hash, bytes + used, sizeof(s->key.hash));
    }
    used += padded;
    if (!(s->ask.mode & KV_ASK_RECORD))
        return used;
    if (left - used < sizeof(s->record.rec))
        return 0;
    memcpy(&s->record.rec, bytes + used, sizeof(s->record.rec));
    used += sizeof(s->record.rec);
    padded = (s->record.rec.value_nbytes + 7) & ~(size_t)7;
    if (s->record.rec.value_nbytes > left || padded > left - used)
        return 0;
    s->value = bytes + used;
    return used + padded;
}

bool mci_kv_serve(struct mci_kv *kv, enum kv_call_op op, const void *bytes, size_t nbytes,
                  kv_emit_fn_t emit, void *arg)
{
    static void (*const serve[KV_CALL_NUM])(struct serving * s) = {
        [KV_CALL_GET] = serve_get,     [KV_CALL_PUBLISH] = serve_publish,
        [KV_CALL_WRITE] = serve_write, [KV_CALL_COUNT] = serve_count,
        [KV_CALL_SWAP] = serve_swap,   [KV_CALL_SEAL] = serve_seal,
    };
    struct serving s = {.kv = kv, .emit = emit, .arg = arg};
    const char *at = bytes;

    out_nbytes = 0;
    while (nbytes > 0) {
        size_t used = ask_take(&s, at, nbytes);

        if (used == 0)
            return false;
        at += used;
        nbytes -= used;
        if (op >= KV_CALL_NUM || serve[op] == NULL)
            return false;
        serve[op](&s);
    }
    out_send(&s);
    return true;
}
