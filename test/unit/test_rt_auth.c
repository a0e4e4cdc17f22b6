/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Admission: who knows the secret gets in, with its payload; everybody else stays out, with a
 * reason. */
#include "config.h"

#include "rt/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t secret_a[MCI_AUTH_SECRET_BYTES] = "the secret of the first job....";
static const uint8_t secret_b[MCI_AUTH_SECRET_BYTES] = "the secret of another job......";

/* Carry what from has to say to to, chunk bytes at a time. @return to's verdict */
static mcomm_err_t carry(struct mci_auth *from, struct mci_auth *to, size_t chunk)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    const void *buf;
    size_t nbytes, used;

    while ((nbytes = mci_auth_output(from, &buf)) > 0 && err == MCOMM_SUCCESS) {
        nbytes = nbytes < chunk ? nbytes : chunk;
        err = mci_auth_input(to, buf, nbytes, &used);
        mci_auth_sent(from, err == MCOMM_SUCCESS ? used : nbytes);
        if (err == MCOMM_SUCCESS && used == 0)
            break;
    }
    return err;
}

static mcomm_err_t converse(struct mci_auth *a, struct mci_auth *b, size_t chunk)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; i < 4 && err == MCOMM_SUCCESS; i++) {
        err = carry(a, b, chunk);
        if (err == MCOMM_SUCCESS)
            err = carry(b, a, chunk);
    }
    return err;
}

static void same_secret_admits_both_in_any_chunks(void **state)
{
    static const size_t chunks[] = {1, 3, 8, 45, 2000};
    static uint8_t large[MCI_AUTH_PAYLOAD_MAX];
    struct mci_auth a, b;
    size_t nbytes;

    (void)state;
    memset(large, 0x5a, sizeof(large));
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        assert_int_equal(mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, large, sizeof(large)), 0);
        assert_int_equal(mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, "bee", 3), 0);
        assert_null(mci_auth_peer_payload(&b, &nbytes));
        assert_int_equal(converse(&a, &b, chunks[i]), MCOMM_SUCCESS);
        assert_true(mci_auth_done(&a));
        assert_true(mci_auth_done(&b));
        assert_memory_equal(mci_auth_peer_payload(&a, &nbytes), "bee", 3);
        assert_int_equal(nbytes, 3);
        assert_memory_equal(mci_auth_peer_payload(&b, &nbytes), large, sizeof(large));
        assert_int_equal(nbytes, sizeof(large));
    }
}

static void empty_payloads_are_fine(void **state)
{
    struct mci_auth a, b;
    size_t nbytes = 1;

    (void)state;
    assert_int_equal(mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0), 0);
    assert_int_equal(mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0), 0);
    assert_int_equal(converse(&a, &b, 64), MCOMM_SUCCESS);
    assert_non_null(mci_auth_peer_payload(&a, &nbytes));
    assert_int_equal(nbytes, 0);
}

static void too_long_a_payload_is_an_argument_error(void **state)
{
    static uint8_t large[MCI_AUTH_PAYLOAD_MAX + 1];
    struct mci_auth a;

    (void)state;
    assert_int_equal(mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, large, sizeof(large)),
                     MCOMM_ERR_ARG);
}

static void another_secret_is_refused_and_both_know_why(void **state)
{
    struct mci_auth a, b;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, "x", 1);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_b, "y", 1);
    assert_int_equal(converse(&a, &b, 100), MCOMM_ERR_AUTH);
    assert_int_equal(b.refusal, MCI_AUTH_REFUSAL_SECRET);
    assert_int_equal(carry(&b, &a, 100), MCOMM_ERR_AUTH);
    assert_int_equal(a.refusal, MCI_AUTH_REFUSAL_SECRET);
    assert_true(a.is_refused_by_peer);
    assert_false(mci_auth_done(&a));
    assert_false(mci_auth_done(&b));
}

/* An impostor behind the listener's address cannot make the initiator believe it. */
static void initiator_does_not_believe_a_wrong_welcome(void **state)
{
    struct mci_auth a, b, forged;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    assert_int_equal(carry(&a, &b, 100), 0);
    assert_int_equal(carry(&b, &a, 100), 0);
    assert_int_equal(carry(&a, &b, 2000), 0);
    forged = b;
    forged.out[MCI_AUTH_HEADER_BYTES + 3] ^= 1;
    assert_int_equal(carry(&forged, &a, 2000), MCOMM_ERR_AUTH);
    assert_false(mci_auth_done(&a));
}

