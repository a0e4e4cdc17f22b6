/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Two connections of the shm rail in one process: what is sent to peer a comes out as from peer b
 * and the other way round. Every byte is checked.
 */
#ifndef TEST_UNIT_RAIL_SHM_PAIR_H
#define TEST_UNIT_RAIL_SHM_PAIR_H

#include "rail_shm_common.h"

#include "rail/shm/shm_priv.h"

#define AM_TEST MCI_AM_P2P_EAGER
#define SEED 0x9e3779b97f4a7c15u

extern struct mci_peer *ends[2];
extern uint64_t rng;

struct pair_got {
    uint32_t next;    /* number of the next frame */
    uint32_t done;    /* frames whose payload is all there */
    bool discard;     /* leave the sink empty */
    bool short_place; /* give less room than the payload needs */
    mcomm_err_t last_err;
};
extern struct pair_got got[2]; /* by the peer they come from: 0 = a */

struct outgoing {
    struct mci_tx tx;
    mcomm_iov_t iov[4];
    uint8_t *buf;
    uint32_t number;
    bool is_pending;
};
extern uint32_t sent[2], sent_done[2];
extern mcomm_err_t sent_err;
extern int echoes; /* so many frames are sent from within done */

/* To peer ends[to]; arrives as from ends[!to]. */
struct outgoing *frame_send(int to, size_t nbytes, bool has_tx);
size_t random_size(void);
void poll_until_idle(void);

void pair_up(size_t ring_nbytes); /* connected; the engine lock is held until pair_down() */
void pair_down(void);
int rail_up(void **state);
int rail_down(void **state);

#endif
