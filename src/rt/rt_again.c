/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Later starts of one process. Rank 0's listener stays open from the offer on; who comes early for
 * the next start waits in its backlog. The secret is random and travelled through the launcher.
 */
#include "config.h"

#include "rt/rt_again.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/settings.h"
#include "rt/rt_tcp.h"

#define ADDR_BYTES 17 /* 4 or 6, and the address */

static struct {
    bool is_ready;
    pid_t owner;
    struct mci_rt_tcp tcp;
} again;

/* offer: number of addresses, port (2), secret (32), then the addresses */
static void offer_put(unsigned char offer[MCI_RT_OFFER_BYTES], const struct mci_rt_tcp *tcp)
{
    unsigned char *p = offer;
    uint16_t port = mci_addr_port(&tcp->addrs[0]);

    *p++ = (unsigned char)tcp->num_addrs;
    *p++ = (unsigned char)port;
    *p++ = (unsigned char)(port >> 8);
    memcpy(p, tcp->secret, MCI_AUTH_SECRET_BYTES);
    p += MCI_AUTH_SECRET_BYTES;
    for (int i = 0; i < tcp->num_addrs; i++, p += ADDR_BYTES) {
        const struct mci_addr *addr = &tcp->addrs[i];
        bool is_v6 = addr->sa.sa_family == AF_INET6;

        p[0] = is_v6 ? 6 : 4;
        if (is_v6)
            memcpy(p + 1, &addr->in6.sin6_addr, 16);
        else
            memcpy(p + 1, &addr->in4.sin_addr, 4);
    }
}

static void offer_get(const unsigned char offer[MCI_RT_OFFER_BYTES], struct mci_rt_tcp *tcp)
{
    const unsigned char *p = offer + 3 + MCI_AUTH_SECRET_BYTES;

    tcp->num_addrs = offer[0] <= MCI_RT_TCP_ADDRS_MAX ? offer[0] : 0;
    memcpy(tcp->secret, offer + 3, MCI_AUTH_SECRET_BYTES);
    for (int i = 0; i < tcp->num_addrs; i++, p += ADDR_BYTES) {
        struct mci_addr *addr = &tcp->addrs[i];

        memset(addr, 0, sizeof(*addr));
        if (p[0] == 6) {
            addr->in6.sin6_family = AF_INET6;
            addr->nbytes = sizeof(addr->in6);
            memcpy(&addr->in6.sin6_addr, p + 1, 16);
        } else {
            addr->in4.sin_family = AF_INET;
            addr->nbytes = sizeof(addr->in4);
            memcpy(&addr->in4.sin_addr, p + 1, 4);
        }
        mci_addr_set_port(addr, (uint16_t)(offer[1] | offer[2] << 8));
    }
}

/* Our addresses, loopback last: on one host it serves when nothing else does. */
static void collect_addrs(struct mci_rt_tcp *tcp, uint16_t port)
{
    struct mci_addr_list list;
    struct mci_addr loopback = {.nbytes = sizeof(loopback.in4)};

    if (mci_addr_list_create(mci_settings.net, &list) == MCOMM_SUCCESS) {
        for (int i = 0; i < list.num_ifs && tcp->num_addrs < MCI_RT_TCP_ADDRS_MAX - 1; i++) {
            if (!mci_addr_is_link_local(&list.ifs[i].addr) &&
                !mci_addr_is_loopback(&list.ifs[i].addr))
                tcp->addrs[tcp->num_addrs++] = list.ifs[i].addr;
        }
        mci_addr_list_free(&list);
    }
    loopback.in4.sin_family = AF_INET;
    loopback.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tcp->addrs[tcp->num_addrs++] = loopback;
    for (int i = 0; i < tcp->num_addrs; i++)
        mci_addr_set_port(&tcp->addrs[i], port);
}

void mci_rt_again_offer(struct mci_rt *rt, unsigned char offer[MCI_RT_OFFER_BYTES])
{
    uint16_t port;

    (void)rt;
    memset(offer, 0, MCI_RT_OFFER_BYTES);
    memset(&again.tcp, 0, sizeof(again.tcp));
    if (mci_random(again.tcp.secret, sizeof(again.tcp.secret)) != MCOMM_SUCCESS ||
        mci_rt_tcp_listen_anywhere(&again.tcp, &port) != MCOMM_SUCCESS) {
        mci_log_debug("rt: no rendezvous for later starts: %s", mcomm_last_error());
        return;
    }
    snprintf(again.tcp.where, sizeof(again.tcp.where), "rank 0's port %u", port);
    collect_addrs(&again.tcp, port);
    offer_put(offer, &again.tcp);
    again.owner = getpid();
    again.is_ready = true;
}

void mci_rt_again_accept(const unsigned char offer[MCI_RT_OFFER_BYTES])
{
    memset(&again.tcp, 0, sizeof(again.tcp));
    offer_get(offer, &again.tcp);
    if (again.tcp.num_addrs == 0)
        return;
    snprintf(again.tcp.where, sizeof(again.tcp.where), "rank 0's port %u",
             mci_addr_port(&again.tcp.addrs[0]));
    again.owner = getpid();
    again.is_ready = true;
}

bool mci_rt_again_is_ready(void)
{
    return again.is_ready && again.owner == getpid();
}

mcomm_err_t mci_rt_again_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                  struct mci_rt_blobs *out)
{
    struct mci_rt_tcp tcp = again.tcp;

    if (rt->info.rank != 0)
        return mci_rt_tcp_join(rt, &tcp, packet, nbytes, out);
    /* The server closes its listeners; the socket behind this one stays. */
    tcp.listeners[0] = fcntl(again.tcp.listeners[0], F_DUPFD_CLOEXEC, 0);
    if (tcp.listeners[0] < 0)
        return mci_err_set(MCOMM_ERR_LIMIT, "no file descriptor for the rendezvous");
    return mci_rt_tcp_serve(rt, &tcp, packet, nbytes, out);
}
