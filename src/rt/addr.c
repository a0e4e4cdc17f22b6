/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reading, resolving and printing addresses. The one subtle case is a bare IPv6 address: it is
 * full of colons, so a text with two or more of them and no brackets is an address without a port,
 * never a host and a port.
 */
#include "config.h"

#include "rt/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"

static mcomm_err_t bad_text(const char *text, const char *why)
{
    return mci_err_set(MCOMM_ERR_ARG,
                       "\"%.*s\": %s; write host, host:port, 1.2.3.4:port, [2001:db8::1]:port or "
                       "2001:db8::1",
                       MCI_ADDR_HOST_MAX, text, why);
}

static bool parse_port(const char *text, int *port_p)
{
    int port = 0;
    size_t n = strlen(text);

    if (n == 0 || n > 5 || strspn(text, "0123456789") != n)
        return false;
    for (size_t i = 0; i < n; i++)
        port = port * 10 + (text[i] - '0');
    *port_p = port;
    return port <= 65535;
}

/* "::1" or "fe80::1%eth0"; whether the interface exists is asked later. */
static bool is_ipv6_text(const char *host)
{
    char buf[INET6_ADDRSTRLEN];
    struct in6_addr in6;
    size_t n = strcspn(host, "%");

    if (n >= sizeof(buf) || (host[n] == '%' && (host[n + 1] == '\0' || strchr(host + n + 1, '%'))))
        return false;
    memcpy(buf, host, n);
    buf[n] = '\0';
    return inet_pton(AF_INET6, buf, &in6) == 1;
}

static bool is_host_text(const char *host)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    return host[0] != '\0' && host[0] != '-' && host[strspn(host, allowed)] == '\0';
}

/* "[v6]" or "[v6]:port" */
static mcomm_err_t split_brackets(const char *text, struct mci_addr_name *name)
{
    const char *end = strchr(text, ']');

    if (end == NULL)
        return bad_text(text, "'[' without ']'");
    memcpy(name->host, text + 1, (size_t)(end - text - 1));
    if (!is_ipv6_text(name->host))
        return bad_text(text, "not an IPv6 address in the brackets");
    if (end[1] != '\0' && (end[1] != ':' || !parse_port(end + 2, &name->port)))
        return bad_text(text, "not a port after the brackets");
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_addr_split(const char *text, struct mci_addr_name *name_p)
{
    struct mci_addr_name name = {.port = -1};
    const char *colon = strchr(text, ':');
    struct in_addr in4;
    mcomm_err_t err;

    if (text[0] == '\0')
        return bad_text(text, "empty");
    if (strlen(text) >= sizeof(name.host))
        return bad_text(text, "too long");
    if (text[0] == '[') {
        err = split_brackets(text, &name);
        if (err != MCOMM_SUCCESS)
            return err;
    } else if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        if (!is_ipv6_text(text))
            return bad_text(text, "not an IPv6 address (a port needs brackets around the address)");
        strcpy(name.host, text);
    } else {
        size_t n = colon != NULL ? (size_t)(colon - text) : strlen(text);

        memcpy(name.host, text, n);
        if (!is_host_text(name.host))
            return bad_text(text, "not a host name or address");
        if (colon != NULL && !parse_port(colon + 1, &name.port))
            return bad_text(text, "not a port after the colon");
    }
    name.is_numeric = strchr(name.host, ':') != NULL || inet_pton(AF_INET, name.host, &in4) == 1;
    *name_p = name;
    return MCOMM_SUCCESS;
}

bool mci_addr_from_sockaddr(const struct sockaddr *sa, struct mci_addr *addr_p)
{
    struct mci_addr addr = {.nbytes = 0};

    if (sa->sa_family == AF_INET) {
        memcpy(&addr.in4, sa, sizeof(addr.in4));
        addr.nbytes = sizeof(addr.in4);
    } else if (sa->sa_family == AF_INET6) {
        memcpy(&addr.in6, sa, sizeof(addr.in6));
        addr.nbytes = sizeof(addr.in6);
    } else {
        return false;
    }
    *addr_p = addr;
    return true;
}

