/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Object stores over real processes: kv MODE.
 *   random    every rank owns keys; it changes its own and checks everybody's, batches included
 *   pressure  the same with a store that is far too small
 *   race      all ranks put, remove and read the same keys; a read is one whole version
 *   modes     replace, if-absent, exclusive; one winner among all ranks; duplicates in a batch
 *   args      bad arguments, clients without capacity, sizes from 0 bytes, truncation
 *   views     views stay while others fill the store
 *   many      stores opened and closed many times, several at once, over self
 *   death     the last rank dies while it puts; the others go on
 *   threads   four threads a rank
 *   large     a value of more than 2 GiB, in extents over all ranks
 * A value says its key, version and size; every byte follows from these.
 */
#include "mp.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define KEYS 200u /* of each rank */
#define VALUE_MAX 100000u

struct stamp { /* head of a value, if it is long enough */
    uint64_t key, version, nbytes;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t rnd(uint64_t *state)
{
    return mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static size_t key_make(char *buf, uint64_t number)
{
    size_t n = (size_t)snprintf(buf, 64, "object/%llu", (unsigned long long)number);

    if (number % 50 == 49) { /* some keys are long */
        memset(buf + n, 'x', 4096 - n);
        n = 4096;
    }
    return n;
}

static void value_fill(char *buf, size_t nbytes, uint64_t number, uint64_t version)
{
    struct stamp stamp = {number, version, nbytes};
    size_t at = nbytes < sizeof(stamp) ? nbytes : sizeof(stamp);

    memcpy(buf, &stamp, at);
    for (; at < nbytes; at += 8) {
        uint64_t word = mix(number ^ version << 32 ^ at << 8);

        memcpy(buf + at, &word, nbytes - at < 8 ? nbytes - at : 8);
    }
}

static void value_check(const char *buf, size_t nbytes, uint64_t number, uint64_t version)
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
static uint64_t value_check_any(const char *buf, size_t nbytes, uint64_t number)
{
    struct stamp stamp;

    CHECK(nbytes >= sizeof(stamp));
    memcpy(&stamp, buf, sizeof(stamp));
    CHECK_EQ(stamp.key, number);
    CHECK_EQ(stamp.nbytes, nbytes);
    value_check(buf, nbytes, number, stamp.version);
    return stamp.version;
}

static mcomm_kv_t store_open(mcomm_comm_t comm, size_t capacity)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_kv_t kv;

    attr.capacity = capacity;
    attr.max_objects = 20000;
    attr.put_timeout_ms = 10000;
    OK(mcomm_kv_open(comm, &attr, &kv));
    return kv;
}

static size_t size_pick(uint64_t *state)
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

/* ---- random, pressure ---- */
/* What rank `owner` holds after `round`: all ranks can compute it. */
static void planned(int owner, unsigned k, unsigned round, int *exists_p, uint64_t *version_p,
                    size_t *nbytes_p)
{
    *exists_p = 0;
    for (unsigned r = 0; r <= round; r++) {
        uint64_t state = mix((uint64_t)owner * 1000003 + k * 31 + r);

        switch (rnd(&state) % 8) {
        case 0:
            *exists_p = 0;
            break;
        case 1:
        case 2:
        case 3:
            break;
        default:
            *exists_p = 1;
            *version_p = r;
            *nbytes_p = size_pick(&state);
        }
    }
}

static void change_own(mcomm_kv_t kv, unsigned round, char *buf, int is_tight)
{
    char key[4200];

    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t state = mix((uint64_t)mp_rank * 1000003 + k * 31 + round);
        uint64_t number = (uint64_t)mp_rank * KEYS + k, what = rnd(&state) % 8;
        size_t key_nbytes = key_make(key, number), nbytes;
        mcomm_err_t err;

        if (what == 0) {
            err = mcomm_kv_remove(kv, key, key_nbytes);
            if (err != MCOMM_ERR_NOT_FOUND)
                OK(err);
        } else if (what > 3) {
            nbytes = size_pick(&state);
            value_fill(buf, nbytes, number, round);
            OK(mcomm_kv_put(kv, key, key_nbytes, buf, nbytes, NULL));
            if (!is_tight)
                OK(mcomm_kv_size(kv, key, key_nbytes, &nbytes));
        }
    }
}

