/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What one thread does while another one waits in a call: during start-up, and to the communicator
 * of the call.
 */
#include "config.h"

#include "base/lock.h"
#include "base/wait.h"
#include "core/core_priv.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- start-up ---- */
static void *lock_and_unlock(void *arg)
{
    mci_engine_lock();
    mci_engine_unlock();
    return arg;
}

/* An allgather of one process that ends only when another thread has had the engine lock. */
static int slow_allgather(const void *mine, void *all, size_t nbytes, void *calls)
{
    pthread_t thread;

    *(int *)calls += 1;
    memcpy(all, mine, nbytes);
    return pthread_create(&thread, NULL, lock_and_unlock, NULL) != 0 ||
           pthread_join(thread, NULL) != 0;
}

static void others_are_not_held_up_while_start_up_waits(void **state)
{
    int calls = 0;
    mcomm_oob_t oob = {.size = 1, .allgather = slow_allgather, .arg = &calls};
    mcomm_init_attr_t attr = {
        .struct_size = sizeof(attr), .thread_level = MCOMM_THREAD_MULTIPLE, .oob = &oob};

    (void)state;
    assert_int_equal(mcomm_init(&attr), MCOMM_SUCCESS);
    assert_true(calls > 0);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
}

/* ---- freed during a call ---- */
enum call {
    CALL_PROBE,
    CALL_MPROBE,
    CALL_RECV,
    CALL_SSEND,
    CALL_SENDRECV
};
struct waiting {
    enum call call;
    mcomm_comm_t comm;
    mcomm_err_t err;
    char text[200];
};

static void *wait_in_call(void *arg)
{
    struct waiting *w = arg;
    mcomm_message_t message;
    char byte = 0, other;

    switch (w->call) {
    case CALL_PROBE:
        w->err = mcomm_probe(0, 1, w->comm, NULL);
        break;
    case CALL_MPROBE:
        w->err = mcomm_mprobe(0, 1, w->comm, &message, NULL);
        break;
    case CALL_RECV:
        w->err = mcomm_recv(&byte, 1, 0, 1, w->comm, NULL);
        break;
    case CALL_SSEND:
        w->err = mcomm_ssend(&byte, 1, 0, 2, w->comm);
        break;
    case CALL_SENDRECV:
        w->err = mcomm_sendrecv(&byte, 1, 0, 2, &other, 1, 0, 1, w->comm, NULL);
        break;
    }
    strncpy(w->text, mcomm_last_error(), sizeof(w->text) - 1);
    return NULL;
}

static void freed_during(enum call call)
{
    struct waiting w = {.call = call};
    mcomm_comm_t freed;
    pthread_t thread;

    assert_int_equal(mcomm_comm_dup(MCOMM_COMM_SELF, MCOMM_INFO_NULL, &w.comm), MCOMM_SUCCESS);
    freed = w.comm;
    assert_int_equal(pthread_create(&thread, NULL, wait_in_call, &w), 0);
    while (atomic_load(&mci_doorbell_self->sleepers) == 0)
        sched_yield();
    assert_int_equal(mcomm_comm_free(&freed), MCOMM_SUCCESS);
    pthread_join(thread, NULL);
    assert_int_equal(w.err, MCOMM_ERR_COMM);
    assert_non_null(strstr(w.text, "freed"));
}

static void calls_on_a_communicator_that_is_freed_end(void **state)
{
    (void)state;
    assert_int_equal(mcomm_init(NULL), MCOMM_SUCCESS);
    for (enum call call = CALL_PROBE; call <= CALL_SENDRECV; call++)
        freed_during(call);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
}

/* ---- freed at any moment ---- */
static _Atomic(mcomm_comm_t) shared;
static _Atomic(mcomm_group_t) shared_group;
static _Atomic bool is_over;
static _Atomic size_t uses;

static void *use_shared(void *arg)
{
    mcomm_peer_desc_t peer = {.struct_size = sizeof(peer)};
    mcomm_group_t group;

    while (!atomic_load(&is_over)) {
        mcomm_comm_t comm = atomic_load(&shared);
        mcomm_err_t err = mcomm_comm_set_timeout(comm, 1000);

        atomic_fetch_add(&uses, err == MCOMM_SUCCESS);
        if (err == MCOMM_SUCCESS)
            err = mcomm_comm_set_name(comm, "shared");
        if (err == MCOMM_SUCCESS)
            err = mcomm_peer_query(comm, 0, 1, &peer);
        if (err == MCOMM_SUCCESS)
            err = mcomm_comm_group(comm, &group);
        if (err == MCOMM_SUCCESS)
            err = mcomm_group_free(&group);
        if (err != MCOMM_SUCCESS && err != MCOMM_ERR_COMM)
            return arg;
    }
    return NULL;
}

