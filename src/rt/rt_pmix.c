/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bootstrap by PMIx: mpirun, prterun, srun --mpi=pmix. PMIx is used for the one exchange, then only
 * as a channel for hints. Nothing of it is trusted to return: calls that may block run in a thread
 * of their own, requests are non-blocking with our own timer. The client stays initialized until
 * the process exits, since starting it again is slow and not reliable; each exchange uses a new
 * key.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <errno.h>
#include <pmix.h>
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

/* There is one PMIx client in a process; the lock guards all of it but what start sets once. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a callback has come; CLOCK_MONOTONIC */
    pid_t owner;            /* who initialized PMIx: a forked child has no part in it */
    bool has_exit_hook;
    bool is_launcher_lost;
    bool is_stuck;        /* a call or fence never came back: no further start */
    bool is_unresponsive; /* a blocking call never came back: no further call at all */
    pmix_proc_t self;
    int size;
    int local_rank;
    int local_size;
    unsigned generation; /* of exchanges: equal on all ranks */
    struct mci_rt *current;
} px = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t px_once = PTHREAD_ONCE_INIT;

static void px_init_cond(void)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&px.changed, &attr);
    pthread_condattr_destroy(&attr);
}

static bool px_is_initialized(void)
{
    return px.owner != 0 && px.owner == getpid();
}

/* lock: px. @return false: the time is over */
static bool px_wait(int64_t deadline_ns)
{
    struct timespec end = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_timedwait(&px.changed, &px.lock, &end) != ETIMEDOUT;
}

static mcomm_err_t launcher_lost(void)
{
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher went away during start-up");
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
            PMIX_CHECK_NSPACE(info[i].value.data.proc->nspace, px.self.nspace))
            rank = (int)info[i].value.data.proc->rank;
    }
    pthread_mutex_lock(&px.lock);
    if (status == PMIX_ERR_LOST_CONNECTION) {
        px.is_launcher_lost = true;
        rank = -1;
        status = MCI_RT_CODE_LAUNCHER_LOST;
    }
    if (px.current != NULL && (rank >= 0 || status == MCI_RT_CODE_LAUNCHER_LOST))
        mci_rt_event(px.current, rank, (int)status);
    pthread_cond_broadcast(&px.changed);
    pthread_mutex_unlock(&px.lock);
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

static int call_commit(void *arg)
{
    (void)arg;
    return PMIx_Commit();
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
    if (px_is_initialized() && !px.is_launcher_lost && !px.is_unresponsive)
        mci_rt_call(call_finalize, NULL, 0, mci_clock_ns() + FINALIZE_MS * INT64_C(1000000), NULL);
    px.owner = 0;
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

    PMIX_PROC_LOAD(&proc, px.self.nspace, rank);
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

    is_back = mci_rt_call(call_init, &px.self, sizeof(px.self), rt->deadline_ns, &rc);
    if (!is_back) {
        px.is_stuck = px.is_unresponsive = true;
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
    px.owner = getpid();
    if (!px.has_exit_hook) {
        px.has_exit_hook = true;
        atexit(finalize_at_exit);
    }
    px.size = job_number(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD, -1);
    px.local_rank = job_number(PMIX_LOCAL_RANK, px.self.rank, -1);
    px.local_size = job_number(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD, -1);
    register_events();
    return MCOMM_SUCCESS;
}

static mcomm_err_t pmix_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    (void)oob;
    pthread_once(&px_once, px_init_cond);
    if (px.is_launcher_lost)
        return launcher_lost();
    if (px.is_stuck)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "an earlier start-up by PMIx did not end: this "
                                                "process cannot start again");
    if (!px_is_initialized() && !(px.size > 0 && mci_rt_again_is_ready()))
        err = px_initialize(rt);
    if (err != MCOMM_SUCCESS)
        return err;
    if (px.size < 1 || px.self.rank >= (uint32_t)px.size)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher says this is rank %u of %d",
                           px.self.rank, px.size);
    rt->info.rank = (int)px.self.rank;
    rt->info.size = px.size;
    rt->info.local_rank = px.local_rank;
    rt->info.local_size = px.local_size;
    snprintf(rt->job_id, sizeof(rt->job_id), "%s", px.self.nspace);
    pthread_mutex_lock(&px.lock);
    px.current = rt;
    pthread_mutex_unlock(&px.lock);
    return MCOMM_SUCCESS;
}

