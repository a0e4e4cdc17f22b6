/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Synchronisation of windows: locks, post-start-complete-wait, signals, targets that compute, die
 * or stop, windows that come and go. What is counted under a lock is counted by plain reads and
 * writes, so that two holders at once would lose some.
 */
#include "mp.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static mcomm_win_t win;
static uint64_t *mine;

static void window_make(const char *kind, size_t nbytes)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;

    attr.nbytes = nbytes;
    if (strcmp(kind, "create") == 0) {
        mine = calloc(1, nbytes);
        OK(mcomm_win_create(mine, &attr, MCOMM_COMM_WORLD, &win));
    } else {
        OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&mine, &win));
    }
}

static void window_free(const char *kind)
{
    OK(mcomm_win_free(&win));
    if (strcmp(kind, "create") == 0)
        free(mine);
}

static uint64_t get_word(int target, uint64_t disp)
{
    uint64_t word = 0;

    OK(mcomm_get(&word, 8, target, disp, win));
    OK(mcomm_flush(target, win));
    return word;
}

static void put_word(int target, uint64_t disp, uint64_t word)
{
    OK(mcomm_put(&word, 8, target, disp, win));
    OK(mcomm_flush(target, win));
}

/* ---- locks ---- */
static void test_lock(const char *kind)
{
    enum {
        TURNS = 60
    };
    uint64_t total = 0;

    window_make(kind, 64);
    for (int i = 0; i < TURNS; i++) {
        int target = i % mp_size;

        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, target, win));
        EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_lock(MCOMM_LOCK_SHARED, target, win));
        put_word(target, 0, get_word(target, 0) + 1);
        OK(mcomm_win_unlock(target, win));
        OK(mcomm_win_lock(MCOMM_LOCK_SHARED, target, win));
        CHECK(get_word(target, 8) == 0); /* nobody is inside exclusively */
        OK(mcomm_win_unlock(target, win));
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, target, win));
        put_word(target, 8, 1);
        put_word(target, 8, 0);
        OK(mcomm_win_unlock(target, win));
    }
    OK(mcomm_win_lock_all(win));
    OK(mcomm_win_unlock_all(win));
    OK(mcomm_win_fence(win));
    total = mine[0];
    OK(mcomm_allreduce(MCOMM_IN_PLACE, &total, 1, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    CHECK_EQ(total, TURNS * mp_size);
    window_free(kind);
}

/* The last rank dies with locks on rank 0; the others get them all the same. */
static void test_lock_death(void)
{
    mcomm_comm_t comm = MCOMM_COMM_WORLD;
    int last = mp_size - 1, token = 0;

    window_make("allocate", 64);
    if (mp_rank == last) {
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win));
        if (mp_size > 2)
            OK(mcomm_win_lock(MCOMM_LOCK_SHARED, 1, win));
        for (int i = 0; i < last; i++)
            OK(mcomm_send(&token, sizeof(token), i, 1, comm));
        OK(mcomm_recv(&token, sizeof(token), 0, 2, comm, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(mcomm_recv(&token, sizeof(token), last, 1, comm, MCOMM_STATUS_IGNORE));
    if (mp_rank == 0)
        OK(mcomm_send(&token, sizeof(token), last, 2, comm));
    OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win));
    put_word(0, 0, get_word(0, 0) + 1);
    OK(mcomm_win_unlock(0, win));
    if (mp_size > 2) {
        OK(mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 1, win));
        OK(mcomm_win_unlock(1, win));
    }
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_lock(MCOMM_LOCK_SHARED, last, win));
    OK(mcomm_win_lock_all(win)); /* of those that live */
    OK(mcomm_win_unlock_all(win));
    while (mp_rank == 0 && get_word(0, 0) < (uint64_t)last) { /* everybody got it */
        OK(mcomm_win_lock(MCOMM_LOCK_SHARED, 0, win));
        OK(mcomm_win_unlock(0, win));
    }
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

