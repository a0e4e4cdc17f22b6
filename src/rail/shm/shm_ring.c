/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Sending frames. Up to 36 bytes travel in the slot's own line; up to 4 KiB are put into the ring
 * before their slot is published; more comes in growing pieces after the slot, so that both cores
 * copy at the same time. Slots and ring positions are used in one order: a payload that is half
 * sent holds up all that follows. What finds no room waits in a queue that the poller pumps.
 */
#include "config.h"

#include "base/copy.h"
#include "base/log.h"
#include "rail/shm/shm_priv.h"

#define WHOLE_NEAR 2048u /* longer payloads are faster in pieces */
#define PIECE_FIRST_NEAR 8192u
#define PIECE_FIRST_FAR 4096u
#define PIECE_NEAR 16384u
#define PIECE_FAR 32768u
#define SLICES_PER_POLL 2
#define CLAIM_MAX 1024u /* bytes of the ring fetched for writing ahead */
#define NT_MIN 256u     /* smaller whole payloads are stored through the caches in any mode */

enum sent {
    SENT_NOT,  /* no room: nothing happened */
    SENT_PART, /* is now the current payload */
    SENT_ALL
};

static inline uint64_t lines_up(uint64_t nbytes)
{
    return (nbytes + MCI_SHM_ALIGN - 1) & ~(uint64_t)(MCI_SHM_ALIGN - 1);
}

static inline bool slot_has_room(struct mci_shm_conn *conn)
{
    if (mci_likely(conn->tx_seq - conn->tx_slots_done < MCI_SHM_SLOTS))
        return true;
    conn->tx_slots_done = atomic_load_explicit(&conn->tx_back->slots_done, memory_order_acquire);
    if (mci_unlikely(conn->tx_seq - conn->tx_slots_done > MCI_SHM_SLOTS)) {
        conn->is_broken = conn->tx_is_waiting = true;
        return false;
    }
    return conn->tx_seq - conn->tx_slots_done < MCI_SHM_SLOTS;
}

static inline struct mci_shm_slot *slot_next(struct mci_shm_conn *conn)
{
    return &conn->tx_slots[conn->tx_seq % MCI_SHM_SLOTS];
}

static inline void slot_publish(struct mci_shm_conn *conn, struct mci_shm_slot *slot)
{
    atomic_store_explicit(&slot->seq, ++conn->tx_seq, memory_order_release);
    mci_doorbell_ring(conn->bell);
}

static inline void slot_send(struct mci_shm_conn *conn, const struct mci_frame *frame,
                             const mcomm_iov_t *iov, size_t iov_count)
{
    struct mci_shm_slot *slot = slot_next(conn);
    uint8_t *out = slot->rest;

    slot->frame = *frame;
    for (size_t i = 0; i < iov_count; i++) {
        mci_copy_short(out, iov[i].base, iov[i].nbytes);
        out += iov[i].nbytes;
    }
    slot_publish(conn, slot);
}

/*
 * One unit always stays free: a piece that begins in the unit where the receiver still reads, one
 * lap ahead, would overwrite the flag it waits for.
 */
static bool ring_has_room(struct mci_shm_conn *conn, uint64_t nbytes)
{
    uint64_t size = conn->ring_mask + 1 - MCI_SHM_UNIT;

    if (mci_likely(conn->tx_pos + nbytes - conn->tx_ring_done <= size))
        return true;
    conn->tx_ring_done = atomic_load_explicit(&conn->tx_back->ring_done, memory_order_acquire);
    if (mci_unlikely(conn->tx_pos - conn->tx_ring_done > size)) {
        conn->is_broken = conn->tx_is_waiting = true;
        return false;
    }
    return conn->tx_pos + nbytes - conn->tx_ring_done <= size;
}