/* ---- gets: all at once, each answered by a callback that may come late or never */

struct batch;

struct get {
    struct batch *batch;
    pmix_status_t status;
    size_t nbytes;
    unsigned char *bytes; /* our copy */
};

struct batch {
    int num;
    int num_waiting;
    int refs; /* the caller and each outstanding callback */
    struct get gets[];
};

/* lock: px */
static void batch_unref(struct batch *batch)
{
    if (--batch->refs > 0)
        return;
    for (int i = 0; i < batch->num; i++)
        mci_mem_free(batch->gets[i].bytes);
    mci_mem_free(batch);
}

static void on_got(pmix_status_t status, pmix_value_t *value, void *arg)
{
    struct get *get = arg;

    pthread_mutex_lock(&px.lock);
    get->status = status;
    if (status == PMIX_SUCCESS && (value == NULL || value->type != PMIX_BYTE_OBJECT)) {
        get->status = PMIX_ERR_TYPE_MISMATCH;
    } else if (status == PMIX_SUCCESS) {
        get->nbytes = value->data.bo.size;
        get->bytes = mci_mem_zalloc(get->nbytes + 1);
        if (get->bytes == NULL)
            get->status = PMIX_ERR_NOMEM;
        else
            memcpy(get->bytes, value->data.bo.bytes, get->nbytes);
    }
    get->batch->num_waiting--;
    batch_unref(get->batch);
    pthread_cond_broadcast(&px.changed);
    pthread_mutex_unlock(&px.lock);
}

static struct batch *batch_create(int num)
{
    struct batch *batch = mci_mem_zalloc(sizeof(*batch) + (size_t)num * sizeof(batch->gets[0]));

    if (batch == NULL)
        return NULL;
    batch->num = num;
    batch->refs = 1;
    for (int i = 0; i < num; i++) {
        batch->gets[i].batch = batch;
        batch->gets[i].status = PMIX_ERR_TIMEOUT;
    }
    return batch;
}

/* lock: px, which is given up meanwhile */
static void batch_wait(struct batch *batch, int64_t deadline_ns)
{
    while (batch->num_waiting > 0 && !px.is_launcher_lost && px_wait(deadline_ns))
        ;
}

/*
 * Ask the server for key of ranks first .. first + num - 1, once, without waiting for those who
 * have not published it. At once if some may never be answered, else one by one: the connection to
 * servers of PMIx 5 is TCP without TCP_NODELAY, where a second question waits 40 ms.
 * @return NULL: no memory
 */
static struct batch *batch_get(const char *key, int first, int num, bool is_at_once,
                               int64_t deadline_ns)
{
    struct batch *batch = batch_create(num);
    pmix_info_t immediate;
    bool is_immediate = true;

    if (batch == NULL)
        return NULL;
    PMIX_INFO_CONSTRUCT(&immediate);
    PMIX_INFO_LOAD(&immediate, PMIX_IMMEDIATE, &is_immediate, PMIX_BOOL);
    for (int i = 0; i < num; i++) {
        pmix_proc_t proc;
        pmix_status_t rc;

        PMIX_PROC_LOAD(&proc, px.self.nspace, (pmix_rank_t)(first + i));
        pthread_mutex_lock(&px.lock);
        batch->num_waiting++;
        batch->refs++;
        pthread_mutex_unlock(&px.lock);
        rc = PMIx_Get_nb(&proc, key, &immediate, 1, on_got, &batch->gets[i]);
        if (rc != PMIX_SUCCESS)
            on_got(rc, NULL, &batch->gets[i]);
        pthread_mutex_lock(&px.lock);
        if (!is_at_once || i == num - 1)
            batch_wait(batch, deadline_ns);
        pthread_mutex_unlock(&px.lock);
    }
    PMIX_INFO_DESTRUCT(&immediate);
    return batch;
}

