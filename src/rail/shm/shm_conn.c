/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Connections: their memory, states, the poller over all of them, and their end. A connection may
 * be closed from within any callback that its own poll makes; it then leaves all lists at once,
 * but its memory and mappings stay until no poll runs.
 */
#include "config.h"

#include "base/clock.h"
#include "base/copy.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/presence.h"
#include "base/settings.h"
#include "rail/handshake.h"
#include "rail/shm/shm_priv.h"
#include "topo/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(n) (1u << (n))
#define BELL_RETRY_NS 10000000
#define KICK_IDLE_NS 20000
#define KICK_MAX_NS 1000000

struct mci_shm_rail mci_shm_rail = {.listener = {.fd = -1}};
static struct mci_doorbell no_bell; /* nobody sleeps */

static const struct {
    const char *name;
    unsigned next; /* bit set of states this one may move to */
} conn_states[MCI_SHM_STATE_NUM] = {
    [MCI_SHM_CONNECTING] = {"connecting", BIT(MCI_SHM_ADMISSION) | BIT(MCI_SHM_WAIT_HELLO) |
                                              BIT(MCI_SHM_READY) | BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_ADMISSION] = {"admission", BIT(MCI_SHM_WAIT_ACCEPT) | BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_WAIT_HELLO] = {"wait hello", BIT(MCI_SHM_READY) | BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_WAIT_ACCEPT] = {"wait accept",
                             BIT(MCI_SHM_READY) | BIT(MCI_SHM_YIELDED) | BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_YIELDED] = {"yielded", BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_READY] = {"ready", BIT(MCI_SHM_CLOSED)},
    [MCI_SHM_CLOSED] = {"closed", 0},
};

void mci_shm_conn_move(struct mci_shm_conn *conn, enum mci_shm_state state)
{
    if (!(conn_states[conn->state].next & BIT(state))) {
        mci_log_error("shm connection: no way from %s to %s", conn_states[conn->state].name,
                      conn_states[state].name);
        return;
    }
    mci_log_trace("shm connection to peer %d: %s -> %s",
                  conn->peer != NULL ? conn->peer->world_rank : -1, conn_states[conn->state].name,
                  conn_states[state].name);
    conn->state = state;
}

/* Among the ready ones, for one more. */
static bool conn_reserve(struct mci_shm_rail *rail)
{
    size_t room = rail->conn_room * 2 + 16;
    void *conns;

    if (rail->conn_count + rail->pending_count < rail->conn_room)
        return true;
    conns = mci_mem_realloc(rail->conns, room * sizeof(rail->conns[0]));
    if (conns == NULL)
        return false;
    rail->conns = conns;
    rail->conn_room = room;
    return true;
}

struct mci_shm_conn *mci_shm_conn_new(void)
{
    struct mci_shm_conn *conn = NULL;

    if (conn_reserve(&mci_shm_rail))
        conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~(size_t)63);
    if (conn == NULL)
        return NULL;
    memset(conn, 0, sizeof(*conn));
    conn->state = MCI_SHM_CONNECTING;
    conn->seg.fd = conn->sock.fd = conn->pidfd.fd = conn->bell_fd = -1;
    conn->bell = &no_bell;
    conn->sock.arg = conn->pidfd.arg = conn;
    conn->can_cma = -1;
    for (int i = 0; i < MCI_SHM_CTL_FDS; i++)
        conn->in_fds[i] = -1;
    mci_loop_timer_init(&conn->timer, NULL, conn);
    mci_loop_timer_init(&conn->out_timer, mci_shm_ctl_out_again, conn);
    mci_list_init(&conn->tx_queue);
    mci_list_init(&conn->op_queue);
    mci_list_init(&conn->op_done);
    mci_list_init(&conn->out);
    mci_list_init(&conn->asks);
    mci_list_push(&mci_shm_rail.pending, &conn->link);
    mci_shm_rail.pending_count++;
    return conn;
}

