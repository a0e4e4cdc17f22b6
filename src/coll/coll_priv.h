/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the files of this folder share.
 *
 * A *call* is one collective under way. Calls of a communicator stand in a queue, in the order in
 * which all members made them, and only the first one moves: so the shared cells of a node and the
 * tags of messages are always one call's. An *algorithm* moves a call by steps: it goes on as far
 * as it can without waiting. Steps are made by whoever drives progress: a waiting caller, any other
 * call of the library, or the monitor thread.
 *
 * Two kinds of algorithm: a *plan* is a list of messages and local work made beforehand (plan.c);
 * within a node, calls use the communicator's shared segment (node.c): slots for small payloads,
 * rings for large ones. lock: engine, for all of this file.
 */
#ifndef MCI_COLL_COLL_PRIV_H
#define MCI_COLL_COLL_PRIV_H

#include "config.h"

#include "base/mem.h"
#include "coll/coll.h"
#include "coll/fold.h"
#include "pt2pt/pt2pt.h"
#include "rma/rma.h"

#include <string.h>

/* ---- one collective ------------------------------------------------------------------------- */
struct coll_call;
struct coll_rules;
struct coll_plan;
struct coll_stages;
struct coll_check;

struct coll_algo {
    const char *name;
    /* Make call->plan; NULL: it needs none. */
    mcomm_err_t (*build)(struct coll_call *call);
    /* Go on as far as possible. true: over, with call->err. */
    bool (*step)(struct coll_call *call);
};

/* Those who make a call: all members, or, for a stage of it, those of a node or one of each node.
 * Algorithms know nothing but places in the team. */
struct coll_team {
    int rank, size;
    const int *ranks; /* in the communicator; NULL: the same */
    bool is_node;     /* the members on this node */
};

struct coll_call {
    struct coll_args args;
    struct coll_team team;
    struct mci_comm *comm;        /* a reference */
    const struct coll_algo *algo; /* chosen when the call comes to the head of the queue */
    struct mci_list link;         /* queue of its communicator */
    uint32_t seq;                 /* number of the call in its communicator */
    int tag;
    bool is_done;
    mcomm_err_t err;
    void (*done)(struct coll_call *call); /* NULL: somebody waits on is_done */
    /* the algorithm's */
    int stage;
    int cursor;
    struct coll_plan *plan;
    struct coll_stages *stages;
    /* setting "check" */
    struct coll_check *check;
    mcomm_err_t arg_err; /* of this member's arguments: the others are to know */
};
static inline int coll_rank_of(const struct coll_call *call, int place)
{
    return call->team.ranks != NULL ? call->team.ranks[place] : place;
}

/* Who of a communicator is where: lists only if some of its nodes have several members. */
struct coll_tiers {
    int local_rank, local_size; /* on this node */
    int *local;                 /* ranks of its members, rising; NULL: place = rank */
    int *leaders;               /* of each node the lowest rank */
    int *sizes;                 /* of the nodes */
    int *order;                 /* all ranks, those of a node together, rising */
    int *begin;                 /* of each node, there */
    int *cross;                 /* of each node the member with my place; only if is_even */
    bool has_tiers;             /* the lists are there */
    bool is_even;               /* all nodes have as many members */
    bool is_blocked;            /* ranks of a node are consecutive, so nodes are in rank order */
};
static inline int tiers_local(const struct coll_tiers *tiers, int place)
{
    return tiers->local != NULL ? tiers->local[place] : place;
}

/* What coll keeps for a communicator: comm->coll. */
struct coll_comm {
    struct mci_comm *comm;
    struct coll_tiers tiers;
    struct coll_rules *rules; /* the user's; NULL: none */
    struct mci_list queue;    /* of calls */
    struct mci_list active;   /* link: communicators whose queue is not empty */
    struct coll_node *node;   /* shared segment; NULL until the first call, or none */
    bool is_plain;            /* no shared segment: alone on its node, or it could not be made */
    struct poison {
        bool is_set, has_told;
        uint32_t seq, told_seq;
        int rank;
        mcomm_err_t err;
        char text[160]; /* of the member's own error, "" if another gave up first */
    } poison;
};
static inline struct coll_comm *coll_comm_of(const struct mci_comm *comm)
{
    return comm->coll;
}

