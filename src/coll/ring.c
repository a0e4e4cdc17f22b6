/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A vector in n blocks around a ring: reduce-scatter and allgather, n-1 rounds each, every rank
 * moves (n-1)/n of the data in each; Patarasu, Yuan 2009. A block is reduced along one path, so all
 * ranks get the same bits. Blocks are reduced in pieces while the rest still comes.
 */
#include "coll/algos.h"

#define PIECE_NBYTES ((size_t)256 << 10)

mcomm_err_t mci_coll_ring_cut(struct coll_call *call, char *buf, size_t count,
                              struct coll_ring_blocks *blocks)
{
    int size = call->team.size;

    blocks->buf = buf;
    blocks->begin = mci_coll_plan_scratch(call->plan, (size_t)(size + 1) * sizeof(*blocks->begin));
    if (blocks->begin == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int i = 0; i <= size; i++)
        blocks->begin[i] = coll_part(count, size, i);
    return MCOMM_SUCCESS;
}

static int wrap(const struct coll_call *call, int block)
{
    int size = call->team.size;

    return (block % size + size) % size;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Send one block while another comes in by pieces and is combined with ours, theirs left. */
static void reduce_round(struct coll_call *call, const struct coll_ring_blocks *blocks, int give,
                         int take, char *scratch)
{
    size_t elem = call->args.elem, most = PIECE_NBYTES / elem;
    size_t send = blocks->begin[give], send_end = blocks->begin[give + 1];
    size_t recv = blocks->begin[take], recv_end = blocks->begin[take + 1];

    while (send < send_end || recv < recv_end) {
        size_t out = least(send_end - send, most), in = least(recv_end - recv, most);
        char *mine = blocks->buf + recv * elem;

        if (out > 0)
            mci_coll_plan_send(call->plan, blocks->buf + send * elem, out * elem,
                               wrap(call, call->team.rank + 1));
        if (in > 0) {
            mci_coll_plan_recv(call->plan, scratch, in * elem, wrap(call, call->team.rank - 1));
            mci_coll_plan_fold(call->plan, mine, scratch, mine, in);
        }
        mci_coll_plan_round(call->plan);
        send += out;
        recv += in;
    }
}

void mci_coll_ring_reduce_scatter(struct coll_call *call, const struct coll_ring_blocks *blocks,
                                  int first)
{
    int rank = call->team.rank;
    char *scratch = mci_coll_plan_scratch(call->plan, PIECE_NBYTES);

    for (int round = 0; scratch != NULL && round < call->team.size - 1; round++)
        reduce_round(call, blocks, wrap(call, rank + first - round),
                     wrap(call, rank + first - round - 1), scratch);
}

void mci_coll_ring_allgather(struct coll_call *call, const struct coll_ring_blocks *blocks,
                             int first)
{
    size_t elem = call->args.elem;
    int rank = call->team.rank;

    for (int round = 0; round < call->team.size - 1; round++) {
        int give = wrap(call, rank + first - round), take = wrap(call, rank + first - round - 1);
        size_t out = blocks->begin[give + 1] - blocks->begin[give];
        size_t in = blocks->begin[take + 1] - blocks->begin[take];

        if (out > 0)
            mci_coll_plan_send(call->plan, blocks->buf + blocks->begin[give] * elem, out * elem,
                               wrap(call, rank + 1));
        if (in > 0)
            mci_coll_plan_recv(call->plan, blocks->buf + blocks->begin[take] * elem, in * elem,
                               wrap(call, rank - 1));
        mci_coll_plan_round(call->plan);
    }
}
