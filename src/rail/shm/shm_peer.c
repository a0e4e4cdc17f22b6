/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Meeting local peers: an abstract unix socket with a random name (nothing in any file system), the
 * admission handshake, then HELLO with the segment and the doorbell, and ACCEPT with the other
 * doorbell. Afterwards the socket stays open: its end, or the pidfd's event, is the peer's end. All
 * that the peer had published by then is still delivered.
 */
#include "config.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/settings.h"
#include "rail/handshake.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_NS 2000000 /* the listener's queue was full, or it closed before it answered */
#define TRIES_MAX 4
#define YIELD_NS 100000000 /* is the process to which we yielded still there? */
#define PAUSE_NS 100000000 /* no descriptor or memory for one more connection */
#define BACKLOG 256
#define KICK_IDLE_NS 20000
#define KICK_MAX_NS 1000000
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* The first argument of REFUSE. */
enum refusal {
    REFUSE_YIELD = 1, /* my own connection to you is on its way */
    REFUSE_CANNOT,
    REFUSE_FAILED /* you have failed, for me: no use to try */
};

static void conn_process(struct mci_loop_fd *handle, uint32_t events);
static void attempt_again(struct mci_shm_conn *conn, const char *reason);
static void connect_try(struct mci_shm_conn *conn);

static socklen_t socket_name(const uint8_t name[16], struct sockaddr_un *addr)
{
    int n = 6;

    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    memcpy(addr->sun_path + 1, "mcomm.", 6);
    for (int i = 0; i < 16; i++)
        n += snprintf(addr->sun_path + 1 + n, 3, "%02x", name[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* An attempt that never got ready goes without a sound. */
static void conn_drop(struct mci_shm_conn *conn)
{
    mci_shm_conn_close(conn, MCOMM_ERR_UNREACHABLE);
    if (mci_shm_rail.poll_depth == 0)
        mci_shm_conn_reap();
}

static void conn_unreachable(struct mci_shm_conn *conn, const char *reason)
{
    struct mci_peer *peer = conn->peer;

    conn_drop(conn);
    mci_peer_unreachable(peer, &mci_rail_shm_ops, reason);
}

/* This process's own attempt to reach peer, if there is one. */
static struct mci_shm_conn *attempt_find(const struct mci_peer *peer)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &mci_shm_rail.pending) {
        struct mci_shm_conn *conn = mci_container_of(node, struct mci_shm_conn, link);

        if (conn->peer == peer && conn->is_connector)
            return conn;
    }
    return NULL;
}

/* ---- the peer's end ---- */
static void conn_dead(struct mci_shm_conn *conn, bool has_left, const char *reason)
{
    struct mci_peer *peer = conn->peer;

    conn->is_peer_gone = true;
    mci_loop_fd_del(&conn->sock);
    mci_loop_fd_del(&conn->pidfd);
    mci_shm_rail.poll_depth++; /* keeps its memory */
    mci_shm_drain(conn);
    mci_shm_rail.poll_depth--;
    if (conn->is_closed)
        return;
    if (has_left)
        mci_peer_leave(peer);
    else
        mci_peer_fail(peer, reason);
}

static void process_ended(struct mci_loop_fd *handle, uint32_t events)
{
    struct mci_shm_conn *conn = handle->arg;

    (void)events;
    if (conn->state == MCI_SHM_YIELDED) { /* its own connection will not come any more */
        conn_unreachable(conn, "the process has died");
        return;
    }
    conn_process(&conn->sock, EPOLLIN); /* it may have said good-bye before */
    if (!conn->is_closed)
        conn_dead(conn, false, "the process has died");
}

/*
 * The socket alone does not tell when a child made by fork() still holds the other end. The
 * kernel's word on who connected is used, not the card's: it is right across pid namespaces.
 */
void mci_shm_watch_process(struct mci_shm_conn *conn)
{
    struct ucred cred;
    socklen_t nbytes = sizeof(cred);

    if (getsockopt(conn->sock.fd, SOL_SOCKET, SO_PEERCRED, &cred, &nbytes) != 0 || cred.pid <= 0)
        return;
    conn->pidfd.fd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
    if (mci_proc_start_time(cred.pid) != conn->peer->card->start_time) {
        if (conn->pidfd.fd >= 0)
            close(conn->pidfd.fd);
        conn->pidfd.fd = -1;
        return;
    }
    conn->pid = cred.pid;
    conn->pidfd.fn = process_ended;
    conn->pidfd.events = EPOLLIN;
    if (conn->pidfd.fd >= 0 && mci_loop_fd_add(&conn->pidfd) != MCOMM_SUCCESS) {
        close(conn->pidfd.fd);
        conn->pidfd.fd = -1;
    }
}

/* ---- hello and accept ---- */
static void hello_args(uint64_t arg[4])
{
    arg[0] = (uintptr_t)&mci_shm_rail.probe_token;
    arg[1] = mci_shm_rail.probe_token;
    arg[2] = arg[3] = 0;
}

static mcomm_err_t hello_send(struct mci_shm_conn *conn)
{
    uint64_t arg[4];
    int fds[2];
    mcomm_err_t err;

    err = mci_shm_seg_create(&conn->seg, mci_shm_ring_choose());
    if (err != MCOMM_SUCCESS)
        return err;
    mci_shm_conn_wire(conn);
    fds[0] = conn->seg.fd;
    fds[1] = mci_doorbell_fd();
    hello_args(arg);
    return mci_shm_ctl_send(conn, MCI_SHM_CTL_HELLO, arg, fds, 2);
}

/* Both directions work from here on. */
static void conn_ready(struct mci_shm_conn *conn, uint64_t probe_addr, uint64_t probe_token)
{
    mci_shm_watch_process(conn);
    mci_shm_cma_probe(conn, probe_addr, probe_token);
    mci_shm_conn_start(conn);
}

static void conn_refuse(struct mci_shm_conn *conn, enum refusal why)
{
    uint64_t arg[4] = {why};

    mci_shm_ctl_send(conn, MCI_SHM_CTL_REFUSE, arg, NULL, 0);
    conn_drop(conn);
}

static bool is_hung_up(const struct mci_shm_conn *conn)
{
    char next;

    return recv(conn->sock.fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void hello_received(struct mci_shm_conn *conn)
{
    uint64_t probe_addr = conn->in.arg[0], probe_token = conn->in.arg[1], arg[4];
    struct mci_shm_conn *attempt;
    struct mci_peer *peer;
    int fd = mci_doorbell_fd();

    if (is_hung_up(conn)) { /* an attempt given up while this process slept: it says nothing */
        conn_drop(conn);
        return;
    }
    if (mci_shm_seg_attach(&conn->seg, mci_shm_ctl_take_fd(conn, 0)) != MCOMM_SUCCESS ||
        mci_shm_conn_bell(conn, mci_shm_ctl_take_fd(conn, 1)) != MCOMM_SUCCESS ||
        mci_peer_intern(conn->card, sizeof(*conn->card), &peer) != MCOMM_SUCCESS) {
        mci_log_warn("shm rail: a local process could not be connected: %s", mcomm_last_error());
        conn_refuse(conn, REFUSE_CANNOT);
        return;
    }
    if (!mci_peer_accepts(peer, &mci_rail_shm_ops)) {
        conn_refuse(conn, mci_peer_is_failed(peer) ? REFUSE_FAILED : REFUSE_YIELD);
        mci_peer_release(peer);
        return;
    }
    attempt = attempt_find(peer);
    if (attempt != NULL)
        conn_drop(attempt);
    if (peer->state == MCI_PEER_CONNECTING && peer->ops != &mci_rail_shm_ops)
        peer->ops->close(peer, MCOMM_ERR_UNREACHABLE); /* an attempt over another rail */
    conn->peer = peer;
    mci_shm_conn_wire(conn);
    hello_args(arg);
    mci_shm_ctl_send(conn, MCI_SHM_CTL_ACCEPT, arg, &fd, 1);
    mci_shm_ctl_next(conn);
    conn_ready(conn, probe_addr, probe_token);
    mci_peer_release(peer); /* a ready one stays known without */
}

static void accept_received(struct mci_shm_conn *conn)
{
    uint64_t probe_addr = conn->in.arg[0], probe_token = conn->in.arg[1];

    /* The acceptor counts on this connection already: it is used all the same. */
    if (mci_shm_conn_bell(conn, mci_shm_ctl_take_fd(conn, 0)) != MCOMM_SUCCESS)
        mci_log_warn("peer %d is slow to wake: %s", conn->peer->world_rank, mcomm_last_error());
    mci_shm_ctl_next(conn);
    conn_ready(conn, probe_addr, probe_token);
}

/* Nobody listens any more: it has died unseen, or finalized, and will not connect to us. */
static void yield_check(struct mci_loop_timer *timer)
{
    struct mci_shm_conn *conn = timer->arg;
    struct sockaddr_un addr;
    socklen_t nbytes = socket_name(conn->peer->card->unix_name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_gone =
        fd >= 0 && connect(fd, (struct sockaddr *)&addr, nbytes) != 0 && errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    if (is_gone)
        conn_unreachable(conn, "the process is gone");
    else
        mci_loop_timer_set(timer, YIELD_NS);
}

static void yield_begin(struct mci_shm_conn *conn)
{
    mci_loop_fd_del(&conn->sock);
    mci_shm_watch_process(conn);
    mci_shm_conn_move(conn, MCI_SHM_YIELDED);
    conn->timer.fn = yield_check;
    mci_loop_timer_set(&conn->timer, YIELD_NS);
}

static void refuse_received(struct mci_shm_conn *conn)
{
    uint64_t why = conn->in.arg[0];

    mci_shm_ctl_next(conn);
    if (why == REFUSE_YIELD)
        yield_begin(conn);
    else if (why == REFUSE_FAILED)
        mci_peer_fail(conn->peer, "it counts this process as failed");
    else
        conn_unreachable(conn, "it cannot use shared memory");
}

static void kick_timer(struct mci_loop_timer *timer);
static struct mci_loop_timer kick_again = {.link = {&kick_again.link, &kick_again.link},
                                           .fn = kick_timer};

/*
 * In the monitor thread: until nothing has come for a moment, or somebody else wants to poll. A
 * stream without end may not keep the thread from its timers and sockets: they come in between.
 */
static void kicked(void)
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
    kicked();
}

static void ready_received(struct mci_shm_conn *conn)
{
    struct mci_shm_ctl msg = conn->in;
    int fd = mci_shm_ctl_take_fd(conn, 0);

    mci_shm_ctl_next(conn);
    if (msg.type == MCI_SHM_CTL_REGION_ASK)
        mci_shm_region_asked(conn, msg.arg[0], msg.arg[1]);
    else if (msg.type == MCI_SHM_CTL_REGION)
        mci_shm_region_answered(conn, &msg, fd);
    else if (msg.type == MCI_SHM_CTL_KICK)
        kicked();
    else if (fd >= 0)
        close(fd);
    if (msg.type == MCI_SHM_CTL_BYE)
        conn_dead(conn, true, NULL);
}

/* One message, by state. What does not fit the state is ignored once ready, else ends the attempt.
 */
static void message_received(struct mci_shm_conn *conn)
{
    uint32_t type = conn->in.type;

    if (conn->state == MCI_SHM_READY)
        ready_received(conn);
    else if (conn->state == MCI_SHM_WAIT_HELLO && type == MCI_SHM_CTL_HELLO)
        hello_received(conn);
    else if (conn->state == MCI_SHM_WAIT_ACCEPT && type == MCI_SHM_CTL_ACCEPT)
        accept_received(conn);
    else if (conn->state == MCI_SHM_WAIT_ACCEPT && type == MCI_SHM_CTL_REFUSE)
        refuse_received(conn);
    else if (conn->is_connector)
        conn_unreachable(conn, "it does not speak the shm rail's protocol");
    else
        conn_drop(conn);
}

static void conn_lost(struct mci_shm_conn *conn)
{
    if (conn->state == MCI_SHM_READY)
        conn_dead(conn, false, "the process has died");
    else if (conn->is_connector)
        attempt_again(conn, "it closed the connection");
    else
        conn_drop(conn);
}

/* At most a few messages a time; a message may end the connection, which is then reaped later. */
static void conn_process(struct mci_loop_fd *handle, uint32_t events)
{
    struct mci_shm_conn *conn = handle->arg;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_shm_rail.poll_depth++; /* keeps its memory */
    if ((events & EPOLLOUT) && mci_shm_ctl_flush(conn) != MCOMM_SUCCESS)
        err = MCOMM_ERR_PROC_FAILED;
    for (int i = 0; i < 8 && err == MCOMM_SUCCESS && !conn->is_closed; i++) {
        if (conn->state == MCI_SHM_YIELDED)
            break;
        err = mci_shm_ctl_recv(conn);
        if (err == MCOMM_SUCCESS)
            message_received(conn);
    }
    if (err == MCOMM_ERR_PROC_FAILED && !conn->is_closed)
        conn_lost(conn);
    mci_shm_rail.poll_depth--;
}

static mcomm_err_t conn_listen(struct mci_shm_conn *conn, int fd)
{
    conn->sock.fd = fd;
    conn->sock.fn = conn_process;
    conn->sock.events = EPOLLIN;
    return mci_loop_fd_add(&conn->sock);
}

/* ---- connector ---- */
static void connect_admitted(void *arg, const struct mci_handshake_end *end)
{
    struct mci_shm_conn *conn = arg;

    conn->handshake = NULL;
    if (end->err == MCOMM_ERR_AUTH) {
        conn_unreachable(conn, mcomm_last_error());
        return;
    }
    if (end->err != MCOMM_SUCCESS) {
        attempt_again(conn, "no admission on its unix socket");
        return;
    }
    mci_shm_conn_move(conn, MCI_SHM_WAIT_ACCEPT);
    if (conn_listen(conn, end->fd) != MCOMM_SUCCESS || hello_send(conn) != MCOMM_SUCCESS)
        conn_unreachable(conn, mcomm_last_error());
}

static void connect_again(struct mci_loop_timer *timer)
{
    connect_try(timer->arg);
}

static void connect_try(struct mci_shm_conn *conn)
{
    struct sockaddr_un addr;
    socklen_t nbytes = socket_name(conn->peer->card->unix_name, &addr);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    char reason[96];

    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, nbytes) == 0) {
        mci_shm_conn_move(conn, MCI_SHM_ADMISSION);
        if (mci_handshake_connect(fd, conn->peer->card, NULL, 0, MCOMM_FOREVER, connect_admitted,
                                  conn, &conn->handshake) != MCOMM_SUCCESS)
            conn_unreachable(conn, mcomm_last_error());
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
    conn_unreachable(conn, reason);
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

/* It closed before it answered: its time for us was over, or too many came at once. */
static void attempt_again(struct mci_shm_conn *conn, const char *reason)
{
    struct mci_peer *peer = conn->peer;
    int tries = conn->tries + 1;

    if (tries > TRIES_MAX) {
        conn_unreachable(conn, reason);
        return;
    }
    conn_drop(conn);
    conn = attempt_new(peer, tries);
    if (conn == NULL)
        return;
    conn->timer.fn = connect_again;
    mci_loop_timer_set(&conn->timer, RETRY_NS);
}

void mci_shm_connect(struct mci_peer *peer)
{
    struct mci_shm_conn *conn = attempt_new(peer, 1);

    if (conn != NULL)
        connect_try(conn);
}

/* Its socket has taken ours, or will when its queue is shorter: there is a process. */
bool mci_shm_is_reached(struct mci_peer *peer)
{
    return attempt_find(peer) != NULL;
}

void mci_shm_close(struct mci_peer *peer, mcomm_err_t err)
{
    struct mci_shm_conn *attempt = attempt_find(peer);

    if (peer->conn != NULL)
        mci_shm_conn_close(peer->conn, err);
    if (attempt != NULL)
        mci_shm_conn_close(attempt, err);
}

/* ---- acceptor ---- */
static void hello_expired(struct mci_loop_timer *timer)
{
    conn_drop(timer->arg);
}

static void incoming_admitted(void *arg, const struct mci_handshake_end *end)
{
    struct mci_shm_conn *conn;

    (void)arg;
    if (end->err != MCOMM_SUCCESS) {
        mci_log_debug("shm rail: an incoming connection was not admitted (%s)",
                      mcomm_err_name(end->err));
        return;
    }
    conn = mci_shm_conn_new();
    if (conn == NULL) {
        close(end->fd);
        return;
    }
    mci_shm_conn_move(conn, MCI_SHM_WAIT_HELLO);
    conn->timer.fn = hello_expired;
    if (mci_settings.connect_timeout >= 0)
        mci_loop_timer_set(&conn->timer, (int64_t)mci_settings.connect_timeout * 1000000);
    conn->card = mci_mem_dup(end->card, sizeof(*end->card));
    if (conn_listen(conn, end->fd) != MCOMM_SUCCESS || conn->card == NULL)
        conn_drop(conn);
}

static void pause_over(struct mci_loop_timer *timer)
{
    (void)timer;
    mci_loop_fd_mod(&mci_shm_rail.listener, EPOLLIN);
}

static struct mci_loop_timer listen_pause = {.link = {&listen_pause.link, &listen_pause.link},
                                             .fn = pause_over};

static void listener_ready(struct mci_loop_fd *handle, uint32_t events)
{
    int fd;

    (void)events;
    while ((fd = accept4(handle->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        mci_handshake_accept(fd, NULL, 0, mci_settings.connect_timeout, incoming_admitted, NULL);
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
        return;
    mci_log_warn("shm rail: cannot accept a connection: %s", strerror(errno));
    mci_loop_fd_mod(handle, 0); /* it would be reported again at once */
    mci_loop_timer_set(&listen_pause, PAUSE_NS);
}

mcomm_err_t mci_shm_listen(struct mci_card *card)
{
    struct mci_loop_fd *listener = &mci_shm_rail.listener;
    struct sockaddr_un addr;
    socklen_t nbytes;
    mcomm_err_t err;

    listener->fd = -1;
    err = mci_random(card->unix_name, sizeof(card->unix_name));
    if (err != MCOMM_SUCCESS)
        return err;
    nbytes = socket_name(card->unix_name, &addr);
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&addr, nbytes) != 0 ||
        listen(listener->fd, BACKLOG) != 0) {
        err = mci_err_sys(MCOMM_ERR_SYS, errno, "abstract unix socket");
        goto close_listener;
    }
    listener->fn = listener_ready;
    listener->events = EPOLLIN;
    err = mci_loop_fd_add(listener);
    if (err != MCOMM_SUCCESS)
        goto close_listener;
    card->has_shm = 1;
    return MCOMM_SUCCESS;

close_listener:
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    return err;
}

void mci_shm_unlisten(void)
{
    struct mci_loop_fd *listener = &mci_shm_rail.listener;

    mci_handshake_cancel_incoming(incoming_admitted);
    mci_loop_timer_cancel(&kick_again);
    mci_loop_timer_cancel(&listen_pause);
    if (listener->fd < 0)
        return;
    mci_loop_fd_del(listener);
    close(listener->fd);
    listener->fd = -1;
}
