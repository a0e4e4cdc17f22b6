/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * With the setting MCOMM_CHECK the first stages of every collective show all members what the
 * others call; all compare with rank 0 and so find the same first pair that differs. Where counts
 * are lists, every member then tells every other how much it sends it, and all learn of the first
 * that expects something else. Then all end the call with that error, nothing is lost and the
 * communicator goes on.
 */
#include "coll/coll_priv.h"

struct signature {
    uint64_t count; /* 0 where it may differ */
    int32_t kind, dtype, op, root;
    int32_t is_in_place; /* of kinds whose algorithm depends on it */
    int32_t err;         /* of this member's own arguments */
};

/* The callers' own operations have other numbers at other members. */
static int32_t op_number(mcomm_op_t op)
{
    return op < MCOMM_OP_USER ? (int32_t)op : MCOMM_OP_USER + mci_fold_is_commutative(op);
}

static const char *op_name(int32_t number)
{
    if (number < MCOMM_OP_USER)
        return mci_fold_op_name((mcomm_op_t)number);
    return number == MCOMM_OP_USER ? "user-defined, not commutative" : "user-defined, commutative";
}

static mcomm_err_t differ(const struct signature *a, const char *what, const char *of_a,
                          const char *of_b, int rank)
{
    return mci_err_set(MCOMM_ERR_MISMATCH, "%s: %s is %s at rank 0, %s at rank %d",
                       mci_coll_kind_name((enum coll_kind)a->kind), what, of_a, of_b, rank);
}

static const char *place_name(int32_t is_in_place)
{
    return is_in_place ? "MCOMM_IN_PLACE" : "a buffer";
}

static mcomm_err_t compare(const struct signature *a, const struct signature *b, int rank)
{
    if (a->kind != b->kind)
        return mci_err_set(MCOMM_ERR_MISMATCH, "rank 0 calls %s, rank %d calls %s",
                           mci_coll_kind_name((enum coll_kind)a->kind), rank,
                           mci_coll_kind_name((enum coll_kind)b->kind));
    if (a->count != b->count)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: count is %llu at rank 0, %llu at rank %d",
                           mci_coll_kind_name((enum coll_kind)a->kind),
                           (unsigned long long)a->count, (unsigned long long)b->count, rank);
    if (a->dtype != b->dtype)
        return differ(a, "dtype", mci_dtype_name((mcomm_datatype_t)a->dtype),
                      mci_dtype_name((mcomm_datatype_t)b->dtype), rank);
    if (a->op != b->op)
        return differ(a, "op", op_name(a->op), op_name(b->op), rank);
    if (a->root != b->root)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: root is %d at rank 0, %d at rank %d",
                           mci_coll_kind_name((enum coll_kind)a->kind), a->root, b->root, rank);
    if (a->is_in_place != b->is_in_place)
        return differ(a, "sendbuf", place_name(a->is_in_place), place_name(b->is_in_place), rank);
    return MCOMM_SUCCESS;
}

static bool has_lists(enum coll_kind kind)
{
    return kind == COLL_GATHERV || kind == COLL_SCATTERV || kind == COLL_ALLGATHERV ||
           kind == COLL_REDUCE_SCATTER || kind == COLL_ALLTOALLV;
}

static bool is_in_place(const struct coll_args *args)
{
    return args->sendbuf == MCOMM_IN_PLACE &&
           (args->kind == COLL_REDUCE_SCATTER_BLOCK || args->kind == COLL_REDUCE_SCATTER ||
            args->kind == COLL_ALLTOALL || args->kind == COLL_ALLTOALLV);
}

/* ---- lists of counts ---- */
#define NOT_SAID UINT64_MAX

/* What this member sends another, for the kinds with lists. */
static uint64_t sent_to(const struct coll_call *call, int rank)
{
    const struct coll_args *args = &call->args;
    bool is_in_place = args->sendbuf == MCOMM_IN_PLACE;

    switch (args->kind) {
    case COLL_GATHERV:
        return rank == args->root && !is_in_place ? args->count : NOT_SAID;
    case COLL_SCATTERV:
        return args->send_counts != NULL ? args->send_counts[rank] : NOT_SAID;
    case COLL_ALLGATHERV:
        return is_in_place ? args->recv_counts[call->comm->rank] : args->count;
    case COLL_REDUCE_SCATTER:
        return args->recv_counts[rank];
    default:
        return is_in_place ? args->recv_counts[rank] : args->send_counts[rank];
    }
}

