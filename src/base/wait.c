/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Waiting. Rounds of polling, in three stages: pauses, yields, sleep on the doorbell. A yield that
 * lasts over a millisecond shows, unless peers had the core, a foreign process there: then sleeping
 * at once is better (a wake-up preempts, a yield waits for a time slice), for STICKY_FIRST_NS;
 * where it is still there afterwards, for twice as long as before.
 *
 * Of the threads that wait for something that completes under the engine lock (mci_wait_until), one
 * drives progress; the others sleep, each on a word of its own, until what they wait for is there
 * or the driver, which has what it waited for, hands its role over: one wake-up each. Threads that
 * wait for memory that others write (mci_wait_step alone) look for themselves.
 *
 * No wake-up is lost: a sleeper announces itself, makes a fence for itself and (membarrier) for
 * all processes that might store, and polls once more. Without membarrier the sleep is short.
 */
#include "config.h"

#include "base/wait.h"
#include "base/clock.h"
#include "base/defer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/loop.h"
#include "base/presence.h"
#include "base/settings.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POLLER_MAX 16
#define SPIN_PAUSES 100
#define ROUNDS_PER_PAUSE 4 /* a pause lasts as long as two polls and delays what comes in it */
#define YIELD_ROUNDS 200
#define BUSY_LOOK 64 /* rounds with work between looks at the clock */
#define YIELD_LATE_NS 1000000.0
#define STICKY_FIRST_NS 1000000.0
#define STICKY_MAX_NS 64000000.0
#define GOOD_WAITS 64             /* since the last sleep at once: the foreign process had gone */
#define SLEEP_MAX_NS 100000000    /* with membarrier: a bound that should never matter */
#define SLEEP_NO_FENCE_NS 1000000 /* without: how late a wake-up may be */
#define DOORBELL_BYTES 4096
#define QUICK_NS 20000.0 /* a driver that waits again so soon need not be replaced */
#define WATCH_NS 1000000 /* if it does not, it is after this time */
#define TOGETHER_MAX 4   /* threads that poll shared memory at the same time */
#define SERVED_MAX 16    /* wake-ups of others by a driver that waits for something else */

struct mci_doorbell *mci_doorbell_self;
static int doorbell_fd = -1;
static bool is_shared; /* other processes may ring. lock: engine */
static bool has_membarrier;
static uint32_t spin_rounds;
/* Waits sleep at once until that time; next time so much longer. lock: engine */
static uint64_t sticky_until;
static double sticky_next_ns = STICKY_FIRST_NS;
static uint32_t good_waits;

/* A thread that leaves progress to the driver. On its stack; in the list until it is woken. */
struct passive {
    struct mci_list link;
    mci_wait_fn_t is_over;
    void *arg;
    _Atomic uint32_t is_woken; /* futex word */
};
static struct mci_list passives = {&passives, &passives}; /* lock: engine */
static unsigned passive_count; /* asleep, in the list or woken. lock: engine */
static unsigned woken_count;   /* of these, that have not run yet. lock: engine */
static bool has_woken;         /* lately: they want the core. lock: engine */

static struct {                 /* of the driver */
    unsigned actives;           /* threads that poll */
    bool was_left;              /* since the understudy looked last */
    bool is_quick;              /* it was taken up again soon when it was left last */
    unsigned served;            /* wake-ups of others since it was taken */
    uint64_t left_at;           /* ticks; 0: not to be looked at */
    struct passive *understudy; /* looks after watch_ns whether it is free */
    int64_t watch_ns;
} role; /* lock: engine */
unsigned mci_wait_sleepers;

static struct poller {
    mci_poll_fn_t fn;
    void *arg;
    unsigned mask; /* rounds on which it is called: those with no bit in common */
} pollers[POLLER_MAX];
static unsigned poller_count, round_count;

/* ---- doorbell ---- */
mcomm_err_t mci_doorbell_start(void)
{
    void *page;

    doorbell_fd = memfd_create("mcomm-doorbell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (doorbell_fd < 0)
        return mci_err_sys(mci_err_of_errno(errno), errno, "memfd_create for the doorbell page");
    if (ftruncate(doorbell_fd, DOORBELL_BYTES) != 0 ||
        (page = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, doorbell_fd, 0)) ==
            MAP_FAILED) {
        mci_err_sys(MCOMM_ERR_NO_MEM, errno, "doorbell page of %d bytes", DOORBELL_BYTES);
        close(doorbell_fd);
        doorbell_fd = -1;
        return MCOMM_ERR_NO_MEM;
    }
    mci_doorbell_self = page;
    mci_presence_back(mci_clock_ticks()); /* it starts */
    is_shared = false;
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
    return MCOMM_SUCCESS;
}

