/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Groups, requests and arguments, in a job of one process: sets against a plain oracle, the life of
 * a request with a module that the test plays, and every kind of wrong handle and argument.
 */
#include "config.h"

#include "core/core_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "rail/rail_priv.h"

#define NUM_PEERS 12

static struct mci_peer *peers[NUM_PEERS]; /* [0] is this process */

/* ---- processes that exist only as cards ------------------------------------------------------ */
static int start(void **state)
{
    struct mci_card card;
    size_t nbytes;

    (void)state;
    if (mcomm_init(NULL) != MCOMM_SUCCESS)
        return -1;
    mci_engine_lock();
    memcpy(&card, mci_rail_card(&nbytes), sizeof(card));
    for (int i = 0; i < NUM_PEERS; i++) {
        card.proc_id += (uint64_t)i;
        card.world_rank = (uint32_t)i;
        if (mci_peer_intern(&card, nbytes, &peers[i]) != MCOMM_SUCCESS)
            return -1;
    }
    mci_engine_unlock();
    return peers[0] == mci_peer_self() ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    mci_engine_lock();
    for (int i = 0; i < NUM_PEERS; i++)
        mci_peer_release(peers[i]);
    mci_engine_unlock();
    return mcomm_finalize() == MCOMM_SUCCESS ? 0 : -1;
}

/* Handle of a group of the peers whose numbers are in list. */
static mcomm_group_t group_of(const int *list, int size)
{
    struct mci_group *group = mci_group_new(size);

    assert_non_null(group);
    for (int i = 0; i < size; i++)
        group->peers[i] = peers[list[i]];
    mci_group_seal(group);
    return mci_handle_new(MCI_HANDLE_GROUP, group);
}

static void assert_members(mcomm_group_t handle, const int *list, int size)
{
    struct mci_group *group = mci_handle_get(MCI_HANDLE_GROUP, handle);
    int got;

    assert_int_equal(mcomm_group_size(handle, &got), MCOMM_SUCCESS);
    assert_int_equal(got, size);
    for (int i = 0; i < size; i++)
        assert_ptr_equal(group->peers[i], peers[list[i]]);
}

/* ---- groups -----------------------------------------------------------------------------------
 */
static int shuffle(unsigned *seed, int *list)
{
    for (int i = 0; i < NUM_PEERS; i++)
        list[i] = i;
    for (int i = NUM_PEERS - 1; i > 0; i--) {
        int k = rand_r(seed) % (i + 1), kept = list[i];

        list[i] = list[k];
        list[k] = kept;
    }
    return rand_r(seed) % (NUM_PEERS + 1);
}

static int find(const int *list, int size, int value)
{
    for (int i = 0; i < size; i++) {
        if (list[i] == value)
            return i;
    }
    return -1;
}

