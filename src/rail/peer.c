/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Peers: their table, their states, the queue of what waits for a connection, and the choice of the
 * rail that carries them. A peer is connected on first use: shm if its card says that it shares our
 * node, else (or if that is refused) tcp. A failed peer stays failed.
 */
#include "config.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/settings.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#include <stdio.h>
#include <string.h>

#define HOOK_MAX 8
#define STARVED_AGAIN_NS 100000000
#define BIT(n) (1u << (n))

static const struct {
    const char *name;
    unsigned next; /* bit set of states this one may move to */
} peer_states[MCI_PEER_STATE_NUM] = {
    [MCI_PEER_IDLE] = {"idle",
                       BIT(MCI_PEER_CONNECTING) | BIT(MCI_PEER_READY) | BIT(MCI_PEER_FAILED)},
    [MCI_PEER_CONNECTING] = {"connecting", BIT(MCI_PEER_READY) | BIT(MCI_PEER_FAILED)},
    [MCI_PEER_READY] = {"ready", BIT(MCI_PEER_FAILED)},
    [MCI_PEER_FAILED] = {"failed", 0},
};

struct peer_full { /* about 900 bytes a known process */
    struct mci_peer pub;
    struct mci_loop_timer connect_timer;
    int starved_errno; /* what a connection takes is lacking here; tried again by the timer */
    struct mci_card card;
    char reason[96];
};

static struct {
    struct mci_map peers; /* by proc_id */
    struct mci_peer *self;
    bool is_keeping; /* peers without a reference */
    mci_peer_failed_fn_t failed[HOOK_MAX];
    mci_peer_gone_fn_t gone[HOOK_MAX];
} table;

static struct peer_full *full(const struct mci_peer *peer)
{
    return mci_container_of(peer, struct peer_full, pub);
}

static void peer_move(struct mci_peer *peer, enum mci_peer_state to)
{
    if (!(peer_states[peer->state].next & BIT(to))) {
        mci_log_error("peer %d: no way from %s to %s", peer->world_rank,
                      peer_states[peer->state].name, peer_states[to].name);
        return;
    }
    mci_log_trace("peer %d: %s -> %s", peer->world_rank, peer_states[peer->state].name,
                  peer_states[to].name);
    peer->state = to;
}

/* ---- the table of peers ---- */
/* A process that connected first told its card without the key: the bootstrap's copy has it. */
static void card_complete(struct mci_card *known, const struct mci_card *card)
{
    static const uint8_t none[sizeof(known->key)];

    if (memcmp(known->key, none, sizeof(none)) == 0)
        memcpy(known->key, card->key, sizeof(known->key));
}

mcomm_err_t mci_peer_intern(const void *card, size_t nbytes, struct mci_peer **peer_p)
{
    struct mci_card copy;
    struct mci_peer *peer;
    struct peer_full *made;

    if (nbytes != sizeof(copy))
        return mci_err_set(MCOMM_ERR_ARG, "address card has %zu bytes, expected %zu", nbytes,
                           sizeof(copy));
    memcpy(&copy, card, sizeof(copy));
    if (copy.magic != MCI_CARD_MAGIC || copy.version != MCI_WIRE_VERSION ||
        copy.addr_count > MCI_CARD_ADDR_MAX)
        return mci_err_set(MCOMM_ERR_ARG, "address card: magic %#x version %u addresses %u",
                           copy.magic, copy.version, copy.addr_count);
    peer = mci_map_get(&table.peers, copy.proc_id);
    if (peer != NULL) {
        card_complete(peer->card, &copy);
        peer->refs++;
        *peer_p = peer;
        return MCOMM_SUCCESS;
    }
    made = mci_mem_zalloc(sizeof(*made));
    if (made == NULL || mci_map_put(&table.peers, copy.proc_id, &made->pub) != MCOMM_SUCCESS) {
        mci_mem_free(made);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for one more peer");
    }
    copy.host[sizeof(copy.host) - 1] = '\0';
    made->card = copy;
    peer = &made->pub;
    peer->card = &made->card;
    peer->refs = 1;
    peer->proc_id = copy.proc_id;
    peer->node_key = copy.node_key;
    peer->pid = copy.pid;
    peer->world_rank = (int)copy.world_rank;
    peer->is_local = copy.node_key == mci_rail_own_card()->node_key;
    peer->eager_max =
        mci_settings.tcp_eager < MCI_FRAME_MAX ? mci_settings.tcp_eager : MCI_FRAME_MAX;
    mci_list_init(&peer->waiting);
    mci_list_init(&peer->doomed_link);
    mci_loop_timer_init(&made->connect_timer, NULL, peer);
    *peer_p = peer;
    return MCOMM_SUCCESS;
}

