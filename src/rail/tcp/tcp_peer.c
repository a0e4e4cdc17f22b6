/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Links and lanes: how they come, which connection of a pair is the one, how they end. The end of a
 * stream is the end of the process at the other side, unless that said good-bye before. A lane is
 * freed when no call into it is on the stack any more.
 */
#include "config.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

const struct mci_tcp_hello mci_tcp_hello = {.version = MCI_TCP_VERSION,
                                            .slice_max = MCI_TCP_SLICE_MAX};

static const struct {
    const char *name;
    unsigned next; /* bit set of states this one may move to */
} lane_states[MCI_TCP_LANE_STATE_NUM] = {
    [MCI_TCP_LANE_WAITING] = {"waiting", BIT(MCI_TCP_LANE_READY) | BIT(MCI_TCP_LANE_CLOSED)},
    [MCI_TCP_LANE_PARKED] = {"parked", BIT(MCI_TCP_LANE_READY) | BIT(MCI_TCP_LANE_CLOSED)},
    [MCI_TCP_LANE_READY] = {"ready", BIT(MCI_TCP_LANE_CLOSED)},
    [MCI_TCP_LANE_CLOSED] = {"closed", 0},
};

static void lane_move(struct mci_tcp_lane *lane, enum mci_tcp_lane_state to)
{
    if ((lane_states[lane->state].next & BIT(to)) == 0) {
        mci_log_error("tcp lane: no way from %s to %s", lane_states[lane->state].name,
                      lane_states[to].name);
        return;
    }
    mci_log_trace("tcp lane of peer %d: %s -> %s",
                  lane->link != NULL ? lane->link->peer->world_rank : -1,
                  lane_states[lane->state].name, lane_states[to].name);
    lane->state = to;
}

/* ---- links ---- */
struct mci_tcp_link *mci_tcp_link_find(const struct mci_peer *peer)
{
    return mci_map_get(&mci_tcp.links, peer->proc_id);
}

struct mci_tcp_link *mci_tcp_link_get(struct mci_peer *peer)
{
    struct mci_tcp_link *link = mci_tcp_link_find(peer);

    if (link != NULL)
        return link;
    link = mci_mem_zalloc(sizeof(*link));
    if (link == NULL || mci_map_put(&mci_tcp.links, peer->proc_id, link) != MCOMM_SUCCESS) {
        mci_mem_free(link);
        return NULL;
    }
    link->peer = peer;
    mci_list_init(&link->lanes);
    mci_list_init(&link->ready);
    mci_list_init(&link->unacked);
    return link;
}

/* Say good-bye; what is in the kernel's hands is given time later, by mci_tcp_linger_stop(). */
static void lane_part_in_peace(struct mci_tcp_lane *lane)
{
    if (lane->is_broken || mci_tcp_ctl_send(lane, MCI_TCP_CTL_BYE, 0, 0) != MCOMM_SUCCESS)
        return;
    mci_tcp_lane_flush(lane);
    shutdown(lane->io.fd, SHUT_WR);
}

void mci_tcp_link_close(struct mci_tcp_link *link, mcomm_err_t err)
{
    struct mci_peer *peer = link->peer;

    mci_map_remove(&mci_tcp.links, peer->proc_id);
    mci_tcp_connect_stop(link);
    if (peer->conn == link)
        peer->conn = NULL;
    if (err == MCOMM_ERR_NOT_INIT && link->lane != NULL)
        lane_part_in_peace(link->lane);
    link->lane = NULL;
    while (!mci_list_is_empty(&link->lanes)) {
        struct mci_tcp_lane *lane = mci_container_of(link->lanes.next, struct mci_tcp_lane, node);

        mci_tcp_lane_close(lane, err);
    }
    mci_tcp_outop_fail_all(link, err);
    mci_mem_free(link);
}

/* ---- lanes ---- */
static void on_io(struct mci_loop_fd *io, uint32_t events)
{
    struct mci_tcp_lane *lane = io->arg;

    if (lane->state == MCI_TCP_LANE_PARKED) { /* its connector has nothing to say yet: it left */
        mci_tcp_lane_lost(lane, 0);
        return;
    }
    mci_tcp_lane_enter(lane);
    if (events & EPOLLOUT && lane->state == MCI_TCP_LANE_READY) {
        lane->is_blocked = false;
        mci_tcp_lane_flush(lane);
        if (!lane->is_blocked && lane->state == MCI_TCP_LANE_READY)
            mci_loop_fd_mod(&lane->io, EPOLLIN);
    }
    if (events & ~(uint32_t)EPOLLOUT && lane->state != MCI_TCP_LANE_CLOSED)
        mci_tcp_lane_receive(lane);
    mci_tcp_lane_leave(lane);
}

