/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Short copies inline, and long ones of memory that another core has read or will read. */
#ifndef MCI_BASE_COPY_H
#define MCI_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* At most 48 bytes: moves of 16, 8 and 4 bytes that overlap beat a call. */
static inline void mci_copy_short(void *to, const void *from, size_t nbytes)
{
    char *dst = to;
    const char *src = from;

    if (nbytes >= 16) {
        memcpy(dst, src, 16);
        if (nbytes > 32)
            memcpy(dst + 16, src + 16, 16);
        memcpy(dst + nbytes - 16, src + nbytes - 16, 16);
    } else if (nbytes >= 8) {
        memcpy(dst, src, 8);
        memcpy(dst + nbytes - 8, src + nbytes - 8, 8);
    } else if (nbytes >= 4) {
        memcpy(dst, src, 4);
        memcpy(dst + nbytes - 4, src + nbytes - 4, 4);
    } else {
        for (size_t i = 0; i < nbytes; i++)
            dst[i] = src[i];
    }
}

#define MCI_COPY_LONG 4096u         /* shorter ones: memmove is as good */
#define MCI_COPY_NO_STREAM SIZE_MAX /* as stream_from */

/* Finds out what the processor does best. Before that, and elsewhere than on x86-64, all is plain.
 */
void mci_copy_start(void);
/* By REP MOVSB where that is best, else with stores past the caches if it is of stream_from bytes
 * or more, else plain. The ranges may overlap. Whoever sees a later store sees all of it. */
void mci_copy_long(void *dst, const void *src, size_t nbytes, size_t stream_from);
/* Past the caches. */
void mci_copy_stream(void *dst, const void *src, size_t nbytes);

extern bool mci_copy_has_strings; /* REP MOVSB is best; to be changed by tests only */
/* What one core writes for another to read at once is best left in the caches, however far. */
extern bool mci_copy_stays_cached;

/* The line will be stored to: fetch it for that, without waiting. */
static inline void mci_copy_claim(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

static inline void mci_copy(void *dst, const void *src, size_t nbytes, size_t stream_from)
{
    if (nbytes < MCI_COPY_LONG && nbytes < stream_from)
        memmove(dst, src, nbytes);
    else
        mci_copy_long(dst, src, nbytes, stream_from);
}

#endif
