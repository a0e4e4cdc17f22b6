/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Bytes as text for launchers that store nothing but words. */
#include "config.h"

#include "rt/rt_base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void mci_rt_base64_encode(const unsigned char *bytes, size_t nbytes, char *text)
{
    unsigned bits = 0, num_bits = 0;

    for (size_t i = 0; i < nbytes; i++) {
        bits = (bits << 8 | bytes[i]) & 0xffff;
        num_bits += 8;
        while (num_bits >= 6) {
            num_bits -= 6;
            *text++ = alphabet[bits >> num_bits & 63];
        }
    }
    if (num_bits > 0)
        *text++ = alphabet[bits << (6 - num_bits) & 63];
    *text = '\0';
}

bool mci_rt_base64_decode(const char *text, unsigned char *bytes, size_t max, size_t *nbytes_p)
{
    unsigned bits = 0, num_bits = 0;
    size_t n = 0;

    for (; *text != '\0'; text++) {
        const char *at = strchr(alphabet, *text);

        if (at == NULL)
            return false;
        bits = (bits << 6 | (unsigned)(at - alphabet)) & 0xffff;
        num_bits += 6;
        if (num_bits < 8)
            continue;
        num_bits -= 8;
        if (n == max)
            return false;
        bytes[n++] = (unsigned char)(bits >> num_bits);
    }
    *nbytes_p = n;
    return num_bits < 6; /* a lone last character carries no byte */
}
