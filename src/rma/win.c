/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Windows: made by one exchange of each member's part, freed when no member has operations left.
 * A window is in the table of keys from before its exchange until after its members agreed to free
 * it, so that a frame always finds it. Parts of local members are mapped on first use.
 */
#include "config.h"

#include "base/info.h"
#include "base/log.h"
#include "rma/rma_priv.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAP_TIMEOUT_MS 10000
#define ALIGNMENT_MAX ((size_t)2 << 20)
#define LINE 64u

struct mci_list mci_rma_wins;
static struct mci_map wins_by_key;
static uint32_t next_key;

void mci_rma_win_start(void)
{
    mci_list_init(&mci_rma_wins);
    mci_map_init(&wins_by_key);
}

struct mci_win *mci_rma_win_by_key(uint32_t key)
{
    return mci_map_get(&wins_by_key, key);
}

struct mci_win *mci_win_get(mcomm_win_t handle)
{
    struct mci_win *win = mci_handle_get(MCI_HANDLE_WIN, handle);

    if (__builtin_expect(win == NULL, 0)) {
        if (mci_check_init() == MCOMM_SUCCESS)
            mci_err_set(MCOMM_ERR_WIN, "win is %p, which is no live window", (void *)handle);
    }
    return win;
}

mcomm_win_t mci_win_handle(const struct mci_win *win)
{
    return win->handle;
}

/* ---- memory of the own part ---- */
static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Shared if the shm rail can, else private: then peers go by frames. */
static mcomm_err_t part_memory(struct mci_win *win, size_t data_nbytes, size_t alignment)
{
    size_t ctl_nbytes = sizeof(struct rma_ctl) + (size_t)win->size * sizeof(uint32_t);
    size_t ctl_offset, total;
    char *base;
    mcomm_err_t err;

    if (data_nbytes > PTRDIFF_MAX - ctl_nbytes - ALIGNMENT_MAX)
        return mci_err_set(MCOMM_ERR_COUNT, "attr->nbytes is %zu, which no machine has",
                           data_nbytes);
    ctl_offset = round_up(data_nbytes, LINE);
    total = ctl_offset + round_up(ctl_nbytes, LINE);
    err = mci_region_create(total, alignment, &win->region);
    if (err == MCOMM_SUCCESS) {
        base = win->region->base;
        win->parts[win->rank].region_id = win->region->id;
    } else if (err == MCOMM_ERR_UNSUPPORTED) {
        win->region = NULL;
        win->heap = mci_mem_zalloc(total + alignment);
        if (win->heap == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a window of %zu bytes",
                               data_nbytes);
        base = (char *)round_up((uintptr_t)win->heap, alignment);
    } else {
        return err;
    }
    if (win->kind == RMA_ALLOCATED)
        win->base = base;
    win->ctl = (struct rma_ctl *)(void *)(base + ctl_offset);
    win->parts[win->rank].ctl_offset = ctl_offset;
    return MCOMM_SUCCESS;
}

static void win_release(struct mci_win *win)
{
    mci_map_remove(&wins_by_key, win->key);
    mci_list_remove(&win->link);
    mci_interval_fini(&win->attached);
    for (int i = 0; win->targets != NULL && i < win->size; i++) {
        struct rma_path *path = win->targets[i].path;

        if (path != NULL) {
            mci_list_remove(&path->kick_link);
            mci_rma_errors_drop(path);
        }
        if (path != NULL && path->region != NULL)
            mci_region_unmap(path->region, path->region_nbytes);
        mci_mem_free(path);
    }
    if (win->region != NULL)
        mci_region_free(win->region);
    mci_mem_free(win->heap);
    mci_mem_free(win->targets);
    mci_mem_free(win->parts);
    mci_mem_free(win->origins);
    mci_mem_free(win->post_ranks);
    mci_mem_free(win->start_ranks);
    if (win->comm != NULL)
        mci_comm_unref(win->comm);
    mci_mem_free(win);
}

/* ---- what others began here ---- */
static void answer_askers(struct mci_win *win)
{
    for (int i = 0; i < win->size; i++)
        if (win->origins[i].has_asked_free && !atomic_load(&win->targets[i].is_dead))
            mci_rma_sync_send(win->targets[i].peer, RMA_SYNC_FREE_ANSWER, 0, win->origins[i].key,
                              0);
}

static void drop_served(struct mci_win *win)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &win->serves)
        mci_rma_serve_abort(mci_container_of(node, struct rma_serve, link), MCOMM_ERR_WIN);
}

