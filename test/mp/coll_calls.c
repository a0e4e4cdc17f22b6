/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Collectives around the rest of the library: threads, many requests, the end. */
#include "config.h"

#include "coll_check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define W MCOMM_COMM_WORLD

/* ---- threads: each on its own communicator ---- */
#define THREADS 4
static mcomm_comm_t comms[50];

static void *thread_main(void *arg)
{
    uint64_t which = (uint64_t)(uintptr_t)arg, state = which;
    struct small *s = malloc(sizeof(*s));

    CHECK(s != NULL);
    for (int64_t round = 0; round < 1500; round++) {
        enum small_form form = (enum small_form)(rnd(&state) % S_FORMS);

        small_draw(s, &state, round, comms[which], mp_rank, mp_size);
        OK(small_call(s, form));
        if (form == S_PERSISTENT)
            OK(mcomm_start(s->request));
        if (form != S_BLOCKING)
            OK(mcomm_wait(&s->request, MCOMM_FOREVER, NULL));
        if (form == S_PERSISTENT)
            OK(mcomm_request_free(&s->request));
        small_check(s);
    }
    free(s);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comms[i]));
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        OK(mcomm_comm_free(&comms[i]));
}

/* ---- thousands outstanding on 50 communicators, ended from the last to the first ---- */
static void test_outstanding(void)
{
    enum {
        EACH = 60,
        COMMS = 50
    };
    struct small *all = malloc(sizeof(*all) * EACH * COMMS);
    uint64_t state = 17;

    CHECK(all != NULL);
    for (int c = 0; c < COMMS; c++)
        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comms[c]));
    for (int i = 0; i < EACH * COMMS; i++) {
        small_draw(&all[i], &state, i, comms[i % COMMS], mp_rank, mp_size);
        OK(small_call(&all[i], S_NONBLOCKING));
    }
    for (int i = EACH * COMMS - 1; i >= 0; i--) {
        OK(mcomm_wait(&all[i].request, MCOMM_FOREVER, NULL));
        small_check(&all[i]);
    }
    for (int c = 0; c < COMMS; c++)
        OK(mcomm_comm_free(&comms[c]));
    free(all);
}

/* ---- the communicator is freed while requests are outstanding ---- */
static void test_freed(void)
{
    enum {
        LIVE = 12
    };
    static struct small all[LIVE];
    uint64_t state = 23;
    mcomm_comm_t comm;

    for (int64_t round = 0; round < 40; round++) {
        OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
        for (int i = 0; i < LIVE; i++) {
            small_draw(&all[i], &state, round * LIVE + i, comm, mp_rank, mp_size);
            OK(small_call(&all[i], S_NONBLOCKING));
        }
        OK(mcomm_comm_free(&comm));
        for (int i = 0; i < LIVE; i++) {
            OK(mcomm_wait(&all[i].request, MCOMM_FOREVER, NULL));
            small_check(&all[i]);
        }
    }
}

/* ---- the library ends while requests are outstanding: some complete, one cannot ---- */
static void test_finalized(void)
{
    static struct small s, idle;
    mcomm_request_t never = MCOMM_REQUEST_NULL;
    uint64_t state = 29;

    small_draw(&idle, &state, 0, W, mp_rank, mp_size);
    OK(small_call(&idle, S_PERSISTENT));
    small_draw(&s, &state, 1, W, mp_rank, mp_size);
    OK(small_call(&s, S_NONBLOCKING));
    if (mp_rank != 0)
        OK(mcomm_ibarrier(W, &never));
}

/* ---- a collective cannot be cancelled: the others are in it ---- */
static void test_cancel(void)
{
    static struct small s;
    mcomm_status_t status;
    uint64_t state = 31;

    for (int64_t round = 0; round < 50; round++) {
        small_draw(&s, &state, round, W, mp_rank, mp_size);
        OK(small_call(&s, S_NONBLOCKING));
        if (round % mp_size == mp_rank)
            OK(mcomm_cancel(s.request));
        OK(mcomm_wait(&s.request, MCOMM_FOREVER, &status));
        CHECK_EQ(status.cancelled, 0);
        small_check(&s);
    }
}

/* ---- a wait that timed out leaves the collective going ---- */
static void test_wait_limit(void)
{
    static struct small s;
    uint64_t state = 37;
    int last = mp_size - 1;

    for (int64_t round = 0; round < 5; round++) {
        do
            small_draw(&s, &state, round, W, mp_rank, mp_size);
        while (s.kind != S_BARRIER && s.kind != S_ALLREDUCE && s.kind != S_ALLTOALL);
        if (mp_rank == last)
            for (int r = 0; r < last; r++) /* all others have waited in vain */
                OK(mcomm_recv(NULL, 0, r, 1, W, NULL));
        OK(small_call(&s, S_NONBLOCKING));
        if (mp_rank != last) {
            EXPECT(MCOMM_ERR_TIMEOUT, mcomm_wait(&s.request, 20, NULL));
            CHECK(s.request != MCOMM_REQUEST_NULL);
            OK(mcomm_send(NULL, 0, last, 1, W));
        }
        OK(mcomm_wait(&s.request, MCOMM_FOREVER, NULL));
        small_check(&s);
    }
}

