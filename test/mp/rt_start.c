/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Start-up of a job through whatever bootstrap the environment offers, many times in one process:
 * blobs of random sizes (from nothing to the largest) must come back in rank order.
 * Arguments: kind=NAME (must be this bootstrap), cycles=N, fault=stay-away|stop (the last rank
 * does that instead of exchanging; the others must fail in time and name it) or go-stop|go-kill
 * (rank 0 does that after it has published its packet, before the go-ahead; pmix), timeout=MS,
 * abort=RANK, print=1, death=told|untold|launcher (the last rank kills itself after the
 * exchange, or the caller kills the launcher then; told and launcher: the others must hear of it),
 * intrude=1 (the last rank first sends all kinds of garbage to the tcp rendezvous).
 */
#include "config.h"

#include "rt/rt.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_PMIX
#include <pmix.h>
#endif

#include "base/clock.h"

static const char *arg_text(int argc, char **argv, const char *key)
{
    size_t n = strlen(key);

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=')
            return argv[i] + n + 1;
    }
    return NULL;
}

static int arg_int(int argc, char **argv, const char *key, int dflt)
{
    const char *text = arg_text(argc, argv, key);

    return text != NULL ? atoi(text) : dflt;
}

static int fail(int rank, const char *what)
{
    fprintf(stderr, "rank %d: FAILED: %s (%s)\n", rank, what, mcomm_last_error());
    return 1;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* The blob of a rank in a cycle; every rank can compute everybody's. */
static size_t make_blob(int rank, int cycle, unsigned char blob[MCI_RT_BLOB_MAX])
{
    uint32_t seed = (uint32_t)rank * 7919u + (uint32_t)cycle * 104729u + 1;
    static const size_t special[] = {0, 1, 200, MCI_RT_BLOB_MAX};
    uint32_t pick = next_random(&seed) % 8;
    size_t nbytes = pick < 4 ? special[pick] : next_random(&seed) % (MCI_RT_BLOB_MAX / 8);

    for (size_t i = 0; i < nbytes; i++)
        blob[i] = (unsigned char)next_random(&seed);
    return nbytes;
}

static int check_blobs(const struct mci_rt *rt, const struct mci_rt_blobs *blobs, int cycle)
{
    const struct mci_rt_info *info = mci_rt_info(rt);
    unsigned char blob[MCI_RT_BLOB_MAX];

    if (blobs->num != info->size)
        return fail(info->rank, "number of blobs");
    for (int i = 0; i < blobs->num; i++) {
        size_t nbytes = make_blob(i, cycle, blob);

        if (blobs->blobs[i].nbytes != nbytes || memcmp(blobs->blobs[i].ptr, blob, nbytes) != 0)
            return fail(info->rank, "a blob differs");
    }
    return 0;
}

static int run_cycle(int cycle, const char *kind, int timeout_ms, bool is_printing)
{
    unsigned char blob[MCI_RT_BLOB_MAX];
    const struct mci_rt_info *info;
    struct mci_rt_blobs blobs;
    int64_t begin = mci_clock_ns(), middle;
    struct mci_rt *rt;
    size_t nbytes;
    int rc;

    if (mci_rt_start(NULL, timeout_ms, &rt) != MCOMM_SUCCESS)
        return fail(-1, "start");
    info = mci_rt_info(rt);
    middle = mci_clock_ns();
    if (kind != NULL && strcmp(kind, info->kind_name) != 0)
        return fail(info->rank, "another bootstrap than expected");
    nbytes = make_blob(info->rank, cycle, blob);
    if (mci_rt_exchange(rt, blob, nbytes, &blobs) != MCOMM_SUCCESS)
        return fail(info->rank, "exchange");
    rc = check_blobs(rt, &blobs, cycle);
    if (is_printing)
        printf("rank %d of %d (local %d of %d) by %s in job %s: start %.2f ms, exchange %.2f ms, "
               "nonce %02x%02x%02x%02x\n",
               info->rank, info->size, info->local_rank, info->local_size, info->kind_name,
               info->job_id, (double)(middle - begin) / 1e6,
               (double)(mci_clock_ns() - middle) / 1e6, info->job_nonce[0], info->job_nonce[1],
               info->job_nonce[2], info->job_nonce[3]);
    mci_rt_blobs_free(&blobs);
    mci_rt_stop(rt);
    return rc;
}

/* A pipe by which the others tell the last rank that their time is over. */
static int over_pipe(void)
{
    const char *folder = getenv("TMPDIR");
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "%s/rt_start.over", folder != NULL ? folder : "/tmp");
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return -1;
    fd = open(path, O_RDWR | O_CLOEXEC);
    return fd;
}

