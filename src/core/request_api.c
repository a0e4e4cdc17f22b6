/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * test and wait in all their forms. Lists are checked as a whole before anything is waited for.
 * That no other thread tests, waits for or frees the same request meanwhile is the caller's part: a
 * request that one thread waits for is not looked up again before the wait is over.
 */
#include "config.h"

#include "base/defer.h"
#include "core/core_priv.h"

#include <stdint.h>
#include <string.h>

/* What one entry of a list is. */
enum entry_state {
    ENTRY_EMPTY, /* null or inactive */
    ENTRY_ACTIVE,
    ENTRY_DONE,
    ENTRY_INVALID
};

static enum entry_state entry_look(mcomm_request_t handle, struct mci_request **req_p)
{
    struct mci_request *req;

    if (handle == MCOMM_REQUEST_NULL)
        return ENTRY_EMPTY;
    req = mci_handle_get(MCI_HANDLE_REQUEST, handle);
    if (req == NULL)
        return ENTRY_INVALID;
    *req_p = req;
    if (!req->is_active)
        return ENTRY_EMPTY;
    return atomic_load_explicit(&req->is_done, memory_order_acquire) ? ENTRY_DONE : ENTRY_ACTIVE;
}

static mcomm_err_t entry_invalid(size_t index, mcomm_request_t handle)
{
    return mci_err_set(MCOMM_ERR_REQUEST, "requests[%zu] = %p is not a valid request", index,
                       (void *)handle);
}

/* The text of a request that is active, but may never complete. */
static mcomm_err_t entry_stalled(const struct mci_request *req)
{
    return mci_err_set(req->stall,
                       "the %s request %p may wait for a rank of %s that has failed "
                       "(rank %d); it stays active: cancel it, or go on",
                       req->ops->name, (void *)req->handle, mci_comm_text(req->comm),
                       mci_comm_first_failed(req->comm));
}

static mcomm_err_t empty_status(mcomm_status_t *status_p)
{
    if (status_p != NULL)
        mci_status_clear(status_p);
    return MCOMM_SUCCESS;
}

static mcomm_err_t check_one(mcomm_request_t *request_p)
{
    mcomm_err_t err = mci_check_init();

    return err != MCOMM_SUCCESS ? err : mci_check_pointer("request_p", request_p);
}

static mcomm_err_t check_array(size_t count, const mcomm_request_t *requests)
{
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_count("count", count, sizeof(*requests));
    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_pointer("requests", requests);
    return err;
}

static mcomm_err_t check_list(size_t count, mcomm_request_t *requests)
{
    struct mci_request *req;
    mcomm_err_t err = check_array(count, requests);

    for (size_t i = 0; err == MCOMM_SUCCESS && i < count; i++) {
        if (entry_look(requests[i], &req) == ENTRY_INVALID)
            err = entry_invalid(i, requests[i]);
    }
    return err;
}

static mcomm_err_t check_list_wait(size_t count, mcomm_request_t *requests, int timeout_ms)
{
    mcomm_err_t err = check_list(count, requests);

    return err != MCOMM_SUCCESS ? err : mci_check_timeout("timeout_ms", timeout_ms);
}

/* What was put off while operations were started goes before anybody looks at them. */
static void look_begin(void)
{
    mci_engine_lock();
    mci_defer_run();
}

/* ---- one ------------------------------------------------------------------------------------ */
mcomm_err_t mcomm_test(mcomm_request_t *request_p, int *done_p, mcomm_status_t *status_p)
{
    struct mci_request *req = NULL;
    enum entry_state state;
    mcomm_err_t err = check_one(request_p);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("done_p", done_p);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    state = entry_look(*request_p, &req);
    if (state == ENTRY_ACTIVE) {
        mci_progress();
        state = entry_look(*request_p, &req);
    }
    if (state == ENTRY_DONE)
        err = mci_request_finish(req, request_p, status_p);
    else if (state == ENTRY_INVALID)
        err = mci_request_lookup("*request_p", *request_p, &req);
    else if (state == ENTRY_EMPTY)
        empty_status(status_p);
    else if (req->stall != MCOMM_SUCCESS)
        err = entry_stalled(req);
    mci_engine_unlock();
    if (state != ENTRY_INVALID)
        *done_p = state != ENTRY_ACTIVE;
    return err;
}