static mcomm_err_t resolve_numeric(const struct mci_addr_name *name, struct mci_addr *addr)
{
    char host[MCI_ADDR_HOST_MAX];
    char *scope;

    memset(addr, 0, sizeof(*addr));
    strcpy(host, name->host);
    if (inet_pton(AF_INET, host, &addr->in4.sin_addr) == 1) {
        addr->in4.sin_family = AF_INET;
        addr->nbytes = sizeof(addr->in4);
        return MCOMM_SUCCESS;
    }
    scope = strchr(host, '%');
    if (scope != NULL)
        *scope++ = '\0';
    if (inet_pton(AF_INET6, host, &addr->in6.sin6_addr) != 1)
        return bad_text(name->host, "not an address");
    addr->in6.sin6_family = AF_INET6;
    addr->nbytes = sizeof(addr->in6);
    if (scope == NULL)
        return MCOMM_SUCCESS;
    addr->in6.sin6_scope_id = if_nametoindex(scope);
    if (addr->in6.sin6_scope_id == 0 && scope[strspn(scope, "0123456789")] == '\0')
        addr->in6.sin6_scope_id = (uint32_t)strtoul(scope, NULL, 10);
    if (addr->in6.sin6_scope_id == 0)
        return mci_err_set(MCOMM_ERR_ARG, "\"%s\": there is no interface \"%s\"", name->host,
                           scope);
    return MCOMM_SUCCESS;
}

/* What a look-up that may outlive its caller needs; a look-up that cannot be cancelled keeps it. */
struct lookup {
    struct gaicb request;
    struct addrinfo hints;
    char host[MCI_ADDR_HOST_MAX];
};

static mcomm_err_t lookup_wait(struct lookup *lookup, int timeout_ms)
{
    const struct gaicb *list[] = {&lookup->request};
    struct timespec end, now, left;
    int64_t left_ns;
    int rc;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += timeout_ms % 1000 * 1000000L;
    while ((rc = gai_error(&lookup->request)) == EAI_INPROGRESS) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left_ns = (end.tv_sec - now.tv_sec) * INT64_C(1000000000) + end.tv_nsec - now.tv_nsec;
        if (left_ns <= 0)
            return mci_err_set(MCOMM_ERR_TIMEOUT,
                               "host \"%s\": no answer to the look-up within %d ms", lookup->host,
                               timeout_ms);
        left.tv_sec = left_ns / 1000000000;
        left.tv_nsec = left_ns % 1000000000;
        gai_suspend(list, 1, &left);
    }
    if (rc != 0)
        return mci_err_set(MCOMM_ERR_ARG, "host \"%s\": %s", lookup->host, gai_strerror(rc));
    return MCOMM_SUCCESS;
}

static int lookup_take(const struct lookup *lookup, struct mci_addr *addrs, int max)
{
    int num = 0;

    for (struct addrinfo *ai = lookup->request.ar_result; ai != NULL && num < max;
         ai = ai->ai_next) {
        if (mci_addr_from_sockaddr(ai->ai_addr, &addrs[num]))
            num++;
    }
    return num;
}

static mcomm_err_t resolve_name(const struct mci_addr_name *name, int timeout_ms,
                                struct mci_addr *addrs, int max, int *num_p)
{
    struct lookup *lookup = mci_mem_zalloc(sizeof(*lookup));
    struct gaicb *list[1];
    /* The look-up runs in a thread of the C library, which must not take the user's signals' place.
     */
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    mcomm_err_t err;
    int rc;

    if (lookup == NULL)
        return MCOMM_ERR_NO_MEM;
    strcpy(lookup->host, name->host);
    lookup->hints.ai_socktype = SOCK_STREAM;
    lookup->request.ar_name = lookup->host;
    lookup->request.ar_request = &lookup->hints;
    list[0] = &lookup->request;
    rc = getaddrinfo_a(GAI_NOWAIT, list, 1, &none);
    if (rc != 0) {
        err = mci_err_set(MCOMM_ERR_SYS, "host \"%s\": %s", name->host, gai_strerror(rc));
        goto free_lookup;
    }
    err = lookup_wait(lookup, timeout_ms);
    if (err == MCOMM_ERR_TIMEOUT && gai_cancel(&lookup->request) == EAI_NOTCANCELED)
        return err; /* still in use by the C library's thread: left to it, 400 bytes */
    if (err == MCOMM_SUCCESS) {
        *num_p = lookup_take(lookup, addrs, max);
        if (*num_p == 0)
            err = mci_err_set(MCOMM_ERR_ARG, "host \"%s\" has no IPv4 or IPv6 address", name->host);
    }
    if (lookup->request.ar_result != NULL)
        freeaddrinfo(lookup->request.ar_result);

free_lookup:
    mci_mem_free(lookup);
    return err;
}

