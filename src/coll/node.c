/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * How the members of a node come to their segment. Frames: w0 context, aux step, w1 and w2 the
 * offered region. Nobody need be in a call: the steps are answered by whoever drives progress, and
 * the members are kicked. Offer -> mapped or refused, to the offerer -> use or leave, to all.
 */
#include "coll/node.h"
#include "base/copy.h"
#include "base/log.h"
#include "base/settings.h"
#include "topo/topo.h"

#include <string.h>

enum node_step {
    STEP_OFFER = 1,
    STEP_MAPPED,
    STEP_REFUSED,
    STEP_USE,
    STEP_LEAVE
};

#define PAGE ((size_t)4096)
#define RING_MIN ((size_t)256 << 10)
/* Measured: with 2 MiB bcast of 32 KiB takes five times as long; why is not known. */
#define RING_MAX ((size_t)512 << 10)
#define RINGS_NBYTES                                                                               \
    ((size_t)16 << 20) /* of all members together, well below a last-level cache                   \
                        */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* ---- the segment ---- */
struct header { /* written by the offerer before the offer */
    uint32_t size;
    uint32_t is_crowded;
};

static void layout(struct coll_node *node)
{
    size_t rings = RINGS_NBYTES / NODE_RING_NUM / (size_t)node->size;

    node->stride = sizeof(struct node_words) + NODE_GENS * sizeof(struct node_line) + NODE_SLOTS +
                   round_up((size_t)node->size * NODE_RING_NUM * sizeof(uint64_t), NODE_LINE);
    node->ring_nbytes = RING_MAX;
    while (node->ring_nbytes > RING_MIN && node->ring_nbytes > rings)
        node->ring_nbytes /= 2;
    node->nbytes = round_up(NODE_LINE + (size_t)node->size * node->stride, PAGE) +
                   (size_t)node->size * NODE_RING_NUM * node->ring_nbytes;
}

static void places(struct coll_node *node, void *base)
{
    node->base = base;
    node->parts = (char *)base + NODE_LINE;
    node->rings = (char *)base + round_up(NODE_LINE + (size_t)node->size * node->stride, PAGE);
    node->is_crowded = ((struct header *)base)->is_crowded != 0;
}

static void node_release(struct coll_node *node)
{
    mci_mem_free(node->srcs);
    mci_mem_free(node->peers);
    mci_mem_free(node->got); /* and the pieces behind it */
    mci_mem_free(node->heard);
    mci_mem_free(node->past); /* and the words behind it */
    mci_mem_free(node);
}

static struct coll_node *node_new(struct coll_comm *cc)
{
    struct coll_node *node = mci_mem_zalloc(sizeof(*node));
    const struct coll_tiers *tiers = &cc->tiers;
    size_t n = (size_t)tiers->local_size;
    uint64_t *words;

    if (node == NULL)
        return NULL;
    node->cc = cc;
    node->state = NODE_ASKED;
    node->size = tiers->local_size;
    node->rank = tiers->local_rank;
    node->srcs = mci_mem_zalloc(n * sizeof(*node->srcs));
    node->peers = mci_mem_zalloc(n * sizeof(struct mci_peer *));
    node->got = mci_mem_zalloc(2 * n * sizeof(*node->got));
    node->piece = node->got != NULL ? node->got + n : NULL;
    node->heard = mci_mem_zalloc(n * sizeof(*node->heard));
    words = node->past = mci_mem_zalloc((1 + 4 * NODE_RING_NUM) * n * sizeof(*words));
    if (node->srcs == NULL || node->peers == NULL || words == NULL || node->got == NULL ||
        node->heard == NULL) {
        node_release(node);
        return NULL;
    }
    for (int i = 0; i < node->size; i++)
        node->peers[i] = mci_comm_peer(cc->comm, tiers_local(tiers, i));
    for (int i = 0; i < NODE_RING_NUM; i++) {
        node->pos[i] = words += n;
        node->seen[i] = words += n;
        node->owed[i] = words += n;
        node->owed_before[i] = words += n;
    }
    node->left = -1;
    node->is_far = !mci_copy_stays_cached;
    layout(node);
    return node;
}

