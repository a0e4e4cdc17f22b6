/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A connection's control socket: HELLO with the segment and the doorbell, ACCEPT with the other
 * doorbell, then whatever passes descriptors or wakes. The socket stays open: its end, or the
 * pidfd's event, is the peer's end. All that the peer had published by then is still delivered.
 */
#include "config.h"

#include "base/log.h"
#include "base/proc.h"
#include "rail/shm/shm_priv.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

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
        mci_shm_conn_unreachable(conn, "the process has died");
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

mcomm_err_t mci_shm_hello_send(struct mci_shm_conn *conn)
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
    mci_shm_conn_drop(conn);
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
        mci_shm_conn_drop(conn);
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
    hello_args(arg);
    if (mci_shm_ctl_send(conn, MCI_SHM_CTL_ACCEPT, arg, &fd, 1) != MCOMM_SUCCESS) {
        mci_log_warn("shm rail: rank %d is not accepted: %s", peer->world_rank, mcomm_last_error());
        mci_shm_conn_drop(conn); /* it sees the end, and tries again */
        mci_peer_release(peer);
        return;
    }
    attempt = mci_shm_attempt_find(peer);
    if (attempt != NULL)
        mci_shm_conn_drop(attempt);
    if (peer->state == MCI_PEER_CONNECTING && peer->ops != &mci_rail_shm_ops)
        peer->ops->close(peer, MCOMM_ERR_UNREACHABLE); /* an attempt over another rail */
    conn->peer = peer;
    mci_shm_conn_wire(conn);
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

static void refuse_received(struct mci_shm_conn *conn)
{
    uint64_t why = conn->in.arg[0];

    mci_shm_ctl_next(conn);
    if (why == REFUSE_YIELD)
        mci_shm_attempt_yield(conn);
    else if (why == REFUSE_FAILED)
        mci_peer_fail(conn->peer, "it counts this process as failed");
    else
        mci_shm_conn_unreachable(conn, "it cannot use shared memory");
}

/* ---- messages ---- */
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
        mci_shm_kicked();
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
        mci_shm_conn_unreachable(conn, "it does not speak the shm rail's protocol");
    else
        mci_shm_conn_drop(conn);
}

static void conn_lost(struct mci_shm_conn *conn)
{
    if (conn->state == MCI_SHM_READY)
        conn_dead(conn, false, "the process has died");
    else if (conn->is_connector)
        mci_shm_attempt_again(conn, "it closed the connection");
    else
        mci_shm_conn_drop(conn);
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

mcomm_err_t mci_shm_conn_take(struct mci_shm_conn *conn, int fd)
{
    conn->sock.fd = fd;
    conn->sock.fn = conn_process;
    conn->sock.events = EPOLLIN;
    return mci_loop_fd_add(&conn->sock);
}
