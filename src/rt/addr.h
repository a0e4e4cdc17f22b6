/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Network addresses: reading what a user wrote, printing them in one canonical form, and choosing
 * the interfaces to use. A name is resolved only if the user wrote that name; our own host name
 * is never looked up.
 */
#ifndef MCI_RT_ADDR_H
#define MCI_RT_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "mooncake_comm.h"

#define MCI_ADDR_HOST_MAX 256
#define MCI_ADDR_TEXT_MAX 80 /* "[" + IPv6 + "%" + interface + "]:65535" fits */

/* One socket address, IPv4 or IPv6. No pointer in it: it may be copied and kept. */
struct mci_addr {
    union {
        struct sockaddr sa;
        struct sockaddr_in in4;
        struct sockaddr_in6 in6;
    };
    socklen_t nbytes;
};

/* "host", "host:port", "1.2.3.4:port", "[v6]:port", "v6", "fe80::1%if", taken apart. */
struct mci_addr_name {
    char host[MCI_ADDR_HOST_MAX]; /* without brackets, with %scope */
    int port;                     /* -1: none was given */
    bool is_numeric;              /* an address, not a name */
};

/* One address of one interface. */
struct mci_addr_if {
    char ifname[IF_NAMESIZE];
    struct mci_addr addr; /* port 0 */
    unsigned prefix_nbits;
    int speed_mbps; /* -1: unknown */
    int numa_node;  /* -1: unknown or no device */
    bool is_up;
    bool is_loopback;
    bool is_bridge; /* bridges, container and virtual-machine plumbing: used last */
};

struct mci_addr_list {
    int num_ifs;
    struct mci_addr_if *ifs;
};

/** Take text apart. @return MCOMM_SUCCESS; MCOMM_ERR_ARG, the error text names what is wrong. */
mcomm_err_t mci_addr_split(const char *text, struct mci_addr_name *name_p);

/**
 * Addresses of a host, at most max; a name is resolved, and that ends within timeout_ms.
 * @param num_p  out: at least 1 on success
 * @return MCOMM_SUCCESS; MCOMM_ERR_ARG (no such host, unknown scope); MCOMM_ERR_TIMEOUT
 * @blocks only for a name
 */
mcomm_err_t mci_addr_resolve(const struct mci_addr_name *name, int timeout_ms,
                             struct mci_addr *addrs, int max, int *num_p);

/** Canonical text: "1.2.3.4:5", "[::1]:5"; without the port if it is 0. Returns buf. */
const char *mci_addr_format(const struct mci_addr *addr, char buf[MCI_ADDR_TEXT_MAX]);

/** Wrap what accept(), getsockname() and the like gave. @return false: neither IPv4 nor IPv6 */
bool mci_addr_from_sockaddr(const struct sockaddr *sa, struct mci_addr *addr_p);

uint16_t mci_addr_port(const struct mci_addr *addr);
void mci_addr_set_port(struct mci_addr *addr, uint16_t port);
bool mci_addr_is_loopback(const struct mci_addr *addr);
bool mci_addr_is_link_local(const struct mci_addr *addr);

/** Same address; ports are not compared. IPv4 and IPv4-mapped IPv6 are equal. */
bool mci_addr_equal(const struct mci_addr *a, const struct mci_addr *b);

/** Does addr lie in the network of net with this prefix length? */
bool mci_addr_in_net(const struct mci_addr *addr, const struct mci_addr *net,
                     unsigned prefix_nbits);

/** Every address of every interface, as the kernel tells them. Free with mci_addr_list_free(). */
mcomm_err_t mci_addr_list_enumerate(struct mci_addr_list *list_p);

/**
 * The ones to use, best first.
 * @param all   what mci_addr_list_enumerate() gave, or a made-up list in tests
 * @param net   comma list of interface names (with wildcards), addresses and CIDRs, in order of
 *              preference; NULL or "": every UP interface but loopback, bridges last, loopback only
 *              if there is nothing else; link-local addresses only if asked for by name
 * @return MCOMM_SUCCESS; MCOMM_ERR_ARG: an entry of net matches nothing; the text names it and what
 *         there is
 */
mcomm_err_t mci_addr_list_select(const struct mci_addr_list *all, const char *net,
                                 struct mci_addr_list *list_p);

/** Enumerate and select in one. */
mcomm_err_t mci_addr_list_create(const char *net, struct mci_addr_list *list_p);
void mci_addr_list_free(struct mci_addr_list *list);

#endif
