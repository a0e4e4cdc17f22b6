/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the programs about object stores share. A value says its key, version and size; every byte
 * follows from these, so a mixture of two is seen.
 */
#ifndef TEST_MP_KV_CHECK_H
#define TEST_MP_KV_CHECK_H

#include "mp.h"
#include "common/random.h"

#include <sched.h>
#include <signal.h>
#include <time.h>

#define VALUE_MAX 100000u

struct stamp { /* head of a value, if it is long enough */
    uint64_t key, version, nbytes;
};

static inline size_t key_make(char *buf, uint64_t number)
{
    size_t n = (size_t)snprintf(buf, 64, "object/%llu", (unsigned long long)number);

    if (number % 50 == 49) { /* some keys are long */
        memset(buf + n, 'x', 4096 - n);
        n = 4096;
    }
    return n;
}

static inline void value_fill(char *buf, size_t nbytes, uint64_t number, uint64_t version)
{
    struct stamp stamp = {number, version, nbytes};
    size_t at = nbytes < sizeof(stamp) ? nbytes : sizeof(stamp);

    memcpy(buf, &stamp, at);
    for (; at < nbytes; at += 8) {
        uint64_t word = mix(number ^ version << 32 ^ at << 8);

        memcpy(buf + at, &word, nbytes - at < 8 ? nbytes - at : 8);
    }
}

static inline void value_check(const char *buf, size_t nbytes, uint64_t number, uint64_t version)
{
    struct stamp stamp = {number, version, nbytes};
    size_t at = nbytes < sizeof(stamp) ? nbytes : sizeof(stamp);

    if (memcmp(buf, &stamp, at) != 0)
        MP_FAIL("object %llu version %llu of %zu bytes has another's head",
                (unsigned long long)number, (unsigned long long)version, nbytes);
    for (; at < nbytes; at += 8) {
        uint64_t word = mix(number ^ version << 32 ^ at << 8);

        if (memcmp(buf + at, &word, nbytes - at < 8 ? nbytes - at : 8) != 0)
            MP_FAIL("object %llu version %llu: wrong byte near %zu of %zu",
                    (unsigned long long)number, (unsigned long long)version, at, nbytes);
    }
}

/* Any version, as long as it is one. */
static inline uint64_t value_check_any(const char *buf, size_t nbytes, uint64_t number)
{
    struct stamp stamp;

    CHECK(nbytes >= sizeof(stamp));
    memcpy(&stamp, buf, sizeof(stamp));
    CHECK_EQ(stamp.key, number);
    CHECK_EQ(stamp.nbytes, nbytes);
    value_check(buf, nbytes, number, stamp.version);
    return stamp.version;
}

static inline mcomm_kv_t store_open(mcomm_comm_t comm, size_t capacity)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_kv_t kv;

    attr.capacity = capacity;
    attr.max_objects = 20000;
    attr.put_timeout_ms = 10000;
    OK(mcomm_kv_open(comm, &attr, &kv));
    return kv;
}

static inline size_t size_pick(uint64_t *state)
{
    switch (rnd(state) % 4) {
    case 0:
        return rnd(state) % 64;
    case 1:
        return rnd(state) % VALUE_MAX;
    default:
        return rnd(state) % 5000;
    }
}

/* A timer of the kernel kills this process, so that it may be at any instruction. */
static inline void die_after(long us)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {us / 1000000, us % 1000000 * 1000 + 1}};
    timer_t timer;

    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    CHECK_EQ(timer_settime(timer, 0, &when, NULL), 0);
}

/* ---- all kinds of operations on a few keys, in any order ---- */
static inline void race_run(mcomm_kv_t kv, uint64_t seed, unsigned steps, unsigned num_keys,
                            char *buf)
{
    uint64_t state = seed;
    char key[4200];

    for (unsigned step = 0; step < steps; step++) {
        uint64_t number = rnd(&state) % num_keys;
        size_t key_nbytes = key_make(key, number), nbytes = 24 + size_pick(&state), got = 0;
        mcomm_kv_view_t view;
        mcomm_err_t err;

        switch (rnd(&state) % 8) {
        case 0:
            err = mcomm_kv_remove(kv, key, key_nbytes);
            if (err != MCOMM_ERR_NOT_FOUND)
                OK(err);
            break;
        case 1:
        case 2:
        case 3:
            value_fill(buf, nbytes, number, seed << 20 | step);
            OK(mcomm_kv_put(kv, key, key_nbytes, buf, nbytes, NULL));
            break;
        case 4:
            err = mcomm_kv_acquire(kv, key, key_nbytes, &view);
            if (err == MCOMM_ERR_NOT_FOUND)
                break;
            OK(err);
            value_check_any(view.data, view.nbytes, number);
            sched_yield();
            value_check_any(view.data, view.nbytes, number);
            OK(mcomm_kv_release(kv, &view));
            break;
        default:
            err = mcomm_kv_get_into(kv, key, key_nbytes, buf, VALUE_MAX + 24, &got);
            if (err == MCOMM_ERR_NOT_FOUND)
                break;
            OK(err);
            value_check_any(buf, got, number);
        }
    }
}

#endif
