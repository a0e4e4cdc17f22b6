/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What one system call sends on a lane. An *item* is a frame: header, payload, tail. */
#ifndef MCI_RAIL_TCP_VEC_H
#define MCI_RAIL_TCP_VEC_H

#include "rail/tcp/tcp_priv.h"

#include <sys/types.h>
#include <sys/uio.h>

#define MCI_TCP_VEC_MAX 64

struct mci_tcp_vec {
    struct iovec iov[MCI_TCP_VEC_MAX];
    int count;
    size_t nbytes;
};

static inline size_t mci_tcp_item_nbytes(const struct mci_tcp_header *header)
{
    return sizeof(*header) + header->frame.nbytes + mci_tcp_tail_nbytes(header->frame.nbytes);
}

bool mci_tcp_vec_add(struct mci_tcp_vec *vec, const void *ptr, size_t nbytes); /* false: full */
/* What is left of an item after its first sent bytes. False: the vector is full before its end. */
bool mci_tcp_vec_add_item(struct mci_tcp_vec *vec, const struct mci_tcp_header *header,
                          const struct mci_iov_cursor *cur, size_t sent, bool is_void);
/* Bytes sent; 0: not now; -1: a source is not readable. */
ssize_t mci_tcp_vec_send(struct mci_tcp_lane *lane, struct mci_tcp_vec *vec);
void mci_tcp_lane_set_blocked(struct mci_tcp_lane *lane, bool is_blocked); /* awaits EPOLLOUT */
/* A whole item into buf, which has room. Returns its bytes. */
size_t mci_tcp_frame_pack(uint8_t *buf, const struct mci_frame *frame, const mcomm_iov_t *iov,
                          size_t iov_count, size_t nbytes);

#endif
