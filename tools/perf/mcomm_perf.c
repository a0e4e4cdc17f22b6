/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* mcomm_perf: measures messages, windows, collectives and objects. Run under any launcher, 2 ranks
 * for most. */
#include "config.h"

#include "perf/bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_NBYTES ((size_t)64 << 20)

static const char usage_text[] =
    "usage: mcomm_perf [options] [p2p] [rma] [coll] [kv]      (none named: all)\n"
    "  --csv         a header, then rows library,op,ranks,bytes,usec_median,GBps,state\n"
    "  --form FORM   collectives: blocking (default), nonblocking (ibcast, ...) or persistent\n"
    "  --hot         do not rewrite and read the buffers around each transfer\n"
    "  --box MS      milliseconds spent on one figure (default 100)\n"
    "  --min BYTES   leave out smaller sizes (k, M, G are understood)\n"
    "  --max BYTES   leave out larger sizes\n"
    "  --op NAMES    only these operations, by their names in the output, commas between\n"
    "Times include rewriting the source before and reading the destination after each transfer.\n"
    "Run it under mpirun, prterun, srun: p2p needs two ranks.\n";

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} benches[] = {{"p2p", bench_p2p}, {"rma", bench_rma}, {"coll", bench_coll}, {"kv", bench_kv}};
#define BENCH_NUM (sizeof(benches) / sizeof(benches[0]))

static int parse_size(const char *text, size_t *nbytes)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = 0;

    if (end == text || *text == '-')
        return -1;
    if (*end == 'k' || *end == 'K')
        shift = 10;
    else if (*end == 'm' || *end == 'M')
        shift = 20;
    else if (*end == 'g' || *end == 'G')
        shift = 30;
    if (end[shift != 0] != '\0' || value > SIZE_MAX >> shift)
        return -1;
    *nbytes = (size_t)value << shift;
    return 0;
}

static int parse_form(const char *text, enum bench_form *form)
{
    static const char *const names[] = {"blocking", "nonblocking", "persistent"};

    for (int i = BENCH_BLOCKING; i <= BENCH_PERSISTENT; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *form = (enum bench_form)i;
        return 0;
    }
    return -1;
}

static int parse_arguments(int argc, char **argv, struct bench *b, unsigned *selected)
{
    static const struct option table[] = {{"csv", no_argument, NULL, 'c'},
                                          {"hot", no_argument, NULL, 'H'},
                                          {"box", required_argument, NULL, 'b'},
                                          {"max", required_argument, NULL, 'm'},
                                          {"min", required_argument, NULL, 'i'},
                                          {"op", required_argument, NULL, 'o'},
                                          {"form", required_argument, NULL, 'f'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    char *end = NULL;
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'c':
            b->is_csv = 1;
            break;
        case 'H':
            b->is_hot = 1;
            break;
        case 'b':
            b->box_seconds = strtod(optarg, &end) / 1e3;
            if (*end != '\0' || !(b->box_seconds > 0 && b->box_seconds < 3600)) {
                fprintf(stderr, "mcomm_perf: --box does not take \"%s\"\n", optarg);
                return 3;
            }
            break;
        case 'm':
            if (parse_size(optarg, &b->max_nbytes) != 0) {
                fprintf(stderr, "mcomm_perf: --max does not take \"%s\"\n", optarg);
                return 3;
            }
            break;
        case 'i':
            if (parse_size(optarg, &b->min_nbytes) != 0) {
                fprintf(stderr, "mcomm_perf: --min does not take \"%s\"\n", optarg);
                return 3;
            }
            break;
        case 'o':
            b->ops = optarg;
            break;
        case 'f':
            if (parse_form(optarg, &b->form) != 0) {
                fprintf(stderr, "mcomm_perf: --form does not take \"%s\"\n", optarg);
                return 3;
            }
            break;
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        default:
            fputs(usage_text, stderr);
            return 3;
        }
    }
    for (int i = optind; i < argc; i++) {
        size_t k = 0;

        while (k < BENCH_NUM && strcmp(argv[i], benches[k].name) != 0)
            k++;
        if (k == BENCH_NUM) {
            fprintf(stderr, "mcomm_perf: no benchmark is called \"%s\"\n%s", argv[i], usage_text);
            return 3;
        }
        *selected |= 1u << k;
    }
    if (*selected == 0)
        *selected = (1u << BENCH_NUM) - 1;
    return 0;
}

static int run_all(struct bench *b, unsigned selected)
{
    b->buffer_nbytes = BUFFER_NBYTES;
    b->src = aligned_alloc(4096, BUFFER_NBYTES);
    b->dst = aligned_alloc(4096, BUFFER_NBYTES);
    if (b->src == NULL || b->dst == NULL) {
        fprintf(stderr, "mcomm_perf: no memory for two buffers of %zu bytes\n", BUFFER_NBYTES);
        return 1;
    }
    memset(b->src, 1, BUFFER_NBYTES);
    memset(b->dst, 2, BUFFER_NBYTES);
    if (b->is_csv && b->rank == 0)
        printf("library,op,ranks,bytes,usec_median,GBps,state\n");
    bench_flag_open(b);
    for (size_t k = 0; k < BENCH_NUM; k++)
        if ((selected >> k & 1) && b->failed == NULL)
            benches[k].run(b);
    if (b->ops != NULL && b->row_num == 0 && b->failed == NULL) {
        b->failed = "--op";
        if (b->rank == 0)
            fprintf(stderr, "mcomm_perf: --op: no figure of these sizes is called \"%s\"\n",
                    b->ops);
    }
    if (b->failed == NULL)
        bench_flag_close(b);
    free(b->src);
    free(b->dst);
    return b->failed != NULL;
}

int main(int argc, char **argv)
{
    struct bench b = {.box_seconds = 0.1, .max_nbytes = (size_t)-1};
    unsigned selected = 0;
    int status = parse_arguments(argc, argv, &b, &selected);
    mcomm_err_t err;

    if (status != 0)
        return status - 1;
    err = mcomm_init(NULL);
    if (err != MCOMM_SUCCESS) {
        fprintf(stderr, "mcomm_perf: %s: %s\n", mcomm_err_text(err), mcomm_last_error());
        return 1;
    }
    b.comm = MCOMM_COMM_WORLD;
    mcomm_comm_rank(b.comm, &b.rank);
    mcomm_comm_size(b.comm, &b.size);
    status = run_all(&b, selected);
    if (status != 0)
        mcomm_abort(b.comm, 1, "mcomm_perf: a measurement failed");
    mcomm_finalize();
    return status;
}