/* ---- post, start, complete, wait ---- */
static void test_pscw(const char *kind)
{
    mcomm_group_t world, others;

    window_make(kind, 8 * (size_t)mp_size);
    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &world));
    OK(mcomm_group_excl(world, 1, &mp_rank, &others));
    for (uint64_t round = 1; round <= 50; round++) {
        uint64_t word = round * 100 + (uint64_t)mp_rank;
        int done = 0;

        OK(mcomm_win_post(others, win));
        OK(mcomm_win_start(others, win));
        for (int i = 0; i < mp_size; i++)
            if (i != mp_rank)
                OK(mcomm_put(&word, 8, i, 8 * (uint64_t)mp_rank, win));
        OK(mcomm_win_complete(win));
        if (round % 2 == 0)
            OK(mcomm_win_wait(win));
        else
            while (!done)
                OK(mcomm_win_test(win, &done));
        for (int i = 0; i < mp_size; i++)
            if (i != mp_rank)
                CHECK_EQ(mine[i], round * 100 + (uint64_t)i);
    }
    OK(mcomm_group_free(&others));
    OK(mcomm_group_free(&world));
    window_free(kind);
}

/* Rank 2 dies in an epoch of rank 0; rank 1's late complete must not end the next one. */
static void test_pscw_death(void)
{
    mcomm_comm_t comm = MCOMM_COMM_WORLD;
    mcomm_group_t world, both, one;
    int zero = 0, others[] = {1, 2}, token = 0, done = 1;

    window_make("allocate", 64);
    OK(mcomm_comm_group(comm, &world));
    OK(mcomm_group_incl(world, 2, others, &both));
    OK(mcomm_group_incl(world, 1, mp_rank == 0 ? &others[0] : &zero, &one));
    if (mp_rank == 0) {
        OK(mcomm_win_post(both, win));
        OK(mcomm_recv(&token, sizeof(token), 1, 1, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_send(&token, sizeof(token), 2, 1, comm));
        EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_wait(win));
        OK(mcomm_win_post(one, win));
        OK(mcomm_send(&token, sizeof(token), 1, 1, comm));
        OK(mcomm_recv(&token, sizeof(token), 1, 2, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_test(win, &done));
        CHECK_EQ(done, 0); /* that was the epoch before */
        OK(mcomm_send(&token, sizeof(token), 1, 2, comm));
        OK(mcomm_win_wait(win));
        CHECK_EQ(get_word(0, 0), 7);
    } else if (mp_rank == 1) {
        OK(mcomm_win_start(one, win));
        OK(mcomm_send(&token, sizeof(token), 0, 1, comm));
        OK(mcomm_recv(&token, sizeof(token), 0, 1, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_complete(win));
        OK(mcomm_send(&token, sizeof(token), 0, 2, comm));
        OK(mcomm_recv(&token, sizeof(token), 0, 2, comm, MCOMM_STATUS_IGNORE));
        OK(mcomm_win_start(one, win));
        put_word(0, 0, 7);
        OK(mcomm_win_complete(win));
    } else {
        OK(mcomm_recv(&token, sizeof(token), 0, 1, comm, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    OK(mcomm_group_free(&one));
    OK(mcomm_group_free(&both));
    OK(mcomm_group_free(&world));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

/* ---- signals ---- */
#define BLOCK 200000u
static void fill(unsigned char *buf, size_t nbytes, uint64_t salt)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = (unsigned char)(salt * 31 + i);
}

static void expect_fill(const unsigned char *buf, size_t nbytes, uint64_t salt)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != (unsigned char)(salt * 31 + i))
            MP_FAIL("byte %zu of block %llu is wrong", i, (unsigned long long)salt);
}

/* Whoever sees the signal sees the data, whatever its size. */
static void test_signal(const char *kind)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 17000, 70000, BLOCK};
    int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size;
    unsigned char *data = malloc(BLOCK);
    uint64_t seen = 0;

    window_make(kind, 64 + BLOCK);
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_wait_signal(0, MCOMM_CMP_NE, 0, 20, &seen, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_wait_signal(64 + BLOCK, MCOMM_CMP_NE, 0, 20, &seen, win));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_wait_signal(4, MCOMM_CMP_NE, 0, 20, &seen, win));
    OK(mcomm_win_fence(win));
    for (uint64_t i = 1; i <= 140; i++) {
        size_t nbytes = sizes[i % 7];

        fill(data, nbytes, i * 3 + (uint64_t)mp_rank);
        OK(mcomm_put_signal(data, nbytes, next, 64, 0, i % 2 ? i : 1,
                            i % 2 ? MCOMM_SIGNAL_SET : MCOMM_SIGNAL_ADD, win));
        OK(mcomm_wait_signal(0, MCOMM_CMP_GE, i, MCOMM_FOREVER, &seen, win));
        CHECK_EQ(seen, i);
        expect_fill((unsigned char *)mine + 64, nbytes, i * 3 + (uint64_t)prev);
        OK(mcomm_flush(next, win));
        OK(mcomm_put_signal(NULL, 0, prev, 0, 8, i, MCOMM_SIGNAL_SET, win)); /* you may write */
        OK(mcomm_wait_signal(8, MCOMM_CMP_EQ, i, MCOMM_FOREVER, NULL, win));
    }
    free(data);
    window_free(kind);
}

