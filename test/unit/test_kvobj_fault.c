/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What goes wrong between processes: operations of the dead that arrive late, entries that stand
 * for nothing, operations that fail half-way for want of memory, lists of pieces that would not
 * fit.
 */
#include "config.h"

#include "base/mem.h"
#include "kv_fixture.h"
#include "kvobj/kv_far.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char bytes[14u << 20], out[14u << 20];

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

/* The directory word of a key. */
static _Atomic uint64_t *entry_of(struct mci_kv *kv, unsigned number)
{
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, number);
    struct kv_spot spot;
    struct kv_bucket *bk;

    assert_int_equal(mci_kv_dir_find(kv, key.hash, &spot), MCOMM_SUCCESS);
    bk = (struct kv_bucket *)(void *)(kv->parts[spot.home].area[KV_META] +
                                      kv->parts[spot.home].dir_at);
    return &bk[spot.bucket].loc[spot.slot];
}

static void stats_are(struct mci_kv *kv, uint64_t objects, uint64_t used)
{
    mcomm_kv_stats_t stats;

    assert_int_equal(mci_kv_get_stats(kv, &stats), MCOMM_SUCCESS);
    assert_int_equal(stats.objects, objects);
    assert_int_equal(stats.used, used);
}

/* ---- late operations of the dead ---- */
/*
 * Rank 1 dies while bytes that it sent to rank 0 are still to be read there. Rank 2 hears of it
 * first, and needs room.
 */
static void a_late_write_of_a_dead_rank_meets_its_own_slab(void **state)
{
    static const size_t capacity[] = {256u << 10, 0, 0};
    struct kv_fixture f;
    struct kv_room room;
    struct kv_rec rec = {.kind = KV_INLINE, .key_nbytes = 5, .value_nbytes = 9000};
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 3, 1, capacity, 1000);
    assert_int_equal(mci_kv_slab_open(f.kv[1], 0, 0), MCOMM_SUCCESS);
    assert_int_equal(mci_kv_slab_append(f.kv[1], 0, 9100, 9100, &rec, &room), MCOMM_SUCCESS);
    mci_kv_rank_died(f.kv[2], 1);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(put(f.kv[2], i, i, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    memset(f.memory[0][KV_DATA] + room.at + 200, 0xa5, 2000); /* here some of it comes */
    for (unsigned i = 0; i < 200; i++)
        if (get(f.kv[2], i, &nbytes) == MCOMM_SUCCESS)
            assert_true(kv_fixture_check(out, nbytes, i, i));
    assert_int_equal(get(f.kv[2], 199, &nbytes), MCOMM_SUCCESS);
    mci_kv_rank_died(f.kv[0], 1); /* and now no more of it can */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t *words;

        mci_kv_settle(f.kv[2]);
        assert_int_equal(mci_kv_slab_words(f.kv[2], 0, &words), MCOMM_SUCCESS);
        assert_int_equal(kv_word_state(words[room.slab]), KV_SLAB_SEALED);
        mci_mem_free(words);
    }
    kv_fixture_free(&f);
}

