/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Blobs in rank order: allocating, packing into one run of bytes, and naming sets of ranks. */
#include "config.h"

#include "rt/rt_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static void put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

mcomm_err_t mci_rt_blobs_alloc(int num, size_t total, struct mci_rt_blobs *blobs_p,
                               unsigned char **bytes_p)
{
    size_t head = (size_t)num * sizeof(struct mci_rt_blob);
    unsigned char *mem = mci_mem_zalloc(head + total + 1);

    if (mem == NULL)
        return MCOMM_ERR_NO_MEM;
    blobs_p->num = num;
    blobs_p->blobs = (struct mci_rt_blob *)(void *)mem;
    *bytes_p = mem + head;
    return MCOMM_SUCCESS;
}

void mci_rt_blobs_free(struct mci_rt_blobs *blobs)
{
    mci_mem_free(blobs->blobs);
    blobs->blobs = NULL;
    blobs->num = 0;
}

mcomm_err_t mci_rt_blobs_pack(const struct mci_rt_blobs *blobs, unsigned char **buf_p,
                              size_t *nbytes_p)
{
    size_t total = 0;
    unsigned char *p;

    for (int i = 0; i < blobs->num; i++)
        total += 4 + blobs->blobs[i].nbytes;
    p = mci_mem_alloc(total);
    if (p == NULL)
        return MCOMM_ERR_NO_MEM;
    *buf_p = p;
    *nbytes_p = total;
    for (int i = 0; i < blobs->num; i++) {
        put32(p, (uint32_t)blobs->blobs[i].nbytes);
        memcpy(p + 4, blobs->blobs[i].ptr, blobs->blobs[i].nbytes);
        p += 4 + blobs->blobs[i].nbytes;
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rt_blobs_unpack(const void *buf, size_t nbytes, int num, struct mci_rt_blobs *out)
{
    struct mci_rt_blobs blobs;
    unsigned char *bytes;
    size_t left = nbytes;
    mcomm_err_t err;

    err = mci_rt_blobs_alloc(num, nbytes, &blobs, &bytes);
    if (err != MCOMM_SUCCESS)
        return err;
    memcpy(bytes, buf, nbytes);
    for (int i = 0; i < num; i++) {
        size_t n = left >= 4 ? get32(bytes) : 0;

        if (left < 4 || n > left - 4 || n > MCI_RT_PACKET_MAX)
            goto malformed;
        blobs.blobs[i].ptr = bytes + 4;
        blobs.blobs[i].nbytes = n;
        bytes += 4 + n;
        left -= 4 + n;
    }
    if (left == 0) {
        *out = blobs;
        return MCOMM_SUCCESS;
    }

malformed:
    mci_rt_blobs_free(&blobs);
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "malformed start-up blobs: %zu bytes for %d ranks",
                       nbytes, num);
}

const char *mci_rt_ranks_text(const unsigned char *flags, int num, unsigned char value, char *buf,
                              size_t nbytes)
{
    size_t n = 0;
    int count = 0;

    buf[0] = '\0';
    for (int i = 0; i < num && n + 32 < nbytes; i++) {
        int last = i;

        if (flags[i] != value)
            continue;
        while (last + 1 < num && flags[last + 1] == value)
            last++;
        n += (size_t)snprintf(buf + n, nbytes - n, last > i ? "%s%d-%d" : "%s%d",
                              count > 0 ? ", " : "", i, last);
        count += last - i + 1;
        i = last;
        if (n + 32 >= nbytes)
            snprintf(buf + n, nbytes - n, ", ...");
    }
    if (count == 0)
        snprintf(buf, nbytes, "none");
    return buf;
}