struct mci_peer *mci_peer_self(void)
{
    return table.self;
}

struct mci_peer *mci_peer_find(uint64_t proc_id)
{
    return mci_map_get(&table.peers, proc_id);
}

static void peer_free(struct mci_peer *peer)
{
    mci_map_remove(&table.peers, peer->proc_id);
    mci_loop_timer_cancel(&full(peer)->connect_timer);
    mci_list_remove(&peer->doomed_link);
    for (int i = 0; i < HOOK_MAX && table.gone[i] != NULL; i++)
        table.gone[i](peer);
    mci_mem_free(full(peer));
}

static bool is_forgettable(const struct mci_peer *peer)
{
    return peer->state == MCI_PEER_IDLE || (peer->state == MCI_PEER_FAILED && peer->conn == NULL);
}

/* A connection keeps the peer known: only unconnected or failed ones go with their last reference.
 */
void mci_peer_release(struct mci_peer *peer)
{
    if (--peer->refs > 0 || peer == table.self || table.is_keeping)
        return;
    if (is_forgettable(peer))
        peer_free(peer);
}

void mci_rail_keep_peers(bool is_on)
{
    struct mci_peer *peer;

    table.is_keeping = is_on;
    for (size_t cursor = 0; !is_on && (peer = mci_map_next(&table.peers, &cursor, NULL)) != NULL;) {
        if (peer->refs > 0 || peer == table.self || !is_forgettable(peer))
            continue;
        peer_free(peer);
        cursor = 0; /* the table has changed */
    }
}

const char *mci_peer_host(const struct mci_peer *peer)
{
    return full(peer)->card.host;
}

const char *mci_peer_rail_name(const struct mci_peer *peer)
{
    return peer->state == MCI_PEER_READY ? peer->ops->name : "none";
}

const char *mci_peer_reason(const struct mci_peer *peer)
{
    return full(peer)->reason;
}

/* ---- connecting ---- */
static void connect_over(struct mci_peer *peer, const struct mci_rail_ops *ops)
{
    peer->ops = ops;
    mci_log_debug("peer %d (%s): connecting over %s", peer->world_rank, mci_peer_host(peer),
                  ops->name);
    ops->connect(peer);
}

static void connect_timer_start(struct mci_peer *peer);

/*
 * Nobody answers: the peer is given up. But one whose system has taken our connection and that says
 * nothing is stopped or busy, like a connected one may be: what waits for it waits on, up to the
 * caller's time limit.
 */
static void connect_expired(struct mci_loop_timer *timer)
{
    struct mci_peer *peer = timer->arg;

    if (peer->state != MCI_PEER_CONNECTING)
        return;
    if (peer->ops->is_reached(peer)) {
        mci_log_info("peer %d (%s pid %lld): silent for %lld ms while connecting over %s: stopped?",
                     peer->world_rank, mci_peer_host(peer), (long long)peer->pid,
                     (long long)mci_settings.connect_timeout, peer->ops->name);
        connect_timer_start(peer);
        return;
    }
    peer->ops->close(peer, MCOMM_ERR_UNREACHABLE);
    mci_peer_unreachable(peer, peer->ops, "no answer within the connect time-out");
}

