/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bootstrap by a rendezvous over TCP: rank 0 listens where MCOMM_RENDEZVOUS says, the others
 * come. Ranks are set by the user or taken from any launcher. After the exchange nothing stays
 * open, and the same address can serve the next start at once.
 */
#include "config.h"

#include "rt/rt_tcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/settings.h"

/*
 * torchrun[:port]: the host comes from MASTER_ADDR. MASTER_PORT itself belongs to torch's own
 * store, so without a port the one after it is taken.
 */
static mcomm_err_t torchrun_name(const char *text, struct mci_addr_name *name)
{
    const char *addr = getenv("MASTER_ADDR");
    const char *port = getenv("MASTER_PORT");
    char full[MCI_ADDR_HOST_MAX];
    mcomm_err_t err;

    if (addr == NULL || addr[0] == '\0')
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "MCOMM_RENDEZVOUS=%s needs MASTER_ADDR, which torchrun sets", text);
    err = mci_addr_split(addr, name);
    if (err != MCOMM_SUCCESS)
        return err;
    if (text[strlen("torchrun")] == ':') {
        struct mci_addr_name given;

        snprintf(full, sizeof(full), "h%s", text + strlen("torchrun"));
        err = mci_addr_split(full, &given);
        name->port = given.port;
        return err;
    }
    if (port == NULL || atoi(port) < 1 || atoi(port) > 65535)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "MCOMM_RENDEZVOUS=%s: MASTER_PORT=%s is no port; set "
                           "MCOMM_RENDEZVOUS=torchrun:port",
                           text, port != NULL ? port : "");
    name->port = atoi(port) == 65535 ? 65534 : atoi(port) + 1;
    return MCOMM_SUCCESS;
}

static mcomm_err_t rendezvous_name(const char *text, struct mci_rt_tcp *tcp)
{
    struct mci_addr_name *name = &tcp->name;
    bool is_torchrun = strncmp(text, "torchrun", 8) == 0 && (text[8] == '\0' || text[8] == ':');
    mcomm_err_t err;

    err = is_torchrun ? torchrun_name(text, name) : mci_addr_split(text, name);
    if (err != MCOMM_SUCCESS)
        return err;
    if (name->port < 1)
        return mci_err_set(MCOMM_ERR_ARG,
                           "MCOMM_RENDEZVOUS=%s has no port: rank 0 needs one where "
                           "the others find it",
                           text);
    snprintf(tcp->where, sizeof(tcp->where), strchr(name->host, ':') != NULL ? "[%s]:%d" : "%s:%d",
             name->host, name->port);
    return MCOMM_SUCCESS;
}

static mcomm_err_t take_ranks(struct mci_rt *rt)
{
    struct mci_rt_evidence ev;

    mci_rt_evidence_read(&ev);
    if (ev.ranks_from == NULL)
        return mci_err_set(
            MCOMM_ERR_BOOTSTRAP,
            "MCOMM_RENDEZVOUS=%s, but no rank: set MCOMM_RANK and MCOMM_SIZE on each "
            "process, or use a launcher that does (mpirun, srun, mpiexec, torchrun)",
            ev.rendezvous);
    if (ev.rank < 0 || ev.size < 1 || ev.rank >= ev.size)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "MCOMM_RANK=%d and MCOMM_SIZE=%d: need 0 <= rank < size, both set",
                           ev.rank, ev.size);
    rt->info.rank = ev.rank;
    rt->info.size = ev.size;
    rt->info.local_rank = ev.local_rank;
    rt->info.local_size = ev.local_size;
    return MCOMM_SUCCESS;
}

static mcomm_err_t tcp_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    uint8_t secret[MCI_RT_SECRET_BYTES];
    struct mci_rt_tcp *tcp;
    mcomm_err_t err;

    (void)oob;
    err = take_ranks(rt);
    if (err != MCOMM_SUCCESS)
        return err;
    tcp = mci_mem_zalloc(sizeof(*tcp));
    if (tcp == NULL)
        return MCOMM_ERR_NO_MEM;
    err = rendezvous_name(mci_settings.rendezvous, tcp);
    if (err == MCOMM_SUCCESS && rt->info.size > 1)
        err = mci_rt_secret(secret);
    if (err != MCOMM_SUCCESS)
        goto free_tcp;
    snprintf(rt->job_id, sizeof(rt->job_id), "tcp.%.200s", tcp->where);
    if (rt->info.size > 1) {
        mci_auth_derive(tcp->secret, secret, "mcomm rendezvous", NULL, 0);
        mci_auth_derive(rt->base_secret, secret, "mcomm rendezvous job", NULL, 0);
        explicit_bzero(secret, sizeof(secret));
        if (rt->info.rank == 0)
            err = mci_rt_tcp_listen(rt, tcp);
    }
    if (err != MCOMM_SUCCESS)
        goto free_tcp;
    rt->priv = tcp;
    return MCOMM_SUCCESS;

free_tcp:
    mci_mem_free(tcp);
    return err;
}

static mcomm_err_t tcp_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                struct mci_rt_blobs *out)
{
    if (rt->info.size == 1)
        return mci_rt_singleton_ops.exchange(rt, packet, nbytes, out);
    if (rt->info.rank == 0)
        return mci_rt_tcp_serve(rt, rt->priv, packet, nbytes, out);
    return mci_rt_tcp_join(rt, rt->priv, packet, nbytes, out);
}

static void tcp_abort(struct mci_rt *rt, int code, const char *msg)
{
    /* There is nobody to ask; the others notice that this process is gone. */
    (void)rt;
    (void)code;
    (void)msg;
}

static void tcp_stop(struct mci_rt *rt)
{
    struct mci_rt_tcp *tcp = rt->priv;

    mci_rt_tcp_unlisten(tcp);
    explicit_bzero(tcp, sizeof(*tcp));
    mci_mem_free(tcp);
    rt->priv = NULL;
}

const struct mci_rt_ops mci_rt_tcp_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "tcp",
    .start = tcp_start,
    .exchange = tcp_exchange,
    .abort = tcp_abort,
    .stop = tcp_stop,
};