/*
 * At most the setting, and smaller if all connections together would exceed the budget. Where cores
 * do best to exchange lines by their caches, the rings of both directions and the user's buffers
 * should fit into one core's; elsewhere a ring is best larger than that, as the setting is.
 */
size_t mci_shm_ring_choose(void)
{
    size_t nbytes = MCI_SHM_RING_MAX, most = mci_settings.shm_ring;

    if (most == 0)
        return 0;
    if (mci_copy_stays_cached && most > mci_topo_cache_nbytes(2) / 4)
        most = mci_topo_cache_nbytes(2) / 4;
    while (nbytes > MCI_SHM_RING_MIN &&
           (nbytes > most || mci_shm_rail.ring_nbytes + nbytes > mci_settings.shm_budget))
        nbytes /= 2;
    return nbytes;
}

void mci_shm_conn_wire(struct mci_shm_conn *conn)
{
    struct mci_shm_dir *tx, *rx;

    conn->dir_tx = conn->is_connector ? 0 : 1;
    tx = &conn->seg.dir[conn->dir_tx];
    rx = &conn->seg.dir[!conn->dir_tx];
    conn->ring_mask = conn->seg.ring_nbytes - 1;
    conn->tx_slots = tx->slots;
    conn->tx_back = tx->back;
    conn->tx_ring = tx->ring;
    conn->tx_flags = tx->flags;
    conn->rx_slots = rx->slots;
    conn->rx_back = rx->back;
    conn->rx_ring = rx->ring;
    conn->rx_flags = rx->flags;
    mci_shm_rail.ring_nbytes += conn->seg.ring_nbytes;
}

static bool bell_map(struct mci_shm_conn *conn)
{
    void *page = mmap(NULL, MCI_SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, conn->bell_fd, 0);

    if (page == MAP_FAILED)
        return false;
    close(conn->bell_fd);
    conn->bell_fd = -1;
    conn->bell = page;
    mci_presence_join(conn->bell);
    return true;
}

mcomm_err_t mci_shm_conn_bell(struct mci_shm_conn *conn, int fd)
{
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_size < (off_t)MCI_SHM_PAGE)) {
        close(fd);
        fd = -1;
    }
    conn->bell_fd = fd;
    if (fd < 0 || !bell_map(conn))
        return mci_err_set(MCOMM_ERR_NO_MEM, "the peer's doorbell page cannot be mapped");
    return MCOMM_SUCCESS;
}

static void bell_again(struct mci_loop_timer *timer)
{
    struct mci_shm_conn *conn = timer->arg;

    if (bell_map(conn))
        conn->peer->bell = conn->bell;
    else
        mci_loop_timer_set(timer, BELL_RETRY_NS);
}

void mci_shm_conn_start(struct mci_shm_conn *conn)
{
    struct mci_shm_rail *rail = &mci_shm_rail;

    mci_loop_timer_cancel(&conn->timer);
    mci_list_remove(&conn->link);
    rail->pending_count--;
    rail->conns[rail->conn_count++] = conn;
    mci_shm_conn_move(conn, MCI_SHM_READY);
    conn->peer->bell = conn->bell;
    if (conn->bell_fd >= 0) {
        conn->timer.fn = bell_again;
        mci_loop_timer_set(&conn->timer, BELL_RETRY_NS);
    }
    mci_peer_ready(conn->peer, &mci_rail_shm_ops, conn, mci_settings.shm_eager);
}

/* ---- the poller ---- */
static void conns_compact(struct mci_shm_rail *rail)
{
    size_t kept = 0;

    for (size_t i = 0; i < rail->conn_count; i++)
        if (rail->conns[i] != NULL)
            rail->conns[kept++] = rail->conns[i];
    rail->conn_count = kept;
    rail->has_holes = false;
}

