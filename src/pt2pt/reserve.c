/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory for what arrives when there is none: a few places of each kind, made at start and again as
 * soon as there is memory, so that a moment without any costs no message and no peer. Untouched
 * pages cost nothing. A place may also be freed as any other memory.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

#define PLACES 4

static struct {
    size_t nbytes;
    void *places[PLACES];
    unsigned count;
} reserves[MCI_RESERVE_NUM] = {
    [MCI_RESERVE_MSG] = {.nbytes = sizeof(struct mci_msg) + MCI_EAGER_MAX},
    [MCI_RESERVE_PEER] = {.nbytes = sizeof(struct mci_pt2pt_peer)},
    [MCI_RESERVE_MATCH] = {.nbytes = sizeof(struct mci_match)},
}; /* lock: engine */
static bool is_up;

static void fill(enum mci_reserve kind)
{
    void *place;

    while (reserves[kind].count < PLACES && (place = mci_mem_alloc(reserves[kind].nbytes)) != NULL)
        reserves[kind].places[reserves[kind].count++] = place;
}

void mci_reserve_start(void)
{
    is_up = true;
    for (unsigned i = 0; i < MCI_RESERVE_NUM; i++)
        fill((enum mci_reserve)i);
}

void mci_reserve_stop(void)
{
    is_up = false;
    for (unsigned i = 0; i < MCI_RESERVE_NUM; i++)
        while (reserves[i].count > 0)
            mci_mem_free(reserves[i].places[--reserves[i].count]);
}

/* Those taken before are made anew first, if there is memory by now. */
void *mci_reserve_take(enum mci_reserve kind)
{
    fill(kind);
    return reserves[kind].count > 0 ? reserves[kind].places[--reserves[kind].count] : NULL;
}

void mci_reserve_give(enum mci_reserve kind, void *place)
{
    if (is_up && reserves[kind].count < PLACES)
        reserves[kind].places[reserves[kind].count++] = place;
    else
        mci_mem_free(place);
}
