/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * With the setting MCOMM_CHECK the first stage of every collective shows all members what the
 * others call; all compare with rank 0 and so find the same first pair that differs. Then all end
 * the call with that error, nothing is lost and the communicator goes on.
 */
#include "coll/coll_priv.h"

struct signature {
    uint64_t count; /* 0 where it may differ */
    int32_t kind, dtype, op, root;
    int32_t err; /* of this member's own arguments */
};

static mcomm_err_t differ(const struct signature *a, const char *what, const char *of_a,
                          const char *of_b, int rank)
{
    return mci_err_set(MCOMM_ERR_MISMATCH, "%s: %s is %s at rank 0, %s at rank %d",
                       mci_coll_kind_name((enum coll_kind)a->kind), what, of_a, of_b, rank);
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
        return differ(a, "op", mci_fold_op_name((mcomm_op_t)a->op),
                      mci_fold_op_name((mcomm_op_t)b->op), rank);
    if (a->root != b->root)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: root is %d at rank 0, %d at rank %d",
                           mci_coll_kind_name((enum coll_kind)a->kind), a->root, b->root, rank);
    return MCOMM_SUCCESS;
}

static bool may_differ_in_count(enum coll_kind kind)
{
    return kind == COLL_GATHERV || kind == COLL_SCATTERV || kind == COLL_ALLGATHERV ||
           kind == COLL_ALLTOALLV;
}

struct coll_check {
    struct coll_call stage; /* an allgather of the signatures */
    bool is_over;
    mcomm_err_t err;
    struct signature mine;
    struct signature all[];
};

static struct coll_check *check_new(const struct coll_call *call)
{
    const struct coll_args *args = &call->args;
    size_t n = (size_t)call->comm->size;
    struct coll_check *check = mci_mem_zalloc(sizeof(*check) + n * sizeof(check->all[0]));

    if (check == NULL)
        return NULL;
    check->mine =
        (struct signature){.count = may_differ_in_count(args->kind) ? 0 : args->count,
                           .kind = (int32_t)args->kind,
                           .dtype = (int32_t)args->dtype,
                           .op = args->op >= MCOMM_OP_USER ? MCOMM_OP_USER : (int32_t)args->op,
                           .root = args->root,
                           .err = (int32_t)call->arg_err};
    check->stage = (struct coll_call){.args = {.kind = COLL_ALLGATHER,
                                               .sendbuf = &check->mine,
                                               .recvbuf = check->all,
                                               .count = sizeof(check->mine),
                                               .dtype = MCOMM_BYTE,
                                               .elem = 1},
                                      .team = call->team,
                                      .comm = call->comm};
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
    if (check->is_over)
        return true;
    check->stage.seq = call->seq;
    check->stage.tag = call->tag;
    if (!mci_coll_call_step(&check->stage))
        return false;
    check->is_over = true;
    call->err = check->stage.err;
    if (call->err != MCOMM_SUCCESS)
        mci_coll_poison(call, call->err);
    else
        call->err = check->err = compare_all(check, call->comm->size);
    return true;
}

bool mci_coll_compare_explain(const struct coll_call *call)
{
    return call->check != NULL && call->check->err != MCOMM_SUCCESS &&
           compare_all(call->check, call->comm->size) != MCOMM_SUCCESS;
}

void mci_coll_compare_rewind(struct coll_check *check)
{
    check->is_over = false;
    check->err = MCOMM_SUCCESS;
    mci_coll_call_rewind(&check->stage);
}

void mci_coll_compare_withdraw(struct coll_check *check)
{
    mci_coll_call_withdraw(&check->stage);
}

void mci_coll_compare_free(struct coll_check *check)
{
    if (check != NULL)
        mci_coll_call_fini(&check->stage);
    mci_mem_free(check);
}
