/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Alltoall and alltoallv of small blocks: a node's blocks go to its leader, from leader to leader
 * in one message for each pair of nodes, and from there to the members (teams.c): nodes-1 messages
 * a node instead of members times ranks. Of alltoallv the members tell the leader their counts
 * first, and the counts of the blocks between two nodes stand before them: what one side splits
 * otherwise than the other is an error. Blocks of more than DIRECT bytes go directly. Bienz, Olson,
 * Gropp 2019.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#include <string.h>

#define DIRECT ((size_t)1024)

struct pairs {
    struct coll_call *call;
    bool is_leader, is_equal;
    int n;          /* members of this node */
    size_t size;    /* members of all */
    size_t *mine;   /* to each rank, then from each rank: what does not go directly */
    size_t *counts; /* the leader's: all members' */
};

static size_t to_rank(const struct pairs *p, int member, int rank)
{
    return p->is_equal ? p->call->args.count
                       : p->counts[(size_t)member * 2 * p->size + (size_t)rank];
}

static size_t from_rank(const struct pairs *p, int member, int rank)
{
    return p->is_equal ? p->call->args.count
                       : p->counts[(size_t)member * 2 * p->size + p->size + (size_t)rank];
}

static size_t sum(const size_t *counts, size_t n)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += counts[i];
    return all;
}

/* ---- a member's own blocks ---- */
/* Between the user's buffer, at places of displs, and one block behind the other. */
static void plan_pack(struct pairs *p, char *packed, const void *user, const size_t *counts,
                      const size_t *displs, bool is_back)
{
    struct coll_plan *plan = mci_coll_stages_plan(p->call->stages, LANE_NODE, STAGE_ALL);
    size_t elem = p->call->args.elem;

    for (size_t i = 0; i < p->size && plan != NULL; i++) {
        char *at = coll_at(user, displs[i] * elem);

        mci_coll_plan_copy(plan, is_back ? at : packed, is_back ? packed : at, counts[i] * elem);
        packed += counts[i] * elem;
    }
}

/* ---- the leader: from members' blocks to nodes' blocks, and back ---- */
struct nodes {
    size_t *send_counts, *send_displs, *recv_counts, *recv_displs; /* by node, bytes */
    size_t *totals;                                                /* by member, elements */
    size_t *displs;
};

static bool nodes_new(struct pairs *p, struct nodes *x)
{
    size_t nodes = (size_t)p->call->comm->node_count, n = (size_t)p->n;
    size_t *lists = mci_coll_stages_scratch(p->call->stages, (4 * nodes + 2 * n) * sizeof(*lists));

    if (lists == NULL)
        return false;
    *x = (struct nodes){.send_counts = lists,
                        .send_displs = lists + nodes,
                        .recv_counts = lists + 2 * nodes,
                        .recv_displs = lists + 3 * nodes,
                        .totals = lists + 4 * nodes,
                        .displs = lists + 4 * nodes + n};
    return true;
}

/* What the members send, or get. */
static void count_members(const struct pairs *p, struct nodes *x, bool is_to)
{
    for (int i = 0; i < p->n; i++) {
        x->totals[i] = 0;
        for (int rank = 0; rank < (int)p->size; rank++)
            x->totals[i] += is_to ? to_rank(p, i, rank) : from_rank(p, i, rank);
        x->displs[i] = i > 0 ? x->displs[i - 1] + x->totals[i - 1] : 0;
    }
}

/* Before the blocks between my members and node's: their counts, where the other side may expect
 * others. */
static size_t header_nbytes(const struct pairs *p, int node)
{
    return p->is_equal ? 0 : (size_t)(p->n * coll_tiers_of(p->call)->sizes[node]) * sizeof(size_t);
}

static void count_nodes(const struct pairs *p, const struct nodes *x)
{
    const struct coll_tiers *tiers = coll_tiers_of(p->call);

    for (int node = 0; node < p->call->comm->node_count; node++) {
        const int *ranks = tiers->order + tiers->begin[node];
        size_t header = header_nbytes(p, node), elem = p->call->args.elem, to = 0, from = 0;

        for (int k = 0; k < tiers->sizes[node]; k++) {
            for (int i = 0; i < p->n; i++) {
                to += to_rank(p, i, ranks[k]);
                from += from_rank(p, i, ranks[k]);
            }
        }
        x->send_counts[node] = to > 0 ? header + to * elem : 0;
        x->recv_counts[node] = from > 0 ? header + from * elem : 0;
        x->send_displs[node] = node > 0 ? x->send_displs[node - 1] + x->send_counts[node - 1] : 0;
        x->recv_displs[node] = node > 0 ? x->recv_displs[node - 1] + x->recv_counts[node - 1] : 0;
    }
}

/* Elements before rank's block among those of a member. */
static size_t *block_begins(struct pairs *p, bool is_to)
{
    size_t *begin =
        mci_coll_stages_scratch(p->call->stages, (size_t)p->n * p->size * sizeof(*begin));
    size_t at = 0;

    for (int i = 0; i < p->n && begin != NULL; i++)
        for (int rank = 0; rank < (int)p->size; rank++) {
            begin[(size_t)i * p->size + (size_t)rank] = at;
            at += is_to ? to_rank(p, i, rank) : from_rank(p, i, rank);
        }
    return begin;
}

