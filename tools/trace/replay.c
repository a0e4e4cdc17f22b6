/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The replay. Request k belongs to rank k mod size. Unless ranks may overlap, a token goes from the
 * rank that has done request k to the one that does k + 1, so that the outcome is exact. A
 * request reads its unbroken run of cached blocks, verifies every byte, computes and stores the
 * rest.
 */
#include "config.h"

#include "trace/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOKEN_TAG 1
#define RECORD_OVERHEAD 256 /* a generous bound of what a stored block costs besides its bytes */
#define CAPACITY_SLACK (32u << 20)
#define PROGRESS_SECONDS 0.2

struct replay {
    const struct trace *trace;
    const struct replay_options *options;
    int rank, size;
    mcomm_kv_t kv;
    unsigned char *block, *expected;
    struct replay_counters counters;
    double begin, shown;
    char *error;
    size_t error_nbytes;
};

/* ---- histogram ---- */
static size_t bucket_of(uint64_t ns)
{
    unsigned log2;

    if (ns < 16)
        return (size_t)ns;
    log2 = 63 - (unsigned)__builtin_clzll(ns);
    return (size_t)(log2 - 3) * 16 + (ns >> (log2 - 4) & 15);
}

static double bucket_middle_ns(size_t bucket)
{
    unsigned log2;

    if (bucket < 16)
        return (double)bucket;
    log2 = (unsigned)(bucket / 16) + 3;
    return ldexp((double)(16 + bucket % 16) + 0.5, (int)log2 - 4);
}

void histogram_add(struct histogram *histogram, double seconds)
{
    size_t bucket = bucket_of(seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);

    histogram->count[bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1]++;
}

double histogram_percentile_us(const struct histogram *histogram, double fraction)
{
    uint64_t sum = 0, wanted;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        sum += histogram->count[i];
    if (sum == 0)
        return 0;
    wanted = (uint64_t)ceil(fraction * (double)sum);
    sum = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum += histogram->count[i];
        if (sum >= wanted)
            return bucket_middle_ns(i) / 1e3;
    }
    return 0;
}

/* ---- blocks ---- */
/* "Compute" the KV block of an id: every 8-byte word differs between ids and positions. */
static void block_fill(unsigned char *block, size_t nbytes, uint64_t id)
{
    uint64_t word = (id + 1) * 0x9e3779b97f4a7c15ull;
    size_t i;

    for (i = 0; i + 8 <= nbytes; i += 8) {
        word += 0xd1b54a32d192ed03ull;
        memcpy(block + i, &word, 8);
    }
    memcpy(block + i, &word, nbytes - i);
}

static mcomm_err_t fail(struct replay *r, mcomm_err_t err, const char *what, uint64_t id)
{
    snprintf(r->error, r->error_nbytes, "rank %d: %s of block %llu: %s: %s", r->rank, what,
             (unsigned long long)id, mcomm_err_text(err), mcomm_last_error());
    return err;
}

/* Read and verify one block; *found tells whether it was there. */
static mcomm_err_t block_get(struct replay *r, uint64_t id, int *found)
{
    size_t nbytes = 0;
    double begin = mcomm_wtime();
    mcomm_err_t err =
        mcomm_kv_get_into(r->kv, &id, sizeof(id), r->block, r->options->block_nbytes, &nbytes);

    *found = err == MCOMM_SUCCESS;
    if (err == MCOMM_ERR_NOT_FOUND) {
        r->counters.misses++;
        return MCOMM_SUCCESS;
    }
    if (err != MCOMM_SUCCESS)
        return fail(r, err, "get", id);
    histogram_add(&r->counters.get_times, mcomm_wtime() - begin);
    block_fill(r->expected, r->options->block_nbytes, id);
    if (nbytes != r->options->block_nbytes || memcmp(r->block, r->expected, nbytes) != 0)
        r->counters.verify_errors++;
    r->counters.hits++;
    r->counters.bytes += nbytes;
    return MCOMM_SUCCESS;
}

