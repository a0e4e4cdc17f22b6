/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Windows: how they are made and freed, what is attached, one after the other at one address. */
#include "rma_window.h"
#include "common/proc.h"

#include <sys/mman.h>

/* ---- many ranges, and windows at the same address with other contents ---- */
static void test_attach_many(const char *kind)
{
    enum {
        RANGES = 100000,
        STEP = 4096
    };
    char *area = mmap(NULL, (size_t)RANGES * STEP, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t *address = calloc((size_t)mp_size, 8), word, got = 0;
    int next = (mp_rank + 1) % mp_size;

    (void)kind;
    CHECK(area != MAP_FAILED);
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    for (size_t i = 0; i < RANGES; i++) /* a scattered order, every second page twice */
        OK(mcomm_win_attach(win, area + (i * 7919 % RANGES) * STEP, STEP / 2));
    for (size_t i = 0; i < RANGES; i += 2)
        OK(mcomm_win_attach(win, area + i * STEP, STEP));
    address[mp_rank] = (uint64_t)(uintptr_t)area;
    OK(mcomm_allgather(MCOMM_IN_PLACE, address, 1, MCOMM_UINT64, MCOMM_COMM_WORLD));
    for (uint64_t i = 0; i < RANGES; i += 997) {
        word = i + 1;
        OK(mcomm_put(&word, 8, next, address[next] + i * STEP, win));
        OK(mcomm_flush(next, win));
    }
    OK(mcomm_win_fence(win));
    for (size_t i = 0; i < RANGES; i += 997)
        CHECK_EQ(*(uint64_t *)(void *)(area + i * STEP), i + 1);
    OK(mcomm_get(&got, 8, next, address[next] + STEP + STEP / 2, win)); /* between two ranges */
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_flush(next, win));
    OK(mcomm_get(&got, 8, next, address[next] + STEP / 2, win));
    OK(mcomm_flush(next, win));
    OK(mcomm_win_fence(win));
    for (size_t i = 0; i < RANGES; i++)
        OK(mcomm_win_detach(win, area + i * STEP));
    OK(mcomm_win_fence(win));
    OK(mcomm_get(&got, 8, next, address[next], win)); /* once more attached than detached */
    OK(mcomm_flush(next, win));
    OK(mcomm_win_free(&win));
    munmap(area, (size_t)RANGES * STEP);
    free(address);
}

static void test_again(const char *kind)
{
    enum {
        ROUNDS = 1000,
        WORDS = 512
    };
    int next = (mp_rank + 1) % mp_size;
    uint64_t got[WORDS];

    for (uint64_t round = 0; round < ROUNDS; round++) {
        window_make(kind, sizeof(got));
        for (size_t i = 0; i < WORDS; i++)
            mine[i] = round * 1000 + (uint64_t)mp_rank;
        OK(mcomm_win_fence(win));
        OK(mcomm_get(got, sizeof(got), next, 0, win));
        OK(mcomm_flush(next, win));
        for (size_t i = 0; i < WORDS; i++)
            CHECK_EQ(got[i], round * 1000 + (uint64_t)next);
        window_free(kind);
    }
}

/* ---- accesses open no connections ---- */
static int count_sockets(void)
{
    char path[64], target[64];
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof(target) - 1);
        count += n > 7 && memcmp(target, "socket:", 7) == 0;
    }
    return count;
}

static void test_lanes(const char *kind)
{
    enum {
        PUTS = 20000
    };
    int next = (mp_rank + 1) % mp_size, before = 0;

    window_make(kind, (size_t)8 * (size_t)mp_size);
    for (uint64_t i = 0; i < PUTS; i++) {
        if (i == 100) /* all have met */
            OK(mcomm_barrier(MCOMM_COMM_WORLD));
        if (i == 100)
            before = count_sockets();
        put_word(next, (uint64_t)mp_rank * 8, i);
    }
    CHECK_EQ(count_sockets(), before);
    OK(mcomm_win_fence(win));
    CHECK_EQ(mine[(mp_rank + mp_size - 1) % mp_size], PUTS - 1);
    window_free(kind);
}

/* ---- a refused call of several frames has written nothing ---- */
#define WIDE 4096u /* elements of 8 bytes: several frames */

