/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Starting again and again in one process: a launcher's store only grows, and each start would
 * cost more than the one before. So once many have been made, rank 0 offers the others a rendezvous
 * of our own for the later ones, through the launcher's store.
 */
#ifndef MCI_RT_AGAIN_H
#define MCI_RT_AGAIN_H

#include <stdbool.h>

#include "rt/rt_priv.h"

#define MCI_RT_OFFER_BYTES 320
#define MCI_RT_OFFER_GENERATION 64 /* the start, counted from 0, at which the offer is made */

/** Rank 0: listen, and describe where. A description without addresses says that it cannot. */
void mci_rt_again_offer(struct mci_rt *rt, unsigned char offer[MCI_RT_OFFER_BYTES]);

/** Other ranks: remember rank 0's offer. */
void mci_rt_again_accept(const unsigned char offer[MCI_RT_OFFER_BYTES]);

/** There is such a rendezvous: equal on all ranks once all have seen the offer. */
bool mci_rt_again_is_ready(void);

mcomm_err_t mci_rt_again_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                  struct mci_rt_blobs *out);

#endif
