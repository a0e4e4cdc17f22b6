/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Targets that compute, die or stop; what a completion call promises. */
#include "rma_window.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

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

/*
 * A thread's get is given up by the flush of another one, and again looked for by that: its own
 * flush does not say that the buffer is filled.
 */
static mcomm_win_t shared_win;
static sem_t has_issued, has_timed_out;

static void *getter(void *into)
{
    OK(mcomm_get(into, BLOCK, 1, 0, shared_win));
    CHECK(sem_post(&has_issued) == 0);
    CHECK(sem_wait(&has_timed_out) == 0);
    EXPECT(MCOMM_ERR_TIMEOUT, mcomm_flush_local(1, shared_win));
    CHECK_TEXT("target 1");
    OK(mcomm_flush(1, shared_win)); /* told once */
    return NULL;
}

static void test_stopped_threads(const char *kind)
{
    unsigned char *into = malloc(BLOCK);
    int64_t pid = getpid();
    pthread_t thread;

    window_make(kind, BLOCK);
    shared_win = win;
    memset(into, 7, BLOCK);
    OK(mcomm_bcast(&pid, 1, MCOMM_INT64, 1, MCOMM_COMM_WORLD));
    OK(mcomm_win_fence(win));
    if (mp_rank == 0) {
        CHECK(sem_init(&has_issued, 0, 0) == 0 && sem_init(&has_timed_out, 0, 0) == 0);
        OK(mcomm_get(into, 8, 1, 0, win)); /* how it is reached is known */
        OK(mcomm_flush(1, win));
        CHECK(kill((pid_t)pid, SIGSTOP) == 0);
        while (!is_stopped((pid_t)pid))
            ;
        CHECK(pthread_create(&thread, NULL, getter, into) == 0);
        CHECK(sem_wait(&has_issued) == 0);
        OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, 200));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_flush_local(1, win));
        OK(mcomm_flush_local(1, win)); /* takes nothing of the other thread's away */
        OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, MCOMM_FOREVER));
        CHECK(kill((pid_t)pid, SIGCONT) == 0);
        CHECK(sem_post(&has_timed_out) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        OK(mcomm_get(into, BLOCK, 1, 0, win));
        OK(mcomm_flush(1, win));
        CHECK_EQ(into[BLOCK - 1], 0);
    }
    OK(mcomm_win_fence(win));
    window_free(kind);
    free(into);
}

/* Its memory is not mapped yet: the first access ends by the caller's time limit, the next works.
 */
static void test_stopped_first(const char *kind)
{
    uint64_t word = 7;
    int64_t pid = getpid();

    window_make(kind, 64);
    OK(mcomm_bcast(&pid, 1, MCOMM_INT64, 1, MCOMM_COMM_WORLD));
    OK(mcomm_win_fence(win));
    if (mp_rank == 0) {
        OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, 200));
        CHECK(kill((pid_t)pid, SIGSTOP) == 0);
        while (!is_stopped((pid_t)pid))
            ;
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_put(&word, 8, 1, 0, win));
        CHECK_TEXT("target 1");
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_win_lock(MCOMM_LOCK_SHARED, 1, win));
        CHECK(kill((pid_t)pid, SIGCONT) == 0);
        OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, MCOMM_FOREVER));
        OK(mcomm_win_lock(MCOMM_LOCK_SHARED, 1, win));
        put_word(1, 0, 7);
        OK(mcomm_win_unlock(1, win));
    }
    OK(mcomm_win_fence(win));
    if (mp_rank == 1)
        CHECK_EQ(mine[0], 7);
    window_free(kind);
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

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"passive", test_passive},
        {"death", test_death},
        {"stopped", test_stopped},
        {"stopped_first", test_stopped_first},
        {"stopped_threads", test_stopped_threads},
        {"applied", test_applied},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
