/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Homes of keys: balanced by weight, the same on all ranks, and only the dead one's keys move. */
#include "config.h"

#include "kv_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void slices_count(const struct mci_kv *kv, double *share)
{
    for (int rank = 0; rank < kv->size; rank++)
        share[rank] = 0;
    for (unsigned slice = 0; slice < KV_SLICES; slice++)
        share[kv->homes[slice]] += 1.0 / KV_SLICES;
}

static void homes_are_balanced_by_weight(void **state)
{
    static const size_t mib[][FIXTURE_RANKS] = {{64, 64},  {64, 64, 64}, {64, 64, 64, 64},
                                                {64, 128}, {64, 0, 192}, {8, 8, 8, 8, 8, 8, 8}};
    static const int sizes[] = {2, 3, 4, 2, 3, 7};

    (void)state;
    for (size_t c = 0; c < sizeof(sizes) / sizeof(sizes[0]); c++) {
        double share[FIXTURE_RANKS], total = 0;
        struct kv_facts facts[FIXTURE_RANKS];
        struct mci_kv *kv;

        memset(facts, 0, sizeof(facts));
        for (int rank = 0; rank < sizes[c]; rank++) {
            facts[rank].capacity = mib[c][rank] << 20;
            total += (double)mib[c][rank];
        }
        kv = mci_kv_new(0, sizes[c], facts);
        assert_non_null(kv);
        slices_count(kv, share);
        for (int rank = 0; rank < sizes[c]; rank++) {
            double fair = (double)mib[c][rank] / total;

            if (share[rank] < fair * 0.9 || share[rank] > fair * 1.1)
                fail_msg("case %zu: rank %d has %.3f of the keys, fair is %.3f", c, rank,
                         share[rank], fair);
        }
        mci_kv_delete(kv);
    }
}

static void only_the_keys_of_a_dead_rank_move(void **state)
{
    struct kv_facts facts[4];
    uint16_t before[KV_SLICES];
    struct mci_kv *kv;

    (void)state;
    memset(facts, 0, sizeof(facts));
    for (int rank = 0; rank < 4; rank++)
        facts[rank].capacity = 64u << 20;
    kv = mci_kv_new(1, 4, facts);
    assert_non_null(kv);
    for (unsigned slice = 0; slice < KV_SLICES; slice++)
        before[slice] = kv->homes[slice];
    mci_kv_rank_died(kv, 2);
    for (unsigned slice = 0; slice < KV_SLICES; slice++) {
        assert_int_not_equal(kv->homes[slice], 2);
        if (before[slice] != 2)
            assert_int_equal(kv->homes[slice], before[slice]);
    }
    for (int rank = 0; rank < 4; rank++)
        mci_kv_rank_died(kv, rank);
    assert_int_equal(kv->homes[17], KV_NO_HOME);
    mci_kv_delete(kv);
}

static void the_directory_has_room_for_max_objects(void **state)
{
    struct kv_facts facts[3];
    struct mci_kv *kv;
    uint64_t entries = 0;

    (void)state;
    memset(facts, 0, sizeof(facts));
    for (int rank = 0; rank < 3; rank++)
        facts[rank] = (struct kv_facts){.capacity = (size_t)(rank + 1) << 20, .max_objects = 10000};
    kv = mci_kv_new(0, 3, facts);
    assert_non_null(kv);
    for (int rank = 0; rank < 3; rank++)
        entries += kv->parts[rank].bucket_count * KV_SLOTS;
    assert_true(entries >= 13333 && entries < 14100);
    mci_kv_delete(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homes_are_balanced_by_weight),
        cmocka_unit_test(only_the_keys_of_a_dead_rank_move),
        cmocka_unit_test(the_directory_has_room_for_max_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
