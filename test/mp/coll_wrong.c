/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bad arguments of every collective in every form: an error that names argument and value, no
 * request, and the next good call works. What only a root looks at is tried with oneself as root.
 */
#include "coll_check.h"

#define N 64
#define W MCOMM_COMM_WORLD
#define T MCOMM_INT32
#define SUM MCOMM_SUM

static int x[N], y[N], me;
static size_t ones[SMALL_RANKS], places[SMALL_RANKS], bad[SMALL_RANKS];
static const mcomm_request_t untouched = (mcomm_request_t)&me;
static mcomm_op_t freed_op;

/* The three forms of one call, all refused with code and a text that has part. */
#define WRONG_ON(comm, code, part, name, ...)                                                      \
    do {                                                                                           \
        mcomm_request_t req_ = untouched;                                                          \
        EXPECT(code, mcomm_##name(__VA_ARGS__, comm));                                             \
        CHECK_TEXT(part);                                                                          \
        EXPECT(code, mcomm_i##name(__VA_ARGS__, comm, &req_));                                     \
        CHECK_TEXT(part);                                                                          \
        EXPECT(code, mcomm_##name##_init(__VA_ARGS__, comm, &req_));                               \
        CHECK_TEXT(part);                                                                          \
        CHECK(req_ == untouched);                                                                  \
    } while (0)
#define WRONG(code, part, ...) WRONG_ON(W, MCOMM_ERR_##code, part, __VA_ARGS__)

/* A good call with a bad communicator or no place for the request. */
#define WRONG_HANDLES(name, ...)                                                                   \
    do {                                                                                           \
        WRONG_ON(MCOMM_COMM_NULL, MCOMM_ERR_COMM, "comm", name, __VA_ARGS__);                      \
        WRONG_ON(freed_comm, MCOMM_ERR_COMM, "comm", name, __VA_ARGS__);                           \
        EXPECT(MCOMM_ERR_ARG, mcomm_i##name(__VA_ARGS__, W, NULL));                                \
        CHECK_TEXT("request_p");                                                                   \
        EXPECT(MCOMM_ERR_ARG, mcomm_##name##_init(__VA_ARGS__, W, NULL));                          \
        CHECK_TEXT("request_p");                                                                   \
    } while (0)

static void wrong_handles(void)
{
    mcomm_comm_t comm, freed_comm;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    freed_comm = comm;
    OK(mcomm_comm_free(&comm));
    EXPECT(MCOMM_ERR_COMM, mcomm_barrier(freed_comm));
    EXPECT(MCOMM_ERR_COMM, mcomm_barrier(MCOMM_COMM_NULL));
    EXPECT(MCOMM_ERR_ARG, mcomm_ibarrier(W, NULL));
    EXPECT(MCOMM_ERR_ARG, mcomm_barrier_init(W, NULL));
    WRONG_HANDLES(bcast, x, 1, T, 0);
    WRONG_HANDLES(reduce, x, y, 1, T, SUM, 0);
    WRONG_HANDLES(allreduce, x, y, 1, T, SUM);
    WRONG_HANDLES(gather, x, y, 1, T, 0);
    WRONG_HANDLES(gatherv, x, 1, y, ones, places, T, 0);
    WRONG_HANDLES(scatter, x, y, 1, T, 0);
    WRONG_HANDLES(scatterv, x, ones, places, y, 1, T, 0);
    WRONG_HANDLES(allgather, x, y, 1, T);
    WRONG_HANDLES(allgatherv, x, 1, y, ones, places, T);
    WRONG_HANDLES(reduce_scatter_block, x, y, 1, T, SUM);
    WRONG_HANDLES(reduce_scatter, x, y, ones, T, SUM);
    WRONG_HANDLES(alltoall, x, y, 1, T);
    WRONG_HANDLES(alltoallv, x, ones, places, y, ones, places, T);
    WRONG_HANDLES(scan, x, y, 1, T, SUM);
    WRONG_HANDLES(exscan, x, y, 1, T, SUM);
}

static void wrong_roots_and_types(void)
{
    const mcomm_datatype_t none = (mcomm_datatype_t)99;

    WRONG(RANK, "root = -1", bcast, x, 1, T, -1);
    WRONG(RANK, "root", bcast, x, 1, T, mp_size);
    WRONG(RANK, "root = -1", reduce, x, y, 1, T, SUM, -1);
    WRONG(RANK, "root = -1", gather, x, y, 1, T, -1);
    WRONG(RANK, "root = -1", gatherv, x, 1, y, ones, places, T, -1);
    WRONG(RANK, "root = -1", scatter, x, y, 1, T, -1);
    WRONG(RANK, "root = -1", scatterv, x, ones, places, y, 1, T, -1);
    WRONG(TYPE, "99", bcast, x, 1, none, 0);
    WRONG(TYPE, "99", reduce, x, y, 1, none, SUM, 0);
    WRONG(TYPE, "99", allreduce, x, y, 1, none, SUM);
    WRONG(TYPE, "99", gather, x, y, 1, none, 0);
    WRONG(TYPE, "99", gatherv, x, 1, y, ones, places, none, 0);
    WRONG(TYPE, "99", scatter, x, y, 1, none, 0);
    WRONG(TYPE, "99", scatterv, x, ones, places, y, 1, none, 0);
    WRONG(TYPE, "99", allgather, x, y, 1, none);
    WRONG(TYPE, "99", allgatherv, x, 1, y, ones, places, none);
    WRONG(TYPE, "99", reduce_scatter_block, x, y, 1, none, SUM);
    WRONG(TYPE, "99", reduce_scatter, x, y, ones, none, SUM);
    WRONG(TYPE, "99", alltoall, x, y, 1, none);
    WRONG(TYPE, "99", alltoallv, x, ones, places, y, ones, places, none);
    WRONG(TYPE, "99", scan, x, y, 1, none, SUM);
    WRONG(TYPE, "99", exscan, x, y, 1, none, SUM);
}

static void wrong_op(mcomm_datatype_t dtype, mcomm_op_t op, const char *part)
{
    WRONG(OP, part, reduce, x, y, 1, dtype, op, 0);
    WRONG(OP, part, allreduce, x, y, 1, dtype, op);
    WRONG(OP, part, reduce_scatter_block, x, y, 1, dtype, op);
    WRONG(OP, part, reduce_scatter, x, y, ones, dtype, op);
    WRONG(OP, part, scan, x, y, 1, dtype, op);
    WRONG(OP, part, exscan, x, y, 1, dtype, op);
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(x, y, 1, dtype, op));
}

static void nothing(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)dtype;
    (void)arg;
}

static void wrong_ops(void)
{
    mcomm_op_t op = MCOMM_OP_NULL;

    EXPECT(MCOMM_ERR_ARG, mcomm_op_create(NULL, NULL, 1, &op));
    CHECK_TEXT("fn");
    EXPECT(MCOMM_ERR_ARG, mcomm_op_create(nothing, NULL, 1, NULL));
    CHECK_TEXT("op_p");
    EXPECT(MCOMM_ERR_ARG, mcomm_op_free(NULL));
    EXPECT(MCOMM_ERR_OP, mcomm_op_free(&op));
    op = MCOMM_SUM;
    EXPECT(MCOMM_ERR_OP, mcomm_op_free(&op));
    CHECK(op == MCOMM_SUM);
    OK(mcomm_op_create(nothing, NULL, 1, &op));
    freed_op = op;
    OK(mcomm_op_free(&op));
    CHECK(op == MCOMM_OP_NULL);
    EXPECT(MCOMM_ERR_OP, mcomm_op_free(&freed_op));
    wrong_op(T, freed_op, "op is 4096");
    wrong_op(T, MCOMM_OP_NULL, "op is 0");
    wrong_op(T, MCOMM_REPLACE, "REPLACE");
    wrong_op(T, (mcomm_op_t)-7, "-7");
    wrong_op(MCOMM_FLOAT, MCOMM_BAND, "BAND");
    wrong_op(MCOMM_BYTE, MCOMM_SUM, "BYTE");
    WRONG(OP, "AVG", scan, x, y, 1, T, MCOMM_AVG);
    WRONG(OP, "AVG", exscan, x, y, 1, T, MCOMM_AVG);
}

static void wrong_counts(void)
{
    const size_t most = (size_t)-1;

    WRONG(COUNT, "-1", bcast, x, most, T, 0);
    WRONG(COUNT, "-1", reduce, x, y, most, T, SUM, 0);
    WRONG(COUNT, "-1", allreduce, x, y, most, T, SUM);
    WRONG(COUNT, "-1", gather, x, y, most, T, 0);
    WRONG(COUNT, "-1", gatherv, x, most, y, ones, places, T, 0);
    WRONG(COUNT, "-1", scatter, x, y, most, T, 0);
    WRONG(COUNT, "-1", scatterv, x, ones, places, y, most, T, 0);
    WRONG(COUNT, "-1", allgather, x, y, most, T);
    WRONG(COUNT, "-1", allgatherv, x, most, y, ones, places, T);
    WRONG(COUNT, "-1", reduce_scatter_block, x, y, most, T, SUM);
    WRONG(COUNT, "-1", alltoall, x, y, most, T);
    WRONG(COUNT, "-1", scan, x, y, most, T, SUM);
    WRONG(COUNT, "-1", exscan, x, y, most, T, SUM);
    WRONG(COUNT, "recv_counts", gatherv, x, 1, y, bad, places, T, me);
    WRONG(COUNT, "displs", gatherv, x, 1, y, ones, bad, T, me);
    WRONG(COUNT, "send_counts", scatterv, x, bad, places, y, 1, T, me);
    WRONG(COUNT, "displs", scatterv, x, ones, bad, y, 1, T, me);
    WRONG(COUNT, "recv_counts", allgatherv, x, 1, y, bad, places, T);
    WRONG(COUNT, "displs", allgatherv, x, 1, y, ones, bad, T);
    WRONG(COUNT, "recv_counts", reduce_scatter, x, y, bad, T, SUM);
    WRONG(COUNT, "send_counts", alltoallv, x, bad, places, y, ones, places, T);
    WRONG(COUNT, "send_displs", alltoallv, x, ones, bad, y, ones, places, T);
    WRONG(COUNT, "recv_counts", alltoallv, x, ones, places, y, bad, places, T);
    WRONG(COUNT, "recv_displs", alltoallv, x, ones, places, y, ones, bad, T);
    EXPECT(MCOMM_ERR_COUNT, mcomm_reduce_local(x, y, most, T, SUM));
}

static void wrong_arrays(void)
{
    WRONG(ARG, "recv_counts", gatherv, x, 1, y, NULL, places, T, me);
    WRONG(ARG, "displs", gatherv, x, 1, y, ones, NULL, T, me);
    WRONG(ARG, "send_counts", scatterv, x, NULL, places, y, 1, T, me);
    WRONG(ARG, "displs", scatterv, x, ones, NULL, y, 1, T, me);
    WRONG(ARG, "recv_counts", allgatherv, x, 1, y, NULL, places, T);
    WRONG(ARG, "displs", allgatherv, x, 1, y, ones, NULL, T);
    WRONG(ARG, "recv_counts", reduce_scatter, x, y, NULL, T, SUM);
    WRONG(ARG, "send_counts", alltoallv, x, NULL, places, y, ones, places, T);
    WRONG(ARG, "send_displs", alltoallv, x, ones, NULL, y, ones, places, T);
    WRONG(ARG, "recv_counts", alltoallv, x, ones, places, y, NULL, places, T);
    WRONG(ARG, "recv_displs", alltoallv, x, ones, places, y, ones, NULL, T);
}

/* a: what is given as a buffer of the kind's own name. */
static void wrong_sends(const void *a, const char *part)
{
    WRONG(BUFFER, part, scatter, a, y, 1, T, me);
    WRONG(BUFFER, part, scatterv, a, ones, places, y, 1, T, me);
    if (a == MCOMM_IN_PLACE)
        return; /* legal for the others */
    WRONG(BUFFER, part, reduce, a, y, 1, T, SUM, me);
    WRONG(BUFFER, part, allreduce, a, y, 1, T, SUM);
    WRONG(BUFFER, part, gather, a, y, 1, T, me);
    WRONG(BUFFER, part, gatherv, a, 1, y, ones, places, T, me);
    WRONG(BUFFER, part, allgather, a, y, 1, T);
    WRONG(BUFFER, part, allgatherv, a, 1, y, ones, places, T);
    WRONG(BUFFER, part, reduce_scatter_block, a, y, 1, T, SUM);
    WRONG(BUFFER, part, reduce_scatter, a, y, ones, T, SUM);
    WRONG(BUFFER, part, alltoall, a, y, 1, T);
    WRONG(BUFFER, part, alltoallv, a, ones, places, y, ones, places, T);
    WRONG(BUFFER, part, scan, a, y, 1, T, SUM);
    WRONG(BUFFER, part, exscan, a, y, 1, T, SUM);
}

static void wrong_recvs(void *a, const char *part)
{
    if (a != y)
        WRONG(BUFFER, "buf", bcast, a, 1, T, 0);
    WRONG(BUFFER, part, reduce, y, a, 1, T, SUM, me);
    WRONG(BUFFER, part, allreduce, y, a, 1, T, SUM);
    WRONG(BUFFER, part, gather, y, a, 1, T, me);
    WRONG(BUFFER, part, gatherv, y, 1, a, ones, places, T, me);
    WRONG(BUFFER, part, allgather, y, a, 1, T);
    WRONG(BUFFER, part, allgatherv, y, 1, a, ones, places, T);
    WRONG(BUFFER, part, reduce_scatter_block, y, a, 1, T, SUM);
    WRONG(BUFFER, part, reduce_scatter, y, a, ones, T, SUM);
    WRONG(BUFFER, part, alltoall, y, a, 1, T);
    WRONG(BUFFER, part, alltoallv, y, ones, places, a, ones, places, T);
    WRONG(BUFFER, part, scan, y, a, 1, T, SUM);
    WRONG(BUFFER, part, exscan, y, a, 1, T, SUM);
    if (a == MCOMM_IN_PLACE)
        return; /* legal for the root of a scatter */
    WRONG(BUFFER, part, scatter, y, a, 1, T, me);
    WRONG(BUFFER, part, scatterv, y, ones, places, a, 1, T, me);
}

static void wrong_buffers(void)
{
    int other = (mp_rank + 1) % mp_size;

    wrong_sends(NULL, "sendbuf");
    wrong_sends(MCOMM_IN_PLACE, "sendbuf");
    wrong_sends(y, "overlaps");
    wrong_recvs(NULL, "recvbuf");
    wrong_recvs(MCOMM_IN_PLACE, "recvbuf");
    wrong_recvs(y, "overlaps");
    if (other == me)
        return;
    WRONG(BUFFER, "sendbuf", reduce, MCOMM_IN_PLACE, y, 1, T, SUM, other);
    WRONG(BUFFER, "sendbuf", gather, MCOMM_IN_PLACE, y, 1, T, other);
    WRONG(BUFFER, "sendbuf", gatherv, MCOMM_IN_PLACE, 1, y, ones, places, T, other);
    WRONG(BUFFER, "recvbuf", scatter, x, MCOMM_IN_PLACE, 1, T, other);
    WRONG(BUFFER, "recvbuf", scatterv, x, ones, places, MCOMM_IN_PLACE, 1, T, other);
}

/* Everything still works. */
static void good_calls(void)
{
    static struct small s;
    uint64_t state = 3;

    for (int64_t round = 0; round < 60; round++) {
        small_draw(&s, &state, round, W, mp_rank, mp_size);
        OK(small_call(&s, S_BLOCKING));
        small_check(&s);
    }
}

int main(void)
{
    mp_init();
    me = mp_rank;
    for (int r = 0; r < mp_size; r++) {
        ones[r] = 1;
        places[r] = (size_t)r;
        bad[r] = r == mp_size - 1 ? (size_t)-1 : 1;
    }
    wrong_handles();
    good_calls();
    wrong_roots_and_types();
    wrong_ops();
    good_calls();
    wrong_counts();
    wrong_arrays();
    wrong_buffers();
    good_calls();
    OK(mcomm_finalize());
    return 0;
}
