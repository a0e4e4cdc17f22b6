/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A sum over all ranks while the next block is computed, and an operation of one's own. */
#include <mooncake_comm.h>

#include <stdint.h>
#include <stdio.h>

#define COUNT 4096
#define ROUNDS 50

static void must(mcomm_err_t err, const char *what)
{
    if (err == MCOMM_SUCCESS)
        return;
    fprintf(stderr, "overlap: %s: %s\n", what, mcomm_last_error());
    mcomm_abort(MCOMM_COMM_WORLD, 1, what);
}

static void compute(double *block, int rank, int round)
{
    for (int i = 0; i < COUNT; i++)
        block[i] = (double)(rank + 1) * (double)(round + i);
}

/* The one of larger magnitude: no operation of the library. */
static void larger(const void *in, void *inout, size_t count, mcomm_datatype_t dtype, void *arg)
{
    const int64_t *a = in;
    int64_t *b = inout;

    (void)dtype;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        if (a[i] * a[i] > b[i] * b[i])
            b[i] = a[i];
}

int main(void)
{
    static double blocks[2][COUNT], sums[COUNT];
    mcomm_request_t request;
    mcomm_op_t op;
    int rank, size, wrong = 0;
    int64_t mine, winner;

    must(mcomm_init(NULL), "init");
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    compute(blocks[0], rank, 0);
    for (int round = 0; round < ROUNDS; round++) {
        must(mcomm_iallreduce(blocks[round % 2], sums, COUNT, MCOMM_DOUBLE, MCOMM_SUM,
                              MCOMM_COMM_WORLD, &request),
             "iallreduce");
        compute(blocks[(round + 1) % 2], rank, round + 1); /* the sum goes on meanwhile */
        must(mcomm_wait(&request, MCOMM_FOREVER, MCOMM_STATUS_IGNORE), "wait");
        for (int i = 0; i < COUNT; i++)
            wrong += sums[i] != (double)size * (size + 1) / 2 * (double)(round + i);
    }

    must(mcomm_op_create(larger, NULL, 1, &op), "op_create");
    mine = rank % 2 ? -10 - rank : rank;
    must(mcomm_allreduce(&mine, &winner, 1, MCOMM_INT64, op, MCOMM_COMM_WORLD), "allreduce");
    must(mcomm_op_free(&op), "op_free");
    if (rank == 0)
        printf("%d sums over %d ranks, %d wrong, the largest is %lld\n", ROUNDS, size, wrong,
               (long long)winner);
    must(mcomm_finalize(), "finalize");
    return wrong != 0;
}
