/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The admission handshake: hello, challenge, proof, welcome. Bytes go in, bytes come out, a
 * state moves forward only. Invariant: until the peer's proof has been checked nothing depends on
 * what it sent but the length of the next frame, which is bounded by its type.
 */
#include "config.h"

#include "rt/auth.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"

#define BIT(n) (1u << (n))
#define HELLO_BYTES (4 + MCI_AUTH_NONCE_BYTES)
#define REFUSE_BYTES 4
#define TRANSCRIPT_HEAD (16 + 2 * MCI_AUTH_NONCE_BYTES)

enum frame_type {
    FRAME_HELLO = 1,
    FRAME_CHALLENGE = 2,
    FRAME_PROOF = 3,
    FRAME_WELCOME = 4,
    FRAME_REFUSE = 5,
};

static const uint8_t magic[4] = {'M', 'C', 'A', 'U'};

static const struct {
    const char *name;
    unsigned next;         /* bit set of states this one may move to */
    enum frame_type await; /* the frame that moves it */
} states[MCI_AUTH_STATE_NUM] = {
    [MCI_AUTH_WAIT_HELLO] = {"wait hello", BIT(MCI_AUTH_WAIT_PROOF) | BIT(MCI_AUTH_FAILED),
                             FRAME_HELLO},
    [MCI_AUTH_WAIT_CHALLENGE] = {"wait challenge",
                                 BIT(MCI_AUTH_WAIT_WELCOME) | BIT(MCI_AUTH_FAILED),
                                 FRAME_CHALLENGE},
    [MCI_AUTH_WAIT_PROOF] = {"wait proof", BIT(MCI_AUTH_PROVEN) | BIT(MCI_AUTH_FAILED),
                             FRAME_PROOF},
    [MCI_AUTH_WAIT_WELCOME] = {"wait welcome", BIT(MCI_AUTH_PROVEN) | BIT(MCI_AUTH_FAILED),
                               FRAME_WELCOME},
    [MCI_AUTH_PROVEN] = {"proven", 0, 0},
    [MCI_AUTH_FAILED] = {"failed", 0, 0},
};

static void auth_move(struct mci_auth *auth, enum mci_auth_state next)
{
    if ((states[auth->state].next & BIT(next)) == 0)
        return;
    mci_log_trace("auth: %s -> %s", states[auth->state].name, states[next].name);
    auth->state = next;
    auth->in_nbytes = next == MCI_AUTH_PROVEN ? auth->in_nbytes : 0;
    if (next == MCI_AUTH_PROVEN || next == MCI_AUTH_FAILED)
        explicit_bzero(auth->secret, sizeof(auth->secret));
}

/* Every frame is answered before the next is read, so there is never more than one to send. */
static uint8_t *frame_begin(struct mci_auth *auth, enum frame_type type, size_t body_nbytes)
{
    uint8_t *p = auth->out;

    memcpy(p, magic, sizeof(magic));
    p[4] = MCI_AUTH_VERSION;
    p[5] = (uint8_t)type;
    p[6] = (uint8_t)body_nbytes;
    p[7] = (uint8_t)(body_nbytes >> 8);
    auth->out_nbytes = MCI_AUTH_HEADER_BYTES + body_nbytes;
    auth->out_sent = 0;
    return p + MCI_AUTH_HEADER_BYTES;
}

static void put_hello(struct mci_auth *auth)
{
    bool is_initiator = auth->role == MCI_AUTH_INITIATOR;
    uint8_t *p = frame_begin(auth, is_initiator ? FRAME_HELLO : FRAME_CHALLENGE, HELLO_BYTES);

    p[0] = auth->algorithm;
    p[1] = (uint8_t)auth->role;
    p[2] = 0;
    p[3] = 0;
    memcpy(p + 4, is_initiator ? auth->nonce_initiator : auth->nonce_acceptor,
           MCI_AUTH_NONCE_BYTES);
}