static void group_sets_equal_plain_lists(void **state)
{
    unsigned seed = 3;

    (void)state;
    for (int round = 0; round < 300; round++) {
        int a[NUM_PEERS], b[NUM_PEERS], want[2 * NUM_PEERS], size = 0;
        int na = shuffle(&seed, a), nb = shuffle(&seed, b), ranks[NUM_PEERS], got[NUM_PEERS];
        mcomm_group_t ga = group_of(a, na), gb = group_of(b, nb), result;

        for (int i = 0; i < na; i++)
            want[size++] = a[i];
        for (int i = 0; i < nb; i++)
            if (find(a, na, b[i]) < 0)
                want[size++] = b[i];
        assert_int_equal(mcomm_group_union(ga, gb, &result), MCOMM_SUCCESS);
        assert_members(result, want, size);
        assert_int_equal(mcomm_group_free(&result), MCOMM_SUCCESS);
        size = 0;
        for (int i = 0; i < na; i++)
            if (find(b, nb, a[i]) >= 0)
                want[size++] = a[i];
        assert_int_equal(mcomm_group_intersection(ga, gb, &result), MCOMM_SUCCESS);
        assert_members(result, want, size);
        assert_int_equal(mcomm_group_free(&result), MCOMM_SUCCESS);
        size = 0;
        for (int i = 0; i < na; i++)
            if (find(b, nb, a[i]) < 0)
                want[size++] = a[i];
        assert_int_equal(mcomm_group_difference(ga, gb, &result), MCOMM_SUCCESS);
        assert_members(result, want, size);
        assert_int_equal(mcomm_group_free(&result), MCOMM_SUCCESS);
        for (int i = 0; i < na; i++)
            ranks[i] = i;
        assert_int_equal(mcomm_group_translate(ga, (size_t)na, ranks, gb, got), MCOMM_SUCCESS);
        for (int i = 0; i < na; i++) {
            int at = find(b, nb, a[i]);

            assert_int_equal(got[i], at >= 0 ? at : MCOMM_RANK_UNDEFINED);
        }
        assert_int_equal(mcomm_group_rank(ga, &size), MCOMM_SUCCESS);
        assert_int_equal(size, find(a, na, 0) >= 0 ? find(a, na, 0) : MCOMM_RANK_UNDEFINED);
        mcomm_group_free(&ga);
        mcomm_group_free(&gb);
        assert_null(ga);
    }
}

static void group_incl_excl_and_compare(void **state)
{
    int all[] = {0, 1, 2, 3, 4}, pick[] = {4, 0, 2}, rest[] = {1, 3}, twice[] = {1, 1};
    int outside[] = {5}, backwards[] = {4, 3, 2, 1, 0};
    mcomm_group_t whole = group_of(all, 5), turned = group_of(backwards, 5), result = NULL;
    mcomm_compare_t cmp;

    (void)state;
    assert_int_equal(mcomm_group_incl(whole, 3, pick, &result), MCOMM_SUCCESS);
    assert_members(result, pick, 3);
    assert_int_equal(mcomm_group_compare(whole, result, &cmp), MCOMM_SUCCESS);
    assert_int_equal(cmp, MCOMM_UNEQUAL);
    mcomm_group_free(&result);
    assert_int_equal(mcomm_group_excl(whole, 3, pick, &result), MCOMM_SUCCESS);
    assert_members(result, rest, 2);
    mcomm_group_free(&result);
    assert_int_equal(mcomm_group_incl(whole, 0, NULL, &result), MCOMM_SUCCESS);
    assert_members(result, NULL, 0);
    mcomm_group_free(&result);
    assert_int_equal(mcomm_group_compare(whole, turned, &cmp), MCOMM_SUCCESS);
    assert_int_equal(cmp, MCOMM_SIMILAR);
    assert_int_equal(mcomm_group_compare(whole, whole, &cmp), MCOMM_SUCCESS);
    assert_int_equal(cmp, MCOMM_IDENT);
    assert_int_equal(mcomm_group_incl(whole, 2, twice, &result), MCOMM_ERR_RANK);
    assert_non_null(strstr(mcomm_last_error(), "ranks[1] = 1"));
    assert_int_equal(mcomm_group_incl(whole, 1, outside, &result), MCOMM_ERR_RANK);
    assert_non_null(strstr(mcomm_last_error(), "ranks[0] = 5"));
    assert_int_equal(mcomm_group_excl(whole, (size_t)-3, pick, &result), MCOMM_ERR_COUNT);
    assert_non_null(strstr(mcomm_last_error(), "-3"));
    assert_int_equal(mcomm_group_incl(whole, 2, NULL, &result), MCOMM_ERR_ARG);
    assert_null(result);
    mcomm_group_free(&whole);
    mcomm_group_free(&turned);
}

/* ---- requests: the test plays the module ------------------------------------------------------
 */
struct fake {
    struct mci_request base;
    bool is_cancellable;
    int starts;
};

static int fakes_freed, fakes_explained, fakes_done;

static mcomm_err_t fake_start(struct mci_request *req)
{
    ((struct fake *)req)->starts++;
    return MCOMM_SUCCESS;
}