/* Before a payload begins, its part of the ring has memory. false: no ring, from now on. */
static bool ring_prepare(struct mci_shm_conn *conn, uint64_t nbytes)
{
    if (conn->tx_ring == NULL)
        return false;
    while (mci_unlikely(conn->tx_grown < conn->tx_pos + nbytes)) {
        if (conn->tx_grown > conn->ring_mask) {
            conn->tx_grown = UINT64_MAX;
            break;
        }
        if (mci_shm_seg_grow(&conn->seg, conn->dir_tx, conn->tx_grown) != MCOMM_SUCCESS) {
            mci_log_warn("no memory for the shared ring to rank %d: going on slowly without it",
                         conn->peer->world_rank);
            conn->tx_ring = NULL;
            return false;
        }
        conn->tx_grown += MCI_SHM_GROW;
    }
    return true;
}

/* Are stores through the caches best? */
static inline bool peer_is_near(const struct mci_shm_conn *conn)
{
    return mci_copy_stays_cached ||
           atomic_load_explicit(&conn->tx_back->is_near, memory_order_relaxed) != 0;
}

static void cursor_copy(struct mci_iov_cursor *cur, char *dst, size_t nbytes, bool past_caches)
{
    void *src;
    size_t n;

    while (nbytes > 0 && (n = mci_iov_next(cur, nbytes, &src)) > 0) {
        mci_copy(dst, src, n, past_caches ? NT_MIN : MCI_COPY_NO_STREAM);
        dst += n;
        nbytes -= n;
    }
}

static void slot_publish_long(struct mci_shm_conn *conn, const struct mci_frame *frame,
                              uint64_t offset, uint32_t how)
{
    struct mci_shm_slot *slot = slot_next(conn);
    struct mci_shm_long head = {conn->tx_pos, offset, how};

    slot->frame = *frame;
    memcpy(slot->rest, &head, sizeof(head));
    slot_publish(conn, slot);
}

/*
 * What follows is often as long, and the receiver has these lines from the lap before. The next
 * slot's line is left to the receiver, who looks at it all the time.
 */
static inline void claim_next(const struct mci_shm_conn *conn, size_t nbytes)
{
    const char *next = conn->tx_ring + (conn->tx_pos & conn->ring_mask);

    for (size_t i = 0; i < nbytes && i < CLAIM_MAX; i += MCI_SHM_ALIGN)
        mci_copy_claim(next + i);
}

static enum sent small_send(struct mci_shm_conn *conn, const struct mci_frame *frame,
                            const mcomm_iov_t *iov, size_t iov_count, size_t nbytes)
{
    bool past_caches = nbytes >= NT_MIN && !peer_is_near(conn);
    char *dst = conn->tx_ring + (conn->tx_pos & conn->ring_mask);
    struct mci_iov_cursor cur;

    if (!ring_has_room(conn, lines_up(nbytes)))
        return SENT_NOT;
    mci_iov_seek(&cur, iov, iov_count, 0);
    cursor_copy(&cur, dst, nbytes, past_caches);
    slot_publish_long(conn, frame, 0, MCI_SHM_WHOLE);
    conn->tx_pos += lines_up(nbytes);
    claim_next(conn, nbytes);
    return SENT_ALL;
}

/* ---- payloads in pieces ---- */
bool mci_shm_stream_begin(struct mci_shm_conn *conn, const struct mci_frame *frame, uint64_t offset,
                          bool is_first)
{
    if (!slot_has_room(conn))
        return false;
    conn->tx_how = ring_prepare(conn, lines_up(frame->nbytes)) ? MCI_SHM_STREAM : MCI_SHM_CHUNKS;
    conn->tx_left = frame->nbytes;
    if (is_first)
        conn->tx_piece = peer_is_near(conn) ? PIECE_FIRST_NEAR : PIECE_FIRST_FAR;
    conn->tx_is_busy = true;
    slot_publish_long(conn, frame, offset, conn->tx_how);
    return true;
}

static bool chunks_push(struct mci_shm_conn *conn)
{
    while (conn->tx_left > 0) {
        size_t n = conn->tx_left < MCI_SHM_CHUNK ? conn->tx_left : MCI_SHM_CHUNK;
        struct mci_shm_slot *slot;

        if (!slot_has_room(conn))
            return false;
        slot = slot_next(conn);
        cursor_copy(&conn->tx_cursor, (char *)slot, n, false);
        conn->tx_left -= n;
        slot_publish(conn, slot);
    }
    return true;
}

