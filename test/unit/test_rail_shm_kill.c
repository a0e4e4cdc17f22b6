/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The shm rail when a process ends. A sender streams numbered frames and bulk operations until it
 * is killed at a random moment: what arrives must be an unbroken, undamaged beginning of it,
 * everything half-way must end with an error, and the loss must be noticed. Messages sent before an
 * orderly end arrive; a stopped process is not a failed one.
 */
#include "rail_shm_kid.h"

#include <signal.h>
#include <sys/wait.h>

#ifdef MCI_SANITIZE
#define ROUNDS 40 /* slow there */
#else
#define ROUNDS 200
#endif

static uint64_t rng = KID_SEED;

static void what_a_killed_sender_published_is_whole(void **state)
{
    int total_aborted = 0, total_bulk = 0, total_bulk_failed = 0;
    uint64_t total = 0;

    (void)state;
    printf("# seed %#llx\n", (unsigned long long)KID_SEED);
    for (int round = 0; round < ROUNDS; round++) {
        struct kid kid = kid_start("stream");

        kid_begin();
        kid_wait_frames(1);
        /* Killed while this process goes on receiving: at any instruction of the sender's. */
        kid_wait_frames(1 + rng_next(&rng) % 400);
        kill(kid.pid, SIGKILL);
        kid_wait_failure();
        assert_int_equal(kid_seen.failed_calls, 1);
        assert_false(kid_seen.peer->has_left);
        assert_int_equal(kid_seen.done + kid_seen.aborted, kid_seen.next);
        assert_false(kid_seen.is_in_open);
        total += kid_seen.next;
        total_aborted += (int)kid_seen.aborted;
        total_bulk += kid_seen.bulk_done;
        total_bulk_failed += kid_seen.bulk_failed;
        kid_end(&kid, true);
    }
    printf("# %llu frames, %d cut off; %d operations, %d cut off\n", (unsigned long long)total,
           total_aborted, total_bulk, total_bulk_failed);
}

static void frames_sent_before_an_orderly_end_arrive(void **state)
{
    struct kid kid = kid_start("limit");

    (void)state;
    kid_begin();
    kid_wait_failure();
    assert_int_equal(kid_seen.next, 300);
    assert_int_equal(kid_seen.done, 300);
    assert_true(kid_seen.peer->has_left);
    kid_end(&kid, false);
}

static void a_stopped_process_has_not_failed(void **state)
{
    struct kid kid = kid_start("stream");
    struct mci_waiter w;
    uint32_t seen;

    (void)state;
    kid_begin();
    kid_wait_frames(50);
    kill(kid.pid, SIGSTOP);
    waitpid(kid.pid, NULL, WUNTRACED);
    mci_wait_begin(&w, 200); /* a quiet time is what is looked for here */
    while (mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    assert_false(mci_peer_is_failed(kid_seen.peer));
    seen = kid_seen.next;
    kill(kid.pid, SIGCONT);
    kid_wait_frames(seen + 50);
    kill(kid.pid, SIGKILL);
    kid_wait_failure();
    kid_end(&kid, true);
}

static void a_death_is_noticed_though_a_forked_child_lives(void **state)
{
    struct kid kid = kid_start("forked");

    (void)state;
    kid_begin();
    kid_wait_frames(20);
    kill(kid.pid, SIGKILL);
    kid_wait_failure();
    assert_int_equal(kid_seen.done + kid_seen.aborted, kid_seen.next);
    kid_end(&kid, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_sender_published_is_whole),
        cmocka_unit_test(frames_sent_before_an_orderly_end_arrive),
        cmocka_unit_test(a_stopped_process_has_not_failed),
        cmocka_unit_test(a_death_is_noticed_though_a_forked_child_lives),
    };

    kid_main(argc, argv);
    return cmocka_run_group_tests(tests, kid_rail_up, kid_rail_down);
}
