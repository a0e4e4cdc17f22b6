/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Every collective takes a count of 0 with any pointers, null and equal ones. */
#include "mp.h"

#define W MCOMM_COMM_WORLD
#define T MCOMM_INT32

static void all_with(void *a, void *b, const size_t *counts)
{
    for (int root = 0; root < mp_size; root++) {
        OK(mcomm_bcast(a, 0, T, root, W));
        OK(mcomm_reduce(a, b, 0, T, MCOMM_SUM, root, W));
        OK(mcomm_gather(a, b, 0, T, root, W));
        OK(mcomm_scatter(a, b, 0, T, root, W));
        OK(mcomm_gatherv(a, 0, b, counts, counts, T, root, W));
        OK(mcomm_scatterv(a, counts, counts, b, 0, T, root, W));
    }
    OK(mcomm_allreduce(a, b, 0, T, MCOMM_SUM, W));
    OK(mcomm_reduce_scatter_block(a, b, 0, T, MCOMM_SUM, W));
    OK(mcomm_reduce_scatter(a, b, counts, T, MCOMM_SUM, W));
    OK(mcomm_allgather(a, b, 0, T, W));
    OK(mcomm_allgatherv(a, 0, b, counts, counts, T, W));
    OK(mcomm_alltoall(a, b, 0, T, W));
    OK(mcomm_alltoallv(a, counts, counts, b, counts, counts, T, W));
    OK(mcomm_scan(a, b, 0, T, MCOMM_SUM, W));
    OK(mcomm_exscan(a, b, 0, T, MCOMM_SUM, W));
    OK(mcomm_barrier(W));
}

int main(void)
{
    static const size_t counts[64];
    int x = 1, y = 2;

    mp_init();
    CHECK(mp_size <= 64);
    all_with(NULL, NULL, counts);
    all_with(&x, NULL, counts);
    all_with(NULL, &y, counts);
    all_with(&x, &x, counts);
    all_with(&x, &y, counts);
    CHECK(x == 1 && y == 2);
    OK(mcomm_finalize());
    return 0;
}
