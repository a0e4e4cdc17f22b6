/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Who are we and how do we meet: the contract of the bootstraps to the layers above. A process
 * starts once, exchanges one blob with all others, and from then on needs the launcher for two
 * things only: hints about deaths, and abort. Every call here ends: with success, a named error,
 * or at the start-up timeout.
 */
#ifndef MCI_RT_H
#define MCI_RT_H

#include <stddef.h>
#include <stdint.h>

#include "mooncake_comm.h"

#define MCI_RT_BLOB_MAX 4096
#define MCI_RT_SECRET_BYTES 32
#define MCI_RT_NONCE_BYTES 16
#define MCI_RT_CODE_LAUNCHER_LOST (-61) /* the value PMIx uses for it */

struct mci_rt;

enum mci_rt_kind {
    MCI_RT_PMIX,      /* mpirun, prterun, srun --mpi=pmix */
    MCI_RT_PMI1,      /* hydra's mpiexec, srun --mpi=pmi2 */
    MCI_RT_TCP,       /* rank 0 serves a rendezvous */
    MCI_RT_OOB,       /* the caller brings an allgather */
    MCI_RT_SINGLETON, /* one process */
    MCI_RT_KIND_NUM
};

struct mci_rt_info {
    int rank;
    int size;
    int local_rank;        /* hint of the launcher, -1: unknown; never decides anything */
    int local_size;        /* likewise */
    const char *job_id;    /* text for messages; not secret, not always unique */
    const char *kind_name; /* "pmix", "pmi1", "tcp", "oob", "singleton" */
    enum mci_rt_kind kind;
    /* Equal on all ranks, unknown to others; zero before mci_rt_exchange() has succeeded. */
    uint8_t job_secret[MCI_RT_SECRET_BYTES]; /* admits peers to the job's listeners */
    uint8_t job_nonce[MCI_RT_NONCE_BYTES];   /* names this start of this job; not secret */
};

struct mci_rt_blob {
    const void *ptr;
    size_t nbytes;
};

struct mci_rt_blobs {
    int num;
    struct mci_rt_blob *blobs; /* in rank order; one allocation with the bytes behind it */
};

/**
 * Find the other processes. Reads the settings if nobody has.
 * @param oob         NULL: choose the bootstrap by the evidence in the environment; else copied;
 *                    nobody can interrupt its allgather, so it should end in bounded time by itself
 * @param timeout_ms  for the whole start-up, from this call to the end of mci_rt_exchange();
 *                    <= 0: the setting startup_timeout
 * @return MCOMM_SUCCESS; MCOMM_ERR_BOOTSTRAP (no usable or contradictory evidence; the text says
 *         what was seen and what to do); MCOMM_ERR_ARG (a malformed setting); MCOMM_ERR_TIMEOUT
 */
mcomm_err_t mci_rt_start(const mcomm_oob_t *oob, int timeout_ms, struct mci_rt **rt_p);

const struct mci_rt_info *mci_rt_info(const struct mci_rt *rt);

/**
 * Give one blob, get everybody's. Collective, once per mci_rt.
 * @param nbytes  at most MCI_RT_BLOB_MAX, may differ between ranks, may be 0
 * @param out     free with mci_rt_blobs_free()
 * @return MCOMM_SUCCESS; MCOMM_ERR_TIMEOUT, the text names the missing ranks as far as the
 * bootstrap can know; MCOMM_ERR_BOOTSTRAP (refused, launcher lost, ranks that disagree about the
 * job)
 */
mcomm_err_t mci_rt_exchange(struct mci_rt *rt, const void *blob, size_t nbytes,
                            struct mci_rt_blobs *out);
void mci_rt_blobs_free(struct mci_rt_blobs *blobs);

/**
 * Instead of the exchange, if this process cannot start because of err and mcomm_last_error(),
 * which stay: takes part in it, so that all others' exchange fails with MCOMM_ERR_BOOTSTRAP and
 * says who and why as soon as all have come. Blocks until then, or to the end of the start-up time.
 */
void mci_rt_fail(struct mci_rt *rt, mcomm_err_t err);

/**
 * Be told of deaths that the launcher noticed: fn(arg, rank, code), rank -1 with
 * MCI_RT_CODE_LAUNCHER_LOST when the launcher itself is gone. Hints only: most launchers never
 * tell. fn runs on a foreign thread and only sets flags. NULL: no more calls once this has
 * returned.
 */
void mci_rt_set_event_cb(struct mci_rt *rt, void (*fn)(void *arg, int rank, int code), void *arg);

/** Ask the launcher to end the job, then end this process with code. Never returns. */
__attribute__((noreturn)) void mci_rt_abort(struct mci_rt *rt, int code, const char *msg);

/** Local, no peer is needed. NULL is allowed. */
void mci_rt_stop(struct mci_rt *rt);

/** What the environment says and what follows from it, a few lines of text. Static buffer per
 * thread. */
const char *mci_rt_evidence(void);

#endif
