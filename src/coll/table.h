/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The table of algorithms, and a user's rules, which go before it. */
#ifndef MCI_COLL_TABLE_H
#define MCI_COLL_TABLE_H

#include "coll/node.h"

/* Where a row applies; earlier ones are tried first. */
enum coll_tier {
    TIER_NODE,    /* the members share a segment */
    TIER_NODES,   /* several nodes, some with several members: stages */
    TIER_MESSAGES /* everywhere */
};

/* How a result is made of the operands. But for FOLD_ANY its bits depend on them only, not on where
 * ranks run; but for FOLD_ONCE partial results are rounded, so some types go the way of wide.c. */
enum coll_fold {
    FOLD_ANY,
    FOLD_CHAIN, /* one after the other in rank order */
    FOLD_ONCE   /* so, by one rank, rounded in the end; that makes averages, too */
};

/* A condition on a call besides its size; equal on all members. */
struct coll_when {
    bool (*is_met)(const struct coll_call *call, const struct coll_node *node);
    const char *text;
};

struct coll_row {
    enum coll_kind kind;
    enum coll_tier tier;
    const char *name;
    struct coll_algo algo;
    int members;                  /* on average on a node, at least */
    size_t from, to;              /* sizes; to 0: no end */
    const struct coll_when *when; /* NULL: always */
    enum coll_fold fold;          /* of kinds without operation FOLD_ONCE */
};
extern const struct coll_row mci_coll_rows[];
extern const size_t mci_coll_row_count; /* a row of no kind follows */
const struct coll_row *mci_coll_first_row(enum coll_kind kind);

#define COLL_RULES_MAX 64
struct coll_rules {
    int count;
    struct coll_rule {
        const struct coll_row *row;
        size_t from;
    } list[COLL_RULES_MAX];
};
/* "allreduce:ring@64k,*:leaders": at an error the text names what is wrong and what is known;
 * err: its code. */
mcomm_err_t mci_coll_rules_parse(const char *text, mcomm_err_t err, struct coll_rules *rules);
enum coll_kind mci_coll_kind_of(const char *name, size_t length); /* 0: none */

#endif
