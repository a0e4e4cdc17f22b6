/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What keys stand for from now on, any number of keys at once, wherever their homes are. A far home
 * is asked to do it; it also counts the record that was replaced if it can reach it. Else, and for
 * homes here, that record's header is read first, and counted off here. Each step is taken for
 * all keys before the next one, so that a batch costs a few round trips.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

#define HEADERS_FEW 8u /* read at once without memory of their own */

static void change_end(struct kv_change *c, mcomm_err_t err)
{
    c->step = KV_CHANGE_DONE;
    c->err = err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err;
}

/* ---- flushes: one a rank; its error is that of all changes that wait for it ---- */
/*
 * The lender of a new record that went in frames, unless the home is asked next and is the same
 * rank: it takes things in order.
 */
static int written_at(const struct kv_change *c)
{
    if (c->step == KV_CHANGE_DONE || c->wr == NULL || c->wr->held != NULL ||
        (!c->is_home_near && c->wr->unflushed == c->home))
        return -1;
    return c->wr->unflushed;
}

static void changes_flush(struct mci_kv *kv, struct kv_change *changes, size_t count,
                          enum kv_area area, int (*rank_of)(const struct kv_change *c))
{
    int flushed = -1;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (size_t i = 0; i < count; i++) {
        int rank = rank_of(&changes[i]);

        if (rank < 0)
            continue;
        if (rank != flushed) {
            flushed = rank;
            err = kv->remote->flush(kv, rank, area);
            if (err == MCOMM_ERR_PROC_FAILED)
                mci_kv_rank_died(kv, rank);
            for (size_t j = i + 1; j < count && err != MCOMM_SUCCESS; j++)
                if (rank_of(&changes[j]) == rank)
                    change_end(&changes[j], err);
        }
        if (err != MCOMM_SUCCESS)
            change_end(&changes[i], err);
    }
}

/* ---- the first look ---- */
static void local_look(struct mci_kv *kv, struct kv_change *c)
{
    mcomm_err_t err = mci_kv_dir_find(kv, c->key.hash, &c->spot);

    if (err == MCOMM_ERR_NOT_FOUND && c->loc != 0) {
        c->step = KV_CHANGE_INSERT;
        return;
    }
    if (err != MCOMM_SUCCESS)
        change_end(c, err);
    else
        c->step = KV_CHANGE_OLD;
}

static void far_ask(struct kv_change *c, uint64_t expect)
{
    c->publish = (struct kv_publish){.key = c->key,
                                     .rank = c->home,
                                     .loc = c->loc,
                                     .expect = expect,
                                     .hint = c->hint,
                                     .mode = c->mode,
                                     .wr = c->wr,
                                     .has_record = c->wr != NULL && c->wr->held != NULL};
}

/* What a home answered. */
static void far_end(struct kv_change *c)
{
    c->is_published = c->publish.err == MCOMM_SUCCESS;
    if (c->is_published && c->publish.has_record)
        c->wr->is_counted = true;
    change_end(c, c->publish.err);
}

/* ---- records that are held here, to lenders that are not the home ---- */
static void helds_send(struct mci_kv *kv, struct kv_change *changes, size_t count)
{
    struct kv_publish *asks[KV_FAR_GROUP];
    struct kv_change *owners[KV_FAR_GROUP];
    size_t num_asks = 0;

    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];

        if (c->step == KV_CHANGE_DONE || c->wr == NULL || c->wr->held == NULL ||
            (!c->is_home_near && c->home == c->wr->unflushed))
            continue;
        far_ask(c, 0);
        c->publish.rank = c->wr->unflushed;
        owners[num_asks] = c;
        asks[num_asks++] = &c->publish;
    }
    mci_kv_far_publish(kv, KV_CALL_WRITE, asks, num_asks);
    for (size_t i = 0; i < num_asks; i++) {
        if (asks[i]->err != MCOMM_SUCCESS) {
            change_end(owners[i], asks[i]->err);
            continue;
        }
        owners[i]->wr->is_counted = true;
        owners[i]->wr->held = NULL;
        owners[i]->wr->unflushed = -1;
    }
}

static void far_look(struct kv_change *c)
{
    if (c->publish.err == MCOMM_ERR_TRY_AGAIN && c->publish.has_spot) {
        c->step = KV_CHANGE_OLD;
        c->spot = c->publish.spot;
        return;
    }
    far_end(c);
}

static void changes_look(struct mci_kv *kv, struct kv_change *changes, size_t count)
{
    struct kv_publish *asks[KV_FAR_GROUP];
    size_t num_asks = 0;

    for (size_t i = 0; i < count; i++) {
        if (changes[i].step != KV_CHANGE_NEW || changes[i].is_home_near)
            continue;
        far_ask(&changes[i], 0);
        asks[num_asks++] = &changes[i].publish;
    }
    mci_kv_far_publish(kv, KV_CALL_PUBLISH, asks, num_asks);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].step != KV_CHANGE_NEW)
            continue;
        if (changes[i].is_home_near)
            local_look(kv, &changes[i]);
        else
            far_look(&changes[i]);
    }
}

