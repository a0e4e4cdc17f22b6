/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Receiving on a lane. Large payloads go from the socket straight to their place: one call reads
 * the rest of a payload and the next header. Small frames are parsed out of one buffer that all
 * lanes share, since the engine lock is held. Invariants: a frame reaches its module only with a
 * good trailer (or its sink is told otherwise), and no byte is written but into the stash, the sink
 * or the pieces that the operation names at that moment.
 */
#include "config.h"

#include "base/log.h"
#include "base/wait.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PIECE_MAX 32
#define ROUND_BYTES (1u << 20) /* then other descriptors get their turn */
#define HEADER_BYTES sizeof(struct mci_tcp_header)
#define TRAILER_BYTES sizeof(struct mci_tcp_trailer)

_Static_assert(sizeof(struct iovec) == sizeof(mcomm_iov_t) &&
                   offsetof(struct iovec, iov_len) == offsetof(mcomm_iov_t, nbytes),
               "mcomm_iov_t may be used as struct iovec");

static uint8_t rx_buf[MCI_TCP_RX_BYTES] __attribute__((aligned(64)));
static uint8_t scratch[65536];
static uint8_t aligned_payload[MCI_TCP_WHOLE_MAX] __attribute__((aligned(64)));
static uint8_t stash_reserve[MCI_TCP_WHOLE_MAX] __attribute__((aligned(64)));
static bool is_reserve_taken; /* lock: engine */

/* A moment without memory is no reason to give up a peer: one frame has a place of its own. */
static uint8_t *stash_new(size_t nbytes)
{
    uint8_t *stash = mci_mem_alloc(nbytes);

    if (stash != NULL || is_reserve_taken)
        return stash;
    is_reserve_taken = true;
    return stash_reserve;
}

static void stash_free(uint8_t *stash)
{
    if (stash == stash_reserve)
        is_reserve_taken = false;
    else
        mci_mem_free(stash);
}

static size_t payload_left(const struct mci_tcp_rx *rx)
{
    return rx->header_have == HEADER_BYTES ? rx->header.frame.nbytes - rx->done : 0;
}

static uint64_t slice_offset(const struct mci_frame *frame)
{
    return frame->w1 | (uint64_t)frame->w2 << 32;
}

/* ---- places ---- */
static size_t targets_scratch(size_t left, mcomm_iov_t *iov, int *count_p)
{
    size_t sum = 0;

    for (*count_p = 0; sum < left && *count_p < PIECE_MAX; sum += iov[(*count_p)++].nbytes)
        iov[*count_p] =
            (mcomm_iov_t){scratch, left - sum < sizeof(scratch) ? left - sum : sizeof(scratch)};
    return sum;
}

/* Where the next bytes of the payload go: at most PIECE_MAX pieces, returns their bytes. */
static size_t targets(const struct mci_tcp_rx *rx, mcomm_iov_t *iov, int *count_p)
{
    size_t left = payload_left(rx), sum = 0, count = 0, n;
    struct mci_iov_cursor cur = rx->cur;
    void *ptr;

    *count_p = 0;
    if (left == 0)
        return 0;
    if (rx->kind == MCI_TCP_RX_STASH) {
        iov[0] = (mcomm_iov_t){rx->stash + rx->done, left};
        *count_p = 1;
        return left;
    }
    if (rx->kind == MCI_TCP_RX_SLICE)
        sum = mci_inop_pieces(rx->op, slice_offset(&rx->header.frame) + rx->done, left, iov,
                              PIECE_MAX, &count);
    while (rx->kind == MCI_TCP_RX_SINK && count < PIECE_MAX &&
           (n = mci_iov_next(&cur, left - sum, &ptr)) > 0) {
        iov[count++] = (mcomm_iov_t){ptr, n};
        sum += n;
    }
    *count_p = (int)count;
    return sum > 0 ? sum : targets_scratch(left, iov, count_p);
}

