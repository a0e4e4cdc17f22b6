/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives whose blocks together exceed a ring of the node's segment many times over, with more
 * members than pieces of the usual size fit into a ring. Every value is checked.
 */
#include "mp.h"

#include <stdint.h>

#define BLOCK ((size_t)96 * 1024 + 8) /* uint64_t: 768 KiB and a bit */

static uint64_t value(int from, int to, size_t i)
{
    return (uint64_t)(from + 1) * 1000003 + (uint64_t)to * 7919 + i;
}

static uint64_t *block_of(uint64_t *all, int rank)
{
    return all + (size_t)rank * BLOCK;
}

static void check(const uint64_t *block, int from, int to, const char *what)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i] != value(from, to, i))
            MP_FAIL("%s: element %zu from rank %d is wrong", what, i, from);
}

static void check_sum(const uint64_t *block, int to, const char *what)
{
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t sum = 0;

        for (int from = 0; from < mp_size; from++)
            sum += value(from, to, i);
        if (block[i] != sum)
            MP_FAIL("%s: the sum of element %zu of block %d is wrong", what, i, to);
    }
}

int main(void)
{
    size_t total;
    uint64_t *in, *out;
    int last;

    mp_init();
    last = mp_size - 1;
    total = (size_t)mp_size * BLOCK;
    in = malloc(total * sizeof(*in));
    out = calloc(total, sizeof(*out));
    CHECK(in != NULL && out != NULL);
    for (int to = 0; to < mp_size; to++)
        for (size_t i = 0; i < BLOCK; i++)
            block_of(in, to)[i] = value(mp_rank, to, i);

    OK(mcomm_alltoall(in, out, BLOCK, MCOMM_UINT64, MCOMM_COMM_WORLD));
    for (int from = 0; from < mp_size; from++)
        check(block_of(out, from), from, mp_rank, "alltoall");
    OK(mcomm_scatter(in, out, BLOCK, MCOMM_UINT64, last, MCOMM_COMM_WORLD));
    check(out, last, mp_rank, "scatter");
    OK(mcomm_gather(in, out, BLOCK, MCOMM_UINT64, last, MCOMM_COMM_WORLD));
    for (int from = 0; from < mp_size && mp_rank == last; from++)
        check(block_of(out, from), from, 0, "gather");
    OK(mcomm_reduce(in, out, total, MCOMM_UINT64, MCOMM_SUM, last, MCOMM_COMM_WORLD));
    for (int to = 0; to < mp_size && mp_rank == last; to++)
        check_sum(block_of(out, to), to, "reduce");
    OK(mcomm_reduce_scatter_block(in, out, BLOCK, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    check_sum(out, mp_rank, "reduce_scatter_block");
    OK(mcomm_allreduce(in, out, total, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    for (int to = 0; to < mp_size; to++)
        check_sum(block_of(out, to), to, "allreduce");
    free(in);
    free(out);
    OK(mcomm_finalize());
    return 0;
}
