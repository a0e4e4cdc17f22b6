/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Sending on a lane. The order on the wire is: the item begun (part), the collected small frames
 * (obuf), the queue, then slices of bulk operations, one system call for as much as fits.
 * Invariant: obuf is only added to while the queue is empty, and at most one item has been sent in
 * part.
 */
#include "config.h"

#include "base/clock.h"
#include "rail/tcp/tcp_vec.h"

#include <string.h>
#include <sys/socket.h>

#define ITEM_MAX 16            /* frames of the queue in one system call */
#define DIRECT_COPY_MAX 512    /* up to it one buffer is cheaper than a vector */
#define OBUF_FRAME_MAX 2048    /* frames up to it are collected */
#define BURST_NS 20000.0       /* frames that follow each other so closely are gathered */
#define FLUSH_BYTES (4u << 20) /* then others get their turn */
#define HEADER_BYTES sizeof(struct mci_tcp_header)

/* nbytes more of the part have gone. */
static void part_advance(struct mci_tcp_part *part, size_t nbytes)
{
    size_t before = part->sent > HEADER_BYTES ? part->sent - HEADER_BYTES : 0;
    size_t after;

    part->sent += nbytes;
    after = part->sent > HEADER_BYTES ? part->sent - HEADER_BYTES : 0;
    if (after > part->header.frame.nbytes)
        after = part->header.frame.nbytes;
    if (!part->is_void && after > before)
        mci_iov_skip(&part->cur, after - before);
}

static void part_set_tx(struct mci_tcp_part *part, struct mci_tx *tx, size_t sent)
{
    memset(part, 0, sizeof(*part));
    part->is_active = true;
    part->tx = tx;
    part->header.frame = tx->frame;
    mci_iov_seek(&part->cur, tx->iov, tx->iov_count, 0);
    part_advance(part, sent);
    tx->sent = sent;
}

void mci_tcp_part_void(struct mci_tcp_part *part)
{
    size_t trailer_at = mci_tcp_item_nbytes(&part->header) - sizeof(struct mci_tcp_trailer);

    /* else the verdict has been begun, or there is none: no source is needed, and it will count */
    if (part->header.frame.nbytes > 0 && part->sent <= trailer_at)
        part->is_void = true;
    part->tx = NULL;
    part->out = NULL;
}

/* ---- the collected small frames ---- */
static bool obuf_get(struct mci_tcp_lane *lane)
{
    lane->obuf =
        mci_tcp.spare_obuf != NULL ? mci_tcp.spare_obuf : mci_mem_alloc(MCI_TCP_OBUF_BYTES);
    mci_tcp.spare_obuf = NULL;
    return lane->obuf != NULL;
}

static void obuf_put(struct mci_tcp_lane *lane)
{
    if (mci_tcp.spare_obuf == NULL)
        mci_tcp.spare_obuf = lane->obuf;
    else
        mci_mem_free(lane->obuf);
    lane->obuf = NULL;
    lane->obuf_begin = lane->obuf_end = 0;
    mci_list_remove(&lane->gathered.link);
}

/* ---- what goes out next ---- */
static bool is_idle(const struct mci_tcp_lane *lane)
{
    return !lane->part.is_active && lane->obuf_begin == lane->obuf_end &&
           mci_list_is_empty(&lane->queue);
}

bool mci_tcp_lane_is_drained(const struct mci_tcp_lane *lane)
{
    return is_idle(lane) && mci_list_is_empty(&lane->link->ready) &&
           mci_list_is_empty(&lane->link->unacked);
}

struct batch {
    struct mci_tcp_vec vec;
    struct mci_tcp_header headers[ITEM_MAX];
    struct mci_tx *txs[ITEM_MAX];
    int tx_count;
    bool is_part_first, is_part_last, has_obuf;
};

