/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The receiving side. A receive takes a message that is here already, or is posted and found by the
 * frame that comes; the bytes then come with that frame, or by an inbound operation. Whatever is
 * longer than the buffer is discarded and makes a truncation error of this receive alone.
 * Invariant: a withdrawn receive's buffer is written no more; what still arrives goes elsewhere.
 */
#include "config.h"

#include "base/copy.h"
#include "pt2pt/pt2pt_priv.h"

#include <stdio.h>

static char scratch[MCI_FRAME_MAX]; /* where frames of withdrawn receives end; never read */

void mci_recv_finish(struct mci_recv *op, mcomm_err_t err)
{
    op->state = RECV_DONE;
    op->status.error = err;
    op->status.cancelled = 0;
    op->is_done = true;
    if (op->done != NULL)
        op->done(op); /* may free it */
    else
        mci_wake_self();
}

static inline void recv_sized(struct mci_recv *op, int source, int tag, size_t nbytes)
{
    op->status.source = source;
    op->status.tag = tag;
    op->status.nbytes = nbytes;
}

static inline mcomm_err_t size_err(const struct mci_recv *op)
{
    return likely(op->status.nbytes <= op->nbytes) ? MCOMM_SUCCESS : MCOMM_ERR_TRUNCATE;
}

static void scatter(const mcomm_iov_t *iov, size_t iov_count, const char *data, size_t nbytes)
{
    for (size_t i = 0; i < iov_count && nbytes > 0; i++) {
        size_t part = iov[i].nbytes < nbytes ? iov[i].nbytes : nbytes;

        if (part > 0)
            memcpy(iov[i].base, data, part);
        data += part;
        nbytes -= part;
    }
}

void mci_recv_fill(struct mci_recv *op, int source, int tag, const void *data, size_t nbytes)
{
    recv_sized(op, source, tag, nbytes);
    if (likely(op->iov_count == 1)) {
        size_t part = likely(nbytes <= op->nbytes) ? nbytes : op->nbytes;

        if (likely(part <= MCI_INLINE_MAX))
            mci_copy_short(op->iov->base, data, part);
        else
            memcpy(op->iov->base, data, part);
    } else {
        scatter(op->iov, op->iov_count, data, nbytes);
    }
    mci_recv_finish(op, size_err(op));
}

/* Nothing more is written, and the sender is told why. */
static void bulk_close(struct mci_recv *op, mcomm_err_t err)
{
    mci_inop_close(&op->inop);
    mci_list_remove(&op->link);
    mci_send_fin(op->inop.peer, op->send_id, err);
}

void mci_recv_give_up(struct mci_recv *op, mcomm_err_t err)
{
    bulk_close(op, err);
    mci_recv_finish(op, err);
}

static void bulk_received(struct mci_inop *inop, mcomm_err_t err)
{
    struct mci_recv *op = mci_container_of(inop, struct mci_recv, inop);

    mci_list_remove(&op->link);
    mci_recv_finish(op, err == MCOMM_SUCCESS ? size_err(op) : err);
}

void mci_recv_bulk(struct mci_recv *op, struct mci_peer *peer, int source, int tag,
                   uint64_t send_id, size_t nbytes)
{
    struct mci_frame frame = {.am = MCI_AM_P2P_CTS, .w0 = send_id};
    struct mci_pt2pt_peer *pp = peer->p2p;
    mcomm_err_t err;

    recv_sized(op, source, tag, nbytes);
    if (nbytes == 0) {
        mci_send_fin(peer, send_id, MCOMM_SUCCESS);
        mci_recv_finish(op, MCOMM_SUCCESS);
        return;
    }
    memset(&op->inop, 0, sizeof(op->inop));
    op->inop.peer = peer;
    op->inop.iov = op->iov;
    op->inop.iov_count = op->iov_count;
    op->inop.nbytes = nbytes;
    op->inop.done = bulk_received;
    op->state = RECV_BULK;
    op->send_id = send_id;
    mci_list_push(&pp->bulk, &op->link);
    err = mci_inop_open(&op->inop);
    if (err != MCOMM_SUCCESS) {
        mci_send_fin(peer, send_id, err);
        bulk_received(&op->inop, err);
        return;
    }
    frame.w1 = (uint32_t)op->inop.id;
    frame.w2 = (uint32_t)(op->inop.id >> 32);
    mci_peer_tell(peer, &frame); /* failed: the operation ends with the peer */
}

