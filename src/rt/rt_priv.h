/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the bootstraps share among themselves: the table each one fills, and the object behind it.
 */
#ifndef MCI_RT_PRIV_H
#define MCI_RT_PRIV_H

#include <pthread.h>
#include <stdbool.h>

#include "rt/rt.h"

#define MCI_RT_TEXT_MAX 256
#define MCI_RT_EARLY_MAX 16
#define MCI_RT_HEADER_BYTES 48 /* what mci_rt_exchange() puts before each blob */
#define MCI_RT_PACKET_MAX (MCI_RT_HEADER_BYTES + MCI_RT_BLOB_MAX)

struct mci_rt_ops {
    size_t size;
    const char *name;

    /*
     * Learn rank, size, job_id and the hints; fill rt->info, allocate rt->priv. May block until
     * rt->deadline_ns. After an error nothing is left behind and stop is not called.
     */
    mcomm_err_t (*start)(struct mci_rt *rt, const mcomm_oob_t *oob);

    /*
     * All-to-all of one packet of at most MCI_RT_PACKET_MAX bytes. May block until
     * rt->deadline_ns. On success *out belongs to the caller.
     */
    mcomm_err_t (*exchange)(struct mci_rt *rt, const void *packet, size_t nbytes,
                            struct mci_rt_blobs *out);

    /* Tell the launcher. May block for about a second, may return; the caller ends the process. */
    void (*abort)(struct mci_rt *rt, int code, const char *msg);

    /* Free rt->priv. Does not block, needs no peer. */
    void (*stop)(struct mci_rt *rt);
};

/* An event from before anybody registered. */
struct mci_rt_early {
    int rank;
    int code;
};

struct mci_rt {
    const struct mci_rt_ops *ops;
    struct mci_rt_info info;
    char job_id[MCI_RT_TEXT_MAX];
    uint8_t
        base_secret[MCI_RT_SECRET_BYTES]; /* enters job_secret; zero unless the bootstrap has one */
    int timeout_ms;
    int64_t deadline_ns; /* end of the start-up, mci_clock_ns() */
    bool is_exchanged;
    void *priv;
    pthread_mutex_t event_lock; /* held around the callback, so that clearing it waits for it */
    void (*event_fn)(void *arg, int rank, int code);
    void *event_arg;
    int num_early;
    struct mci_rt_early early[MCI_RT_EARLY_MAX];
};

/* What the environment shows. Strings are borrowed from the environment. */
struct mci_rt_evidence {
    const char *rendezvous;     /* setting rendezvous */
    const char *bootstrap;      /* setting bootstrap: a user's order, or NULL */
    const char *pmix_namespace; /* PMIX_NAMESPACE, only with a valid PMIX_RANK */
    int pmix_rank;              /* all numbers: -1 if unset or no number */
    int pmi_fd;
    int pmi_rank;
    int pmi_size;
    const char *ranks_from; /* which variables rank and size come from, NULL: none */
    int rank;
    int size;
    int local_rank;
    int local_size;
    const char *launcher; /* sign of a launcher that started several processes, NULL: none */
    int launcher_size;
};

extern const struct mci_rt_ops mci_rt_pmix_ops, mci_rt_pmi1_ops, mci_rt_tcp_ops, mci_rt_oob_ops,
    mci_rt_singleton_ops;

/*
 * The user's secret for the tcp bootstrap: from the setting, a file, or a cookie in the home
 * directory that is made at first use. MCOMM_ERR_AUTH: there is none, the text says what to do.
 */
mcomm_err_t mci_rt_secret(uint8_t secret[MCI_RT_SECRET_BYTES]);

void mci_rt_evidence_read(struct mci_rt_evidence *ev);
void mci_rt_evidence_text(const struct mci_rt_evidence *ev, char *buf, size_t nbytes);

/* Which bootstrap follows from the evidence; a pure function. MCOMM_ERR_BOOTSTRAP: refuse. */
mcomm_err_t mci_rt_select(const struct mci_rt_evidence *ev, enum mci_rt_kind *kind_p);

/* Milliseconds until the start-up ends: 0 if it has, never negative. */
int mci_rt_time_left_ms(const struct mci_rt *rt);

/* Pass a hint on to whoever registered. Foreign threads call it. */
void mci_rt_event(struct mci_rt *rt, int rank, int code);

/* One allocation for num blobs and total bytes behind; bytes_p gets their begin. */
mcomm_err_t mci_rt_blobs_alloc(int num, size_t total, struct mci_rt_blobs *blobs_p,
                               unsigned char **bytes_p);

/* As one run of bytes: per blob a length of 4 bytes, little-endian, and the bytes. Free with
 * mci_mem_free(). */
mcomm_err_t mci_rt_blobs_pack(const struct mci_rt_blobs *blobs, unsigned char **buf_p,
                              size_t *nbytes_p);
/* And back. MCOMM_ERR_BOOTSTRAP: it is not exactly num blobs of at most MCI_RT_PACKET_MAX bytes. */
mcomm_err_t mci_rt_blobs_unpack(const void *buf, size_t nbytes, int num, struct mci_rt_blobs *out);

/* "1, 4-7, 9" from a bitmap of bytes: those whose entry equals value. Returns buf. */
const char *mci_rt_ranks_text(const unsigned char *flags, int num, unsigned char value, char *buf,
                              size_t nbytes);

#endif
