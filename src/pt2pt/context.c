/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Which match object belongs to a context. A message may come before this process has made its
 * communicator: then the match object is made without one and found by it later. Contexts freed
 * lately are remembered, so that what comes late for them is dropped and not kept for ever.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

#define FREED_MAX 1024u

struct mci_pt2pt mci_pt2pt;
static struct {
    uint64_t keys[FREED_MAX];
    uint64_t count; /* so far; the ring's next place */
    struct mci_map map;
} freed;

mcomm_err_t mci_context_start(void)
{
    memset(&mci_pt2pt, 0, sizeof(mci_pt2pt));
    mci_map_init(&mci_pt2pt.contexts);
    mci_map_init(&mci_pt2pt.sends);
    mci_list_init(&mci_pt2pt.matches);
    mci_list_init(&mci_pt2pt.live);
    mci_pool_init(&mci_pt2pt.requests, sizeof(struct mci_pt2pt_request));
    mci_pool_init(&mci_pt2pt.places, sizeof(struct sink_place));
    mci_pt2pt.next_id = 1;
    mci_map_init(&freed.map);
    freed.count = 0;
    return MCOMM_SUCCESS;
}

static void match_free(struct mci_match *m)
{
    mci_map_remove(&mci_pt2pt.contexts, m->key);
    if (mci_pt2pt.cache[m->key % CONTEXT_CACHE] == m)
        mci_pt2pt.cache[m->key % CONTEXT_CACHE] = NULL;
    mci_list_remove(&m->link);
    mci_match_fini(m);
    mci_mem_free(m);
}

static void drop_unexpected(struct mci_match *m, mcomm_err_t err)
{
    for (unsigned space = 0; space < 4; space++) {
        struct mci_msg *msg;

        while ((msg = mci_match_find(m, space, MCOMM_ANY_SOURCE, MCOMM_ANY_TAG)) != NULL) {
            mci_match_remove(m, msg);
            mci_msg_drop(msg, err);
        }
    }
}

static bool want_all(struct mci_recv *op, void *arg)
{
    (void)op;
    (void)arg;
    return true;
}

/* Nobody uses the context any more: what is left ends with an error. */
static void match_end(struct mci_match *m)
{
    struct mci_list ops;

    mci_list_init(&ops);
    mci_match_extract(m, want_all, NULL, &ops);
    if (m->comm != NULL)
        m->comm->match = NULL;
    m->comm = NULL;
    drop_unexpected(m, MCOMM_ERR_COMM);
    match_free(m);
    mci_pt2pt_fail_list(&ops, MCOMM_ERR_COMM);
}

void mci_context_stop(void)
{
    while (!mci_list_is_empty(&mci_pt2pt.matches))
        match_end(mci_container_of(mci_pt2pt.matches.next, struct mci_match, link));
    mci_map_fini(&mci_pt2pt.contexts);
    mci_map_fini(&mci_pt2pt.sends);
    mci_map_fini(&freed.map);
}

struct mci_match *mci_context_find_slow(uint64_t key)
{
    struct mci_match *m = mci_map_get(&mci_pt2pt.contexts, key);

    if (m != NULL)
        mci_pt2pt.cache[key % CONTEXT_CACHE] = m;
    return m;
}

static struct mci_match *match_new(uint64_t key, struct mci_match *m)
{
    if (m == NULL)
        return NULL;
    mci_match_init(m, key);
    if (mci_map_put(&mci_pt2pt.contexts, key, m) != MCOMM_SUCCESS) {
        mci_mem_free(m);
        return NULL;
    }
    mci_list_push(&mci_pt2pt.matches, &m->link);
    return m;
}

struct mci_match *mci_context_expect(uint64_t key, bool *was_freed_p)
{
    *was_freed_p = mci_map_get(&freed.map, key) != NULL;
    return *was_freed_p ? NULL : match_new(key, mci_reserve_take(MCI_RESERVE_MATCH));
}

mcomm_err_t mci_context_on_new(struct mci_comm *comm)
{
    uint64_t key = comm->ctx >> 2;
    struct mci_match *m = mci_context_find(comm->ctx);

    mci_map_remove(&freed.map, key);
    if (m == NULL)
        m = match_new(key, mci_mem_alloc(sizeof(*m)));
    if (m == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "matching tables of a communicator");
    m->comm = comm;
    comm->match = m;
    for (int i = 0; i < comm->size; i++)
        m->failed_count +=
            mci_peer_is_failed(mci_comm_peer(comm, i)) && !mci_comm_peer(comm, i)->has_left;
    return MCOMM_SUCCESS;
}

static void freed_remember(uint64_t key)
{
    uint64_t *place = &freed.keys[freed.count % FREED_MAX];

    if (freed.count >= FREED_MAX)
        mci_map_remove(&freed.map, *place);
    *place = key;
    freed.count++;
    mci_map_put(&freed.map, key, &freed); /* without memory: a late message is kept */
}

mcomm_err_t mci_context_on_gone(struct mci_comm *comm)
{
    struct mci_match *m = comm->match;

    if (m == NULL)
        return MCOMM_SUCCESS;
    freed_remember(m->key);
    match_end(m);
    return MCOMM_SUCCESS;
}

static void move_sends(struct mci_list *from, uint64_t key, struct mci_list *to)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, from) {
        if (mci_container_of(node, struct mci_send, link)->ctx >> 2 != key)
            continue;
        mci_list_remove(node);
        mci_list_push(to, node);
    }
}

static void move_bulk(struct mci_list *from, const struct mci_match *m, struct mci_list *to)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, from) {
        struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

        if (op->match != m)
            continue;
        mci_list_remove(node);
        mci_list_push(to, node);
    }
}

void mci_pt2pt_interrupt(struct mci_comm *comm, mcomm_err_t err)
{
    struct mci_match *m = mci_match_of(comm);
    struct mci_list posted, bulk, sends;

    mci_list_init(&posted);
    mci_list_init(&bulk);
    mci_list_init(&sends);
    mci_match_extract(m, want_all, NULL, &posted);
    for (int i = 0; i < comm->size; i++) {
        struct mci_pt2pt_peer *pp = mci_comm_peer(comm, i)->p2p;

        if (pp == NULL)
            continue;
        move_bulk(&pp->bulk, m, &bulk);
        move_sends(&pp->queued, m->key, &sends);
        move_sends(&pp->waiting, m->key, &sends);
        move_sends(&pp->held, m->key, &sends);
    }
    mci_pt2pt_fail_list(&posted, err);
    while (!mci_list_is_empty(&bulk)) /* its end takes each out */
        mci_recv_give_up(mci_container_of(bulk.next, struct mci_recv, link), err);
    while (!mci_list_is_empty(&sends))
        mci_send_give_up(mci_container_of(sends.next, struct mci_send, link), err);
    drop_unexpected(m, err);
}
