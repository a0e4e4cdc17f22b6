/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which algorithms there are and from which size on. Of the first tier that can serve a call the
 * row with the highest limit below its size is taken, of equal ones the first. Sizes are those of a
 * block; of the whole vector for reductions and allgather. The limits are measured, see the commits
 * that set them; those of the nodes over loopback, where a message costs no more than a turn of the
 * scheduler: on a slower network fewer messages weigh more, not less.
 */
#include "coll/table.h"
#include "base/settings.h"
#include "coll/algos.h"
#include "coll/rings.h"

#include <stdarg.h>
#include <stdio.h>

#define K ((size_t)1 << 10)
#define M ((size_t)1 << 20)

/* ---- conditions ---- */
static const struct coll_tiers *tiers_of(const struct coll_call *call)
{
    return &coll_comm_of(call->comm)->tiers;
}

static bool rings_can(const struct coll_call *call, const struct coll_node *node)
{
    switch (call->args.kind) {
    case COLL_REDUCE:
    case COLL_ALLREDUCE:
        return node->size <= NODE_FOLD_MAX;
    case COLL_REDUCE_SCATTER_BLOCK:
    case COLL_REDUCE_SCATTER:
        return node->size <= NODE_FOLD_MAX && call->args.sendbuf != MCOMM_IN_PLACE;
    case COLL_ALLTOALL:
        return call->args.sendbuf != MCOMM_IN_PLACE;
    case COLL_ALLTOALLV:
        return call->args.sendbuf != MCOMM_IN_PLACE && node->size <= NODE_COUNTS_MAX;
    case COLL_SCATTERV:
        return node->size <= NODE_COUNTS_MAX;
    default:
        return true;
    }
}

static bool commutes(const struct coll_call *call, const struct coll_node *node)
{
    (void)node;
    return mci_fold_is_commutative(call->args.op);
}

/* An algorithm that folds once moves fewer bytes than one of wide partial results. */
static bool is_wide(const struct coll_call *call, const struct coll_node *node)
{
    (void)node;
    return mci_fold_wide_type(call->args.dtype, call->args.op) != 0;
}

static bool is_blocked(const struct coll_call *call, const struct coll_node *node)
{
    (void)node;
    return tiers_of(call)->is_blocked;
}

static bool is_in_order(const struct coll_call *call, const struct coll_node *node)
{
    return tiers_of(call)->is_blocked || commutes(call, node);
}

static bool is_alike(const struct coll_call *call, const struct coll_node *node)
{
    (void)node;
    return tiers_of(call)->is_even;
}

static bool is_even(const struct coll_call *call, const struct coll_node *node)
{
    return tiers_of(call)->is_even && is_in_order(call, node);
}

static bool slices_can(const struct coll_call *call, const struct coll_node *node)
{
    return call->args.count >= (size_t)tiers_of(call)->local_size && is_even(call, node);
}

static const struct coll_when FITS = {mci_coll_slots_fit, "fits the slots"};
static const struct coll_when RINGS = {rings_can, "at most 64 members, copies not in place"};
static const struct coll_when COMMUTES = {commutes, "op commutes"};
static const struct coll_when BLOCKED = {is_blocked, "ranks of a node are consecutive"};
static const struct coll_when IN_ORDER = {is_in_order,
                                          "op commutes, or ranks of a node are consecutive"};
static const struct coll_when ALIKE = {is_alike, "as many ranks on each node"};
static const struct coll_when EVEN = {is_even, "as many ranks on each node; as for leaders"};
static const struct coll_when SLICES = {slices_can,
                                        "as many ranks on each node, and elements; as for leaders"};

static const struct coll_when WIDE = {is_wide, "partial results would be rounded, or overflow"};

/* ---- rows ---- */
#define ANY FOLD_ANY
#define CHAIN FOLD_CHAIN
#define ONCE FOLD_ONCE
#define SLOTS                                                                                      \
    {                                                                                              \
        "slots", NULL, mci_coll_slots_step                                                         \
    }
#define RING(NAME)                                                                                 \
    {                                                                                              \
#NAME, NULL, mci_coll_##NAME##_step                                                        \
    }
#define PLAN(NAME)                                                                                 \
    {                                                                                              \
#NAME, mci_coll_##NAME, mci_coll_plan_step                                                 \
    }
#define STAGES(NAME)                                                                               \
    {                                                                                              \
#NAME, mci_coll_##NAME, mci_coll_stages_step                                               \
    }

