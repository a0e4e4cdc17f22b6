/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Making communicators, on any number of ranks and nodes; the oracle is plain arithmetic on ranks.
 * Every new communicator carries a message around its ring, so that a context that is shared by
 * mistake shows. Seeds are fixed.
 */
#include "mp.h"
#include "common/proc.h"

#include <pthread.h>
#include <sched.h>

/* Each rank sends what only it in this communicator says, and receives its left neighbour's. */
static void ring(mcomm_comm_t comm, int word)
{
    int rank, size, mine[2], got[2] = {-1, -1};

    OK(mcomm_comm_rank(comm, &rank));
    OK(mcomm_comm_size(comm, &size));
    mine[0] = word;
    mine[1] = rank;
    OK(mcomm_sendrecv(mine, sizeof(mine), (rank + 1) % size, 5, got, sizeof(got),
                      (rank + size - 1) % size, 5, comm, MCOMM_STATUS_IGNORE));
    CHECK_EQ(got[0], word);
    CHECK_EQ(got[1], (rank + size - 1) % size);
}

static void expect_shape(mcomm_comm_t comm, int rank, int size)
{
    int r, s;

    OK(mcomm_comm_rank(comm, &r));
    OK(mcomm_comm_size(comm, &s));
    CHECK_EQ(r, rank);
    CHECK_EQ(s, size);
}

static void test_dup(void)
{
    mcomm_comm_t a, b;
    mcomm_compare_t cmp;
    int rank, from = (mp_rank + mp_size - 1) % mp_size, tags[2] = {1, 2}, got;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &a));
    OK(mcomm_comm_dup(a, MCOMM_INFO_NULL, &b));
    expect_shape(b, mp_rank, mp_size);
    OK(mcomm_comm_compare(a, b, &cmp));
    CHECK_EQ(cmp, MCOMM_CONGRUENT);
    OK(mcomm_comm_compare(a, a, &cmp));
    CHECK_EQ(cmp, MCOMM_IDENT);
    /* Equal tags in two spaces, received in the other order. */
    OK(mcomm_comm_rank(a, &rank));
    OK(mcomm_send(&tags[0], sizeof(int), (rank + 1) % mp_size, 9, a));
    OK(mcomm_send(&tags[1], sizeof(int), (rank + 1) % mp_size, 9, b));
    OK(mcomm_recv(&got, sizeof(got), from, 9, b, MCOMM_STATUS_IGNORE));
    CHECK_EQ(got, 2);
    OK(mcomm_recv(&got, sizeof(got), from, 9, a, MCOMM_STATUS_IGNORE));
    CHECK_EQ(got, 1);
    OK(mcomm_comm_free(&a));
    CHECK(a == MCOMM_COMM_NULL);
    ring(b, 77);
    OK(mcomm_comm_free(&b));
}

/* The rank that me has among those with its colour, ordered by key and then by rank. */
static void split_oracle(const int *colours, const int *keys, int me, int *rank_p, int *size_p)
{
    *rank_p = *size_p = 0;
    for (int i = 0; i < mp_size; i++) {
        if (colours[i] != colours[me])
            continue;
        ++*size_p;
        if (keys[i] < keys[me] || (keys[i] == keys[me] && i < me))
            ++*rank_p;
    }
}

static void test_split(void)
{
    unsigned seed = 20261130;
    int colours[256], keys[256], rank, size;

    if (mp_rank == 0)
        printf("seed %u\n", seed);
    for (int round = 0; round < 40; round++) {
        mcomm_comm_t comm = MCOMM_COMM_WORLD;
        int kinds = 1 + rand_r(&seed) % 4;

        for (int i = 0; i < mp_size; i++) { /* the same on all ranks */
            colours[i] = rand_r(&seed) % kinds;
            keys[i] = rand_r(&seed) % 5 - 2;
            if (rand_r(&seed) % 6 == 0)
                colours[i] = MCOMM_RANK_UNDEFINED;
        }
        OK(mcomm_comm_split(MCOMM_COMM_WORLD, colours[mp_rank], keys[mp_rank], &comm));
        if (colours[mp_rank] == MCOMM_RANK_UNDEFINED) {
            CHECK(comm == MCOMM_COMM_NULL);
            continue;
        }
        split_oracle(colours, keys, mp_rank, &rank, &size);
        expect_shape(comm, rank, size);
        ring(comm, 1000 * round + colours[mp_rank]);
        OK(mcomm_comm_free(&comm));
    }
}

