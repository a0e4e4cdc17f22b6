/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What each call of chapter 7 promises, between rank 0 and rank 1 (or a rank and itself):
 * synchronous sends, probes, matched messages, cancel, persistent requests, lists, truncation,
 * nobody, bad arguments.
 */
#include "pt2pt_check.h"

#define WORLD MCOMM_COMM_WORLD
#define LARGE ((size_t)300000)

static int other; /* the partner; this rank itself in a job of one */
static unsigned char *big, *room;

/* Both sides have come here. */
static void pair_meet(void)
{
    if (other != mp_rank)
        OK(mcomm_sendrecv(NULL, 0, other, 999, NULL, 0, other, 999, WORLD, NULL));
}

static int is_first(void)
{
    return mp_rank % 2 == 0;
}
static int is_second(void)
{
    return mp_rank % 2 == 1 || other == mp_rank;
}

static int test_now(mcomm_request_t *req)
{
    int done = -1;

    OK(mcomm_test(req, &done, NULL));
    return done;
}

static void ssend_waits_for_the_match(size_t nbytes)
{
    mcomm_request_t req = MCOMM_REQUEST_NULL;

    if (is_first()) {
        pattern_fill(big, nbytes, 3);
        OK(mcomm_issend(big, nbytes, other, 1, WORLD, &req));
        for (int i = 0; i < 1000; i++)
            CHECK(!test_now(&req));
    }
    pair_meet(); /* the receiver has not posted before this */
    if (is_second()) {
        OK(mcomm_recv(room, LARGE, other, 1, WORLD, NULL));
        CHECK(pattern_wrong_at(room, nbytes, 3) == (size_t)-1);
    }
    OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
    pair_meet();
    if (other == mp_rank)
        return;
    if (is_first())
        OK(mcomm_ssend(big, nbytes, other, 2, WORLD));
    else
        OK(mcomm_recv(room, LARGE, other, 2, WORLD, NULL));
}

static void probes_see_and_keep(size_t nbytes)
{
    mcomm_message_t message = MCOMM_MESSAGE_NULL;
    mcomm_request_t req = MCOMM_REQUEST_NULL, in;
    mcomm_status_t st;
    int found = -1;

    if (is_first()) {
        pattern_fill(big, nbytes, 4);
        OK(mcomm_isend(big, nbytes, other, 7, WORLD, &req));
    }
    if (is_second()) {
        OK(mcomm_probe(MCOMM_ANY_SOURCE, 7, WORLD, &st));
        CHECK(st.source == other && st.tag == 7 && st.nbytes == nbytes);
        OK(mcomm_iprobe(other, MCOMM_ANY_TAG, WORLD, &found, &st));
        CHECK(found == 1 && st.nbytes == nbytes && st.tag == 7);
        OK(mcomm_iprobe(other, 8, WORLD, &found, NULL));
        CHECK(found == 0);
        OK(mcomm_mprobe(other, 7, WORLD, &message, &st));
        CHECK(message != MCOMM_MESSAGE_NULL && st.nbytes == nbytes);
        OK(mcomm_iprobe(other, 7, WORLD, &found, NULL)); /* taken: nobody else sees it */
        CHECK(found == 0);
        memset(room, GUARD, LARGE);
        if (nbytes % 2 == 0) {
            OK(mcomm_mrecv(room, LARGE, &message, &st));
        } else {
            OK(mcomm_imrecv(room, LARGE, &message, &in));
            OK(mcomm_wait(&in, MCOMM_FOREVER, &st));
        }
        CHECK(message == MCOMM_MESSAGE_NULL && st.nbytes == nbytes && st.source == other);
        CHECK(pattern_wrong_at(room, nbytes, 4) == (size_t)-1);
        OK(mcomm_improbe(other, 7, WORLD, &found, &message, &st));
        CHECK(found == 0 && message == MCOMM_MESSAGE_NULL);
        EXPECT(MCOMM_ERR_MESSAGE, mcomm_mrecv(room, LARGE, &message, NULL));
    }
    OK(mcomm_wait(&req, MCOMM_FOREVER, NULL));
    pair_meet();
}