/* What it expects of that one. */
static uint64_t expected_of(const struct coll_call *call, int rank)
{
    const struct coll_args *args = &call->args;

    switch (args->kind) {
    case COLL_GATHERV:
        return args->recv_counts != NULL ? args->recv_counts[rank] : NOT_SAID;
    case COLL_SCATTERV:
        return rank == args->root && args->recvbuf != MCOMM_IN_PLACE ? args->count : NOT_SAID;
    case COLL_REDUCE_SCATTER:
        return args->recv_counts[call->comm->rank];
    default:
        return args->recv_counts[rank];
    }
}

/* What one member found: the first rank that sends it another count. */
struct verdict {
    uint64_t sent, expected; /* equal: none */
    uint64_t rank;
};

static struct verdict judge(const struct coll_call *call, const uint64_t *sent)
{
    for (int i = 0; i < call->comm->size; i++) {
        uint64_t expected = expected_of(call, i);

        if (sent[i] != expected && sent[i] != NOT_SAID && expected != NOT_SAID)
            return (struct verdict){sent[i], expected, (uint64_t)i};
    }
    return (struct verdict){0};
}

static mcomm_err_t compare_lists(const struct coll_call *call, const struct verdict *verdicts)
{
    const char *kind = mci_coll_kind_name(call->args.kind);

    for (int i = 0; i < call->comm->size; i++) {
        const struct verdict *v = &verdicts[i];

        if (v->sent != v->expected && call->args.kind == COLL_REDUCE_SCATTER)
            return mci_err_set(MCOMM_ERR_MISMATCH,
                               "%s: recv_counts[%d] is %llu at rank %llu, %llu at rank %d", kind, i,
                               (unsigned long long)v->sent, (unsigned long long)v->rank,
                               (unsigned long long)v->expected, i);
        if (v->sent != v->expected)
            return mci_err_set(MCOMM_ERR_MISMATCH,
                               "%s: rank %llu sends %llu elements to rank %d, which expects %llu",
                               kind, (unsigned long long)v->rank, (unsigned long long)v->sent, i,
                               (unsigned long long)v->expected);
    }
    return MCOMM_SUCCESS;
}

/* ---- the stages ---- */
enum turn {
    SIGNATURES,
    COUNTS, /* these two only of kinds with lists */
    VERDICTS,
    TURN_NUM
};

struct coll_check {
    struct coll_call stages[TURN_NUM];
    int turn, turns; /* under way; how many there are */
    mcomm_err_t err;
    struct signature mine, *all;
    struct verdict verdict, *verdicts;
    uint64_t *sent, *received; /* to and from each */
    char memory[] __attribute__((aligned(8)));
};

static struct signature signature_of(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;

    return (struct signature){.count = has_lists(args->kind) ? 0 : args->count,
                              .kind = (int32_t)args->kind,
                              .dtype = (int32_t)args->dtype,
                              .op = op_number(args->op),
                              .root = args->root,
                              .is_in_place = is_in_place(args),
                              .err = (int32_t)call->arg_err};
}

static struct coll_call stage_of(const struct coll_call *call, enum coll_kind kind,
                                 const void *sendbuf, void *recvbuf, size_t nbytes)
{
    return (struct coll_call){.args = {.kind = kind,
                                       .sendbuf = sendbuf,
                                       .recvbuf = recvbuf,
                                       .count = nbytes,
                                       .dtype = MCOMM_BYTE,
                                       .elem = 1},
                              .team = call->team,
                              .comm = call->comm};
}

static struct coll_check *check_new(const struct coll_call *call)
{
    size_t n = (size_t)call->comm->size, each = sizeof(struct signature);
    bool is_of_lists = has_lists(call->args.kind) && call->arg_err == MCOMM_SUCCESS;
    struct coll_check *check;