/* ---- making ---- */
static mcomm_err_t win_new(struct mci_comm *comm, enum rma_kind kind, struct mci_win **win_p)
{
    size_t size = (size_t)comm->size;
    struct mci_win *win = mci_mem_zalloc(sizeof(*win));

    if (win == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a window");
    win->size = comm->size;
    win->rank = comm->rank;
    win->kind = kind;
    mci_list_init(&win->link);
    mci_list_init(&win->serves);
    mci_interval_init(&win->attached);
    win->targets = mci_mem_zalloc(size * sizeof(*win->targets));
    win->parts = mci_mem_zalloc(size * sizeof(*win->parts));
    win->origins = mci_mem_zalloc(size * sizeof(*win->origins));
    win->post_ranks = mci_mem_zalloc(size * sizeof(int));
    win->start_ranks = mci_mem_zalloc(size * sizeof(int));
    do {
        win->key = ++next_key;
    } while (win->key == 0 || mci_map_get(&wins_by_key, win->key) != NULL);
    if (win->targets == NULL || win->parts == NULL || win->origins == NULL ||
        win->post_ranks == NULL || win->start_ranks == NULL ||
        mci_map_put(&wins_by_key, win->key, win) != MCOMM_SUCCESS) {
        win_release(win);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a window of %d members", comm->size);
    }
    win->comm = comm;
    mci_comm_ref(comm);
    for (int i = 0; i < comm->size; i++) { /* a quicker member's frames may come at once */
        win->targets[i].peer = mci_comm_peer(comm, i);
        atomic_store(&win->targets[i].is_dead, mci_peer_is_failed(win->targets[i].peer));
    }
    mci_list_push(&mci_rma_wins, &win->link);
    *win_p = win;
    return MCOMM_SUCCESS;
}

/* What callers of an older header do not know is as in the default. */
static mcomm_err_t attr_read(const mcomm_win_attr_t *user, mcomm_win_attr_t *attr)
{
    mcomm_win_attr_t all = MCOMM_WIN_ATTR_DEFAULT;
    struct mci_info *hints;

    *attr = all;
    if (user == NULL)
        return MCOMM_SUCCESS;
    if (user->struct_size < sizeof(size_t) || user->struct_size > 4096)
        return mci_err_set(MCOMM_ERR_ARG, "attr->struct_size is %zu, not sizeof(mcomm_win_attr_t)",
                           user->struct_size);
    memcpy(attr, user, user->struct_size < sizeof(*attr) ? user->struct_size : sizeof(*attr));
    if (attr->alignment & (attr->alignment - 1) || attr->alignment > ALIGNMENT_MAX)
        return mci_err_set(MCOMM_ERR_ARG, "attr->alignment is %zu, not a power of two up to 2 MiB",
                           attr->alignment);
    if (attr->access & ~MCOMM_WIN_ALL)
        return mci_err_set(MCOMM_ERR_ARG, "attr->access is %#x, which has unknown bits",
                           attr->access);
    if (attr->nbytes > PTRDIFF_MAX)
        return mci_err_set(MCOMM_ERR_COUNT, "attr->nbytes is %zu, above PTRDIFF_MAX", attr->nbytes);
    return mci_info_get(attr->info, &hints);
}

static mcomm_err_t targets_fill(struct mci_win *win)
{
    uint64_t seeds[2] = {win->parts[0].seed, win->parts[0].key};

    for (int i = 0; i < win->size; i++) {
        const struct rma_part *part = &win->parts[i];
        struct rma_target *t = &win->targets[i];

        if (part->kind != (uint32_t)win->kind)
            return mci_err_set(MCOMM_ERR_MISMATCH,
                               "rank %d makes a window of another kind than rank %d", i, win->rank);
        t->base = part->base;
        t->nbytes = part->nbytes;
        t->disp_unit = part->disp_unit;
        t->access = part->access;
        t->key = part->key;
    }
    if (win->kind != RMA_DYNAMIC)
        atomic_store(&win->targets[win->rank].map, win->base);
    win->id = mci_hash64(seeds, sizeof(seeds), (uint64_t)win->size);
    return MCOMM_SUCCESS;
}

/* Own part is described in parts[rank]; err: why it could not be made. */
static mcomm_err_t win_exchange(struct mci_win *win, mcomm_err_t err)
{
    struct rma_part mine = win->parts[win->rank];

    mine.key = win->key;
    mine.kind = (uint32_t)win->kind;
    mine.seed = mci_peer_self()->proc_id;
    err = mci_comm_allgather(win->comm, err, &mine, win->parts, sizeof(mine));
    return err == MCOMM_SUCCESS ? targets_fill(win) : err;
}

/* All that may fail at this rank alone, before the exchange. */
static mcomm_err_t win_prepare(struct mci_win *win, void *base, const mcomm_win_attr_t *user_attr)
{
    struct rma_part *mine = &win->parts[win->rank];
    mcomm_win_attr_t attr;
    mcomm_err_t err = attr_read(user_attr, &attr);

    if (err == MCOMM_SUCCESS && win->kind == RMA_CREATED)
        err = mci_check_buffer("base", base, attr.nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    win->base = base;
    win->nbytes = win->kind == RMA_DYNAMIC ? SIZE_MAX : attr.nbytes;
    win->access = attr.access != 0 ? attr.access : MCOMM_WIN_ALL;
    err = part_memory(win, win->kind == RMA_ALLOCATED ? attr.nbytes : 0,
                      attr.alignment > LINE ? attr.alignment : LINE);
    if (err != MCOMM_SUCCESS)
        return err;
    mine->base = (uint64_t)(uintptr_t)win->base;
    mine->nbytes = win->nbytes;
    mine->disp_unit = attr.disp_unit != 0 && win->kind != RMA_DYNAMIC ? attr.disp_unit : 1;
    mine->access = win->access;
    win->handle = mci_handle_new(MCI_HANDLE_WIN, win);
    if (win->handle == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a window handle");
    return MCOMM_SUCCESS;
}

/* A rank with an error goes into the exchange with it: nobody waits in vain, nobody has a window. A
 * death or a revocation amid it leaves the window to some. */
mcomm_err_t mci_rma_win_make(struct mci_comm *comm, enum rma_kind kind, void *base,
                             const mcomm_win_attr_t *attr, mcomm_err_t err, struct mci_win **win_p)
{
    struct mci_win *win = NULL;
    mcomm_err_t new_err = win_new(comm, kind, &win);

    if (new_err != MCOMM_SUCCESS) /* the barrier's messages are as good for telling an error */
        return mci_comm_barrier(comm, err != MCOMM_SUCCESS ? err : new_err);
    if (err == MCOMM_SUCCESS)
        err = win_prepare(win, base, attr);
    err = win_exchange(win, err);
    if (err != MCOMM_SUCCESS) { /* others may have the window, and use it */
        drop_served(win);
        answer_askers(win);
        if (win->handle != NULL)
            mci_handle_free(MCI_HANDLE_WIN, win->handle);
        win_release(win);
        return err;
    }
    *win_p = win;
    return MCOMM_SUCCESS;
}

/* ---- ways to a target ---- */
mcomm_err_t mci_rma_dead(const struct mci_win *win, int target)
{
    const struct mci_peer *peer = win->targets[target].peer;

    return mci_err_set(MCOMM_ERR_PROC_FAILED, "target %d (%s, pid %lld) failed: %s", target,
                       mci_peer_host(peer), (long long)peer->pid, mci_peer_reason(peer));
}

struct rma_path *mci_rma_path_get(struct mci_win *win, int target)
{
    struct rma_target *t = &win->targets[target];

    if (t->path == NULL) {
        t->path = mci_mem_zalloc(sizeof(*t->path));
        if (t->path != NULL) {
            mci_list_init(&t->path->ops);
            mci_list_init(&t->path->untold);
            mci_list_init(&t->path->kick_link);
            t->path->peer = t->peer;
        }
    }
    return t->path;
}

static int probe_timeout_ms(const struct mci_win *win)
{
    int timeout_ms = win->comm->timeout_ms;

    return timeout_ms >= 0 && timeout_ms < MAP_TIMEOUT_MS ? timeout_ms : MAP_TIMEOUT_MS;
}

/* The region of a local peer, once; UNSUPPORTED and the like leave region NULL. */
static mcomm_err_t path_map(struct mci_win *win, int target, struct rma_path *path)
{
    const struct rma_part *part = &win->parts[target];
    size_t nbytes;
    void *region;
    mcomm_err_t err;

    if (part->region_id == 0 || !win->targets[target].peer->is_local || path->region != NULL)
        return MCOMM_SUCCESS;
    err = mci_region_map(win->targets[target].peer, part->region_id, probe_timeout_ms(win), &region,
                         &nbytes);
    if (err == MCOMM_ERR_PROC_FAILED)
        return mci_rma_dead(win, target);
    if (err == MCOMM_ERR_LIMIT)
        return err; /* descriptors may be there the next time */
    if (err == MCOMM_ERR_TIMEOUT)
        return mci_err_set(err, "target %d gave no access to its memory within the time limit",
                           target);
    if (err != MCOMM_SUCCESS) {
        mci_log_debug("window part of rank %d is not mapped: %s", target, mcomm_err_text(err));
        return MCOMM_SUCCESS;
    }
    if (part->ctl_offset > nbytes ||
        (win->kind == RMA_ALLOCATED && part->nbytes > part->ctl_offset) ||
        nbytes - part->ctl_offset < sizeof(struct rma_ctl) + (size_t)win->size * sizeof(uint32_t)) {
        mci_log_warn("window part of rank %d has %zu bytes, too few for what it told", target,
                     nbytes);
        mci_region_unmap(region, nbytes);
        return MCOMM_SUCCESS;
    }
    path->region = region;
    path->region_nbytes = nbytes;
    path->ctl = (struct rma_ctl *)(void *)((char *)region + part->ctl_offset);
    if (win->kind == RMA_ALLOCATED)
        atomic_store_explicit(&win->targets[target].map, region, memory_order_release);
    return MCOMM_SUCCESS;
}

/* Does reading and writing the other process's memory work? Known once the peer is connected. */
static mcomm_err_t path_ask_cma(struct mci_win *win, int target, struct rma_path *path)
{
    struct mci_peer *peer = win->targets[target].peer;
    struct mci_waiter w;
    mcomm_err_t err;

    if (win->kind != RMA_CREATED || !peer->is_local || target == win->rank)
        return MCOMM_SUCCESS;
    err = mci_peer_reach(peer);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_wait_begin(&w, probe_timeout_ms(win));
    while (peer->state == MCI_PEER_CONNECTING && mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    path->has_cma = mci_peer_can_cma(peer) == 1;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_path_probe(struct mci_win *win, int target, struct rma_path **path_p)
{
    struct rma_path *path = mci_rma_path_get(win, target);
    mcomm_err_t err = MCOMM_SUCCESS;
    struct mci_waiter w;

    if (path == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the way to target %d", target);
    if (__builtin_expect(!path->is_probed, 0)) {
        mci_wait_begin(&w, MCOMM_FOREVER); /* the thread that probes has a limit */
        while (path->is_probing)
            mci_wait_step(&w);
        if (!path->is_probed && target != win->rank) {
            path->is_probing = true;
            if (win->kind == RMA_ALLOCATED)
                err = path_map(win, target, path);
            else
                err = path_ask_cma(win, target, path);
            path->is_probing = false;
            path->is_probed = err == MCOMM_SUCCESS;
            mci_wake_self();
        }
        if (err != MCOMM_SUCCESS)
            return err;
    }
    if (atomic_load_explicit(&win->targets[target].is_dead, memory_order_relaxed))
        return mci_rma_dead(win, target);
    *path_p = path;
    return MCOMM_SUCCESS;
}

/* Control words of target, NULL if they are not in reach. Its owner alone decides then. */
mcomm_err_t mci_rma_map_ctl(struct mci_win *win, int target, struct rma_ctl **ctl_p)
{
    struct rma_path *path;
    mcomm_err_t err;

    if (target == win->rank) {
        *ctl_p = win->ctl;
        return MCOMM_SUCCESS;
    }
    err = mci_rma_path_probe(win, target, &path);
    if (err == MCOMM_SUCCESS && path->ctl == NULL)
        err = path_map(win, target, path);
    if (err == MCOMM_SUCCESS)
        *ctl_p = path->ctl;
    return err;
}

mcomm_err_t mci_rma_shared_query(struct mci_win *win, int rank, void **base_p)
{
    struct rma_path *path;
    mcomm_err_t err = MCOMM_SUCCESS;

    if ((unsigned)rank >= (unsigned)win->size)
        return mci_err_set(MCOMM_ERR_RANK, "rank is %d, the window has %d members", rank,
                           win->size);
    if (win->kind == RMA_ALLOCATED && rma_map(&win->targets[rank]) == NULL) {
        mci_engine_lock();
        err = mci_rma_path_probe(win, rank, &path);
        mci_engine_unlock();
    }
    if (err == MCOMM_SUCCESS)
        *base_p = win->kind == RMA_ALLOCATED ? rma_map(&win->targets[rank]) : NULL;
    return err;
}

/* Why rma_resolve() refuses. MCI_PENDING: the target is nobody. */
mcomm_err_t mci_rma_check_failed(const struct mci_win *win, int target, uint64_t disp,
                                 size_t nbytes, unsigned need)
{
    const struct rma_target *t;

    if (target == MCOMM_RANK_NULL)
        return MCI_PENDING;
    if ((unsigned)target >= (unsigned)win->size)
        return mci_err_set(MCOMM_ERR_RANK, "target is %d, the window has %d members", target,
                           win->size);
    t = &win->targets[target];
    if ((t->access & need) != need)
        return mci_err_set(
            MCOMM_ERR_RMA_ACCESS, "target %d permits%s%s%s%s, the call needs%s%s%s", target,
            t->access & MCOMM_WIN_READ ? " read" : "", t->access & MCOMM_WIN_WRITE ? " write" : "",
            t->access & MCOMM_WIN_ATOMIC ? " atomic" : "", t->access == 0 ? " nothing" : "",
            need & MCOMM_WIN_READ ? " read" : "", need & MCOMM_WIN_WRITE ? " write" : "",
            need & MCOMM_WIN_ATOMIC ? " atomic" : "");
    if (atomic_load(&t->is_dead))
        return mci_rma_dead(win, target);
    return mci_err_set(MCOMM_ERR_RMA_RANGE,
                       "%zu bytes at displacement %llu (unit %llu) are outside the %llu bytes of "
                       "target %d",
                       nbytes, (unsigned long long)disp, (unsigned long long)t->disp_unit,
                       (unsigned long long)t->nbytes, target);
}

/* ---- freeing ---- */
/* After a death the barrier cannot tell: ask each survivor whether it still has operations. */
static mcomm_err_t ask_survivors(struct mci_win *win)
{
    struct mci_waiter w;
    bool is_waiting = true;
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; i < win->size; i++)
        if (i != win->rank && !atomic_load(&win->targets[i].is_dead))
            mci_rma_sync_send(win->targets[i].peer, RMA_SYNC_FREE_ASK, 0, win->targets[i].key,
                              win->key);
    mci_wait_begin(&w, win->comm->timeout_ms);
    while (is_waiting && err == MCOMM_SUCCESS) {
        is_waiting = false;
        for (int i = 0; i < win->size && !is_waiting; i++)
            is_waiting = i != win->rank && !atomic_load(&win->targets[i].is_dead) &&
                         !win->origins[i].has_answered_free;
        if (is_waiting)
            err = mci_wait_step(&w);
    }
    return err;
}

static void drop_own(struct mci_win *win)
{
    struct mci_list *node, *tmp;

    for (int i = 0; i < win->size; i++) {
        if (win->targets[i].path == NULL)
            continue;
        MCI_LIST_FOREACH_SAFE (node, tmp, &win->targets[i].path->ops)
            mci_rma_op_abort(mci_container_of(node, struct rma_op, link), MCOMM_ERR_WIN);
    }
}

/* Others' operations are served until all have come here. */
mcomm_err_t mci_rma_win_free(struct mci_win *win)
{
    mcomm_err_t flush_err, err;

    mci_engine_unlock();
    flush_err = mci_rma_flush_all(win);
    mci_engine_lock();
    drop_own(win);
    win->is_freeing = true;
    answer_askers(win);
    err = mci_comm_barrier(win->comm, MCOMM_SUCCESS);
    if (err != MCOMM_SUCCESS && err != MCOMM_ERR_TIMEOUT) {
        mcomm_err_t ask_err = ask_survivors(win);

        err = ask_err != MCOMM_SUCCESS ? ask_err : err;
    }
    drop_own(win);
    drop_served(win);
    mci_handle_free(MCI_HANDLE_WIN, win->handle);
    win_release(win);
    return flush_err != MCOMM_SUCCESS ? flush_err : err;
}

/* The last finalize: what the user did not free. The rails are down. */
void mci_rma_win_stop(void)
{
    struct mci_list *node;

    while (!mci_list_is_empty(&mci_rma_wins)) {
        node = mci_rma_wins.next;
        {
            struct mci_win *win = mci_container_of(node, struct mci_win, link);

            mci_handle_free(MCI_HANDLE_WIN, win->handle);
            win->comm = NULL; /* gone before us */
            win_release(win);
        }
    }
    mci_map_fini(&wins_by_key);
}