const struct coll_row mci_coll_rows[] = {
    {COLL_BARRIER, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_BARRIER, TIER_NODES, "leaders", STAGES(barrier_leaders), 3, 0, 0, NULL, ONCE},
    {COLL_BARRIER, TIER_MESSAGES, "dissemination", PLAN(barrier_dissemination), 0, 0, 0, NULL,
     ONCE},

    {COLL_BCAST, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_BCAST, TIER_NODE, "rings", RING(rings_spread), 0, 0, 0, &RINGS, ONCE},
    {COLL_BCAST, TIER_NODES, "leaders", STAGES(bcast_leaders), 3, 0, 0, NULL, ONCE},
    {COLL_BCAST, TIER_NODES, "leaders", STAGES(bcast_leaders), 2, 1 * M, 0, NULL, ONCE},
    {COLL_BCAST, TIER_MESSAGES, "binomial", PLAN(bcast_binomial), 0, 0, 0, NULL, ONCE},
    {COLL_BCAST, TIER_MESSAGES, "chain", PLAN(bcast_chain), 0, 1 * M, 0, NULL, ONCE},

    {COLL_REDUCE, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_REDUCE, TIER_NODE, "rings", RING(rings_reduce), 0, 0, 0, &RINGS, ONCE},
    {COLL_REDUCE, TIER_NODES, "leaders", STAGES(reduce_leaders), 3, 0, 32 * K, &IN_ORDER, ANY},
    {COLL_REDUCE, TIER_NODES, "slices", STAGES(reduce_slices), 2, 128 * K, 0, &SLICES, ANY},
    {COLL_REDUCE, TIER_MESSAGES, "binomial", PLAN(reduce_binomial), 0, 0, 0, NULL, ANY},
    {COLL_REDUCE, TIER_MESSAGES, "pairwise", PLAN(reduce_pairwise), 0, 0, 0, NULL, ONCE},
    {COLL_REDUCE, TIER_MESSAGES, "pairwise", PLAN(reduce_pairwise), 0, 128 * K, 0, &WIDE, ONCE},
    {COLL_REDUCE, TIER_MESSAGES, "ring", PLAN(reduce_ring), 0, 128 * K, 0, &COMMUTES, ANY},

    {COLL_ALLREDUCE, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_ALLREDUCE, TIER_NODE, "rings", RING(rings_reduce), 0, 0, 0, &RINGS, ONCE},
    {COLL_ALLREDUCE, TIER_NODES, "leaders", STAGES(allreduce_leaders), 3, 4 * K, 0, &IN_ORDER, ANY},
    {COLL_ALLREDUCE, TIER_NODES, "slices", STAGES(allreduce_slices), 3, 32 * K, 0, &SLICES, ANY},
    {COLL_ALLREDUCE, TIER_NODES, "slices", STAGES(allreduce_slices), 2, 128 * K, 0, &SLICES, ANY},
    {COLL_ALLREDUCE, TIER_NODES, "leaders", STAGES(allreduce_leaders), 2, 128 * K, 0, &IN_ORDER,
     ANY},
    {COLL_ALLREDUCE, TIER_MESSAGES, "doubling", PLAN(allreduce_doubling), 0, 0, 0, NULL, ANY},
    {COLL_ALLREDUCE, TIER_MESSAGES, "pairwise", PLAN(allreduce_pairwise), 0, 0, 0, NULL, ONCE},
    {COLL_ALLREDUCE, TIER_MESSAGES, "pairwise", PLAN(allreduce_pairwise), 0, 128 * K, 0, &WIDE,
     ONCE},
    {COLL_ALLREDUCE, TIER_MESSAGES, "ring", PLAN(allreduce_ring), 0, 128 * K, 0, &COMMUTES, ANY},

    {COLL_GATHER, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_GATHER, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_GATHER, TIER_NODES, "leaders", STAGES(gather_leaders), 3, 0, 8 * K, NULL, ONCE},
    {COLL_GATHER, TIER_MESSAGES, "binomial", PLAN(gather_binomial), 0, 0, 0, NULL, ONCE},
    {COLL_GATHER, TIER_MESSAGES, "linear", PLAN(gather_linear), 0, 8 * K, 0, NULL, ONCE},
    {COLL_GATHERV, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_GATHERV, TIER_NODES, "leaders", STAGES(counted_leaders), 3, 0, 0, NULL, ONCE},
    {COLL_GATHERV, TIER_MESSAGES, "linear", PLAN(gather_linear), 0, 0, 0, NULL, ONCE},

    {COLL_SCATTER, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_SCATTER, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_SCATTER, TIER_NODES, "leaders", STAGES(scatter_leaders), 3, 0, 8 * K, NULL, ONCE},
    {COLL_SCATTER, TIER_MESSAGES, "binomial", PLAN(scatter_binomial), 0, 0, 0, NULL, ONCE},
    {COLL_SCATTER, TIER_MESSAGES, "linear", PLAN(scatter_linear), 0, 8 * K, 0, NULL, ONCE},
    {COLL_SCATTERV, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_SCATTERV, TIER_NODES, "leaders", STAGES(counted_leaders), 3, 0, 0, NULL, ONCE},
    {COLL_SCATTERV, TIER_MESSAGES, "linear", PLAN(scatter_linear), 0, 0, 0, NULL, ONCE},

    {COLL_ALLGATHER, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_ALLGATHER, TIER_NODE, "rings", RING(rings_spread), 0, 0, 0, &RINGS, ONCE},
    {COLL_ALLGATHER, TIER_NODES, "leaders", STAGES(allgather_leaders), 3, 64 * K, 0, NULL, ONCE},
    {COLL_ALLGATHER, TIER_NODES, "slices", STAGES(allgather_slices), 2, 1 * M, 0, &ALIKE, ONCE},
    {COLL_ALLGATHER, TIER_NODES, "leaders", STAGES(allgather_leaders), 2, 1 * M, 0, NULL, ONCE},
    {COLL_ALLGATHER, TIER_MESSAGES, "bruck", PLAN(allgather_bruck), 0, 0, 0, NULL, ONCE},
    {COLL_ALLGATHER, TIER_MESSAGES, "ring", PLAN(allgather_ring), 0, 64 * K, 0, NULL, ONCE},
    {COLL_ALLGATHERV, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_ALLGATHERV, TIER_NODE, "rings", RING(rings_spread), 0, 0, 0, &RINGS, ONCE},
    {COLL_ALLGATHERV, TIER_NODES, "leaders", STAGES(allgather_leaders), 2, 0, 0, NULL, ONCE},
    {COLL_ALLGATHERV, TIER_NODES, "slices", STAGES(allgather_slices), 2, 1 * M, 0, &ALIKE, ONCE},
    {COLL_ALLGATHERV, TIER_MESSAGES, "ring", PLAN(allgather_ring), 0, 0, 0, NULL, ONCE},

    {COLL_REDUCE_SCATTER_BLOCK, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_NODE, "rings", RING(rings_reduce), 0, 0, 0, &RINGS, ONCE},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_NODES, "leaders", STAGES(reduce_scatter_leaders), 3, 0, 0,
     &IN_ORDER, ANY},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_NODES, "slices", STAGES(reduce_scatter_slices), 2, 32 * K, 0,
     &EVEN, ANY},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_MESSAGES, "pairwise", PLAN(reduce_scatter_pairwise), 0, 0, 0,
     NULL, ONCE},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_MESSAGES, "pairwise", PLAN(reduce_scatter_pairwise), 0,
     128 * K, 0, &WIDE, ONCE},
    {COLL_REDUCE_SCATTER_BLOCK, TIER_MESSAGES, "ring", PLAN(reduce_scatter_ring), 0, 128 * K, 0,
     &COMMUTES, ANY},
    {COLL_REDUCE_SCATTER, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_REDUCE_SCATTER, TIER_NODE, "rings", RING(rings_reduce), 0, 0, 0, &RINGS, ONCE},
    {COLL_REDUCE_SCATTER, TIER_NODES, "leaders", STAGES(reduce_scatter_leaders), 3, 0, 0, &IN_ORDER,
     ANY},
    {COLL_REDUCE_SCATTER, TIER_NODES, "slices", STAGES(reduce_scatter_slices), 2, 32 * K, 0, &EVEN,
     ANY},
    {COLL_REDUCE_SCATTER, TIER_MESSAGES, "pairwise", PLAN(reduce_scatter_pairwise), 0, 0, 0, NULL,
     ONCE},
    {COLL_REDUCE_SCATTER, TIER_MESSAGES, "pairwise", PLAN(reduce_scatter_pairwise), 0, 128 * K, 0,
     &WIDE, ONCE},
    {COLL_REDUCE_SCATTER, TIER_MESSAGES, "ring", PLAN(reduce_scatter_ring), 0, 128 * K, 0,
     &COMMUTES, ANY},

    {COLL_ALLTOALL, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_ALLTOALL, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_ALLTOALL, TIER_NODES, "leaders", STAGES(alltoall_leaders), 3, 0, 1 * K, NULL, ONCE},
    {COLL_ALLTOALL, TIER_MESSAGES, "bruck", PLAN(alltoall_bruck), 0, 0, 0, NULL, ONCE},
    {COLL_ALLTOALL, TIER_MESSAGES, "pairwise", PLAN(alltoall_pairwise), 0, 1 * K, 0, NULL, ONCE},
    {COLL_ALLTOALLV, TIER_NODE, "rings", RING(rings_exchange), 0, 0, 0, &RINGS, ONCE},
    {COLL_ALLTOALLV, TIER_NODES, "leaders", STAGES(alltoallv_leaders), 3, 0, 0, NULL, ONCE},
    {COLL_ALLTOALLV, TIER_MESSAGES, "pairwise", PLAN(alltoall_pairwise), 0, 0, 0, NULL, ONCE},

    {COLL_SCAN, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_SCAN, TIER_NODE, "rings", RING(rings_scan), 0, 0, 0, &RINGS, CHAIN},
    {COLL_SCAN, TIER_NODES, "leaders", STAGES(scan_leaders), 3, 0, 0, &BLOCKED, ANY},
    {COLL_SCAN, TIER_NODES, "leaders", STAGES(scan_leaders), 2, 64 * K, 0, &BLOCKED, ANY},
    {COLL_SCAN, TIER_MESSAGES, "doubling", PLAN(scan_doubling), 0, 0, 0, NULL, ANY},
    {COLL_SCAN, TIER_MESSAGES, "chain", PLAN(scan_chain), 0, 0, 0, NULL, CHAIN},
    {COLL_EXSCAN, TIER_NODE, "slots", SLOTS, 0, 0, 0, &FITS, ONCE},
    {COLL_EXSCAN, TIER_NODE, "rings", RING(rings_scan), 0, 0, 0, &RINGS, CHAIN},
    {COLL_EXSCAN, TIER_NODES, "leaders", STAGES(scan_leaders), 3, 0, 0, &BLOCKED, ANY},
    {COLL_EXSCAN, TIER_NODES, "leaders", STAGES(scan_leaders), 2, 64 * K, 0, &BLOCKED, ANY},
    {COLL_EXSCAN, TIER_MESSAGES, "doubling", PLAN(scan_doubling), 0, 0, 0, NULL, ANY},
    {COLL_EXSCAN, TIER_MESSAGES, "chain", PLAN(scan_chain), 0, 0, 0, NULL, CHAIN},
    {.kind = COLL_KIND_NUM},
};
const size_t mci_coll_row_count = sizeof(mci_coll_rows) / sizeof(mci_coll_rows[0]) - 1;