static void check_one(mcomm_kv_t kv, int owner, unsigned k, unsigned round, char *buf, int is_tight)
{
    uint64_t number = (uint64_t)owner * KEYS + k, version = 0;
    char key[4200];
    size_t key_nbytes = key_make(key, number), nbytes = 0, got = 0;
    int exists, there;
    mcomm_err_t err;

    planned(owner, k, round, &exists, &version, &nbytes);
    err = mcomm_kv_get_into(kv, key, key_nbytes, buf, VALUE_MAX, &got);
    if (err == MCOMM_ERR_NOT_FOUND && (is_tight || !exists))
        return;
    OK(err);
    if (!exists)
        MP_FAIL("object %llu was removed and is there in round %u", (unsigned long long)number,
                round);
    CHECK_EQ(got, nbytes);
    value_check(buf, nbytes, number, version);
    if (is_tight)
        return;
    OK(mcomm_kv_exists(kv, key, key_nbytes, &there));
    CHECK_EQ(there, 1);
}

static void check_batch(mcomm_kv_t kv, int owner, unsigned round, char *buf, int is_tight)
{
    static char keys[32][4200];
    mcomm_kv_item_t items[32];

    for (unsigned i = 0; i < 32; i++) {
        items[i].key = keys[i];
        items[i].key_nbytes = key_make(keys[i], (uint64_t)owner * KEYS + i);
        items[i].buf = buf + (size_t)i * VALUE_MAX;
        items[i].nbytes = VALUE_MAX;
    }
    (void)mcomm_kv_get_batch(kv, items, 32);
    for (unsigned i = 0; i < 32; i++) {
        uint64_t version = 0;
        size_t nbytes = 0;
        int exists;

        planned(owner, i, round, &exists, &version, &nbytes);
        if (items[i].error == MCOMM_ERR_NOT_FOUND && (is_tight || !exists))
            continue;
        OK(items[i].error);
        CHECK_EQ(exists, 1);
        CHECK_EQ(items[i].nbytes, nbytes);
        value_check(items[i].buf, nbytes, (uint64_t)owner * KEYS + i, version);
    }
}

static void check_stats(mcomm_kv_t kv, unsigned round)
{
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    uint64_t objects = 0, used = 0;

    for (int owner = 0; owner < mp_size; owner++)
        for (unsigned k = 0; k < KEYS; k++) {
            uint64_t version = 0;
            size_t nbytes = 0;
            int exists;

            planned(owner, k, round, &exists, &version, &nbytes);
            objects += (uint64_t)exists;
            used += exists ? nbytes : 0;
        }
    OK(mcomm_kv_stats(kv, &stats));
    CHECK_EQ(stats.objects, objects);
    CHECK_EQ(stats.used, used);
    CHECK_EQ(stats.evictions, 0);
}

static void mode_random(int is_tight)
{
    size_t roomy = mp_size > 2 && mp_rank == 1 ? 0 : (size_t)48 << 20;
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, is_tight ? (size_t)1 << 20 : roomy);
    char *buf = malloc((size_t)32 * VALUE_MAX);
    unsigned rounds = is_tight ? 2 : 3;

    CHECK(buf != NULL);
    for (unsigned round = 0; round < rounds; round++) {
        change_own(kv, round, buf, is_tight);
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
        for (int i = 0; i < mp_size; i++) {
            int owner = (mp_rank + i) % mp_size;

            for (unsigned k = 0; k < KEYS; k++)
                check_one(kv, owner, k, round, buf, is_tight);
            check_batch(kv, owner, round, buf, is_tight);
        }
        if (!is_tight)
            check_stats(kv, round);
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
    }
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- race ---- */
static void race_run(mcomm_kv_t kv, uint64_t seed, unsigned steps, unsigned num_keys, char *buf)
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

