/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What is wrong with the arguments of a message call: texts with name and value. */
#include "config.h"

#include "pt2pt/api_check.h"

#include <sys/types.h>

const struct mci_api_names mci_api_of_send = {"buf", "dest", "tag"};
const struct mci_api_names mci_api_of_recv = {"buf", "source", "tag"};

mcomm_err_t mci_api_bad_comm(mcomm_comm_t handle)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_lookup("comm", handle, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    return mci_err_set(MCOMM_ERR_REVOKED, "%s is revoked", mci_comm_text(comm));
}

mcomm_err_t mci_api_bad_peer(const struct mci_comm *comm, const struct mci_api_names *names,
                             int rank, int tag, bool is_send)
{
    bool is_rank = (rank >= 0 && rank < comm->size) || rank == MCOMM_RANK_NULL ||
                   (!is_send && rank == MCOMM_ANY_SOURCE);

    if (!is_rank)
        return mci_err_set(MCOMM_ERR_RANK, "%s = %d is not a rank of %s with %d ranks", names->rank,
                           rank, mci_comm_text(comm), comm->size);
    return mci_err_set(MCOMM_ERR_TAG, "%s = %d: tags are 0 ... %d%s", names->tag, tag,
                       MCOMM_TAG_MAX, is_send ? "" : ", or MCOMM_ANY_TAG");
}

mcomm_err_t mci_api_check_list(const mcomm_iov_t *iov, size_t iov_count, size_t *nbytes_p)
{
    size_t sum = 0;

    if (iov_count > IOV_COUNT_MAX)
        return mci_err_set(MCOMM_ERR_COUNT, "iov_count = %zu (%zd if it was negative): at most %zu",
                           iov_count, (ssize_t)iov_count, IOV_COUNT_MAX);
    if (iov == NULL && iov_count > 0)
        return mci_err_set(MCOMM_ERR_ARG, "iov is NULL, with iov_count = %zu", iov_count);
    for (size_t i = 0; i < iov_count; i++) {
        if (iov[i].base == NULL && iov[i].nbytes > 0)
            return mci_err_set(MCOMM_ERR_BUFFER, "iov[%zu].base is NULL, with %zu bytes", i,
                               iov[i].nbytes);
        if (__builtin_add_overflow(sum, iov[i].nbytes, &sum) || sum > PTRDIFF_MAX)
            return mci_err_set(MCOMM_ERR_COUNT, "iov[%zu].nbytes = %zu: the sum is too large", i,
                               iov[i].nbytes);
    }
    *nbytes_p = sum;
    return MCOMM_SUCCESS;
}
