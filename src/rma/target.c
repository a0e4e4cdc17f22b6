/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Operations by frames, target's side: run by whichever thread drives progress, by the monitor
 * while the application computes. Everything is checked again here against this process's own
 * facts; what is refused writes nothing and is answered with its error code. A frame whose payload
 * is still arriving is kept aside until it is whole, so that a window may go away meanwhile.
 *
 * Every operation is answered: by a frame that cannot be lost (mci_peer_tell), and what an answer
 * must carry has memory before the operation is applied.
 */
#include "config.h"

#include "rma/rma_priv.h"

#include <string.h>

/* ---- who asks, and for what ---- */
/* Rank of the process behind peer in the window's communicator; the last answer is kept. */
int mci_rma_rank_of(struct mci_win *win, struct mci_peer *peer)
{
    struct mci_rma_seen {
        uint32_t key;
        int rank;
    } *seen = peer->rma;
    int rank;

    if (seen != NULL && seen->key == win->key)
        return seen->rank;
    rank = mci_comm_rank_of(win->comm, peer);
    if (rank < 0)
        return -1;
    if (seen == NULL)
        peer->rma = seen = mci_mem_alloc(sizeof(*seen));
    if (seen != NULL) {
        seen->key = win->key;
        seen->rank = rank;
    }
    return rank;
}

static void forget_seen(struct mci_peer *peer)
{
    mci_mem_free(peer->rma);
    peer->rma = NULL;
}

mcomm_err_t mci_rma_place(struct mci_win *win, uint64_t offset, uint64_t nbytes, unsigned need,
                          size_t alignment, void **place_p)
{
    char *place = win->kind == RMA_DYNAMIC ? NULL : win->base;

    if ((win->access & need) != need)
        return MCOMM_ERR_RMA_ACCESS;
    if (win->kind == RMA_DYNAMIC) {
        if (!mci_interval_covers(&win->attached, offset, nbytes))
            return MCOMM_ERR_RMA_RANGE;
        place = (char *)(uintptr_t)offset;
    } else {
        if (offset > win->nbytes || nbytes > win->nbytes - offset)
            return MCOMM_ERR_RMA_RANGE;
        place += offset;
    }
    if ((uintptr_t)place % alignment != 0)
        return MCOMM_ERR_BUFFER;
    *place_p = place;
    return MCOMM_SUCCESS;
}

/* ---- answers ---- */
void mci_rma_answer_op(struct mci_peer *peer, uint32_t op_id, mcomm_err_t err)
{
    struct mci_frame frame = {
        .am = MCI_AM_RMA_ACK, .flags = RMA_F_OP, .aux = (uint16_t)err, .w2 = op_id};

    mci_peer_tell(peer, &frame);
}

static void answer_count(struct mci_peer *peer, uint32_t key, uint32_t count, mcomm_err_t err)
{
    struct mci_frame frame = {.am = MCI_AM_RMA_ACK, .aux = (uint16_t)err, .w1 = key, .w2 = count};

    mci_peer_tell(peer, &frame);
}

/* One more counted operation of origin has ended (want_ack: or a flush asks). lock: engine */
void mci_rma_count_applied(struct mci_win *win, int origin, bool want_ack)
{
    struct rma_origin *o = &win->origins[origin];

    if (o->is_flush_wanted && (int32_t)(o->applied - o->flush_at) >= 0) {
        o->is_flush_wanted = false;
        want_ack = true;
    }
    if (!want_ack)
        return;
    answer_count(win->targets[origin].peer, o->key, o->applied, o->err);
    o->err = MCOMM_SUCCESS;
}

static void counted_end(struct mci_win *win, int origin, const struct mci_frame *frame,
                        mcomm_err_t err)
{
    struct rma_origin *o = &win->origins[origin];

    o->key = frame->w2;
    o->applied++;
    if (err != MCOMM_SUCCESS && o->err == MCOMM_SUCCESS)
        o->err = err;
    mci_rma_count_applied(win, origin, frame->flags & RMA_F_ACK);
}

/* The end of a put or accumulate that was one frame. */
static void frame_end(struct mci_peer *peer, struct mci_win *win, int origin,
                      const struct mci_frame *frame, mcomm_err_t err)
{
    if (frame->flags & RMA_F_OP)
        mci_rma_answer_op(peer, frame->w2, err);
    else
        counted_end(win, origin, frame, err);
}