static void connect_timer_start(struct mci_peer *peer)
{
    struct peer_full *f = full(peer);

    f->connect_timer.fn = connect_expired;
    if (mci_settings.connect_timeout < 0)
        return; /* for ever */
    mci_loop_timer_set(&f->connect_timer, (int64_t)mci_settings.connect_timeout * 1000000);
}

static void connect_begin(struct mci_peer *peer)
{
    full(peer)->starved_errno = 0;
    mci_loop_timer_cancel(&full(peer)->connect_timer);
    connect_timer_start(peer);
    if (peer->is_local && mci_rail_own_card()->has_shm && peer->card->has_shm)
        connect_over(peer, &mci_rail_shm_ops);
    else
        connect_over(peer, &mci_rail_tcp_ops);
}

static void peer_connect(struct mci_peer *peer)
{
    peer_move(peer, MCI_PEER_CONNECTING);
    connect_begin(peer);
}

static void starved_again(struct mci_loop_timer *timer)
{
    connect_begin(timer->arg);
}

void mci_peer_starved(struct mci_peer *peer, const struct mci_rail_ops *ops, int sys_errno)
{
    struct peer_full *f = full(peer);

    if (peer->state != MCI_PEER_CONNECTING || peer->ops != ops)
        return;
    mci_log_debug("peer %d: no connection over %s yet: %s", peer->world_rank, ops->name,
                  strerror(sys_errno));
    f->starved_errno = sys_errno;
    f->connect_timer.fn = starved_again;
    mci_loop_timer_set(&f->connect_timer, STARVED_AGAIN_NS);
}

mcomm_err_t mci_peer_reach_first(struct mci_peer *peer)
{
    const struct peer_full *f = full(peer);

    if (peer->state == MCI_PEER_IDLE)
        peer_connect(peer);
    else if (peer->state == MCI_PEER_CONNECTING && f->starved_errno != 0)
        connect_begin(peer); /* it may be there by now */
    if (peer->state != MCI_PEER_CONNECTING || f->starved_errno == 0)
        return MCOMM_SUCCESS;
    return mci_err_sys(mci_err_of_errno(f->starved_errno), f->starved_errno,
                       "no connection to rank %d of the job (%s)", peer->world_rank,
                       mci_peer_host(peer));
}

void mci_peer_watch(struct mci_peer *peer)
{
    if (peer->state == MCI_PEER_IDLE)
        peer_connect(peer);
}

void mci_peer_unreachable(struct mci_peer *peer, const struct mci_rail_ops *ops, const char *reason)
{
    if (peer->state != MCI_PEER_CONNECTING || peer->ops != ops)
        return;
    mci_log_debug("peer %d: %s: %s", peer->world_rank, ops->name, reason);
    if (ops == &mci_rail_shm_ops) {
        connect_timer_start(peer);
        connect_over(peer, &mci_rail_tcp_ops);
        return;
    }
    mci_peer_fail(peer, reason);
}

bool mci_peer_accepts(struct mci_peer *peer, const struct mci_rail_ops *ops)
{
    if (peer->state == MCI_PEER_IDLE) {
        peer->ops = ops;
        return true;
    }
    return peer->state == MCI_PEER_CONNECTING &&
           (peer->proc_id < mci_rail_own_card()->proc_id || full(peer)->starved_errno != 0);
}

