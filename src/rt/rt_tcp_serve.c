/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Rank 0 of a tcp rendezvous: one poll loop over the listeners and all connections. Whoever does
 * not prove the secret within seconds, or sends nonsense, is closed; the others do not notice.
 * The listeners close before the last answer is sent, so the next start finds a free address.
 */
#include "config.h"

#include "rt/rt_tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#define ADMISSION_NS INT64_C(10000000000) /* time to prove the secret */
#define LINGER_NS INT64_C(2000000000)     /* for a refused one to read why */
#define BIND_RETRY_MS 1000
#define EXTRA_PEERS 64 /* connections beyond one per rank */
#define READ_BYTES 16384
#define PAUSE_MS 50 /* no descriptor or memory for one more connection */

struct peer {
    int fd;
    bool is_shut; /* refused, told so, waiting for it to go */
    int64_t expires_ns;
    struct mci_rdv_conn conn;
};

struct serve {
    struct mci_rt *rt;
    struct mci_rt_tcp *tcp;
    struct mci_rdv_server server;
    struct peer **peers;
    struct pollfd *polls; /* listeners first, then peers in order */
    int num_peers;
    int max_peers;
    int refusal; /* errno: why the last connection could not be taken */
    int64_t paused_until_ns;
};

void mci_rt_tcp_close_now(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(fd);
}

void mci_rt_tcp_unlisten(struct mci_rt_tcp *tcp)
{
    for (int i = 0; i < tcp->num_listeners; i++)
        close(tcp->listeners[i]);
    tcp->num_listeners = 0;
}

/* @return 0 or errno */
static int listen_at(struct mci_rt_tcp *tcp, const struct mci_addr *addr)
{
    int one = 1, zero = 0, rc = 0;
    bool is_any = addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr);
    int fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (addr->sa.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, is_any ? &zero : &one, sizeof(one));
    if (bind(fd, &addr->sa, addr->nbytes) != 0 || listen(fd, SOMAXCONN) != 0)
        rc = errno;
    if (rc != 0) {
        close(fd);
        return rc;
    }
    tcp->listeners[tcp->num_listeners++] = fd;
    return 0;
}

/* On all addresses: for a name that does not lead to an address of this host (NAT, hosts file). */
static int listen_anywhere(struct mci_rt_tcp *tcp)
{
    struct mci_addr any = {.nbytes = sizeof(any.in6)};
    int rc;

    any.in6.sin6_family = AF_INET6;
    mci_addr_set_port(&any, (uint16_t)tcp->name.port);
    rc = listen_at(tcp, &any);
    if (rc == 0 || rc == EADDRINUSE || rc == EACCES)
        return rc;
    memset(&any, 0, sizeof(any));
    any.in4.sin_family = AF_INET;
    any.nbytes = sizeof(any.in4);
    mci_addr_set_port(&any, (uint16_t)tcp->name.port);
    return listen_at(tcp, &any);
}

mcomm_err_t mci_rt_tcp_listen_anywhere(struct mci_rt_tcp *tcp, uint16_t *port_p)
{
    struct sockaddr_storage ss;
    socklen_t nbytes = sizeof(ss);
    struct mci_addr addr;
    int rc = listen_anywhere(tcp);

    if (rc == 0 && getsockname(tcp->listeners[0], (struct sockaddr *)&ss, &nbytes) != 0)
        rc = errno;
    if (rc != 0 || !mci_addr_from_sockaddr((struct sockaddr *)&ss, &addr))
        return mci_err_sys(MCOMM_ERR_NET, rc, "rank 0 cannot listen");
    *port_p = mci_addr_port(&addr);
    return MCOMM_SUCCESS;
}

