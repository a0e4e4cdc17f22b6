/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The life of a call: queued, stepped while it is the first of its communicator, over. A member
 * that failed or gave up ends all calls from that one on. A call ends once; nothing touches its
 * buffers afterwards.
 */
#include "coll/coll_priv.h"
#include "base/loop.h"
#include "base/settings.h"
#include "coll/node.h"

#define TICK_NS 1000000 /* monitor's look at calls that nobody waits for */
#define QUICK_LOOKS 16  /* looks at the own call between rounds of progress, on an own core */

static struct mci_list active; /* of struct coll_comm */
static struct mci_loop_timer tick;
static bool is_ticking;

static size_t result_count(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;

    return args->kind == COLL_REDUCE_SCATTER ? args->recv_counts[call->comm->rank] : args->count;
}

/* The last step of an average that was summed by and by, where there is a result. */
static void average(struct coll_call *call)
{
    const struct coll_args *args = &call->args;

    if (args->kind == COLL_REDUCE && call->comm->rank != args->root)
        return;
    mci_fold_average(args->recvbuf, result_count(call), call->comm->size, args->dtype);
}

/* The result is one rank's operand: nothing was folded. */
static bool is_of_one(const struct coll_call *call)
{
    switch (call->args.kind) {
    case COLL_REDUCE:
    case COLL_ALLREDUCE:
    case COLL_REDUCE_SCATTER_BLOCK:
    case COLL_REDUCE_SCATTER:
        return call->comm->size == 1;
    case COLL_SCAN:
        return call->comm->rank == 0;
    case COLL_EXSCAN:
        return call->comm->rank == 1;
    default:
        return false;
    }
}

static void call_over(struct coll_call *call)
{
    struct coll_comm *cc = coll_comm_of(call->comm);
    struct mci_comm *comm = call->comm;

    mci_list_remove(&call->link);
    if (mci_list_is_empty(&cc->queue))
        mci_list_remove(&cc->active);
    if (call->err != MCOMM_SUCCESS)
        mci_coll_call_withdraw(call);
    if (call->err == MCOMM_SUCCESS && call->args.op == MCOMM_AVG && !mci_coll_folds_at_once(call))
        average(call);
    if (call->err == MCOMM_SUCCESS && is_of_one(call))
        mci_fold_truth(call->args.recvbuf, result_count(call), call->args.dtype, call->args.op);
    call->is_done = true;
    mci_wake_self();
    if (call->done == NULL)
        return;       /* the waiter has the reference */
    call->done(call); /* its memory may be gone now */
    mci_comm_unref(comm);
}

bool mci_coll_call_step(struct coll_call *call)
{
    if (call->algo == NULL) {
        call->algo = mci_coll_select(call);
        if (call->algo == NULL)
            return false;
        if (call->algo->build != NULL)
            call->err = call->algo->build(call);
        if (call->err != MCOMM_SUCCESS)
            return true;
    }
    return call->algo->step(call);
}

void mci_coll_call_withdraw(struct coll_call *call)
{
    if (call->plan != NULL)
        mci_coll_plan_withdraw(call->plan);
    if (call->stages != NULL)
        mci_coll_stages_withdraw(call->stages);
    if (call->check != NULL)
        mci_coll_compare_withdraw(call->check);
}

void mci_coll_call_rewind(struct coll_call *call)
{
    call->stage = call->cursor = 0;
    call->err = MCOMM_SUCCESS;
    if (call->plan != NULL)
        mci_coll_plan_rewind(call->plan);
    if (call->stages != NULL)
        mci_coll_stages_rewind(call->stages);
    if (call->check != NULL)
        mci_coll_compare_rewind(call->check);
}

void mci_coll_call_fini(struct coll_call *call)
{
    mci_coll_plan_free(call->plan);
    mci_coll_stages_free(call->stages);
    mci_coll_compare_free(call->check);
    call->plan = NULL;
    call->stages = NULL;
    call->check = NULL;
}

static bool is_compared(const struct coll_call *call)
{
    return mci_settings.check && call->comm->size > 1;
}

static mcomm_err_t left_error(const struct coll_call *call, const struct coll_node *node)
{
    return mci_err_set(MCOMM_ERR_PROC_FAILED, "%s: rank %d of %s has finalized",
                       mci_coll_kind_name(call->args.kind),
                       tiers_local(&coll_comm_of(call->comm)->tiers, node->left),
                       mci_comm_text(call->comm));
}

void mci_coll_comm_step(struct coll_comm *cc)
{
    while (!mci_list_is_empty(&cc->queue)) {
        struct coll_call *call = mci_container_of(cc->queue.next, struct coll_call, link);
        mcomm_err_t err = mci_coll_poisoned(call);

        if (__builtin_expect(err != MCOMM_SUCCESS, 0)) {
            mci_coll_call_fail(call, err);
            continue;
        }
        if (__builtin_expect(is_compared(call), 0)) {
            if (!mci_coll_compare_step(call))
                return;
            if (call->err != MCOMM_SUCCESS) { /* at all members */
                call_over(call);
                continue;
            }
        }
        if (!mci_coll_call_step(call)) {
            if (cc->node == NULL || __builtin_expect(cc->node->left < 0, 1))
                return;
            mci_coll_call_fail(call, left_error(call, cc->node));
            continue;
        }
        if (__builtin_expect(call->err != MCOMM_SUCCESS, 0))
            mci_coll_poison(call, call->err);
        call_over(call);
    }
}

