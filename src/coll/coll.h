/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives, for the layers above. Arguments are checked. Every member calls, in the same order.
 * All block and end: with success, PROC_FAILED when a member died, the communicator's time limit,
 * or the error of a member that gave up. lock: engine, released while waiting.
 */
#ifndef MCI_COLL_COLL_H
#define MCI_COLL_COLL_H

#include "core/core.h"

mcomm_err_t mci_coll_barrier(struct mci_comm *comm);
mcomm_err_t mci_coll_bcast(struct mci_comm *comm, void *buf, size_t nbytes, int root);
/* sendbuf may be MCOMM_IN_PLACE; nbytes per rank */
mcomm_err_t mci_coll_allgather(struct mci_comm *comm, const void *sendbuf, void *recvbuf,
                               size_t nbytes);
mcomm_err_t mci_coll_allreduce(struct mci_comm *comm, const void *sendbuf, void *recvbuf,
                               size_t count, mcomm_datatype_t dtype, mcomm_op_t op);

extern const struct mci_core_module mci_coll_module;

#endif
