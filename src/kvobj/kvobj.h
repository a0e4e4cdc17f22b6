/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Object stores: a log of slabs in a data window, a directory in a meta window, both worked on
 * one-sided by whoever calls (docs/decisions/0005). Nothing above uses more than the module row;
 * the exported functions are in kv_api.c.
 */
#ifndef MCI_KVOBJ_KVOBJ_H
#define MCI_KVOBJ_KVOBJ_H

#include "core/core.h"

extern const struct mci_core_module mci_kv_module;

#endif
