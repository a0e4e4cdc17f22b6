/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Ranks that do not answer in time, and changes that were asked of them. A change that was given up
 * may still be made, so what it would make seen, or replace, is an *orphan*: its records stay
 * counted and in slabs that are not sealed until the answer comes after all or the rank dies. Then
 * the next call of the application ends it as if it had waited.
 */
#include "config.h"

#include "base/lock.h"
#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

/* ---- ranks ---- */
static _Thread_local struct {
    bool is_any;
    uint64_t ranks[KV_RANK_MAX / 64];
} late;

void mci_kv_late_forget(void)
{
    late.is_any = false;
}

bool mci_kv_is_late(int rank)
{
    return late.is_any && (late.ranks[rank / 64] >> rank % 64 & 1) != 0;
}

void mci_kv_late_note(int rank, mcomm_err_t err)
{
    if (KV_LIKELY(err != MCOMM_ERR_TIMEOUT))
        return;
    if (!late.is_any)
        memset(late.ranks, 0, sizeof(late.ranks));
    late.is_any = true;
    late.ranks[rank / 64] |= UINT64_C(1) << rank % 64;
}

/* ---- orphans ---- */
struct orphan {
    struct mci_list link;
    struct mci_kv *kv;
    struct mci_peer *peer;
    uint32_t id, index;
    enum kv_call_op op;
    mcomm_err_t err;     /* once it has ended */
    bool is_old_counted; /* by the home */
    struct kv_writing wr;
    bool has_old;
    struct kv_object old;
};
static struct mci_list orphans = {&orphans, &orphans}; /* not answered. lock: engine */
static struct mci_list ended = {&ended, &ended};       /* lock: engine */

void mci_kv_orphan_new(struct mci_kv *kv, const struct kv_call *call, uint32_t index,
                       struct kv_writing *wr, struct kv_object *old)
{
    struct orphan *o = mci_mem_zalloc(sizeof(*o));

    if (o == NULL) { /* counted for ever, in a slab that stays open */
        if (wr != NULL)
            mci_kv_writing_leave(wr);
        return;
    }
    o->kv = kv;
    o->peer = call->peer;
    o->id = call->id;
    o->index = index;
    o->op = call->op;
    mci_kv_writing_begin(&o->wr);
    if (wr != NULL)
        mci_kv_writing_move(&o->wr, wr);
    o->has_old = old != NULL;
    if (old != NULL) {
        o->old = *old;
        old->extents = NULL;
    }
    mci_list_push(&orphans, &o->link);
}

bool mci_kv_orphan_is(const struct mci_peer *peer, uint32_t id)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &orphans) {
        const struct orphan *o = mci_container_of(node, struct orphan, link);

        if (o->peer == peer && o->id == id)
            return true;
    }
    return false;
}

static void orphan_end(struct orphan *o, mcomm_err_t err)
{
    o->err = err;
    mci_list_remove(&o->link);
    mci_list_push(&ended, &o->link);
    atomic_store(&o->kv->has_ended, true);
}

struct answered {
    struct mci_peer *peer;
    uint32_t id;
};

static bool orphan_take(void *arg, const struct kv_answer *answer, const char *bytes)
{
    const struct answered *to = arg;
    struct mci_list *node, *tmp;

    (void)bytes;
    MCI_LIST_FOREACH_SAFE (node, tmp, &orphans) {
        struct orphan *o = mci_container_of(node, struct orphan, link);

        if (o->peer != to->peer || o->id != to->id || o->index != answer->index)
            continue;
        o->is_old_counted = o->op == KV_CALL_PUBLISH && answer->say != KV_SAY_COUNT;
        orphan_end(o, (mcomm_err_t)answer->err);
    }
    return false;
}

bool mci_kv_orphans_take(struct mci_peer *peer, uint32_t id, const void *bytes, size_t nbytes)
{
    struct answered to = {peer, id};
    struct kv_call call = {.left = SIZE_MAX, .take = orphan_take, .arg = &to};

    return mci_kv_call_take(&call, bytes, nbytes);
}

void mci_kv_orphans_end(struct mci_peer *peer, uint32_t id, mcomm_err_t err)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &orphans) {
        struct orphan *o = mci_container_of(node, struct orphan, link);

        if (o->peer == peer && (id == 0 || o->id == id))
            orphan_end(o, err);
    }
}

/* Under no lock: counting may go over a network. */
static void orphan_settle(struct orphan *o)
{
    bool is_done = o->err == MCOMM_SUCCESS;

    if (is_done && o->op == KV_CALL_WRITE)
        o->wr.is_counted = true;
    else if (is_done && o->wr.state == KV_WRITING_DONE)
        o->wr.state = KV_WRITING_PUBLISHED;
    if (is_done && o->has_old && !o->is_old_counted)
        mci_kv_object_count(o->kv, &o->old, -1);
    mci_kv_object_free(&o->old);
    mci_kv_writing_end(o->kv, &o->wr);
    mci_mem_free(o);
}

/* The next one of the store in list, taken out. */
static struct orphan *orphan_pop(struct mci_list *list, const struct mci_kv *kv)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, list) {
        struct orphan *o = mci_container_of(node, struct orphan, link);

        if (o->kv != kv)
            continue;
        mci_list_remove(&o->link);
        return o;
    }
    return NULL;
}

void mci_kv_orphans_settle(struct mci_kv *kv)
{
    struct orphan *o;

    if (KV_LIKELY(!atomic_load_explicit(&kv->has_ended, memory_order_relaxed)))
        return;
    do {
        mci_engine_lock();
        o = orphan_pop(&ended, kv);
        if (o == NULL)
            atomic_store(&kv->has_ended, false);
        mci_engine_unlock();
        if (o != NULL)
            orphan_settle(o);
    } while (o != NULL);
}

void mci_kv_orphans_free(struct mci_kv *kv)
{
    struct orphan *o;

    mci_engine_lock();
    while ((o = orphan_pop(&orphans, kv)) != NULL || (o = orphan_pop(&ended, kv)) != NULL) {
        mci_kv_object_free(&o->old);
        mci_kv_writing_leave(&o->wr);
        mci_mem_free(o);
    }
    mci_engine_unlock();
}