void mci_coll_call_fail(struct coll_call *call, mcomm_err_t err)
{
    call->err = err;
    mci_coll_poison(call, err);
    call_over(call);
}

void mci_coll_calls_end(void)
{
    struct mci_waiter limit;

    mci_wait_begin(&limit, (int)mci_settings.finalize_timeout);
    while (!mci_list_is_empty(&active) && mci_wait_step(&limit) == MCOMM_SUCCESS)
        ;
    while (!mci_list_is_empty(&active)) {
        struct coll_comm *cc = mci_container_of(active.next, struct coll_comm, active);
        struct coll_call *call = mci_container_of(cc->queue.next, struct coll_call, link);

        mci_coll_call_fail(call, mci_err_set(MCOMM_ERR_PROC_FAILED, "%s: this process finalizes",
                                             mci_coll_kind_name(call->args.kind)));
    }
    mci_loop_timer_cancel(&tick);
    is_ticking = false;
}

static int calls_poll(void *arg)
{
    struct mci_list *node, *next;
    int events = 0;

    (void)arg;
    MCI_LIST_FOREACH_SAFE (node, next, &active) {
        struct coll_comm *cc = mci_container_of(node, struct coll_comm, active);
        struct mci_list *first = cc->queue.next;

        mci_comm_ref(cc->comm);
        mci_coll_comm_step(cc);
        events += cc->queue.next != first;
        mci_comm_unref(cc->comm);
    }
    return events;
}

/* Nobody may be in a call of the library while calls go on. */
static void on_tick(struct mci_loop_timer *timer)
{
    mci_progress();
    is_ticking = !mci_list_is_empty(&active);
    if (is_ticking)
        mci_loop_timer_set(timer, TICK_NS);
}

void mci_coll_call_begin(struct coll_call *call, struct mci_comm *comm)
{
    struct coll_comm *cc = coll_comm_of(comm);
    bool is_waited_for = call->done == NULL;

    call->comm = comm;
    call->team = (struct coll_team){.rank = comm->rank, .size = comm->size};
    mci_coll_call_rewind(call);
    call->seq = comm->coll_seq++;
    call->tag = (int)(call->seq & MCOMM_TAG_MAX);
    call->is_done = false;
    mci_comm_ref(comm);
    if (mci_list_is_empty(&cc->queue))
        mci_list_push(&active, &cc->active);
    mci_list_push(&cc->queue, &call->link);
    if (cc->queue.next == &call->link)
        mci_coll_comm_step(cc); /* the call may be gone now */
    if (!is_waited_for && !is_ticking && !mci_list_is_empty(&active)) {
        is_ticking = true;
        mci_loop_timer_set(&tick, TICK_NS);
    }
}

void mci_coll_call_explain(const struct coll_call *call)
{
    if (!mci_coll_compare_explain(call))
        mci_coll_poison_explain(call);
}

mcomm_err_t mci_coll_run(struct mci_comm *comm, const struct coll_args *args)
{
    return mci_coll_run_checked(comm, args, MCOMM_SUCCESS);
}

mcomm_err_t mci_coll_run_checked(struct mci_comm *comm, const struct coll_args *args,
                                 mcomm_err_t arg_err)
{
    struct coll_call call;
    struct mci_waiter limit;
    mcomm_err_t err = MCOMM_SUCCESS;

    call.args = *args;
    call.done = NULL;
    call.algo = NULL;
    call.plan = NULL;
    call.stages = NULL;
    mci_fold_op_hold(args->op);
    call.check = NULL;
    call.arg_err = arg_err;
    mci_coll_call_begin(&call, comm);
    if (!call.is_done) {
        struct coll_comm *cc = coll_comm_of(comm);
        int looks = mci_wait_may_spin() ? QUICK_LOOKS : 1;

        mci_wait_begin(&limit, comm->timeout_ms);
        do {
            for (int i = 0; i < looks && !call.is_done && cc->queue.next == &call.link; i++)
                mci_coll_comm_step(cc);
            if (!call.is_done)
                err = mci_wait_step(&limit);
        } while (!call.is_done && err == MCOMM_SUCCESS);
        if (!call.is_done) {
            if (err == MCOMM_ERR_TIMEOUT)
                mci_err_set(err, "%s number %u did not end within %d ms",
                            mci_coll_kind_name(args->kind), call.seq, comm->timeout_ms);
            mci_coll_call_fail(&call, err);
        } else if (call.err != MCOMM_SUCCESS) {
            mci_coll_call_explain(&call);
        }
    }
    mci_coll_call_fini(&call);
    mci_fold_op_release(args->op);
    mci_comm_unref(comm);
    return call.err;
}

mcomm_err_t mci_coll_call_start_module(void)
{
    mci_list_init(&active);
    mci_loop_timer_init(&tick, on_tick, NULL);
    is_ticking = false;
    return mci_poll_add(calls_poll, NULL, 1);
}

void mci_coll_call_stop_module(void)
{
    mci_poll_remove(calls_poll, NULL);
}
