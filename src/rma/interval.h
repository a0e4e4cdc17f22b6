/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The attached ranges of a dynamic window: a treap ordered by base (then by age), each node
 * knowing the largest end below it. Ranges may overlap; 100,000 of them are no problem.
 */
#ifndef MCI_RMA_INTERVAL_H
#define MCI_RMA_INTERVAL_H

#include "mooncake_comm.h"

#include <stdbool.h>

struct mci_interval_set {
    struct mci_interval *root;
    uint64_t age;
    size_t count;
};

void mci_interval_init(struct mci_interval_set *set);
void mci_interval_fini(struct mci_interval_set *set);
/* nbytes > 0, no wrap. MCOMM_ERR_NO_MEM. */
mcomm_err_t mci_interval_add(struct mci_interval_set *set, uint64_t base, uint64_t nbytes);
/* Takes out the youngest range of exactly this base; false: there is none. */
bool mci_interval_remove(struct mci_interval_set *set, uint64_t base, uint64_t *nbytes_p);
/* Is every byte of [addr, addr + nbytes) in some range? */
bool mci_interval_covers(const struct mci_interval_set *set, uint64_t addr, uint64_t nbytes);

#endif