/* A receive posted later must not get the message that a probe took. */
static void matched_message_keeps_out_of_matching(void)
{
    mcomm_message_t message;
    int value = 1, got = 0;

    if (is_first()) {
        OK(mcomm_send(&value, sizeof(value), other, 9, WORLD));
        value = 2;
        OK(mcomm_send(&value, sizeof(value), other, 9, WORLD));
    }
    if (is_second()) {
        OK(mcomm_mprobe(other, 9, WORLD, &message, NULL));
        OK(mcomm_recv(&got, sizeof(got), other, 9, WORLD, NULL));
        CHECK(got == 2);
        OK(mcomm_mrecv(&got, sizeof(got), &message, NULL));
        CHECK(got == 1);
    }
    pair_meet();
}

static void truncation_is_this_receive_only(size_t sent, size_t want, int how)
{
    mcomm_message_t message;
    mcomm_request_t req = MCOMM_REQUEST_NULL, in;
    mcomm_status_t st = {0};
    mcomm_iov_t iov[3] = {{room, want / 3}, {NULL, 0}, {room + want / 3, want - want / 3}};
    char text[32];
    size_t index;

    memset(room, GUARD, LARGE);
    if (is_first()) {
        pattern_fill(big, sent, 5);
        OK(mcomm_isend(big, sent, other, 11, WORLD, &req));
    }
    if (is_second()) {
        switch (how) {
        case 0:
            EXPECT(MCOMM_ERR_TRUNCATE, mcomm_recv(room, want, other, 11, WORLD, &st));
            break;
        case 1:
            OK(mcomm_irecv(room, want, other, 11, WORLD, &in));
            EXPECT(MCOMM_ERR_TRUNCATE, mcomm_waitany(1, &in, MCOMM_FOREVER, &index, &st));
            CHECK(index == 0 && in == MCOMM_REQUEST_NULL);
            break;
        case 2:
            OK(mcomm_irecvv(iov, 3, other, 11, WORLD, &in));
            EXPECT(MCOMM_ERR_TRUNCATE, mcomm_wait(&in, MCOMM_FOREVER, &st));
            break;
        default:
            OK(mcomm_mprobe(other, 11, WORLD, &message, NULL));
            EXPECT(MCOMM_ERR_TRUNCATE, mcomm_mrecv(room, want, &message, &st));
        }
        snprintf(text, sizeof(text), "%zu bytes", sent);
        CHECK(strstr(mcomm_last_error(), text) != NULL);
        snprintf(text, sizeof(text), "%zu bytes", want);
        CHECK(strstr(mcomm_last_error(), text) != NULL);
        CHECK(st.error == MCOMM_ERR_TRUNCATE && st.nbytes == sent && st.source == other);
        CHECK(pattern_wrong_at(room, want, 5) == (size_t)-1);
        CHECK(guard_is_whole(room + want, LARGE - want));
    }
    OK(mcomm_wait(&req, MCOMM_FOREVER, NULL)); /* the sender's part went well */
    for (int i = 0; i < 10 && other != mp_rank; i++) {
        int value = i, got = -1;

        OK(mcomm_sendrecv(&value, sizeof(value), other, 12, &got, sizeof(got), other, 12, WORLD,
                          NULL));
        CHECK(got == i);
    }
}

static void receives_can_be_cancelled(void)
{
    mcomm_request_t req, second;
    mcomm_status_t st;
    int value = 42, got = 0, late = 0;

    OK(mcomm_irecv(&got, sizeof(got), other, 13, WORLD, &req));
    OK(mcomm_cancel(req));
    EXPECT(MCOMM_ERR_CANCELLED, mcomm_wait(&req, MCOMM_FOREVER, &st));
    CHECK(st.cancelled == 1 && st.error == MCOMM_ERR_CANCELLED && req == MCOMM_REQUEST_NULL);
    pair_meet();
    OK(mcomm_irecv(&late, sizeof(late), other, 13, WORLD, &second));
    OK(mcomm_send(&value, sizeof(value), other, 13, WORLD));
    OK(mcomm_wait(&second, MCOMM_FOREVER, &st));
    CHECK(late == 42 && got == 0 && st.cancelled == 0);
    pair_meet();
}

