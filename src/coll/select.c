/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which algorithm serves a call: the user's rules, then the table. All that decides is equal on all
 * members: kind, sizes, ranks, where they are, the operation, the communicator's hints. A row that
 * cannot serve a call is passed over.
 */
#include "coll/algos.h"
#include "coll/table.h"

#define HAS_NO_OP(kind)                                                                            \
    ((kind) != COLL_REDUCE && (kind) != COLL_ALLREDUCE && (kind) != COLL_REDUCE_SCATTER_BLOCK &&   \
     (kind) != COLL_REDUCE_SCATTER && (kind) != COLL_SCAN && (kind) != COLL_EXSCAN)

/* What limits are compared with. */
static size_t size_of(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t count = 0;

    switch (args->kind) {
    case COLL_ALLGATHER:
    case COLL_REDUCE_SCATTER_BLOCK:
        return coll_nbytes(args) * (size_t)call->team.size;
    case COLL_REDUCE_SCATTER:
    case COLL_ALLGATHERV:
        for (int i = 0; i < call->team.size; i++)
            count += args->recv_counts[i];
        return count * args->elem;
    case COLL_GATHERV:
    case COLL_SCATTERV:
    case COLL_ALLTOALLV:
        return 0; /* not known to all */
    default:
        return coll_nbytes(args);
    }
}

static bool can_serve(const struct coll_row *row, const struct coll_call *call,
                      const struct coll_node *node)
{
    if (row->kind != call->args.kind)
        return false;
    if (row->tier == TIER_NODE && node == NULL)
        return false;
    if (row->tier == TIER_NODES &&
        (call->team.ranks != NULL || !coll_comm_of(call->comm)->tiers.has_tiers))
        return false;
    if (call->comm->hints.is_deterministic && row->fold == FOLD_ANY && !HAS_NO_OP(row->kind))
        return false;
    return row->when == NULL || row->when->is_met(call, node);
}

static const struct coll_row *by_rules(const struct coll_call *call, const struct coll_node *node,
                                       size_t size)
{
    const struct coll_rules *rules = coll_comm_of(call->comm)->rules;
    const struct coll_rule *best = NULL;

    if (rules == NULL || call->team.ranks != NULL)
        return NULL;
    for (int i = 0; i < rules->count; i++) {
        const struct coll_rule *rule = &rules->list[i];

        if (rule->from <= size && (best == NULL || rule->from > best->from) &&
            can_serve(rule->row, call, node))
            best = rule;
    }
    return best != NULL ? best->row : NULL;
}

/* The rows of a kind stand together, tier by tier. */
static const struct coll_row *by_table(const struct coll_call *call, const struct coll_node *node,
                                       size_t size)
{
    const struct coll_row *best = NULL;
    const struct coll_row *row = mci_coll_first_row(call->args.kind);

    for (; row->kind == call->args.kind; row++) {
        if (best != NULL && row->tier > best->tier)
            break;
        if (row->from > size || (row->to > 0 && size >= row->to) ||
            row->members * call->comm->node_count > call->comm->size)
            continue;
        if ((best == NULL || row->from > best->from) && can_serve(row, call, node))
            best = row;
    }
    return best;
}

/* It folds operands that are widened, and rounds in the end. */
static const struct coll_row wide = {
    .name = "wide", .algo = {"wide", mci_coll_wide, mci_coll_stages_step}, .fold = FOLD_ONCE};

static bool is_wide(const struct coll_row *row, const struct coll_call *call)
{
    return row->fold != FOLD_ONCE && call->team.size > 1 && !HAS_NO_OP(row->kind) &&
           mci_fold_wide_type(call->args.dtype, call->args.op) != 0;
}

const struct coll_algo *mci_coll_select(struct coll_call *call)
{
    bool is_plain = false;
    bool is_node = call->team.is_node || (call->team.ranks == NULL && call->comm->node_count == 1);
    struct coll_node *node = NULL;
    const struct coll_row *row;
    size_t size = size_of(call);

    if (is_node) {
        node = mci_coll_node_get(coll_comm_of(call->comm), &is_plain);
        if (node == NULL && !is_plain)
            return NULL;
    }
    row = by_rules(call, node, size);
    if (row == NULL)
        row = by_table(call, node, size);
    return is_wide(row, call) ? &wide.algo : &row->algo;
}

bool mci_coll_folds_at_once(const struct coll_call *call)
{
    return mci_container_of(call->algo, struct coll_row, algo)->fold == FOLD_ONCE;
}
