/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * PMIx's store: put, fence, get. Nothing of it is trusted to return: requests are non-blocking with
 * our own timer, and their memory belongs to the callback that may come late or never.
 */
#include "config.h"

#include "rt/rt_pmix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "rt/rt_call.h"

#define POLL_MIN_NS INT64_C(500000)
#define POLL_MAX_NS INT64_C(20000000)

struct mci_rt_px mci_rt_px = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* lock: mci_rt_px. @return false: the time is over */
static bool px_wait(int64_t deadline_ns)
{
    struct timespec end = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};

    return pthread_cond_timedwait(&mci_rt_px.changed, &mci_rt_px.lock, &end) != ETIMEDOUT;
}

mcomm_err_t mci_rt_pmix_launcher_lost(void)
{
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher went away during start-up");
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

    pthread_mutex_lock(&mci_rt_px.lock);
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
    pthread_cond_broadcast(&mci_rt_px.changed);
    pthread_mutex_unlock(&mci_rt_px.lock);
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
    while (batch->num_waiting > 0 && !mci_rt_px.is_launcher_lost && px_wait(deadline_ns))
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

        PMIX_PROC_LOAD(&proc, mci_rt_px.self.nspace, (pmix_rank_t)(first + i));
        pthread_mutex_lock(&mci_rt_px.lock);
        batch->num_waiting++;
        batch->refs++;
        pthread_mutex_unlock(&mci_rt_px.lock);
        rc = PMIx_Get_nb(&proc, key, &immediate, 1, on_got, &batch->gets[i]);
        if (rc != PMIX_SUCCESS)
            on_got(rc, NULL, &batch->gets[i]);
        pthread_mutex_lock(&mci_rt_px.lock);
        if (!is_at_once || i == num - 1)
            batch_wait(batch, deadline_ns);
        pthread_mutex_unlock(&mci_rt_px.lock);
    }
    PMIX_INFO_DESTRUCT(&immediate);
    return batch;
}