void mci_peer_ready(struct mci_peer *peer, const struct mci_rail_ops *ops, void *conn,
                    size_t eager_max)
{
    size_t limit = ops == &mci_rail_tcp_ops ? MCI_EAGER_MAX : MCI_FRAME_MAX;
    struct mci_list sent, *node;

    mci_loop_timer_cancel(&full(peer)->connect_timer);
    peer->ops = ops;
    peer->conn = conn;
    peer->eager_max = eager_max < limit ? eager_max : limit;
    peer_move(peer, MCI_PEER_READY);
    peer->refs++; /* it may fail meanwhile */
    mci_list_init(&sent);
    while ((node = mci_list_pop(&peer->waiting)) != NULL) {
        struct mci_tx *tx = mci_container_of(node, struct mci_tx, link);
        mcomm_err_t err = mci_peer_is_failed(peer) ? MCOMM_ERR_PROC_FAILED
                                                   : ops->send(peer, &tx->frame, tx->iov,
                                                               tx->iov_count, tx->frame.nbytes, tx);

        if (err == MCI_PENDING)
            continue;
        tx->err = err;
        mci_list_push(&sent, node);
    }
    /* Only now: what the callbacks send comes behind all that has waited. */
    while ((node = mci_list_pop(&sent)) != NULL) {
        struct mci_tx *tx = mci_container_of(node, struct mci_tx, link);

        mci_tx_finish(tx, tx->err);
    }
    mci_wake_self();
    mci_peer_release(peer);
}

/* ---- failure ---- */
void mci_peer_fail(struct mci_peer *peer, const char *reason)
{
    struct mci_list *node;

    if (peer->state == MCI_PEER_FAILED || peer == table.self)
        return;
    snprintf(full(peer)->reason, sizeof(full(peer)->reason), "%s", reason);
    mci_log_info("peer %d (%s pid %lld): %s", peer->world_rank, mci_peer_host(peer),
                 (long long)peer->pid, reason);
    peer_move(peer, MCI_PEER_FAILED);
    mci_loop_timer_cancel(&full(peer)->connect_timer);
    peer->refs++; /* callbacks may give up theirs */
    if (peer->ops != NULL)
        peer->ops->close(peer, MCOMM_ERR_PROC_FAILED);
    while ((node = mci_list_pop(&peer->waiting)) != NULL)
        mci_tx_finish(mci_container_of(node, struct mci_tx, link), MCOMM_ERR_PROC_FAILED);
    mci_inop_fail_all(peer, MCOMM_ERR_PROC_FAILED);
    for (int i = 0; i < HOOK_MAX && table.failed[i] != NULL; i++)
        table.failed[i](peer);
    mci_wake_self();
    mci_peer_release(peer);
}

void mci_peer_leave(struct mci_peer *peer)
{
    peer->has_left = true;
    mci_peer_fail(peer, "the process has finalized");
}

void mci_rail_on_failed(mci_peer_failed_fn_t fn)
{
    for (int i = 0; i < HOOK_MAX; i++) {
        if (table.failed[i] == fn)
            return;
        if (table.failed[i] == NULL) {
            table.failed[i] = fn;
            return;
        }
    }
}

void mci_rail_on_gone(mci_peer_gone_fn_t fn)
{
    for (int i = 0; i < HOOK_MAX; i++) {
        if (table.gone[i] == fn)
            return;
        if (table.gone[i] == NULL) {
            table.gone[i] = fn;
            return;
        }
    }
}

/* ---- frames ---- */
mcomm_err_t mci_peer_sendv(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                           size_t iov_count, size_t nbytes, struct mci_tx *tx)
{
    struct mci_tx *queued;

    frame->nbytes = (uint32_t)nbytes;
    if (tx != NULL)
        tx->is_owned = false; /* one that waited is sent again below us and keeps what it is */
    if (__builtin_expect(peer->state == MCI_PEER_READY, 1))
        return peer->ops->send(peer, frame, iov, iov_count, nbytes, tx);
    if (peer->state == MCI_PEER_IDLE) {
        peer_connect(peer);
        if (peer->state == MCI_PEER_READY)
            return peer->ops->send(peer, frame, iov, iov_count, nbytes, tx);
    }
    if (peer->state == MCI_PEER_FAILED)
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job (%s): %s", peer->world_rank,
                           mci_peer_host(peer), mci_peer_reason(peer));
    queued = tx;
    if (queued == NULL)
        queued = mci_tx_copy(frame, iov, iov_count, nbytes);
    else
        mci_tx_fill(queued, frame, iov, iov_count, nbytes);
    if (queued == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory to queue a frame of %zu bytes", nbytes);
    mci_list_push(&peer->waiting, &queued->link);
    return tx == NULL ? MCOMM_SUCCESS : MCI_PENDING;
}

