/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* One put and one get of over 4 GiB, in memory that is touched where it must be only. */
#include "mp.h"

#include <sys/mman.h>

#define NBYTES (((size_t)4 << 30) + 3)
#define STEP (((size_t)1 << 30) + 12345)

static unsigned char mark(size_t at)
{
    return (unsigned char)(1 + at / STEP * 7);
}

static unsigned char *sparse(void)
{
    void *p = mmap(NULL, NBYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(p != MAP_FAILED);
    return p;
}

static void check_marks(const unsigned char *p)
{
    for (size_t at = 0; at < NBYTES; at += STEP)
        CHECK(p[at] == mark(at) && p[at + 1] == 0);
    CHECK(p[NBYTES - 1] == 0xee && p[NBYTES - 2] == 0);
}

static size_t memory_available(void)
{
    unsigned long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return (size_t)kib * 1024;
}

int main(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    unsigned char *local, *base;
    int is_enough, all;
    mcomm_win_t win;

    mp_init();
    CHECK(mp_size == 2);
    is_enough = memory_available() >= (size_t)16 << 30;
    OK(mcomm_allreduce(&is_enough, &all, 1, MCOMM_INT32, MCOMM_MIN, MCOMM_COMM_WORLD));
    if (!all) {
        printf("SKIP: less than 16 GiB of memory available\n");
        OK(mcomm_finalize());
        return 77;
    }
    attr.nbytes = mp_rank == 1 ? NBYTES : 0;
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&base, &win));
    OK(mcomm_win_lock_all(win));
    if (mp_rank == 0) {
        local = sparse();
        for (size_t at = 0; at < NBYTES; at += STEP)
            local[at] = mark(at);
        local[NBYTES - 1] = 0xee;
        OK(mcomm_put(local, NBYTES, 1, 0, win));
        OK(mcomm_flush(1, win));
        munmap(local, NBYTES);
        local = sparse();
        OK(mcomm_get(local, NBYTES, 1, 0, win));
        OK(mcomm_flush(1, win));
        check_marks(local);
        munmap(local, NBYTES);
    }
    OK(mcomm_win_unlock_all(win));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == 1)
        check_marks(base);
    OK(mcomm_win_free(&win));
    OK(mcomm_finalize());
    return 0;
}
