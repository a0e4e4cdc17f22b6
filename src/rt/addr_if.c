/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which interfaces to use: all addresses from the kernel, with speed and NUMA node from /sys where
 * it can be read, then a choice by the user's list or by default. The choice itself is a pure
 * function of the list, so tests can make up machines.
 */
#include "config.h"

#include "rt/addr.h"

#include <errno.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define ENTRY_MAX 128
#define NAMES_MAX 400

static int read_sys_int(const char *ifname, const char *what)
{
    char path[64 + IF_NAMESIZE];
    int value = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, what);
    f = fopen(path, "re");
    if (f == NULL)
        return -1;
    if (fscanf(f, "%d", &value) != 1)
        value = -1;
    fclose(f);
    return value;
}

static bool has_sys(const char *ifname, const char *what)
{
    char path[64 + IF_NAMESIZE];

    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, what);
    return access(path, F_OK) == 0;
}

static bool is_bridge_name(const char *ifname)
{
    static const char *const prefixes[] = {"docker", "virbr", "br-",   "cni", "flannel", "cali",
                                           "veth",   "lxc",   "lxdbr", "tun", "tap",     "kube"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(ifname, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

static unsigned prefix_of(const struct sockaddr *mask)
{
    const uint8_t *p;
    size_t n;
    unsigned nbits = 0;

    if (mask == NULL)
        return 0;
    if (mask->sa_family == AF_INET6) {
        p = (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr;
        n = 16;
    } else {
        p = (const uint8_t *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr;
        n = 4;
    }
    for (size_t i = 0; i < n; i++)
        nbits += (unsigned)__builtin_popcount(p[i]);
    return nbits;
}

static void if_fill(struct mci_addr_if *it, const struct ifaddrs *ifa)
{
    snprintf(it->ifname, sizeof(it->ifname), "%s", ifa->ifa_name);
    it->prefix_nbits = prefix_of(ifa->ifa_netmask);
    it->is_up = (ifa->ifa_flags & IFF_UP) != 0 && (ifa->ifa_flags & IFF_RUNNING) != 0;
    it->is_loopback = (ifa->ifa_flags & IFF_LOOPBACK) != 0;
    it->is_bridge = has_sys(it->ifname, "bridge") || is_bridge_name(it->ifname);
    it->speed_mbps = it->is_loopback ? -1 : read_sys_int(it->ifname, "speed");
    if (it->speed_mbps <= 0)
        it->speed_mbps = -1;
    it->numa_node = read_sys_int(it->ifname, "device/numa_node");
}

mcomm_err_t mci_addr_list_enumerate(struct mci_addr_list *list_p)
{
    struct mci_addr_list list = {0};
    struct ifaddrs *all, *ifa;
    int max = 0;

    if (getifaddrs(&all) != 0)
        return mci_err_set(MCOMM_ERR_SYS, "getifaddrs: %s", strerror(errno));
    for (ifa = all; ifa != NULL; ifa = ifa->ifa_next)
        max++;
    list.ifs = mci_mem_zalloc((size_t)(max + 1) * sizeof(*list.ifs));
    if (list.ifs == NULL) {
        freeifaddrs(all);
        return MCOMM_ERR_NO_MEM;
    }
    for (ifa = all; ifa != NULL; ifa = ifa->ifa_next) {
        struct mci_addr_if *it = &list.ifs[list.num_ifs];

        if (ifa->ifa_addr == NULL || !mci_addr_from_sockaddr(ifa->ifa_addr, &it->addr))
            continue;
        if_fill(it, ifa);
        list.num_ifs++;
    }
    freeifaddrs(all);
    *list_p = list;
    return MCOMM_SUCCESS;
}

void mci_addr_list_free(struct mci_addr_list *list)
{
    mci_mem_free(list->ifs);
    list->ifs = NULL;
    list->num_ifs = 0;
}

/* One entry of the user's list, already cut out. */
struct entry {
    char text[ENTRY_MAX];
    bool is_net; /* address or CIDR */
    struct mci_addr net;
    unsigned prefix_nbits;
};

static mcomm_err_t entry_parse_net(struct entry *entry, char *slash)
{
    struct mci_addr_name name = {.port = -1, .is_numeric = true};
    unsigned max;
    char *end;
    unsigned long nbits;
    int num;
    mcomm_err_t err;

    snprintf(name.host, sizeof(name.host), "%.*s",
             slash != NULL ? (int)(slash - entry->text) : ENTRY_MAX, entry->text);
    err = mci_addr_resolve(&name, 0, &entry->net, 1, &num);
    if (err != MCOMM_SUCCESS)
        return err;
    max = entry->net.sa.sa_family == AF_INET ? 32 : 128;
    nbits = slash != NULL ? strtoul(slash + 1, &end, 10) : max;
    if (slash != NULL && (slash[1] < '0' || slash[1] > '9' || *end != '\0' || nbits > max))
        return mci_err_set(MCOMM_ERR_ARG, "MCOMM_NET: \"%s\" is not a network: prefix 0 to %u",
                           entry->text, max);
    entry->prefix_nbits = (unsigned)nbits;
    entry->is_net = true;
    return MCOMM_SUCCESS;
}

static mcomm_err_t entry_parse(const char *text, size_t nbytes, struct entry *entry)
{
    struct mci_addr_name name;
    char *slash;

    memset(entry, 0, sizeof(*entry));
    if (nbytes >= sizeof(entry->text))
        return mci_err_set(MCOMM_ERR_ARG, "MCOMM_NET: entry \"%.*s...\" is too long", 32, text);
    memcpy(entry->text, text, nbytes);
    slash = strchr(entry->text, '/');
    if (slash != NULL)
        return entry_parse_net(entry, slash);
    if (mci_addr_split(entry->text, &name) == MCOMM_SUCCESS && name.is_numeric && name.port < 0)
        return entry_parse_net(entry, NULL);
    return MCOMM_SUCCESS;
}

static bool entry_matches(const struct entry *entry, const struct mci_addr_if *it)
{
    if (!it->is_up)
        return false;
    if (entry->is_net)
        return mci_addr_in_net(&it->addr, &entry->net, entry->prefix_nbits);
    return fnmatch(entry->text, it->ifname, 0) == 0;
}

static bool list_has(const struct mci_addr_list *list, const struct mci_addr_if *it)
{
    for (int i = 0; i < list->num_ifs; i++) {
        if (mci_addr_equal(&list->ifs[i].addr, &it->addr) &&
            strcmp(list->ifs[i].ifname, it->ifname) == 0)
            return true;
    }
    return false;
}

static mcomm_err_t no_match(const struct mci_addr_list *all, const char *what)
{
    char names[NAMES_MAX] = "";
    char addr[MCI_ADDR_TEXT_MAX];
    size_t n = 0;

    for (int i = 0; i < all->num_ifs && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s %s%s", i == 0 ? "" : ", ",
                              all->ifs[i].ifname, mci_addr_format(&all->ifs[i].addr, addr),
                              all->ifs[i].is_up ? "" : " (down)");
    return mci_err_set(MCOMM_ERR_ARG,
                       "MCOMM_NET: \"%s\" matches no interface that is up; there is: %s", what,
                       names[0] != '\0' ? names : "none");
}

/* Named link-local addresses are fine; a pattern takes them only if the interface has no other. */
static bool entry_add(const struct entry *entry, const struct mci_addr_list *all,
                      struct mci_addr_list *list)
{
    bool is_found = false;

    for (int pass = 0; pass < 2 && !is_found; pass++) {
        for (int i = 0; i < all->num_ifs; i++) {
            const struct mci_addr_if *it = &all->ifs[i];

            if (!entry_matches(entry, it))
                continue;
            if (!entry->is_net && pass == 0 && mci_addr_is_link_local(&it->addr))
                continue;
            is_found = true;
            if (!list_has(list, it))
                list->ifs[list->num_ifs++] = *it;
        }
    }
    return is_found;
}

static mcomm_err_t select_listed(const struct mci_addr_list *all, const char *net,
                                 struct mci_addr_list *list)
{
    struct entry entry;
    mcomm_err_t err;

    while (*net != '\0') {
        size_t n = strcspn(net, ",");
        size_t end = n;

        while (end > 0 && (net[end - 1] == ' ' || net[end - 1] == '\t'))
            end--;
        while (end > 0 && (*net == ' ' || *net == '\t')) {
            net++;
            n--;
            end--;
        }
        if (end > 0) {
            err = entry_parse(net, end, &entry);
            if (err != MCOMM_SUCCESS)
                return err;
            if (!entry_add(&entry, all, list))
                return no_match(all, entry.text);
        }
        net += n;
        if (*net == ',')
            net++;
    }
    return list->num_ifs > 0 ? MCOMM_SUCCESS : no_match(all, "");
}

/* Smaller is better: real before bridge before loopback, then the faster. */
static int if_compare(const void *a, const void *b)
{
    const struct mci_addr_if *x = a, *y = b;
    int class_x = x->is_loopback ? 2 : x->is_bridge ? 1 : 0;
    int class_y = y->is_loopback ? 2 : y->is_bridge ? 1 : 0;

    if (class_x != class_y)
        return class_x - class_y;
    if (x->speed_mbps != y->speed_mbps)
        return x->speed_mbps > y->speed_mbps ? -1 : 1;
    return strcmp(x->ifname, y->ifname);
}

static void select_default(const struct mci_addr_list *all, struct mci_addr_list *list)
{
    for (int is_loopback = 0; is_loopback <= 1 && list->num_ifs == 0; is_loopback++) {
        for (int i = 0; i < all->num_ifs; i++) {
            const struct mci_addr_if *it = &all->ifs[i];

            if (it->is_up && it->is_loopback == (is_loopback == 1) &&
                !mci_addr_is_link_local(&it->addr))
                list->ifs[list->num_ifs++] = *it;
        }
    }
    if (list->num_ifs > 1)
        qsort(list->ifs, (size_t)list->num_ifs, sizeof(*list->ifs), if_compare);
}

mcomm_err_t mci_addr_list_select(const struct mci_addr_list *all, const char *net,
                                 struct mci_addr_list *list_p)
{
    struct mci_addr_list list = {0};
    mcomm_err_t err = MCOMM_SUCCESS;

    list.ifs = mci_mem_zalloc((size_t)(all->num_ifs + 1) * sizeof(*list.ifs));
    if (list.ifs == NULL)
        return MCOMM_ERR_NO_MEM;
    if (net != NULL && net[0] != '\0')
        err = select_listed(all, net, &list);
    else
        select_default(all, &list);
    if (err == MCOMM_SUCCESS && list.num_ifs == 0)
        err = mci_err_set(MCOMM_ERR_SYS, "no network interface is up, not even loopback");
    if (err != MCOMM_SUCCESS) {
        mci_addr_list_free(&list);
        return err;
    }
    *list_p = list;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_addr_list_create(const char *net, struct mci_addr_list *list_p)
{
    struct mci_addr_list all;
    mcomm_err_t err;

    err = mci_addr_list_enumerate(&all);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_addr_list_select(&all, net, list_p);
    mci_addr_list_free(&all);
    return err;
}
