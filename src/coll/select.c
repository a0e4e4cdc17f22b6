/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which algorithm serves a call: by kind, bytes and ranks, which are equal on all members. Latency
 * counts below the limits, bandwidth above.
 */
#include "base/settings.h"
#include "coll/algos.h"
#include "coll/rings.h"

#define BCAST_CHAIN_FROM ((size_t)1 << 20)
#define ALLGATHER_RING_FROM ((size_t)64 << 10) /* of the result */
#define RING_FROM ((size_t)128 << 10)          /* of a vector that is reduced */
#define BLOCK_DIRECT_FROM ((size_t)8 << 10)    /* of a rank's block */

#define PLAN(NAME) static const struct coll_algo NAME = {#NAME, mci_coll_##NAME, mci_coll_plan_step}
PLAN(barrier_dissemination);
PLAN(bcast_binomial);
PLAN(bcast_chain);
PLAN(reduce_binomial);
PLAN(reduce_ring);
PLAN(allreduce_doubling);
PLAN(allreduce_ring);
PLAN(allreduce_pairwise);
PLAN(gather_binomial);
PLAN(gather_linear);
PLAN(scatter_binomial);
PLAN(scatter_linear);
PLAN(allgather_bruck);
PLAN(allgather_ring);
PLAN(reduce_scatter_pairwise);
PLAN(reduce_scatter_ring);
PLAN(alltoall_bruck);
PLAN(alltoall_pairwise);
PLAN(scan_doubling);

static size_t result_nbytes(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t count = 0;

    if (args->kind != COLL_REDUCE_SCATTER)
        return coll_nbytes(args) * (size_t)call->comm->size;
    for (int i = 0; i < call->comm->size; i++)
        count += args->recv_counts[i];
    return count * args->elem;
}

static const struct coll_algo *select_plan(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t nbytes = coll_nbytes(args);
    bool is_large = nbytes >= RING_FROM && mci_fold_is_commutative(args->op);

    switch (args->kind) {
    case COLL_BARRIER:
        return &barrier_dissemination;
    case COLL_BCAST:
        return nbytes >= BCAST_CHAIN_FROM && call->comm->size > 2 ? &bcast_chain : &bcast_binomial;
    case COLL_REDUCE:
        return is_large ? &reduce_ring : &reduce_binomial;
    case COLL_ALLREDUCE:
        if (mci_settings.deterministic)
            return &allreduce_pairwise;
        return is_large ? &allreduce_ring : &allreduce_doubling;
    case COLL_GATHER:
        return nbytes >= BLOCK_DIRECT_FROM ? &gather_linear : &gather_binomial;
    case COLL_GATHERV:
        return &gather_linear;
    case COLL_SCATTER:
        return nbytes >= BLOCK_DIRECT_FROM ? &scatter_linear : &scatter_binomial;
    case COLL_SCATTERV:
        return &scatter_linear;
    case COLL_ALLGATHER:
        return result_nbytes(call) >= ALLGATHER_RING_FROM ? &allgather_ring : &allgather_bruck;
    case COLL_ALLGATHERV:
        return &allgather_ring;
    case COLL_REDUCE_SCATTER_BLOCK:
    case COLL_REDUCE_SCATTER:
        return result_nbytes(call) >= RING_FROM && mci_fold_is_commutative(args->op) &&
                       !mci_settings.deterministic
                   ? &reduce_scatter_ring
                   : &reduce_scatter_pairwise;
    case COLL_ALLTOALL:
        return nbytes >= BLOCK_DIRECT_FROM / 8 ? &alltoall_pairwise : &alltoall_bruck;
    case COLL_ALLTOALLV:
        return &alltoall_pairwise;
    case COLL_SCAN:
    case COLL_EXSCAN:
        return &scan_doubling;
    case COLL_KIND_NUM:
        break;
    }
    return NULL;
}

static const struct coll_algo slots = {"slots", NULL, mci_coll_slots_step};
static const struct coll_algo rings_reduce = {"rings_reduce", NULL, mci_coll_rings_reduce_step};
static const struct coll_algo rings_spread = {"rings_spread", NULL, mci_coll_rings_spread_step};
static const struct coll_algo rings_exchange = {"rings_exchange", NULL,
                                                mci_coll_rings_exchange_step};

/* NULL: counts are not known to all, or it is in place in a way that needs a copy. */
static const struct coll_algo *select_rings(const struct coll_call *call,
                                            const struct coll_node *node)
{
    const struct coll_args *args = &call->args;

    switch (args->kind) {
    case COLL_BCAST:
    case COLL_ALLGATHER:
        return &rings_spread;
    case COLL_REDUCE:
    case COLL_ALLREDUCE:
        return node->size <= NODE_FOLD_MAX ? &rings_reduce : NULL;
    case COLL_REDUCE_SCATTER_BLOCK:
        return node->size <= NODE_FOLD_MAX && args->sendbuf != MCOMM_IN_PLACE ? &rings_reduce
                                                                              : NULL;
    case COLL_ALLTOALL:
        return args->sendbuf != MCOMM_IN_PLACE ? &rings_exchange : NULL;
    case COLL_GATHER:
    case COLL_SCATTER:
        return &rings_exchange;
    default:
        return NULL;
    }
}

const struct coll_algo *mci_coll_select(struct coll_call *call)
{
    bool is_plain = false;
    struct coll_node *node = mci_coll_node_get(coll_comm_of(call->comm), &is_plain);

    if (node == NULL)
        return is_plain ? select_plan(call) : NULL;
    if (mci_coll_slots_fit(call, node))
        return &slots;
    if (select_rings(call, node) != NULL)
        return select_rings(call, node);
    return select_plan(call);
}
