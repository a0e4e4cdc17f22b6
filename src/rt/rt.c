/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The life of a bootstrap, the same for every kind: start, one exchange, events, stop. The
 * exchange puts a small header before each blob, by which ranks that disagree about the job
 * notice it, and from which the job's secret comes.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"
#include "rt/auth.h"

#define PACKET_VERSION 1
#define FAIL_TEXT_MAX 512

static const struct mci_rt_ops *const kinds[MCI_RT_KIND_NUM] = {
#ifdef HAVE_PMIX
    [MCI_RT_PMIX] = &mci_rt_pmix_ops,
#endif
    [MCI_RT_PMI1] = &mci_rt_pmi1_ops, [MCI_RT_TCP] = &mci_rt_tcp_ops,
    [MCI_RT_OOB] = &mci_rt_oob_ops,   [MCI_RT_SINGLETON] = &mci_rt_singleton_ops,
};

/* Before each blob, little-endian; 48 bytes. With an error the blob is a text that says why. */
struct packet_header {
    uint8_t magic[4];
    uint16_t version;
    uint16_t err; /* why the rank cannot start: an mcomm_err_t, 0 if it can */
    uint32_t rank;
    uint32_t size;
    uint8_t random[MCI_AUTH_NONCE_BYTES];
};
_Static_assert(sizeof(struct packet_header) == MCI_RT_HEADER_BYTES, "it goes over the wire");

static const uint8_t packet_magic[4] = {'M', 'C', 'R', 'T'};

int mci_rt_time_left_ms(const struct mci_rt *rt)
{
    int64_t left_ns = rt->deadline_ns - mci_clock_ns();

    return left_ns <= 0 ? 0 : (int)((left_ns + 999999) / 1000000);
}

mcomm_err_t mci_rt_start(const mcomm_oob_t *oob, int timeout_ms, struct mci_rt **rt_p)
{
    enum mci_rt_kind kind = MCI_RT_OOB;
    struct mci_rt_evidence ev;
    struct mci_rt *rt;
    mcomm_err_t err;

    err = mci_settings_load();
    if (err != MCOMM_SUCCESS)
        return err;
    if (oob == NULL) {
        mci_rt_evidence_read(&ev);
        err = mci_rt_select(&ev, &kind);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    rt = mci_mem_zalloc(sizeof(*rt));
    if (rt == NULL)
        return MCOMM_ERR_NO_MEM;
    pthread_mutex_init(&rt->event_lock, NULL);
    rt->ops = kinds[kind];
    rt->timeout_ms = timeout_ms > 0 ? timeout_ms : mci_settings.startup_timeout;
    if (rt->timeout_ms < 0)
        rt->timeout_ms = INT_MAX / 2; /* for ever, as the user asked: 12 days */
    rt->deadline_ns = mci_clock_ns() + rt->timeout_ms * INT64_C(1000000);
    rt->info.kind = kind;
    rt->info.kind_name = rt->ops->name;
    rt->info.job_id = rt->job_id;
    rt->info.local_rank = -1;
    rt->info.local_size = -1;
    err = rt->ops->start(rt, oob);
    if (err != MCOMM_SUCCESS)
        goto free_rt;
    mci_log_debug("rt: %s, job %s, rank %d of %d", rt->ops->name, rt->job_id, rt->info.rank,
                  rt->info.size);
    *rt_p = rt;
    return MCOMM_SUCCESS;

free_rt:
    pthread_mutex_destroy(&rt->event_lock);
    mci_mem_free(rt);
    return err;
}

const struct mci_rt_info *mci_rt_info(const struct mci_rt *rt)
{
    return &rt->info;
}

static void header_fill(const struct mci_rt *rt, mcomm_err_t err, struct packet_header *header)
{
    memcpy(header->magic, packet_magic, sizeof(packet_magic));
    header->version = PACKET_VERSION;
    header->err = (uint16_t)err;
    header->rank = (uint32_t)rt->info.rank;
    header->size = (uint32_t)rt->info.size;
}

/* Text from another process goes to a terminal: printable only. */
static mcomm_err_t rank_failed(int rank, const struct packet_header *header,
                               const struct mci_rt_blob *blob)
{
    const char *from = (const char *)blob->ptr + sizeof(*header);
    size_t nbytes = blob->nbytes - sizeof(*header);
    char text[FAIL_TEXT_MAX];

    if (nbytes >= sizeof(text))
        nbytes = sizeof(text) - 1;
    for (size_t i = 0; i < nbytes; i++)
        text[i] = from[i] >= ' ' && from[i] < 127 ? from[i] : '?';
    text[nbytes] = '\0';
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "rank %d could not start: %s: %s", rank,
                       mcomm_err_name((mcomm_err_t)header->err), text);
}

/* Do all ranks speak of the same job? Blob i lies behind the header that is checked here. */
static mcomm_err_t headers_check(const struct mci_rt *rt, const struct mci_rt_blobs *blobs)
{
    struct packet_header header;

    for (int i = 0; i < blobs->num; i++) {
        if (blobs->blobs[i].nbytes < sizeof(header) ||
            memcmp(blobs->blobs[i].ptr, packet_magic, sizeof(packet_magic)) != 0)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                               "rank %d gave %zu bytes that are not ours: is it "
                               "another program?",
                               i, blobs->blobs[i].nbytes);
        memcpy(&header, blobs->blobs[i].ptr, sizeof(header));
        if (header.version != PACKET_VERSION)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                               "rank %d uses start-up protocol %u, rank %d uses %d: all ranks need "
                               "the same library",
                               i, header.version, rt->info.rank, PACKET_VERSION);
        if (header.rank != (uint32_t)i || header.size != (uint32_t)rt->info.size)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                               "at place %d of %d is a process that takes itself for rank %u of %u",
                               i, rt->info.size, header.rank, header.size);
        if (header.err != 0)
            return rank_failed(i, &header, &blobs->blobs[i]);
    }
    return MCOMM_SUCCESS;
}

