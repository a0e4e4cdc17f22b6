/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Work that is put off for a moment since more of its kind may follow. It is done by whoever next
 * drives progress or looks whether something is complete, else by the monitor thread: after 0.25
 * ms where it happens often that nobody does, at the latest after 2 ms. lock: engine for all
 */
#ifndef MCI_BASE_DEFER_H
#define MCI_BASE_DEFER_H

#include "base/list.h"
#include "mooncake_comm.h"

struct mci_deferred {
    struct mci_list link; /* the owner calls mci_list_init() on it */
    void (*fn)(struct mci_deferred *work);
};

mcomm_err_t mci_defer_start(void); /* the loop is up */
void mci_defer_stop(void);
/* Put off; twice is legal. mci_list_remove(&work->link) takes it back. */
void mci_defer(struct mci_deferred *work);

extern struct mci_list mci_defer_list;
void mci_defer_run_all(void);
/* Do now what was put off. */
static inline void mci_defer_run(void)
{
    if (__builtin_expect(!mci_list_is_empty(&mci_defer_list), 0))
        mci_defer_run_all();
}

#endif
