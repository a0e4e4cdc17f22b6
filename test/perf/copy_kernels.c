/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Ways to copy between private and shared memory, in the patterns of windows. Run by hand, on two
 * free cores. Each figure is the time of one transfer, median of the batches, source rewritten
 * before and destination read after by whoever does that in the pattern:
 *   put   write the source, copy it to shared memory                       (one process)
 *   get   copy from shared memory, read the copy                           (one process)
 *   hand  write the source, copy to shared memory, the other process reads it and answers
 *   take  the other process writes shared memory, this one copies and reads the copy
 * over a working set of one or sixteen buffers. First column: cores near each other by the flag
 * round trip before and after, second: far; in brackets how many batches. Pages are 4 KiB, or huge
 * where the system gives them. Usage: copy_kernels [pattern [bytes [buffers [kernel]]]]
 */
#include "config.h"

#include "base/clock.h"

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCHES 15
#define SPAN ((size_t)64 << 20) /* of each buffer */
#define FLAG_ROUNDS 500
#define PAGE 4096
#define NEAR_USEC 0.3

static struct shared {
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
    char pattern;
    int do_end;
    size_t nbytes, buffers;
} * shared;
static char *src, *dst, *win;

/* ---- the kernels ---- */
static void k_memcpy(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
}

static void k_movsb(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void k_movsb_64k(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 65536)
        k_movsb(to + i, from + i, n - i < 65536 ? n - i : 65536);
}

static void k_movsb_16k(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 16384)
        k_movsb(to + i, from + i, n - i < 16384 ? n - i : 16384);
}

static void k_movsb_4k(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 4096)
        k_movsb(to + i, from + i, n - i < 4096 ? n - i : 4096);
}

static void k_memcpy_128k(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 131072)
        memcpy(to + i, from + i, n - i < 131072 ? n - i : 131072);
}

__attribute__((target("avx2"))) static void k_avx2(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 128)
        for (size_t k = 0; k < 128; k += 32)
            _mm256_storeu_si256((__m256i *)(void *)(to + i + k),
                                _mm256_loadu_si256((const __m256i *)(const void *)(from + i + k)));
}

__attribute__((target("avx512f"))) static void k_avx512(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 256)
        for (size_t k = 0; k < 256; k += 64)
            _mm512_storeu_si512(to + i + k, _mm512_loadu_si512(from + i + k));
}

__attribute__((target("avx512f"))) static void k_avx512_pf(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 256)
        for (size_t k = 0; k < 256; k += 64) {
            _mm_prefetch(from + i + k + 1024, _MM_HINT_T0);
            __builtin_prefetch(to + i + k + 1024, 1);
            _mm512_storeu_si512(to + i + k, _mm512_loadu_si512(from + i + k));
        }
}

__attribute__((target("avx2"))) static void k_nt_avx2(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 128)
        for (size_t k = 0; k < 128; k += 32)
            _mm256_stream_si256((__m256i *)(void *)(to + i + k),
                                _mm256_loadu_si256((const __m256i *)(const void *)(from + i + k)));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void k_nt(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 256)
        for (size_t k = 0; k < 256; k += 64)
            _mm512_stream_si512((__m512i *)(void *)(to + i + k), _mm512_loadu_si512(from + i + k));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void k_nt_pf(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 256)
        for (size_t k = 0; k < 256; k += 64) {
            _mm_prefetch(from + i + k + 768, _MM_HINT_T0);
            _mm512_stream_si512((__m512i *)(void *)(to + i + k), _mm512_loadu_si512(from + i + k));
        }
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void k_nt_pfnta(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += 256)
        for (size_t k = 0; k < 256; k += 64) {
            _mm_prefetch(from + i + k + 768, _MM_HINT_NTA);
            _mm512_stream_si512((__m512i *)(void *)(to + i + k), _mm512_loadu_si512(from + i + k));
        }
    _mm_sfence();
}

