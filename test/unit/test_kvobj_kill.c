/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Writers killed at any instruction: a child that is rank 1 puts, replaces, removes and evicts in
 * shared memory until it is killed; rank 0 must find every object whole, old or new, and be able to
 * go on. A slow reader against eviction and refill: no byte of another object.
 */
#include "config.h"

#include "base/mem.h"
#include "kv_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KEYS 60u
#define KILLS 100
#define VALUE_MAX 40000u

static uint64_t seed = 20260302;

static uint64_t next_random(void)
{
    return seed = mci_hash_mix(seed, 1);
}

/* The first word of a value is its version and size. */
static void value_fill(char *buf, size_t nbytes, unsigned number, unsigned version)
{
    uint64_t head = (uint64_t)version << 32 | nbytes;

    kv_fixture_fill(buf + 8, nbytes - 8, number, version);
    memcpy(buf, &head, 8);
}

static bool value_is_whole(const char *buf, size_t nbytes, unsigned number)
{
    uint64_t head;

    memcpy(&head, buf, 8);
    return (uint32_t)head == nbytes &&
           kv_fixture_check(buf + 8, nbytes - 8, number, (unsigned)(head >> 32));
}

static void change_one(struct mci_kv *kv, char *buf, unsigned version)
{
    unsigned number = (unsigned)(next_random() % KEYS);
    size_t nbytes = 8 + next_random() % (next_random() % 8 == 0 ? VALUE_MAX : 2000);
    char text[32];
    struct kv_key key = kv_fixture_key(text, number);

    if (next_random() % 8 == 0) {
        (void)mci_kv_remove(kv, &key);
        return;
    }
    value_fill(buf, nbytes, number, version);
    if (mci_kv_put(kv, &key, buf, nbytes, MCOMM_KV_REPLACE, (int)(next_random() % 3) - 1) !=
        MCOMM_SUCCESS)
        abort();
}

static void check_all(struct mci_kv *kv, char *buf)
{
    for (unsigned number = 0; number < KEYS; number++) {
        char text[32];
        struct kv_key key = kv_fixture_key(text, number);
        void *place = buf;
        size_t nbytes = VALUE_MAX + 8;
        mcomm_err_t err = mci_kv_get(kv, &key, KV_WANT_INTO, &place, &nbytes);

        if (err == MCOMM_ERR_NOT_FOUND)
            continue;
        assert_int_equal(err, MCOMM_SUCCESS);
        assert_true(value_is_whole(buf, nbytes, number));
    }
}

/* The dead rank lends nothing: it is a client, and a new one takes its place each time. */
static void kill_one(unsigned round)
{
    static const size_t capacity[] = {512u << 10, 0};
    struct timespec ts = {0, (long)(next_random() % 3000000)};
    struct kv_fixture f;
    char *buf = mci_mem_alloc(VALUE_MAX + 64);
    pid_t pid;

    kv_fixture_make(&f, 2, 1, capacity, 1000);
    for (unsigned i = 0; i < 50; i++)
        change_one(f.kv[0], buf, i);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (unsigned version = 1000 * round;; version++)
            change_one(f.kv[1], buf, version);
    }
    do
        check_all(f.kv[0], buf);
    while (nanosleep(&ts, NULL) != 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    check_all(f.kv[0], buf);
    mci_kv_rank_died(f.kv[0], 1);
    check_all(f.kv[0], buf);
    for (unsigned i = 0; i < 300; i++)
        change_one(f.kv[0], buf, i);
    check_all(f.kv[0], buf);
    kv_fixture_free(&f);
    mci_mem_free(buf);
}

static void objects_are_whole_after_a_writer_is_killed(void **state)
{
    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < KILLS; round++)
        kill_one(round);
}

/* Both ranks read and write a store so small that every object is evicted all the time. */
static void a_reader_never_gets_bytes_of_another_object(void **state)
{
    static const size_t capacity[] = {64u << 10, 64u << 10};
    struct kv_fixture f;
    char *buf = mci_mem_alloc(VALUE_MAX + 64);
    int status;
    pid_t pid;

    (void)state;
    kv_fixture_make(&f, 2, 1, capacity, 1000);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        seed ^= 77;
        for (unsigned version = 0; version < 20000; version++)
            change_one(f.kv[1], buf, version);
        _exit(0);
    }
    do
        check_all(f.kv[0], buf);
    while (waitpid(pid, &status, WNOHANG) == 0);
    assert_int_equal(status, 0);
    kv_fixture_free(&f);
    mci_mem_free(buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_whole_after_a_writer_is_killed),
        cmocka_unit_test(a_reader_never_gets_bytes_of_another_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
