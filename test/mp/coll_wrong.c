/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bad arguments of every collective in every form: an error that names argument and value, no
 * request, and the next good call works. One argument of a good call is spoilt at a time; what only
 * a root looks at is tried with oneself as root.
 */
#include "coll_kinds.h"

static size_t bad[SMALL_RANKS];
static const mcomm_request_t untouched = (mcomm_request_t)&x;

/* ---- what is spoilt ---- */
static struct args a; /* being spoilt */
static mcomm_comm_t freed_comm;
static mcomm_op_t freed_op;
static int other; /* a rank that is not this one, if there is one */

#define SPOIL(name, what)                                                                          \
    static void name(void)                                                                         \
    {                                                                                              \
        what;                                                                                      \
    }
SPOIL(comm_null, a.comm = MCOMM_COMM_NULL)
SPOIL(comm_freed, a.comm = freed_comm)
SPOIL(root_low, a.root = -1)
SPOIL(root_high, a.root = mp_size)
SPOIL(dtype_none, a.dtype = (mcomm_datatype_t)99)
SPOIL(op_freed, a.op = freed_op)
SPOIL(op_null, a.op = MCOMM_OP_NULL)
SPOIL(op_replace, a.op = MCOMM_REPLACE)
SPOIL(op_none, a.op = (mcomm_op_t)-7)
SPOIL(op_of_float, (a.op = MCOMM_BAND, a.dtype = MCOMM_FLOAT))
SPOIL(op_of_byte, a.dtype = MCOMM_BYTE)
SPOIL(op_average, a.op = MCOMM_AVG)
SPOIL(count_high, a.count = (size_t)-1)
SPOIL(send_counts_high, a.send_counts = bad)
SPOIL(send_displs_high, a.send_displs = bad)
SPOIL(recv_counts_high, a.recv_counts = bad)
SPOIL(recv_displs_high, a.recv_displs = bad)
SPOIL(send_counts_null, a.send_counts = NULL)
SPOIL(send_displs_null, a.send_displs = NULL)
SPOIL(recv_counts_null, a.recv_counts = NULL)
SPOIL(recv_displs_null, a.recv_displs = NULL)
SPOIL(send_null, a.send = NULL)
SPOIL(send_in_place, a.send = MCOMM_IN_PLACE)
SPOIL(send_in_place_other, (a.send = MCOMM_IN_PLACE, a.root = other))
SPOIL(send_is_recv, a.send = a.recv)
SPOIL(recv_null, a.recv = NULL)
SPOIL(recv_in_place, a.recv = MCOMM_IN_PLACE)
SPOIL(recv_in_place_other, (a.recv = MCOMM_IN_PLACE, a.root = other))

