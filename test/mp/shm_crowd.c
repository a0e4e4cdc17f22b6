/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The kernel bounds how many descriptors of a user are on their way through unix sockets by the
 * number that a process may have open (ETOOMANYREFS). That many are held back here while the ranks
 * connect, and let go a while later. Needs a user who is not root.
 */
#include "mp.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define HELD 200
#define LIMIT 128

static int held[2];

/* @return is the limit passed, by this process or the others? */
static int hold_back(void)
{
    struct rlimit limit = {LIMIT, LIMIT};
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(HELD * sizeof(int))] = {0};
    struct iovec iov = {(void *)(uintptr_t) "x", 1};
    struct msghdr hdr = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);
    int fds[HELD] = {0};

    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, held), 0);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(cmsg), fds, sizeof(fds)); /* standard input, HELD times */
    if (sendmsg(held[0], &hdr, 0) < 0)
        return errno == ETOOMANYREFS;
    return sendmsg(held[0], &hdr, 0) < 0 && errno == ETOOMANYREFS;
}

static void *let_go(void *arg)
{
    struct timespec wait = {.tv_nsec = 500000000}; /* the ranks find no way meanwhile */

    (void)arg;
    nanosleep(&wait, NULL);
    close(held[0]);
    close(held[1]);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int sum = 0;

    CHECK(hold_back());
    mp_init();
    CHECK_EQ(pthread_create(&thread, NULL, let_go, NULL), 0);
    OK(mcomm_allreduce(&mp_rank, &sum, 1, MCOMM_INT32, MCOMM_SUM, MCOMM_COMM_WORLD));
    CHECK_EQ(sum, mp_size * (mp_size - 1) / 2);
    for (int rank = 0; rank < mp_size; rank++) {
        mcomm_peer_desc_t peer = {.struct_size = sizeof(peer)};

        do { /* the monitor thread connects */
            sched_yield();
            OK(mcomm_peer_query(MCOMM_COMM_WORLD, rank, 1, &peer));
        } while (strcmp(peer.rail, "none") == 0);
        if (rank != mp_rank && strcmp(peer.rail, "shm") != 0)
            MP_FAIL("rank %d is reached over %s", rank, peer.rail);
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD)); /* who has finalized is reached no more */
    pthread_join(thread, NULL);
    OK(mcomm_finalize());
    return 0;
}
