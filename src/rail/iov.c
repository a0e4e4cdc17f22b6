/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Walking lists of buffers, and frames that wait in a queue. */
#include "config.h"

#include "base/mem.h"
#include "rail/rail_priv.h"

#include <string.h>

void mci_iov_seek(struct mci_iov_cursor *cur, const mcomm_iov_t *iov, size_t count, size_t offset)
{
    cur->iov = iov;
    cur->count = count;
    cur->index = 0;
    while (cur->index < count && offset >= iov[cur->index].nbytes)
        offset -= iov[cur->index++].nbytes;
    cur->offset = cur->index < count ? offset : 0;
}

size_t mci_iov_next(struct mci_iov_cursor *cur, size_t max, void **ptr_p)
{
    size_t left;

    while (cur->index < cur->count && cur->offset == cur->iov[cur->index].nbytes) {
        cur->index++;
        cur->offset = 0;
    }
    if (cur->index == cur->count || max == 0)
        return 0;
    left = cur->iov[cur->index].nbytes - cur->offset;
    if (left > max)
        left = max;
    *ptr_p = (char *)cur->iov[cur->index].base + cur->offset;
    cur->offset += left;
    return left;
}

void mci_iov_skip(struct mci_iov_cursor *cur, size_t nbytes)
{
    size_t n;
    void *ptr;

    while (nbytes > 0 && (n = mci_iov_next(cur, nbytes, &ptr)) > 0)
        nbytes -= n;
}

size_t mci_iov_nbytes(const mcomm_iov_t *iov, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += iov[i].nbytes;
    return sum;
}

size_t mci_iov_scatter(const mcomm_iov_t *iov, size_t count, size_t offset, const void *src,
                       size_t nbytes)
{
    struct mci_iov_cursor cur;
    size_t stored = 0, n;
    void *dst;

    mci_iov_seek(&cur, iov, count, offset);
    while ((n = mci_iov_next(&cur, nbytes - stored, &dst)) > 0) {
        memcpy(dst, (const char *)src + stored, n);
        stored += n;
    }
    return stored;
}

void mci_tx_fill(struct mci_tx *tx, const struct mci_frame *frame, const mcomm_iov_t *iov,
                 size_t iov_count, size_t nbytes)
{
    if (&tx->frame != frame)
        tx->frame = *frame;
    tx->frame.nbytes = (uint32_t)nbytes;
    tx->iov = iov;
    tx->iov_count = iov_count;
    tx->iov_index = tx->iov_offset = 0;
    tx->sent = 0;
    mci_list_init(&tx->link);
}

struct mci_tx *mci_tx_copy(const struct mci_frame *frame, const mcomm_iov_t *iov, size_t iov_count,
                           size_t nbytes)
{
    struct mci_tx *tx = mci_mem_alloc(sizeof(*tx) + nbytes);
    struct mci_iov_cursor cur;
    char *out = (char *)(tx + 1);
    void *src;
    size_t n;

    if (tx == NULL)
        return NULL;
    mci_iov_seek(&cur, iov, iov_count, 0);
    while ((n = mci_iov_next(&cur, nbytes - (size_t)(out - (char *)(tx + 1)), &src)) > 0) {
        memcpy(out, src, n);
        out += n;
    }
    tx->one = (mcomm_iov_t){tx + 1, nbytes};
    mci_tx_fill(tx, frame, &tx->one, 1, nbytes);
    tx->done = NULL;
    tx->is_owned = true;
    return tx;
}

void mci_tx_finish(struct mci_tx *tx, mcomm_err_t err)
{
    mci_list_remove(&tx->link);
    if (tx->is_owned)
        mci_mem_free(tx);
    else
        tx->done(tx, err);
}