struct mci_win *mci_rma_frame_win(struct mci_peer *peer, const struct mci_frame *frame,
                                  int *origin_p)
{
    struct mci_win *win = mci_rma_win_by_key(frame->w1);

    *origin_p = win != NULL ? mci_rma_rank_of(win, peer) : -1;
    if (*origin_p >= 0)
        return win;
    if (frame->flags & RMA_F_OP)
        mci_rma_answer_op(peer, frame->w2, MCOMM_ERR_WIN);
    else if (frame->flags & RMA_F_ACK) /* others: by the flush that follows them */
        answer_count(peer, frame->w2, 0, MCOMM_ERR_WIN);
    return NULL;
}

/* ---- payloads that are still arriving ---- */
struct deferred {
    struct mci_peer *peer;
    struct mci_frame frame;
    mci_am_fn_t fn;
    mcomm_iov_t iov;
    max_align_t payload[];
};

#define DEFER_RESERVE 2

static struct deferred *defer_reserve[DEFER_RESERVE]; /* untouched pages cost nothing */
static bool is_defer_taken[DEFER_RESERVE];

static void defer_start(void)
{
    for (int i = 0; i < DEFER_RESERVE; i++) {
        defer_reserve[i] = mci_mem_alloc(sizeof(struct deferred) + MCI_FRAME_MAX);
        is_defer_taken[i] = defer_reserve[i] == NULL;
    }
}

static void defer_stop(void)
{
    for (int i = 0; i < DEFER_RESERVE; i++) {
        mci_mem_free(defer_reserve[i]);
        defer_reserve[i] = NULL;
        is_defer_taken[i] = true;
    }
}

static struct deferred *deferred_new(size_t nbytes)
{
    struct deferred *d = mci_mem_alloc(sizeof(*d) + nbytes);

    for (int i = 0; d == NULL && i < DEFER_RESERVE && nbytes <= MCI_FRAME_MAX; i++) {
        if (is_defer_taken[i])
            continue;
        is_defer_taken[i] = true;
        d = defer_reserve[i];
    }
    return d;
}

static void deferred_free(struct deferred *d)
{
    for (int i = 0; i < DEFER_RESERVE; i++) {
        if (d == defer_reserve[i]) {
            is_defer_taken[i] = false;
            return;
        }
    }
    mci_mem_free(d);
}

static void deferred_done(void *arg, mcomm_err_t err)
{
    struct deferred *d = arg;
    struct mci_sink none = {0};

    if (err == MCOMM_SUCCESS)
        d->fn(d->peer, &d->frame, d->payload, &none);
    deferred_free(d);
}

/*
 * Without memory, and with the reserve used up, the payload is discarded and the peer, who would
 * wait for ever, is given up.
 */
void mci_rma_defer(struct mci_peer *peer, const struct mci_frame *frame, struct mci_sink *sink,
                   mci_am_fn_t fn)
{
    struct deferred *d = deferred_new(frame->nbytes);

    if (d == NULL) {
        mci_peer_fail(peer, "no memory for a frame that it sends");
        return;
    }
    d->peer = peer;
    d->frame = *frame;
    d->fn = fn;
    d->iov = (mcomm_iov_t){d->payload, frame->nbytes};
    *sink = (struct mci_sink){&d->iov, 1, deferred_done, d};
}

/* ---- put ---- */
/* Splits the payload of a put; false: it is not well formed. */
static bool put_parse(const struct mci_frame *frame, const char *payload, struct rma_signal *signal,
                      uint64_t *nbytes_p, const char **data_p)
{
    size_t left = frame->nbytes;

    *signal = (struct rma_signal){0, 0};
    if (frame->flags & (RMA_F_SIGNAL_SET | RMA_F_SIGNAL_ADD)) {
        if (left < sizeof(*signal))
            return false;
        memcpy(signal, payload, sizeof(*signal));
        payload += sizeof(*signal);
        left -= sizeof(*signal);
    }
    *data_p = payload;
    *nbytes_p = left;
    if (frame->flags & RMA_F_LARGE) {
        if (left != sizeof(*nbytes_p) || !(frame->flags & RMA_F_OP))
            return false;
        memcpy(nbytes_p, payload, sizeof(*nbytes_p));
        return *nbytes_p > 0;
    }
    return true;
}

