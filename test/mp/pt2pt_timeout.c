/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Blocking calls with a time limit: the operation is withdrawn, so the buffer is touched no more
 * and later messages are matched as if it had not been; the partner of a matched one gets an error.
 */
#include "pt2pt_check.h"

#define LARGE ((size_t)8 << 20)
#define LIMIT_MS 30

static mcomm_comm_t comm; /* with the time limit */
static int other;
static unsigned char *buf;

static void meet(void)
{
    OK(mcomm_sendrecv(NULL, 0, other, 99, NULL, 0, other, 99, MCOMM_COMM_WORLD, NULL));
}

static void receive_is_withdrawn(void)
{
    unsigned char in[64];
    mcomm_message_t message;

    memset(in, GUARD, sizeof(in));
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_recv(in, sizeof(in), other, 1, comm, NULL));
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_recv(in, sizeof(in), MCOMM_ANY_SOURCE, 1, comm, NULL));
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_probe(other, 1, comm, NULL));
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_mprobe(other, 1, comm, &message, NULL));
    meet();
    OK(mcomm_send("later", 6, other, 1, comm));
    OK(mcomm_recv(buf, 64, other, 1, comm, NULL));
    CHECK(strcmp((char *)buf, "later") == 0 && guard_is_whole(in, sizeof(in)));
    meet();
}

/* Rank 0's large send is withdrawn before anybody receives it: the next message takes its place. */
static void send_is_withdrawn(size_t nbytes, int is_sync)
{
    mcomm_status_t st;

    if (mp_rank == 0) {
        memset(buf, 1, nbytes);
        EXPECT(MCOMM_ERR_TIMEOUT, is_sync ? mcomm_ssend(buf, nbytes, other, 2, comm)
                                          : mcomm_send(buf, nbytes, other, 2, comm));
        OK(mcomm_send("second", 7, other, 2, comm));
    }
    meet();
    if (mp_rank == 1) {
        OK(mcomm_recv(buf, LARGE, other, 2, comm, &st));
        CHECK(st.nbytes == 7 && strcmp((char *)buf, "second") == 0);
    }
    meet();
}

/* Both ways at once, neither has a partner. */
static void sendrecv_is_withdrawn(void)
{
    unsigned char *in = buf + LARGE / 2;

    memset(in, GUARD, 64);
    EXPECT(MCOMM_ERR_TIMEOUT,
           mcomm_sendrecv(buf, LARGE / 2, other, 3, in, 64, other, 4, comm, NULL));
    meet();
    OK(mcomm_sendrecv("x", 2, other, 4, buf, 2, other, 4, comm, NULL));
    CHECK(guard_is_whole(in, 64) && buf[0] == 'x');
    meet();
}

__attribute__((noinline)) static void stack_dirty(void)
{
    volatile unsigned char junk[4096];

    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = 0xa5;
}

/* What was sent at once stays sent. */
static void sendrecv_gives_up_after_its_send(void)
{
    stack_dirty();
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_sendrecv("x", 2, other, 11, buf, 2, other, 12, comm, NULL));
    OK(mcomm_recv(buf, 2, other, 11, comm, NULL));
    CHECK(buf[0] == 'x');
    meet();
}

/*
 * Rank 0's receive is satisfied late, its send too late: the limit is one for both. Rank 1 has no
 * event to wait for; it waits by receives that nobody sends for.
 */
static void sendrecv_has_one_limit(void)
{
    mcomm_comm_t late;
    char c = 'x';

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &late));
    meet();
    if (mp_rank == 0) {
        OK(mcomm_comm_set_timeout(late, 1000));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_sendrecv(buf, LARGE, 1, 7, &c, 1, 1, 8, late, NULL));
    } else {
        OK(mcomm_comm_set_timeout(late, 800));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_recv(&c, 1, 0, 9, late, NULL));
        OK(mcomm_send(&c, 1, 0, 8, late));
        OK(mcomm_comm_set_timeout(late, 600));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_recv(&c, 1, 0, 9, late, NULL));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_recv(buf, LARGE, 0, 7, late, NULL));
    }
    meet();
    OK(mcomm_comm_free(&late));
}

/*
 * Rank 1 stops driving progress while the transfer is under way; rank 0 gives it up. Afterwards
 * rank 1 finds an error (or all of the data, if they were complete), and rank 0's buffer is its
 * own.
 */
static void transfer_under_way_is_given_up(int by_sender)
{
    mcomm_request_t req;
    mcomm_err_t err, mine = MCOMM_SUCCESS;
    int is_initiator = by_sender ? mp_rank == 0 : mp_rank == 1;

    OK(mcomm_comm_set_timeout(comm, 1));
    for (int i = 0; i < 40; i++) {
        memset(buf, 1, LARGE);
        if (is_initiator) {
            mine = by_sender ? mcomm_send(buf, LARGE, other, 5, comm)
                             : mcomm_recv(buf, LARGE, other, 5, comm, NULL);
            CHECK(mine == MCOMM_SUCCESS || mine == MCOMM_ERR_TIMEOUT ||
                  mine == MCOMM_ERR_CANCELLED);
            memset(buf, GUARD, LARGE);
            meet();
            CHECK(guard_is_whole(buf, LARGE));
            /* a message nobody took, or a receive without a message: the partner cancels */
        } else {
            OK(by_sender ? mcomm_irecv(buf, LARGE, other, 5, comm, &req)
                         : mcomm_isend(buf, LARGE, other, 5, comm, &req));
            meet();
            err = mcomm_wait(&req, 1000, NULL);
            if (err == MCOMM_ERR_TIMEOUT && by_sender) {
                OK(mcomm_cancel(req)); /* the send was withdrawn before it was matched */
                EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&req, MCOMM_FOREVER, NULL));
            } else if (err == MCOMM_ERR_TIMEOUT) {
                mine = err; /* the receive was withdrawn unmatched: the send still waits */
            } else {
                CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_CANCELLED);
            }
        }
        if (!by_sender) { /* take what is left over */
            int left = mine == MCOMM_ERR_TIMEOUT && !is_initiator, theirs = 0;

            OK(mcomm_sendrecv(&left, sizeof(left), other, 6, &theirs, sizeof(theirs), other, 6,
                              MCOMM_COMM_WORLD, NULL));
            if (theirs) {
                OK(mcomm_irecv(buf, LARGE, other, 5, comm, &req));
                OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
            }
            if (left)
                OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
        }
        mine = MCOMM_SUCCESS;
    }
    OK(mcomm_comm_set_timeout(comm, LIMIT_MS));
    meet();
}

int main(void)
{
    mp_init();
    CHECK(mp_size == 2);
    other = 1 - mp_rank;
    buf = malloc(LARGE);
    CHECK(buf != NULL);
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    OK(mcomm_comm_set_timeout(comm, LIMIT_MS));
    receive_is_withdrawn();
    send_is_withdrawn(LARGE, 0);
    send_is_withdrawn(LARGE, 1);
    send_is_withdrawn(8, 1);
    sendrecv_is_withdrawn();
    sendrecv_gives_up_after_its_send();
    sendrecv_has_one_limit();
    transfer_under_way_is_given_up(1);
    transfer_under_way_is_given_up(0);
    OK(mcomm_comm_free(&comm));
    free(buf);
    meet();
    OK(mcomm_finalize());
    return 0;
}
