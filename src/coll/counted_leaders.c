/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Gatherv and scatterv: the members of a node tell each other their counts; if they have little, it
 * goes to the root, or comes from it, in one message of their leader (teams.c), else each has its
 * own. The root knows all counts and so what comes and goes how. Before the blocks of a node stand
 * their counts: what one side splits otherwise than the other is an error.
 */
#include "coll/algos.h"
#include "coll/stages.h"

#define AT_ONCE 8

static bool is_gather(const struct coll_call *call)
{
    return call->args.kind == COLL_GATHERV;
}

/* ---- who is not on the root's node: counts are its members' ---- */
static void alone(struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);

    if (plan == NULL || args->count == 0)
        return;
    if (is_gather(call))
        mci_coll_plan_send(plan, args->sendbuf, coll_nbytes(args), args->root);
    else
        mci_coll_plan_recv(plan, args->recvbuf, coll_nbytes(args), args->root);
}

/* The leader's: message is the counts, then the blocks. */
static void message_of_node(struct coll_call *call, const size_t *counts, char *message,
                            size_t nbytes)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    int n = tiers->local_size, root = call->args.root;
    struct coll_plan *plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
    struct coll_expected *expected;

    if (plan == NULL)
        return;
    if (is_gather(call)) {
        memcpy(message, counts, (size_t)n * sizeof(*counts));
        mci_coll_plan_send(plan, message, nbytes, root);
        return;
    }
    mci_coll_plan_recv(plan, message, nbytes, root);
    expected = mci_coll_plan_expect(plan, message, (size_t)n);
    for (int i = 0; i < n && expected != NULL; i++)
        expected[i] = (struct coll_expected){counts[i], root, tiers->local[i]};
}

static void together(struct coll_call *call, const size_t *counts, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct coll_args args = call->args;
    size_t n = (size_t)tiers->local_size, header = n * sizeof(*counts);
    size_t nbytes = header + count * args.elem;
    size_t *displs = mci_coll_stages_scratch(call->stages, header);
    char *message = mci_coll_stages_scratch(call->stages, nbytes);

    if (displs == NULL || message == NULL)
        return;
    displs[0] = 0;
    for (size_t i = 1; i < n; i++)
        displs[i] = displs[i - 1] + counts[i - 1];
    args.root = 0;
    args.send_counts = args.recv_counts = counts;
    args.send_displs = args.recv_displs = displs;
    if (is_gather(call)) {
        args.recvbuf = message + header;
        mci_coll_on_node(call, STAGE_ALL, args);
    }
    if (tiers->local_rank == 0)
        message_of_node(call, counts, message, nbytes);
    if (!is_gather(call)) {
        args.sendbuf = message + header;
        mci_coll_on_node(call, STAGE_ALL, args);
    }
}

static void with_counts(struct coll_call *call, void *arg)
{
    const size_t *counts = arg;
    int n = coll_tiers_of(call)->local_size;
    size_t count = 0;

    for (int i = 0; i < n; i++)
        count += counts[i];
    if (n == 1 || !coll_go_together(count * call->args.elem))
        alone(call);
    else if (count > 0)
        together(call, counts, count);
}

/* ---- the root ---- */
struct root {
    struct coll_call *call;
    const size_t *counts;
    struct coll_plan *plan;   /* messages */
    struct coll_plan *copies; /* of nodes' blocks; of a scatter before the messages */
};

static char *block_of(const struct root *r, int rank)
{
    const struct coll_args *args = &r->call->args;

    return is_gather(r->call) ? coll_at(args->recvbuf, args->recv_displs[rank] * args->elem)
                              : coll_at(args->sendbuf, args->send_displs[rank] * args->elem);
}

