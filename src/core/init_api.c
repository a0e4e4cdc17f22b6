/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Exported functions of start and end. */
#include "config.h"

#include "core/core_priv.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static mcomm_err_t check_attr(const mcomm_init_attr_t *attr)
{
    if (attr->thread_level != MCOMM_THREAD_MULTIPLE && attr->thread_level != MCOMM_THREAD_SINGLE)
        return mci_err_set(MCOMM_ERR_ARG, "attr->thread_level = %d", (int)attr->thread_level);
    if (attr->startup_timeout_ms < 0)
        return mci_err_set(MCOMM_ERR_ARG, "attr->startup_timeout_ms = %d: 0 or more",
                           attr->startup_timeout_ms);
    return attr->oob != NULL ? mci_check_oob("attr->oob", attr->oob) : MCOMM_SUCCESS;
}

mcomm_err_t mcomm_init(const mcomm_init_attr_t *attr)
{
    mcomm_init_attr_t full = MCOMM_INIT_ATTR_DEFAULT;
    mcomm_err_t err;

    if (attr != NULL) {
        err = mci_check_struct_size("attr", attr->struct_size,
                                    offsetof(mcomm_init_attr_t, startup_timeout_ms));
        if (err != MCOMM_SUCCESS)
            return err;
        memcpy(&full, attr, attr->struct_size < sizeof(full) ? attr->struct_size : sizeof(full));
    }
    err = check_attr(&full);
    return err != MCOMM_SUCCESS ? err : mci_core_init(&full);
}

mcomm_err_t mcomm_finalize(void)
{
    return mci_core_finalize();
}

int mcomm_is_initialized(void)
{
    return atomic_load_explicit(&mci_core_phase, memory_order_acquire) == MCI_CORE_UP;
}

void mcomm_abort(mcomm_comm_t comm, int exit_code, const char *message)
{
    (void)comm; /* the job ends as a whole: no launcher can end a part of it */
    if (mcomm_is_initialized())
        mci_rt_abort(mci_core_rt(), exit_code, message);
    fprintf(stderr, "mooncake_comm: process %d ends with code %d: %s\n", (int)getpid(), exit_code,
            message != NULL ? message : "no reason given");
    _exit((exit_code & 0xff) != 0 ? exit_code : 1);
}