/* Sending an initiator's own proof back to it must not do. */
static void mirrored_proof_is_no_welcome(void **state)
{
    struct mci_auth a, b;
    uint8_t frame[MCI_AUTH_FRAME_MAX];
    const void *buf;
    size_t nbytes, used;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, "same", 4);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, "same", 4);
    assert_int_equal(carry(&a, &b, 100), 0);
    assert_int_equal(carry(&b, &a, 100), 0);
    nbytes = mci_auth_output(&a, &buf);
    memcpy(frame, buf, nbytes);
    frame[5] = 4; /* proof becomes welcome */
    assert_int_equal(mci_auth_input(&a, frame, nbytes, &used), MCOMM_ERR_AUTH);
}

static void replayed_proof_is_refused(void **state)
{
    struct mci_auth a, b, c;
    uint8_t hello[MCI_AUTH_FRAME_MAX], proof[MCI_AUTH_FRAME_MAX];
    size_t hello_nbytes, proof_nbytes, used;
    const void *buf;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    hello_nbytes = mci_auth_output(&a, &buf);
    memcpy(hello, buf, hello_nbytes);
    assert_int_equal(carry(&a, &b, 100), 0);
    assert_int_equal(carry(&b, &a, 100), 0);
    proof_nbytes = mci_auth_output(&a, &buf);
    memcpy(proof, buf, proof_nbytes);
    mci_auth_start(&c, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    assert_int_equal(mci_auth_input(&c, hello, hello_nbytes, &used), 0);
    mci_auth_sent(&c, MCI_AUTH_FRAME_MAX);
    assert_int_equal(mci_auth_input(&c, proof, proof_nbytes, &used), MCOMM_ERR_AUTH);
    assert_int_equal(mci_auth_input(&b, proof, proof_nbytes, &used), 0); /* the real one */
}

static void other_algorithm_or_version_is_named(void **state)
{
    struct mci_auth a, b;
    const void *buf;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    a.out[MCI_AUTH_HEADER_BYTES] = 77;
    assert_int_equal(carry(&a, &b, 100), MCOMM_ERR_AUTH);
    assert_non_null(strstr(mcomm_last_error(), "77"));
    assert_true(mci_auth_output(&b, &buf) > 0);
    assert_int_equal(carry(&b, &a, 100), MCOMM_ERR_AUTH);
    assert_int_equal(a.refusal, MCI_AUTH_REFUSAL_ALGORITHM);

    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    a.out[4] = 9;
    assert_int_equal(carry(&a, &b, 100), MCOMM_ERR_AUTH);
    assert_non_null(strstr(mcomm_last_error(), "protocol 9"));
    assert_int_equal(carry(&b, &a, 100), MCOMM_ERR_AUTH);
    assert_int_equal(a.refusal, MCI_AUTH_REFUSAL_VERSION);
}

static void what_follows_the_admission_stays_with_the_caller(void **state)
{
    uint8_t frame[MCI_AUTH_FRAME_MAX + 16];
    struct mci_auth a, b;
    const void *buf;
    size_t nbytes, used;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    assert_int_equal(carry(&a, &b, 100), 0);
    assert_int_equal(carry(&b, &a, 100), 0);
    nbytes = mci_auth_output(&a, &buf);
    memcpy(frame, buf, nbytes);
    memset(frame + nbytes, 'z', 16);
    assert_int_equal(mci_auth_input(&b, frame, nbytes + 16, &used), 0);
    assert_int_equal(used, nbytes);
    assert_int_equal(mci_auth_input(&b, frame + used, 16, &used), 0);
    assert_int_equal(used, 0);
}

static void roles_must_differ(void **state)
{
    struct mci_auth a, b;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    assert_int_equal(carry(&a, &b, 100), MCOMM_ERR_AUTH);
}

static void secret_is_wiped_once_it_is_not_needed(void **state)
{
    static const uint8_t zero[MCI_AUTH_SECRET_BYTES];
    struct mci_auth a, b;

    (void)state;
    mci_auth_start(&a, MCI_AUTH_INITIATOR, secret_a, NULL, 0);
    mci_auth_start(&b, MCI_AUTH_ACCEPTOR, secret_a, NULL, 0);
    assert_int_equal(converse(&a, &b, 2000), MCOMM_SUCCESS);
    assert_memory_equal(a.secret, zero, sizeof(zero));
    assert_memory_equal(b.secret, zero, sizeof(zero));
}

/* Keyed BLAKE2b-256 computed with an independent implementation (Python's hashlib). */
static void keyed_hash_gives_known_values(void **state)
{
    static const uint8_t empty[] = {
        0x4e, 0x51, 0xe7, 0xa9, 0x13, 0xfc, 0x80, 0x13, 0x7d, 0xa5, 0x28,
        0x80, 0xfe, 0xcc, 0xa1, 0x75, 0xbf, 0x81, 0xe1, 0x17, 0xd5, 0xc6,
        0x81, 0x26, 0xdc, 0x27, 0x74, 0x03, 0x35, 0x17, 0xea, 0x0d,
    };
    static const uint8_t long_text[] = {
        0xeb, 0x07, 0xb4, 0x28, 0xf1, 0x67, 0x4f, 0x65, 0x98, 0xaa, 0xec,
        0xf9, 0xb8, 0x98, 0xc5, 0x20, 0x82, 0x49, 0x10, 0xd6, 0xf4, 0xc5,
        0x31, 0xe6, 0xf6, 0x2f, 0x81, 0xb9, 0xd5, 0x94, 0x63, 0x87,
    };
    uint8_t key[MCI_AUTH_SECRET_BYTES], msg[1000], mac[MCI_AUTH_MAC_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(msg); i++)
        msg[i] = (uint8_t)(i * 7 + 3);
    mci_auth_blake2b(mac, key, NULL, 0);
    assert_memory_equal(mac, empty, sizeof(mac));
    mci_auth_blake2b(mac, key, msg, sizeof(msg));
    assert_memory_equal(mac, long_text, sizeof(mac));
}

/* A build with libsodium and one without must admit each other. */
static void both_implementations_of_the_hash_agree(void **state)
{
    uint8_t msg[700], a[MCI_AUTH_MAC_BYTES], b[MCI_AUTH_MAC_BYTES];

    (void)state;
    memset(msg, 0xc3, sizeof(msg));
    for (size_t n = 0; n <= sizeof(msg); n++) {
        mci_auth_mac(a, secret_a, msg, n);
        mci_auth_blake2b(b, secret_a, msg, n);
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void derived_secrets_differ_by_label_and_salt(void **state)
{
    uint8_t a[MCI_AUTH_SECRET_BYTES], b[MCI_AUTH_SECRET_BYTES], c[MCI_AUTH_SECRET_BYTES];

    (void)state;
    mci_auth_derive(a, secret_a, "one", NULL, 0);
    mci_auth_derive(b, secret_a, "two", NULL, 0);
    mci_auth_derive(c, secret_a, "one", "salt", 4);
    assert_false(mci_auth_equal(a, b, sizeof(a)));
    assert_false(mci_auth_equal(a, c, sizeof(a)));
    mci_auth_derive(b, secret_a, "one", NULL, 0);
    assert_true(mci_auth_equal(a, b, sizeof(a)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_secret_admits_both_in_any_chunks),
        cmocka_unit_test(empty_payloads_are_fine),
        cmocka_unit_test(too_long_a_payload_is_an_argument_error),
        cmocka_unit_test(another_secret_is_refused_and_both_know_why),
        cmocka_unit_test(initiator_does_not_believe_a_wrong_welcome),
        cmocka_unit_test(mirrored_proof_is_no_welcome),
        cmocka_unit_test(replayed_proof_is_refused),
        cmocka_unit_test(other_algorithm_or_version_is_named),
        cmocka_unit_test(what_follows_the_admission_stays_with_the_caller),
        cmocka_unit_test(roles_must_differ),
        cmocka_unit_test(secret_is_wiped_once_it_is_not_needed),
        cmocka_unit_test(keyed_hash_gives_known_values),
        cmocka_unit_test(both_implementations_of_the_hash_agree),
        cmocka_unit_test(derived_secrets_differ_by_label_and_salt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