mcomm_err_t mcomm_wait(mcomm_request_t *request_p, int timeout_ms, mcomm_status_t *status_p)
{
    struct mci_request *req = NULL;
    enum entry_state state;
    mcomm_err_t err = check_one(request_p);

    if (err == MCOMM_SUCCESS)
        err = mci_check_timeout("timeout_ms", timeout_ms);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    state = entry_look(*request_p, &req);
    if (state == ENTRY_ACTIVE) {
        err = mci_request_wait(req, timeout_ms);
        state = entry_look(*request_p, &req);
    }
    if (state == ENTRY_DONE)
        err = mci_request_finish(req, request_p, status_p);
    else if (state == ENTRY_INVALID)
        err = mci_request_lookup("*request_p", *request_p, &req);
    else if (state == ENTRY_EMPTY)
        err = empty_status(status_p);
    else if (req->stall != MCOMM_SUCCESS)
        err = entry_stalled(req);
    else
        mci_err_set(err, "the %s request %p did not complete within %d ms", req->ops->name,
                    (void *)*request_p, timeout_ms);
    mci_engine_unlock();
    return err;
}

/* ---- lists ---------------------------------------------------------------------------------- */
/* Take away entry i if it is done or empty. false: still active. */
static bool entry_take(mcomm_request_t *requests, size_t i, mcomm_status_t *status_p,
                       mcomm_err_t *err_p)
{
    struct mci_request *req = NULL;

    switch (entry_look(requests[i], &req)) {
    case ENTRY_ACTIVE:
        return false;
    case ENTRY_DONE:
        *err_p = mci_request_finish(req, &requests[i], status_p);
        return true;
    case ENTRY_EMPTY:
        *err_p = empty_status(status_p);
        return true;
    case ENTRY_INVALID:
        break;
    }
    *err_p = entry_invalid(i, requests[i]);
    return true;
}

static bool entry_is_active(mcomm_request_t handle)
{
    struct mci_request *req = NULL;

    return entry_look(handle, &req) == ENTRY_ACTIVE;
}

/* Worth waiting for? */
static bool entry_is_awaited(mcomm_request_t handle)
{
    struct mci_request *req = NULL;

    return entry_look(handle, &req) == ENTRY_ACTIVE && req->stall == MCOMM_SUCCESS;
}

/* The error of the first active entry that may never complete, else SUCCESS. */
static mcomm_err_t list_stalled(size_t count, mcomm_request_t *requests)
{
    struct mci_request *req = NULL;

    for (size_t i = 0; i < count; i++) {
        if (entry_look(requests[i], &req) == ENTRY_ACTIVE && req->stall != MCOMM_SUCCESS)
            return entry_stalled(req);
    }
    return MCOMM_SUCCESS;
}

/* Entry index, which is done, or none is left: the empty status. */
static mcomm_err_t list_take_any(mcomm_request_t *requests, size_t index, mcomm_status_t *status_p)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (index == MCOMM_INDEX_NONE)
        return empty_status(status_p);
    entry_take(requests, index, status_p, &err);
    return err;
}

static mcomm_err_t first_error(mcomm_err_t first, mcomm_err_t next)
{
    return first != MCOMM_SUCCESS ? first : next;
}

/* All of them are done, or the time has passed and those that are done are taken. */
static mcomm_err_t list_take_all(size_t count, mcomm_request_t *requests, mcomm_status_t *statuses)
{
    mcomm_err_t first = MCOMM_SUCCESS, err;

    for (size_t i = 0; i < count; i++) {
        err = MCOMM_SUCCESS;
        entry_take(requests, i, statuses != NULL ? &statuses[i] : NULL, &err);
        first = first_error(first, err);
    }
    return first;
}

static size_t list_count_active(size_t count, mcomm_request_t *requests)
{
    size_t active = 0;

    for (size_t i = 0; i < count; i++)
        active += entry_is_active(requests[i]);
    return active;
}

struct list_wait {
    size_t count, next; /* those before next are not awaited any more */
    mcomm_request_t *requests;
};

static bool list_is_over(void *arg)
{
    struct list_wait *list = arg;

    while (list->next < list->count && !entry_is_awaited(list->requests[list->next]))
        list->next++;
    return list->next == list->count;
}