/* The counts of the blocks to a node, and the blocks, lie by sender, then by receiver, both in the
 * order of their nodes. */
static void pack_nodes(struct pairs *p, const struct nodes *x, char *by_node, const char *by_member)
{
    const struct coll_tiers *tiers = coll_tiers_of(p->call);
    struct coll_plan *plan = mci_coll_stages_plan(p->call->stages, LANE_NODE, STAGE_ALL);
    const size_t *begin = block_begins(p, true);
    size_t elem = p->call->args.elem;

    for (int node = 0; node < p->call->comm->node_count && plan != NULL && begin != NULL; node++) {
        char *header = by_node + x->send_displs[node], *at = header + header_nbytes(p, node);

        for (int i = 0; i < p->n && x->send_counts[node] > 0; i++)
            for (int k = 0; k < tiers->sizes[node]; k++) {
                int rank = tiers->order[tiers->begin[node] + k];
                size_t count = to_rank(p, i, rank);

                if (!p->is_equal) {
                    memcpy(header, &count, sizeof(count));
                    header += sizeof(count);
                }
                mci_coll_plan_copy(plan, at,
                                   by_member + begin[(size_t)i * p->size + (size_t)rank] * elem,
                                   count * elem);
                at += count * elem;
            }
    }
}

static void unpack_node(struct pairs *p, struct coll_plan *plan, int node, const size_t *begin,
                        char *by_member, const char *from)
{
    const struct coll_tiers *tiers = coll_tiers_of(p->call);
    size_t elem = p->call->args.elem, header = header_nbytes(p, node);
    struct coll_expected *expected =
        header > 0 ? mci_coll_plan_expect(plan, from, header / sizeof(size_t)) : NULL;

    from += header;
    for (int k = 0; k < tiers->sizes[node]; k++)
        for (int i = 0; i < p->n; i++) {
            int rank = tiers->order[tiers->begin[node] + k];
            size_t count = from_rank(p, i, rank);

            if (expected != NULL)
                *expected++ = (struct coll_expected){count, rank, tiers->local[i]};
            mci_coll_plan_copy(plan, by_member + begin[(size_t)i * p->size + (size_t)rank] * elem,
                               from, count * elem);
            from += count * elem;
        }
}

static void unpack_nodes(struct pairs *p, const struct nodes *x, char *by_member,
                         const char *by_node)
{
    struct coll_plan *plan = mci_coll_stages_plan(p->call->stages, LANE_NODE, STAGE_ALL);
    const size_t *begin = block_begins(p, false);

    for (int node = 0; node < p->call->comm->node_count && plan != NULL && begin != NULL; node++)
        if (x->recv_counts[node] > 0)
            unpack_node(p, plan, node, begin, by_member, by_node + x->recv_displs[node]);
}

static void exchange(struct pairs *p, const struct nodes *x, const char *out, char *in)
{
    struct coll_args args = p->call->args;

    args.sendbuf = out;
    args.recvbuf = in;
    args.kind = COLL_ALLTOALLV;
    args.send_counts = x->send_counts;
    args.send_displs = x->send_displs;
    args.recv_counts = x->recv_counts;
    args.recv_displs = x->recv_displs;
    args.dtype = MCOMM_BYTE;
    args.elem = 1;
    if (p->is_equal && coll_tiers_of(p->call)->is_even) {
        args.kind = COLL_ALLTOALL;
        args.count = x->send_counts[0];
    }
    mci_coll_across(p->call, STAGE_ALL, coll_tiers_of(p->call)->leaders, args);
}

/* A member's blocks to the leader, or back. */
static void move(struct pairs *p, const struct nodes *x, bool is_to, const void *from, void *to,
                 size_t count)
{
    struct coll_args args = p->call->args;

    args.kind =
        p->is_equal ? (is_to ? COLL_GATHER : COLL_SCATTER) : (is_to ? COLL_GATHERV : COLL_SCATTERV);
    args.sendbuf = from;
    args.recvbuf = to;
    args.count = count;
    args.root = 0;
    args.send_counts = args.recv_counts = x->totals;
    args.send_displs = args.recv_displs = x->displs;
    mci_coll_on_node(p->call, STAGE_ALL, args);
}