static void batch_release(struct batch *batch)
{
    pthread_mutex_lock(&mci_rt_px.lock);
    batch_unref(batch);
    pthread_mutex_unlock(&mci_rt_px.lock);
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

    pthread_mutex_lock(&mci_rt_px.lock);
    fence->status = status;
    fence->is_done = true;
    fence_unref(fence);
    pthread_cond_broadcast(&mci_rt_px.changed);
    pthread_mutex_unlock(&mci_rt_px.lock);
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
    PMIX_PROC_LOAD(&all, mci_rt_px.self.nspace, PMIX_RANK_WILDCARD);
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

/*
 * The fence, or without one the go-ahead of rank first, is late: see who has published. The fence
 * may still end meanwhile, which is then a success.
 */
static mcomm_err_t find_missing(struct mci_rt *rt, const char *key, struct fence *fence, int first)
{
    char ranks[256];
    struct batch *batch;
    unsigned char *here;
    mcomm_err_t err;
    int num_here = 0;

    batch = batch_get(key, 0, rt->info.size, true, rt->deadline_ns);
    here = mci_mem_zalloc((size_t)rt->info.size);
    pthread_mutex_lock(&mci_rt_px.lock);
    for (int i = 0; i < rt->info.size && batch != NULL && here != NULL; i++) {
        here[i] = i == rt->info.rank || batch->gets[i].status == PMIX_SUCCESS;
        num_here += here[i];
    }
    while (fence != NULL && !fence->is_done && num_here == rt->info.size &&
           !mci_rt_px.is_launcher_lost && px_wait(rt->deadline_ns))
        ; /* they are all here, so it may come yet */
    if (fence != NULL && fence->is_done)
        err = MCOMM_SUCCESS;
    else if (mci_rt_px.is_launcher_lost)
        err = mci_rt_pmix_launcher_lost();
    else if (num_here == rt->info.size && fence == NULL && first != rt->info.rank)
        err = mci_err_set(MCOMM_ERR_TIMEOUT,
                          "the start-up did not end within %d ms: all %d ranks have published "
                          "their addresses, but the go-ahead of rank %d, the first of this node, "
                          "is missing: it has died, or is stopped",
                          rt->timeout_ms, rt->info.size, first);
    else if (num_here == rt->info.size || batch == NULL || here == NULL)
        err = mci_err_set(MCOMM_ERR_TIMEOUT,
                          "the start-up did not end within %d ms, though all %d ranks have "
                          "published their addresses",
                          rt->timeout_ms, rt->info.size);
    else
        err = mci_err_set(MCOMM_ERR_TIMEOUT,
                          "%d of %d ranks did not start within %d ms; missing: rank "
                          "%s",
                          rt->info.size - num_here, rt->info.size, rt->timeout_ms,
                          mci_rt_ranks_text(here, rt->info.size, 0, ranks, sizeof(ranks)));
    if (batch != NULL)
        batch_unref(batch);
    pthread_mutex_unlock(&mci_rt_px.lock);
    mci_mem_free(here);
    return err;
}

/* When to ask who is missing, so that the answers come before the time is over. */
static int64_t ask_ns_of(const struct mci_rt *rt)
{
    int64_t ask_ms = rt->timeout_ms / 4 < 1000 ? rt->timeout_ms / 4 : 1000;

    return rt->deadline_ns - ask_ms * INT64_C(1000000);
}

static mcomm_err_t fence_wait(struct mci_rt *rt, const char *key, struct fence *fence)
{
    int64_t ask_ns = ask_ns_of(rt);
    mcomm_err_t err = MCOMM_SUCCESS;
    bool is_late;

    pthread_mutex_lock(&mci_rt_px.lock);
    while (!fence->is_done && !mci_rt_px.is_launcher_lost && px_wait(ask_ns))
        ;
    is_late = !fence->is_done && !mci_rt_px.is_launcher_lost;
    pthread_mutex_unlock(&mci_rt_px.lock);
    if (is_late)
        err = find_missing(rt, key, fence, -1);
    pthread_mutex_lock(&mci_rt_px.lock);
    if (err == MCOMM_SUCCESS &&
        (!fence->is_done || mci_rt_px.is_launcher_lost || fence->status == PMIX_ERR_UNREACH))
        err = mci_rt_pmix_launcher_lost();
    else if (err == MCOMM_SUCCESS && fence->status != PMIX_SUCCESS)
        err = mci_err_set(MCOMM_ERR_BOOTSTRAP,
                          "the launcher's fence failed: %s; did a rank die "
                          "during start-up?",
                          PMIx_Error_string(fence->status));
    if (!fence->is_done)
        mci_rt_px.is_stuck = true;
    fence_unref(fence);
    pthread_mutex_unlock(&mci_rt_px.lock);
    return err;
}

mcomm_err_t mci_rt_pmix_put(const char *key, void *bytes, size_t nbytes)
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

static int call_commit(void *arg)
{
    (void)arg;
    return PMIx_Commit();
}

static mcomm_err_t publish(struct mci_rt *rt, const char *key, void *bytes, size_t nbytes)
{
    pmix_status_t rc;
    mcomm_err_t err = mci_rt_pmix_put(key, bytes, nbytes);

    if (err != MCOMM_SUCCESS)
        return err;
    if (!mci_rt_call(call_commit, NULL, 0, rt->deadline_ns, &rc)) {
        mci_rt_px.is_stuck = mci_rt_px.is_unresponsive = true;
        return mci_err_set(MCOMM_ERR_TIMEOUT,
                           "the launcher's PMIx server did not answer within %d ms",
                           rt->timeout_ms);
    }
    if (rc != PMIX_SUCCESS)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "PMIx_Commit: %s", PMIx_Error_string(rc));
    return MCOMM_SUCCESS;
}

/* ---- the ranks of this node */

/* @return how many, the lowest first; 0: the launcher does not say */
static int local_ranks(struct mci_rt *rt, int *ranks)
{
    pmix_value_t *value = NULL;
    pmix_proc_t job;
    char *save, *word;
    int num = 0;

    PMIX_PROC_LOAD(&job, mci_rt_px.self.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value) != PMIX_SUCCESS || value == NULL)
        return 0;
    word = value->type == PMIX_STRING ? strtok_r(value->data.string, ",", &save) : NULL;
    for (; word != NULL && num < rt->info.size; word = strtok_r(NULL, ",", &save))
        ranks[num++] = atoi(word);
    PMIX_VALUE_RELEASE(value);
    return num;
}