static void expect_zero(const uint64_t *words, size_t count, const char *after)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != 0)
            MP_FAIL("after %s word %zu is %#llx", after, i, (unsigned long long)words[i]);
}

/* Both halves of the area are attached, by ranges that touch; behind them there is nothing. */
static void test_whole(const char *kind)
{
    enum {
        SEGS = 600 /* more than one frame can name */
    };
    uint64_t *area = calloc(2 * WIDE, 8), *data = malloc(WIDE * 8 + BLOCK), at;
    uint64_t *old = calloc(WIDE, 8), *address = calloc((size_t)mp_size, 8);
    mcomm_rma_seg_t *segs = calloc(SEGS, sizeof(*segs));
    int next = (mp_rank + 1) % mp_size;

    (void)kind;
    memset(data, 0xff, WIDE * 8 + BLOCK);
    OK(mcomm_win_create_dynamic(NULL, MCOMM_COMM_WORLD, &win));
    OK(mcomm_win_attach(win, area, WIDE * 4));
    OK(mcomm_win_attach(win, area + WIDE / 2, WIDE * 4));
    address[mp_rank] = (uint64_t)(uintptr_t)area;
    OK(mcomm_allgather(MCOMM_IN_PLACE, address, 1, MCOMM_UINT64, MCOMM_COMM_WORLD));
    at = address[next];

    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_accumulate(data, WIDE, MCOMM_UINT64, next, at + 8, MCOMM_BOR, win));
    CHECK_TEXT("target");
    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_get_accumulate(data, old, WIDE, MCOMM_UINT64, next, at + 8, MCOMM_BOR, win));
    EXPECT(MCOMM_ERR_BUFFER,
           mcomm_accumulate(data, WIDE / 2, MCOMM_UINT64, next, at + 4, MCOMM_BOR, win));
    for (size_t i = 0; i < SEGS; i++)
        segs[i] = (mcomm_rma_seg_t){data, 8, at + 16 * i};
    segs[SEGS - 1].disp = at + WIDE * 8;
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_putv(segs, SEGS, next, win));
    segs[0] = (mcomm_rma_seg_t){data, WIDE * 8 + BLOCK, at};
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_putv(segs, 2, next, win) != MCOMM_SUCCESS
                                    ? MCOMM_ERR_RMA_RANGE
                                    : mcomm_flush(next, win));
    OK(mcomm_put(data, WIDE * 8 + BLOCK, next, at, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_flush(next, win));
    for (size_t i = 0; i < SEGS; i++)
        segs[i] = (mcomm_rma_seg_t){&old[2 * i], 8, at + 16 * i};
    segs[SEGS - 1].disp = at + WIDE * 8;
    memset(old, 0, WIDE * 8);
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_getv(segs, SEGS, next, win));
    OK(mcomm_win_fence(win));
    expect_zero(area, 2 * WIDE, "what was refused");
    expect_zero(old, WIDE, "what was refused");

    /* What is legal goes over both ranges; nothing is held afterwards. */
    OK(mcomm_win_fence(win));
    OK(mcomm_accumulate(data, WIDE, MCOMM_UINT64, next, at, MCOMM_BOR, win));
    for (size_t i = 0; i < SEGS; i++)
        segs[i] = (mcomm_rma_seg_t){&address[mp_rank], 8, at + 16 * i};
    OK(mcomm_flush(next, win));
    OK(mcomm_putv(segs, SEGS, next, win));
    OK(mcomm_win_fence(win));
    for (size_t i = 0; i < WIDE; i++)
        CHECK_EQ(area[i],
                 i % 2 == 0 && i / 2 < SEGS ? address[(mp_rank + mp_size - 1) % mp_size] : ~0ull);
    OK(mcomm_win_fence(win));
    OK(mcomm_win_detach(win, area));
    OK(mcomm_win_detach(win, area + WIDE / 2));
    OK(mcomm_win_free(&win));
    free(segs);
    free(address);
    free(old);
    free(data);
    free(area);
}

