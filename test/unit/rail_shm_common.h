/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* For the tests of the shm rail: the layers below it up and down, payload patterns, two peers. */
#ifndef TEST_UNIT_RAIL_SHM_COMMON_H
#define TEST_UNIT_RAIL_SHM_COMMON_H

#include "config.h"

#include "base/clock.h"
#include "base/copy.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/settings.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void base_up(void)
{
    assert_int_equal(mci_settings_load(), MCOMM_SUCCESS);
    mci_clock_init();
    mci_copy_start();
    mci_engine_lock_init(false);
    mci_wait_set_local_ranks(2, 2);
    assert_int_equal(mci_doorbell_start(), MCOMM_SUCCESS);
    assert_int_equal(mci_loop_start(), MCOMM_SUCCESS);
}

static inline void base_down(void)
{
    mci_loop_stop();
    mci_doorbell_stop();
    mci_settings_unload();
}

/* xorshift: fixed seeds give the same run everywhere. */
static inline uint32_t rng_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 16);
}

static inline uint8_t pattern_byte(uint32_t number, size_t i)
{
    return (uint8_t)(number * 29u + i * 7u + (i >> 8) * 13u);
}

static inline void pattern_fill(uint8_t *buf, size_t nbytes, uint32_t number, size_t offset)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = pattern_byte(number, offset + i);
}

/* Index of the first wrong byte, nbytes if all are right. */
static inline size_t pattern_check(const uint8_t *buf, size_t nbytes, uint32_t number,
                                   size_t offset)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != pattern_byte(number, offset + i))
            return i;
    return nbytes;
}

/* A process that does not exist, for connections within this one. */
static inline struct mci_peer *peer_invent(int rank)
{
    struct mci_card card = *mci_rail_own_card();
    struct mci_peer *peer = NULL;

    mci_random(&card.proc_id, sizeof(card.proc_id));
    card.world_rank = (uint32_t)rank;
    assert_int_equal(mci_peer_intern(&card, sizeof(card), &peer), MCOMM_SUCCESS);
    return peer;
}

#endif
