/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce of small data by recursive doubling, log2 n rounds; Thakur, Rabenseifner, Gropp 2005.
 * With a count of ranks that is no power of two, the first 2 * rest ranks work in pairs: the even
 * one hands its data to the odd one and gets the result from it. Both partners of a round compute
 * the same expression, lower ranks left, so all ranks get the same bits.
 */
#include "coll/coll_priv.h"

#include <string.h>

#define STACK_NBYTES 4096

struct doubling {
    struct coll_call *call;
    char *buf, *other;
    size_t count, nbytes;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    int rank, rest;
};

/* Rank in the communicator of a rank among those who take part in the rounds. */
static int real_rank(const struct doubling *d, int inner)
{
    return inner < d->rest ? inner * 2 + 1 : inner + d->rest;
}

static mcomm_err_t rounds(const struct doubling *d, int inner, int inner_size)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int bit = 1; bit < inner_size && err == MCOMM_SUCCESS; bit <<= 1) {
        int partner = real_rank(d, inner ^ bit);

        err = mci_coll_sendrecv(d->call, d->buf, d->nbytes, partner, d->other, d->nbytes, partner);
        if (err == MCOMM_SUCCESS && partner < d->rank)
            mci_coll_reduce(d->buf, d->other, d->buf, d->count, d->dtype, d->op);
        else if (err == MCOMM_SUCCESS)
            mci_coll_reduce(d->buf, d->buf, d->other, d->count, d->dtype, d->op);
    }
    return err;
}

static mcomm_err_t even_of_pair(const struct doubling *d)
{
    mcomm_err_t err =
        mci_coll_sendrecv(d->call, d->buf, d->nbytes, d->rank + 1, NULL, 0, COLL_NOBODY);

    if (err != MCOMM_SUCCESS)
        return err;
    return mci_coll_sendrecv(d->call, NULL, 0, COLL_NOBODY, d->buf, d->nbytes, d->rank + 1);
}

static mcomm_err_t odd_of_pair(const struct doubling *d, int inner_size)
{
    mcomm_err_t err =
        mci_coll_sendrecv(d->call, NULL, 0, COLL_NOBODY, d->other, d->nbytes, d->rank - 1);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_coll_reduce(d->buf, d->other, d->buf, d->count, d->dtype, d->op);
    err = rounds(d, d->rank / 2, inner_size);
    if (err != MCOMM_SUCCESS)
        return err;
    return mci_coll_sendrecv(d->call, d->buf, d->nbytes, d->rank - 1, NULL, 0, COLL_NOBODY);
}

mcomm_err_t mci_coll_allreduce_doubling(struct coll_call *call, void *buf, size_t count,
                                        mcomm_datatype_t dtype, mcomm_op_t op)
{
    char stack[STACK_NBYTES];
    int size = call->comm->size, inner_size = 1;
    struct doubling d = {.call = call,
                         .buf = buf,
                         .other = stack,
                         .count = count,
                         .nbytes = count * mci_dtype_nbytes(dtype),
                         .dtype = dtype,
                         .op = op,
                         .rank = call->comm->rank};
    mcomm_err_t err;

    while (inner_size <= size / 2)
        inner_size *= 2;
    d.rest = size - inner_size;
    if (d.nbytes > sizeof(stack)) {
        d.other = mci_mem_alloc(d.nbytes);
        if (d.other == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "allreduce: no memory for %zu bytes", d.nbytes);
    }
    if (d.rank >= 2 * d.rest)
        err = rounds(&d, d.rank - d.rest, inner_size);
    else if (d.rank % 2 == 0)
        err = even_of_pair(&d);
    else
        err = odd_of_pair(&d, inner_size);
    if (d.other != stack)
        mci_mem_free(d.other);
    return err;
}
