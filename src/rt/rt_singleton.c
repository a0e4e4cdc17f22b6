/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* One process, no launcher: rank 0 of 1. Chosen only if nothing hints at further processes. */
#include "config.h"

#include "rt/rt_priv.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static mcomm_err_t singleton_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    (void)oob;
    rt->info.rank = 0;
    rt->info.size = 1;
    rt->info.local_rank = 0;
    rt->info.local_size = 1;
    snprintf(rt->job_id, sizeof(rt->job_id), "singleton.%d", (int)getpid());
    return MCOMM_SUCCESS;
}

static mcomm_err_t singleton_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                      struct mci_rt_blobs *out)
{
    unsigned char *bytes;
    mcomm_err_t err;

    (void)rt;
    err = mci_rt_blobs_alloc(1, nbytes, out, &bytes);
    if (err != MCOMM_SUCCESS)
        return err;
    memcpy(bytes, packet, nbytes);
    out->blobs[0].ptr = bytes;
    out->blobs[0].nbytes = nbytes;
    return MCOMM_SUCCESS;
}

static void singleton_abort(struct mci_rt *rt, int code, const char *msg)
{
    (void)rt;
    (void)code;
    (void)msg;
}

static void singleton_stop(struct mci_rt *rt)
{
    (void)rt;
}

const struct mci_rt_ops mci_rt_singleton_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "singleton",
    .start = singleton_start,
    .exchange = singleton_exchange,
    .abort = singleton_abort,
    .stop = singleton_stop,
};