static mcomm_err_t auth_fail(struct mci_auth *auth)
{
    auth_move(auth, MCI_AUTH_FAILED);
    return MCOMM_ERR_AUTH;
}

static mcomm_err_t auth_refuse(struct mci_auth *auth, enum mci_auth_refusal why)
{
    uint8_t *p = frame_begin(auth, FRAME_REFUSE, REFUSE_BYTES);

    p[0] = (uint8_t)why;
    p[1] = auth->algorithm;
    p[2] = MCI_AUTH_VERSION;
    p[3] = 0;
    auth->refusal = why;
    return auth_fail(auth);
}

/* The sender's role is part of it, so a proof cannot be mirrored back to its sender. */
static void proof_mac(const struct mci_auth *auth, enum mci_auth_role sender, const void *payload,
                      size_t nbytes, uint8_t mac[MCI_AUTH_MAC_BYTES])
{
    uint8_t msg[TRANSCRIPT_HEAD + MCI_AUTH_PAYLOAD_MAX] = "mcomm auth 1";

    msg[12] = (uint8_t)sender;
    msg[13] = auth->algorithm;
    msg[14] = (uint8_t)nbytes;
    msg[15] = (uint8_t)(nbytes >> 8);
    memcpy(msg + 16, auth->nonce_initiator, MCI_AUTH_NONCE_BYTES);
    memcpy(msg + 16 + MCI_AUTH_NONCE_BYTES, auth->nonce_acceptor, MCI_AUTH_NONCE_BYTES);
    if (nbytes > 0)
        memcpy(msg + TRANSCRIPT_HEAD, payload, nbytes);
    mci_auth_mac(mac, auth->secret, msg, TRANSCRIPT_HEAD + nbytes);
}

static void put_proof(struct mci_auth *auth)
{
    size_t n = auth->payload_nbytes;
    uint8_t *p = frame_begin(auth, auth->role == MCI_AUTH_INITIATOR ? FRAME_PROOF : FRAME_WELCOME,
                             n + MCI_AUTH_MAC_BYTES);

    memcpy(p, auth->payload, n);
    proof_mac(auth, auth->role, auth->payload, n, p + n);
}

mcomm_err_t mci_auth_start(struct mci_auth *auth, enum mci_auth_role role,
                           const uint8_t secret[MCI_AUTH_SECRET_BYTES], const void *payload,
                           size_t nbytes)
{
    bool is_initiator = role == MCI_AUTH_INITIATOR;
    mcomm_err_t err;

    if (nbytes > MCI_AUTH_PAYLOAD_MAX)
        return mci_err_set(MCOMM_ERR_ARG, "nbytes = %zu: an admission payload has at most %d bytes",
                           nbytes, MCI_AUTH_PAYLOAD_MAX);
    memset(auth, 0, sizeof(*auth));
    err = mci_random(is_initiator ? auth->nonce_initiator : auth->nonce_acceptor,
                     MCI_AUTH_NONCE_BYTES);
    if (err != MCOMM_SUCCESS)
        return err;
    auth->role = role;
    auth->algorithm = MCI_AUTH_BLAKE2B_256;
    auth->state = is_initiator ? MCI_AUTH_WAIT_CHALLENGE : MCI_AUTH_WAIT_HELLO;
    memcpy(auth->secret, secret, MCI_AUTH_SECRET_BYTES);
    auth->payload_nbytes = nbytes;
    if (nbytes > 0)
        memcpy(auth->payload, payload, nbytes);
    if (is_initiator)
        put_hello(auth);
    return MCOMM_SUCCESS;
}

size_t mci_auth_output(const struct mci_auth *auth, const void **buf_p)
{
    *buf_p = auth->out + auth->out_sent;
    return auth->out_nbytes - auth->out_sent;
}

void mci_auth_sent(struct mci_auth *auth, size_t nbytes)
{
    size_t left = auth->out_nbytes - auth->out_sent;

    auth->out_sent += nbytes < left ? nbytes : left;
}

