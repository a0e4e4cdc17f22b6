/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A store comes and goes. Opening is collective: every rank tells its facts, all compute the same
 * layout, the windows are allocated on a duplicate of the communicator. Deaths are heard from the
 * rails and written into every open store that has the process as a member.
 */
#include "config.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"
#include "kvobj/kv_far.h"
#include "kvobj/kvobj.h"

#include <stddef.h>
#include <string.h>

static struct mci_list stores = {&stores, &stores}; /* lock: engine */

struct mci_kv *mci_kv_by_ctx(uint64_t ctx)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &stores) {
        struct mci_kv *kv = mci_container_of(node, struct mci_kv, link);

        if (kv->core_comm->ctx == ctx)
            return kv;
    }
    return NULL;
}

static void peer_failed(struct mci_peer *peer)
{
    struct mci_list *node;

    mci_kv_calls_end(peer);

    MCI_LIST_FOREACH (node, &stores) {
        struct mci_kv *kv = mci_container_of(node, struct mci_kv, link);
        int rank = mci_comm_rank_of(kv->core_comm, peer);

        if (rank >= 0)
            mci_kv_rank_died(kv, rank);
    }
}

static mcomm_err_t module_start(void)
{
    mci_list_init(&stores);
    mci_kv_calls_start();
    mci_rail_on_failed(peer_failed);
    return MCOMM_SUCCESS;
}

/* Stores that were never closed: their windows are gone with rma. */
static void module_stop(void)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&stores)) != NULL) {
        struct mci_kv *kv = mci_container_of(node, struct mci_kv, link);

        mci_handle_free(MCI_HANDLE_KV, kv->handle);
        mci_kv_delete(kv);
    }
}

const struct mci_core_module mci_kv_module = {
    .name = "kvobj",
    .start = module_start,
    .stop = module_stop,
};

/* ---- opening ---- */
/*
 * Opening goes on at all ranks or at none: the error of any rank, the first of them, is all ranks'.
 * Its text is told where it happened.
 */
static mcomm_err_t agree(struct mci_comm *comm, mcomm_comm_t handle, mcomm_err_t own)
{
    int64_t mine = own == MCOMM_SUCCESS ? 0 : (int64_t)(KV_RANK_MAX - comm->rank) << 32 | own;
    int64_t worst = 0;
    int rank;
    mcomm_err_t err = mcomm_allreduce(&mine, &worst, 1, MCOMM_INT64, MCOMM_MAX, handle);

    if (own != MCOMM_SUCCESS || err != MCOMM_SUCCESS || worst == 0)
        return own != MCOMM_SUCCESS ? own : err;
    err = (mcomm_err_t)(worst & 0xffffffff);
    rank = KV_RANK_MAX - (int)(worst >> 32);
    return mci_err_set(err, "rank %d could not open the store: %s", rank, mcomm_err_text(err));
}

static mcomm_err_t facts_check(const struct kv_facts *facts, int own, int size, const char *name)
{
    uint64_t capacity = 0;

    for (int rank = 0; rank < size; rank++) {
        if (facts[rank].hash != facts[own].hash)
            return mci_err_set(MCOMM_ERR_MISMATCH,
                               "rank %d hashes keys otherwise than this rank: builds with and "
                               "without libxxhash cannot share a store",
                               rank);
        capacity += facts[rank].capacity;
    }
    if (capacity == 0)
        return mci_err_set(MCOMM_ERR_ARG, "capacity is 0 on all %d ranks of %s: nobody stores",
                           size, name);
    return MCOMM_SUCCESS;
}

static mcomm_err_t window_make(struct mci_kv *kv, enum kv_area area, size_t nbytes)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    void *base;
    mcomm_err_t err;

    attr.nbytes = nbytes;
    attr.alignment = 4096;
    err = mcomm_win_allocate(&attr, kv->comm, &base, &kv->wins[area]);
    for (int rank = 0; rank < kv->size && err == MCOMM_SUCCESS; rank++) {
        err = mcomm_win_shared_query(kv->wins[area], rank, &base);
        kv->parts[rank].area[area] = base;
        if (err == MCOMM_ERR_PROC_FAILED) {
            mci_kv_rank_died(kv, rank);
            kv->parts[rank].area[area] = NULL;
            err = MCOMM_SUCCESS;
        }
    }
    return err;
}

