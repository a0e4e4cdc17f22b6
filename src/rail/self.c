/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The rail to oneself. Frames are copied and delivered at the next poll, never from within send,
 * so that callers may finish their own bookkeeping first.
 */
#include "config.h"

#include "base/mem.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#include <string.h>

static struct mci_list frames;   /* mci_tx; owned, or borrowed for want of memory */
static struct mci_list arriving; /* those that the poll under way delivers */
static struct mci_tx *delivered; /* the one whose handler runs */
static struct mci_list outops;
static struct mci_outop *copying; /* NULL again once it was closed, by the receiver's done say */

/* True: it came to its end, and out still is. */
static bool outop_copy(struct mci_outop *out)
{
    copying = out;
    for (uint64_t offset = 0; copying == out && offset < out->nbytes;) {
        size_t left = out->nbytes - offset;
        uint32_t nbytes = (uint32_t)(left < 1u << 24 ? left : 1u << 24);
        struct mci_inop *op = mci_inop_slice_begin(mci_peer_self(), out->remote_id, offset, nbytes);
        struct mci_iov_cursor cur;
        size_t done = 0, n;
        void *src;

        if (op == NULL)
            break; /* closed by the receiver */
        mci_iov_seek(&cur, out->iov, out->iov_count, offset);
        while ((n = mci_iov_next(&cur, nbytes - done, &src)) > 0) {
            mci_iov_scatter(op->iov, op->iov_count, offset + done, src, n);
            done += n;
        }
        offset += nbytes;
        mci_inop_slice_end(op, offset - nbytes, nbytes);
    }
    return copying == out;
}

/* Apart, so that a poll without work costs two comparisons. */
__attribute__((noinline)) static int self_work(void)
{
    struct mci_list *node;
    int events = 0;

    while ((node = mci_list_pop(&frames)) != NULL)
        mci_list_push(&arriving, node);
    while ((node = mci_list_pop(&arriving)) != NULL) {
        struct mci_tx *tx = mci_container_of(node, struct mci_tx, link);
        struct mci_frame frame = tx->frame;
        struct mci_sink sink = {0};

        delivered = tx;
        mci_rail_deliver(mci_peer_self(), &frame, tx->iov->base, &sink);
        if (delivered != NULL)
            mci_tx_finish(tx, MCOMM_SUCCESS);
        delivered = NULL;
        events++;
    }
    while ((node = mci_list_pop(&outops)) != NULL) {
        struct mci_outop *out = mci_container_of(node, struct mci_outop, link);

        events++;
        if (!outop_copy(out))
            continue;
        copying = NULL;
        out->is_open = false;
        out->done(out, MCOMM_SUCCESS);
    }
    return events;
}

static int self_poll(void *arg)
{
    (void)arg;
    return mci_list_is_empty(&frames) && mci_list_is_empty(&outops) ? 0 : self_work();
}

static mcomm_err_t self_start(struct mci_card *card)
{
    (void)card;
    mci_list_init(&frames);
    mci_list_init(&arriving);
    mci_list_init(&outops);
    return mci_poll_add(self_poll, NULL, 1);
}

static void self_stop(void)
{
    struct mci_list *node;

    mci_poll_remove(self_poll, NULL);
    while ((node = mci_list_pop(&frames)) != NULL)
        mci_tx_finish(mci_container_of(node, struct mci_tx, link), MCOMM_ERR_NOT_INIT);
}

static void self_connect(struct mci_peer *peer)
{
    (void)peer; /* always ready */
}

static bool self_is_reached(struct mci_peer *peer)
{
    (void)peer;
    return true;
}

static mcomm_err_t self_send(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                             size_t iov_count, size_t nbytes, struct mci_tx *tx)
{
    struct mci_tx *copy = mci_tx_copy(frame, iov, iov_count, nbytes);

    (void)peer;
    if (copy == NULL && (tx == NULL || iov_count != 1))
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a message of %zu bytes to self",
                           nbytes);
    if (copy == NULL)
        mci_tx_fill(tx, frame, iov, iov_count, nbytes); /* borrowed until it is delivered */
    mci_list_push(&frames, copy != NULL ? &copy->link : &tx->link);
    mci_wake_self();
    return copy != NULL ? MCOMM_SUCCESS : MCI_PENDING;
}

static bool is_in(const struct mci_list *list, const struct mci_tx *tx)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, list)
        if (node == &tx->link)
            return true;
    return false;
}

static bool self_unsend(struct mci_peer *peer, struct mci_tx *tx)
{
    (void)peer;
    if (is_in(&frames, tx) || is_in(&arriving, tx)) {
        mci_list_remove(&tx->link);
        return true;
    }
    if (tx == delivered) { /* by its own handler */
        delivered = NULL;
        mci_tx_finish(tx, MCOMM_SUCCESS);
    }
    return false;
}

static mcomm_err_t self_outop_start(struct mci_outop *op)
{
    op->is_open = true;
    mci_list_push(&outops, &op->link);
    mci_wake_self();
    return MCOMM_SUCCESS;
}

static void self_outop_close(struct mci_outop *op)
{
    if (op->is_open)
        mci_list_remove(&op->link);
    if (copying == op)
        copying = NULL;
    op->is_open = false;
}

static void self_inop_closing(struct mci_peer *peer, struct mci_inop *op)
{
    (void)peer;
    (void)op;
}

static void self_close(struct mci_peer *peer, mcomm_err_t err)
{
    struct mci_list *node;

    (void)peer;
    while ((node = mci_list_pop(&outops)) != NULL) {
        struct mci_outop *out = mci_container_of(node, struct mci_outop, link);

        out->is_open = false;
        out->done(out, err);
    }
}

static bool self_is_idle(const struct mci_peer *peer)
{
    (void)peer;
    return mci_list_is_empty(&frames) && mci_list_is_empty(&outops);
}

static void self_describe(mcomm_rail_desc_t *desc)
{
    desc->kind = "self";
    desc->device = desc->address = "";
    desc->mbits = desc->numa = -1;
}

const struct mci_rail_ops mci_rail_self_ops = {
    .size = sizeof(struct mci_rail_ops),
    .name = "self",
    .start = self_start,
    .stop = self_stop,
    .connect = self_connect,
    .is_reached = self_is_reached,
    .send = self_send,
    .unsend = self_unsend,
    .outop_start = self_outop_start,
    .outop_close = self_outop_close,
    .inop_closing = self_inop_closing,
    .close = self_close,
    .is_idle = self_is_idle,
    .describe = self_describe,
};