static void batch_release(struct batch *batch)
{
    pthread_mutex_lock(&px.lock);
    batch_unref(batch);
    pthread_mutex_unlock(&px.lock);
}

/* ---- fence */

struct fence {
    int refs;
    bool is_done;
    pmix_status_t status;
};

/* lock: px */
static void fence_unref(struct fence *fence)
{
    if (--fence->refs == 0)
        mci_mem_free(fence);
}

static void on_fence(pmix_status_t status, void *arg)
{
    struct fence *fence = arg;

    pthread_mutex_lock(&px.lock);
    fence->status = status;
    fence->is_done = true;
    fence_unref(fence);
    pthread_cond_broadcast(&px.changed);
    pthread_mutex_unlock(&px.lock);
}

static mcomm_err_t fence_start(struct fence **fence_p)
{
    struct fence *fence = mci_mem_zalloc(sizeof(*fence));
    pmix_info_t collect;
    bool is_collect = true;
    pmix_proc_t all;
    pmix_status_t rc;

    if (fence == NULL)
        return MCOMM_ERR_NO_MEM;
    fence->refs = 2;
    PMIX_PROC_LOAD(&all, px.self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_CONSTRUCT(&collect);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &is_collect, PMIX_BOOL);
    rc = PMIx_Fence_nb(&all, 1, &collect, 1, on_fence, fence);
    PMIX_INFO_DESTRUCT(&collect);
    if (rc == PMIX_OPERATION_SUCCEEDED) {
        on_fence(PMIX_SUCCESS, fence);
    } else if (rc != PMIX_SUCCESS) {
        mci_mem_free(fence);
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "PMIx_Fence_nb: %s", PMIx_Error_string(rc));
    }
    *fence_p = fence;
    return MCOMM_SUCCESS;
}

/* The fence is late: see who has published. It may still end meanwhile, which is then a success. */
static mcomm_err_t find_missing(struct mci_rt *rt, const char *key, struct fence *fence)
{
    char ranks[256];
    struct batch *batch;
    unsigned char *here;
    mcomm_err_t err;
    int num_here = 0;

    batch = batch_get(key, 0, rt->info.size, true, rt->deadline_ns);
    here = mci_mem_zalloc((size_t)rt->info.size);
    pthread_mutex_lock(&px.lock);
    for (int i = 0; i < rt->info.size && batch != NULL && here != NULL; i++) {
        here[i] = i == rt->info.rank || batch->gets[i].status == PMIX_SUCCESS;
        num_here += here[i];
    }
    while (!fence->is_done && num_here == rt->info.size && px_wait(rt->deadline_ns))
        ; /* they are all here, so it may come yet */
    if (fence->is_done)
        err = MCOMM_SUCCESS;
    else if (num_here == rt->info.size || batch == NULL || here == NULL)
        err = mci_err_set(MCOMM_ERR_TIMEOUT,
                          "the launcher's fence did not end within %d ms, though "
                          "all %d ranks came to it",
                          rt->timeout_ms, rt->info.size);
    else
        err = mci_err_set(MCOMM_ERR_TIMEOUT,
                          "%d of %d ranks did not start within %d ms; missing: rank "
                          "%s",
                          rt->info.size - num_here, rt->info.size, rt->timeout_ms,
                          mci_rt_ranks_text(here, rt->info.size, 0, ranks, sizeof(ranks)));
    if (batch != NULL)
        batch_unref(batch);
    pthread_mutex_unlock(&px.lock);
    mci_mem_free(here);
    return err;
}

