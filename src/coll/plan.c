/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Plans: the messages of a call and the work between them, in rounds, laid down when the call
 * starts; Hoefler, Lumsdaine, Rehm 2007 (libNBC). One executor serves all algorithms that talk by
 * messages, in every form of the call. At an error what is under way is withdrawn.
 */
#include "coll/coll_priv.h"

#include <string.h>

enum plan_what {
    PLAN_SEND,
    PLAN_RECV,
    PLAN_COPY,
    PLAN_FOLD,
    PLAN_FOLD_MANY,
    PLAN_WIDEN,
    PLAN_NARROW,
    PLAN_EXPECT,
    PLAN_ROUND
};

struct plan_step {
    enum plan_what what;
    int rank; /* fold of many: how many */
    void *dst;
    const void *src, *right; /* fold of many: src is the list */
    size_t nbytes;           /* folds, widen, narrow: elements; expect: counts */
};

struct coll_plan {
    struct coll_call *call;
    struct plan_step *steps;
    size_t count, room;
    size_t begin;                              /* of the round under way */
    size_t sends, recvs, sends_max, recvs_max; /* of the round that is being laid down; the most */
    struct mci_send *send_ops;
    struct mci_recv *recv_ops;
    size_t *recv_nbytes;         /* expected */
    size_t send_live, recv_live; /* operations of this round */
    bool is_started;
    void **scratches;
    size_t scratch_count;
    mcomm_err_t err;
};

/* ---- laying down ---- */
mcomm_err_t mci_coll_plan_new(struct coll_call *call)
{
    call->plan = mci_mem_zalloc(sizeof(*call->plan));
    if (call->plan == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for its plan",
                           mci_coll_kind_name(call->args.kind));
    call->plan->call = call;
    return MCOMM_SUCCESS;
}

static void plan_add(struct coll_plan *plan, struct plan_step step)
{
    if (plan->count == plan->room) {
        size_t room = plan->room > 0 ? plan->room * 2 : 16;
        struct plan_step *steps = mci_mem_realloc(plan->steps, room * sizeof(*steps));

        if (steps == NULL) {
            plan->err = mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for a plan of %zu steps",
                                    mci_coll_kind_name(plan->call->args.kind), room);
            return;
        }
        plan->steps = steps;
        plan->room = room;
    }
    plan->steps[plan->count++] = step;
}

void mci_coll_plan_send(struct coll_plan *plan, const void *buf, size_t nbytes, int dest)
{
    plan_add(plan, (struct plan_step){.what = PLAN_SEND,
                                      .rank = coll_rank_of(plan->call, dest),
                                      .src = buf,
                                      .nbytes = nbytes});
    plan->sends++;
}

void mci_coll_plan_recv(struct coll_plan *plan, void *buf, size_t nbytes, int source)
{
    plan_add(plan, (struct plan_step){.what = PLAN_RECV,
                                      .rank = coll_rank_of(plan->call, source),
                                      .dst = buf,
                                      .nbytes = nbytes});
    plan->recvs++;
}

void mci_coll_plan_copy(struct coll_plan *plan, void *dst, const void *src, size_t nbytes)
{
    if (nbytes > 0 && dst != src)
        plan_add(plan,
                 (struct plan_step){.what = PLAN_COPY, .dst = dst, .src = src, .nbytes = nbytes});
}

void mci_coll_plan_fold(struct coll_plan *plan, void *dst, const void *left, const void *right,
                        size_t count)
{
    plan_add(plan,
             (struct plan_step){
                 .what = PLAN_FOLD, .dst = dst, .src = left, .right = right, .nbytes = count});
}

void mci_coll_plan_fold_many(struct coll_plan *plan, void *dst, const void *blocks, int n,
                             size_t count)
{
    size_t nbytes = count * plan->call->args.elem;
    const void **srcs = mci_coll_plan_scratch(plan, (size_t)n * sizeof(*srcs));

    if (srcs == NULL)
        return;
    for (int i = 0; i < n; i++)
        srcs[i] = (const char *)blocks + (size_t)i * nbytes;
    plan_add(plan, (struct plan_step){.what = PLAN_FOLD_MANY,
                                      .rank = n,
                                      .dst = dst,
                                      .src = (const void *)srcs,
                                      .nbytes = count});
}

void mci_coll_plan_widen(struct coll_plan *plan, void *wide, const void *from, size_t count)
{
    plan_add(plan,
             (struct plan_step){.what = PLAN_WIDEN, .dst = wide, .src = from, .nbytes = count});
}

