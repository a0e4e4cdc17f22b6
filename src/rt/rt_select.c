/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which bootstrap: read from the environment, never tried out. A failing start of PMIx costs time
 * and, under a foreign launcher, would turn N ranks into N silent singletons; so where the signs
 * contradict each other or point to a launcher that we cannot talk to, we refuse and say what to
 * do.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/settings.h"

#define EVIDENCE_TEXT_MAX 2048

/* Launchers that tell every process its rank, in order of trust; the first complete row counts. */
static const struct {
    const char *name;
    const char *rank;
    const char *size;
    const char *local_rank;
    const char *local_size;
} rank_vars[] = {
    {"Open MPI or PRRTE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"hydra or a PMI launcher", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};
#define NUM_RANK_VARS (sizeof(rank_vars) / sizeof(rank_vars[0]))

/* A number >= 0, else -1. */
static int env_int(const char *name)
{
    const char *text = name != NULL ? getenv(name) : NULL;
    char *end;
    long value;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    value = strtol(text, &end, 10);
    return errno != 0 || *end != '\0' || value > INT_MAX ? -1 : (int)value;
}

/* The local rank may come from another launcher's variables, if they speak of the same rank. */
static void read_local(struct mci_rt_evidence *ev)
{
    for (size_t i = 0; i < NUM_RANK_VARS; i++) {
        if (env_int(rank_vars[i].rank) != ev->rank || env_int(rank_vars[i].size) != ev->size)
            continue;
        if (ev->local_rank < 0)
            ev->local_rank = env_int(rank_vars[i].local_rank);
        if (ev->local_size < 0)
            ev->local_size = env_int(rank_vars[i].local_size);
    }
}

static void read_ranks(struct mci_rt_evidence *ev)
{
    for (size_t i = 0; i < NUM_RANK_VARS && ev->ranks_from == NULL; i++) {
        int rank = env_int(rank_vars[i].rank);
        int size = env_int(rank_vars[i].size);

        if (rank < 0 || size < 1 || rank >= size)
            continue;
        ev->ranks_from = rank_vars[i].name;
        ev->rank = rank;
        ev->size = size;
    }
    /* What the user sets goes before any launcher; half of it is reported when it is used. */
    if (mci_settings.rank >= 0 || mci_settings.size >= 0) {
        ev->ranks_from = "MCOMM_RANK and MCOMM_SIZE";
        ev->rank = (int)mci_settings.rank;
        ev->size = (int)mci_settings.size;
    }
    if (ev->ranks_from != NULL)
        read_local(ev);
}

static void sign(struct mci_rt_evidence *ev, const char *name, int size)
{
    if (size > 1 && size > ev->launcher_size) {
        ev->launcher = name;
        ev->launcher_size = size;
    }
}

/* Slurm's step counts: the job's allocation only if no step is known. */
static int slurm_size(void)
{
    int step = env_int("SLURM_STEP_NUM_TASKS");

    return step > 0 ? step : env_int("SLURM_NTASKS");
}

static void read_launcher(struct mci_rt_evidence *ev)
{
    sign(ev, "MCOMM_SIZE", (int)mci_settings.size);
    sign(ev, "OMPI_COMM_WORLD_SIZE", env_int("OMPI_COMM_WORLD_SIZE"));
    sign(ev, "PMI_SIZE", ev->pmi_size);
    sign(ev, "SLURM_NTASKS", slurm_size());
    sign(ev, "WORLD_SIZE", env_int("WORLD_SIZE"));
    sign(ev, "MPI_LOCALNRANKS", env_int("MPI_LOCALNRANKS"));
    sign(ev, "PALS_SIZE", env_int("PALS_SIZE"));
}

static const char *non_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

void mci_rt_evidence_read(struct mci_rt_evidence *ev)
{
    memset(ev, 0, sizeof(*ev));
    mci_settings_load(); /* whoever starts the library has reported a malformed one */
    ev->rendezvous = non_empty(mci_settings.rendezvous);
    ev->bootstrap = non_empty(mci_settings.bootstrap);
    if (ev->bootstrap != NULL && strcmp(ev->bootstrap, "auto") == 0)
        ev->bootstrap = NULL;
    ev->pmix_rank = env_int("PMIX_RANK");
    ev->pmix_namespace = ev->pmix_rank >= 0 ? non_empty(getenv("PMIX_NAMESPACE")) : NULL;
    ev->pmi_fd = env_int("PMI_FD");
    ev->pmi_rank = env_int("PMI_RANK");
    ev->pmi_size = env_int("PMI_SIZE");
    ev->rank = ev->size = ev->local_rank = ev->local_size = -1;
    ev->launcher_size = -1;
    read_ranks(ev);
    read_launcher(ev);
}

static size_t add_line(char *buf, size_t nbytes, size_t n, const char *name, const char *value)
{
    if (n < nbytes && value != NULL)
        n += (size_t)snprintf(buf + n, nbytes - n, "%s%s=%s", n > 0 ? " " : "", name, value);
    return n < nbytes ? n : nbytes;
}

void mci_rt_evidence_text(const struct mci_rt_evidence *ev, char *buf, size_t nbytes)
{
    static const char *const shown[] = {"PMIX_NAMESPACE",
                                        "PMIX_RANK",
                                        "PMI_FD",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "PALS_SIZE",
                                        "MPI_LOCALNRANKS"};
    char number[16];
    size_t n = 0;

    buf[0] = '\0';
    n = add_line(buf, nbytes, n, "MCOMM_BOOTSTRAP", ev->bootstrap);
    n = add_line(buf, nbytes, n, "MCOMM_RENDEZVOUS", ev->rendezvous);
    snprintf(number, sizeof(number), "%d", (int)mci_settings.rank);
    n = add_line(buf, nbytes, n, "MCOMM_RANK", mci_settings.rank >= 0 ? number : NULL);
    snprintf(number, sizeof(number), "%d", (int)mci_settings.size);
    n = add_line(buf, nbytes, n, "MCOMM_SIZE", mci_settings.size >= 0 ? number : NULL);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        n = add_line(buf, nbytes, n, shown[i], getenv(shown[i]));
    if (n == 0)
        snprintf(buf, nbytes, "no sign of a launcher");
}

static mcomm_err_t refuse(const struct mci_rt_evidence *ev, const char *why, const char *what_to_do)
{
    char seen[EVIDENCE_TEXT_MAX];

    mci_rt_evidence_text(ev, seen, sizeof(seen));
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "%s; %s (seen: %s)", why, what_to_do, seen);
}

/* The user's own word. It is checked for what it needs, but never second-guessed. */
static mcomm_err_t select_ordered(const struct mci_rt_evidence *ev, enum mci_rt_kind *kind_p)
{
    const char *name = ev->bootstrap;

    if (strcmp(name, "singleton") == 0) {
        *kind_p = MCI_RT_SINGLETON;
    } else if (strcmp(name, "tcp") == 0) {
        if (ev->rendezvous == NULL)
            return refuse(ev, "MCOMM_BOOTSTRAP=tcp needs a rendezvous",
                          "set MCOMM_RENDEZVOUS=host:port");
        *kind_p = MCI_RT_TCP;
    } else if (strcmp(name, "pmi1") == 0) {
        if (ev->pmi_fd < 0)
            return refuse(ev, "MCOMM_BOOTSTRAP=pmi1, but PMI_FD is not set",
                          "start with mpiexec.hydra or srun --mpi=pmi2");
        *kind_p = MCI_RT_PMI1;
    } else if (strcmp(name, "pmix") == 0) {
        if (ev->pmix_namespace == NULL)
            return refuse(ev, "MCOMM_BOOTSTRAP=pmix, but PMIX_NAMESPACE and PMIX_RANK are not set",
                          "start with mpirun, prterun or srun --mpi=pmix");
        *kind_p = MCI_RT_PMIX;
    } else {
        return mci_err_set(MCOMM_ERR_ARG,
                           "MCOMM_BOOTSTRAP=%s: must be auto, pmix, pmi1, tcp or "
                           "singleton",
                           name);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t select_by_evidence(const struct mci_rt_evidence *ev, enum mci_rt_kind *kind_p)
{
    char why[160];

    if (ev->rendezvous != NULL) {
        *kind_p = MCI_RT_TCP;
    } else if (ev->pmix_namespace != NULL && ev->pmi_fd >= 0) {
        return refuse(
            ev, "both a PMIx and a PMI launcher are there: one was started inside the other",
            "set MCOMM_BOOTSTRAP=pmix or pmi1 for the inner one, or MCOMM_RENDEZVOUS=host:port");
    } else if (ev->pmix_namespace != NULL) {
        *kind_p = MCI_RT_PMIX;
    } else if (ev->pmi_fd >= 0) {
        *kind_p = MCI_RT_PMI1;
    } else if (ev->launcher != NULL) {
        snprintf(
            why, sizeof(why),
            "%s=%d says that a launcher started %d processes, but not how they find each other",
            ev->launcher, ev->launcher_size, ev->launcher_size);
        return refuse(
            ev, why,
            "start with mpirun, prterun, mpiexec.hydra, srun --mpi=pmix or srun --mpi=pmi2, "
            "or set MCOMM_RENDEZVOUS=host:port to a free port on rank 0's host (torchrun: "
            "MCOMM_RENDEZVOUS=torchrun), or MCOMM_BOOTSTRAP=singleton if this process "
            "is alone on purpose");
    } else {
        *kind_p = MCI_RT_SINGLETON;
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rt_select(const struct mci_rt_evidence *ev, enum mci_rt_kind *kind_p)
{
    enum mci_rt_kind kind = MCI_RT_SINGLETON;
    mcomm_err_t err;

    err = ev->bootstrap != NULL ? select_ordered(ev, &kind) : select_by_evidence(ev, &kind);
    if (err != MCOMM_SUCCESS)
        return err;
#ifndef HAVE_PMIX
    if (kind == MCI_RT_PMIX)
        return refuse(
            ev, "the launcher speaks PMIx, but this library was built without it",
            "build with PMIx (Debian: libpmix-dev), or set MCOMM_RENDEZVOUS=host:port to a "
            "free port on rank 0's host; ranks are then taken from the launcher");
#endif
    *kind_p = kind;
    return MCOMM_SUCCESS;
}

const char *mci_rt_evidence(void)
{
    static __thread char text[EVIDENCE_TEXT_MAX];
    static const char *const names[MCI_RT_KIND_NUM] = {"pmix", "pmi1", "tcp", "oob", "singleton"};
    struct mci_rt_evidence ev;
    enum mci_rt_kind kind;
    size_t n;

    mci_rt_evidence_read(&ev);
    mci_rt_evidence_text(&ev, text, sizeof(text) - 256);
    n = strlen(text);
    if (mci_rt_select(&ev, &kind) == MCOMM_SUCCESS)
        snprintf(text + n, sizeof(text) - n, " -> %s", names[kind]);
    else
        snprintf(text + n, sizeof(text) - n, " -> refused");
    return text;
}
