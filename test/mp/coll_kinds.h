/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Every collective behind one signature, so that one argument of a good call can be another. */
#ifndef TEST_COLL_KINDS_H
#define TEST_COLL_KINDS_H

#include "coll_check.h"

#define N 64
#define W MCOMM_COMM_WORLD

static int x[N], y[N];
static size_t counts[SMALL_RANKS], places[SMALL_RANKS];

/* ---- the calls ---- */
struct args {
    const void *send;
    void *recv;
    size_t count;
    const size_t *send_counts, *send_displs, *recv_counts, *recv_displs;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    int root;
    mcomm_comm_t comm;
};

enum takes { /* which arguments there are */
    SEND = 1,
    RECV = 2,
    COUNT = 4,
    SEND_LISTS = 8,
    RECV_LISTS = 16, /* counts and displacements */
    RECV_COUNTS = 32,
    OP = 64,
    ROOT = 128,
    PREFIX = 256,   /* of ranks: no average */
    SCATTERS = 512, /* in place it is the root's recvbuf that is not there */
    VECTOR = 1024   /* no blocks */
};
#define ANY 0

#define CALL(name, ...)                                                                            \
    static mcomm_err_t call_##name(const struct args *a, enum small_form form, mcomm_request_t *r) \
    {                                                                                              \
        return form == S_BLOCKING      ? mcomm_##name(__VA_ARGS__)                                 \
               : form == S_NONBLOCKING ? mcomm_i##name(__VA_ARGS__, r)                             \
                                       : mcomm_##name##_init(__VA_ARGS__, r);                      \
    }
#define SENDV a->send_counts, a->send_displs
#define RECVV a->recv_counts, a->recv_displs
CALL(barrier, a->comm)
CALL(bcast, a->recv, a->count, a->dtype, a->root, a->comm)
CALL(reduce, a->send, a->recv, a->count, a->dtype, a->op, a->root, a->comm)
CALL(allreduce, a->send, a->recv, a->count, a->dtype, a->op, a->comm)
CALL(gather, a->send, a->recv, a->count, a->dtype, a->root, a->comm)
CALL(gatherv, a->send, a->count, a->recv, RECVV, a->dtype, a->root, a->comm)
CALL(scatter, a->send, a->recv, a->count, a->dtype, a->root, a->comm)
CALL(scatterv, a->send, SENDV, a->recv, a->count, a->dtype, a->root, a->comm)
CALL(allgather, a->send, a->recv, a->count, a->dtype, a->comm)
CALL(allgatherv, a->send, a->count, a->recv, RECVV, a->dtype, a->comm)
CALL(reduce_scatter_block, a->send, a->recv, a->count, a->dtype, a->op, a->comm)
CALL(reduce_scatter, a->send, a->recv, a->recv_counts, a->dtype, a->op, a->comm)
CALL(alltoall, a->send, a->recv, a->count, a->dtype, a->comm)
CALL(alltoallv, a->send, SENDV, a->recv, RECVV, a->dtype, a->comm)
CALL(scan, a->send, a->recv, a->count, a->dtype, a->op, a->comm)
CALL(exscan, a->send, a->recv, a->count, a->dtype, a->op, a->comm)

static const struct kind {
    const char *name;
    mcomm_err_t (*call)(const struct args *a, enum small_form form, mcomm_request_t *request_p);
    unsigned takes;
} kinds[] = {
    {"barrier", call_barrier, ANY},
    {"bcast", call_bcast, RECV | COUNT | ROOT | VECTOR},
    {"reduce", call_reduce, SEND | RECV | COUNT | OP | ROOT | VECTOR},
    {"allreduce", call_allreduce, SEND | RECV | COUNT | OP | VECTOR},
    {"gather", call_gather, SEND | RECV | COUNT | ROOT},
    {"gatherv", call_gatherv, SEND | RECV | COUNT | RECV_LISTS | RECV_COUNTS | ROOT},
    {"scatter", call_scatter, SEND | RECV | COUNT | ROOT | SCATTERS},
    {"scatterv", call_scatterv, SEND | RECV | COUNT | SEND_LISTS | ROOT | SCATTERS},
    {"allgather", call_allgather, SEND | RECV | COUNT},
    {"allgatherv", call_allgatherv, SEND | RECV | COUNT | RECV_LISTS | RECV_COUNTS},
    {"reduce_scatter_block", call_reduce_scatter_block, SEND | RECV | COUNT | OP},
    {"reduce_scatter", call_reduce_scatter, SEND | RECV | RECV_COUNTS | OP},
    {"alltoall", call_alltoall, SEND | RECV | COUNT},
    {"alltoallv", call_alltoallv, SEND | RECV | SEND_LISTS | RECV_LISTS | RECV_COUNTS},
    {"scan", call_scan, SEND | RECV | COUNT | OP | PREFIX | VECTOR},
    {"exscan", call_exscan, SEND | RECV | COUNT | OP | PREFIX | VECTOR},
};
#define KIND_NUM (sizeof(kinds) / sizeof(kinds[0]))

/* Calls of count elements, or so many to or from each. */
static inline void kinds_prepare(size_t count)
{
    for (int r = 0; r < mp_size; r++) {
        counts[r] = count;
        places[r] = (size_t)r * count;
    }
}

static inline struct args good_args(void)
{
    return (struct args){x,      y,           counts[0], counts,  places, counts,
                         places, MCOMM_INT32, MCOMM_SUM, mp_rank, W};
}

#endif
