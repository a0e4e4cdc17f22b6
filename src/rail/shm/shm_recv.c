/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Receiving. A slot whose sequence number has come is complete; a payload in pieces is copied from
 * the ring to its place as the flags come. The receiver also finds out how far apart the two cores
 * are: it times loads that bring a new value, which are pure cache misses (20-50 ns near, over 130
 * far), and tells the sender which kind of store to use. Every number that is read from the shared
 * memory is checked: a wild one breaks the connection, not the process.
 */
#include "config.h"

#include "base/copy.h"
#include "base/log.h"
#include "rail/shm/shm_priv.h"

#define FRAMES_PER_POLL 32
#define RING_ACK 16384u
#define PLACE_IOVS 8

static int recv_broken(struct mci_shm_conn *conn, const char *what, uint64_t value)
{
    mci_log_warn("shm rail: peer %d: %s is %#llx", conn->peer->world_rank, what,
                 (unsigned long long)value);
    conn->is_broken = true;
    conn->rx_left = 0;
    return 0;
}

/* ---- near or far ---- */
static void miss_sample(struct mci_shm_conn *conn, uint64_t ticks)
{
    bool was_near = conn->rx_near.is_near, is_near;

    mci_near_sample(&conn->rx_near, ticks);
    is_near = conn->rx_near.is_near;
    if (is_near == was_near)
        return;
    atomic_store_explicit(&conn->peer->is_near, is_near, memory_order_relaxed);
    atomic_store_explicit(&conn->rx_back->is_near, is_near, memory_order_relaxed);
    mci_log_trace("shm rail: peer %d is %s", conn->peer->world_rank, is_near ? "near" : "far");
}

/* ---- places ---- */
static void place_sink(struct mci_shm_conn *conn, const char *src, size_t nbytes)
{
    void *dst;
    size_t n;

    while (nbytes > 0 && (n = mci_iov_next(&conn->rx_cursor, nbytes, &dst)) > 0) {
        memcpy(dst, src, n);
        src += n;
        nbytes -= n;
    }
}

static void place_inop(struct mci_shm_conn *conn, const char *src, size_t nbytes)
{
    mcomm_iov_t iov[PLACE_IOVS];
    size_t count, covered;

    while (nbytes > 0) {
        covered = mci_inop_pieces(conn->rx_inop, conn->rx_offset, nbytes, iov, PLACE_IOVS, &count);
        if (covered == 0)
            break; /* the place is smaller than the operation */
        for (size_t i = 0; i < count; i++) {
            if (mci_inop_is_sweep())
                mci_copy_stream(iov[i].base, src, iov[i].nbytes);
            else
                mci_copy(iov[i].base, src, iov[i].nbytes, MCI_COPY_NO_STREAM);
            src += iov[i].nbytes;
        }
        conn->rx_offset += covered;
        nbytes -= covered;
    }
}

static void place(struct mci_shm_conn *conn, const char *src, size_t nbytes)
{
    if (conn->rx_inop != NULL)
        place_inop(conn, src, nbytes);
    else if (!conn->rx_is_slice)
        place_sink(conn, src, nbytes);
}

static void payload_complete(struct mci_shm_conn *conn)
{
    struct mci_inop *op = conn->rx_inop;
    struct mci_sink sink = conn->rx_sink;

    conn->rx_inop = NULL;
    conn->rx_sink = (struct mci_sink){0};
    if (op != NULL)
        mci_inop_slice_end(op, conn->rx_slice_offset, conn->rx_slice_nbytes);
    else if (!conn->rx_is_slice && sink.done != NULL)
        sink.done(sink.arg, MCOMM_SUCCESS);
}

void mci_shm_recv_abort(struct mci_shm_conn *conn, mcomm_err_t err)
{
    struct mci_inop *op = conn->rx_inop;
    struct mci_sink sink = conn->rx_sink;

    conn->rx_left = 0;
    conn->rx_inop = NULL;
    conn->rx_sink = (struct mci_sink){0};
    if (op != NULL)
        mci_inop_slice_drop(op);
    if (sink.done != NULL)
        sink.done(sink.arg, err);
}

void mci_shm_inop_closing(struct mci_peer *peer, struct mci_inop *op)
{
    struct mci_shm_conn *conn = peer->conn;

    if (conn == NULL || conn->rx_inop != op)
        return;
    conn->rx_inop = NULL; /* the rest goes nowhere */
    mci_inop_slice_drop(op);
}