static void mode_race(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)2 << 20);
    char *buf = malloc(VALUE_MAX + 100);

    CHECK(buf != NULL);
    race_run(kv, (uint64_t)mp_rank + 1, 4000, 40, buf);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    for (uint64_t number = 0; number < 40; number++) {
        char key[4200];
        size_t n = key_make(key, number);
        mcomm_err_t err = mcomm_kv_remove(kv, key, n);

        if (err != MCOMM_ERR_NOT_FOUND)
            OK(err);
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    {
        mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};

        OK(mcomm_kv_stats(kv, &stats));
        CHECK_EQ(stats.objects, 0);
        CHECK_EQ(stats.used, 0);
    }
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- modes ---- */
static void mode_modes(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)8 << 20);
    mcomm_kv_put_attr_t put = MCOMM_KV_PUT_ATTR_DEFAULT;
    mcomm_kv_item_t items[3];
    char buf[256], key[64];
    size_t got;

    for (uint64_t number = 0; number < 200; number++) {
        size_t n = (size_t)snprintf(key, sizeof(key), "exclusive-%llu", (unsigned long long)number);
        int64_t wins, mine;
        mcomm_err_t err;

        value_fill(buf, 100, number, (uint64_t)mp_rank);
        put.mode = MCOMM_KV_EXCLUSIVE;
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
        err = mcomm_kv_put(kv, key, n, buf, 100, &put);
        CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_EXISTS);
        mine = err == MCOMM_SUCCESS;
        OK(mcomm_allreduce(&mine, &wins, 1, MCOMM_INT64, MCOMM_SUM, MCOMM_COMM_WORLD));
        CHECK_EQ(wins, 1);
        OK(mcomm_kv_get_into(kv, key, n, buf, sizeof(buf), &got));
        if (mine)
            value_check(buf, got, number, (uint64_t)mp_rank);
        else
            value_check_any(buf, got, number);
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    snprintf(key, sizeof(key), "own-%d", mp_rank);
    put.mode = MCOMM_KV_IF_ABSENT;
    OK(mcomm_kv_put(kv, key, strlen(key), "first", 5, &put));
    OK(mcomm_kv_put(kv, key, strlen(key), "second", 6, &put));
    OK(mcomm_kv_get_into(kv, key, strlen(key), buf, sizeof(buf), &got));
    CHECK(got == 5 && memcmp(buf, "first", 5) == 0);
    for (unsigned i = 0; i < 3; i++)
        items[i] = (mcomm_kv_item_t){key, strlen(key), buf, 10 + i, MCOMM_SUCCESS};
    for (unsigned i = 0; i < 3; i++) /* equal keys, two sizes and more: the last one stays */
        items[i].buf = (void *)(uintptr_t) "abcdefghijklmnopqrstuvwxyz";
    OK(mcomm_kv_put_batch(kv, items, 3, NULL));
    OK(mcomm_kv_get_into(kv, key, strlen(key), buf, sizeof(buf), &got));
    CHECK_EQ(got, 12);
    items[1].key_nbytes = 0;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_put_batch(kv, items, 3, NULL));
    CHECK_TEXT("items[1]: key_nbytes = 0");
    items[1].key_nbytes = strlen(key);
    put.mode = MCOMM_KV_EXCLUSIVE;
    EXPECT(MCOMM_ERR_EXISTS, mcomm_kv_put_batch(kv, items, 3, &put));
    OK(mcomm_kv_remove_batch(kv, items, 1));
    EXPECT(MCOMM_ERR_EXISTS, mcomm_kv_put_batch(kv, items, 3, &put));
    CHECK_EQ(items[0].error, MCOMM_SUCCESS);
    CHECK_EQ(items[1].error, MCOMM_ERR_EXISTS);
    OK(mcomm_kv_get_into(kv, key, strlen(key), buf, sizeof(buf), &got));
    CHECK_EQ(got, 10);
    put.mode = MCOMM_KV_REPLACE;
    for (put.preferred_rank = 0; put.preferred_rank < mp_size; put.preferred_rank++) {
        mcomm_kv_view_t view;

        OK(mcomm_kv_put(kv, key, strlen(key), "there", 5, &put));
        OK(mcomm_kv_acquire(kv, key, strlen(key), &view));
        CHECK_EQ(view.rank, put.preferred_rank);
        CHECK(view.nbytes == 5 && memcmp(view.data, "there", 5) == 0);
        OK(mcomm_kv_release(kv, &view));
    }
    OK(mcomm_kv_close(&kv));
}

