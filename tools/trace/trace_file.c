/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Reads a trace into memory. A request's ids are kept as an offset until all lines are read. */
#include "config.h"

#include "trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (1u << 20)
#define LINE_PIECES_MAX 64 /* of LINE_MAX_BYTES: no trace has such a line */
#define COMPLAINTS_MAX 10

/* ---- lines of a plain or gzip file ---- */
#ifdef HAVE_ZLIB
#include <zlib.h>

struct line_file {
    gzFile gz;
};

static int file_open(struct line_file *file, const char *path)
{
    file->gz = gzopen(path, "rb");
    if (file->gz == NULL)
        return -1;
    gzbuffer(file->gz, 1 << 17);
    return 0;
}

static char *file_gets(struct line_file *file, char *buf, int nbytes)
{
    return gzgets(file->gz, buf, nbytes);
}

static const char *file_error(struct line_file *file)
{
    int code;
    const char *text = gzerror(file->gz, &code);

    if (code == Z_ERRNO)
        return strerror(errno);
    return code == Z_OK || code == Z_STREAM_END ? NULL : text;
}

static void file_close(struct line_file *file)
{
    gzclose(file->gz);
}
#else
struct line_file {
    FILE *fp;
};

static int file_open(struct line_file *file, const char *path)
{
    size_t n = strlen(path);

    if (n > 3 && strcmp(path + n - 3, ".gz") == 0) {
        errno = ENOTSUP; /* built without zlib */
        return -1;
    }
    file->fp = fopen(path, "r");
    return file->fp == NULL ? -1 : 0;
}

static char *file_gets(struct line_file *file, char *buf, int nbytes)
{
    return fgets(buf, nbytes, file->fp);
}

static const char *file_error(struct line_file *file)
{
    return ferror(file->fp) ? strerror(errno) : NULL;
}

static void file_close(struct line_file *file)
{
    fclose(file->fp);
}
#endif

/* ---- one line ---- */
/* Position behind `"name" :`, NULL if the key is absent. The objects are flat and have no strings
 * as values. */
static const char *find_key(const char *line, const char *name)
{
    char quoted[40];
    const char *p;

    snprintf(quoted, sizeof(quoted), "\"%s\"", name);
    p = strstr(line, quoted);
    if (p == NULL)
        return NULL;
    p += strlen(quoted);
    p += strspn(p, " \t");
    return *p == ':' ? p + 1 : NULL;
}

static int parse_uint(const char **p, uint64_t *value)
{
    char *end;

    *p += strspn(*p, " \t");
    if (**p < '0' || **p > '9')
        return -1;
    errno = 0;
    *value = strtoull(*p, &end, 10);
    *p = end;
    return errno == 0 && (*end == ',' || *end == ']' || *end == '}' || *end == ' ') ? 0 : -1;
}

static int find_uint(const char *line, const char *name, uint64_t *value)
{
    const char *p = find_key(line, name);

    return p == NULL ? -1 : parse_uint(&p, value);
}

static void *grow(void *array, size_t *capacity, size_t needed, size_t elem)
{
    size_t wanted = *capacity ? *capacity : 1024;

    while (wanted < needed)
        wanted *= 2;
    if (wanted == *capacity)
        return array;
    array = realloc(array, wanted * elem);
    if (array == NULL) {
        fprintf(stderr, "mcomm_trace: out of memory while reading the trace\n");
        exit(1);
    }
    *capacity = wanted;
    return array;
}

/* Appends the ids of "hash_ids": [...]; returns how many, or -1. */
static long parse_ids(struct trace *trace, const char *line)
{
    const char *p = find_key(line, "hash_ids");
    size_t begin = trace->id_count;
    uint64_t id;

    if (p == NULL)
        return -1;
    p += strspn(p, " \t");
    if (*p++ != '[')
        return -1;
    p += strspn(p, " \t");
    while (*p != ']') {
        if (parse_uint(&p, &id) != 0)
            return -1;
        trace->ids = grow(trace->ids, &trace->id_capacity, trace->id_count + 1, sizeof(uint64_t));
        trace->ids[trace->id_count++] = id;
        p += strspn(p, " \t");
        if (*p == ',')
            p++;
        else if (*p != ']')
            return -1;
    }
    return (long)(trace->id_count - begin);
}

