/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Allgather of blocks whose ranks are in order of the nodes: each node to its leader, allgather of
 * the nodes' blocks among the leaders, and all to all of the node (teams.c).
 */
#include "coll/algos.h"
#include "coll/stages.h"

mcomm_err_t mci_coll_allgather_leaders(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t nbytes = coll_nbytes(&args), count = args.count, *lists;
    bool is_leader = tiers->local_rank == 0;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    args.root = 0;
    args.kind = COLL_GATHER;
    args.recvbuf = coll_at(args.recvbuf, (size_t)tiers->begin[coll_my_node(call)] * nbytes);
    if (args.sendbuf == MCOMM_IN_PLACE && !is_leader)
        args.sendbuf = coll_at(call->args.recvbuf, (size_t)call->comm->rank * nbytes);
    mci_coll_on_node(call, STAGE_ALL, args);
    args.recvbuf = call->args.recvbuf;
    if (tiers->local_size > 1)
        args.sendbuf = MCOMM_IN_PLACE;
    args.kind = tiers->is_even ? COLL_ALLGATHER : COLL_ALLGATHERV;
    lists = mci_coll_nodes_counts(call, count);
    if (is_leader && lists != NULL) {
        args.recv_counts = lists;
        args.recv_displs = lists + call->comm->node_count;
        args.count = count * (size_t)tiers->local_size;
        mci_coll_across(call, STAGE_ALL, tiers->leaders, args);
    }
    args.kind = COLL_BCAST;
    args.count = count * (size_t)call->comm->size;
    mci_coll_on_node(call, STAGE_ALL, args);
    return mci_coll_stages_end(call->stages);
}
