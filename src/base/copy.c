/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Long copies of memory that another core has read or will read. An ordinary store must first fetch
 * the line from where it was, 130 ns if that is a far core's cache. Two ways around: stores past
 * the caches, which leave the data in memory; and REP MOVSB, which seems to spare some processors
 * that fetch. On AMD family 26 it was the best or near it from 4 KiB on in most patterns, near and
 * far (docs/performance.md; test/perf/copy_kernels), at any alignment. Zen 3 is very slow with some
 * alignments. Cores of one Intel processor share the last cache: a far one reads from the writer's
 * caches sooner than from memory (measured on model 207). Other processors were not measured.
 */
#include "config.h"

#include "base/copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define STRINGS_SINCE_FAMILY 26
#define FAST_SHORT_STRINGS (1u << 4) /* of leaf 7, edx */

/* dst is aligned to 64, nbytes a multiple of it. */
typedef void (*lines_fn_t)(char *dst, const char *src, size_t nbytes);

static void lines_sse2(char *dst, const char *src, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(src + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(src + i + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(src + i + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(src + i + 48));

        _mm_stream_si128((__m128i *)(void *)(dst + i), a);
        _mm_stream_si128((__m128i *)(void *)(dst + i + 16), b);
        _mm_stream_si128((__m128i *)(void *)(dst + i + 32), c);
        _mm_stream_si128((__m128i *)(void *)(dst + i + 48), d);
    }
}

__attribute__((target("avx2"))) static void lines_avx2(char *dst, const char *src, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(src + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 32));

        _mm256_stream_si256((__m256i *)(void *)(dst + i), a);
        _mm256_stream_si256((__m256i *)(void *)(dst + i + 32), b);
    }
}

__attribute__((target("avx512f"))) static void lines_avx512(char *dst, const char *src,
                                                            size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += 64)
        _mm512_stream_si512((__m512i *)(void *)(dst + i),
                            _mm512_loadu_si512((const void *)(src + i)));
}

static lines_fn_t lines = lines_sse2;
bool mci_copy_has_strings, mci_copy_stays_cached;

static bool vendor_is(unsigned signature_ebx)
{
    unsigned a, b, c, d;

    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_ebx;
}

static bool strings_store_whole_lines(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return false; /* it sees no assembly */
#else
    unsigned a = 0, b, c, d, family;

    if (!vendor_is(signature_AMD_ebx))
        return false;
    __get_cpuid(1, &a, &b, &c, &d);
    family = (a >> 8 & 15) + (a >> 20 & 255);
    return family >= STRINGS_SINCE_FAMILY && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & FAST_SHORT_STRINGS) != 0;
#endif
}

void mci_copy_start(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        lines = lines_avx512;
    else if (__builtin_cpu_supports("avx2"))
        lines = lines_avx2;
    mci_copy_has_strings = strings_store_whole_lines();
    mci_copy_stays_cached = vendor_is(signature_INTEL_ebx);
}

static void copy_string(char *dst, const char *src, size_t nbytes)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(nbytes) : : "memory");
}

static void copy_stream(char *dst, const char *src, size_t nbytes)
{
    size_t head = -(uintptr_t)dst & 63, whole;

    if (head > nbytes)
        head = nbytes;
    whole = (nbytes - head) & ~(size_t)63;
    memcpy(dst, src, head);
    lines(dst + head, src + head, whole);
    memcpy(dst + head + whole, src + head + whole, nbytes - head - whole);
    _mm_sfence();
}

static bool overlap(const void *dst, const void *src, size_t nbytes)
{
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;

    return to < from + nbytes && from < to + nbytes;
}

void mci_copy_stream(void *dst, const void *src, size_t nbytes)
{
    if (overlap(dst, src, nbytes))
        memmove(dst, src, nbytes);
    else
        copy_stream(dst, src, nbytes);
}

void mci_copy_long(void *dst, const void *src, size_t nbytes, size_t stream_from)
{
    if (overlap(dst, src, nbytes))
        memmove(dst, src, nbytes);
    else if (mci_copy_has_strings && nbytes >= MCI_COPY_LONG)
        copy_string(dst, src, nbytes);
    else if (nbytes >= stream_from)
        copy_stream(dst, src, nbytes);
    else
        memcpy(dst, src, nbytes);
}

#else

bool mci_copy_has_strings, mci_copy_stays_cached;

void mci_copy_start(void)
{
}

void mci_copy_long(void *dst, const void *src, size_t nbytes, size_t stream_from)
{
    (void)stream_from;
    memmove(dst, src, nbytes);
}

void mci_copy_stream(void *dst, const void *src, size_t nbytes)
{
    memmove(dst, src, nbytes);
}

#endif
