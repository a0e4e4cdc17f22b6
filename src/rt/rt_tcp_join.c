/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The other ranks of a tcp rendezvous: connect to rank 0, which may not be there yet, with
 * non-blocking calls and deadlines, trying all its addresses again and again until the start-up
 * time is over. Only an authentic or clear "no" ends the attempts early.
 */
#include "config.h"

#include "rt/rt_tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#define BACKOFF_MIN_MS 1
#define BACKOFF_MAX_MS 250
#define CONNECT_MS 3000 /* for one address before the next is tried */
#define READ_BYTES 65536
#define WHY_MAX 400

struct join {
    struct mci_rt *rt;
    struct mci_rt_tcp *tcp;
    const void *packet;
    size_t nbytes;
    struct mci_rdv_hello hello;
    struct mci_rdv_client client;
    bool was_admitted; /* in some attempt */
    char why[WHY_MAX]; /* the last attempt failed */
    unsigned char buf[READ_BYTES];
};

enum attempt {
    ATTEMPT_DONE,
    ATTEMPT_AGAIN, /* join->why says what happened */
    ATTEMPT_FATAL, /* the error text is set */
};

__attribute__((format(printf, 2, 3))) static enum attempt again(struct join *join, const char *fmt,
                                                                ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(join->why, sizeof(join->why), fmt, ap);
    va_end(ap);
    return ATTEMPT_AGAIN;
}

/* A connect to a local port with no listener may meet itself; it would also keep rank 0 out. */
static bool is_self_connected(int fd)
{
    struct sockaddr_storage a = {0}, b = {0};
    socklen_t na = sizeof(a), nb = sizeof(b);

    return getsockname(fd, (struct sockaddr *)&a, &na) == 0 &&
           getpeername(fd, (struct sockaddr *)&b, &nb) == 0 && na == nb && memcmp(&a, &b, na) == 0;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* @return 0 or errno; ETIMEDOUT after CONNECT_MS */
static int connect_fd(struct join *join, int fd, const struct mci_addr *addr)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    int64_t end = mci_clock_ns() + CONNECT_MS * INT64_C(1000000);
    socklen_t nbytes = sizeof(int);
    int rc = 0, one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, &addr->sa, addr->nbytes) == 0)
        return 0;
    if (errno != EINPROGRESS && errno != EINTR)
        return errno;
    for (;;) {
        int left = (int)((end - mci_clock_ns()) / 1000000);

        left = min_int(left, mci_rt_time_left_ms(join->rt));
        if (left <= 0)
            return ETIMEDOUT;
        if (poll(&poll_fd, 1, left) > 0)
            break;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &rc, &nbytes) != 0)
        return errno;
    return rc;
}

/* @return false: the connection is lost or refused */
static bool join_write(struct join *join, int fd)
{
    const void *buf;
    size_t nbytes;

    while ((nbytes = mci_rdv_client_output(&join->client, &buf)) > 0) {
        ssize_t n = send(fd, buf, nbytes, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        mci_rdv_client_sent(&join->client, (size_t)n);
    }
    return true;
}

/* Rank 0 is asked who is missing a while before our own time is over. */
static int64_t ask_time_ns(const struct mci_rt *rt)
{
    int before_ms = rt->timeout_ms / 5 < 1000 ? rt->timeout_ms / 5 : 1000;

    return rt->deadline_ns - before_ms * INT64_C(1000000);
}

static enum attempt join_read(struct join *join, int fd)
{
    ssize_t n = recv(fd, join->buf, sizeof(join->buf), 0);
    mcomm_err_t err;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return ATTEMPT_DONE;
    if (n < 0)
        return again(join, "the connection to rank 0 at %s broke: %s", join->tcp->where,
                     strerror(errno));
    if (n == 0)
        return again(join, "%s closed the connection", join->tcp->where);
    err = mci_rdv_client_input(&join->client, join->buf, (size_t)n);
    if (join->client.state != MCI_RDV_CLIENT_ADMISSION &&
        join->client.state != MCI_RDV_CLIENT_FAILED)
        join->was_admitted = true;
    if (err == MCOMM_SUCCESS)
        return ATTEMPT_DONE;
    if (join->client.auth.refusal == MCI_AUTH_REFUSAL_SECRET)
        mci_err_set(err,
                    "rank 0 at %s has another secret than this process: MCOMM_SECRET, "
                    "MCOMM_SECRET_FILE or the cookie in the home directory must be the same",
                    join->tcp->where);
    if (join->client.is_fatal)
        return ATTEMPT_FATAL;
    return again(join, "%s: %s", join->tcp->where, mcomm_last_error());
}

static enum attempt converse(struct join *join, int fd)
{
    int64_t ask_ns = ask_time_ns(join->rt);
    enum attempt result = ATTEMPT_DONE;

    while (join->client.state != MCI_RDV_CLIENT_DONE && result == ATTEMPT_DONE) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int left = mci_rt_time_left_ms(join->rt);
        const void *buf;

        if (left == 0) {
            mci_rdv_client_late(&join->client);
            join_write(join, fd);
            return again(join, "%s did not answer", join->tcp->where);
        }
        if (mci_clock_ns() >= ask_ns)
            mci_rdv_client_ask(&join->client);
        else
            left = min_int(left, (int)((ask_ns - mci_clock_ns()) / 1000000) + 1);
        join_write(join,
                   fd); /* a lost connection shows at the read, behind what is still to read */
        if (mci_rdv_client_output(&join->client, &buf) > 0)
            poll_fd.events |= POLLOUT;
        if (join->client.is_asked || join->client.missing[0] != '\0')
            left = min_int(left, 100);
        if (poll(&poll_fd, 1, left) > 0 && (poll_fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0)
            result = join_read(join, fd);
    }
    join_write(join, fd); /* the confirmation: 8 bytes, there is room for them */
    return result;
}

static mcomm_err_t attempt_at(struct join *join, const struct mci_addr *addr,
                              enum attempt *result_p)
{
    char text[MCI_ADDR_TEXT_MAX];
    mcomm_err_t err = MCOMM_SUCCESS;
    int fd, rc;

    fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *result_p = again(join, "no socket: %s", strerror(errno));
        return MCOMM_SUCCESS;
    }
    rc = connect_fd(join, fd, addr);
    if (rc == 0 && is_self_connected(fd))
        rc = ECONNREFUSED;
    if (rc != 0) {
        *result_p = again(join, "cannot reach %s: %s", mci_addr_format(addr, text), strerror(rc));
        mci_rt_tcp_close_now(fd);
        return MCOMM_SUCCESS;
    }
    err = mci_rdv_client_init(&join->client, join->tcp->secret, &join->hello, join->packet,
                              join->nbytes);
    if (err == MCOMM_SUCCESS)
        *result_p = converse(join, fd);
    close(fd);
    return err;
}

