/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bootstrap by PMIx: mpirun, prterun, srun --mpi=pmix. PMIx is used for the one exchange, then only
 * as a channel for hints; calls that may block run in a thread of their own. The client stays
 * initialized until the process exits, since starting it again is slow and not reliable; each
 * exchange uses a new key.
 */
#include "config.h"

#include "rt/rt_pmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"
#include "rt/rt_again.h"
#include "rt/rt_call.h"

#define FLAT_MAX 8 /* up to so many ranks everybody asks for everybody's packet */
#define ABORT_MS 1000
#define FINALIZE_MS 5000
#define KEY_MAX 32
#define OFFER_KEY "mcomm.again"

static pthread_once_t px_once = PTHREAD_ONCE_INIT;

static void px_init_cond(void)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&mci_rt_px.changed, &attr);
    pthread_condattr_destroy(&attr);
}

static bool px_is_initialized(void)
{
    return mci_rt_px.owner != 0 && mci_rt_px.owner == getpid();
}

/* ---- events */

/* Runs on PMIx's thread: no PMIx call but the one that ends the event. */
static void on_event(size_t ref, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
    int rank = -1;

    (void)ref;
    (void)source;
    (void)results;
    (void)nresults;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && info[i].value.type == PMIX_PROC &&
            PMIX_CHECK_NSPACE(info[i].value.data.proc->nspace, mci_rt_px.self.nspace))
            rank = (int)info[i].value.data.proc->rank;
    }
    pthread_mutex_lock(&mci_rt_px.lock);
    if (status == PMIX_ERR_LOST_CONNECTION) {
        mci_rt_px.is_launcher_lost = true;
        rank = -1;
        status = MCI_RT_CODE_LAUNCHER_LOST;
    }
    if (mci_rt_px.current != NULL && (rank >= 0 || status == MCI_RT_CODE_LAUNCHER_LOST))
        mci_rt_event(mci_rt_px.current, rank, (int)status);
    pthread_cond_broadcast(&mci_rt_px.changed);
    pthread_mutex_unlock(&mci_rt_px.lock);
    if (done != NULL)
        done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, done_arg);
}

static void on_registered(pmix_status_t status, size_t ref, void *arg)
{
    (void)arg;
    if (status != PMIX_SUCCESS)
        mci_log_debug("rt: no PMIx events: %d, handler %zu", status, ref);
}

/* A handler for all codes (NULL) is never told of deaths: each has to be named. */
static void register_events(void)
{
    static pmix_status_t codes[] = {-402, -404, -400, -401, -403, -200, -201, -8, -61};

    PMIx_Register_event_handler(codes, sizeof(codes) / sizeof(codes[0]), NULL, 0, on_event,
                                on_registered, NULL);
}

/* ---- start */

static int call_init(void *arg)
{
    return PMIx_Init(arg, NULL, 0);
}

static int call_finalize(void *arg)
{
    (void)arg;
    return PMIx_Finalize(NULL, 0);
}

static int call_abort(void *arg)
{
    return PMIx_Abort(*(int *)arg, "mooncake_comm", NULL, 0);
}

/* At exit the launcher wants to be told that all is well. */
static void finalize_at_exit(void)
{
    if (px_is_initialized() && !mci_rt_px.is_launcher_lost && !mci_rt_px.is_unresponsive)
        mci_rt_call(call_finalize, NULL, 0, mci_clock_ns() + FINALIZE_MS * INT64_C(1000000), NULL);
    mci_rt_px.owner = 0;
}

/* A number that the launcher gave at the start: never asks, never blocks. */
static int job_number(const char *key, pmix_rank_t rank, int dflt)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_info_t optional;
    uint32_t number = 0;
    pmix_status_t rc;
    bool is_optional = true;

    PMIX_PROC_LOAD(&proc, mci_rt_px.self.nspace, rank);
    PMIX_INFO_CONSTRUCT(&optional);
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &is_optional, PMIX_BOOL);
    rc = PMIx_Get(&proc, key, &optional, 1, &value);
    PMIX_INFO_DESTRUCT(&optional);
    if (rc != PMIX_SUCCESS || value == NULL)
        return dflt;
    PMIX_VALUE_GET_NUMBER(rc, value, number, uint32_t);
    PMIX_VALUE_RELEASE(value);
    return rc == PMIX_SUCCESS && number <= 0x7fffffff ? (int)number : dflt;
}

