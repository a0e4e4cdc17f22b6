/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Request traces: one JSON object a line, plain or gzip. Malformed lines are counted, not fatal. */
#ifndef MCOMM_TRACE_FILE_H
#define MCOMM_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#define TRACE_BLOCK_TOKENS 512 /* every block but a request's last one */

struct trace_request {
    int64_t timestamp_ms;
    uint64_t input_tokens;
    const uint64_t *block_ids;
    size_t block_count;
};

struct trace {
    struct trace_request *requests;
    size_t count, capacity;
    uint64_t *ids; /* of all requests, one after the other */
    size_t id_count, id_capacity;
    size_t malformed;       /* lines */
    size_t first_malformed; /* line number, from 1 */
    size_t distinct_blocks;
};

/* 0, or -1 with one line of text in error (of error_nbytes). Complains about malformed lines on
 * stderr if is_loud. */
int trace_load(const char *path, int is_loud, struct trace *trace, char *error,
               size_t error_nbytes);
void trace_free(struct trace *trace);
/* Tokens in the index-th block of a request. */
uint64_t trace_block_tokens(const struct trace_request *request, size_t index);

#endif