/* NULL, or what is wrong with the line. */
static const char *parse_line(struct trace *trace, const char *line)
{
    size_t begin = trace->id_count;
    struct trace_request request = {0};
    uint64_t timestamp;
    const char *wrong = NULL;
    long count = 0;

    line += strspn(line, " \t");
    if (*line != '{' || strchr(line, '}') == NULL)
        wrong = "no JSON object";
    else if (find_uint(line, "timestamp", &timestamp) != 0)
        wrong = "no whole number \"timestamp\"";
    else if (find_uint(line, "input_length", &request.input_tokens) != 0)
        wrong = "no whole number \"input_length\"";
    else if ((count = parse_ids(trace, line)) < 0)
        wrong = "no list \"hash_ids\" of whole numbers";
    else if ((uint64_t)count !=
             (request.input_tokens + TRACE_BLOCK_TOKENS - 1) / TRACE_BLOCK_TOKENS)
        wrong = "\"hash_ids\" has not one id for each 512 tokens of \"input_length\"";
    if (wrong != NULL) {
        trace->id_count = begin;
        return wrong;
    }
    request.timestamp_ms = (int64_t)timestamp;
    request.block_count = (size_t)count;
    trace->requests = grow(trace->requests, &trace->capacity, trace->count + 1, sizeof(request));
    trace->requests[trace->count++] = request;
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static size_t count_distinct(const uint64_t *ids, size_t count)
{
    uint64_t *sorted = malloc(count * sizeof(*sorted) + 1);
    size_t distinct = 0;

    if (sorted == NULL)
        return count;
    memcpy(sorted, ids, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_ids);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    free(sorted);
    return distinct;
}

static void malformed(struct trace *trace, const char *path, size_t line_number, int is_loud,
                      const char *wrong)
{
    if (trace->malformed++ == 0)
        trace->first_malformed = line_number;
    if (is_loud && trace->malformed <= COMPLAINTS_MAX)
        fprintf(stderr, "mcomm_trace: %s:%zu: malformed line left out: %s\n", path, line_number,
                wrong);
}

/* A line that fits the buffer: 1; one that does not, read to its end: 0; end of the file: -1. */
static int line_read(struct line_file *file, char *line, int *pieces)
{
    for (*pieces = 0;; ++*pieces) {
        line[LINE_MAX_BYTES - 1] = 'x'; /* a full buffer ends with 0 here */
        if (file_gets(file, line, LINE_MAX_BYTES) == NULL)
            return *pieces > 0 ? 0 : -1;
        if (line[LINE_MAX_BYTES - 1] != '\0' || line[LINE_MAX_BYTES - 2] == '\n')
            return *pieces == 0;
        if (*pieces == LINE_PIECES_MAX)
            return 0;
    }
}

int trace_load(const char *path, int is_loud, struct trace *trace, char *error, size_t error_nbytes)
{
    char *line = malloc(LINE_MAX_BYTES);
    struct line_file file;
    size_t line_number = 0, offset = 0;
    const char *text = NULL;
    int is_whole, pieces;

    memset(trace, 0, sizeof(*trace));
    if (line == NULL || file_open(&file, path) != 0) {
        snprintf(error, error_nbytes, "cannot read %s: %s", path, strerror(errno));
        free(line);
        return -1;
    }
    while ((is_whole = line_read(&file, line, &pieces)) >= 0 && pieces < LINE_PIECES_MAX) {
        line_number++;
        if (!is_whole)
            text = "longer than 1 MiB";
        else
            text = line[strspn(line, " \t\r\n")] != '\0' ? parse_line(trace, line) : NULL;
        if (text != NULL)
            malformed(trace, path, line_number, is_loud, text);
    }
    text = is_whole >= 0 ? "a line without end" : file_error(&file);
    if (text != NULL)
        snprintf(error, error_nbytes, "cannot read %s: %s", path, text);
    file_close(&file);
    free(line);
    if (text == NULL && trace->count == 0) {
        snprintf(error, error_nbytes, "%s holds no request (%zu malformed lines)", path,
                 trace->malformed);
        text = error;
    }
    if (text != NULL) {
        trace_free(trace);
        return -1;
    }
    for (size_t i = 0; i < trace->count; i++) {
        trace->requests[i].block_ids = trace->ids + offset;
        offset += trace->requests[i].block_count;
    }
    trace->distinct_blocks = count_distinct(trace->ids, trace->id_count);
    return 0;
}

void trace_free(struct trace *trace)
{
    free(trace->requests);
    free(trace->ids);
    memset(trace, 0, sizeof(*trace));
}

uint64_t trace_block_tokens(const struct trace_request *request, size_t index)
{
    uint64_t before = (uint64_t)index * TRACE_BLOCK_TOKENS;
    uint64_t left = request->input_tokens - before;

    return left < TRACE_BLOCK_TOKENS ? left : TRACE_BLOCK_TOKENS;
}
