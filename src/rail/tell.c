/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Frames without payload that somebody waits for: answers, acknowledgements, releases. They have a
 * record to queue in before they are sent, so neither a full rail nor a full memory loses one; the
 * rail sends it when there is room. Should the reserve and the memory both be used up, the peer is
 * given up as soon as the caller has returned: whoever waits for the frame gets PROC_FAILED.
 */
#include "config.h"

#include "base/loop.h"
#include "base/mem.h"
#include "rail/rail_priv.h"

static struct mci_pool records; /* the first chunk, some 120 records, is the reserve */
static struct mci_list doomed;
static struct mci_loop_timer timer;

static void told(struct mci_tx *tx, mcomm_err_t err)
{
    (void)err; /* the peer failed: nobody waits */
    mci_pool_put(&records, tx);
}

static void give_up(struct mci_loop_timer *t)
{
    struct mci_list *node;

    (void)t;
    while ((node = mci_list_pop(&doomed)) != NULL)
        mci_peer_fail(mci_container_of(node, struct mci_peer, doomed_link),
                      "no memory for a frame to it");
}

void mci_tell_start(void)
{
    void *first;

    mci_pool_init(&records, sizeof(struct mci_tx));
    mci_list_init(&doomed);
    mci_loop_timer_init(&timer, give_up, NULL);
    first = mci_pool_get(&records);
    if (first != NULL)
        mci_pool_put(&records, first);
}

void mci_tell_stop(void)
{
    mci_loop_timer_cancel(&timer);
    mci_pool_fini(&records);
}

mcomm_err_t mci_peer_tell(struct mci_peer *peer, struct mci_frame *frame)
{
    struct mci_tx *tx = mci_pool_get(&records);
    mcomm_err_t err;

    if (tx != NULL)
        tx->done = told;
    err = mci_peer_send(peer, frame, NULL, 0, tx);
    if (err == MCI_PENDING)
        return MCOMM_SUCCESS;
    if (tx != NULL)
        mci_pool_put(&records, tx);
    if (err != MCOMM_ERR_NO_MEM)
        return err;
    if (mci_list_is_empty(&peer->doomed_link))
        mci_list_push(&doomed, &peer->doomed_link);
    mci_loop_timer_set(&timer, 0);
    return MCOMM_ERR_PROC_FAILED;
}
