/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The tcp rail's table, its start and its stop. */
#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>

#define LINGER_MS 1000 /* for the last bytes of all connections together */

struct mci_tcp_rail mci_tcp;

static struct mci_tcp_lane *lane_of(const struct mci_peer *peer)
{
    struct mci_tcp_link *link = peer->conn;

    return link != NULL ? link->lane : NULL;
}

static mcomm_err_t tcp_start(struct mci_card *card)
{
    size_t slice = mci_settings.slice / MCI_SLICE_UNIT * MCI_SLICE_UNIT;
    mcomm_err_t err = mci_random(&mci_tcp.next_generation, sizeof(mci_tcp.next_generation));

    if (err != MCOMM_SUCCESS)
        return err;
    if (slice < MCI_SLICE_UNIT)
        slice = MCI_SLICE_UNIT;
    mci_tcp.slice_nbytes = slice < MCI_TCP_SLICE_MAX ? slice : MCI_TCP_SLICE_MAX;
    mci_map_init(&mci_tcp.links);
    mci_map_init(&mci_tcp.outs_by_generation);
    mci_list_init(&mci_tcp.lingering);
    mci_pool_init(&mci_tcp.lanes, sizeof(struct mci_tcp_lane));
    mci_pool_init(&mci_tcp.outs, sizeof(struct mci_tcp_out));
    err = mci_defer_start();
    if (err == MCOMM_SUCCESS)
        err = mci_tcp_listen_start(card);
    if (err == MCOMM_SUCCESS)
        mci_tcp_reap_start();
    else
        mci_defer_stop();
    return err;
}

static void tcp_stop(void)
{
    mci_tcp_listen_stop();
    mci_tcp_reap_stop();
    mci_tcp_linger_stop(LINGER_MS);
    mci_defer_stop();
    mci_map_fini(&mci_tcp.links);
    mci_map_fini(&mci_tcp.outs_by_generation);
    mci_mem_free(mci_tcp.spare_obuf);
    mci_tcp.spare_obuf = NULL;
    mci_pool_fini(&mci_tcp.lanes);
    mci_pool_fini(&mci_tcp.outs);
}

static void tcp_connect(struct mci_peer *peer)
{
    struct mci_tcp_link *link = mci_tcp_link_get(peer);

    if (link == NULL)
        mci_peer_starved(peer, &mci_rail_tcp_ops, ENOMEM);
    else
        mci_tcp_connect_start(link);
}

static bool tcp_is_reached(struct mci_peer *peer)
{
    struct mci_tcp_link *link = mci_tcp_link_find(peer);

    return link != NULL && mci_tcp_connect_is_reached(link);
}

static mcomm_err_t no_lane(const struct mci_peer *peer)
{
    return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: its connection is closed",
                       peer->world_rank);
}

static mcomm_err_t tcp_send(struct mci_peer *peer, struct mci_frame *frame, const mcomm_iov_t *iov,
                            size_t iov_count, size_t nbytes, struct mci_tx *tx)
{
    struct mci_tcp_lane *lane = lane_of(peer);

    frame->nbytes = (uint32_t)nbytes;
    return lane != NULL ? mci_tcp_lane_send(lane, frame, iov, iov_count, nbytes, tx)
                        : no_lane(peer);
}

static mcomm_err_t tcp_send_soon(struct mci_peer *peer, struct mci_frame *frame,
                                 const mcomm_iov_t *iov, size_t iov_count, size_t nbytes,
                                 struct mci_tx *tx)
{
    struct mci_tcp_lane *lane = lane_of(peer);

    return lane != NULL ? mci_tcp_lane_send_soon(lane, frame, iov, iov_count, nbytes, tx)
                        : no_lane(peer);
}

static bool tcp_unsend(struct mci_peer *peer, struct mci_tx *tx)
{
    struct mci_tcp_lane *lane = lane_of(peer);

    return lane != NULL && mci_tcp_lane_unsend(lane, tx);
}

static void tcp_inop_closing(struct mci_peer *peer, struct mci_inop *op)
{
    struct mci_tcp_link *link = mci_tcp_link_find(peer);
    struct mci_list *node;

    if (link == NULL)
        return;
    MCI_LIST_FOREACH (node, &link->lanes)
        mci_tcp_rx_forget(mci_container_of(node, struct mci_tcp_lane, node), op);
}

static void tcp_close(struct mci_peer *peer, mcomm_err_t err)
{
    struct mci_tcp_link *link = mci_tcp_link_find(peer);

    if (link != NULL)
        mci_tcp_link_close(link, err);
}

static bool tcp_is_idle(const struct mci_peer *peer)
{
    struct mci_tcp_lane *lane = lane_of(peer);

    return lane == NULL || lane->is_broken || mci_tcp_lane_is_drained(lane);
}

const struct mci_rail_ops mci_rail_tcp_ops = {
    .size = sizeof(struct mci_rail_ops),
    .name = "tcp",
    .start = tcp_start,
    .stop = tcp_stop,
    .connect = tcp_connect,
    .is_reached = tcp_is_reached,
    .send = tcp_send,
    .send_soon = tcp_send_soon,
    .unsend = tcp_unsend,
    .outop_start = mci_tcp_outop_start,
    .outop_close = mci_tcp_outop_close,
    .inop_closing = tcp_inop_closing,
    .close = tcp_close,
    .is_idle = tcp_is_idle,
    .describe = mci_tcp_listen_describe,
};
