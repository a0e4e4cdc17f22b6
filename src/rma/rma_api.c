/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Exported functions of windows. Operations pass straight on: they check their arguments against
 * the exchanged facts and take the engine lock only where they need it.
 */
#include "config.h"

#include "rma/rma_priv.h"

/* The window of a handle; the lock is not taken: operations on mapped memory do without. */
static inline mcomm_err_t win_enter(mcomm_win_t handle, struct mci_win **win_p)
{
    mcomm_err_t err = mci_check_init();

    if (__builtin_expect(err != MCOMM_SUCCESS, 0))
        return err;
    *win_p = mci_win_get(handle);
    return __builtin_expect(*win_p != NULL, 1) ? MCOMM_SUCCESS : MCOMM_ERR_WIN;
}

static mcomm_err_t win_enter_locked(mcomm_win_t handle, struct mci_win **win_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    *win_p = mci_win_get(handle);
    if (*win_p != NULL)
        return MCOMM_SUCCESS;
    mci_engine_unlock();
    return MCOMM_ERR_WIN;
}

static mcomm_err_t leave(mcomm_err_t err)
{
    mci_engine_unlock();
    return err;
}

/* The body of an exported function: call with w, the window of the handle. */
#define WITH_WIN(handle, call)                                                                     \
    struct mci_win *w;                                                                             \
    mcomm_err_t err = win_enter(handle, &w);                                                       \
                                                                                                   \
    return err == MCOMM_SUCCESS ? (call) : err
#define WITH_WIN_LOCKED(handle, call)                                                              \
    struct mci_win *w;                                                                             \
    mcomm_err_t err = win_enter_locked(handle, &w);                                                \
                                                                                                   \
    return err == MCOMM_SUCCESS ? leave(call) : err

/* On success the engine lock is held. */
static mcomm_err_t comm_enter(mcomm_comm_t handle, struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_comm_lookup("comm", handle, comm_p);
    if (err != MCOMM_SUCCESS)
        return leave(err);
    if (atomic_load(&(*comm_p)->is_revoked))
        return leave(mci_err_set(MCOMM_ERR_REVOKED, "%s is revoked", mci_comm_text(*comm_p)));
    return MCOMM_SUCCESS;
}

size_t mcomm_datatype_size(mcomm_datatype_t dtype)
{
    return mci_dtype_nbytes(dtype);
}

/* ---- windows: an error of the arguments is told to the other members ---- */
static mcomm_err_t win_make(mcomm_comm_t comm, enum rma_kind kind, void *base,
                            const mcomm_win_attr_t *attr, mcomm_err_t err, mcomm_win_t *win_p,
                            void **base_p)
{
    struct mci_comm *c;
    struct mci_win *win;
    mcomm_err_t comm_err;

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("win_p", win_p);
    comm_err = comm_enter(comm, &c);
    if (comm_err != MCOMM_SUCCESS)
        return comm_err;
    err = mci_rma_win_make(c, kind, base, attr, err, &win);
    if (err == MCOMM_SUCCESS) {
        *win_p = win->handle;
        if (base_p != NULL)
            *base_p = win->base;
    }
    return leave(err);
}

mcomm_err_t mcomm_win_allocate(const mcomm_win_attr_t *attr, mcomm_comm_t comm, void **base_p,
                               mcomm_win_t *win_p)
{
    return win_make(comm, RMA_ALLOCATED, NULL, attr, mci_check_pointer("base_p", base_p), win_p,
                    base_p);
}

mcomm_err_t mcomm_win_create(void *base, const mcomm_win_attr_t *attr, mcomm_comm_t comm,
                             mcomm_win_t *win_p)
{
    return win_make(comm, RMA_CREATED, base, attr, MCOMM_SUCCESS, win_p, NULL);
}

mcomm_err_t mcomm_win_create_dynamic(const mcomm_win_attr_t *attr, mcomm_comm_t comm,
                                     mcomm_win_t *win_p)
{
    return win_make(comm, RMA_DYNAMIC, NULL, attr, MCOMM_SUCCESS, win_p, NULL);
}

mcomm_err_t mcomm_win_attach(mcomm_win_t win, void *base, size_t nbytes)
{
    WITH_WIN_LOCKED(win, mci_rma_attach(w, base, nbytes));
}

