/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The calls of object stores, one by one: kv_calls MODE.
 *   modes     replace, if-absent, exclusive; one winner among all ranks; duplicates in a batch
 *   args      bad arguments, clients without capacity, sizes from 0 bytes, truncation
 *   views     views stay while others fill the store
 *   many      stores opened and closed many times, several at once, over self
 *   tiny      a million tiny objects: what one costs
 *   probed    objects that are only asked for are evicted like others; a pool stays full
 *   full      a store full of views takes nothing more, and says so after MCOMM_KV_PUT_TIMEOUT
 *   subset    stores over parts of the processes; finalizing with an open store and a view
 */
#include "kv_check.h"
#include "common/proc.h"

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

/* ---- tiny ---- */
/*
 * 64 bytes of the directory, 64 of the record's header, key and value rounded up to 64. Few find
 * all places for their key taken, and evict another.
 */
static void mode_tiny(unsigned count)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    size_t before, each, got;
    int64_t found = 0, all;
    mcomm_kv_t kv;

    attr.max_objects = (size_t)count * (size_t)mp_size;
    attr.capacity = (size_t)count * 136 + ((size_t)1 << 20);
    before = rss_now();
    OK(mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key[2] = {(uint64_t)mp_rank, i}, value = mix(i);

        OK(mcomm_kv_put(kv, key, sizeof(key), &value, sizeof(value), NULL));
    }
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    each = (rss_now() - before) / attr.max_objects;
    OK(mcomm_kv_stats(kv, &stats));
    printf("%u objects a rank: %zu bytes of memory each; %llu there, %llu evicted\n", count, each,
           (unsigned long long)stats.objects, (unsigned long long)stats.evictions);
    CHECK(each <= 64 + 64 + 64 + 16);
    CHECK_EQ(stats.objects + stats.evictions, attr.max_objects);
    CHECK(stats.evictions <= attr.max_objects / 1000);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key[2] = {(uint64_t)((mp_rank + 1) % mp_size), i}, value = 0;
        mcomm_err_t err = mcomm_kv_get_into(kv, key, sizeof(key), &value, sizeof(value), &got);

        if (err == MCOMM_ERR_NOT_FOUND)
            continue;
        OK(err);
        CHECK(got == sizeof(value) && value == mix(i));
        found++;
    }
    OK(mcomm_allreduce(&found, &all, 1, MCOMM_INT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    CHECK_EQ(all, stats.objects);
    OK(mcomm_kv_close(&kv));
}

/* ---- probed ---- */
/* Rank 0 puts three times what fits, and asks for all that it has put again and again. */
static void mode_probed(void)
{
    enum {
        NBYTES = 8000,
        CAPACITY = 4 << 20
    };
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, CAPACITY);
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    uint64_t count, readable = 0;
    char *buf = malloc(NBYTES);
    int there = 1;
    size_t got;

    CHECK(buf != NULL);
    OK(mcomm_kv_stats(kv, &stats));
    count = 3 * stats.capacity / NBYTES;
    for (uint64_t i = 0; mp_rank == 0 && i < count; i++) {
        value_fill(buf, NBYTES, i, 1);
        OK(mcomm_kv_put(kv, &i, sizeof(i), buf, NBYTES, NULL));
        for (uint64_t k = 0; k <= i; k += 1 + i / 20)
            OK(mcomm_kv_exists(kv, &k, sizeof(k), &there));
    }
    if (mp_rank == 0) {
        for (uint64_t i = 0; i < count; i++) {
            mcomm_err_t err = mcomm_kv_get_into(kv, &i, sizeof(i), buf, NBYTES, &got);

            CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_NOT_FOUND);
            readable += err == MCOMM_SUCCESS;
            if (err == MCOMM_SUCCESS)
                value_check(buf, got, i, 1);
            CHECK(err == MCOMM_SUCCESS || i < count - count / 10); /* the last ones are there */
        }
        printf("%llu of %llu readable, %llu would fit\n", (unsigned long long)readable,
               (unsigned long long)count, (unsigned long long)(stats.capacity / NBYTES));
        CHECK(readable * NBYTES > stats.capacity / 2);
        there = 1;
        OK(mcomm_kv_exists(kv, &(uint64_t){0}, sizeof(uint64_t), &there));
        CHECK_EQ(there, 0); /* asked for most often */
    }
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- full ---- */
static void mode_full(void)
{
    enum {
        NBYTES = 10000,
        VIEWS = 4000
    };
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)1 << 20);
    mcomm_kv_view_t *views = calloc(VIEWS, sizeof(*views));
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    char *buf = calloc(1, NBYTES);
    uint64_t held = 0;
    double before = 0;
    mcomm_err_t err = MCOMM_SUCCESS;

    CHECK(views != NULL && buf != NULL);
    while (mp_rank == 0 && err == MCOMM_SUCCESS) {
        CHECK(held < VIEWS);
        before = mcomm_wtime();
        err = mcomm_kv_put(kv, &held, sizeof(held), buf, NBYTES, NULL);
        if (err == MCOMM_SUCCESS)
            OK(mcomm_kv_acquire(kv, &held, sizeof(held), &views[held]));
        if (err == MCOMM_SUCCESS && views[held].is_copy) { /* nothing holds it there */
            OK(mcomm_kv_release(kv, &views[held]));
            break;
        }
        held += err == MCOMM_SUCCESS;
    }
    if (err != MCOMM_SUCCESS) {
        EXPECT(MCOMM_ERR_NO_SPACE, err);
        CHECK_TEXT("100 ms");
        CHECK(mcomm_wtime() - before > 0.099);
        OK(mcomm_kv_stats(kv, &stats));
        CHECK(stats.waits_space >= 1);
    }
    for (uint64_t i = 0; i < held; i++)
        OK(mcomm_kv_release(kv, &views[i]));
    OK(mcomm_kv_put(kv, &held, sizeof(held), buf, NBYTES, NULL));
    free(views);
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- subset ---- */
static void mode_subset(void)
{
    mcomm_comm_t part;
    mcomm_kv_t all = store_open(MCOMM_COMM_WORLD, (size_t)1 << 20), kv;
    mcomm_kv_view_t view;
    char key[4200], *buf = malloc(5000);
    size_t n = key_make(key, 1), got;
    int rank, size;

    CHECK(buf != NULL);
    OK(mcomm_comm_split(MCOMM_COMM_WORLD, mp_rank % 2, -mp_rank, &part)); /* in reverse order */
    OK(mcomm_comm_rank(part, &rank));
    OK(mcomm_comm_size(part, &size));
    kv = store_open(part, rank == 0 && size > 1 ? 0 : (size_t)1 << 20); /* a client, if it can be */
    value_fill(buf, 4000, 1, (uint64_t)mp_rank % 2);
    if (rank == size - 1)
        OK(mcomm_kv_put(kv, key, n, buf, 4000, NULL));
    OK(mcomm_barrier(part));
    OK(mcomm_kv_get_into(kv, key, n, buf, 5000, &got));
    value_check(buf, got, 1, (uint64_t)mp_rank % 2);
    EXPECT(MCOMM_ERR_NOT_FOUND, mcomm_kv_get_into(all, key, n, buf, 5000, &got));
    OK(mcomm_kv_acquire(kv, key, n, &view));
    if (!view.is_copy) {
        EXPECT(MCOMM_ERR_ARG, mcomm_kv_release(all, &view));
        CHECK_TEXT("another store");
    }
    value_check(view.data, view.nbytes, 1, (uint64_t)mp_rank % 2);
    free(buf);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (view.is_copy || mp_rank % 2 == 0)
        OK(mcomm_kv_release(kv, &view));
    if (mp_rank % 2 == 0) { /* the others leave all of it to the end */
        OK(mcomm_kv_close(&kv));
        EXPECT(MCOMM_ERR_ARG, mcomm_kv_release(kv, &view));
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    mp_init();
    if (strcmp(mode, "modes") == 0)
        mode_modes();
    else if (strcmp(mode, "args") == 0)
        mode_args();
    else if (strcmp(mode, "views") == 0)
        mode_views();
    else if (strcmp(mode, "many") == 0)
        mode_many(number);
    else if (strcmp(mode, "tiny") == 0)
        mode_tiny(number);
    else if (strcmp(mode, "probed") == 0)
        mode_probed();
    else if (strcmp(mode, "full") == 0)
        mode_full();
    else if (strcmp(mode, "subset") == 0)
        mode_subset();
    else
        MP_FAIL("no such mode: %s", mode);
    OK(mcomm_finalize());
    return 0;
}