/* The same with a lock and a claim: who unlocks late would unlock for two. */
static void locks_and_claims_of_the_dead_stay_until_it_is_cut_off(void **state)
{
    static const size_t capacity[] = {256u << 10, 0, 0};
    struct kv_fixture f;
    struct kv_bucket *bk;
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, 7);

    (void)state;
    kv_fixture_make(&f, 3, 1, capacity, 1000);
    f.kv[2]->put_timeout_ms = 20;
    bk = mci_kv_dir_peek(f.kv[0], key.hash);
    bk->lock = 2; /* rank 1 */
    bk->loc[0] = kv_loc_claim(1);
    mci_kv_rank_died(f.kv[2], 1);
    assert_int_equal(put(f.kv[2], 7, 1, 100, MCOMM_KV_REPLACE), MCOMM_ERR_TIMEOUT);
    assert_false(kv_is_void(f.kv[2], 1));
    mci_kv_rank_died(f.kv[0], 1);
    assert_int_equal(put(f.kv[2], 7, 1, 100, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_true(kv_is_void(f.kv[2], 1));
    assert_int_equal(kv_loc_rank(bk->loc[0]), 0);
    kv_fixture_free(&f);
}

/* ---- entries that stand for nothing ---- */
static void lost_entry_is_no_object(struct kv_fixture *f, uint64_t loc)
{
    size_t nbytes;

    *entry_of(f->kv[0], 1) = loc;
    assert_int_equal(get(f->kv[0], 1, &nbytes), MCOMM_ERR_NOT_FOUND);
    assert_int_equal(put(f->kv[0], 1, 2, 500, MCOMM_KV_IF_ABSENT), MCOMM_SUCCESS);
    assert_int_equal(get(f->kv[0], 1, &nbytes), MCOMM_SUCCESS);
    assert_int_equal(nbytes, 500);
    assert_true(kv_fixture_check(out, nbytes, 1, 2));
}

static void an_entry_of_a_slab_that_was_used_again_is_absent(void **state)
{
    static const size_t capacity[] = {1u << 20};
    struct kv_fixture f;
    struct kv_key key;
    char buf[32];
    uint64_t loc;
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 1000);
    assert_int_equal(put(f.kv[0], 1, 1, 100, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(put(f.kv[0], 2, 1, 300, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    loc = *entry_of(f.kv[0], 2);
    lost_entry_is_no_object(&f, loc);                                  /* another key's record */
    lost_entry_is_no_object(&f, *entry_of(f.kv[0], 1) + (1ull << 48)); /* of a generation to come */
    lost_entry_is_no_object(&f, loc + 1);                              /* none at all */
    assert_int_equal(get(f.kv[0], 2, &nbytes), MCOMM_SUCCESS);
    assert_int_equal(nbytes, 300);
    *entry_of(f.kv[0], 1) = loc;
    key = kv_fixture_key(buf, 1);
    assert_int_equal(mci_kv_remove(f.kv[0], &key), MCOMM_ERR_NOT_FOUND);
    assert_int_equal(put(f.kv[0], 1, 3, 50, MCOMM_KV_EXCLUSIVE), MCOMM_SUCCESS);
    *entry_of(f.kv[0], 1) = loc;
    assert_int_equal(put(f.kv[0], 1, 3, 50, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    /* what was cut off by force was never counted down; nothing else is wrong */
    stats_are(f.kv[0], 2 + 5, 300 + 50 + 100 + 500 * 3 + 50);
    kv_fixture_free(&f);
}

/* ---- no memory half-way ---- */
static struct kv_remote_ops real;
static unsigned fail_in; /* calls from now; 0: never */

static bool is_to_fail(void)
{
    return fail_in > 0 && --fail_in == 0;
}

static mcomm_err_t scarce_get(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                              void *buf, size_t nbytes)
{
    return is_to_fail() ? MCOMM_ERR_NO_MEM : real.get(kv, rank, area, at, buf, nbytes);
}

static mcomm_err_t scarce_put(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                              const void *buf, size_t nbytes)
{
    return is_to_fail() ? MCOMM_ERR_NO_MEM : real.put(kv, rank, area, at, buf, nbytes);
}

static mcomm_err_t scarce_cas(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect,
                              uint64_t want, uint64_t *seen_p)
{
    return is_to_fail() ? MCOMM_ERR_NO_MEM : real.cas(kv, rank, at, expect, want, seen_p);
}

static mcomm_err_t scarce_add(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                              size_t count)
{
    return is_to_fail() ? MCOMM_ERR_NO_MEM : real.add(kv, rank, at, deltas, count);
}

#define SCARCE_KEYS 12u
static void all_are_whole(struct kv_fixture *f, const unsigned *version, size_t nbytes)
{
    uint64_t objects = 0;

    for (unsigned i = 0; i < SCARCE_KEYS; i++) {
        size_t got;
        mcomm_err_t err = get(f->kv[0], i, &got);

        if (err == MCOMM_ERR_NOT_FOUND)
            continue;
        assert_int_equal(err, MCOMM_SUCCESS);
        assert_int_equal(got, nbytes);
        assert_true(kv_fixture_check(out, got, i, version[i]));
        objects++;
    }
    stats_are(f->kv[0], objects, objects * nbytes);
}

/*
 * A client on another node keeps putting values in pieces into a store that is full, and the n-th
 * of its remote operations fails: the put fails or not, and nothing else happens to the store.
 */
static void an_operation_that_fails_half_way_harms_nothing(void **state)
{
    static const size_t capacity[] = {256u << 10, 0};
    unsigned version[SCARCE_KEYS] = {0}, failed = 0;
    struct kv_remote_ops scarce;
    struct kv_fixture f;
    size_t nbytes = 40000;

    (void)state;
    kv_fixture_make(&f, 2, 2, capacity, 1000);
    scarce = real = *f.kv[1]->remote;
    scarce.get = scarce_get;
    scarce.put = scarce_put;
    scarce.cas = scarce_cas;
    scarce.add = scarce_add;
    f.kv[1]->remote = &scarce;
    for (unsigned n = 1; n < 1000; n++) {
        unsigned i = n % SCARCE_KEYS;
        mcomm_err_t err;

        fail_in = n / 4 + 1;
        err = put(f.kv[1], i, n, nbytes, MCOMM_KV_REPLACE);
        fail_in = 0;
        if (err != MCOMM_SUCCESS)
            assert_int_equal(err, MCOMM_ERR_NO_MEM);
        if (err == MCOMM_SUCCESS)
            version[i] = n;
        failed += err != MCOMM_SUCCESS;
        all_are_whole(&f, version, nbytes);
        assert_int_equal(put(f.kv[0], i, n + 10000, nbytes, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
        version[i] = n + 10000;
    }
    assert_true(failed > 20);
    printf("%u puts failed\n", failed);
    kv_fixture_free(&f);
}

/* ---- lists of pieces ---- */
static void a_value_of_too_many_pieces_is_refused_at_once(void **state)
{
    size_t capacity[FIXTURE_RANKS], nbytes;
    struct kv_fixture f;

    (void)state;
    for (unsigned i = 0; i < FIXTURE_RANKS; i++)
        capacity[i] = (2u << 20) - 1; /* the smallest slabs that there are */
    kv_fixture_make(&f, FIXTURE_RANKS, 1, capacity, 1000);
    for (unsigned i = 0; i < 100; i++) /* leaves only rests here and there */
        assert_int_equal(put(f.kv[i % FIXTURE_RANKS], 100 + i, i, 9000, MCOMM_KV_REPLACE),
                         MCOMM_SUCCESS);
    assert_int_equal(put(f.kv[0], 1, 1, 12u << 20, MCOMM_KV_REPLACE), MCOMM_ERR_TOO_LARGE);
    assert_non_null(strstr(mcomm_last_error(), "12582912"));
    assert_int_equal(f.kv[0]->stat.waits_space, 0);
    assert_int_equal(get(f.kv[0], 100, &nbytes), MCOMM_SUCCESS);
    assert_int_equal(put(f.kv[0], 1, 1, 11u * 1000 * 1000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(get(f.kv[5], 1, &nbytes), MCOMM_SUCCESS);
    assert_int_equal(nbytes, 11u * 1000 * 1000);
    assert_true(kv_fixture_check(out, nbytes, 1, 1));
    kv_fixture_free(&f);
}

/* ---- views ---- */
static void a_view_is_released_once_and_to_its_own_store(void **state)
{
    static const size_t capacity[] = {1u << 20};
    struct kv_fixture f, g;
    mcomm_kv_view_t view, copy, bad;
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, 1);

    (void)state;
    kv_fixture_make(&f, 1, 1, capacity, 1000);
    kv_fixture_make(&g, 1, 1, capacity, 1000);
    assert_int_equal(put(f.kv[0], 1, 1, 0, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(mci_kv_acquire(f.kv[0], &key, &view), MCOMM_SUCCESS);
    copy = bad = view;
    bad.rank = 7;
    assert_int_equal(mci_kv_release(g.kv[0], &copy), MCOMM_ERR_ARG);
    assert_int_equal(mci_kv_release(f.kv[0], &bad), MCOMM_ERR_ARG);
    bad = view;
    bad.data = f.memory[0][KV_DATA];
    assert_int_equal(mci_kv_release(f.kv[0], &bad), MCOMM_ERR_ARG);
    assert_true(mci_kv_slab_is_pinned(f.kv[0], 0, 0));
    assert_int_equal(mci_kv_release(f.kv[0], &view), MCOMM_SUCCESS);
    assert_int_equal(mci_kv_release(f.kv[0], &copy), MCOMM_ERR_STATE);
    assert_false(mci_kv_slab_is_pinned(f.kv[0], 0, 0));
    kv_fixture_free(&g);
    kv_fixture_free(&f);
}

/* ---- ranks that do not answer ---- */
#define MANY 600u

static void items_make(mcomm_kv_item_t *items, char (*keys)[32])
{
    for (unsigned i = 0; i < MANY; i++) {
        struct kv_key key = kv_fixture_key(keys[i], i);

        items[i] = (mcomm_kv_item_t){key.ptr, key.nbytes, bytes + 64 * i, 64, MCOMM_SUCCESS};
    }
}

/* Every entry has its end: that of its home. */
static void items_are(const struct mci_kv *kv, const mcomm_kv_item_t *items, int stopped)
{
    for (unsigned i = 0; i < MANY; i++) {
        int home = kv_home(kv, kv_key_make(items[i].key, items[i].key_nbytes).hash);

        assert_int_equal(items[i].error, home == stopped ? MCOMM_ERR_TIMEOUT : MCOMM_SUCCESS);
    }
}

static void a_batch_waits_once_for_a_rank_that_is_stopped(void **state)
{
    static const size_t capacity[] = {4u << 20, 4u << 20, 4u << 20};
    static const struct kv_put_how how = {.mode = MCOMM_KV_REPLACE, .preferred = 0};
    static mcomm_kv_item_t items[MANY];
    static char keys[MANY][32];
    struct kv_fixture f;

    (void)state;
    kv_fixture_make(&f, 3, 3, capacity, 10000);
    items_make(items, keys);
    assert_int_equal(mci_kv_group_put(f.kv[0], items, MANY, &how), MCOMM_SUCCESS);
    f.stopped = 1u << 2;
    mci_kv_late_forget();
    assert_int_equal(mci_kv_group_get(f.kv[0], items, MANY, KV_WANT_INTO), MCOMM_ERR_TIMEOUT);
    items_are(f.kv[0], items, 2);
    assert_int_equal(f.waits, 1);
    mci_kv_late_forget();
    assert_int_equal(mci_kv_group_put(f.kv[0], items, MANY, &how), MCOMM_ERR_TIMEOUT);
    items_are(f.kv[0], items, 2);
    assert_int_equal(f.waits, 2);
    mci_kv_late_forget();
    assert_int_equal(mci_kv_group_remove(f.kv[0], items, MANY), MCOMM_ERR_TIMEOUT);
    items_are(f.kv[0], items, 2);
    assert_int_equal(f.waits, 3);
    f.stopped = 0;
    kv_fixture_free(&f);
}

/* The home applies a put after the writer has given up: what is there must be counted. */
static void a_late_publish_is_counted(void **state)
{
    static const size_t capacity[] = {4u << 20, 4u << 20};
    struct kv_fixture f;
    unsigned number = 0;
    char buf[32];
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 2, 2, capacity, 1000);
    while (!kv_is_home_far(f.kv[0], kv_fixture_key(buf, number).hash))
        number++;
    for (unsigned size = 100; size <= 60000; size *= 600) { /* the larger one lies here already */
        f.is_late = true;
        mci_kv_late_forget();
        assert_int_equal(put(f.kv[0], number, size, size, MCOMM_KV_REPLACE), MCOMM_ERR_TIMEOUT);
        f.is_late = false;
        mci_kv_late_forget();
        assert_int_equal(get(f.kv[0], number, &nbytes), MCOMM_SUCCESS);
        assert_int_equal(nbytes, size);
        stats_are(f.kv[0], 1, size);
        assert_int_equal(mci_kv_remove(f.kv[0], (struct kv_key[]){kv_fixture_key(buf, number)}),
                         MCOMM_SUCCESS);
        stats_are(f.kv[0], 0, 0);
    }
    kv_fixture_free(&f);
}

/*
 * A put is given up, and its home goes on long afterwards, when its record would have been thrown
 * away to make room: the record stays until then.
 */
static void a_late_publish_finds_its_record(void **state)
{
    static const size_t capacity[] = {256u << 10, 256u << 10};
    struct kv_fixture f;
    unsigned number = 0;
    char buf[32];
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 2, 2, capacity, 1000);
    while (!kv_is_home_far(f.kv[0], kv_fixture_key(buf, number).hash))
        number++;
    f.kv[0]->put_timeout_ms = 0;
    f.is_delayed = true;
    assert_int_equal(put(f.kv[0], number, 2, 3000, MCOMM_KV_REPLACE), MCOMM_ERR_TIMEOUT);
    f.is_delayed = false;
    mci_kv_late_forget();
    assert_int_equal(f.delayed_count, 1);
    for (unsigned i = 0; i < 500; i++)
        if (!kv_is_home_far(f.kv[0], kv_fixture_key(buf, 1000 + i).hash))
            assert_int_equal(put(f.kv[0], 1000 + i, 1, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    kv_fixture_go_on(&f);
    assert_int_equal(get(f.kv[0], number, &nbytes), MCOMM_SUCCESS);
    assert_int_equal(nbytes, 3000);
    assert_true(kv_fixture_check(out, nbytes, number, 2));
    for (unsigned i = 0; i < 500; i++) /* and then no longer than others */
        if (!kv_is_home_far(f.kv[0], kv_fixture_key(buf, 2000 + i).hash))
            assert_int_equal(put(f.kv[0], 2000 + i, 1, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(get(f.kv[0], number, &nbytes), MCOMM_ERR_NOT_FOUND);
    kv_fixture_free(&f);
}

/* A slab that was asked for in vain is not held for ever. */
static void a_slab_that_was_taken_too_late_is_let_go(void **state)
{
    static const size_t capacity[] = {256u << 10, 0};
    struct kv_fixture f;
    uint64_t *words;

    (void)state;
    kv_fixture_make(&f, 2, 2, capacity, 1000);
    f.is_late = true;
    f.kv[1]->put_timeout_ms = 0;
    mci_kv_late_forget();
    assert_int_not_equal(put(f.kv[1], 1, 1, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    f.is_late = false;
    mci_kv_late_forget();
    assert_int_equal(mci_kv_slab_words(f.kv[0], 0, &words), MCOMM_SUCCESS);
    for (uint32_t i = 0; i < f.kv[0]->parts[0].slab_count; i++)
        assert_int_equal(kv_word_state(words[i]), KV_SLAB_FREE);
    mci_mem_free(words);
    assert_int_equal(put(f.kv[1], 1, 1, 3000, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    stats_are(f.kv[0], 1, 3000);
    kv_fixture_free(&f);
}

/* ---- answers that make no sense ---- */
static struct {
    struct {
        struct kv_answer head;
        char body[4096];
    } answers[3];
    unsigned count, next; /* one a call, or all at once */
    bool is_at_once;
} lies;

static void lying_call_start(struct mci_kv *kv, struct kv_call *call, const void *asks,
                             size_t nbytes)
{
    (void)kv;
    (void)asks;
    (void)nbytes;
    do {
        struct kv_answer *head = &lies.answers[lies.next].head;

        lies.next += lies.next + 1 < lies.count;
        assert_true(mci_kv_call_take(call, head, sizeof(*head) + head->nbytes));
    } while (lies.is_at_once && call->left > 0);
}

static void lie(unsigned i, enum kv_say say, mcomm_err_t err, uint64_t value_nbytes,
                uint64_t offset, uint64_t nbytes)
{
    lies.answers[i].head = (struct kv_answer){.err = (uint16_t)err,
                                              .say = (uint16_t)say,
                                              .value_nbytes = value_nbytes,
                                              .offset = offset,
                                              .nbytes = nbytes};
    lies.count = i + 1;
    lies.next = 0;
}

static void a_home_that_answers_nonsense_harms_nothing(void **state)
{
    static const size_t capacity[] = {1u << 20, 0};
    struct kv_remote_ops lying;
    struct kv_spot_wire wire = {.loc = kv_loc_value(kv_place(0, 0), 0)};
    struct kv_fixture f;
    char buf[32];
    struct kv_key key = kv_fixture_key(buf, 1);
    void *value = NULL;
    size_t nbytes;

    (void)state;
    kv_fixture_make(&f, 2, 2, capacity, 1000);
    lying = *f.kv[1]->remote;
    lying.call_start = lying_call_start;
    f.kv[1]->remote = &lying;

    lies.is_at_once = true; /* a value that grows between its pieces */
    lie(0, KV_SAY_VALUE, MCOMM_SUCCESS, 64, 0, 32);
    lie(1, KV_SAY_VALUE, MCOMM_SUCCESS, 4128, 32, 4096);
    assert_int_equal(mci_kv_get(f.kv[1], &key, KV_WANT_ALLOC, &value, &nbytes), MCOMM_ERR_INTERNAL);
    assert_null(value);

    lie(0, KV_SAY_VALUE, MCOMM_SUCCESS, 8, 0, 8); /* lent by nobody */
    lies.answers[0].head.rank = UINT32_MAX;
    assert_int_equal(mci_kv_get(f.kv[1], &key, KV_WANT_ALLOC, &value, &nbytes), MCOMM_SUCCESS);
    free(value);

    lies.is_at_once = false; /* ask somebody else, again and again */
    lie(0, KV_SAY_SPOT, MCOMM_SUCCESS, 0, 0, sizeof(wire));
    memcpy(lies.answers[0].body, &wire, sizeof(wire));
    assert_int_equal(mci_kv_get(f.kv[1], &key, KV_WANT_INTO, &(void *){out}, &nbytes),
                     MCOMM_ERR_INTERNAL);

    lie(0, KV_SAY_SPOT, MCOMM_ERR_TRY_AGAIN, 0, 0, sizeof(wire)); /* replaces what is none */
    wire.loc = 0;
    memcpy(lies.answers[0].body, &wire, sizeof(wire));
    lie(1, KV_SAY_COUNT, MCOMM_SUCCESS, 0, 0, 0);
    assert_int_equal(put(f.kv[1], 1, 1, 100, MCOMM_KV_REPLACE), MCOMM_SUCCESS);
    assert_int_equal(lies.next, 1);
    kv_fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_write_of_a_dead_rank_meets_its_own_slab),
        cmocka_unit_test(locks_and_claims_of_the_dead_stay_until_it_is_cut_off),
        cmocka_unit_test(an_entry_of_a_slab_that_was_used_again_is_absent),
        cmocka_unit_test(an_operation_that_fails_half_way_harms_nothing),
        cmocka_unit_test(a_value_of_too_many_pieces_is_refused_at_once),
        cmocka_unit_test(a_view_is_released_once_and_to_its_own_store),
        cmocka_unit_test(a_batch_waits_once_for_a_rank_that_is_stopped),
        cmocka_unit_test(a_late_publish_is_counted),
        cmocka_unit_test(a_late_publish_finds_its_record),
        cmocka_unit_test(a_slab_that_was_taken_too_late_is_let_go),
        cmocka_unit_test(a_home_that_answers_nonsense_harms_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