static bool try_io(struct mci_loop_fd *io)
{
    struct mci_tcp_lane *lane = io->arg;

    return lane->state == MCI_TCP_LANE_READY && mci_tcp_lane_receive(lane);
}

struct mci_tcp_lane *mci_tcp_lane_create(struct mci_tcp_link *link, int fd,
                                         enum mci_tcp_lane_state state)
{
    struct mci_tcp_lane *lane = mci_pool_get(&mci_tcp.lanes);

    if (lane == NULL) {
        close(fd);
        return NULL;
    }
    memset(lane, 0, sizeof(*lane));
    lane->io = (struct mci_loop_fd){
        .fd = fd, .is_data = true, .events = EPOLLIN, .fn = on_io, .try_fn = try_io, .arg = lane};
    lane->link = link;
    lane->state = state;
    lane->rx.window = 4 * MCI_TCP_RX_SMALL;
    mci_list_init(&lane->queue);
    mci_list_init(&lane->gathered.link);
    lane->gathered.fn = mci_tcp_lane_send_gathered;
    if (mci_loop_fd_add(&lane->io) != MCOMM_SUCCESS) {
        close(fd);
        mci_pool_put(&mci_tcp.lanes, lane);
        return NULL;
    }
    mci_list_push(&link->lanes, &lane->node);
    return lane;
}

void mci_tcp_lane_enter(struct mci_tcp_lane *lane)
{
    lane->depth++;
}

void mci_tcp_lane_leave(struct mci_tcp_lane *lane)
{
    if (--lane->depth == 0 && lane->state == MCI_TCP_LANE_CLOSED && lane->io.fd < 0)
        mci_pool_put(&mci_tcp.lanes, lane);
}

void mci_tcp_lane_close(struct mci_tcp_lane *lane, mcomm_err_t err)
{
    bool was_ready = lane->state == MCI_TCP_LANE_READY;

    mci_tcp_lane_enter(lane);
    mci_list_remove(&lane->node);
    mci_loop_fd_del(&lane->io);
    lane_move(lane, MCI_TCP_LANE_CLOSED);
    lane->cork++; /* nothing is sent any more */
    mci_tcp_rx_drop(lane, err);
    mci_tcp_lane_drop_queue(lane, err);
    lane->link = NULL;
    if (err == MCOMM_ERR_NOT_INIT && was_ready && !lane->is_broken) {
        mci_list_push(&mci_tcp.lingering, &lane->node);
    } else {
        close(lane->io.fd);
        lane->io.fd = -1;
    }
    mci_tcp_lane_leave(lane);
}

static void lane_close_quietly(struct mci_tcp_lane *lane)
{
    mci_tcp_lane_close(lane, MCOMM_ERR_PROC_FAILED);
}

void mci_tcp_lane_use(struct mci_tcp_lane *lane)
{
    struct mci_tcp_link *link = lane->link;
    struct mci_list *node, *next;

    mci_tcp_connect_stop(link);
    MCI_LIST_FOREACH_SAFE (node, next, &link->lanes) {
        if (node != &lane->node)
            lane_close_quietly(mci_container_of(node, struct mci_tcp_lane, node));
    }
    lane_move(lane, MCI_TCP_LANE_READY);
    link->lane = lane;
    mci_tcp_lane_enter(lane);
    lane->cork++; /* what has waited leaves together */
    mci_peer_ready(link->peer, &mci_rail_tcp_ops, link, mci_settings.tcp_eager);
    mci_tcp_lane_uncork(lane);
    mci_tcp_lane_leave(lane);
}

void mci_tcp_lane_accept(struct mci_tcp_lane *lane)
{
    struct mci_frame frame = {.am = MCI_AM_RAIL_CTL, .aux = MCI_TCP_CTL_ACCEPT};

    lane->cork++; /* the first frame of all */
    mci_tcp_lane_enter(lane);
    mci_tcp_lane_send(lane, &frame, NULL, 0, 0, NULL);
    mci_tcp_lane_use(lane);
    mci_tcp_lane_uncork(lane);
    mci_tcp_lane_leave(lane);
}

void mci_tcp_lane_lost(struct mci_tcp_lane *lane, int sys_errno)
{
    struct mci_tcp_link *link = lane->link;
    char reason[96];

    if (lane->state != MCI_TCP_LANE_READY) {
        bool was_ours = lane->state == MCI_TCP_LANE_WAITING;

        lane_close_quietly(lane);
        mci_tcp_connect_refused(link, was_ours);
        return;
    }
    if (lane->is_bye) {
        mci_peer_leave(link->peer);
        return;
    }
    if (sys_errno == 0 || sys_errno == ECONNRESET || sys_errno == EPIPE)
        snprintf(reason, sizeof(reason), "its tcp connection was %s: the process ended",
                 sys_errno == 0 ? "closed" : "reset");
    else
        snprintf(reason, sizeof(reason), "its tcp connection broke: %s", strerror(sys_errno));
    mci_peer_fail(link->peer, reason);
}

