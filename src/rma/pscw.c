/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Post, start, complete, wait: a target opens its part to a group of origins, they tell it when
 * they are through. Two counters for each pair; a frame raises them, start and wait take from them.
 */
#include "config.h"

#include "rma/rma_priv.h"

/* Ranks in the window of a group's members. */
static mcomm_err_t group_ranks(struct mci_win *win, const struct mci_group *group, int *ranks,
                               int *count_p)
{
    if (group->size > win->size)
        return mci_err_set(MCOMM_ERR_GROUP, "group has %d members, the window %d", group->size,
                           win->size);
    for (int i = 0; i < group->size; i++) {
        ranks[i] = mci_comm_rank_of(win->comm, group->peers[i]);
        if (ranks[i] < 0)
            return mci_err_set(MCOMM_ERR_GROUP, "member %d of group is not in the window", i);
    }
    *count_p = group->size;
    return MCOMM_SUCCESS;
}

/* To all, whatever becomes of some; the first error. */
static mcomm_err_t tell(struct mci_win *win, const int *ranks, int count, enum rma_sync what)
{
    mcomm_err_t err = MCOMM_SUCCESS, one;

    for (int i = 0; i < count; i++) {
        struct rma_target *t = &win->targets[ranks[i]];

        one = atomic_load(&t->is_dead) ? mci_rma_dead(win, ranks[i])
                                       : mci_rma_sync_send(t->peer, what, 0, t->key, 0);
        err = err == MCOMM_SUCCESS ? one : err;
    }
    return err;
}

static uint32_t *counter(struct mci_win *win, int rank, enum rma_sync what)
{
    return what == RMA_SYNC_POST ? &win->origins[rank].posts : &win->origins[rank].completes;
}

/* Has everybody told us? PROC_FAILED if one cannot any more, TRY_AGAIN if some have not yet. */
static mcomm_err_t all_told(struct mci_win *win, const int *ranks, int count, enum rma_sync what)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; i < count; i++) {
        if (*counter(win, ranks[i], what) > 0)
            continue;
        if (atomic_load(&win->targets[ranks[i]].is_dead))
            return mci_rma_dead(win, ranks[i]);
        mci_peer_watch(win->targets[ranks[i]].peer);
        err = MCOMM_ERR_TRY_AGAIN;
    }
    return err;
}

/* After a death some have not told yet: what they tell later must not count for the next epoch. */
static void consume(struct mci_win *win, const int *ranks, int count, enum rma_sync what)
{
    for (int i = 0; i < count; i++) {
        if (*counter(win, ranks[i], what) > 0)
            (*counter(win, ranks[i], what))--;
        else if (what == RMA_SYNC_COMPLETE && !atomic_load(&win->targets[ranks[i]].is_dead))
            win->origins[ranks[i]].late_completes++;
    }
}

static mcomm_err_t wait_all_told(struct mci_win *win, const int *ranks, int count,
                                 enum rma_sync what)
{
    struct mci_waiter w;
    mcomm_err_t err, wait_err = MCOMM_SUCCESS;

    mci_wait_begin(&w, win->comm->timeout_ms);
    while ((err = all_told(win, ranks, count, what)) == MCOMM_ERR_TRY_AGAIN &&
           wait_err == MCOMM_SUCCESS)
        wait_err = mci_wait_step(&w);
    return err == MCOMM_ERR_TRY_AGAIN ? wait_err : err;
}

mcomm_err_t mci_rma_post(struct mci_win *win, struct mci_group *group)
{
    mcomm_err_t err;

    if (win->is_posted)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "post while the last one is not waited for");
    err = group_ranks(win, group, win->post_ranks, &win->post_count);
    if (err != MCOMM_SUCCESS)
        return err;
    win->is_posted = true;
    tell(win, win->post_ranks, win->post_count, RMA_SYNC_POST); /* the dead: told by wait */
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_start(struct mci_win *win, struct mci_group *group)
{
    mcomm_err_t err;

    if (win->is_started)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "start while the last one is not completed");
    err = group_ranks(win, group, win->start_ranks, &win->start_count);
    if (err != MCOMM_SUCCESS)
        return err;
    err = wait_all_told(win, win->start_ranks, win->start_count, RMA_SYNC_POST);
    if (err != MCOMM_SUCCESS)
        return err;
    consume(win, win->start_ranks, win->start_count, RMA_SYNC_POST);
    win->is_started = true;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rma_complete(struct mci_win *win)
{
    mcomm_err_t err = MCOMM_SUCCESS, one;

    if (!win->is_started)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "complete without start");
    mci_engine_unlock();
    for (int i = 0; i < win->start_count; i++) {
        one = mci_rma_flush(win, win->start_ranks[i]);
        err = err == MCOMM_SUCCESS ? one : err;
    }
    mci_engine_lock();
    one = tell(win, win->start_ranks, win->start_count, RMA_SYNC_COMPLETE);
    win->is_started = false;
    return err == MCOMM_SUCCESS ? one : err;
}

mcomm_err_t mci_rma_wait(struct mci_win *win)
{
    mcomm_err_t err;

    if (!win->is_posted)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "wait without post");
    err = wait_all_told(win, win->post_ranks, win->post_count, RMA_SYNC_COMPLETE);
    if (err == MCOMM_ERR_TIMEOUT)
        return err; /* still posted: wait again */
    consume(win, win->post_ranks, win->post_count, RMA_SYNC_COMPLETE);
    win->is_posted = false;
    return err;
}

mcomm_err_t mci_rma_test(struct mci_win *win, int *done_p)
{
    mcomm_err_t err;

    if (!win->is_posted)
        return mci_err_set(MCOMM_ERR_RMA_SYNC, "test without post");
    mci_progress();
    err = all_told(win, win->post_ranks, win->post_count, RMA_SYNC_COMPLETE);
    if (err == MCOMM_ERR_TRY_AGAIN) {
        *done_p = 0;
        return MCOMM_SUCCESS;
    }
    consume(win, win->post_ranks, win->post_count, RMA_SYNC_COMPLETE);
    win->is_posted = false;
    if (err == MCOMM_SUCCESS)
        *done_p = 1;
    return err;
}