void mci_doorbell_stop(void)
{
    if (mci_doorbell_self == NULL)
        return;
    munmap(mci_doorbell_self, DOORBELL_BYTES);
    close(doorbell_fd);
    mci_doorbell_self = NULL;
    doorbell_fd = -1;
}

int mci_doorbell_fd(void)
{
    is_shared = true;
    return doorbell_fd;
}

void mci_doorbell_wake(struct mci_doorbell *bell)
{
    atomic_fetch_add(&bell->seq, 1);
    syscall(SYS_futex, &bell->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void passive_wake(struct passive *p)
{
    mci_list_remove(&p->link);
    if (role.understudy == p)
        role.understudy = NULL;
    has_woken = true;
    woken_count++;
    atomic_store_explicit(&p->is_woken, 1, memory_order_release);
    syscall(SYS_futex, &p->is_woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void mci_wake_self_slow(void)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &passives) {
        struct passive *p = mci_container_of(node, struct passive, link);

        if (!p->is_over(p->arg))
            continue;
        passive_wake(p);
        role.served++;
    }
    if (mci_wait_sleepers == passive_count)
        return;
    mci_doorbell_wake(mci_doorbell_self);
    mci_loop_watch_wake();
}

/* ---- pollers ---- */
mcomm_err_t mci_poll_add(mci_poll_fn_t fn, void *arg, unsigned every)
{
    unsigned mask = 0;

    if (poller_count == POLLER_MAX)
        return mci_err_set(MCOMM_ERR_LIMIT, "more than %d pollers", POLLER_MAX);
    while (mask + 1 < every)
        mask = mask * 2 + 1;
    pollers[poller_count++] = (struct poller){fn, arg, mask};
    return MCOMM_SUCCESS;
}

void mci_poll_remove(mci_poll_fn_t fn, void *arg)
{
    for (unsigned i = 0; i < poller_count; i++) {
        if (pollers[i].fn == fn && pollers[i].arg == arg) {
            for (; i + 1 < poller_count; i++)
                pollers[i] = pollers[i + 1];
            poller_count--;
        }
    }
}

static inline int progress(void)
{
    int events = 0;

    mci_defer_run();
    round_count++;
    for (unsigned i = 0; i < poller_count; i++)
        if ((round_count & pollers[i].mask) == 0)
            events += pollers[i].fn(pollers[i].arg);
    return events;
}

int mci_progress(void)
{
    return progress();
}

static int progress_all(void)
{
    int events = 0;

    mci_defer_run();
    for (unsigned i = 0; i < poller_count; i++)
        events += pollers[i].fn(pollers[i].arg);
    return events;
}

/* ---- waiting ---- */
void mci_wait_set_local_ranks(int count, int allowed_cores)
{
    if (mci_settings.spin >= 0)
        spin_rounds = (uint32_t)mci_settings.spin * ROUNDS_PER_PAUSE;
    else
        spin_rounds =
            count <= allowed_cores && allowed_cores > 1 ? SPIN_PAUSES * ROUNDS_PER_PAUSE : 0;
}

bool mci_wait_may_spin(void)
{
    return spin_rounds > 0;
}

/* On the doorbell, for rings from other threads and processes; the monitor serves the sockets. */
static void sleep_on_bell(int64_t ns)
{
    struct mci_doorbell *bell = mci_doorbell_self;
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    uint32_t seq = atomic_load(&bell->seq);

    if (is_shared && has_membarrier)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    if (progress_all() > 0)
        return;
    mci_loop_take_over(); /* after the last poll, which would look like one more poller */
    mci_presence_away(mci_clock_ticks());
    mci_engine_unlock();
    syscall(SYS_futex, &bell->seq, FUTEX_WAIT, seq, &ts, NULL, 0);
    mci_engine_lock();
    mci_presence_back(mci_clock_ticks());
}

/*
 * Sleep until something comes or the doorbell rings, at most until the deadline. Returns the number
 * of events handled. lock: engine, released meanwhile: whoever rings in this process holds it, so
 * only peers that map the doorbell need the fence.
 */
static int wait_sleep(const struct mci_waiter *w)
{
    int64_t ns = is_shared && !has_membarrier ? SLEEP_NO_FENCE_NS : SLEEP_MAX_NS;
    int events = -1;

    if (w->timeout_ms >= 0) {
        int64_t left = w->deadline_ns - mci_clock_ns();

        if (left <= 0)
            return 0;
        ns = left < ns ? left : ns;
    }
    mci_wait_sleepers++;
    atomic_fetch_add(&mci_doorbell_self->sleepers, 1);
    if (!is_shared)
        events = mci_loop_watch(ns);
    if (events < 0)
        sleep_on_bell(ns);
    mci_wait_sleepers--;
    if (atomic_fetch_sub(&mci_doorbell_self->sleepers, 1) > 1 && events >= 0)
        mci_loop_take_over(); /* for the others, who rely on somebody who serves the sockets */
    return events;
}

/* A foreign process is on the core. */
static void wait_is_disturbed(uint64_t now)
{
    if (good_waits > GOOD_WAITS)
        sticky_next_ns = STICKY_FIRST_NS;
    sticky_until = now + (uint64_t)(sticky_next_ns / mci_clock_ns_per_tick);
    sticky_next_ns = sticky_next_ns * 2 < STICKY_MAX_NS ? sticky_next_ns * 2 : STICKY_MAX_NS;
    good_waits = 0;
}

static bool is_disturbed(void)
{
    if (__builtin_expect(sticky_until == 0, 1))
        return false;
    if (mci_clock_ticks() < sticky_until)
        return true;
    sticky_until = 0;
    return false;
}

static void wait_yield(void)
{
    uint64_t begin = mci_clock_ticks(), end;

    mci_presence_away(begin);
    mci_engine_unlock();
    sched_yield();
    mci_engine_lock();
    end = mci_clock_ticks();
    mci_presence_back(end);
    if ((double)(end - begin) * mci_clock_ns_per_tick > YIELD_LATE_NS &&
        mci_presence_was_foreign(begin, end))
        wait_is_disturbed(end);
}

static bool deadline_is_over(struct mci_waiter *w)
{
    int64_t now = mci_clock_ns();

    if (w->deadline_ns == 0)
        w->deadline_ns = now + (int64_t)w->timeout_ms * 1000000;
    return now >= w->deadline_ns;
}

/* Has the limit passed? Looks at the clock only now and then while spinning. */
static bool wait_is_over(struct mci_waiter *w)
{
    if (w->timeout_ms < 0)
        return false;
    if (w->idle_rounds != 1 && w->idle_rounds <= spin_rounds && w->idle_rounds % 32 != 0)
        return false;
    return deadline_is_over(w);
}

static mcomm_err_t timed_out(const struct mci_waiter *w)
{
    return mci_err_set(MCOMM_ERR_TIMEOUT, "nothing came within %d ms", w->timeout_ms);
}

static inline mcomm_err_t wait_step(struct mci_waiter *w)
{
    uint32_t idle;

    if (w->is_late)
        return timed_out(w);
    if ((w->idle_rounds > spin_rounds ? progress_all() : progress()) > 0) {
        if (has_woken || mci_engine_is_contended()) {
            has_woken = false;
            mci_engine_unlock();
            sched_yield();
            mci_engine_lock();
        }
        if (w->idle_rounds > 1)
            w->idle_rounds = 1;
        /* Others' messages may come without end. */
        if (w->timeout_ms >= 0 && ++w->busy_rounds % BUSY_LOOK == 0)
            w->is_late = deadline_is_over(w);
        return MCOMM_SUCCESS;
    }
    idle = ++w->idle_rounds;
    if (wait_is_over(w)) {
        if (progress_all() > 0)
            return MCOMM_SUCCESS;
        return timed_out(w);
    }
    if (idle == 2 && sticky_until == 0)
        good_waits++;
    if (idle > spin_rounds + YIELD_ROUNDS || is_disturbed()) {
        if (wait_sleep(w) > 0)
            w->idle_rounds = 1;
    } else if (idle > spin_rounds) {
        wait_yield();
    } else if (mci_engine_is_contended()) {
        mci_engine_unlock();
        mci_cpu_pause();
        mci_engine_lock();
    } else if (idle % ROUNDS_PER_PAUSE == 0) {
        mci_cpu_pause();
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_wait_step(struct mci_waiter *w)
{
    return wait_step(w);
}

/* ---- one thread drives, the others sleep ---- */
/*
 * Where a poll is cheap a thread that begins to wait polls, with a few others: what it waits for
 * mostly comes soon. Then the last of these drives, and the others sleep.
 *
 * Who leaves mostly waits again after a few instructions; then a wake-up for each message would be
 * for nothing, and the understudy looks after a millisecond. Who stays away has somebody woken.
 */
static void role_leave(void)
{
    role.was_left = true;
    if (--role.actives > 0 || mci_list_is_empty(&passives))
        return;
    role.left_at = mci_clock_ticks();
    if (role.understudy != NULL && (!role.is_quick || role.watch_ns > WATCH_NS))
        passive_wake(role.understudy);
    /* else role_pass(), or this thread becomes the understudy */
}

static void role_take(void)
{
    if (role.actives++ > 0)
        return;
    role.served = 0;
    if (role.left_at == 0)
        return;
    role.is_quick = (double)(mci_clock_ticks() - role.left_at) * mci_clock_ns_per_tick < QUICK_NS;
    role.left_at = 0;
}

/*
 * *is_tired_p: it has polled in vain, or for others only; who was woken last takes the role when it
 * waits again.
 */
static mcomm_err_t wait_drive(struct mci_waiter *w, mci_wait_fn_t is_over, void *arg,
                              bool *is_tired_p)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    *is_tired_p = false;
    role_take();
    while (!is_over(arg) && err == MCOMM_SUCCESS && !*is_tired_p) {
        err = wait_step(w);
        *is_tired_p = role.actives > 1 ? w->idle_rounds >= spin_rounds + YIELD_ROUNDS
                                       : role.served >= SERVED_MAX;
    }
    role_leave();
    return err;
}

static int64_t watch_begin(struct passive *p)
{
    if (role.understudy != NULL)
        return SLEEP_MAX_NS;
    role.understudy = p;
    role.watch_ns = role.was_left ? WATCH_NS : role.watch_ns * 2;
    if (role.watch_ns > SLEEP_MAX_NS)
        role.watch_ns = SLEEP_MAX_NS;
    role.was_left = false;
    return role.watch_ns;
}

static void passive_sleep(struct passive *p, int64_t ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};

    mci_list_push(&passives, &p->link);
    mci_wait_sleepers++;
    passive_count++;
    mci_engine_unlock();
    syscall(SYS_futex, &p->is_woken, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
    mci_engine_lock();
    passive_count--;
    mci_wait_sleepers--;
    woken_count -= atomic_load_explicit(&p->is_woken, memory_order_relaxed);
    mci_list_remove(&p->link);
    if (role.understudy == p)
        role.understudy = NULL;
}

static mcomm_err_t wait_passive(struct mci_waiter *w, mci_wait_fn_t is_over, void *arg)
{
    struct passive p = {.is_over = is_over, .arg = arg};
    int64_t ns, left;

    if (w->timeout_ms >= 0 && deadline_is_over(w)) {
        progress_all();
        return is_over(arg) ? MCOMM_SUCCESS : timed_out(w);
    }
    ns = watch_begin(&p);
    if (w->timeout_ms >= 0) {
        left = w->deadline_ns - mci_clock_ns();
        ns = left < ns ? left : ns;
    }
    passive_sleep(&p, ns > 0 ? ns : 0);
    return MCOMM_SUCCESS;
}

/* Nobody drives, nor looks, nor is going to: also who was woken for it may have what it wants. */
static void role_pass(void)
{
    if (role.actives == 0 && role.understudy == NULL && woken_count == 0 &&
        !mci_list_is_empty(&passives))
        passive_wake(mci_container_of(passives.next, struct passive, link));
}

mcomm_err_t mci_wait_until(mci_wait_fn_t is_over, void *arg, int timeout_ms)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;
    const unsigned actives_max = mci_loop_has_data() ? 1 : TOGETHER_MAX;
    bool is_tired = false;

    mci_wait_begin(&w, timeout_ms);
    while (!is_over(arg) && err == MCOMM_SUCCESS) {
        if (role.actives < actives_max && !is_tired) {
            err = wait_drive(&w, is_over, arg, &is_tired);
        } else {
            err = wait_passive(&w, is_over, arg);
            is_tired = false;
        }
    }
    role_pass();
    return is_over(arg) ? MCOMM_SUCCESS : err;
}

static bool flag_is_set(void *flag)
{
    return *(const volatile bool *)flag; /* written by callbacks in other threads, under the lock */
}

mcomm_err_t mci_wait_flag(const bool *flag, int timeout_ms)
{
    return mci_wait_until(flag_is_set, (void *)(uintptr_t)flag, timeout_ms);
}