mcomm_err_t mcomm_waitall(size_t count, mcomm_request_t *requests, int timeout_ms,
                          mcomm_status_t *statuses_p)
{
    struct list_wait list = {.count = count, .requests = requests};
    mcomm_err_t err = check_list_wait(count, requests, timeout_ms), wait_err;

    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    wait_err = mci_wait_until(list_is_over, &list, timeout_ms);
    err = list_take_all(count, requests, statuses_p);
    if (wait_err != MCOMM_SUCCESS && list_count_active(count, requests) > 0)
        err = mci_err_set(wait_err, "%zu of %zu requests did not complete within %d ms",
                          list_count_active(count, requests), count, timeout_ms);
    else
        err = first_error(err, list_stalled(count, requests));
    mci_engine_unlock();
    return err;
}

/* Index of the first entry that is done, MCOMM_INDEX_NONE if none is. *active_p: how many may yet
 * be. */
static size_t list_find_done(size_t count, mcomm_request_t *requests, size_t *active_p)
{
    struct mci_request *req = NULL;

    *active_p = 0;
    for (size_t i = 0; i < count; i++) {
        switch (entry_look(requests[i], &req)) {
        case ENTRY_ACTIVE:
            ++*active_p;
            break;
        case ENTRY_DONE:
        case ENTRY_INVALID:
            return i;
        case ENTRY_EMPTY:
            break;
        }
    }
    return MCOMM_INDEX_NONE;
}

/*
 * Until one is done, none is left that could be, or one of the others may never complete. *index_p:
 * as above.
 */
static mcomm_err_t list_wait_any(size_t count, mcomm_request_t *requests, int timeout_ms,
                                 size_t *index_p, bool *is_over_p)
{
    struct mci_waiter waiter;
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t active;

    mci_wait_begin(&waiter, timeout_ms);
    for (;;) {
        *index_p = list_find_done(count, requests, &active);
        *is_over_p = *index_p != MCOMM_INDEX_NONE || active == 0;
        if (*is_over_p)
            return MCOMM_SUCCESS;
        if (err != MCOMM_SUCCESS)
            return mci_err_set(err, "none of %zu active requests completed within %d ms", active,
                               timeout_ms);
        err = list_stalled(count, requests);
        if (err != MCOMM_SUCCESS)
            return err;
        err = mci_wait_step(&waiter);
    }
}

mcomm_err_t mcomm_waitany(size_t count, mcomm_request_t *requests, int timeout_ms, size_t *index_p,
                          mcomm_status_t *status_p)
{
    mcomm_err_t err = check_list_wait(count, requests, timeout_ms);
    bool is_over;
    size_t index;

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("index_p", index_p);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    err = list_wait_any(count, requests, timeout_ms, &index, &is_over);
    if (is_over) {
        err = list_take_any(requests, index, status_p);
        *index_p = index;
    }
    mci_engine_unlock();
    return err;
}

/* Take all entries that are done now. */
static mcomm_err_t list_take_done(size_t count, mcomm_request_t *requests, size_t *done_count_p,
                                  size_t *indices, mcomm_status_t *statuses)
{
    mcomm_err_t first = MCOMM_SUCCESS, err;
    struct mci_request *req = NULL;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        enum entry_state state = entry_look(requests[i], &req);

        if (state != ENTRY_DONE && state != ENTRY_INVALID)
            continue;
        entry_take(requests, i, statuses != NULL ? &statuses[done] : NULL, &err);
        indices[done++] = i;
        first = first_error(first, err);
    }
    *done_count_p = done;
    return first;
}

