/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Short copies inline, and copies whose stores go past the caches, for places that this core will
 * not soon read. */
#ifndef MCI_BASE_COPY_H
#define MCI_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
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

/* Is there such a copy on this processor? */
bool mci_copy_can_stream(void);
/* Only if there is, of 128 bytes or more. The ranges must not overlap; all is visible to whoever
 * sees a later store. */
void mci_copy_stream(char *dst, const char *src, size_t nbytes);

#endif
