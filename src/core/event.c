/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * News of the launcher. It comes on a foreign thread, which only notes it and writes an eventfd;
 * the monitor thread looks closer. A rank that is said to be dead is connected, and so proves
 * whether it lives: a hint is no verdict.
 */
#include "config.h"

#include "core/core_priv.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/settings.h"

static struct {
    struct mci_loop_fd fd;
    _Atomic bool is_launcher_lost;
    _Atomic bool *is_suspect; /* of each rank of the job */
    int size;
} events = {.fd = {.fd = -1}};

/* thread: the launcher's */
static void on_rt_event(void *arg, int rank, int code)
{
    uint64_t one = 1;

    (void)arg;
    if (rank >= 0 && rank < events.size)
        atomic_store(&events.is_suspect[rank], true);
    else if (code == MCI_RT_CODE_LAUNCHER_LOST)
        atomic_store(&events.is_launcher_lost, true);
    else
        return;
    if (write(events.fd.fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: the monitor has been told already */
}

static void on_readable(struct mci_loop_fd *fd, uint32_t what)
{
    uint64_t count;

    (void)what;
    if (read(fd->fd, &count, sizeof(count)) < 0)
        return;
    if (atomic_load(&events.is_launcher_lost) &&
        strcmp(mci_settings.launcher_loss, "ignore") != 0) {
        mci_log_error("the launcher of this job is gone: the process ends (MCOMM_LAUNCHER_LOSS)");
        _exit(1);
    }
    for (int i = 0; mci_core.world != NULL && i < events.size; i++) {
        if (atomic_exchange(&events.is_suspect[i], false))
            mci_peer_watch(mci_comm_peer(mci_core.world, i));
    }
}

mcomm_err_t mci_core_event_start(struct mci_rt *rt)
{
    mcomm_err_t err;

    events.size = mci_rt_info(rt)->size;
    atomic_store(&events.is_launcher_lost, false);
    events.is_suspect = mci_mem_zalloc((size_t)events.size * sizeof(*events.is_suspect));
    if (events.is_suspect == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the news of %d ranks", events.size);
    events.fd.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events.fd.fd < 0) {
        err = mci_err_sys(mci_err_of_errno(errno), errno, "eventfd for the launcher's news");
        goto free_suspects;
    }
    events.fd.is_data = false;
    events.fd.events = EPOLLIN;
    events.fd.fn = on_readable;
    mci_engine_lock();
    err = mci_loop_fd_add(&events.fd);
    mci_engine_unlock();
    if (err != MCOMM_SUCCESS)
        goto close_fd;
    mci_rt_set_event_cb(rt, on_rt_event, NULL);
    return MCOMM_SUCCESS;

close_fd:
    close(events.fd.fd);
    events.fd.fd = -1;
free_suspects:
    mci_mem_free(events.is_suspect);
    events.is_suspect = NULL;
    return err;
}

void mci_core_event_stop(struct mci_rt *rt)
{
    if (events.fd.fd < 0)
        return;
    mci_rt_set_event_cb(rt, NULL, NULL);
    mci_engine_lock();
    mci_loop_fd_del(&events.fd);
    mci_engine_unlock();
    close(events.fd.fd);
    events.fd.fd = -1;
    mci_mem_free(events.is_suspect);
    events.is_suspect = NULL;
}