/* ---- a member that computes and calls nothing does not stop the others ---- */
/* A word that all ranks see, wherever the library thinks they are. */
static atomic_int *word_of_all(void)
{
    int where[2] = {(int)getpid(), memfd_create("coll_calls", MFD_CLOEXEC)}, fd = where[1];
    char path[64];
    void *page;

    OK(mcomm_bcast(where, 2, MCOMM_INT32, 0, W));
    if (mp_rank != 0) {
        close(fd);
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", where[0], where[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    OK(mcomm_barrier(W)); /* all have opened it */
    close(fd);
    return page;
}

static void test_computes(void)
{
    enum {
        ROUNDS = 48,
        LARGE = 60000
    };
    static int64_t in[LARGE], out[LARGE];
    static struct small s;
    atomic_int *over = word_of_all(); /* calls that have ended at those who wait */
    uint64_t state = 53;
    int others = 0;

    for (int64_t round = 0; round < ROUNDS; round++) {
        int computes = (int)round % mp_size == mp_rank;
        mcomm_request_t large;

        in[LARGE - 1] = round;
        small_draw(&s, &state, round, W, mp_rank, mp_size);
        OK(small_call(&s, S_NONBLOCKING));
        OK(mcomm_iallreduce(in, out, round % 4 ? 1000 : LARGE, MCOMM_INT64, MCOMM_SUM, W, &large));
        others += mp_size - 1;
        while (computes && atomic_load(over) < others)
            sched_yield();
        OK(mcomm_wait(&large, MCOMM_FOREVER, NULL));
        OK(mcomm_wait(&s.request, MCOMM_FOREVER, NULL));
        small_check(&s);
        CHECK_EQ(round % 4 ? 0 : out[LARGE - 1], round % 4 ? 0 : mp_size * round);
        if (!computes)
            atomic_fetch_add(over, 1);
    }
    munmap(over, 4096);
}

/* ---- waiting long costs no processor time ---- */
static double cpu_seconds(void)
{
    struct rusage use;

    CHECK(getrusage(RUSAGE_SELF, &use) == 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void test_idle(void)
{
    mcomm_request_t never;
    double before;

    OK(mcomm_barrier(W));
    before = cpu_seconds();
    if (mp_rank == 0) { /* late by 10 s, in a wait of its own */
        OK(mcomm_irecv(NULL, 0, 0, 99, MCOMM_COMM_SELF, &never));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_wait(&never, 10000, NULL));
        OK(mcomm_cancel(never));
        EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&never, MCOMM_FOREVER, NULL));
    }
    OK(mcomm_barrier(W));
    if (cpu_seconds() - before > 0.050)
        MP_FAIL("%.1f ms of processor time for 10 s of waiting", 1e3 * (cpu_seconds() - before));
}

/*
 * A call fails after a later one has been given up: the others learn that, too. All but the root
 * give up a barrier behind a broadcast; then the root sends more than they expect, which only those
 * see that hear from it.
 */
static void test_earlier(void)
{
    static char bytes[16];
    mcomm_request_t request;
    mcomm_comm_t comm;
    mcomm_err_t err;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &comm));
    OK(mcomm_comm_set_timeout(comm, 50));
    if (mp_rank > 0) {
        OK(mcomm_ibcast(bytes, 8, MCOMM_BYTE, 0, comm, &request));
        EXPECT(MCOMM_ERR_TIMEOUT, mcomm_barrier(comm));
    }
    OK(mcomm_barrier(W));
    if (mp_rank == 0)
        OK(mcomm_ibcast(bytes, 16, MCOMM_BYTE, 0, comm, &request));
    err = mcomm_wait(&request, 20000, MCOMM_STATUS_IGNORE);
    if (mp_rank > 0)
        CHECK_EQ(err, MCOMM_ERR_MISMATCH);
    else
        CHECK(err != MCOMM_ERR_TIMEOUT);
    OK(mcomm_comm_free(&comm));
    OK(mcomm_barrier(W));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    mp_init();
    if (strcmp(what, "threads") == 0)
        test_threads();
    else if (strcmp(what, "outstanding") == 0)
        test_outstanding();
    else if (strcmp(what, "freed") == 0)
        test_freed();
    else if (strcmp(what, "finalized") == 0)
        test_finalized();
    else if (strcmp(what, "earlier") == 0)
        test_earlier();
    else if (strcmp(what, "cancel") == 0)
        test_cancel();
    else if (strcmp(what, "wait_limit") == 0)
        test_wait_limit();
    else if (strcmp(what, "computes") == 0)
        test_computes();
    else if (strcmp(what, "idle") == 0)
        test_idle();
    else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
