/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Copying into the ring past the caches. With the cores far apart (no shared L3) an ordinary store
 * into the ring must fetch or invalidate a line of the other core, 130 ns each: 8 times slower than
 * non-temporal stores. The widest kind that the processor has is chosen once.
 */
#include "config.h"

#include "rail/shm/shm_priv.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

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

static void copy_stream(void *dst, const void *src, size_t nbytes)
{
    char *to = dst;
    const char *from = src;
    size_t head = -(uintptr_t)to & 63;

    if (head > nbytes)
        head = nbytes;
    if (head > 0)
        memcpy(to, from, head);
    nbytes -= head;
    lines(to + head, from + head, nbytes & ~(size_t)63);
    if (nbytes & 63)
        memcpy(to + head + (nbytes & ~(size_t)63), from + head + (nbytes & ~(size_t)63),
               nbytes & 63);
}

void (*mci_shm_copy_nt)(void *dst, const void *src, size_t nbytes) = copy_stream;

void mci_shm_copy_init(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        lines = lines_avx512;
    else if (__builtin_cpu_supports("avx2"))
        lines = lines_avx2;
}

void mci_shm_copy_fence(void)
{
    _mm_sfence();
}

#else

static void copy_plain(void *dst, const void *src, size_t nbytes)
{
    memcpy(dst, src, nbytes);
}

void (*mci_shm_copy_nt)(void *dst, const void *src, size_t nbytes) = copy_plain;

void mci_shm_copy_init(void)
{
}

void mci_shm_copy_fence(void)
{
}

#endif
