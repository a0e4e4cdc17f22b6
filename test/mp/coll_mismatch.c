/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* MCOMM_CHECK=1: every rank learns which two ranks differ, and goes on. */
#include "coll_kinds.h"

static int last; /* the rank that differs */

static void test_mismatch(void)
{
    int is_last = mp_rank == last;
    mcomm_comm_t w = W;
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
    int is_last = mp_rank == last;
    mcomm_comm_t w = W;
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

/* ---- every kind in every form, the last rank with another argument ---- */
static struct args a;
static size_t first_two[SMALL_RANKS]; /* 2, 1, 1, ... */
static mcomm_op_t in_order, any_order;

static void last_one(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)dtype;
    (void)arg;
}

#define DIFFER(name, of_all, of_last)                                                              \
    static void name(void)                                                                         \
    {                                                                                              \
        of_all;                                                                                    \
        if (mp_rank == last)                                                                       \
            of_last;                                                                               \
    }
DIFFER(count, a.count = 1, a.count = 2)
DIFFER(dtype, a.dtype = MCOMM_INT32, a.dtype = MCOMM_FLOAT)
DIFFER(op, a.op = MCOMM_SUM, a.op = MCOMM_MAX)
DIFFER(op_user, a.op = MCOMM_SUM, a.op = any_order)
DIFFER(op_order, a.op = in_order, a.op = any_order)
DIFFER(root, a.root = 0, a.root = 1)
DIFFER(in_place, a.send = x, a.send = MCOMM_IN_PLACE)
DIFFER(send_counts, a.send_counts = counts, a.send_counts = first_two)
DIFFER(recv_counts, a.recv_counts = counts, a.recv_counts = first_two)

static const struct difference {
    void (*make)(void);
    const char *of; /* the kind; NULL: all that have these arguments */
    unsigned takes, takes_not;
    const char *before, *after; /* of the last rank's number in the text */
} differences[] = {
    {count, NULL, COUNT, SEND_LISTS | RECV_LISTS, "count is 1 at rank 0, 2 at rank ", ""},
    {dtype, NULL, RECV, ANY, "dtype is INT32 at rank 0, FLOAT at rank ", ""},
    {op, NULL, OP, ANY, "op is SUM at rank 0, MAX at rank ", ""},
    {op_user, NULL, OP, ANY, "op is SUM at rank 0, user-defined, commutative at rank ", ""},
    {op_order, NULL, OP, ANY,
     "op is user-defined, not commutative at rank 0, user-defined, commutative at rank ", ""},
    {root, NULL, ROOT, ANY, "root is 0 at rank 0, 1 at rank ", ""},
    {in_place, "reduce_scatter_block", ANY, ANY,
     "sendbuf is a buffer at rank 0, MCOMM_IN_PLACE at rank ", ""},
    {in_place, "reduce_scatter", ANY, ANY, "sendbuf is a buffer at rank 0, MCOMM_IN_PLACE at rank ",
     ""},
    {in_place, "alltoall", ANY, ANY, "sendbuf is a buffer at rank 0, MCOMM_IN_PLACE at rank ", ""},
    {in_place, "alltoallv", ANY, ANY, "sendbuf is a buffer at rank 0, MCOMM_IN_PLACE at rank ", ""},
    {count, "gatherv", ANY, ANY, "rank ", " sends 2 elements to rank 0, which expects 1"},
    {count, "scatterv", ANY, ANY, "rank 0 sends 1 elements to rank ", ", which expects 2"},
    {count, "allgatherv", ANY, ANY, "rank ", " sends 2 elements to rank 0, which expects 1"},
    {recv_counts, "allgatherv", ANY, ANY, "rank 0 sends 1 elements to rank ", ", which expects 2"},
    {send_counts, "alltoallv", ANY, ANY, "rank ", " sends 2 elements to rank 0, which expects 1"},
    {recv_counts, "alltoallv", ANY, ANY, "rank 0 sends 1 elements to rank ", ", which expects 2"},
    {recv_counts, "reduce_scatter", ANY, ANY, "recv_counts[0] is 2 at rank ", ", 1 at rank 0"},
};
#define DIFFERENCE_NUM (sizeof(differences) / sizeof(differences[0]))

static void expect_text(const char *kind, const char *text, int form)
{
    if (strstr(mcomm_last_error(), kind) == NULL || strstr(mcomm_last_error(), text) == NULL)
        MP_FAIL("%s, form %d: \"%s\" is not in \"%s\"", kind, form, text, mcomm_last_error());
}

/* This rank makes that call with these arguments. */
static void expect_mismatch(const struct kind *kind, const char *name, const char *text)
{
    mcomm_request_t request;

    EXPECT(MCOMM_ERR_MISMATCH, kind->call(&a, S_BLOCKING, NULL));
    expect_text(name, text, S_BLOCKING);
    OK(kind->call(&a, S_NONBLOCKING, &request));
    EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&request, MCOMM_FOREVER, NULL));
    expect_text(name, text, S_NONBLOCKING);
    OK(kind->call(&a, S_PERSISTENT, &request));
    for (int i = 0; i < 2; i++) {
        OK(mcomm_start(request));
        EXPECT(MCOMM_ERR_MISMATCH, mcomm_wait(&request, MCOMM_FOREVER, NULL));
        expect_text(name, text, S_PERSISTENT);
    }
    OK(mcomm_request_free(&request));
}

static void test_arguments(const struct kind *kind)
{
    char text[128];

    for (const struct difference *d = differences; d < differences + DIFFERENCE_NUM; d++) {
        if (d->of != NULL ? strcmp(d->of, kind->name) != 0
                          : (kind->takes & d->takes) != d->takes || (kind->takes & d->takes_not))
            continue;
        a = good_args();
        a.root = 0;
        d->make();
        snprintf(text, sizeof(text), "%s%d%s", d->before, last, d->after);
        expect_mismatch(kind, kind->name, text);
    }
}

static void test_order(const struct kind *kind, const struct kind *other)
{
    char text[128];

    a = good_args();
    a.root = 0;
    snprintf(text, sizeof(text), "rank 0 calls %s, rank %d calls %s", kind->name, last,
             other->name);
    expect_mismatch(mp_rank == last ? other : kind, kind->name, text);
    OK(kind->call(&a, S_BLOCKING, NULL)); /* the communicator goes on */
}

static void test_all_kinds(void)
{
    kinds_prepare(1);
    memcpy(first_two, counts, sizeof(counts));
    first_two[0] = 2;
    OK(mcomm_op_create(last_one, NULL, 0, &in_order));
    OK(mcomm_op_create(last_one, NULL, 1, &any_order));
    for (size_t i = 0; i < KIND_NUM; i++) {
        test_arguments(&kinds[i]);
        test_order(&kinds[i], &kinds[(i + 1) % KIND_NUM]);
    }
    OK(mcomm_op_free(&in_order));
    OK(mcomm_op_free(&any_order));
}

int main(void)
{
    mp_init();
    last = mp_size - 1;
    test_mismatch();
    test_mismatch_started();
    test_all_kinds();
    OK(mcomm_finalize());
    return 0;
}