static void persistent_requests_start_again(void)
{
    enum {
        TIMES = 50
    };
    size_t nbytes = 5000;
    mcomm_request_t reqs[3];
    mcomm_status_t st[3];
    unsigned char *out = big, *out2 = big + nbytes;

    OK(mcomm_recv_init(room, nbytes, other, 14, WORLD, &reqs[0]));
    OK(mcomm_send_init(out, nbytes, other, 14, WORLD, &reqs[1]));
    OK(mcomm_ssend_init(out2, nbytes, MCOMM_RANK_NULL, 14, WORLD, &reqs[2]));
    OK(mcomm_wait(&reqs[0], MCOMM_FOREVER, &st[0])); /* inactive: complete, empty status */
    CHECK(st[0].source == MCOMM_ANY_SOURCE && reqs[0] != MCOMM_REQUEST_NULL);
    for (uint32_t i = 0; i < TIMES; i++) {
        pattern_fill(out, nbytes, i);
        OK(mcomm_startall(3, reqs));
        EXPECT(MCOMM_ERR_STATE, mcomm_start(reqs[0]));
        OK(mcomm_waitall(3, reqs, MCOMM_FOREVER, st));
        CHECK(st[0].nbytes == nbytes && st[0].source == other);
        CHECK(pattern_wrong_at(room, nbytes, i) == (size_t)-1);
    }
    OK(mcomm_request_free(&reqs[1]));
    reqs[1] = reqs[0]; /* the same one twice: nothing is started */
    EXPECT(MCOMM_ERR_STATE, mcomm_startall(3, reqs));
    OK(mcomm_waitall(3, reqs, 0, NULL));
    OK(mcomm_request_free(&reqs[0]));
    OK(mcomm_request_free(&reqs[2]));
    pair_meet();
}

static void long_lists_work(void)
{
    size_t count = (size_t)1 << 20, used = 0;
    mcomm_iov_t *iov = calloc(count, sizeof(*iov));
    mcomm_request_t out, in;
    mcomm_status_t st;

    CHECK(iov != NULL);
    for (size_t i = 0; i < count; i += 5) { /* four of five are empty */
        iov[i] = (mcomm_iov_t){big + used, 1};
        used++;
    }
    pattern_fill(big, used, 6);
    memset(room, GUARD, LARGE);
    OK(mcomm_irecv(room, LARGE, other, 15, WORLD, &in));
    OK(mcomm_isendv(iov, count, other, 15, WORLD, &out));
    OK(mcomm_wait(&in, MCOMM_FOREVER, &st));
    OK(mcomm_wait(&out, MCOMM_FOREVER, NULL));
    CHECK(st.nbytes == used && pattern_wrong_at(room, used, 6) == (size_t)-1);
    EXPECT(MCOMM_ERR_COUNT, mcomm_isendv(iov, count + 1, other, 15, WORLD, &out));
    free(iov);
    OK(mcomm_irecvv(NULL, 0, other, 16, WORLD, &in));
    OK(mcomm_isendv(NULL, 0, other, 16, WORLD, &out));
    OK(mcomm_wait(&out, MCOMM_FOREVER, NULL));
    OK(mcomm_wait(&in, MCOMM_FOREVER, &st));
    CHECK(st.nbytes == 0 && st.tag == 16);
    pair_meet();
}

