/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Algorithms that talk by messages: each lays down the plan of a call. Steps of a call of the same
 * kind differ between ranks, messages pair up. Sources and costs stand in the files.
 */
#ifndef MCI_COLL_ALGOS_H
#define MCI_COLL_ALGOS_H

#include "coll/coll_priv.h"

mcomm_err_t mci_coll_barrier_dissemination(struct coll_call *call);
mcomm_err_t mci_coll_bcast_binomial(struct coll_call *call);
mcomm_err_t mci_coll_bcast_chain(struct coll_call *call);
mcomm_err_t mci_coll_reduce_binomial(struct coll_call *call);
mcomm_err_t mci_coll_reduce_ring(struct coll_call *call);
mcomm_err_t mci_coll_reduce_pairwise(struct coll_call *call);
mcomm_err_t mci_coll_allreduce_doubling(struct coll_call *call);
mcomm_err_t mci_coll_allreduce_ring(struct coll_call *call);
mcomm_err_t mci_coll_allreduce_pairwise(struct coll_call *call);
mcomm_err_t mci_coll_gather_binomial(struct coll_call *call);
mcomm_err_t mci_coll_gather_linear(struct coll_call *call); /* gatherv, too */
mcomm_err_t mci_coll_scatter_binomial(struct coll_call *call);
mcomm_err_t mci_coll_scatter_linear(struct coll_call *call); /* scatterv, too */
mcomm_err_t mci_coll_allgather_bruck(struct coll_call *call);
mcomm_err_t mci_coll_allgather_ring(struct coll_call *call);          /* allgatherv, too */
mcomm_err_t mci_coll_reduce_scatter_pairwise(struct coll_call *call); /* both kinds */
mcomm_err_t mci_coll_reduce_scatter_ring(struct coll_call *call);     /* both kinds */
mcomm_err_t mci_coll_alltoall_bruck(struct coll_call *call);
mcomm_err_t mci_coll_alltoall_pairwise(struct coll_call *call); /* alltoallv, too */
mcomm_err_t mci_coll_scan_doubling(struct coll_call *call);     /* exscan, too */
mcomm_err_t mci_coll_scan_chain(struct coll_call *call);        /* exscan, too */

/* ---- stages of the same members (wide.c): any reduction whose partial results need it ---- */
mcomm_err_t mci_coll_wide(struct coll_call *call);

/* ---- stages, for several nodes with several members (teams.c) ---- */
mcomm_err_t mci_coll_barrier_leaders(struct coll_call *call);
mcomm_err_t mci_coll_bcast_leaders(struct coll_call *call);
mcomm_err_t mci_coll_reduce_leaders(struct coll_call *call);
mcomm_err_t mci_coll_reduce_slices(struct coll_call *call);
mcomm_err_t mci_coll_allreduce_leaders(struct coll_call *call);
mcomm_err_t mci_coll_allreduce_slices(struct coll_call *call);
mcomm_err_t mci_coll_allgather_leaders(struct coll_call *call); /* allgatherv, too */
mcomm_err_t mci_coll_allgather_slices(struct coll_call *call);  /* allgatherv, too */
mcomm_err_t mci_coll_gather_leaders(struct coll_call *call);
mcomm_err_t mci_coll_scatter_leaders(struct coll_call *call);
mcomm_err_t mci_coll_counted_leaders(struct coll_call *call);        /* gatherv, scatterv */
mcomm_err_t mci_coll_reduce_scatter_leaders(struct coll_call *call); /* both kinds */
mcomm_err_t mci_coll_reduce_scatter_slices(struct coll_call *call);  /* both kinds */
mcomm_err_t mci_coll_alltoall_leaders(struct coll_call *call);
mcomm_err_t mci_coll_alltoallv_leaders(struct coll_call *call);
mcomm_err_t mci_coll_scan_leaders(struct coll_call *call); /* exscan, too */
/* Stages for a part of the vectors; the call has stages. */
void mci_coll_reduce_by_leaders(struct coll_call *call, size_t first, size_t count);
void mci_coll_allreduce_by_leaders(struct coll_call *call, size_t first, size_t count);

/* ---- pieces that several share (ring.c) ---- */
struct coll_ring_blocks { /* n blocks of a vector: elements [begin[i], begin[i + 1]) */
    size_t *begin;        /* scratch of the plan */
    char *buf;            /* the vector; a rank's blocks are replaced by partial results */
};
/* Cut count elements into one part a rank. */
mcomm_err_t mci_coll_ring_cut(struct coll_call *call, char *buf, size_t count,
                              struct coll_ring_blocks *blocks);
/* n-1 rounds; then the rank has the complete block number its rank + first + 1 (mod n). */
void mci_coll_ring_reduce_scatter(struct coll_call *call, const struct coll_ring_blocks *blocks,
                                  int first);
/* n-1 rounds; each rank begins with the complete block number its rank + first (mod n). */
void mci_coll_ring_allgather(struct coll_call *call, const struct coll_ring_blocks *blocks,
                             int first);

#endif
