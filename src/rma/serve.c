/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What lasts longer than one frame at the target: bulk operations on its part, and holds. A hold
 * names ranges that several frames are going to use: all of them are checked before the first byte
 * is written, and a detach waits until the origin lets go. Invariant: what a serve uses stays
 * attached, or the serve is closed.
 */
#include "config.h"

#include "rma/rma_priv.h"

#include <string.h>

void mci_rma_serve_close(struct rma_serve *serve)
{
    if (serve->kind == RMA_SERVE_PUT)
        mci_inop_close(&serve->in);
    else if (serve->kind == RMA_SERVE_GET)
        mci_outop_close(&serve->out);
    mci_list_remove(&serve->link);
    if (serve->uses != serve->own)
        mci_mem_free(serve->uses);
    mci_mem_free(serve);
}

void mci_rma_serve_abort(struct rma_serve *serve, mcomm_err_t err)
{
    struct mci_peer *peer = serve->win->targets[serve->origin].peer;

    if (serve->kind != RMA_SERVE_HOLD && !mci_peer_is_failed(peer))
        mci_rma_answer_op(peer, serve->op_id, err);
    mci_rma_serve_close(serve);
}

static struct rma_serve *serve_new(struct mci_win *win, int origin, uint32_t op_id,
                                   enum rma_serve_kind kind)
{
    struct rma_serve *serve = mci_mem_zalloc(sizeof(*serve));

    if (serve == NULL)
        return NULL;
    serve->win = win;
    serve->origin = origin;
    serve->op_id = op_id;
    serve->kind = kind;
    serve->uses = serve->own;
    mci_list_push(&win->serves, &serve->link);
    return serve;
}

void mci_rma_signal_apply(void *place, uint64_t value, bool is_add)
{
    uint64_t *word = place;

    if (is_add)
        __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    else
        __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

mcomm_err_t mci_rma_signal_place(struct mci_win *win, const struct rma_signal *signal,
                                 void **place_p)
{
    return mci_rma_place(win, signal->offset, sizeof(uint64_t), MCOMM_WIN_ATOMIC, sizeof(uint64_t),
                         place_p);
}

/* NOT_INIT: the rails stop, peers are gone. */
static void serve_put_done(struct mci_inop *in, mcomm_err_t err)
{
    struct rma_serve *serve = in->arg;

    if (err == MCOMM_SUCCESS && serve->use_count == 2) {
        mci_rma_signal_apply(serve->own[1].base, serve->signal, serve->flags & RMA_F_SIGNAL_ADD);
        mci_wake_self();
    }
    if (err != MCOMM_ERR_NOT_INIT && !mci_peer_is_failed(in->peer))
        mci_rma_answer_op(in->peer, serve->op_id, err);
    mci_rma_serve_close(serve);
}

mcomm_err_t mci_rma_serve_put(struct mci_peer *peer, struct mci_win *win, int origin,
                              const struct mci_frame *frame, const struct rma_signal *signal,
                              void *signal_at, void *place, size_t nbytes)
{
    struct rma_serve *serve = serve_new(win, origin, frame->w2, RMA_SERVE_PUT);
    struct mci_frame reply = {.am = MCI_AM_RMA_REPLY, .flags = RMA_F_INOP, .w1 = frame->w2};
    mcomm_err_t err;

    if (serve == NULL)
        return MCOMM_ERR_NO_MEM;
    serve->own[0] = (mcomm_iov_t){place, nbytes};
    serve->own[1] = (mcomm_iov_t){signal_at, sizeof(signal->value)};
    serve->use_count = signal_at != NULL ? 2 : 1;
    serve->flags = frame->flags;
    serve->signal = signal->value;
    serve->in = (struct mci_inop){.peer = peer,
                                  .iov = serve->own,
                                  .iov_count = 1,
                                  .nbytes = nbytes,
                                  .done = serve_put_done,
                                  .arg = serve};
    err = mci_inop_open(&serve->in);
    if (err == MCOMM_SUCCESS) {
        reply.w0 = serve->in.id;
        err = mci_peer_send(peer, &reply, NULL, 0, NULL);
    }
    if (err != MCOMM_SUCCESS)
        mci_rma_serve_close(serve);
    return err;
}

static void serve_get_done(struct mci_outop *out, mcomm_err_t err)
{
    struct rma_serve *serve = out->arg;

    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_NOT_INIT && !mci_peer_is_failed(out->peer))
        mci_rma_answer_op(out->peer, serve->op_id, err);
    mci_rma_serve_close(serve);
}