static void piece_grow(struct mci_shm_conn *conn, bool is_near)
{
    uint32_t max = is_near ? PIECE_NEAR : PIECE_FAR;

    if (max > (conn->ring_mask + 1) / 4)
        max = (uint32_t)((conn->ring_mask + 1) / 4);
    conn->tx_piece = conn->tx_piece * 2 < max ? conn->tx_piece * 2 : max;
}

bool mci_shm_stream_push(struct mci_shm_conn *conn)
{
    bool is_near = peer_is_near(conn);

    if (conn->tx_how == MCI_SHM_CHUNKS)
        return chunks_push(conn);
    while (conn->tx_left > 0) {
        uint64_t pos = conn->tx_pos;
        size_t n = conn->tx_left < conn->tx_piece ? conn->tx_left : conn->tx_piece;
        _Atomic uint64_t *flag =
            (void *)(conn->tx_flags + (pos & conn->ring_mask) / MCI_SHM_UNIT * MCI_SHM_FLAG_STRIDE);

        if (!ring_has_room(conn, lines_up(n)))
            return false;
        cursor_copy(&conn->tx_cursor, conn->tx_ring + (pos & conn->ring_mask), n, !is_near);
        atomic_store_explicit(flag, pos + n, memory_order_release);
        mci_doorbell_ring(conn->bell);
        conn->tx_left -= n;
        conn->tx_pos += conn->tx_left == 0 ? lines_up(n) : n;
        piece_grow(conn, is_near);
    }
    return true;
}

/* ---- frames ---- */
/* Is it put into the ring before its slot is published? */
static inline bool is_whole(struct mci_shm_conn *conn, size_t nbytes)
{
    return nbytes <= (peer_is_near(conn) ? WHOLE_NEAR : MCI_SHM_SMALL) &&
           ring_prepare(conn, lines_up(nbytes));
}

static enum sent frame_try(struct mci_shm_conn *conn, const struct mci_frame *frame,
                           const mcomm_iov_t *iov, size_t iov_count, size_t nbytes)
{
    if (mci_unlikely(!slot_has_room(conn)))
        return SENT_NOT;
    if (mci_likely(nbytes <= MCI_INLINE_MAX)) {
        slot_send(conn, frame, iov, iov_count);
        return SENT_ALL;
    }
    if (is_whole(conn, nbytes))
        return small_send(conn, frame, iov, iov_count, nbytes);
    mci_iov_seek(&conn->tx_cursor, iov, iov_count, 0);
    if (!mci_shm_stream_begin(conn, frame, 0, true))
        return SENT_NOT;
    if (!mci_shm_stream_push(conn))
        return SENT_PART;
    conn->tx_is_busy = !mci_list_is_empty(&conn->tx_queue);
    return SENT_ALL;
}

/* Would all of it go at once? Else a frame without a tx is copied first. */
static bool has_room_for_all(struct mci_shm_conn *conn, size_t nbytes)
{
    return nbytes <= MCI_INLINE_MAX ||
           (ring_prepare(conn, lines_up(nbytes)) && ring_has_room(conn, lines_up(nbytes)));
}

