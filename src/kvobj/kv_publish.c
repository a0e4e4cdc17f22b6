/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Changes that are asked of other ranks. The directory of a rank on another node is changed by that
 * rank only, in one step, so that a change that is given up half-way was made or not. What it would
 * make seen then becomes an orphan (kv_late.c).
 */
#include "config.h"

#include "kvobj/kv_far.h"

#include <string.h>

struct publishing {
    struct mci_kv *kv;
    struct kv_publish **list;
    size_t count;
};

static bool publish_take(void *arg, const struct kv_answer *a, const char *bytes)
{
    struct publishing *all = arg;
    struct kv_publish *p = all->list[a->index < all->count ? a->index : 0];
    struct kv_spot_wire wire;

    if (a->index >= all->count || p->is_done)
        return false;
    p->is_done = true;
    p->err = (mcomm_err_t)a->err;
    p->is_uncounted = a->say == KV_SAY_COUNT;
    p->has_spot = (a->say == KV_SAY_SPOT && a->nbytes >= sizeof(wire)) ||
                  (a->say == KV_SAY_FULL && a->nbytes >= sizeof(wire) + sizeof(p->victim));
    if (!p->has_spot)
        return true;
    memcpy(&wire, bytes, sizeof(wire));
    p->spot = kv_spot_of(p->rank, &wire);
    if (a->say == KV_SAY_FULL)
        memcpy(&p->victim, bytes + sizeof(wire), sizeof(p->victim));
    return true;
}

static void publish_given_up(void *arg, const struct kv_call *call)
{
    struct publishing *all = arg;

    for (uint32_t i = call->first; i < call->end; i++) {
        struct kv_publish *p = all->list[i];

        if (!p->is_done && (p->wr != NULL || p->old != NULL))
            mci_kv_orphan_new(all->kv, call, i, p->wr, p->old);
    }
}

static void publish_lost(void *arg, uint32_t first, uint32_t end, mcomm_err_t err)
{
    struct publishing *all = arg;

    for (uint32_t i = first; i < end; i++) {
        struct kv_publish *p = all->list[i];

        if (p->is_done)
            continue;
        p->is_done = true;
        p->err = err == MCOMM_ERR_PROC_FAILED ? MCOMM_ERR_TRY_AGAIN : err;
    }
}

static unsigned ask_mode(const struct kv_publish *p, enum kv_call_op op)
{
    return p->mode | (p->has_record ? KV_ASK_RECORD : 0) | (op == KV_CALL_SWAP ? KV_ASK_HASH : 0);
}

void mci_kv_far_publish(struct mci_kv *kv, enum kv_call_op op, struct kv_publish **list,
                        size_t count)
{
    struct publishing all = {kv, list, count};
    struct kv_talk talk;

    if (count == 0)
        return;
    mci_kv_talk_begin(&talk, kv, op);
    talk.take = publish_take;
    talk.lost = publish_lost;
    talk.given_up = publish_given_up;
    talk.arg = &all;
    for (size_t i = 0; i < count; i++) {
        list[i]->err = MCOMM_ERR_TRY_AGAIN;
        list[i]->is_done = true;
        list[i]->has_spot = list[i]->is_uncounted = false;
    }
    for (size_t i = 0; i < count; i++) {
        struct kv_publish *p = list[i];
        struct kv_ask ask = {.loc = p->loc,
                             .expect = p->expect,
                             .hint = p->hint,
                             .index = (uint32_t)i,
                             .key_nbytes = (uint16_t)p->key.nbytes,
                             .mode = (uint8_t)ask_mode(p, op)};

        p->is_done = false;
        mci_kv_talk_ask(&talk, p->rank, &ask, &p->key, p->has_record ? p->wr : NULL, 0);
    }
    mci_kv_talk_end(&talk);
}

static mcomm_err_t far_swap(struct mci_kv *kv, struct mci_hash128 hash, const struct kv_spot *spot,
                            uint64_t loc, uint64_t hint, struct kv_writing *wr,
                            struct kv_object *old)
{
    struct kv_publish p = {.key = {&hash, sizeof(hash), hash},
                           .rank = spot->home,
                           .loc = loc,
                           .expect = spot->loc,
                           .hint = hint,
                           .wr = wr,
                           .old = old},
                      *list = &p;

    mci_kv_far_publish(kv, KV_CALL_SWAP, &list, 1);
    return p.err;
}

mcomm_err_t mci_kv_entry_swap(struct mci_kv *kv, struct mci_hash128 hash,
                              const struct kv_spot *spot, struct kv_writing *wr,
                              struct kv_object *old)
{
    uint64_t loc = 0, hint = 0;
    mcomm_err_t err;

    if (wr != NULL) {
        loc = kv_loc_value(kv_place(wr->head.rank, wr->head.at), wr->obj.rec.gen);
        hint = wr->obj.rec.nbytes;
    }
    if (kv->parts[spot->home].area[KV_META] != NULL)
        err = mci_kv_dir_swap(kv, spot, loc, hint);
    else
        err = far_swap(kv, hash, spot, loc, hint, wr, old);
    if (err != MCOMM_SUCCESS)
        return err;
    if (wr != NULL)
        wr->state = KV_WRITING_PUBLISHED;
    if (old != NULL)
        (void)mci_kv_object_count(kv, old, -1);
    return MCOMM_SUCCESS;
}
