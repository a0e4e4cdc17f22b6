/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Admission: two ends of a byte stream prove to each other that they know the job's secret.
 * A pure state machine without I/O, so that the blocking rendezvous and the non-blocking
 * listeners of the rails use the same code. Both ends challenge, both answer with a keyed hash
 * over both nonces; each carries a payload of up to 1 KiB that is trusted only after the proof.
 * The wire format is described in docs/wire.md.
 */
#ifndef MCI_RT_AUTH_H
#define MCI_RT_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mooncake_comm.h"

#define MCI_AUTH_VERSION 1
#define MCI_AUTH_SECRET_BYTES 32
#define MCI_AUTH_NONCE_BYTES 32
#define MCI_AUTH_MAC_BYTES 32
#define MCI_AUTH_PAYLOAD_MAX 1024
#define MCI_AUTH_HEADER_BYTES 8
#define MCI_AUTH_FRAME_MAX (MCI_AUTH_HEADER_BYTES + MCI_AUTH_PAYLOAD_MAX + MCI_AUTH_MAC_BYTES)

enum mci_auth_role {
    MCI_AUTH_INITIATOR = 1, /* connects, speaks first, proves first */
    MCI_AUTH_ACCEPTOR =
        2, /* says nothing before a well-formed hello, and no payload before a proof */
};

enum mci_auth_state {
    MCI_AUTH_WAIT_HELLO,     /* acceptor */
    MCI_AUTH_WAIT_CHALLENGE, /* initiator */
    MCI_AUTH_WAIT_PROOF,     /* acceptor */
    MCI_AUTH_WAIT_WELCOME,   /* initiator */
    MCI_AUTH_PROVEN,         /* the peer's proof is good */
    MCI_AUTH_FAILED,         /* for good; output may still hold a refusal worth sending */
    MCI_AUTH_STATE_NUM
};

enum mci_auth_refusal {
    MCI_AUTH_REFUSAL_NONE,
    MCI_AUTH_REFUSAL_VERSION,   /* protocol versions differ */
    MCI_AUTH_REFUSAL_ALGORITHM, /* keyed hash algorithms differ */
    MCI_AUTH_REFUSAL_SECRET,    /* the proof is wrong: another secret, or a forgery */
};

enum mci_auth_algorithm {
    MCI_AUTH_BLAKE2B_256 = 1, /* keyed BLAKE2b, 32-byte digest (RFC 7693) */
};

/* Public so that it can live inside a connection object: 3.3 KiB, no pointer, no allocation. */
struct mci_auth {
    enum mci_auth_role role;
    enum mci_auth_state state;
    enum mci_auth_refusal refusal; /* why it failed, ours or the peer's; NONE: malformed bytes */
    bool is_refused_by_peer;
    uint8_t algorithm;
    uint8_t secret[MCI_AUTH_SECRET_BYTES]; /* wiped as soon as it is no longer needed */
    uint8_t nonce_initiator[MCI_AUTH_NONCE_BYTES];
    uint8_t nonce_acceptor[MCI_AUTH_NONCE_BYTES];
    size_t payload_nbytes;
    size_t peer_payload_nbytes;
    size_t in_nbytes;
    size_t out_nbytes;
    size_t out_sent;
    uint8_t payload[MCI_AUTH_PAYLOAD_MAX];
    uint8_t in[MCI_AUTH_FRAME_MAX]; /* ends up holding the peer's payload */
    uint8_t out[MCI_AUTH_FRAME_MAX];
};

/**
 * Begin. The initiator has its hello to send at once; the acceptor waits for one.
 * @param secret   shared secret, copied
 * @param payload  sent to the peer with our proof, authenticated but not encrypted; copied
 * @return MCOMM_SUCCESS; MCOMM_ERR_ARG (payload too long); MCOMM_ERR_SYS (no random bytes)
 */
mcomm_err_t mci_auth_start(struct mci_auth *auth, enum mci_auth_role role,
                           const uint8_t secret[MCI_AUTH_SECRET_BYTES], const void *payload,
                           size_t nbytes);

/** Bytes that wait to be sent: their number, 0 if none; *buf_p points into auth. */
size_t mci_auth_output(const struct mci_auth *auth, const void **buf_p);

/** nbytes of what mci_auth_output() showed have been sent. */
void mci_auth_sent(struct mci_auth *auth, size_t nbytes);

/**
 * Take received bytes. Never takes more than belong to the admission, so that what follows in
 * the stream stays with the caller.
 * @param used_p   bytes taken, also on error
 * @return MCOMM_SUCCESS (go on until mci_auth_done()); MCOMM_ERR_AUTH: not admitted, close the
 *         connection after sending what mci_auth_output() still has; the error text says why
 */
mcomm_err_t mci_auth_input(struct mci_auth *auth, const void *buf, size_t nbytes, size_t *used_p);

/** The peer is proven and everything it needs from us has been handed over. */
bool mci_auth_done(const struct mci_auth *auth);

/** What the peer sent with its proof; only once it is proven, else NULL. */
const void *mci_auth_peer_payload(const struct mci_auth *auth, size_t *nbytes_p);

/** Wipe secrets; safe on a zeroed or a finished object. */
void mci_auth_fini(struct mci_auth *auth);

/* ---- keyed hash and random bytes, also for deriving secrets */

/** Keyed BLAKE2b-256 of a message. */
void mci_auth_mac(uint8_t mac[MCI_AUTH_MAC_BYTES], const uint8_t key[MCI_AUTH_SECRET_BYTES],
                  const void *msg, size_t nbytes);

/** The portable implementation, used where libsodium is missing; same result. */
void mci_auth_blake2b(uint8_t mac[MCI_AUTH_MAC_BYTES], const uint8_t key[MCI_AUTH_SECRET_BYTES],
                      const void *msg, size_t nbytes);

/** A secret of its own for each use of one secret: keyed hash of label and salt. */
void mci_auth_derive(uint8_t out[MCI_AUTH_SECRET_BYTES],
                     const uint8_t secret[MCI_AUTH_SECRET_BYTES], const char *label,
                     const void *salt, size_t salt_nbytes);

/** Compare without telling by its duration where the first difference is. */
bool mci_auth_equal(const void *a, const void *b, size_t nbytes);

#endif