/* nbytes of payload are in their place. */
static void rx_advance(struct mci_tcp_rx *rx, size_t nbytes)
{
    rx->done += nbytes;
    if (rx->kind == MCI_TCP_RX_SINK)
        mci_iov_skip(&rx->cur, nbytes);
}

static void rx_store(struct mci_tcp_rx *rx, const uint8_t *buf, size_t nbytes)
{
    mcomm_iov_t iov[PIECE_MAX];
    int count;

    while (nbytes > 0) {
        size_t sum = 0;

        targets(rx, iov, &count);
        for (int i = 0; i < count && nbytes > 0; i++) {
            size_t n = iov[i].nbytes < nbytes ? iov[i].nbytes : nbytes;

            if (iov[i].base != scratch)
                memcpy(iov[i].base, buf, n);
            buf += n;
            nbytes -= n;
            sum += n;
        }
        rx_advance(rx, sum);
    }
}

static void rx_reset(struct mci_tcp_rx *rx)
{
    rx->header_have = rx->done = rx->tail_have = 0;
    rx->kind = MCI_TCP_RX_SCRATCH;
    rx->op = NULL;
    rx->stash = NULL;
    memset(&rx->sink, 0, sizeof(rx->sink));
}

void mci_tcp_rx_forget(struct mci_tcp_lane *lane, struct mci_inop *op)
{
    struct mci_tcp_rx *rx = &lane->rx;

    if (rx->kind != MCI_TCP_RX_SLICE || rx->op != op)
        return;
    mci_inop_slice_drop(op);
    rx->op = NULL;
    rx->kind = MCI_TCP_RX_SCRATCH;
}

void mci_tcp_rx_drop(struct mci_tcp_lane *lane, mcomm_err_t err)
{
    struct mci_tcp_rx rx = lane->rx;

    rx_reset(&lane->rx);
    if (rx.kind == MCI_TCP_RX_SLICE)
        mci_inop_slice_drop(rx.op);
    else if (rx.kind == MCI_TCP_RX_STASH)
        stash_free(rx.stash);
    else if (rx.kind == MCI_TCP_RX_SINK && rx.sink.done != NULL)
        rx.sink.done(rx.sink.arg, err);
}

/* ---- frames ---- */
static void ctl_handle(struct mci_tcp_lane *lane, const struct mci_frame *frame)
{
    switch (frame->aux) {
    case MCI_TCP_CTL_ACCEPT:
        if (lane->state == MCI_TCP_LANE_WAITING)
            mci_tcp_lane_use(lane);
        else
            mci_tcp_lane_violation(lane, "accepted twice");
        return;
    case MCI_TCP_CTL_BYE:
        lane->is_bye = true;
        return;
    case MCI_TCP_CTL_ABORT:
        mci_inop_abort(lane->link->peer, frame->w0,
                       frame->w1 == MCOMM_ERR_BUFFER ? MCOMM_ERR_BUFFER : MCOMM_ERR_CANCELLED);
        return;
    default:
        mci_tcp_lane_violation(lane, "control frame %u", frame->aux);
    }
}

/* NULL, or what is wrong with a header. */
static const char *header_check(const struct mci_tcp_lane *lane, const struct mci_tcp_header *h)
{
    bool is_ctl = h->frame.am == MCI_AM_RAIL_CTL;

    if (h->frame.am >= MCI_AM_MAX || h->frame.am == MCI_AM_NONE ||
        (h->frame.am > MCI_AM_RAIL_CTL && h->frame.am < MCI_AM_P2P_EAGER))
        return "unknown kind of frame";
    if (lane->state == MCI_TCP_LANE_WAITING && (!is_ctl || h->frame.aux != MCI_TCP_CTL_ACCEPT))
        return "frame before the connection was accepted";
    if (lane->is_bye)
        return "frame after the last one";
    if (h->frame.am == MCI_AM_RAIL_SLICE)
        return h->frame.nbytes == 0 || h->frame.nbytes > MCI_TCP_SLICE_MAX ? "length of a slice"
                                                                           : NULL;
    if (h->generation != 0 || h->deadline_ms != 0)
        return "generation in a frame that is no slice";
    if ((is_ctl || h->frame.am == MCI_AM_RAIL_ACK) && h->frame.nbytes != 0)
        return "control frame with a payload";
    if (h->frame.am == MCI_AM_P2P_EAGER || h->frame.am == MCI_AM_P2P_RTS)
        return h->frame.nbytes > MCI_EAGER_MAX ? "length of a message" : NULL;
    return h->frame.nbytes > MCI_FRAME_MAX ? "length of a frame" : NULL;
}

