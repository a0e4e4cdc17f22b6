/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Child processes for the tests of the shm rail. A child gives its card, then does what its mode
 * says; the parent counts and checks what comes from the one it talks to.
 */
#ifndef TEST_UNIT_RAIL_SHM_KID_H
#define TEST_UNIT_RAIL_SHM_KID_H

#include "rail_shm_common.h"

#include <sys/types.h>

#define KID_SEED 0x2545f4914f6cdd1du
#define KID_MESH_SIZE 5

struct kid {
    pid_t pid;
    int fd;
    uint64_t region_id, word_addr;
};

/* What the parent has seen of the peer it talks to. */
struct kid_seen {
    struct mci_peer *peer;
    uint32_t next, done, aborted; /* numbered frames */
    bool is_in_open;
    int bulk_done, bulk_failed;
    int failed_calls;
};
extern struct kid_seen kid_seen;

/* To be called first in main(): does not return in a child. */
void kid_main(int argc, char **argv);
int kid_rail_up(void **state);
int kid_rail_down(void **state);

/* Starts a child and learns its card. */
struct kid kid_spawn(const char *mode, struct mci_card *card);
void kid_know(const struct mci_card *card); /* the engine lock is held from here to kid_end() */
struct kid kid_start(const char *mode);     /* both */
void kid_begin(void);                       /* connects, and has it stream */
void kid_end(struct kid *kid, bool expect_killed);

void kid_read(int fd, void *buf, size_t nbytes);
void kid_wait_frames(uint32_t count);
void kid_wait_failure(void);

#endif
