/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * mcomm_check: does it work here? Alone it looks at this machine; under a launcher it also lets
 * every pair of ranks exchange and verify messages and window accesses, and says over what they
 * went.
 */
#include "config.h"

#include "mooncake_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define EXCHANGE_NBYTES 300000

static const char usage_text[] =
    "usage: mcomm_check\n"
    "Alone it looks at this machine; under mpirun, prterun, srun or mpiexec every pair of ranks\n"
    "also exchanges and verifies messages and window accesses.\n";

static int rank, size, failures;

static void report(int is_ok, const char *what, const char *detail)
{
    printf("%-5s %s: %s\n", is_ok ? "ok" : "WARN", what, detail);
}

static void read_line(const char *path, char *buf, size_t nbytes)
{
    FILE *fp = fopen(path, "r");

    buf[0] = '\0';
    if (fp == NULL)
        return;
    if (fgets(buf, (int)nbytes, fp) == NULL)
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    fclose(fp);
}

/* ---- this machine ---- */
static void check_machine(void)
{
    char text[256], value[64];
    struct rlimit limit;
    struct statvfs shm;
    int fd = memfd_create("mcomm-check", MFD_CLOEXEC);

    report(1, "started by", mcomm_bootstrap_text());
    report(fd >= 0, "anonymous shared memory (memfd)",
           fd >= 0 ? "works" : "refused: processes of a node will use tcp");
    if (fd >= 0)
        close(fd);
    if (statvfs("/dev/shm", &shm) == 0)
        snprintf(text, sizeof(text), "%.0f MB free (not needed)",
                 (double)shm.f_bavail * (double)shm.f_frsize / 1e6);
    else
        snprintf(text, sizeof(text), "absent (not needed)");
    report(1, "/dev/shm", text);
    read_line("/proc/sys/kernel/yama/ptrace_scope", value, sizeof(value));
    snprintf(text, sizeof(text), "%s%s", value[0] == '\0' ? "no restriction" : value,
             value[0] == '2' || value[0] == '3' ? ", no direct copies (kernel.yama.ptrace_scope)"
                                                : "");
    report(value[0] != '2' && value[0] != '3', "ptrace scope (direct copies between processes)",
           text);
    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(text, sizeof(text), "%llu%s", (unsigned long long)limit.rlim_cur,
             limit.rlim_cur >= 1024 ? "" : ": few for many peers, raise it (ulimit -n)");
    report(limit.rlim_cur >= 1024, "open files", text);
    getrlimit(RLIMIT_MEMLOCK, &limit);
    snprintf(text, sizeof(text), limit.rlim_cur == RLIM_INFINITY ? "unlimited" : "%llu kB",
             (unsigned long long)limit.rlim_cur / 1024);
    report(1, "locked memory (matters for RDMA only)", text);
    printf("%s", mcomm_topology_text());
}

/* ---- every pair ---- */
static void fail(const char *what, int peer, mcomm_err_t err)
{
    failures++;
    printf("FAIL  rank %d with rank %d: %s: %s: %s\n", rank, peer, what, mcomm_err_text(err),
           mcomm_last_error());
}

static int is_pattern(const unsigned char *buf, size_t nbytes, int from)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != (unsigned char)((size_t)from * 31 + i * 7))
            return 0;
    return 1;
}

static void fill_pattern(unsigned char *buf, size_t nbytes, int from)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = (unsigned char)((size_t)from * 31 + i * 7);
}

static void check_pair(int peer, unsigned char *out, unsigned char *in, mcomm_win_t win)
{
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    mcomm_err_t err = mcomm_sendrecv(out, EXCHANGE_NBYTES, peer, 1, in, EXCHANGE_NBYTES, peer, 1,
                                     MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE);

    if (err != MCOMM_SUCCESS || !is_pattern(in, EXCHANGE_NBYTES, peer))
        fail("exchange of messages", peer, err);
    memset(in, 0, EXCHANGE_NBYTES);
    err = mcomm_get(in, EXCHANGE_NBYTES, peer, 0, win);
    if (err == MCOMM_SUCCESS)
        err = mcomm_flush(peer, win);
    if (err != MCOMM_SUCCESS || !is_pattern(in, EXCHANGE_NBYTES, peer))
        fail("read of a window", peer, err);
    err = mcomm_peer_query(MCOMM_COMM_WORLD, peer, 1, &desc);
    if (err != MCOMM_SUCCESS)
        fail("query", peer, err);
    else if (rank < peer)
        printf("ok    rank %d - rank %d (%s): %s%s\n", rank, peer, desc.host, desc.rail,
               desc.can_cma == 1   ? ", direct copies"
               : desc.can_cma == 0 ? ", no direct copies"
                                   : "");
}

static mcomm_err_t check_pairs(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    static unsigned char out[EXCHANGE_NBYTES], in[EXCHANGE_NBYTES];
    mcomm_win_t win;
    void *base;
    mcomm_err_t err;

    attr.nbytes = EXCHANGE_NBYTES;
    err = mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win);
    if (err == MCOMM_SUCCESS) {
        fill_pattern(base, EXCHANGE_NBYTES, rank);
        fill_pattern(out, EXCHANGE_NBYTES, rank);
        err = mcomm_barrier(MCOMM_COMM_WORLD);
        for (int step = 0; step < size; step++) /* in every step the partners are each other's */
            if ((step - rank + size) % size != rank)
                check_pair((step - rank + size) % size, out, in, win);
        mcomm_win_free(&win);
    }
    return err;
}

int main(int argc, char **argv)
{
    int64_t sum = 0, mine;
    mcomm_err_t err;

    if (argc > 1) {
        int is_help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;

        if (!is_help)
            fprintf(stderr, "mcomm_check: takes no argument, not \"%s\"\n", argv[1]);
        fputs(usage_text, is_help ? stdout : stderr);
        return is_help ? 0 : 2;
    }
    err = mcomm_init(NULL);
    if (err != MCOMM_SUCCESS) {
        printf("FAIL  start: %s: %s\n", mcomm_err_text(err), mcomm_last_error());
        return 1;
    }
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    if (rank == 0)
        check_machine();
    err = check_pairs();
    mine = failures + (err != MCOMM_SUCCESS);
    if (err != MCOMM_SUCCESS)
        printf("FAIL  rank %d: %s: %s\n", rank, mcomm_err_text(err), mcomm_last_error());
    fflush(stdout);
    err = mcomm_allreduce(&mine, &sum, 1, MCOMM_INT64, MCOMM_SUM, MCOMM_COMM_WORLD);
    if (rank == 0 && err == MCOMM_SUCCESS)
        printf("%s: %d rank%s, %lld failures\n", sum == 0 ? "all is well" : "not all is well", size,
               size == 1 ? "" : "s", (long long)sum);
    mcomm_finalize();
    return err != MCOMM_SUCCESS || sum != 0;
}