/* mine: this member's blocks, to_all elements; the others' go to theirs, from_all elements. */
static void by_leaders(struct pairs *p, char *mine, size_t to_all, char *theirs, size_t from_all)
{
    struct nodes x = {0}, y = {0};
    size_t out = 0, in = 0, nodes = (size_t)p->call->comm->node_count, elem = p->call->args.elem;
    char *gathered = mine, *packed, *got, *unpacked = theirs;

    if (p->is_leader) {
        if (!nodes_new(p, &x) || !nodes_new(p, &y))
            return;
        count_members(p, &x, true);
        count_members(p, &y, false);
        count_nodes(p, &x);
        out = sum(x.send_counts, nodes);
        in = sum(x.recv_counts, nodes);
        packed = mci_coll_stages_scratch(p->call->stages, out + in);
        got = packed != NULL ? packed + out : NULL;
        if (p->n > 1) {
            out = sum(x.totals, (size_t)p->n) * elem;
            in = sum(y.totals, (size_t)p->n) * elem;
            gathered = mci_coll_stages_scratch(p->call->stages, out + in);
            unpacked = gathered != NULL ? gathered + out : NULL;
        }
        if (packed == NULL || (p->n > 1 && gathered == NULL))
            return;
        move(p, &x, true, mine, gathered, to_all);
        pack_nodes(p, &x, packed, gathered);
        exchange(p, &x, packed, got);
        unpack_nodes(p, &x, unpacked, got);
    } else {
        move(p, &x, true, mine, NULL, to_all);
    }
    move(p, &y, false, unpacked, theirs, from_all);
}

/* ---- alltoall ---- */
static void pairs_init(struct pairs *p, struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);

    *p = (struct pairs){.call = call,
                        .is_leader = tiers->local_rank == 0,
                        .is_equal = call->args.kind == COLL_ALLTOALL,
                        .n = tiers->local_size,
                        .size = (size_t)call->comm->size};
}

mcomm_err_t mci_coll_alltoall_leaders(struct coll_call *call)
{
    size_t all = (size_t)call->comm->size * call->args.count;
    struct pairs p;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    pairs_init(&p, call);
    by_leaders(&p, coll_at(coll_input(&call->args), 0), all, call->args.recvbuf, all);
    return mci_coll_stages_end(call->stages);
}

/* ---- alltoallv ---- */
static const size_t *input_counts(const struct coll_args *args)
{
    return args->sendbuf == MCOMM_IN_PLACE ? args->recv_counts : args->send_counts;
}

static const size_t *input_displs(const struct coll_args *args)
{
    return args->sendbuf == MCOMM_IN_PLACE ? args->recv_displs : args->send_displs;
}

/* The blocks of which mine says nothing. */
static void go_directly(struct pairs *p)
{
    struct coll_args args = p->call->args;
    size_t *lists = mci_coll_stages_scratch(p->call->stages, 2 * p->size * sizeof(*lists));

    if (lists == NULL)
        return;
    for (size_t i = 0; i < p->size; i++) {
        lists[i] = p->mine[i] > 0 ? 0 : input_counts(&args)[i];
        lists[p->size + i] = p->mine[p->size + i] > 0 ? 0 : args.recv_counts[i];
    }
    args.send_counts = lists;
    args.recv_counts = lists + p->size;
    mci_coll_stages_algo(p->call->stages, LANE_NODE, STAGE_ALL, args, mci_coll_alltoall_pairwise);
}

/* The leader knows the counts. */
static void move_all(struct coll_call *call, void *arg)
{
    struct pairs *p = arg;
    const struct coll_args *args = &call->args;
    size_t to_all = sum(p->mine, p->size), from_all = sum(p->mine + p->size, p->size);
    char *mine = mci_coll_stages_scratch(call->stages, (to_all + from_all) * args->elem);
    char *theirs = mine != NULL ? mine + to_all * args->elem : NULL;

    if (mine == NULL)
        return;
    plan_pack(p, mine, coll_input(args), p->mine, input_displs(args), false);
    by_leaders(p, mine, to_all, theirs, from_all);
    /* in place: before what follows is written over what they send */
    go_directly(p);
    plan_pack(p, theirs, args->recvbuf, p->mine + p->size, args->recv_displs, true);
}

mcomm_err_t mci_coll_alltoallv_leaders(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t lists;
    struct pairs *p;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    p = mci_coll_stages_scratch(call->stages, sizeof(*p));
    if (p == NULL)
        return mci_coll_stages_end(call->stages);
    pairs_init(p, call);
    lists = 2 * p->size * sizeof(size_t);
    p->mine = mci_coll_stages_scratch(call->stages, lists);
    p->counts =
        p->is_leader ? mci_coll_stages_scratch(call->stages, (size_t)p->n * lists) : p->mine;
    if (p->mine == NULL || p->counts == NULL)
        return mci_coll_stages_end(call->stages);
    for (size_t i = 0; i < p->size; i++) {
        size_t to = input_counts(args)[i], from = args->recv_counts[i];

        p->mine[i] = to * args->elem <= DIRECT ? to : 0;
        p->mine[p->size + i] = from * args->elem <= DIRECT ? from : 0;
    }
    if (p->n == 1)
        memcpy(p->counts, p->mine, lists);
    mci_coll_on_node(call, STAGE_ALL,
                     (struct coll_args){.kind = COLL_GATHER,
                                        .sendbuf = p->mine,
                                        .recvbuf = p->counts,
                                        .count = lists,
                                        .dtype = MCOMM_BYTE,
                                        .elem = 1});
    mci_coll_stages_then(call->stages, move_all, p);
    return mci_coll_stages_end(call->stages);
}
