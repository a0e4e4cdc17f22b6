/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The modules above core, the lowest first: the order in which they start; they stop in the reverse
 * one. This is the one file that sees all layers. To add a module: include its header, add a row.
 */
#include "config.h"

#include "coll/coll.h"
#include "core/core.h"
#include "fault/fault.h"
#include "kvobj/kvobj.h"
#include "pt2pt/pt2pt.h"
#include "rma/rma.h"

const struct mci_core_module *const mci_core_modules[] = {
    &mci_pt2pt_module, &mci_rma_module, &mci_fault_module, &mci_coll_module, &mci_kv_module, NULL,
};