void mci_coll_plan_narrow(struct coll_plan *plan, void *to, const void *wide, size_t count)
{
    plan_add(plan,
             (struct plan_step){.what = PLAN_NARROW, .dst = to, .src = wide, .nbytes = count});
}

struct coll_expected *mci_coll_plan_expect(struct coll_plan *plan, const void *sent, size_t n)
{
    struct coll_expected *expected = mci_coll_plan_scratch(plan, n * sizeof(*expected));

    if (expected != NULL)
        plan_add(plan, (struct plan_step){
                           .what = PLAN_EXPECT, .src = sent, .right = expected, .nbytes = n});
    return expected;
}

void mci_coll_plan_round(struct coll_plan *plan)
{
    plan_add(plan, (struct plan_step){.what = PLAN_ROUND});
    if (plan->sends > plan->sends_max)
        plan->sends_max = plan->sends;
    if (plan->recvs > plan->recvs_max)
        plan->recvs_max = plan->recvs;
    plan->sends = plan->recvs = 0;
}

void *mci_coll_plan_scratch(struct coll_plan *plan, size_t nbytes)
{
    void **list = mci_mem_realloc(plan->scratches, (plan->scratch_count + 1) * sizeof(*list));
    void *scratch = mci_mem_alloc(nbytes);

    if (list != NULL)
        plan->scratches = list;
    if (list == NULL || scratch == NULL) {
        mci_mem_free(scratch);
        plan->err = mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for %zu bytes",
                                mci_coll_kind_name(plan->call->args.kind), nbytes);
        return NULL;
    }
    plan->scratches[plan->scratch_count++] = scratch;
    return scratch;
}

mcomm_err_t mci_coll_plan_end(struct coll_plan *plan)
{
    mci_coll_plan_round(plan);
    if (plan->err != MCOMM_SUCCESS)
        return plan->err;
    plan->send_ops = mci_mem_alloc(plan->sends_max * sizeof(*plan->send_ops));
    plan->recv_ops = mci_mem_alloc(plan->recvs_max * sizeof(*plan->recv_ops));
    plan->recv_nbytes = mci_mem_alloc(plan->recvs_max * sizeof(*plan->recv_nbytes));
    if (plan->send_ops == NULL || plan->recv_ops == NULL || plan->recv_nbytes == NULL)
        plan->err = mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for %zu messages",
                                mci_coll_kind_name(plan->call->args.kind),
                                plan->sends_max + plan->recvs_max);
    return plan->err;
}

void mci_coll_plan_free(struct coll_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->scratch_count; i++)
        mci_mem_free(plan->scratches[i]);
    mci_mem_free(plan->scratches);
    mci_mem_free(plan->send_ops);
    mci_mem_free(plan->recv_ops);
    mci_mem_free(plan->recv_nbytes);
    mci_mem_free(plan->steps);
    mci_mem_free(plan);
}

/* ---- going through it ---- */
void mci_coll_plan_rewind(struct coll_plan *plan)
{
    plan->begin = 0;
    plan->is_started = false;
    plan->send_live = plan->recv_live = 0;
}

static void message_start(struct coll_plan *plan, const struct plan_step *step)
{
    struct coll_call *call = plan->call;

    if (step->what == PLAN_SEND) {
        struct mci_send *op = &plan->send_ops[plan->send_live++];

        op->done = NULL;
        mci_send_start(op, call->comm, MCI_CTX_COLL, step->src, step->nbytes, step->rank, call->tag,
                       0);
    } else {
        struct mci_recv *op = &plan->recv_ops[plan->recv_live];

        plan->recv_nbytes[plan->recv_live++] = step->nbytes;
        op->done = NULL;
        op->stalled = NULL;
        mci_recv_start(op, call->comm, MCI_CTX_COLL, step->dst, step->nbytes, step->rank,
                       call->tag);
    }
}

/* Receives first: what has come already goes straight to its place. */
static void round_start(struct coll_plan *plan)
{
    const struct plan_step *step;

    for (step = &plan->steps[plan->begin]; step->what != PLAN_ROUND; step++)
        if (step->what == PLAN_RECV)
            message_start(plan, step);
    for (step = &plan->steps[plan->begin]; step->what != PLAN_ROUND; step++)
        if (step->what == PLAN_SEND)
            message_start(plan, step);
    plan->is_started = true;
}

