/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory that local processes share: regions are mapped from a process that does nothing, and
 * copies from and to a process's memory work, or say why not.
 */
#include "rail_shm_kid.h"

#include <signal.h>

static void regions_of_an_idle_process_can_be_mapped(void **state)
{
    struct kid kid = kid_start("region");
    size_t nbytes = 0;
    void *base = NULL, *again = NULL;

    (void)state;
    assert_int_equal(mci_region_map(kid_seen.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_SUCCESS);
    assert_int_equal(nbytes, 1 << 20);
    assert_int_equal(pattern_check(base, nbytes, 7, 0), nbytes);
    assert_int_equal(mci_region_map(kid_seen.peer, kid.region_id + 1, 10000, &again, &nbytes),
                     MCOMM_ERR_NOT_FOUND);
    assert_int_equal(mci_region_map(kid_seen.peer, kid.region_id, 10000, &again, &nbytes),
                     MCOMM_SUCCESS);
    memset(base, 0x5a, nbytes);
    assert_int_equal(((uint8_t *)again)[12345], 0x5a);
    kill(kid.pid, SIGKILL);
    kid_wait_failure();
    assert_int_equal(((uint8_t *)again)[54321], 0x5a); /* outlives its owner, no SIGBUS */
    mci_region_unmap(base, nbytes);
    mci_region_unmap(again, nbytes);
    assert_int_equal(mci_region_map(kid_seen.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_ERR_PROC_FAILED);
    kid_end(&kid, true);
}

static void cross_memory_copies_work_or_say_why_not(void **state)
{
    struct kid kid = kid_start("region");
    uint64_t word = 0, other = 0x8877665544332211;
    size_t nbytes;
    void *base;

    (void)state;
    assert_int_equal(mci_region_map(kid_seen.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_SUCCESS);
    mci_region_unmap(base, nbytes);
    if (mci_peer_can_cma(kid_seen.peer) != 1) {
        printf("# no cross-memory attach here\n");
        assert_int_equal(mci_peer_cma_read(kid_seen.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_ERR_UNSUPPORTED);
    } else {
        assert_int_equal(mci_peer_cma_read(kid_seen.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_SUCCESS);
        assert_int_equal(word, 0x1122334455667788);
        assert_int_equal(mci_peer_cma_write(kid_seen.peer, &other, kid.word_addr, sizeof(other)),
                         MCOMM_SUCCESS);
        assert_int_equal(mci_peer_cma_read(kid_seen.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_SUCCESS);
        assert_int_equal(word, other);
        assert_int_equal(mci_peer_cma_read(kid_seen.peer, &word, 16, sizeof(word)),
                         MCOMM_ERR_BUFFER);
    }
    kid_end(&kid, false);
}

static void frames_flow_where_cma_is_forbidden(void **state)
{
    struct kid kid = kid_start("filtered");

    (void)state;
    kid_begin();
    kid_wait_failure();
    assert_int_equal(kid_seen.done, 300);
    kid_end(&kid, false);
}

static void own_regions_can_be_mapped_and_ids_are_never_reused(void **state)
{
    struct mci_region *region;
    uint64_t last = 0;
    size_t nbytes;
    void *base;

    (void)state;
    mci_engine_lock();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mci_region_create(5000, 1 << 21, &region), MCOMM_SUCCESS);
        assert_true(region->id > last);
        last = region->id;
        assert_int_equal((uintptr_t)region->base % (1 << 21), 0);
        memset(region->base, i, 5000);
        assert_int_equal(mci_region_map(mci_peer_self(), region->id, 0, &base, &nbytes),
                         MCOMM_SUCCESS);
        mci_region_free(region);
        assert_int_equal(*(uint8_t *)base, (uint8_t)i);
        mci_region_unmap(base, nbytes);
        assert_int_equal(mci_region_map(mci_peer_self(), last, 0, &base, &nbytes),
                         MCOMM_ERR_NOT_FOUND);
    }
    assert_int_equal(mci_region_create(0, 0, &region), MCOMM_ERR_COUNT);
    assert_int_equal(mci_region_create(10, 48, &region), MCOMM_ERR_ARG);
    assert_int_equal(mci_region_create(SIZE_MAX - 5, 0, &region), MCOMM_ERR_COUNT);
    mci_engine_unlock();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_of_an_idle_process_can_be_mapped),
        cmocka_unit_test(cross_memory_copies_work_or_say_why_not),
        cmocka_unit_test(frames_flow_where_cma_is_forbidden),
        cmocka_unit_test(own_regions_can_be_mapped_and_ids_are_never_reused),
    };

    kid_main(argc, argv);
    return cmocka_run_group_tests(tests, kid_rail_up, kid_rail_down);
}
