/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Start and end of the library. Everything is built in one order and taken down in the reverse one,
 * also when the start fails half way, so that a process can go through it any number of times.
 * From the moment this process gives its address to the others messages may come in, also before
 * world exists: who sent them stays known, even if it has left already, and the layers above keep
 * what comes for a communicator that is yet to be made.
 */
#include "config.h"

#include "core/core_priv.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copy.h"
#include "base/hash.h"
#include "base/info.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/settings.h"
#include "topo/topo.h"

struct mci_core mci_core;
_Atomic int mci_core_phase = MCI_CORE_IDLE;

static pthread_mutex_t init_mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct mci_rt *job_rt;
static char *boot_text;
static size_t modules_started;

struct mci_rt *mci_core_rt(void)
{
    return job_rt;
}

const char *mci_core_boot_text(void)
{
    return boot_text != NULL ? boot_text : "";
}

/* ---- fork ----------------------------------------------------------------------------------- */
/*
 * The child has neither the monitor thread nor a place in the job. Here are touched only flags, and
 * descriptors, of which the child's copies would hide the parent's end from its peers.
 */
static void fork_child(void)
{
    int phase = atomic_load_explicit(&mci_core_phase, memory_order_relaxed);

    if (phase != MCI_CORE_IDLE && phase != MCI_CORE_FORKED) {
        mci_loop_forked();
        atomic_store_explicit(&mci_core_phase, MCI_CORE_FORKED, memory_order_relaxed);
    } else if (phase == MCI_CORE_IDLE) {
        init_mutex = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    }
}

static void fork_watch(void)
{
    pthread_atfork(NULL, NULL, fork_child);
}

/* ---- modules -------------------------------------------------------------------------------- */
static void modules_stop(void)
{
    while (modules_started > 0) {
        const struct mci_core_module *module = mci_core_modules[--modules_started];

        if (module->stop != NULL)
            module->stop();
    }
    memset(&mci_core_exchange, 0, sizeof(mci_core_exchange));
}

static mcomm_err_t modules_start(void)
{
    mcomm_err_t err;

    for (size_t i = 0; mci_core_modules[i] != NULL; i++) {
        err = mci_core_modules[i]->start != NULL ? mci_core_modules[i]->start() : MCOMM_SUCCESS;
        if (err != MCOMM_SUCCESS) {
            modules_stop();
            return err;
        }
        modules_started++;
    }
    return MCOMM_SUCCESS;
}

static void modules_quiesce(void)
{
    for (size_t i = modules_started; i > 0; i--) {
        if (mci_core_modules[i - 1]->quiesce != NULL)
            mci_core_modules[i - 1]->quiesce();
    }
}

