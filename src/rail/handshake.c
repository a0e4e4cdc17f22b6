/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The loop's side of an admission: moves bytes between a socket and the pure state machine of
 * rt/auth. Bytes are peeked first and then taken exactly, so whatever the other side sends after
 * its last admission frame stays in the socket for the rail. Invariant: a handshake ends once,
 * by fn or by cancel, and its descriptor has one owner at any moment.
 */
#include "config.h"

#include "rail/handshake.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

struct mci_handshake {
    struct mci_loop_fd io;
    struct mci_loop_timer timer;
    struct mci_list link; /* in `incoming`; unlinked for a connector */
    bool is_incoming;
    bool is_connecting; /* connect() has not ended yet */
    mci_handshake_fn_t fn;
    void *arg;
    struct mci_auth auth;
};

/* What a proof carries. The connector's has its card, the acceptor's has not: it is known. */
struct proof_payload {
    uint32_t extra_nbytes;
    uint32_t card_nbytes;
    uint8_t extra[MCI_HANDSHAKE_EXTRA_MAX];
    struct mci_card card;
};
_Static_assert(sizeof(struct proof_payload) <= MCI_AUTH_PAYLOAD_MAX, "fits an admission payload");
#define PAYLOAD_HEAD offsetof(struct proof_payload, card)

static struct mci_list incoming = {&incoming, &incoming}; /* oldest first */
static int num_incoming;

/* Gives up everything but the descriptor, which is returned. */
static int handshake_release(struct mci_handshake *hs)
{
    int fd = hs->io.fd;

    mci_loop_fd_del(&hs->io);
    mci_loop_timer_cancel(&hs->timer);
    if (hs->is_incoming) {
        mci_list_remove(&hs->link);
        num_incoming--;
    }
    return fd;
}

static void handshake_fail(struct mci_handshake *hs, mcomm_err_t err, int sys_errno)
{
    struct mci_handshake_end end = {.err = err, .sys_errno = sys_errno, .fd = -1};

    close(handshake_release(hs));
    hs->fn(hs->arg, &end);
    mci_auth_fini(&hs->auth);
    mci_mem_free(hs);
}

/* False: what the proven peer sent has not the form of a payload; a bug or another version. */
static bool payload_parse(const struct mci_handshake *hs, struct proof_payload *p,
                          struct mci_handshake_end *end)
{
    const struct mci_card *own = mci_rail_own_card();
    size_t nbytes;
    const void *bytes = mci_auth_peer_payload(&hs->auth, &nbytes);

    if (bytes == NULL || nbytes < PAYLOAD_HEAD || nbytes > sizeof(*p))
        return false;
    memset(p, 0, sizeof(*p));
    memcpy(p, bytes, nbytes);
    if (p->extra_nbytes > sizeof(p->extra) || p->card_nbytes != nbytes - PAYLOAD_HEAD)
        return false;
    end->extra = p->extra;
    end->extra_nbytes = p->extra_nbytes;
    if (!hs->is_incoming)
        return true;
    end->card = &p->card;
    return p->card_nbytes == sizeof(p->card) && p->card.magic == own->magic &&
           p->card.version == own->version && p->card.addr_count <= MCI_CARD_ADDR_MAX;
}

static void handshake_succeed(struct mci_handshake *hs)
{
    struct mci_handshake_end end = {.err = MCOMM_SUCCESS};
    struct proof_payload payload;

    if (!payload_parse(hs, &payload, &end)) {
        mci_err_set(MCOMM_ERR_AUTH, "the peer's admission payload is malformed");
        handshake_fail(hs, MCOMM_ERR_AUTH, 0);
        return;
    }
    end.fd = handshake_release(hs);
    hs->fn(hs->arg, &end);
    mci_auth_fini(&hs->auth);
    mci_mem_free(hs);
}

/* 1: all is sent, 0: later, -1: the connection is lost (errno). */
static int send_output(struct mci_handshake *hs)
{
    const void *buf;
    size_t nbytes;

    while ((nbytes = mci_auth_output(&hs->auth, &buf)) > 0) {
        ssize_t n = send(hs->io.fd, buf, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        mci_auth_sent(&hs->auth, (size_t)n);
    }
    return 1;
}

/* 1: took bytes, 0: none there, -1: lost (errno, 0 at the end of the stream), -2: not admitted. */
static int take_input(struct mci_handshake *hs)
{
    uint8_t buf[MCI_AUTH_FRAME_MAX];
    ssize_t n = recv(hs->io.fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
    size_t used = 0;
    mcomm_err_t err;

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0) {
        errno = 0;
        return -1;
    }
    err = mci_auth_input(&hs->auth, buf, (size_t)n, &used);
    if (used > 0)
        n = recv(hs->io.fd, buf, used, MSG_DONTWAIT); /* they were peeked: all come at once */
    if (err != MCOMM_SUCCESS)
        return -2;
    return used > 0 ? 1 : 0;
}

static bool is_proven(const struct mci_handshake *hs)
{
    size_t nbytes;

    return mci_auth_peer_payload(&hs->auth, &nbytes) != NULL;
}

static void handshake_step(struct mci_handshake *hs)
{
    const void *buf;
    int rc;

    for (;;) {
        rc = send_output(hs);
        if (rc < 0) {
            handshake_fail(hs, MCOMM_ERR_UNREACHABLE, errno);
            return;
        }
        if (mci_auth_done(&hs->auth)) {
            handshake_succeed(hs);
            return;
        }
        rc = is_proven(hs) ? 0 : take_input(hs);
        if (rc == 0)
            break;
        if (rc == -1) {
            handshake_fail(hs, MCOMM_ERR_UNREACHABLE, errno);
            return;
        }
        if (rc == -2) {
            send_output(hs); /* a refusal, if it goes at once */
            handshake_fail(hs, MCOMM_ERR_AUTH, 0);
            return;
        }
    }
    mci_loop_fd_mod(&hs->io, mci_auth_output(&hs->auth, &buf) > 0 ? EPOLLOUT : EPOLLIN);
}

static void on_io(struct mci_loop_fd *io, uint32_t events)
{
    struct mci_handshake *hs = io->arg;
    int sys_errno = 0;
    socklen_t nbytes = sizeof(sys_errno);

    (void)events;
    if (hs->is_connecting) {
        getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &sys_errno, &nbytes);
        if (sys_errno != 0) {
            handshake_fail(hs, MCOMM_ERR_UNREACHABLE, sys_errno);
            return;
        }
        hs->is_connecting = false;
    }
    handshake_step(hs);
}