static bool fake_cancel(struct mci_request *req)
{
    return ((struct fake *)req)->is_cancellable;
}

static void fake_free(struct mci_request *req)
{
    fakes_freed++;
    mci_mem_free(req);
}

static void fake_explain(struct mci_request *req)
{
    fakes_explained++;
    mci_err_set(req->status.error, "a fake went wrong");
}

static void fake_on_done(struct mci_request *req)
{
    fakes_done++;
    mci_request_release(req);
}

static const struct mci_request_ops fake_ops = {
    .name = "fake",
    .start = fake_start,
    .cancel = fake_cancel,
    .free = fake_free,
    .explain = fake_explain,
};

static struct fake *fake_new(mcomm_request_t *request_p)
{
    struct fake *fake = mci_mem_zalloc(sizeof(*fake));

    assert_non_null(fake);
    mci_engine_lock();
    mci_request_init(&fake->base, &fake_ops, mci_core.world);
    if (request_p != NULL)
        assert_int_equal(mci_request_publish(&fake->base, request_p), MCOMM_SUCCESS);
    mci_engine_unlock();
    return fake;
}

static void complete(struct fake *fake, mcomm_err_t err, size_t nbytes)
{
    mci_engine_lock();
    fake->base.status.source = 0;
    fake->base.status.nbytes = nbytes;
    mci_request_complete(&fake->base, err);
    mci_engine_unlock();
}

static int requests_start(void **state)
{
    (void)state;
    fakes_freed = fakes_explained = fakes_done = 0;
    return 0;
}

static void request_is_freed_by_the_test_that_finds_it_done(void **state)
{
    int refs = mci_core.world->refs, done = -1;
    mcomm_request_t request, old;
    struct fake *fake = fake_new(&request);
    mcomm_status_t status;

    (void)state;
    old = request;
    assert_int_equal(mcomm_test(&request, &done, &status), MCOMM_SUCCESS);
    assert_int_equal(done, 0);
    assert_ptr_equal(request, old);
    complete(fake, MCOMM_SUCCESS, 17);
    assert_int_equal(mcomm_test(&request, &done, &status), MCOMM_SUCCESS);
    assert_int_equal(done, 1);
    assert_int_equal(status.nbytes, 17);
    assert_null(request);
    assert_int_equal(fakes_freed, 1);
    assert_int_equal(mci_core.world->refs, refs);
    /* NULL counts as complete, the old handle is refused. */
    assert_int_equal(mcomm_test(&request, &done, &status), MCOMM_SUCCESS);
    assert_int_equal(done, 1);
    assert_int_equal(status.source, MCOMM_ANY_SOURCE);
    assert_int_equal(mcomm_wait(&old, 0, &status), MCOMM_ERR_REQUEST);
    assert_int_equal(mcomm_cancel(old), MCOMM_ERR_REQUEST);
    assert_int_equal(mcomm_request_free(&old), MCOMM_ERR_REQUEST);
}

static void error_of_the_operation_is_returned_with_its_text(void **state)
{
    mcomm_request_t request;
    struct fake *fake = fake_new(&request);
    mcomm_status_t status;

    (void)state;
    complete(fake, MCOMM_ERR_TRUNCATE, 99);
    assert_int_equal(mcomm_wait(&request, MCOMM_FOREVER, &status), MCOMM_ERR_TRUNCATE);
    assert_int_equal(status.error, MCOMM_ERR_TRUNCATE);
    assert_int_equal(status.nbytes, 99);
    assert_string_equal(mcomm_last_error(), "a fake went wrong");
    assert_null(request);
}