/* ---- world and self ------------------------------------------------------------------------- */
static mcomm_err_t world_group(const struct mci_rt_blobs *blobs, struct mci_group **group_p)
{
    struct mci_group *group = mci_group_new(blobs->num);
    mcomm_err_t err = MCOMM_SUCCESS;
    int known = 0;

    if (group == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a job of %d ranks", blobs->num);
    for (; known < blobs->num && err == MCOMM_SUCCESS; known += err == MCOMM_SUCCESS)
        err = mci_peer_intern(blobs->blobs[known].ptr, blobs->blobs[known].nbytes,
                              &group->peers[known]);
    if (err == MCOMM_SUCCESS)
        mci_group_seal(group);
    if (err == MCOMM_SUCCESS && group->rank != mci_rt_info(job_rt)->rank)
        err = mci_err_set(MCOMM_ERR_BOOTSTRAP, "rank %d found its own card at place %d",
                          mci_rt_info(job_rt)->rank, group->rank);
    for (int i = 0; i < known; i++)
        group->peers[i]->refs--; /* intern's; the group has its own */
    if (err == MCOMM_SUCCESS)
        *group_p = group;
    else
        mci_mem_free(group);
    return err;
}

static mcomm_err_t comm_named(struct mci_group *group, const char *name, uint64_t ctx,
                              struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_comm_new(group, ctx, NULL, comm_p);

    if (err != MCOMM_SUCCESS) {
        mci_group_unref(group);
        return err;
    }
    strcpy((*comm_p)->name, name);
    return MCOMM_SUCCESS;
}

static mcomm_err_t self_make(void)
{
    struct mci_group *group = mci_group_new(1);

    if (group == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a group of 1");
    group->peers[0] = mci_peer_self();
    mci_group_seal(group);
    return comm_named(group, "self", mci_hash_mix(mci_peer_self()->proc_id, 0x5e1f),
                      &mci_core.self);
}

/* May every rank of this node spin? */
static void tell_wait(const struct mci_comm *world)
{
    int cpus = mci_peer_cpu_count(world->group->peers, world->size);

    mci_wait_set_local_ranks(world->node_size,
                             cpus > 0 ? mci_topo_cores_of(cpus) : mci_topo_allowed_cores());
}

static mcomm_err_t world_make(const struct mci_rt_blobs *blobs)
{
    struct mci_group *group = NULL;
    mcomm_err_t err = world_group(blobs, &group);

    if (err == MCOMM_SUCCESS)
        err = comm_named(group, "world", mci_hash_mix(group->peers[0]->proc_id, 0x3071d),
                         &mci_core.world);
    if (err == MCOMM_SUCCESS)
        err = self_make();
    if (err == MCOMM_SUCCESS)
        tell_wait(mci_core.world);
    return err;
}

/* Meet the others: all cards are exchanged, world and self made. */
static mcomm_err_t job_join(void)
{
    struct mci_rt_blobs blobs;
    const void *card;
    size_t nbytes;
    mcomm_err_t err;

    mci_rail_set_world_rank(mci_rt_info(job_rt)->rank);
    mci_engine_lock();
    mci_rail_keep_peers(true);
    mci_engine_unlock();
    card = mci_rail_card(&nbytes);
    err = mci_rt_exchange(job_rt, card, nbytes, &blobs);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = world_make(&blobs);
    mci_rail_keep_peers(false);
    mci_engine_unlock();
    mci_rt_blobs_free(&blobs);
    return err;
}

/* ---- start ---------------------------------------------------------------------------------- */
static void rt_end(void)
{
    mci_rt_stop(job_rt);
    job_rt = NULL;
    mci_log_set_rank(-1);
}

static void base_stop(void)
{
    mci_settings_unload();
}

/* Settings that are one of a few words. */
static mcomm_err_t words_check(void)
{
    const char *loss = mci_settings.launcher_loss;

    if (!mci_log_set_level(mci_settings.log))
        return mci_err_set(MCOMM_ERR_ARG,
                           "MCOMM_LOG=%.200s: must be error, warn, info, debug or trace",
                           mci_settings.log);
    if (strcmp(loss, "end") != 0 && strcmp(loss, "ignore") != 0)
        return mci_err_set(MCOMM_ERR_ARG, "MCOMM_LAUNCHER_LOSS=%.200s: must be end or ignore",
                           loss);
    return MCOMM_SUCCESS;
}

static mcomm_err_t base_start(const mcomm_init_attr_t *attr)
{
    static pthread_once_t fork_once = PTHREAD_ONCE_INIT, warn_once = PTHREAD_ONCE_INIT;
    mcomm_err_t err = mci_settings_load();

    if (err != MCOMM_SUCCESS)
        return err;
    err = words_check();
    if (err != MCOMM_SUCCESS) {
        base_stop();
        return err;
    }
    pthread_once(&fork_once, fork_watch);
    pthread_once(&warn_once, mci_settings_warn);
    mci_clock_init();
    mci_copy_start();
    mci_core.is_single_thread = attr->thread_level == MCOMM_THREAD_SINGLE;
    mci_engine_lock_init(mci_core.is_single_thread);
    return MCOMM_SUCCESS;
}

static void boot_text_make(void)
{
    const struct mci_rt_info *info = mci_rt_info(job_rt);
    const char *evidence = mci_rt_evidence();

    if (asprintf(&boot_text, "%s: rank %d of %d, job %s\n%s", info->kind_name, info->rank,
                 info->size, info->job_id, evidence) < 0)
        boot_text = NULL;
}

static void comms_finish(void)
{
    mci_engine_lock();
    mci_comms_drop_user_refs();
    mci_comms_end();
    mci_core.world = mci_core.self = NULL;
    mci_engine_unlock();
}

static mcomm_err_t start_all(const mcomm_init_attr_t *attr)
{
    mcomm_err_t err;

    err = base_start(attr);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_rt_start(attr->oob, attr->startup_timeout_ms, &job_rt);
    if (err != MCOMM_SUCCESS)
        goto stop_base;
    mci_log_set_rank(mci_rt_info(job_rt)->rank);
    err = mci_doorbell_start();
    if (err != MCOMM_SUCCESS)
        goto stop_rt;
    err = mci_loop_start();
    if (err != MCOMM_SUCCESS)
        goto stop_doorbell;
    err = mci_comms_init();
    if (err != MCOMM_SUCCESS)
        goto stop_loop;
    mci_rail_on_failed(mci_comms_peer_failed);
    mci_rail_set_am(MCI_AM_CORE_FAILED, mci_tree_on_death);
    err = modules_start();
    if (err != MCOMM_SUCCESS)
        goto stop_loop;
    err = mci_rail_start();
    if (err != MCOMM_SUCCESS)
        goto stop_modules;
    err = job_join();
    if (err != MCOMM_SUCCESS)
        goto stop_rail;
    err = mci_core_event_start(job_rt);
    if (err != MCOMM_SUCCESS)
        goto stop_rail;
    boot_text_make();
    return MCOMM_SUCCESS;

stop_rail:
    comms_finish();
    mci_rail_stop(0);
stop_modules:
    modules_stop();
stop_loop:
    mci_comms_fini();
    mci_loop_stop();
stop_doorbell:
    mci_doorbell_stop();
stop_rt:
    mci_rt_fail(job_rt, err); /* nothing, if the others have met this process */
    rt_end();
stop_base:
    base_stop();
    return err;
}

/* ---- end ------------------------------------------------------------------------------------ */
static void leaks_report(void)
{
    size_t leaked = mci_comms_count() - 2;

    if (leaked > 0)
        mci_log_info("%zu communicators were not freed; the oldest is %s", leaked,
                     mci_comms_oldest_text());
}

/* The user's handles go. What he sent still leaves; what he wanted to receive is withdrawn. */
static void user_handles_drop(void)
{
    struct mci_request *req;
    uint32_t cursor = 0;
    void *handle;

    mci_engine_lock();
    leaks_report();
    while ((handle = mci_handle_next(MCI_HANDLE_REQUEST, &cursor)) != NULL) {
        req = mci_handle_get(MCI_HANDLE_REQUEST, handle);
        assert(req != NULL);
        if (req->ops->is_receive)
            mci_request_cancel(req);
        mci_request_detach(req);
    }
    for (cursor = 0; (handle = mci_handle_next(MCI_HANDLE_GROUP, &cursor)) != NULL;) {
        mci_group_unref(mci_handle_get(MCI_HANDLE_GROUP, handle));
        mci_handle_free(MCI_HANDLE_GROUP, handle);
    }
    for (cursor = 0; (handle = mci_handle_next(MCI_HANDLE_INFO, &cursor)) != NULL;) {
        mci_info_free(mci_handle_get(MCI_HANDLE_INFO, handle));
        mci_handle_free(MCI_HANDLE_INFO, handle);
    }
    mci_engine_unlock();
}

static void stop_all(void)
{
    int64_t deadline_ns = mci_deadline_ns((int)mci_settings.finalize_timeout);

    user_handles_drop();
    modules_quiesce();
    comms_finish();
    mci_core_event_stop(job_rt);
    mci_rail_stop(mci_deadline_left_ms(deadline_ns));
    modules_stop();
    mci_comms_fini();
    mci_loop_stop();
    mci_doorbell_stop();
    rt_end();
    mci_topo_forget();
    free(boot_text);
    boot_text = NULL;
    base_stop();
}

/* ---- counting of users ---------------------------------------------------------------------- */
static mcomm_err_t init_enter(void)
{
    if (atomic_load_explicit(&mci_core_phase, memory_order_relaxed) == MCI_CORE_FORKED)
        return mci_check_init();
    if (pthread_mutex_lock(&init_mutex) == EDEADLK)
        return mci_err_set(MCOMM_ERR_STATE, "called from inside mcomm_init() or mcomm_finalize()");
    return MCOMM_SUCCESS;
}

static void phase_set(enum mci_core_phase phase)
{
    atomic_store_explicit(&mci_core_phase, phase, memory_order_release);
}

mcomm_err_t mci_core_init(const mcomm_init_attr_t *attr)
{
    mcomm_err_t err = init_enter();

    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_core.init_count == 0) {
        phase_set(MCI_CORE_STARTING);
        mci_err_clear();
        err = start_all(attr);
        if (err != MCOMM_SUCCESS && mcomm_last_error()[0] == '\0')
            mci_err_set(err, "the start failed: %s", mcomm_err_text(err));
        phase_set(err == MCOMM_SUCCESS ? MCI_CORE_UP : MCI_CORE_IDLE);
    }
    if (err == MCOMM_SUCCESS)
        mci_core.init_count++;
    pthread_mutex_unlock(&init_mutex);
    return err;
}

mcomm_err_t mci_core_finalize(void)
{
    mcomm_err_t err = init_enter();

    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_check_init();
    if (err == MCOMM_SUCCESS && --mci_core.init_count == 0) {
        phase_set(MCI_CORE_STOPPING);
        stop_all();
        phase_set(MCI_CORE_IDLE);
    }
    pthread_mutex_unlock(&init_mutex);
    return err;
}
