/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Connecting to a local peer: its listener, the admission, then HELLO. At most a few attempts, one
 * at a time. When the peer answers that its own connection to us is on its way, the attempt waits
 * for that one and looks now and then whether the peer is still there.
 */
#include "config.h"

#include "rail/handshake.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define RETRY_NS 2000000 /* the listener's queue was full, or it closed before it answered */
#define TRIES_MAX 4
#define YIELD_NS 100000000 /* is the process to which we yielded still there? */

struct mci_shm_conn *mci_shm_attempt_find(const struct mci_peer *peer)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &mci_shm_rail.pending) {
        struct mci_shm_conn *conn = mci_container_of(node, struct mci_shm_conn, link);

        if (conn->peer == peer && conn->is_connector)
            return conn;
    }
    return NULL;
}

/* The attempt number tries to reach peer. */
static struct mci_shm_conn *attempt_new(struct mci_peer *peer, int tries)
{
    struct mci_shm_conn *conn = mci_shm_conn_new();

    if (conn == NULL) {
        mci_peer_unreachable(peer, &mci_rail_shm_ops, "no memory for a connection");
        return NULL;
    }
    conn->peer = peer;
    conn->is_connector = true;
    conn->tries = tries;
    return conn;
}

static void connect_try(struct mci_shm_conn *conn);

static void connect_again(struct mci_loop_timer *timer)
{
    connect_try(timer->arg);
}

void mci_shm_attempt_again(struct mci_shm_conn *conn, const char *reason)
{
    struct mci_peer *peer = conn->peer;
    int tries = conn->tries + 1;

    if (tries > TRIES_MAX) {
        mci_shm_conn_unreachable(conn, reason);
        return;
    }
    mci_shm_conn_drop(conn);
    conn = attempt_new(peer, tries);
    if (conn == NULL)
        return;
    conn->timer.fn = connect_again;
    mci_loop_timer_set(&conn->timer, RETRY_NS);
}

static void connect_admitted(void *arg, const struct mci_handshake_end *end)
{
    struct mci_shm_conn *conn = arg;

    conn->handshake = NULL;
    if (end->err == MCOMM_ERR_AUTH) {
        mci_shm_conn_unreachable(conn, mcomm_last_error());
        return;
    }
    if (end->err != MCOMM_SUCCESS) {
        mci_shm_attempt_again(conn, "no admission on its unix socket");
        return;
    }
    mci_shm_conn_move(conn, MCI_SHM_WAIT_ACCEPT);
    if (mci_shm_conn_take(conn, end->fd) != MCOMM_SUCCESS ||
        mci_shm_hello_send(conn) != MCOMM_SUCCESS)
        mci_shm_conn_unreachable(conn, mcomm_last_error());
}

static void connect_try(struct mci_shm_conn *conn)
{
    struct sockaddr_un addr;
    socklen_t nbytes = mci_shm_socket_name(conn->peer->card->unix_name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    char reason[96];

    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, nbytes) == 0) {
        mci_shm_conn_move(conn, MCI_SHM_ADMISSION);
        if (mci_handshake_connect(fd, conn->peer->card, NULL, 0, MCOMM_FOREVER, connect_admitted,
                                  conn, &conn->handshake) != MCOMM_SUCCESS)
            mci_shm_conn_unreachable(conn, mcomm_last_error());
        return;
    }
    snprintf(reason, sizeof(reason), "its unix socket: %s", strerror(errno));
    if (fd >= 0 && errno == EAGAIN) {
        close(fd);
        conn->timer.fn = connect_again;
        mci_loop_timer_set(&conn->timer, RETRY_NS);
        return;
    }
    if (fd >= 0)
        close(fd);
    mci_shm_conn_unreachable(conn, reason);
}

/* ---- the peer connects to us ---- */
/* Nobody listens any more: it has died unseen, or finalized, and will not connect to us. */
static void yield_check(struct mci_loop_timer *timer)
{
    struct mci_shm_conn *conn = timer->arg;
    struct sockaddr_un addr;
    socklen_t nbytes = mci_shm_socket_name(conn->peer->card->unix_name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_gone =
        fd >= 0 && connect(fd, (struct sockaddr *)&addr, nbytes) != 0 && errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    if (is_gone)
        mci_shm_conn_unreachable(conn, "the process is gone");
    else
        mci_loop_timer_set(timer, YIELD_NS);
}

void mci_shm_attempt_yield(struct mci_shm_conn *conn)
{
    mci_loop_fd_del(&conn->sock);
    mci_shm_watch_process(conn);
    mci_shm_conn_move(conn, MCI_SHM_YIELDED);
    conn->timer.fn = yield_check;
    mci_loop_timer_set(&conn->timer, YIELD_NS);
}

/* ---- for the table of the rail ---- */
void mci_shm_connect(struct mci_peer *peer)
{
    struct mci_shm_conn *conn = attempt_new(peer, 1);

    if (conn != NULL)
        connect_try(conn);
}

/* Its socket has taken ours, or will when its queue is shorter: there is a process. */
bool mci_shm_is_reached(struct mci_peer *peer)
{
    return mci_shm_attempt_find(peer) != NULL;
}

void mci_shm_close(struct mci_peer *peer, mcomm_err_t err)
{
    struct mci_shm_conn *attempt = mci_shm_attempt_find(peer);

    if (peer->conn != NULL)
        mci_shm_conn_close(peer->conn, err);
    if (attempt != NULL)
        mci_shm_conn_close(attempt, err);
}