/* A name is looked up again each time: it may only now be known. */
static mcomm_err_t find_addrs(struct join *join)
{
    struct mci_rt_tcp *tcp = join->tcp;
    mcomm_err_t err;

    if (tcp->num_addrs > 0 && (tcp->name.is_numeric || tcp->name.host[0] == '\0'))
        return MCOMM_SUCCESS;
    err = mci_addr_resolve(&tcp->name, mci_rt_time_left_ms(join->rt), tcp->addrs,
                           MCI_RT_TCP_ADDRS_MAX, &tcp->num_addrs);
    if (err == MCOMM_SUCCESS || tcp->name.is_numeric)
        return err;
    again(join, "%s", mcomm_last_error());
    return MCOMM_SUCCESS;
}

/* All addresses once. */
static mcomm_err_t attempt_all(struct join *join, enum attempt *result_p)
{
    mcomm_err_t err;

    *result_p = ATTEMPT_AGAIN;
    err = find_addrs(join);
    if (err != MCOMM_SUCCESS)
        return err;
    for (int i = 0; i < join->tcp->num_addrs && *result_p == ATTEMPT_AGAIN; i++) {
        if (mci_rt_time_left_ms(join->rt) == 0)
            break;
        err = attempt_at(join, &join->tcp->addrs[i], result_p);
        if (err != MCOMM_SUCCESS)
            return err;
        if (*result_p == ATTEMPT_AGAIN)
            mci_rdv_client_fini(&join->client);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t timed_out(const struct join *join)
{
    const struct mci_rt *rt = join->rt;

    if (join->client.missing[0] != '\0')
        return mci_err_set(MCOMM_ERR_TIMEOUT, "not all ranks came to %s within %d ms; missing: %s",
                           join->tcp->where, rt->timeout_ms, join->client.missing);
    if (join->was_admitted)
        return mci_err_set(MCOMM_ERR_TIMEOUT, "no answer from rank 0 within %d ms: %s",
                           rt->timeout_ms, join->why);
    return mci_err_set(MCOMM_ERR_TIMEOUT,
                       "missing: rank 0; it did not come to %s within %d ms (%s)", join->tcp->where,
                       rt->timeout_ms, join->why);
}

static mcomm_err_t join_run(struct join *join)
{
    int backoff_ms = BACKOFF_MIN_MS;
    enum attempt result;
    mcomm_err_t err;

    while (mci_rt_time_left_ms(join->rt) > 0) {
        err = attempt_all(join, &result);
        if (err != MCOMM_SUCCESS)
            return err;
        if (result == ATTEMPT_DONE)
            return MCOMM_SUCCESS;
        if (result == ATTEMPT_FATAL)
            return join->client.error;
        /* Spread the ranks a little: they all started in the same moment. */
        poll(NULL, 0,
             min_int(backoff_ms + (backoff_ms > 8 ? join->rt->info.rank % 8 : 0),
                     mci_rt_time_left_ms(join->rt)));
        backoff_ms = min_int(backoff_ms * 3 / 2 + 1, BACKOFF_MAX_MS);
    }
    return timed_out(join);
}

mcomm_err_t mci_rt_tcp_join(struct mci_rt *rt, struct mci_rt_tcp *tcp, const void *packet,
                            size_t nbytes, struct mci_rt_blobs *out)
{
    struct join *join = mci_mem_zalloc(sizeof(*join));
    mcomm_err_t err;

    if (join == NULL)
        return MCOMM_ERR_NO_MEM;
    join->rt = rt;
    join->tcp = tcp;
    join->packet = packet;
    join->nbytes = nbytes;
    join->hello.version = MCI_RDV_VERSION;
    join->hello.rank = (uint32_t)rt->info.rank;
    join->hello.size = (uint32_t)rt->info.size;
    join->hello.pid = (uint32_t)getpid();
    err = mci_random(&join->hello.instance, sizeof(join->hello.instance));
    if (err == MCOMM_SUCCESS)
        err = join_run(join);
    if (err == MCOMM_SUCCESS) {
        *out = join->client.blobs;
        join->client.blobs = (struct mci_rt_blobs){0};
    }
    mci_rdv_client_fini(&join->client);
    mci_mem_free(join);
    return err;
}
