/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Operations outside of collectives: reduce_local, one freed while it is used, windows. */
#include "mp.h"

#include <stdint.h>

static char op_arg;

/* The maps x -> a x + b modulo 2^32: not commutative. */
static void compose(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    const uint64_t *left = in;
    uint64_t *right = inout;

    CHECK(dtype == MCOMM_UINT64 && arg == &op_arg);
    for (size_t i = 0; i < count; i++) {
        uint32_t a = (uint32_t)(left[i] >> 32), b = (uint32_t)left[i];
        uint32_t c = (uint32_t)(right[i] >> 32), d = (uint32_t)right[i];

        right[i] = (uint64_t)(c * a) << 32 | (uint32_t)(c * b + d);
    }
}

static void test_reduce_local(void)
{
    char in[13] = {0}, inout[13] = {0};
    int32_t x = 40, y = 2;

    memcpy(in + 1, &x, 4);
    memcpy(inout + 3, &y, 4);
    OK(mcomm_reduce_local(in + 1, inout + 3, 1, MCOMM_INT32, MCOMM_SUM));
    memcpy(&y, inout + 3, 4);
    CHECK_EQ(y, 42);
    EXPECT(MCOMM_ERR_BUFFER, mcomm_reduce_local(in, in + 4, 2, MCOMM_INT32, MCOMM_SUM));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_reduce_local(in, in, 1, MCOMM_INT32, MCOMM_SUM));
    OK(mcomm_reduce_local(in, in, 0, MCOMM_INT32, MCOMM_SUM));
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(in, inout, 1, MCOMM_INT32, MCOMM_AVG));
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(in, inout, 1, MCOMM_FLOAT_INT, MCOMM_SUM));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_reduce_local(NULL, inout, 1, MCOMM_INT32, MCOMM_SUM));
}

/* A persistent request keeps the operation that it was made with. */
static void test_op_freed_while_in_use(void)
{
    uint64_t mine = (uint64_t)1 << 32 | 1, all = 0; /* x -> x + 1 */
    mcomm_request_t request;
    mcomm_op_t op, copy;
    int size;

    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &size));
    OK(mcomm_op_create(compose, &op_arg, 0, &op));
    OK(mcomm_allreduce_init(&mine, &all, 1, MCOMM_UINT64, op, MCOMM_COMM_WORLD, &request));
    copy = op;
    OK(mcomm_op_free(&op));
    CHECK_EQ(op, MCOMM_OP_NULL);
    EXPECT(MCOMM_ERR_OP, mcomm_op_free(&copy));
    EXPECT(MCOMM_ERR_OP, mcomm_reduce_local(&mine, &all, 1, MCOMM_UINT64, copy));
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
    EXPECT(MCOMM_ERR_TYPE,
           mcomm_accumulate(value, 1, MCOMM_COMPLEX_FLOAT, mp_rank, 0, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_OP, mcomm_accumulate(value, 1, MCOMM_FLOAT, mp_rank, 0, MCOMM_AVG, win));
    OK(mcomm_win_free(&win));
}

int main(void)
{
    mp_init();
    test_reduce_local();
    test_op_freed_while_in_use();
    test_windows_refuse();
    OK(mcomm_finalize());
    return 0;
}