static size_t body_nbytes(const struct mci_auth *auth)
{
    return (size_t)auth->in[6] | (size_t)auth->in[7] << 8;
}

/* What may come now: the awaited frame, or for an initiator a refusal; with the length it must
 * have. */
static mcomm_err_t check_header(struct mci_auth *auth)
{
    size_t n = body_nbytes(auth);
    uint8_t type = auth->in[5];
    bool is_refuse = type == FRAME_REFUSE && auth->role == MCI_AUTH_INITIATOR;
    bool is_length_ok;

    if (memcmp(auth->in, magic, sizeof(magic)) != 0) {
        mci_err_set(MCOMM_ERR_AUTH, "the peer does not speak the admission protocol");
        return auth_fail(auth);
    }
    if (auth->in[4] != MCI_AUTH_VERSION) {
        mci_err_set(MCOMM_ERR_AUTH, "the peer speaks admission protocol %u, this library %u",
                    auth->in[4], MCI_AUTH_VERSION);
        return auth_refuse(auth, MCI_AUTH_REFUSAL_VERSION);
    }
    if (is_refuse)
        is_length_ok = n == REFUSE_BYTES;
    else if (type == FRAME_HELLO || type == FRAME_CHALLENGE)
        is_length_ok = n == HELLO_BYTES;
    else
        is_length_ok = n >= MCI_AUTH_MAC_BYTES && n <= MCI_AUTH_PAYLOAD_MAX + MCI_AUTH_MAC_BYTES;
    if ((!is_refuse && type != states[auth->state].await) || !is_length_ok) {
        mci_err_set(MCOMM_ERR_AUTH, "unexpected admission frame %u of %zu bytes in state '%s'",
                    type, n, states[auth->state].name);
        return auth_fail(auth);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t on_refuse(struct mci_auth *auth, const uint8_t *body)
{
    auth->is_refused_by_peer = true;
    auth->refusal = body[0] <= MCI_AUTH_REFUSAL_SECRET ? body[0] : MCI_AUTH_REFUSAL_NONE;
    switch (auth->refusal) {
    case MCI_AUTH_REFUSAL_VERSION:
        mci_err_set(MCOMM_ERR_AUTH,
                    "refused: the peer speaks admission protocol %u, this library %u", body[2],
                    MCI_AUTH_VERSION);
        break;
    case MCI_AUTH_REFUSAL_ALGORITHM:
        mci_err_set(MCOMM_ERR_AUTH, "refused: the peer uses keyed hash %u, this library %u",
                    body[1], auth->algorithm);
        break;
    case MCI_AUTH_REFUSAL_SECRET:
        mci_err_set(MCOMM_ERR_AUTH, "refused: the peer has another secret");
        break;
    default:
        mci_err_set(MCOMM_ERR_AUTH, "refused by the peer for reason %u", body[0]);
        break;
    }
    return auth_fail(auth);
}

static mcomm_err_t on_hello(struct mci_auth *auth, const uint8_t *body)
{
    bool is_initiator = auth->role == MCI_AUTH_INITIATOR;
    uint8_t role = is_initiator ? MCI_AUTH_ACCEPTOR : MCI_AUTH_INITIATOR;

    if (body[0] != auth->algorithm) {
        mci_err_set(MCOMM_ERR_AUTH, "the peer uses keyed hash %u, this library %u", body[0],
                    auth->algorithm);
        return auth_refuse(auth, MCI_AUTH_REFUSAL_ALGORITHM);
    }
    if (body[1] != role || body[2] != 0 || body[3] != 0) {
        mci_err_set(MCOMM_ERR_AUTH, "malformed admission hello: role %u", body[1]);
        return auth_fail(auth);
    }
    memcpy(is_initiator ? auth->nonce_acceptor : auth->nonce_initiator, body + 4,
           MCI_AUTH_NONCE_BYTES);
    if (is_initiator)
        put_proof(auth);
    else
        put_hello(auth);
    auth_move(auth, is_initiator ? MCI_AUTH_WAIT_WELCOME : MCI_AUTH_WAIT_PROOF);
    return MCOMM_SUCCESS;
}

static mcomm_err_t on_proof(struct mci_auth *auth, const uint8_t *body, size_t nbytes)
{
    size_t n = nbytes - MCI_AUTH_MAC_BYTES;
    bool is_initiator = auth->role == MCI_AUTH_INITIATOR;
    uint8_t mac[MCI_AUTH_MAC_BYTES];

    proof_mac(auth, is_initiator ? MCI_AUTH_ACCEPTOR : MCI_AUTH_INITIATOR, body, n, mac);
    if (!mci_auth_equal(mac, body + n, sizeof(mac))) {
        mci_err_set(MCOMM_ERR_AUTH, "the peer cannot prove that it knows the secret");
        return auth_refuse(auth, MCI_AUTH_REFUSAL_SECRET);
    }
    auth->peer_payload_nbytes = n;
    if (!is_initiator)
        put_proof(auth);
    auth_move(auth, MCI_AUTH_PROVEN);
    return MCOMM_SUCCESS;
}

static mcomm_err_t on_frame(struct mci_auth *auth)
{
    const uint8_t *body = auth->in + MCI_AUTH_HEADER_BYTES;

    switch (auth->in[5]) {
    case FRAME_HELLO:
    case FRAME_CHALLENGE:
        return on_hello(auth, body);
    case FRAME_PROOF:
    case FRAME_WELCOME:
        return on_proof(auth, body, body_nbytes(auth));
    default:
        return on_refuse(auth, body);
    }
}

/* Move bytes into the frame buffer until it holds upto of them. */
static size_t take(struct mci_auth *auth, const uint8_t *p, size_t nbytes, size_t upto)
{
    size_t n = upto - auth->in_nbytes;

    if (n > nbytes)
        n = nbytes;
    memcpy(auth->in + auth->in_nbytes, p, n);
    auth->in_nbytes += n;
    return n;
}

mcomm_err_t mci_auth_input(struct mci_auth *auth, const void *buf, size_t nbytes, size_t *used_p)
{
    const uint8_t *p = buf;
    mcomm_err_t err = MCOMM_SUCCESS;
    size_t used = 0;

    if (auth->state == MCI_AUTH_FAILED)
        err = mci_err_set(MCOMM_ERR_AUTH, "this admission has failed before");
    while (err == MCOMM_SUCCESS && auth->state != MCI_AUTH_PROVEN && used < nbytes) {
        if (auth->in_nbytes < MCI_AUTH_HEADER_BYTES) {
            used += take(auth, p + used, nbytes - used, MCI_AUTH_HEADER_BYTES);
            if (auth->in_nbytes == MCI_AUTH_HEADER_BYTES)
                err = check_header(auth);
            continue;
        }
        used += take(auth, p + used, nbytes - used, MCI_AUTH_HEADER_BYTES + body_nbytes(auth));
        if (auth->in_nbytes == MCI_AUTH_HEADER_BYTES + body_nbytes(auth))
            err = on_frame(auth);
    }
    *used_p = used;
    return err;
}

bool mci_auth_done(const struct mci_auth *auth)
{
    return auth->state == MCI_AUTH_PROVEN && auth->out_sent == auth->out_nbytes;
}

const void *mci_auth_peer_payload(const struct mci_auth *auth, size_t *nbytes_p)
{
    if (auth->state != MCI_AUTH_PROVEN)
        return NULL;
    *nbytes_p = auth->peer_payload_nbytes;
    return auth->in + MCI_AUTH_HEADER_BYTES;
}

void mci_auth_fini(struct mci_auth *auth)
{
    explicit_bzero(auth->secret, sizeof(auth->secret));
}