static mcomm_err_t recv_result(const struct coll_plan *plan, const struct mci_recv *op,
                               size_t nbytes)
{
    const struct coll_call *call = plan->call;

    if (op->status.error != MCOMM_SUCCESS && op->status.error != MCOMM_ERR_TRUNCATE)
        return mci_recv_explain(op, call->comm);
    if (op->status.nbytes != nbytes)
        return mci_err_set(MCOMM_ERR_MISMATCH,
                           "%s: rank %d sends %zu bytes where rank %d expects %zu",
                           mci_coll_kind_name(call->args.kind), op->status.source,
                           op->status.nbytes, call->comm->rank, nbytes);
    return MCOMM_SUCCESS;
}

/*
 * true: all messages of the round are complete, or one has failed. Where the other side withdrew
 * its half it has given up the call and tells why: that word is waited for.
 */
static bool round_is_over(struct coll_plan *plan)
{
    bool is_over = true;

    for (size_t i = 0; i < plan->recv_live && plan->err == MCOMM_SUCCESS; i++) {
        const struct mci_recv *op = &plan->recv_ops[i];

        if (!op->is_done || op->status.error == MCOMM_ERR_CANCELLED)
            is_over = false;
        else
            plan->err = recv_result(plan, op, plan->recv_nbytes[i]);
    }
    for (size_t i = 0; i < plan->send_live && plan->err == MCOMM_SUCCESS; i++) {
        const struct mci_send *op = &plan->send_ops[i];

        if (!op->is_done || op->err == MCOMM_ERR_CANCELLED)
            is_over = false;
        else if (op->err != MCOMM_SUCCESS)
            plan->err = mci_send_explain(op, plan->call->comm);
    }
    return is_over || plan->err != MCOMM_SUCCESS;
}

static mcomm_err_t compare_counts(const struct coll_call *call, const struct plan_step *step)
{
    const struct coll_expected *expected = step->right;

    for (size_t i = 0; i < step->nbytes; i++) {
        size_t count;

        memcpy(&count, (const char *)step->src + i * sizeof(count), sizeof(count));
        if (count != expected[i].count)
            return mci_err_set(MCOMM_ERR_MISMATCH,
                               "%s: rank %d sends %zu elements to rank %d, which expects %zu",
                               mci_coll_kind_name(call->args.kind), expected[i].from, count,
                               expected[i].to, expected[i].count);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t step_work(const struct coll_call *call, const struct plan_step *step)
{
    const struct coll_args *args = &call->args;

    switch (step->what) {
    case PLAN_COPY:
        memmove(step->dst, step->src, step->nbytes);
        break;
    case PLAN_FOLD:
        mci_fold_two(step->dst, step->src, step->right, step->nbytes, args->dtype, args->op);
        break;
    case PLAN_FOLD_MANY:
        mci_fold_many(step->dst, (const void *const *)step->src, step->rank, step->nbytes,
                      args->dtype, coll_fold_op(call));
        break;
    case PLAN_WIDEN:
        mci_fold_widen(step->dst, step->src, step->nbytes, args->dtype, args->op, call->team.size);
        break;
    case PLAN_NARROW:
        mci_fold_narrow(step->dst, step->src, step->nbytes, args->dtype, args->op, call->team.size);
        break;
    case PLAN_EXPECT:
        return compare_counts(call, step);
    default:
        break;
    }
    return MCOMM_SUCCESS;
}

static void round_work(struct coll_plan *plan)
{
    const struct plan_step *step;

    for (step = &plan->steps[plan->begin]; step->what != PLAN_ROUND && plan->err == MCOMM_SUCCESS;
         step++)
        plan->err = step_work(plan->call, step);
    plan->begin = (size_t)(step - plan->steps) + 1;
    plan->is_started = false;
    plan->send_live = plan->recv_live = 0;
}

bool mci_coll_plan_step(struct coll_call *call)
{
    struct coll_plan *plan = call->plan;

    while (plan->begin < plan->count) {
        if (!plan->is_started)
            round_start(plan);
        if (!round_is_over(plan))
            return false;
        if (plan->err == MCOMM_SUCCESS)
            round_work(plan);
        if (plan->err != MCOMM_SUCCESS) {
            call->err = plan->err;
            return true;
        }
    }
    return true;
}

void mci_coll_plan_withdraw(struct coll_plan *plan)
{
    for (size_t i = 0; i < plan->recv_live; i++)
        mci_recv_withdraw(&plan->recv_ops[i]);
    for (size_t i = 0; i < plan->send_live; i++)
        mci_send_withdraw(&plan->send_ops[i]);
    plan->send_live = plan->recv_live = 0;
}
