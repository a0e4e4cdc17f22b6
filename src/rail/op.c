/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Inbound bulk operations: the table by id, and the bitmap that makes the receiver the fence. A
 * slice of an operation that is unknown, closed, complete, from another peer or out of bounds is
 * not placed. An operation leaves the table before its done is called: exactly once, or never after
 * close.
 */
#include "config.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/wait.h"
#include "rail/rail_priv.h"
#include "topo/topo.h"

#include <string.h>

static struct {
    struct mci_map open; /* id -> inop */
    struct mci_list list;
    uint64_t next_id;
    size_t nbytes; /* of the open ones */
    size_t sweep_nbytes;
} ops;

mcomm_err_t mci_op_start(void)
{
    mci_map_init(&ops.open);
    mci_list_init(&ops.list);
    ops.nbytes = 0;
    ops.sweep_nbytes = mci_topo_cache_nbytes(3) / 2; /* the other half is for what they come from */
    return mci_random(&ops.next_id, sizeof(ops.next_id));
}

void mci_op_stop(void)
{
    mci_inop_fail_all(NULL, MCOMM_ERR_NOT_INIT);
    mci_map_fini(&ops.open);
}

static size_t op_units(const struct mci_inop *op)
{
    return (op->nbytes + MCI_SLICE_UNIT - 1) / MCI_SLICE_UNIT;
}

/* Out of the table: late slices no longer find it, half-read ones are redirected. */
static void op_retire(struct mci_inop *op)
{
    op->is_open = false;
    ops.nbytes -= op->nbytes;
    mci_map_remove(&ops.open, op->id);
    mci_list_remove(&op->link);
    if (op->busy > 0 && op->peer->ops != NULL)
        op->peer->ops->inop_closing(op->peer, op);
    if (op->bitmap != &op->word)
        mci_mem_free(op->bitmap);
    op->bitmap = NULL;
}

mcomm_err_t mci_inop_open(struct mci_inop *op)
{
    size_t words = (op_units(op) + 63) / 64;

    op->is_open = false;
    if (mci_peer_is_failed(op->peer))
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: %s", op->peer->world_rank,
                           mci_peer_reason(op->peer));
    if (op->nbytes > PTRDIFF_MAX) /* the sender's word */
        return mci_err_set(MCOMM_ERR_COUNT, "rank %d of the job announces %zu bytes",
                           op->peer->world_rank, op->nbytes);
    op->received = 0;
    op->busy = 0;
    op->word = 0;
    op->bitmap = words <= 1 ? &op->word : mci_mem_zalloc(words * sizeof(uint64_t));
    op->id = ops.next_id++;
    if (op->bitmap == NULL || mci_map_put(&ops.open, op->id, op) != MCOMM_SUCCESS) {
        if (op->bitmap != &op->word)
            mci_mem_free(op->bitmap);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an inbound operation");
    }
    mci_list_push(&ops.list, &op->link);
    ops.nbytes += op->nbytes; /* may wrap around and comes back */
    op->is_open = true;
    if (op->nbytes == 0) {
        op_retire(op);
        op->done(op, MCOMM_SUCCESS);
    }
    return MCOMM_SUCCESS;
}

bool mci_inop_is_sweep(void)
{
    return ops.nbytes >= ops.sweep_nbytes;
}

void mci_inop_close(struct mci_inop *op)
{
    if (op->is_open)
        op_retire(op);
}

void mci_inop_fail_all(struct mci_peer *peer, mcomm_err_t err)
{
    struct mci_list *node = ops.list.next;

    while (node != &ops.list) {
        struct mci_inop *op = mci_container_of(node, struct mci_inop, link);

        if (peer != NULL && op->peer != peer) {
            node = node->next;
            continue;
        }
        op_retire(op);
        op->done(op, err);
        node = ops.list.next; /* done may have changed the list */
    }
}

void mci_inop_abort(struct mci_peer *peer, uint64_t id, mcomm_err_t err)
{
    struct mci_inop *op = mci_map_get(&ops.open, id);

    if (op == NULL || op->peer != peer)
        return;
    op_retire(op);
    op->done(op, err);
    mci_wake_self();
}

struct mci_inop *mci_inop_slice_begin(struct mci_peer *peer, uint64_t id, uint64_t offset,
                                      uint32_t nbytes)
{
    struct mci_inop *op = mci_map_get(&ops.open, id);
    uint64_t unit = offset / MCI_SLICE_UNIT;

    if (op == NULL || op->peer != peer || nbytes == 0 || offset % MCI_SLICE_UNIT != 0 ||
        offset >= op->nbytes || nbytes > op->nbytes - offset ||
        (nbytes % MCI_SLICE_UNIT != 0 && offset + nbytes != op->nbytes))
        return NULL;
    if (op->bitmap[unit / 64] >> (unit % 64) & 1)
        return NULL;
    op->busy++;
    return op;
}

size_t mci_inop_pieces(const struct mci_inop *op, uint64_t offset, size_t nbytes, mcomm_iov_t *out,
                       size_t max, size_t *count_p)
{
    struct mci_iov_cursor cur;
    size_t covered = 0, count = 0, n;
    void *ptr;

    mci_iov_seek(&cur, op->iov, op->iov_count, offset);
    while (count < max && (n = mci_iov_next(&cur, nbytes - covered, &ptr)) > 0) {
        out[count++] = (mcomm_iov_t){ptr, n};
        covered += n;
    }
    *count_p = count;
    return covered;
}

bool mci_inop_slice_end(struct mci_inop *op, uint64_t offset, uint32_t nbytes)
{
    uint64_t unit = offset / MCI_SLICE_UNIT;
    uint64_t end = (offset + nbytes + MCI_SLICE_UNIT - 1) / MCI_SLICE_UNIT;

    op->busy--;
    if (op->bitmap[unit / 64] >> (unit % 64) & 1)
        return false; /* another copy of it was faster */
    for (; unit < end; unit++)
        op->bitmap[unit / 64] |= (uint64_t)1 << (unit % 64);
    op->received += nbytes;
    if (op->received < op->nbytes)
        return false;
    op_retire(op);
    op->done(op, MCOMM_SUCCESS);
    mci_wake_self();
    return true;
}

void mci_inop_slice_drop(struct mci_inop *op)
{
    op->busy--;
}

/* ---- outbound: straight to the rail ---- */
mcomm_err_t mci_outop_start(struct mci_outop *op)
{
    op->is_open = false;
    op->next_offset = op->acked = 0;
    op->in_flight = op->generation = 0;
    mci_list_init(&op->link);
    mci_list_init(&op->slices);
    if (op->peer->state != MCI_PEER_READY)
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: %s", op->peer->world_rank,
                           mci_peer_reason(op->peer));
    return op->peer->ops->outop_start(op);
}

void mci_outop_close(struct mci_outop *op)
{
    if (op->is_open)
        op->peer->ops->outop_close(op);
}
