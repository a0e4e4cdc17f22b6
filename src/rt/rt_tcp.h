/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the files of the tcp bootstrap share: where the rendezvous is and how long it may take. */
#ifndef MCI_RT_TCP_H
#define MCI_RT_TCP_H

#include "rt/addr.h"
#include "rt/rdv.h"
#include "rt/rt_priv.h"

#define MCI_RT_TCP_ADDRS_MAX 8

struct mci_rt_tcp {
    struct mci_addr_name name;                   /* of rank 0, with port */
    struct mci_addr addrs[MCI_RT_TCP_ADDRS_MAX]; /* of rank 0 as the others try them */
    int num_addrs;                               /* 0: the name is still to be resolved */
    char where[MCI_ADDR_HOST_MAX + 16];          /* the same as text, for messages */
    uint8_t secret[MCI_AUTH_SECRET_BYTES];       /* of the rendezvous, derived from the user's */
    int listeners[MCI_RT_TCP_ADDRS_MAX];         /* rank 0 */
    int num_listeners;
};

/** Rank 0: bind and listen, so that a port in use is told at once. */
mcomm_err_t mci_rt_tcp_listen(struct mci_rt *rt, struct mci_rt_tcp *tcp);
/** Listen on all addresses of this host at a port that the kernel chooses. */
mcomm_err_t mci_rt_tcp_listen_anywhere(struct mci_rt_tcp *tcp, uint16_t *port_p);
void mci_rt_tcp_unlisten(struct mci_rt_tcp *tcp);

/** Rank 0: serve until everybody has everything, or the start-up time is over. */
mcomm_err_t mci_rt_tcp_serve(struct mci_rt *rt, struct mci_rt_tcp *tcp, const void *packet,
                             size_t nbytes, struct mci_rt_blobs *out);

/** Other ranks: find rank 0 and join, trying again until the start-up time is over. */
mcomm_err_t mci_rt_tcp_join(struct mci_rt *rt, struct mci_rt_tcp *tcp, const void *packet,
                            size_t nbytes, struct mci_rt_blobs *out);

/** Close without leaving the connection in TIME_WAIT: both ends know that all is said. */
void mci_rt_tcp_close_now(int fd);

#endif