/* Four pages at a time, two lines of each in turn. */
__attribute__((target("avx512f"))) static void k_nt_4pages(char *to, const char *from, size_t n)
{
    for (size_t at = 0; at < n; at += 4 * PAGE)
        for (size_t i = 0; i < PAGE; i += 128)
            for (size_t p = 0; p < 4 * PAGE; p += PAGE)
                for (size_t k = 0; k < 128; k += 64)
                    _mm512_stream_si512((__m512i *)(void *)(to + at + p + i + k),
                                        _mm512_loadu_si512(from + at + p + i + k));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void k_4pages(char *to, const char *from, size_t n)
{
    for (size_t at = 0; at < n; at += 4 * PAGE)
        for (size_t i = 0; i < PAGE; i += 128)
            for (size_t p = 0; p < 4 * PAGE; p += PAGE)
                for (size_t k = 0; k < 128; k += 64)
                    _mm512_storeu_si512(to + at + p + i + k,
                                        _mm512_loadu_si512(from + at + p + i + k));
}

static const struct {
    const char *name;
    void (*copy)(char *to, const char *from, size_t nbytes);
} kernels[] = {{"memcpy", k_memcpy},       {"memcpy_128k", k_memcpy_128k},
               {"movsb", k_movsb},         {"movsb_64k", k_movsb_64k},
               {"movsb_16k", k_movsb_16k}, {"movsb_4k", k_movsb_4k},
               {"avx2", k_avx2},           {"avx512", k_avx512},
               {"avx512_pf", k_avx512_pf}, {"avx512_4pages", k_4pages},
               {"nt_avx2", k_nt_avx2},     {"nt", k_nt},
               {"nt_pf", k_nt_pf},         {"nt_pfnta", k_nt_pfnta},
               {"nt_4pages", k_nt_4pages}};
#define KERNEL_NUM (sizeof(kernels) / sizeof(kernels[0]))

/* ---- the two processes ---- */
static void read_all(const char *buf, size_t nbytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < nbytes; i += 8)
        sum += *(const volatile uint64_t *)(const void *)(buf + i);
    __asm__ volatile("" : : "r"(sum) : "memory");
}

static void write_all(char *buf, size_t nbytes)
{
    static unsigned char value;

    memset(buf, ++value, nbytes);
}

static void await(_Atomic uint64_t *flag, uint64_t value)
{
    while (atomic_load_explicit(flag, memory_order_acquire) < value)
        ;
}

static void pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void other(void)
{
    pin(1);
    for (uint64_t turn = 1;; turn++) {
        await(&shared->ping, turn);
        if (shared->do_end)
            _exit(0);
        for (size_t k = 0; shared->pattern != 'f' && k < shared->buffers; k++) {
            if (shared->pattern == 'h')
                read_all(win + k * shared->nbytes, shared->nbytes);
            else
                write_all(win + k * shared->nbytes, shared->nbytes);
        }
        atomic_store_explicit(&shared->pong, turn, memory_order_release);
    }
}

static void ask(char pattern)
{
    uint64_t turn = atomic_load(&shared->ping) + 1;

    shared->pattern = pattern;
    atomic_store_explicit(&shared->ping, turn, memory_order_release);
    await(&shared->pong, turn);
}

static double flag_usec(void)
{
    uint64_t begin = (uint64_t)mci_clock_ns();

    for (int i = 0; i < FLAG_ROUNDS; i++)
        ask('f');
    return (double)((uint64_t)mci_clock_ns() - begin) / FLAG_ROUNDS / 1e3;
}

