/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory runs out for a moment while messages arrive that nobody has asked for: the n-th allocation
 * of the receiver fails, for n = 1, 2, ... until none failed. No message is lost or changed, and
 * the sender is not given up. Puts, too. Nor is one that is not known yet, for whose record there
 * is none (first). malloc() and calloc() are this program's.
 */
#include "config.h"

#include "nomem.h"
#include "pt2pt/pt2pt_priv.h"
#include "pt2pt_check.h"

#define MESSAGES 24
#define LAST_TAG 1000

extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t count, size_t nbytes);

static _Atomic size_t refused_nbytes; /* every call for so many bytes fails; 0: none */

static int is_refused(size_t nbytes)
{
    if (nbytes == 0 || nbytes != atomic_load(&refused_nbytes))
        return fails();
    errno = ENOMEM;
    return 1;
}

__attribute__((visibility("default"))) void *malloc(size_t nbytes)
{
    return is_refused(nbytes) ? NULL : __libc_malloc(nbytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t nbytes)
{
    return is_refused(count * nbytes) ? NULL : __libc_calloc(count, nbytes);
}

static const size_t sizes[] = {0, 8, 100, 3000, 9000, 40000}; /* all are sent eagerly */
static unsigned char buf[60000];
static mcomm_win_t win;

static void sender(mcomm_comm_t comm, int round)
{
    mcomm_err_t err;
    int token;

    OK(mcomm_recv(&token, sizeof(token), 1, LAST_TAG, comm, MCOMM_STATUS_IGNORE)); /* armed */
    for (int i = 0; i < MESSAGES; i++) {
        size_t nbytes = sizes[i % 6];

        pattern_fill(buf, nbytes, (uint32_t)(round * MESSAGES + i));
        OK(mcomm_send(buf, nbytes, 1, i, comm));
    }
    for (int i = 0; i < 4; i++) {
        err = mcomm_put(buf, sizeof(buf), 1, 0, win);
        if (err == MCOMM_SUCCESS)
            err = mcomm_flush(1, win);
        CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_NO_MEM);
    }
    OK(mcomm_send(&round, sizeof(round), 1, LAST_TAG, comm));
}

/* true: there was an n-th allocation to fail. */
static int receiver(mcomm_comm_t comm, int round)
{
    int token = round, was_reached;
    mcomm_request_t last;
    mcomm_status_t st;

    OK(mcomm_irecv(&token, sizeof(token), 0, LAST_TAG, comm, &last));
    OK(mcomm_send(&round, sizeof(round), 0, LAST_TAG, comm));
    atomic_store(&calls_left, round);
    OK(mcomm_wait(&last, MCOMM_FOREVER, MCOMM_STATUS_IGNORE)); /* all before it are here */
    was_reached = atomic_load(&calls_left) <= 0;
    atomic_store(&calls_left, 0);
    for (int i = 0; i < MESSAGES; i++) {
        size_t nbytes = sizes[i % 6];

        memset(buf, GUARD, nbytes);
        OK(mcomm_recv(buf, nbytes, 0, i, comm, &st));
        CHECK_EQ(st.nbytes, nbytes);
        CHECK(pattern_wrong_at(buf, nbytes, (uint32_t)(round * MESSAGES + i)) == (size_t)-1);
    }
    return was_reached;
}

/* Rank 2 is heard of for the first time; rank 1 tells it when. */
static void first_message(void)
{
    mcomm_request_t req;
    uint64_t token = 0;

    CHECK(mp_size == 3);
    for (int i = 0; i < 2; i++) { /* once to get to know each other */
        if (mp_rank == 0) {
            OK(mcomm_irecv(&token, sizeof(token), 2, 1, MCOMM_COMM_WORLD, &req));
            atomic_store(&refused_nbytes, i == 1 ? sizeof(struct mci_pt2pt_peer) : 0);
            OK(mcomm_send(&token, sizeof(token), 1, 1, MCOMM_COMM_WORLD));
            if (i == 1) {
                OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
                CHECK_EQ(token, 42);
                OK(mcomm_recv(&token, sizeof(token), 2, 2, MCOMM_COMM_WORLD, NULL));
                CHECK_EQ(token, 43);
                atomic_store(&refused_nbytes, 0);
            } else {
                OK(mcomm_cancel(req));
                CHECK(mcomm_wait(&req, MCOMM_FOREVER, NULL) == MCOMM_ERR_CANCELLED);
            }
        } else if (mp_rank == 1) {
            OK(mcomm_recv(&token, sizeof(token), 0, 1, MCOMM_COMM_WORLD, NULL));
            OK(mcomm_send(&token, sizeof(token), 2, 1, MCOMM_COMM_WORLD));
        } else {
            OK(mcomm_recv(&token, sizeof(token), 1, 1, MCOMM_COMM_WORLD, NULL));
            for (token = 42; token < 44 && i == 1; token++)
                OK(mcomm_send(&token, sizeof(token), 0, (int)token - 41, MCOMM_COMM_WORLD));
        }
    }
}

int main(int argc, char **argv)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    int32_t goes_on = 1;
    void *base;

    mp_init();
    if (argc > 1 && strcmp(argv[1], "first") == 0) {
        first_message();
        OK(mcomm_finalize());
        return 0;
    }
    CHECK(mp_size == 2);
    attr.nbytes = sizeof(buf);
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win));
    OK(mcomm_put(buf, 8, (mp_rank + 1) % 2, 0, win));
    OK(mcomm_win_fence(win));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    for (int round = 1; goes_on; round++) {
        goes_on = 0;
        if (mp_rank == 0)
            sender(MCOMM_COMM_WORLD, round);
        else
            goes_on = receiver(MCOMM_COMM_WORLD, round);
        OK(mcomm_bcast(&goes_on, 1, MCOMM_INT32, 1, MCOMM_COMM_WORLD));
        CHECK(goes_on || round > 4);
    }
    OK(mcomm_win_free(&win));
    OK(mcomm_finalize());
    return 0;
}