static mcomm_err_t px_initialize(struct mci_rt *rt)
{
    pmix_status_t rc;
    bool is_back;

    is_back = mci_rt_call(call_init, &mci_rt_px.self, sizeof(mci_rt_px.self), rt->deadline_ns, &rc);
    if (!is_back) {
        mci_rt_px.is_stuck = mci_rt_px.is_unresponsive = true;
        return mci_err_set(MCOMM_ERR_TIMEOUT,
                           "the launcher's PMIx server did not answer within %d ms",
                           rt->timeout_ms);
    }
    if (rc != PMIX_SUCCESS)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "the environment names a PMIx server, but PMIx_Init says %s; was this "
                           "process started by the launcher itself? else unset PMIX_NAMESPACE, or "
                           "set MCOMM_RENDEZVOUS=host:port",
                           PMIx_Error_string(rc));
    mci_rt_px.owner = getpid();
    if (!mci_rt_px.has_exit_hook) {
        mci_rt_px.has_exit_hook = true;
        atexit(finalize_at_exit);
    }
    mci_rt_px.size = job_number(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD, -1);
    mci_rt_px.local_rank = job_number(PMIX_LOCAL_RANK, mci_rt_px.self.rank, -1);
    mci_rt_px.local_size = job_number(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD, -1);
    register_events();
    return MCOMM_SUCCESS;
}

static mcomm_err_t pmix_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    (void)oob;
    pthread_once(&px_once, px_init_cond);
    if (mci_rt_px.is_launcher_lost)
        return mci_rt_pmix_launcher_lost();
    if (mci_rt_px.is_stuck)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "an earlier start-up by PMIx did not end: this "
                                                "process cannot start again");
    if (!px_is_initialized() && !(mci_rt_px.size > 0 && mci_rt_again_is_ready()))
        err = px_initialize(rt);
    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_rt_px.size < 1 || mci_rt_px.self.rank >= (uint32_t)mci_rt_px.size)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher says this is rank %u of %d",
                           mci_rt_px.self.rank, mci_rt_px.size);
    rt->info.rank = (int)mci_rt_px.self.rank;
    rt->info.size = mci_rt_px.size;
    rt->info.local_rank = mci_rt_px.local_rank;
    rt->info.local_size = mci_rt_px.local_size;
    snprintf(rt->job_id, sizeof(rt->job_id), "%s", mci_rt_px.self.nspace);
    pthread_mutex_lock(&mci_rt_px.lock);
    mci_rt_px.current = rt;
    pthread_mutex_unlock(&mci_rt_px.lock);
    return MCOMM_SUCCESS;
}

/* ---- exchange */

/* Rank 0 gathers and publishes all packets as one, so n ranks ask n times in all and not n². */
static mcomm_err_t exchange_by_root(struct mci_rt *rt, const char *key, struct mci_rt_blobs *out)
{
    struct mci_rt_blobs all = {0}, one = {0};
    char all_key[KEY_MAX + 4];
    unsigned char *frame = NULL;
    unsigned char none = 0;
    size_t nbytes = 0;
    mcomm_err_t err;

    snprintf(all_key, sizeof(all_key), "%s.all", key);
    if (rt->info.rank == 0) {
        err = mci_rt_pmix_get(rt, key, 0, rt->info.size, &all);
        if (err == MCOMM_SUCCESS)
            err = mci_rt_blobs_pack(&all, &frame, &nbytes);
        if (err == MCOMM_SUCCESS)
            err = mci_rt_pmix_publish(rt, all_key, frame, nbytes);
        mci_mem_free(frame);
        if (err != MCOMM_SUCCESS) {
            mci_rt_blobs_free(&all);
            return err;
        }
        *out = all;
        return MCOMM_SUCCESS;
    }
    err = mci_rt_pmix_publish(rt, all_key, &none, sizeof(none));
    if (err == MCOMM_SUCCESS)
        err = mci_rt_pmix_get(rt, all_key, 0, 1, &one);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_rt_blobs_unpack(one.blobs[0].ptr, one.blobs[0].nbytes, rt->info.size, out);
    mci_rt_blobs_free(&one);
    return err;
}

