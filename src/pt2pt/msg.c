/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What arrives: eager messages and announcements. The usual case, a whole frame that a posted
 * receive waits for, is served at the top of each function. Everything else makes a message
 * object: unexpected, still arriving, or to be thrown away. It is matched when its header is here,
 * so that the order of sending holds, and handed over when all of it is. A message that finds no
 * memory takes one of the few places made at start: a sender is given up only when these are gone,
 * too.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

/* Not zeroed. */
static struct mci_msg *msg_memory(size_t nbytes)
{
    struct mci_msg *msg = mci_mem_alloc(sizeof(*msg) + nbytes);

    if (msg != NULL)
        msg->is_reserve = false;
    if (msg != NULL || nbytes > MCI_EAGER_MAX)
        return msg;
    msg = mci_reserve_take(MCI_RESERVE_MSG);
    if (msg != NULL)
        msg->is_reserve = true;
    return msg;
}

void mci_msg_memory_free(struct mci_msg *msg)
{
    if (msg->is_reserve)
        mci_reserve_give(MCI_RESERVE_MSG, msg);
    else
        mci_mem_free(msg);
}

static inline unsigned space_of(const struct mci_frame *frame)
{
    return (unsigned)(frame->w0 & 3);
}

static inline struct mci_recv *posted_for(struct mci_match *m, const struct mci_frame *frame)
{
    return m != NULL ? mci_match_take_posted(m, space_of(frame), (int)frame->w2, (int)frame->w1)
                     : NULL;
}

static inline size_t charge_of(const struct mci_frame *frame)
{
    if (frame->flags & FRAME_FREE)
        return 0;
    if (frame->am == MCI_AM_P2P_EAGER)
        return frame->nbytes + MSG_OVERHEAD;
    if (frame->flags & FRAME_HAS_DATA)
        return frame->nbytes - sizeof(struct mci_rts_wire) + MSG_OVERHEAD;
    return 0;
}

void mci_msg_settle(struct mci_msg *msg)
{
    struct mci_peer *peer = msg->peer;

    mci_list_remove(&msg->peer_link);
    msg->peer = NULL;
    if (peer != NULL && msg->charge > 0)
        mci_credit_owe(peer->p2p, msg->charge);
}

void mci_msg_free(struct mci_msg *msg)
{
    mci_msg_settle(msg);
    mci_msg_memory_free(msg);
}

void mci_msg_drop(struct mci_msg *msg, mcomm_err_t err)
{
    msg->match = NULL;
    msg->recv = NULL;
    if (msg->is_arriving) {
        msg->err = err; /* freed when it is all here */
        return;
    }
    mci_send_fin(msg->peer, msg->send_id, err);
    mci_msg_free(msg);
}

/* The frame is all here: read what an announcement says. */
static void msg_parse(struct mci_msg *msg)
{
    struct mci_rts_wire wire;

    msg->is_arriving = false;
    if (!msg->is_rts)
        return;
    memcpy(&wire, msg->payload, sizeof(wire));
    msg->send_id = wire.id;
    msg->nbytes = wire.nbytes;
}

static void msg_arrived(void *arg, mcomm_err_t err)
{
    struct mci_msg *msg = arg;
    struct mci_recv *op = msg->recv;

    msg->recv = NULL;
    if (err != MCOMM_SUCCESS) {
        msg->is_arriving = false;
        if (err == MCOMM_ERR_CANCELLED)
            msg->charge = 0; /* the sender took it back, and its credit with it */
        if (msg->match != NULL)
            mci_match_remove(msg->match, msg);
        msg->match = NULL;
        if (msg->handle != NULL)
            msg->err = err;
        else
            mci_msg_free(msg);
        if (op != NULL)
            mci_recv_finish(op, err);
        return;
    }
    msg_parse(msg);
    if (op != NULL)
        mci_recv_take(op, msg);
    else if (msg->match == NULL && msg->handle == NULL)
        mci_msg_drop(msg, msg->err);
    else
        mci_wake_self();
}

static struct mci_msg *msg_new(struct mci_peer *peer, const struct mci_frame *frame,
                               struct mci_match *m)
{
    struct mci_pt2pt_peer *pp = mci_pt2pt_peer_of_sender(peer);
    struct mci_msg *msg = pp != NULL ? msg_memory(frame->nbytes) : NULL;
    bool is_reserve;

