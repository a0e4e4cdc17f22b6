/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Little memory, few descriptors, no threads: each step lowers or raises one limit, then starts,
 * sends messages, calls collectives, makes a window and an object store, and ends. Each call works,
 * or says by an error with a text what is missing; nothing crashes or hangs, and a later step with
 * enough works. Arguments: shm (the case makes /dev/shm small), as, nofile, nproc.
 */
#include "mp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MIB ((size_t)1 << 20)
#define TIMEOUT_MS 3000

static size_t worked, refused;
static int pipes[2]; /* one a rank */

/* Both ranks begin a step at once, also when start-up failed on one of them: outside the library.
 */
static void pipes_open(void)
{
    const char *folder = getenv("TMPDIR");
    char path[256];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/limits.%d", folder != NULL ? folder : "/tmp", i);
        CHECK(mkfifo(path, 0666) == 0 || errno == EEXIST);
        chmod(path, 0666);
        pipes[i] = open(path, O_RDWR | O_CLOEXEC);
        CHECK(pipes[i] >= 0);
    }
}

static void pipes_meet(void)
{
    int me = atoi(getenv("MCOMM_RANK"));
    char c = 'x';

    CHECK(write(pipes[1 - me], &c, 1) == 1);
    CHECK(read(pipes[me], &c, 1) == 1);
}

/* true: it worked. */
static int look(const char *what, mcomm_err_t err)
{
    if (err == MCOMM_SUCCESS) {
        worked++;
        return 1;
    }
    CHECK(mcomm_last_error()[0] != '\0');
    CHECK(err != MCOMM_ERR_INTERNAL && err != MCOMM_ERR_ARG);
    refused++;
    printf("rank %d: %s: %s: %s\n", mp_rank, what, mcomm_err_name(err), mcomm_last_error());
    return 0;
}

static void messages(mcomm_comm_t comm)
{
    int other = (mp_rank + 1) % mp_size;

    size_t before = refused;

    for (size_t nbytes = 1; nbytes <= 4 * MIB && refused == before; nbytes *= 4) {
        unsigned char *out = malloc(nbytes), *in = malloc(nbytes);

        if (out != NULL && in != NULL) {
            memset(out, (int)nbytes & 0x7f, nbytes);
            if (look("sendrecv", mcomm_sendrecv(out, nbytes, other, 1, in, nbytes, MCOMM_ANY_SOURCE,
                                                1, comm, NULL)))
                CHECK(memcmp(in, out, nbytes) == 0);
        }
        free(out);
        free(in);
    }
}

static void collectives(mcomm_comm_t comm)
{
    size_t before = refused;

    for (size_t nbytes = 1; nbytes <= 4 * MIB && refused == before; nbytes *= 16) {
        unsigned char *out = calloc(2, nbytes), *in = calloc(2, nbytes);

        if (out != NULL && in != NULL) {
            out[2 * nbytes - 1] = 1;
            if (look("allreduce",
                     mcomm_allreduce(out, in, 2 * nbytes, MCOMM_UINT8, MCOMM_SUM, comm)))
                CHECK_EQ(in[2 * nbytes - 1], mp_size);
            if (refused == before)
                look("alltoall", mcomm_alltoall(out, in, nbytes, MCOMM_UINT8, comm));
        }
        free(out);
        free(in);
    }
}

static void window(mcomm_comm_t comm)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_win_t win;
    void *base;

    attr.nbytes = 8 * MIB;
    if (!look("win_allocate", mcomm_win_allocate(&attr, comm, &base, &win)))
        return;
    memset(base, 1, 8 * MIB);
    look("win_free", mcomm_win_free(&win));
}

/* More than any machine has. */
static void store(mcomm_comm_t comm)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_kv_t kv;

    attr.capacity = (size_t)1 << 45;
    CHECK(mcomm_kv_open(comm, &attr, &kv) != MCOMM_SUCCESS);
    CHECK(mcomm_last_error()[0] != '\0');
    attr.capacity = 4 * MIB;
    if (look("kv_open", mcomm_kv_open(comm, &attr, &kv)))
        look("kv_close", mcomm_kv_close(&kv));
}

static int step(const char *name)
{
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    size_t before = refused;
    mcomm_comm_t comm;

    pipes_meet();
    attr.startup_timeout_ms = TIMEOUT_MS;
    if (!look(name, mcomm_init(&attr)))
        return 0;
    OK(mcomm_comm_rank(MCOMM_COMM_WORLD, &mp_rank));
    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &mp_size));
    OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, TIMEOUT_MS));
    if (look("comm_dup", mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm))) {
        OK(mcomm_comm_set_timeout(comm, TIMEOUT_MS));
        messages(comm);
        if (refused == before)
            collectives(comm);
        if (refused == before)
            window(comm);
        if (refused == before)
            store(comm);
    }
    OK(mcomm_finalize());
    return refused == before;
}

static void soft_limit(int what, size_t value)
{
    struct rlimit limit;

    CHECK(getrlimit(what, &limit) == 0);
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    CHECK(setrlimit(what, &limit) == 0);
}

static size_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void steps(const char *name, int what, const size_t *values, size_t base)
{
    struct rlimit keep;
    char text[64];
    int is_enough = 0;

    CHECK(getrlimit(what, &keep) == 0);
    for (; *values != 0; values++) {
        snprintf(text, sizeof(text), "init with %s %zu", name, *values);
        soft_limit(what, base + *values);
        is_enough = step(text);
    }
    CHECK(setrlimit(what, &keep) == 0);
    printf("rank %d: %s: the last step %s\n", mp_rank, name, is_enough ? "worked" : "failed");
    CHECK(step("init with all"));
}

int main(int argc, char **argv)
{
    static const size_t memory[] = {1 * MIB,  2 * MIB,   4 * MIB,   8 * MIB, 16 * MIB,
                                    64 * MIB, 128 * MIB, 512 * MIB, 0};
    static const size_t files[] = {3, 8, 12, 16, 20, 24, 32, 64, 0};
    static const size_t threads[] = {1, 0};
    const char *name = argc > 1 ? argv[1] : "shm";

    pipes_open();
    if (strcmp(name, "shm") == 0)
        CHECK(step("init"));
    else if (strcmp(name, "as") == 0)
        steps("RLIMIT_AS", RLIMIT_AS, memory, address_space());
    else if (strcmp(name, "nofile") == 0)
        steps("RLIMIT_NOFILE", RLIMIT_NOFILE, files, 0);
    else if (strcmp(name, "nproc") == 0)
        steps("RLIMIT_NPROC", RLIMIT_NPROC, threads, 0);
    else
        MP_FAIL("no test %s", name);
    printf("rank %d: %zu worked, %zu refused\n", mp_rank, worked, refused);
    return 0;
}
