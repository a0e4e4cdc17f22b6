/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The module as core starts and stops it. */
#include "coll/node.h"

static mcomm_err_t coll_start(void)
{
    mcomm_err_t err = mci_coll_poison_start();

    mci_fold_start();
    if (err == MCOMM_SUCCESS)
        err = mci_coll_node_start_module();
    return err == MCOMM_SUCCESS ? mci_coll_call_start_module() : err;
}

/* Calls whose requests nobody completed: they go on for a while, the others need them; they must
 * not outlive their communicators. */
static void coll_quiesce(void)
{
    mci_engine_lock();
    mci_coll_calls_end();
    mci_engine_unlock();
}

static void coll_stop(void)
{
    mci_engine_lock();
    mci_coll_call_stop_module();
    mci_coll_poison_stop();
    mci_fold_ops_end();
    mci_engine_unlock();
}

const struct mci_core_module mci_coll_module = {
    .name = "coll",
    .start = coll_start,
    .stop = coll_stop,
    .quiesce = coll_quiesce,
};
