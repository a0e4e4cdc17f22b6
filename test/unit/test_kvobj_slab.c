/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Slabs and records: which states follow which, the chain of records, headers that are none. */
#include "config.h"

#include "base/mem.h"
#include "kv_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const size_t capacity[] = {128u << 10, 0};
static struct kv_fixture f;

static int store_make(void **state)
{
    (void)state;
    kv_fixture_make(&f, 2, 1, capacity, 100);
    return 0;
}

static int store_free(void **state)
{
    (void)state;
    kv_fixture_free(&f);
    return 0;
}

static uint64_t word(uint32_t slab)
{
    uint64_t value = 0;

    assert_int_equal(mci_kv_load(f.kv[0], 0, kv_word_at(&f.kv[0]->parts[0], slab), &value),
                     MCOMM_SUCCESS);
    return value;
}

static struct kv_rec rec_make(unsigned number, size_t nbytes)
{
    struct kv_rec rec = {.kind = KV_INLINE, .value_nbytes = nbytes, .lo = number, .hi = 7};

    return rec;
}

static void append(struct mci_kv *kv, unsigned number, size_t nbytes, struct kv_room *room)
{
    struct kv_rec rec = rec_make(number, nbytes);

    assert_int_equal(
        mci_kv_slab_append(kv, 0, sizeof(rec) + nbytes, sizeof(rec) + nbytes, &rec, room),
        MCOMM_SUCCESS);
}

static void a_slab_is_sealed_when_its_last_record_is_done(void **state)
{
    struct kv_room a, b;

    (void)state;
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_FREE);
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_OPEN);
    assert_int_equal(kv_word_holder(word(0)), 0);
    append(f.kv[0], 1, 100, &a);
    append(f.kv[0], 2, 100, &b);
    mci_kv_slab_close(f.kv[0], 0);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_OPEN);
    mci_kv_room_done(f.kv[0], &b);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_OPEN);
    mci_kv_room_done(f.kv[0], &a);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_SEALED);
    mci_kv_slab_close(f.kv[0], 0); /* twice is legal */
}

static void an_empty_slab_is_taken_again_with_a_new_generation(void **state)
{
    struct kv_room room;

    (void)state;
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    append(f.kv[0], 1, 100, &room);
    mci_kv_room_done(f.kv[0], &room);
    mci_kv_slab_close(f.kv[0], 0);
    assert_int_equal(mci_kv_slab_check(f.kv[0], 0, 0, 0), MCOMM_SUCCESS);
    assert_int_equal(mci_kv_slab_open(f.kv[1], 0, 0), MCOMM_SUCCESS);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_OPEN);
    assert_int_equal(kv_word_holder(word(0)), 1);
    assert_int_equal(kv_word_gen(word(0)), 1);
    assert_int_equal(mci_kv_slab_check(f.kv[0], 0, 0, 0), MCOMM_ERR_TRY_AGAIN);
}

static void a_pinned_slab_is_not_taken(void **state)
{
    struct kv_room room;

    (void)state;
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    append(f.kv[0], 1, 100, &room);
    mci_kv_room_done(f.kv[0], &room);
    mci_kv_slab_close(f.kv[0], 0);
    mci_kv_slab_pin(f.kv[1], 0, 0, 1);
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    assert_int_equal(f.kv[0]->open[0].slab, 1);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_SEALED);
    assert_true(mci_kv_slab_is_pinned(f.kv[0], 0, 0));
    mci_kv_rank_died(f.kv[0], 1); /* a dead rank's pins are void */
    mci_kv_settle(f.kv[0]);
    assert_false(mci_kv_slab_is_pinned(f.kv[0], 0, 0));
}