static void await_others(int fd, int count)
{
    char c;

    while (count > 0 && read(fd, &c, 1) == 1)
        count--;
}

/* Until the others' time is over; stopped as a whole, or only not taking part. */
static void stay_away(bool is_stopped, int fd, int others)
{
    pid_t parent = getpid();

    if (!is_stopped) {
        await_others(fd, others);
    } else if (fork() == 0) {
        await_others(fd, others);
        kill(parent, SIGCONT);
        _exit(0);
    } else {
        raise(SIGSTOP);
    }
}

static struct go_fault {
    const char *name; /* NULL: none, or it is over */
    int over, others;
} go_fault;

#ifdef HAVE_PMIX
/* The library's call comes here: what is put under a key that ends in .go is the go-ahead. */
pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    pmix_status_t (*next)(pmix_scope_t, const char[], pmix_value_t *) = NULL;
    const char *fault = go_fault.name;
    size_t n = strlen(key);

    *(void **)&next = dlsym(RTLD_NEXT, "PMIx_Put");
    if (fault != NULL && n > 3 && strcmp(key + n - 3, ".go") == 0) {
        go_fault.name = NULL;
        if (strcmp(fault, "go-kill") == 0)
            raise(SIGKILL);
        stay_away(true, go_fault.over, go_fault.others);
    }
    return next(scope, key, value);
}
#endif

/* The last rank stays away in some way; the others must be told its number before the time is over.
 */
static int run_fault(const char *fault, int timeout_ms)
{
    bool is_go = strncmp(fault, "go-", 3) == 0;
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;
    mcomm_err_t err;
    char name[32];
    int rank, size, faulty, over = over_pipe();

    if (over < 0)
        return fail(-1, "no pipe in TMPDIR");
    if (mci_rt_start(NULL, timeout_ms, &rt) != MCOMM_SUCCESS)
        return fail(-1, "start");
    rank = mci_rt_info(rt)->rank;
    size = mci_rt_info(rt)->size;
    faulty = is_go ? 0 : size - 1;
    if (is_go && rank == faulty)
        go_fault = (struct go_fault){fault, over, size - 1};
    else if (rank == faulty) {
        stay_away(strcmp(fault, "stop") == 0, over, size - 1);
        mci_rt_stop(rt);
        return 0;
    }
    err = mci_rt_exchange(rt, "x", 1, &blobs);
    if (rank == faulty) { /* the others have given up long ago */
        mci_rt_stop(rt);
        return go_fault.name == NULL ? 0 : fail(rank, "no go-ahead was published");
    }
    if (write(over, "x", 1) != 1)
        return fail(rank, "the last rank cannot be told");
    printf("rank %d: %s\n", rank, err == MCOMM_SUCCESS ? "success" : mcomm_last_error());
    snprintf(name, sizeof(name), "rank %d", faulty);
    if (err != MCOMM_ERR_TIMEOUT)
        return fail(rank, "expected a time-out");
    if (strstr(mcomm_last_error(), name) == NULL)
        return fail(rank, "the missing rank is not named");
    mci_rt_stop(rt);
    return 0;
}

static int run_abort(int who)
{
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;

    if (mci_rt_start(NULL, 0, &rt) != MCOMM_SUCCESS ||
        mci_rt_exchange(rt, NULL, 0, &blobs) != MCOMM_SUCCESS)
        return fail(-1, "start");
    mci_rt_blobs_free(&blobs);
    if (mci_rt_info(rt)->rank == who)
        mci_rt_abort(rt, 7, "as the test wants");
    for (;;)
        pause(); /* the launcher ends us */
}

/*
 * Connect to the rendezvous as soon as rank 0 listens; -1: not within 10 s. Nobody tells a stranger
 * that it does: each try looks, and leaves the ranks the cores in between.
 */
static int intrude_connect(const struct sockaddr_in *to)
{
    for (int i = 0; i < 2000; i++) {
        struct timespec wait = {.tv_nsec = 5000000};
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
            return fd;
        close(fd);
        nanosleep(&wait, NULL);
    }
    return -1;
}

