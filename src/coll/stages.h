/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A call as a list of calls of smaller teams and of plans. Stages stand in two lanes, that of the
 * node and that of the wire: those of a lane go one after the other, in the order in which they
 * were added, and a stage of one lane may wait for one of the other. So a leader sends one part of
 * a vector while its node folds the next. All members of a team add its stages in the same order.
 * As with plans, errors while building stick.
 */
#ifndef MCI_COLL_STAGES_H
#define MCI_COLL_STAGES_H

#include "coll/coll_priv.h"

enum coll_lane {
    LANE_NODE,
    LANE_WIRE,
    LANE_NUM
};

/* A stage: its place in the list, from 1. */
typedef size_t coll_stage_t;
#define STAGE_NONE ((coll_stage_t)0)
#define STAGE_ALL ((coll_stage_t)-1) /* all that were added before */

mcomm_err_t mci_coll_stages_new(struct coll_call *call);
/* args is the caller's, root a place in team. It waits for after, too. */
coll_stage_t mci_coll_stages_add(struct coll_stages *stages, enum coll_lane lane,
                                 coll_stage_t after, struct coll_team team, struct coll_args args);
/* A plan of all members of the call, to be laid down by the caller and not ended; NULL: no memory.
 */
struct coll_plan *mci_coll_stages_plan(struct coll_stages *stages, enum coll_lane lane,
                                       coll_stage_t after);
/* A stage of all members by one of the algorithms of algos.h. */
coll_stage_t mci_coll_stages_algo(struct coll_stages *stages, enum coll_lane lane,
                                  coll_stage_t after, struct coll_args args,
                                  mcomm_err_t (*build)(struct coll_call *call));
coll_stage_t mci_coll_stages_last(const struct coll_stages *stages);
/* Once all that were added before are over, more adds those whose sizes are known then. */
void mci_coll_stages_then(struct coll_stages *stages,
                          void (*more)(struct coll_call *call, void *arg), void *arg);
void *mci_coll_stages_scratch(struct coll_stages *stages, size_t nbytes); /* freed with them */
mcomm_err_t mci_coll_stages_end(struct coll_stages *stages);

/* ---- teams.c: stages by place, of a communicator of several nodes with several members ---- */
static inline const struct coll_tiers *coll_tiers_of(const struct coll_call *call)
{
    return &coll_comm_of(call->comm)->tiers;
}
static inline int coll_my_node(const struct coll_call *call)
{
    return call->comm->node_of[call->comm->rank];
}
/* Of the members of my node; nothing if I am alone. */
coll_stage_t mci_coll_on_node(struct coll_call *call, coll_stage_t after, struct coll_args args);
/* Of one member of each node, ranks: of these I am. */
coll_stage_t mci_coll_across(struct coll_call *call, coll_stage_t after, const int *ranks,
                             struct coll_args args);
/* The leaders where root leads its node; place_p: of my node's. NULL: no memory */
const int *mci_coll_leaders_with_root(struct coll_call *call, int root, int *place_p);
/* Of blocks of each elements, those of a node together: counts of the nodes' blocks, then their
 * places; NULL: no memory */
size_t *mci_coll_nodes_counts(struct coll_call *call, size_t each);
/* Where counts differ: may a node's blocks, nbytes in all, go by its leader? */
static inline bool coll_go_together(size_t nbytes)
{
    return nbytes <= (size_t)64 << 10;
}
/* Everybody of my node learns the counts of all of it; NULL: no memory */
size_t *mci_coll_node_counts(struct coll_call *call, size_t *mine);
/* Into how many parts a vector is cut, so that one crosses the network while others are folded. */
int mci_coll_parts(size_t nbytes);

#endif
