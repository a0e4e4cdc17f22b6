/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Connections to hosts that are gone without a word. The kernel would retransmit for a quarter of
 * an hour, and its own user time-out also ends connections of processes that are stopped or busy:
 * their kernel acknowledges every probe of the closed window. So it is looked at now and then: data
 * under way or probes without answer, and no acknowledgement, at every look for the setting
 * reap_timeout. Looks are counted, not time: the kernel knows how old the last acknowledgement is,
 * but not since when one is owed, and while this process was stopped nothing was looked at.
 */
#include "config.h"

#include "base/clock.h"
#include "base/settings.h"
#include "rail/tcp/tcp_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define PROBES_UNANSWERED 3
#define LOOKS 4 /* in the time of the setting */

static struct mci_loop_timer timer;
static int64_t last_look_ns;

/* An acknowledgement is owed, and none has come since the last look. */
static bool lane_is_silent(const struct mci_tcp_lane *lane, int64_t since_look_ns)
{
    struct tcp_info info = {0};
    socklen_t nbytes = sizeof(info);

    if (getsockopt(lane->io.fd, IPPROTO_TCP, TCP_INFO, &info, &nbytes) != 0)
        return false;
    return (info.tcpi_unacked > 0 || info.tcpi_probes >= PROBES_UNANSWERED) &&
           (int64_t)info.tcpi_last_ack_recv * 1000000 > since_look_ns;
}

static void timer_set(void)
{
    mci_loop_timer_set(&timer, (int64_t)mci_settings.reap_timeout * (1000000 / LOOKS));
}

static void on_timer(struct mci_loop_timer *unused)
{
    int64_t now_ns = mci_clock_ns();
    size_t cursor = 0;
    struct mci_tcp_link *link;

    (void)unused;
    while ((link = mci_map_next(&mci_tcp.links, &cursor, NULL)) != NULL) {
        struct mci_tcp_lane *lane = link->lane;

        if (lane == NULL)
            continue;
        if (!lane_is_silent(lane, now_ns - last_look_ns))
            lane->silent_looks = 0;
        else if (++lane->silent_looks > LOOKS) /* the first may have been owed for a moment only */
            mci_tcp_lane_lost(lane, ETIMEDOUT);
    }
    last_look_ns = now_ns;
    timer_set();
}

void mci_tcp_reap_start(void)
{
    mci_loop_timer_init(&timer, on_timer, NULL);
    last_look_ns = mci_clock_ns();
    if (mci_settings.reap_timeout > 0)
        timer_set();
}

void mci_tcp_reap_stop(void)
{
    mci_loop_timer_cancel(&timer);
}
