/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Listeners, one for each address in use: bound first, then what was bound is put on the card.
 * Every connection that comes in has to pass the admission before the rail sees it.
 */
#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096
#define ACCEPT_BATCH 64
#define PAUSE_NS 100000000 /* out of descriptors: look again after it */

struct listener {
    struct mci_loop_fd io;
    struct mci_addr_if iface; /* with the bound port */
};

static struct {
    struct listener listeners[MCI_CARD_ADDR_MAX];
    int count;
    struct mci_loop_timer pause;
    bool is_short; /* of descriptors or memory, and that was told */
    char address[MCI_ADDR_TEXT_MAX];
} in;

void mci_tcp_socket_tune(int fd)
{
    int on = 1, idle_s = 10, interval_s = 3, count = 5;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)); /* reaps idle dead ones */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* ---- accepting ---- */
static void listen_events(uint32_t events)
{
    for (int i = 0; i < in.count; i++)
        mci_loop_fd_mod(&in.listeners[i].io, events);
}

static void on_pause_over(struct mci_loop_timer *timer)
{
    (void)timer;
    listen_events(EPOLLIN);
}

static void on_connection(struct mci_loop_fd *io, uint32_t events)
{
    (void)events;
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            in.is_short = false;
            mci_tcp_socket_tune(fd);
            mci_handshake_accept(fd, &mci_tcp_hello, sizeof(mci_tcp_hello),
                                 mci_settings.connect_timeout, mci_tcp_admitted, NULL);
            continue;
        }
        if (mci_err_of_errno(errno) != MCOMM_ERR_SYS) {
            if (!in.is_short)
                mci_log_warn("tcp: cannot accept a connection now: %s", strerror(errno));
            in.is_short = true;
            listen_events(0);
            mci_loop_timer_set(&in.pause, PAUSE_NS);
            return;
        }
        if (errno == EAGAIN)
            return;
        /* else this one connection is gone already */
    }
}

/* ---- binding ---- */
/* "0", "20000", "20000-20999". */
static mcomm_err_t ports_parse(int *first_p, int *last_p)
{
    const char *text = mci_settings.port != NULL ? mci_settings.port : "0";
    char *end;
    long first = strtol(text, &end, 10), last = first;

    if (end != text && *end == '-') {
        text = end + 1;
        last = strtol(text, &end, 10);
    }
    if (end == text || *end != '\0' || first < 0 || last > 65535 || last < first ||
        (first == 0 && last > 0))
        return mci_err_set(MCOMM_ERR_ARG, "MCOMM_PORT=%s is neither a port nor a range of them",
                           mci_settings.port);
    *first_p = (int)first;
    *last_p = (int)last;
    return MCOMM_SUCCESS;
}

/* A listening socket at the first free port; addr gets what was bound. -1: errno. */
static int listen_at(struct mci_addr *addr, int first, int last)
{
    int fd = -1, on = 1, keep = EADDRINUSE;

    for (int port = first; port <= last; port++) {
        fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        if (addr->sa.sa_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
        if (port != 0)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        mci_addr_set_port(addr, (uint16_t)port);
        if (bind(fd, &addr->sa, addr->nbytes) == 0 && listen(fd, BACKLOG) == 0 &&
            getsockname(fd, &addr->sa, &addr->nbytes) == 0)
            return fd;
        keep = errno;
        close(fd);
        if (keep != EADDRINUSE)
            break;
    }
    errno = keep;
    return -1;
}

static void card_add(struct mci_card *card, const struct mci_addr_if *iface)
{
    struct mci_card_addr *to = &card->addr[card->addr_count++];

    memset(to, 0, sizeof(*to));
    to->port = mci_addr_port(&iface->addr);
    to->mbits = iface->speed_mbps > 0 ? (uint32_t)iface->speed_mbps : 0;
    if (iface->addr.sa.sa_family == AF_INET) {
        to->family = 4;
        memcpy(to->bytes, &iface->addr.in4.sin_addr, 4);
    } else {
        to->family = 6;
        to->scope = iface->addr.in6.sin6_scope_id;
        memcpy(to->bytes, &iface->addr.in6.sin6_addr, 16);
    }
}

static mcomm_err_t listener_start(const struct mci_addr_if *iface, int first, int last)
{
    struct listener *l = &in.listeners[in.count];
    char text[MCI_ADDR_TEXT_MAX];
    mcomm_err_t err;

    l->iface = *iface;
    l->io = (struct mci_loop_fd){.events = EPOLLIN, .fn = on_connection, .arg = l};
    l->io.fd = listen_at(&l->iface.addr, first, last);
    if (l->io.fd < 0)
        return mci_err_sys(MCOMM_ERR_NET, errno, "cannot listen on %s (%s), port %d to %d",
                           mci_addr_format(&iface->addr, text), iface->ifname, first, last);
    err = mci_loop_fd_add(&l->io);
    if (err != MCOMM_SUCCESS) {
        close(l->io.fd);
        return err;
    }
    in.count++;
    mci_log_debug("tcp: listening on %s (%s)", mci_addr_format(&l->iface.addr, text),
                  iface->ifname);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_tcp_listen_start(struct mci_card *card)
{
    struct mci_addr_list list;
    int first = 0, last = 0;
    mcomm_err_t err = ports_parse(&first, &last), last_err = MCOMM_ERR_NET;

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_addr_list_create(mci_settings.net, &list);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_loop_timer_init(&in.pause, on_pause_over, NULL);
    in.count = 0;
    card->addr_count = 0;
    for (int i = 0; i < list.num_ifs && in.count < MCI_CARD_ADDR_MAX; i++) {
        err = listener_start(&list.ifs[i], first, last);
        if (err == MCOMM_SUCCESS)
            card_add(card, &in.listeners[in.count - 1].iface);
        else
            last_err = err;
    }
    mci_addr_list_free(&list);
    return in.count > 0 ? MCOMM_SUCCESS : last_err;
}

void mci_tcp_listen_stop(void)
{
    mci_loop_timer_cancel(&in.pause);
    mci_handshake_cancel_incoming(mci_tcp_admitted);
    for (int i = 0; i < in.count; i++) {
        mci_loop_fd_del(&in.listeners[i].io);
        close(in.listeners[i].io.fd);
    }
    in.count = 0;
}

int mci_tcp_listen_near(const struct mci_addr *addr, struct mci_addr *own_p)
{
    for (int i = 0; i < in.count; i++) {
        const struct mci_addr_if *iface = &in.listeners[i].iface;

        if (iface->addr.sa.sa_family == addr->sa.sa_family &&
            mci_addr_in_net(addr, &iface->addr, iface->prefix_nbits)) {
            *own_p = iface->addr;
            return i;
        }
    }
    return -1;
}

void mci_tcp_listen_describe(mcomm_rail_desc_t *desc)
{
    desc->kind = "tcp";
    desc->device = in.count > 0 ? in.listeners[0].iface.ifname : "";
    desc->address = in.count > 0 ? mci_addr_format(&in.listeners[0].iface.addr, in.address) : "";
    desc->mbits = in.count > 0 ? in.listeners[0].iface.speed_mbps : -1;
    desc->numa = in.count > 0 ? in.listeners[0].iface.numa_node : -1;
}
