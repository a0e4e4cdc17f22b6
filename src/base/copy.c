/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Copies past the caches: AVX2's non-temporal stores, chosen at run time. */
#include "config.h"

#include "base/copy.h"

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>

bool mci_copy_can_stream(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

__attribute__((target("avx2"))) void mci_copy_stream(char *dst, const char *src, size_t nbytes)
{
    size_t head = (size_t)(-(uintptr_t)dst & 31), i = head;

    memcpy(dst, src, head);
    for (; i + 128 <= nbytes; i += 128) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(src + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 32));
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 64));
        __m256i d = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 96));

        _mm256_stream_si256((__m256i *)(void *)(dst + i), a);
        _mm256_stream_si256((__m256i *)(void *)(dst + i + 32), b);
        _mm256_stream_si256((__m256i *)(void *)(dst + i + 64), c);
        _mm256_stream_si256((__m256i *)(void *)(dst + i + 96), d);
    }
    _mm_sfence();
    memcpy(dst + i, src + i, nbytes - i);
}
#else
bool mci_copy_can_stream(void)
{
    return false;
}

void mci_copy_stream(char *dst, const char *src, size_t nbytes)
{
    memcpy(dst, src, nbytes);
}
#endif
