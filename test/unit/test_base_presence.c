/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Whose time on a core it was: of a peer that waits there, one that works there, or neither. */
#include "config.h"

#include "base/clock.h"
#include "base/presence.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct mci_doorbell peer;

static uint64_t ticks_of_ms(double ms)
{
    return (uint64_t)(ms * 1e6 / mci_clock_ns_per_tick);
}

/* The peer left its core (or came to it) at since; asked is the time from 100 to 110 ms. */
static bool was_foreign(double since_ms, bool is_away, int core)
{
    atomic_store(&peer.presence.since, ticks_of_ms(since_ms) * 2 + is_away);
    atomic_store(&peer.presence.core, core);
    return mci_presence_was_foreign(ticks_of_ms(100), ticks_of_ms(110));
}

static int stay_on_a_core(void **state)
{
    cpu_set_t one;

    (void)state;
    mci_clock_init();
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    mci_presence_join(&peer);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    mci_presence_leave(&peer);
    return 0;
}

static void time_after_a_peer_left_is_its_own(void **state)
{
    int core = sched_getcpu();

    (void)state;
    assert_false(was_foreign(109.9, true, core));
    assert_true(was_foreign(101, true, core)); /* it left long before the end */
    assert_true(was_foreign(50, true, core));
    assert_true(was_foreign(109.9, true, core + 1));
}

static void a_peer_at_work_had_the_core(void **state)
{
    int core = sched_getcpu();

    (void)state;
    assert_false(was_foreign(99, false, core));
    assert_true(was_foreign(20, false, core)); /* it computes, for who knows how long */
    assert_true(was_foreign(99, false, core + 1));
}

static void a_peer_that_is_gone_does_not_count(void **state)
{
    static struct mci_doorbell others[20];
    int core = sched_getcpu();

    (void)state;
    for (int i = 0; i < 20; i++)
        mci_presence_join(&others[i]);
    mci_presence_leave(&peer);
    assert_true(was_foreign(109.9, true, core));
    mci_presence_join(&peer);
    assert_false(was_foreign(109.9, true, core));
    for (int i = 0; i < 20; i++)
        mci_presence_leave(&others[i]);
    assert_false(was_foreign(109.9, true, core));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_after_a_peer_left_is_its_own),
        cmocka_unit_test(a_peer_at_work_had_the_core),
        cmocka_unit_test(a_peer_that_is_gone_does_not_count),
    };

    return cmocka_run_group_tests(tests, stay_on_a_core, leave);
}
