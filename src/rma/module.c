/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The module as core starts and stops it. */
#include "config.h"

#include "rma/rma_priv.h"

static mcomm_err_t module_start(void)
{
    mci_rma_copy_start();
    mci_rma_ops_start();
    mci_rma_win_start();
    mci_rma_kick_start();
    mci_rma_remote_start();
    mci_rma_target_start();
    mci_rma_serve_start();
    mci_rma_sync_start();
    return mci_rma_signal_start();
}

static void module_stop(void)
{
    mci_rma_kick_stop();
    mci_rma_signal_stop();
    mci_rma_win_stop();
    mci_rma_target_stop();
    mci_rma_ops_stop();
}

const struct mci_core_module mci_rma_module = {
    .name = "rma",
    .start = module_start,
    .stop = module_stop,
};