static mcomm_err_t fence_wait(struct mci_rt *rt, const char *key, struct fence *fence)
{
    int64_t ask_ms = rt->timeout_ms / 4 < 1000 ? rt->timeout_ms / 4 : 1000;
    int64_t ask_ns = rt->deadline_ns - ask_ms * INT64_C(1000000);
    mcomm_err_t err = MCOMM_SUCCESS;
    bool is_late;

    pthread_mutex_lock(&px.lock);
    while (!fence->is_done && !px.is_launcher_lost && px_wait(ask_ns))
        ;
    is_late = !fence->is_done && !px.is_launcher_lost;
    pthread_mutex_unlock(&px.lock);
    if (is_late)
        err = find_missing(rt, key, fence);
    pthread_mutex_lock(&px.lock);
    if (err == MCOMM_SUCCESS &&
        (!fence->is_done || px.is_launcher_lost || fence->status == PMIX_ERR_UNREACH))
        err = launcher_lost();
    else if (err == MCOMM_SUCCESS && fence->status != PMIX_SUCCESS)
        err = mci_err_set(MCOMM_ERR_BOOTSTRAP,
                          "the launcher's fence failed: %s; did a rank die "
                          "during start-up?",
                          PMIx_Error_string(fence->status));
    if (!fence->is_done)
        px.is_stuck = true;
    fence_unref(fence);
    pthread_mutex_unlock(&px.lock);
    return err;
}

static mcomm_err_t put(const char *key, void *bytes, size_t nbytes)
{
    pmix_value_t value;
    pmix_status_t rc;

    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes;
    value.data.bo.size = nbytes;
    rc = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (rc != PMIX_SUCCESS)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "PMIx_Put of %zu bytes: %s", nbytes,
                           PMIx_Error_string(rc));
    return MCOMM_SUCCESS;
}

/* Publish bytes under key and meet all ranks; from then on everybody's key can be asked for. */
static mcomm_err_t publish(struct mci_rt *rt, const char *key, void *bytes, size_t nbytes)
{
    struct fence *fence;
    pmix_status_t rc;
    mcomm_err_t err;

    err = put(key, bytes, nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    if (!mci_rt_call(call_commit, NULL, 0, rt->deadline_ns, &rc)) {
        px.is_stuck = px.is_unresponsive = true;
        return mci_err_set(MCOMM_ERR_TIMEOUT,
                           "the launcher's PMIx server did not answer within %d ms",
                           rt->timeout_ms);
    }
    if (rc != PMIX_SUCCESS)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "PMIx_Commit: %s", PMIx_Error_string(rc));
    err = fence_start(&fence);
    return err == MCOMM_SUCCESS ? fence_wait(rt, key, fence) : err;
}

/* ---- exchange */

static mcomm_err_t get_failed(struct mci_rt *rt, int rank, pmix_status_t status)
{
    if (px.is_launcher_lost)
        return launcher_lost();
    if (status == PMIX_ERR_TIMEOUT)
        return mci_err_set(MCOMM_ERR_TIMEOUT,
                           "no answer to the question for rank %d's address within %d ms; missing: "
                           "rank %d",
                           rank, rt->timeout_ms, rank);
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher does not know rank %d's address: %s",
                       rank, PMIx_Error_string(status));
}

static mcomm_err_t batch_to_blobs(struct mci_rt *rt, struct batch *batch, int first,
                                  struct mci_rt_blobs *out)
{
    unsigned char *bytes;
    size_t total = 0;
    mcomm_err_t err;