/* A name that leads to loopback only (127.0.1.1 on Debian) is of no use to ranks on other hosts. */
static int listen_once(struct mci_rt_tcp *tcp, const struct mci_addr *addrs, int num)
{
    bool is_local_name = tcp->name.is_numeric || strcmp(tcp->name.host, "localhost") == 0;
    int rc = EADDRNOTAVAIL;

    for (int i = 0; i < num; i++) {
        if (mci_addr_is_loopback(&addrs[i]) && !is_local_name)
            return listen_anywhere(tcp);
    }
    for (int i = 0; i < num; i++) {
        int one = listen_at(tcp, &addrs[i]);

        if (rc != 0 && rc != EADDRINUSE)
            rc = one;
    }
    if (tcp->num_listeners > 0)
        return 0;
    return rc == EADDRNOTAVAIL ? listen_anywhere(tcp) : rc;
}

mcomm_err_t mci_rt_tcp_listen(struct mci_rt *rt, struct mci_rt_tcp *tcp)
{
    struct mci_addr addrs[MCI_RT_TCP_ADDRS_MAX];
    int64_t end = mci_clock_ns() + BIND_RETRY_MS * INT64_C(1000000);
    int num, rc;

    if (mci_addr_resolve(&tcp->name, mci_rt_time_left_ms(rt), addrs, MCI_RT_TCP_ADDRS_MAX, &num) !=
        MCOMM_SUCCESS) {
        if (tcp->name.is_numeric)
            return MCOMM_ERR_ARG; /* unknown scope, and the text says so */
        num = 0;                  /* the others may know the name even if this host does not */
    }
    /* A port in use may be one that the kernel lent to an outgoing connection for a moment. */
    while ((rc = listen_once(tcp, addrs, num)) == EADDRINUSE && mci_clock_ns() < end &&
           mci_rt_time_left_ms(rt) > 0)
        poll(NULL, 0, 20);
    if (rc == EADDRINUSE)
        return mci_err_set(
            MCOMM_ERR_BOOTSTRAP,
            "rank 0 cannot listen at %s: the port is in use; is another rank 0 or an "
            "older job there? choose another port",
            tcp->where);
    if (rc != 0)
        return mci_err_sys(MCOMM_ERR_BOOTSTRAP, rc, "rank 0 cannot listen at %s", tcp->where);
    return MCOMM_SUCCESS;
}

static void peer_close(struct serve *serve, int i)
{
    struct peer *peer = serve->peers[i];

    if (peer->conn.state == MCI_RDV_CONN_DONE)
        mci_rt_tcp_close_now(peer->fd);
    else
        close(peer->fd);
    mci_rdv_conn_fini(&peer->conn);
    mci_mem_free(peer);
    serve->peers[i] = serve->peers[--serve->num_peers];
}

/* The oldest connection that has proven nothing makes room. */
static void make_room(struct serve *serve)
{
    int oldest = -1;

    if (serve->num_peers < serve->max_peers)
        return;
    for (int i = 0; i < serve->num_peers; i++) {
        const struct peer *peer = serve->peers[i];

        if (peer->conn.state != MCI_RDV_CONN_ADMITTED && peer->conn.state != MCI_RDV_CONN_JOINED &&
            (oldest < 0 || peer->expires_ns < serve->peers[oldest]->expires_ns))
            oldest = i;
    }
    peer_close(serve,
               oldest >= 0 ? oldest : 0); /* at most one per rank is admitted: there is one */
}

/* The listener would be reported again at once. */
static void accept_failed(struct serve *serve, int rc)
{
    if (rc == EAGAIN || rc == EINTR || rc == ECONNABORTED)
        return;
    if (serve->refusal != rc)
        mci_log_warn("rendezvous: cannot take a connection: %s", strerror(rc));
    serve->refusal = rc;
    serve->paused_until_ns = mci_clock_ns() + PAUSE_MS * INT64_C(1000000);
}

