/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The monitor thread's event loop: sockets, pidfds, timers. All callbacks run with the engine lock
 * held. Data descriptors are also polled by application threads that wait; the monitor serves
 * them when no application thread does, so that passive targets are served while it computes.
 */
#ifndef MCI_BASE_LOOP_H
#define MCI_BASE_LOOP_H

#include "base/list.h"
#include "mooncake_comm.h"

struct mci_loop_fd {
    int fd;
    bool is_data;
    uint32_t events;                                     /* EPOLLIN | EPOLLOUT ... */
    void (*fn)(struct mci_loop_fd *fd, uint32_t events); /* events may be over by now */
    /* Or NULL. Takes in what has come, without an event; false: nothing had. */
    bool (*try_fn)(struct mci_loop_fd *fd);
    void *arg;
};

struct mci_loop_timer {
    struct mci_list link;
    int64_t due_ns; /* CLOCK_MONOTONIC */
    void (*fn)(struct mci_loop_timer *timer);
    void *arg;
};

mcomm_err_t mci_loop_start(void); /* starts the monitor thread (all signals blocked in it) */
void mci_loop_stop(void);         /* ends and joins it. lock: none */
/*
 * In a child made by fork(): close its copies of all descriptors that were added, so that peers
 * see the parent's end. The library is of no use there. Safe in a pthread_atfork() handler.
 */
void mci_loop_forked(void);
/* lock: engine for all below. The handle's memory belongs to the caller until del. */
mcomm_err_t mci_loop_fd_add(struct mci_loop_fd *handle);
mcomm_err_t mci_loop_fd_mod(struct mci_loop_fd *handle, uint32_t events);
void mci_loop_fd_del(
    struct mci_loop_fd *handle); /* no callback after it; does not close; twice is legal */
void mci_loop_timer_init(struct mci_loop_timer *timer, void (*fn)(struct mci_loop_timer *),
                         void *arg);
void mci_loop_timer_set(struct mci_loop_timer *timer, int64_t in_ns); /* again: moves it */
void mci_loop_timer_cancel(struct mci_loop_timer *timer);             /* safe if not set */
/* An application thread is about to sleep: the monitor takes over the data descriptors at once. */
void mci_loop_take_over(void);
/*
 * Sleep until something comes on the data descriptors or mci_loop_watch_wake() is called, at most
 * ns. One thread at a time. Returns the number of events handled; -1: not possible, did not sleep.
 * lock: engine, released meanwhile
 */
int mci_loop_watch(int64_t ns);
void mci_loop_watch_wake(void);
bool mci_loop_has_data(void); /* there are data descriptors */

#endif
