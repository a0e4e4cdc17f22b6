/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Rank 1 of a store whose communicator has a time limit is stopped while rank 0 calls it: every
 * call ends, with success or TIMEOUT. Then it goes on: each key is what the last call left that
 * succeeded, or what one left after that which timed out; the statistics count what there is; no
 * slab is lost. (close: rank 1 is stopped while rank 0 closes the store; all of that ends within
 * one time limit, for which the case's own is too short to pass twice.)
 */
#include "kv_check.h"
#include "common/proc.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#define KEYS 24u
#define LIMIT_MS 400
#define CLOSE_LIMIT_MS 6000
#define CAPACITY ((size_t)2 << 20)
#define VERSIONS 8u /* 0: absent */

static const size_t sizes[] = {64, 5000, 70000};
static struct {
    unsigned may_be; /* bit of a version */
} model[KEYS];
static char buf[VALUE_MAX], keys[KEYS][4096];
static unsigned timeouts;

static size_t key_of(unsigned k)
{
    return key_make(keys[k], k + 40); /* one is long */
}

static size_t nbytes_of(unsigned k)
{
    return sizes[k % 3];
}

/* What is known of a key after a call that would leave it as version. */
static void changed(unsigned k, unsigned version, mcomm_err_t err)
{
    if (err == MCOMM_ERR_TIMEOUT) {
        model[k].may_be |= 1u << version;
        timeouts++;
    } else if (err == MCOMM_SUCCESS) {
        model[k].may_be = 1u << version;
    } else {
        CHECK(err == MCOMM_ERR_NOT_FOUND && version == 0 && (model[k].may_be & 1));
        model[k].may_be = 1;
    }
}

static void put(mcomm_kv_t kv, unsigned k, unsigned version)
{
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;

    attr.preferred_rank = (int)(k / 3 % 2); /* lenders of both kinds for homes of both kinds */
    value_fill(buf, nbytes_of(k), k, version);
    changed(k, version, mcomm_kv_put(kv, keys[k], key_of(k), buf, nbytes_of(k), &attr));
}

static void seen(unsigned k, mcomm_err_t err, const void *value, size_t nbytes)
{
    struct stamp stamp = {0};

    if (err == MCOMM_ERR_TIMEOUT) {
        timeouts++;
        return;
    }
    CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_NOT_FOUND);
    if (err == MCOMM_SUCCESS) {
        CHECK_EQ(nbytes, nbytes_of(k));
        memcpy(&stamp, value, sizeof(stamp));
        CHECK(stamp.version < VERSIONS);
        value_check(value, nbytes, k, stamp.version);
    }
    if ((model[k].may_be >> stamp.version & 1) == 0)
        MP_FAIL("key %u is of version %u, may be 0x%x", k, (unsigned)stamp.version,
                model[k].may_be);
}

static void get(mcomm_kv_t kv, unsigned k)
{
    size_t nbytes = 0;

    mcomm_err_t err = mcomm_kv_get_into(kv, keys[k], key_of(k), buf, sizeof(buf), &nbytes);

    seen(k, err, buf, nbytes);
}

/* ---- while rank 1 is stopped ---- */
static void batches(mcomm_kv_t kv)
{
    static char room[KEYS][70000];
    mcomm_kv_item_t items[KEYS];

    for (unsigned k = 0; k < KEYS; k++) {
        value_fill(room[k], nbytes_of(k), k, 5);
        items[k] = (mcomm_kv_item_t){keys[k], key_of(k), room[k], nbytes_of(k), MCOMM_SUCCESS};
    }
    CHECK(mcomm_kv_put_batch(kv, items, KEYS, NULL) == MCOMM_ERR_TIMEOUT);
    for (unsigned k = 0; k < KEYS; k++) {
        changed(k, 5, items[k].error);
        items[k].nbytes = sizeof(room[k]);
    }
    CHECK(mcomm_kv_get_batch(kv, items, KEYS) == MCOMM_ERR_TIMEOUT);
    for (unsigned k = 0; k < KEYS; k++)
        seen(k, items[k].error, items[k].buf, items[k].nbytes);
    (void)mcomm_kv_exists_batch(kv, items, KEYS);
    CHECK(mcomm_kv_remove_batch(kv, items, KEYS / 2) == MCOMM_ERR_TIMEOUT);
    for (unsigned k = 0; k < KEYS / 2; k++)
        changed(k, 0, items[k].error);
}

static void all_calls(mcomm_kv_t kv)
{
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    mcomm_kv_view_t view;
    void *value;
    size_t n;
    int exists;

    for (unsigned k = 0; k < 12; k++)
        put(kv, k, 3);
    for (unsigned k = 12; k < 18; k++)
        changed(k, 0, mcomm_kv_remove(kv, keys[k], key_of(k)));
    for (unsigned k = 0; k < 6; k++) {
        mcomm_err_t err = mcomm_kv_get(kv, keys[k], key_of(k), &value, &n);

        seen(k, err, value, n);
        if (err == MCOMM_SUCCESS)
            mcomm_free(value);
        err = mcomm_kv_acquire(kv, keys[k], key_of(k), &view);
        seen(k, err, view.data, view.nbytes);
        if (err == MCOMM_SUCCESS)
            OK(mcomm_kv_release(kv, &view));
    }
    for (unsigned k = 0; k < 3; k++) {
        (void)mcomm_kv_exists(kv, keys[k], key_of(k), &exists);
        (void)mcomm_kv_size(kv, keys[k], key_of(k), &n);
    }
    CHECK(mcomm_kv_stats(kv, &stats) == MCOMM_ERR_TIMEOUT);
    batches(kv);
}