/* Port scanners, browsers, half a hello, noise, and many that say nothing and stay. */
static int intrude(void)
{
    static const char *const sayings[] = {"GET / HTTP/1.1\r\n\r\n", "MCAU\001\001\044", "MCAU",
                                          "RV\001", ""};
    const char *where = getenv("MCOMM_RENDEZVOUS");
    struct sockaddr_in to = {.sin_family = AF_INET};
    char host[64];
    unsigned port;
    uint32_t seed = 7;

    if (where == NULL || sscanf(where, "%63[^:]:%u", host, &port) != 2)
        return fail(-1, "MCOMM_RENDEZVOUS");
    to.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, host, &to.sin_addr);
    for (int i = 0; i < 150; i++) {
        int fd = intrude_connect(&to);
        unsigned char noise[600];

        if (fd < 0)
            return fail(-1, "connect");
        for (size_t k = 0; k < sizeof(noise); k++)
            noise[k] = (unsigned char)next_random(&seed);
        if (i % 2 == 0)
            send(fd, noise, 1 + next_random(&seed) % sizeof(noise), MSG_NOSIGNAL);
        else
            send(fd, sayings[i / 2 % 5], strlen(sayings[i / 2 % 5]), MSG_NOSIGNAL);
        if (i % 3 == 0)
            close(fd); /* the others stay until this process ends */
    }
    return 0;
}

static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_came = PTHREAD_COND_INITIALIZER;
static int event_rank = -2, event_code;

static void on_event(void *arg, int rank, int code)
{
    (void)arg;
    pthread_mutex_lock(&event_lock);
    event_rank = rank;
    event_code = code;
    pthread_cond_broadcast(&event_came);
    pthread_mutex_unlock(&event_lock);
}

/* Until the event of this rank came, at most 20 s. */
static int await_event(int me, int rank)
{
    struct timespec end;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    pthread_mutex_lock(&event_lock);
    while (event_rank != rank && rc == 0)
        rc = pthread_cond_timedwait(&event_came, &event_lock, &end);
    pthread_mutex_unlock(&event_lock);
    printf("rank %d: event %d of rank %d\n", me, event_code, event_rank);
    return rc == 0 ? 0 : fail(me, "no event came");
}

static int run_death(const char *death)
{
    struct mci_rt_blobs blobs;
    struct mci_rt *rt;
    int rank, last, rc = 0, over = over_pipe();

    if (over < 0)
        return fail(-1, "no pipe in TMPDIR");
    if (mci_rt_start(NULL, 0, &rt) != MCOMM_SUCCESS)
        return fail(-1, "start");
    rank = mci_rt_info(rt)->rank;
    last = mci_rt_info(rt)->size - 1;
    mci_rt_set_event_cb(rt, on_event, NULL);
    if (mci_rt_exchange(rt, NULL, 0, &blobs) != MCOMM_SUCCESS)
        return fail(rank, "exchange");
    mci_rt_blobs_free(&blobs);
    if (strcmp(death, "launcher") == 0) {
        printf("rank %d: ready\n", rank);
        return await_event(rank, -1);
    }
    if (rank == last) {
        await_others(over, last); /* a death before the end of their exchange is another case */
        raise(SIGKILL);
    }
    if (write(over, "x", 1) != 1)
        return fail(rank, "the last rank cannot be told");
    if (strcmp(death, "told") == 0)
        rc = await_event(rank, last);
    mci_rt_set_event_cb(rt, NULL, NULL);
    mci_rt_stop(rt);
    return rc;
}

int main(int argc, char **argv)
{
    const char *kind = arg_text(argc, argv, "kind");
    const char *fault = arg_text(argc, argv, "fault");
    const char *death = arg_text(argc, argv, "death");
    int cycles = arg_int(argc, argv, "cycles", 1);
    int timeout_ms = arg_int(argc, argv, "timeout", 0);
    int abort_rank = arg_int(argc, argv, "abort", -1);
    int rc = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (fault != NULL)
        return run_fault(fault, timeout_ms);
    if (death != NULL)
        return run_death(death);
    if (abort_rank >= 0)
        return run_abort(abort_rank);
    if (arg_int(argc, argv, "intrude", 0) != 0 &&
        atoi(getenv("MCOMM_RANK")) + 1 == atoi(getenv("MCOMM_SIZE")))
        rc = intrude();
    for (int cycle = 0; cycle < cycles && rc == 0; cycle++)
        rc = run_cycle(cycle, kind, timeout_ms,
                       arg_int(argc, argv, "print", 0) != 0 && cycle == cycles - 1);
    return rc;
}
