/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The sending side. A message goes eagerly (one frame) if it is small and the credit allows; else
 * it is announced (RTS), and pushed when the receiver names a place (CTS). When too many announced
 * ones are unmatched, further messages are held back, all of them, so that the order stays.
 * Invariant: an operation is done exactly once, and then in no list and not in the table of ids.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

enum send_state {
    SEND_HELD, /* nothing has left */
    SEND_TX,   /* eager frame queued in the rail, buffer borrowed */
    SEND_SYNC, /* sent with its data, awaits FIN */
    SEND_RTS,  /* announced, awaits CTS */
    SEND_BULK, /* being pushed */
    SEND_DONE
};

static void send_unlink(struct mci_send *op)
{
    mci_list_remove(&op->link);
    if (op->id != 0)
        mci_map_remove(&mci_pt2pt.sends, op->id);
    op->id = 0;
}

static inline void send_done(struct mci_send *op, mcomm_err_t err)
{
    op->state = SEND_DONE;
    op->err = err;
    op->is_done = true;
    if (op->done != NULL)
        op->done(op); /* may free it */
    else
        mci_wake_self();
}

void mci_send_finish(struct mci_send *op, mcomm_err_t err)
{
    struct mci_pt2pt_peer *pp = op->peer->p2p;

    if (op->state == SEND_BULK)
        mci_outop_close(&op->outop);
    if (op->state == SEND_RTS)
        pp->rts_out--;
    send_unlink(op);
    send_done(op, err);
}

static size_t eager_charge(const struct mci_send *op)
{
    return op->flags & MCI_SEND_FREE ? 0 : op->nbytes + MSG_OVERHEAD;
}

/* The receiver does not give back credit for a frame that did not count. */
static void eager_uncharge(struct mci_send *op)
{
    struct mci_pt2pt_peer *pp = op->peer->p2p;

    pp->used -= eager_charge(op);
}

static void eager_sent(struct mci_tx *tx, mcomm_err_t err)
{
    struct mci_send *op = mci_container_of(tx, struct mci_send, tx);

    if (err == MCOMM_ERR_BUFFER)
        eager_uncharge(op);
    mci_list_remove(&op->link);
    send_done(op, err);
}

/* The frame of op, which is queued; false: it goes on. */
static bool eager_take_back(struct mci_send *op)
{
    if (!mci_peer_unsend(op->peer, &op->tx))
        return false;
    eager_uncharge(op);
    return true;
}

/* An id under which the receiver's answer finds op, and a place among the waiting. */
static mcomm_err_t send_register(struct mci_send *op, struct mci_pt2pt_peer *pp,
                                 enum send_state state)
{
    op->id = mci_pt2pt.next_id++;
    if (mci_map_put(&mci_pt2pt.sends, op->id, op) != MCOMM_SUCCESS) {
        op->id = 0;
        return MCOMM_ERR_NO_MEM;
    }
    op->state = (uint8_t)state;
    pp->rts_out += state == SEND_RTS;
    mci_list_push(&pp->waiting, &op->link);
    return MCOMM_SUCCESS;
}

static inline struct mci_frame send_frame(const struct mci_send *op, enum mci_am am, unsigned flags)
{
    return (struct mci_frame){
        .am = (uint8_t)am,
        .flags = (uint8_t)flags,
        .w0 = op->ctx,
        .w1 = (uint32_t)op->tag,
        .w2 = op->rank,
    };
}

/* Announce op; with_data: the message goes along, and FIN will tell that it was matched. */
static void send_rts(struct mci_send *op, struct mci_pt2pt_peer *pp, bool with_data)
{
    struct mci_frame frame = send_frame(op, MCI_AM_P2P_RTS, with_data ? FRAME_HAS_DATA : 0);
    struct mci_rts_wire wire = {.nbytes = op->nbytes};
    mcomm_iov_t iov[2] = {{&wire, sizeof(wire)}, op->one};
    size_t nbytes = sizeof(wire) + (with_data ? op->nbytes : 0);
    uint64_t id;
    mcomm_err_t err;

    err = send_register(op, pp, with_data ? SEND_SYNC : SEND_RTS);
    if (err != MCOMM_SUCCESS) {
        send_done(op, err);
        return;
    }
    if (with_data)
        pp->used += op->nbytes + MSG_OVERHEAD;
    wire.id = id = op->id;
    err = mci_peer_sendv(pp->peer, &frame, iov, with_data ? 2 : 1, nbytes, NULL);
    /* From here on op may be done and gone: the receiver may be this process. */
    if (err != MCOMM_SUCCESS && mci_map_get(&mci_pt2pt.sends, id) == op)
        mci_send_finish(op, err);
}