/* Until rank of this node has published key, asked again and again: the server answers at once. */
static mcomm_err_t await_published(struct mci_rt *rt, const char *key, int rank, bool *is_late_p)
{
    int64_t end_ns = ask_ns_of(rt), pause_ns = POLL_MIN_NS;

    for (;;) {
        struct batch *batch = batch_get(key, rank, 1, false, rt->deadline_ns);
        int64_t now_ns = mci_clock_ns();
        bool is_lost, is_here;

        if (batch == NULL)
            return MCOMM_ERR_NO_MEM;
        pthread_mutex_lock(&mci_rt_px.lock);
        is_here = batch->gets[0].status == PMIX_SUCCESS;
        batch_unref(batch);
        if (!is_here && now_ns < end_ns)
            px_wait(now_ns + pause_ns);
        is_lost = mci_rt_px.is_launcher_lost;
        pthread_mutex_unlock(&mci_rt_px.lock);
        if (is_here)
            return MCOMM_SUCCESS;
        if (is_lost)
            return mci_rt_pmix_launcher_lost();
        if (now_ns >= end_ns) {
            *is_late_p = true;
            return MCOMM_SUCCESS;
        }
        pause_ns = 2 * pause_ns < POLL_MAX_NS ? 2 * pause_ns : POLL_MAX_NS;
    }
}

/*
 * Until all ranks of this node have published key. Nobody goes to a fence before, since PMIx's
 * servers crash or hang at their end after one that a rank never came to. The first of the node
 * asks for all others' key, and then publishes the go-ahead that they ask for. The fence is still
 * needed on one node: servers of PMIx 5 answer wrongly, or not at all, while a rank dies, and after
 * it nothing is asked of them.
 */
static mcomm_err_t await_node(struct mci_rt *rt, const char *key, const int *ranks, int num)
{
    char go_key[PMIX_MAX_KEYLEN];
    unsigned char none = 0;
    mcomm_err_t err = MCOMM_SUCCESS;
    bool is_late = false;

    snprintf(go_key, sizeof(go_key), "%s.go", key);
    if (ranks[0] != rt->info.rank)
        err = await_published(rt, go_key, ranks[0], &is_late);
    else
        for (int i = 1; i < num && err == MCOMM_SUCCESS && !is_late; i++)
            err = await_published(rt, key, ranks[i], &is_late);
    if (is_late)
        return find_missing(rt, key, NULL, ranks[0]);
    if (err == MCOMM_SUCCESS && ranks[0] == rt->info.rank)
        err = publish(rt, go_key, &none, sizeof(none));
    return err;
}

mcomm_err_t mci_rt_pmix_publish(struct mci_rt *rt, const char *key, void *bytes, size_t nbytes)
{
    int *ranks = mci_mem_zalloc((size_t)rt->info.size * sizeof(*ranks));
    struct fence *fence;
    mcomm_err_t err;
    int num;

    if (ranks == NULL)
        return MCOMM_ERR_NO_MEM;
    num = local_ranks(rt, ranks);
    err = publish(rt, key, bytes, nbytes);
    if (err == MCOMM_SUCCESS && num > 0)
        err = await_node(rt, key, ranks, num);
    mci_mem_free(ranks);
    if (err != MCOMM_SUCCESS)
        return err;
    err = fence_start(&fence);
    return err == MCOMM_SUCCESS ? fence_wait(rt, key, fence) : err;
}

static mcomm_err_t get_failed(struct mci_rt *rt, int rank, pmix_status_t status)
{
    if (mci_rt_px.is_launcher_lost)
        return mci_rt_pmix_launcher_lost();
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

mcomm_err_t mci_rt_pmix_get(struct mci_rt *rt, const char *key, int first, int num,
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
