/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Connecting to the addresses of a card. They are tried in order, those in a network of ours
 * first, the next one as soon as the one before has failed or is silent for STAGGER_NS, so that an
 * address that swallows packets holds up nobody (the idea is that of RFC 8305). The first
 * connection that the acceptor takes wins. A parked connection of the peer's is used when ours get
 * nowhere, but only while no proof of ours is out: else both sides could settle on different
 * connections. peer.c ends the whole attempt after the setting connect_timeout.
 */
#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STAGGER_NS 250000000
#define AGAIN_NS 100000000 /* after a refusal: is the process still there? */
#define CUT_ROUNDS_MAX 3

struct
try {
    struct mci_tcp_link *link;
    struct mci_addr addr;
    int near;                 /* order of preference, lowest first */
    struct mci_handshake *hs; /* NULL: not begun, or ended */
};

struct mci_tcp_connect {
    struct mci_loop_timer stagger;
    int count, next, active, num_refused;
    bool is_cut;       /* in this round an acceptor has closed during admission */
    int cut_count;     /* such rounds */
    bool is_declined;  /* an acceptor has closed: it is connecting to us, or has given us up */
    int starved_errno; /* an attempt failed for want of something here, not of the peer */
    char last[120];
    struct try tries[MCI_CARD_ADDR_MAX];
};

static void try_next(struct mci_tcp_link *link);

static bool is_starved(int sys_errno)
{
    return mci_err_of_errno(sys_errno) != MCOMM_ERR_SYS;
}

/* The link is gone afterwards. */
static void connect_starved(struct mci_tcp_link *link, int sys_errno)
{
    struct mci_peer *peer = link->peer;

    mci_tcp_link_close(link, MCOMM_ERR_UNREACHABLE);
    mci_peer_starved(peer, &mci_rail_tcp_ops, sys_errno);
}

static bool addr_from_card(const struct mci_card_addr *from, struct mci_addr *addr)
{
    memset(addr, 0, sizeof(*addr));
    if (from->family == 4) {
        addr->in4.sin_family = AF_INET;
        memcpy(&addr->in4.sin_addr, from->bytes, 4);
        addr->nbytes = sizeof(addr->in4);
    } else if (from->family == 6) {
        addr->in6.sin6_family = AF_INET6;
        memcpy(&addr->in6.sin6_addr, from->bytes, 16);
        addr->in6.sin6_scope_id = from->scope;
        addr->nbytes = sizeof(addr->in6);
    } else {
        return false;
    }
    mci_addr_set_port(addr, from->port);
    return true;
}

/* Stable insertion by nearness. */
static void tries_make(struct mci_tcp_link *link, struct mci_tcp_connect *c)
{
    const struct mci_card *card = link->peer->card;
    struct mci_addr own;

    for (uint32_t i = 0; i < card->addr_count; i++) {
        struct try t = {.link = link};
        int at = c->count;

        if (!addr_from_card(&card->addr[i], &t.addr))
            continue;
        t.near = mci_tcp_listen_near(&t.addr, &own) >= 0 ? 0 : 1;
        for (; at > 0 && c->tries[at - 1].near > t.near; at--)
            c->tries[at] = c->tries[at - 1];
        c->tries[at] = t;
        c->count++;
    }
}

static struct mci_tcp_lane *lane_in_state(struct mci_tcp_link *link, enum mci_tcp_lane_state state)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &link->lanes) {
        struct mci_tcp_lane *lane = mci_container_of(node, struct mci_tcp_lane, node);

        if (lane->state == state)
            return lane;
    }
    return NULL;
}

/* The acceptor cannot have taken any connection of ours yet. */
static bool is_uncommitted(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = link->connect;

    for (int i = 0; i < c->count; i++)
        if (c->tries[i].hs != NULL && mci_handshake_is_committed(c->tries[i].hs))
            return false;
    return lane_in_state(link, MCI_TCP_LANE_WAITING) == NULL;
}

/* No attempt is under way and none is left. */
static void give_up(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = link->connect;
    struct mci_tcp_lane *parked = lane_in_state(link, MCI_TCP_LANE_PARKED);
    char reason[160];

    if (parked != NULL) { /* the peer could connect to us, we could not */
        mci_tcp_lane_accept(parked);
        return;
    }
    if (c->starved_errno != 0) {
        connect_starved(link, c->starved_errno);
        return;
    }
    c->cut_count += c->is_cut;
    if ((c->is_declined || (c->is_cut && c->cut_count <= CUT_ROUNDS_MAX)) &&
        c->num_refused < c->count) {
        /*
         * Its own connection will come; or it, or we, were too slow for its time limit. If it dies
         * or finalizes instead, the next round tells.
         */
        c->next = c->num_refused = 0;
        c->is_cut = false;
        mci_loop_timer_set(&c->stagger, AGAIN_NS);
        return;
    }
    if (c->count == 0)
        snprintf(reason, sizeof(reason), "its address card has no tcp address");
    else if (c->num_refused == c->count)
        snprintf(reason, sizeof(reason), "every address refuses connections: the process is gone");
    else
        snprintf(reason, sizeof(reason), "cannot connect: %s", c->last);
    mci_peer_unreachable(link->peer, &mci_rail_tcp_ops, reason);
}