static void node_unmap(struct coll_node *node)
{
    if (node->is_asking)
        mci_region_ask_cancel(&node->ask);
    node->is_asking = false;
    if (node->region != NULL)
        mci_region_free(node->region);
    else if (node->base != NULL)
        mci_region_unmap(node->base, node->nbytes);
    node->region = NULL;
    node->base = NULL;
}

void mci_coll_node_free(struct coll_comm *cc)
{
    struct coll_node *node = cc->node;

    cc->node = NULL;
    if (node == NULL)
        return;
    node_unmap(node);
    node_release(node);
}

/* ---- agreeing ---- */
/* A member of the node, by its place there. */
static mcomm_err_t tell(struct coll_comm *cc, int place, enum node_step step, uint64_t id)
{
    struct mci_frame frame = {.am = MCI_AM_COLL_NODE,
                              .aux = (uint16_t)step,
                              .w0 = cc->comm->ctx,
                              .w1 = (uint32_t)id,
                              .w2 = (uint32_t)(id >> 32)};
    struct mci_peer *peer = mci_comm_peer(cc->comm, tiers_local(&cc->tiers, place));
    mcomm_err_t err = mci_peer_tell(peer, &frame);

    if (err == MCOMM_SUCCESS)
        mci_peer_kick(peer);
    return err;
}

static void tell_all(struct coll_comm *cc, enum node_step step, uint64_t id)
{
    for (int i = 0; i < cc->tiers.local_size; i++) {
        mcomm_err_t err = i == cc->tiers.local_rank ? MCOMM_SUCCESS : tell(cc, i, step, id);

        if (err != MCOMM_SUCCESS)
            mci_log_debug("%s: rank %d is not told of the shared segment: %s",
                          mci_comm_text(cc->comm), tiers_local(&cc->tiers, i), mcomm_err_text(err));
    }
}

static void leave(struct coll_comm *cc)
{
    cc->is_plain = true;
    mci_coll_node_free(cc);
    mci_log_debug("%s: no shared segment for collectives", mci_comm_text(cc->comm));
}

static void go_plain(struct coll_comm *cc)
{
    leave(cc);
    mci_coll_comm_step(cc);
}

static void use(struct coll_comm *cc)
{
    struct coll_node *node = cc->node;

    node->state = NODE_CONNECTING;
    for (int i = 0; i < node->size; i++)
        if (i != node->rank)
            mci_peer_watch(node->peers[i]);
    mci_coll_comm_step(cc);
}

static void offer(struct coll_comm *cc)
{
    struct coll_node *node = node_new(cc);
    struct header *header;

    cc->node = node;
    if (node == NULL || mci_region_create(node->nbytes, 0, &node->region) != MCOMM_SUCCESS) {
        tell_all(cc, STEP_LEAVE, 0);
        cc->is_plain = true;
        mci_coll_node_free(cc);
        return;
    }
    header = node->region->base;
    header->size = (uint32_t)node->size;
    header->is_crowded =
        node->size > mci_topo_cores_of(mci_peer_cpu_count(node->peers, node->size));
    places(node, node->region->base);
    tell_all(cc, STEP_OFFER, node->region->id);
}

static void on_mapped(struct mci_region_ask *ask)
{
    struct coll_node *node = ask->arg;
    struct coll_comm *cc = node->cc;
    size_t nbytes = 0;
    void *base = NULL;
    mcomm_err_t err = mci_region_answer(ask, &base, &nbytes);

    node->is_asking = false;
    if (err == MCOMM_SUCCESS &&
        (nbytes != node->nbytes || ((struct header *)base)->size != (uint32_t)node->size)) {
        mci_region_unmap(base, nbytes);
        err = MCOMM_ERR_INTERNAL;
    }
    if (err == MCOMM_SUCCESS)
        places(node, base);
    tell(cc, 0, err == MCOMM_SUCCESS ? STEP_MAPPED : STEP_REFUSED, 0);
}

