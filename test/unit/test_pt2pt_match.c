/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The matching tables against a model of two plain lists that are searched from the front: random
 * posts, arrivals and withdrawals, with few and with many different sources and tags.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ENTRIES_MAX 40000

struct model { /* in order; ids index the pools */
    int ids[ENTRIES_MAX];
    int count;
};

static struct mci_recv *recvs;
static struct mci_msg *msgs;
static struct model posted, unexpected;
static struct mci_match match;
static uint64_t rng;

static unsigned draw(unsigned below)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(rng >> 33) % below;
}

static void model_push(struct model *model, int id)
{
    assert_true(model->count < ENTRIES_MAX);
    model->ids[model->count++] = id;
}

static void model_remove(struct model *model, int at)
{
    memmove(&model->ids[at], &model->ids[at + 1],
            (size_t)(model->count - at - 1) * sizeof(model->ids[0]));
    model->count--;
}

static bool fits(const struct mci_recv *op, unsigned space, int source, int tag)
{
    return op->space == space && (op->source == MCOMM_ANY_SOURCE || op->source == source) &&
           (op->tag == MCOMM_ANY_TAG || op->tag == tag);
}

static int model_posted_for(unsigned space, int source, int tag)
{
    for (int i = 0; i < posted.count; i++)
        if (fits(&recvs[posted.ids[i]], space, source, tag))
            return i;
    return -1;
}

static int model_message_for(const struct mci_recv *op)
{
    for (int i = 0; i < unexpected.count; i++) {
        const struct mci_msg *msg = &msgs[unexpected.ids[i]];

        if (fits(op, msg->space, msg->source, msg->tag))
            return i;
    }
    return -1;
}

/* A message comes: the same receive must get it in both. */
static void step_arrive(int id, unsigned sources, unsigned tags)
{
    struct mci_msg *msg = &msgs[id];
    struct mci_recv *got;
    int at;

    msg->space = (uint8_t)draw(2);
    msg->source = (int)draw(sources);
    msg->tag = draw(8) == 0 ? MCOMM_TAG_MAX - (int)draw(2) : (int)draw(tags);
    at = model_posted_for(msg->space, msg->source, msg->tag);
    got = mci_match_take_posted(&match, msg->space, msg->source, msg->tag);
    if (at < 0) {
        assert_null(got);
        mci_match_add(&match, msg);
        model_push(&unexpected, id);
        return;
    }
    assert_ptr_equal(got, &recvs[posted.ids[at]]);
    model_remove(&posted, at);
}

static void step_receive(int id, unsigned sources, unsigned tags)
{
    struct mci_recv *op = &recvs[id];
    struct mci_msg *got;
    int at;

    op->space = (uint8_t)draw(2);
    op->source = draw(4) == 0 ? MCOMM_ANY_SOURCE : (int)draw(sources);
    op->tag = draw(4) == 0 ? MCOMM_ANY_TAG : (int)draw(tags);
    at = model_message_for(op);
    got = mci_match_find(&match, op->space, op->source, op->tag);
    if (at < 0) {
        assert_null(got);
        mci_match_post(&match, op);
        model_push(&posted, id);
        return;
    }
    assert_ptr_equal(got, &msgs[unexpected.ids[at]]);
    mci_match_remove(&match, got);
    model_remove(&unexpected, at);
}

static void step_withdraw(void)
{
    if (posted.count > 0 && draw(2) == 0) {
        int at = (int)draw((unsigned)posted.count);

        mci_match_unpost(&match, &recvs[posted.ids[at]]);
        model_remove(&posted, at);
    } else if (unexpected.count > 0) {
        int at = (int)draw((unsigned)unexpected.count);

        mci_match_remove(&match, &msgs[unexpected.ids[at]]);
        model_remove(&unexpected, at);
    }
}

static bool want_source(struct mci_recv *op, void *arg)
{
    return op->source == *(int *)arg;
}

/* All receives that name a source go, the others stay. */
static void step_extract(int source)
{
    struct mci_list out, *node;
    int expected = 0, got = 0;

    mci_list_init(&out);
    mci_match_extract(&match, want_source, &source, &out);
    for (int i = posted.count - 1; i >= 0; i--) {
        if (recvs[posted.ids[i]].source == source) {
            model_remove(&posted, i);
            expected++;
        }
    }
    while ((node = mci_list_pop(&out)) != NULL) {
        assert_int_equal(mci_container_of(node, struct mci_recv, link)->source, source);
        got++;
    }
    assert_int_equal(got, expected);
}