/* ---- a frame that is still arriving goes straight into the buffer ---- */
static void sink_filled(void *arg, mcomm_err_t err)
{
    struct sink_place *place = arg;
    struct mci_recv *op = place->op;

    if (err == MCOMM_SUCCESS || err == MCOMM_ERR_BUFFER) /* else it does not count */
        mci_credit_owe(place->from, place->charge);
    mci_pool_put(&mci_pt2pt.places, place);
    if (op == NULL)
        return;
    op->sink = NULL;
    mci_recv_finish(op, err == MCOMM_SUCCESS ? size_err(op) : err);
}

bool mci_recv_sink(struct mci_recv *op, struct mci_pt2pt_peer *from, size_t charge, int source,
                   int tag, size_t nbytes, struct mci_sink *sink)
{
    struct sink_place *place;

    if (op->iov_count != 1 || (place = mci_pool_get(&mci_pt2pt.places)) == NULL)
        return false;
    recv_sized(op, source, tag, nbytes);
    *place = (struct sink_place){op, op->iov[0], from, charge};
    op->sink = place;
    op->state = RECV_SINK;
    *sink = (struct mci_sink){&place->iov, 1, sink_filled, place};
    return true;
}

/* ---- start ---- */
void mci_recv_take(struct mci_recv *op, struct mci_msg *msg)
{
    struct mci_peer *peer = msg->peer;

    if (msg->is_arriving) {
        op->state = RECV_ARRIVING;
        op->msg = msg;
        msg->recv = op;
        recv_sized(op, msg->source, msg->tag, msg->nbytes);
    } else if (msg->err != MCOMM_SUCCESS) {
        mcomm_err_t err = msg->err;

        recv_sized(op, msg->source, msg->tag, 0);
        mci_msg_free(msg);
        mci_recv_finish(op, err);
    } else if (msg->is_rts && !(msg->flags & FRAME_HAS_DATA)) {
        int source = msg->source, tag = msg->tag;
        uint64_t send_id = msg->send_id;
        size_t nbytes = msg->nbytes;

        mci_msg_free(msg);
        mci_recv_bulk(op, peer, source, tag, send_id, nbytes);
    } else {
        mci_send_fin(peer, msg->send_id, MCOMM_SUCCESS);
        mci_msg_settle(msg);
        mci_recv_fill(op, msg->source, msg->tag, mci_msg_data(msg), msg->nbytes);
        mci_msg_memory_free(msg);
    }
}

void mci_recv_prepare(struct mci_recv *op, const mcomm_iov_t *iov, size_t iov_count, size_t nbytes)
{
    op->is_done = false;
    op->nbytes = nbytes;
    op->iov = iov;
    op->iov_count = iov_count;
    if (likely(iov_count == 1)) {
        op->one = iov[0];
        op->iov = &op->one;
    }
    op->match = NULL;
    op->msg = NULL;
    op->sink = NULL;
    op->state = RECV_POSTED;
    op->status.nbytes = 0;
}

/* No message is here and nobody can send one: how the receive ends, else SUCCESS. */
static inline mcomm_err_t hopeless(const struct mci_match *m, const struct mci_recv *op)
{
    if (unlikely(atomic_load_explicit(&m->comm->is_revoked, memory_order_relaxed)))
        return MCOMM_ERR_REVOKED;
    if (op->source != MCOMM_ANY_SOURCE)
        return unlikely(mci_peer_is_failed(mci_comm_peer(m->comm, op->source)))
                   ? MCOMM_ERR_PROC_FAILED
                   : MCOMM_SUCCESS;
    return unlikely(m->failed_count > 0) ? MCOMM_ERR_PROC_FAILED_PENDING : MCOMM_SUCCESS;
}

void mci_recv_startv(struct mci_recv *op, struct mci_comm *comm, enum mci_ctx_space space,
                     const mcomm_iov_t *iov, size_t iov_count, size_t nbytes, int source, int tag)
{
    struct mci_match *m = mci_match_of(comm);
    struct mci_msg *msg;
    mcomm_err_t err;

    mci_recv_prepare(op, iov, iov_count, nbytes);
    op->space = (uint8_t)space;
    op->source = source;
    op->tag = tag;
    op->match = m;
    mci_list_init(&op->link);
    msg = mci_match_find(m, space, source, tag);
    if (msg != NULL) {
        mci_match_remove(m, msg);
        msg->match = NULL;
        mci_recv_take(op, msg);
        return;
    }
    err = hopeless(m, op);
    if (unlikely(err != MCOMM_SUCCESS)) {
        if (err != MCOMM_ERR_PROC_FAILED_PENDING || op->stalled == NULL) {
            recv_sized(op, source, tag, 0);
            mci_recv_finish(op, err);
            return;
        }
        op->stalled(op);
    }
    op->born = mci_pt2pt.tick;
    mci_match_post(m, op);
    mci_watch_posted(m, op);
}

