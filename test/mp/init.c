/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Start and end again and again in one process: afterwards there are no more threads, descriptors,
 * mappings and no more memory than before; counting of users; fork; calls at the wrong time; the
 * launcher dies.
 */
#include "mp.h"
#include "common/proc.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* What the descriptors are, for the log. */
static void print_fds(void)
{
    char path[64], target[256];
    ssize_t n;

    for (int fd = 0; fd < 256; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof(target) - 1);
        if (n > 0)
            fprintf(stderr, "fd %d: %.*s\n", fd, (int)n, target);
    }
}

/* Everybody talks with everybody, so that connections exist. */
static void talk(void)
{
    int mine, got;

    for (int step = 1; step < mp_size; step++) {
        int to = (mp_rank + step) % mp_size, from = (mp_rank + mp_size - step) % mp_size;

        mine = mp_rank;
        OK(mcomm_sendrecv(&mine, sizeof(mine), to, 1, &got, sizeof(got), from, 1, MCOMM_COMM_WORLD,
                          MCOMM_STATUS_IGNORE));
        CHECK_EQ(got, from);
    }
}

/* with_text: hwloc is loaded, which is slow and keeps some memory of its own */
static void one_cycle(bool with_text)
{
    mcomm_group_t group;
    mcomm_info_t info;
    mcomm_comm_t comm;

    mp_init();
    talk();
    /* Left to finalize on purpose. */
    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &group));
    OK(mcomm_info_create(&info));
    OK(mcomm_info_set(info, "kv_put_timeout", "2s"));
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, info, &comm));
    CHECK(mcomm_bootstrap_text()[0] != '\0');
    CHECK(!with_text || mcomm_topology_text()[0] != '\0');
    OK(mcomm_finalize());
    EXPECT(MCOMM_ERR_NOT_INIT, mcomm_comm_free(&comm));
}

static void test_cycles(int cycles)
{
    struct footprint early, late;
    /*
     * Foreign libraries keep some memory for good. Under a launcher the first 65 starts use its
     * store, which grows; then rank 0 keeps one listener of ours for all later ones.
     */
    int warm = cycles / 2;

    for (int i = 0; i < warm; i++)
        one_cycle(i < 10);
    early = footprint_now();
    for (int i = warm; i < cycles; i++)
        one_cycle(false);
    late = footprint_now();
    if (late.fds != early.fds)
        print_fds();
    CHECK_EQ(late.fds, early.fds);
    CHECK_EQ(late.threads, early.threads);
    CHECK(late.maps <= early.maps + 8); /* the C library's own arenas may come and go */
    if (late.heap > early.heap + 2048 + 16 * (size_t)cycles)
        MP_FAIL("heap grew from %zu to %zu bytes in %d cycles", early.heap, late.heap, cycles);
}

static void test_counted(void)
{
    mcomm_comm_t world;
    int size;

    CHECK_EQ(mcomm_is_initialized(), 0);
    CHECK(MCOMM_COMM_WORLD == MCOMM_COMM_NULL);
    EXPECT(MCOMM_ERR_NOT_INIT, mcomm_finalize());
    EXPECT(MCOMM_ERR_NOT_INIT, mcomm_comm_size(MCOMM_COMM_WORLD, &size));
    mp_init();
    world = MCOMM_COMM_WORLD;
    OK(mcomm_init(NULL));
    OK(mcomm_finalize());
    CHECK_EQ(mcomm_is_initialized(), 1);
    CHECK(MCOMM_COMM_WORLD == world);
    talk();
    OK(mcomm_finalize());
    CHECK_EQ(mcomm_is_initialized(), 0);
    EXPECT(MCOMM_ERR_NOT_INIT, mcomm_comm_size(world, &size));
    mp_init(); /* the old handle is not the new world's */
    EXPECT(MCOMM_ERR_COMM, mcomm_comm_size(world, &size));
    OK(mcomm_finalize());
}

static void in_child(int exit_way)
{
    mcomm_comm_t comm = MCOMM_COMM_NULL;
    int number;

    EXPECT(MCOMM_ERR_FORKED, mcomm_init(NULL));
    EXPECT(MCOMM_ERR_FORKED, mcomm_finalize());
    EXPECT(MCOMM_ERR_FORKED, mcomm_comm_rank(MCOMM_COMM_WORLD, &number));
    EXPECT(MCOMM_ERR_FORKED, mcomm_comm_dup(comm, MCOMM_INFO_NULL, &comm));
    EXPECT(MCOMM_ERR_FORKED, mcomm_send(&number, sizeof(number), 0, 0, comm));
    CHECK_TEXT("fork");
    CHECK_EQ(mcomm_is_initialized(), 0);
    CHECK(MCOMM_COMM_WORLD == MCOMM_COMM_NULL);
    if (exit_way == 0)
        exit(0);
    if (exit_way == 1)
        _exit(0);
    raise(SIGKILL);
}