/* ---- tiers.c ---- */
mcomm_err_t mci_coll_tiers_make(struct coll_tiers *tiers, const struct mci_comm *comm);
void mci_coll_tiers_free(struct coll_tiers *tiers);

/* ---- call.c ---- */
mcomm_err_t mci_coll_call_start_module(void);
void mci_coll_call_stop_module(void);
/* Queue it and go on as far as possible. args, done and link (not linked) are set. */
void mci_coll_call_begin(struct coll_call *call, struct mci_comm *comm);
/* Choose the algorithm of a call or stage, if that is still to do, and go on. true: over. */
bool mci_coll_call_step(struct coll_call *call);
/* Frees what algorithms keep with it. */
void mci_coll_call_fini(struct coll_call *call);
/* Nothing touches its buffers after this. */
void mci_coll_call_withdraw(struct coll_call *call);
/* Back to the beginning, for a persistent one. */
void mci_coll_call_rewind(struct coll_call *call);
/* End a call that waits in its queue; all members learn of it. */
void mci_coll_call_fail(struct coll_call *call, mcomm_err_t err);
/* Give up all that are under way; their members learn of it. */
void mci_coll_calls_end(void);
/* Give the calling thread the text of what ended the call. */
void mci_coll_call_explain(const struct coll_call *call);
/* Begin and wait, within the communicator's time limit. With the setting "check" arg_err ends the
 * call at all members. */
mcomm_err_t mci_coll_run_checked(struct mci_comm *comm, const struct coll_args *args,
                                 mcomm_err_t arg_err);
/* More came for this communicator: look at its queue. */
void mci_coll_comm_step(struct coll_comm *cc);

/* ---- request.c: nonblocking and persistent forms ---- */
mcomm_err_t mci_coll_request_new(struct mci_comm *comm, const struct coll_args *args,
                                 bool is_persistent, mcomm_request_t *request_p);
/* With the setting "check": this member does not make the call, for its arguments are wrong. */
void mci_coll_refuse(struct mci_comm *comm, const struct coll_args *args, mcomm_err_t arg_err);

/* ---- poison.c ---- */
mcomm_err_t mci_coll_poison_start(void);
void mci_coll_poison_stop(void);
/* Has a member given up this call, or an earlier one? Error with text. */
mcomm_err_t mci_coll_poisoned(const struct coll_call *call);
void mci_coll_poison(struct coll_call *call, mcomm_err_t err);
mcomm_err_t mci_coll_poison_explain(const struct coll_call *call);

/* ---- check.c ---- */
/* Arguments of this member; sets args->elem. */
mcomm_err_t mci_coll_check_args(const struct mci_comm *comm, struct coll_args *args);
const char *mci_coll_kind_name(enum coll_kind kind);

/* ---- compare.c: setting "check" ---- */
/* true: all have been compared; call->err if they differ. */
bool mci_coll_compare_step(struct coll_call *call);
bool mci_coll_compare_explain(const struct coll_call *call); /* false: that was not it */
void mci_coll_compare_rewind(struct coll_check *check);
void mci_coll_compare_withdraw(struct coll_check *check);
void mci_coll_compare_free(struct coll_check *check);

/* ---- select.c ---- */
/* NULL: not yet known: members of the node still agree on a shared segment. */
const struct coll_algo *mci_coll_select(struct coll_call *call);
/* Its algorithm folds all members' elements at once, which makes an average too. */
bool mci_coll_folds_at_once(const struct coll_call *call);

/* ---- stages.c: a call as a list of calls of smaller teams; see stages.h ---- */
void mci_coll_stages_free(struct coll_stages *stages);
void mci_coll_stages_rewind(struct coll_stages *stages);
void mci_coll_stages_withdraw(struct coll_stages *stages);
bool mci_coll_stages_step(struct coll_call *call);

/* ---- plan.c: messages and local work in rounds ------------------------------------------------
 *
 * Steps of one round start together, messages first; copies and folds of a round run, in order,
 * once its messages are complete. The next round follows. Errors while building stick: add calls
 * do nothing then, and mci_coll_plan_end() returns the error.
 */