/* So that srun, which cancels the step when a client vanishes, has no client to miss any more. */
static void detach(void)
{
    pthread_mutex_lock(&mci_rt_px.lock);
    mci_rt_px.current = NULL;
    pthread_mutex_unlock(&mci_rt_px.lock);
    if (!mci_rt_call(call_finalize, NULL, 0, mci_clock_ns() + FINALIZE_MS * INT64_C(1000000), NULL))
        mci_rt_px.is_stuck = true;
    mci_rt_px.owner = 0;
}

/* Every rank learns rank 0's offer, or none does. */
static mcomm_err_t take_offer(struct mci_rt *rt)
{
    struct mci_rt_blobs blobs;
    mcomm_err_t err;

    if (rt->info.rank == 0)
        return MCOMM_SUCCESS;
    err = mci_rt_pmix_get(rt, OFFER_KEY, 0, 1, &blobs);
    if (err != MCOMM_SUCCESS)
        return err;
    if (blobs.blobs[0].nbytes == MCI_RT_OFFER_BYTES)
        mci_rt_again_accept(blobs.blobs[0].ptr);
    mci_rt_blobs_free(&blobs);
    return MCOMM_SUCCESS;
}

static mcomm_err_t exchange_by_store(struct mci_rt *rt, const void *packet, size_t nbytes,
                                     struct mci_rt_blobs *out)
{
    bool has_offer = mci_rt_px.generation == MCI_RT_OFFER_GENERATION ||
                     (mci_settings.detach && mci_rt_px.generation == 0);
    unsigned char copy[MCI_RT_PACKET_MAX], offer[MCI_RT_OFFER_BYTES];
    char key[KEY_MAX];
    mcomm_err_t err = MCOMM_SUCCESS;

    memcpy(copy, packet, nbytes);
    snprintf(key, sizeof(key), "mcomm.%u", mci_rt_px.generation++);
    if (has_offer && rt->info.rank == 0) {
        mci_rt_again_offer(rt, offer);
        err = mci_rt_pmix_put(OFFER_KEY, offer, sizeof(offer));
    }
    if (err == MCOMM_SUCCESS)
        err = mci_rt_pmix_publish(rt, key, copy, nbytes);
    if (err == MCOMM_SUCCESS && rt->info.size <= FLAT_MAX)
        err = mci_rt_pmix_get(rt, key, 0, rt->info.size, out);
    else if (err == MCOMM_SUCCESS)
        err = exchange_by_root(rt, key, out);
    if (err != MCOMM_SUCCESS)
        return err;
    if (has_offer)
        err = take_offer(rt);
    if (err != MCOMM_SUCCESS)
        mci_rt_blobs_free(out);
    return err;
}

static mcomm_err_t pmix_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                 struct mci_rt_blobs *out)
{
    mcomm_err_t err;

    if (rt->info.size == 1)
        return mci_rt_singleton_ops.exchange(rt, packet, nbytes, out);
    if (mci_rt_again_is_ready())
        return mci_rt_again_exchange(rt, packet, nbytes, out);
    err = exchange_by_store(rt, packet, nbytes, out);
    if (err == MCOMM_SUCCESS && mci_settings.detach)
        detach();
    return err;
}

static void pmix_abort(struct mci_rt *rt, int code, const char *msg)
{
    (void)rt;
    (void)msg; /* it is on stderr already */
    if (px_is_initialized() && !mci_rt_px.is_launcher_lost)
        mci_rt_call(call_abort, &code, sizeof(code), mci_clock_ns() + ABORT_MS * INT64_C(1000000),
                    NULL);
}

static void pmix_stop(struct mci_rt *rt)
{
    pthread_mutex_lock(&mci_rt_px.lock);
    if (mci_rt_px.current == rt)
        mci_rt_px.current = NULL;
    pthread_mutex_unlock(&mci_rt_px.lock);
}

const struct mci_rt_ops mci_rt_pmix_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "pmix",
    .start = pmix_start,
    .exchange = pmix_exchange,
    .abort = pmix_abort,
    .stop = pmix_stop,
};
