/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Four threads a rank: each plays ping-pong with its twin on the partner rank, with its own tag and
 * all sizes of path; at the same time nonblocking traffic, probes, and a communicator of their own.
 */
#include "pt2pt_check.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 400

struct player {
    pthread_t thread;
    int number, other;
    mcomm_comm_t comm;
};

static void play_blocking(const struct player *p, unsigned char *buf, size_t nbytes, uint32_t round)
{
    mcomm_status_t st;

    if (mp_rank < p->other) {
        pattern_fill(buf, nbytes, round);
        OK(mcomm_send(buf, nbytes, p->other, p->number, p->comm));
        OK(mcomm_recv(buf, nbytes, p->other, p->number, p->comm, &st));
    } else {
        OK(mcomm_recv(buf, nbytes, p->other, p->number, p->comm, &st));
        CHECK(pattern_wrong_at(buf, nbytes, round) == (size_t)-1);
        OK(mcomm_send(buf, nbytes, p->other, p->number, p->comm));
    }
    CHECK(st.nbytes == nbytes && st.tag == p->number);
    CHECK(pattern_wrong_at(buf, nbytes, round) == (size_t)-1);
}

static void play_requests(const struct player *p, unsigned char *buf, size_t nbytes, uint32_t round)
{
    unsigned char *in = buf + nbytes;
    mcomm_request_t reqs[2];
    mcomm_status_t st[2];

    pattern_fill(buf, nbytes, round);
    OK(mcomm_isend(buf, nbytes, p->other, p->number, p->comm, &reqs[1]));
    if (round % 3 == 0)
        OK(mcomm_probe(p->other, p->number, p->comm, NULL));
    OK(mcomm_irecv(in, nbytes, p->other, p->number, p->comm, &reqs[0]));
    OK(mcomm_waitall(2, reqs, MCOMM_FOREVER, st));
    CHECK(st[0].nbytes == nbytes && pattern_wrong_at(in, nbytes, round) == (size_t)-1);
}

static void *play(void *arg)
{
    static const size_t sizes[] = {8, 100, 5000, 40000, 300000};
    struct player *p = arg;
    unsigned char *buf = malloc(2 * 300000);

    CHECK(buf != NULL);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        size_t nbytes = sizes[(round * 7u + (uint32_t)p->number) % (round % 8 == 0 ? 5 : 3)];

        if (round % 2 == 0)
            play_blocking(p, buf, nbytes, round);
        else
            play_requests(p, buf, nbytes, round);
    }
    free(buf);
    return NULL;
}

int main(void)
{
    struct player players[THREADS];
    mcomm_comm_t comm;
    int other;

    mp_init();
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    other = mp_rank ^ 1;
    for (int i = 0; i < THREADS && other < mp_size; i++) {
        players[i] = (struct player){.number = i, .other = other};
        players[i].comm = i % 2 == 0 ? MCOMM_COMM_WORLD : comm;
        CHECK(pthread_create(&players[i].thread, NULL, play, &players[i]) == 0);
    }
    for (int i = 0; i < THREADS && other < mp_size; i++)
        pthread_join(players[i].thread, NULL);
    OK(mcomm_comm_free(&comm));
    test_meet(1000);
    OK(mcomm_finalize());
    return 0;
}