/* ---- one rank cannot make its part: all members return, and nothing stays ---- */
enum fault {
    FAULT_ALIGNMENT,
    FAULT_ACCESS,
    FAULT_STRUCT,
    FAULT_INFO,
    FAULT_BASE_P,
    FAULT_WIN_P,
    FAULT_NBYTES,
    FAULT_MEMORY, /* more than any machine has */
    FAULT_CREATE_BASE,
    FAULT_CREATE_WIN_P,
    FAULT_CREATE_INFO,
    FAULT_DYNAMIC_INFO,
    FAULT_DYNAMIC_WIN_P,
    FAULT_KIND,
    FAULT_NUM
};

static mcomm_err_t make_with(enum fault fault, int is_culprit, void **base_p, mcomm_win_t *win_p)
{
    static uint64_t memory[8];
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;

    attr.nbytes = sizeof(memory);
    if (is_culprit) {
        if (fault == FAULT_ALIGNMENT)
            attr.alignment = 5;
        if (fault == FAULT_ACCESS)
            attr.access = 0x100;
        if (fault == FAULT_STRUCT)
            attr.struct_size = 1;
        if (fault == FAULT_INFO || fault == FAULT_CREATE_INFO || fault == FAULT_DYNAMIC_INFO)
            attr.info = (mcomm_info_t)(void *)MCOMM_COMM_WORLD;
        if (fault == FAULT_NBYTES)
            attr.nbytes = (size_t)-5;
        if (fault == FAULT_MEMORY)
            attr.nbytes = (size_t)1 << 50;
    }
    if (fault == FAULT_CREATE_BASE || fault == FAULT_CREATE_WIN_P || fault == FAULT_CREATE_INFO)
        return mcomm_win_create(is_culprit && fault == FAULT_CREATE_BASE ? NULL : memory, &attr,
                                MCOMM_COMM_WORLD,
                                is_culprit && fault == FAULT_CREATE_WIN_P ? NULL : win_p);
    if (fault == FAULT_DYNAMIC_WIN_P || fault == FAULT_DYNAMIC_INFO ||
        (fault == FAULT_KIND && is_culprit))
        return mcomm_win_create_dynamic(&attr, MCOMM_COMM_WORLD,
                                        is_culprit && fault == FAULT_DYNAMIC_WIN_P ? NULL : win_p);
    return mcomm_win_allocate(&attr, MCOMM_COMM_WORLD,
                              is_culprit && fault == FAULT_BASE_P ? NULL : base_p,
                              is_culprit && fault == FAULT_WIN_P ? NULL : win_p);
}

static void test_agreed(const char *kind)
{
    enum {
        ROUNDS = 20 /* more than descriptors of connections come and go */
    };
    static const char *const named[FAULT_NUM] = {
        [FAULT_ALIGNMENT] = "alignment", [FAULT_ACCESS] = "access",
        [FAULT_STRUCT] = "struct_size",  [FAULT_INFO] = "info",
        [FAULT_BASE_P] = "base_p",       [FAULT_WIN_P] = "win_p",
        [FAULT_NBYTES] = "nbytes",       [FAULT_CREATE_BASE] = "base",
        [FAULT_CREATE_WIN_P] = "win_p",  [FAULT_CREATE_INFO] = "info",
        [FAULT_DYNAMIC_INFO] = "info",   [FAULT_DYNAMIC_WIN_P] = "win_p",
    };
    mcomm_win_t made = MCOMM_WIN_NULL;
    char rank_text[32];
    void *base = NULL;
    int fds = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (int f = 0; f < FAULT_NUM; f++) {
            int culprit = (f + round) % mp_size;
            mcomm_err_t err = make_with((enum fault)f, mp_rank == culprit, &base, &made);

            if (f == FAULT_KIND && mp_size == 1) { /* nobody to differ from */
                OK(err);
                OK(mcomm_win_free(&made));
                continue;
            }
            CHECK(err != MCOMM_SUCCESS);
            CHECK(err != MCOMM_ERR_TIMEOUT);
            CHECK(made == MCOMM_WIN_NULL && base == NULL);
            if (mp_rank == culprit && named[f] != NULL)
                CHECK_TEXT(named[f]);
            snprintf(rank_text, sizeof(rank_text), "rank %d", culprit);
            if (mp_rank != culprit && f != FAULT_KIND)
                CHECK_TEXT(rank_text);
        }
        window_make(kind, 64); /* the communicator goes on */
        OK(mcomm_win_fence(win));
        window_free(kind);
        if (round == 0)
            fds = count_entries("/proc/self/fd");
    }
    CHECK(count_entries("/proc/self/fd") < fds + ROUNDS);
}