static void wait_that_times_out_leaves_the_request(void **state)
{
    mcomm_request_t request;
    struct fake *fake = fake_new(&request);

    (void)state;
    assert_int_equal(mcomm_wait(&request, 5, MCOMM_STATUS_IGNORE), MCOMM_ERR_TIMEOUT);
    assert_non_null(request);
    assert_int_equal(mcomm_wait(&request, -7, MCOMM_STATUS_IGNORE), MCOMM_ERR_ARG);
    complete(fake, MCOMM_SUCCESS, 0);
    assert_int_equal(mcomm_wait(&request, 0, MCOMM_STATUS_IGNORE), MCOMM_SUCCESS);
    assert_null(request);
}

static void cancelled_request_says_so(void **state)
{
    mcomm_request_t request;
    struct fake *fake = fake_new(&request);
    mcomm_status_t status;

    (void)state;
    assert_int_equal(mcomm_cancel(request), MCOMM_SUCCESS); /* gone too far: no effect */
    assert_int_equal(mcomm_wait(&request, 0, &status), MCOMM_ERR_TIMEOUT);
    fake->is_cancellable = true;
    assert_int_equal(mcomm_cancel(request), MCOMM_SUCCESS);
    assert_int_equal(mcomm_cancel(request), MCOMM_SUCCESS);
    assert_int_equal(mcomm_wait(&request, 0, &status), MCOMM_ERR_CANCELLED);
    assert_int_equal(status.cancelled, 1);
    assert_int_equal(mcomm_cancel(MCOMM_REQUEST_NULL), MCOMM_ERR_REQUEST);
}

static void detached_request_frees_itself(void **state)
{
    mcomm_request_t request;
    struct fake *fake = fake_new(&request);

    (void)state;
    assert_int_equal(mcomm_request_free(&request), MCOMM_SUCCESS);
    assert_null(request);
    assert_int_equal(fakes_freed, 0);
    complete(fake, MCOMM_ERR_PROC_FAILED, 0);
    assert_int_equal(fakes_freed, 1);
    fake = fake_new(&request); /* done already: at once */
    complete(fake, MCOMM_SUCCESS, 0);
    assert_int_equal(mcomm_request_free(&request), MCOMM_SUCCESS);
    assert_int_equal(fakes_freed, 2);
}

static void internal_request_calls_back(void **state)
{
    struct fake *fake = fake_new(NULL);

    (void)state;
    fake->base.on_done = fake_on_done;
    complete(fake, MCOMM_SUCCESS, 0);
    assert_int_equal(fakes_done, 1);
    assert_int_equal(fakes_freed, 1);
}

static void persistent_request_is_started_again(void **state)
{
    mcomm_request_t request;
    struct fake *fake = fake_new(&request);
    mcomm_status_t status;
    int done;

    (void)state;
    fake->base.is_persistent = true;
    fake->base.is_active = false;
    assert_int_equal(mcomm_test(&request, &done, &status), MCOMM_SUCCESS);
    assert_int_equal(done, 1); /* inactive counts as complete */
    assert_int_equal(status.tag, MCOMM_ANY_TAG);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcomm_start(request), MCOMM_SUCCESS);
        assert_int_equal(mcomm_start(request), MCOMM_ERR_STATE);
        assert_int_equal(mcomm_wait(&request, 0, &status), MCOMM_ERR_TIMEOUT);
        complete(fake, MCOMM_SUCCESS, (size_t)i);
        assert_int_equal(mcomm_wait(&request, 0, &status), MCOMM_SUCCESS);
        assert_int_equal(status.nbytes, i);
        assert_non_null(request);
    }
    assert_int_equal(fake->starts, 3);
    assert_int_equal(mcomm_request_free(&request), MCOMM_SUCCESS);
    assert_int_equal(fakes_freed, 1);
    fake = fake_new(&request);
    assert_int_equal(mcomm_start(request), MCOMM_ERR_REQUEST);
    complete(fake, MCOMM_SUCCESS, 0);
    assert_int_equal(mcomm_wait(&request, 0, NULL), MCOMM_SUCCESS);
}