static void try_ended(struct try *t, mcomm_err_t err, int sys_errno)
{
    struct mci_tcp_link *link = t->link;
    struct mci_tcp_connect *c = link->connect;
    char text[MCI_ADDR_TEXT_MAX];

    t->hs = NULL;
    c->active--;
    if (sys_errno == ECONNREFUSED)
        c->num_refused++;
    else if (is_starved(sys_errno))
        c->starved_errno = sys_errno;
    if (err == MCOMM_ERR_UNREACHABLE && (sys_errno == 0 || sys_errno == ECONNRESET))
        c->is_cut = true;
    snprintf(c->last, sizeof(c->last), "%s: %s", mci_addr_format(&t->addr, text),
             err == MCOMM_ERR_AUTH ? "another process answers there"
             : sys_errno != 0      ? strerror(sys_errno)
                                   : "closed during admission");
    mci_log_debug("tcp: rank %d of the job at %s", link->peer->world_rank, c->last);
    try_next(link);
}

static void on_admitted(void *arg, const struct mci_handshake_end *end)
{
    struct try *t = arg;
    struct mci_tcp_link *link = t->link;

    if (end->err != MCOMM_SUCCESS) {
        try_ended(t, end->err, end->sys_errno);
        return;
    }
    t->hs = NULL;
    if (!mci_tcp_hello_check(end)) {
        close(end->fd);
        try_ended(t, MCOMM_ERR_AUTH, 0);
        return;
    }
    if (mci_tcp_lane_create(link, end->fd, MCI_TCP_LANE_WAITING) == NULL)
        try_ended(t, MCOMM_ERR_NO_MEM, ENOMEM);
    /* else the try stays active as that lane */
}

static int socket_open(const struct try *t)
{
    int fd = socket(t->addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct mci_addr own;

    if (fd < 0)
        return -1;
    mci_tcp_socket_tune(fd);
    if (mci_tcp_listen_near(&t->addr, &own) >= 0) {
        int on = 1;

        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
        mci_addr_set_port(&own, 0);
        if (bind(fd, &own.sa, own.nbytes) != 0)
            mci_log_debug("tcp: cannot bind to an own address: %s", strerror(errno));
    }
    if (connect(fd, &t->addr.sa, t->addr.nbytes) != 0 && errno != EINPROGRESS) {
        int keep = errno;

        close(fd);
        errno = keep;
        return -1;
    }
    return fd;
}

/* Begin with the next address; if none is left and none is under way, it is over. */
static void try_next(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = link->connect;

    while (c->next < c->count) {
        struct try *t = &c->tries[c->next++];
        int fd = socket_open(t), keep = errno;
        mcomm_err_t err = MCOMM_ERR_UNREACHABLE;

        if (fd >= 0) {
            err = mci_handshake_connect(fd, link->peer->card, &mci_tcp_hello, sizeof(mci_tcp_hello),
                                        MCOMM_FOREVER, on_admitted, t, &t->hs);
            keep = ENOMEM;
        }
        if (err == MCOMM_SUCCESS) {
            c->active++;
            mci_loop_timer_set(&c->stagger, STAGGER_NS);
            return;
        }
        if (keep == ECONNREFUSED)
            c->num_refused++;
        else if (is_starved(keep))
            c->starved_errno = keep;
        snprintf(c->last, sizeof(c->last), "%s", strerror(keep));
    }
    if (c->active == 0)
        give_up(link);
}

static void on_stagger(struct mci_loop_timer *timer)
{
    struct mci_tcp_link *link = timer->arg;
    struct mci_tcp_lane *parked = lane_in_state(link, MCI_TCP_LANE_PARKED);

    if (parked != NULL && is_uncommitted(link)) {
        mci_tcp_lane_accept(parked);
        return;
    }
    if (link->connect->next < link->connect->count)
        try_next(link);
    else if (parked != NULL)
        mci_loop_timer_set(timer, STAGGER_NS);
}

void mci_tcp_connect_parked(struct mci_tcp_link *link)
{
    if (link->connect != NULL)
        mci_loop_timer_set(&link->connect->stagger, STAGGER_NS);
}

void mci_tcp_connect_start(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = mci_mem_zalloc(sizeof(*c));

    if (c == NULL) {
        connect_starved(link, ENOMEM);
        return;
    }
    mci_loop_timer_init(&c->stagger, on_stagger, link);
    link->connect = c;
    tries_make(link, c);
    try_next(link);
}

void mci_tcp_connect_stop(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = link->connect;

    if (c == NULL)
        return;
    link->connect = NULL;
    mci_loop_timer_cancel(&c->stagger);
    for (int i = 0; i < c->count; i++)
        if (c->tries[i].hs != NULL)
            mci_handshake_cancel(c->tries[i].hs);
    mci_mem_free(c);
}

bool mci_tcp_connect_is_reached(struct mci_tcp_link *link)
{
    struct mci_tcp_connect *c = link->connect;

    if (c == NULL)
        return false;
    for (int i = 0; i < c->count; i++)
        if (c->tries[i].hs != NULL && mci_handshake_is_connected(c->tries[i].hs))
            return true;
    /* None under way: it has answered a moment ago, and will be asked again. */
    return c->active == 0 || lane_in_state(link, MCI_TCP_LANE_WAITING) != NULL;
}

void mci_tcp_connect_refused(struct mci_tcp_link *link, bool was_ours)
{
    struct mci_tcp_connect *c = link->connect;

    if (c == NULL || !was_ours)
        return;
    c->is_declined = true;
    c->active--;
    if (c->active == 0)
        try_next(link);
}
