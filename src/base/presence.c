/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* See presence.h. */
#include "config.h"

#include "base/presence.h"
#include "base/clock.h"
#include "base/mem.h"

#include <sched.h>

#define FOREIGN_NS 1000000.0 /* nobody of the job had the core for so long */
#define BUSY_NS 50000000.0   /* who has not waited for so long computes */

static const struct mci_doorbell **bells;
static size_t bell_count, bell_room;

void mci_presence_join(const struct mci_doorbell *bell)
{
    if (bell_count == bell_room) {
        size_t room = bell_room > 0 ? bell_room * 2 : 8;
        const struct mci_doorbell **list = mci_mem_realloc(bells, room * sizeof(*list));

        if (list == NULL)
            return; /* it counts as foreign */
        bells = list;
        bell_room = room;
    }
    bells[bell_count++] = bell;
}

void mci_presence_leave(const struct mci_doorbell *bell)
{
    for (size_t i = 0; i < bell_count; i++)
        if (bells[i] == bell)
            bells[i] = bells[--bell_count];
    if (bell_count > 0)
        return;
    mci_mem_free(bells);
    bells = NULL;
    bell_room = 0;
}

static void tell(uint64_t ticks, bool is_away)
{
    struct mci_presence *mine = &mci_doorbell_self->presence;

    atomic_store_explicit(&mine->core, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&mine->since, ticks * 2 + is_away, memory_order_relaxed);
}

void mci_presence_away(uint64_t ticks)
{
    tell(ticks, true);
}

void mci_presence_back(uint64_t ticks)
{
    tell(ticks, false);
}

static double ns_of(uint64_t ticks)
{
    return (double)ticks * mci_clock_ns_per_tick;
}

bool mci_presence_was_foreign(uint64_t begin_ticks, uint64_t end_ticks)
{
    uint64_t last = begin_ticks; /* somebody of the job left the core */
    int core = sched_getcpu();

    for (size_t i = 0; i < bell_count; i++) {
        const struct mci_presence *p = &bells[i]->presence;
        uint64_t word = atomic_load_explicit(&p->since, memory_order_relaxed), since = word / 2;

        if (atomic_load_explicit(&p->core, memory_order_relaxed) != core || since > end_ticks)
            continue;
        if (word % 2 == 0 && ns_of(end_ticks - since) < BUSY_NS)
            return false; /* it lost the core in the middle of its work */
        if (word % 2 == 1 && since > last)
            last = since;
    }
    return ns_of(end_ticks - last) > FOREIGN_NS;
}
