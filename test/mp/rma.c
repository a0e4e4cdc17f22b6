/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Random one-sided operations against an oracle: every rank draws the same script, does its own
 * part of it, and applies all of it to a model of everybody's memory. In a round each origin has a
 * stripe of each target to itself; between rounds all is compared. Seeds are fixed and printed.
 */
#include "mp.h"
#include "common/random.h"

#include <stdint.h>

#define STRIPE 65536u /* bytes of one origin in one target */
#define ROUNDS 24
#define OPS 8

static uint64_t seed_state;

static uint64_t next_random(void)
{
    return rnd(&seed_state);
}

static mcomm_win_t win;
static unsigned char *base;   /* own part */
static unsigned char **model; /* of all parts */
static uint64_t *address;     /* dynamic: of all parts */
static size_t part_nbytes, big;
static int is_dynamic;

static size_t unit_of(int rank)
{
    static const size_t units[] = {1, 8, 4, 2};

    return is_dynamic ? 1 : units[rank % 4];
}

static uint64_t disp_of(int target, size_t offset)
{
    return is_dynamic ? address[target] + offset : offset / unit_of(target);
}

static void window_make(const char *kind)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;

    big = (size_t)STRIPE * 8; /* room for large transfers behind the stripes */
    part_nbytes = (size_t)mp_size * STRIPE + (size_t)mp_size * big;
    attr.nbytes = part_nbytes;
    attr.disp_unit = unit_of(mp_rank);
    address = calloc((size_t)mp_size, sizeof(uint64_t));
    if (strcmp(kind, "allocate") == 0) {
        OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&base, &win));
    } else if (strcmp(kind, "create") == 0) {
        base = calloc(1, part_nbytes);
        OK(mcomm_win_create(base, &attr, MCOMM_COMM_WORLD, &win));
    } else {
        is_dynamic = 1;
        attr.disp_unit = 0;
        base = calloc(1, part_nbytes);
        OK(mcomm_win_create_dynamic(&attr, MCOMM_COMM_WORLD, &win));
        OK(mcomm_win_attach(win, base, part_nbytes));
        address[mp_rank] = (uint64_t)(uintptr_t)base;
        OK(mcomm_allgather(MCOMM_IN_PLACE, address, 1, MCOMM_UINT64, MCOMM_COMM_WORLD));
    }
    model = calloc((size_t)mp_size, sizeof(*model));
    for (int i = 0; i < mp_size; i++)
        model[i] = calloc(1, part_nbytes);
}

static void window_free(const char *kind)
{
    OK(mcomm_win_free(&win));
    CHECK(win == MCOMM_WIN_NULL);
    if (strcmp(kind, "allocate") != 0)
        free(base);
    for (int i = 0; i < mp_size; i++)
        free(model[i]);
    free(model);
    free(address);
}

/* One operation of origin on its stripe of target: drawn by all, done by origin, applied to the
 * model by all. */
struct script {
    int origin, target, kind;
    size_t offset, nbytes;
    uint64_t salt;
};

static struct script draw(int origin)
{
    struct script s = {.origin = origin};
    size_t area = (size_t)origin * STRIPE, room = STRIPE;

    s.target = (int)(next_random() % (uint64_t)mp_size);
    s.kind = (int)(next_random() % 8);
    s.salt = next_random();
    if (s.kind < 3 && next_random() % 3 == 0) {
        area = (size_t)mp_size * STRIPE + (size_t)origin * big;
        room = big;
    }
    s.nbytes = next_random() % 4 == 0 ? next_random() % room : next_random() % 300;
    s.offset = next_random() % (room - s.nbytes);
    s.offset -= s.offset % 8;
    if (s.kind >= 3) /* elements of 8 bytes */
        s.nbytes -= s.nbytes % 8;
    s.offset += area;
    return s;
}

static void fill(unsigned char *buf, size_t nbytes, uint64_t salt)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = (unsigned char)(salt >> (i % 8 * 8)) + (unsigned char)i;
}

