/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * rma_kill ROUNDS: this process starts a job of four ranks again and again, lets them work on
 * windows and kills one of them at a random moment. The calls of the others end with success or
 * PROC_FAILED, never by their time limit; afterwards they reach each other as before; all windows
 * are freed, the library ends. In every fourth round the windows are being made when it happens.
 */
#include "mp.h"
#include "common/random.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define RANKS 4
#define LIMIT_MS 20000
#define SLOT 100000u             /* of each origin, behind the words of the window */
#define MOMENT_NS 12000000       /* a kill comes within it */
#define WORDS (8u * (RANKS + 3)) /* counter, lock's counter, signal, one of each origin */

static struct shared { /* of parent and ranks */
    char mail[RANKS][4096];
    _Atomic int arrived, ready, done;
    _Atomic bool has_killed;
} * shared;

static bool is_early; /* killed while windows are made */
static mcomm_win_t wins[3];
static void *user_memory;
static uint64_t dynamic_base[RANKS];
static unsigned char block[SLOT], back[SLOT];
static uint64_t seed_state;

static uint64_t next_random(void)
{
    return rnd(&seed_state);
}

/* ---- meeting: the parent's memory stands in for a launcher ---- */
static int gather(const void *mine, void *all, size_t nbytes, void *arg)
{
    int turn = atomic_load(&shared->done), rank = *(int *)arg;

    if (nbytes > sizeof(shared->mail[0]))
        return 1;
    memcpy(shared->mail[rank], mine, nbytes);
    atomic_fetch_add(&shared->arrived, 1);
    while (atomic_load(&shared->arrived) < RANKS * (2 * turn + 1))
        sched_yield();
    for (int i = 0; i < RANKS; i++)
        memcpy((char *)all + (size_t)i * nbytes, shared->mail[i], nbytes);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == RANKS * (2 * turn + 2))
        atomic_fetch_add(&shared->done, 1);
    while (atomic_load(&shared->done) == turn)
        sched_yield();
    return 0;
}

/* ---- what a rank does ---- */
static mcomm_err_t windows_make(void)
{
    size_t nbytes = WORDS + RANKS * SLOT;
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_err_t err;
    void *base;

    attr.nbytes = nbytes;
    user_memory = calloc(2, nbytes);
    err = mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &wins[0]);
    if (err == MCOMM_SUCCESS)
        err = mcomm_win_create(user_memory, &attr, MCOMM_COMM_WORLD, &wins[1]);
    if (err == MCOMM_SUCCESS)
        err = mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &wins[2]);
    if (err != MCOMM_SUCCESS)
        return err;
    OK(mcomm_win_attach(wins[2], (char *)user_memory + nbytes, nbytes));
    dynamic_base[mp_rank] = (uint64_t)(uintptr_t)user_memory + nbytes;
    return mcomm_allgather(MCOMM_IN_PLACE, dynamic_base, 1, MCOMM_UINT64, MCOMM_COMM_WORLD);
}

static uint64_t disp_of(int w, int target, uint64_t offset)
{
    return w == 2 ? dynamic_base[target] + offset : offset;
}