/* Deaths are heard from now on; those before are looked up. */
static void store_enlist(struct mci_kv *kv)
{
    mci_engine_lock();
    mci_list_push(&stores, &kv->link);
    for (int rank = 0; rank < kv->size; rank++) {
        struct mci_peer *peer = mci_comm_peer(kv->core_comm, rank);

        mci_peer_watch(peer);
        if (mci_peer_is_failed(peer))
            mci_kv_rank_died(kv, rank);
    }
    mci_engine_unlock();
}

static mcomm_err_t facts_exchange(struct mci_comm *comm, mcomm_comm_t handle,
                                  const mcomm_kv_attr_t *attr, struct kv_facts *facts)
{
    struct kv_facts mine = {.capacity = attr->capacity,
                            .max_objects = attr->max_objects,
                            .node = (uint64_t)comm->node_of[comm->rank],
                            .hash = mci_hash128("key", 3, 0).hi};
    mcomm_err_t err = mcomm_allgather(&mine, facts, sizeof(mine), MCOMM_BYTE, handle);

    if (err != MCOMM_SUCCESS)
        return err;
    return facts_check(facts, comm->rank, comm->size, mci_comm_text(comm));
}

static int put_timeout(const mcomm_kv_attr_t *attr)
{
    int64_t ms = mci_settings.kv_put_timeout;

    if (attr->put_timeout_ms != 0)
        return attr->put_timeout_ms;
    (void)mci_settings_int(attr->info, "kv_put_timeout", &ms); /* checked by the caller */
    return (int)ms;
}

static mcomm_err_t attach(struct mci_kv *kv)
{
    const struct kv_part *own = &kv->parts[kv->rank];
    mcomm_err_t err = window_make(kv, KV_META, own->meta_nbytes);

    err = agree(kv->core_comm, kv->comm, err);
    if (err != MCOMM_SUCCESS)
        return err;
    err = window_make(kv, KV_DATA, own->data_nbytes);
    for (int rank = 0; rank < kv->size; rank++)
        kv->has_far |= !kv_is_mapped(kv, rank);
    if (err == MCOMM_SUCCESS) {
        store_enlist(kv);
        kv->is_attached = true;
        kv->handle = mci_handle_new(MCI_HANDLE_KV, kv);
        if (kv->handle == NULL)
            err = mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a handle");
    }
    return agree(kv->core_comm, kv->comm, err);
}

/* facts: room for all, or NULL: no memory. Owns comm on success. */
static mcomm_err_t store_make(struct mci_comm *core_comm, mcomm_comm_t comm, mcomm_err_t own_err,
                              const mcomm_kv_attr_t *attr, struct kv_facts *facts,
                              struct mci_kv **kv_p)
{
    struct mci_kv *kv;
    mcomm_err_t err = own_err;

    if (core_comm->size > KV_RANK_MAX) /* at all of them */
        return mci_err_set(MCOMM_ERR_LIMIT, "%d ranks: a store has at most %d", core_comm->size,
                           KV_RANK_MAX);
    if (err == MCOMM_SUCCESS && facts == NULL)
        err = mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the facts of %d ranks", core_comm->size);
    err = agree(core_comm, comm, err);
    if (err == MCOMM_SUCCESS)
        err = facts_exchange(core_comm, comm, attr, facts);
    if (err != MCOMM_SUCCESS)
        return err;
    kv = mci_kv_new(core_comm->rank, core_comm->size, facts);
    if (kv == NULL)
        err = mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a store of %d ranks", core_comm->size);
    err = agree(core_comm, comm, err);
    if (err != MCOMM_SUCCESS && kv != NULL)
        mci_kv_delete(kv);
    else
        *kv_p = kv;
    return err;
}