mcomm_err_t mcomm_win_detach(mcomm_win_t win, const void *base)
{
    WITH_WIN_LOCKED(win, mci_rma_detach(w, base));
}

mcomm_err_t mcomm_win_free(mcomm_win_t *win_p)
{
    struct mci_win *w;
    mcomm_err_t err = mci_check_pointer("win_p", win_p);

    if (err == MCOMM_SUCCESS)
        err = win_enter_locked(*win_p, &w);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_rma_win_free(w);
    *win_p = MCOMM_WIN_NULL;
    return leave(err);
}

mcomm_err_t mcomm_win_query(mcomm_win_t win, int rank, size_t *nbytes_p, size_t *disp_unit_p)
{
    struct mci_win *w;
    mcomm_err_t err = win_enter(win, &w);

    if (err == MCOMM_SUCCESS)
        err = mci_check_rank(w->comm, "rank", rank);
    if (err != MCOMM_SUCCESS)
        return err;
    if (nbytes_p != NULL)
        *nbytes_p = w->kind == RMA_DYNAMIC ? 0 : w->targets[rank].nbytes;
    if (disp_unit_p != NULL)
        *disp_unit_p = w->targets[rank].disp_unit;
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_win_shared_query(mcomm_win_t win, int rank, void **base_p)
{
    struct mci_win *w;
    mcomm_err_t err = mci_check_pointer("base_p", base_p);

    if (err == MCOMM_SUCCESS)
        err = win_enter(win, &w);
    return err == MCOMM_SUCCESS ? mci_rma_shared_query(w, rank, base_p) : err;
}

/* ---- operations ---- */
mcomm_err_t mcomm_put(const void *buf, size_t nbytes, int target, uint64_t disp, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_put(w, buf, nbytes, target, disp));
}

mcomm_err_t mcomm_get(void *buf, size_t nbytes, int target, uint64_t disp, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_get(w, buf, nbytes, target, disp));
}

mcomm_err_t mcomm_rput(const void *buf, size_t nbytes, int target, uint64_t disp, mcomm_win_t win,
                       mcomm_request_t *request_p)
{
    struct mci_win *w;
    mcomm_err_t err = mci_check_pointer("request_p", request_p);

    if (err == MCOMM_SUCCESS)
        err = win_enter(win, &w);
    return err == MCOMM_SUCCESS ? mci_rma_rput(w, buf, nbytes, target, disp, request_p) : err;
}

mcomm_err_t mcomm_rget(void *buf, size_t nbytes, int target, uint64_t disp, mcomm_win_t win,
                       mcomm_request_t *request_p)
{
    struct mci_win *w;
    mcomm_err_t err = mci_check_pointer("request_p", request_p);

    if (err == MCOMM_SUCCESS)
        err = win_enter(win, &w);
    return err == MCOMM_SUCCESS ? mci_rma_rget(w, buf, nbytes, target, disp, request_p) : err;
}

mcomm_err_t mcomm_putv(const mcomm_rma_seg_t *segs, size_t seg_count, int target, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_putv(w, segs, seg_count, target));
}

mcomm_err_t mcomm_getv(const mcomm_rma_seg_t *segs, size_t seg_count, int target, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_getv(w, segs, seg_count, target));
}

mcomm_err_t mcomm_accumulate(const void *buf, size_t count, mcomm_datatype_t dtype, int target,
                             uint64_t disp, mcomm_op_t op, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_accumulate(w, buf, count, dtype, target, disp, op));
}

mcomm_err_t mcomm_get_accumulate(const void *buf, void *result, size_t count,
                                 mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op,
                                 mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_get_accumulate(w, buf, result, count, dtype, target, disp, op));
}

mcomm_err_t mcomm_fetch_and_op(const void *buf, void *result, mcomm_datatype_t dtype, int target,
                               uint64_t disp, mcomm_op_t op, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_fetch_and_op(w, buf, result, dtype, target, disp, op));
}

mcomm_err_t mcomm_compare_and_swap(const void *swap, const void *compare, void *result,
                                   mcomm_datatype_t dtype, int target, uint64_t disp,
                                   mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_compare_and_swap(w, swap, compare, result, dtype, target, disp));
}