/* ---- the record that is replaced ---- */
static void old_read(struct mci_kv *kv, struct kv_change *c)
{
    struct kv_object *old = &c->old;
    mcomm_err_t err = MCOMM_SUCCESS;

    old->extents = NULL;
    old->rank = kv_loc_rank(c->spot.loc);
    old->at = kv_loc_offset(c->spot.loc);
    c->is_lost = !kv_loc_is_value(c->spot.loc) || kv_is_dead(kv, old->rank) ||
                 old->at >= kv->parts[old->rank].data_nbytes; /* a home may say anything */
    if (c->is_lost)
        return;
    c->is_reading = !kv_is_mapped(kv, old->rank);
    if (!c->is_reading)
        err = mci_kv_object_at(kv, c->key.hash, &c->spot, old, &c->is_lost);
    if (err != MCOMM_SUCCESS)
        change_end(c, err);
}

static bool is_header_far(const struct kv_change *c)
{
    return c->step == KV_CHANGE_OLD && c->is_reading;
}

/* As headers_read(), with room for count fetches. */
static void headers_fetch(struct mci_kv *kv, struct kv_change *changes, size_t count,
                          struct kv_fetch *fetches)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (is_header_far(&changes[i]))
            fetches[n++] = (struct kv_fetch){.key = changes[i].key,
                                             .want = KV_WANT_REC,
                                             .is_placed = true,
                                             .spot = changes[i].spot};
    if (n > 0)
        mci_kv_far_fetch(kv, fetches, n);
    n = 0;
    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];
        const struct kv_fetch *f = &fetches[n];
        mcomm_err_t err;

        if (!is_header_far(c))
            continue;
        n++;
        err = f->err;
        c->old.rec = f->obj.rec;
        c->old.slab = kv_slab_of(&kv->parts[c->old.rank], c->old.at);
        if (err == MCOMM_ERR_NOT_FOUND || (err == MCOMM_SUCCESS && c->old.rec.kind != KV_INLINE))
            err = mci_kv_object_at(kv, c->key.hash, &c->spot, &c->old, &c->is_lost);
        if (err != MCOMM_SUCCESS)
            change_end(c, err);
    }
}

/*
 * The headers of those that are far, all at once if there is memory for it. What is none, or has
 * extents, is looked at one-sided.
 */
static void headers_read(struct mci_kv *kv, struct kv_change *changes, size_t count)
{
    struct kv_fetch few[HEADERS_FEW], *all = NULL;
    size_t room = HEADERS_FEW;

    if (count > HEADERS_FEW)
        all = mci_mem_alloc(count * sizeof(*all));
    if (all != NULL)
        room = count;
    for (size_t done = 0; done < count; done += room)
        headers_fetch(kv, changes + done, count - done < room ? count - done : room,
                      all != NULL ? all : few);
    mci_mem_free(all);
}

/*
 * The value that was seen first is not there any more, nor a cleaner's copy of it: somebody has put
 * another one while this call was under way. This change then came just before that one.
 */
static void origin_check(struct kv_change *c)
{
    if (c->is_lost)
        return;
    if (c->loc != 0 && c->mode != MCOMM_KV_REPLACE)
        change_end(c, MCOMM_ERR_EXISTS);
    else if (c->origin != 0 && c->old.rec.origin != c->origin)
        change_end(c, MCOMM_SUCCESS);
    c->origin = c->old.rec.origin;
}

static void olds_see(struct mci_kv *kv, struct kv_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].step == KV_CHANGE_OLD)
            old_read(kv, &changes[i]);
    headers_read(kv, changes, count);
    for (size_t i = 0; i < count; i++)
        if (changes[i].step == KV_CHANGE_OLD)
            origin_check(&changes[i]);
}

/* ---- the change ---- */
static void old_count(struct mci_kv *kv, struct kv_change *c)
{
    const struct kv_object *old = &c->old;

    if (c->is_lost)
        return;
    if (kv_is_mapped(kv, old->rank) || old->extents != NULL)
        (void)mci_kv_object_count(kv, old, -1);
    else
        c->is_counting = true;
}

static void olds_count(struct mci_kv *kv, struct kv_change *changes, size_t count)
{
    struct kv_publish *asks[KV_FAR_GROUP];
    size_t num_asks = 0;

    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];

        if (!c->is_counting)
            continue;
        c->publish = (struct kv_publish){.key = c->key,
                                         .rank = c->old.rank,
                                         .loc = c->spot.loc,
                                         .expect = c->old.rec.value_nbytes,
                                         .hint = c->old.rec.nbytes};
        asks[num_asks++] = &c->publish;
    }
    mci_kv_far_publish(kv, KV_CALL_COUNT, asks, num_asks);
}