/* Waiting for a signal of one that dies ends; the window goes on. */
static void test_signal_death(void)
{
    int last = mp_size - 1;
    uint64_t seen;

    window_make("allocate", 64);
    OK(mcomm_win_fence(win));
    if (mp_rank == last)
        raise(SIGKILL);
    EXPECT(MCOMM_ERR_PROC_FAILED,
           mcomm_wait_signal(0, MCOMM_CMP_GE, (uint64_t)mp_size * 2, MCOMM_FOREVER, &seen, win));
    CHECK_TEXT("rank");
    for (int i = 0; i < last; i++)
        OK(mcomm_put_signal(NULL, 0, i, 0, 8, 1, MCOMM_SIGNAL_ADD, win));
    OK(mcomm_wait_signal(8, MCOMM_CMP_EQ, (uint64_t)last, MCOMM_FOREVER, &seen, win));
    OK(mcomm_flush_all(win));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_put(&seen, 8, last, 0, win));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
}

/* ---- a target that computes ---- */
static void test_passive(const char *kind)
{
    unsigned char *data = malloc(BLOCK), *back = malloc(BLOCK);
    uint64_t one = 1, old;
    int go = 0;

    window_make(kind, 64 + BLOCK);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == 0) { /* no call of the library until the others are through */
        while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) < (uint64_t)(mp_size - 1) * 100)
            ;
    } else {
        for (int i = 0; i < 100; i++) {
            if (mp_rank == 1 && i % 10 == 0) {
                fill(data, BLOCK, (uint64_t)i);
                OK(mcomm_put(data, BLOCK, 0, 64, win));
                OK(mcomm_flush(0, win));
                OK(mcomm_get(back, BLOCK, 0, 64, win));
                OK(mcomm_flush(0, win));
                CHECK(memcmp(data, back, BLOCK) == 0);
            }
            OK(mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, 0, 0, MCOMM_SUM, win));
        }
    }
    OK(mcomm_bcast(&go, 1, MCOMM_INT32, 0, MCOMM_COMM_WORLD));
    window_free(kind);
    free(data);
    free(back);
}