/* The slow half of send: something is before it, or it does not go at once. */
static mcomm_err_t send_queued(struct mci_shm_conn *conn, struct mci_frame *frame,
                               const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                               struct mci_tx *tx)
{
    bool is_copy = tx == NULL;

    if (is_copy) {
        tx = mci_tx_copy(frame, iov, iov_count, nbytes);
        if (tx == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory to queue a frame of %zu bytes", nbytes);
    } else {
        mci_tx_fill(tx, frame, iov, iov_count, nbytes);
    }
    mci_list_push(&conn->tx_queue, &tx->link);
    conn->tx_is_busy = conn->tx_is_waiting = true;
    return is_copy ? MCOMM_SUCCESS : MCI_PENDING;
}

mcomm_err_t mci_shm_send(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                         size_t iov_count, size_t nbytes, struct mci_tx *tx)
{
    struct mci_shm_conn *conn = peer->conn;

    if (mci_unlikely(conn->tx_is_busy || (tx == NULL && !has_room_for_all(conn, nbytes))))
        return send_queued(conn, frame, iov, iov_count, nbytes, tx);
    switch (frame_try(conn, frame, iov, iov_count, nbytes)) {
    case SENT_ALL:
        return MCOMM_SUCCESS;
    case SENT_PART:
        mci_tx_fill(tx, frame, iov, iov_count, nbytes);
        conn->tx_cur = tx;
        conn->tx_is_waiting = true;
        return MCI_PENDING;
    default:
        return send_queued(conn, frame, iov, iov_count, nbytes, tx);
    }
}

bool mci_shm_send_now(struct mci_peer *peer, const struct mci_frame *frame, const void *payload)
{
    struct mci_shm_conn *conn = peer->conn;
    mcomm_iov_t one = {(void *)(uintptr_t)payload, frame->nbytes};

    if (mci_unlikely(conn->tx_is_busy || !slot_has_room(conn)))
        return false;
    if (mci_likely(one.nbytes <= MCI_INLINE_MAX)) {
        slot_send(conn, frame, &one, 1);
        return true;
    }
    return is_whole(conn, one.nbytes) && small_send(conn, frame, &one, 1, one.nbytes) == SENT_ALL;
}

bool mci_shm_unsend(struct mci_peer *peer, struct mci_tx *tx)
{
    struct mci_shm_conn *conn = peer->conn;
    struct mci_list *node;

    if (tx == conn->tx_cur) { /* half of it is in the ring: it goes, but its buffer is free */
        mci_shm_detach(conn);
        mci_tx_finish(tx, MCOMM_SUCCESS);
        return false;
    }
    MCI_LIST_FOREACH (node, &conn->tx_queue) {
        if (node == &tx->link) {
            mci_list_remove(node);
            return true;
        }
    }
    return false;
}

/* ---- pumping ---- */
/* The current payload goes on. true: there is none any more. */
static bool pump_current(struct mci_shm_conn *conn, int *events)
{
    size_t left = conn->tx_left;
    bool is_out = mci_shm_stream_push(conn);
    struct mci_tx *tx = conn->tx_cur;

    *events += conn->tx_left != left;
    if (!is_out)
        return false;
    conn->tx_cur = NULL;
    if (tx != NULL)
        mci_tx_finish(tx, MCOMM_SUCCESS);
    else
        mci_shm_outop_slice_sent(conn);
    return true;
}

/* false: no room. */
static bool pump_first_frame(struct mci_shm_conn *conn)
{
    struct mci_tx *tx = mci_container_of(conn->tx_queue.next, struct mci_tx, link);
    enum sent sent = frame_try(conn, &tx->frame, tx->iov, tx->iov_count, tx->frame.nbytes);

    if (sent == SENT_NOT)
        return false;
    mci_list_remove(&tx->link);
    if (sent == SENT_PART)
        conn->tx_cur = tx;
    else
        mci_tx_finish(tx, MCOMM_SUCCESS);
    return sent == SENT_ALL;
}

int mci_shm_pump(struct mci_shm_conn *conn)
{
    int events = 0;

    if (conn->tx_left > 0 && !pump_current(conn, &events))
        return events;
    while (!conn->is_closed && !mci_list_is_empty(&conn->tx_queue)) {
        if (!pump_first_frame(conn))
            return events + (conn->tx_cur != NULL);
        events++;
    }
    if (conn->is_closed)
        return events;
    conn->tx_is_busy = false;
    events += mci_shm_outop_pump(conn, SLICES_PER_POLL);
    events += mci_shm_outop_finish(conn);
    if (!conn->is_closed)
        conn->tx_is_waiting = conn->tx_is_busy || !mci_list_is_empty(&conn->tx_queue) ||
                              !mci_list_is_empty(&conn->op_queue) ||
                              !mci_list_is_empty(&conn->op_done);
    return events;
}
