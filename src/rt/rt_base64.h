/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Base64 with the file-name alphabet of RFC 4648 and no padding: no character that PMI-1 minds. */
#ifndef MCI_RT_BASE64_H
#define MCI_RT_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/** text gets (nbytes * 4 + 2) / 3 characters and a zero. */
void mci_rt_base64_encode(const unsigned char *bytes, size_t nbytes, char *text);

/** @return false: not such a text, or more than max bytes */
bool mci_rt_base64_decode(const char *text, unsigned char *bytes, size_t max, size_t *nbytes_p);

#endif
