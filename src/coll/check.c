/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Setting MCOMM_CHECK: before a collective all members show each other what they are about to call.
 * All compare with rank 0 and so find the same first pair that differs.
 */
#include "coll/coll_priv.h"

static const char *const what_names[] = {
    [COLL_BARRIER] = "barrier",
    [COLL_BCAST] = "bcast",
    [COLL_ALLGATHER] = "allgather",
    [COLL_ALLREDUCE] = "allreduce",
};

static const char *what_name(int32_t what)
{
    return what >= COLL_BARRIER && what <= COLL_ALLREDUCE ? what_names[what] : "something else";
}

static mcomm_err_t compare(const struct coll_signature *a, const struct coll_signature *b, int rank)
{
    if (a->what != b->what)
        return mci_err_set(MCOMM_ERR_MISMATCH, "rank 0 calls %s, rank %d calls %s",
                           what_name(a->what), rank, what_name(b->what));
    if (a->count != b->count)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: count is %llu at rank 0, %llu at rank %d",
                           what_name(a->what), (unsigned long long)a->count,
                           (unsigned long long)b->count, rank);
    if (a->dtype != b->dtype)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: dtype is %s at rank 0, %s at rank %d",
                           what_name(a->what), mci_dtype_name((mcomm_datatype_t)a->dtype),
                           mci_dtype_name((mcomm_datatype_t)b->dtype), rank);
    if (a->op != b->op)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: op is %s at rank 0, %s at rank %d",
                           what_name(a->what), mci_op_name((mcomm_op_t)a->op),
                           mci_op_name((mcomm_op_t)b->op), rank);
    if (a->root != b->root)
        return mci_err_set(MCOMM_ERR_MISMATCH, "%s: root is %d at rank 0, %d at rank %d",
                           what_name(a->what), a->root, b->root, rank);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_coll_check(struct mci_comm *comm, mcomm_err_t err,
                           const struct coll_signature *mine)
{
    struct coll_signature *all = mci_mem_alloc((size_t)comm->size * sizeof(*all));

    if (all == NULL) /* the barrier's messages are as good for telling an error */
        return mci_comm_barrier(
            comm, mci_err_set(MCOMM_ERR_NO_MEM, "no memory to compare %d signatures", comm->size));
    err = mci_comm_allgather(comm, err, mine, all, sizeof(*mine));
    for (int i = 1; i < comm->size && err == MCOMM_SUCCESS; i++)
        err = compare(&all[0], &all[i], i);
    mci_mem_free(all);
    return err;
}