static inline void send_eager(struct mci_send *op, struct mci_pt2pt_peer *pp, bool is_free)
{
    struct mci_frame frame = send_frame(op, MCI_AM_P2P_EAGER, is_free ? FRAME_FREE : 0);
    size_t charge = is_free ? 0 : op->nbytes + MSG_OVERHEAD;
    struct mci_tx *tx = NULL;
    mcomm_err_t err;

    if (op->flags & MCI_SEND_BORROW) {
        tx = &op->tx;
        tx->done = eager_sent;
        op->state = SEND_TX;
        mci_list_push(&pp->queued, &op->link);
    }
    pp->used += charge;
    if (op->flags & MCI_SEND_SOON)
        err = mci_peer_sendv_soon(pp->peer, &frame, op->iov, op->iov_count, op->nbytes, tx);
    else if (likely(op->iov_count == 1))
        err = mci_peer_send(pp->peer, &frame, op->iov->base, op->nbytes, tx);
    else
        err = mci_peer_sendv(pp->peer, &frame, op->iov, op->iov_count, op->nbytes, tx);
    if (err == MCI_PENDING)
        return; /* it may be done and gone by now */
    mci_list_remove(&op->link);
    if (unlikely(err != MCOMM_SUCCESS))
        pp->used -= charge;
    send_done(op, err);
}

bool mci_send_now(struct mci_comm *comm, enum mci_ctx_space space, const void *buf, size_t nbytes,
                  int dest, int tag)
{
    struct mci_peer *peer = mci_comm_peer(comm, dest);
    struct mci_pt2pt_peer *pp = peer->p2p;
    struct mci_frame frame = {
        .am = MCI_AM_P2P_EAGER,
        .w0 = mci_comm_ctx(comm, space),
        .w1 = (uint32_t)tag,
        .w2 = (uint32_t)comm->rank,
    };

    if (unlikely(nbytes > peer->eager_max || pp == NULL || !mci_list_is_empty(&pp->held) ||
                 pp->used + nbytes + MSG_OVERHEAD > mci_credit_limit) ||
        !mci_peer_send_now(peer, &frame, buf, nbytes))
        return false;
    pp->used += nbytes + MSG_OVERHEAD;
    return true;
}

/* Start op on its way; false: it must be held back. */
static bool send_try(struct mci_send *op, struct mci_pt2pt_peer *pp)
{
    size_t eager_max = pp->peer->eager_max;

    if (op->flags & MCI_SEND_FREE && op->nbytes <= MCI_FRAME_MAX) {
        send_eager(op, pp, true);
        return true;
    }
    if (likely(op->nbytes <= eager_max &&
               pp->used + op->nbytes + MSG_OVERHEAD <= mci_credit_limit)) {
        if (likely(!(op->flags & MCI_SEND_SYNC))) {
            send_eager(op, pp, false);
            return true;
        }
        if (op->iov_count == 1 && op->nbytes + sizeof(struct mci_rts_wire) <= eager_max) {
            send_rts(op, pp, true);
            return true;
        }
    }
    if (pp->rts_out >= RTS_OUT_MAX)
        return false;
    send_rts(op, pp, false);
    return true;
}

void mci_send_release_held(struct mci_pt2pt_peer *pp)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&pp->held)) != NULL) {
        if (!send_try(mci_container_of(node, struct mci_send, link), pp)) {
            mci_list_push_front(&pp->held, node);
            return;
        }
    }
}