    if (is_of_lists)
        each += sizeof(struct verdict) + 2 * sizeof(uint64_t);
    check = mci_mem_zalloc(sizeof(*check) + n * each);
    if (check == NULL)
        return NULL;
    check->turns = is_of_lists ? TURN_NUM : COUNTS;
    check->mine = signature_of(call);
    check->all = (struct signature *)(void *)check->memory;
    check->stages[SIGNATURES] =
        stage_of(call, COLL_ALLGATHER, &check->mine, check->all, sizeof(check->mine));
    if (!is_of_lists)
        return check;
    check->verdicts = (struct verdict *)(void *)(check->all + n);
    check->sent = (uint64_t *)(void *)(check->verdicts + n);
    check->received = check->sent + n;
    for (size_t i = 0; i < n; i++)
        check->sent[i] = sent_to(call, (int)i);
    check->stages[COUNTS] =
        stage_of(call, COLL_ALLTOALL, check->sent, check->received, sizeof(uint64_t));
    check->stages[VERDICTS] =
        stage_of(call, COLL_ALLGATHER, &check->verdict, check->verdicts, sizeof(check->verdict));
    return check;
}

static mcomm_err_t compare_all(const struct coll_check *check, int size)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; i < size; i++)
        if (check->all[i].err != MCOMM_SUCCESS)
            return mci_err_set((mcomm_err_t)check->all[i].err, "%s: arguments of rank %d: %s",
                               mci_coll_kind_name((enum coll_kind)check->all[i].kind), i,
                               mcomm_err_text((mcomm_err_t)check->all[i].err));
    for (int i = 1; i < size && err == MCOMM_SUCCESS; i++)
        err = compare(&check->all[0], &check->all[i], i);
    return err;
}

/* What the stage that is over tells: equal at all members. */
static mcomm_err_t learn(const struct coll_call *call, struct coll_check *check)
{
    switch (check->turn) {
    case SIGNATURES:
        return compare_all(check, call->comm->size);
    case COUNTS:
        check->verdict = judge(call, check->received);
        return MCOMM_SUCCESS;
    default:
        return compare_lists(call, check->verdicts);
    }
}

bool mci_coll_compare_step(struct coll_call *call)
{
    struct coll_check *check = call->check;

    if (check == NULL) {
        call->check = check = check_new(call);
        if (check == NULL) {
            call->err = mci_err_set(MCOMM_ERR_NO_MEM, "no memory to compare %d signatures",
                                    call->comm->size);
            mci_coll_poison(call, call->err);
            return true;
        }
    }
    for (; check->turn < check->turns && call->err == MCOMM_SUCCESS; check->turn++) {
        struct coll_call *stage = &check->stages[check->turn];

        stage->seq = call->seq;
        stage->tag = call->tag;
        if (!mci_coll_call_step(stage))
            return false;
        call->err = stage->err;
        if (call->err != MCOMM_SUCCESS)
            mci_coll_poison(call, call->err);
        else
            call->err = check->err = learn(call, check);
    }
    return true;
}

bool mci_coll_compare_explain(const struct coll_call *call)
{
    const struct coll_check *check = call->check;

    if (check == NULL || check->err == MCOMM_SUCCESS)
        return false;
    return compare_all(check, call->comm->size) != MCOMM_SUCCESS ||
           compare_lists(call, check->verdicts) != MCOMM_SUCCESS;
}

void mci_coll_compare_rewind(struct coll_check *check)
{
    check->turn = SIGNATURES;
    check->err = MCOMM_SUCCESS;
    for (int i = 0; i < check->turns; i++)
        mci_coll_call_rewind(&check->stages[i]);
}

void mci_coll_compare_withdraw(struct coll_check *check)
{
    for (int i = 0; i < check->turns; i++)
        mci_coll_call_withdraw(&check->stages[i]);
}

void mci_coll_compare_free(struct coll_check *check)
{
    for (int i = 0; check != NULL && i < check->turns; i++)
        mci_coll_call_fini(&check->stages[i]);
    mci_mem_free(check);
}
