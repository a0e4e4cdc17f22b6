/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Operations at the origin: check, and where the target's part is mapped do it here and now,
 * without a lock. What cannot be done so goes on to slow_put() and its like under the engine lock:
 * memory of another process (CMA), or frames (remote.c).
 */
#include "config.h"

#include "base/copy.h"
#include "rma/rma_priv.h"
#include "topo/topo.h"

#include <string.h>

#define CMA_PIECE ((size_t)4 << 20) /* the engine lock is not held longer than one takes */

/* ---- copying ---- */
/*
 * From so many bytes on, stores go past the caches: to a far core, and to a near one (where the
 * processor has nothing better: copy.h). A far reader finds 1 MiB in memory six times sooner than
 * in the writer's cache; a near one gains only from what would sweep the cache that both share.
 */
static size_t stream_far = SIZE_MAX, stream_near = SIZE_MAX;
/* Puts that follow one another over so many bytes do sweep it, whatever the processor. */
static size_t run_is_long = SIZE_MAX;
static _Atomic uintptr_t run_end;           /* where the latest large put ended */
static _Atomic size_t run_nbytes, run_last; /* of this run so far, and of the run before */

void mci_rma_copy_start(void)
{
    stream_far = mci_topo_cache_nbytes(2);
    stream_near = mci_topo_cache_nbytes(3) / 4;
    run_is_long = 3 * stream_near;
}

/* Does the put belong to a long run, or does it begin one where the run before was long? Threads
 * that put at the same time break each other's runs: nothing worse than an ordinary copy. */
static bool is_sweep(const char *dst, size_t nbytes)
{
    size_t run = nbytes;

    if (atomic_load_explicit(&run_end, memory_order_relaxed) == (uintptr_t)dst)
        run += atomic_load_explicit(&run_nbytes, memory_order_relaxed);
    else
        atomic_store_explicit(&run_last, atomic_load_explicit(&run_nbytes, memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&run_nbytes, run, memory_order_relaxed);
    atomic_store_explicit(&run_end, (uintptr_t)dst + nbytes, memory_order_relaxed);
    return run >= run_is_long ||
           atomic_load_explicit(&run_last, memory_order_relaxed) >= run_is_long;
}

void mci_rma_copy_out(const struct rma_target *t, void *dst, const void *src, size_t nbytes)
{
    bool is_near = atomic_load_explicit(&t->peer->is_near, memory_order_relaxed);

    if (nbytes >= stream_far && is_sweep(dst, nbytes))
        mci_copy_stream(dst, src, nbytes);
    else
        mci_copy(dst, src, nbytes, is_near ? stream_near : stream_far);
}

/* 8 aligned bytes are one store, so that a word put is seen whole. */
static inline void map_put(const struct rma_target *t, char *dst, const void *src, size_t nbytes)
{
    if (nbytes == 8) {
        uint64_t word;

        memcpy(&word, src, 8);
        memcpy(dst, &word, 8);
    } else if (nbytes < MCI_COPY_LONG) {
        memmove(dst, src, nbytes);
    } else {
        mci_rma_copy_out(t, dst, src, nbytes);
    }
}

static inline void map_get(void *dst, const char *src, size_t nbytes)
{
    if (nbytes == 8) {
        uint64_t word;

        memcpy(&word, src, 8);
        memcpy(dst, &word, 8);
    } else {
        mci_copy(dst, src, nbytes, MCI_COPY_NO_STREAM);
    }
}

/* ---- memory of another process ---- */
/* lock: engine, let go between pieces if others want it */
static mcomm_err_t cma_move(struct mci_peer *peer, void *local, uint64_t remote, size_t nbytes,
                            bool is_put)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (size_t done = 0; done < nbytes && err == MCOMM_SUCCESS;) {
        size_t n = nbytes - done < CMA_PIECE ? nbytes - done : CMA_PIECE;

        err = is_put ? mci_peer_cma_write(peer, (char *)local + done, remote + done, n)
                     : mci_peer_cma_read(peer, (char *)local + done, remote + done, n);
        done += n;
        if (done < nbytes && mci_engine_is_contended()) {
            mci_engine_unlock();
            mci_engine_lock();
            if (mci_peer_is_failed(peer))
                err = MCOMM_ERR_PROC_FAILED;
        }
    }
    return err;
}

/* MCI_PENDING: not here, by frames. */
static mcomm_err_t cma_try(struct mci_win *win, int target, struct rma_path *path, void *local,
                           uint64_t offset, size_t nbytes, bool is_put)
{
    struct rma_target *t = &win->targets[target];
    mcomm_err_t err;

    if (!path->has_cma || nbytes == 0)
        return MCI_PENDING;
    err = cma_move(t->peer, local, t->base + offset, nbytes, is_put);
    if (err == MCOMM_ERR_UNSUPPORTED) {
        path->has_cma = false;
        return MCI_PENDING;
    }
    return err == MCOMM_ERR_PROC_FAILED ? mci_rma_dead(win, target) : err;
}

/* ---- put and get ---- */
static void req_done(struct rma_req *req)
{
    if (req != NULL)
        mci_request_complete(&req->head, MCOMM_SUCCESS);
}