/* The user's own message is refused while a connection cannot be made; the others' waits. */
static mcomm_err_t send_reach(struct mci_peer *peer, enum mci_ctx_space space)
{
    if (mci_peer_is_failed(peer))
        return MCOMM_ERR_PROC_FAILED;
    return space == MCI_CTX_USER ? mci_peer_reach(peer) : MCOMM_SUCCESS;
}

static inline void send_start(struct mci_send *op, struct mci_comm *comm, enum mci_ctx_space space,
                              int dest, int tag, unsigned flags)
{
    struct mci_peer *peer = mci_comm_peer(comm, dest);
    struct mci_pt2pt_peer *pp = mci_pt2pt_peer_of(peer);
    mcomm_err_t err = MCOMM_SUCCESS;

    op->is_done = false;
    op->flags = (uint8_t)flags;
    op->dest = dest;
    op->tag = tag;
    op->peer = peer;
    mci_list_init(&op->link);
    op->ctx = mci_comm_ctx(comm, space);
    op->id = 0;
    op->rank = (uint32_t)comm->rank;
    op->state = SEND_HELD;
    if (unlikely(pp == NULL)) {
        send_done(op, MCOMM_ERR_NO_MEM);
    } else if (unlikely(peer->state != MCI_PEER_READY) &&
               (err = send_reach(peer, space)) != MCOMM_SUCCESS) {
        send_done(op, err);
    } else if (unlikely(!mci_list_is_empty(&pp->held)) || unlikely(!send_try(op, pp))) {
        op->state = SEND_HELD;
        mci_list_push(&pp->held, &op->link);
    }
}

void mci_send_start(struct mci_send *op, struct mci_comm *comm, enum mci_ctx_space space,
                    const void *buf, size_t nbytes, int dest, int tag, unsigned flags)
{
    if (!(flags & (MCI_SEND_SYNC | MCI_SEND_FREE)) &&
        mci_send_now(comm, space, buf, nbytes, dest, tag)) {
        send_done(op, MCOMM_SUCCESS);
        return;
    }
    op->nbytes = nbytes;
    op->one = (mcomm_iov_t){(void *)(uintptr_t)buf, nbytes};
    op->iov = &op->one;
    op->iov_count = 1;
    send_start(op, comm, space, dest, tag, flags);
}

void mci_send_startv(struct mci_send *op, struct mci_comm *comm, enum mci_ctx_space space,
                     const mcomm_iov_t *iov, size_t iov_count, size_t nbytes, int dest, int tag,
                     unsigned flags)
{
    op->nbytes = nbytes;
    op->iov = iov;
    op->iov_count = iov_count;
    if (iov_count == 1) {
        op->one = iov[0];
        op->iov = &op->one;
    }
    send_start(op, comm, space, dest, tag, flags);
}

/* ---- answers ---- */
static void bulk_sent(struct mci_outop *outop, mcomm_err_t err)
{
    mci_send_finish(mci_container_of(outop, struct mci_send, outop), err);
}

static struct mci_send *send_of_frame(struct mci_peer *peer, const struct mci_frame *frame)
{
    struct mci_send *op = mci_map_get(&mci_pt2pt.sends, frame->w0);

    return op != NULL && op->peer == peer ? op : NULL; /* NULL: withdrawn meanwhile */
}

void mci_send_on_cts(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    struct mci_send *op = send_of_frame(peer, frame);
    struct mci_pt2pt_peer *pp = peer->p2p;
    uint64_t id = frame->w0;
    mcomm_err_t err;

    (void)payload;
    (void)sink;
    if (op == NULL || op->state != SEND_RTS)
        return; /* withdrawn: the cancellation has crossed this frame */
    op->state = SEND_BULK;
    pp->rts_out--;
    memset(&op->outop, 0, sizeof(op->outop));
    op->outop.peer = peer;
    op->outop.remote_id = frame->w1 | (uint64_t)frame->w2 << 32;
    op->outop.iov = op->iov;
    op->outop.iov_count = op->iov_count;
    op->outop.nbytes = op->nbytes;
    op->outop.done = bulk_sent;
    err = mci_outop_start(&op->outop);
    if (err != MCOMM_SUCCESS && mci_map_get(&mci_pt2pt.sends, id) == op)
        mci_send_finish(op, err);
    mci_send_release_held(pp);
}

