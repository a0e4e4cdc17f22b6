/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* mcomm_trace replay: a request trace against one object store spread over all ranks. */
#include "config.h"

#include "trace/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum output {
    OUTPUT_TABLE,
    OUTPUT_CSV,
    OUTPUT_JSON
};

struct arguments {
    const char *path;
    struct replay_options options;
    enum output output;
};

static const char usage_text[] =
    "usage: mcomm_trace replay [options] FILE.jsonl[.gz]\n"
    "  --bytes-per-block N  bytes of one cached block (default 4096; k, M, G are understood)\n"
    "  --capacity N         bytes of each rank's part of the store (default: room for everything)\n"
    "  --private            every rank has a store of its own, for comparison\n"
    "  --free-run           ranks overlap; the hit ratio then depends on timing\n"
    "  --rate X             follow the timestamps, X times faster\n"
    "  --csv | --json       print one line for programs instead of a table\n"
    "Run it alone or under mpirun, prterun, srun: requests are dealt to the ranks in file order.\n";

static int parse_size(const char *text, size_t *nbytes)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (end == text || errno != 0 || !(value > 0))
        return -1;
    switch (*end) {
    case 'k':
    case 'K':
        value *= 1024;
        end++;
        break;
    case 'm':
    case 'M':
        value *= 1048576;
        end++;
        break;
    case 'g':
    case 'G':
        value *= 1073741824;
        end++;
        break;
    default:
        break;
    }
    if (*end != '\0' || value < 1 || value > 1e15)
        return -1;
    *nbytes = (size_t)value;
    return 0;
}

static int bad_option(const char *option, const char *value)
{
    fprintf(stderr, "mcomm_trace: --%s does not take \"%s\"\n%s", option, value, usage_text);
    return 2;
}

/* 0: go on; else the exit status + 1 (so that --help can end with success). */
static int parse_arguments(int argc, char **argv, struct arguments *args)
{
    static const struct option table[] = {{"bytes-per-block", required_argument, NULL, 'b'},
                                          {"capacity", required_argument, NULL, 'c'},
                                          {"private", no_argument, NULL, 'p'},
                                          {"free-run", no_argument, NULL, 'f'},
                                          {"rate", required_argument, NULL, 'r'},
                                          {"csv", no_argument, NULL, 'C'},
                                          {"json", no_argument, NULL, 'J'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    char *end;
    int c;

    memset(args, 0, sizeof(*args));
    args->options.block_nbytes = 4096;
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'b':
            if (parse_size(optarg, &args->options.block_nbytes) != 0)
                return bad_option("bytes-per-block", optarg) + 1;
            break;
        case 'c':
            if (parse_size(optarg, &args->options.capacity) != 0)
                return bad_option("capacity", optarg) + 1;
            break;
        case 'p':
            args->options.is_private = 1;
            break;
        case 'f':
            args->options.is_free_run = 1;
            break;
        case 'r':
            args->options.rate = strtod(optarg, &end);
            if (end == optarg || *end != '\0' || !(args->options.rate > 0))
                return bad_option("rate", optarg) + 1;
            break;
        case 'C':
            args->output = OUTPUT_CSV;
            break;
        case 'J':
            args->output = OUTPUT_JSON;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        default:
            fputs(usage_text, stderr);
            return 3;
        }
    }
    if (optind < argc && strcmp(argv[optind], "replay") != 0)
        fprintf(stderr, "mcomm_trace: no command is called \"%s\"\n", argv[optind]);
    else if (argc - optind != 2)
        fprintf(stderr, "mcomm_trace: %s\n",
                optind == argc       ? "no command given"
                : argc - optind == 1 ? "no trace file given"
                                     : "one trace file at a time");
    else
        args->path = argv[optind + 1];
    if (args->path == NULL) {
        fputs(usage_text, stderr);
        return 3;
    }
    return 0;
}

/* ---- results ---- */
struct results {
    const struct trace *trace;
    const struct replay_counters *sum;
    int ranks;
    double seconds, ratio, gbps;
};