/* Rank 0's random bytes name the job and, keyed with what the bootstrap may have, give its secret.
 */
static void take_secret(struct mci_rt *rt, const struct mci_rt_blobs *blobs)
{
    uint8_t nonce[MCI_AUTH_MAC_BYTES];
    struct packet_header header;

    memcpy(&header, blobs->blobs[0].ptr, sizeof(header));
    mci_auth_derive(rt->info.job_secret, rt->base_secret, "mcomm job secret", header.random,
                    sizeof(header.random));
    mci_auth_derive(nonce, rt->info.job_secret, "mcomm job nonce", NULL, 0);
    memcpy(rt->info.job_nonce, nonce, sizeof(rt->info.job_nonce));
}

static mcomm_err_t exchange(struct mci_rt *rt, mcomm_err_t own_err, const void *blob, size_t nbytes,
                            struct mci_rt_blobs *blobs_p)
{
    unsigned char packet[MCI_RT_PACKET_MAX];
    struct packet_header header;
    mcomm_err_t err;

    if (nbytes > MCI_RT_BLOB_MAX)
        return mci_err_set(MCOMM_ERR_ARG, "nbytes = %zu: a start-up blob has at most %d bytes",
                           nbytes, MCI_RT_BLOB_MAX);
    if (rt->is_exchanged)
        return mci_err_set(MCOMM_ERR_INTERNAL, "start-up blobs are exchanged once");
    header_fill(rt, own_err, &header);
    err = mci_random(header.random, sizeof(header.random));
    if (err != MCOMM_SUCCESS)
        return err;
    memcpy(packet, &header, sizeof(header));
    if (nbytes > 0)
        memcpy(packet + sizeof(header), blob, nbytes);
    rt->is_exchanged = true;
    return rt->ops->exchange(rt, packet, sizeof(header) + nbytes, blobs_p);
}

mcomm_err_t mci_rt_exchange(struct mci_rt *rt, const void *blob, size_t nbytes,
                            struct mci_rt_blobs *out)
{
    struct mci_rt_blobs blobs;
    mcomm_err_t err = exchange(rt, MCOMM_SUCCESS, blob, nbytes, &blobs);

    if (err != MCOMM_SUCCESS)
        return err;
    err = headers_check(rt, &blobs);
    if (err != MCOMM_SUCCESS) {
        mci_rt_blobs_free(&blobs);
        return err;
    }
    take_secret(rt, &blobs);
    for (int i = 0; i < blobs.num; i++) {
        blobs.blobs[i].ptr = (const unsigned char *)blobs.blobs[i].ptr + MCI_RT_HEADER_BYTES;
        blobs.blobs[i].nbytes -= MCI_RT_HEADER_BYTES;
    }
    *out = blobs;
    return MCOMM_SUCCESS;
}

void mci_rt_fail(struct mci_rt *rt, mcomm_err_t err)
{
    char text[FAIL_TEXT_MAX];
    struct mci_rt_blobs blobs;

    if (rt->is_exchanged)
        return;
    snprintf(text, sizeof(text), "%s", mcomm_last_error());
    if (exchange(rt, err, text, strlen(text), &blobs) == MCOMM_SUCCESS)
        mci_rt_blobs_free(&blobs);
    mci_err_set(err, "%s", text);
}

void mci_rt_set_event_cb(struct mci_rt *rt, void (*fn)(void *arg, int rank, int code), void *arg)
{
    pthread_mutex_lock(&rt->event_lock);
    rt->event_fn = fn;
    rt->event_arg = arg;
    for (int i = 0; i < rt->num_early && fn != NULL; i++)
        fn(arg, rt->early[i].rank, rt->early[i].code);
    rt->num_early = 0;
    pthread_mutex_unlock(&rt->event_lock);
}

void mci_rt_event(struct mci_rt *rt, int rank, int code)
{
    mci_log_debug("rt: event %d, rank %d", code, rank);
    pthread_mutex_lock(&rt->event_lock);
    if (rt->event_fn != NULL)
        rt->event_fn(rt->event_arg, rank, code);
    else if (rt->num_early < MCI_RT_EARLY_MAX)
        rt->early[rt->num_early++] = (struct mci_rt_early){rank, code};
    pthread_mutex_unlock(&rt->event_lock);
}

void mci_rt_abort(struct mci_rt *rt, int code, const char *msg)
{
    if ((code & 0xff) == 0)
        code = 1; /* the shell sees the low byte, and an abort is never a success */
    fprintf(stderr, "mooncake_comm: rank %d of %d ends the job with code %d: %s\n", rt->info.rank,
            rt->info.size, code, msg != NULL ? msg : "no reason given");
    rt->ops->abort(rt, code, msg != NULL ? msg : "");
    _exit(code);
}

void mci_rt_stop(struct mci_rt *rt)
{
    if (rt == NULL)
        return;
    rt->ops->stop(rt);
    pthread_mutex_destroy(&rt->event_lock);
    explicit_bzero(rt, sizeof(*rt));
    mci_mem_free(rt);
}
