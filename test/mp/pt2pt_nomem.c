/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory runs out for a moment while messages arrive that nobody has asked for: the n-th allocation
 * of the receiver fails, for n = 1, 2, ... until none failed. No message is lost or changed, and
 * the sender is not given up. Puts, too. malloc() and calloc() are this program's.
 */
#include "nomem.h"
#include "pt2pt_check.h"

#define MESSAGES 24
#define LAST_TAG 1000

extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t count, size_t nbytes);

__attribute__((visibility("default"))) void *malloc(size_t nbytes)
{
    return fails() ? NULL : __libc_malloc(nbytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t nbytes)
{
    return fails() ? NULL : __libc_calloc(count, nbytes);
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

int main(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    int32_t goes_on = 1;
    void *base;

    mp_init();
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
