/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Replays a trace against an object store and counts what happened. */
#ifndef MCOMM_TRACE_REPLAY_H
#define MCOMM_TRACE_REPLAY_H

#include "mooncake_comm.h"
#include "trace/trace_file.h"

/* Times in buckets: 16 per power of two of nanoseconds, so a percentile is right to 6 %. */
#define HISTOGRAM_BUCKETS 1024
struct histogram {
    uint64_t count[HISTOGRAM_BUCKETS];
};
void histogram_add(struct histogram *histogram, double seconds);
double histogram_percentile_us(const struct histogram *histogram, double fraction);

struct replay_options {
    size_t block_nbytes;
    size_t capacity; /* of each rank; 0: room for everything */
    double rate;     /* follow the timestamps this many times faster; 0: as fast as it goes */
    int is_free_run; /* ranks overlap */
    int is_private;  /* each rank has a store of its own */
    int shows_progress;
};

/* Sums over all ranks after replay_run(); all counters are uint64_t so that one reduction adds
 * them. */
struct replay_counters {
    uint64_t requests, tokens, hit_tokens;
    uint64_t hits, misses, puts;
    uint64_t verify_errors;
    uint64_t bytes; /* read and written */
    uint64_t local_hits, node_hits, remote_hits;
    uint64_t evictions, stored_bytes, stored_objects;
    uint64_t capacity_bytes, capacity_asked_bytes; /* the store rounds up */
    uint64_t rss_bytes;
    struct histogram put_times, get_times;
};

/* Collective over MCOMM_COMM_WORLD. On an error one line of text is in error. */
mcomm_err_t replay_run(const struct trace *trace, const struct replay_options *options,
                       struct replay_counters *total, double *seconds_p, char *error,
                       size_t error_nbytes);

#endif
