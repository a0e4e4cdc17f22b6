/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The engine lock: one per process, held while any state of rails, matching, windows or progress
 * is touched. Taken by the _api.c functions and by the monitor thread. With MCOMM_THREAD_SINGLE it
 * is biased to the one calling thread: that thread pays two plain stores, the monitor a membarrier.
 */
#ifndef MCI_BASE_LOCK_H
#define MCI_BASE_LOCK_H

#include <stdbool.h>

void mci_engine_lock_init(bool single_thread);
void mci_engine_lock(void);
void mci_engine_unlock(void);
/* Another thread waits for the lock: a polling loop should make room. */
bool mci_engine_is_contended(void);
/* The monitor thread calls this once; its lock calls then take the other side of the bias. */
void mci_engine_lock_is_monitor(void);

#endif