static const struct wrong {
    void (*spoil)(void);
    unsigned takes, takes_not; /* of which kinds */
    mcomm_err_t err;
    const char *part; /* of the text */
} wrongs[] = {
    {comm_null, ANY, ANY, MCOMM_ERR_COMM, "comm"},
    {comm_freed, ANY, ANY, MCOMM_ERR_COMM, "comm"},
    {root_low, ROOT, ANY, MCOMM_ERR_RANK, "root = -1"},
    {root_high, ROOT, ANY, MCOMM_ERR_RANK, "root"},
    {dtype_none, RECV, ANY, MCOMM_ERR_TYPE, "99"},
    {op_freed, OP, ANY, MCOMM_ERR_OP, "op is 4096"},
    {op_null, OP, ANY, MCOMM_ERR_OP, "op is 0"},
    {op_replace, OP, ANY, MCOMM_ERR_OP, "REPLACE"},
    {op_none, OP, ANY, MCOMM_ERR_OP, "-7"},
    {op_of_float, OP, ANY, MCOMM_ERR_OP, "BAND"},
    {op_of_byte, OP, ANY, MCOMM_ERR_OP, "BYTE"},
    {op_average, PREFIX, ANY, MCOMM_ERR_OP, "AVG"},
    {count_high, COUNT, ANY, MCOMM_ERR_COUNT, "-1"},
    {send_counts_high, SEND_LISTS, ANY, MCOMM_ERR_COUNT, "send_counts"},
    {send_displs_high, SEND_LISTS, ANY, MCOMM_ERR_COUNT, "displs"},
    {recv_counts_high, RECV_COUNTS, ANY, MCOMM_ERR_COUNT, "recv_counts"},
    {recv_displs_high, RECV_LISTS, ANY, MCOMM_ERR_COUNT, "displs"},
    {send_counts_null, SEND_LISTS, ANY, MCOMM_ERR_ARG, "send_counts"},
    {send_displs_null, SEND_LISTS, ANY, MCOMM_ERR_ARG, "displs"},
    {recv_counts_null, RECV_COUNTS, ANY, MCOMM_ERR_ARG, "recv_counts"},
    {recv_displs_null, RECV_LISTS, ANY, MCOMM_ERR_ARG, "displs"},
    {send_null, SEND, ANY, MCOMM_ERR_BUFFER, "sendbuf"},
    {send_is_recv, SEND, ANY, MCOMM_ERR_BUFFER, "overlaps"},
    {send_in_place, SCATTERS, ANY, MCOMM_ERR_BUFFER, "sendbuf"},
    {send_in_place_other, SEND | ROOT, SCATTERS, MCOMM_ERR_BUFFER, "sendbuf"},
    {recv_null, SEND | RECV, ANY, MCOMM_ERR_BUFFER, "recvbuf"},
    {recv_null, RECV, SEND, MCOMM_ERR_BUFFER, "buf"},
    {recv_in_place, SEND | RECV, SCATTERS, MCOMM_ERR_BUFFER, "recvbuf"},
    {recv_in_place, RECV, SEND, MCOMM_ERR_BUFFER, "buf"},
    {recv_in_place_other, SCATTERS, ANY, MCOMM_ERR_BUFFER, "recvbuf"},
};
#define WRONG_NUM (sizeof(wrongs) / sizeof(wrongs[0]))

static void expect_wrong(const struct kind *kind, const struct wrong *wrong)
{
    for (int form = 0; form < S_FORMS; form++) {
        mcomm_request_t request = untouched;
        mcomm_err_t err;

        a = good_args();
        wrong->spoil();
        err = kind->call(&a, (enum small_form)form, &request);
        if (err != wrong->err || request != untouched || !strstr(mcomm_last_error(), wrong->part))
            MP_FAIL("%s, form %d, wrong number %d: %s (%s), expected %s with \"%s\"", kind->name,
                    form, (int)(wrong - wrongs), mcomm_err_name(err), mcomm_last_error(),
                    mcomm_err_name(wrong->err), wrong->part);
    }
}

static void no_place_for_request(const struct kind *kind)
{
    a = good_args();
    EXPECT(MCOMM_ERR_ARG, kind->call(&a, S_NONBLOCKING, NULL));
    CHECK_TEXT("request_p");
    EXPECT(MCOMM_ERR_ARG, kind->call(&a, S_PERSISTENT, NULL));
    CHECK_TEXT("request_p");
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

/* ---- operations ---- */
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
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(x, y, 1, MCOMM_INT32, freed_op));
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(x, y, 1, MCOMM_FLOAT, MCOMM_BAND));
    EXPECT(MCOMM_ERR_COUNT, mcomm_reduce_local(x, y, (size_t)-1, MCOMM_INT32, MCOMM_SUM));
}

int main(void)
{
    mcomm_comm_t comm;

    mp_init();
    other = (mp_rank + 1) % mp_size;
    kinds_prepare(1);
    for (int r = 0; r < mp_size; r++)
        bad[r] = r == mp_size - 1 ? (size_t)-1 : 1;
    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    freed_comm = comm;
    OK(mcomm_comm_free(&comm));
    wrong_ops();
    for (const struct wrong *wrong = wrongs; wrong < wrongs + WRONG_NUM; wrong++) {
        int is_of_other =
            wrong->spoil == send_in_place_other || wrong->spoil == recv_in_place_other;

        for (const struct kind *kind = kinds; kind < kinds + KIND_NUM; kind++)
            if ((kind->takes & wrong->takes) == wrong->takes && !(kind->takes & wrong->takes_not) &&
                !(is_of_other && other == mp_rank))
                expect_wrong(kind, wrong);
        good_calls();
    }
    for (const struct kind *kind = kinds; kind < kinds + KIND_NUM; kind++)
        no_place_for_request(kind);
    good_calls();
    OK(mcomm_finalize());
    return 0;
}