/* Items in order, until the vector is full; with is_single the first one only. */
static void batch_fill(struct mci_tcp_lane *lane, struct batch *b, bool is_single)
{
    struct mci_tcp_part *part = &lane->part;
    struct mci_list *node;

    b->vec.count = b->tx_count = 0;
    b->vec.nbytes = 0;
    b->is_part_first = b->is_part_last = b->has_obuf = false;
    if (part->is_active) {
        b->is_part_first = true;
        if (!mci_tcp_vec_add_item(&b->vec, &part->header, &part->cur, part->sent, part->is_void) ||
            is_single)
            return;
    }
    if (lane->obuf_begin < lane->obuf_end) {
        if (!mci_tcp_vec_add(&b->vec, lane->obuf + lane->obuf_begin,
                             lane->obuf_end - lane->obuf_begin))
            return;
        b->has_obuf = true;
        if (is_single)
            return;
    }
    MCI_LIST_FOREACH (node, &lane->queue) {
        struct mci_tx *tx = mci_container_of(node, struct mci_tx, link);
        struct mci_iov_cursor cur;
        int i = b->tx_count;

        if (tx == part->tx)
            continue;
        if (i == ITEM_MAX)
            return;
        b->headers[i] = (struct mci_tcp_header){.frame = tx->frame};
        b->txs[i] = tx;
        b->tx_count++;
        mci_iov_seek(&cur, tx->iov, tx->iov_count, 0);
        if (!mci_tcp_vec_add_item(&b->vec, &b->headers[i], &cur, 0, false) || is_single)
            return;
    }
    if (!part->is_active && b->vec.count < MCI_TCP_VEC_MAX && mci_tcp_slice_next(lane)) {
        b->is_part_last = true;
        mci_tcp_vec_add_item(&b->vec, &part->header, &part->cur, 0, false);
    }
}

/* n bytes of the part have gone: returns those beyond it. A finished frame moves to done. */
static size_t part_sent(struct mci_tcp_lane *lane, size_t n, struct mci_list *done)
{
    struct mci_tcp_part *part = &lane->part;
    size_t left = mci_tcp_item_nbytes(&part->header) - part->sent;

    if (n < left) {
        part_advance(part, n);
        if (part->tx != NULL)
            part->tx->sent = part->sent;
        return 0;
    }
    part->is_active = false;
    if (part->tx != NULL) {
        mci_list_remove(&part->tx->link);
        mci_list_push(done, &part->tx->link);
    }
    part->tx = NULL;
    part->out = NULL;
    return n - left;
}

static size_t obuf_sent(struct mci_tcp_lane *lane, size_t n)
{
    size_t left = lane->obuf_end - lane->obuf_begin;

    if (n < left) {
        lane->obuf_begin += (uint32_t)n;
        return 0;
    }
    obuf_put(lane);
    return n - left;
}

/* Book n sent bytes on the items of the batch. */
static void batch_sent(struct mci_tcp_lane *lane, struct batch *b, size_t n, struct mci_list *done)
{
    if (b->is_part_first)
        n = part_sent(lane, n, done);
    if (b->has_obuf)
        n = obuf_sent(lane, n);
    for (int i = 0; i < b->tx_count && n > 0; i++) {
        size_t nbytes = mci_tcp_item_nbytes(&b->headers[i]);

        if (n < nbytes) {
            part_set_tx(&lane->part, b->txs[i], n);
            return;
        }
        n -= nbytes;
        mci_list_remove(&b->txs[i]->link);
        mci_list_push(done, &b->txs[i]->link);
    }
    if (b->is_part_last && n > 0)
        part_sent(lane, n, done);
}

/* The first item alone has a source that cannot be read: it fails, the connection lives. */
static void fault_first(struct mci_tcp_lane *lane)
{
    struct mci_tcp_part *part = &lane->part;
    struct mci_tcp_out *out = part->out;
    struct mci_tx *tx = part->tx;

    if (!part->is_active) {
        if (mci_list_is_empty(&lane->queue))
            return;
        tx = mci_container_of(lane->queue.next, struct mci_tx, link);
        mci_tx_finish(tx, mci_err_set(MCOMM_ERR_BUFFER, "source memory is not readable"));
        return;
    }
    if (out != NULL) {
        mci_tcp_out_failed(out, mci_err_set(MCOMM_ERR_BUFFER, "source memory is not readable"));
        return;
    }
    if (part->sent == 0)
        part->is_active = false;
    mci_tcp_part_void(part);
    if (tx != NULL)
        mci_tx_finish(tx, mci_err_set(MCOMM_ERR_BUFFER, "source memory is not readable"));
}

static void finish_all(struct mci_list *done)
{
    struct mci_list *node;

    while ((node = mci_list_pop(done)) != NULL)
        mci_tx_finish(mci_container_of(node, struct mci_tx, link), MCOMM_SUCCESS);
}

static bool may_send(const struct mci_tcp_lane *lane)
{
    return lane->state == MCI_TCP_LANE_READY && !lane->is_blocked && !lane->is_broken;
}

