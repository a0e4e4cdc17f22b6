/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Whole stores in plain memory: random operations of several ranks against a table, with and
 * without pressure, mapped and remote parts; values in extents; views; slabs of the dead.
 */
#include "config.h"

#include "base/mem.h"
#include "kv_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 400u

static uint64_t seed = 20260301;
static char bytes[4 << 20], out[4 << 20];

static uint64_t next_random(void)
{
    return seed = mci_hash_mix(seed, 1);
}

struct entry { /* of the model */
    bool is_there;
    unsigned version;
    size_t nbytes;
};

static mcomm_err_t put(struct mci_kv *kv, unsigned number, unsigned version, size_t nbytes,
                       unsigned mode)
{
    return kv_fixture_put(kv, bytes, number, version, nbytes, mode);
}

static mcomm_err_t get(struct mci_kv *kv, unsigned number, size_t *nbytes_p)
{
    *nbytes_p = sizeof(out);
    return kv_fixture_get(kv, number, out, nbytes_p);
}

/* may_be_gone: eviction is allowed; what is there must still be right. */
static void expect(struct mci_kv *kv, unsigned number, struct entry *e, bool may_be_gone)
{
    size_t nbytes;
    mcomm_err_t err = get(kv, number, &nbytes);

    if (err == MCOMM_ERR_NOT_FOUND && (may_be_gone || !e->is_there)) {
        e->is_there = false;
        return;
    }
    assert_int_equal(err, MCOMM_SUCCESS);
    assert_true(e->is_there);
    assert_int_equal(nbytes, e->nbytes);
    assert_true(kv_fixture_check(out, nbytes, number, e->version));
}

static void stats_agree(struct mci_kv *kv, const struct entry *model)
{
    mcomm_kv_stats_t stats;
    uint64_t objects = 0, used = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        objects += model[i].is_there;
        used += model[i].is_there ? model[i].nbytes : 0;
    }
    assert_int_equal(mci_kv_get_stats(kv, &stats), MCOMM_SUCCESS);
    assert_int_equal(stats.objects, objects);
    assert_int_equal(stats.used, used);
}

static size_t random_size(size_t max)
{
    switch (next_random() % 4) {
    case 0:
        return next_random() % 64;
    case 1:
        return next_random() % max;
    default:
        return next_random() % (max / 8 + 1);
    }
}

static void random_step(struct kv_fixture *f, struct entry *model, unsigned step, size_t max,
                        bool may_be_gone)
{
    struct mci_kv *kv = f->kv[next_random() % (unsigned)f->size];
    unsigned number = (unsigned)(next_random() % KEYS), what = (unsigned)(next_random() % 10);
    struct entry *e = &model[number];
    size_t nbytes = random_size(max);
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, number);
    mcomm_err_t err;

    if (what < 4) {
        unsigned mode = (unsigned)(next_random() % 3);

        expect(kv, number, e, may_be_gone);
        err = put(kv, number, step, nbytes, mode);
        if (e->is_there && mode == MCOMM_KV_EXCLUSIVE) {
            assert_int_equal(err, MCOMM_ERR_EXISTS);
            return;
        }
        assert_int_equal(err, MCOMM_SUCCESS);
        if (!e->is_there || mode == MCOMM_KV_REPLACE)
            *e = (struct entry){true, step, nbytes};
    } else if (what == 4) {
        err = mci_kv_remove(kv, &key);
        if (err == MCOMM_ERR_NOT_FOUND)
            assert_true(may_be_gone || !e->is_there);
        else
            assert_int_equal(err, MCOMM_SUCCESS);
        e->is_there = false;
    } else {
        expect(kv, number, e, may_be_gone);
    }
}