/* ---- args ---- */
static void mode_args(void)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_kv_put_attr_t put = MCOMM_KV_PUT_ATTR_DEFAULT;
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    mcomm_kv_t kv, stale;
    mcomm_kv_view_t view;
    mcomm_kv_item_t item;
    char buf[64], *big = calloc(1, 8192);
    void *value;
    size_t got = 77;
    int there;

    EXPECT(MCOMM_ERR_COMM, mcomm_kv_open(MCOMM_COMM_NULL, &attr, &kv));
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_open(MCOMM_COMM_WORLD, &attr, NULL));
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv)); /* nobody stores */
    CHECK_TEXT("capacity");
    attr.put_timeout_ms = -2;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv));
    attr.put_timeout_ms = mp_rank == mp_size - 1 ? -2 : 0; /* the others do not wait in vain */
    attr.capacity = (size_t)1 << 20;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv));
    CHECK_TEXT(mp_rank == mp_size - 1 ? "put_timeout_ms" : "could not open the store");
    attr.put_timeout_ms = 0;
    attr.capacity = ((size_t)1 << 42) - 1; /* its last slab would be out of reach */
    EXPECT(MCOMM_ERR_COUNT, mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv));
    attr.capacity = mp_rank == 0 ? (size_t)4 << 20 : 0; /* one lends, the others are clients */
    OK(mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv));
    snprintf(buf, sizeof(buf), "key %d", mp_rank);
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_put(kv, buf, 0, "v", 1, NULL));
    EXPECT(MCOMM_ERR_TOO_LARGE, mcomm_kv_put(kv, big, 4097, "v", 1, NULL));
    CHECK_TEXT("4097");
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_put(kv, NULL, 4, "v", 1, NULL));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_kv_put(kv, buf, 5, NULL, 1, NULL));
    EXPECT(MCOMM_ERR_COUNT, mcomm_kv_put(kv, buf, 5, "v", (size_t)-1, NULL));
    EXPECT(MCOMM_ERR_TOO_LARGE, mcomm_kv_put(kv, buf, 5, big, (size_t)1 << 40, NULL));
    put.mode = 9;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_put(kv, buf, 5, "v", 1, &put));
    put.mode = 0;
    put.preferred_rank = mp_size;
    EXPECT(MCOMM_ERR_RANK, mcomm_kv_put(kv, buf, 5, "v", 1, &put));
    OK(mcomm_kv_put(kv, buf, 5, NULL, 0, NULL)); /* nothing is a value */
    OK(mcomm_kv_get(kv, buf, 5, &value, &got));
    CHECK_EQ(got, 0);
    mcomm_free(value);
    OK(mcomm_kv_get_into(kv, buf, 5, NULL, 0, &got));
    OK(mcomm_kv_put(kv, buf, 5, "0123456789", 10, NULL));
    memset(big, 'z', 100);
    EXPECT(MCOMM_ERR_TRUNCATE, mcomm_kv_get_into(kv, buf, 5, big, 9, &got));
    CHECK_EQ(got, 10);
    CHECK(big[0] == 'z' && big[8] == 'z');
    OK(mcomm_kv_size(kv, buf, 5, &got));
    CHECK_EQ(got, 10);
    EXPECT(MCOMM_ERR_NOT_FOUND, mcomm_kv_size(kv, "none", 4, &got));
    EXPECT(MCOMM_ERR_NOT_FOUND, mcomm_kv_get(kv, "none", 4, &value, &got));
    EXPECT(MCOMM_ERR_NOT_FOUND, mcomm_kv_remove(kv, "none", 4));
    EXPECT(MCOMM_ERR_NOT_FOUND, mcomm_kv_acquire(kv, "none", 4, &view));
    OK(mcomm_kv_exists(kv, "none", 4, &there));
    CHECK_EQ(there, 0);
    item = (mcomm_kv_item_t){"none", 4, NULL, 0, MCOMM_SUCCESS};
    OK(mcomm_kv_exists_batch(kv, &item, 1));
    CHECK_EQ(item.error, MCOMM_ERR_NOT_FOUND);
    item.key_nbytes = 0;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_exists_batch(kv, &item, 1));
    CHECK_TEXT("items[0]");
    OK(mcomm_kv_get_batch(kv, NULL, 0));
    stats.struct_size = 0;
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_stats(kv, &stats));
    memset(&view, 0, sizeof(view));
    EXPECT(MCOMM_ERR_STATE, mcomm_kv_release(kv, &view));
    stale = kv;
    OK(mcomm_kv_close(&kv));
    CHECK(kv == MCOMM_KV_NULL);
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_get(stale, buf, 5, &value, &got));
    EXPECT(MCOMM_ERR_ARG, mcomm_kv_close(&stale));
    free(big);
}