/* ---- afterwards ---- */
static void all_is_well(mcomm_kv_t kv)
{
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    uint64_t used = 0;
    unsigned before = timeouts;

    for (unsigned k = 0; k < KEYS; k++)
        get(kv, k);
    for (unsigned k = 0; k < KEYS; k++)
        put(kv, k, 6);
    for (unsigned k = 0; k < KEYS; k++) {
        CHECK(model[k].may_be == 1u << 6);
        get(kv, k);
        used += nbytes_of(k);
    }
    CHECK_EQ(timeouts, before);
    OK(mcomm_kv_stats(kv, &stats));
    CHECK_EQ(stats.objects, KEYS);
    CHECK_EQ(stats.used, used);
    for (unsigned i = 0; i < 3 * 2 * CAPACITY / sizeof(buf); i++) { /* every slab is cleaned */
        unsigned key = 1000 + i;
        mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;

        attr.preferred_rank = (int)(i % 2);
        OK(mcomm_kv_put(kv, &key, sizeof(key), buf, 60000, &attr));
    }
}

static void closer(mcomm_kv_t kv)
{
    pid_t pid;

    OK(mcomm_recv(&pid, sizeof(pid), 1, 3, MCOMM_COMM_WORLD, NULL));
    while (!is_stopped(pid))
        sched_yield();
    CHECK(mcomm_kv_close(&kv) == MCOMM_ERR_TIMEOUT);
    CHECK(kv == MCOMM_KV_NULL);
    CHECK(kill(pid, SIGCONT) == 0);
}

static void caller(mcomm_kv_t kv)
{
    pid_t pid;

    for (unsigned k = 0; k < KEYS; k++)
        model[k].may_be = 1;
    for (unsigned k = 0; k < KEYS; k++)
        put(kv, k, 1);
    OK(mcomm_send(NULL, 0, 1, 1, MCOMM_COMM_WORLD));
    OK(mcomm_recv(&pid, sizeof(pid), 1, 1, MCOMM_COMM_WORLD, NULL));
    while (!is_stopped(pid))
        sched_yield();
    CHECK_EQ(timeouts, 0);
    all_calls(kv);
    CHECK(kill(pid, SIGCONT) == 0);
    printf("%u ends were time-outs\n", timeouts);
    CHECK(timeouts > KEYS / 2);
    OK(mcomm_send(NULL, 0, 1, 2, MCOMM_COMM_WORLD));
    OK(mcomm_recv(NULL, 0, 1, 2, MCOMM_COMM_WORLD, NULL)); /* it has taken all that was sent */
    all_is_well(kv);
    OK(mcomm_send(NULL, 0, 1, 3, MCOMM_COMM_WORLD));
    closer(kv);
}

static void stopped_at_close(mcomm_kv_t kv)
{
    pid_t pid = getpid();
    mcomm_err_t err;

    OK(mcomm_send(&pid, sizeof(pid), 0, 3, MCOMM_COMM_WORLD));
    raise(SIGSTOP);
    err = mcomm_kv_close(&kv);
    CHECK(err == MCOMM_SUCCESS || err == MCOMM_ERR_TIMEOUT);
}

static void stopped(mcomm_kv_t kv)
{
    pid_t pid = getpid();

    OK(mcomm_recv(NULL, 0, 0, 1, MCOMM_COMM_WORLD, NULL));
    OK(mcomm_send(&pid, sizeof(pid), 0, 1, MCOMM_COMM_WORLD));
    raise(SIGSTOP);
    OK(mcomm_recv(NULL, 0, 0, 2, MCOMM_COMM_WORLD, NULL));
    OK(mcomm_send(NULL, 0, 0, 2, MCOMM_COMM_WORLD));
    OK(mcomm_recv(NULL, 0, 0, 3, MCOMM_COMM_WORLD, NULL));
    stopped_at_close(kv);
}

int main(int argc, char **argv)
{
    int is_close = argc > 1 && strcmp(argv[1], "close") == 0;
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_comm_t comm;
    mcomm_kv_t kv;

    mp_init();
    CHECK(mp_size == 2);
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    OK(mcomm_comm_set_timeout(comm, is_close ? CLOSE_LIMIT_MS : LIMIT_MS));
    attr.capacity = CAPACITY;
    OK(mcomm_kv_open(comm, &attr, &kv));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    if (is_close && mp_rank == 0)
        closer(kv);
    else if (is_close)
        stopped_at_close(kv);
    else if (mp_rank == 0)
        caller(kv);
    else
        stopped(kv);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_comm_free(&comm));
    OK(mcomm_finalize());
    return 0;
}