    for (int i = 0; i < batch->num; i++) {
        if (batch->gets[i].status != PMIX_SUCCESS)
            return get_failed(rt, first + i, batch->gets[i].status);
        total += batch->gets[i].nbytes;
    }
    err = mci_rt_blobs_alloc(batch->num, total, out, &bytes);
    if (err != MCOMM_SUCCESS)
        return err;
    for (int i = 0; i < batch->num; i++) {
        memcpy(bytes, batch->gets[i].bytes, batch->gets[i].nbytes);
        out->blobs[i].ptr = bytes;
        out->blobs[i].nbytes = batch->gets[i].nbytes;
        bytes += batch->gets[i].nbytes;
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t get_all(struct mci_rt *rt, const char *key, int first, int num,
                           struct mci_rt_blobs *out)
{
    struct batch *batch = batch_get(key, first, num, false, rt->deadline_ns);
    mcomm_err_t err;

    if (batch == NULL)
        return MCOMM_ERR_NO_MEM;
    err = batch_to_blobs(rt, batch, first, out);
    batch_release(batch);
    return err;
}

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
        err = get_all(rt, key, 0, rt->info.size, &all);
        if (err == MCOMM_SUCCESS)
            err = mci_rt_blobs_pack(&all, &frame, &nbytes);
        if (err == MCOMM_SUCCESS)
            err = publish(rt, all_key, frame, nbytes);
        mci_mem_free(frame);
        if (err != MCOMM_SUCCESS) {
            mci_rt_blobs_free(&all);
            return err;
        }
        *out = all;
        return MCOMM_SUCCESS;
    }
    err = publish(rt, all_key, &none, sizeof(none));
    if (err == MCOMM_SUCCESS)
        err = get_all(rt, all_key, 0, 1, &one);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_rt_blobs_unpack(one.blobs[0].ptr, one.blobs[0].nbytes, rt->info.size, out);
    mci_rt_blobs_free(&one);
    return err;
}

/* So that srun, which cancels the step when a client vanishes, has no client to miss any more. */
static void detach(void)
{
    pthread_mutex_lock(&px.lock);
    px.current = NULL;
    pthread_mutex_unlock(&px.lock);
    if (!mci_rt_call(call_finalize, NULL, 0, mci_clock_ns() + FINALIZE_MS * INT64_C(1000000), NULL))
        px.is_stuck = true;
    px.owner = 0;
}

/* Every rank learns rank 0's offer, or none does. */
static mcomm_err_t take_offer(struct mci_rt *rt)
{
    struct mci_rt_blobs blobs;
    mcomm_err_t err;

    if (rt->info.rank == 0)
        return MCOMM_SUCCESS;
    err = get_all(rt, OFFER_KEY, 0, 1, &blobs);
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
    bool has_offer =
        px.generation == MCI_RT_OFFER_GENERATION || (mci_settings.detach && px.generation == 0);
    unsigned char copy[MCI_RT_PACKET_MAX], offer[MCI_RT_OFFER_BYTES];
    char key[KEY_MAX];
    mcomm_err_t err = MCOMM_SUCCESS;

    memcpy(copy, packet, nbytes);
    snprintf(key, sizeof(key), "mcomm.%u", px.generation++);
    if (has_offer && rt->info.rank == 0) {
        mci_rt_again_offer(rt, offer);
        err = put(OFFER_KEY, offer, sizeof(offer));
    }
    if (err == MCOMM_SUCCESS)
        err = publish(rt, key, copy, nbytes);
    if (err == MCOMM_SUCCESS && rt->info.size <= FLAT_MAX)
        err = get_all(rt, key, 0, rt->info.size, out);
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
    if (px_is_initialized() && !px.is_launcher_lost)
        mci_rt_call(call_abort, &code, sizeof(code), mci_clock_ns() + ABORT_MS * INT64_C(1000000),
                    NULL);
}

static void pmix_stop(struct mci_rt *rt)
{
    pthread_mutex_lock(&px.lock);
    if (px.current == rt)
        px.current = NULL;
    pthread_mutex_unlock(&px.lock);
}

const struct mci_rt_ops mci_rt_pmix_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "pmix",
    .start = pmix_start,
    .exchange = pmix_exchange,
    .abort = pmix_abort,
    .stop = pmix_stop,
};