/* ---- views ---- */
static void mode_views(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)2 << 20);
    mcomm_kv_view_t view;
    char *buf = malloc(8192), key[4200];
    size_t n;

    value_fill(buf, 6000, (uint64_t)mp_rank, 1);
    n = key_make(key, (uint64_t)mp_rank);
    OK(mcomm_kv_put(kv, key, n, buf, 6000, NULL));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    n = key_make(key, (uint64_t)((mp_rank + 1) % mp_size));
    OK(mcomm_kv_acquire(kv, key, n, &view));
    CHECK_EQ(view.rank, (mp_rank + 1) % mp_size);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));                 /* all have theirs before anybody evicts */
    for (uint64_t number = 0; number < 3000; number++) { /* several times what fits */
        n = key_make(key, 1000 + number + 10000 * (uint64_t)mp_rank);
        value_fill(buf, 6000, number, 2);
        OK(mcomm_kv_put(kv, key, n, buf, 6000, NULL));
    }
    value_check(view.data, view.nbytes, (uint64_t)((mp_rank + 1) % mp_size), 1);
    if (!view.is_copy) { /* pinned: still an object, too */
        int there;

        n = key_make(key, (uint64_t)((mp_rank + 1) % mp_size));
        OK(mcomm_kv_exists(kv, key, n, &there));
        CHECK_EQ(there, 1);
    }
    OK(mcomm_kv_release(kv, &view));
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- many ---- */
static void mode_many(unsigned times)
{
    mcomm_kv_t kvs[8];
    char buf[16];
    size_t got;

    for (unsigned i = 0; i < times; i++) {
        mcomm_comm_t comm = i % 2 == 0 ? MCOMM_COMM_WORLD : MCOMM_COMM_SELF;
        mcomm_kv_t kv = store_open(comm, 100000);

        OK(mcomm_kv_put(kv, "k", 1, "value", 5, NULL));
        OK(mcomm_kv_get_into(kv, "k", 1, buf, sizeof(buf), &got));
        CHECK_EQ(got, 5);
        OK(mcomm_kv_close(&kv));
    }
    for (unsigned i = 0; i < 8; i++) {
        kvs[i] = store_open(MCOMM_COMM_WORLD, 1000000);
        OK(mcomm_kv_put(kvs[i], "k", 1, &i, sizeof(i), NULL));
    }
    for (unsigned i = 0; i < 8; i++) {
        OK(mcomm_kv_get_into(kvs[i], "k", 1, buf, sizeof(buf), &got));
        CHECK(got == sizeof(i) && memcmp(buf, &i, got) == 0);
        OK(mcomm_kv_close(&kvs[i]));
    }
}

