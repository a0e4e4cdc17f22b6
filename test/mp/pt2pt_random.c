/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Random messages against an oracle. All ranks draw the same schedule; every rank sends its part in
 * order and posts its receives in an order of its own. The k-th receive of a (source, tag) must get
 * the k-th message sent with it, whatever the sizes and the kind of call, byte for byte.
 */
#include "pt2pt_check.h"

#define MESSAGES_MAX 400
#define TAGS 3
#define ROUNDS 6
#define GUARD_BYTES 64

struct message {
    int src, dest, tag;
    size_t nbytes;
    unsigned how;
};

static int messages; /* of a round: each rank gets about as many whatever the size of the job */
static struct message all[MESSAGES_MAX];
static unsigned char *bufs[MESSAGES_MAX];
static mcomm_request_t reqs[MESSAGES_MAX];
static mcomm_status_t statuses[MESSAGES_MAX];

static size_t draw_size(uint64_t *rng)
{
    static const size_t edges[] = {0,    1,     8,     35,    36,    37,    63,    64,     4096,
                                   8192, 16383, 16384, 16385, 65535, 65536, 65537, 262144, 262145};

    switch (draw(rng, 8)) {
    case 0:
        return edges[draw(rng, sizeof(edges) / sizeof(edges[0]))];
    case 1:
        return draw(rng, 400000);
    case 2:
        return draw(rng, 40) == 0 ? 3000000 + draw(rng, 999) : draw(rng, 70000);
    default:
        return draw(rng, 2000);
    }
}

static void schedule_draw(uint64_t *rng)
{
    for (int i = 0; i < messages; i++) {
        all[i].src = (int)draw(rng, (uint32_t)mp_size);
        all[i].dest = (int)draw(rng, (uint32_t)mp_size);
        all[i].tag = draw(rng, 9) == 0 ? MCOMM_TAG_MAX : (int)draw(rng, TAGS);
        all[i].nbytes = draw_size(rng);
        all[i].how = draw(rng, 6);
    }
}

/* A list of up to 7 pieces, some empty, that covers the buffer. */
static size_t iov_draw(uint64_t *rng, unsigned char *buf, size_t nbytes, mcomm_iov_t *iov)
{
    size_t count = 0, at = 0;

    while (count < 6 && at < nbytes) {
        size_t n = draw(rng, 4) == 0 ? 0 : draw(rng, (uint32_t)(nbytes - at) + 1);

        iov[count++] = (mcomm_iov_t){n > 0 ? buf + at : NULL, n};
        at += n;
    }
    iov[count++] = (mcomm_iov_t){buf + at, nbytes - at};
    return count;
}

static void send_one(uint64_t *rng, int i)
{
    const struct message *m = &all[i];
    mcomm_iov_t iov[8];
    size_t count;

    bufs[i] = malloc(m->nbytes + 1);
    CHECK(bufs[i] != NULL);
    pattern_fill(bufs[i], m->nbytes, (uint32_t)i);
    switch (m->how) {
    case 0:
        OK(mcomm_issend(bufs[i], m->nbytes, m->dest, m->tag, MCOMM_COMM_WORLD, &reqs[i]));
        break;
    case 1:
        count = iov_draw(rng, bufs[i], m->nbytes, iov);
        OK(mcomm_isendv(iov, count, m->dest, m->tag, MCOMM_COMM_WORLD, &reqs[i]));
        memset(iov, 0xff, sizeof(iov)); /* the list is copied */
        break;
    case 2:
        OK(mcomm_send_init(bufs[i], m->nbytes, m->dest, m->tag, MCOMM_COMM_WORLD, &reqs[i]));
        OK(mcomm_start(reqs[i]));
        break;
    default:
        OK(mcomm_isend(bufs[i], m->nbytes, m->dest, m->tag, MCOMM_COMM_WORLD, &reqs[i]));
    }
}

/* Receives: which message comes is known only by (source, tag) and order, so all have room for the
 * largest. */
struct receive {
    int message; /* by the oracle */
    size_t room;
    unsigned char *buf;
    mcomm_request_t req;
    mcomm_status_t status;
};
static struct receive receives[MESSAGES_MAX];

static int receives_draw(uint64_t *rng)
{
    static int used[MESSAGES_MAX];
    int count = 0, order[MESSAGES_MAX];

    for (int i = 0; i < messages; i++)
        if (all[i].dest == mp_rank)
            order[count++] = i;
    for (int i = count - 1; i > 0; i--) { /* keys in random order */
        int j = (int)draw(rng, (uint32_t)i + 1), tmp = order[i];

        order[i] = order[j];
        order[j] = tmp;
    }
    memset(used, 0, sizeof(used));
    for (int k = 0; k < count; k++) {
        const struct message *key = &all[order[k]];
        size_t largest = 0;
        int first = -1;

        for (int i = 0; i < messages; i++) {
            if (all[i].dest != mp_rank || all[i].src != key->src || all[i].tag != key->tag)
                continue;
            if (all[i].nbytes > largest)
                largest = all[i].nbytes;
            if (first < 0 && !used[i])
                first = i;
        }
        used[first] = 1;
        receives[k].message = first;
        receives[k].room = largest;
    }
    return count;
}