/* ---- payloads in pieces ---- */
static inline void ring_ack(struct mci_shm_conn *conn)
{
    conn->rx_acked = conn->rx_pos;
    atomic_store_explicit(&conn->rx_back->ring_done, conn->rx_pos, memory_order_release);
    mci_doorbell_ring(conn->bell);
}

static inline void ring_consumed(struct mci_shm_conn *conn, size_t nbytes, bool is_end)
{
    conn->rx_pos += nbytes;
    if (is_end)
        conn->rx_pos = (conn->rx_pos + MCI_SHM_ALIGN - 1) & ~(uint64_t)(MCI_SHM_ALIGN - 1);
    if (conn->rx_pos - conn->rx_acked >= RING_ACK)
        ring_ack(conn);
}

/* nbytes of the current payload have come; the mapping ends MCI_SHM_WRAP behind the ring. */
static void ring_take(struct mci_shm_conn *conn, size_t nbytes)
{
    while (nbytes > 0) {
        size_t n = nbytes < MCI_SHM_WRAP ? nbytes : MCI_SHM_WRAP;

        place(conn, conn->rx_ring + (conn->rx_pos & conn->ring_mask), n);
        conn->rx_left -= n;
        ring_consumed(conn, n, conn->rx_left == 0);
        nbytes -= n;
    }
}

static int recv_pieces(struct mci_shm_conn *conn)
{
    int pieces = 0;

    while (conn->rx_left > 0) {
        uint64_t at = conn->rx_pos & conn->ring_mask;
        _Atomic uint64_t *flag = (void *)(conn->rx_flags + at / MCI_SHM_UNIT * MCI_SHM_FLAG_STRIDE);
        uint64_t end, ticks, n;

        if (conn->rx_is_first) {
            end = mci_near_load(flag, &ticks);
            if ((int64_t)(end - conn->rx_pos) <= 0)
                break;
            miss_sample(conn, ticks);
            conn->rx_is_first = false;
        } else {
            end = atomic_load_explicit(flag, memory_order_acquire);
            if ((int64_t)(end - conn->rx_pos) <= 0)
                break;
        }
        /*
         * A later payload may have overwritten the flag, even one of the next lap where the unit
         * was partly acknowledged: all before came.
         */
        n = end - conn->rx_pos;
        if (n > conn->ring_mask + 1)
            return recv_broken(conn, "a ring flag", end);
        ring_take(conn, n < conn->rx_left ? n : conn->rx_left);
        pieces++;
    }
    return pieces;
}

static inline struct mci_shm_slot *slot_ready(struct mci_shm_conn *conn)
{
    struct mci_shm_slot *slot = &conn->rx_slots[conn->rx_seq % MCI_SHM_SLOTS];
    uint32_t seq;

    if (mci_unlikely(mci_shm_slot_is_timed(conn))) {
        uint64_t begin = mci_clock_ticks(), ticks;

        seq = atomic_load_explicit(&slot->seq, memory_order_acquire);
        ticks = mci_near_elapsed(begin);
        conn->rx_looks++;
        if (seq != conn->rx_seq + 1)
            return NULL;
        conn->rx_looks = 0;
        miss_sample(conn, ticks);
        return slot;
    }
    seq = atomic_load_explicit(&slot->seq, memory_order_acquire);
    return seq == conn->rx_seq + 1 ? slot : NULL;
}

/* rx_seq has moved past the slot and nobody reads it any more. */
static inline void slot_consumed(struct mci_shm_conn *conn)
{
    if (conn->rx_seq % MCI_SHM_SLOT_ACK != 0)
        return;
    atomic_store_explicit(&conn->rx_back->slots_done, conn->rx_seq, memory_order_release);
    mci_doorbell_ring(conn->bell);
}

static int recv_chunks(struct mci_shm_conn *conn)
{
    struct mci_shm_slot *slot;
    int chunks = 0;

    while (conn->rx_left > 0 && (slot = slot_ready(conn)) != NULL) {
        size_t n = conn->rx_left < MCI_SHM_CHUNK ? conn->rx_left : MCI_SHM_CHUNK;

        place(conn, (const char *)slot, n);
        conn->rx_left -= n;
        conn->rx_seq++;
        slot_consumed(conn);
        chunks++;
    }
    return chunks;
}