mcomm_err_t mcomm_waitsome(size_t count, mcomm_request_t *requests, int timeout_ms,
                           size_t *done_count_p, size_t *indices_p, mcomm_status_t *statuses_p)
{
    mcomm_err_t err = check_list_wait(count, requests, timeout_ms);
    bool is_over;
    size_t index;

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("done_count_p", done_count_p);
    if (err == MCOMM_SUCCESS && count > 0)
        err = mci_check_pointer("indices_p", indices_p);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    err = list_wait_any(count, requests, timeout_ms, &index, &is_over);
    if (is_over)
        err = list_take_done(count, requests, done_count_p, indices_p, statuses_p);
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_testall(size_t count, mcomm_request_t *requests, int *done_p,
                          mcomm_status_t *statuses_p)
{
    mcomm_err_t err = check_list(count, requests);
    bool is_all;

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("done_p", done_p);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    is_all = list_count_active(count, requests) == 0;
    if (!is_all) {
        mci_progress();
        is_all = list_count_active(count, requests) == 0;
    }
    if (is_all)
        err = list_take_all(count, requests, statuses_p);
    else
        err = list_stalled(count, requests);
    *done_p = is_all;
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_testany(size_t count, mcomm_request_t *requests, size_t *index_p, int *done_p,
                          mcomm_status_t *status_p)
{
    mcomm_err_t err = check_list(count, requests);
    size_t index, active;
    bool is_over;

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("index_p", index_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("done_p", done_p);
    if (err != MCOMM_SUCCESS)
        return err;
    look_begin();
    index = list_find_done(count, requests, &active);
    if (index == MCOMM_INDEX_NONE && active > 0) {
        mci_progress();
        index = list_find_done(count, requests, &active);
    }
    is_over = index != MCOMM_INDEX_NONE || active == 0;
    err = is_over ? list_take_any(requests, index, status_p) : list_stalled(count, requests);
    *index_p = index;
    *done_p = is_over;
    mci_engine_unlock();
    return err;
}

/* ---- cancel, start, free -------------------------------------------------------------------- */
mcomm_err_t mcomm_cancel(mcomm_request_t request)
{
    struct mci_request *req;
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_request_lookup("request", request, &req);
    if (err == MCOMM_SUCCESS)
        err = mci_request_cancel(req);
    mci_engine_unlock();
    return err;
}

static struct mci_request *request_of(mcomm_request_t handle)
{
    return mci_handle_get(MCI_HANDLE_REQUEST, handle);
}

/* What keeps an entry from being started; NULL: nothing. */
static const char *entry_unstartable(mcomm_request_t handle, mcomm_err_t *err_p)
{
    struct mci_request *req = request_of(handle);

    *err_p = MCOMM_ERR_REQUEST;
    if (req == NULL)
        return "is not a valid request";
    if (!req->is_persistent)
        return "is not a persistent one";
    *err_p = MCOMM_ERR_REVOKED;
    if (req->comm != NULL && atomic_load(&req->comm->is_revoked))
        return "is of a communicator that is revoked";
    *err_p = req->is_active ? MCOMM_ERR_STATE : MCOMM_SUCCESS;
    return req->is_active ? "is active: wait for it first" : NULL;
}

/* Are all of them inactive, and different? One that comes twice is met active; index_p: which. */
static mcomm_err_t check_startable(size_t count, mcomm_request_t *requests, size_t *index_p,
                                   const char **why_p)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t good = 0;

    for (; good < count; good++) {
        *why_p = entry_unstartable(requests[good], &err);
        if (*why_p != NULL)
            break;
        request_of(requests[good])->is_active = true;
    }
    *index_p = good;
    while (good-- > 0)
        request_of(requests[good])->is_active = false;
    return err;
}

mcomm_err_t mcomm_start(mcomm_request_t request)
{
    mcomm_err_t err = mci_check_init();
    const char *why;

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    why = entry_unstartable(request, &err);
    if (why != NULL)
        mci_err_set(err, "request = %p %s", (void *)request, why);
    else
        err = mci_request_start(request_of(request));
    mci_engine_unlock();
    return err;
}

/* None is started if one cannot be. */
mcomm_err_t mcomm_startall(size_t count, mcomm_request_t *requests)
{
    struct mci_request *req;
    const char *why = NULL;
    size_t bad;
    mcomm_err_t err = check_array(count, requests);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = check_startable(count, requests, &bad, &why);
    if (err != MCOMM_SUCCESS)
        mci_err_set(err, "requests[%zu] = %p %s", bad, (void *)requests[bad], why);
    for (size_t i = 0; err == MCOMM_SUCCESS && i < count; i++) {
        req = request_of(requests[i]);
        err = req != NULL ? mci_request_start(req) : entry_invalid(i, requests[i]);
    }
    mci_engine_unlock();
    return err;
}

mcomm_err_t mcomm_request_free(mcomm_request_t *request_p)
{
    struct mci_request *req;
    mcomm_err_t err = check_one(request_p);

    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_request_lookup("*request_p", *request_p, &req);
    if (err == MCOMM_SUCCESS) {
        mci_request_detach(req);
        *request_p = MCOMM_REQUEST_NULL;
    }
    mci_engine_unlock();
    return err;
}