static void peer_accept(struct serve *serve, int listener)
{
    struct sockaddr_storage ss = {0};
    socklen_t nbytes = sizeof(ss);
    char from[MCI_ADDR_TEXT_MAX] = "?";
    struct mci_addr addr;
    struct peer *peer;
    int one = 1, fd;

    fd = accept4(listener, (struct sockaddr *)&ss, &nbytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        accept_failed(serve, errno);
        return;
    }
    if (mci_addr_from_sockaddr((struct sockaddr *)&ss, &addr))
        mci_addr_format(&addr, from);
    make_room(serve);
    peer = mci_mem_zalloc(sizeof(*peer));
    if (peer == NULL || mci_rdv_conn_init(&peer->conn, &serve->server, from) != MCOMM_SUCCESS) {
        mci_mem_free(peer);
        close(fd);
        accept_failed(serve, ENOMEM);
        return;
    }
    serve->refusal = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    peer->fd = fd;
    peer->expires_ns = mci_clock_ns() + ADMISSION_NS;
    serve->peers[serve->num_peers++] = peer;
}

/* @return false: the connection is to be closed */
static bool peer_read(struct peer *peer)
{
    unsigned char buf[READ_BYTES];
    ssize_t n = recv(peer->fd, buf, sizeof(buf), 0);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        if (peer->conn.state == MCI_RDV_CONN_JOINED)
            mci_log_debug("rendezvous: rank %u at %s went away", peer->conn.hello.rank,
                          peer->conn.from);
        return false;
    }
    if (n < 0 || mci_rdv_conn_input(&peer->conn, buf, (size_t)n) == MCOMM_SUCCESS)
        return true;
    if (peer->conn.auth.refusal == MCI_AUTH_REFUSAL_SECRET)
        mci_log_warn("rendezvous: %s has another secret than rank 0", peer->conn.from);
    else
        mci_log_debug("rendezvous: closed %s: %s", peer->conn.from, mcomm_last_error());
    return false;
}