void mci_tcp_lane_flush(struct mci_tcp_lane *lane)
{
    struct batch b;
    struct mci_list done;
    size_t total = 0;
    bool is_single = false;
    ssize_t n;

    if (lane->cork > 0)
        return;
    mci_tcp_lane_enter(lane);
    lane->cork++; /* what callbacks send joins the queue */
    mci_list_init(&done);
    while (may_send(lane)) {
        batch_fill(lane, &b, is_single);
        if (b.vec.nbytes == 0)
            break;
        n = mci_tcp_vec_send(lane, &b.vec);
        if (n < 0 && is_single)
            fault_first(lane);
        is_single = n < 0 && !is_single;
        if (n <= 0)
            continue;
        batch_sent(lane, &b, (size_t)n, &done);
        finish_all(&done);
        total += (size_t)n;
        if ((size_t)n < b.vec.nbytes || total >= FLUSH_BYTES)
            mci_tcp_lane_set_blocked(lane, true);
    }
    lane->cork--;
    mci_tcp_lane_leave(lane);
}

void mci_tcp_lane_uncork(struct mci_tcp_lane *lane)
{
    if (--lane->cork == 0 && lane->state == MCI_TCP_LANE_READY)
        mci_tcp_lane_flush(lane);
}

/* ---- a new frame ---- */
/* Into the collected small frames, if there is room and nothing is queued behind them. */
static bool obuf_add(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                     const mcomm_iov_t *iov, size_t iov_count, size_t nbytes)
{
    size_t total = HEADER_BYTES + nbytes + mci_tcp_tail_nbytes(nbytes);

    if (total > OBUF_FRAME_MAX || !mci_list_is_empty(&lane->queue) ||
        total > MCI_TCP_OBUF_BYTES - lane->obuf_end)
        return false;
    if (lane->obuf == NULL && !obuf_get(lane))
        return false;
    lane->obuf_end +=
        (uint32_t)mci_tcp_frame_pack(lane->obuf + lane->obuf_end, frame, iov, iov_count, nbytes);
    return true;
}

