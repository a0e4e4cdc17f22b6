/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The caller brings rank, size and an allgather (a framework with a store of its own). Two calls
 * of it: sizes first, so that short blobs stay short, then the blobs padded to the longest.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static mcomm_err_t oob_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    mcomm_oob_t *copy;

    if (oob->allgather == NULL)
        return mci_err_set(MCOMM_ERR_ARG, "oob.allgather is NULL");
    if (oob->size < 1 || oob->rank < 0 || oob->rank >= oob->size)
        return mci_err_set(MCOMM_ERR_ARG, "oob.rank = %d, oob.size = %d: need 0 <= rank < size",
                           oob->rank, oob->size);
    copy = mci_mem_zalloc(sizeof(*copy));
    if (copy == NULL)
        return MCOMM_ERR_NO_MEM;
    *copy = *oob;
    rt->priv = copy;
    rt->info.rank = oob->rank;
    rt->info.size = oob->size;
    snprintf(rt->job_id, sizeof(rt->job_id), "oob.%d", (int)getpid());
    return MCOMM_SUCCESS;
}

static mcomm_err_t call_allgather(struct mci_rt *rt, const void *sendbuf, size_t nbytes,
                                  void *recvbuf)
{
    const mcomm_oob_t *oob = rt->priv;
    int rc = oob->allgather(sendbuf, recvbuf, nbytes, oob->arg);

    if (rc != 0)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the caller's allgather of %zu bytes returned %d",
                           nbytes, rc);
    return MCOMM_SUCCESS;
}

static mcomm_err_t check_lengths(const uint32_t *lengths, int num, size_t *total_p, size_t *max_p)
{
    size_t total = 0, max = 0;

    for (int i = 0; i < num; i++) {
        if (lengths[i] > MCI_RT_PACKET_MAX)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                               "the caller's allgather gave a length of %u for rank %d, at most %d",
                               lengths[i], i, MCI_RT_PACKET_MAX);
        total += lengths[i];
        max = lengths[i] > max ? lengths[i] : max;
    }
    *total_p = total;
    *max_p = max;
    return MCOMM_SUCCESS;
}

static mcomm_err_t gather_padded(struct mci_rt *rt, const void *packet, size_t nbytes,
                                 const uint32_t *lengths, struct mci_rt_blobs *out)
{
    int num = rt->info.size;
    size_t total = 0, max = 0;
    unsigned char *padded, *bytes = NULL;
    mcomm_err_t err;

    err = check_lengths(lengths, num, &total, &max);
    if (err != MCOMM_SUCCESS)
        return err;
    padded = mci_mem_zalloc(((size_t)num + 1) * max);
    if (padded == NULL)
        return MCOMM_ERR_NO_MEM;
    memcpy(padded, packet, nbytes);
    err = call_allgather(rt, padded, max, padded + max);
    if (err == MCOMM_SUCCESS)
        err = mci_rt_blobs_alloc(num, total, out, &bytes);
    for (int i = 0; i < num && err == MCOMM_SUCCESS; i++) {
        memcpy(bytes, padded + ((size_t)i + 1) * max, lengths[i]);
        out->blobs[i].ptr = bytes;
        out->blobs[i].nbytes = lengths[i];
        bytes += lengths[i];
    }
    mci_mem_free(padded);
    return err;
}

static mcomm_err_t oob_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                struct mci_rt_blobs *out)
{
    uint32_t length = (uint32_t)nbytes;
    uint32_t *lengths;
    mcomm_err_t err;

    lengths = mci_mem_zalloc((size_t)rt->info.size * sizeof(*lengths));
    if (lengths == NULL)
        return MCOMM_ERR_NO_MEM;
    err = call_allgather(rt, &length, sizeof(length), lengths);
    if (err == MCOMM_SUCCESS && lengths[rt->info.rank] != length)
        err = mci_err_set(MCOMM_ERR_BOOTSTRAP,
                          "the caller's allgather did not put rank %d's bytes at its place",
                          rt->info.rank);
    if (err == MCOMM_SUCCESS)
        err = gather_padded(rt, packet, nbytes, lengths, out);
    mci_mem_free(lengths);
    return err;
}

static void oob_abort(struct mci_rt *rt, int code, const char *msg)
{
    (void)rt;
    (void)code;
    (void)msg;
}

static void oob_stop(struct mci_rt *rt)
{
    mci_mem_free(rt->priv);
    rt->priv = NULL;
}

const struct mci_rt_ops mci_rt_oob_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "oob",
    .start = oob_start,
    .exchange = oob_exchange,
    .abort = oob_abort,
    .stop = oob_stop,
};
