/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The module as core starts and stops it, and the exported functions: check, lock, call. */
#include "config.h"

#include "fault/fault.h"

static mcomm_err_t module_start(void)
{
    mci_revoke_start();
    return MCOMM_SUCCESS;
}

const struct mci_core_module mci_fault_module = {
    .name = "fault",
    .start = module_start,
};

mcomm_err_t mcomm_comm_revoke(mcomm_comm_t handle)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, &comm);
    if (err == MCOMM_SUCCESS)
        mci_revoke(comm);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_comm_is_revoked(mcomm_comm_t handle, int *is_revoked_p)
{
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "is_revoked_p", is_revoked_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    *is_revoked_p = atomic_load(&comm->is_revoked);
    mci_engine_unlock();
    return MCOMM_SUCCESS;
}