static void test_fork(void)
{
    int status;
    pid_t pid;

    mp_init();
    talk();
    for (int way = 0; way < 3; way++) {
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            in_child(way);
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(way == 2 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
        talk();
    }
    OK(mcomm_finalize());
    /* A child of a process that does not use the library any more may use it; alone, if need be. */
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        EXPECT(MCOMM_ERR_NOT_INIT, mcomm_finalize());
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Whoever ends the library need not have freed anything; the others end at the same time. */
static void test_leaks(void)
{
    mcomm_win_attr_t win_attr = MCOMM_WIN_ATTR_DEFAULT;
    mcomm_kv_attr_t kv_attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_request_t request;
    mcomm_comm_t comm;
    mcomm_win_t win;
    mcomm_kv_t kv;
    static int room;
    void *base;

    win_attr.nbytes = 1000;
    kv_attr.capacity = 1 << 20;
    for (int cycle = 0; cycle < 40; cycle++) {
        mp_init();
        OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
        OK(mcomm_win_allocate(&win_attr, comm, &base, &win));
        OK(mcomm_kv_open(comm, &kv_attr, &kv));
        OK(mcomm_irecv(&room, sizeof(room), MCOMM_ANY_SOURCE, 5, comm, &request));
        OK(mcomm_finalize());
    }
}

static void test_attr(void)
{
    static const char *const bad[][2] = {{"MCOMM_SHM_RING", "lots"},
                                         {"MCOMM_LOG", "pizza"},
                                         {"MCOMM_LAUNCHER_LOSS", "perhaps"},
                                         {"MCOMM_SPIN", "4294967297"}};
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;

    attr.struct_size = 0;
    EXPECT(MCOMM_ERR_ARG, mcomm_init(&attr));
    CHECK_TEXT("struct_size = 0");
    attr.struct_size = sizeof(attr);
    attr.thread_level = (mcomm_thread_level_t)99;
    EXPECT(MCOMM_ERR_ARG, mcomm_init(&attr));
    CHECK_TEXT("99");
    attr.thread_level = MCOMM_THREAD_SINGLE;
    attr.startup_timeout_ms = -5;
    EXPECT(MCOMM_ERR_ARG, mcomm_init(&attr));
    attr.startup_timeout_ms = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[80];

        setenv(bad[i][0], bad[i][1], 1);
        EXPECT(MCOMM_ERR_ARG, mcomm_init(&attr));
        snprintf(text, sizeof(text), "%s=%s", bad[i][0], bad[i][1]);
        CHECK_TEXT(text);
        unsetenv(bad[i][0]);
    }
    OK(mcomm_init(&attr));
    OK(mcomm_comm_rank(MCOMM_COMM_WORLD, &mp_rank));
    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &mp_size));
    talk();
    OK(mcomm_finalize());
}

/*
 * The caller kills the launcher, which is this process's parent. "end": the library ends the
 * process, whether it computes (rank 0) or waits in a call. "ignore": all go on together.
 */
static void test_launcher_lost(bool is_ignored)
{
    sigset_t set;
    int got;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0);
    mp_init();
    talk();
    printf("rank %d: ready\n", mp_rank);
    fflush(stdout);
    if (is_ignored) {
        CHECK(sigwait(&set, &got) == 0);
        talk();
        OK(mcomm_finalize());
        printf("rank %d: went on\n", mp_rank);
        return;
    }
    while (mp_rank == 0)
        pause();
    OK(mcomm_recv(&got, sizeof(got), 0, 2, MCOMM_COMM_WORLD, NULL));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "counted";

    if (strcmp(name, "cycles") == 0)
        test_cycles(argc > 2 ? atoi(argv[2]) : 100);
    else if (strcmp(name, "counted") == 0)
        test_counted();
    else if (strcmp(name, "fork") == 0)
        test_fork();
    else if (strcmp(name, "leaks") == 0)
        test_leaks();
    else if (strcmp(name, "lost") == 0)
        test_launcher_lost(argc > 2 && strcmp(argv[2], "ignore") == 0);
    else if (strcmp(name, "attr") == 0)
        test_attr();
    else
        MP_FAIL("no test %s", name);
    return 0;
}
