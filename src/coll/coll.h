/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives, for the layers above. Every member calls, in the same order.
 * They end: with success, PROC_FAILED when a member died, the communicator's time limit (blocking
 * form), or the error of a member that gave up. lock: engine, released while waiting.
 */
#ifndef MCI_COLL_COLL_H
#define MCI_COLL_COLL_H

#include "core/core.h"

enum coll_kind {
    COLL_BARRIER = 1,
    COLL_BCAST,
    COLL_REDUCE,
    COLL_ALLREDUCE,
    COLL_GATHER,
    COLL_GATHERV,
    COLL_SCATTER,
    COLL_SCATTERV,
    COLL_ALLGATHER,
    COLL_ALLGATHERV,
    COLL_REDUCE_SCATTER_BLOCK,
    COLL_REDUCE_SCATTER,
    COLL_ALLTOALL,
    COLL_ALLTOALLV,
    COLL_SCAN,
    COLL_EXSCAN,
    COLL_KIND_NUM
};

/* As in the public interface. The buffer of bcast is recvbuf. Arrays are borrowed. */
struct coll_args {
    enum coll_kind kind;
    const void *sendbuf;
    void *recvbuf;
    size_t count; /* of a block; gatherv, allgatherv: sent; scatterv: received */
    const size_t *send_counts, *send_displs, *recv_counts, *recv_displs;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    int root;
    size_t elem; /* bytes of an element */
};

/* Checked arguments; blocks. */
mcomm_err_t mci_coll_run(struct mci_comm *comm, const struct coll_args *args);

extern const struct mci_core_module mci_coll_module;

#endif
