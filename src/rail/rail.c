/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The rails together: their table, their start and stop, and who gets the frames that come over
 * them. Peers go last, when nothing can reach them any more.
 */
#include "config.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

static const struct mci_rail_ops *const rail_table[] = {&mci_rail_self_ops, &mci_rail_shm_ops,
                                                        &mci_rail_tcp_ops};
#define RAIL_NUM (sizeof(rail_table) / sizeof(rail_table[0]))

static struct {
    bool is_started;
    int started_count; /* rails that are up */
    mci_am_fn_t am[MCI_AM_MAX];
} rails;

void mci_rail_set_am(enum mci_am am, mci_am_fn_t fn)
{
    rails.am[am] = fn;
}

void mci_rail_deliver(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink)
{
    if (frame->am < MCI_AM_MAX && rails.am[frame->am] != NULL)
        rails.am[frame->am](peer, frame, payload, sink);
    else
        mci_log_warn("peer %d: frame of unknown kind %u dropped", peer->world_rank, frame->am);
}

/* ---- start and stop ---- */
static void all_stop(void)
{
    while (rails.started_count > 0)
        rail_table[--rails.started_count]->stop();
    mci_op_stop();
    mci_tell_stop();
    mci_peers_fini();
}

mcomm_err_t mci_rail_start(void)
{
    struct mci_card *card;
    mcomm_err_t err;

    mci_engine_lock();
    mci_peers_init();
    mci_tell_start();
    err = mci_op_start();
    if (err == MCOMM_SUCCESS)
        err = mci_card_make(&card);
    for (size_t i = 0; i < RAIL_NUM && err == MCOMM_SUCCESS; i++) {
        err = rail_table[i]->start(card);
        if (err == MCOMM_SUCCESS)
            rails.started_count++;
    }
    if (err == MCOMM_SUCCESS)
        err = mci_peers_add_self();
    rails.is_started = err == MCOMM_SUCCESS;
    if (!rails.is_started)
        all_stop();
    mci_engine_unlock();
    return err;
}

void mci_rail_stop(int timeout_ms)
{
    struct mci_waiter w;

    if (!rails.is_started)
        return;
    mci_engine_lock();
    mci_wait_begin(&w, timeout_ms);
    while (!mci_peers_are_idle() && mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    mci_peers_close();
    all_stop();
    rails.is_started = false;
    mci_engine_unlock();
}

size_t mci_rail_count(void)
{
    return RAIL_NUM;
}

mcomm_err_t mci_rail_describe(size_t index, mcomm_rail_desc_t *desc_p)
{
    if (index >= RAIL_NUM)
        return mci_err_set(MCOMM_ERR_ARG, "index is %zu, there are %zu rails", index, RAIL_NUM);
    rail_table[index]->describe(desc_p);
    return MCOMM_SUCCESS;
}
