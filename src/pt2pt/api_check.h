/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Checks of arguments in front of every exported function of this module. The good case is inline;
 * api_check.c writes the texts.
 */
#ifndef MCI_PT2PT_API_CHECK_H
#define MCI_PT2PT_API_CHECK_H

#include "pt2pt/pt2pt_priv.h"

#include <assert.h>

#define IOV_COUNT_MAX ((size_t)1 << 20)

mcomm_err_t mci_api_bad_comm(mcomm_comm_t handle);
/* names: of the parameters that the text names */
struct mci_api_names {
    const char *buf, *rank, *tag;
};
extern const struct mci_api_names mci_api_of_send, mci_api_of_recv; /* "buf", ..., "tag" */
mcomm_err_t mci_api_bad_peer(const struct mci_comm *comm, const struct mci_api_names *names,
                             int rank, int tag, bool is_send);
mcomm_err_t mci_api_check_list(const mcomm_iov_t *iov, size_t iov_count, size_t *nbytes_p);

/* On success the engine lock is held. */
static inline mcomm_err_t mci_api_enter(mcomm_comm_t handle, struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    mci_engine_lock();
    *comm_p = mci_handle_get(MCI_HANDLE_COMM, handle);
    if (unlikely(*comm_p == NULL ||
                 atomic_load_explicit(&(*comm_p)->is_revoked, memory_order_relaxed))) {
        err = mci_api_bad_comm(handle);
        assert(err != MCOMM_SUCCESS);
        mci_engine_unlock();
    }
    return err;
}

static inline mcomm_err_t mci_api_check_recv_from(const struct mci_comm *comm, int source, int tag,
                                                  const struct mci_api_names *names)
{
    if (likely((source >= 0 && source < comm->size) || source == MCOMM_ANY_SOURCE ||
               source == MCOMM_RANK_NULL) &&
        likely(tag >= MCOMM_ANY_TAG))
        return MCOMM_SUCCESS;
    return mci_api_bad_peer(comm, names, source, tag, false);
}

static inline mcomm_err_t mci_api_check_recv(const struct mci_comm *comm, const void *buf,
                                             size_t nbytes, int source, int tag,
                                             const struct mci_api_names *names)
{
    mcomm_err_t err = mci_api_check_recv_from(comm, source, tag, names);

    if (unlikely(err != MCOMM_SUCCESS))
        return err;
    return likely(buf != NULL && nbytes <= PTRDIFF_MAX) ? MCOMM_SUCCESS
                                                        : mci_check_buffer(names->buf, buf, nbytes);
}

static inline mcomm_err_t mci_api_check_send(const struct mci_comm *comm, const void *buf,
                                             size_t nbytes, int dest, int tag,
                                             const struct mci_api_names *names)
{
    if (unlikely(!((dest >= 0 && dest < comm->size) || dest == MCOMM_RANK_NULL) || tag < 0))
        return mci_api_bad_peer(comm, names, dest, tag, true);
    return likely(buf != NULL && nbytes <= PTRDIFF_MAX) ? MCOMM_SUCCESS
                                                        : mci_check_buffer(names->buf, buf, nbytes);
}

#endif