static void a_communicator_may_be_freed_while_others_set_it_up(void **state)
{
    pthread_t thread;
    void *what = NULL;

    (void)state;
    assert_int_equal(mcomm_init(NULL), MCOMM_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, use_shared, (void *)&is_over), 0);
    for (int i = 0; i < 500; i++) {
        mcomm_comm_t comm;

        assert_int_equal(mcomm_comm_dup(MCOMM_COMM_SELF, MCOMM_INFO_NULL, &comm), MCOMM_SUCCESS);
        atomic_store(&shared, comm);
        for (size_t seen = atomic_load(&uses); atomic_load(&uses) == seen;)
            sched_yield();
        assert_int_equal(mcomm_comm_free(&comm), MCOMM_SUCCESS);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, &what);
    assert_null(what);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
}

static mcomm_err_t look_at(mcomm_comm_t comm, mcomm_group_t group)
{
    mcomm_group_t made = MCOMM_GROUP_NULL;
    mcomm_compare_t result;
    int number, rank = 0;
    mcomm_err_t err = mcomm_comm_rank(comm, &number);

    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_size(comm, &number);
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_node_count(comm, &number);
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_compare(comm, comm, &result);
    if (err == MCOMM_SUCCESS)
        err = mcomm_comm_group(comm, &made);
    if (made != MCOMM_GROUP_NULL && mcomm_group_free(&made) != MCOMM_SUCCESS)
        return MCOMM_ERR_INTERNAL;
    if (err == MCOMM_SUCCESS)
        err = mcomm_group_size(group, &number);
    if (err == MCOMM_SUCCESS)
        err = mcomm_group_compare(group, group, &result);
    if (err == MCOMM_SUCCESS)
        err = mcomm_group_translate(group, 1, &rank, group, &number);
    if (err == MCOMM_SUCCESS)
        err = mcomm_group_incl(group, 1, &rank, &made);
    if (err == MCOMM_SUCCESS)
        err = mcomm_group_free(&made);
    return err;
}

static void *look_at_shared(void *arg)
{
    while (!atomic_load(&is_over)) {
        mcomm_err_t err = look_at(atomic_load(&shared), atomic_load(&shared_group));

        atomic_fetch_add(&uses, err == MCOMM_SUCCESS);
        if (err != MCOMM_SUCCESS && err != MCOMM_ERR_COMM && err != MCOMM_ERR_GROUP)
            return arg;
    }
    return NULL;
}

static void both_may_be_freed_while_others_look_at_them(void **state)
{
    pthread_t thread;
    void *what = NULL;

    (void)state;
    atomic_store(&is_over, false);
    assert_int_equal(mcomm_init(NULL), MCOMM_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, look_at_shared, (void *)&is_over), 0);
    for (int i = 0; i < 500; i++) {
        mcomm_comm_t comm;
        mcomm_group_t group;

        assert_int_equal(mcomm_comm_dup(MCOMM_COMM_SELF, MCOMM_INFO_NULL, &comm), MCOMM_SUCCESS);
        assert_int_equal(mcomm_comm_group(comm, &group), MCOMM_SUCCESS);
        atomic_store(&shared_group, group);
        atomic_store(&shared, comm);
        for (size_t seen = atomic_load(&uses); atomic_load(&uses) == seen;)
            sched_yield();
        assert_int_equal(mcomm_comm_free(&comm), MCOMM_SUCCESS);
        assert_int_equal(mcomm_group_free(&group), MCOMM_SUCCESS);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, &what);
    assert_null(what);
    assert_int_equal(mcomm_finalize(), MCOMM_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_not_held_up_while_start_up_waits),
        cmocka_unit_test(calls_on_a_communicator_that_is_freed_end),
        cmocka_unit_test(a_communicator_may_be_freed_while_others_set_it_up),
        cmocka_unit_test(both_may_be_freed_while_others_look_at_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
