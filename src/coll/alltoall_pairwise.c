/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Alltoall and alltoallv of large blocks: each rank sends to the next ones and receives from the
 * previous ones, a few at a time; n-1 exchanges, rotated so that nobody is everybody's target.
 */
#include "coll/algos.h"

#define AT_ONCE 4

struct exchange {
    struct coll_call *call;
    const char *from;
    size_t *offsets; /* in place: of each rank's block in the copy */
};

static size_t send_nbytes(const struct exchange *x, int rank)
{
    const struct coll_args *args = &x->call->args;

    if (args->kind == COLL_ALLTOALL)
        return coll_nbytes(args);
    return (args->sendbuf == MCOMM_IN_PLACE ? args->recv_counts : args->send_counts)[rank] *
           args->elem;
}

static const char *send_from(const struct exchange *x, int rank)
{
    const struct coll_args *args = &x->call->args;

    if (x->offsets != NULL)
        return x->from + x->offsets[rank];
    return x->from + (args->kind == COLL_ALLTOALL ? (size_t)rank * coll_nbytes(args)
                                                  : args->send_displs[rank] * args->elem);
}

static size_t recv_nbytes(const struct exchange *x, int rank)
{
    const struct coll_args *args = &x->call->args;

    return args->kind == COLL_ALLTOALL ? coll_nbytes(args) : args->recv_counts[rank] * args->elem;
}

static char *recv_to(const struct exchange *x, int rank)
{
    const struct coll_args *args = &x->call->args;

    return coll_at(args->recvbuf, args->kind == COLL_ALLTOALL
                                      ? (size_t)rank * coll_nbytes(args)
                                      : args->recv_displs[rank] * args->elem);
}

/* What is sent lies where the answers go: send from a copy. */
static void copy_input(struct exchange *x)
{
    struct coll_plan *plan = x->call->plan;
    int size = x->call->team.size;
    size_t *offsets = mci_coll_plan_scratch(plan, (size_t)size * sizeof(*offsets)), all = 0;
    char *copy;

    for (int i = 0; i < size && offsets != NULL; i++) {
        offsets[i] = all;
        all += recv_nbytes(x, i);
    }
    copy = mci_coll_plan_scratch(plan, all);
    if (offsets == NULL || copy == NULL)
        return;
    for (int i = 0; i < size; i++)
        mci_coll_plan_copy(plan, copy + offsets[i], recv_to(x, i), recv_nbytes(x, i));
    mci_coll_plan_round(plan);
    x->from = copy;
    x->offsets = offsets;
}

mcomm_err_t mci_coll_alltoall_pairwise(struct coll_call *call)
{
    int size = call->team.size, rank = call->team.rank;
    struct exchange x = {.call = call, .from = coll_input(&call->args)};
    mcomm_err_t err = mci_coll_plan_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->args.sendbuf == MCOMM_IN_PLACE)
        copy_input(&x);
    else
        mci_coll_plan_copy(call->plan, recv_to(&x, rank), send_from(&x, rank),
                           send_nbytes(&x, rank));
    for (int i = 1; i < size; i++) {
        int to = (rank + i) % size, from = (rank - i + size) % size;

        if (send_nbytes(&x, to) > 0)
            mci_coll_plan_send(call->plan, send_from(&x, to), send_nbytes(&x, to), to);
        if (recv_nbytes(&x, from) > 0)
            mci_coll_plan_recv(call->plan, recv_to(&x, from), recv_nbytes(&x, from), from);
        if (i % AT_ONCE == 0)
            mci_coll_plan_round(call->plan);
    }
    return mci_coll_plan_end(call->plan);
}