static void nobody_is_a_peer(void)
{
    mcomm_message_t message = MCOMM_MESSAGE_NULL;
    mcomm_request_t req;
    mcomm_status_t st = {0};
    int found = 0, value = 5;

    OK(mcomm_send(&value, sizeof(value), MCOMM_RANK_NULL, 1, WORLD));
    OK(mcomm_ssend(&value, sizeof(value), MCOMM_RANK_NULL, 1, WORLD));
    OK(mcomm_recv(&value, sizeof(value), MCOMM_RANK_NULL, 1, WORLD, &st));
    CHECK(st.source == MCOMM_RANK_NULL && st.nbytes == 0 && value == 5);
    OK(mcomm_irecv(&value, sizeof(value), MCOMM_RANK_NULL, 1, WORLD, &req));
    OK(mcomm_wait(&req, MCOMM_FOREVER, &st));
    CHECK(st.source == MCOMM_RANK_NULL);
    OK(mcomm_probe(MCOMM_RANK_NULL, 1, WORLD, &st));
    OK(mcomm_iprobe(MCOMM_RANK_NULL, 1, WORLD, &found, &st));
    CHECK(found == 1 && st.source == MCOMM_RANK_NULL);
    OK(mcomm_mprobe(MCOMM_RANK_NULL, 1, WORLD, &message, &st));
    OK(mcomm_mrecv(&value, sizeof(value), &message, &st));
    CHECK(message == MCOMM_MESSAGE_NULL && st.source == MCOMM_RANK_NULL && value == 5);
    OK(mcomm_improbe(MCOMM_RANK_NULL, 1, WORLD, &found, &message, &st));
    CHECK(found == 1);
    OK(mcomm_imrecv(&value, sizeof(value), &message, &req));
    OK(mcomm_wait(&req, MCOMM_FOREVER, &st));
    CHECK(st.source == MCOMM_RANK_NULL && st.nbytes == 0);
    OK(mcomm_sendrecv(&value, sizeof(value), MCOMM_RANK_NULL, 1, &value, sizeof(value),
                      MCOMM_RANK_NULL, 1, WORLD, &st));
    CHECK(st.source == MCOMM_RANK_NULL);
}

static int text_has(const char *word)
{
    return strstr(mcomm_last_error(), word) != NULL;
}

static void bad_arguments_are_named(void)
{
    mcomm_comm_t junk = (mcomm_comm_t)(uintptr_t)0x12345678;
    mcomm_message_t no_message = (mcomm_message_t)(uintptr_t)0x1234;
    mcomm_iov_t bad_piece[2] = {{big, 4}, {NULL, 4}};
    mcomm_iov_t too_much[2] = {{big, SIZE_MAX / 2}, {big, SIZE_MAX / 2}};
    mcomm_request_t req = MCOMM_REQUEST_NULL;
    int value = 0;

    EXPECT(MCOMM_ERR_COMM, mcomm_send(&value, 4, 0, 0, MCOMM_COMM_NULL));
    EXPECT(MCOMM_ERR_COMM, mcomm_send(&value, 4, 0, 0, junk));
    EXPECT(MCOMM_ERR_RANK, mcomm_send(&value, 4, mp_size, 0, WORLD));
    CHECK(text_has("dest"));
    EXPECT(MCOMM_ERR_RANK, mcomm_send(&value, 4, MCOMM_ANY_SOURCE, 0, WORLD));
    EXPECT(MCOMM_ERR_RANK, mcomm_recv(&value, 4, mp_size, 0, WORLD, NULL));
    CHECK(text_has("source"));
    EXPECT(MCOMM_ERR_RANK, mcomm_recv(&value, 4, -3, 0, WORLD, NULL));
    EXPECT(MCOMM_ERR_TAG, mcomm_send(&value, 4, 0, -1, WORLD));
    CHECK(text_has("tag = -1"));
    EXPECT(MCOMM_ERR_TAG, mcomm_irecv(&value, 4, 0, -2, WORLD, &req));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_send(NULL, 4, 0, 0, WORLD));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_recv(NULL, 4, 0, 0, WORLD, NULL));
    EXPECT(MCOMM_ERR_COUNT, mcomm_isend(&value, (size_t)-4, 0, 0, WORLD, &req));
    CHECK(text_has("-4"));
    EXPECT(MCOMM_ERR_ARG, mcomm_isend(&value, 4, 0, 0, WORLD, NULL));
    CHECK(text_has("request_p"));
    EXPECT(MCOMM_ERR_ARG, mcomm_isendv(NULL, 2, 0, 0, WORLD, &req));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_isendv(bad_piece, 2, 0, 0, WORLD, &req));
    CHECK(text_has("iov[1]"));
    EXPECT(MCOMM_ERR_COUNT, mcomm_irecvv(too_much, 2, 0, 0, WORLD, &req));
    EXPECT(MCOMM_ERR_ARG, mcomm_iprobe(0, 0, WORLD, NULL, NULL));
    EXPECT(MCOMM_ERR_ARG, mcomm_mprobe(0, 0, WORLD, NULL, NULL));
    EXPECT(MCOMM_ERR_MESSAGE, mcomm_mrecv(&value, 4, &no_message, NULL));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_sendrecv(big, 100, 0, 0, big + 99, 100, 0, 0, WORLD, NULL));
    CHECK(text_has("overlap"));
    CHECK(req == MCOMM_REQUEST_NULL);
}

