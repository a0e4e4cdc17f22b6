/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Who is there, and where: one line a rank, in rank order. */
#include <mooncake_comm.h>

#include <stdio.h>

int main(void)
{
    mcomm_peer_desc_t me = {.struct_size = sizeof(me)};
    int rank, size, nodes;

    if (mcomm_init(NULL) != MCOMM_SUCCESS) {
        fprintf(stderr, "hello: %s\n", mcomm_last_error());
        return 1;
    }
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    mcomm_comm_node_count(MCOMM_COMM_WORLD, &nodes);
    mcomm_peer_query(MCOMM_COMM_WORLD, rank, 0, &me);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            printf("rank %d of %d, node %d of %d, host %s, process %lld\n", rank, size, me.node,
                   nodes, me.host, (long long)me.pid);
            fflush(stdout);
        }
        mcomm_barrier(MCOMM_COMM_WORLD);
    }
    return mcomm_finalize() != MCOMM_SUCCESS;
}