void mci_tcp_lane_violation(struct mci_tcp_lane *lane, const char *fmt, ...)
{
    struct mci_tcp_link *link = lane->link;
    char what[80], reason[128];
    va_list args;

    if (link == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    mci_log_error("rank %d of the job (%s pid %lld) broke the tcp protocol: %s",
                  link->peer->world_rank, mci_peer_host(link->peer), (long long)link->peer->pid,
                  what);
    if (lane->state != MCI_TCP_LANE_READY) {
        mci_tcp_lane_lost(lane, EPROTO);
        return;
    }
    snprintf(reason, sizeof(reason), "it broke the tcp protocol: %s", what);
    mci_peer_fail(link->peer, reason);
}

/* ---- connections that come in ---- */
bool mci_tcp_hello_check(const struct mci_handshake_end *end)
{
    struct mci_tcp_hello hello;

    if (end->extra_nbytes < sizeof(hello))
        return false;
    memcpy(&hello, end->extra, sizeof(hello));
    return hello.version == MCI_TCP_VERSION && hello.lane == 0 && hello.slice_max >= MCI_SLICE_UNIT;
}

static void lane_take_in(struct mci_peer *peer, int fd)
{
    bool is_other = peer->state == MCI_PEER_CONNECTING && peer->ops != &mci_rail_tcp_ops;
    bool is_taken = mci_peer_accepts(peer, &mci_rail_tcp_ops);
    struct mci_tcp_link *link;
    struct mci_tcp_lane *lane;

    if (!is_taken && (is_other || peer->state != MCI_PEER_CONNECTING)) {
        close(fd); /* connected already, or failed */
        return;
    }
    if (is_taken && is_other)
        peer->ops->close(peer, MCOMM_ERR_UNREACHABLE);
    link = mci_tcp_link_get(peer);
    if (link == NULL) {
        close(fd);
        return;
    }
    lane = mci_tcp_lane_create(link, fd, MCI_TCP_LANE_PARKED);
    if (lane == NULL)
        return;
    if (is_taken)
        mci_tcp_lane_accept(lane);
    else
        mci_tcp_connect_parked(link);
}

void mci_tcp_admitted(void *arg, const struct mci_handshake_end *end)
{
    struct mci_peer *peer;

    (void)arg;
    if (end->err != MCOMM_SUCCESS) {
        mci_log_debug("tcp: an incoming connection was not admitted: %s", mcomm_err_text(end->err));
        return;
    }
    if (!mci_tcp_hello_check(end) || end->card->proc_id == mci_rail_own_card()->proc_id ||
        mci_peer_intern(end->card, sizeof(*end->card), &peer) != MCOMM_SUCCESS) {
        mci_log_warn("tcp: refused a connection from %.64s pid %lld: other version",
                     end->card->host, (long long)end->card->pid);
        close(end->fd);
        return;
    }
    lane_take_in(peer, end->fd);
    mci_peer_release(peer);
}

/* ---- the end ---- */
/* True: nothing of ours is on its way any more, or never will be (the other end was closed). */
static bool lane_is_delivered(struct mci_tcp_lane *lane)
{
    char discard[4096];
    struct tcp_info info = {0};
    socklen_t nbytes = sizeof(info);
    int left = 0;

    while (recv(lane->io.fd, discard, sizeof(discard), MSG_DONTWAIT) > 0)
        ; /* unread bytes would turn the close into a reset, which loses ours */
    if (getsockopt(lane->io.fd, IPPROTO_TCP, TCP_INFO, &info, &nbytes) == 0 &&
        info.tcpi_state == TCP_CLOSE)
        return true; /* after a reset what was queued counts as queued for ever */
    return ioctl(lane->io.fd, SIOCOUTQ, &left) != 0 || left == 0;
}

void mci_tcp_linger_stop(int timeout_ms)
{
    int64_t end_ns = mci_clock_ns() + (int64_t)timeout_ms * 1000000;
    struct mci_list *node;

    while ((node = mci_list_pop(&mci_tcp.lingering)) != NULL) {
        struct mci_tcp_lane *lane = mci_container_of(node, struct mci_tcp_lane, node);

        while (!lane_is_delivered(lane) && mci_clock_ns() < end_ns)
            poll(NULL, 0, 1); /* no event tells that the other kernel has acknowledged */
        close(lane->io.fd);
        mci_pool_put(&mci_tcp.lanes, lane);
    }
}