mcomm_err_t mci_addr_resolve(const struct mci_addr_name *name, int timeout_ms,
                             struct mci_addr *addrs, int max, int *num_p)
{
    mcomm_err_t err;
    int num = 1;

    if (name->is_numeric)
        err = resolve_numeric(name, &addrs[0]);
    else
        err = resolve_name(name, timeout_ms, addrs, max, &num);
    if (err != MCOMM_SUCCESS)
        return err;
    for (int i = 0; i < num; i++)
        mci_addr_set_port(&addrs[i], name->port > 0 ? (uint16_t)name->port : 0);
    *num_p = num;
    return MCOMM_SUCCESS;
}

const char *mci_addr_format(const struct mci_addr *addr, char buf[MCI_ADDR_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";
    char scope[IF_NAMESIZE + 1] = "";
    uint16_t port = mci_addr_port(addr);

    if (addr->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &addr->in4.sin_addr, host, sizeof(host));
        snprintf(buf, MCI_ADDR_TEXT_MAX, port != 0 ? "%s:%u" : "%s", host, port);
        return buf;
    }
    if (addr->sa.sa_family != AF_INET6) {
        snprintf(buf, MCI_ADDR_TEXT_MAX, "(no address)");
        return buf;
    }
    inet_ntop(AF_INET6, &addr->in6.sin6_addr, host, sizeof(host));
    if (addr->in6.sin6_scope_id != 0) {
        scope[0] = '%';
        if (if_indextoname(addr->in6.sin6_scope_id, scope + 1) == NULL)
            snprintf(scope + 1, sizeof(scope) - 1, "%u", addr->in6.sin6_scope_id);
    }
    if (port != 0)
        snprintf(buf, MCI_ADDR_TEXT_MAX, "[%s%s]:%u", host, scope, port);
    else
        snprintf(buf, MCI_ADDR_TEXT_MAX, "%s%s", host, scope);
    return buf;
}

uint16_t mci_addr_port(const struct mci_addr *addr)
{
    return ntohs(addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_port : addr->in4.sin_port);
}

void mci_addr_set_port(struct mci_addr *addr, uint16_t port)
{
    if (addr->sa.sa_family == AF_INET6)
        addr->in6.sin6_port = htons(port);
    else
        addr->in4.sin_port = htons(port);
}

/* The address alone, as 16 bytes; IPv4 as IPv4-mapped IPv6. */
static void addr_bytes(const struct mci_addr *addr, uint8_t bytes[16])
{
    memset(bytes, 0, 16);
    if (addr->sa.sa_family == AF_INET6) {
        memcpy(bytes, &addr->in6.sin6_addr, 16);
    } else {
        bytes[10] = bytes[11] = 0xff;
        memcpy(bytes + 12, &addr->in4.sin_addr, 4);
    }
}

static bool is_v4_bytes(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}

bool mci_addr_is_loopback(const struct mci_addr *addr)
{
    uint8_t b[16];

    addr_bytes(addr, b);
    return is_v4_bytes(b) ? b[12] == 127 : memcmp(b, &in6addr_loopback, 16) == 0;
}

bool mci_addr_is_link_local(const struct mci_addr *addr)
{
    uint8_t b[16];

    addr_bytes(addr, b);
    if (is_v4_bytes(b))
        return b[12] == 169 && b[13] == 254;
    return b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

bool mci_addr_equal(const struct mci_addr *a, const struct mci_addr *b)
{
    uint8_t x[16], y[16];

    addr_bytes(a, x);
    addr_bytes(b, y);
    if (memcmp(x, y, 16) != 0)
        return false;
    if (a->sa.sa_family != AF_INET6 || b->sa.sa_family != AF_INET6)
        return true;
    return a->in6.sin6_scope_id == b->in6.sin6_scope_id || a->in6.sin6_scope_id == 0 ||
           b->in6.sin6_scope_id == 0;
}

bool mci_addr_in_net(const struct mci_addr *addr, const struct mci_addr *net, unsigned prefix_nbits)
{
    uint8_t x[16], y[16];
    unsigned nbits = prefix_nbits;

    if (addr->sa.sa_family != net->sa.sa_family)
        return false;
    addr_bytes(addr, x);
    addr_bytes(net, y);
    if (addr->sa.sa_family == AF_INET)
        nbits += 96;
    if (nbits > 128 || memcmp(x, y, nbits / 8) != 0)
        return false;
    return nbits % 8 == 0 || ((x[nbits / 8] ^ y[nbits / 8]) & (0xff00 >> nbits % 8) & 0xff) == 0;
}