static void print_json(const struct results *r)
{
    const struct replay_counters *s = r->sum;

    printf("{\"requests\": %" PRIu64 ", \"ranks\": %d, \"tokens\": %" PRIu64
           ", \"hit_tokens\": %" PRIu64 ", \"token_hit_ratio\": %.6f, \"local_hits\": %" PRIu64
           ", \"remote_hits\": %" PRIu64 ", \"node_hits\": %" PRIu64 ", \"network_hits\": %" PRIu64
           ", \"misses\": %" PRIu64 ", \"puts\": %" PRIu64 ", \"evictions\": %" PRIu64
           ", \"verify_errors\": %" PRIu64 ", \"malformed_lines\": %zu, \"put_p50_us\": %.3f"
           ", \"put_p99_us\": %.3f, \"get_p50_us\": %.3f, \"get_p99_us\": %.3f, \"gbps\": %.4f"
           ", \"stored_bytes\": %" PRIu64 ", \"capacity_bytes\": %" PRIu64
           ", \"capacity_asked_bytes\": %" PRIu64 ", \"resident_bytes\": %" PRIu64
           ", \"seconds\": %.4f}\n",
           s->requests, r->ranks, s->tokens, s->hit_tokens, r->ratio, s->local_hits,
           s->node_hits + s->remote_hits, s->node_hits, s->remote_hits, s->misses, s->puts,
           s->evictions, s->verify_errors, r->trace->malformed,
           histogram_percentile_us(&s->put_times, 0.5),
           histogram_percentile_us(&s->put_times, 0.99),
           histogram_percentile_us(&s->get_times, 0.5),
           histogram_percentile_us(&s->get_times, 0.99), r->gbps, s->stored_bytes,
           s->capacity_bytes, s->capacity_asked_bytes, s->rss_bytes, r->seconds);
}

static void print_csv(const struct results *r)
{
    const struct replay_counters *s = r->sum;

    printf("requests,ranks,tokens,hit_tokens,token_hit_ratio,local_hits,remote_hits,evictions,"
           "verify_errors,put_p50_us,put_p99_us,get_p50_us,get_p99_us,gbps,seconds\n");
    printf("%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",%" PRIu64 ",%.3f,%.3f,%.3f,%.3f,%.4f,%.4f\n",
           s->requests, r->ranks, s->tokens, s->hit_tokens, r->ratio, s->local_hits,
           s->node_hits + s->remote_hits, s->evictions, s->verify_errors,
           histogram_percentile_us(&s->put_times, 0.5),
           histogram_percentile_us(&s->put_times, 0.99),
           histogram_percentile_us(&s->get_times, 0.5),
           histogram_percentile_us(&s->get_times, 0.99), r->gbps, r->seconds);
}

static void print_table(const struct results *r)
{
    const struct replay_counters *s = r->sum;

    printf("requests         %" PRIu64 " on %d ranks", s->requests, r->ranks);
    if (r->trace->malformed > 0)
        printf("  (%zu malformed lines left out, the first is line %zu)", r->trace->malformed,
               r->trace->first_malformed);
    printf("\ntokens           %" PRIu64 "\n", s->tokens);
    printf("token hit ratio  %.6f  (%" PRIu64 " tokens found in the cache)\n", r->ratio,
           s->hit_tokens);
    printf("block hits       %" PRIu64 ": %" PRIu64 " in own memory, %" PRIu64
           " in another rank's on the node, %" PRIu64 " over the network\n",
           s->hits, s->local_hits, s->node_hits, s->remote_hits);
    printf("blocks stored    %" PRIu64 "  (%" PRIu64 " puts, %" PRIu64 " evictions)\n",
           s->stored_objects, s->puts, s->evictions);
    printf("verify errors    %" PRIu64 "  (every byte that was read is compared)\n",
           s->verify_errors);
    printf("put              p50 %.2f us   p99 %.2f us\n",
           histogram_percentile_us(&s->put_times, 0.5),
           histogram_percentile_us(&s->put_times, 0.99));
    printf("get              p50 %.2f us   p99 %.2f us\n",
           histogram_percentile_us(&s->get_times, 0.5),
           histogram_percentile_us(&s->get_times, 0.99));
    printf("moved            %.2f GB in %.2f s = %.3f GB/s\n", (double)s->bytes / 1e9, r->seconds,
           r->gbps);
    printf("memory           %.0f MB of values in %.0f MB of capacity (%.0f MB asked for, rounded "
           "up to "
           "whole slabs); %.0f MB resident in all\n",
           (double)s->stored_bytes / 1e6, (double)s->capacity_bytes / 1e6,
           (double)s->capacity_asked_bytes / 1e6, (double)s->rss_bytes / 1e6);
}

