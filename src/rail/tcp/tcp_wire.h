/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The bytes on a tcp connection after its admission; docs/wire.md says what they mean. A frame is
 * a header, and if it has a payload: the payload, zeros up to a multiple of 8, a trailer. The
 * trailer's verdict is what makes a payload count, so a sender whose source vanished half-way can
 * finish the frame with zeros and declare it void.
 */
#ifndef MCI_RAIL_TCP_WIRE_H
#define MCI_RAIL_TCP_WIRE_H

#include "rail/rail.h"

#define MCI_TCP_VERSION 1
#define MCI_TCP_SLICE_MAX (64u << 20) /* payload bytes of one slice */
#define MCI_TCP_WHOLE_MAX 16384u      /* frames up to it are always delivered in one piece */

struct mci_tcp_header {
    struct mci_frame frame;
    uint32_t generation;  /* slices: the sender's operation; else 0 */
    uint32_t deadline_ms; /* slices: the sender repeats it elsewhere after so long; 0: never */
};
_Static_assert(sizeof(struct mci_tcp_header) == 32, "wire format");

struct mci_tcp_trailer {
    uint32_t verdict;
    uint32_t checksum; /* 0: none */
};
_Static_assert(sizeof(struct mci_tcp_trailer) == 8, "wire format");
#define MCI_TCP_GOOD 0x444f4f47u
#define MCI_TCP_VOID 0x44494f56u

/* What the connector's and the acceptor's rail say in the admission, 16 bytes. */
struct mci_tcp_hello {
    uint8_t version;
    uint8_t lane; /* which of several connections of the pair: 0 */
    uint8_t pad[2];
    uint32_t slice_max;
    uint64_t features; /* bits; 0 */
};
_Static_assert(sizeof(struct mci_tcp_hello) == 16, "wire format");

/* MCI_AM_RAIL_SLICE: w0 = receiver's operation, w1 + (w2 << 32) = offset, aux = attempt.
 * MCI_AM_RAIL_ACK: w0 = offset, w1 = bytes, w2 = generation, flags as below. */
#define MCI_TCP_ACK_LATE 1 /* nobody waits for them: discarded */

/* MCI_AM_RAIL_CTL: aux says what. */
enum mci_tcp_ctl {
    MCI_TCP_CTL_ACCEPT = 1, /* acceptor's first frame: this connection is the pair's */
    MCI_TCP_CTL_BYE,        /* the process finalizes; nothing follows */
    MCI_TCP_CTL_ABORT       /* w0 = receiver's operation, w1 = error: it will not be completed */
};

/* Bytes behind a payload: padding and trailer. */
static inline size_t mci_tcp_tail_nbytes(size_t nbytes)
{
    return nbytes == 0 ? 0 : (-nbytes & 7) + sizeof(struct mci_tcp_trailer);
}

#endif