static void on_put(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                   struct mci_sink *sink)
{
    struct rma_signal signal;
    const char *data;
    uint64_t nbytes;
    void *place = NULL, *signal_at = NULL;
    struct mci_win *win;
    mcomm_err_t err = MCOMM_ERR_INTERNAL;
    int origin;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_put);
        return;
    }
    win = mci_rma_frame_win(peer, frame, &origin);
    if (win == NULL)
        return;
    if (put_parse(frame, payload, &signal, &nbytes, &data)) {
        err = MCOMM_SUCCESS;
        if (nbytes > 0)
            err = mci_rma_place(win, frame->w0, nbytes, MCOMM_WIN_WRITE, 1, &place);
        if (err == MCOMM_SUCCESS && frame->flags & (RMA_F_SIGNAL_SET | RMA_F_SIGNAL_ADD))
            err = mci_rma_signal_place(win, &signal, &signal_at);
    }
    if (err == MCOMM_SUCCESS && frame->flags & RMA_F_LARGE) {
        err = mci_rma_serve_put(peer, win, origin, frame, &signal, signal_at, place, nbytes);
        if (err != MCOMM_SUCCESS)
            mci_rma_answer_op(peer, frame->w2, err);
        return;
    }
    if (err == MCOMM_SUCCESS) {
        if (nbytes > 0)
            memcpy(place, data, nbytes);
        if (signal_at != NULL)
            mci_rma_signal_apply(signal_at, signal.value, frame->flags & RMA_F_SIGNAL_ADD);
        mci_wake_self();
    }
    frame_end(peer, win, origin, frame, err);
}

/* ---- get ---- */
static void on_get(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                   struct mci_sink *sink)
{
    struct mci_frame reply = {.am = MCI_AM_RMA_REPLY, .w1 = frame->w2};
    uint64_t ask[2] = {0, 0};
    void *place = NULL;
    struct mci_win *win;
    mcomm_err_t err;
    int origin;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_get);
        return;
    }
    win = mci_rma_frame_win(peer, frame, &origin);
    if (win == NULL)
        return;
    err = frame->nbytes == sizeof(ask) ? MCOMM_SUCCESS : MCOMM_ERR_INTERNAL;
    if (err == MCOMM_SUCCESS) {
        memcpy(ask, payload, sizeof(ask));
        err = mci_rma_place(win, frame->w0, ask[0], MCOMM_WIN_READ, 1, &place);
    }
    if (err == MCOMM_SUCCESS && frame->flags & RMA_F_LARGE)
        err = mci_rma_serve_get(peer, win, origin, frame->w2, ask[1], place, ask[0]);
    else if (err == MCOMM_SUCCESS && ask[0] > MCI_FRAME_MAX)
        err = MCOMM_ERR_INTERNAL;
    else if (err == MCOMM_SUCCESS)
        err = mci_peer_send(peer, &reply, place, ask[0], NULL);
    if (err != MCOMM_SUCCESS)
        mci_rma_answer_op(peer, frame->w2, err);
}

/* ---- atomics ---- */
static mcomm_err_t acc_check(const struct mci_frame *frame, size_t *elem_p, mcomm_datatype_t *dtype,
                             mcomm_op_t *op)
{
    *dtype = (mcomm_datatype_t)(frame->aux & 0xff);
    *op = (mcomm_op_t)(frame->aux >> 8);
    *elem_p = mci_dtype_nbytes(*dtype);
    return mci_op_is_legal(*op, *dtype) ? MCOMM_SUCCESS : MCOMM_ERR_OP;
}

static void on_acc(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                   struct mci_sink *sink)
{
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    struct mci_win *win;
    size_t elem;
    void *place;
    mcomm_err_t err;
    int origin;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_acc);
        return;
    }
    win = mci_rma_frame_win(peer, frame, &origin);
    if (win == NULL)
        return;
    err = acc_check(frame, &elem, &dtype, &op);
    if (err == MCOMM_SUCCESS)
        err = mci_rma_place(win, frame->w0, frame->nbytes, MCOMM_WIN_ATOMIC, elem, &place);
    if (err == MCOMM_SUCCESS && op != MCOMM_NO_OP) {
        mci_rma_acc_apply(place, payload, NULL, frame->nbytes / elem, dtype, op);
        mci_wake_self();
    }
    frame_end(peer, win, origin, frame, err);
}