static void receive_post(uint64_t *rng, struct receive *r)
{
    const struct message *m = &all[r->message];
    mcomm_iov_t iov[8];
    size_t count;

    r->buf = malloc(r->room + GUARD_BYTES);
    CHECK(r->buf != NULL);
    memset(r->buf, GUARD, r->room + GUARD_BYTES);
    if (draw(rng, 4) == 0) {
        count = iov_draw(rng, r->buf, r->room, iov);
        OK(mcomm_irecvv(iov, count, m->src, m->tag, MCOMM_COMM_WORLD, &r->req));
    } else {
        OK(mcomm_irecv(r->buf, r->room, m->src, m->tag, MCOMM_COMM_WORLD, &r->req));
    }
}

static void receive_check(struct receive *r)
{
    const struct message *m = &all[r->message];
    size_t wrong;

    CHECK(r->status.error == MCOMM_SUCCESS && r->status.cancelled == 0);
    CHECK(r->status.source == m->src && r->status.tag == m->tag);
    if (r->status.nbytes != m->nbytes)
        fprintf(stderr, "rank %d: message %d: %zu bytes, not %zu\n", mp_rank, r->message,
                r->status.nbytes, m->nbytes);
    CHECK(r->status.nbytes == m->nbytes);
    wrong = pattern_wrong_at(r->buf, m->nbytes, (uint32_t)r->message);
    if (wrong != (size_t)-1)
        fprintf(stderr, "rank %d: message %d of %zu bytes from %d: wrong at %zu\n", mp_rank,
                r->message, m->nbytes, m->src, wrong);
    CHECK(wrong == (size_t)-1);
    CHECK(guard_is_whole(r->buf + m->nbytes, r->room - m->nbytes + GUARD_BYTES));
    free(r->buf);
}

static void round_exact(uint64_t seed)
{
    uint64_t rng = seed, own = seed + 1000u + (uint64_t)mp_rank;
    int count, posted = 0, sent = 0;

    schedule_draw(&rng);
    count = receives_draw(&own);
    memset(reqs, 0, sizeof(reqs));
    while (posted < count || sent < messages) { /* mixed, so that some come unexpected */
        if (posted < count && (sent == messages || draw(&own, 3) == 0)) {
            receive_post(&own, &receives[posted++]);
        } else {
            if (all[sent].src == mp_rank)
                send_one(&own, sent);
            sent++;
        }
    }
    for (int k = 0; k < count; k++) {
        OK(mcomm_wait(&receives[k].req, MCOMM_FOREVER, &receives[k].status));
        receive_check(&receives[k]);
    }
    OK(mcomm_waitall((size_t)messages, reqs, MCOMM_FOREVER, statuses));
    for (int i = 0; i < messages; i++) {
        if (reqs[i] != MCOMM_REQUEST_NULL) /* persistent */
            OK(mcomm_request_free(&reqs[i]));
        free(bufs[i]);
        bufs[i] = NULL;
    }
}

/* Any source, any tag: whatever comes, each sender's messages come in the order sent. */
static void round_wild(uint64_t seed)
{
    enum {
        EACH = 300
    };
    uint64_t rng = seed + 77u * (uint64_t)mp_rank;
    size_t room = 40000;
    mcomm_comm_t comm;
    unsigned char *out = malloc(room), *in = malloc(room);
    int next[64] = {0};
    mcomm_request_t req[EACH];
    unsigned char *copies[EACH];

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    CHECK(out != NULL && in != NULL && mp_size <= 64);
    for (int i = 0; i < EACH; i++) {
        size_t nbytes = 8 + (draw(&rng, 4) == 0 ? draw(&rng, 39000) : draw(&rng, 300));

        copies[i] = malloc(nbytes);
        CHECK(copies[i] != NULL);
        pattern_fill(copies[i], nbytes, (uint32_t)i);
        memcpy(copies[i], &i, sizeof(i));
        OK(mcomm_isend(copies[i], nbytes, (mp_rank + 1 + i) % mp_size, i % 5, comm, &req[i]));
    }
    for (int n = 0; n < EACH; n++) { /* every rank gets as many as it sends */
        mcomm_status_t st;
        int i, expect;

        OK(mcomm_recv(in, room, MCOMM_ANY_SOURCE, MCOMM_ANY_TAG, comm, &st));
        memcpy(&i, in, sizeof(i));
        CHECK(st.source >= 0 && st.source < mp_size && st.tag == i % 5);
        expect = ((mp_rank - st.source - 1) % mp_size + mp_size) % mp_size;
        expect += next[st.source]++ * mp_size;
        CHECK(i == expect);
        memcpy(out, in, st.nbytes);
        pattern_fill(out, st.nbytes, (uint32_t)i);
        CHECK(memcmp(out + 8, in + 8, st.nbytes - 8) == 0);
    }
    OK(mcomm_waitall(EACH, req, MCOMM_FOREVER, NULL));
    for (int i = 0; i < EACH; i++)
        free(copies[i]);
    free(out);
    free(in);
    OK(mcomm_comm_free(&comm));
    test_meet(MCOMM_TAG_MAX - 1);
}

int main(void)
{
    mp_init();
    messages = mp_size < 4 ? 100 * mp_size : MESSAGES_MAX;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t seed = 20261130u + round;

        if (mp_rank == 0)
            printf("seed %llu\n", (unsigned long long)seed);
        round_exact(seed);
        if (300 % mp_size == 0 || mp_size == 1)
            round_wild(seed);
    }
    OK(mcomm_finalize());
    return 0;
}
