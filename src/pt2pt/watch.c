/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A receive may wait for a process that we have no connection to, and would never hear of its
 * death. A timer, armed only when such a receive is posted, connects to those that were waited for
 * through a whole tick. A few peers a tick, so that a large job does not connect all to all at
 * once.
 */
#include "config.h"

#include "base/loop.h"
#include "pt2pt/pt2pt_priv.h"

#define WATCH_TICK_NS 100000000
#define WATCH_PEERS_A_TICK 64

static struct mci_loop_timer timer;
static bool is_armed;

void mci_watch_arm(void)
{
    if (is_armed)
        return;
    is_armed = true;
    mci_loop_timer_set(&timer, WATCH_TICK_NS);
}

/* A member without connection, NULL if there is none. */
static struct mci_peer *idle_member(struct mci_match *m)
{
    for (int i = 0; i < m->comm->size; i++)
        if (mci_comm_peer(m->comm, i)->state == MCI_PEER_IDLE)
            return mci_comm_peer(m->comm, i);
    m->is_watched = true;
    return NULL;
}

struct watch_search {
    struct mci_match *m;
    struct mci_peer *peer;
    bool is_young; /* receives that have not waited long enough */
};

static bool search_one(struct mci_recv *op, void *arg)
{
    struct watch_search *search = arg;
    struct mci_peer *peer;

    if (search->peer != NULL)
        return false;
    if (op->source == MCOMM_ANY_SOURCE) {
        peer = search->m->is_watched ? NULL : idle_member(search->m);
    } else {
        peer = mci_comm_peer(search->m->comm, op->source);
        peer = peer->state == MCI_PEER_IDLE ? peer : NULL;
    }
    if (peer != NULL && op->born == mci_pt2pt.tick)
        search->is_young = true;
    else
        search->peer = peer;
    return false; /* only looks */
}

static struct mci_peer *find_waited_for(bool *is_young_p)
{
    struct watch_search search = {0};
    struct mci_list none, *node;

    mci_list_init(&none);
    MCI_LIST_FOREACH (node, &mci_pt2pt.matches) {
        search.m = mci_container_of(node, struct mci_match, link);
        if (search.m->comm != NULL)
            mci_match_extract(search.m, search_one, &search, &none);
        if (search.peer != NULL)
            break;
    }
    *is_young_p = search.is_young;
    return search.peer;
}

static void watch_tick(struct mci_loop_timer *t)
{
    struct mci_peer *peer = NULL;
    bool is_young = false;

    (void)t;
    is_armed = false;
    for (int i = 0; i < WATCH_PEERS_A_TICK; i++) {
        peer = find_waited_for(&is_young);
        if (peer == NULL)
            break;
        mci_peer_watch(peer); /* may fail it at once, which changes the tables */
    }
    mci_pt2pt.tick++;
    if (peer != NULL || is_young)
        mci_watch_arm();
}

void mci_watch_start(void)
{
    is_armed = false;
    mci_loop_timer_init(&timer, watch_tick, NULL);
}

void mci_watch_stop(void)
{
    mci_loop_timer_cancel(&timer);
    is_armed = false;
}