/* The frames without payload. */
static void frame_short(struct mci_tcp_lane *lane, const struct mci_frame *frame)
{
    struct mci_sink sink = {0};
    const char *wrong = NULL;

    if (frame->am == MCI_AM_RAIL_CTL)
        ctl_handle(lane, frame);
    else if (frame->am == MCI_AM_RAIL_ACK)
        wrong = mci_tcp_ack_handle(lane, frame);
    else
        mci_rail_deliver(lane->link->peer, frame, aligned_payload, &sink);
    if (wrong != NULL)
        mci_tcp_lane_violation(lane, "%s", wrong);
}

/* The payload is still arriving: ask the frame's module where it goes. */
static void frame_stream(struct mci_tcp_lane *lane)
{
    struct mci_tcp_rx *rx = &lane->rx;
    struct mci_frame frame = rx->header.frame;
    struct mci_sink sink = {0};

    rx->window = MCI_TCP_RX_SMALL;
    mci_rail_deliver(lane->link->peer, &frame, NULL, &sink);
    if (lane->state == MCI_TCP_LANE_CLOSED) {
        if (sink.done != NULL)
            sink.done(sink.arg, MCOMM_ERR_PROC_FAILED);
        return;
    }
    rx->kind = MCI_TCP_RX_SINK;
    rx->sink = sink;
    mci_iov_seek(&rx->cur, sink.iov, sink.iov_count, 0);
}

static void slice_begin(struct mci_tcp_lane *lane)
{
    struct mci_tcp_rx *rx = &lane->rx;
    const struct mci_frame *frame = &rx->header.frame;

    rx->window = MCI_TCP_RX_SMALL;
    rx->op = mci_inop_slice_begin(lane->link->peer, frame->w0, slice_offset(frame), frame->nbytes);
    rx->kind = rx->op != NULL ? MCI_TCP_RX_SLICE : MCI_TCP_RX_SCRATCH;
}

/* 1: good, 0: void, -1: neither. */
static int verdict(const uint8_t *tail)
{
    struct mci_tcp_trailer trailer;

    memcpy(&trailer, tail, sizeof(trailer));
    return trailer.verdict == MCI_TCP_GOOD ? 1 : trailer.verdict == MCI_TCP_VOID ? 0 : -1;
}

/* A frame of a module that lies whole in the buffer; it may be moved for its alignment's sake. */
static void frame_whole(struct mci_tcp_lane *lane, const struct mci_frame *frame,
                        const uint8_t *payload)
{
    struct mci_sink sink = {0};
    size_t tail_nbytes = mci_tcp_tail_nbytes(frame->nbytes);
    int good = verdict(payload + frame->nbytes + tail_nbytes - TRAILER_BYTES);

    if (good < 0) {
        mci_tcp_lane_violation(lane, "trailer of a frame");
        return;
    }
    if (good == 0)
        return;
    if ((uintptr_t)payload % 8 != 0) {
        memcpy(aligned_payload, payload, frame->nbytes);
        payload = aligned_payload;
    }
    mci_rail_deliver(lane->link->peer, frame, payload, &sink);
}

/*
 * A header is complete, the next left bytes behind it are at buf. Returns how many of them belong
 * to a frame that has been dealt with at once.
 */
