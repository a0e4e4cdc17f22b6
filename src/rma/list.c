/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Put and get of lists: adjacent pieces become one transfer. All pieces are checked before the
 * first byte moves, those of a dynamic window by its owner (hold.c); after an error the caller's
 * buffers are not touched any more.
 */
#include "config.h"

#include "rma/rma_priv.h"

#include <stdio.h>

struct list {
    struct mci_win *win;
    const mcomm_rma_seg_t *segs;
    size_t count;
    int target;
    unsigned need; /* MCOMM_WIN_WRITE: put */
};

static mcomm_err_t list_check(const struct list *list)
{
    struct rma_target *t;
    char name[40];
    uint64_t offset;
    mcomm_err_t err;

    for (size_t i = 0; i < list->count; i++) {
        const mcomm_rma_seg_t *seg = &list->segs[i];

        err = rma_resolve(list->win, list->target, seg->disp, seg->nbytes, list->need, &t, &offset);
        if (err == MCOMM_SUCCESS && (seg->buf == NULL || seg->nbytes > PTRDIFF_MAX)) {
            snprintf(name, sizeof(name), "segs[%zu].buf", i);
            err = mci_check_buffer(name, seg->buf, seg->nbytes);
        }
        if (err != MCOMM_SUCCESS)
            return err;
    }
    return MCOMM_SUCCESS;
}

/* The pieces from index on that continue each other on both sides, as one; moves index. */
static mcomm_rma_seg_t list_next(const struct list *list, size_t *index)
{
    uint64_t unit = list->win->targets[list->target].disp_unit;
    mcomm_rma_seg_t all = list->segs[(*index)++];

    for (; *index < list->count; (*index)++) {
        const mcomm_rma_seg_t *seg = &list->segs[*index];

        if (all.nbytes % unit != 0 || (char *)all.buf + all.nbytes != seg->buf ||
            all.disp + all.nbytes / unit != seg->disp)
            break;
        all.nbytes += seg->nbytes;
    }
    return all;
}

static mcomm_err_t list_move(const struct list *list)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (size_t i = 0; i < list->count && err == MCOMM_SUCCESS;) {
        mcomm_rma_seg_t seg = list_next(list, &i);

        err = list->need == MCOMM_WIN_WRITE
                  ? mci_rma_put(list->win, seg.buf, seg.nbytes, list->target, seg.disp)
                  : mci_rma_get(list->win, seg.buf, seg.nbytes, list->target, seg.disp);
    }
    return err;
}

/* Nothing to hold if it is one piece. lock: engine, may be released */
static mcomm_err_t list_hold(const struct list *list, struct rma_holding *hold)
{
    struct rma_path *path;
    mcomm_err_t err = mci_rma_path_probe(list->win, list->target, &path);
    size_t i = 0;
    mcomm_rma_seg_t seg = list_next(list, &i);

    mci_rma_hold_begin(hold, list->win, list->target, list->need, 1);
    if (i == list->count)
        return err;
    if (err == MCOMM_SUCCESS && seg.nbytes > 0)
        err = mci_rma_hold_add(hold, seg.disp, seg.nbytes);
    while (i < list->count && err == MCOMM_SUCCESS) {
        seg = list_next(list, &i);
        if (seg.nbytes > 0)
            err = mci_rma_hold_add(hold, seg.disp, seg.nbytes);
    }
    return err == MCOMM_SUCCESS ? mci_rma_hold_end(hold) : err;
}

static mcomm_err_t list_move_held(const struct list *list)
{
    struct rma_holding hold;
    mcomm_err_t err;

    mci_engine_lock();
    err = list_hold(list, &hold);
    if (err == MCOMM_SUCCESS) {
        mci_engine_unlock();
        err = list_move(list);
        mci_engine_lock();
    }
    mci_rma_hold_release(&hold);
    mci_engine_unlock();
    return err;
}

static mcomm_err_t list_run(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                            int target, unsigned need)
{
    struct list list = {win, segs, seg_count, target, need};
    uint64_t seq;
    mcomm_err_t err;

    if (seg_count == 0)
        return MCOMM_SUCCESS;
    if (segs == NULL)
        return mci_err_set(MCOMM_ERR_ARG, "segs is NULL, seg_count is %zu", seg_count);
    err = mci_check_count("seg_count", seg_count, sizeof(*segs));
    if (err == MCOMM_SUCCESS)
        err = list_check(&list);
    if (err != MCOMM_SUCCESS)
        return err == MCI_PENDING ? MCOMM_SUCCESS : err;
    if (rma_map(&win->targets[target]) != NULL)
        return list_move(&list);
    mci_engine_lock();
    seq = win->op_seq;
    mci_engine_unlock();
    err = win->kind == RMA_DYNAMIC ? list_move_held(&list) : list_move(&list);
    if (err == MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    mci_rma_ops_abort_own(win, target, seq, err);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mci_rma_putv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target)
{
    return list_run(win, segs, seg_count, target, MCOMM_WIN_WRITE);
}

mcomm_err_t mci_rma_getv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target)
{
    return list_run(win, segs, seg_count, target, MCOMM_WIN_READ);
}