mcomm_err_t mcomm_put_signal(const void *buf, size_t nbytes, int target, uint64_t disp,
                             uint64_t signal_disp, uint64_t signal, mcomm_signal_op_t op,
                             mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_put_signal(w, buf, nbytes, target, disp, signal_disp, signal, op));
}

mcomm_err_t mcomm_wait_signal(uint64_t signal_disp, mcomm_cmp_t cmp, uint64_t value, int timeout_ms,
                              uint64_t *value_p, mcomm_win_t win)
{
    struct mci_win *w;
    mcomm_err_t err = win_enter(win, &w);

    if (err == MCOMM_SUCCESS)
        err = mci_check_timeout("timeout_ms", timeout_ms);
    return err == MCOMM_SUCCESS
               ? mci_rma_wait_signal(w, signal_disp, cmp, value, timeout_ms, value_p)
               : err;
}

/* ---- completion ---- */
mcomm_err_t mcomm_flush(int target, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_flush(w, target));
}

mcomm_err_t mcomm_flush_local(int target, mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_flush_local(w, target));
}

mcomm_err_t mcomm_flush_all(mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_flush_all(w));
}

mcomm_err_t mcomm_flush_local_all(mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_flush_local_all(w));
}

mcomm_err_t mcomm_win_fence(mcomm_win_t win)
{
    WITH_WIN(win, mci_rma_fence(w));
}

/* ---- locks and epochs ---- */
mcomm_err_t mcomm_win_lock(mcomm_lock_type_t type, int target, mcomm_win_t win)
{
    struct mci_win *w;
    mcomm_err_t err;

    if (type != MCOMM_LOCK_SHARED && type != MCOMM_LOCK_EXCLUSIVE)
        return mci_err_set(MCOMM_ERR_ARG, "type is %d, not a MCOMM_LOCK_ value", (int)type);
    err = win_enter_locked(win, &w);
    return err == MCOMM_SUCCESS ? leave(mci_rma_lock(w, type, target)) : err;
}

mcomm_err_t mcomm_win_unlock(int target, mcomm_win_t win)
{
    WITH_WIN_LOCKED(win, mci_rma_unlock(w, target));
}

mcomm_err_t mcomm_win_lock_all(mcomm_win_t win)
{
    WITH_WIN_LOCKED(win, mci_rma_lock_all(w));
}

mcomm_err_t mcomm_win_unlock_all(mcomm_win_t win)
{
    WITH_WIN_LOCKED(win, mci_rma_unlock_all(w));
}

static mcomm_err_t group_enter(mcomm_group_t handle, mcomm_win_t win, struct mci_win **win_p,
                               struct mci_group **group_p)
{
    mcomm_err_t err = win_enter_locked(win, win_p);

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_group_lookup("group", handle, group_p);
    return err == MCOMM_SUCCESS ? err : leave(err);
}

mcomm_err_t mcomm_win_post(mcomm_group_t group, mcomm_win_t win)
{
    struct mci_win *w;
    struct mci_group *g;
    mcomm_err_t err = group_enter(group, win, &w, &g);

    return err == MCOMM_SUCCESS ? leave(mci_rma_post(w, g)) : err;
}

mcomm_err_t mcomm_win_start(mcomm_group_t group, mcomm_win_t win)
{
    struct mci_win *w;
    struct mci_group *g;
    mcomm_err_t err = group_enter(group, win, &w, &g);

    return err == MCOMM_SUCCESS ? leave(mci_rma_start(w, g)) : err;
}

mcomm_err_t mcomm_win_complete(mcomm_win_t win)
{
    WITH_WIN_LOCKED(win, mci_rma_complete(w));
}

mcomm_err_t mcomm_win_wait(mcomm_win_t win)
{
    WITH_WIN_LOCKED(win, mci_rma_wait(w));
}

mcomm_err_t mcomm_win_test(mcomm_win_t win, int *done_p)
{
    struct mci_win *w;
    mcomm_err_t err = mci_check_pointer("done_p", done_p);

    if (err == MCOMM_SUCCESS)
        err = win_enter_locked(win, &w);
    return err == MCOMM_SUCCESS ? leave(mci_rma_test(w, done_p)) : err;
}
