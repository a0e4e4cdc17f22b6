/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The listener: an abstract unix socket with a random name (nothing in any file system). Every
 * connection that comes in has to pass the admission before the rail sees it.
 */
#include "config.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"
#include "rail/handshake.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PAUSE_NS 100000000 /* no descriptor or memory for one more connection */
#define BACKLOG 256

socklen_t mci_shm_socket_name(const uint8_t name[16], struct sockaddr_un *addr)
{
    int n = 6;

    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    memcpy(addr->sun_path + 1, "mcomm.", 6);
    for (int i = 0; i < 16; i++)
        n += snprintf(addr->sun_path + 1 + n, 3, "%02x", name[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void hello_expired(struct mci_loop_timer *timer)
{
    mci_shm_conn_drop(timer->arg);
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
    if (mci_shm_conn_take(conn, end->fd) != MCOMM_SUCCESS || conn->card == NULL)
        mci_shm_conn_drop(conn);
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
    static bool is_short; /* of descriptors or memory, and that was told */
    int fd;

    (void)events;
    while ((fd = accept4(handle->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        is_short = false;
        mci_handshake_accept(fd, NULL, 0, mci_settings.connect_timeout, incoming_admitted, NULL);
    }
    if (mci_err_of_errno(errno) == MCOMM_ERR_SYS)
        return;
    if (!is_short)
        mci_log_warn("shm rail: cannot accept a connection now: %s", strerror(errno));
    is_short = true;
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
    nbytes = mci_shm_socket_name(card->unix_name, &addr);
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&addr, nbytes) != 0 ||
        listen(listener->fd, BACKLOG) != 0) {
        err = mci_err_sys(mci_err_of_errno(errno), errno, "abstract unix socket");
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
    mci_loop_timer_cancel(&listen_pause);
    if (listener->fd < 0)
        return;
    mci_loop_fd_del(listener);
    close(listener->fd);
    listener->fd = -1;
}