    if (msg == NULL)
        return NULL;
    is_reserve = msg->is_reserve;
    memset(msg, 0, sizeof(*msg));
    msg->is_reserve = is_reserve;
    mci_list_push(&pp->msgs, &msg->peer_link);
    msg->peer = peer;
    msg->match = m;
    msg->source = (int)frame->w2;
    msg->tag = (int)frame->w1;
    msg->space = (uint8_t)space_of(frame);
    msg->flags = frame->flags;
    msg->is_rts = frame->am == MCI_AM_P2P_RTS;
    msg->nbytes = frame->nbytes - (msg->is_rts ? sizeof(struct mci_rts_wire) : 0);
    msg->charge = charge_of(frame);
    msg->place = (mcomm_iov_t){msg->payload, frame->nbytes};
    return msg;
}

/* All but the usual case. op: the receive that matched, taken out of the tables, or NULL. */
static void arrive(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                   struct mci_sink *sink, struct mci_match *m, struct mci_recv *op)
{
    bool was_freed = false;
    struct mci_msg *msg;

    if (m == NULL)
        m = mci_context_expect(frame->w0 >> 2, &was_freed);
    msg = m != NULL || was_freed ? msg_new(peer, frame, m) : NULL;
    if (msg == NULL) {
        /* It cannot be kept, and the order of messages would break without it. */
        if (op != NULL)
            mci_recv_finish(op, MCOMM_ERR_NO_MEM);
        mci_peer_fail(peer, "no memory for a message from it");
        return;
    }
    if (payload != NULL || frame->nbytes == 0) {
        if (frame->nbytes > 0)
            memcpy(msg->payload, payload, frame->nbytes);
        msg_parse(msg);
    } else {
        msg->is_arriving = true;
        *sink = (struct mci_sink){&msg->place, 1, msg_arrived, msg};
    }
    if (op != NULL) {
        msg->match = NULL;
        mci_recv_take(op, msg);
    } else if (m == NULL) {
        mci_msg_drop(msg, MCOMM_ERR_COMM);
    } else if (unlikely(m->comm != NULL && atomic_load(&m->comm->is_revoked))) {
        mci_msg_drop(msg, MCOMM_ERR_REVOKED);
    } else {
        mci_match_add(m, msg);
        mci_wake_self(); /* somebody may probe for it */
    }
}

void mci_msg_on_eager(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink)
{
    struct mci_match *m = mci_context_find(frame->w0);
    struct mci_recv *op = posted_for(m, frame);
    struct mci_pt2pt_peer *pp;

    if (unlikely(op == NULL || (pp = mci_pt2pt_peer_of_sender(peer)) == NULL)) {
        arrive(peer, frame, payload, sink, m, op);
        return;
    }
    if (likely(payload != NULL || frame->nbytes == 0)) {
        mci_credit_owe(pp, charge_of(frame));
        mci_recv_fill(op, (int)frame->w2, (int)frame->w1, payload, frame->nbytes);
    } else if (!mci_recv_sink(op, pp, charge_of(frame), (int)frame->w2, (int)frame->w1,
                              frame->nbytes, sink)) {
        arrive(peer, frame, payload, sink, m, op);
    }
}

void mci_msg_on_rts(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    struct mci_match *m = mci_context_find(frame->w0);
    struct mci_recv *op;

    if (unlikely(frame->nbytes < sizeof(struct mci_rts_wire))) {
        mci_peer_fail(peer, "an announcement of a message is too short");
        return;
    }
    op = posted_for(m, frame);
    if (op != NULL && payload != NULL && !(frame->flags & FRAME_HAS_DATA) &&
        mci_pt2pt_peer_of_sender(peer) != NULL) {
        struct mci_rts_wire wire;

        memcpy(&wire, payload, sizeof(wire));
        mci_recv_bulk(op, peer, (int)frame->w2, (int)frame->w1, wire.id, wire.nbytes);
        return;
    }
    arrive(peer, frame, payload, sink, m, op);
}

void mci_msg_on_cancel(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink)
{
    struct mci_pt2pt_peer *pp = peer->p2p;
    struct mci_list *node;

    (void)payload;
    (void)sink;
    if (pp == NULL)
        return;
    MCI_LIST_FOREACH (node, &pp->msgs) {
        struct mci_msg *msg = mci_container_of(node, struct mci_msg, peer_link);

        if (!msg->is_rts || msg->is_arriving || msg->send_id != frame->w0)
            continue;
        msg->send_id = 0;
        if (msg->handle != NULL) {
            msg->err = (mcomm_err_t)frame->aux;
        } else {
            if (msg->match != NULL)
                mci_match_remove(msg->match, msg);
            mci_msg_free(msg);
        }
        return;
    }
    MCI_LIST_FOREACH (node, &pp->bulk) {
        struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

        if (op->send_id != frame->w0)
            continue;
        mci_inop_close(&op->inop);
        mci_list_remove(&op->link);
        mci_recv_finish(op, (mcomm_err_t)frame->aux);
        return;
    }
}