/* ---- death ---- */
static void mode_death(unsigned after_us)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)2 << 20);
    char *buf = malloc(VALUE_MAX + 100);
    struct timespec ts = {0, (long)after_us * 1000};
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    pid_t pid = getpid();

    CHECK(buf != NULL);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == mp_size - 1) { /* a child kills it at a moment that nobody knows */
        if (fork() == 0) {
            nanosleep(&ts, NULL);
            kill(pid, SIGKILL);
            _exit(0);
        }
        race_run(kv, 99, 100000000, 40, buf);
    }
    do {
        race_run(kv, (uint64_t)mp_rank + 1, 200, 40, buf);
        OK(mcomm_peer_query(MCOMM_COMM_WORLD, mp_size - 1, 0, &desc));
    } while (desc.is_alive);
    race_run(kv, (uint64_t)mp_rank + 100, 3000, 40, buf);
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- large ---- */
static void mode_large(void)
{
    size_t nbytes = ((size_t)2 << 30) + 4097, got = 0;
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, nbytes / (size_t)mp_size + ((size_t)64 << 20));
    uint64_t *words;

    if (mp_rank == 0) {
        words = malloc(nbytes + 8);
        CHECK(words != NULL);
        for (size_t i = 0; i <= nbytes / 8; i++)
            words[i] = mix(i);
        OK(mcomm_kv_put(kv, "large", 5, words, nbytes, NULL));
        free(words);
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (mp_rank == mp_size - 1) {
        words = calloc(1, nbytes + 8);
        CHECK(words != NULL);
        OK(mcomm_kv_get_into(kv, "large", 5, words, nbytes, &got));
        CHECK_EQ(got, nbytes);
        for (size_t i = 0; i < nbytes / 8; i++)
            if (words[i] != mix(i))
                MP_FAIL("wrong word at %zu", i * 8);
        free(words);
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_kv_close(&kv));
}

/* ---- threads ---- */
struct thread {
    pthread_t id;
    mcomm_kv_t kv;
    uint64_t seed;
};

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    char *buf = malloc(VALUE_MAX + 100);

    CHECK(buf != NULL);
    race_run(t->kv, t->seed, 1500, 40, buf);
    free(buf);
    return NULL;
}

static void mode_threads(void)
{
    struct thread threads[4];

    for (unsigned i = 0; i < 4; i++)
        threads[i].kv = MCOMM_KV_NULL;
    threads[0].kv = store_open(MCOMM_COMM_WORLD, (size_t)3 << 20);
    for (unsigned i = 0; i < 4; i++) {
        threads[i].kv = threads[0].kv;
        threads[i].seed = (uint64_t)mp_rank * 4 + i + 1;
        CHECK_EQ(pthread_create(&threads[i].id, NULL, thread_main, &threads[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i].id, NULL);
    OK(mcomm_kv_close(&threads[0].kv));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    mp_init();
    if (strcmp(mode, "random") == 0)
        mode_random(0);
    else if (strcmp(mode, "pressure") == 0)
        mode_random(1);
    else if (strcmp(mode, "race") == 0)
        mode_race();
    else if (strcmp(mode, "modes") == 0)
        mode_modes();
    else if (strcmp(mode, "args") == 0)
        mode_args();
    else if (strcmp(mode, "views") == 0)
        mode_views();
    else if (strcmp(mode, "many") == 0)
        mode_many(number);
    else if (strcmp(mode, "death") == 0)
        mode_death(number);
    else if (strcmp(mode, "threads") == 0)
        mode_threads();
    else if (strcmp(mode, "large") == 0)
        mode_large();
    else
        MP_FAIL("no such mode: %s", mode);
    OK(mcomm_finalize());
    return 0;
}
