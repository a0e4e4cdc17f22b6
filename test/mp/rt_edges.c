/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Edges of the tcp rendezvous that need processes which disagree: this program starts the ranks
 * itself, each with its own settings and its own expected end. Every child must end with it.
 */
#include "config.h"

#include "rt/rt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings.h"

#define SECRET "the secret of this test"

struct actor {
    const char *rank, *size;
    const char *secret; /* NULL: SECRET */
    mcomm_err_t expect; /* of start or exchange */
    const char *text;   /* to be found in the error text */
    const char *text2;
    const char *host; /* NULL: 127.0.0.1 */
    bool is_nameless; /* no hosts file, and a host name that nobody knows */
    int delay_ms;     /* time itself: the others wait for one who is late */
    bool is_rival;    /* two claim the rank: one of them ends as said, the other well */
    bool is_last;     /* comes when one of the others has ended */
};
#define EXIT_WELL 3 /* of a rival */

static int port;
static int num_failed;

/* A port that nobody has now, outside the range that the kernel lends by itself. */
static int free_port(void)
{
    for (;;) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
        int candidate = 10000 + (getpid() * 37 + port * 7 + 11) % 20000;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        int rc;

        port++;
        in.sin_port = htons((uint16_t)candidate);
        rc = bind(fd, (struct sockaddr *)&in, sizeof(in));
        close(fd);
        if (rc == 0)
            return candidate;
    }
}

/* @return false: not permitted here */
static bool lose_names(void)
{
    static const char name[] = "no-such-host-4711";

    return unshare(CLONE_NEWNS | CLONE_NEWUTS) == 0 && sethostname(name, sizeof(name) - 1) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("/dev/null", "/etc/hosts", NULL, MS_BIND, NULL) == 0;
}

static void set_up(const struct actor *actor, int at_port)
{
    char where[128];

    snprintf(where, sizeof(where), "%s:%d", actor->host != NULL ? actor->host : "127.0.0.1",
             at_port);
    setenv("MCOMM_RENDEZVOUS", where, 1);
    setenv("MCOMM_RANK", actor->rank, 1);
    setenv("MCOMM_SIZE", actor->size, 1);
    setenv("MCOMM_SECRET", actor->secret != NULL ? actor->secret : SECRET, 1);
    setenv("MCOMM_BOOTSTRAP", "tcp", 1);
    mci_settings_unload();
}

static int act(const struct actor *actor, int at_port, int timeout_ms)
{
    struct mci_rt_blobs blobs = {0};
    struct mci_rt *rt;
    mcomm_err_t err;
    bool is_right;

    poll(NULL, 0, actor->delay_ms);
    if (actor->is_nameless && !lose_names())
        printf("(not permitted to take the names away: runs with them)\n");
    set_up(actor, at_port);
    err = mci_rt_start(NULL, timeout_ms, &rt);
    if (err == MCOMM_SUCCESS) {
        err = mci_rt_exchange(rt, actor->rank, strlen(actor->rank), &blobs);
        mci_rt_blobs_free(&blobs);
        mci_rt_stop(rt);
    }
    if (actor->is_rival && err == MCOMM_SUCCESS)
        return EXIT_WELL;
    is_right = err == actor->expect;
    if (actor->text != NULL && strstr(mcomm_last_error(), actor->text) == NULL)
        is_right = false;
    if (actor->text2 != NULL && strstr(mcomm_last_error(), actor->text2) == NULL)
        is_right = false;
    printf("%s  rank %s of %s: %s (%s)\n", is_right ? "ok    " : "FAILED", actor->rank, actor->size,
           mcomm_err_name(err), err != MCOMM_SUCCESS ? mcomm_last_error() : "");
    return is_right ? 0 : 1;
}

struct ends {
    int all, well; /* well: rivals that were taken */
};

static void one_ends(struct ends *ends)
{
    int status = 1;

    ends->all++;
    if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_WELL)
        ends->well++;
    else if (status != 0)
        num_failed++;
}

static void play(const char *title, const struct actor *actors, int num, int at_port,
                 int timeout_ms)
{
    struct ends ends = {0};
    int num_rivals = 0;

    printf("%s\n", title);
    fflush(stdout);
    for (int i = 0; i < num; i++) {
        num_rivals += actors[i].is_rival;
        if (actors[i].is_last)
            one_ends(&ends);
        if (fork() == 0) {
            int rc = act(&actors[i], at_port, timeout_ms);

            fflush(stdout);
            _exit(rc);
        }
    }
    while (ends.all < num)
        one_ends(&ends);
    if (ends.well != num_rivals / 2) {
        printf("FAILED  %d of %d rivals ended well\n", ends.well, num_rivals);
        num_failed++;
    }
}