static void local_swap(struct mci_kv *kv, struct kv_change *c, struct kv_waiter *w)
{
    mcomm_err_t err;

    if (c->step == KV_CHANGE_INSERT) {
        err = mci_kv_dir_insert(kv, c->key.hash, c->loc, c->hint, w);
        err = err == MCOMM_ERR_EXISTS ? MCOMM_ERR_TRY_AGAIN : err;
    } else {
        err = mci_kv_dir_swap(kv, &c->spot, c->loc, c->hint);
        if (err == MCOMM_SUCCESS)
            old_count(kv, c);
    }
    c->is_published = err == MCOMM_SUCCESS;
    change_end(c, err);
}

static void changes_swap(struct mci_kv *kv, struct kv_change *changes, size_t count,
                         struct kv_waiter *w)
{
    struct kv_publish *asks[KV_FAR_GROUP];
    size_t num_asks = 0;

    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];

        if (c->step == KV_CHANGE_DONE)
            continue;
        if (c->is_home_near) {
            local_swap(kv, c, w);
            continue;
        }
        far_ask(c, c->spot.loc);
        c->publish.old = c->is_lost ? NULL : &c->old;
        asks[num_asks++] = &c->publish;
    }
    mci_kv_far_publish(kv, KV_CALL_PUBLISH, asks, num_asks);
    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];

        if (c->step == KV_CHANGE_DONE)
            continue;
        if (c->publish.is_uncounted)
            old_count(kv, c);
        far_end(c);
    }
}

/*
 * A home where somebody held a lock, or whose directory is full of objects that it cannot evict
 * alone: then this rank does. Look again, as long as w allows.
 */
static mcomm_err_t change_retry(struct mci_kv *kv, struct kv_change *c, struct kv_waiter *w)
{
    const struct kv_publish *p = &c->publish;
    bool is_full = c->err == MCOMM_ERR_NO_SPACE;
    mcomm_err_t err;

    if (is_full && p->has_spot && !mci_kv_dir_is_pinned(kv, &p->spot)) {
        err = mci_kv_evict(kv, p->victim, &p->spot);
        return err == MCOMM_SUCCESS || err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err;
    }
    if (mci_kv_wait_step(w) == MCOMM_SUCCESS)
        return MCOMM_ERR_TRY_AGAIN;
    return is_full ? mci_kv_dir_full(c->home)
                   : mci_err_set(MCOMM_ERR_TIMEOUT,
                                 "a lock of the directory at rank %d is held since %d ms", c->home,
                                 w->timeout_ms);
}

static void change_begin(struct mci_kv *kv, struct kv_change *c)
{
    if (c->wr != NULL) {
        c->loc = kv_loc_value(kv_place(c->wr->head.rank, c->wr->head.at), c->wr->obj.rec.gen);
        c->hint = c->wr->obj.rec.nbytes;
    }
    c->home = kv_home(kv, c->key.hash);
    c->is_home_near = c->home != KV_NO_HOME && kv_is_mapped(kv, c->home);
    c->step = KV_CHANGE_NEW;
    c->old.extents = NULL;
    c->is_lost = false;
    c->is_reading = c->is_counting = c->is_published = false;
    if (c->home != KV_NO_HOME)
        return;
    c->step = KV_CHANGE_DONE;
    c->err = c->loc == 0
                 ? MCOMM_ERR_NOT_FOUND
                 : mci_err_set(MCOMM_ERR_PROC_FAILED, "no rank that stores objects lives any more");
}

void mci_kv_changes_apply(struct mci_kv *kv, struct kv_change *changes, size_t count,
                          struct kv_waiter *w)
{
    for (size_t i = 0; i < count; i++)
        change_begin(kv, &changes[i]);
    helds_send(kv, changes, count);
    changes_flush(kv, changes, count, KV_DATA, written_at);
    changes_flush(kv, changes, count, KV_META, written_at);
    changes_look(kv, changes, count);
    olds_see(kv, changes, count);
    changes_swap(kv, changes, count, w);
    olds_count(kv, changes, count);
    for (size_t i = 0; i < count; i++) {
        struct kv_change *c = &changes[i];

        mci_kv_object_free(&c->old);
        if (c->is_published && c->is_lost && c->loc == 0)
            c->err = MCOMM_ERR_NOT_FOUND; /* an entry without an object */
        if (c->err == MCOMM_ERR_UNSUPPORTED || (c->err == MCOMM_ERR_NO_SPACE && !c->is_home_near))
            c->err = change_retry(kv, c, w);
    }
}
