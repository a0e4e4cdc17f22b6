/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Sending bulk operations: slices of up to 256 KiB, each one slot and its bytes through the ring,
 * in turn if there are several operations. Frames that wait go before the next slice. An operation
 * is done when its last byte is in the ring; done is called by the poller, never from within
 * start.
 */
#include "config.h"

#include "base/log.h"
#include "base/mem.h"
#include "rail/shm/shm_priv.h"

#define SLICES_AT_START 4

static bool slice_begin(struct mci_shm_conn *conn, struct mci_outop *op)
{
    uint64_t left = op->nbytes - op->next_offset;
    struct mci_frame frame = {
        .am = MCI_AM_RAIL_SLICE,
        .nbytes = (uint32_t)(left < MCI_SHM_SLICE ? left : MCI_SHM_SLICE),
        .w0 = op->remote_id,
    };

    mci_iov_seek(&conn->tx_cursor, op->iov, op->iov_count, op->next_offset);
    if (!mci_shm_stream_begin(conn, &frame, op->next_offset, op->next_offset == 0))
        return false;
    op->next_offset += frame.nbytes;
    conn->op_cur = op;
    return true;
}

void mci_shm_outop_slice_sent(struct mci_shm_conn *conn)
{
    struct mci_outop *op = conn->op_cur;

    conn->op_cur = NULL;
    conn->tx_is_busy = !mci_list_is_empty(&conn->tx_queue);
    mci_mem_free(conn->copy_cur);
    conn->copy_cur = NULL;
    if (op == NULL)
        return; /* closed meanwhile */
    mci_list_remove(&op->link);
    mci_list_push(op->next_offset < op->nbytes ? &conn->op_queue : &conn->op_done, &op->link);
}

int mci_shm_outop_pump(struct mci_shm_conn *conn, int max_slices)
{
    int events = 0;

    while (events < max_slices && !mci_list_is_empty(&conn->op_queue) &&
           mci_list_is_empty(&conn->tx_queue)) {
        struct mci_outop *op = mci_container_of(conn->op_queue.next, struct mci_outop, link);

        if (!slice_begin(conn, op))
            break;
        events++;
        if (!mci_shm_stream_push(conn))
            break;
        mci_shm_outop_slice_sent(conn);
    }
    return events;
}

int mci_shm_outop_finish(struct mci_shm_conn *conn)
{
    struct mci_list *node;
    int events = 0;

    while ((node = mci_list_pop(&conn->op_done)) != NULL) {
        struct mci_outop *op = mci_container_of(node, struct mci_outop, link);

        op->is_open = false;
        op->done(op, MCOMM_SUCCESS);
        events++;
    }
    return events;
}

mcomm_err_t mci_shm_outop_start(struct mci_outop *op)
{
    struct mci_shm_conn *conn = op->peer->conn;

    op->is_open = true;
    conn->tx_is_waiting = true;
    if (op->nbytes == 0) {
        mci_list_push(&conn->op_done, &op->link);
        return MCOMM_SUCCESS;
    }
    mci_list_push(&conn->op_queue, &op->link);
    if (!conn->tx_is_busy)
        mci_shm_outop_pump(conn, SLICES_AT_START);
    return MCOMM_SUCCESS;
}

void mci_shm_detach(struct mci_shm_conn *conn)
{
    char *copy = mci_mem_alloc(conn->tx_left);
    size_t done = 0, n;
    void *src;

    conn->op_cur = NULL;
    conn->tx_cur = NULL;
    if (copy == NULL) {
        mci_log_error("no memory to detach the rest of %zu bytes", conn->tx_left);
        conn->tx_left = 0;
        conn->is_broken = true;
        return;
    }
    while (done < conn->tx_left &&
           (n = mci_iov_next(&conn->tx_cursor, conn->tx_left - done, &src)) > 0) {
        memcpy(copy + done, src, n);
        done += n;
    }
    conn->copy_cur = copy;
    conn->copy_iov = (mcomm_iov_t){copy, conn->tx_left};
    mci_iov_seek(&conn->tx_cursor, &conn->copy_iov, 1, 0);
}

void mci_shm_outop_close(struct mci_outop *op)
{
    struct mci_shm_conn *conn = op->peer->conn;

    op->is_open = false;
    mci_list_remove(&op->link);
    if (conn != NULL && conn->op_cur == op)
        mci_shm_detach(conn);
}

void mci_shm_outop_abort(struct mci_shm_conn *conn, mcomm_err_t err)
{
    struct mci_list *node;

    conn->op_cur = NULL;
    mci_mem_free(conn->copy_cur);
    conn->copy_cur = NULL;
    while ((node = mci_list_pop(&conn->op_done)) != NULL ||
           (node = mci_list_pop(&conn->op_queue)) != NULL) {
        struct mci_outop *op = mci_container_of(node, struct mci_outop, link);

        op->is_open = false;
        op->done(op, err);
    }
}