static inline bool conn_has_input(const struct mci_shm_conn *conn)
{
    const struct mci_shm_slot *slot = &conn->rx_slots[conn->rx_seq % MCI_SHM_SLOTS];

    /* A payload's first line comes along with its slot. */
    if (conn->rx_ring != NULL)
        __builtin_prefetch(conn->rx_ring + (conn->rx_pos & conn->ring_mask));
    /* A timed slot is looked at by recv itself. */
    return conn->rx_left > 0 || mci_shm_slot_is_timed(conn) ||
           atomic_load_explicit(&slot->seq, memory_order_acquire) == conn->rx_seq + 1;
}

int mci_shm_poll(void *arg)
{
    struct mci_shm_rail *rail = &mci_shm_rail;
    int events = 0;

    (void)arg;
    rail->poll_depth++;
    for (size_t i = 0; i < rail->conn_count; i++) {
        struct mci_shm_conn *conn = rail->conns[i];

        if (mci_unlikely(conn == NULL))
            continue;
        if (conn_has_input(conn))
            events += mci_shm_recv(conn);
        if (mci_unlikely(conn->tx_is_waiting && !conn->is_broken && !conn->is_closed))
            events += mci_shm_pump(conn);
        if (mci_unlikely(conn->is_broken && !conn->is_closed))
            mci_peer_fail(conn->peer, "its shared memory holds garbage");
    }
    if (mci_unlikely(--rail->poll_depth == 0 && rail->has_holes)) {
        conns_compact(rail);
        mci_shm_conn_reap();
    }
    return events;
}

/* ---- kicked by a peer ---- */
static void kick_timer(struct mci_loop_timer *timer);
static struct mci_loop_timer kick_again = {.link = {&kick_again.link, &kick_again.link},
                                           .fn = kick_timer};

/*
 * In the monitor thread: until nothing has come for a moment, or somebody else wants to poll. A
 * stream without end may not keep the thread from its timers and sockets: they come in between.
 */
void mci_shm_kicked(void)
{
    int64_t now = mci_clock_ns(), end = now + KICK_MAX_NS, idle_since = now;
    bool is_contended;

    do {
        if (mci_shm_poll(NULL) > 0)
            idle_since = mci_clock_ns();
        else
            mci_cpu_pause();
        now = mci_clock_ns();
        is_contended = mci_engine_is_contended();
    } while (!is_contended && now - idle_since < KICK_IDLE_NS && now < end);
    if (!is_contended && now >= end)
        mci_loop_timer_set(&kick_again, 0);
}

static void kick_timer(struct mci_loop_timer *timer)
{
    (void)timer;
    mci_shm_kicked();
}

void mci_shm_kick_stop(void)
{
    mci_loop_timer_cancel(&kick_again);
}

/* ---- the end ---- */
static void conn_unlist(struct mci_shm_conn *conn)
{
    struct mci_shm_rail *rail = &mci_shm_rail;
    bool was_ready = false;

    for (size_t i = 0; i < rail->conn_count; i++) {
        if (rail->conns[i] == conn) {
            rail->conns[i] = NULL;
            was_ready = true;
        }
    }
    rail->pending_count -= !was_ready;
    rail->has_holes = true; /* also has the dead ones reaped */
    mci_list_remove(&conn->link);
    mci_list_push(&rail->dead, &conn->link);
}

static void conn_unwatch(struct mci_shm_conn *conn)
{
    mci_loop_timer_cancel(&conn->timer);
    mci_loop_timer_cancel(&conn->out_timer);
    mci_loop_fd_del(&conn->sock);
    mci_loop_fd_del(&conn->pidfd);
    if (conn->sock.fd >= 0)
        close(conn->sock.fd);
    if (conn->pidfd.fd >= 0)
        close(conn->pidfd.fd);
    if (conn->bell_fd >= 0)
        close(conn->bell_fd);
    conn->sock.fd = conn->pidfd.fd = conn->bell_fd = -1;
    if (conn->handshake != NULL)
        mci_handshake_cancel(conn->handshake);
    conn->handshake = NULL;
}

