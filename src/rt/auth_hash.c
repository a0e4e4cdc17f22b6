/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The keyed hash behind admission: BLAKE2b-256 (RFC 7693), from libsodium where it is there,
 * else from the few lines below. Both give the same bytes, so builds with and without libsodium
 * admit each other.
 */
#include "config.h"

#include "rt/auth.h"

#include <string.h>

#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "base/err.h"

#define BLOCK_BYTES 128
#define LABEL_MAX 64
#define SALT_MAX 64

static const uint64_t iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t rotr(uint64_t x, unsigned n)
{
    return x >> n | x << (64 - n);
}

static uint64_t load_le64(const uint8_t *p)
{
    uint64_t x = 0;

    for (int i = 7; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

static void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] = v[a] + v[b] + x;
    v[d] = rotr(v[d] ^ v[a], 32);
    v[c] = v[c] + v[d];
    v[b] = rotr(v[b] ^ v[c], 24);
    v[a] = v[a] + v[b] + y;
    v[d] = rotr(v[d] ^ v[a], 16);
    v[c] = v[c] + v[d];
    v[b] = rotr(v[b] ^ v[c], 63);
}

static void compress(uint64_t h[8], const uint8_t block[BLOCK_BYTES], uint64_t total, bool is_last)
{
    uint64_t v[16], m[16];

    for (int i = 0; i < 16; i++)
        m[i] = load_le64(block + 8 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
        v[i + 8] = iv[i];
    }
    v[12] ^= total;
    if (is_last)
        v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = sigma[round % 10];

        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

void mci_auth_blake2b(uint8_t mac[MCI_AUTH_MAC_BYTES], const uint8_t key[MCI_AUTH_SECRET_BYTES],
                      const void *msg, size_t nbytes)
{
    const uint8_t *p = msg;
    uint8_t block[BLOCK_BYTES] = {0};
    uint64_t total = BLOCK_BYTES; /* the key fills the first block */
    uint64_t h[8];

    memcpy(h, iv, sizeof(h));
    h[0] ^= 0x01010000u ^ MCI_AUTH_SECRET_BYTES << 8 ^ MCI_AUTH_MAC_BYTES;
    memcpy(block, key, MCI_AUTH_SECRET_BYTES);
    compress(h, block, total, nbytes == 0);
    while (nbytes > 0) {
        size_t n = nbytes < BLOCK_BYTES ? nbytes : BLOCK_BYTES;

        memset(block, 0, sizeof(block));
        memcpy(block, p, n);
        p += n;
        nbytes -= n;
        total += n;
        compress(h, block, total, nbytes == 0);
    }
    for (int i = 0; i < MCI_AUTH_MAC_BYTES; i++)
        mac[i] = (uint8_t)(h[i / 8] >> 8 * (i % 8));
    explicit_bzero(block, sizeof(block));
}

void mci_auth_mac(uint8_t mac[MCI_AUTH_MAC_BYTES], const uint8_t key[MCI_AUTH_SECRET_BYTES],
                  const void *msg, size_t nbytes)
{
#ifdef HAVE_SODIUM
    /* Needs no sodium_init(): that only chooses faster implementations and the random source. */
    if (crypto_generichash(mac, MCI_AUTH_MAC_BYTES, msg, nbytes, key, MCI_AUTH_SECRET_BYTES) == 0)
        return;
#endif
    mci_auth_blake2b(mac, key, msg, nbytes);
}

void mci_auth_derive(uint8_t out[MCI_AUTH_SECRET_BYTES],
                     const uint8_t secret[MCI_AUTH_SECRET_BYTES], const char *label,
                     const void *salt, size_t salt_nbytes)
{
    uint8_t msg[LABEL_MAX + SALT_MAX] = {0};
    size_t label_nbytes = strnlen(label, LABEL_MAX);

    if (salt_nbytes > SALT_MAX)
        salt_nbytes = SALT_MAX;
    memcpy(msg, label, label_nbytes);
    if (salt_nbytes > 0)
        memcpy(msg + LABEL_MAX, salt, salt_nbytes);
    mci_auth_mac(out, secret, msg, LABEL_MAX + salt_nbytes);
}

bool mci_auth_equal(const void *a, const void *b, size_t nbytes)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < nbytes; i++)
        diff |= x[i] ^ y[i];
    return diff == 0;
}