/* How many elements a fetch is about; 0: not well formed. */
static size_t fetch_count(const struct mci_frame *frame, const void *payload, size_t elem,
                          mcomm_op_t op)
{
    uint64_t count = frame->nbytes / elem;

    if (frame->flags & RMA_F_SWAP)
        return frame->nbytes == 2 * elem ? 1 : 0;
    if (op == MCOMM_NO_OP) {
        if (frame->nbytes != sizeof(count))
            return 0;
        memcpy(&count, payload, sizeof(count));
    }
    return count <= RMA_ACC_CHUNK / elem ? (size_t)count : 0;
}

/* What a fetch found: in memory before the operation is applied, so that it cannot be lost. */
static struct fetched {
    struct mci_tx tx;
    char old[RMA_ACC_CHUNK];
} * spare;

static void fetched_sent(struct mci_tx *tx, mcomm_err_t err)
{
    (void)err;
    mci_mem_free(mci_container_of(tx, struct fetched, tx));
}

static void fetched_send(struct mci_peer *peer, uint32_t op_id, size_t nbytes)
{
    struct mci_frame reply = {.am = MCI_AM_RMA_REPLY, .w1 = op_id};

    spare->tx.done = fetched_sent;
    if (mci_peer_send(peer, &reply, spare->old, nbytes, &spare->tx) == MCI_PENDING)
        spare = NULL; /* the rail's, until it is sent */
}

static void on_fetch(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                     struct mci_sink *sink)
{
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    struct mci_win *win;
    size_t elem, count = 0;
    void *place;
    mcomm_err_t err;
    int origin;

    if (payload == NULL && frame->nbytes > 0) {
        mci_rma_defer(peer, frame, sink, on_fetch);
        return;
    }
    win = mci_rma_frame_win(peer, frame, &origin);
    if (win == NULL)
        return;
    err = acc_check(frame, &elem, &dtype, &op);
    if (err == MCOMM_SUCCESS) {
        count = fetch_count(frame, payload, elem, op);
        err = count > 0
                  ? mci_rma_place(win, frame->w0, count * elem, MCOMM_WIN_ATOMIC, elem, &place)
                  : MCOMM_ERR_INTERNAL;
    }
    if (err == MCOMM_SUCCESS && spare == NULL)
        spare = mci_mem_alloc(sizeof(*spare));
    if (err == MCOMM_SUCCESS && spare == NULL)
        err = MCOMM_ERR_NO_MEM;
    if (err != MCOMM_SUCCESS) {
        mci_rma_answer_op(peer, frame->w2, err);
        return;
    }
    if (frame->flags & RMA_F_SWAP)
        mci_rma_swap_apply(place, payload, (const char *)payload + elem, spare->old, dtype);
    else
        mci_rma_acc_apply(place, payload, spare->old, count, dtype, op);
    mci_wake_self();
    fetched_send(peer, frame->w2, count * elem);
}

/* ---- failures ---- */
static void peer_failed(struct mci_peer *peer)
{
    struct mci_list *node, *op_node, *tmp;

    MCI_LIST_FOREACH (node, &mci_rma_wins) {
        struct mci_win *win = mci_container_of(node, struct mci_win, link);
        int rank = mci_comm_rank_of(win->comm, peer);
        struct rma_path *path;

        if (rank < 0)
            continue;
        atomic_store(&win->targets[rank].is_dead, true);
        path = win->targets[rank].path;
        if (path != NULL) {
            if (path->issued != path->acked && path->err == MCOMM_SUCCESS)
                path->err = MCOMM_ERR_PROC_FAILED;
            path->acked = path->asked = path->mark = path->issued;
            MCI_LIST_FOREACH_SAFE (op_node, tmp, &path->ops)
                mci_rma_op_complete(mci_container_of(op_node, struct rma_op, link),
                                    MCOMM_ERR_PROC_FAILED);
        }
        MCI_LIST_FOREACH_SAFE (op_node, tmp, &win->serves)
            if (mci_container_of(op_node, struct rma_serve, link)->origin == rank)
                mci_rma_serve_close(mci_container_of(op_node, struct rma_serve, link));
    }
}

void mci_rma_target_start(void)
{
    defer_start();
    mci_rail_set_am(MCI_AM_RMA_PUT, on_put);
    mci_rail_set_am(MCI_AM_RMA_GET, on_get);
    mci_rail_set_am(MCI_AM_RMA_ACC, on_acc);
    mci_rail_set_am(MCI_AM_RMA_FETCH, on_fetch);
    mci_rail_on_failed(peer_failed);
    mci_rail_on_gone(forget_seen);
}

void mci_rma_target_stop(void)
{
    defer_stop();
    mci_mem_free(spare);
    spare = NULL;
}