#define NUM_REQUESTS 5
static void lists_wait_for_all_any_and_some(void **state)
{
    mcomm_request_t requests[NUM_REQUESTS];
    mcomm_status_t statuses[NUM_REQUESTS];
    struct fake *fakes[NUM_REQUESTS];
    size_t index, count, indices[NUM_REQUESTS];
    int done;

    (void)state;
    for (int i = 0; i < NUM_REQUESTS; i++)
        fakes[i] = fake_new(&requests[i]);
    assert_int_equal(mcomm_testany(NUM_REQUESTS, requests, &index, &done, NULL), MCOMM_SUCCESS);
    assert_int_equal(done, 0);
    assert_int_equal(mcomm_waitany(NUM_REQUESTS, requests, 1, &index, NULL), MCOMM_ERR_TIMEOUT);
    complete(fakes[3], MCOMM_SUCCESS, 3);
    assert_int_equal(mcomm_waitany(NUM_REQUESTS, requests, 0, &index, statuses), MCOMM_SUCCESS);
    assert_int_equal(index, 3);
    assert_int_equal(statuses[0].nbytes, 3);
    assert_null(requests[3]);
    complete(fakes[4], MCOMM_ERR_TRUNCATE, 4);
    complete(fakes[0], MCOMM_SUCCESS, 0);
    assert_int_equal(mcomm_waitsome(NUM_REQUESTS, requests, 0, &count, indices, statuses),
                     MCOMM_ERR_TRUNCATE);
    assert_int_equal(count, 2);
    assert_int_equal(indices[0], 0);
    assert_int_equal(indices[1], 4);
    assert_int_equal(statuses[1].error, MCOMM_ERR_TRUNCATE);
    complete(fakes[2], MCOMM_SUCCESS, 2);
    assert_int_equal(mcomm_testall(NUM_REQUESTS, requests, &done, statuses), MCOMM_SUCCESS);
    assert_int_equal(done, 0);
    assert_non_null(requests[2]);
    assert_int_equal(mcomm_waitall(NUM_REQUESTS, requests, 1, statuses), MCOMM_ERR_TIMEOUT);
    assert_non_null(strstr(mcomm_last_error(), "1 of 5"));
    assert_null(requests[2]);
    assert_int_equal(statuses[2].nbytes, 2);
    complete(fakes[1], MCOMM_SUCCESS, 1);
    assert_int_equal(mcomm_testall(NUM_REQUESTS, requests, &done, statuses), MCOMM_SUCCESS);
    assert_int_equal(done, 1);
    assert_int_equal(mcomm_waitany(NUM_REQUESTS, requests, 0, &index, NULL), MCOMM_SUCCESS);
    assert_int_equal(index, MCOMM_INDEX_NONE);
    assert_int_equal(mcomm_waitsome(NUM_REQUESTS, requests, 0, &count, indices, NULL),
                     MCOMM_SUCCESS);
    assert_int_equal(count, 0);
    assert_int_equal(mcomm_waitall(0, NULL, 0, NULL), MCOMM_SUCCESS);
    assert_int_equal(fakes_freed, NUM_REQUESTS);
}

static void list_with_a_bad_handle_is_refused_as_a_whole(void **state)
{
    mcomm_request_t requests[2];
    struct fake *fake = fake_new(&requests[0]);

    (void)state;
    requests[1] = (mcomm_request_t)(uintptr_t)0x1234;
    complete(fake, MCOMM_SUCCESS, 0);
    assert_int_equal(mcomm_waitall(2, requests, 0, NULL), MCOMM_ERR_REQUEST);
    assert_non_null(strstr(mcomm_last_error(), "requests[1] = 0x1234"));
    assert_non_null(requests[0]);
    assert_int_equal(mcomm_waitall((size_t)-1, requests, 0, NULL), MCOMM_ERR_COUNT);
    assert_int_equal(mcomm_waitall(1, NULL, 0, NULL), MCOMM_ERR_ARG);
    assert_int_equal(mcomm_startall(2, requests), MCOMM_ERR_REQUEST);
    requests[1] = requests[0]; /* the same one twice */
    assert_int_equal(mcomm_waitall(2, requests, 0, NULL), MCOMM_ERR_REQUEST);
    assert_null(requests[0]);
}

