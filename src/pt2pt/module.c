/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Start and end of pt2pt, and the exchange that it lends to core. */
#include "config.h"

#include "base/lock.h"
#include "base/settings.h"
#include "pt2pt/pt2pt_priv.h"

#include <assert.h>

static mcomm_err_t exchange_send(struct mci_comm *comm, enum mci_ctx_space space, int dest, int tag,
                                 const void *buf, size_t nbytes, int timeout_ms)
{
    struct mci_send op;

    op.done = NULL;
    mci_send_start(&op, comm, space, buf, nbytes, dest, tag, MCI_SEND_FREE);
    return mci_send_wait(&op, timeout_ms);
}

static mcomm_err_t exchange_recv(struct mci_comm *comm, enum mci_ctx_space space, int source,
                                 int tag, void *buf, size_t nbytes, int timeout_ms)
{
    mcomm_status_t status;
    mcomm_err_t err;

    err = mci_pt2pt_recv(comm, space, buf, nbytes, source, tag, timeout_ms, &status);
    if (err == MCOMM_ERR_TRUNCATE || (err == MCOMM_SUCCESS && status.nbytes != nbytes))
        return mci_err_set(MCOMM_ERR_MISMATCH,
                           "rank %d of %s sent %zu bytes where %zu were expected: different "
                           "collective calls, or different arguments",
                           source, mci_comm_text(comm), status.nbytes, nbytes);
    return err;
}

static bool is_core_receive(struct mci_recv *op, void *arg)
{
    (void)arg;
    return op->space == MCI_CTX_CORE;
}

static void exchange_interrupt(struct mci_comm *comm)
{
    struct mci_list ops;

    mci_list_init(&ops);
    mci_match_extract(comm->match, is_core_receive, NULL, &ops);
    mci_pt2pt_fail_list(&ops, MCOMM_ERR_PROC_FAILED);
}

static mcomm_err_t pt2pt_start(void)
{
    mcomm_err_t err = mci_context_start();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_reserve_start();
    mci_credit_limit = mci_settings.credit;
    mci_credit_batch = mci_credit_limit / 4 > 0 ? mci_credit_limit / 4 : 1;
    mci_rail_set_am(MCI_AM_P2P_EAGER, mci_msg_on_eager);
    mci_rail_set_am(MCI_AM_P2P_RTS, mci_msg_on_rts);
    mci_rail_set_am(MCI_AM_P2P_CANCEL, mci_msg_on_cancel);
    mci_rail_set_am(MCI_AM_P2P_CTS, mci_send_on_cts);
    mci_rail_set_am(MCI_AM_P2P_FIN, mci_send_on_fin);
    mci_rail_set_am(MCI_AM_P2P_CREDIT, mci_credit_on_frame);
    mci_rail_on_failed(mci_pt2pt_on_failed);
    mci_rail_on_gone(mci_pt2pt_on_gone);
    mci_comm_on_new(mci_context_on_new);
    mci_comm_on_gone(mci_context_on_gone);
    mci_core_exchange.send = exchange_send;
    mci_core_exchange.recv = exchange_recv;
    mci_core_exchange.interrupt = exchange_interrupt;
    mci_watch_start();
    mci_pt2pt.is_up = true;
    return MCOMM_SUCCESS;
}

/* Messages that a probe took and nobody received: they must not keep their communicators. */
static void messages_drop(void)
{
    uint32_t cursor = 0;
    void *handle;

    while ((handle = mci_handle_next(MCI_HANDLE_MESSAGE, &cursor)) != NULL) {
        struct mci_msg *msg = mci_handle_get(MCI_HANDLE_MESSAGE, handle);

        assert(msg != NULL);
        mci_handle_free(MCI_HANDLE_MESSAGE, handle);
        msg->handle = MCOMM_MESSAGE_NULL;
        mci_comm_unref(msg->comm);
        mci_msg_drop(msg, MCOMM_ERR_CANCELLED);
    }
}

/* core waits for what was sent; from here on answers about what came are not worth a frame. */
static void pt2pt_quiesce(void)
{
    mci_engine_lock();
    messages_drop();
    mci_watch_stop();
    mci_pt2pt.is_up = false;
    mci_engine_unlock();
}

static void pt2pt_stop(void)
{
    mci_engine_lock();
    mci_pt2pt.is_up = false;
    mci_context_stop();
    mci_reserve_stop();
    mci_pt2pt_requests_end();
    mci_pool_fini(&mci_pt2pt.requests);
    mci_pool_fini(&mci_pt2pt.places);
    mci_engine_unlock();
}

const struct mci_core_module mci_pt2pt_module = {
    .name = "pt2pt",
    .start = pt2pt_start,
    .stop = pt2pt_stop,
    .quiesce = pt2pt_quiesce,
};