/* lock: engine */
static mcomm_err_t slow_put(struct mci_win *win, const void *buf, size_t nbytes, int target,
                            uint64_t offset, struct rma_req *req)
{
    struct rma_target *t = &win->targets[target];
    struct rma_path *path;
    mcomm_err_t err = mci_rma_path_probe(win, target, &path);
    char *map;

    if (err != MCOMM_SUCCESS)
        return err;
    map = rma_map(t);
    if (map != NULL) {
        map_put(t, map + offset, buf, nbytes);
    } else {
        err = cma_try(win, target, path, (void *)(uintptr_t)buf, offset, nbytes, true);
        if (err == MCI_PENDING)
            return mci_rma_remote_put(win, target, path, buf, nbytes, offset, NULL, 0, req);
    }
    if (err == MCOMM_SUCCESS)
        req_done(req);
    return err;
}

static mcomm_err_t slow_get(struct mci_win *win, void *buf, size_t nbytes, int target,
                            uint64_t offset, struct rma_req *req)
{
    struct rma_path *path;
    mcomm_err_t err = mci_rma_path_probe(win, target, &path);
    char *map;

    if (err != MCOMM_SUCCESS)
        return err;
    map = rma_map(&win->targets[target]);
    if (map != NULL) {
        map_get(buf, map + offset, nbytes);
    } else {
        err = cma_try(win, target, path, buf, offset, nbytes, false);
        if (err == MCI_PENDING)
            return mci_rma_remote_get(win, target, path, buf, nbytes, offset, req);
    }
    if (err == MCOMM_SUCCESS)
        req_done(req);
    return err;
}

static inline mcomm_err_t nobody(mcomm_err_t err)
{
    return err == MCI_PENDING ? MCOMM_SUCCESS : err;
}

/* Arguments of a put or get. MCI_PENDING: legal, and there is nothing to do. */
static inline mcomm_err_t access_check(const struct mci_win *win, const void *buf, size_t nbytes,
                                       int target, uint64_t disp, unsigned need,
                                       struct rma_target **target_p, uint64_t *offset_p)
{
    mcomm_err_t err = rma_resolve(win, target, disp, nbytes, need, target_p, offset_p);

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return err;
    if (__builtin_expect(buf == NULL || nbytes - 1 >= PTRDIFF_MAX, 0)) {
        err = mci_check_buffer("buf", buf, nbytes);
        return err == MCOMM_SUCCESS ? MCI_PENDING : err;
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_put(struct mci_win *win, const void *buf, size_t nbytes, int target,
                        uint64_t disp)
{
    struct rma_target *t;
    uint64_t offset;
    mcomm_err_t err = access_check(win, buf, nbytes, target, disp, MCOMM_WIN_WRITE, &t, &offset);
    char *map;

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return nobody(err);
    map = rma_map(t);
    if (__builtin_expect(map != NULL, 1)) {
        map_put(t, map + offset, buf, nbytes);
        return MCOMM_SUCCESS;
    }
    mci_engine_lock();
    err = slow_put(win, buf, nbytes, target, offset, NULL);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_get(struct mci_win *win, void *buf, size_t nbytes, int target, uint64_t disp)
{
    struct rma_target *t;
    uint64_t offset;
    mcomm_err_t err = access_check(win, buf, nbytes, target, disp, MCOMM_WIN_READ, &t, &offset);
    char *map;

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return nobody(err);
    map = rma_map(t);
    if (__builtin_expect(map != NULL, 1)) {
        map_get(buf, map + offset, nbytes);
        return MCOMM_SUCCESS;
    }
    mci_engine_lock();
    err = slow_get(win, buf, nbytes, target, offset, NULL);
    mci_engine_unlock();
    return err;
}

/* ---- request forms ---- */
static mcomm_err_t with_request(struct mci_win *win, void *buf, size_t nbytes, int target,
                                uint64_t disp, bool is_put, mcomm_request_t *request_p)
{
    struct rma_target *t;
    uint64_t offset;
    struct rma_req *req;
    mcomm_request_t handle;
    mcomm_err_t err = access_check(win, buf, nbytes, target, disp,
                                   is_put ? MCOMM_WIN_WRITE : MCOMM_WIN_READ, &t, &offset);

    if (err != MCOMM_SUCCESS && err != MCI_PENDING)
        return err;
    mci_engine_lock();
    if (mci_rma_req_new(win, &req, &handle) != MCOMM_SUCCESS) {
        mci_engine_unlock();
        return MCOMM_ERR_NO_MEM;
    }
    if (err == MCI_PENDING) {
        req_done(req);
        err = MCOMM_SUCCESS;
    } else if (is_put) {
        err = slow_put(win, buf, nbytes, target, offset, req);
    } else {
        err = slow_get(win, buf, nbytes, target, offset, req);
    }
    if (err == MCOMM_SUCCESS)
        *request_p = handle;
    else
        mci_request_release(&req->head);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_rput(struct mci_win *win, const void *buf, size_t nbytes, int target,
                         uint64_t disp, mcomm_request_t *request_p)
{
    return with_request(win, (void *)(uintptr_t)buf, nbytes, target, disp, true, request_p);
}

mcomm_err_t mci_rma_rget(struct mci_win *win, void *buf, size_t nbytes, int target, uint64_t disp,
                         mcomm_request_t *request_p)
{
    return with_request(win, buf, nbytes, target, disp, false, request_p);
}
