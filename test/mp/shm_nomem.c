/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory runs out for a moment while two local processes connect: the n-th mapping or table of one
 * of them fails, for n = 1, 2, ... until none failed. Both live, so neither may count the other as
 * dead: messages go through, over another rail if need be. mmap() and realloc() are this program's.
 */
#include "mp.h"
#include "nomem.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

extern void *__libc_realloc(void *ptr, size_t nbytes);
void *mmap64(void *at, size_t nbytes, int prot, int flags, int fd, off_t offset);

__attribute__((visibility("default"))) void *mmap(void *at, size_t nbytes, int prot, int flags,
                                                  int fd, off_t offset)
{
    return fails() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, nbytes, prot, flags, fd, offset);
}

__attribute__((visibility("default"))) void *mmap64(void *at, size_t nbytes, int prot, int flags,
                                                    int fd, off_t offset)
{
    return mmap(at, nbytes, prot, flags, fd, offset);
}

__attribute__((visibility("default"))) void *realloc(void *ptr, size_t nbytes)
{
    return fails() ? NULL : __libc_realloc(ptr, nbytes);
}

/* ---- meeting without a message, which would connect: a counter in the folder of the test ---- */
static _Atomic int *met;

static void meeting_open(void)
{
    const char *folder = getenv("TMPDIR");
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/shm_nomem.met", folder != NULL ? folder : "/tmp");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, sizeof(*met)) == 0);
    met = mmap(NULL, sizeof(*met), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(met != MAP_FAILED);
    close(fd);
}

static void meet(void)
{
    int turn = atomic_fetch_add(met, 1) / 2 + 1;

    while (atomic_load(met) < turn * 2)
        sched_yield();
}

static mcomm_err_t swap(int tag)
{
    int other = 1 - mp_rank, out = 100 + mp_rank, in = 0;
    mcomm_err_t err = mcomm_sendrecv(&out, sizeof(out), other, tag, &in, sizeof(in), other, tag,
                                     MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE);

    CHECK(err != MCOMM_SUCCESS || in == 100 + other);
    return err;
}

/* true: the n-th call of victim was there to fail. */
static int round_fails(int victim, int n)
{
    int32_t was_reached, any;

    OK(mcomm_init(NULL));
    OK(mcomm_comm_rank(MCOMM_COMM_WORLD, &mp_rank));
    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &mp_size));
    atomic_store(&calls_left, mp_rank == victim ? n : 0);
    meet();      /* the other connects only when the victim's calls are counted */
    OK(swap(1)); /* the first message connects */
    was_reached = mp_rank == victim && atomic_load(&calls_left) <= 0;
    atomic_store(&calls_left, 0);
    OK(swap(2));
    OK(mcomm_allreduce(&was_reached, &any, 1, MCOMM_INT32, MCOMM_MAX, MCOMM_COMM_WORLD));
    OK(mcomm_finalize());
    return any;
}

int main(void)
{
    meeting_open();
    for (int victim = 0; victim < 2; victim++) {
        int n = 1;

        while (round_fails(victim, n))
            n++;
        printf("victim %d: %d calls failed in turn\n", victim, n - 1);
        CHECK(n > 2);
    }
    return 0;
}