static bool peer_write(struct peer *peer)
{
    const void *buf;
    size_t nbytes;

    while ((nbytes = mci_rdv_conn_output(&peer->conn, &buf)) > 0) {
        ssize_t n = send(peer->fd, buf, nbytes, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        mci_rdv_conn_sent(&peer->conn, (size_t)n);
    }
    if (peer->conn.state == MCI_RDV_CONN_CLOSING && !peer->is_shut) {
        shutdown(peer->fd, SHUT_WR);
        peer->is_shut = true;
        peer->expires_ns = mci_clock_ns() + LINGER_NS;
    }
    return peer->conn.state != MCI_RDV_CONN_DONE;
}

static bool peer_is_expired(const struct peer *peer, int64_t now)
{
    return peer->conn.state != MCI_RDV_CONN_ADMITTED && peer->conn.state != MCI_RDV_CONN_JOINED &&
           now >= peer->expires_ns;
}

/* How many still need us: those that have joined but not confirmed. */
static bool is_served(const struct serve *serve)
{
    if (!mci_rdv_server_is_complete(&serve->server))
        return false;
    for (int i = 0; i < serve->num_peers; i++) {
        if (serve->peers[i]->conn.state == MCI_RDV_CONN_JOINED)
            return false;
    }
    return true;
}

static int fill_polls(struct serve *serve)
{
    bool is_paused = mci_clock_ns() < serve->paused_until_ns;
    const void *buf;
    int n = 0;

    for (int i = 0; i < serve->tcp->num_listeners; i++)
        serve->polls[n++] =
            (struct pollfd){.fd = serve->tcp->listeners[i], .events = is_paused ? 0 : POLLIN};
    for (int i = 0; i < serve->num_peers; i++) {
        bool has_output = mci_rdv_conn_output(&serve->peers[i]->conn, &buf) > 0;

        serve->polls[n++] = (struct pollfd){.fd = serve->peers[i]->fd,
                                            .events = (short)(POLLIN | (has_output ? POLLOUT : 0))};
    }
    return n;
}

static void serve_round(struct serve *serve)
{
    int left = mci_rt_time_left_ms(serve->rt);
    int round_ms = serve->refusal != 0 ? PAUSE_MS : 500;
    int num_listeners = serve->tcp->num_listeners;
    int num_peers = serve->num_peers;
    int n = fill_polls(serve);
    int64_t now;

    if (poll(serve->polls, (nfds_t)n, left < round_ms ? left : round_ms) < 0)
        return;
    now = mci_clock_ns();
    for (int i = num_peers - 1; i >= 0; i--) { /* downwards: closing moves the last one here */
        short events = serve->polls[num_listeners + i].revents;
        struct peer *peer = serve->peers[i];
        bool is_fine = true;

        if ((events & (POLLIN | POLLHUP | POLLERR)) != 0)
            is_fine = peer_read(peer);
        if (!peer_write(peer) || !is_fine || peer_is_expired(peer, now))
            peer_close(serve, i);
    }
    for (int i = 0; i < num_listeners; i++) {
        if ((serve->polls[i].revents & POLLIN) != 0)
            peer_accept(serve, serve->tcp->listeners[i]);
    }
    if (mci_rdv_server_is_complete(&serve->server))
        mci_rt_tcp_unlisten(serve->tcp);
}

static mcomm_err_t give_up(struct serve *serve)
{
    char missing[300], text[MCI_RDV_TEXT_MAX];
    int num_missing = serve->server.size - serve->server.num_arrived;

    if (num_missing > 0)
        snprintf(text, sizeof(text),
                 "%d of %d ranks did not come to %.128s within %d ms%s%.64s; missing: %s",
                 num_missing, serve->server.size, serve->tcp->where, serve->rt->timeout_ms,
                 serve->refusal != 0 ? ", where rank 0 cannot take connections: " : "",
                 serve->refusal != 0 ? strerror(serve->refusal) : "",
                 mci_rdv_server_missing(&serve->server, missing, sizeof(missing)));
    else
        snprintf(text, sizeof(text),
                 "all ranks came to %.128s, but not all took the answer within "
                 "%d ms",
                 serve->tcp->where, serve->rt->timeout_ms);
    for (int i = serve->num_peers - 1; i >= 0; i--) {
        mci_rdv_conn_give_up(&serve->peers[i]->conn, text);
        peer_write(serve->peers[i]);
    }
    return mci_err_set(MCOMM_ERR_TIMEOUT, "%s", text);
}

static mcomm_err_t serve_all(struct serve *serve, struct mci_rt_blobs *out)
{
    while (!is_served(serve)) {
        if (mci_rt_time_left_ms(serve->rt) == 0) {
            mcomm_err_t err = give_up(serve);

            /* One that does not take the answer is its own affair, once all have come. */
            if (!mci_rdv_server_is_complete(&serve->server))
                return err;
            break;
        }
        serve_round(serve);
    }
    return mci_rdv_server_blobs(&serve->server, out);
}

mcomm_err_t mci_rt_tcp_serve(struct mci_rt *rt, struct mci_rt_tcp *tcp, const void *packet,
                             size_t nbytes, struct mci_rt_blobs *out)
{
    struct serve serve = {.rt = rt, .tcp = tcp, .max_peers = rt->info.size + EXTRA_PEERS};
    mcomm_err_t err;

    err = mci_rdv_server_init(&serve.server, rt->info.size, tcp->secret, packet, nbytes);
    if (err != MCOMM_SUCCESS) {
        mci_rt_tcp_unlisten(tcp);
        return err;
    }
    serve.peers = mci_mem_zalloc((size_t)serve.max_peers * sizeof(*serve.peers));
    serve.polls =
        mci_mem_zalloc((size_t)(serve.max_peers + MCI_RT_TCP_ADDRS_MAX) * sizeof(*serve.polls));
    if (serve.peers == NULL || serve.polls == NULL)
        err = MCOMM_ERR_NO_MEM;
    else
        err = serve_all(&serve, out);
    mci_rt_tcp_unlisten(tcp);
    while (serve.num_peers > 0)
        peer_close(&serve, serve.num_peers - 1);
    mci_mem_free(serve.polls);
    mci_mem_free(serve.peers);
    mci_rdv_server_fini(&serve.server);
    return err;
}
