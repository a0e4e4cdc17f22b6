/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives against plain loops. Every rank can compute every rank's input, so each knows the
 * right answer by itself. Sizes lie around the borders of the algorithms; seeds are fixed and
 * printed.
 */
#include "mp.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>

static uint64_t seed_state;

static uint64_t next_random(void) /* the same sequence on all ranks */
{
    seed_state += 0x9e3779b97f4a7c15u;
    uint64_t z = seed_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Element i of rank's input in round number round: small numbers, exact in every type. */
static long value(int rank, int round, size_t i)
{
    return (long)((rank * 7 + round * 5 + i * 3) % 5) + 1;
}

static const mcomm_datatype_t int_types[] = {MCOMM_INT8,  MCOMM_UINT8,  MCOMM_INT16, MCOMM_UINT16,
                                             MCOMM_INT32, MCOMM_UINT32, MCOMM_INT64, MCOMM_UINT64};
static const mcomm_datatype_t float_types[] = {MCOMM_FLOAT, MCOMM_DOUBLE, MCOMM_FLOAT16,
                                               MCOMM_BFLOAT16};

/* Small whole numbers in binary16 and bfloat16, written out for the oracle. */
static uint16_t f16_of(long n)
{
    int exponent = 0;

    if (n == 0)
        return 0;
    while (n >> (exponent + 1))
        exponent++;
    return (uint16_t)(((exponent + 15) << 10) | (((n << 10) >> exponent) & 0x3ff));
}

static uint16_t bf16_of(long n)
{
    float f = (float)n;
    uint32_t bits;

    memcpy(&bits, &f, 4);
    return (uint16_t)(bits >> 16);
}

static void store(void *buf, size_t i, mcomm_datatype_t dtype, long n)
{
    switch (dtype) {
    case MCOMM_FLOAT:
        ((float *)buf)[i] = (float)n;
        break;
    case MCOMM_DOUBLE:
        ((double *)buf)[i] = (double)n;
        break;
    case MCOMM_FLOAT16:
        ((uint16_t *)buf)[i] = f16_of(n);
        break;
    case MCOMM_BFLOAT16:
        ((uint16_t *)buf)[i] = bf16_of(n);
        break;
    default:
        memcpy((char *)buf + i * mcomm_datatype_size(dtype), &n, mcomm_datatype_size(dtype));
    }
}

static long combine(long a, long b, mcomm_op_t op)
{
    switch (op) {
    case MCOMM_SUM:
        return a + b;
    case MCOMM_PROD:
        return a * b;
    case MCOMM_MIN:
        return a < b ? a : b;
    case MCOMM_MAX:
        return a > b ? a : b;
    case MCOMM_LAND:
        return a && b;
    case MCOMM_LOR:
        return a || b;
    case MCOMM_LXOR:
        return !a != !b;
    case MCOMM_BAND:
        return a & b;
    case MCOMM_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void expect_element(const void *buf, size_t i, mcomm_datatype_t dtype, long want)
{
    char right[8] = {0};

    store(right, 0, dtype, want);
    if (memcmp((const char *)buf + i * mcomm_datatype_size(dtype), right,
               mcomm_datatype_size(dtype)) != 0)
        MP_FAIL("element %zu of type %d is not %ld", i, (int)dtype, want);
}

static void one_allreduce(int round, mcomm_comm_t comm, int rank, int size, size_t count,
                          mcomm_datatype_t dtype, mcomm_op_t op, int in_place)
{
    size_t elem = mcomm_datatype_size(dtype);
    char *send = malloc(count * elem + 8), *recv = malloc(count * elem + 8);

    memset(recv + count * elem, 0x5a, 8);
    for (size_t i = 0; i < count; i++)
        store(in_place ? recv : send, i, dtype, value(rank, round, i));
    OK(mcomm_allreduce(in_place ? MCOMM_IN_PLACE : send, recv, count, dtype, op, comm));
    for (size_t i = 0; i < count; i += 1 + i / 1000) {
        long want = value(0, round, i);

        if (op == MCOMM_LAND || op == MCOMM_LOR || op == MCOMM_LXOR)
            want = want != 0; /* of one rank, too */
        for (int r = 1; r < size; r++)
            want = combine(want, value(r, round, i), op);
        expect_element(recv, i, dtype, want);
    }
    for (int i = 0; i < 8; i++)
        CHECK_EQ(recv[count * elem + (size_t)i], 0x5a);
    free(send);
    free(recv);
}

static const size_t counts[] = {0, 1, 2, 3, 7, 63, 64, 1000, 4097, 16383, 16385, 70000, 300001};
#define PICK(list) (list)[next_random() % (sizeof(list) / sizeof((list)[0]))]

static void random_allreduce(int round, mcomm_comm_t comm, int rank, int size)
{
    size_t count = PICK(counts);
    int in_place = (int)(next_random() % 2);

    if (next_random() % 2 == 0) {
        mcomm_datatype_t dtype = PICK(int_types);
        mcomm_op_t op = (mcomm_op_t)(MCOMM_SUM + next_random() % 10);

        if (op == MCOMM_PROD && mcomm_datatype_size(dtype) < 4)
            op = MCOMM_SUM; /* 5^7 does not fit */
        one_allreduce(round, comm, rank, size, count, dtype, op, in_place);
    } else {
        one_allreduce(round, comm, rank, size, count, PICK(float_types),
                      (mcomm_op_t)(next_random() % 2 ? MCOMM_SUM : MCOMM_MAX), in_place);
    }
}

static void random_bcast(int round, mcomm_comm_t comm, int rank, int size)
{
    size_t count = PICK(counts) * 8;
    int root = (int)(next_random() % (uint64_t)size);
    unsigned char *buf = malloc(count + 8);

    memset(buf, 0x5a, count + 8);
    for (size_t i = 0; rank == root && i < count; i++)
        buf[i] = (unsigned char)value(root, round, i);
    OK(mcomm_bcast(buf, count, MCOMM_BYTE, root, comm));
    for (size_t i = 0; i < count; i++)
        if (buf[i] != (unsigned char)value(root, round, i))
            MP_FAIL("byte %zu of %zu from root %d is wrong", i, count, root);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(buf[count + (size_t)i], 0x5a);
    free(buf);
}

static void random_allgather(int round, mcomm_comm_t comm, int rank, int size)
{
    size_t count = PICK(counts);
    int in_place = (int)(next_random() % 2);
    int16_t *send = malloc(count * 2 + 2), *recv = malloc((count * (size_t)size) * 2 + 2);

    memset(recv, 0x5a, (count * (size_t)size) * 2 + 2);
    for (size_t i = 0; i < count; i++)
        (in_place ? recv + count * (size_t)rank : send)[i] = (int16_t)value(rank, round, i);
    OK(mcomm_allgather(in_place ? MCOMM_IN_PLACE : send, recv, count, MCOMM_INT16, comm));
    for (int r = 0; r < size; r++)
        for (size_t i = 0; i < count; i++)
            if (recv[(size_t)r * count + i] != value(r, round, i))
                MP_FAIL("element %zu of rank %d is wrong, count %zu", i, r, count);
    CHECK_EQ(recv[count * (size_t)size], 0x5a5a);
    free(send);
    free(recv);
}

static void test_random(const char *seed)
{
    mcomm_comm_t half;
    int rank, size;

    seed_state = strtoull(seed, NULL, 10);
    if (mp_rank == 0)
        printf("seed %s\n", seed);
    OK(mcomm_comm_split(MCOMM_COMM_WORLD, mp_rank % 2, -mp_rank, &half));
    OK(mcomm_comm_rank(half, &rank));
    OK(mcomm_comm_size(half, &size));
    for (int round = 0; round < 120; round++) {
        int is_half = next_random() % 4 == 0;
        mcomm_comm_t comm = is_half ? half : MCOMM_COMM_WORLD;
        int r = is_half ? rank : mp_rank, n = is_half ? size : mp_size;
        uint64_t pick = next_random() % 4, keep;

        keep = next_random();
        if (pick == 0)
            random_allreduce(round, comm, r, n);
        else if (pick == 1)
            random_bcast(round, comm, r, n);
        else if (pick == 2)
            random_allgather(round, comm, r, n);
        else
            OK(mcomm_barrier(comm));
        seed_state = keep; /* halves of different size drew differently */
    }
    OK(mcomm_comm_free(&half));
}

/* NULL and 0 go everywhere; what is wrong names itself and disturbs nobody. */
static void test_args(void)
{
    int x = 1, y[16];
    mcomm_comm_t w = MCOMM_COMM_WORLD;

    OK(mcomm_bcast(NULL, 0, MCOMM_INT32, 0, w));
    OK(mcomm_allgather(NULL, NULL, 0, MCOMM_INT32, w));
    OK(mcomm_allreduce(NULL, NULL, 0, MCOMM_INT32, MCOMM_SUM, w));
    OK(mcomm_allreduce(MCOMM_IN_PLACE, NULL, 0, MCOMM_INT32, MCOMM_SUM, w));
    EXPECT(MCOMM_ERR_COMM, mcomm_barrier(MCOMM_COMM_NULL));
    EXPECT(MCOMM_ERR_RANK, mcomm_bcast(&x, 1, MCOMM_INT32, mp_size, w));
    CHECK_TEXT("root");
    EXPECT(MCOMM_ERR_RANK, mcomm_bcast(&x, 1, MCOMM_INT32, -1, w));
    EXPECT(MCOMM_ERR_TYPE, mcomm_bcast(&x, 1, (mcomm_datatype_t)99, 0, w));
    CHECK_TEXT("99");
    EXPECT(MCOMM_ERR_COUNT, mcomm_bcast(&x, (size_t)-1, MCOMM_INT32, 0, w));
    CHECK_TEXT("-1");
    EXPECT(MCOMM_ERR_BUFFER, mcomm_bcast(NULL, 1, MCOMM_INT32, 0, w));
    EXPECT(MCOMM_ERR_OP, mcomm_allreduce(&x, y, 1, MCOMM_FLOAT, MCOMM_BAND, w));
    CHECK_TEXT("BAND");
    EXPECT(MCOMM_ERR_OP, mcomm_allreduce(&x, y, 1, MCOMM_INT32, MCOMM_REPLACE, w));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_allreduce(y, y, 1, MCOMM_INT32, MCOMM_SUM, w));
    CHECK_TEXT("overlaps");
    EXPECT(MCOMM_ERR_BUFFER, mcomm_allgather(y, y, 1, MCOMM_INT32, w));
    OK(mcomm_allreduce(&x, y, 1, MCOMM_INT32, MCOMM_SUM, w));
    CHECK_EQ(y[0], mp_size);
}

/* More elements than an int counts, in memory that is only there where it is written. */
static void test_huge(void)
{
    size_t count = ((size_t)1 << 31) + 3;
    char *buf = mmap(NULL, count, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(buf != MAP_FAILED);
    if (mp_rank == 0)
        buf[count - 1] = 77;
    OK(mcomm_bcast(buf, count, MCOMM_INT8, 0, MCOMM_COMM_WORLD));
    CHECK_EQ(buf[count - 1], 77);
    munmap(buf, count);
}

/* NaNs of many kinds: whatever comes out, it is the same everywhere. */
static void test_same_bits(void)
{
    enum {
        COUNT = 50000
    };
    double *mine = malloc(COUNT * sizeof(double)), *sum = malloc(COUNT * sizeof(double));
    double *of_root = malloc(COUNT * sizeof(double));
    static const size_t sizes[] = {1, 5, 300, COUNT};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t i = 0; i < sizes[s]; i++) {
            uint64_t bits = 0x7ff8000000000000u + (uint64_t)mp_rank * 16 + i % 7;

            mine[i] = 1.0 / (3.0 + (double)i + mp_rank);
            if (i % 3 == (size_t)mp_rank % 3)
                memcpy(&mine[i], &bits, 8);
        }
        OK(mcomm_allreduce(mine, sum, sizes[s], MCOMM_DOUBLE, s % 2 ? MCOMM_MAX : MCOMM_SUM,
                           MCOMM_COMM_WORLD));
        memcpy(of_root, sum, sizes[s] * sizeof(double));
        OK(mcomm_bcast(of_root, sizes[s], MCOMM_DOUBLE, 0, MCOMM_COMM_WORLD));
        CHECK(memcmp(of_root, sum, sizes[s] * sizeof(double)) == 0);
    }
    free(mine);
    free(sum);
    free(of_root);
}

/* MCOMM_CHECK=1: every rank learns which two ranks differ, and goes on. */
/* Truth values of results are 0 or 1, also where a result is of one rank's operand alone. */
static void expect_truth(mcomm_datatype_t dtype, mcomm_op_t op, const void *got, long want)
{
    int32_t n = *(const unsigned char *)got;

    if (dtype == MCOMM_INT32)
        memcpy(&n, got, sizeof(n));
    if (n != want)
        MP_FAIL("dtype %d, op %d: %d, not %ld", (int)dtype, (int)op, (int)n, want);
}

static void truth(mcomm_datatype_t dtype, mcomm_op_t op, const void *in)
{
    int is_xor = op == MCOMM_LXOR || op == MCOMM_BXOR;
    long all = is_xor ? mp_size % 2 : 1, before = is_xor ? mp_rank % 2 : 1;
    size_t ones[64];
    char in_all[64 * 4], out[4];

    CHECK(mp_size <= 64);
    for (int i = 0; i < mp_size; i++) {
        ones[i] = 1;
        memcpy(in_all + (size_t)i * mcomm_datatype_size(dtype), in, mcomm_datatype_size(dtype));
    }
    OK(mcomm_reduce(in, out, 1, dtype, op, 0, MCOMM_COMM_WORLD));
    if (mp_rank == 0)
        expect_truth(dtype, op, out, all);
    OK(mcomm_allreduce(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    memcpy(out, in, mcomm_datatype_size(dtype));
    OK(mcomm_allreduce(MCOMM_IN_PLACE, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_reduce_scatter_block(in_all, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_reduce_scatter(in_all, out, ones, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, all);
    OK(mcomm_scan(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    expect_truth(dtype, op, out, is_xor ? (mp_rank + 1) % 2 : 1);
    OK(mcomm_exscan(in, out, 1, dtype, op, MCOMM_COMM_WORLD));
    if (mp_rank > 0)
        expect_truth(dtype, op, out, before);
}

static void test_truth(void)
{
    static const mcomm_op_t logical[] = {MCOMM_LAND, MCOMM_LOR, MCOMM_LXOR};
    static const mcomm_op_t of_bool[] = {MCOMM_LAND, MCOMM_LOR, MCOMM_LXOR, MCOMM_SUM, MCOMM_PROD,
                                         MCOMM_MIN,  MCOMM_MAX, MCOMM_BAND, MCOMM_BOR, MCOMM_BXOR};
    const unsigned char yes = 7;
    const int32_t five = 5;
    int32_t out = 0;

    for (size_t i = 0; i < sizeof(of_bool) / sizeof(of_bool[0]); i++)
        truth(MCOMM_BOOL, of_bool[i], &yes);
    for (size_t i = 0; i < sizeof(logical) / sizeof(logical[0]); i++)
        truth(MCOMM_INT32, logical[i], &five);
    OK(mcomm_allreduce(&five, &out, 1, MCOMM_INT32, MCOMM_MAX, MCOMM_COMM_WORLD));
    CHECK_EQ(out, 5); /* a number is no truth value */
}

/* Members without shared memory, who know it before rank 0 offers a segment to them. */
static void shm_forbid(void)
{
    const char *rank = getenv("MCOMM_RANK");

    if (rank != NULL && strcmp(rank, "0") != 0)
        CHECK(setenv("MCOMM_SHM", "0", 1) == 0);
}

static void test_no_shm(void)
{
    int32_t one = 1, sum = 0, token = 0;
    mcomm_request_t req;

    for (int i = 1; i < mp_size && mp_rank == 0; i++)
        OK(mcomm_recv(&token, sizeof(token), i, 1, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
    OK(mcomm_iallreduce(&one, &sum, 1, MCOMM_INT32, MCOMM_SUM, MCOMM_COMM_WORLD, &req));
    if (mp_rank != 0)
        OK(mcomm_send(&token, sizeof(token), 0, 1, MCOMM_COMM_WORLD));
    OK(mcomm_wait(&req, MCOMM_FOREVER, MCOMM_STATUS_IGNORE));
    CHECK_EQ(sum, mp_size);
}

static void test_mismatch(void)
{
    int x[4] = {0}, y[4], last = mp_size - 1, is_last = mp_rank == last;
    mcomm_comm_t w = MCOMM_COMM_WORLD;
    char rank_text[32];

    snprintf(rank_text, sizeof(rank_text), "rank %d", last);
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_bcast(x, is_last ? 3 : 2, MCOMM_INT32, 0, w));
    CHECK_TEXT("count is 2 at rank 0, 3 at ");
    CHECK_TEXT(rank_text);
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_bcast(x, 2, MCOMM_INT32, is_last ? 1 : 0, w));
    CHECK_TEXT("root is 0 at rank 0, 1 at ");
    EXPECT(MCOMM_ERR_MISMATCH,
           mcomm_allreduce(x, y, 2, is_last ? MCOMM_FLOAT : MCOMM_INT32, MCOMM_SUM, w));
    CHECK_TEXT("INT32 at rank 0, FLOAT");
    EXPECT(MCOMM_ERR_MISMATCH,
           mcomm_allreduce(x, y, 2, MCOMM_INT32, is_last ? MCOMM_MAX : MCOMM_SUM, w));
    CHECK_TEXT("SUM at rank 0, MAX");
    EXPECT(MCOMM_ERR_MISMATCH,
           is_last ? mcomm_barrier(w) : mcomm_allgather(MCOMM_IN_PLACE, NULL, 0, MCOMM_INT32, w));
    CHECK_TEXT("allgather");
    CHECK_TEXT("barrier");
    /* One member's bad argument reaches all. */
    CHECK(mcomm_bcast(is_last ? NULL : x, 2, MCOMM_INT32, 0, w) != MCOMM_SUCCESS);
    CHECK_TEXT(is_last ? "buf" : rank_text);
    OK(mcomm_barrier(w));
}

/* The same of nonblocking and persistent calls, which do not wait for the others. */
static void test_mismatch_started(void)
{
    int x[4] = {0}, y[4], last = mp_size - 1, is_last = mp_rank == last;
    mcomm_comm_t w = MCOMM_COMM_WORLD;
    mcomm_request_t first, second, kept;

    if (is_last) /* comes later than the others' calls return */
        OK(mcomm_recv(x, 4, 0, 1, w, NULL));
    OK(mcomm_ibcast(x, is_last ? 3 : 2, MCOMM_INT32, 0, w, &first));
    OK(mcomm_iallreduce(x, y, 2, MCOMM_INT32, MCOMM_SUM, w, &second));
    OK(mcomm_bcast_init(x, 2, MCOMM_INT32, is_last ? 1 : 0, w, &kept));
    OK(mcomm_start(kept));
    if (mp_rank == 0)
        OK(mcomm_send(x, 4, last, 1, w));
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&first, MCOMM_FOREVER, NULL));
    CHECK_TEXT("count is 2 at rank 0, 3 at ");
    OK(mcomm_wait(&second, MCOMM_FOREVER, NULL));
    for (int i = 0; i < 2; i++) {
        EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&kept, MCOMM_FOREVER, NULL));
        CHECK_TEXT("root is 0 at rank 0, 1 at ");
        OK(mcomm_start(kept));
    }
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&kept, MCOMM_FOREVER, NULL));
    OK(mcomm_request_free(&kept));
    /* A call that one member's arguments prevent. */
    if (is_last) {
        EXPECT(MCOMM_ERR_BUFFER, mcomm_ibcast(NULL, 2, MCOMM_INT32, 0, w, &first));
    } else {
        OK(mcomm_ibcast(x, 2, MCOMM_INT32, 0, w, &first));
        EXPECT(MCOMM_ERR_BUFFER, mcomm_wait(&first, MCOMM_FOREVER, NULL));
        CHECK_TEXT("rank ");
    }
    OK(mcomm_barrier(w));
}

/* ---- deterministic ---- */
static float wild(int rank, size_t i) /* magnitudes from 2^-20 to 2^20 */
{
    uint64_t z = (uint64_t)rank * 1000003u + i * 7919u + 1;
    float f;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    f = (float)(z >> 40) / (float)(1 << 24) - 0.5f;
    return f * (float)(1u << (z % 21)) / (float)(1u << (z / 32 % 21));
}

static void expect_fold(const float *got, size_t from, size_t count, int end)
{
    for (size_t i = 0; i < count; i++) {
        float want = wild(0, from + i);

        for (int r = 1; r < end; r++)
            want = want + wild(r, from + i);
        if (memcmp(&want, &got[i], 4) != 0)
            MP_FAIL("element %zu of %zu is %a, in rank order %a", i, count, (double)got[i],
                    (double)want);
    }
}

/* Sums are those of a loop in rank order, whatever the size and wherever the ranks are. */
static void test_deterministic(void)
{
    static const size_t sizes[] = {1, 100, 2000, 5000, 50000, 200001};
    size_t most = sizes[5], n = (size_t)mp_size;
    float *in = malloc(n * most * 4), *out = malloc(n * most * 4);
    mcomm_comm_t comm, child;
    mcomm_info_t info;

    OK(mcomm_info_create(&info));
    OK(mcomm_info_set(info, "deterministic", "maybe"));
    EXPECT(MCOMM_ERR_INFO, mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    OK(mcomm_info_set(info, "deterministic", "yes"));
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    OK(mcomm_info_free(&info));
    OK(mcomm_comm_split(comm, 0, mp_rank, &child)); /* inherits */
    for (size_t i = 0; i < n * most; i++)
        in[i] = wild(mp_rank, i);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        mcomm_comm_t c = s % 2 ? child : comm;
        size_t count = sizes[s];
        int root = (int)s % mp_size;

        OK(mcomm_allreduce(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, 0, count, mp_size);
        OK(mcomm_reduce(in, out, count, MCOMM_FLOAT, MCOMM_SUM, root, c));
        if (mp_rank == root)
            expect_fold(out, 0, count, mp_size);
        OK(mcomm_reduce_scatter_block(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, (size_t)mp_rank * count, count, mp_size);
        OK(mcomm_scan(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        expect_fold(out, 0, count, mp_rank + 1);
        OK(mcomm_exscan(in, out, count, MCOMM_FLOAT, MCOMM_SUM, c));
        if (mp_rank > 0)
            expect_fold(out, 0, count, mp_rank);
    }
    OK(mcomm_comm_free(&child));
    OK(mcomm_comm_free(&comm));
    free(in);
    free(out);
}

/* The last rank dies in the middle of round 20, the others at once or soon after see it. */
static void test_death(void)
{
    static int in[40000], out[40000];
    mcomm_err_t err = MCOMM_SUCCESS;
    int round;

    for (round = 0; round < 100000 && err == MCOMM_SUCCESS; round++) {
        if (mp_rank == mp_size - 1 && round == 20)
            raise(SIGKILL);
        if (round % 4 == 0)
            err = mcomm_barrier(MCOMM_COMM_WORLD);
        else if (round % 4 == 1)
            err = mcomm_allreduce(in, out, round % 8 < 4 ? 3 : 40000, MCOMM_INT32, MCOMM_SUM,
                                  MCOMM_COMM_WORLD);
        else if (round % 4 == 2)
            err = mcomm_bcast(in, 40000, MCOMM_INT32, round % mp_size, MCOMM_COMM_WORLD);
        else
            err = mcomm_allgather(in, out, 5, MCOMM_INT32, MCOMM_COMM_WORLD);
    }
    CHECK_EQ(err, MCOMM_ERR_PROC_FAILED);
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_barrier(MCOMM_COMM_WORLD));
}

/* The last rank dies anywhere in a call whose messages are large: halves are withdrawn. */
static void test_death_amid(void)
{
    static float in[60000], out[60000];
    const struct itimerval soon = {.it_value = {.tv_usec = 3000}}; /* SIGALRM ends the process */
    mcomm_err_t err = mcomm_barrier(MCOMM_COMM_WORLD); /* a slow rank may still be in it */

    if (mp_rank == mp_size - 1)
        setitimer(ITIMER_REAL, &soon, NULL);
    while (err == MCOMM_SUCCESS)
        err = mcomm_allreduce(in, out, 60000, MCOMM_FLOAT, MCOMM_SUM, MCOMM_COMM_WORLD);
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s: %s", mcomm_err_name(err), mcomm_last_error());
}

/* A member that gave up takes the others with it, whatever they wait for. */
static void test_timeout(void)
{
    static int in[100000], out[100000];
    mcomm_comm_t comm;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    if (mp_rank == 0)
        OK(mcomm_comm_set_timeout(comm, 100)); /* the others wait without limit */
    if (mp_rank != mp_size - 1)
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_allreduce(in, out, 100000, MCOMM_INT32, MCOMM_SUM, comm));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == mp_size - 1) /* late: is told at once */
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_allreduce(in, out, 100000, MCOMM_INT32, MCOMM_SUM, comm));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "random";

    if (strcmp(what, "no_shm") == 0)
        shm_forbid();
    mp_init();
    if (strcmp(what, "random") == 0)
        test_random(argc > 2 ? argv[2] : "1");
    else if (strcmp(what, "args") == 0)
        test_args();
    else if (strcmp(what, "huge") == 0)
        test_huge();
    else if (strcmp(what, "bits") == 0)
        test_same_bits();
    else if (strcmp(what, "no_shm") == 0)
        test_no_shm();
    else if (strcmp(what, "truth") == 0)
        test_truth();
    else if (strcmp(what, "mismatch") == 0)
        test_mismatch(), test_mismatch_started();
    else if (strcmp(what, "deterministic") == 0)
        test_deterministic();
    else if (strcmp(what, "death_amid") == 0)
        test_death_amid();
    else if (strcmp(what, "death") == 0)
        test_death();
    else if (strcmp(what, "timeout") == 0)
        test_timeout();
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