/* ---- sizes, units and displacements at the edge ---- */
static void edge_refused(int target, uint64_t disp, size_t nbytes)
{
    uint64_t word = 1, old;
    mcomm_rma_seg_t segs[2] = {{&word, 0, 0}, {&word, nbytes, disp}};
    mcomm_request_t req;

    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(&word, nbytes, target, disp, win));
    CHECK_TEXT("displacement");
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_get(&word, nbytes, target, disp, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_rget(&word, nbytes, target, disp, win, &req));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_putv(segs, 2, target, win));
    EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_getv(segs, 2, target, win));
    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_accumulate(&word, 1, MCOMM_UINT64, target, disp, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_fetch_and_op(&word, &old, MCOMM_UINT64, target, disp, MCOMM_SUM, win));
    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_compare_and_swap(&word, &word, &old, MCOMM_UINT64, target, disp, win));
    EXPECT(MCOMM_ERR_RMA_RANGE,
           mcomm_put_signal(&word, nbytes, target, 0, disp, 1, MCOMM_SIGNAL_ADD, win));
}

/* Rank r's part has r words; ranks 0, 3, 6 have none; with user memory they give no address. */
static void test_edges(const char *kind)
{
    size_t words = (size_t)mp_rank % 3;
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;
    uint64_t *memory = words > 0 ? calloc(words, 8) : NULL, word = 9, seen;
    void *base = memory;
    mcomm_win_t freed;

    for (int round = 0; round < 3; round++) { /* units: none given, 8, more than memory has */
        attr.nbytes = words * 8;
        attr.disp_unit = round == 0 ? 0 : round == 1 ? 8 : (size_t)1 << 60;
        if (strcmp(kind, "create") == 0)
            OK(mcomm_win_create(memory, &attr, MCOMM_COMM_WORLD, &win));
        else
            OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, &base, &win));
        for (int target = 0; target < mp_size; target++) {
            uint64_t end = round == 2 ? 0 : (uint64_t)(target % 3) * (round == 0 ? 8 : 1);

            edge_refused(target, round == 2 ? 1 : end, 8);
            edge_refused(target, (uint64_t)1 << 40, 8);
            edge_refused(target, UINT64_MAX, 8);
            edge_refused(target, UINT64_MAX - 7, 8);
            edge_refused(target, (uint64_t)1 << 61, 8);
            EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_put(&word, (size_t)-8, target, 0, win));
            OK(mcomm_put(NULL, 0, target, round == 2 ? 0 : end, win));
            OK(mcomm_get(NULL, 0, target, 0, win));
            OK(mcomm_accumulate(NULL, 0, MCOMM_UINT64, target, 0, MCOMM_SUM, win));
            OK(mcomm_putv(NULL, 0, target, win));
        }
        EXPECT(MCOMM_ERR_RMA_RANGE, mcomm_wait_signal(UINT64_MAX, MCOMM_CMP_NE, 0, 0, &seen, win));
        EXPECT(MCOMM_ERR_ARG, mcomm_wait_signal(0, MCOMM_CMP_NE, 0, -2, &seen, win));
        OK(mcomm_win_fence(win));
        freed = win;
        OK(mcomm_win_free(&win));
        EXPECT(MCOMM_ERR_WIN, mcomm_put(&word, 8, 0, 0, freed));
        EXPECT(MCOMM_ERR_WIN, mcomm_flush_all(freed));
        EXPECT(MCOMM_ERR_WIN, mcomm_win_lock(MCOMM_LOCK_SHARED, 0, freed));
        EXPECT(MCOMM_ERR_WIN, mcomm_wait_signal(0, MCOMM_CMP_NE, 0, 0, &seen, freed));
        EXPECT(MCOMM_ERR_WIN, mcomm_win_fence(freed));
    }
    free(memory);
}

int main(int argc, char **argv)
{
    static const struct rma_test tests[] = {
        {"attach", test_attach_many}, {"again", test_again}, {"whole", test_whole},
        {"agreed", test_agreed},      {"edges", test_edges}, {"lanes", test_lanes},
    };

    return rma_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