mcomm_err_t mci_kv_open(mcomm_comm_t comm, mcomm_err_t own_err, const mcomm_kv_attr_t *attr,
                        struct mci_kv **kv_p)
{
    struct mci_comm *core_comm;
    struct kv_facts *facts;
    mcomm_comm_t dup;
    struct mci_kv *kv = NULL;
    int timeout_ms;
    mcomm_err_t err = mci_comm_lookup("comm", comm, &core_comm);

    if (err != MCOMM_SUCCESS)
        return err;
    timeout_ms = core_comm->timeout_ms;
    err = mcomm_comm_dup(comm, MCOMM_INFO_NULL, &dup);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_comm_lookup("comm", dup, &core_comm);
    if (err == MCOMM_SUCCESS) {
        core_comm->timeout_ms = timeout_ms;
        facts = mci_mem_zalloc(sizeof(*facts) * (size_t)core_comm->size);
        err = store_make(core_comm, dup, own_err, attr, facts, &kv);
        mci_mem_free(facts);
    }
    if (err != MCOMM_SUCCESS) {
        (void)mcomm_comm_free(&dup);
        return err;
    }
    kv->comm = dup;
    kv->core_comm = core_comm;
    kv->remote = &mci_kv_rma_ops;
    kv->put_timeout_ms = put_timeout(attr);
    err = attach(kv);
    if (err == MCOMM_SUCCESS)
        *kv_p = kv;
    else
        (void)mci_kv_close(kv);
    return err;
}

/* A member died, so there is no barrier: what the others still use stays until they close, too. */
static mcomm_err_t others_wait(struct mci_kv *kv)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    struct kv_waiter w;

    mci_kv_wait_begin(&w, kv->core_comm->timeout_ms);
    for (int rank = 0; rank < kv->size; rank++) {
        uint64_t is_closing = 0;

        while (err == MCOMM_SUCCESS && !kv_is_dead(kv, rank) &&
               mci_kv_load(kv, rank, offsetof(struct kv_head, is_closing), &is_closing) ==
                   MCOMM_SUCCESS &&
               !is_closing)
            err = mci_kv_wait_step(&w);
    }
    return err;
}

/* One time limit for all steps of a close: the next one has what is left. */
static void limit_left(struct mci_kv *kv, int64_t deadline_ns)
{
    mci_engine_lock();
    kv->core_comm->timeout_ms = mci_deadline_left_ms(deadline_ns);
    mci_engine_unlock();
}

/* Collective; members that died are not waited for. TIMEOUT: nor was somebody who lives. */
mcomm_err_t mci_kv_close(struct mci_kv *kv)
{
    int64_t deadline_ns = mci_deadline_ns(kv->core_comm->timeout_ms);
    mcomm_err_t err, gone = MCOMM_SUCCESS;

    if (kv->handle != NULL)
        mci_handle_free(MCI_HANDLE_KV, kv->handle);
    if (kv->is_attached)
        (void)mci_kv_store(kv, kv->rank, offsetof(struct kv_head, is_closing), 1);
    err = mcomm_barrier(kv->comm);
    if (err != MCOMM_SUCCESS)
        mci_log_debug("closing a store: %s", mcomm_err_text(err));
    limit_left(kv, deadline_ns);
    if (err == MCOMM_ERR_TIMEOUT)
        gone = err;
    else if (err != MCOMM_SUCCESS && kv->is_attached)
        gone = others_wait(kv);
    mci_engine_lock();
    mci_list_remove(&kv->link);
    mci_engine_unlock();
    for (int area = 0; area < 2; area++) {
        limit_left(kv, deadline_ns);
        if (kv->wins[area] != MCOMM_WIN_NULL)
            (void)mcomm_win_free(&kv->wins[area]);
    }
    (void)mcomm_comm_free(&kv->comm);
    mci_kv_orphans_free(kv);
    mci_kv_delete(kv);
    return gone == MCOMM_SUCCESS ? gone
                                 : mci_err_set(gone, "not all members have closed the store; it is "
                                                     "freed here");
}