/* ---- a target that dies ---- */
static void test_death(const char *kind)
{
    int last = mp_size - 1, token = 0;
    unsigned char *data = calloc(1, BLOCK);
    mcomm_err_t err = MCOMM_SUCCESS;
    uint64_t one = 1, old = 0;
    void *mapped = NULL;

    window_make(kind, 64 + BLOCK);
    OK(mcomm_win_shared_query(win, last, &mapped));
    OK(mcomm_win_fence(win));
    if (mp_rank == last) {
        OK(mcomm_recv(&token, sizeof(token), 0, 1, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
        raise(SIGKILL);
    }
    /* Nobody is still in the fence when it dies. */
    if (mp_rank != 0)
        OK(mcomm_send(&token, sizeof(token), 0, 2, MCOMM_COMM_WORLD));
    for (int i = 1; mp_rank == 0 && i < last; i++)
        OK(mcomm_recv(&token, sizeof(token), i, 2, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
    for (long i = 0; err == MCOMM_SUCCESS; i++) { /* ends by the error alone */
        if (i == 20 && mp_rank == 0)
            OK(mcomm_send(&token, sizeof(token), last, 1, MCOMM_COMM_WORLD));
        err = mcomm_put(data, BLOCK, last, 64, win);
        if (err == MCOMM_SUCCESS)
            err = mcomm_get(data, i % 2 ? BLOCK : 8, last, 64, win);
        if (err == MCOMM_SUCCESS)
            err = mcomm_accumulate(&one, 1, MCOMM_UINT64, last, 0, MCOMM_SUM, win);
        if (err == MCOMM_SUCCESS)
            err = mcomm_flush(last, win);
    }
    CHECK_EQ(err, MCOMM_ERR_PROC_FAILED);
    CHECK_TEXT("target");
    mcomm_flush_all(win); /* what was issued before the error */
    OK(mcomm_flush_all(win));
    EXPECT(MCOMM_ERR_PROC_FAILED,
           mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, last, 0, MCOMM_SUM, win));
    if (mapped != NULL)
        CHECK(((volatile uint64_t *)mapped)[0] < UINT64_MAX); /* the memory is still there */
    for (int i = 0; i < last; i++) {                          /* the others go on */
        OK(mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, i, 0, MCOMM_SUM, win));
        OK(mcomm_flush(i, win));
    }
    OK(mcomm_wait_signal(0, MCOMM_CMP_GE, (uint64_t)last, MCOMM_FOREVER, NULL, win) == MCOMM_SUCCESS
           ? MCOMM_SUCCESS
           : mcomm_wait_signal(0, MCOMM_CMP_GE, (uint64_t)last, MCOMM_FOREVER, NULL, win));
    EXPECT(MCOMM_ERR_PROC_FAILED, mcomm_win_free(&win));
    if (strcmp(kind, "create") == 0)
        free(mine);
    free(data);
}

/* ---- a target that stops: the call times out, and its buffers are the caller's again ---- */
/* A signal stops the threads of a process one by one. */
static int is_stopped(pid_t pid)
{
    char path[300], line[512];
    struct dirent *entry;
    int stopped = 1;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        FILE *file;
        const char *state;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, entry->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        state = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
        stopped &= state != NULL && state[2] == 'T';
        fclose(file);
    }
    closedir(dir);
    return stopped;
}

static void test_stopped(const char *kind)
{
    mcomm_comm_t comm;
    mcomm_win_t w;
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    unsigned char *data = malloc(BLOCK), *into = malloc(BLOCK);
    int64_t pid = getpid();
    void *base, *user;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    attr.nbytes = BLOCK;
    user = calloc(1, BLOCK);
    base = user;
    if (strcmp(kind, "create") == 0)
        OK(mcomm_win_create(user, &attr, comm, &w));
    else
        OK(mcomm_win_allocate(&attr, comm, &base, &w));
    OK(mcomm_bcast(&pid, 1, MCOMM_INT64, 1, comm));
    OK(mcomm_win_fence(w));
    if (mp_rank == 0) {
        fill(data, BLOCK, 1);
        memset(into, 7, BLOCK);
        OK(mcomm_comm_set_timeout(comm, 200));
        CHECK(kill((pid_t)pid, SIGSTOP) == 0);
        while (!is_stopped((pid_t)pid))
            ;
        OK(mcomm_get(into, BLOCK, 1, 0, w));
        OK(mcomm_put(data, BLOCK, 1, 0, w));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_flush(1, w));
        fill(data, BLOCK, 2); /* ours again */
        memset(into, 9, BLOCK);
        CHECK(kill((pid_t)pid, SIGCONT) == 0);
        OK(mcomm_comm_set_timeout(comm, MCOMM_FOREVER));
        OK(mcomm_fetch_and_op(NULL, &pid, MCOMM_UINT64, 1, 0, MCOMM_NO_OP, w)); /* it goes on */
        for (size_t i = 0; i < BLOCK; i++)
            CHECK_EQ(into[i], 9);
        fill(data, BLOCK, 3);
        OK(mcomm_put(data, BLOCK, 1, 0, w));
        OK(mcomm_flush(1, w));
    }
    OK(mcomm_win_fence(w));
    if (mp_rank == 1)
        expect_fill(base, BLOCK, 3); /* nothing late came over it */
    OK(mcomm_win_free(&w));
    OK(mcomm_comm_free(&comm));
    free(user);
    free(data);
    free(into);
}