static void apply_words(unsigned char *at, const unsigned char *data, size_t nbytes, int is_sum)
{
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t a, b;

        memcpy(&a, at + i, 8);
        memcpy(&b, data + i, 8);
        a = is_sum ? a + b : a ^ b;
        memcpy(at + i, &a, 8);
    }
}

/* What origin does; checks what it reads. data lives until the round ends. */
static void perform(const struct script *s, unsigned char *data, unsigned char *result,
                    mcomm_request_t *req)
{
    const unsigned char *before = model[s->target] + s->offset;
    uint64_t disp = disp_of(s->target, s->offset), word, old;

    switch (s->kind) {
    case 0:
        OK(mcomm_put(data, s->nbytes, s->target, disp, win));
        break;
    case 1:
        OK(mcomm_rput(data, s->nbytes, s->target, disp, win, req));
        break;
    case 2: {
        size_t half = s->nbytes / 16 * 8;
        mcomm_rma_seg_t segs[2] = {
            {data, half, disp},
            {data + half, s->nbytes - half, disp_of(s->target, s->offset + half)}};

        OK(mcomm_putv(segs, 2, s->target, win));
        break;
    }
    case 3:
        OK(mcomm_accumulate(data, s->nbytes / 8, MCOMM_UINT64, s->target, disp, MCOMM_SUM, win));
        break;
    case 4:
        OK(mcomm_get_accumulate(data, result, s->nbytes / 8, MCOMM_UINT64, s->target, disp,
                                MCOMM_BXOR, win));
        OK(mcomm_flush(s->target, win));
        CHECK(memcmp(result, before, s->nbytes) == 0);
        break;
    case 5:
        if (s->nbytes < 8)
            break;
        OK(mcomm_fetch_and_op(data, &old, MCOMM_UINT64, s->target, disp, MCOMM_SUM, win));
        CHECK(memcmp(&old, before, 8) == 0);
        break;
    case 6:
        if (s->nbytes < 8)
            break;
        memcpy(&word, before, 8);
        word += s->salt & 1; /* half of them fail */
        OK(mcomm_compare_and_swap(data, &word, &old, MCOMM_UINT64, s->target, disp, win));
        CHECK(memcmp(&old, before, 8) == 0);
        break;
    default:
        OK(mcomm_get(result, s->nbytes, s->target, disp, win));
        OK(mcomm_flush(s->target, win));
        CHECK(memcmp(result, before, s->nbytes) == 0);
    }
}

static void apply(const struct script *s, const unsigned char *data)
{
    unsigned char *at = model[s->target] + s->offset;

    if (s->kind <= 2)
        memcpy(at, data, s->nbytes);
    else if (s->kind == 3)
        apply_words(at, data, s->nbytes, 1);
    else if (s->kind == 4)
        apply_words(at, data, s->nbytes, 0);
    else if (s->kind == 5 && s->nbytes >= 8)
        apply_words(at, data, 8, 1);
    else if (s->kind == 6 && s->nbytes >= 8 && !(s->salt & 1))
        memcpy(at, data, 8);
}

static void expect_model(const unsigned char *seen, int rank, size_t offset, size_t nbytes,
                         int round)
{
    if (memcmp(seen, model[rank] + offset, nbytes) == 0)
        return;
    for (size_t i = 0; i < nbytes; i++)
        if (seen[i] != model[rank][offset + i])
            MP_FAIL("round %d: byte %zu of rank %d is %#x, expected %#x", round, offset + i, rank,
                    seen[i], model[rank][offset + i]);
}

