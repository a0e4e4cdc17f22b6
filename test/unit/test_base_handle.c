/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Handles: stale, foreign and garbage ones are recognised; pools keep their objects apart. */
#include "config.h"

#include "base/handle.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void stale_and_foreign_handles_are_refused(void **state)
{
    int object;
    void *handle = mci_handle_new(MCI_HANDLE_COMM, &object);
    void *next;

    (void)state;
    assert_non_null(handle);
    assert_ptr_equal(mci_handle_get(MCI_HANDLE_COMM, handle), &object);
    assert_null(mci_handle_get(MCI_HANDLE_WIN, handle));
    mci_handle_free(MCI_HANDLE_COMM, handle);
    next = mci_handle_new(MCI_HANDLE_COMM, &object); /* the same entry of the table */
    assert_null(mci_handle_get(MCI_HANDLE_COMM, handle));
    assert_ptr_equal(mci_handle_get(MCI_HANDLE_COMM, next), &object);
    mci_handle_free(MCI_HANDLE_COMM, next);
    assert_null(mci_handle_get(MCI_HANDLE_COMM, next));
    mci_handle_free(MCI_HANDLE_COMM, next); /* twice is harmless */
    assert_int_equal(mci_handle_count(MCI_HANDLE_COMM), 0);
}

static void garbage_is_refused_without_a_crash(void **state)
{
    int object;
    void *handle = mci_handle_new(MCI_HANDLE_KV, &object);

    (void)state;
    assert_null(mci_handle_get(MCI_HANDLE_KV, NULL));
    assert_null(mci_handle_get(MCI_HANDLE_KV, &object));
    assert_null(mci_handle_get(MCI_HANDLE_KV, (void *)-1));
    assert_null(mci_handle_get(MCI_HANDLE_KV, (void *)0xdeadbeef));
    for (uintptr_t bit = 1; bit != 0; bit <<= 1)
        assert_null(mci_handle_get(MCI_HANDLE_KV, (void *)((uintptr_t)handle ^ bit)));
    mci_handle_free(MCI_HANDLE_KV, handle);
}

static void many_handles_are_distinct_and_reused(void **state)
{
    enum {
        COUNT = 100000
    };
    void **handles = malloc(COUNT * sizeof(*handles));
    int *objects = malloc(COUNT * sizeof(*objects));

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            handles[i] = mci_handle_new(MCI_HANDLE_REQUEST, &objects[i]);
        for (int i = 0; i < COUNT; i++)
            assert_ptr_equal(mci_handle_get(MCI_HANDLE_REQUEST, handles[i]), &objects[i]);
        assert_int_equal(mci_handle_count(MCI_HANDLE_REQUEST), COUNT);
        for (int i = 0; i < COUNT; i++)
            mci_handle_free(MCI_HANDLE_REQUEST, handles[i]);
    }
    free(handles);
    free(objects);
}

static void pool_objects_do_not_overlap(void **state)
{
    enum {
        COUNT = 1000,
        SIZE = 100
    };
    unsigned char *objects[COUNT];
    struct mci_pool pool;

    (void)state;
    mci_pool_init(&pool, SIZE);
    for (int i = 0; i < COUNT; i++) {
        objects[i] = mci_pool_get(&pool);
        memset(objects[i], i & 0xff, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < SIZE; j++)
            assert_int_equal(objects[i][j], i & 0xff);
    assert_int_equal(pool.live, COUNT);
    mci_pool_put(&pool, objects[5]);
    assert_ptr_equal(mci_pool_get(&pool), objects[5]);
    for (int i = 0; i < COUNT; i++)
        mci_pool_put(&pool, objects[i]);
    assert_int_equal(pool.live, 0);
    mci_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_and_foreign_handles_are_refused),
        cmocka_unit_test(garbage_is_refused_without_a_crash),
        cmocka_unit_test(many_handles_are_distinct_and_reused),
        cmocka_unit_test(pool_objects_do_not_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
