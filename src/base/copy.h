/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Copies whose stores go past the caches, for places that this core will not soon read. */
#ifndef MCI_BASE_COPY_H
#define MCI_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* Is there such a copy on this processor? */
bool mci_copy_can_stream(void);
/* Only if there is, of 128 bytes or more. The ranges must not overlap; all is visible to whoever
 * sees a later store. */
void mci_copy_stream(char *dst, const char *src, size_t nbytes);

#endif