/* One operation after the other on the own stripe: flushed in between, since they may overlap. */
static void one_round(int round, unsigned char *data[OPS], unsigned char *result)
{
    for (int k = 0; k < OPS; k++) {
        for (int origin = 0; origin < mp_size; origin++) {
            struct script s = draw(origin);
            mcomm_request_t req = MCOMM_REQUEST_NULL;

            fill(data[k], s.nbytes, s.salt);
            if (origin == mp_rank) {
                perform(&s, data[k], result, &req);
                OK(mcomm_wait(&req, MCOMM_FOREVER, MCOMM_STATUS_IGNORE));
                OK(s.salt & 2 ? mcomm_flush(s.target, win) : mcomm_flush_all(win));
            }
            apply(&s, data[k]);
        }
    }
    OK(mcomm_win_fence(win));
    expect_model(base, mp_rank, 0, part_nbytes, round);
    {
        int target = (mp_rank + round) % mp_size;
        size_t offset = (size_t)(next_random() % (part_nbytes / 16)) * 8;
        mcomm_request_t req;

        OK(mcomm_rget(result, part_nbytes - offset, target, disp_of(target, offset), win, &req));
        OK(mcomm_wait(&req, MCOMM_FOREVER, MCOMM_STATUS_IGNORE));
        expect_model(result, target, offset, part_nbytes - offset, round);
    }
    OK(mcomm_win_fence(win));
}

static void test_random(const char *kind, const char *seed)
{
    unsigned char *data[OPS], *result;

    seed_state = strtoull(seed, NULL, 10);
    if (mp_rank == 0)
        printf("seed %s\n", seed);
    window_make(kind);
    result = malloc(part_nbytes);
    for (int k = 0; k < OPS; k++)
        data[k] = malloc(big);
    for (int round = 0; round < ROUNDS; round++)
        one_round(round, data, result);
    if (is_dynamic)
        OK(mcomm_win_detach(win, base));
    for (int k = 0; k < OPS; k++)
        free(data[k]);
    free(result);
    window_free(kind);
}

/* ---- many at once on the same words ---- */
static void test_atomics(const char *kind)
{
    enum {
        TURNS = 300,
        WIDE = 3000
    };
    uint64_t one = 1, old, sum = 0, *wide = malloc(WIDE * 8), *was = malloc(WIDE * 8);
    float half = 0.5f;
    uint16_t f16_one = 0x3c00;
    uint8_t byte_one = 1;

    window_make(kind);
    for (int i = 0; i < WIDE; i++)
        wide[i] = 1;
    for (int i = 0; i < TURNS; i++) {
        int target = (mp_rank + i) % mp_size;

        OK(mcomm_fetch_and_op(&one, &old, MCOMM_UINT64, target, disp_of(target, 0), MCOMM_SUM,
                              win));
        OK(mcomm_accumulate(&half, 1, MCOMM_FLOAT, target, disp_of(target, 8), MCOMM_SUM, win));
        OK(mcomm_accumulate(&f16_one, 1, MCOMM_FLOAT16, target, disp_of(target, 16), MCOMM_SUM,
                            win));
        OK(mcomm_accumulate(&byte_one, 1, MCOMM_UINT8, target, disp_of(target, 24), MCOMM_SUM,
                            win));
        for (;;) { /* an increment by compare and swap */
            uint64_t seen, next;

            OK(mcomm_fetch_and_op(NULL, &seen, MCOMM_UINT64, target, disp_of(target, 32),
                                  MCOMM_NO_OP, win));
            next = seen + 1;
            OK(mcomm_compare_and_swap(&next, &seen, &old, MCOMM_UINT64, target, disp_of(target, 32),
                                      win));
            if (old == seen)
                break;
        }
        if (i % 50 == 0)
            OK(mcomm_get_accumulate(wide, was, WIDE, MCOMM_UINT64, target, disp_of(target, 64),
                                    MCOMM_SUM, win));
    }
    OK(mcomm_win_fence(win));
    /* Each rank came to each target equally often only if size divides TURNS: sum over all. */
    for (size_t at = 0; at <= 32; at += 8) {
        double mine = at == 8    ? *(float *)(void *)(base + 8) * 2
                      : at == 16 ? (double)0
                                 : (double)*(uint64_t *)(void *)(base + at);
        double all;

        if (at == 16) /* checked by unit tests; here only: it changed, or nobody came */
            continue;
        if (at == 24)
            mine = base[24];
        OK(mcomm_allreduce(&mine, &all, 1, MCOMM_DOUBLE, MCOMM_SUM, MCOMM_COMM_WORLD));
        if (at == 24)
            CHECK_EQ((long)all % 256, (long)TURNS * mp_size % 256);
        else
            CHECK_EQ((long)all, (long)TURNS * mp_size);
    }
    for (int i = 0; i < WIDE; i++)
        sum += ((uint64_t *)(void *)(base + 64))[i];
    OK(mcomm_allreduce(MCOMM_IN_PLACE, &sum, 1, MCOMM_UINT64, MCOMM_SUM, MCOMM_COMM_WORLD));
    CHECK_EQ(sum, (uint64_t)(TURNS / 50) * WIDE * (uint64_t)mp_size);
    free(wide);
    free(was);
    window_free(kind);
}

