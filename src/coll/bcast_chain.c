/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Broadcast of large data along a chain in chunks: every rank receives chunk i+1 while it passes on
 * chunk i. Each byte enters and leaves a rank once; the chain's length costs size-2 chunks.
 */
#include "coll/coll_priv.h"

#define CHAIN_CHUNK ((size_t)256 << 10)

struct chain {
    struct coll_call *call;
    char *buf;
    size_t nbytes;
    int prev, next;
};

static size_t chunk_nbytes(const struct chain *c, size_t offset)
{
    return c->nbytes - offset < CHAIN_CHUNK ? c->nbytes - offset : CHAIN_CHUNK;
}

/* Chunk at offset is here: pass it on while the next one comes in. */
static mcomm_err_t pass_on(const struct chain *c, size_t offset)
{
    size_t nbytes = chunk_nbytes(c, offset), next = offset + nbytes;
    int source = next < c->nbytes ? c->prev : COLL_NOBODY;

    return mci_coll_sendrecv(c->call, c->buf + offset, nbytes, c->next, c->buf + next,
                             source != COLL_NOBODY ? chunk_nbytes(c, next) : 0, source);
}

mcomm_err_t mci_coll_bcast_chain(struct coll_call *call, void *buf, size_t nbytes, int root)
{
    int size = call->comm->size, vrank = (call->comm->rank - root + size) % size;
    struct chain c = {.call = call,
                      .buf = buf,
                      .nbytes = nbytes,
                      .prev = vrank > 0 ? (vrank - 1 + root) % size : COLL_NOBODY,
                      .next = vrank + 1 < size ? (vrank + 1 + root) % size : COLL_NOBODY};
    mcomm_err_t err = MCOMM_SUCCESS;

    if (c.prev != COLL_NOBODY)
        err = mci_coll_sendrecv(call, NULL, 0, COLL_NOBODY, buf, chunk_nbytes(&c, 0), c.prev);
    for (size_t offset = 0; offset < nbytes && err == MCOMM_SUCCESS; offset += CHAIN_CHUNK)
        err = pass_on(&c, offset);
    return err;
}
