/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every collective in every form against plain loops: kind, type, operation, count, root, in place,
 * alignment, form and communicator drawn at random from a printed seed, equal on all ranks. Every
 * rank can compute every rank's input, so each knows the right answer by itself.
 */
#include "mp.h"

#include <stdbool.h>
#include <stdint.h>

enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    REDUCE_SCATTER_BLOCK,
    REDUCE_SCATTER,
    ALLTOALL,
    ALLTOALLV,
    SCAN,
    EXSCAN,
    KIND_NUM
};

enum form {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT,
    FORM_NUM
};

#define RANKS_MAX 64
#define GUARD 64

static uint64_t seed_state;

static uint64_t next_random(void) /* the same sequence on all ranks */
{
    seed_state += 0x9e3779b97f4a7c15u;
    uint64_t z = seed_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One drawn call and its memory at this rank. */
struct trial {
    enum kind kind;
    enum form form;
    mcomm_comm_t comm;
    int rank, size, root, round;
    bool is_in_place;
    size_t count, elem;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    size_t send_counts[RANKS_MAX], send_displs[RANKS_MAX];
    size_t recv_counts[RANKS_MAX], recv_displs[RANKS_MAX];
    size_t counts_of[RANKS_MAX][RANKS_MAX]; /* alltoallv: from, to */
    size_t send_total, recv_total;          /* elements */
    size_t shift;                           /* misalignment of the buffers, bytes */
    char *send_mem, *recv_mem, *send, *recv;
    mcomm_request_t request;
};

/* ---- values ---- */
static mcomm_op_t compose_op; /* user-defined, not commutative */

/* The maps x -> a x + b modulo 2^32, first in, then inout. */
static void compose(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    const uint64_t *left = in;
    uint64_t *right = inout;

    CHECK(dtype == MCOMM_UINT64 && arg == &compose_op);
    for (size_t i = 0; i < count; i++) {
        uint32_t a = (uint32_t)(left[i] >> 32), b = (uint32_t)left[i];
        uint32_t c = (uint32_t)(right[i] >> 32), d = (uint32_t)right[i];

        right[i] = (uint64_t)(c * a) << 32 | (uint32_t)(c * b + d);
    }
}

/* Element i of what rank reads, small whole numbers; of compose any. */
static uint64_t value(const struct trial *t, int rank, size_t i)
{
    uint64_t z = (uint64_t)rank * 7 + (uint64_t)t->round * 5 + i * 3;

    if (t->op == compose_op)
        return (z * 0x9e3779b97f4a7c15u) | (uint64_t)1 << 32;
    if (t->op == MCOMM_MINLOC) /* of little-endian pairs the index is the upper half */
        return (z % 5 + 1) | (uint64_t)rank << 32;
    return z % 5 + 1;
}

static uint64_t combine(const struct trial *t, uint64_t a, uint64_t b)
{
    if (t->op == compose_op) {
        compose(&a, &b, 1, MCOMM_UINT64, &compose_op);
        return b;
    }
    switch (t->op) {
    case MCOMM_MINLOC: /* lower ranks are left: of equals they stay */
        return (uint32_t)b < (uint32_t)a ? b : a;
    case MCOMM_AVG: /* divided in the end */
    case MCOMM_SUM:
        return a + b;
    case MCOMM_MIN:
        return a < b ? a : b;
    case MCOMM_MAX:
        return a > b ? a : b;
    case MCOMM_BXOR:
        return a ^ b;
    case MCOMM_LAND:
        return a && b;
    default:
        MP_FAIL("no oracle for op %d", (int)t->op);
    }
    return 0;
}

static void store(const struct trial *t, char *buf, size_t i, uint64_t v)
{
    char *to = buf + i * t->elem;
    float f = (float)v;
    double d = (double)v;

    if (t->dtype == MCOMM_FLOAT)
        memcpy(to, &f, 4);
    else if (t->dtype == MCOMM_DOUBLE)
        memcpy(to, &d, 8);
    else if (t->dtype == MCOMM_BFLOAT16)
        memcpy(to, (const char *)&f + 2, 2);
    else
        memcpy(to, &v, t->elem);
}

static void expect(const struct trial *t, size_t i, uint64_t want)
{
    char right[16] = {0};

    store(t, right, 0, want);
    if (memcmp(t->recv + i * t->elem, right, t->elem) != 0)
        MP_FAIL(
            "kind %d form %d round %d: element %zu is wrong (count %zu, dtype %d, op %d, root %d, "
            "in place %d, %d ranks)",
            (int)t->kind, (int)t->form, t->round, i, t->count, (int)t->dtype, (int)t->op, t->root,
            t->is_in_place, t->size);
}

/* ---- drawing ---- */
static size_t draw_count(void)
{
    static const size_t counts[] = {0,    1,    2,    3,    7,     13,    14,    15,    16,
                                    63,   64,   65,   127,  128,   1000,  1023,  1024,  1025,
                                    2047, 2049, 4097, 8191, 16383, 16385, 70001, 150001};
    return counts[next_random() % (sizeof(counts) / sizeof(counts[0]))];
}

static void draw_type(struct trial *t)
{
    static const mcomm_datatype_t types[] = {MCOMM_INT32,  MCOMM_UINT64, MCOMM_FLOAT,
                                             MCOMM_DOUBLE, MCOMM_INT16,  MCOMM_UINT8};
    static const mcomm_op_t ops[] = {MCOMM_SUM, MCOMM_MIN, MCOMM_MAX, MCOMM_BXOR, MCOMM_LAND};

    t->dtype = types[next_random() % 6];
    t->op = ops[next_random() % 5];
    if ((t->dtype == MCOMM_FLOAT || t->dtype == MCOMM_DOUBLE) && t->op >= MCOMM_LAND)
        t->op = MCOMM_SUM;
    if (next_random() % 4 == 0) {
        t->dtype = MCOMM_UINT64;
        t->op = compose_op;
    }
    switch (next_random() % 8) {
    case 0:
        t->dtype = MCOMM_INT_INT;
        t->op = MCOMM_MINLOC;
        break;
    case 1:
        t->dtype = MCOMM_BFLOAT16;
        t->op = MCOMM_SUM; /* exact up to 256 */
        break;
    case 2:
        t->dtype = MCOMM_INT16;
        t->op = t->kind == SCAN || t->kind == EXSCAN ? MCOMM_SUM : MCOMM_AVG;
        break;
    default:
        break;
    }
    if (t->dtype == MCOMM_UINT8 && t->op == MCOMM_SUM && t->size > 40)
        t->op = MCOMM_MAX; /* the sum does not fit */
    t->elem = mcomm_datatype_size(t->dtype);
}

/* Counts of the v-forms, displacements with gaps. */
static void draw_counts(struct trial *t)
{
    size_t send_at = 0, recv_at = 0, most = t->count > 5000 ? 5000 : t->count;
    size_t by_rank[RANKS_MAX];

    for (int i = 0; i < t->size; i++) {
        by_rank[i] = most > 0 ? next_random() % (most + 1) : 0;
        for (int j = 0; j < t->size; j++)
            t->counts_of[i][j] = next_random() % 4 ? next_random() % (most + 1) : 0;
    }
    for (int i = 0; i < t->size; i++) {
        bool is_all = t->kind == ALLTOALLV;

        t->send_counts[i] = is_all ? t->counts_of[t->rank][i] : by_rank[i];
        t->recv_counts[i] = is_all ? t->counts_of[i][t->rank] : by_rank[i];
        t->send_displs[i] = send_at;
        t->recv_displs[i] = recv_at;
        send_at += t->send_counts[i] + (size_t)i % 3;
        recv_at += t->recv_counts[i] + (size_t)i % 2;
    }
    if (t->kind == ALLTOALLV && t->is_in_place) { /* both directions alike */
        for (int i = 0; i < t->size; i++)
            t->recv_counts[i] = t->counts_of[i < t->rank ? i : t->rank][i < t->rank ? t->rank : i];
        recv_at = 0;
        for (int i = 0; i < t->size; i++) {
            t->recv_displs[i] = recv_at;
            recv_at += t->recv_counts[i];
        }
    }
    t->send_total = send_at;
    t->recv_total = recv_at;
}

static bool is_root(const struct trial *t)
{
    return t->rank == t->root;
}

static void draw_sizes(struct trial *t)
{
    size_t n = (size_t)t->size;

    t->send_total = t->recv_total = t->count;
    switch (t->kind) {
    case BARRIER:
        t->send_total = t->recv_total = 0;
        break;
    case GATHER:
    case ALLGATHER:
        t->recv_total = n * t->count;
        break;
    case SCATTER:
        t->send_total = n * t->count;
        break;
    case REDUCE_SCATTER_BLOCK:
        t->send_total = n * t->count;
        t->recv_total = t->is_in_place ? n * t->count : t->count;
        break;
    case ALLTOALL:
        t->send_total = t->recv_total = n * t->count;
        break;
    case GATHERV:
    case ALLGATHERV:
        draw_counts(t);
        t->send_total = t->count = t->recv_counts[t->rank];
        break;
    case SCATTERV:
        draw_counts(t);
        t->recv_total = t->count = t->send_counts[t->rank];
        break;
    case REDUCE_SCATTER:
        draw_counts(t);
        t->send_total = 0;
        for (int i = 0; i < t->size; i++)
            t->send_total += t->recv_counts[i];
        t->recv_total = t->is_in_place ? t->send_total : t->recv_counts[t->rank];
        break;
    case ALLTOALLV:
        draw_counts(t);
        break;
    default:
        break;
    }
}

/* ---- what each reads ---- */
static void fill_sends(struct trial *t)
{
    char *from = t->is_in_place ? t->recv : t->send;
    size_t first = 0, count = t->send_total;

    if (t->is_in_place && (t->kind == GATHER || t->kind == ALLGATHER)) {
        first = (size_t)t->rank * t->count;
        count = t->count;
    } else if (t->is_in_place && (t->kind == GATHERV || t->kind == ALLGATHERV)) {
        first = t->recv_displs[t->rank];
        count = t->count;
    } else if (t->kind == ALLTOALLV && t->is_in_place) {
        count = t->recv_total;
    } else if (t->kind == BCAST) {
        from = t->recv;
        if (!is_root(t))
            return;
    } else if (t->kind == SCATTER || t->kind == SCATTERV) {
        from = t->send; /* in place: recvbuf is not there */
    }
    for (size_t i = 0; i < count; i++)
        store(t, from, first + i, value(t, t->rank, i));
}

/* ---- calling ---- */
#define CALL(NAME, ...)                                                                            \
    do {                                                                                           \
        if (t->form == BLOCKING)                                                                   \
            OK(mcomm_##NAME(__VA_ARGS__, t->comm));                                                \
        else if (t->form == NONBLOCKING)                                                           \
            OK(mcomm_i##NAME(__VA_ARGS__, t->comm, &t->request));                                  \
        else                                                                                       \
            OK(mcomm_##NAME##_init(__VA_ARGS__, t->comm, &t->request));                            \
    } while (0)

static void call(struct trial *t)
{
    const void *send = t->is_in_place ? MCOMM_IN_PLACE : t->send;
    void *recv = t->recv;

    if (t->kind == SCATTER || t->kind == SCATTERV) {
        send = t->send;
        recv = t->is_in_place ? MCOMM_IN_PLACE : t->recv;
    }
    switch (t->kind) {
    case BARRIER:
        if (t->form == BLOCKING)
            OK(mcomm_barrier(t->comm));
        else if (t->form == NONBLOCKING)
            OK(mcomm_ibarrier(t->comm, &t->request));
        else
            OK(mcomm_barrier_init(t->comm, &t->request));
        break;
    case BCAST:
        CALL(bcast, recv, t->count, t->dtype, t->root);
        break;
    case REDUCE:
        CALL(reduce, send, recv, t->count, t->dtype, t->op, t->root);
        break;
    case ALLREDUCE:
        CALL(allreduce, send, recv, t->count, t->dtype, t->op);
        break;
    case GATHER:
        CALL(gather, send, recv, t->count, t->dtype, t->root);
        break;
    case GATHERV:
        CALL(gatherv, send, t->count, recv, t->recv_counts, t->recv_displs, t->dtype, t->root);
        break;
    case SCATTER:
        CALL(scatter, send, recv, t->count, t->dtype, t->root);
        break;
    case SCATTERV:
        CALL(scatterv, send, t->send_counts, t->send_displs, recv, t->count, t->dtype, t->root);
        break;
    case ALLGATHER:
        CALL(allgather, send, recv, t->count, t->dtype);
        break;
    case ALLGATHERV:
        CALL(allgatherv, send, t->count, recv, t->recv_counts, t->recv_displs, t->dtype);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(reduce_scatter_block, send, recv, t->count, t->dtype, t->op);
        break;
    case REDUCE_SCATTER:
        CALL(reduce_scatter, send, recv, t->recv_counts, t->dtype, t->op);
        break;
    case ALLTOALL:
        CALL(alltoall, send, recv, t->count, t->dtype);
        break;
    case ALLTOALLV:
        CALL(alltoallv, send, t->send_counts, t->send_displs, recv, t->recv_counts, t->recv_displs,
             t->dtype);
        break;
    case SCAN:
        CALL(scan, send, recv, t->count, t->dtype, t->op);
        break;
    case EXSCAN:
        CALL(exscan, send, recv, t->count, t->dtype, t->op);
        break;
    case KIND_NUM:
        break;
    }
}

/* ---- what must have come ---- */
static void expect_folded(const struct trial *t, size_t to, size_t from, size_t count, int end)
{
    for (size_t i = 0; i < count; i += 1 + i / 500) {
        uint64_t want = value(t, 0, from + i);

        if (t->op == MCOMM_LAND)
            want = want != 0; /* of one rank, too */
        for (int r = 1; r < end; r++)
            want = combine(t, want, value(t, r, from + i));
        if (t->op == MCOMM_AVG)
            want /= (uint64_t)end;
        expect(t, to + i, want);
    }
}

static void expect_copied(const struct trial *t, size_t to, int rank, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i += 1 + i / 500)
        expect(t, to + i, value(t, rank, from + i));
}

/* Where rank's block for this one began in what rank sent. */
static size_t sent_from(const struct trial *t, int rank)
{
    size_t at = 0;

    for (int j = 0; j < t->rank; j++) {
        if (t->is_in_place)
            at += t->counts_of[rank < j ? rank : j][rank < j ? j : rank];
        else
            at += t->counts_of[rank][j] + (size_t)j % 3;
    }
    return at;
}

static void verify(const struct trial *t)
{
    size_t n = (size_t)t->rank;
    size_t sum = 0;

    switch (t->kind) {
    case BCAST:
        expect_copied(t, 0, t->root, 0, t->count);
        break;
    case REDUCE:
        if (is_root(t))
            expect_folded(t, 0, 0, t->count, t->size);
        break;
    case ALLREDUCE:
        expect_folded(t, 0, 0, t->count, t->size);
        break;
    case SCAN:
        expect_folded(t, 0, 0, t->count, t->rank + 1);
        break;
    case EXSCAN:
        if (t->rank > 0)
            expect_folded(t, 0, 0, t->count, t->rank);
        break;
    case REDUCE_SCATTER_BLOCK:
        expect_folded(t, 0, n * t->count, t->count, t->size);
        break;
    case REDUCE_SCATTER:
        for (int i = 0; i < t->rank; i++)
            sum += t->recv_counts[i];
        expect_folded(t, 0, sum, t->recv_counts[t->rank], t->size);
        break;
    case GATHER:
    case ALLGATHER:
        for (int i = 0; i < t->size && (t->kind == ALLGATHER || is_root(t)); i++)
            expect_copied(t, (size_t)i * t->count, i, 0, t->count);
        break;
    case GATHERV:
    case ALLGATHERV:
        for (int i = 0; i < t->size && (t->kind == ALLGATHERV || is_root(t)); i++)
            expect_copied(t, t->recv_displs[i], i, 0, t->recv_counts[i]);
        break;
    case SCATTER:
        if (!t->is_in_place)
            expect_copied(t, 0, t->root, n * t->count, t->count);
        break;
    case SCATTERV:
        if (!t->is_in_place)
            expect_copied(t, 0, t->root, t->send_displs[t->rank], t->count);
        break;
    case ALLTOALL:
        for (int i = 0; i < t->size; i++)
            expect_copied(t, (size_t)i * t->count, i, n * t->count, t->count);
        break;
    case ALLTOALLV:
        for (int i = 0; i < t->size; i++)
            expect_copied(t, t->recv_displs[i], i, sent_from(t, i), t->recv_counts[i]);
        break;
    default:
        break;
    }
    for (int i = 0; i < GUARD; i++) {
        CHECK_EQ(t->recv[t->recv_total * t->elem + (size_t)i], 0x5a);
        CHECK_EQ(t->recv[-1 - i], 0x5a);
    }
}

/* ---- one trial ---- */
static void trial_begin(struct trial *t, int round, mcomm_comm_t comm)
{
    memset(t, 0, sizeof(*t));
    t->comm = comm;
    t->round = round;
    OK(mcomm_comm_rank(comm, &t->rank));
    OK(mcomm_comm_size(comm, &t->size));
    t->kind = (enum kind)(next_random() % KIND_NUM);
    t->form = (enum form)(next_random() % FORM_NUM);
    t->root = (int)(next_random() % (uint64_t)t->size);
    t->count = draw_count();
    t->is_in_place = next_random() % 3 == 0 && t->kind != BCAST && t->kind != BARRIER;
    if (t->kind == REDUCE || t->kind == GATHER || t->kind == GATHERV || t->kind == SCATTER ||
        t->kind == SCATTERV)
        t->is_in_place &= is_root(t); /* there only */
    t->shift = next_random() % 2 ? 0 : 8;
    draw_type(t);
    draw_sizes(t);
    t->send_mem = malloc(t->send_total * t->elem + 16);
    t->recv_mem = malloc(t->recv_total * t->elem + 2 * GUARD + 16);
    CHECK(t->send_mem != NULL && t->recv_mem != NULL);
    t->send = t->send_mem + t->shift;
    t->recv = t->recv_mem + GUARD + t->shift;
    memset(t->recv_mem, 0x5a, t->recv_total * t->elem + 2 * GUARD + 16);
    fill_sends(t);
    call(t);
}

static void trial_end(struct trial *t)
{
    int runs = t->form == PERSISTENT ? 3 : 1;

    for (int run = 0; run < runs; run++) {
        if (run > 0 && t->is_in_place)
            fill_sends(t);
        if (t->form == PERSISTENT)
            OK(mcomm_start(t->request));
        if (t->form != BLOCKING)
            OK(mcomm_wait(&t->request, 60000, NULL));
        verify(t);
    }
    if (t->form == PERSISTENT)
        OK(mcomm_request_free(&t->request));
    free(t->send_mem);
    free(t->recv_mem);
}

/* Several under way at a time, on two communicators, ended in another order. */
#define LIVE 6

static void test_random(const char *seed, int rounds)
{
    static struct trial trials[LIVE];
    mcomm_comm_t part, mixed, comms[LIVE];
    uint64_t keep;

    seed_state = strtoull(seed, NULL, 10);
    if (mp_rank == 0)
        printf("seed %s\n", seed);
    OK(mcomm_comm_split(MCOMM_COMM_WORLD, mp_rank % 2, -mp_rank, &part));
    /* the ranks of a node are not consecutive */
    OK(mcomm_comm_split(MCOMM_COMM_WORLD, 0, mp_rank % 2 ? mp_rank : mp_rank + mp_size, &mixed));
    for (int round = 0; round < rounds; round++) {
        int live = 1 + (int)(next_random() % LIVE);

        for (int i = 0; i < live; i++) {
            uint64_t pick = next_random() % 4;

            comms[i] = pick == 0 ? part : pick == 1 ? mixed : MCOMM_COMM_WORLD;
            keep = next_random();
            trial_begin(&trials[i], round * LIVE + i, comms[i]);
            if (trials[i].form == BLOCKING)
                trial_end(&trials[i]);
            seed_state = keep; /* the parts drew differently */
        }
        for (int i = 0; i < live; i++)
            if (trials[i].form == NONBLOCKING)
                trial_end(&trials[i]);
        for (int i = 0; i < live; i++) /* started in one order by all */
            if (trials[i].form == PERSISTENT)
                trial_end(&trials[i]);
    }
    OK(mcomm_comm_free(&part));
    OK(mcomm_comm_free(&mixed));
}

/* ---- operations ---- */
static void test_reduce_local(void)
{
    char in[13] = {0}, inout[13] = {0};
    int32_t x = 40, y = 2;

    memcpy(in + 1, &x, 4);
    memcpy(inout + 3, &y, 4);
    OK(mcomm_reduce_local(in + 1, inout + 3, 1, MCOMM_INT32, MCOMM_SUM));
    memcpy(&y, inout + 3, 4);
    CHECK_EQ(y, 42);
    CHECK_EQ(mcomm_reduce_local(in, in + 4, 2, MCOMM_INT32, MCOMM_SUM), MCOMM_ERR_BUFFER);
    CHECK_EQ(mcomm_reduce_local(in, in, 1, MCOMM_INT32, MCOMM_SUM), MCOMM_ERR_BUFFER);
    OK(mcomm_reduce_local(in, in, 0, MCOMM_INT32, MCOMM_SUM));
    CHECK_EQ(mcomm_reduce_local(in, inout, 1, MCOMM_INT32, MCOMM_AVG), MCOMM_ERR_OP);
    CHECK_EQ(mcomm_reduce_local(in, inout, 1, MCOMM_FLOAT_INT, MCOMM_SUM), MCOMM_ERR_OP);
    CHECK_EQ(mcomm_reduce_local(NULL, inout, 1, MCOMM_INT32, MCOMM_SUM), MCOMM_ERR_BUFFER);
}

/* A persistent request keeps the operation that it was made with. */
static void test_op_freed_while_in_use(void)
{
    uint64_t mine = (uint64_t)1 << 32 | 1, all = 0; /* x -> x + 1 */
    mcomm_request_t request;
    mcomm_op_t op, copy;
    int size;

    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &size));
    OK(mcomm_op_create(compose, &compose_op, 0, &op));
    OK(mcomm_allreduce_init(&mine, &all, 1, MCOMM_UINT64, op, MCOMM_COMM_WORLD, &request));
    copy = op;
    OK(mcomm_op_free(&op));
    CHECK_EQ(op, MCOMM_OP_NULL);
    CHECK_EQ(mcomm_op_free(&copy), MCOMM_ERR_OP);
    CHECK_EQ(mcomm_reduce_local(&mine, &all, 1, MCOMM_UINT64, copy), MCOMM_ERR_OP);
    for (int run = 0; run < 2; run++) {
        OK(mcomm_start(request));
        OK(mcomm_wait(&request, 60000, NULL));
        CHECK_EQ((uint32_t)all, (uint32_t)size);
    }
    OK(mcomm_request_free(&request));
}

/* Windows have no such types. */
static void test_windows_refuse(void)
{
    mcomm_win_attr_t attr = {.struct_size = sizeof(attr), .nbytes = 64, .disp_unit = 1};
    float value[2] = {1, 2};
    mcomm_win_t win;
    void *base;

    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win));
    CHECK_EQ(mcomm_accumulate(value, 1, MCOMM_COMPLEX_FLOAT, mp_rank, 0, MCOMM_SUM, win),
             MCOMM_ERR_TYPE);
    CHECK_EQ(mcomm_accumulate(value, 1, MCOMM_FLOAT, mp_rank, 0, MCOMM_AVG, win), MCOMM_ERR_OP);
    OK(mcomm_win_free(&win));
}

int main(int argc, char **argv)
{
    mp_init();
    OK(mcomm_op_create(compose, &compose_op, 0, &compose_op));
    test_random(argc > 1 ? argv[1] : "1", argc > 2 ? atoi(argv[2]) : 60);
    test_reduce_local();
    test_op_freed_while_in_use();
    test_windows_refuse();
    OK(mcomm_op_free(&compose_op));
    OK(mcomm_finalize());
    return 0;
}