/* ---- what is refused changes nothing ---- */
static void test_refused(void)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    uint64_t buf[4] = {~0ull, ~0ull, ~0ull, ~0ull}, got = 5;
    int next = (mp_rank + 1) % mp_size;
    mcomm_rma_seg_t segs[2] = {{buf, 8, 0}, {buf, 16, 7}};
    mcomm_request_t req;
    size_t nbytes, unit;
    void *mine;

    attr.nbytes = 64;
    attr.disp_unit = 8;
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win));
    OK(mcomm_win_query(win, next, &nbytes, &unit));
    CHECK_EQ(nbytes, 64);
    CHECK_EQ(unit, 8);
    EXPECT(MCOMM_ERR_RANK, mcomm_put(buf, 8, mp_size, 0, win));
    CHECK_TEXT("target");
    EXPECT(MCOMM_ERR_RANK, mcomm_put(buf, 8, -1, 0, win));
    OK(mcomm_put(buf, 8, MCOMM_RANK_NULL, 0, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(buf, 8, next, 8, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(buf, 16, next, 7, win));
    CHECK_TEXT("displacement 7");
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(buf, 8, next, UINT64_MAX / 8 + 1, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(buf, (size_t)-8, next, 1, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_rput(buf, 16, next, 7, win, &req));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_putv(segs, 2, next, win));
    EXPECT(MCOMM_ERR_COUNT, mcomm_putv(segs, (size_t)-1, next, win));
    CHECK_TEXT("-1");
    EXPECT(MCOMM_ERR_BUFFER, mcomm_put(NULL, 8, next, 0, win));
    OK(mcomm_put(NULL, 0, next, 8, win));
    EXPECT(MCOMM_ERR_TYPE, mcomm_accumulate(buf, 1, (mcomm_datatype_t)0, next, 0, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_OP, mcomm_accumulate(buf, 1, MCOMM_FLOAT, next, 0, MCOMM_BAND, win));
    EXPECT(MCOMM_ERR_OP, mcomm_accumulate(buf, 1, MCOMM_BYTE, next, 0, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_TYPE, mcomm_compare_and_swap(buf, buf, &got, MCOMM_DOUBLE, next, 0, win));
    EXPECT(MCOMM_ERR_COUNT,
           mcomm_accumulate(buf, (size_t)-1, MCOMM_UINT64, next, 0, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put_signal(buf, 8, next, 0, 8, 1, MCOMM_SIGNAL_SET, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put_signal(buf, 8, next, 8, 0, 1, MCOMM_SIGNAL_SET, win));
    EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_unlock(next, win));
    EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_complete(win));
    EXPECT(MCOMM_ERR_RMA_SYNC, mcomm_win_wait(win));
    OK(mcomm_win_fence(win));
    for (int i = 0; i < 8; i++)
        CHECK_EQ(((uint64_t *)mine)[i], 0);
    OK(mcomm_win_free(&win));
    EXPECT(MCOMM_ERR_WIN, mcomm_win_free(&win));

    /* Permissions, and elements that are not aligned. */
    attr.disp_unit = 1;
    attr.access = MCOMM_WIN_READ;
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win));
    EXPECT(MCOMM_ERR_RMA_ACCESS, mcomm_put(buf, 8, next, 0, win));
    EXPECT(MCOMM_ERR_RMA_ACCESS, mcomm_accumulate(buf, 1, MCOMM_UINT64, next, 0, MCOMM_SUM, win));
    CHECK_TEXT("read");
    OK(mcomm_get(&got, 8, next, 0, win));
    OK(mcomm_flush(next, win));
    CHECK_EQ(got, 0);
    OK(mcomm_win_free(&win));
    attr.access = 0;
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win));
    EXPECT(MCOMM_ERR_BUFFER, mcomm_accumulate(buf, 1, MCOMM_UINT64, next, 4, MCOMM_SUM, win));
    OK(mcomm_accumulate(buf, 1, MCOMM_UINT32, next, 4, MCOMM_NO_OP, win));
    OK(mcomm_win_free(&win));
    attr.alignment = 3;
    EXPECT(MCOMM_ERR_ARG, mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win));
    CHECK_TEXT("3");
    attr.alignment = 2 << 20;
    OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win));
    CHECK_EQ((uintptr_t)mine % (2 << 20), 0);
    OK(mcomm_win_free(&win));
    /* One rank's error is everybody's. */
    attr.alignment = mp_rank == mp_size - 1 ? 5 : 0;
    CHECK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &mine, &win) != MCOMM_SUCCESS);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
}

