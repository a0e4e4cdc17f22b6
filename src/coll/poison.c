/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A member that ends a collective with an error tells all others, so that those who wait for its
 * messages end too: somebody always waits for a dead member itself and notices, and from there the
 * news reaches everybody in one hop. It holds for that call and all later ones, so it is told again
 * only if an earlier call fails after it. The mark stays: a communicator whose collective failed is
 * good for freeing (or shrinking) only. Calls before the failed one are not disturbed.
 *
 * Frame: w0 context, w1 number of the call, w2 rank of the member, aux error.
 */
#include "coll/coll_priv.h"
#include "base/hash.h"
#include "coll/table.h"

#include <stdio.h>

#define EARLY_MAX 256u

/* News of communicators that this process has not made yet, by context. */
struct early {
    struct poison poison;
    bool is_offered, is_left; /* a shared segment; or there will be none */
    uint64_t region_id;
};
static struct mci_map early;
/* The latest ones: older news is of communicators that were freed here before it came. */
static struct {
    uint64_t contexts[EARLY_MAX];
    uint64_t count;
} early_order;

static struct early *early_get(uint64_t ctx)
{
    struct early *e = mci_map_get(&early, ctx);
    uint64_t *place;

    if (e != NULL)
        return e;
    e = mci_mem_zalloc(sizeof(*e));
    if (e == NULL || mci_map_put(&early, ctx, e) != MCOMM_SUCCESS) {
        mci_mem_free(e);
        return NULL;
    }
    place = &early_order.contexts[early_order.count % EARLY_MAX];
    if (early_order.count++ >= EARLY_MAX && *place != ctx)
        mci_mem_free(mci_map_remove(&early, *place));
    *place = ctx;
    return e;
}

void mci_coll_early_offer(uint64_t ctx, bool is_offer, uint64_t region_id)
{
    struct early *e = early_get(ctx);

    if (e == NULL)
        return;
    e->is_offered = is_offer;
    e->is_left = !is_offer;
    e->region_id = region_id;
}

static void poison_set(struct poison *p, uint32_t seq, int rank, mcomm_err_t err)
{
    if (p->is_set && (int32_t)(seq - p->seq) >= 0)
        return;
    p->is_set = true;
    p->seq = seq;
    p->rank = rank;
    p->err = err;
}