static size_t frame_begin(struct mci_tcp_lane *lane, const uint8_t *buf, size_t left)
{
    struct mci_tcp_rx *rx = &lane->rx;
    struct mci_frame frame = rx->header.frame;
    size_t total = frame.nbytes + mci_tcp_tail_nbytes(frame.nbytes);
    const char *wrong = header_check(lane, &rx->header);

    if (wrong != NULL) {
        mci_tcp_lane_violation(lane, "%s (kind %u, %u bytes)", wrong, frame.am, frame.nbytes);
        return 0;
    }
    if (frame.nbytes == 0) {
        rx_reset(rx);
        frame_short(lane, &frame);
        return 0;
    }
    if (frame.am == MCI_AM_RAIL_SLICE) {
        slice_begin(lane);
        return 0;
    }
    if (left >= total && (frame.nbytes <= MCI_TCP_WHOLE_MAX || (uintptr_t)buf % 8 == 0)) {
        rx_reset(rx);
        frame_whole(lane, &frame, buf);
        return total;
    }
    if (frame.nbytes > MCI_TCP_WHOLE_MAX) {
        frame_stream(lane);
        return 0;
    }
    rx->stash = stash_new(frame.nbytes);
    if (rx->stash == NULL)
        mci_tcp_lane_violation(lane, "no memory for a frame of %u bytes", frame.nbytes);
    else
        rx->kind = MCI_TCP_RX_STASH;
    return 0;
}

/* Acknowledged before what done sends: the sender learns in this order that all has arrived. */
static void slice_end(struct mci_tcp_lane *lane, const struct mci_tcp_rx *rx, int good)
{
    const struct mci_frame *frame = &rx->header.frame;

    bool is_last = rx->op->received + frame->nbytes >= rx->op->nbytes;

    if (!good)
        mci_inop_slice_drop(rx->op);
    mci_tcp_ack_slice(lane, &rx->header, good ? 0 : MCI_TCP_ACK_LATE);
    if (!good)
        return;
    if (is_last && lane->state == MCI_TCP_LANE_READY)
        mci_tcp_ack_emit(lane);
    if (lane->state == MCI_TCP_LANE_READY) /* else the operation has failed with the peer */
        mci_inop_slice_end(rx->op, slice_offset(frame), frame->nbytes);
}

/* Payload and tail are there. */
static void frame_end(struct mci_tcp_lane *lane)
{
    struct mci_tcp_rx rx = lane->rx;
    const struct mci_frame *frame = &rx.header.frame;
    int good = verdict(rx.tail + rx.tail_have - TRAILER_BYTES);
    struct mci_sink sink = {0};

    if (good < 0) {
        mci_tcp_lane_violation(lane, "trailer of a frame");
        return;
    }
    rx_reset(&lane->rx);
    switch (rx.kind) {
    case MCI_TCP_RX_SLICE:
        slice_end(lane, &rx, good);
        break;
    case MCI_TCP_RX_SCRATCH:
        if (frame->am == MCI_AM_RAIL_SLICE)
            mci_tcp_ack_slice(lane, &rx.header, MCI_TCP_ACK_LATE);
        break;
    case MCI_TCP_RX_SINK:
        if (rx.sink.done != NULL)
            rx.sink.done(rx.sink.arg, good ? MCOMM_SUCCESS : MCOMM_ERR_CANCELLED);
        break;
    case MCI_TCP_RX_STASH:
        if (good)
            mci_rail_deliver(lane->link->peer, frame, rx.stash, &sink);
        stash_free(rx.stash);
        break;
    }
}

static size_t fill(uint8_t *dst, size_t *have, size_t need, const uint8_t *buf, size_t nbytes)
{
    size_t n = need - *have < nbytes ? need - *have : nbytes;

    memcpy(dst + *have, buf, n);
    *have += n;
    return n;
}