static void zero_bytes_and_large_tags(void)
{
    static const int tags[] = {0, 1 << 20, 1 << 23, (1 << 23) + 1, 1 << 30, MCOMM_TAG_MAX};
    mcomm_status_t st;

    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        mcomm_request_t req;

        OK(mcomm_irecv(NULL, 0, other, tags[i], WORLD, &req));
        OK(mcomm_send(NULL, 0, other, tags[i], WORLD));
        OK(mcomm_wait(&req, MCOMM_FOREVER, &st));
        CHECK(st.tag == tags[i] && st.nbytes == 0 && st.source == other);
    }
    OK(mcomm_sendrecv(NULL, 0, other, 1, NULL, 0, other, 1, WORLD, &st));
    OK(mcomm_sendrecv(big, 0, other, 1, big, 0, other, 1, WORLD, &st));
}

/* 10,000 receives, posted and matched in opposite orders, some of them open. */
static void many_receives(void)
{
    enum {
        MANY = 10000
    };
    mcomm_request_t *reqs = calloc(MANY, sizeof(*reqs));
    mcomm_status_t *st = calloc(MANY, sizeof(*st));
    int *values = calloc(MANY, sizeof(*values));

    CHECK(reqs != NULL && st != NULL && values != NULL);
    for (int i = 0; i < MANY; i++)
        OK(mcomm_irecv(&values[i], sizeof(int), i % 7 == 0 ? MCOMM_ANY_SOURCE : other, MANY + i,
                       WORLD, &reqs[i]));
    pair_meet();
    for (int i = MANY - 1; i >= 0; i--)
        OK(mcomm_send(&i, sizeof(i), other, MANY + i, WORLD));
    OK(mcomm_waitall(MANY, reqs, MCOMM_FOREVER, st));
    for (int i = 0; i < MANY; i++)
        CHECK(values[i] == i && st[i].tag == MANY + i && st[i].source == other);
    free(reqs);
    free(st);
    free(values);
}

int main(void)
{
    static const size_t sizes[] = {0, 8, 36, 1001, 16000, 65536, LARGE - 1, LARGE};

    mp_init();
    big = malloc(2 * LARGE);
    room = malloc(2 * LARGE);
    CHECK(big != NULL && room != NULL);
    other = mp_rank ^ 1;
    if (other >= mp_size)
        other = mp_rank;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ssend_waits_for_the_match(sizes[i]);
        probes_see_and_keep(sizes[i]);
    }
    matched_message_keeps_out_of_matching();
    for (int how = 0; how < 4; how++) {
        truncation_is_this_receive_only(8, 4, how);
        truncation_is_this_receive_only(8, 0, how);
        truncation_is_this_receive_only(15000, 9999, how);
        truncation_is_this_receive_only(60000, 59999, how);
        truncation_is_this_receive_only(LARGE, 1000, how);
        truncation_is_this_receive_only(LARGE, LARGE - 7, how);
    }
    receives_can_be_cancelled();
    persistent_requests_start_again();
    long_lists_work();
    nobody_is_a_peer();
    bad_arguments_are_named();
    zero_bytes_and_large_tags();
    many_receives();
    test_meet(1000);
    free(big);
    free(room);
    OK(mcomm_finalize());
    return 0;
}
