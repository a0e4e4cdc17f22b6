/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The integer map against a plain array, random operations; hashes differ where they should. */
#include "config.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 512
#define STEPS 200000

static uint64_t seed = 20260101;

static uint64_t next_random(void)
{
    return seed = mci_hash_mix(seed, 1);
}

static void map_agrees_with_an_array(void **state)
{
    static int objects[KEYS];
    void *model[KEYS] = {0};
    size_t model_count = 0, cursor = 0, seen = 0;
    struct mci_map map;
    uint64_t key;
    void *value;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    mci_map_init(&map);
    for (int step = 0; step < STEPS; step++) {
        uint64_t i = next_random() % KEYS;

        switch (next_random() % 3) {
        case 0:
            model_count += model[i] == NULL;
            model[i] = &objects[next_random() % KEYS];
            assert_int_equal(mci_map_put(&map, i, model[i]), MCOMM_SUCCESS);
            break;
        case 1:
            assert_ptr_equal(mci_map_remove(&map, i), model[i]);
            model_count -= model[i] != NULL;
            model[i] = NULL;
            break;
        default:
            assert_ptr_equal(mci_map_get(&map, i), model[i]);
        }
        assert_int_equal(map.count, model_count);
    }
    while ((value = mci_map_next(&map, &cursor, &key)) != NULL) {
        assert_ptr_equal(value, model[key]);
        seen++;
    }
    assert_int_equal(seen, model_count);
    assert_true(map.capacity <= 4 * KEYS); /* removed entries do not make it grow */
    mci_map_fini(&map);
}

static void map_of_nothing_finds_nothing(void **state)
{
    struct mci_map map;

    (void)state;
    mci_map_init(&map);
    assert_null(mci_map_get(&map, 0));
    assert_null(mci_map_remove(&map, 7));
    mci_map_fini(&map);
}

static void hashes_depend_on_every_byte_and_on_length(void **state)
{
    unsigned char data[100] = {0};
    uint64_t base = mci_hash64(data, sizeof(data), 1);
    struct mci_hash128 wide = mci_hash128(data, sizeof(data), 1);

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        struct mci_hash128 other;

        data[i] = 1;
        other = mci_hash128(data, sizeof(data), 1);
        assert_int_not_equal(mci_hash64(data, sizeof(data), 1), base);
        assert_true(other.lo != wide.lo && other.hi != wide.hi);
        data[i] = 0;
        assert_int_not_equal(mci_hash64(data, i, 1), base);
    }
    assert_int_not_equal(mci_hash64(data, sizeof(data), 2), base);
    assert_true(wide.lo != wide.hi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_agrees_with_an_array),
        cmocka_unit_test(map_of_nothing_finds_nothing),
        cmocka_unit_test(hashes_depend_on_every_byte_and_on_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