/* ---- completed means applied: the target looks right after the flush ---- */
static void test_applied(const char *kind)
{
    enum {
        ROUNDS = 400
    };
    size_t nbytes = 2400 * 1000 + 13;
    unsigned char *data = malloc(nbytes);
    int token = 0;

    window_make(kind, nbytes);
    for (int round = 0; round < ROUNDS; round++) {
        if (mp_rank == 0) {
            memset(data, round + 1, nbytes);
            for (int i = 1; i < mp_size; i++)
                OK(mcomm_put(data, nbytes, i, 0, win));
            OK(mcomm_flush_all(win));
            memset(data, 0xee, nbytes);
            for (int i = 1; i < mp_size; i++)
                OK(mcomm_send(&round, sizeof(round), i, 3, MCOMM_COMM_WORLD));
            for (int i = 1; i < mp_size; i++)
                OK(mcomm_recv(&token, sizeof(token), i, 4, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
        } else {
            const uint64_t *words = mine;
            uint64_t want = 0x0101010101010101u * (uint64_t)((round + 1) & 0xff);

            OK(mcomm_recv(&token, sizeof(token), 0, 3, MCOMM_COMM_WORLD, MCOMM_STATUS_IGNORE));
            for (size_t i = nbytes / 8; i-- > 0;)
                if (words[i] != want)
                    MP_FAIL("round %d: word %zu is %#llx", round, i, (unsigned long long)words[i]);
            OK(mcomm_send(&token, sizeof(token), 0, 4, MCOMM_COMM_WORLD));
        }
    }
    window_free(kind);
    free(data);
}

/* ---- many ranges, and windows at the same address with other contents ---- */
static void test_attach_many(void)
{
    enum {
        RANGES = 100000,
        STEP = 4096
    };
    char *area = mmap(NULL, (size_t)RANGES * STEP, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t *address = calloc((size_t)mp_size, 8), word, got = 0;
    int next = (mp_rank + 1) % mp_size;

    CHECK(area != MAP_FAILED);
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    for (size_t i = 0; i < RANGES; i++) /* a scattered order, every second page twice */
        OK(mcomm_win_attach(win, area + (i * 7919 % RANGES) * STEP, STEP / 2));
    for (size_t i = 0; i < RANGES; i += 2)
        OK(mcomm_win_attach(win, area + i * STEP, STEP));
    address[mp_rank] = (uint64_t)(uintptr_t)area;
    OK(mcomm_allgather(MCOMM_IN_PLACE, address, 1, MCOMM_UINT64, MCOMM_COMM_WORLD));
    for (uint64_t i = 0; i < RANGES; i += 997) {
        word = i + 1;
        OK(mcomm_put(&word, 8, next, address[next] + i * STEP, win));
        OK(mcomm_flush(next, win));
    }
    OK(mcomm_win_fence(win));
    for (size_t i = 0; i < RANGES; i += 997)
        CHECK_EQ(*(uint64_t *)(void *)(area + i * STEP), i + 1);
    OK(mcomm_get(&got, 8, next, address[next] + STEP + STEP / 2, win)); /* between two ranges */
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_flush(next, win));
    OK(mcomm_get(&got, 8, next, address[next] + STEP / 2, win));
    OK(mcomm_flush(next, win));
    OK(mcomm_win_fence(win));
    for (size_t i = 0; i < RANGES; i++)
        OK(mcomm_win_detach(win, area + i * STEP));
    OK(mcomm_win_fence(win));
    OK(mcomm_get(&got, 8, next, address[next], win)); /* once more attached than detached */
    OK(mcomm_flush(next, win));
    OK(mcomm_win_free(&win));
    munmap(area, (size_t)RANGES * STEP);
    free(address);
}

static void test_again(const char *kind)
{
    enum {
        ROUNDS = 1000,
        WORDS = 512
    };
    int next = (mp_rank + 1) % mp_size;
    uint64_t got[WORDS];

    for (uint64_t round = 0; round < ROUNDS; round++) {
        window_make(kind, sizeof(got));
        for (size_t i = 0; i < WORDS; i++)
            mine[i] = round * 1000 + (uint64_t)mp_rank;
        OK(mcomm_win_fence(win));
        OK(mcomm_get(got, sizeof(got), next, 0, win));
        OK(mcomm_flush(next, win));
        for (size_t i = 0; i < WORDS; i++)
            CHECK_EQ(got[i], round * 1000 + (uint64_t)next);
        window_free(kind);
    }
}

/* ---- threads: all kinds of operations on one window at the same time ---- */
#define THREADS 4
#define TURNS 150

/* A process has one lock on a target at a time: its threads take turns, they never share it. */
static void count_locked(void)
{
    mcomm_err_t err;

    while ((err = mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, 0, win)) == MCOMM_ERR_RMA_SYNC)
        sched_yield();
    CHECK_EQ(err, MCOMM_SUCCESS);
    put_word(0, 24, get_word(0, 24) + 1);
    OK(mcomm_win_unlock(0, win));
}

static void *thread_main(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg, one = 1, old;
    uint64_t slot = 64 + ((uint64_t)mp_rank * THREADS + me) * 2048, data[256], back[256];

    for (uint64_t i = 0; i < TURNS; i++) {
        int target = (mp_rank + (int)(i + me)) % mp_size;

        for (size_t k = 0; k < 256; k++)
            data[k] = i * 7 + me * 3 + k;
        OK(mcomm_put(data, sizeof(data), target, slot, win));
        OK(mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, target, 0, MCOMM_SUM, win));
        OK(mcomm_accumulate(&one, 1, MCOMM_UINT64, target, 8, MCOMM_SUM, win));
        OK(mcomm_flush(target, win));
        OK(mcomm_get(back, sizeof(back), target, slot, win));
        OK(mcomm_flush(target, win));
        CHECK(memcmp(data, back, sizeof(data)) == 0);
        OK(mcomm_put_signal(NULL, 0, target, 0, 16, 1, MCOMM_SIGNAL_ADD, win));
        if (i % 10 == 0)
            count_locked();
    }
    return NULL;
}