static void random_run(int size, int nodes, const size_t *capacity, size_t max, unsigned steps,
                       bool may_be_gone)
{
    static struct entry model[KEYS];
    struct kv_fixture f;

    memset(model, 0, sizeof(model));
    kv_fixture_make(&f, size, nodes, capacity, 2 * KEYS);
    for (unsigned step = 0; step < steps; step++)
        random_step(&f, model, step, max, may_be_gone);
    for (unsigned i = 0; i < KEYS; i++)
        expect(f.kv[i % (unsigned)size], i, &model[i], may_be_gone);
    stats_agree(f.kv[0], model);
    kv_fixture_free(&f);
}

static void agrees_with_a_table_when_there_is_room(void **state)
{
    static const size_t four[] = {32u << 20, 16u << 20, 0, 32u << 20};
    static const size_t one[] = {64u << 20};

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    random_run(1, 1, one, 100000, 20000, false);
    random_run(4, 1, four, 100000, 20000, false);
    random_run(4, 2, four, 100000, 20000, false);
}

static void agrees_with_a_table_under_pressure(void **state)
{
    static const size_t one[] = {1u << 20}, three[] = {512u << 10, 0, 300u << 10};

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    random_run(1, 1, one, 60000, 20000, true);
    random_run(3, 1, three, 60000, 20000, true);
    random_run(3, 3, three, 60000, 20000, true);
}