/* The user's choice of algorithms. */
static mcomm_err_t rules_make(struct coll_comm *cc)
{
    const struct mci_comm_hints *hints = &cc->comm->hints;

    if (hints->coll[0] == '\0')
        return MCOMM_SUCCESS;
    cc->rules = mci_mem_alloc(sizeof(*cc->rules));
    if (cc->rules == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for rules of collectives");
    return mci_coll_rules_parse(hints->coll, hints->is_info ? MCOMM_ERR_INFO : MCOMM_ERR_ARG,
                                cc->rules);
}

static void comm_coll_free(struct coll_comm *cc)
{
    mci_coll_node_free(cc);
    mci_coll_tiers_free(&cc->tiers);
    mci_mem_free(cc->rules);
    mci_mem_free(cc);
}

static mcomm_err_t comm_new(struct mci_comm *comm)
{
    struct early *e = mci_map_remove(&early, comm->ctx);
    struct coll_comm *cc = mci_mem_zalloc(sizeof(*cc));
    mcomm_err_t err;

    if (cc == NULL || mci_coll_tiers_make(&cc->tiers, comm) != MCOMM_SUCCESS) {
        mci_mem_free(cc);
        mci_mem_free(e);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a communicator's collectives");
    }
    cc->comm = comm;
    err = rules_make(cc);
    if (err != MCOMM_SUCCESS) {
        comm_coll_free(cc);
        mci_mem_free(e);
        return err;
    }
    mci_list_init(&cc->queue);
    mci_list_init(&cc->active);
    comm->coll = cc;
    if (e != NULL) {
        cc->poison = e->poison;
        cc->is_plain = e->is_left;
        if (e->is_offered)
            mci_coll_node_offered(cc, e->region_id);
        mci_mem_free(e);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t comm_gone(struct mci_comm *comm)
{
    if (comm->coll != NULL)
        comm_coll_free(coll_comm_of(comm));
    comm->coll = NULL;
    return MCOMM_SUCCESS;
}

static void on_poison(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink)
{
    struct mci_comm *comm = mci_comm_find(frame->w0);
    struct early *e = comm == NULL ? early_get(frame->w0) : NULL;
    struct poison *p = comm != NULL ? &coll_comm_of(comm)->poison : e != NULL ? &e->poison : NULL;

    (void)peer;
    (void)payload;
    (void)sink;
    if (p != NULL && frame->aux != MCOMM_SUCCESS)
        poison_set(p, frame->w1, (int)frame->w2, (mcomm_err_t)frame->aux);
    mci_wake_self();
}

mcomm_err_t mci_coll_poisoned(const struct coll_call *call)
{
    const struct mci_comm *comm = call->comm;
    const struct poison *p = &coll_comm_of(comm)->poison;
    int failed;

    if (__builtin_expect(atomic_load_explicit(&comm->is_revoked, memory_order_relaxed), 0))
        return mci_err_set(MCOMM_ERR_REVOKED, "%s: %s is revoked",
                           mci_coll_kind_name(call->args.kind), mci_comm_text(comm));
    if (__builtin_expect(comm->failed_count > 0, 0)) {
        failed = mci_comm_first_failed(comm);
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "%s: rank %d of %s failed: %s",
                           mci_coll_kind_name(call->args.kind), failed, mci_comm_text(comm),
                           failed >= 0 ? mci_peer_reason(mci_comm_peer(comm, failed)) : "");
    }
    if (__builtin_expect(p->is_set, 0) && (int32_t)(call->seq - p->seq) >= 0)
        return mci_err_set(p->err, "%s: rank %d gave up this or an earlier collective: %s",
                           mci_coll_kind_name(call->args.kind), p->rank, mcomm_err_text(p->err));
    return MCOMM_SUCCESS;
}

void mci_coll_poison(struct coll_call *call, mcomm_err_t err)
{
    struct mci_comm *comm = call->comm;
    struct poison *p = &coll_comm_of(comm)->poison;
    struct mci_frame frame = {.am = MCI_AM_COLL_POISON,
                              .aux = (uint16_t)err,
                              .w0 = comm->ctx,
                              .w1 = call->seq,
                              .w2 = (uint32_t)comm->rank};

    if (!p->is_set)
        snprintf(p->text, sizeof(p->text), "%s", mcomm_last_error());
    poison_set(p, call->seq, comm->rank, err);
    if (p->has_told && (int32_t)(call->seq - p->told_seq) >= 0)
        return;
    p->has_told = true;
    p->told_seq = call->seq;
    for (int i = 0; i < comm->size; i++) {
        struct mci_peer *peer = mci_comm_peer(comm, i);
        struct mci_frame copy = frame;

        if (i != comm->rank && !mci_peer_is_failed(peer))
            mci_peer_tell(peer, &copy);
    }
}

mcomm_err_t mci_coll_poison_explain(const struct coll_call *call)
{
    const struct poison *p = &coll_comm_of(call->comm)->poison;

    if (p->text[0] != '\0')
        return mci_err_set(call->err, "%s", p->text);
    return mci_coll_poisoned(call);
}

mcomm_err_t mci_coll_poison_start(void)
{
    mci_map_init(&early);
    early_order.count = 0;
    mci_rail_set_am(MCI_AM_COLL_POISON, on_poison);
    mci_comm_on_new(comm_new);
    mci_comm_on_gone(comm_gone);
    return MCOMM_SUCCESS;
}

void mci_coll_poison_stop(void)
{
    size_t cursor = 0;
    void *p;

    while ((p = mci_map_next(&early, &cursor, NULL)) != NULL)
        mci_mem_free(p);
    mci_map_fini(&early);
}
