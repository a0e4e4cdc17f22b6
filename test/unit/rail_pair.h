/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Two processes with rails but without a job: two children of the test, each with rails of its own,
 * exchange their cards over a socket pair. Each side runs a function and reports by its exit
 * status, so a failed CHECK on either side fails the test.
 */
#ifndef TEST_RAIL_PAIR_H
#define TEST_RAIL_PAIR_H

#include "base/lock.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #cond, mcomm_last_error());     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

struct pair_end {
    int side; /* 0 and 1 */
    int sock; /* to the other side's test code */
    struct mci_card other_card;
    struct mci_peer *peer; /* the other side */
};
typedef void (*pair_fn_t)(struct pair_end *end);

/* What has come from the other side, in either child. */
#define PAIR_AM_DONE MCI_AM_P2P_FIN
struct pair_seen {
    bool is_done; /* a frame PAIR_AM_DONE */
    bool is_failed, has_left;
};
extern struct pair_seen pair_seen;

/* Runs both in children of the test. The exit statuses are returned: 0 is good. */
int pair_run(pair_fn_t left, pair_fn_t right);
void pair_say(struct pair_end *end, char what);
void pair_hear(struct pair_end *end, char what);
/* Wait until *flag, driving progress. lock: engine */
void pair_wait(const bool *flag);
/* Each sends the other a frame and waits until both have theirs. lock: engine */
void pair_exchange(struct pair_end *end);

/* All that rails need, and the rails, in one process. */
void rails_up(const char *node);
void rails_down(void);

#endif
