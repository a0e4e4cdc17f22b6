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

#include <string.h>
#include <unistd.h>

#define CMA_PIECE ((size_t)4 << 20) /* the engine lock is not held longer than one takes */

/* ---- copying ---- */
/* From so many bytes on, stores go past the caches: to a far core, and to a near one. */
static size_t stream_far = SIZE_MAX, stream_near = SIZE_MAX;

void mci_rma_copy_start(void)
{
#if defined(__x86_64__)
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

    stream_far = l2 >= 256 * 1024 ? (size_t)l2 : 1u << 20;
    stream_near = l3 >= 4 << 20 ? (size_t)l3 / 4 : 8u << 20;
#endif
}

static inline bool stores_past_caches(size_t nbytes, const struct rma_target *t)
{
    return nbytes >= stream_far && (nbytes >= stream_near ||
                                    !atomic_load_explicit(&t->peer->is_near, memory_order_relaxed));
}

/*
 * A far reader finds 1 MiB in memory six times sooner than in the writer's
 * cache; a near one gains only from what would sweep the cache that both share.
 */
void mci_rma_copy_out(const struct rma_target *t, void *dst, const void *src, size_t nbytes)
{
    if (stores_past_caches(nbytes, t) && mci_copy_can_stream() &&
        ((const char *)src + nbytes <= (char *)dst || (char *)dst + nbytes <= (const char *)src)) {
        mci_copy_stream(dst, src, nbytes);
        return;
    }
    memmove(dst, src, nbytes);
}

