/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A process that has no descriptor left is told so by MCOMM_ERR_LIMIT, not that others have failed;
 * once it has some again, the same calls work. Who connects to it meanwhile waits.
 */
#include "mp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#define LIMIT 256
#define BIG ((size_t)1 << 20)

static int taken[LIMIT], taken_count;

static void use_up(void)
{
    struct rlimit limit;
    int fd;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = LIMIT;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        taken[taken_count++] = fd;
    CHECK_EQ(errno, EMFILE);
}

static void give_back(void)
{
    while (taken_count > 0)
        close(taken[--taken_count]);
}

/* Whichever form: the same error, and a text that says what is missing. */
static void sends_are_refused(int to, const unsigned char *bytes)
{
    mcomm_request_t req;

    CHECK_EQ(mcomm_send(bytes, 8, to, 1, MCOMM_COMM_WORLD), MCOMM_ERR_LIMIT);
    CHECK(mcomm_last_error()[0] != '\0');
    CHECK_EQ(mcomm_send(bytes, BIG, to, 1, MCOMM_COMM_WORLD), MCOMM_ERR_LIMIT);
    OK(mcomm_isend(bytes, 8, to, 1, MCOMM_COMM_WORLD, &req));
    CHECK_EQ(mcomm_wait(&req, MCOMM_FOREVER, NULL), MCOMM_ERR_LIMIT);
}

static void connector_has_none(unsigned char *bytes)
{
    if (mp_rank == 0) {
        memset(bytes, 7, BIG);
        use_up();
        sends_are_refused(1, bytes);
        give_back();
        OK(mcomm_send(bytes, 8, 1, 1, MCOMM_COMM_WORLD));
        OK(mcomm_send(bytes, BIG, 1, 1, MCOMM_COMM_WORLD));
    } else if (mp_rank == 1) {
        OK(mcomm_recv(bytes, 8, 0, 1, MCOMM_COMM_WORLD, NULL));
        OK(mcomm_recv(bytes, BIG, 0, 1, MCOMM_COMM_WORLD, NULL));
        CHECK(bytes[0] == 7 && bytes[BIG - 1] == 7);
    }
}

/* News goes through rank 1, to which the others are connected. */
static void acceptor_has_none(unsigned char *bytes)
{
    mcomm_request_t req;
    char token = 0, other = 0;

    if (mp_rank == 2) {
        OK(mcomm_sendrecv(&token, 1, 1, 2, &other, 1, 1, 2, MCOMM_COMM_WORLD, NULL));
        use_up();
        OK(mcomm_send(&token, 1, 1, 3, MCOMM_COMM_WORLD));
        OK(mcomm_recv(&token, 1, 1, 4, MCOMM_COMM_WORLD, NULL));
        give_back();
        OK(mcomm_recv(bytes, BIG, 0, 5, MCOMM_COMM_WORLD, NULL));
        CHECK(bytes[0] == 7 && bytes[BIG - 1] == 7);
    } else if (mp_rank == 1) {
        OK(mcomm_sendrecv(&token, 1, 2, 2, &other, 1, 2, 2, MCOMM_COMM_WORLD, NULL));
        OK(mcomm_recv(&token, 1, 2, 3, MCOMM_COMM_WORLD, NULL));
        OK(mcomm_send(&token, 1, 0, 3, MCOMM_COMM_WORLD));
        OK(mcomm_recv(&token, 1, 0, 4, MCOMM_COMM_WORLD, NULL));
        OK(mcomm_send(&token, 1, 2, 4, MCOMM_COMM_WORLD));
    } else {
        OK(mcomm_recv(&token, 1, 1, 3, MCOMM_COMM_WORLD, NULL));
        OK(mcomm_isend(bytes, BIG, 2, 5, MCOMM_COMM_WORLD, &req));
        OK(mcomm_send(&token, 1, 1, 4, MCOMM_COMM_WORLD));
        OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
    }
}

/* A member to which there is no connection yet; -1: none. */
static int unconnected(void)
{
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};

    for (int rank = 0; rank < mp_size; rank++) {
        OK(mcomm_peer_query(MCOMM_COMM_WORLD, rank, 0, &desc));
        if (strcmp(desc.rail, "none") == 0)
            return rank;
    }
    return -1;
}

/* Rank 0 puts into a member that it has not met, into allocated and into user memory. */
static void origin_has_none(void)
{
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    uint64_t own[2] = {0}, *base, value = 42;
    mcomm_win_t wins[2];
    int target = -1;

    attr.nbytes = sizeof(own);
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&base, &wins[0]));
    OK(mcomm_win_create(own, &attr, MCOMM_COMM_WORLD, &wins[1]));
    if (mp_rank == 0)
        target = unconnected();
    if (mp_rank == 0 && target >= 0) {
        use_up();
        for (int i = 0; i < 2; i++)
            EXPECT(MCOMM_ERR_LIMIT, mcomm_put(&value, sizeof(value), target, 0, wins[i]));
        EXPECT(MCOMM_ERR_LIMIT, mcomm_peer_query(MCOMM_COMM_WORLD, target, 1, &desc));
        give_back();
        for (int i = 0; i < 2; i++)
            OK(mcomm_put(&value, sizeof(value), target, 0, wins[i]));
        printf("rank %d was new to rank 0\n", target);
    }
    OK(mcomm_bcast(&target, 1, MCOMM_INT32, 0, MCOMM_COMM_WORLD));
    for (int i = 0; i < 2; i++)
        OK(mcomm_win_fence(wins[i]));
    CHECK_EQ(base[0], mp_rank == target ? value : 0);
    CHECK_EQ(own[0], mp_rank == target ? value : 0);
    for (int i = 0; i < 2; i++)
        OK(mcomm_win_free(&wins[i]));
}

/* All get the error of the one that has none, and none has a window. */
static void window_s_memory_has_none(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_win_t win;
    void *base;

    attr.nbytes = 4096;
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == 1)
        use_up();
    CHECK_EQ(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win), MCOMM_ERR_LIMIT);
    CHECK(mcomm_last_error()[0] != '\0');
    give_back();
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win));
    OK(mcomm_win_free(&win));
}

int main(int argc, char **argv)
{
    unsigned char *bytes = malloc(BIG);

    CHECK(bytes != NULL);
    mp_init();
    CHECK(mp_size >= 3);
    if (argc > 1 && strcmp(argv[1], "window") == 0) {
        origin_has_none();
        OK(mcomm_finalize());
        free(bytes);
        return 0;
    }
    connector_has_none(bytes);
    acceptor_has_none(bytes);
    window_s_memory_has_none();
    OK(mcomm_finalize());
    free(bytes);
    return 0;
}
