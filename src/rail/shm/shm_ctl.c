/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Control messages over a connection's unix socket: fixed size, with up to two descriptors. Sending
 * never blocks; what the socket has no room for is queued with duplicates of its descriptors.
 */
#include "config.h"

#include "base/mem.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_AGAIN_NS INT64_C(2000000)

struct fd_space {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(MCI_SHM_CTL_FDS * sizeof(int))];
};

/* A message is far smaller than what the kernel takes in one go: all or nothing. */
static ssize_t message_send(int sock, const struct mci_shm_ctl *msg, const int *fds, int fd_count)
{
    struct iovec iov = {(void *)(uintptr_t)msg, sizeof(*msg)};
    struct fd_space space = {{0}};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (fd_count > 0) {
        struct cmsghdr *cmsg = (struct cmsghdr *)space.bytes;

        hdr.msg_control = space.bytes;
        hdr.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fds, (size_t)fd_count * sizeof(int));
    }
    do {
        n = sendmsg(sock, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n;
}

/*
 * Not now. ETOOMANYREFS: of this user more descriptors are on their way through sockets than a
 * process may have open, so when many processes connect at once; the receivers take them out.
 */
static bool is_for_later(int sys_errno)
{
    return sys_errno == EAGAIN || sys_errno == ETOOMANYREFS;
}

/* Try to send what is queued when there is room, or in a while. */
static mcomm_err_t flush_later(struct mci_shm_conn *conn, int sys_errno)
{
    if (sys_errno == EAGAIN)
        return mci_loop_fd_mod(&conn->sock, EPOLLIN | EPOLLOUT);
    mci_loop_timer_set(&conn->out_timer, OUT_AGAIN_NS);
    return mci_loop_fd_mod(&conn->sock, EPOLLIN);
}

void mci_shm_ctl_out_again(struct mci_loop_timer *timer)
{
    struct mci_shm_conn *conn = timer->arg;

    mci_loop_fd_mod(&conn->sock, EPOLLIN | EPOLLOUT); /* what follows is the socket's business */
}

static void out_free(struct mci_shm_out *out)
{
    for (int i = 0; i < out->fd_count; i++)
        close(out->fds[i]);
    mci_mem_free(out);
}

/* Either all of them, or out->fds holds what there was. */
static mcomm_err_t fds_dup(struct mci_shm_out *out, const int *fds, int fd_count)
{
    for (; out->fd_count < fd_count; out->fd_count++) {
        int fd = fcntl(fds[out->fd_count], F_DUPFD_CLOEXEC, 0);

        if (fd < 0)
            return mci_err_sys(mci_err_of_errno(errno), errno, "a descriptor of control message %u",
                               out->msg.type);
        out->fds[out->fd_count] = fd;
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t message_queue(struct mci_shm_conn *conn, const struct mci_shm_ctl *msg,
                                 const int *fds, int fd_count, int sys_errno)
{
    struct mci_shm_out *out = mci_mem_zalloc(sizeof(*out));
    mcomm_err_t err;

    if (out == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a control message");
    out->msg = *msg;
    err = fds_dup(out, fds, fd_count);
    if (err != MCOMM_SUCCESS) {
        out_free(out);
        return err;
    }
    mci_list_push(&conn->out, &out->link);
    return flush_later(conn, sys_errno);
}

mcomm_err_t mci_shm_ctl_send(struct mci_shm_conn *conn, enum mci_shm_ctl_type type,
                             const uint64_t arg[4], const int *fds, int fd_count)
{
    struct mci_shm_ctl msg = {.magic = MCI_SHM_MAGIC, .type = type};

    if (conn->sock.fd < 0)
        return MCOMM_SUCCESS; /* a pair within the process */
    if (arg != NULL)
        memcpy(msg.arg, arg, sizeof(msg.arg));
    if (!mci_list_is_empty(&conn->out))
        return message_queue(conn, &msg, fds, fd_count, EAGAIN);
    if (message_send(conn->sock.fd, &msg, fds, fd_count) == (ssize_t)sizeof(msg))
        return MCOMM_SUCCESS;
    if (is_for_later(errno))
        return message_queue(conn, &msg, fds, fd_count, errno);
    return mci_err_sys(MCOMM_ERR_SYS, errno, "sending control message %d to a local process", type);
}

/* Not queued: a peer whose socket is full has kicks enough. */
void mci_peer_kick(struct mci_peer *peer)
{
    struct mci_shm_ctl msg = {.magic = MCI_SHM_MAGIC, .type = MCI_SHM_CTL_KICK};
    struct mci_shm_conn *conn = peer->conn;

    if (peer->state != MCI_PEER_READY || peer->ops != &mci_rail_shm_ops || conn->sock.fd < 0)
        return;
    if (mci_list_is_empty(&conn->out))
        message_send(conn->sock.fd, &msg, NULL, 0);
}

mcomm_err_t mci_shm_ctl_flush(struct mci_shm_conn *conn)
{
    while (!mci_list_is_empty(&conn->out)) {
        struct mci_shm_out *out = mci_container_of(conn->out.next, struct mci_shm_out, link);

        if (message_send(conn->sock.fd, &out->msg, out->fds, out->fd_count) < 0) {
            if (is_for_later(errno))
                return flush_later(conn, errno);
            return mci_err_sys(MCOMM_ERR_SYS, errno, "sending control message %u", out->msg.type);
        }
        mci_list_remove(&out->link);
        out_free(out);
    }
    return mci_loop_fd_mod(&conn->sock, EPOLLIN);
}

static void take_fds(struct mci_shm_conn *conn, struct msghdr *hdr)
{
    struct cmsghdr *cmsg;

    for (cmsg = CMSG_FIRSTHDR(hdr); cmsg != NULL; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
        size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
            if (conn->in_fd_count < MCI_SHM_CTL_FDS)
                conn->in_fds[conn->in_fd_count++] = fd;
            else
                close(fd);
        }
    }
}

mcomm_err_t mci_shm_ctl_recv(struct mci_shm_conn *conn)
{
    while (conn->in_nbytes < sizeof(conn->in)) {
        struct iovec iov = {(char *)&conn->in + conn->in_nbytes,
                            sizeof(conn->in) - conn->in_nbytes};
        struct fd_space space;
        struct msghdr hdr = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = space.bytes,
                             .msg_controllen = sizeof(space.bytes)};
        ssize_t n = recvmsg(conn->sock.fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return MCOMM_ERR_TRY_AGAIN;
        if (n <= 0)
            return MCOMM_ERR_PROC_FAILED;
        take_fds(conn, &hdr);
        conn->in_nbytes += (size_t)n;
    }
    if (conn->in.magic != MCI_SHM_MAGIC)
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "a control message begins with %#x",
                           conn->in.magic);
    return MCOMM_SUCCESS;
}

int mci_shm_ctl_take_fd(struct mci_shm_conn *conn, int index)
{
    int fd = conn->in_fds[index];

    conn->in_fds[index] = -1;
    return fd;
}

void mci_shm_ctl_next(struct mci_shm_conn *conn)
{
    for (int i = 0; i < MCI_SHM_CTL_FDS; i++) {
        if (conn->in_fds[i] >= 0)
            close(conn->in_fds[i]);
        conn->in_fds[i] = -1;
    }
    conn->in_nbytes = 0;
    conn->in_fd_count = 0;
}

void mci_shm_ctl_fini(struct mci_shm_conn *conn)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&conn->out)) != NULL)
        out_free(mci_container_of(node, struct mci_shm_out, link));
    mci_shm_ctl_next(conn);
}