/* Bytes into the own slot and back, an atomic, a lock with a counter under it. */
static mcomm_err_t work_on(int w, int target)
{
    uint64_t slot = disp_of(w, target, WORDS + (uint64_t)mp_rank * SLOT), one = 1, old, count;
    size_t nbytes = next_random() % 3 == 0 ? 1 + next_random() % SLOT : 1 + next_random() % 500;
    mcomm_win_t win_w = wins[w];
    mcomm_err_t err, unlock_err;

    memset(block, (int)next_random(), nbytes);
    err = mcomm_put(block, nbytes, target, slot, win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_accumulate(&one, 1, MCOMM_UINT64, target, disp_of(w, target, 0), MCOMM_SUM,
                               win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_flush(target, win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_get(back, nbytes, target, slot, win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_flush(target, win_w);
    if (err == MCOMM_SUCCESS)
        CHECK(memcmp(block, back, nbytes) == 0);
    if (err == MCOMM_SUCCESS)
        err = mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, target, disp_of(w, target, 0), MCOMM_SUM,
                                 win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_win_lock(MCOMM_LOCK_EXCLUSIVE, target, win_w);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mcomm_get(&count, 8, target, disp_of(w, target, 8), win_w);
    if (err == MCOMM_SUCCESS)
        err = mcomm_flush(target, win_w);
    count++;
    if (err == MCOMM_SUCCESS)
        err = mcomm_put(&count, 8, target, disp_of(w, target, 8), win_w);
    unlock_err = mcomm_win_unlock(target, win_w);
    return err != MCOMM_SUCCESS ? err : unlock_err;
}

static mcomm_err_t work(void)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (uint64_t i = 0; err == MCOMM_SUCCESS; i++) {
        int w = (int)(i % 3), target = (int)(next_random() % RANKS);

        err = work_on(w, target);
        if (err == MCOMM_SUCCESS)
            err = mcomm_put_signal(block, next_random() % 200, target,
                                   disp_of(w, target, WORDS + (uint64_t)mp_rank * SLOT),
                                   disp_of(w, target, 16), 1, MCOMM_SIGNAL_ADD, wins[w]);
        if (err == MCOMM_SUCCESS)
            err = mcomm_flush(target, wins[w]);
        if (err == MCOMM_SUCCESS && i % 5 == 4)
            err = mcomm_win_fence(wins[next_random() % 3]);
        /* All fence together, in this order; the death of one ends it for all. */
        if (err == MCOMM_SUCCESS && i % 5 == 4)
            err = mcomm_barrier(MCOMM_COMM_WORLD);
    }
    return err;
}

static void expect_death(mcomm_err_t err, const char *where)
{
    if (err != MCOMM_ERR_PROC_FAILED)
        MP_FAIL("%s: %s (%s)", where, mcomm_err_name(err), mcomm_last_error());
    if (strstr(mcomm_last_error(), "failed") == NULL && strstr(mcomm_last_error(), "died") == NULL)
        MP_FAIL("%s: the text is \"%s\"", where, mcomm_last_error());
}

static void others_go_on(int victim)
{
    for (int w = 0; w < 3; w++) {
        mcomm_flush_all(wins[w]); /* tells what has been */
        for (int target = 0; target < RANKS; target++) {
            mcomm_err_t err = work_on(w, target);

            while (target == victim && err == MCOMM_SUCCESS) /* another rank noticed it first */
                err = work_on(w, target);
            if (target == victim)
                CHECK_EQ(err, MCOMM_ERR_PROC_FAILED);
            else if (!(is_early && err == MCOMM_ERR_WIN)) /* not made there */
                CHECK_EQ(err, MCOMM_SUCCESS);
        }
    }
}

static void rank_main(int rank, int victim, uint64_t seed, bool is_far)
{
    mcomm_oob_t oob = {gather, &rank, rank, RANKS};
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    mcomm_err_t err;

    if (is_far)
        setenv("MCOMM_NODE", rank < RANKS / 2 ? "left" : "right", 1);
    seed_state = seed * 31 + (uint64_t)rank;
    mp_rank = rank;
    attr.oob = &oob;
    OK(mcomm_init(&attr));
    OK(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, LIMIT_MS));
    if (is_early)
        atomic_fetch_add(&shared->ready, 1);
    err = windows_make();
    if (!is_early) {
        CHECK_EQ(err, MCOMM_SUCCESS);
        atomic_fetch_add(&shared->ready, 1);
    }
    if (err == MCOMM_SUCCESS) {
        err = work();
        expect_death(err, "work");
        others_go_on(victim);
    } else {
        expect_death(err, "making windows");
    }
    for (int w = 0; w < 3; w++)
        if (wins[w] != MCOMM_WIN_NULL)
            expect_death(mcomm_win_free(&wins[w]), "win_free");
    free(user_memory);
    OK(mcomm_finalize());
}

/* ---- the parent ---- */
/* The kill is to come at any moment of the work: time itself is what varies. */
static void sleep_for(int64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void one_round(uint64_t round, bool is_far)
{
    int victim, status;
    pid_t pids[RANKS], pid;

    memset(shared, 0, sizeof(*shared));
    is_early = round % 4 == 3;
    victim = (int)(next_random() % RANKS);
    for (int i = 0; i < RANKS; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            rank_main(i, victim, round, is_far);
            _exit(0);
        }
    }
    while (atomic_load(&shared->ready) < RANKS) {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            MP_FAIL("round %llu: a rank ended with %#x before the kill", (unsigned long long)round,
                    status);
        sched_yield();
    }
    sleep_for((int64_t)(next_random() % MOMENT_NS) / (is_early ? 4 : 1));
    CHECK(kill(pids[victim], SIGKILL) == 0);
    for (int i = 0; i < RANKS; i++) {
        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        if (i != victim && status != 0)
            MP_FAIL("round %llu, nodes=%d: rank %d of %d killed ended with %#x",
                    (unsigned long long)round, is_far ? 2 : 1, i, victim, status);
    }
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 20261130;

    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (uint64_t i = 0; i < rounds; i++) {
        seed_state = seed + i * 1000003;
        one_round(i, i % 8 >= 4);
    }
    return 0;
}
