/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bulk operations as slices. A lane pulls the next slice of the next operation while it has less
 * than a window of unacknowledged bytes; operations take turns. The receiver acknowledges what is
 * in place, adjacent slices together, so the sender's operation is done only when its data has
 * arrived and its source may be needed again no more.
 */
#include "config.h"

#include "base/log.h"
#include "rail/tcp/tcp_priv.h"

#define ACK_BYTES (256u << 10) /* acknowledge at the latest after so many */

/* Out of all tables; its source is not read any more. */
static void out_retire(struct mci_tcp_out *out)
{
    struct mci_outop *op = out->op;
    struct mci_tcp_link *link = out->link;
    struct mci_list *node;

    mci_map_remove(&mci_tcp.outs_by_generation, out->generation);
    mci_list_remove(&op->link);
    op->is_open = false;
    op->rail = NULL;
    MCI_LIST_FOREACH (node, &link->lanes) {
        struct mci_tcp_lane *lane = mci_container_of(node, struct mci_tcp_lane, node);

        if (!lane->part.is_active || lane->part.out != out)
            continue;
        if (lane->part.sent == 0) {
            lane->part.is_active = false;
            lane->in_flight -= lane->part.header.frame.nbytes;
        }
        mci_tcp_part_void(&lane->part);
    }
    mci_pool_put(&mci_tcp.outs, out);
}

static void out_finish(struct mci_tcp_out *out, mcomm_err_t err)
{
    struct mci_outop *op = out->op;

    out_retire(out);
    op->done(op, err);
}

/* A generation that no open operation has; never 0. */
static uint32_t generation_take(void)
{
    do {
        mci_tcp.next_generation++;
    } while (mci_tcp.next_generation == 0 ||
             mci_map_get(&mci_tcp.outs_by_generation, mci_tcp.next_generation) != NULL);
    return mci_tcp.next_generation;
}

mcomm_err_t mci_tcp_outop_start(struct mci_outop *op)
{
    struct mci_tcp_link *link = op->peer->conn;
    struct mci_tcp_out *out;

    if (link == NULL || link->lane == NULL)
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: its connection is closed",
                           op->peer->world_rank);
    if (op->nbytes == 0) {
        op->done(op, MCOMM_SUCCESS);
        return MCOMM_SUCCESS;
    }
    out = mci_pool_get(&mci_tcp.outs);
    if (out == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an outbound operation");
    out->op = op;
    out->link = link;
    out->generation = generation_take();
    mci_iov_seek(&out->cur, op->iov, op->iov_count, 0);
    if (mci_map_put(&mci_tcp.outs_by_generation, out->generation, out) != MCOMM_SUCCESS) {
        mci_pool_put(&mci_tcp.outs, out);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an outbound operation");
    }
    op->generation = out->generation;
    op->rail = out;
    op->is_open = true;
    mci_list_push(&link->ready, &op->link);
    mci_tcp_lane_flush(link->lane);
    return MCOMM_SUCCESS;
}

static void abort_send(struct mci_tcp_link *link, uint64_t remote_id, mcomm_err_t err)
{
    struct mci_frame frame = {
        .am = MCI_AM_RAIL_CTL, .aux = MCI_TCP_CTL_ABORT, .w0 = remote_id, .w1 = (uint32_t)err};

    if (link->lane != NULL) /* the receiver waits for it, or for the peer's failure */
        mci_peer_tell(link->peer, &frame);
}

void mci_tcp_outop_close(struct mci_outop *op)
{
    struct mci_tcp_out *out = op->rail;
    struct mci_tcp_link *link;

    if (out == NULL)
        return;
    link = out->link;
    out_retire(out);
    abort_send(link, op->remote_id, MCOMM_ERR_CANCELLED);
}

void mci_tcp_out_failed(struct mci_tcp_out *out, mcomm_err_t err)
{
    struct mci_outop *op = out->op;
    struct mci_tcp_link *link = out->link;

    out_retire(out);
    abort_send(link, op->remote_id, err);
    op->done(op, err);
}

void mci_tcp_outop_fail_all(struct mci_tcp_link *link, mcomm_err_t err)
{
    struct mci_list *lists[] = {&link->ready, &link->unacked};

    for (int i = 0; i < 2; i++) {
        while (!mci_list_is_empty(lists[i])) {
            struct mci_outop *op = mci_container_of(lists[i]->next, struct mci_outop, link);

            out_finish(op->rail, err);
        }
    }
}