const struct coll_row *mci_coll_first_row(enum coll_kind kind)
{
    static const struct coll_row *first[COLL_KIND_NUM]; /* as looked up; lock: engine */

    if (first[kind] == NULL) {
        first[kind] = mci_coll_rows;
        while (first[kind]->kind != kind)
            first[kind]++;
    }
    return first[kind];
}

/* ---- as text ---- */
struct text {
    char buf[12288];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->buf + text->used, sizeof(text->buf) - text->used, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof(text->buf) - text->used)
        text->used += (size_t)n;
}

static void put_rules(struct text *text)
{
    struct coll_rules rules;

    if (mci_settings.coll == NULL || mci_settings.coll[0] == '\0' ||
        mci_coll_rules_parse(mci_settings.coll, MCOMM_ERR_ARG, &rules) != MCOMM_SUCCESS)
        return;
    put(text, "Before the table, by MCOMM_COLL:\n");
    for (int i = 0; i < rules.count; i++)
        put(text, "  %-21s %-14s from %zu\n", mci_coll_kind_name(rules.list[i].row->kind),
            rules.list[i].row->name, rules.list[i].from);
}

const char *mcomm_coll_text(void)
{
    static const char *const tiers[] = {"one node", "nodes", "messages"};
    static struct text text;

    mci_engine_lock();
    text.used = 0;
    put_rules(&text);
    put(&text, "  %-21s %-9s %-14s %7s %10s %10s  %s\n", "collective", "where", "algorithm",
        "members", "from", "to", "fixed bits; when");
    for (size_t i = 0; i < mci_coll_row_count; i++) {
        const struct coll_row *row = &mci_coll_rows[i];
        char to[24] = "-";

        if (row->to > 0)
            snprintf(to, sizeof(to), "%zu", row->to);
        put(&text, "  %-21s %-9s %-14s %7d %10zu %10s  %s; %s\n", mci_coll_kind_name(row->kind),
            tiers[row->tier], row->name, row->members, row->from, to,
            row->fold == FOLD_ANY ? "no" : "yes", row->when != NULL ? row->when->text : "always");
    }
    put(&text,
        "Sums, products and averages of 8- and 16-bit floats, and averages of floats, that are "
        "not folded at\nonce are reduced as floats, and rounded in the end.\n");
    mci_engine_unlock();
    return text.buf;
}
