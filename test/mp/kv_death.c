/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Object stores whose members die or stand still: kv_death MODE.
 *   death US   the last rank dies while it puts; the others go on
 *   storm US   all but rank 0 die, one after the other, each at a moment that nobody knows, while
 *              all put, read, remove, evict, clean and look at the same few keys
 *   slow COUNT a rank is stopped and let go again all the time while it copies values and holds
 *              views, and rank 0 evicts and refills
 */
#include "kv_check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static int is_alive(int rank)
{
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};

    OK(mcomm_peer_query(MCOMM_COMM_WORLD, rank, 0, &desc));
    return desc.is_alive;
}

/* ---- death ---- */
static void mode_death(long after_us)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)2 << 20);
    char *buf = malloc(VALUE_MAX + 100);

    CHECK(buf != NULL);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    mp_leave_last(mp_size - 1);
    if (mp_rank == mp_size - 1) {
        die_after(after_us);
        race_run(kv, 99, 100000000, 40, buf);
    }
    do
        race_run(kv, (uint64_t)mp_rank + 1, 200, 40, buf);
    while (is_alive(mp_size - 1));
    race_run(kv, (uint64_t)mp_rank + 100, 3000, 40, buf);
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- storm ---- */
#define STORM_KEYS 24u
#define STORM_MAX (300u << 10) /* more than a slab */

/* Every call ends with success or with an error that its page names. */
static void storm_put(mcomm_kv_t kv, uint64_t *state, char *buf, uint64_t version)
{
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;
    uint64_t number = rnd(state) % STORM_KEYS;
    size_t nbytes = 24 + (rnd(state) % 8 == 0 ? rnd(state) % (STORM_MAX - 24) : size_pick(state));
    char key[4200];
    size_t n = key_make(key, number);
    mcomm_err_t err;

    attr.mode = (unsigned)(rnd(state) % 4 % 3); /* replace twice as often */
    attr.preferred_rank = (int)(rnd(state) % (unsigned)mp_size);
    value_fill(buf, nbytes, number, version);
    err = mcomm_kv_put(kv, key, n, buf, nbytes, &attr);
    if (err == MCOMM_ERR_EXISTS)
        CHECK_EQ(attr.mode, MCOMM_KV_EXCLUSIVE);
    else if (err != MCOMM_ERR_NO_SPACE)
        OK(err);
}

static void storm_batch(mcomm_kv_t kv, uint64_t *state, char *buf)
{
    static char keys[8][4200];
    mcomm_kv_item_t items[8];
    uint64_t first = rnd(state) % STORM_KEYS;

    for (unsigned i = 0; i < 8; i++) {
        size_t n = key_make(keys[i], (first + i) % STORM_KEYS);

        items[i] =
            (mcomm_kv_item_t){keys[i], n, buf + (size_t)i * STORM_MAX, STORM_MAX, MCOMM_SUCCESS};
    }
    (void)mcomm_kv_get_batch(kv, items, 8);
    for (unsigned i = 0; i < 8; i++) {
        if (items[i].error == MCOMM_ERR_NOT_FOUND)
            continue;
        OK(items[i].error);
        value_check_any(items[i].buf, items[i].nbytes, (first + i) % STORM_KEYS);
    }
}

static void storm_step(mcomm_kv_t kv, uint64_t *state, char *buf, uint64_t version)
{
    uint64_t number = rnd(state) % STORM_KEYS;
    char key[4200];
    size_t n = key_make(key, number), got;
    mcomm_kv_view_t view;
    mcomm_err_t err;

    switch (rnd(state) % 8) {
    case 0:
        err = mcomm_kv_remove(kv, key, n);
        break;
    case 1:
        err = mcomm_kv_acquire(kv, key, n, &view);
        if (err == MCOMM_SUCCESS) {
            /* what the memory of a dead rank holds nobody changes any more */
            value_check_any(view.data, view.nbytes, number);
            sched_yield();
            value_check_any(view.data, view.nbytes, number);
            OK(mcomm_kv_release(kv, &view));
        }
        break;
    case 2:
        storm_batch(kv, state, buf);
        return;
    case 3:
    case 4:
        err = mcomm_kv_get_into(kv, key, n, buf, STORM_MAX, &got);
        if (err == MCOMM_SUCCESS)
            value_check_any(buf, got, number);
        break;
    default:
        storm_put(kv, state, buf, version);
        return;
    }
    if (err != MCOMM_ERR_NOT_FOUND)
        OK(err);
}

/* The store is as good as new: it takes a value under every key, and gives it. */
static void storm_after(mcomm_kv_t kv, char *buf)
{
    for (uint64_t number = 0; number < 300; number++) {
        char key[4200];
        size_t n = key_make(key, number % STORM_KEYS), nbytes = 24 + number * 200, got;

        value_fill(buf, nbytes, number % STORM_KEYS, number);
        OK(mcomm_kv_put(kv, key, n, buf, nbytes, NULL));
        OK(mcomm_kv_get_into(kv, key, n, buf, STORM_MAX, &got));
        CHECK_EQ(got, nbytes);
        value_check(buf, got, number % STORM_KEYS, number);
    }
}

