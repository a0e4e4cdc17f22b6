/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce of large data around a ring: reduce-scatter, then allgather, 2(n-1) rounds, each rank
 * sends 2(n-1)/n of the data; Patarasu, Yuan 2009. A block is reduced along one path and copied
 * from there, so all ranks get the same bits. Blocks are reduced in pieces while the rest still
 * comes.
 */
#include "coll/coll_priv.h"

#define PIECE_NBYTES ((size_t)256 << 10)

struct ring {
    struct coll_call *call;
    char *buf;
    size_t count, elem;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    int rank, size, next, prev;
    char *scratch; /* two pieces */
};

/* Blocks differ by at most one element. */
static size_t block_begin(const struct ring *r, int block)
{
    size_t each = r->count / (size_t)r->size, more = r->count % (size_t)r->size;

    return (size_t)block * each + ((size_t)block < more ? (size_t)block : more);
}

static int wrap(const struct ring *r, int block)
{
    return ((block % r->size) + r->size) % r->size;
}

static size_t piece_count(const struct ring *r, size_t begin, size_t end)
{
    size_t most = PIECE_NBYTES / r->elem;

    return end - begin < most ? end - begin : most;
}

/* Send one block while another comes in by pieces and is combined with ours, theirs left. */
static mcomm_err_t reduce_round(const struct ring *r, int give, int take)
{
    size_t send_begin = block_begin(r, give), send_end = block_begin(r, give + 1);
    size_t begin = block_begin(r, take), end = block_begin(r, take + 1);
    mcomm_err_t err = MCOMM_SUCCESS;

    while ((begin < end || send_begin < send_end) && err == MCOMM_SUCCESS) {
        size_t in = piece_count(r, begin, end), out = piece_count(r, send_begin, send_end);
        char *mine = r->buf + begin * r->elem;

        err = mci_coll_sendrecv(r->call, r->buf + send_begin * r->elem, out * r->elem,
                                out > 0 ? r->next : COLL_NOBODY, r->scratch, in * r->elem,
                                in > 0 ? r->prev : COLL_NOBODY);
        if (err == MCOMM_SUCCESS)
            mci_coll_reduce(mine, r->scratch, mine, in, r->dtype, r->op);
        begin += in;
        send_begin += out;
    }
    return err;
}

static mcomm_err_t copy_round(const struct ring *r, int give, int take)
{
    size_t send_begin = block_begin(r, give), send_end = block_begin(r, give + 1);
    size_t begin = block_begin(r, take), end = block_begin(r, take + 1);

    return mci_coll_sendrecv(
        r->call, r->buf + send_begin * r->elem, (send_end - send_begin) * r->elem,
        send_end > send_begin ? r->next : COLL_NOBODY, r->buf + begin * r->elem,
        (end - begin) * r->elem, end > begin ? r->prev : COLL_NOBODY);
}

mcomm_err_t mci_coll_allreduce_ring(struct coll_call *call, void *buf, size_t count,
                                    mcomm_datatype_t dtype, mcomm_op_t op)
{
    int rank = call->comm->rank, size = call->comm->size;
    struct ring r = {.call = call,
                     .buf = buf,
                     .count = count,
                     .elem = mci_dtype_nbytes(dtype),
                     .dtype = dtype,
                     .op = op,
                     .rank = rank,
                     .size = size,
                     .next = (rank + 1) % size,
                     .prev = (rank + size - 1) % size};
    mcomm_err_t err = MCOMM_SUCCESS;

    r.scratch = mci_mem_alloc(PIECE_NBYTES);
    if (r.scratch == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "allreduce: no memory for %zu bytes", PIECE_NBYTES);
    for (int round = 0; round < size - 1 && err == MCOMM_SUCCESS; round++)
        err = reduce_round(&r, wrap(&r, rank - round), wrap(&r, rank - round - 1));
    for (int round = 0; round < size - 1 && err == MCOMM_SUCCESS; round++)
        err = copy_round(&r, wrap(&r, rank - round + 1), wrap(&r, rank - round));
    mci_mem_free(r.scratch);
    return err;
}
