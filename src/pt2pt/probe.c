/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Probing looks at the unexpected messages and keeps nothing. A matched probe takes the message out
 * of matching; its handle is then the only way to it. The message of nobody (MCOMM_RANK_NULL) is
 * an empty message object without a peer.
 */
#include "config.h"

#include "base/clock.h"
#include "pt2pt/pt2pt_priv.h"

#define WATCH_AFTER_NS 100000000
#define WATCH_STEPS 64u /* the clock is read on every WATCH_STEPS-th step */

void mci_probe_status(const struct mci_msg *msg, mcomm_status_t *status_p)
{
    if (status_p == NULL)
        return;
    *status_p = (mcomm_status_t){
        .source = msg != NULL ? msg->source : MCOMM_RANK_NULL,
        .tag = msg != NULL ? msg->tag : MCOMM_ANY_TAG,
        .nbytes = msg != NULL ? msg->nbytes : 0,
    };
}

/* An announcement that is not all here does not know its size yet. */
static struct mci_msg *find_sized(const struct mci_match *m, int source, int tag)
{
    struct mci_msg *msg = mci_match_find(m, MCI_CTX_USER, source, tag);

    return msg != NULL && msg->is_rts && msg->is_arriving ? NULL : msg;
}

mcomm_err_t mci_probe_once(struct mci_comm *comm, int source, int tag, struct mci_msg **msg_p)
{
    struct mci_match *m = mci_match_of(comm);

    *msg_p = find_sized(m, source, tag);
    if (*msg_p != NULL)
        return MCOMM_SUCCESS;
    if (atomic_load_explicit(&comm->is_revoked, memory_order_relaxed))
        return mci_err_set(MCOMM_ERR_REVOKED, "probe on %s: it is revoked", mci_comm_text(comm));
    if (source == MCOMM_ANY_SOURCE)
        return m->failed_count == 0 ? MCOMM_SUCCESS
                                    : mci_err_set(MCOMM_ERR_PROC_FAILED_PENDING,
                                                  "probe for any rank of %s: rank %d failed",
                                                  mci_comm_text(comm), mci_comm_first_failed(comm));
    return !mci_peer_is_failed(mci_comm_peer(comm, source))
               ? MCOMM_SUCCESS
               : mci_err_set(MCOMM_ERR_PROC_FAILED, "probe for rank %d of %s: this process failed",
                             source, mci_comm_text(comm));
}

/* Waiting for long: connect to whoever might send, so that a death is noticed. */
static void watch_senders(struct mci_comm *comm, int source)
{
    for (int i = 0; i < comm->size; i++)
        if ((source == MCOMM_ANY_SOURCE || source == i) &&
            mci_comm_peer(comm, i)->state == MCI_PEER_IDLE)
            mci_peer_watch(mci_comm_peer(comm, i));
}

mcomm_err_t mci_probe_wait(struct mci_comm *comm, int source, int tag, int timeout_ms,
                           struct mci_msg **msg_p)
{
    int64_t watch_at = 0;
    struct mci_waiter w;
    unsigned steps = 0;
    mcomm_err_t err;

    mci_wait_begin(&w, timeout_ms);
    for (;;) {
        err = mci_probe_once(comm, source, tag, msg_p);
        if (err != MCOMM_SUCCESS || *msg_p != NULL)
            return err;
        if (++steps % WATCH_STEPS == 0 && watch_at >= 0) {
            if (watch_at == 0)
                watch_at = mci_clock_ns() + WATCH_AFTER_NS;
            else if (mci_clock_ns() >= watch_at) {
                watch_senders(comm, source);
                watch_at = -1;
            }
        }
        err = mci_wait_step(&w);
        if (comm->is_freed)
            return mci_err_set(MCOMM_ERR_COMM, "the communicator was freed during a probe on it");
        if (err != MCOMM_SUCCESS)
            return err;
    }
}

mcomm_err_t mci_probe_take(struct mci_comm *comm, struct mci_msg *msg, mcomm_message_t *message_p)
{
    struct mci_msg *taken = msg;

    if (taken == NULL) {
        taken = mci_mem_zalloc(sizeof(*taken));
        if (taken == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "matched message");
        mci_list_init(&taken->peer_link);
        taken->source = MCOMM_RANK_NULL;
        taken->tag = MCOMM_ANY_TAG;
    }
    taken->handle = mci_handle_new(MCI_HANDLE_MESSAGE, taken);
    if (taken->handle == NULL) {
        if (msg == NULL)
            mci_mem_free(taken);
        return mci_err_set(MCOMM_ERR_NO_MEM, "handle of a matched message");
    }
    if (msg != NULL) {
        mci_match_remove(msg->match, msg);
        msg->match = NULL;
    }
    taken->comm = comm;
    mci_comm_ref(comm);
    *message_p = taken->handle;
    return MCOMM_SUCCESS;
}