/* ---- the patterns ---- */
static void run_once(char pattern, size_t kernel, size_t nbytes, size_t buffers)
{
    if (pattern == 't')
        ask('t');
    for (size_t k = 0; k < buffers; k++) {
        size_t at = k * nbytes;

        if (pattern == 'p' || pattern == 'h') {
            write_all(src + at, nbytes);
            kernels[kernel].copy(win + at, src + at, nbytes);
        } else {
            kernels[kernel].copy(dst + at, win + at, nbytes);
        }
    }
    if (pattern == 'g' || pattern == 't')
        for (size_t k = 0; k < buffers; k++)
            read_all(dst + k * nbytes, nbytes);
    if (pattern == 'h')
        ask('h');
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct figures {
    double usec[2][BATCHES]; /* near, far */
    int n[2];
};

static void measure(char pattern, size_t kernel, size_t nbytes, size_t buffers, struct figures *to)
{
    size_t times = ((size_t)8 << 20) / (nbytes * buffers) + 1;
    double before = flag_usec(), usec;
    uint64_t begin;

    shared->nbytes = nbytes;
    shared->buffers = buffers;
    run_once(pattern, kernel, nbytes, buffers);
    begin = (uint64_t)mci_clock_ns();
    for (size_t i = 0; i < times; i++)
        run_once(pattern, kernel, nbytes, buffers);
    usec = (double)((uint64_t)mci_clock_ns() - begin) / 1e3 / (double)(times * buffers);
    if ((before < NEAR_USEC) == (flag_usec() < NEAR_USEC)) { /* else it changed meanwhile */
        int is_far = before >= NEAR_USEC;

        to->usec[is_far][to->n[is_far]++] = usec;
    }
}

static void print_median(struct figures *f, int is_far)
{
    qsort(f->usec[is_far], (size_t)f->n[is_far], sizeof(double), compare);
    if (f->n[is_far] > 0)
        printf(" %9.2f (%2d)", f->usec[is_far][f->n[is_far] / 2], f->n[is_far]);
    else
        printf(" %9s     ", "-");
}

/* The kernels take turns, so that a change of the machine meets all of them. */
static void compare_kernels(char pattern, size_t nbytes, size_t buffers, const char *only)
{
    static struct figures figures[KERNEL_NUM];

    memset(figures, 0, sizeof(figures));
    for (int b = 0; b < BATCHES; b++)
        for (size_t k = 0; k < KERNEL_NUM; k++)
            if (only == NULL || strcmp(only, kernels[k].name) == 0)
                measure(pattern, k, nbytes, buffers, &figures[k]);
    for (size_t k = 0; k < KERNEL_NUM; k++)
        if (figures[k].n[0] + figures[k].n[1] > 0) {
            printf("%c %2zu x %7zu  %-14s", pattern, buffers, nbytes, kernels[k].name);
            print_median(&figures[k], 0);
            print_median(&figures[k], 1);
            printf("\n");
        }
    fflush(stdout);
}

static char *memory(size_t nbytes, int is_shared, int is_huge)
{
    int fd = is_shared ? memfd_create("copy_kernels", 0) : -1;
    char *at;

    if (is_shared && ftruncate(fd, (off_t)nbytes) != 0)
        return NULL;
    at = mmap(NULL, nbytes + (2u << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at = (char *)(((uintptr_t)at + (2u << 20) - 1) & ~(((uintptr_t)2 << 20) - 1));
    at = mmap(at, nbytes, PROT_READ | PROT_WRITE,
              MAP_FIXED | (is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, nbytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(at, 1, nbytes);
    return at;
}

static void run_all(const char *only, size_t nbytes_only, size_t buffers_only, const char *kernel)
{
    static const size_t sizes[] = {4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};

    for (const char *p = "pght"; *p != '\0'; p++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t buffers = 1; buffers <= 16; buffers *= 16)
                if ((only[0] == 'a' || only[0] == *p) && sizes[s] * buffers <= SPAN &&
                    (nbytes_only == 0 || nbytes_only == sizes[s]) &&
                    (buffers_only == 0 || buffers_only == buffers))
                    compare_kernels(*p, sizes[s], buffers, kernel);
}

int main(int argc, char **argv)
{
    static const char *const pages[] = {"4 KiB pages", "huge pages for shared memory",
                                        "huge pages for both"};

    for (int huge = 0; huge < 3; huge++) {
        pid_t pid;

        shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        src = memory(SPAN, 0, huge == 2);
        dst = memory(SPAN, 0, huge == 2);
        win = memory(SPAN, 1, huge >= 1);
        pid = fork();
        if (pid == 0)
            other();
        pin(0);
        printf("%s\n", pages[huge]);
        run_all(argc > 1 ? argv[1] : "a", argc > 2 ? strtoul(argv[2], NULL, 0) : 0,
                argc > 3 ? strtoul(argv[3], NULL, 0) : 0, argc > 4 ? argv[4] : NULL);
        shared->do_end = 1;
        atomic_fetch_add(&shared->ping, 1);
        waitpid(pid, NULL, 0);
        munmap(src, SPAN);
        munmap(dst, SPAN);
        munmap(win, SPAN);
    }
    return 0;
}
