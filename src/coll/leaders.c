/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives of several nodes with several members each: within the nodes, then one member of each
 * node (its leader) among those, then within the nodes again, so that data crosses the network once
 * a node. With a root, the root leads its node. "Slices": every member of a node does the work
 * among the nodes for its own part, so that all cores and rails are used.
 * Karonis et al. 2000; Jain, Kaleem et al. 2018.
 */
#include "coll/algos.h"

#define BCAST_CHUNK                                                                                \
    ((size_t)512 << 10) /* crosses the network while the last one is in the nodes                  \
                         */
#define BCAST_CHUNKS_MAX 64u

static const struct coll_tiers *tiers_of(const struct coll_call *call)
{
    return &coll_comm_of(call->comm)->tiers;
}

static int my_node(const struct coll_call *call)
{
    return call->comm->node_of[call->comm->rank];
}

/* ---- stages ---- */
static void add_local(struct coll_call *call, struct coll_args args)
{
    const struct coll_tiers *tiers = tiers_of(call);

    if (tiers->local_size > 1)
        mci_coll_stages_add(call->stages,
                            (struct coll_team){.rank = tiers->local_rank,
                                               .size = tiers->local_size,
                                               .ranks = tiers->local,
                                               .is_node = true},
                            args);
}

/* Of one member of each node; this one is. */
static void add_cross(struct coll_call *call, const int *ranks, struct coll_args args)
{
    mci_coll_stages_add(
        call->stages,
        (struct coll_team){.rank = my_node(call), .size = call->comm->node_count, .ranks = ranks},
        args);
}

/* The leaders where root leads its node; place_p: of my node's. */
static const int *leaders_with_root(struct coll_call *call, int *place_p)
{
    const struct coll_tiers *tiers = tiers_of(call);
    int nodes = call->comm->node_count, root = call->args.root;
    int *ranks = mci_coll_stages_scratch(call->stages, (size_t)nodes * sizeof(*ranks));

    if (ranks == NULL)
        return NULL;
    for (int i = 0; i < nodes; i++)
        ranks[i] = i == call->comm->node_of[root] ? root : tiers->leaders[i];
    for (*place_p = 0; tiers->local[*place_p] != ranks[my_node(call)];)
        ++*place_p;
    return ranks;
}

/* ---- barrier ---- */
mcomm_err_t mci_coll_barrier_leaders(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    add_local(call, (struct coll_args){.kind = COLL_GATHER, .elem = 1});
    if (tiers_of(call)->local_rank == 0)
        add_cross(call, tiers_of(call)->leaders, (struct coll_args){.kind = COLL_BARRIER});
    add_local(call, (struct coll_args){.kind = COLL_BCAST, .elem = 1});
    return mci_coll_stages_end(call->stages);
}

/* ---- bcast ---- */
mcomm_err_t mci_coll_bcast_leaders(struct coll_call *call)
{
    struct coll_args args = call->args;
    size_t count = args.count, chunk = BCAST_CHUNK / args.elem;
    const int *leaders;
    int place;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    leaders = leaders_with_root(call, &place);
    if (leaders == NULL)
        return mci_coll_stages_end(call->stages);
    if (count / chunk > BCAST_CHUNKS_MAX)
        chunk = count / BCAST_CHUNKS_MAX;
    for (size_t first = 0; first < count || first == 0; first += chunk) {
        args.recvbuf = coll_at(call->args.recvbuf, first * args.elem);
        args.count = count - first < chunk ? count - first : chunk;
        args.root = call->comm->node_of[call->args.root];
        if (tiers_of(call)->local_rank == place)
            add_cross(call, leaders, args);
        args.root = place;
        add_local(call, args);
    }
    return mci_coll_stages_end(call->stages);
}

/* ---- reduce ---- */
mcomm_err_t mci_coll_reduce_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = tiers_of(call);
    struct coll_args args = call->args;
    bool is_root = call->comm->rank == args.root, is_leader;
    const int *leaders;
    int place;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    leaders = leaders_with_root(call, &place);
    if (leaders == NULL)
        return mci_coll_stages_end(call->stages);
    is_leader = tiers->local_rank == place;
    if (is_leader && !is_root && tiers->local_size > 1)
        args.recvbuf = mci_coll_stages_scratch(call->stages, coll_nbytes(&args));
    args.root = place;
    add_local(call, args);
    if (tiers->local_size > 1)
        args.sendbuf = is_root ? MCOMM_IN_PLACE : args.recvbuf;
    args.root = call->comm->node_of[call->args.root];
    if (is_leader)
        add_cross(call, leaders, args);
    return mci_coll_stages_end(call->stages);
}

