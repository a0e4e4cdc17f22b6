/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Messages between ranks 0 and 1. */
#include "config.h"

#include "perf/bench.h"

static const size_t sizes[] = {8, 64, 1024, 16384, 65536, 262144, 1048576, 4194304, 16777216};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))

static void pingpong(struct bench *b, size_t nbytes, long iterations)
{
    int peer = 1 - b->rank;

    if (b->rank > 1)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        if (b->rank == 0) {
            bench_rewrite(b, b->src, nbytes);
            bench_check(b, mcomm_send(b->src, nbytes, peer, 1, b->comm), "send");
        }
        bench_check(b, mcomm_recv(b->dst, nbytes, peer, 1, b->comm, MCOMM_STATUS_IGNORE), "recv");
        bench_read(b, b->dst, nbytes);
        if (b->rank == 1) {
            bench_rewrite(b, b->src, nbytes);
            bench_check(b, mcomm_send(b->src, nbytes, peer, 1, b->comm), "send");
        }
    }
}

/* A window of messages, then an empty answer. */
static void stream(struct bench *b, size_t nbytes, long iterations)
{
    mcomm_request_t requests[BENCH_WINDOW];

    if (b->rank > 1)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        for (size_t k = 0; k < BENCH_WINDOW; k++) {
            size_t at = (k + 1) * nbytes <= b->buffer_nbytes ? k * nbytes : 0;

            if (b->rank == 0) {
                bench_rewrite(b, b->src + at, nbytes);
                bench_check(b, mcomm_isend(b->src + at, nbytes, 1, 2, b->comm, &requests[k]),
                            "isend");
            } else {
                bench_check(b, mcomm_irecv(b->dst + at, nbytes, 0, 2, b->comm, &requests[k]),
                            "irecv");
            }
            if (b->failed != NULL)
                return;
        }
        bench_check(b, mcomm_waitall(BENCH_WINDOW, requests, MCOMM_FOREVER, MCOMM_STATUSES_IGNORE),
                    "waitall");
        if (b->rank == 0) {
            bench_check(b, mcomm_recv(NULL, 0, 1, 3, b->comm, MCOMM_STATUS_IGNORE), "recv");
            continue;
        }
        for (size_t k = 0; k < BENCH_WINDOW; k++)
            bench_read(b, b->dst + ((k + 1) * nbytes <= b->buffer_nbytes ? k * nbytes : 0), nbytes);
        bench_check(b, mcomm_send(NULL, 0, 0, 3, b->comm), "send");
    }
}

void bench_p2p(struct bench *b)
{
    if (b->size < 2) {
        bench_heading(b, "messages: left out, they need two ranks (mpirun -n 2 mcomm_perf)");
        return;
    }
    bench_heading(b, "messages between ranks 0 and 1, half round trip");
    for (size_t i = 0; i < SIZE_NUM; i++)
        bench_measure(b, "pingpong", pingpong, sizes[i], 2);
    bench_heading(b, "stream of messages, 16 in flight, time of one");
    for (size_t i = 0; i < SIZE_NUM; i++)
        if (sizes[i] * BENCH_WINDOW <= b->buffer_nbytes)
            bench_measure(b, "stream16", stream, sizes[i], BENCH_WINDOW);
}
