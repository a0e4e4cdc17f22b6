/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Object stores over real processes: kv MODE.
 *   random    every rank owns keys; it changes its own and checks everybody's, batches included
 *   pressure  the same with a store that is far too small
 *   race      all ranks put, remove and read the same keys; a read is one whole version
 *   threads   four threads a rank
 *   large     a value of more than 2 GiB, in extents over all ranks
 */
#include "kv_check.h"

#include <pthread.h>

#define KEYS 200u /* of each rank */

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

    mp_init();
    if (strcmp(mode, "random") == 0)
        mode_random(0);
    else if (strcmp(mode, "pressure") == 0)
        mode_random(1);
    else if (strcmp(mode, "race") == 0)
        mode_race();
    else if (strcmp(mode, "threads") == 0)
        mode_threads();
    else if (strcmp(mode, "large") == 0)
        mode_large();
    else
        MP_FAIL("no such mode: %s", mode);
    OK(mcomm_finalize());
    return 0;
}
