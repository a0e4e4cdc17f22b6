/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The module as core starts and stops it. */
#include "coll/coll_priv.h"

const struct mci_core_module mci_coll_module = {
    .name = "coll",
    .start = mci_coll_poison_start,
    .stop = mci_coll_poison_stop,
};
