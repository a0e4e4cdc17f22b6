/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allreduce of small data by recursive doubling, log2 n rounds; Thakur, Rabenseifner, Gropp 2005.
 * With a count of ranks that is no power of two, the first 2 * rest ranks work in pairs: the even
 * one hands its data to the odd one and gets the result from it. Both partners of a round compute
 * the same expression, lower ranks left, so all ranks get the same bits, in rank order.
 */
#include "coll/algos.h"

struct doubling {
    struct coll_call *call;
    char *buf, *other;
    size_t nbytes;
    int rank, rest;
};

/* Rank in the communicator of a rank among those who take part in the rounds. */
static int real_rank(const struct doubling *d, int inner)
{
    return inner < d->rest ? inner * 2 + 1 : inner + d->rest;
}

static void take(const struct doubling *d, int partner)
{
    mci_coll_plan_recv(d->call->plan, d->other, d->nbytes, partner);
    if (partner < d->rank)
        mci_coll_plan_fold(d->call->plan, d->buf, d->other, d->buf, d->call->args.count);
    else
        mci_coll_plan_fold(d->call->plan, d->buf, d->buf, d->other, d->call->args.count);
}

static void rounds(const struct doubling *d, int inner, int inner_size)
{
    for (int bit = 1; bit < inner_size; bit <<= 1) {
        int partner = real_rank(d, inner ^ bit);

        mci_coll_plan_send(d->call->plan, d->buf, d->nbytes, partner);
        take(d, partner);
        mci_coll_plan_round(d->call->plan);
    }
}

static void even_of_pair(const struct doubling *d)
{
    mci_coll_plan_send(d->call->plan, d->buf, d->nbytes, d->rank + 1);
    mci_coll_plan_round(d->call->plan);
    mci_coll_plan_recv(d->call->plan, d->buf, d->nbytes, d->rank + 1);
}

static void odd_of_pair(const struct doubling *d, int inner_size)
{
    take(d, d->rank - 1);
    mci_coll_plan_round(d->call->plan);
    rounds(d, d->rank / 2, inner_size);
    mci_coll_plan_send(d->call->plan, d->buf, d->nbytes, d->rank - 1);
}

mcomm_err_t mci_coll_allreduce_doubling(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    int size = call->team.size, inner_size = 1;
    struct doubling d = {
        .call = call, .buf = args->recvbuf, .nbytes = coll_nbytes(args), .rank = call->team.rank};
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    while (inner_size <= size / 2)
        inner_size *= 2;
    d.rest = size - inner_size;
    d.other = mci_coll_plan_scratch(call->plan, d.nbytes);
    if (args->sendbuf != MCOMM_IN_PLACE) {
        mci_coll_plan_copy(call->plan, d.buf, args->sendbuf, d.nbytes);
        mci_coll_plan_round(call->plan);
    }
    if (d.rank >= 2 * d.rest)
        rounds(&d, d.rank - d.rest, inner_size);
    else if (d.rank % 2 == 0)
        even_of_pair(&d);
    else
        odd_of_pair(&d, inner_size);
    return mci_coll_plan_end(call->plan);
}
