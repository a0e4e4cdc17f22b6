/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What members of a communicator do about failures of each other. */
#ifndef MCI_FAULT_FAULT_H
#define MCI_FAULT_FAULT_H

#include "core/core.h"

/* ---- revoke.c ---- */
void mci_revoke_start(void);
/* Ends comm's operations here and at all members that live. Again: no effect. lock: engine */
void mci_revoke(struct mci_comm *comm);

extern const struct mci_core_module mci_fault_module;

#endif