void mci_shm_conn_close(struct mci_shm_conn *conn, mcomm_err_t err)
{
    struct mci_list *node;
    struct mci_tx *tx = conn->tx_cur;

    if (conn->is_closed)
        return;
    if ((conn->state == MCI_SHM_READY || conn->state == MCI_SHM_WAIT_ACCEPT) &&
        err == MCOMM_ERR_NOT_INIT && !conn->is_peer_gone)
        mci_shm_ctl_send(conn, MCI_SHM_CTL_BYE, NULL, NULL, 0);
    conn->is_closed = true;
    mci_shm_conn_move(conn, MCI_SHM_CLOSED);
    conn_unwatch(conn);
    conn_unlist(conn);
    mci_shm_ctl_fini(conn);
    if (conn->peer != NULL && conn->peer->conn == conn) {
        conn->peer->conn = NULL;
        conn->peer->bell = NULL;
    }
    conn->tx_left = 0;
    conn->tx_cur = NULL;
    if (tx != NULL)
        mci_tx_finish(tx, err);
    while ((node = mci_list_pop(&conn->tx_queue)) != NULL)
        mci_tx_finish(mci_container_of(node, struct mci_tx, link), err);
    mci_shm_outop_abort(conn, err);
    mci_shm_recv_abort(conn, err);
    mci_shm_region_abort(conn, err);
}

void mci_shm_conn_reap(void)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&mci_shm_rail.dead)) != NULL) {
        struct mci_shm_conn *conn = mci_container_of(node, struct mci_shm_conn, link);

        if (conn->rx_slots != NULL)
            mci_shm_rail.ring_nbytes -= conn->seg.ring_nbytes;
        mci_shm_seg_free(&conn->seg);
        if (conn->bell != &no_bell) {
            mci_presence_leave(conn->bell);
            munmap(conn->bell, MCI_SHM_PAGE);
        }
        mci_mem_free(conn->card);
        free(conn);
    }
}

void mci_shm_conn_drop(struct mci_shm_conn *conn)
{
    mci_shm_conn_close(conn, MCOMM_ERR_UNREACHABLE);
    if (mci_shm_rail.poll_depth == 0)
        mci_shm_conn_reap();
}

void mci_shm_conn_unreachable(struct mci_shm_conn *conn, const char *reason)
{
    struct mci_peer *peer = conn->peer;

    mci_shm_conn_drop(conn);
    mci_peer_unreachable(peer, &mci_rail_shm_ops, reason);
}

/* ---- a pair within one process ---- */
mcomm_err_t mci_shm_conn_pair(struct mci_peer *a, struct mci_peer *b, size_t ring_nbytes)
{
    struct mci_shm_conn *ends[2] = {mci_shm_conn_new(), mci_shm_conn_new()};
    struct mci_peer *peers[2] = {a, b};
    mcomm_err_t err = ends[0] != NULL && ends[1] != NULL ? MCOMM_SUCCESS : MCOMM_ERR_NO_MEM;

    if (err == MCOMM_SUCCESS)
        err = mci_shm_seg_create(&ends[0]->seg, ring_nbytes);
    if (err == MCOMM_SUCCESS)
        err = mci_shm_seg_attach(&ends[1]->seg, dup(ends[0]->seg.fd));
    for (int i = 0; i < 2 && err == MCOMM_SUCCESS; i++) {
        ends[i]->is_connector = i == 0;
        ends[i]->peer = peers[i];
        mci_shm_conn_wire(ends[i]);
        err = mci_shm_conn_bell(ends[i], dup(mci_doorbell_fd()));
    }
    for (int i = 0; i < 2 && err == MCOMM_SUCCESS; i++)
        mci_shm_conn_start(ends[i]);
    for (int i = 0; i < 2 && err != MCOMM_SUCCESS; i++)
        if (ends[i] != NULL)
            mci_shm_conn_close(ends[i], err);
    return err;
}
