/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Calls as frames. A call is in the list until its last answer has come, its peer has failed or the
 * caller's patience is at an end; what comes later is for its orphans (kv_late.c), if any.
 */
#include "config.h"

#include "kvobj/kv_far.h"
#include "kvobj/kvobj.h"
#include "rma/rma.h"

#include <string.h>

static struct mci_list calls = {&calls, &calls}; /* lock: engine */
static uint32_t next_id;

static void call_end(struct kv_call *call, mcomm_err_t err)
{
    mci_list_remove(&call->link);
    call->err = err;
    call->is_done = true;
    mci_wake_self();
}

void mci_kv_calls_end(struct mci_peer *peer)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &calls) {
        struct kv_call *call = mci_container_of(node, struct kv_call, link);

        if (call->peer == peer)
            call_end(call, MCOMM_ERR_PROC_FAILED);
    }
    mci_kv_orphans_end(peer, 0, MCOMM_ERR_PROC_FAILED);
}

/* ---- asking ---- */
void mci_kv_frame_start(struct mci_kv *kv, struct kv_call *call, const void *bytes, size_t nbytes)
{
    struct mci_frame frame = {.am = MCI_AM_KV_CALL, .flags = (uint8_t)call->op};
    mcomm_err_t err;

    mci_engine_lock();
    call->peer = mci_comm_peer(kv->core_comm, call->rank);
    next_id = next_id % UINT32_MAX + 1; /* 0 is of what is not answered */
    call->id = next_id;
    mci_list_push(&calls, &call->link);
    frame.w0 = kv->core_comm->ctx;
    frame.w1 = call->id;
    err = mci_peer_reach(call->peer);
    if (err == MCOMM_SUCCESS)
        err = mci_peer_send(call->peer, &frame, bytes, nbytes, NULL);
    if (err != MCOMM_SUCCESS && !call->is_done)
        call_end(call, err);
    mci_engine_unlock();
}

void mci_kv_frame_wait(struct mci_kv *kv, struct kv_call *call)
{
    const volatile bool *is_done = &call->is_done;
    struct rma_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_engine_lock();
    mci_rma_wait_begin(&w, call->peer, mci_kv_is_late(call->rank) ? 0 : kv->core_comm->timeout_ms);
    while (!*is_done && err == MCOMM_SUCCESS)
        err = mci_rma_wait_step(&w);
    if (!*is_done) {
        if (call->given_up != NULL)
            call->given_up(call->arg, call);
        call_end(call, err);
    }
    mci_engine_unlock();
}

mcomm_err_t mci_kv_frame_post(struct mci_kv *kv, int rank, int op, const void *bytes, size_t nbytes)
{
    struct mci_frame frame = {.am = MCI_AM_KV_CALL, .flags = (uint8_t)op, .w0 = kv->core_comm->ctx};
    mcomm_err_t err;

    mci_engine_lock();
    err = mci_peer_send(mci_comm_peer(kv->core_comm, rank), &frame, bytes, nbytes, NULL);
    mci_engine_unlock();
    return err;
}

void mci_kv_call_start(struct mci_kv *kv, struct kv_call *call, const void *bytes, size_t nbytes)
{
    call->err = MCOMM_SUCCESS;
    call->is_done = false;
    kv->remote->call_start(kv, call, bytes, nbytes);
}

void mci_kv_call_wait(struct mci_kv *kv, struct kv_call *call)
{
    kv->remote->call_wait(kv, call);
    mci_kv_late_note(call->rank, call->err);
    if (call->err == MCOMM_ERR_PROC_FAILED)
        mci_kv_rank_died(kv, call->rank);
}

mcomm_err_t mci_kv_call_post(struct mci_kv *kv, int rank, enum kv_call_op op,
                             const struct kv_ask *ask)
{
    struct {
        struct kv_ask ask;
        uint64_t key;
    } bytes = {.ask = *ask};
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    bytes.ask.key_nbytes = sizeof(bytes.key);
    do
        err = kv->remote->call_post(kv, rank, (int)op, &bytes, sizeof(bytes));
    while (err == MCOMM_ERR_NO_MEM && mci_kv_wait_step(&w) == MCOMM_SUCCESS);
    return err;
}

bool mci_kv_call_take(struct kv_call *call, const void *bytes, size_t nbytes)
{
    const char *at = bytes;

    while (nbytes > 0) {
        struct kv_answer answer;
        uint64_t padded;

        if (nbytes < sizeof(answer))
            return false;
        memcpy(&answer, at, sizeof(answer));
        at += sizeof(answer);
        nbytes -= sizeof(answer);
        if (answer.nbytes > nbytes)
            return false;
        padded = (answer.nbytes + 7) & ~UINT64_C(7);
        if (call->left > 0 && call->take(call->arg, &answer, at))
            call->left--;
        if (padded > nbytes)
            return false;
        at += padded;
        nbytes -= padded;
    }
    return true;
}

static void on_reply(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    struct kv_call *call = NULL;
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &calls) {
        struct kv_call *c = mci_container_of(node, struct kv_call, link);

        if (c->id == frame->w1 && c->peer == peer)
            call = c;
    }
    if (call == NULL && !mci_kv_orphan_is(peer, frame->w1))
        return;
    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_reply);
        return;
    }
    if (call == NULL) {
        if (frame->aux != MCOMM_SUCCESS)
            mci_kv_orphans_end(peer, frame->w1, (mcomm_err_t)frame->aux);
        else if (!mci_kv_orphans_take(peer, frame->w1, payload, frame->nbytes))
            mci_peer_fail(peer, "an answer about objects that is not well formed");
        return;
    }
    if (frame->aux != MCOMM_SUCCESS)
        call_end(call, (mcomm_err_t)frame->aux);
    else if (!mci_kv_call_take(call, payload, frame->nbytes))
        mci_peer_fail(peer, "an answer about objects that is not well formed");
    else if (call->left == 0)
        call_end(call, MCOMM_SUCCESS);
}

/* ---- answering ---- */
struct asker {
    struct mci_peer *peer;
    uint32_t id;
};

static void emit_reply(void *arg, const void *bytes, size_t nbytes)
{
    const struct asker *asker = arg;
    struct mci_frame frame = {.am = MCI_AM_KV_REPLY, .w1 = asker->id};

    if (mci_peer_send(asker->peer, &frame, bytes, nbytes, NULL) == MCOMM_ERR_NO_MEM)
        mci_peer_fail(asker->peer, "no memory for an answer to it");
}

static void on_call(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    /* It has closed the store, which it does before others only after a death: it is gone, too. */
    struct mci_frame closed = {
        .am = MCI_AM_KV_REPLY, .aux = (uint16_t)MCOMM_ERR_PROC_FAILED, .w1 = frame->w1};
    struct asker asker = {peer, frame->w1};
    struct mci_kv *kv;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_call);
        return;
    }
    kv = mci_kv_by_ctx(frame->w0);
    if (kv == NULL)
        mci_peer_tell(peer, &closed);
    else if (!mci_kv_serve(kv, (enum kv_call_op)frame->flags, payload, frame->nbytes, emit_reply,
                           &asker))
        mci_peer_fail(peer, "a call about objects that is not well formed");
}

void mci_kv_calls_start(void)
{
    mci_list_init(&calls);
    mci_rail_set_am(MCI_AM_KV_CALL, on_call);
    mci_rail_set_am(MCI_AM_KV_REPLY, on_reply);
}
