/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * PMIx as a store: what the bootstrap in rt_pmix.c needs of it, with a time limit on each call.
 */
#ifndef MCI_RT_PMIX_H
#define MCI_RT_PMIX_H

#include "rt/rt_priv.h"

#include <pmix.h>

/* There is one PMIx client in a process; the lock guards all of it but what start sets once. */
struct mci_rt_px {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a callback has come; CLOCK_MONOTONIC */
    pid_t owner;            /* who initialized PMIx: a forked child has no part in it */
    bool has_exit_hook;
    bool is_launcher_lost;
    bool is_stuck;        /* a call or fence never came back: no further start */
    bool is_unresponsive; /* a blocking call never came back: no further call at all */
    pmix_proc_t self;
    int size;
    int local_rank;
    int local_size;
    unsigned generation; /* of exchanges: equal on all ranks */
    struct mci_rt *current;
};
extern struct mci_rt_px mci_rt_px;

mcomm_err_t mci_rt_pmix_launcher_lost(void); /* sets the text */
mcomm_err_t mci_rt_pmix_put(const char *key, void *bytes, size_t nbytes);
/* Publish bytes under key and meet all ranks; from then on everybody's key can be asked for. */
mcomm_err_t mci_rt_pmix_publish(struct mci_rt *rt, const char *key, void *bytes, size_t nbytes);
/* What ranks first .. first + num - 1 have published under key. */
mcomm_err_t mci_rt_pmix_get(struct mci_rt *rt, const char *key, int first, int num,
                            struct mci_rt_blobs *out);

#endif