static void test_threads(const char *kind)
{
    pthread_t threads[THREADS];
    uint64_t sums[3];

    window_make(kind, 64 + (size_t)mp_size * THREADS * 2048);
    OK(mcomm_win_fence(win));
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(mcomm_win_fence(win));
    memcpy(sums, mine, sizeof(sums));
    OK(mcomm_allreduce(MCOMM_IN_PLACE, sums, 3, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sums[i], (uint64_t)mp_size * THREADS * TURNS);
    if (mp_rank == 0)
        CHECK_EQ(mine[3], (uint64_t)mp_size * THREADS * (TURNS / 10));
    OK(mcomm_win_fence(win));
    window_free(kind);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "lock", *kind = argc > 2 ? argv[2] : "allocate";

    mp_init();
    if (strcmp(what, "lock") == 0)
        test_lock(kind);
    else if (strcmp(what, "lock_death") == 0)
        test_lock_death();
    else if (strcmp(what, "pscw") == 0)
        test_pscw(kind);
    else if (strcmp(what, "pscw_death") == 0)
        test_pscw_death();
    else if (strcmp(what, "signal") == 0)
        test_signal(kind);
    else if (strcmp(what, "signal_death") == 0)
        test_signal_death();
    else if (strcmp(what, "passive") == 0)
        test_passive(kind);
    else if (strcmp(what, "death") == 0)
        test_death(kind);
    else if (strcmp(what, "stopped") == 0)
        test_stopped(kind);
    else if (strcmp(what, "applied") == 0)
        test_applied(kind);
    else if (strcmp(what, "attach") == 0)
        test_attach_many();
    else if (strcmp(what, "threads") == 0)
        test_threads(kind);
    else if (strcmp(what, "again") == 0)
        test_again(kind);
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