/* MCOMM_NODE by the runner: n<k> in blocks; argv[2] is the number of nodes. */
static void test_node(int nodes)
{
    int count, rank, size;
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    mcomm_comm_t comm;

    OK(mcomm_comm_node_count(MCOMM_COMM_WORLD, &count));
    CHECK_EQ(count, nodes < mp_size ? nodes : mp_size);
    OK(mcomm_comm_split_node(MCOMM_COMM_WORLD, -mp_rank, &comm));
    OK(mcomm_comm_rank(comm, &rank));
    OK(mcomm_comm_size(comm, &size));
    OK(mcomm_comm_node_count(comm, &count));
    CHECK_EQ(count, 1);
    ring(comm, 3);
    for (int i = 0; i < size; i++) {
        OK(mcomm_peer_query(comm, i, 1, &desc));
        CHECK(desc.is_local && desc.is_alive && desc.node == 0);
        CHECK(i == rank ? strcmp(desc.rail, "self") == 0 : strcmp(desc.rail, "none") != 0);
    }
    OK(mcomm_comm_free(&comm));
    for (int i = 0, last = 0; i < mp_size; i++) { /* numbered by first rank */
        OK(mcomm_peer_query(MCOMM_COMM_WORLD, i, 0, &desc));
        CHECK(desc.node >= 0 && desc.node <= last + 1);
        last = desc.node > last ? desc.node : last;
    }
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL,
                      &comm)); /* nobody leaves before all looked */
}

static void test_many(int count, int held)
{
    mcomm_comm_t comm, *keep = calloc((size_t)held, sizeof(*keep));
    struct footprint early = {0}, late;

    CHECK(keep != NULL);
    for (int i = 0; i < count; i++) {
        OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
        if (i % 1000 == 0)
            ring(comm, i);
        OK(mcomm_comm_free(&comm));
        if (i == count / 10)
            early = footprint_now();
    }
    late = footprint_now();
    CHECK_EQ(late.fds, early.fds);
    CHECK_EQ(late.threads, early.threads);
    CHECK(late.maps <= early.maps + 16); /* the allocator's own come and go */
    if (late.heap > early.heap + 16384)
        MP_FAIL("the heap grew from %zu to %zu bytes", early.heap, late.heap);
    for (int i = 0; i < held; i++)
        OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &keep[i]));
    for (int i = 0; i < held; i += 500)
        ring(keep[i], i);
    for (int i = 0; i < held; i++)
        OK(mcomm_comm_free(&keep[i]));
    free(keep);
}

/* Overlapping pairs {r, r+1}, made in whatever order suits: each by its two members only. */
static void test_group(void)
{
    mcomm_group_t world, pair, others;
    mcomm_comm_t comm;

    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &world));
    for (int i = 0; i + 1 < mp_size; i++) {
        int ranks[2] = {i + 1, i}, rank;

        if (mp_rank != i && mp_rank != i + 1)
            continue;
        OK(mcomm_group_incl(world, 2, ranks, &pair));
        OK(mcomm_comm_create_group(MCOMM_COMM_WORLD, pair, 40 + i, &comm));
        OK(mcomm_comm_rank(comm, &rank));
        CHECK_EQ(rank, mp_rank == i);
        ring(comm, i);
        OK(mcomm_comm_free(&comm));
        OK(mcomm_group_free(&pair));
    }
    if (mp_size > 1) { /* who is not a member is told so, and nothing is sent */
        OK(mcomm_group_excl(world, 1, &mp_rank, &others));
        EXPECT(MCOMM_ERR_GROUP, mcomm_comm_create_group(MCOMM_COMM_WORLD, others, 0, &comm));
        OK(mcomm_group_free(&others));
    }
    EXPECT(MCOMM_ERR_TAG, mcomm_comm_create_group(MCOMM_COMM_WORLD, world, -4, &comm));
    OK(mcomm_comm_create_group(MCOMM_COMM_WORLD, world, MCOMM_TAG_MAX, &comm));
    ring(comm, 8);
    OK(mcomm_comm_free(&comm));
    OK(mcomm_group_free(&world));
}

/* ---- threads that make communicators at the same time, each from a communicator of its own -----
 */
static void *dup_often(void *arg)
{
    mcomm_comm_t parent = arg, comm;

    for (int i = 0; i < 100; i++) {
        OK(mcomm_comm_dup(parent, MCOMM_INFO_NULL, &comm));
        ring(comm, i);
        OK(mcomm_comm_free(&comm));
    }
    return NULL;
}

static void *group_often(void *arg)
{
    int tag = *(int *)arg;
    mcomm_group_t world;
    mcomm_comm_t comm;

    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &world));
    for (int i = 0; i < 50; i++) {
        OK(mcomm_comm_create_group(MCOMM_COMM_WORLD, world, tag, &comm));
        ring(comm, tag);
        OK(mcomm_comm_free(&comm));
    }
    OK(mcomm_group_free(&world));
    return NULL;
}

/* Another thread frees the communicator: an error, or a copy of what was there. */
static void *use_freed(void *arg)
{
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    mcomm_comm_t old = arg, comm;
    mcomm_err_t err = MCOMM_SUCCESS;

    while (err == MCOMM_SUCCESS) {
        err = mcomm_comm_dup(old, MCOMM_INFO_NULL, &comm);
        if (err == MCOMM_SUCCESS)
            OK(mcomm_comm_free(&comm));
        if (err == MCOMM_SUCCESS)
            err = mcomm_peer_query(old, 0, 0, &desc);
    }
    CHECK_EQ(err, MCOMM_ERR_COMM);
    return NULL;
}