mcomm_err_t mci_coll_plan_new(struct coll_call *call);
void mci_coll_plan_free(struct coll_plan *plan);
void mci_coll_plan_send(struct coll_plan *plan, const void *buf, size_t nbytes, int dest);
void mci_coll_plan_recv(struct coll_plan *plan, void *buf, size_t nbytes, int source);
void mci_coll_plan_copy(struct coll_plan *plan, void *dst, const void *src, size_t nbytes);
/* dst[i] = left[i] op right[i]; dst may be left or right. */
void mci_coll_plan_fold(struct coll_plan *plan, void *dst, const void *left, const void *right,
                        size_t count);
/* dst[i] = the fold of all n members' blocks, one behind the other, in order, rounded once. */
void mci_coll_plan_fold_many(struct coll_plan *plan, void *dst, const void *blocks, int n,
                             size_t count);
/* Operands to partial results and back (fold.h), of the call's operation and team. */
void mci_coll_plan_widen(struct coll_plan *plan, void *wide, const void *from, size_t count);
void mci_coll_plan_narrow(struct coll_plan *plan, void *to, const void *wide, size_t count);
/*
 * The n counts at sent, a list of size_t of any alignment, have come with a message of this round;
 * if they are not the expected ones the call ends with MISMATCH before what follows is done. To be
 * filled in; NULL: no memory.
 */
struct coll_expected {
    size_t count; /* elements */
    int from, to; /* ranks */
};
struct coll_expected *mci_coll_plan_expect(struct coll_plan *plan, const void *sent, size_t n);
void mci_coll_plan_round(struct coll_plan *plan);                   /* end of a round */
void *mci_coll_plan_scratch(struct coll_plan *plan, size_t nbytes); /* freed with the plan */
mcomm_err_t mci_coll_plan_end(struct coll_plan *plan);
/* Back to the beginning, for a persistent call. */
void mci_coll_plan_rewind(struct coll_plan *plan);
/* Nothing touches the buffers after this. */
void mci_coll_plan_withdraw(struct coll_plan *plan);
bool mci_coll_plan_step(struct coll_call *call);

/* Bytes of one block of count elements. */
static inline size_t coll_nbytes(const struct coll_args *args)
{
    return args->count * args->elem;
}
/* The operation of a fold of all who make the call: of a stage of an average the sum. */
static inline mcomm_op_t coll_fold_op(const struct coll_call *call)
{
    return call->args.op == MCOMM_AVG && call->team.ranks != NULL ? MCOMM_SUM : call->args.op;
}
static inline char *coll_at(const void *buf, size_t nbytes)
{
    return (char *)(uintptr_t)buf + nbytes;
}
/* Of nothing the pointers may be anything. */
static inline void coll_copy(void *dst, const void *src, size_t nbytes)
{
    if (nbytes > 0)
        memcpy(dst, src, nbytes);
}
/* The vector or blocks to read: sendbuf, or recvbuf if in place. */
static inline const void *coll_input(const struct coll_args *args)
{
    return args->sendbuf == MCOMM_IN_PLACE ? args->recvbuf : args->sendbuf;
}
/* Rank's block of the result of an allgather(v): its elements, and those before it. */
static inline size_t coll_block_count(const struct coll_args *args, int rank)
{
    return args->kind == COLL_ALLGATHERV ? args->recv_counts[rank] : args->count;
}
static inline size_t coll_block_first(const struct coll_args *args, int rank)
{
    return args->kind == COLL_ALLGATHERV ? args->recv_displs[rank] : (size_t)rank * args->count;
}
/* Elements of rank's part of the result of a reduce_scatter(_block). */
static inline size_t coll_share(const struct coll_args *args, int rank)
{
    return args->kind == COLL_REDUCE_SCATTER ? args->recv_counts[rank] : args->count;
}
/* Where the parts of such a result begin, those of size members and the end. */
static inline void coll_begins(const struct coll_args *args, int size, size_t *begin)
{
    begin[0] = 0;
    for (int i = 0; i < size; i++)
        begin[i + 1] = begin[i] + coll_share(args, i);
}
/* Share number i of count elements cut into n nearly equal parts: its first element. */
static inline size_t coll_part(size_t count, int n, int i)
{
    size_t each = count / (size_t)n, more = count % (size_t)n;

    return (size_t)i * each + ((size_t)i < more ? (size_t)i : more);
}

#endif