static void message_of_rank(const struct root *r, int rank)
{
    const struct coll_args *args = &r->call->args;
    size_t nbytes = r->counts[rank] * args->elem;
    char *block = block_of(r, rank);

    if (rank == args->root && is_gather(r->call) && args->sendbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(r->plan, block, args->sendbuf, nbytes);
    if (rank == args->root && !is_gather(r->call) && args->recvbuf != MCOMM_IN_PLACE)
        mci_coll_plan_copy(r->plan, args->recvbuf, block, nbytes);
    if (rank == args->root || nbytes == 0)
        return;
    if (is_gather(r->call))
        mci_coll_plan_recv(r->plan, block, nbytes, rank);
    else
        mci_coll_plan_send(r->plan, block, nbytes, rank);
}

/* As together(), of another node. */
static void message_with(const struct root *r, int node, size_t count)
{
    const struct coll_tiers *tiers = coll_tiers_of(r->call);
    size_t n = (size_t)tiers->sizes[node], elem = r->call->args.elem;
    size_t header = n * sizeof(size_t), nbytes = header + count * elem;
    const int *ranks = tiers->order + tiers->begin[node];
    char *message = mci_coll_plan_scratch(r->copies, nbytes), *at = message + header;
    struct coll_expected *expected = NULL;

    if (message == NULL)
        return;
    if (is_gather(r->call)) {
        mci_coll_plan_recv(r->plan, message, nbytes, tiers->leaders[node]);
        expected = mci_coll_plan_expect(r->plan, message, n);
    }
    for (size_t i = 0; i < n; i++) {
        size_t own = r->counts[ranks[i]];

        if (expected != NULL)
            expected[i] = (struct coll_expected){own, ranks[i], r->call->args.root};
        if (is_gather(r->call)) {
            mci_coll_plan_copy(r->copies, block_of(r, ranks[i]), at, own * elem);
        } else {
            memcpy(message + i * sizeof(own), &own, sizeof(own));
            mci_coll_plan_copy(r->copies, at, block_of(r, ranks[i]), own * elem);
        }
        at += own * elem;
    }
    if (!is_gather(r->call))
        mci_coll_plan_send(r->plan, message, nbytes, tiers->leaders[node]);
}

static void with_all(struct coll_call *call)
{
    const struct coll_tiers *tiers = coll_tiers_of(call);
    struct root r = {.call = call,
                     .counts = is_gather(call) ? call->args.recv_counts : call->args.send_counts};
    int live = 0;

    if (!is_gather(call))
        r.copies = mci_coll_stages_plan(call->stages, LANE_NODE, STAGE_ALL);
    r.plan = mci_coll_stages_plan(call->stages, LANE_WIRE, STAGE_ALL);
    if (is_gather(call))
        r.copies = r.plan;
    if (r.plan == NULL || r.copies == NULL)
        return;
    for (int node = 0; node < call->comm->node_count; node++) {
        const int *ranks = tiers->order + tiers->begin[node];
        int n = tiers->sizes[node];
        size_t count = 0;

        for (int i = 0; i < n; i++)
            count += r.counts[ranks[i]];
        if (node != coll_my_node(call) && n > 1 && coll_go_together(count * call->args.elem)) {
            if (count > 0)
                message_with(&r, node, count);
            n = 0;
        }
        for (int i = 0; i < n; i++) {
            message_of_rank(&r, ranks[i]);
            if (++live % AT_ONCE == 0)
                mci_coll_plan_round(r.plan);
        }
    }
}

mcomm_err_t mci_coll_counted_leaders(struct coll_call *call)
{
    size_t *counts;
    mcomm_err_t err = mci_coll_stages_new(call);

    if (err != MCOMM_SUCCESS)
        return err;
    if (call->comm->rank == call->args.root) {
        with_all(call);
    } else if (call->comm->node_of[call->args.root] == coll_my_node(call)) {
        alone(call);
    } else {
        counts = mci_coll_node_counts(call, &call->args.count);
        mci_coll_stages_then(call->stages, with_counts, counts);
    }
    return mci_coll_stages_end(call->stages);
}