static void on_deadline(struct mci_loop_timer *timer)
{
    handshake_fail(timer->arg, MCOMM_ERR_TIMEOUT, ETIMEDOUT);
}

static struct mci_handshake *handshake_create(int fd, int timeout_ms, mci_handshake_fn_t fn,
                                              void *arg)
{
    struct mci_handshake *hs = mci_mem_zalloc(sizeof(*hs));

    if (hs == NULL)
        return NULL;
    hs->io.fd = fd;
    hs->io.fn = on_io;
    hs->io.arg = hs;
    hs->fn = fn;
    hs->arg = arg;
    mci_list_init(&hs->link);
    mci_loop_timer_init(&hs->timer, on_deadline, hs);
    if (timeout_ms >= 0)
        mci_loop_timer_set(&hs->timer, (int64_t)timeout_ms * 1000000);
    return hs;
}

static mcomm_err_t handshake_start(struct mci_handshake *hs, enum mci_auth_role role,
                                   const uint8_t *secret, const struct proof_payload *payload)
{
    mcomm_err_t err;

    err = mci_auth_start(&hs->auth, role, secret, payload, PAYLOAD_HEAD + payload->card_nbytes);
    if (err == MCOMM_SUCCESS)
        err = mci_loop_fd_add(&hs->io);
    if (err != MCOMM_SUCCESS) {
        close(handshake_release(hs));
        mci_auth_fini(&hs->auth);
        mci_mem_free(hs);
    }
    return err;
}

mcomm_err_t mci_handshake_connect(int fd, const struct mci_card *acceptor, const void *extra,
                                  size_t extra_nbytes, int timeout_ms, mci_handshake_fn_t fn,
                                  void *arg, struct mci_handshake **handshake_p)
{
    struct mci_handshake *hs = handshake_create(fd, timeout_ms, fn, arg);
    struct proof_payload payload = {.extra_nbytes = (uint32_t)extra_nbytes,
                                    .card_nbytes = sizeof(payload.card)};
    mcomm_err_t err;

    if (hs == NULL) {
        close(fd);
        return MCOMM_ERR_NO_MEM;
    }
    hs->is_connecting = true;
    hs->io.events = EPOLLOUT; /* a connected socket is writable at once */
    if (extra_nbytes > 0)
        memcpy(payload.extra, extra, extra_nbytes);
    payload.card = *mci_rail_own_card();
    explicit_bzero(payload.card.key, sizeof(payload.card.key));
    err = handshake_start(hs, MCI_AUTH_INITIATOR, acceptor->key, &payload);
    if (err == MCOMM_SUCCESS)
        *handshake_p = hs;
    return err;
}

mcomm_err_t mci_handshake_accept(int fd, const void *extra, size_t extra_nbytes, int timeout_ms,
                                 mci_handshake_fn_t fn, void *arg)
{
    struct proof_payload payload = {.extra_nbytes = (uint32_t)extra_nbytes};
    struct mci_handshake *hs;

    if (num_incoming >= MCI_HANDSHAKE_INCOMING_MAX) {
        hs = mci_container_of(incoming.next, struct mci_handshake, link);
        mci_log_debug("rail: too many unproven connections, dropping the oldest");
        handshake_fail(hs, MCOMM_ERR_LIMIT, 0);
    }
    hs = handshake_create(fd, timeout_ms, fn, arg);
    if (hs == NULL) {
        close(fd);
        return MCOMM_ERR_NO_MEM;
    }
    hs->is_incoming = true;
    mci_list_push(&incoming, &hs->link);
    num_incoming++;
    hs->io.events = EPOLLIN;
    if (extra_nbytes > 0)
        memcpy(payload.extra, extra, extra_nbytes);
    return handshake_start(hs, MCI_AUTH_ACCEPTOR, mci_rail_own_card()->key, &payload);
}

bool mci_handshake_is_connected(const struct mci_handshake *handshake)
{
    struct sockaddr_storage addr;
    socklen_t nbytes = sizeof(addr);

    return getpeername(handshake->io.fd, (struct sockaddr *)&addr, &nbytes) == 0;
}

bool mci_handshake_is_committed(const struct mci_handshake *handshake)
{
    return handshake->auth.state != MCI_AUTH_WAIT_CHALLENGE;
}

void mci_handshake_cancel(struct mci_handshake *handshake)
{
    close(handshake_release(handshake));
    mci_auth_fini(&handshake->auth);
    mci_mem_free(handshake);
}

void mci_handshake_cancel_incoming(mci_handshake_fn_t fn)
{
    struct mci_list *node, *next;

    MCI_LIST_FOREACH_SAFE (node, next, &incoming) {
        struct mci_handshake *hs = mci_container_of(node, struct mci_handshake, link);

        if (hs->fn == fn)
            mci_handshake_cancel(hs);
    }
}
