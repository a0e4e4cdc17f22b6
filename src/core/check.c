/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The checks of arguments that every exported function makes; each text names argument and value.
 */
#include "config.h"

#include "core/core_priv.h"

#include <stdint.h>

mcomm_err_t mci_check_not_up(void)
{
    if (atomic_load_explicit(&mci_core_phase, memory_order_acquire) == MCI_CORE_FORKED)
        return mci_err_set(MCOMM_ERR_FORKED, "called in a child made by fork(): only the parent "
                                             "is a member of the job");
    return mci_err_set(MCOMM_ERR_NOT_INIT,
                       "the library is not initialized: call mcomm_init() first");
}

mcomm_err_t mci_check_pointer(const char *name, const void *ptr)
{
    if (ptr == NULL)
        return mci_err_set(MCOMM_ERR_ARG, "%s is NULL", name);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_timeout(const char *name, int timeout_ms)
{
    if (timeout_ms < MCOMM_FOREVER)
        return mci_err_set(MCOMM_ERR_ARG, "%s = %d: milliseconds, or MCOMM_FOREVER", name,
                           timeout_ms);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_rank(const struct mci_comm *comm, const char *name, int rank)
{
    if (rank < 0 || rank >= comm->size)
        return mci_err_set(MCOMM_ERR_RANK, "%s = %d is not a rank of %s with %d ranks", name, rank,
                           mci_comm_text(comm), comm->size);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_buffer(const char *name, const void *buf, size_t nbytes)
{
    if (nbytes > PTRDIFF_MAX)
        return mci_err_set(MCOMM_ERR_COUNT, "size of %s = %zu bytes (%td if it was negative)", name,
                           nbytes, (ptrdiff_t)nbytes);
    if (buf == NULL && nbytes > 0)
        return mci_err_set(MCOMM_ERR_BUFFER, "%s is NULL, with a size of %zu bytes", name, nbytes);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_count(const char *name, size_t count, size_t elem_nbytes)
{
    size_t nbytes;

    if (__builtin_mul_overflow(count, elem_nbytes, &nbytes) || nbytes > PTRDIFF_MAX)
        return mci_err_set(MCOMM_ERR_COUNT,
                           "%s = %zu (%td if it was negative) is too large for "
                           "elements of %zu bytes",
                           name, count, (ptrdiff_t)count, elem_nbytes);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_struct_size(const char *name, size_t struct_size, size_t min)
{
    if (struct_size < min)
        return mci_err_set(MCOMM_ERR_ARG,
                           "%s->struct_size = %zu: at least %zu; set it to the sizeof "
                           "of the struct",
                           name, struct_size, min);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_check_oob(const char *name, const mcomm_oob_t *oob)
{
    if (oob->allgather == NULL)
        return mci_err_set(MCOMM_ERR_ARG, "%s->allgather is NULL", name);
    if (oob->size < 1)
        return mci_err_set(MCOMM_ERR_ARG, "%s->size = %d", name, oob->size);
    if (oob->rank < 0 || oob->rank >= oob->size)
        return mci_err_set(MCOMM_ERR_RANK, "%s->rank = %d with size %d", name, oob->rank,
                           oob->size);
    return MCOMM_SUCCESS;
}
