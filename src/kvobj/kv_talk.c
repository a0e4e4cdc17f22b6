/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Asks packed into calls: consecutive asks of one rank go together, a few calls are in flight, and
 * what they may bring back is bounded.
 */
#include "config.h"

#include "kvobj/kv_far.h"

#include <string.h>

void mci_kv_talk_begin(struct kv_talk *talk, struct mci_kv *kv, enum kv_call_op op,
                       struct kv_late *late)
{
    talk->kv = kv;
    talk->op = op;
    talk->late = late;
    talk->first = talk->count = 0;
    talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
    talk->rank = -1;
}

static void oldest_wait(struct kv_talk *talk)
{
    struct kv_call *call = &talk->calls[talk->first];

    call->is_late = kv_late_has(talk->late, call->rank);
    mci_kv_call_wait(talk->kv, call);
    kv_late_note(talk->late, call->rank, call->err);
    talk->first = (talk->first + 1) % KV_CALLS;
    talk->count--;
    if (call->err != MCOMM_SUCCESS)
        talk->lost(talk->arg, call->rank, call->err);
}

static void call_send(struct kv_talk *talk)
{
    struct kv_call *call;

    if (talk->num_asks == 0)
        return;
    if (talk->count == KV_CALLS)
        oldest_wait(talk);
    if (kv_late_has(talk->late, talk->rank)) {
        talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
        talk->lost(talk->arg, talk->rank, MCOMM_ERR_TIMEOUT);
        return;
    }
    call = &talk->calls[(talk->first + talk->count++) % KV_CALLS];
    call->rank = talk->rank;
    call->op = talk->op;
    call->left = talk->num_asks;
    call->take = talk->take;
    call->arg = talk->arg;
    mci_kv_call_start(talk->kv, call, talk->bytes, talk->nbytes);
    talk->nbytes = talk->num_asks = talk->reply_nbytes = 0;
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
    if (rank != talk->rank || talk->nbytes + sizeof(*ask) + key_nbytes + nbytes > KV_CALL_MAX ||
        talk->reply_nbytes + reply_nbytes > KV_REPLY_MAX)
        call_send(talk);
    talk->rank = rank;
    at = (char *)talk->bytes + talk->nbytes;
    memcpy(at, ask, sizeof(*ask));
    memset(at + sizeof(*ask) + key_nbytes - 8, 0, 8);
    memcpy(at + sizeof(*ask), key->ptr, key->nbytes);
    talk->nbytes += sizeof(*ask) + key_nbytes;
    if (record != NULL) {
        at = (char *)talk->bytes + talk->nbytes;
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
}