/* ---- wrong handles ------------------------------------------------------------------------------
 */
static void every_wrong_handle_is_named(void **state)
{
    mcomm_comm_t freed = MCOMM_COMM_NULL, world = MCOMM_COMM_WORLD;
    mcomm_group_t group;
    mcomm_info_t info;
    void *bad[6];
    int number = 0;

    (void)state;
    assert_int_equal(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &freed), MCOMM_SUCCESS);
    bad[0] = freed;
    assert_int_equal(mcomm_comm_free(&freed), MCOMM_SUCCESS);
    assert_null(freed);
    assert_int_equal(mcomm_comm_group(MCOMM_COMM_WORLD, &group), MCOMM_SUCCESS);
    assert_int_equal(mcomm_info_create(&info), MCOMM_SUCCESS);
    bad[1] = group;
    bad[2] = NULL;
    bad[3] = (void *)(uintptr_t)-1;
    bad[4] = &number;
    bad[5] = (void *)((uintptr_t)MCOMM_COMM_WORLD ^ 1);
    for (int i = 0; i < 6; i++) {
        mcomm_comm_t comm = bad[i], other = NULL;
        char text[32];

        assert_int_equal(mcomm_comm_rank(comm, &number), MCOMM_ERR_COMM);
        snprintf(text, sizeof(text), "comm = %p", bad[i]);
        assert_non_null(strstr(mcomm_last_error(), text));
        assert_int_equal(mcomm_comm_dup(comm, MCOMM_INFO_NULL, &other), MCOMM_ERR_COMM);
        assert_int_equal(mcomm_comm_split(comm, 0, 0, &other), MCOMM_ERR_COMM);
        assert_int_equal(mcomm_comm_free(&comm), MCOMM_ERR_COMM);
        assert_int_equal(mcomm_comm_set_name(comm, "x"), MCOMM_ERR_COMM);
        assert_int_equal(mcomm_comm_set_timeout(comm, 1), MCOMM_ERR_COMM);
        assert_null(other);
        if (i != 1)
            assert_int_equal(mcomm_group_size((mcomm_group_t)bad[i], &number), MCOMM_ERR_GROUP);
        if (bad[i] != NULL)
            assert_int_equal(mcomm_comm_dup(MCOMM_COMM_WORLD, (mcomm_info_t)bad[i], &other),
                             MCOMM_ERR_INFO);
        assert_int_equal(mcomm_info_set((mcomm_info_t)bad[i], "a", "b"), MCOMM_ERR_INFO);
    }
    assert_int_equal(mcomm_comm_free(&world), MCOMM_ERR_COMM);
    assert_non_null(strstr(mcomm_last_error(), "MCOMM_COMM_WORLD"));
    assert_int_equal(mcomm_comm_rank(MCOMM_COMM_WORLD, NULL), MCOMM_ERR_ARG);
    assert_non_null(strstr(mcomm_last_error(), "rank_p is NULL"));
    assert_int_equal(mcomm_comm_split(MCOMM_COMM_WORLD, -9, 0, &world), MCOMM_ERR_ARG);
    assert_non_null(strstr(mcomm_last_error(), "-9"));
    assert_int_equal(mcomm_comm_set_timeout(MCOMM_COMM_WORLD, -2), MCOMM_ERR_ARG);
    assert_int_equal(mcomm_group_free(&group), MCOMM_SUCCESS);
    assert_int_equal(mcomm_info_free(&info), MCOMM_SUCCESS);
    assert_int_equal(mcomm_info_free(&info), MCOMM_ERR_INFO);
}

