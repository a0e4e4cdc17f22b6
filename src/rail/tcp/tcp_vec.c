/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The pieces of one system call: frames as header, payload and tail, whole or from where the last
 * call ended. A broken connection is left to the receiving side, which learns of it, too.
 */
#include "config.h"

#include "base/log.h"
#include "rail/tcp/tcp_vec.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HEADER_BYTES sizeof(struct mci_tcp_header)

static uint8_t zeros[65536];
/* The last bytes of a frame; what is before the trailer is padding. */
static const struct tail {
    uint64_t padding;
    struct mci_tcp_trailer trailer;
} tail_good = {0, {MCI_TCP_GOOD, 0}}, tail_void = {0, {MCI_TCP_VOID, 0}};

bool mci_tcp_vec_add(struct mci_tcp_vec *vec, const void *ptr, size_t nbytes)
{
    if (vec->count == MCI_TCP_VEC_MAX)
        return false;
    vec->iov[vec->count].iov_base = (void *)(uintptr_t)ptr;
    vec->iov[vec->count++].iov_len = nbytes;
    vec->nbytes += nbytes;
    return true;
}

static bool add_payload(struct mci_tcp_vec *vec, struct mci_iov_cursor cur, size_t left,
                        bool is_void)
{
    size_t n;
    void *ptr;

    while (left > 0) {
        if (is_void) {
            ptr = zeros;
            n = left < sizeof(zeros) ? left : sizeof(zeros);
        } else {
            n = mci_iov_next(&cur, left, &ptr);
            if (n == 0) { /* the list is shorter than it was said to be */
                is_void = true;
                continue;
            }
        }
        if (!mci_tcp_vec_add(vec, ptr, n))
            return false;
        left -= n;
    }
    return true;
}

bool mci_tcp_vec_add_item(struct mci_tcp_vec *vec, const struct mci_tcp_header *header,
                          const struct mci_iov_cursor *cur, size_t sent, bool is_void)
{
    size_t nbytes = header->frame.nbytes, tail_nbytes = mci_tcp_tail_nbytes(nbytes);
    const struct tail *tail = is_void ? &tail_void : &tail_good;
    size_t tail_left;

    if (sent < HEADER_BYTES) {
        if (!mci_tcp_vec_add(vec, (const uint8_t *)header + sent, HEADER_BYTES - sent))
            return false;
        sent = HEADER_BYTES;
    }
    sent -= HEADER_BYTES;
    if (sent < nbytes) {
        if (!add_payload(vec, *cur, nbytes - sent, is_void))
            return false;
        sent = nbytes;
    }
    tail_left = tail_nbytes - (sent - nbytes);
    return tail_left == 0 ||
           mci_tcp_vec_add(vec, (const uint8_t *)(tail + 1) - tail_left, tail_left);
}

void mci_tcp_lane_set_blocked(struct mci_tcp_lane *lane, bool is_blocked)
{
    if (lane->is_blocked == is_blocked || lane->state == MCI_TCP_LANE_CLOSED)
        return;
    lane->is_blocked = is_blocked;
    mci_loop_fd_mod(&lane->io, EPOLLIN | (is_blocked ? EPOLLOUT : 0u));
}

ssize_t mci_tcp_vec_send(struct mci_tcp_lane *lane, struct mci_tcp_vec *vec)
{
    struct msghdr msg = {.msg_iov = vec->iov, .msg_iovlen = (size_t)vec->count};
    ssize_t n;

    do {
        n = vec->count == 1 ? send(lane->io.fd, vec->iov[0].iov_base, vec->iov[0].iov_len,
                                   MSG_NOSIGNAL | MSG_DONTWAIT)
                            : sendmsg(lane->io.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EFAULT)
        return -1;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
        mci_tcp_lane_set_blocked(lane, true);
        return 0;
    }
    mci_log_debug("tcp: sending failed: %s", strerror(errno));
    mci_tcp_lane_set_blocked(lane, false);
    lane->is_broken = true;
    return 0;
}

size_t mci_tcp_frame_pack(uint8_t *buf, const struct mci_frame *frame, const mcomm_iov_t *iov,
                          size_t iov_count, size_t nbytes)
{
    struct mci_tcp_header header = {.frame = *frame};
    struct mci_iov_cursor cur;
    size_t tail_nbytes = mci_tcp_tail_nbytes(nbytes), n, left = nbytes;
    uint8_t *p = buf;
    void *src;

    memcpy(p, &header, HEADER_BYTES);
    p += HEADER_BYTES;
    mci_iov_seek(&cur, iov, iov_count, 0);
    while (left > 0 && (n = mci_iov_next(&cur, left, &src)) > 0) {
        memcpy(p, src, n);
        p += n;
        left -= n;
    }
    memcpy(p, (const uint8_t *)(&tail_good + 1) - tail_nbytes, tail_nbytes);
    return (size_t)(p - buf) + tail_nbytes;
}
