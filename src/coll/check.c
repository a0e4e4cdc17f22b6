/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Arguments of collectives: this member's own. Everybody's: compare.c. */
#include "coll/coll_priv.h"

static const char *const kind_names[COLL_KIND_NUM] = {
    [COLL_BARRIER] = "barrier",
    [COLL_BCAST] = "bcast",
    [COLL_REDUCE] = "reduce",
    [COLL_ALLREDUCE] = "allreduce",
    [COLL_GATHER] = "gather",
    [COLL_GATHERV] = "gatherv",
    [COLL_SCATTER] = "scatter",
    [COLL_SCATTERV] = "scatterv",
    [COLL_ALLGATHER] = "allgather",
    [COLL_ALLGATHERV] = "allgatherv",
    [COLL_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [COLL_REDUCE_SCATTER] = "reduce_scatter",
    [COLL_ALLTOALL] = "alltoall",
    [COLL_ALLTOALLV] = "alltoallv",
    [COLL_SCAN] = "scan",
    [COLL_EXSCAN] = "exscan",
};

/* The parameter that says how much this member has, where it is not called count. */
static const char *const count_names[COLL_KIND_NUM] = {
    [COLL_GATHERV] = "send_count",
    [COLL_SCATTERV] = "recv_count",
    [COLL_ALLGATHERV] = "send_count",
};

/* What a kind has, in the terms of the checks below. */
#define HAS_ROOT 1u
#define HAS_OP 2u
#define SENDS_ALL 4u     /* a block for every rank is read */
#define RECVS_ALL 8u     /* a block of every rank is written */
#define SEND_AT_ROOT 16u /* only the root reads sendbuf */
#define RECV_AT_ROOT 32u /* only the root writes recvbuf */
#define PLACE_SEND 64u   /* sendbuf may be MCOMM_IN_PLACE */
#define PLACE_ROOT 128u  /* but at the root only */
#define PLACE_RECV 256u  /* recvbuf may be, at the root */

static const unsigned traits[COLL_KIND_NUM] = {
    [COLL_BCAST] = HAS_ROOT,
    [COLL_REDUCE] = HAS_ROOT | HAS_OP | RECV_AT_ROOT | PLACE_SEND | PLACE_ROOT,
    [COLL_ALLREDUCE] = HAS_OP | PLACE_SEND,
    [COLL_GATHER] = HAS_ROOT | RECVS_ALL | RECV_AT_ROOT | PLACE_SEND | PLACE_ROOT,
    [COLL_GATHERV] = HAS_ROOT | RECVS_ALL | RECV_AT_ROOT | PLACE_SEND | PLACE_ROOT,
    [COLL_SCATTER] = HAS_ROOT | SENDS_ALL | SEND_AT_ROOT | PLACE_RECV,
    [COLL_SCATTERV] = HAS_ROOT | SENDS_ALL | SEND_AT_ROOT | PLACE_RECV,
    [COLL_ALLGATHER] = RECVS_ALL | PLACE_SEND,
    [COLL_ALLGATHERV] = RECVS_ALL | PLACE_SEND,
    [COLL_REDUCE_SCATTER_BLOCK] = HAS_OP | SENDS_ALL | PLACE_SEND,
    [COLL_REDUCE_SCATTER] = HAS_OP | SENDS_ALL | PLACE_SEND,
    [COLL_ALLTOALL] = SENDS_ALL | RECVS_ALL | PLACE_SEND,
    [COLL_ALLTOALLV] = SENDS_ALL | RECVS_ALL | PLACE_SEND,
    [COLL_SCAN] = HAS_OP | PLACE_SEND,
    [COLL_EXSCAN] = HAS_OP | PLACE_SEND,
};

const char *mci_coll_kind_name(enum coll_kind kind)
{
    return (unsigned)kind < COLL_KIND_NUM && kind_names[kind] != NULL ? kind_names[kind]
                                                                      : "something else";
}

/* ---- one side's buffer ---- */
struct extent {
    const char *name;
    const void *buf;
    size_t nbytes; /* from buf to the end of what may be touched */
};

/* End of the last block of an array; elements. */
static mcomm_err_t counts_extent(const struct mci_comm *comm, const char *counts_name,
                                 const size_t *counts, const char *displs_name,
                                 const size_t *displs, size_t elem, size_t *count_p)
{
    size_t end = 0, sum = 0;
    mcomm_err_t err = mci_check_pointer(counts_name, counts);

    if (err == MCOMM_SUCCESS && displs_name != NULL)
        err = mci_check_pointer(displs_name, displs);
    for (int i = 0; i < comm->size && err == MCOMM_SUCCESS; i++) {
        size_t begin = displs_name != NULL ? displs[i] : sum;

        err = mci_check_count(counts_name, counts[i], elem);
        if (err == MCOMM_SUCCESS)
            err = mci_check_count(displs_name != NULL ? displs_name : counts_name, begin, elem);
        if (err == MCOMM_SUCCESS && counts[i] > 0 && begin + counts[i] > end)
            end = begin + counts[i];
        sum = begin + counts[i];
    }
    if (err == MCOMM_SUCCESS)
        err = mci_check_count(counts_name, end, elem);
    *count_p = end;
    return err;
}

/* Where MCOMM_IN_PLACE is allowed. */
static bool may_place_send(const struct mci_comm *comm, const struct coll_args *args)
{
    unsigned what = traits[args->kind];

    return (what & PLACE_SEND) && (!(what & PLACE_ROOT) || comm->rank == args->root);
}

static bool may_place_recv(const struct mci_comm *comm, const struct coll_args *args)
{
    return (traits[args->kind] & PLACE_RECV) && comm->rank == args->root;
}

static mcomm_err_t send_extent(const struct mci_comm *comm, const struct coll_args *args,
                               struct extent *send)
{
    unsigned what = traits[args->kind];
    size_t count = args->count;
    mcomm_err_t err = MCOMM_SUCCESS;

    *send = (struct extent){"sendbuf", args->sendbuf, 0};
    if (args->kind == COLL_BARRIER || args->kind == COLL_BCAST ||
        ((what & SEND_AT_ROOT) && comm->rank != args->root) ||
        (args->sendbuf == MCOMM_IN_PLACE && may_place_send(comm, args)))
        return MCOMM_SUCCESS;
    if (args->kind == COLL_SCATTERV || args->kind == COLL_ALLTOALLV)
        err = counts_extent(comm, "send_counts", args->send_counts,
                            args->kind == COLL_SCATTERV ? "displs" : "send_displs",
                            args->send_displs, args->elem, &count);
    else if (args->kind == COLL_REDUCE_SCATTER)
        err = counts_extent(comm, "recv_counts", args->recv_counts, NULL, NULL, args->elem, &count);
    else if (what & SENDS_ALL)
        count *= (size_t)comm->size;
    send->nbytes = count * args->elem;
    return err;
}

static mcomm_err_t recv_extent(const struct mci_comm *comm, const struct coll_args *args,
                               struct extent *recv)
{
    unsigned what = traits[args->kind];
    size_t count = args->count;
    mcomm_err_t err = MCOMM_SUCCESS;

    *recv = (struct extent){args->kind == COLL_BCAST ? "buf" : "recvbuf", args->recvbuf, 0};
    if (args->kind == COLL_BARRIER || ((what & RECV_AT_ROOT) && comm->rank != args->root) ||
        (args->recvbuf == MCOMM_IN_PLACE && may_place_recv(comm, args)))
        return MCOMM_SUCCESS;
    if (args->kind == COLL_GATHERV || args->kind == COLL_ALLGATHERV || args->kind == COLL_ALLTOALLV)
        err = counts_extent(comm, "recv_counts", args->recv_counts,
                            args->kind == COLL_ALLTOALLV ? "recv_displs" : "displs",
                            args->recv_displs, args->elem, &count);
    else if (args->kind == COLL_REDUCE_SCATTER)
        err = counts_extent(comm, "recv_counts", args->recv_counts, NULL, NULL, args->elem, &count);
    else if ((what & RECVS_ALL) ||
             (args->kind == COLL_REDUCE_SCATTER_BLOCK && args->sendbuf == MCOMM_IN_PLACE))
        count *= (size_t)comm->size;
    if (err == MCOMM_SUCCESS && args->kind == COLL_REDUCE_SCATTER &&
        args->sendbuf != MCOMM_IN_PLACE)
        count = args->recv_counts[comm->rank];
    recv->nbytes = count * args->elem;
    return err;
}

static mcomm_err_t check_place(const struct mci_comm *comm, const struct coll_args *args)
{
    const char *kind = mci_coll_kind_name(args->kind);

    if (args->sendbuf == MCOMM_IN_PLACE && !may_place_send(comm, args))
        return mci_err_set(MCOMM_ERR_BUFFER, "%s: sendbuf is MCOMM_IN_PLACE, which rank %d may not",
                           kind, comm->rank);
    if (args->recvbuf == MCOMM_IN_PLACE && !may_place_recv(comm, args))
        return mci_err_set(MCOMM_ERR_BUFFER, "%s: %s is MCOMM_IN_PLACE, which rank %d may not",
                           kind, args->kind == COLL_BCAST ? "buf" : "recvbuf", comm->rank);
    return MCOMM_SUCCESS;
}

static mcomm_err_t check_overlap(const struct extent *a, const struct extent *b)
{
    uintptr_t x = (uintptr_t)a->buf, y = (uintptr_t)b->buf;

    if (a->nbytes == 0 || b->nbytes == 0 || x >= y + b->nbytes || y >= x + a->nbytes)
        return MCOMM_SUCCESS;
    return mci_err_set(MCOMM_ERR_BUFFER,
                       "%s %p (%zu bytes) overlaps %s %p (%zu bytes); use MCOMM_IN_PLACE", a->name,
                       a->buf, a->nbytes, b->name, b->buf, b->nbytes);
}

static mcomm_err_t check_buffers(const struct mci_comm *comm, const struct coll_args *args)
{
    struct extent send, recv;
    mcomm_err_t err = send_extent(comm, args, &send);

    if (err == MCOMM_SUCCESS)
        err = recv_extent(comm, args, &recv);
    if (err == MCOMM_SUCCESS && (send.nbytes > 0 || recv.nbytes > 0))
        err = check_place(comm, args);
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer(recv.name, recv.buf, recv.nbytes);
    if (err == MCOMM_SUCCESS)
        err = mci_check_buffer(send.name, send.buf, send.nbytes);
    if (err == MCOMM_SUCCESS)
        err = check_overlap(&send, &recv);
    return err;
}

/* Lists that only others look at may be anywhere. */
static void forget_lists(const struct mci_comm *comm, struct coll_args *args)
{
    bool is_root = comm->rank == args->root;

    if (args->kind == COLL_GATHERV && !is_root)
        args->recv_counts = args->recv_displs = NULL;
    if ((args->kind == COLL_SCATTERV && !is_root) ||
        (args->kind == COLL_ALLTOALLV && args->sendbuf == MCOMM_IN_PLACE))
        args->send_counts = args->send_displs = NULL;
}

mcomm_err_t mci_coll_check_args(const struct mci_comm *comm, struct coll_args *args)
{
    unsigned what = traits[args->kind];
    mcomm_err_t err = MCOMM_SUCCESS;

    if (args->kind == COLL_BARRIER)
        return MCOMM_SUCCESS;
    args->elem = mci_dtype_nbytes(args->dtype);
    if (what & HAS_OP)
        err = mci_fold_check(args->dtype, args->op);
    else if (args->elem == 0)
        err =
            mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)args->dtype);
    if (err == MCOMM_SUCCESS && args->op == MCOMM_AVG &&
        (args->kind == COLL_SCAN || args->kind == COLL_EXSCAN))
        err = mci_err_set(MCOMM_ERR_OP, "op is AVG, which %s has not",
                          mci_coll_kind_name(args->kind));
    if (err == MCOMM_SUCCESS && (what & HAS_ROOT))
        err = mci_check_rank(comm, "root", args->root);
    if (err == MCOMM_SUCCESS)
        err = mci_check_count(
            count_names[args->kind] != NULL ? count_names[args->kind] : "count", args->count,
            args->elem * (what & (SENDS_ALL | RECVS_ALL) ? (size_t)comm->size : 1));
    forget_lists(comm, args);
    return err == MCOMM_SUCCESS ? check_buffers(comm, args) : err;
}
