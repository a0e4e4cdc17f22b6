/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Objects: rank 0 puts and gets, single and in batches; the values lie in rank 1's memory if there
 * is one. */
#include "config.h"

#include "perf/bench.h"

#include <stdint.h>
#include <stdlib.h>

static const size_t sizes[] = {8, 4096, 65536, 1048576, 16777216};
#define SIZE_NUM (sizeof(sizes) / sizeof(sizes[0]))
#define KEYS 32
#define BATCH 128

static mcomm_kv_put_attr_t put_attr(const struct bench *b)
{
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;

    attr.preferred_rank = b->size > 1 ? 1 : 0;
    return attr;
}

static uint64_t key_of(size_t nbytes, size_t index)
{
    return (uint64_t)nbytes << 32 | index;
}

static void obj_put(struct bench *b, size_t nbytes, long iterations)
{
    mcomm_kv_put_attr_t attr = put_attr(b);

    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        uint64_t key = key_of(nbytes, (size_t)i % KEYS);

        bench_rewrite(b, b->src, nbytes);
        bench_check(b, mcomm_kv_put(b->kv, &key, sizeof(key), b->src, nbytes, &attr), "kv_put");
    }
}

static void obj_get(struct bench *b, size_t nbytes, long iterations)
{
    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        uint64_t key = key_of(nbytes, (size_t)i % KEYS);
        size_t got;

        bench_check(b, mcomm_kv_get_into(b->kv, &key, sizeof(key), b->dst, nbytes, &got),
                    "kv_get_into");
        bench_read(b, b->dst, nbytes);
    }
}

static void fill_batch(struct bench *b, size_t nbytes, uint64_t *keys, mcomm_kv_item_t *items,
                       unsigned char *base)
{
    (void)b;
    for (size_t k = 0; k < BATCH; k++) {
        keys[k] = key_of(nbytes, 1000 + k);
        items[k] =
            (mcomm_kv_item_t){&keys[k], sizeof(keys[k]), base + k * nbytes, nbytes, MCOMM_SUCCESS};
    }
}

static void obj_put_batch(struct bench *b, size_t nbytes, long iterations)
{
    mcomm_kv_put_attr_t attr = put_attr(b);
    uint64_t keys[BATCH];
    mcomm_kv_item_t items[BATCH];

    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        fill_batch(b, nbytes, keys, items, b->src);
        bench_rewrite(b, b->src, nbytes * BATCH);
        bench_check(b, mcomm_kv_put_batch(b->kv, items, BATCH, &attr), "kv_put_batch");
    }
}

static void obj_get_batch(struct bench *b, size_t nbytes, long iterations)
{
    uint64_t keys[BATCH];
    mcomm_kv_item_t items[BATCH];

    if (b->rank != 0)
        return;
    for (long i = 0; i < iterations && b->failed == NULL; i++) {
        fill_batch(b, nbytes, keys, items, b->dst);
        bench_check(b, mcomm_kv_get_batch(b->kv, items, BATCH), "kv_get_batch");
        bench_read(b, b->dst, nbytes * BATCH);
    }
}

void bench_kv(struct bench *b)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;

    attr.capacity = (size_t)2 << 30;
    attr.max_objects = 100000;
    bench_check(b, mcomm_kv_open(b->comm, &attr, &b->kv), "kv_open");
    if (b->failed != NULL)
        return;
    bench_heading(b, "objects, rank 0's calls");
    for (size_t i = 0; i < SIZE_NUM; i++) {
        bench_measure(b, "obj_put", obj_put, sizes[i], 1);
        if (b->rank == 0 && bench_wants(b, "obj_get", sizes[i]))
            obj_put(b, sizes[i], KEYS); /* all keys exist, however few iterations there were */
        bench_measure(b, "obj_get", obj_get, sizes[i], 1);
    }
    bench_heading(b, "objects in batches of 128, time of one");
    bench_measure(b, "obj_put_b128", obj_put_batch, 4096, BATCH);
    if (b->rank == 0 && bench_wants(b, "obj_get_b128", 4096))
        obj_put_batch(b, 4096, 1);
    bench_measure(b, "obj_get_b128", obj_get_batch, 4096, BATCH);
    bench_check(b, mcomm_kv_close(&b->kv), "kv_close");
}