static int replay_and_print(const struct arguments *args, const struct trace *trace, int rank)
{
    struct replay_counters *sum = calloc(1, sizeof(*sum));
    struct results results = {.trace = trace, .sum = sum};
    char error[700];
    mcomm_err_t err;
    int status;

    if (sum == NULL)
        return 1;
    mcomm_comm_size(MCOMM_COMM_WORLD, &results.ranks);
    err = replay_run(trace, &args->options, sum, &results.seconds, error, sizeof(error));
    if (err != MCOMM_SUCCESS) {
        mcomm_abort(MCOMM_COMM_WORLD, 1, error); /* the other ranks wait for this one */
        return 1;
    }
    results.ratio = sum->tokens ? (double)sum->hit_tokens / (double)sum->tokens : 0;
    results.gbps = results.seconds > 0 ? (double)sum->bytes / 1e9 / results.seconds : 0;
    status = sum->verify_errors != 0;
    if (rank == 0) {
        if (args->output == OUTPUT_JSON)
            print_json(&results);
        else if (args->output == OUTPUT_CSV)
            print_csv(&results);
        else
            print_table(&results);
        if (status != 0)
            fprintf(stderr, "mcomm_trace: %" PRIu64 " blocks were not what had been stored\n",
                    sum->verify_errors);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "mcomm_trace: cannot write the results: %s\n", strerror(errno));
        status = 1;
    }
    free(sum);
    return status;
}

/* Each rank reads the file for itself; the first one that cannot says why, and all end. */
static int load_everywhere(const struct arguments *args, struct trace *trace, int rank)
{
    char error[512];
    int failed = trace_load(args->path, rank == 0, trace, error, sizeof(error)) != 0;
    int32_t mine = failed ? rank : INT32_MAX, first;

    if (mcomm_allreduce(&mine, &first, 1, MCOMM_INT32, MCOMM_MIN, MCOMM_COMM_WORLD) !=
        MCOMM_SUCCESS) {
        fprintf(stderr, "mcomm_trace: %s\n", mcomm_last_error());
        first = -1;
    }
    if (first == rank)
        fprintf(stderr, "mcomm_trace: rank %d: %s\n", rank, error);
    if (first != INT32_MAX && !failed)
        trace_free(trace);
    return first == INT32_MAX ? 0 : -1;
}

/* A closed standard stream stays unwritable: its number may not become a socket's. */
static void streams_keep(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct arguments args;
    struct trace trace;
    int status = parse_arguments(argc, argv, &args), rank;
    mcomm_err_t err;

    if (status != 0)
        return status - 1;
    streams_keep();
    err = mcomm_init(NULL);
    if (err != MCOMM_SUCCESS) {
        fprintf(stderr, "mcomm_trace: %s: %s\n", mcomm_err_text(err), mcomm_last_error());
        return 1;
    }
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    args.options.shows_progress = rank == 0 && isatty(STDERR_FILENO);
    if (load_everywhere(&args, &trace, rank) != 0) {
        mcomm_finalize();
        return 1;
    }
    status = replay_and_print(&args, &trace, rank);
    trace_free(&trace);
    mcomm_finalize();
    return status;
}