static mcomm_err_t block_put(struct replay *r, uint64_t id)
{
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;
    double begin;
    mcomm_err_t err;

    attr.mode = MCOMM_KV_IF_ABSENT;
    block_fill(r->block, r->options->block_nbytes, id);
    begin = mcomm_wtime();
    err = mcomm_kv_put(r->kv, &id, sizeof(id), r->block, r->options->block_nbytes, &attr);
    if (err != MCOMM_SUCCESS)
        return fail(r, err, "put", id);
    histogram_add(&r->counters.put_times, mcomm_wtime() - begin);
    r->counters.puts++;
    r->counters.bytes += r->options->block_nbytes;
    return MCOMM_SUCCESS;
}

static mcomm_err_t request_serve(struct replay *r, const struct trace_request *request)
{
    size_t i = 0;
    int found = 1;
    mcomm_err_t err;

    for (; i < request->block_count; i++) {
        err = block_get(r, request->block_ids[i], &found);
        if (err != MCOMM_SUCCESS)
            return err;
        if (!found)
            break;
        r->counters.hit_tokens += trace_block_tokens(request, i);
    }
    for (; i < request->block_count; i++) {
        err = block_put(r, request->block_ids[i]);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    r->counters.requests++;
    r->counters.tokens += request->input_tokens;
    return MCOMM_SUCCESS;
}

/* ---- order ---- */
static mcomm_err_t token_wait(struct replay *r, size_t k)
{
    if (r->options->is_free_run || r->size == 1 || k == 0)
        return MCOMM_SUCCESS;
    return mcomm_recv(NULL, 0, (r->rank + r->size - 1) % r->size, TOKEN_TAG, MCOMM_COMM_WORLD,
                      MCOMM_STATUS_IGNORE);
}

static mcomm_err_t token_pass(struct replay *r, size_t k)
{
    if (r->options->is_free_run || r->size == 1 || k + 1 == r->trace->count)
        return MCOMM_SUCCESS;
    return mcomm_send(NULL, 0, (r->rank + 1) % r->size, TOKEN_TAG, MCOMM_COMM_WORLD);
}

static void wait_for_timestamp(const struct replay *r, const struct trace_request *request)
{
    int64_t first = r->trace->requests[0].timestamp_ms;
    double due = r->begin + (double)(request->timestamp_ms - first) / 1e3 / r->options->rate;
    double left;

    while ((left = due - mcomm_wtime()) > 0) {
        struct timespec ts = {(time_t)left, (long)((left - floor(left)) * 1e9)};

        nanosleep(&ts, NULL);
    }
}

static void show_progress(struct replay *r, size_t done)
{
    double now = mcomm_wtime(), elapsed = now - r->begin;
    double rate = elapsed > 0 ? (double)done / elapsed : 0;
    char bar[41];
    size_t filled = done * (sizeof(bar) - 1) / r->trace->count;

    if (!r->options->shows_progress ||
        (now - r->shown < PROGRESS_SECONDS && done < r->trace->count))
        return;
    r->shown = now;
    memset(bar, ' ', sizeof(bar));
    memset(bar, '#', filled);
    bar[sizeof(bar) - 1] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %.0f requests/s  %.0f s left ", bar,
            100.0 * (double)done / (double)r->trace->count, rate,
            rate > 0 ? (double)(r->trace->count - done) / rate : 0.0);
    if (done >= r->trace->count)
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

static mcomm_err_t serve_all(struct replay *r)
{
    for (size_t k = (size_t)r->rank; k < r->trace->count; k += (size_t)r->size) {
        mcomm_err_t err = token_wait(r, k);

        if (err != MCOMM_SUCCESS) {
            snprintf(r->error, r->error_nbytes, "rank %d: waiting for the rank before: %s: %s",
                     r->rank, mcomm_err_text(err), mcomm_last_error());
            return err;
        }
        if (r->options->rate > 0)
            wait_for_timestamp(r, &r->trace->requests[k]);
        err = request_serve(r, &r->trace->requests[k]);
        if (err != MCOMM_SUCCESS)
            return err;
        err = token_pass(r, k);
        if (err != MCOMM_SUCCESS) {
            snprintf(r->error, r->error_nbytes, "rank %d: telling the next rank: %s", r->rank,
                     mcomm_err_text(err));
            return err;
        }
        show_progress(r, k + 1);
    }
    show_progress(r, r->trace->count);
    return MCOMM_SUCCESS;
}

/* ---- the whole ---- */
static uint64_t resident_bytes(void)
{
    FILE *fp = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0, resident = 0;

    if (fp == NULL)
        return 0;
    if (fscanf(fp, "%llu %llu", &pages, &resident) != 2)
        resident = 0;
    fclose(fp);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static size_t default_capacity(const struct replay *r)
{
    size_t all = r->trace->distinct_blocks * (r->options->block_nbytes + RECORD_OVERHEAD);

    if (r->options->is_private)
        return all + CAPACITY_SLACK;
    return all / (size_t)r->size * 5 / 4 + CAPACITY_SLACK;
}

static mcomm_err_t take_stats(struct replay *r)
{
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};
    mcomm_err_t err = mcomm_kv_stats(r->kv, &stats);

    if (err != MCOMM_SUCCESS)
        return err;
    r->counters.local_hits = stats.hits_local;
    r->counters.node_hits = stats.hits_node;
    r->counters.remote_hits = stats.hits_remote;
    r->counters.rss_bytes = resident_bytes();
    if (r->options->is_private || r->rank == 0) { /* these are sums over the store already */
        r->counters.evictions = stats.evictions;
        r->counters.stored_bytes = stats.used;
        r->counters.stored_objects = stats.objects;
        r->counters.capacity_bytes = stats.capacity;
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t store_open(struct replay *r)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    mcomm_comm_t comm = r->options->is_private ? MCOMM_COMM_SELF : MCOMM_COMM_WORLD;
    mcomm_err_t err;

    attr.capacity = r->options->capacity ? r->options->capacity : default_capacity(r);
    attr.max_objects = r->trace->distinct_blocks * 2;
    r->counters.capacity_asked_bytes = attr.capacity;
    err = mcomm_kv_open(comm, &attr, &r->kv);
    if (err != MCOMM_SUCCESS)
        snprintf(r->error, r->error_nbytes, "cannot open the store: %s: %s", mcomm_err_text(err),
                 mcomm_last_error());
    return err;
}

static mcomm_err_t serve_and_sum(struct replay *r, struct replay_counters *total, double *seconds_p)
{
    mcomm_err_t err = mcomm_barrier(MCOMM_COMM_WORLD);

    r->begin = r->shown = mcomm_wtime();
    if (err == MCOMM_SUCCESS)
        err = serve_all(r);
    if (err == MCOMM_SUCCESS)
        err = mcomm_barrier(MCOMM_COMM_WORLD);
    *seconds_p = mcomm_wtime() - r->begin;
    if (err == MCOMM_SUCCESS)
        err = take_stats(r);
    if (err == MCOMM_SUCCESS)
        err = mcomm_allreduce(&r->counters, total, sizeof(*total) / sizeof(uint64_t), MCOMM_UINT64,
                              MCOMM_SUM, MCOMM_COMM_WORLD);
    if (err != MCOMM_SUCCESS && r->error[0] == '\0')
        snprintf(r->error, r->error_nbytes, "rank %d: %s: %s", r->rank, mcomm_err_text(err),
                 mcomm_last_error());
    return err;
}

mcomm_err_t replay_run(const struct trace *trace, const struct replay_options *options,
                       struct replay_counters *total, double *seconds_p, char *error,
                       size_t error_nbytes)
{
    struct replay *r = calloc(1, sizeof(*r));
    mcomm_err_t err = MCOMM_ERR_NO_MEM;

    error[0] = '\0';
    if (r == NULL)
        return err;
    r->trace = trace;
    r->options = options;
    r->error = error;
    r->error_nbytes = error_nbytes;
    mcomm_comm_rank(MCOMM_COMM_WORLD, &r->rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &r->size);
    r->block = malloc(options->block_nbytes);
    r->expected = malloc(options->block_nbytes);
    if (r->block == NULL || r->expected == NULL) {
        snprintf(error, error_nbytes, "no memory for two blocks of %zu bytes",
                 options->block_nbytes);
        goto free_blocks;
    }
    err = store_open(r);
    if (err != MCOMM_SUCCESS)
        goto free_blocks;
    err = serve_and_sum(r, total, seconds_p);
    if (err == MCOMM_SUCCESS)
        err = mcomm_kv_close(&r->kv);

free_blocks:
    free(r->block);
    free(r->expected);
    free(r);
    return err;
}
