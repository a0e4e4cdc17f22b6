/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Connections to hosts that are gone without a word. The kernel would retransmit for a quarter of
 * an hour, and its own user time-out also ends connections of processes that are stopped or busy:
 * their kernel acknowledges every probe of the closed window. So the difference is looked up: data
 * under way or probes without answer, and no acknowledgement for the setting reap_timeout.
 */
#include "config.h"

#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define PROBES_UNANSWERED 3

static struct mci_loop_timer timer;

static bool lane_is_dead(const struct mci_tcp_lane *lane)
{
    struct tcp_info info = {0};
    socklen_t nbytes = sizeof(info);

    if (getsockopt(lane->io.fd, IPPROTO_TCP, TCP_INFO, &info, &nbytes) != 0)
        return false;
    return (info.tcpi_unacked > 0 || info.tcpi_probes >= PROBES_UNANSWERED) &&
           info.tcpi_last_ack_recv > (uint32_t)mci_settings.reap_timeout;
}

static void timer_set(void)
{
    mci_loop_timer_set(&timer, (int64_t)mci_settings.reap_timeout * (1000000 / 4));
}

static void on_timer(struct mci_loop_timer *unused)
{
    size_t cursor = 0;
    struct mci_tcp_link *link;

    (void)unused;
    while ((link = mci_map_next(&mci_tcp.links, &cursor, NULL)) != NULL)
        if (link->lane != NULL && lane_is_dead(link->lane))
            mci_tcp_lane_lost(link->lane, ETIMEDOUT);
    timer_set();
}

void mci_tcp_reap_start(void)
{
    mci_loop_timer_init(&timer, on_timer, NULL);
    if (mci_settings.reap_timeout > 0)
        timer_set();
}

void mci_tcp_reap_stop(void)
{
    mci_loop_timer_cancel(&timer);
}
