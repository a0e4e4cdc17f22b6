/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The shm rail's table, and its start and stop. Without shared memory it only says so in the card.
 */
#include "config.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"
#include "rail/shm/shm_priv.h"

#include <stdio.h>

static char address[48];

static mcomm_err_t shm_start(struct mci_card *card)
{
    struct mci_shm_rail *rail = &mci_shm_rail;
    mcomm_err_t err = mci_random(&rail->probe_token, sizeof(rail->probe_token));
    int n;

    if (err != MCOMM_SUCCESS)
        return err;
    mci_list_init(&rail->pending);
    mci_list_init(&rail->dead);
    mci_shm_cma_init();
    card->has_shm = 0;
    address[0] = '\0';
    if (mci_settings.shm) {
        if (mci_shm_listen(card) != MCOMM_SUCCESS)
            mci_log_warn("no shared memory between processes: %s", mcomm_last_error());
        n = snprintf(address, sizeof(address), "@mcomm.");
        for (int i = 0; i < 16 && card->has_shm; i++)
            n += snprintf(address + n, sizeof(address) - (size_t)n, "%02x", card->unix_name[i]);
    }
    rail->is_up = true;
    return mci_poll_add(mci_shm_poll, NULL, 1);
}

static void shm_stop(void)
{
    struct mci_shm_rail *rail = &mci_shm_rail;

    if (!rail->is_up)
        return;
    rail->is_up = false;
    mci_poll_remove(mci_shm_poll, NULL);
    mci_shm_unlisten();
    mci_shm_kick_stop();
    while (!mci_list_is_empty(&rail->pending))
        mci_shm_conn_close(mci_container_of(rail->pending.next, struct mci_shm_conn, link),
                           MCOMM_ERR_NOT_INIT);
    for (size_t i = 0; i < rail->conn_count; i++)
        if (rail->conns[i] != NULL)
            mci_shm_conn_close(rail->conns[i], MCOMM_ERR_NOT_INIT);
    mci_shm_conn_reap();
    mci_mem_free(rail->conns);
    rail->conns = NULL;
    rail->conn_count = rail->conn_room = 0;
}

static bool shm_is_idle(const struct mci_peer *peer)
{
    const struct mci_shm_conn *conn = peer->conn;

    return conn == NULL || (!conn->tx_is_busy && !conn->tx_is_waiting);
}

static void shm_describe(mcomm_rail_desc_t *desc)
{
    desc->kind = "shm";
    desc->device = "";
    desc->address = address;
    desc->mbits = desc->numa = -1;
}

const struct mci_rail_ops mci_rail_shm_ops = {
    .size = sizeof(struct mci_rail_ops),
    .name = "shm",
    .start = shm_start,
    .stop = shm_stop,
    .connect = mci_shm_connect,
    .is_reached = mci_shm_is_reached,
    .send = mci_shm_send,
    .send_now = mci_shm_send_now,
    .unsend = mci_shm_unsend,
    .outop_start = mci_shm_outop_start,
    .outop_close = mci_shm_outop_close,
    .inop_closing = mci_shm_inop_closing,
    .close = mci_shm_close,
    .is_idle = shm_is_idle,
    .describe = shm_describe,
};
