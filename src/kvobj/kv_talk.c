/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Asks packed into calls: consecutive asks of one rank go together, a few calls are in flight, and
 * what they may bring back is bounded.
 */
#include "config.h"

#include "base/mem.h"
#include "kvobj/kv_far.h"

#include <string.h>

_Static_assert(sizeof(struct kv_ask) + KV_KEY_MAX <= KV_TALK_FEW, "an ask without record fits");

static void bytes_reset(struct kv_talk *talk)
{
    talk->bytes = (char *)talk->few;
    talk->room = sizeof(talk->few);
}

void mci_kv_talk_begin(struct kv_talk *talk, struct mci_kv *kv, enum kv_call_op op)
{
    talk->kv = kv;
    talk->op = op;
    talk->first = talk->count = 0;
    talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
    talk->rank = -1;
    talk->given_up = NULL;
    bytes_reset(talk);
}

static void oldest_wait(struct kv_talk *talk)
{
    struct kv_call *call = &talk->calls[talk->first];

    mci_kv_call_wait(talk->kv, call);
    talk->first = (talk->first + 1) % KV_CALLS;
    talk->count--;
    if (call->err != MCOMM_SUCCESS)
        talk->lost(talk->arg, call->first, call->end, call->err);
}

static void call_send(struct kv_talk *talk)
{
    struct kv_call *call;

    if (talk->num_asks == 0)
        return;
    if (talk->count == KV_CALLS)
        oldest_wait(talk);
    if (mci_kv_is_late(talk->rank)) { /* and never hears of it */
        talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
        talk->lost(talk->arg, talk->first_index, talk->end_index, MCOMM_ERR_TIMEOUT);
        return;
    }
    call = &talk->calls[(talk->first + talk->count++) % KV_CALLS];
    call->rank = talk->rank;
    call->op = talk->op;
    call->left = talk->num_asks;
    call->first = talk->first_index;
    call->end = talk->end_index;
    call->take = talk->take;
    call->given_up = talk->given_up;
    call->arg = talk->arg;
    mci_kv_call_start(talk->kv, call, talk->bytes, talk->nbytes);
    talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
}

/* The call being filled takes nbytes more, perhaps in memory of its own. */
static bool bytes_fit(struct kv_talk *talk, size_t nbytes)
{
    char *bytes;

    if (talk->nbytes + nbytes > talk->room && talk->room < KV_CALL_MAX) {
        bytes = mci_mem_alloc(KV_CALL_MAX);
        if (bytes != NULL) {
            memcpy(bytes, talk->few, talk->nbytes);
            talk->bytes = bytes;
            talk->room = KV_CALL_MAX;
        }
    }
    return talk->nbytes + nbytes <= talk->room;
}

void mci_kv_talk_ask(struct kv_talk *talk, int rank, const struct kv_ask *ask,
                     const struct kv_key *key, const struct kv_writing *record, size_t reply_nbytes)
{
    size_t key_nbytes = (key->nbytes + 7) & ~(size_t)7, nbytes = 0, value_nbytes = 0;
    char *at;

    if (record != NULL) {
        value_nbytes = record->obj.rec.value_nbytes;
        nbytes = sizeof(record->obj.rec) + ((value_nbytes + 7) & ~(size_t)7);
    }
    if (rank != talk->rank || talk->reply_nbytes + reply_nbytes > KV_REPLY_MAX)
        call_send(talk);
    if (!bytes_fit(talk, sizeof(*ask) + key_nbytes + nbytes))
        call_send(talk);
    if (!bytes_fit(talk, sizeof(*ask) + key_nbytes + nbytes)) {
        talk->lost(
            talk->arg, ask->index, ask->index + 1,
            mci_err_set(MCOMM_ERR_NO_MEM, "no memory to send a record of %zu bytes", nbytes));
        return;
    }
    talk->rank = rank;
    if (talk->num_asks == 0)
        talk->first_index = ask->index;
    talk->end_index = ask->index + 1;
    at = talk->bytes + talk->nbytes;
    memcpy(at, ask, sizeof(*ask));
    memset(at + sizeof(*ask) + key_nbytes - 8, 0, 8);
    memcpy(at + sizeof(*ask), key->ptr, key->nbytes);
    talk->nbytes += sizeof(*ask) + key_nbytes;
    if (record != NULL) {
        at = talk->bytes + talk->nbytes;
        memset(at + nbytes - 8, 0, 8);
        memcpy(at, &record->obj.rec, sizeof(record->obj.rec));
        if (value_nbytes > 0)
            memcpy(at + sizeof(record->obj.rec), record->held, value_nbytes);
        talk->nbytes += nbytes;
    }
    talk->reply_nbytes += reply_nbytes;
    talk->num_asks++;
}

void mci_kv_talk_end(struct kv_talk *talk)
{
    call_send(talk);
    while (talk->count > 0)
        oldest_wait(talk);
    if (talk->bytes != (char *)talk->few)
        mci_mem_free(talk->bytes);
    bytes_reset(talk);
}
