/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The attached ranges against a plain list: random adds, removes and questions, fixed seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rma/interval.h"

#include <stdlib.h>
#include <string.h>

#define SPACE 400

static uint64_t seed_state = 42;

static uint64_t next_random(uint64_t below)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (seed_state >> 33) % below;
}

struct range {
    uint64_t base, nbytes;
};

static bool plain_covers(const struct range *list, size_t count, uint64_t addr, uint64_t nbytes)
{
    for (uint64_t at = addr; at < addr + nbytes; at++) {
        bool is_in = false;

        for (size_t i = 0; i < count && !is_in; i++)
            is_in = at >= list[i].base && at < list[i].base + list[i].nbytes;
        if (!is_in)
            return false;
    }
    return true;
}

static void random_ranges_match_a_plain_list(void **state)
{
    struct mci_interval_set set;
    struct range list[64];
    size_t count = 0;
    uint64_t nbytes;

    (void)state;
    mci_interval_init(&set);
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t base = next_random(SPACE), len = 1 + next_random(40);

        if (count < 64 && next_random(2) == 0) {
            assert_int_equal(mci_interval_add(&set, base, len), MCOMM_SUCCESS);
            list[count++] = (struct range){base, len};
        } else if (count > 0) {
            size_t victim = next_random(count), youngest = 0;

            base = list[victim].base;
            for (size_t i = 0; i < count; i++)
                if (list[i].base == base)
                    youngest = i;
            assert_true(mci_interval_remove(&set, base, &nbytes));
            assert_int_equal(nbytes, list[youngest].nbytes);
            memmove(&list[youngest], &list[youngest + 1], (--count - youngest) * sizeof(list[0]));
        }
        base = next_random(SPACE);
        len = next_random(60);
        assert_int_equal(mci_interval_covers(&set, base, len),
                         plain_covers(list, count, base, len));
        assert_int_equal(set.count, count);
    }
    mci_interval_fini(&set);
}

static void overlapping_ranges_are_counted_one_by_one(void **state)
{
    struct mci_interval_set set;
    uint64_t nbytes;

    (void)state;
    mci_interval_init(&set);
    mci_interval_add(&set, 0x100000, 0x200000);
    mci_interval_add(&set, 0x200000, 0x200000);
    mci_interval_add(&set, 0x100000, 0x200000);
    assert_true(mci_interval_covers(&set, 0x180000, 0x200000));
    assert_true(mci_interval_remove(&set, 0x100000, &nbytes));
    assert_true(mci_interval_covers(&set, 0x180000, 0x200000));
    assert_true(mci_interval_remove(&set, 0x100000, &nbytes));
    assert_false(mci_interval_covers(&set, 0x180000, 0x200000));
    assert_true(mci_interval_covers(&set, 0x200000, 0x200000));
    assert_false(mci_interval_remove(&set, 0x100000, &nbytes));
    assert_false(mci_interval_covers(&set, UINT64_MAX - 4, 8)); /* wraps */
    mci_interval_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ranges_match_a_plain_list),
        cmocka_unit_test(overlapping_ranges_are_counted_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
