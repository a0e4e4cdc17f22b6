/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Holds, origin's side. Only the owner of a dynamic window knows what is attached, and it checks
 * frame by frame. A call of several frames therefore first names all its ranges: they are checked,
 * and stay attached, until the call has sent its last frame. So such a call writes all or nothing.
 */
#include "config.h"

#include "rma/rma_priv.h"

void mci_rma_hold_begin(struct rma_holding *h, struct mci_win *win, int target, unsigned need,
                        size_t alignment)
{
    h->win = win;
    h->target = target;
    h->name = 0;
    h->ask = (struct rma_hold){.need = need, .alignment = (uint32_t)alignment};
    h->count = 0;
}

static mcomm_err_t hold_send(struct rma_holding *h)
{
    struct rma_target *t = &h->win->targets[h->target];
    struct rma_op *op = mci_rma_op_new(h->win, h->target, RMA_OP_HOLD);
    struct mci_frame frame = {.am = MCI_AM_RMA_HOLD, .flags = RMA_F_OP, .w1 = t->key};
    mcomm_iov_t iov[2] = {{&h->ask, sizeof(h->ask)}, {h->ranges, h->count * sizeof(h->ranges[0])}};
    mcomm_err_t err, answer = MCOMM_SUCCESS;
    bool is_done = false;

    if (op == NULL)
        return MCOMM_ERR_NO_MEM;
    op->done_p = &is_done;
    op->err_p = &answer;
    if (h->name == 0)
        h->name = op->id;
    frame.w0 = h->name;
    frame.w2 = op->id;
    h->count = 0;
    err = mci_peer_sendv(t->peer, &frame, iov, 2, iov[0].nbytes + iov[1].nbytes, NULL);
    if (err != MCOMM_SUCCESS) {
        mci_rma_op_complete(op, err);
        return err;
    }
    err = mci_rma_op_wait(op, &is_done, &answer);
    if (err == MCOMM_ERR_PROC_FAILED)
        return mci_rma_dead(h->win, h->target);
    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_TIMEOUT)
        return mci_err_set(err, "target %d refuses the ranges: %s", h->target, mcomm_err_text(err));
    return err;
}

mcomm_err_t mci_rma_hold_add(struct rma_holding *h, uint64_t offset, uint64_t nbytes)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (h->count == RMA_HOLD_RANGES)
        err = hold_send(h);
    if (err == MCOMM_SUCCESS)
        h->ranges[h->count++] = (struct rma_range){offset, nbytes};
    return err;
}

mcomm_err_t mci_rma_hold_end(struct rma_holding *h)
{
    return h->count > 0 ? hold_send(h) : MCOMM_SUCCESS;
}

/* Behind all frames of the call. */
void mci_rma_hold_release(struct rma_holding *h)
{
    struct rma_target *t = &h->win->targets[h->target];

    if (h->name != 0 && !atomic_load(&t->is_dead))
        mci_rma_sync_send(t->peer, RMA_SYNC_ABANDON, 0, t->key, h->name);
}