void mci_send_on_fin(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    struct mci_send *op = send_of_frame(peer, frame);

    (void)payload;
    (void)sink;
    if (op == NULL)
        return;
    mci_send_finish(op, (mcomm_err_t)frame->aux);
    mci_send_release_held(peer->p2p);
}

void mci_send_fin(struct mci_peer *peer, uint64_t send_id, mcomm_err_t err)
{
    struct mci_frame frame = {.am = MCI_AM_P2P_FIN, .aux = (uint16_t)err, .w0 = send_id};

    if (send_id != 0 && mci_pt2pt.is_up && peer != NULL && !mci_peer_is_failed(peer))
        mci_peer_tell(peer, &frame); /* failed: the sender knows */
}

/* ---- end ---- */
bool mci_send_cancel(struct mci_send *op)
{
    if (op->state == SEND_TX) {
        if (!eager_take_back(op))
            return false;
    } else if (op->state != SEND_HELD) {
        return false;
    }
    send_unlink(op);
    op->state = SEND_DONE;
    op->err = MCOMM_ERR_CANCELLED;
    op->is_done = true;
    return true;
}

void mci_send_give_up(struct mci_send *op, mcomm_err_t err)
{
    struct mci_frame frame = {.am = MCI_AM_P2P_CANCEL, .aux = (uint16_t)err, .w0 = op->id};
    struct mci_pt2pt_peer *pp = op->peer->p2p;

    if (op->state == SEND_TX) {
        mci_list_remove(&op->link);
        mci_list_push(&pp->queued, &op->link);
        if (!eager_take_back(op))
            return; /* it goes on, or is done and gone by now */
    }
    mci_send_finish(op, err); /* may free it */
    if (frame.w0 != 0 && !mci_peer_is_failed(pp->peer))
        mci_peer_tell(pp->peer, &frame);
    mci_send_release_held(pp);
}

void mci_send_withdraw(struct mci_send *op)
{
    if (op->is_done) /* at once, perhaps: nothing else of op is set */
        return;
    op->done = NULL;
    if (!mci_send_cancel(op) && !op->is_done)
        mci_send_give_up(op, MCOMM_ERR_CANCELLED);
}

mcomm_err_t mci_send_explain(const struct mci_send *op, const struct mci_comm *comm)
{
    switch ((int)op->err) {
    case MCOMM_SUCCESS:
        return MCOMM_SUCCESS;
    case MCOMM_ERR_PROC_FAILED:
        return mci_err_set(op->err, "send to rank %d of %s: this process failed", op->dest,
                           mci_comm_text(comm));
    case MCOMM_ERR_CANCELLED:
        return mci_err_set(op->err, "send of %zu bytes to rank %d of %s, tag %d: withdrawn",
                           op->nbytes, op->dest, mci_comm_text(comm), op->tag);
    default:
        return mci_err_set(op->err, "send of %zu bytes to rank %d of %s, tag %d: %s", op->nbytes,
                           op->dest, mci_comm_text(comm), op->tag, mcomm_err_text(op->err));
    }
}

mcomm_err_t mci_send_wait(struct mci_send *op, int timeout_ms)
{
    const struct mci_comm *comm;
    mcomm_err_t err = likely(op->is_done) ? MCOMM_SUCCESS : mci_wait_flag(&op->is_done, timeout_ms);

    if (likely(err == MCOMM_SUCCESS && op->err == MCOMM_SUCCESS))
        return MCOMM_SUCCESS;
    comm = mci_comm_find(op->ctx); /* another thread may have freed it during the wait */
    if (err == MCOMM_SUCCESS)
        return mci_send_explain(op, comm);
    mci_send_withdraw(op);
    if (op->err == MCOMM_SUCCESS)
        return MCOMM_SUCCESS; /* it went at the last moment */
    return mci_err_set(MCOMM_ERR_TIMEOUT,
                       "send of %zu bytes to rank %d of %s, tag %d: not received within %d ms",
                       op->nbytes, op->dest, mci_comm_text(comm), op->tag, timeout_ms);
}