/* 8 aligned bytes are one store, so that a word put is seen whole. */
static inline void map_put(const struct rma_target *t, char *dst, const void *src, size_t nbytes)
{
    if (nbytes == 8) {
        uint64_t word;

        memcpy(&word, src, 8);
        memcpy(dst, &word, 8);
    } else if (nbytes < stream_far) {
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
        memmove(dst, src, nbytes);
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

mcomm_err_t mci_rma_put(struct mci_win *win, const void *buf, size_t nbytes, int target,
                        uint64_t disp)
{
    struct rma_target *t;
    uint64_t offset;
    mcomm_err_t err = rma_resolve(win, target, disp, nbytes, MCOMM_WIN_WRITE, &t, &offset);
    char *map;

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return nobody(err);
    if (__builtin_expect(buf == NULL || nbytes > PTRDIFF_MAX, 0)) {
        err = mci_check_buffer("buf", buf, nbytes);
        if (err != MCOMM_SUCCESS || nbytes == 0)
            return err;
    }
    map = rma_map(t);
    if (__builtin_expect(map != NULL, 1)) {
        map_put(t, map + offset, buf, nbytes);
        return MCOMM_SUCCESS;
    }
    if (nbytes == 0)
        return MCOMM_SUCCESS;
    mci_engine_lock();
    err = slow_put(win, buf, nbytes, target, offset, NULL);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_get(struct mci_win *win, void *buf, size_t nbytes, int target, uint64_t disp)
{
    struct rma_target *t;
    uint64_t offset;
    mcomm_err_t err = rma_resolve(win, target, disp, nbytes, MCOMM_WIN_READ, &t, &offset);
    char *map;

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return nobody(err);
    if (__builtin_expect(buf == NULL || nbytes > PTRDIFF_MAX, 0)) {
        err = mci_check_buffer("buf", buf, nbytes);
        if (err != MCOMM_SUCCESS || nbytes == 0)
            return err;
    }
    map = rma_map(t);
    if (__builtin_expect(map != NULL, 1)) {
        map_get(buf, map + offset, nbytes);
        return MCOMM_SUCCESS;
    }
    if (nbytes == 0)
        return MCOMM_SUCCESS;
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
    mcomm_err_t err = rma_resolve(win, target, disp, nbytes,
                                  is_put ? MCOMM_WIN_WRITE : MCOMM_WIN_READ, &t, &offset);

    if (err != MCOMM_SUCCESS && err != MCI_PENDING)
        return err;
    if (err == MCOMM_SUCCESS) {
        mcomm_err_t buf_err = mci_check_buffer("buf", buf, nbytes);

        if (buf_err != MCOMM_SUCCESS)
            return buf_err;
    }
    mci_engine_lock();
    if (mci_rma_req_new(win, &req, &handle) != MCOMM_SUCCESS) {
        mci_engine_unlock();
        return MCOMM_ERR_NO_MEM;
    }
    if (err == MCI_PENDING || nbytes == 0) {
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

/* ---- lists ---- */
static mcomm_err_t segs_check(const struct mci_win *win, const mcomm_rma_seg_t *segs,
                              size_t seg_count, int target, unsigned need)
{
    struct rma_target *t;
    uint64_t offset;
    mcomm_err_t err;

    for (size_t i = 0; i < seg_count; i++) {
        err = rma_resolve(win, target, segs[i].disp, segs[i].nbytes, need, &t, &offset);
        if (err == MCOMM_SUCCESS)
            err = mci_check_buffer("segs[].buf", segs[i].buf, segs[i].nbytes);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    return MCOMM_SUCCESS;
}

/* Does b continue a on both sides? */
static bool seg_continues(const mcomm_rma_seg_t *a, const mcomm_rma_seg_t *b, uint64_t unit)
{
    return a->nbytes % unit == 0 && (char *)a->buf + a->nbytes == b->buf &&
           a->disp + a->nbytes / unit == b->disp;
}

static mcomm_err_t segs_move(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                             int target, bool is_put)
{
    unsigned need = is_put ? MCOMM_WIN_WRITE : MCOMM_WIN_READ;
    mcomm_err_t err;

    if (seg_count == 0)
        return MCOMM_SUCCESS;
    if (segs == NULL)
        return mci_err_set(MCOMM_ERR_ARG, "segs is NULL, seg_count is %zu", seg_count);
    err = mci_check_count("seg_count", seg_count, sizeof(*segs));
    if (err != MCOMM_SUCCESS)
        return err;
    err = segs_check(win, segs, seg_count, target, need);
    for (size_t i = 0; i < seg_count && err == MCOMM_SUCCESS;) {
        mcomm_rma_seg_t seg = segs[i++];

        while (i < seg_count && seg_continues(&seg, &segs[i], win->targets[target].disp_unit))
            seg.nbytes += segs[i++].nbytes;
        err = is_put ? mci_rma_put(win, seg.buf, seg.nbytes, target, seg.disp)
                     : mci_rma_get(win, seg.buf, seg.nbytes, target, seg.disp);
    }
    return nobody(err);
}

mcomm_err_t mci_rma_putv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target)
{
    return segs_move(win, segs, seg_count, target, true);
}

mcomm_err_t mci_rma_getv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target)
{
    return segs_move(win, segs, seg_count, target, false);
}

/* ---- atomics ---- */
static mcomm_err_t acc_resolve(struct mci_win *win, const void *buf, size_t count,
                               mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op,
                               unsigned need, uint64_t *offset_p)
{
    size_t elem = mci_dtype_nbytes(dtype);
    struct rma_target *t;
    mcomm_err_t err;

    if (elem == 0)
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d, which is no element type", (int)dtype);
    if (!mci_op_is_legal(op, dtype))
        return mci_err_set(MCOMM_ERR_OP, "op is %d (%s), not legal for %s", (int)op,
                           mci_op_name(op), mci_dtype_name(dtype));
    err = mci_check_count("count", count, elem);
    if (err == MCOMM_SUCCESS)
        err = rma_resolve(win, target, disp, count * elem, need, &t, offset_p);
    if (err == MCOMM_SUCCESS && op != MCOMM_NO_OP && buf == NULL)
        err = mci_check_buffer("buf", buf, count * elem);
    if (err == MCOMM_SUCCESS && (t->base + *offset_p) % elem != 0)
        err = mci_err_set(MCOMM_ERR_BUFFER,
                          "displacement %llu at target %d is not aligned to %zu bytes",
                          (unsigned long long)disp, target, elem);
    return err;
}

static mcomm_err_t acc_any(struct mci_win *win, const void *buf, void *result, size_t count,
                           mcomm_datatype_t dtype, int target, uint64_t offset, mcomm_op_t op)
{
    char *map = rma_map(&win->targets[target]);
    struct rma_path *path;
    mcomm_err_t err;

    if (count == 0)
        return MCOMM_SUCCESS;
    if (map != NULL) {
        mci_rma_acc_apply(map + offset, buf, result, count, dtype, op);
        return MCOMM_SUCCESS;
    }
    mci_engine_lock();
    err = mci_rma_path_probe(win, target, &path);
    map = rma_map(&win->targets[target]);
    if (err == MCOMM_SUCCESS && map != NULL)
        mci_rma_acc_apply(map + offset, buf, result, count, dtype, op);
    else if (err == MCOMM_SUCCESS)
        err = mci_rma_remote_acc(win, target, path, buf, result, count, dtype, offset, op);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_accumulate(struct mci_win *win, const void *buf, size_t count,
                               mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    uint64_t offset;
    mcomm_err_t err =
        acc_resolve(win, buf, count, dtype, target, disp, op, MCOMM_WIN_ATOMIC, &offset);

    if (err != MCOMM_SUCCESS || op == MCOMM_NO_OP)
        return nobody(err);
    return acc_any(win, buf, NULL, count, dtype, target, offset, op);
}

mcomm_err_t mci_rma_get_accumulate(struct mci_win *win, const void *buf, void *result, size_t count,
                                   mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    uint64_t offset;
    mcomm_err_t err =
        acc_resolve(win, buf, count, dtype, target, disp, op, MCOMM_WIN_ATOMIC, &offset);

    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_buffer("result", result, count * mci_dtype_nbytes(dtype));
    if (err != MCOMM_SUCCESS)
        return nobody(err);
    return acc_any(win, buf, result, count, dtype, target, offset, op);
}

mcomm_err_t mci_rma_fetch_and_op(struct mci_win *win, const void *buf, void *result,
                                 mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op)
{
    struct rma_path *path;
    uint64_t offset;
    char *map;
    mcomm_err_t err = acc_resolve(win, buf, 1, dtype, target, disp, op, MCOMM_WIN_ATOMIC, &offset);

    if (err == MCOMM_SUCCESS && result == NULL)
        err = mci_check_buffer("result", result, 1);
    if (err != MCOMM_SUCCESS)
        return nobody(err);
    map = rma_map(&win->targets[target]);
    if (map == NULL) {
        mci_engine_lock();
        err = mci_rma_path_probe(win, target, &path);
        map = rma_map(&win->targets[target]);
        if (err == MCOMM_SUCCESS && map == NULL)
            err = mci_rma_remote_fetch(win, target, path, buf, NULL, result, dtype, offset, op);
        mci_engine_unlock();
        if (err != MCOMM_SUCCESS || map == NULL)
            return err;
    }
    mci_rma_acc_apply(map + offset, buf, result, 1, dtype, op);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_compare_and_swap(struct mci_win *win, const void *swap, const void *compare,
                                     void *result, mcomm_datatype_t dtype, int target,
                                     uint64_t disp)
{
    struct rma_path *path;
    uint64_t offset;
    char *map;
    mcomm_err_t err;

    if (!mci_rma_swap_is_legal(dtype))
        return mci_err_set(MCOMM_ERR_TYPE, "dtype is %d (%s), not an integer type", (int)dtype,
                           mci_dtype_name(dtype));
    if (swap == NULL || compare == NULL || result == NULL)
        return mci_err_set(MCOMM_ERR_BUFFER, "%s is NULL",
                           swap == NULL      ? "swap"
                           : compare == NULL ? "compare"
                                             : "result");
    err =
        acc_resolve(win, compare, 1, dtype, target, disp, MCOMM_REPLACE, MCOMM_WIN_ATOMIC, &offset);
    if (err != MCOMM_SUCCESS)
        return nobody(err);
    map = rma_map(&win->targets[target]);
    if (map == NULL) {
        mci_engine_lock();
        err = mci_rma_path_probe(win, target, &path);
        map = rma_map(&win->targets[target]);
        if (err == MCOMM_SUCCESS && map == NULL)
            err = mci_rma_remote_fetch(win, target, path, compare, swap, result, dtype, offset,
                                       MCOMM_REPLACE);
        mci_engine_unlock();
        if (err != MCOMM_SUCCESS || map == NULL)
            return err;
    }
    mci_rma_swap_apply(map + offset, compare, swap, result, dtype);
    return MCOMM_SUCCESS;
}