mcomm_err_t mci_peer_sendv_soon(struct mci_peer *peer, struct mci_frame *frame,
                                const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                                struct mci_tx *tx)
{
    if (peer->state != MCI_PEER_READY || peer->ops->send_soon == NULL)
        return mci_peer_sendv(peer, frame, iov, iov_count, nbytes, tx);
    if (tx != NULL)
        tx->is_owned = false;
    frame->nbytes = (uint32_t)nbytes;
    return peer->ops->send_soon(peer, frame, iov, iov_count, nbytes, tx);
}

mcomm_err_t mci_peer_send(struct mci_peer *peer, struct mci_frame *frame, const void *payload,
                          size_t nbytes, struct mci_tx *tx)
{
    mcomm_iov_t local;
    /* cppcheck-suppress uninitvar ; its address is taken, no more */
    mcomm_iov_t *one = tx != NULL ? &tx->one : &local;

    one->base = (void *)(uintptr_t)payload;
    one->nbytes = nbytes;
    return mci_peer_sendv(peer, frame, one, 1, nbytes, tx);
}

bool mci_peer_send_now(struct mci_peer *peer, struct mci_frame *frame, const void *payload,
                       size_t nbytes)
{
    if (peer->state != MCI_PEER_READY || peer->ops->send_now == NULL)
        return false;
    frame->nbytes = (uint32_t)nbytes;
    return peer->ops->send_now(peer, frame, payload);
}

bool mci_peer_unsend(struct mci_peer *peer, struct mci_tx *tx)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &peer->waiting) {
        if (node == &tx->link) {
            mci_list_remove(node);
            return true;
        }
    }
    return peer->state == MCI_PEER_READY && peer->ops->unsend(peer, tx);
}

/* ---- all of them ---- */
void mci_peers_init(void)
{
    mci_map_init(&table.peers);
}

mcomm_err_t mci_peers_add_self(void)
{
    size_t nbytes;
    const void *card = mci_rail_card(&nbytes);
    mcomm_err_t err = mci_peer_intern(card, nbytes, &table.self);

    if (err == MCOMM_SUCCESS)
        mci_peer_ready(table.self, &mci_rail_self_ops, NULL, MCI_FRAME_MAX);
    return err;
}

bool mci_peers_are_idle(void)
{
    size_t cursor = 0;
    struct mci_peer *peer;

    while ((peer = mci_map_next(&table.peers, &cursor, NULL)) != NULL) {
        if (peer->state == MCI_PEER_READY && !peer->ops->is_idle(peer))
            return false;
        if (peer->state == MCI_PEER_CONNECTING && !mci_list_is_empty(&peer->waiting))
            return false;
    }
    return true;
}

void mci_peers_close(void)
{
    struct mci_list *node;
    struct mci_peer *peer;

    for (size_t cursor = 0; (peer = mci_map_next(&table.peers, &cursor, NULL)) != NULL;) {
        if (peer->state != MCI_PEER_FAILED) {
            peer_move(peer, MCI_PEER_FAILED); /* what callbacks send finds no closed connection */
            if (peer->ops != NULL)
                peer->ops->close(peer, MCOMM_ERR_NOT_INIT);
        }
        while ((node = mci_list_pop(&peer->waiting)) != NULL)
            mci_tx_finish(mci_container_of(node, struct mci_tx, link), MCOMM_ERR_NOT_INIT);
    }
}

void mci_peers_fini(void)
{
    struct mci_peer *peer;

    for (size_t cursor = 0; (peer = mci_map_next(&table.peers, &cursor, NULL)) != NULL;)
        peer_free(peer);
    mci_map_fini(&table.peers);
    table.self = NULL;
    table.is_keeping = false;
}
