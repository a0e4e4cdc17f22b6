/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the kernel may refuse at start: random bytes, and rank 0's accept of the others. */
#include "config.h"

#include "mooncake_comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t __real_getrandom(void *buf, size_t nbytes, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t nbytes, unsigned flags);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *nbytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *nbytes, int flags);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);

static int random_calls_left = -1; /* -1: as many as one likes */
static int random_errno;
static bool is_accept_refused;
static int port, client = -1; /* rank 0's, and of one that comes as soon as rank 0 listens */
static _Atomic int accepts;

ssize_t __wrap_getrandom(void *buf, size_t nbytes, unsigned flags)
{
    if (random_calls_left == 0) {
        if (random_errno == EINTR)
            random_calls_left = -1; /* once */
        errno = random_errno;
        return -1;
    }
    if (random_calls_left > 0)
        random_calls_left--;
    return __real_getrandom(buf, nbytes, flags);
}

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *nbytes, int flags)
{
    if (!is_accept_refused)
        return __real_accept4(fd, addr, nbytes, flags);
    atomic_fetch_add(&accepts, 1);
    errno = EMFILE;
    return -1;
}

int __wrap_listen(int fd, int backlog)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int status = __real_listen(fd, backlog);

    if (!is_accept_refused || client >= 0)
        return status;
    addr.sin_port = htons((uint16_t)port);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
        close(client); /* another socket that listens */
        client = -1;
    }
    return status;
}

static void no_random_bytes_are_an_error(void **state)
{
    int calls = 0;
    mcomm_err_t err;

    (void)state;
    random_errno = ENOSYS;
    for (;; calls++) { /* forbidden from each call on */
        random_calls_left = calls;
        err = mcomm_init(NULL);
        if (err == MCOMM_SUCCESS && random_calls_left > 0)
            break;
        if (err == MCOMM_SUCCESS) { /* only the shm rail's name was missing */
            assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
            continue;
        }
        assert_int_equal(err, MCOMM_ERR_SYS);
        assert_non_null(strstr(mcomm_last_error(), "getrandom"));
        assert_int_equal(mcomm_is_initialized(), 0);
    }
    printf("%d calls refused in turn\n", calls);
    assert_true(calls >= 5);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
    random_errno = EINTR;
    random_calls_left = 0;
    assert_int_equal(mcomm_init(NULL), MCOMM_SUCCESS);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
}

static int free_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t nbytes = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&addr, nbytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &nbytes), 0);
    close(fd);
    return ntohs(addr.sin_port);
}

static void refused_connections_are_named(void **state)
{
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    char where[32];

    (void)state;
    port = free_port();
    snprintf(where, sizeof(where), "127.0.0.1:%d", port);
    setenv("MCOMM_RENDEZVOUS", where, 1);
    setenv("MCOMM_SECRET", "abcdefabcdefabcdef12", 1);
    setenv("MCOMM_RANK", "0", 1);
    setenv("MCOMM_SIZE", "2", 1);
    attr.startup_timeout_ms = 500;
    is_accept_refused = true;
    assert_int_equal(mcomm_init(&attr), MCOMM_ERR_TIMEOUT);
    assert_true(client >= 0);
    close(client);
    assert_non_null(strstr(mcomm_last_error(), "1 of 2 ranks"));
    assert_non_null(strstr(mcomm_last_error(), strerror(EMFILE)));
    assert_true(atomic_load(&accepts) > 0 && atomic_load(&accepts) < 100); /* no busy loop */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_random_bytes_are_an_error),
        cmocka_unit_test(refused_connections_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