/* A dynamic window's errors come from the target, at the next completion call. */
static void test_refused_dynamic(void)
{
    int next = (mp_rank + 1) % mp_size;
    uint64_t *mine = calloc(8, 8), buf[2] = {~0ull, ~0ull}, got = 5;
    mcomm_request_t req;
    mcomm_err_t err;

    is_dynamic = 1;
    address = calloc((size_t)mp_size, sizeof(uint64_t));
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    OK(mcomm_win_attach(win, mine, 32));
    EXPECT(MCOMM_ERR_ARG, mcomm_win_detach(win, mine + 1));
    EXPECT(MCOMM_ERR_COUNT, mcomm_win_attach(win, mine, 0));
    address[mp_rank] = (uint64_t)(uintptr_t)mine;
    OK(mcomm_allgather(MCOMM_IN_PLACE, address, 1, MCOMM_UINT64, MCOMM_COMM_WORLD));
    OK(mcomm_put(buf, 16, next, address[next] + 24, win)); /* half outside */
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_flush(next, win));
    CHECK_TEXT("target");
    OK(mcomm_flush(next, win));
    OK(mcomm_rput(buf, 16, next, address[next] + 24, win, &req));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_wait(&req, MCOMM_FOREVER, MCOMM_STATUS_IGNORE));
    OK(mcomm_get(&got, 8, next, address[next] + 32, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_flush(next, win));
    CHECK_EQ(got, 5);
    err = mcomm_fetch_and_op(buf, &got, MCOMM_UINT64, next, address[next] + 4, MCOMM_SUM, win);
    CHECK_EQ(err, MCOMM_ERR_BUFFER);
    OK(mcomm_win_fence(win));
    for (int i = 0; i < 8; i++)
        CHECK_EQ(mine[i], 0);
    OK(mcomm_win_fence(win));
    OK(mcomm_put(buf, 8, next, address[next] + 24, win));
    OK(mcomm_win_fence(win));
    CHECK_EQ(mine[3], ~0ull);
    OK(mcomm_win_detach(win, mine));
    OK(mcomm_win_free(&win));
    free(mine);
    free(address);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "random", *kind = argc > 2 ? argv[2] : "allocate";

    mp_init();
    if (strcmp(what, "random") == 0)
        test_random(kind, argc > 3 ? argv[3] : "1");
    else if (strcmp(what, "atomics") == 0)
        test_atomics(kind);
    else if (strcmp(what, "refused") == 0) {
        test_refused();
        test_refused_dynamic();
    } else
        MP_FAIL("no test %s", what);
    OK(mcomm_finalize());
    return 0;
}