static void a_value_larger_than_a_slab_is_one_object(void **state)
{
    static const size_t capacity[] = {2u << 20, 2u << 20};
    struct kv_fixture f;
    struct entry e = {true, 7, 3u << 20};

    (void)state;
    kv_fixture_make(&f, 2, 1, capacity, 100);
    for (unsigned i = 0; i < 20; i++) {
        e.version = i;
        assert_int_equal(put(f.kv[i % 2], 1, i, e.nbytes, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        expect(f.kv[0], 1, &e, false);
        expect(f.kv[1], 1, &e, false);
    }
    kv_fixture_free(&f);
}

static void what_can_never_fit_is_refused_at_once(void **state)
{
    static const size_t capacity[] = {1u << 20};
    struct kv_fixture f;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 100);
    assert_int_equal(put(f.kv[0], 1, 1, 2u << 20, MCOMM_KV_REPLACE), MCOMM_ERR_TOO_LARGE);
    assert_int_equal(f.kv[0]->stat.waits_space, 0);
    kv_fixture_free(&f);
}

/* All slabs full of one big view: nothing can be cleaned. */
static void views_stay_whatever_is_put(void **state)
{
    static const size_t capacity[] = {1u << 20};
    struct kv_fixture f;
    mcomm_kv_view_t views[16];
    char buf[32];
    struct kv_key key;
    unsigned count = 0;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 2000);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(put(f.kv[0], i, i, 5000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        key = kv_fixture_key(buf, i);
        assert_int_equal(mci_kv_acquire(f.kv[0], &key, &views[i]), MCOMM_SUCCESS);
        assert_int_equal(views[i].is_copy, 0);
    }
    for (unsigned i = 100; i < 1500; i++)
        assert_int_equal(put(f.kv[0], i, i, 5000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    for (unsigned i = 0; i < 16; i++) {
        struct entry e = {true, i, 5000};

        assert_true(kv_fixture_check(views[i].data, views[i].nbytes, i, i));
        expect(f.kv[0], i, &e, false);
        mci_kv_release(f.kv[0], &views[i]);
        assert_null(views[i].token);
    }
    for (unsigned i = 2000; i < 2500; i++)
        assert_int_equal(put(f.kv[0], i, i, 5000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    for (unsigned i = 0; i < 16; i++) {
        size_t nbytes;

        count += get(f.kv[0], i, &nbytes) == MCOMM_SUCCESS;
    }
    assert_int_equal(count, 0);
    kv_fixture_free(&f);
}

static void a_store_full_of_views_says_no_space(void **state)
{
    static const size_t capacity[] = {64u << 10};
    struct kv_fixture f;
    mcomm_kv_view_t views[64];
    mcomm_err_t err = MCOMM_SUCCESS;
    unsigned count = 0;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 2000);
    f.kv[0]->put_timeout_ms = 50;
    while (count < 64) {
        char buf[32];
        struct kv_key key = kv_fixture_key(buf, count);

        err = put(f.kv[0], count, count, 4000, MCOMM_KV_REPLACE);
        if (err != MCOMM_SUCCESS)
            break;
        assert_int_equal(mci_kv_acquire(f.kv[0], &key, &views[count]), MCOMM_SUCCESS);
        count++;
    }
    assert_int_equal(err, MCOMM_ERR_NO_SPACE);
    assert_true(count >= 12);
    assert_true(f.kv[0]->stat.waits_space > 0);
    for (unsigned i = 0; i < count; i++) {
        assert_true(kv_fixture_check(views[i].data, views[i].nbytes, i, i));
        mci_kv_release(f.kv[0], &views[i]);
    }
    assert_int_equal(put(f.kv[0], 99, 1, 4000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    kv_fixture_free(&f);
}

static void what_is_read_outlives_what_is_not(void **state)
{
    static const size_t capacity[] = {4u << 20};
    struct kv_fixture f;
    size_t nbytes;
    unsigned hot = 0, cold = 0;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 20000);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(put(f.kv[0], i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        assert_int_equal(put(f.kv[0], 1000 + i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    }
    for (unsigned i = 2000; i < 12000; i++) {
        assert_int_equal(put(f.kv[0], i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        if (i % 100 == 0)
            for (unsigned k = 0; k < 100; k++)
                (void)get(f.kv[0], k, &nbytes);
    }
    for (unsigned i = 0; i < 100; i++) {
        hot += get(f.kv[0], i, &nbytes) == MCOMM_SUCCESS;
        cold += get(f.kv[0], 1000 + i, &nbytes) == MCOMM_SUCCESS;
    }
    assert_int_equal(hot, 100);
    assert_int_equal(cold, 0);
    kv_fixture_free(&f);
}

static void asking_for_existence_is_no_use(void **state)
{
    static const size_t capacity[] = {1u << 20};
    struct kv_fixture f;
    void *none = NULL;
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 20000);
    for (unsigned i = 0; i < 5000; i++) {
        char buf[32];

        assert_int_equal(put(f.kv[0], i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        for (unsigned k = 0; k < 10; k++) {
            struct kv_key key = kv_fixture_key(buf, k);

            (void)mci_kv_get(f.kv[0], &key, KV_WANT_SIZE, &none, &nbytes);
        }
    }
    for (unsigned k = 0; k < 10; k++)
        assert_int_equal(get(f.kv[0], k, &nbytes), MCOMM_ERR_NOT_FOUND);
    kv_fixture_free(&f);
}

static void more_than_max_objects_evicts(void **state)
{
    static const size_t capacity[] = {4u << 20};
    struct kv_fixture f;
    mcomm_kv_stats_t stats;
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 100);
    for (unsigned i = 0; i < 3000; i++) {
        assert_int_equal(put(f.kv[0], i, i, 10, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        assert_int_equal(get(f.kv[0], i, &nbytes), MCOMM_SUCCESS);
    }
    assert_int_equal(mci_kv_get_stats(f.kv[0], &stats), MCOMM_SUCCESS);
    assert_true(stats.objects >= 100 && stats.objects < 200);
    assert_int_equal(stats.objects + stats.evictions, 3000);
    kv_fixture_free(&f);
}

static void objects_of_a_dead_rank_are_gone_and_the_rest_stays(void **state)
{
    static const size_t capacity[] = {8u << 20, 8u << 20, 8u << 20};
    struct kv_fixture f;
    struct entry e[100];
    unsigned there = 0;
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 3, 1, capacity, 2000);
    for (unsigned i = 0; i < 100; i++) {
        e[i] = (struct entry){true, i, 3000};
        assert_int_equal(put(f.kv[i % 3], i, i, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    }
    mci_kv_rank_died(f.kv[0], 2);
    mci_kv_rank_died(f.kv[1], 2);
    for (unsigned i = 0; i < 100; i++) {
        if (i % 3 == 2)
            assert_int_equal(get(f.kv[0], i, &nbytes), MCOMM_ERR_NOT_FOUND);
        else
            expect(f.kv[1], i, &e[i], true);
        there += i % 3 != 2 && e[i].is_there;
    }
    assert_true(there > 20); /* those whose directory entry was elsewhere */
    for (unsigned i = 0; i < 100; i++) {
        e[i] = (struct entry){true, i + 1, 2000};
        assert_int_equal(put(f.kv[i % 2], i, i + 1, 2000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        expect(f.kv[(i + 1) % 2], i, &e[i], false);
    }
    kv_fixture_free(&f);
}

/* Objects whose entry was at the dead rank cannot be found; their room comes back all the same. */
static void room_of_lost_objects_is_used_again(void **state)
{
    static const size_t capacity[] = {1u << 20, 1u << 20};
    struct kv_fixture f;
    mcomm_kv_stats_t stats;
    uint64_t objects = 0;

    (void)state;
    kv_fixture_make(&f, 2, 1, capacity, 4000);
    for (unsigned i = 0; i < 800; i++)
        assert_int_equal(put(f.kv[0], i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    mci_kv_rank_died(f.kv[0], 1);
    for (unsigned i = 1000; i < 5000; i++)
        assert_int_equal(put(f.kv[0], i, i, 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    for (unsigned i = 0; i < 5000; i++) {
        size_t nbytes;

        objects += get(f.kv[0], i, &nbytes) == MCOMM_SUCCESS;
    }
    assert_int_equal(mci_kv_get_stats(f.kv[0], &stats), MCOMM_SUCCESS);
    assert_int_equal(stats.objects, objects);
    assert_true(objects > 600);
    kv_fixture_free(&f);
}

/* A rank fills the store of another and dies: its open slab, its locks and its pins are void. */
static void what_a_dead_client_held_is_void(void **state)
{
    static const size_t capacity[] = {256u << 10, 0, 0};
    struct kv_fixture f;
    mcomm_kv_view_t view;
    struct kv_bucket *bk;
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, 1);

    (void)state;
    kv_fixture_make(&f, 3, 1, capacity, 2000);
    assert_int_equal(put(f.kv[1], 1, 1, 2000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(mci_kv_acquire(f.kv[1], &key, &view), MCOMM_SUCCESS);
    key = kv_fixture_key(buf, 2);
    bk = mci_kv_dir_peek(f.kv[0], key.hash);
    bk->lock = 2; /* rank 1 */
    for (unsigned i = 0; i < KV_SLOTS; i++)
        if (bk->loc[i] == 0)
            bk->loc[i] = kv_loc_claim(1);
    mci_kv_rank_died(f.kv[0], 1);
    mci_kv_rank_died(f.kv[2], 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(put(f.kv[i % 2 * 2], 2 + i % 300, i, 2000, MCOMM_KV_REPLACE),
                         MCOMM_SUCCESS);
    assert_false(mci_kv_slab_is_pinned(f.kv[0], 0, kv_slab_of(&f.kv[0]->parts[0], 0)));
    mci_kv_release(f.kv[1], &view);
    kv_fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_table_when_there_is_room),
        cmocka_unit_test(agrees_with_a_table_under_pressure),
        cmocka_unit_test(a_value_larger_than_a_slab_is_one_object),
        cmocka_unit_test(what_can_never_fit_is_refused_at_once),
        cmocka_unit_test(views_stay_whatever_is_put),
        cmocka_unit_test(a_store_full_of_views_says_no_space),
        cmocka_unit_test(what_is_read_outlives_what_is_not),
        cmocka_unit_test(asking_for_existence_is_no_use),
        cmocka_unit_test(more_than_max_objects_evicts),
        cmocka_unit_test(objects_of_a_dead_rank_are_gone_and_the_rest_stays),
        cmocka_unit_test(room_of_lost_objects_is_used_again),
        cmocka_unit_test(what_a_dead_client_held_is_void),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