#define PLAY(title, timeout_ms, ...)                                                               \
    play(title, (const struct actor[]){__VA_ARGS__},                                               \
         sizeof((const struct actor[]){__VA_ARGS__}) / sizeof(struct actor), free_port(),          \
         timeout_ms)

static void play_port_in_use(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct actor rank0 = {
        .rank = "0", .size = "2", .expect = MCOMM_ERR_BOOTSTRAP, .text = "the port is in use"};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t nbytes = sizeof(in);

    if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &nbytes) != 0) {
        num_failed++;
        return;
    }
    play("port in use", &rank0, 1, ntohs(in.sin_port), 3000);
    close(fd);
}

/* A service that is not ours: it accepts and never says a word. */
static void play_silent_service(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct actor rank1 = {.rank = "1", .size = "2", .expect = MCOMM_ERR_TIMEOUT, .text = "rank 0"};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t nbytes = sizeof(in);

    if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &nbytes) != 0) {
        num_failed++;
        return;
    }
    play("a service that says nothing", &rank1, 1, ntohs(in.sin_port), 1000);
    close(fd);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool is_there = fd >= 0 && bind(fd, (struct sockaddr *)&in6, sizeof(in6)) == 0;

    if (fd >= 0)
        close(fd);
    return is_there;
}

#define RIVAL                                                                                      \
    {                                                                                              \
        .rank = "1", .size = "3", .expect = MCOMM_ERR_BOOTSTRAP,                                   \
        .text = "rank 1 is claimed by process", .text2 = "and by process", .is_rival = true        \
    }

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    PLAY("all is well, rank 0 comes last", 10000, {.rank = "1", .size = "3"},
         {.rank = "2", .size = "3"}, {.rank = "0", .size = "3", .delay_ms = 300});
    PLAY("rank 1 twice: the second is refused, the job goes on", 10000, {.rank = "0", .size = "3"},
         RIVAL, RIVAL, {.rank = "2", .size = "3", .is_last = true});
    PLAY("two sizes", 2000,
         {.rank = "0", .size = "3", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 2"},
         {.rank = "1", .size = "3", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 2"},
         {.rank = "2",
          .size = "4",
          .expect = MCOMM_ERR_BOOTSTRAP,
          .text = "has 4 ranks",
          .text2 = "says 3"});
    PLAY("rank 1 comes early and its time is over before", 1000,
         {.rank = "0",
          .size = "3",
          .delay_ms = 700,
          .expect = MCOMM_ERR_TIMEOUT,
          .text = "missing: rank 2",
          .text2 = "own time was over: rank 1"},
         {.rank = "1", .size = "3", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 2"});
    PLAY("two secrets", 2000,
         {.rank = "0", .size = "2", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 1"},
         {.rank = "1",
          .size = "2",
          .secret = "another secret than that",
          .expect = MCOMM_ERR_AUTH,
          .text = "secret"});
    PLAY("rank 0 never comes", 1000,
         {.rank = "1", .size = "3", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 0"},
         {.rank = "2", .size = "3", .expect = MCOMM_ERR_TIMEOUT, .text = "missing: rank 0"});
    PLAY("a name, and a name that nobody knows", 1500,
         {.rank = "0", .size = "2", .host = "localhost"},
         {.rank = "1", .size = "2", .host = "localhost"},
         {.rank = "1",
          .size = "2",
          .host = "no-such-host.invalid",
          .expect = MCOMM_ERR_TIMEOUT,
          .text = "no-such-host.invalid"});
    PLAY("own host name unknown, empty hosts file", 5000,
         {.rank = "0", .size = "2", .is_nameless = true},
         {.rank = "1", .size = "2", .is_nameless = true});
    play_port_in_use();
    play_silent_service();
    if (has_ipv6())
        PLAY("IPv6", 5000, {.rank = "0", .size = "2", .host = "[::1]"},
             {.rank = "1", .size = "2", .host = "[::1]"});
    printf("%d failed\n", num_failed);
    return num_failed == 0 ? 0 : 1;
}