bool mci_tcp_rx_feed(struct mci_tcp_lane *lane, const uint8_t *buf, size_t nbytes)
{
    struct mci_tcp_rx *rx = &lane->rx;
    const uint8_t *end = buf + nbytes;

    while (buf < end && lane->state != MCI_TCP_LANE_CLOSED) {
        size_t left = (size_t)(end - buf), n = payload_left(rx);
        size_t tail_nbytes = mci_tcp_tail_nbytes(rx->header.frame.nbytes);

        if (rx->header_have < HEADER_BYTES) {
            buf += fill((uint8_t *)&rx->header, &rx->header_have, HEADER_BYTES, buf, left);
            if (rx->header_have == HEADER_BYTES)
                buf += frame_begin(lane, buf, (size_t)(end - buf));
        } else if (n > 0) {
            n = n < left ? n : left;
            rx_store(rx, buf, n);
            buf += n;
        } else {
            buf += fill(rx->tail, &rx->tail_have, tail_nbytes, buf, left);
            if (rx->tail_have == tail_nbytes)
                frame_end(lane);
        }
    }
    return lane->state != MCI_TCP_LANE_CLOSED;
}

/* ---- the socket ---- */
/* The place of the payload is not writable: the operation fails, the bytes are thrown away. */
static void place_vanished(struct mci_tcp_lane *lane)
{
    struct mci_tcp_rx *rx = &lane->rx;
    struct mci_sink sink = rx->sink;
    struct mci_inop *op = rx->op;

    if (rx->kind == MCI_TCP_RX_SLICE) {
        mci_inop_abort(lane->link->peer, op->id,
                       mci_err_set(MCOMM_ERR_BUFFER, "the place of a transfer is not writable"));
    } else if (rx->kind == MCI_TCP_RX_SINK) {
        rx->kind = MCI_TCP_RX_SCRATCH;
        memset(&rx->sink, 0, sizeof(rx->sink));
        if (sink.done != NULL)
            sink.done(sink.arg, mci_err_set(MCOMM_ERR_BUFFER, "a receive buffer is not writable"));
    }
}

/* One system call. True: there may be more. */
static bool receive_once(struct mci_tcp_lane *lane, size_t *total)
{
    struct mci_tcp_rx *rx = &lane->rx;
    mcomm_iov_t iov[PIECE_MAX + 1];
    int count;
    size_t direct = targets(rx, iov, &count), want = direct, into_place;
    struct msghdr msg = {.msg_iov = (struct iovec *)iov};
    ssize_t n;

    if (direct == payload_left(rx)) {
        iov[count++] = (mcomm_iov_t){rx_buf, rx->window};
        want += rx->window;
    }
    msg.msg_iovlen = (size_t)count;
    n = count == 1 ? recv(lane->io.fd, iov[0].base, iov[0].nbytes, MSG_DONTWAIT)
                   : recvmsg(lane->io.fd, &msg, MSG_DONTWAIT);
    if (n < 0 && errno == EFAULT) {
        place_vanished(lane);
        return lane->state != MCI_TCP_LANE_CLOSED;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        mci_tcp_lane_lost(lane, n < 0 ? errno : 0);
        return false;
    }
    into_place = (size_t)n < direct ? (size_t)n : direct;
    rx_advance(rx, into_place);
    *total += (size_t)n;
    if (!mci_tcp_rx_feed(lane, rx_buf, (size_t)n - into_place))
        return false;
    if ((size_t)n == want && direct == 0 && rx->window < MCI_TCP_RX_BYTES)
        rx->window *= 2; /* many small frames: read more of them at once */
    return (size_t)n == want;
}

bool mci_tcp_lane_receive(struct mci_tcp_lane *lane)
{
    size_t total = 0;

    mci_tcp_lane_enter(lane);
    lane->cork++; /* answers of a round leave together */
    lane->is_in_round = true;
    while (total < ROUND_BYTES && receive_once(lane, &total))
        ;
    lane->is_in_round = false;
    if (lane->state == MCI_TCP_LANE_READY)
        mci_tcp_ack_emit(lane);
    mci_tcp_lane_uncork(lane);
    if (total > 0)
        mci_wake_self();
    mci_tcp_lane_leave(lane);
    return total > 0;
}