static mcomm_err_t queue_add(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                             const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                             struct mci_tx *tx, size_t sent)
{
    struct mci_tx *queued = tx;

    if (tx == NULL)
        queued = mci_tx_copy(frame, iov, iov_count, nbytes);
    else
        mci_tx_fill(tx, frame, iov, iov_count, nbytes);
    if (queued == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory to queue a frame of %zu bytes", nbytes);
    mci_list_push(&lane->queue, &queued->link);
    if (sent > 0)
        part_set_tx(&lane->part, queued, sent);
    return tx == NULL ? MCOMM_SUCCESS : MCI_PENDING;
}

/* Straight to the socket; the rest, if any, is queued. */
static mcomm_err_t send_direct(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                               const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                               struct mci_tx *tx)
{
    uint8_t buf[DIRECT_COPY_MAX];
    struct mci_tcp_header header = {.frame = *frame};
    struct mci_iov_cursor cur;
    struct mci_tcp_vec vec;
    bool is_all = true;
    mcomm_err_t err;
    ssize_t n;

    vec.count = 0;
    vec.nbytes = 0;
    if (mci_tcp_item_nbytes(&header) <= sizeof(buf)) {
        mci_tcp_vec_add(&vec, buf, mci_tcp_frame_pack(buf, frame, iov, iov_count, nbytes));
    } else {
        mci_iov_seek(&cur, iov, iov_count, 0);
        is_all = mci_tcp_vec_add_item(&vec, &header, &cur, 0, false);
    }
    n = mci_tcp_vec_send(lane, &vec);
    if (n < 0)
        return mci_err_set(MCOMM_ERR_BUFFER, "source memory of %zu bytes is not readable", nbytes);
    if ((size_t)n == vec.nbytes && is_all)
        return MCOMM_SUCCESS;
    err = queue_add(lane, frame, iov, iov_count, nbytes, tx, (size_t)n);
    if (err == MCOMM_ERR_NO_MEM) {
        if (n > 0) { /* half a frame is out: the stream cannot go on */
            lane->is_broken = true;
            shutdown(lane->io.fd, SHUT_RDWR);
        }
        return err;
    }
    if ((size_t)n < vec.nbytes && !lane->is_broken)
        mci_tcp_lane_set_blocked(lane, true);
    else
        mci_tcp_lane_flush(lane);
    return err;
}

/* Behind what was collected, which leaves first. */
static mcomm_err_t send_behind(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                               const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                               struct mci_tx *tx)
{
    mcomm_err_t err;

    mci_tcp_lane_enter(lane);
    mci_tcp_lane_flush(lane);
    if (lane->state == MCI_TCP_LANE_CLOSED)
        err = mci_err_set(MCOMM_ERR_PROC_FAILED, "the connection has just ended");
    else if (may_send(lane) && is_idle(lane))
        err = send_direct(lane, frame, iov, iov_count, nbytes, tx);
    else
        err = queue_add(lane, frame, iov, iov_count, nbytes, tx, 0);
    mci_tcp_lane_leave(lane);
    return err;
}

/*
 * A long frame that answers amid a round of receiving: it leaves now, behind what was collected. It
 * gains nothing by waiting for others, would have to be copied, and whoever asked would be idle.
 */
static mcomm_err_t send_amid(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                             const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                             struct mci_tx *tx)
{
    mcomm_err_t err;

    lane->cork--;
    err = send_behind(lane, frame, iov, iov_count, nbytes, tx);
    lane->cork++;
    return err;
}

mcomm_err_t mci_tcp_lane_send(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                              const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                              struct mci_tx *tx)
{
    if (lane->cork == 1 && lane->is_in_round && nbytes > OBUF_FRAME_MAX)
        return send_amid(lane, frame, iov, iov_count, nbytes, tx);
    if (lane->cork == 0 && may_send(lane)) {
        if (is_idle(lane))
            return send_direct(lane, frame, iov, iov_count, nbytes, tx);
        if (!obuf_add(lane, frame, iov, iov_count, nbytes))
            return send_behind(lane, frame, iov, iov_count, nbytes, tx);
        mci_tcp_lane_flush(lane);
        return MCOMM_SUCCESS;
    }
    if (obuf_add(lane, frame, iov, iov_count, nbytes))
        return MCOMM_SUCCESS;
    return queue_add(lane, frame, iov, iov_count, nbytes, tx, 0);
}

mcomm_err_t mci_tcp_lane_send_soon(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                                   const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                                   struct mci_tx *tx)
{
    uint64_t now = mci_clock_ticks();
    bool is_burst = (double)(now - lane->soon_at) * mci_clock_ns_per_tick < BURST_NS;

    lane->soon_at = now;
    if (is_burst && lane->cork == 0 && may_send(lane) &&
        obuf_add(lane, frame, iov, iov_count, nbytes)) {
        mci_defer(&lane->gathered);
        return MCOMM_SUCCESS;
    }
    return mci_tcp_lane_send(lane, frame, iov, iov_count, nbytes, tx);
}

void mci_tcp_lane_send_gathered(struct mci_deferred *work)
{
    mci_tcp_lane_flush(mci_container_of(work, struct mci_tcp_lane, gathered));
}

mcomm_err_t mci_tcp_ctl_send(struct mci_tcp_lane *lane, enum mci_tcp_ctl what, uint64_t w0,
                             uint32_t w1)
{
    struct mci_frame frame = {.am = MCI_AM_RAIL_CTL, .aux = (uint16_t)what, .w0 = w0, .w1 = w1};

    return mci_tcp_lane_send(lane, &frame, NULL, 0, 0, NULL);
}

bool mci_tcp_lane_unsend(struct mci_tcp_lane *lane, struct mci_tx *tx)
{
    struct mci_list *node;

    if (lane->part.is_active && lane->part.tx == tx) { /* half of it is out: the rest is zeros */
        mci_list_remove(&tx->link);
        mci_tcp_part_void(&lane->part);
        if (!lane->part.is_void) /* but for the rest of the trailer: it will be received */
            tx->done(tx, MCOMM_SUCCESS);
        return lane->part.is_void;
    }
    MCI_LIST_FOREACH (node, &lane->queue) {
        if (node == &tx->link) {
            mci_list_remove(node);
            return true;
        }
    }
    return false;
}

void mci_tcp_lane_drop_queue(struct mci_tcp_lane *lane, mcomm_err_t err)
{
    struct mci_list *node;

    lane->part.is_active = false;
    lane->part.tx = NULL;
    lane->part.out = NULL;
    obuf_put(lane);
    while ((node = mci_list_pop(&lane->queue)) != NULL)
        mci_tx_finish(mci_container_of(node, struct mci_tx, link), err);
}