static void what_the_dead_held_is_sealed_by_who_finds_it(void **state)
{
    struct kv_room room;
    uint64_t *words;

    (void)state;
    assert_int_equal(mci_kv_slab_open(f.kv[1], 0, 0), MCOMM_SUCCESS);
    append(f.kv[1], 1, 100, &room);
    assert_int_equal(mci_kv_slab_free_count(f.kv[0], 0), f.kv[0]->parts[0].slab_count - 1);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_OPEN);
    mci_kv_rank_died(f.kv[0], 1);
    mci_kv_settle(f.kv[0]);
    assert_int_equal(mci_kv_slab_words(f.kv[0], 0, &words), MCOMM_SUCCESS);
    assert_int_equal(kv_word_state(words[0]), KV_SLAB_SEALED);
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_SEALED);
    mci_kv_room_done(f.kv[1], &room); /* it was only slow: its slab is not its own any more */
    assert_int_equal(kv_word_state(word(0)), KV_SLAB_SEALED);
    mci_mem_free(words);
}

static void a_full_slab_is_a_chain_to_its_end(void **state)
{
    uint64_t slab_nbytes = f.kv[0]->parts[0].slab_nbytes, pos = 0;
    unsigned count = 0, found = 0;
    struct kv_rec rec = rec_make(0, 0);
    struct kv_room room;

    (void)state;
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    for (;; count++) {
        size_t nbytes = 1 + count * 37 % 600;

        rec = rec_make(count, nbytes);
        if (mci_kv_slab_append(f.kv[0], 0, sizeof(rec) + nbytes, sizeof(rec) + nbytes, &rec,
                               &room) != MCOMM_SUCCESS)
            break;
        mci_kv_room_done(f.kv[0], &room);
    }
    assert_true(count > 20);
    while (pos + sizeof(rec) <= slab_nbytes) {
        memcpy(&rec, f.memory[0][KV_DATA] + pos, sizeof(rec));
        if (!mci_kv_rec_is_valid(&rec, slab_nbytes - pos))
            break;
        assert_int_equal(rec.lo, found);
        found++;
        pos += rec.nbytes;
    }
    assert_int_equal(found, count);
}

static void an_extent_takes_what_is_left(void **state)
{
    uint64_t slab_nbytes = f.kv[0]->parts[0].slab_nbytes;
    struct kv_rec rec = {.kind = KV_EXTENT, .value_nbytes = 1000000};
    struct kv_room room;

    (void)state;
    assert_int_equal(mci_kv_slab_open(f.kv[0], 0, 0), MCOMM_SUCCESS);
    append(f.kv[0], 1, 1000, &room);
    assert_int_equal(mci_kv_slab_append(f.kv[0], 0, 2000, 1000064, &rec, &room), MCOMM_SUCCESS);
    assert_int_equal(room.at + rec.nbytes, slab_nbytes);
    assert_int_equal(rec.value_nbytes, rec.nbytes - sizeof(rec));
    assert_true(mci_kv_rec_is_valid(&rec, rec.nbytes));
    assert_int_equal(mci_kv_slab_append(f.kv[0], 0, 64, 64, &rec, &room), MCOMM_ERR_TRY_AGAIN);
}

static void changed_headers_are_no_headers(void **state)
{
    struct kv_rec good = rec_make(5, 100), bad;

    (void)state;
    good.magic = KV_MAGIC;
    good.nbytes = 192;
    good.check = mci_kv_rec_check(&good);
    assert_true(mci_kv_rec_is_valid(&good, 192));
    assert_false(mci_kv_rec_is_valid(&good, 128)); /* over the end of its slab */
    for (size_t i = 0; i < sizeof(struct kv_rec); i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bad = good;
            ((unsigned char *)&bad)[i] ^= (unsigned char)(1u << bit);
            assert_false(mci_kv_rec_is_valid(&bad, 192));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slab_is_sealed_when_its_last_record_is_done, store_make,
                                        store_free),
        cmocka_unit_test_setup_teardown(an_empty_slab_is_taken_again_with_a_new_generation,
                                        store_make, store_free),
        cmocka_unit_test_setup_teardown(a_pinned_slab_is_not_taken, store_make, store_free),
        cmocka_unit_test_setup_teardown(what_the_dead_held_is_sealed_by_who_finds_it, store_make,
                                        store_free),
        cmocka_unit_test_setup_teardown(a_full_slab_is_a_chain_to_its_end, store_make, store_free),
        cmocka_unit_test_setup_teardown(an_extent_takes_what_is_left, store_make, store_free),
        cmocka_unit_test(changed_headers_are_no_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
