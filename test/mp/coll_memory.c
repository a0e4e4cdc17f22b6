/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What collectives take from the system and give back: shared segments, their memory, descriptors;
 * and members that may not share memory.
 */
#include "coll_check.h"

#include <dirent.h>
#include <sys/stat.h>

#define W MCOMM_COMM_WORLD
#define LARGE (1 << 18) /* elements */

struct taken {
    long maps, resident_kb; /* regions mapped here, and what of them was touched from here */
    long allocated_kb;      /* of the regions made here */
    long files;
};

static void look_at_maps(struct taken *sum)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    int is_ours = 0;
    long kb;

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strchr(line, '-') != NULL && strstr(line, " kB") == NULL) {
            is_ours = strstr(line, "/memfd:mcomm-region") != NULL;
            sum->maps += is_ours;
        } else if (is_ours && sscanf(line, "Rss: %ld kB", &kb) == 1) {
            sum->resident_kb += kb;
        }
    }
    fclose(file);
}

static void look_at_files(struct taken *sum)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat info;
    char target[64];
    ssize_t nbytes;

    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        sum->files++;
        nbytes = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        target[nbytes > 0 ? nbytes : 0] = '\0';
        if (strncmp(target, "/memfd:mcomm-region", 19) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &info, 0) == 0)
            sum->allocated_kb += (long)info.st_blocks / 2;
    }
    closedir(dir);
}

static struct taken look(void)
{
    struct taken sum = {0};

    look_at_maps(&sum);
    look_at_files(&sum);
    return sum;
}

static void expect_same(struct taken before, struct taken after)
{
    CHECK_EQ(after.maps, before.maps);
    CHECK_EQ(after.resident_kb, before.resident_kb);
    CHECK_EQ(after.allocated_kb, before.allocated_kb);
    CHECK_EQ(after.files, before.files);
}

/* Rank 0 makes the segment: there its memory shows, whoever touched it. */
static void test_memory(void)
{
    static int32_t in[LARGE], out[LARGE];
    struct taken before, small, large;
    static struct small s;
    uint64_t state = 41;
    mcomm_comm_t comm;

    for (int i = 0; i < 10; i++) /* all have met, and touched all of the world's slots */
        OK(mcomm_barrier(W));
    before = look(); /* nobody leaves the next call before all have come */
    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    for (int64_t round = 0; round < 100; round++) {
        small_draw(&s, &state, round, comm, mp_rank, mp_size);
        OK(small_call(&s, S_BLOCKING));
        small_check(&s);
    }
    small = look();
    CHECK_EQ(small.maps, before.maps + 1);
    CHECK(small.resident_kb > before.resident_kb && small.resident_kb < before.resident_kb + 1024);
    if (mp_rank == 0)
        CHECK(small.allocated_kb > before.allocated_kb &&
              small.allocated_kb < before.allocated_kb + 1024);
    OK(mcomm_barrier(comm)); /* all have looked */
    in[LARGE - 1] = 1;
    OK(mcomm_allreduce(in, out, LARGE, MCOMM_INT32, MCOMM_SUM, comm));
    CHECK_EQ(out[LARGE - 1], mp_size);
    large = look();
    CHECK_EQ(large.maps, small.maps);
    CHECK(large.resident_kb > small.resident_kb + 256);
    if (mp_rank == 0)
        CHECK(large.allocated_kb > small.allocated_kb + 1024);
    OK(mcomm_comm_free(&comm));
    expect_same(before, look());
    OK(mcomm_barrier(W));
}

/* Communicators without end. Looked at while all are there. */
static void test_many(const char *times)
{
    struct taken half = {0};
    long end = atol(times);
    mcomm_comm_t comm;

    OK(mcomm_barrier(W));
    for (long i = 0; i < end; i++) {
        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
        OK(mcomm_barrier(comm));
        OK(mcomm_comm_free(&comm));
        if (i == end / 2)
            half = look();
    }
    expect_same(half, look());
    OK(mcomm_barrier(W));
}

/* Members without shared memory, who know it before rank 0 offers a segment to them. */
static void shm_forbid(void)
{
    const char *rank = getenv("MCOMM_RANK");

    if (rank != NULL && strcmp(rank, "0") != 0)
        CHECK(setenv("MCOMM_SHM", "0", 1) == 0);
}

static void test_no_shm(void)
{
    int32_t one = 1, sum = 0, token = 0;
    mcomm_request_t req;

    for (int i = 1; i < mp_size && mp_rank == 0; i++)
        OK(mcomm_recv(&token, sizeof(token), i, 1, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
    OK(mcomm_iallreduce(&one, &sum, 1, MCOMM_INT32, MCOMM_SUM, MCOMM_COMM_WORLD, &req));
    if (mp_rank != 0)
        OK(mcomm_send(&token, sizeof(token), 0, 1, MCOMM_COMM_WORLD));
    OK(mcomm_wait(&req, MCOMM_FOREVER, MCOMM_STATUS_IGNORE));
    CHECK_EQ(sum, mp_size);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "no_shm") == 0)
        shm_forbid();
    mp_init();
    if (strcmp(what, "memory") == 0)
        test_memory();
    else if (strcmp(what, "many") == 0)
        test_many(argc > 2 ? argv[2] : "1000");
    else if (strcmp(what, "no_shm") == 0)
        test_no_shm();
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
