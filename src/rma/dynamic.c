/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Attach and detach. Only the owner knows its ranges, so every access is checked here, under the
 * engine lock; frames are applied under it too, so a detach has to wait only for what serve.c
 * keeps.
 */
#include "config.h"

#include "rma/rma_priv.h"

mcomm_err_t mci_rma_attach(struct mci_win *win, void *base, size_t nbytes)
{
    mcomm_err_t err;
    uint64_t end;

    if (win->kind != RMA_DYNAMIC)
        return mci_err_set(MCOMM_ERR_WIN, "win is not a dynamic window");
    if (nbytes == 0)
        return mci_err_set(MCOMM_ERR_COUNT, "nbytes is 0: nothing to attach");
    err = mci_check_buffer("base", base, nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    if (__builtin_add_overflow((uint64_t)(uintptr_t)base, (uint64_t)nbytes, &end))
        return mci_err_set(MCOMM_ERR_BUFFER, "base is %p, nbytes is %zu: no range of memory", base,
                           nbytes);
    if (mci_interval_add(&win->attached, (uint64_t)(uintptr_t)base, nbytes) != MCOMM_SUCCESS)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for one more range of %zu",
                           win->attached.count);
    return MCOMM_SUCCESS;
}

/* Does it use bytes of [base, base + nbytes) that are in no range any more? */
static bool lost_its_place(const struct mci_win *win, const struct rma_serve *serve, uint64_t base,
                           uint64_t nbytes)
{
    for (size_t i = 0; i < serve->use_count; i++) {
        uint64_t at = (uint64_t)(uintptr_t)serve->uses[i].base, n = serve->uses[i].nbytes;

        if (at < base + nbytes && base < at + n && !mci_interval_covers(&win->attached, at, n))
            return true;
    }
    return false;
}

static bool is_in_use(const struct mci_win *win, uint64_t base, uint64_t nbytes)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &win->serves)
        if (lost_its_place(win, mci_container_of(node, struct rma_serve, link), base, nbytes))
            return true;
    return false;
}

/* The memory is the caller's again: what still uses it ends. */
static void cut_off(struct mci_win *win, uint64_t base, uint64_t nbytes)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &win->serves) {
        struct rma_serve *serve = mci_container_of(node, struct rma_serve, link);

        if (lost_its_place(win, serve, base, nbytes))
            mci_rma_serve_abort(serve, MCOMM_ERR_RMA_RANGE);
    }
}

mcomm_err_t mci_rma_detach(struct mci_win *win, const void *base)
{
    uint64_t nbytes;
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (win->kind != RMA_DYNAMIC)
        return mci_err_set(MCOMM_ERR_WIN, "win is not a dynamic window");
    if (!mci_interval_remove(&win->attached, (uint64_t)(uintptr_t)base, &nbytes))
        return mci_err_set(MCOMM_ERR_ARG, "base is %p, where nothing is attached", base);
    mci_wait_begin(&w, win->comm->timeout_ms);
    while (is_in_use(win, (uint64_t)(uintptr_t)base, nbytes) && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    if (err != MCOMM_SUCCESS)
        cut_off(win, (uint64_t)(uintptr_t)base, nbytes);
    return err;
}