/* ---- allreduce ---- */
/* Of a part of the vectors. */
static void allreduce_part(struct coll_call *call, size_t first, size_t count)
{
    const struct coll_tiers *tiers = tiers_of(call);
    struct coll_args args = call->args;
    bool is_leader = tiers->local_rank == 0;

    args.count = count;
    args.root = 0;
    args.recvbuf = coll_at(args.recvbuf, first * args.elem);
    if (args.sendbuf != MCOMM_IN_PLACE)
        args.sendbuf = coll_at(args.sendbuf, first * args.elem);
    else if (!is_leader)
        args.sendbuf = args.recvbuf;
    args.kind = COLL_REDUCE;
    add_local(call, args);
    if (tiers->local_size > 1)
        args.sendbuf = MCOMM_IN_PLACE;
    args.kind = COLL_ALLREDUCE;
    if (is_leader)
        add_cross(call, tiers->leaders, args);
    args.kind = COLL_BCAST;
    add_local(call, args);
}

mcomm_err_t mci_coll_allreduce_leaders(struct coll_call *call)
{
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    allreduce_part(call, 0, call->args.count);
    return mci_coll_stages_end(call->stages);
}

/* Reduce-scatter in the node, allreduce of each part by the members that have it, allgather in the
 * node. What does not divide goes by the leaders. */
mcomm_err_t mci_coll_allreduce_slices(struct coll_call *call)
{
    const struct coll_tiers *tiers = tiers_of(call);
    size_t n = (size_t)tiers->local_size, count = call->args.count;
    struct coll_args args = call->args;
    char *mine;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    args.count = count / n;
    mine = coll_at(args.recvbuf, (size_t)tiers->local_rank * coll_nbytes(&args));
    args.sendbuf = coll_input(&call->args);
    args.recvbuf = mine; /* in place: where its own part of the input lies */
    args.kind = COLL_REDUCE_SCATTER_BLOCK;
    add_local(call, args);
    args.sendbuf = MCOMM_IN_PLACE;
    args.kind = COLL_ALLREDUCE;
    add_cross(call, tiers->cross, args);
    args.recvbuf = call->args.recvbuf;
    args.kind = COLL_ALLGATHER;
    add_local(call, args);
    if (count % n > 0)
        allreduce_part(call, count - count % n, count % n);
    return mci_coll_stages_end(call->stages);
}

/* ---- allgather ---- */
/* Counts and places of the nodes' blocks; false: no memory. */
static bool node_blocks(struct coll_call *call, struct coll_args *args)
{
    const struct coll_tiers *tiers = tiers_of(call);
    size_t nodes = (size_t)call->comm->node_count;
    size_t *lists = mci_coll_stages_scratch(call->stages, 2 * nodes * sizeof(*lists));

    if (lists == NULL)
        return false;
    for (size_t i = 0; i < nodes; i++) {
        lists[i] = (size_t)tiers->sizes[i] * args->count;
        lists[nodes + i] = (size_t)tiers->leaders[i] * args->count;
    }
    args->recv_counts = lists;
    args->recv_displs = lists + nodes;
    return true;
}

mcomm_err_t mci_coll_allgather_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = tiers_of(call);
    struct coll_args args = call->args;
    size_t nbytes = coll_nbytes(&args), count = args.count;
    bool is_leader = tiers->local_rank == 0;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    args.root = 0;
    args.kind = COLL_GATHER;
    args.recvbuf = coll_at(args.recvbuf, (size_t)tiers->leaders[my_node(call)] * nbytes);
    if (args.sendbuf == MCOMM_IN_PLACE && !is_leader)
        args.sendbuf = coll_at(call->args.recvbuf, (size_t)call->comm->rank * nbytes);
    add_local(call, args);
    args.recvbuf = call->args.recvbuf;
    if (tiers->local_size > 1)
        args.sendbuf = MCOMM_IN_PLACE;
    args.kind = tiers->is_even ? COLL_ALLGATHER : COLL_ALLGATHERV;
    if (is_leader && (tiers->is_even || node_blocks(call, &args))) {
        args.count = count * (size_t)tiers->local_size;
        add_cross(call, tiers->leaders, args);
    }
    args.kind = COLL_BCAST;
    args.count = count * (size_t)call->comm->size;
    add_local(call, args);
    return mci_coll_stages_end(call->stages);
}