static void mode_storm(long max_us)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)1 << 20);
    char *buf = malloc((size_t)8 * STORM_MAX);
    struct timespec now;
    uint64_t state;

    CHECK(buf != NULL);
    clock_gettime(CLOCK_REALTIME, &now);
    state = (uint64_t)now.tv_nsec + (uint64_t)mp_rank; /* every run is to be another */
    printf("rank %d: seed %llu\n", mp_rank, (unsigned long long)state);
    OK(mcomm_barrier(MCOMM_COMM_WORLD)); /* nobody dies before all are through it */
    for (int rank = 1; rank < mp_size && mp_rank == 0; rank++)
        OK(mcomm_send(NULL, 0, rank, 1, MCOMM_COMM_WORLD));
    if (mp_rank > 0)
        OK(mcomm_recv(NULL, 0, 0, 1, MCOMM_COMM_WORLD, NULL));
    if (mp_rank > 0)
        die_after((long)(rnd(&state) % (unsigned long)max_us) + (mp_rank - 1) * max_us);
    for (uint64_t step = 0; mp_rank > 0; step++)
        storm_step(kv, &state, buf, (uint64_t)mp_rank << 40 | step);
    for (uint64_t step = 0, left = 1; left > 0; step++) {
        storm_step(kv, &state, buf, step);
        left = 0;
        for (int rank = 1; rank < mp_size && step % 16 == 0; rank++)
            left += (uint64_t)is_alive(rank);
        left += step % 16 != 0;
    }
    storm_after(kv, buf);
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- slow ---- */
/*
 * A child lets its parent run for a moment, then not, until it is killed. The time slices are what
 * is tested: no event can say how far the parent has come, nor, of its part of the directory, how
 * far the others come without it.
 */
static pid_t slow_down(void)
{
    pid_t parent = getpid(), pid = fork();

    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        struct timespec run = {0, 500000}, stand = {0, 2000000};

        nanosleep(&run, NULL);
        kill(parent, SIGSTOP);
        nanosleep(&stand, NULL);
        if (kill(parent, SIGCONT) != 0)
            _exit(0);
    }
}

static void slow_reader(mcomm_kv_t kv, char *buf, long count)
{
    pid_t pid = slow_down();
    long seen = 0;

    for (uint64_t round = 0; seen < count; round++) {
        uint64_t number = round % 32, version;
        char key[4200];
        size_t n = key_make(key, number), got;
        mcomm_kv_view_t view;
        mcomm_err_t err = mcomm_kv_get_into(kv, key, n, buf, STORM_MAX, &got);

        if (err != MCOMM_ERR_NOT_FOUND) {
            OK(err);
            value_check_any(buf, got, number);
            seen++;
        }
        err = mcomm_kv_acquire(kv, key, n, &view);
        if (err == MCOMM_ERR_NOT_FOUND)
            continue;
        OK(err);
        version = value_check_any(view.data, view.nbytes, number);
        sched_yield();
        CHECK_EQ(value_check_any(view.data, view.nbytes, number), version);
        OK(mcomm_kv_release(kv, &view));
        seen++;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    OK(mcomm_send(NULL, 0, 0, 1, MCOMM_COMM_WORLD));
}

static void mode_slow(long count)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, mp_rank == 0 ? (size_t)2 << 20 : 0);
    char *buf = malloc(STORM_MAX), key[4200];
    int is_over = 0;

    CHECK(buf != NULL);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank != 0)
        slow_reader(kv, buf, count);
    for (uint64_t version = 0; mp_rank == 0 && !is_over; version++) {
        uint64_t number = version % 64; /* half of them are never read: they push out the others */
        size_t n = key_make(key, number), nbytes = 20000 + version * 1009 % 50000;

        value_fill(buf, nbytes, number, version);
        OK(mcomm_kv_put(kv, key, n, buf, nbytes, NULL));
        OK(mcomm_iprobe(1, 1, MCOMM_COMM_WORLD, &is_over, NULL));
    }
    if (mp_rank == 0)
        OK(mcomm_recv(NULL, 0, 1, 1, MCOMM_COMM_WORLD, NULL));
    free(buf);
    OK(mcomm_kv_close(&kv));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long number = argc > 2 ? atol(argv[2]) : 0;

    mp_init();
    if (strcmp(mode, "death") == 0)
        mode_death(number);
    else if (strcmp(mode, "storm") == 0)
        mode_storm(number);
    else if (strcmp(mode, "slow") == 0)
        mode_slow(number);
    else
        MP_FAIL("no such mode: %s", mode);
    OK(mcomm_finalize());
    return 0;
}