static void names_are_kept_and_bounded(void **state)
{
    mcomm_comm_t comm;
    char name[65];
    const char *got;

    (void)state;
    memset(name, 'n', sizeof(name));
    name[64] = '\0';
    assert_int_equal(mcomm_comm_dup(MCOMM_COMM_SELF, MCOMM_INFO_NULL, &comm), MCOMM_SUCCESS);
    assert_int_equal(mcomm_comm_set_name(comm, name), MCOMM_ERR_ARG);
    name[63] = '\0';
    assert_int_equal(mcomm_comm_set_name(comm, name), MCOMM_SUCCESS);
    assert_int_equal(mcomm_comm_get_name(comm, &got), MCOMM_SUCCESS);
    assert_string_equal(got, name);
    assert_int_equal(mcomm_comm_free(&comm), MCOMM_SUCCESS);
}

static void queries_check_their_arguments(void **state)
{
    mcomm_peer_desc_t peer = {.struct_size = sizeof(peer)};
    mcomm_rail_desc_t rail = {.struct_size = sizeof(rail)};

    (void)state;
    assert_int_equal(mcomm_peer_query(MCOMM_COMM_WORLD, 0, 1, &peer), MCOMM_SUCCESS);
    assert_string_equal(peer.rail, "self");
    assert_true(peer.is_local && peer.is_alive);
    assert_int_equal(mcomm_peer_query(MCOMM_COMM_WORLD, 1, 0, &peer), MCOMM_ERR_RANK);
    assert_non_null(strstr(mcomm_last_error(), "rank = 1"));
    assert_int_equal(mcomm_peer_query(MCOMM_COMM_WORLD, -1, 0, &peer), MCOMM_ERR_RANK);
    assert_int_equal(mcomm_peer_query(MCOMM_COMM_WORLD, 0, 0, NULL), MCOMM_ERR_ARG);
    peer.struct_size = 3;
    assert_int_equal(mcomm_peer_query(MCOMM_COMM_WORLD, 0, 0, &peer), MCOMM_ERR_ARG);
    assert_int_equal(mcomm_rail_get(mcomm_rail_count(), &rail), MCOMM_ERR_ARG);
    assert_int_equal(mcomm_rail_get(0, NULL), MCOMM_ERR_ARG);
    assert_true(strlen(mcomm_build_config()) > 20);
    assert_non_null(strstr(mcomm_bootstrap_text(), "singleton"));
    mcomm_free(NULL);
}

/* An error text may be made after the end, for a communicator that lives on as a zombie. */
static void no_rank_of_a_communicator_without_group_is_named_as_failed(void **state)
{
    struct mci_comm comm = {.size = 3, .failed_count = 1};

    (void)state;
    assert_int_equal(mci_comm_first_failed(&comm), -1);
    assert_int_equal(mci_comm_first_failed(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_sets_equal_plain_lists),
        cmocka_unit_test(group_incl_excl_and_compare),
        cmocka_unit_test(no_rank_of_a_communicator_without_group_is_named_as_failed),
        cmocka_unit_test_setup(request_is_freed_by_the_test_that_finds_it_done, requests_start),
        cmocka_unit_test_setup(error_of_the_operation_is_returned_with_its_text, requests_start),
        cmocka_unit_test_setup(wait_that_times_out_leaves_the_request, requests_start),
        cmocka_unit_test_setup(cancelled_request_says_so, requests_start),
        cmocka_unit_test_setup(detached_request_frees_itself, requests_start),
        cmocka_unit_test_setup(internal_request_calls_back, requests_start),
        cmocka_unit_test_setup(persistent_request_is_started_again, requests_start),
        cmocka_unit_test_setup(lists_wait_for_all_any_and_some, requests_start),
        cmocka_unit_test_setup(list_with_a_bad_handle_is_refused_as_a_whole, requests_start),
        cmocka_unit_test(every_wrong_handle_is_named),
        cmocka_unit_test(names_are_kept_and_bounded),
        cmocka_unit_test(queries_check_their_arguments),
    };

    return cmocka_run_group_tests(tests, start, finish);
}