/* ---- frames ---- */
static bool long_is_sane(struct mci_shm_conn *conn, const struct mci_frame *frame,
                         const struct mci_shm_long *head)
{
    uint32_t max = frame->am == MCI_AM_RAIL_SLICE ? MCI_SHM_SLICE : MCI_FRAME_MAX;

    if (frame->nbytes == 0 || frame->nbytes > max) {
        recv_broken(conn, "a payload's length", frame->nbytes);
        return false;
    }
    if (head->how == MCI_SHM_CHUNKS)
        return true;
    if (conn->rx_ring == NULL || head->pos != conn->rx_pos) {
        recv_broken(conn, "a payload's position", head->pos);
        return false;
    }
    if (head->how == MCI_SHM_STREAM ||
        (head->how == MCI_SHM_WHOLE && frame->nbytes <= MCI_SHM_SMALL))
        return true;
    recv_broken(conn, "a payload's kind", head->how);
    return false;
}

static void whole_deliver(struct mci_shm_conn *conn, const struct mci_frame *frame)
{
    struct mci_sink sink = {0};

    mci_rail_deliver(conn->peer, frame, conn->rx_ring + (conn->rx_pos & conn->ring_mask), &sink);
    ring_consumed(conn, frame->nbytes, true);
}

static void stream_deliver(struct mci_shm_conn *conn, const struct mci_frame *frame,
                           const struct mci_shm_long *head)
{
    struct mci_sink sink = {0};

    conn->rx_is_slice = frame->am == MCI_AM_RAIL_SLICE;
    conn->rx_how = head->how;
    conn->rx_is_first = true;
    if (conn->rx_is_slice) {
        conn->rx_inop = mci_inop_slice_begin(conn->peer, frame->w0, head->offset, frame->nbytes);
        conn->rx_offset = conn->rx_slice_offset = head->offset;
        conn->rx_slice_nbytes = frame->nbytes;
    } else {
        mci_rail_deliver(conn->peer, frame, NULL, &sink);
        if (conn->is_closed) {
            if (sink.done != NULL)
                sink.done(sink.arg, MCOMM_ERR_PROC_FAILED);
            return;
        }
        conn->rx_sink = sink;
        mci_iov_seek(&conn->rx_cursor, sink.iov, sink.iov_count, 0);
    }
    conn->rx_left = frame->nbytes;
}

static void long_deliver(struct mci_shm_conn *conn, const struct mci_frame *frame,
                         const struct mci_shm_slot *slot)
{
    struct mci_shm_long head;

    memcpy(&head, slot->rest, sizeof(head));
    if (!long_is_sane(conn, frame, &head))
        return;
    if (head.how == MCI_SHM_WHOLE)
        whole_deliver(conn, frame);
    else
        stream_deliver(conn, frame, &head);
}

static void slot_deliver(struct mci_shm_conn *conn, struct mci_shm_slot *slot)
{
    struct mci_frame frame = slot->frame; /* ours: what is checked cannot change */
    struct mci_sink sink = {0};

    conn->rx_seq++;
    if (mci_likely(frame.nbytes <= MCI_INLINE_MAX && frame.am != MCI_AM_RAIL_SLICE))
        mci_rail_deliver(conn->peer, &frame, slot->rest, &sink);
    else
        long_deliver(conn, &frame, slot);
    slot_consumed(conn);
}

int mci_shm_recv(struct mci_shm_conn *conn)
{
    int events = 0;

    while (events < FRAMES_PER_POLL && !conn->is_closed && !conn->is_broken) {
        struct mci_shm_slot *slot;

        if (conn->rx_left > 0) {
            int pieces = conn->rx_how == MCI_SHM_CHUNKS ? recv_chunks(conn) : recv_pieces(conn);

            events += pieces;
            if (conn->rx_left > 0 || conn->is_broken)
                break;
            payload_complete(conn);
            continue;
        }
        slot = slot_ready(conn);
        if (slot == NULL)
            break;
        slot_deliver(conn, slot);
        events++;
    }
    return events;
}

void mci_shm_drain(struct mci_shm_conn *conn)
{
    while (!conn->is_closed && !conn->is_broken && mci_shm_recv(conn) > 0)
        ;
}