static void run_model(unsigned sources, unsigned tags, int steps, unsigned bias)
{
    rng = 0x5eed0000u + sources * 131u + tags;
    print_message("seed %llu, %u sources, %u tags\n", (unsigned long long)rng, sources, tags);
    posted.count = unexpected.count = 0;
    mci_match_init(&match, 7);
    for (int i = 0; i < steps; i++) {
        unsigned what = draw(100);

        if (what < bias)
            step_receive(i, sources, tags);
        else if (what < 96)
            step_arrive(i, sources, tags);
        else if (what < 99)
            step_withdraw();
        else if (draw(20) == 0)
            step_extract((int)draw(sources));
        assert_int_equal(match.posted.count + (match.lone != NULL), posted.count);
        assert_int_equal(match.unexpected.count, unexpected.count);
    }
    while (posted.count > 0 || unexpected.count > 0)
        step_withdraw();
    assert_int_equal(match.posted.count, 0);
    assert_null(match.lone);
    for (int cls = 0; cls < MATCH_CLASSES; cls++)
        assert_int_equal(match.class_count[cls], 0);
    mci_match_fini(&match);
}

static void tables_agree_with_plain_lists(void **state)
{
    (void)state;
    run_model(1, 1, 20000, 48);
    run_model(3, 4, 20000, 48);
    run_model(7, 50, 20000, 48);
    run_model(40, 1000, 20000, 70); /* many posted */
    run_model(40, 1000, 20000, 20); /* many unexpected */
}

/* 10,000 distinct posted receives, taken in reverse: the buckets must have grown with them. */
static void many_posted_receives_spread_over_buckets(void **state)
{
    size_t longest = 0;

    (void)state;
    mci_match_init(&match, 7);
    for (int i = 0; i < 10000; i++) {
        recvs[i].space = 0;
        recvs[i].source = i % 16;
        recvs[i].tag = i;
        mci_match_post(&match, &recvs[i]);
    }
    for (size_t i = 0; i < (size_t)MATCH_CLASSES << match.posted.bits; i++) {
        struct mci_list *node;
        size_t length = 0;

        MCI_LIST_FOREACH (node, &match.posted.heads[i])
            length++;
        longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 24);
    for (int i = 9999; i >= 0; i--)
        assert_ptr_equal(mci_match_take_posted(&match, 0, i % 16, i), &recvs[i]);
    assert_int_equal(match.posted.bits, MATCH_FIRST_BITS); /* given back */
    mci_match_fini(&match);
}

static void equal_receives_match_in_order_of_posting(void **state)
{
    (void)state;
    mci_match_init(&match, 7);
    for (int i = 0; i < 4000; i++) {
        recvs[i].space = 1;
        recvs[i].source = i % 3 == 0 ? MCOMM_ANY_SOURCE : 5;
        recvs[i].tag = i % 2 == 0 ? MCOMM_ANY_TAG : 9;
        mci_match_post(&match, &recvs[i]);
    }
    assert_null(mci_match_take_posted(&match, 0, 5, 9));
    for (int i = 0; i < 4000; i++)
        assert_ptr_equal(mci_match_take_posted(&match, 1, 5, 9), &recvs[i]);
    assert_null(mci_match_take_posted(&match, 1, 5, 9));
    mci_match_fini(&match);
}

static int make_pools(void **state)
{
    (void)state;
    recvs = calloc(ENTRIES_MAX, sizeof(*recvs));
    msgs = calloc(ENTRIES_MAX, sizeof(*msgs));
    return recvs == NULL || msgs == NULL;
}

static int free_pools(void **state)
{
    (void)state;
    free(recvs);
    free(msgs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_agree_with_plain_lists),
        cmocka_unit_test(many_posted_receives_spread_over_buckets),
        cmocka_unit_test(equal_receives_match_in_order_of_posting),
    };

    return cmocka_run_group_tests(tests, make_pools, free_pools);
}