bool mci_tcp_slice_next(struct mci_tcp_lane *lane)
{
    struct mci_tcp_link *link = lane->link;
    struct mci_tcp_part *part = &lane->part;
    struct mci_outop *op;
    struct mci_tcp_out *out;
    size_t nbytes;

    if (mci_list_is_empty(&link->ready) || lane->in_flight >= MCI_TCP_WINDOW * mci_tcp.slice_nbytes)
        return false;
    op = mci_container_of(link->ready.next, struct mci_outop, link);
    out = op->rail;
    nbytes = op->nbytes - op->next_offset;
    if (nbytes > mci_tcp.slice_nbytes)
        nbytes = mci_tcp.slice_nbytes;
    *part = (struct mci_tcp_part){.is_active = true, .out = out, .cur = out->cur};
    part->header.frame = (struct mci_frame){.am = MCI_AM_RAIL_SLICE,
                                            .nbytes = (uint32_t)nbytes,
                                            .w0 = op->remote_id,
                                            .w1 = (uint32_t)op->next_offset,
                                            .w2 = (uint32_t)(op->next_offset >> 32)};
    part->header.generation = out->generation;
    mci_iov_skip(&out->cur, nbytes);
    op->next_offset += nbytes;
    op->in_flight += (uint32_t)nbytes;
    lane->in_flight += nbytes;
    mci_list_remove(&op->link);
    mci_list_push(op->next_offset < op->nbytes ? &link->ready : &link->unacked, &op->link);
    return true;
}

/* ---- acknowledgements ---- */
void mci_tcp_ack_emit(struct mci_tcp_lane *lane)
{
    struct mci_tcp_ack *ack = &lane->ack;
    struct mci_frame frame = {.am = MCI_AM_RAIL_ACK,
                              .flags = ack->flags,
                              .w0 = ack->offset,
                              .w1 = ack->nbytes,
                              .w2 = ack->generation};

    if (ack->nbytes == 0)
        return;
    ack->nbytes = 0;
    if (mci_tcp_lane_send(lane, &frame, NULL, 0, 0, NULL) != MCOMM_SUCCESS)
        mci_tcp_lane_violation(lane, "no memory for an acknowledgement");
}

void mci_tcp_ack_slice(struct mci_tcp_lane *lane, const struct mci_tcp_header *header,
                       uint8_t flags)
{
    struct mci_tcp_ack *ack = &lane->ack;
    uint64_t offset = header->frame.w1 | (uint64_t)header->frame.w2 << 32;

    if (lane->state != MCI_TCP_LANE_READY)
        return;
    if (ack->nbytes > 0 && ack->generation == header->generation && ack->flags == flags &&
        ack->offset + ack->nbytes == offset) {
        ack->nbytes += header->frame.nbytes;
    } else {
        mci_tcp_ack_emit(lane);
        *ack = (struct mci_tcp_ack){.offset = offset,
                                    .nbytes = header->frame.nbytes,
                                    .generation = header->generation,
                                    .flags = flags};
    }
    if (ack->nbytes >= ACK_BYTES)
        mci_tcp_ack_emit(lane);
}

const char *mci_tcp_ack_handle(struct mci_tcp_lane *lane, const struct mci_frame *frame)
{
    struct mci_tcp_out *out = mci_map_get(&mci_tcp.outs_by_generation, frame->w2);
    struct mci_outop *op = out != NULL ? out->op : NULL;
    uint32_t nbytes = frame->w1;

    if (nbytes == 0 || nbytes > lane->in_flight)
        return "acknowledgement of more than was sent";
    lane->in_flight -= nbytes;
    if (op == NULL || op->peer != lane->link->peer)
        return NULL; /* of an operation that was closed */
    if (nbytes > op->in_flight || frame->w0 + nbytes > op->next_offset)
        return "acknowledgement of more than was sent";
    op->in_flight -= nbytes;
    op->acked += nbytes;
    if (frame->flags & MCI_TCP_ACK_LATE)
        out_finish(out, mci_err_set(MCOMM_ERR_CANCELLED, "rank %d of the job gave up a transfer",
                                    op->peer->world_rank));
    else if (op->acked == op->nbytes)
        out_finish(out, MCOMM_SUCCESS);
    return NULL;
}
