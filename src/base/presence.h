/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which processes of the job share a core, as they themselves tell: each says in its doorbell page
 * where it waits and since when, so that one that got its core back late knows whether the others
 * of the job had it or a foreign process. It decides how to wait only; a wrong answer costs time.
 */
#ifndef MCI_BASE_PRESENCE_H
#define MCI_BASE_PRESENCE_H

#include "base/wait.h"

/* Pages of local peers, mapped by this process. lock: engine */
void mci_presence_join(const struct mci_doorbell *bell);
void mci_presence_leave(const struct mci_doorbell *bell);

/* This thread gives its core to others, at this time, or has it back. */
void mci_presence_away(uint64_t ticks);
void mci_presence_back(uint64_t ticks);
/* Did nobody of the job have the core in most of that time? lock: engine */
bool mci_presence_was_foreign(uint64_t begin_ticks, uint64_t end_ticks);

#endif