void mci_coll_node_offered(struct coll_comm *cc, uint64_t region_id)
{
    struct mci_peer *owner = mci_comm_peer(cc->comm, tiers_local(&cc->tiers, 0));

    if (cc->node != NULL && (cc->node->is_asking || cc->node->base != NULL))
        return;
    if (cc->node == NULL && !cc->is_plain)
        cc->node = node_new(cc);
    if (cc->node != NULL) {
        cc->node->ask.done = on_mapped;
        cc->node->ask.arg = cc->node;
        if (mci_region_ask(owner, region_id, &cc->node->ask) == MCOMM_SUCCESS) {
            cc->node->is_asking = true;
            return;
        }
    }
    tell(cc, 0, STEP_REFUSED, 0);
}

static void answered(struct coll_comm *cc, bool is_mapped)
{
    struct coll_node *node = cc->node;

    if (node == NULL || node->rank != 0 || node->state != NODE_ASKED)
        return;
    node->is_refused |= !is_mapped;
    if (++node->answers < node->size - 1)
        return;
    tell_all(cc, node->is_refused ? STEP_LEAVE : STEP_USE, 0);
    if (node->is_refused)
        go_plain(cc);
    else
        use(cc);
}

static void on_node(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    struct mci_comm *comm = mci_comm_find(frame->w0);
    struct coll_comm *cc = comm != NULL ? coll_comm_of(comm) : NULL;

    (void)peer;
    (void)payload;
    (void)sink;
    if (cc == NULL) {
        if (frame->aux == STEP_OFFER || frame->aux == STEP_LEAVE)
            mci_coll_early_offer(frame->w0, frame->aux == STEP_OFFER,
                                 frame->w1 | (uint64_t)frame->w2 << 32);
        return;
    }
    switch ((enum node_step)frame->aux) {
    case STEP_OFFER:
        mci_coll_node_offered(cc, frame->w1 | (uint64_t)frame->w2 << 32);
        break;
    case STEP_MAPPED:
    case STEP_REFUSED:
        answered(cc, frame->aux == STEP_MAPPED);
        break;
    case STEP_USE:
        if (cc->node != NULL && cc->node->base != NULL && cc->node->state == NODE_ASKED)
            use(cc);
        break;
    case STEP_LEAVE:
        if (!cc->is_plain)
            go_plain(cc);
        break;
    }
}

/* All local members can be woken; those that finalized need not be. */
static bool is_connected(const struct coll_node *node)
{
    for (int i = 0; i < node->size; i++)
        if (i != node->rank && node->peers[i]->state != MCI_PEER_READY && !node->peers[i]->has_left)
            return false;
    return true;
}

/* Somebody finalized before all had agreed: no use was told to anybody. */
static bool is_hopeless(const struct coll_node *node)
{
    int end = node->rank == 0 ? node->size : 1;

    for (int i = 0; i < end && node->state == NODE_ASKED; i++)
        if (node->peers[i]->has_left)
            return true;
    return false;
}

struct coll_node *mci_coll_node_get(struct coll_comm *cc, bool *is_plain_p)
{
    struct coll_node *node = cc->node;

    if (node != NULL && node->state == NODE_READY)
        return node;
    if (!cc->is_plain && node == NULL) {
        if (cc->tiers.local_size == 1 || cc->tiers.local_size > NODE_MEMBERS_MAX ||
            !mci_settings.shm)
            cc->is_plain = true;
        else if (cc->tiers.local_rank == 0)
            offer(cc);
        else
            cc->node = node_new(cc); /* wait for the offer */
        node = cc->node;
    }
    if (node != NULL && is_hopeless(node)) {
        if (node->rank == 0)
            tell_all(cc, STEP_LEAVE, 0);
        leave(cc);
        node = NULL;
    }
    if (node != NULL && node->state == NODE_CONNECTING && is_connected(node)) {
        node->state = NODE_READY;
        return node;
    }
    *is_plain_p = cc->is_plain;
    return NULL;
}

mcomm_err_t mci_coll_node_start_module(void)
{
    mci_rail_set_am(MCI_AM_COLL_NODE, on_node);
    return MCOMM_SUCCESS;
}