static void test_freed_in_use(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        mcomm_comm_t comm;

        OK(mcomm_comm_dup(MCOMM_COMM_SELF, MCOMM_INFO_NULL, &comm));
        CHECK_EQ(pthread_create(&thread, NULL, use_freed, comm), 0);
        for (int k = 0; k < i % 20; k++)
            sched_yield();
        OK(mcomm_comm_free(&comm));
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

#define NUM_THREADS 4
static void test_threads(void)
{
    mcomm_comm_t parents[NUM_THREADS];
    pthread_t threads[2 * NUM_THREADS];
    int tags[NUM_THREADS];

    for (int i = 0; i < NUM_THREADS; i++)
        OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &parents[i]));
    for (int i = 0; i < NUM_THREADS; i++) {
        tags[i] = i;
        CHECK_EQ(pthread_create(&threads[i], NULL, dup_often, parents[i]), 0);
        CHECK_EQ(pthread_create(&threads[NUM_THREADS + i], NULL, group_often, &tags[i]), 0);
    }
    for (int i = 0; i < 2 * NUM_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < NUM_THREADS; i++)
        OK(mcomm_comm_free(&parents[i]));
    test_freed_in_use();
}

/* ---- a caller's own allgather, here made of messages ------------------------------------------
 */
static int gather_by_messages(const void *mine, void *all, size_t nbytes, void *arg)
{
    mcomm_comm_t comm = arg;

    for (int step = 0; step < mp_size; step++) {
        int to = (mp_rank + step) % mp_size, from = (mp_rank + mp_size - step) % mp_size;

        OK(mcomm_sendrecv(mine, nbytes, to, 6, (char *)all + (size_t)from * nbytes, nbytes, from, 6,
                          comm, MCOMM_STATUS_IGNORE));
    }
    return 0;
}

static int gather_refused(const void *mine, void *all, size_t nbytes, void *arg)
{
    (void)mine, (void)all, (void)nbytes, (void)arg;
    return 42;
}

static void test_oob(void)
{
    mcomm_oob_t oob = {gather_by_messages, MCOMM_COMM_WORLD, mp_rank, mp_size};
    mcomm_comm_t comm;

    for (int i = 0; i < 5; i++) {
        OK(mcomm_comm_create_oob(&oob, &comm));
        expect_shape(comm, mp_rank, mp_size);
        ring(comm, i);
        OK(mcomm_comm_free(&comm));
    }
    oob.allgather = gather_refused;
    EXPECT(MCOMM_ERR_BOOTSTRAP, mcomm_comm_create_oob(&oob, &comm));
    CHECK_TEXT("42");
    oob.allgather = NULL;
    EXPECT(MCOMM_ERR_ARG, mcomm_comm_create_oob(&oob, &comm));
    oob = (mcomm_oob_t){gather_refused, NULL, mp_size, mp_size};
    EXPECT(MCOMM_ERR_RANK, mcomm_comm_create_oob(&oob, &comm));
    EXPECT(MCOMM_ERR_ARG, mcomm_comm_create_oob(NULL, &comm));
}

/* With MCOMM_COMM_MAX=50: an application that never frees is told so, by all ranks alike. */
static void test_limit(void)
{
    mcomm_comm_t comm, last = MCOMM_COMM_NULL;
    int made = 0;
    mcomm_err_t err;

    while ((err = mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm)) == MCOMM_SUCCESS) {
        last = comm;
        made++;
    }
    CHECK_EQ(err, MCOMM_ERR_LIMIT);
    CHECK_EQ(made, 48);
    CHECK_TEXT("50 communicators are alive");
    CHECK_TEXT("made by a call at");
    EXPECT(MCOMM_ERR_LIMIT, mcomm_comm_split(MCOMM_COMM_WORLD, 0, 0, &comm));
    OK(mcomm_comm_free(&last));
    OK(mcomm_comm_split(MCOMM_COMM_WORLD, 0, 0, &comm));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "dup";
    int number = argc > 2 ? atoi(argv[2]) : 0;

    mp_init();
    if (strcmp(name, "dup") == 0)
        test_dup();
    else if (strcmp(name, "split") == 0)
        test_split();
    else if (strcmp(name, "node") == 0)
        test_node(number);
    else if (strcmp(name, "many") == 0)
        test_many(number, number / 2);
    else if (strcmp(name, "group") == 0)
        test_group();
    else if (strcmp(name, "threads") == 0)
        test_threads();
    else if (strcmp(name, "oob") == 0)
        test_oob();
    else if (strcmp(name, "limit") == 0)
        test_limit();
    else
        MP_FAIL("no test %s", name);
    OK(mcomm_finalize());
    return 0;
}