void mci_recv_start(struct mci_recv *op, struct mci_comm *comm, enum mci_ctx_space space, void *buf,
                    size_t nbytes, int source, int tag)
{
    mcomm_iov_t one = {buf, nbytes};

    mci_recv_startv(op, comm, space, &one, 1, nbytes, source, tag);
}

/* ---- end ---- */
void mci_recv_withdraw(struct mci_recv *op)
{
    switch ((enum recv_state)op->state) {
    case RECV_POSTED:
        mci_match_unpost(op->match, op);
        break;
    case RECV_FAILING:
        mci_list_remove(&op->link);
        break;
    case RECV_SINK:
        op->sink->op = NULL;
        op->sink->iov = (mcomm_iov_t){scratch, sizeof(scratch)};
        break;
    case RECV_ARRIVING:
        op->msg->recv = NULL;
        mci_msg_drop(op->msg, MCOMM_ERR_CANCELLED);
        break;
    case RECV_BULK:
        bulk_close(op, MCOMM_ERR_CANCELLED);
        break;
    case RECV_DONE:
        return;
    }
    op->state = RECV_DONE;
    op->status.error = MCOMM_ERR_CANCELLED;
    op->is_done = true;
}

mcomm_err_t mci_recv_explain(const struct mci_recv *op, const struct mci_comm *comm)
{
    const mcomm_status_t *st = &op->status;

    switch ((int)st->error) {
    case MCOMM_SUCCESS:
        return MCOMM_SUCCESS;
    case MCOMM_ERR_TRUNCATE:
        return mci_err_set(
            st->error,
            "message of %zu bytes from rank %d of %s, tag %d: the receive buffer has "
            "room for %zu bytes",
            st->nbytes, st->source, mci_comm_text(comm), st->tag, op->nbytes);
    case MCOMM_ERR_PROC_FAILED:
        return mci_err_set(st->error, "receive from rank %d of %s: this process failed", st->source,
                           mci_comm_text(comm));
    case MCOMM_ERR_PROC_FAILED_PENDING:
        return mci_err_set(st->error, "receive from any rank of %s: rank %d failed",
                           mci_comm_text(comm), mci_comm_first_failed(comm));
    case MCOMM_ERR_COMM: /* it is gone */
        return mci_err_set(st->error, "the communicator was freed during a receive on it");
    case MCOMM_ERR_CANCELLED:
        return mci_err_set(st->error, "message from rank %d of %s, tag %d: withdrawn", st->source,
                           mci_comm_text(comm), st->tag);
    default:
        return mci_err_set(st->error, "receive from rank %d of %s, tag %d: %s", st->source,
                           mci_comm_text(comm), st->tag, mcomm_err_text(st->error));
    }
}

static mcomm_err_t recv_timed_out(struct mci_recv *op, const struct mci_comm *comm, int timeout_ms)
{
    char source[24] = "any rank", tag[24] = "any tag";

    mci_recv_withdraw(op);
    if (op->source != MCOMM_ANY_SOURCE)
        snprintf(source, sizeof(source), "rank %d", op->source);
    if (op->tag != MCOMM_ANY_TAG)
        snprintf(tag, sizeof(tag), "tag %d", op->tag);
    return mci_err_set(MCOMM_ERR_TIMEOUT, "receive from %s of %s, %s: no message within %d ms",
                       source, mci_comm_text(comm), tag, timeout_ms);
}

mcomm_err_t mci_recv_wait(struct mci_recv *op, const struct mci_comm *comm, int timeout_ms)
{
    uint64_t ctx = comm->ctx;
    mcomm_err_t err = op->is_done ? MCOMM_SUCCESS : mci_wait_flag(&op->is_done, timeout_ms);

    if (likely(err == MCOMM_SUCCESS && op->status.error == MCOMM_SUCCESS))
        return MCOMM_SUCCESS;
    comm = mci_comm_find(ctx); /* another thread may have freed it during the wait */
    return err == MCOMM_SUCCESS ? mci_recv_explain(op, comm) : recv_timed_out(op, comm, timeout_ms);
}