mcomm_err_t mci_rma_serve_get(struct mci_peer *peer, struct mci_win *win, int origin,
                              uint32_t op_id, uint64_t inop_id, void *place, size_t nbytes)
{
    struct rma_serve *serve = serve_new(win, origin, op_id, RMA_SERVE_GET);
    mcomm_err_t err;

    if (serve == NULL)
        return MCOMM_ERR_NO_MEM;
    serve->own[0] = (mcomm_iov_t){place, nbytes};
    serve->use_count = 1;
    serve->out = (struct mci_outop){.peer = peer,
                                    .remote_id = inop_id,
                                    .iov = serve->own,
                                    .iov_count = 1,
                                    .nbytes = nbytes,
                                    .done = serve_get_done,
                                    .arg = serve};
    err = mci_outop_start(&serve->out);
    if (err != MCOMM_SUCCESS)
        mci_rma_serve_close(serve);
    return err;
}

/* ---- holds ---- */
/* Every range of the list is legal, or none is held. */
static mcomm_err_t hold_places(struct mci_win *win, struct rma_serve *serve,
                               const struct rma_hold *ask, const char *ranges, size_t count)
{
    struct rma_range range;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (size_t i = 0; i < count && err == MCOMM_SUCCESS; i++) {
        memcpy(&range, ranges + i * sizeof(range), sizeof(range));
        err = mci_rma_place(win, range.offset, range.nbytes, ask->need, ask->alignment,
                            &serve->uses[i].base);
        serve->uses[i].nbytes = range.nbytes;
    }
    serve->use_count = count;
    return err;
}

/* w0 names the hold, to be let go by ABANDON; one that spans several frames has one name. */
static mcomm_err_t hold_open(struct mci_win *win, int origin, const struct mci_frame *frame,
                             const char *payload)
{
    size_t count = frame->nbytes / sizeof(struct rma_range) - 1;
    struct rma_hold ask;
    struct rma_serve *serve;
    mcomm_err_t err = MCOMM_ERR_NO_MEM;

    if (frame->nbytes % sizeof(struct rma_range) != 0 || count == 0 || count > RMA_HOLD_RANGES)
        return MCOMM_ERR_INTERNAL;
    memcpy(&ask, payload, sizeof(ask));
    if (ask.alignment == 0)
        return MCOMM_ERR_INTERNAL;
    serve = serve_new(win, origin, (uint32_t)frame->w0, RMA_SERVE_HOLD);
    if (serve == NULL)
        return MCOMM_ERR_NO_MEM;
    serve->uses = mci_mem_zalloc(count * sizeof(*serve->uses));
    if (serve->uses != NULL)
        err = hold_places(win, serve, &ask, payload + sizeof(ask), count);
    if (err != MCOMM_SUCCESS)
        mci_rma_serve_close(serve);
    return err;
}

static void on_hold(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    struct mci_win *win;
    int origin;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_hold);
        return;
    }
    win = mci_rma_frame_win(peer, frame, &origin);
    if (win != NULL)
        mci_rma_answer_op(peer, frame->w2, hold_open(win, origin, frame, payload));
}

void mci_rma_serve_start(void)
{
    mci_rail_set_am(MCI_AM_RMA_HOLD, on_hold);
}
