/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* For the programs that test windows: one window, its words, and blocks with a pattern. */
#ifndef TEST_RMA_WINDOW_H
#define TEST_RMA_WINDOW_H

#include "mp.h"

#include <stdint.h>

#define BLOCK 200000u

static mcomm_win_t win;
static uint64_t *mine;

static inline void window_make(const char *kind, size_t nbytes)
{
    mcomm_win_attr_t attr = MCOMM_WIN_ATTR_DEFAULT;

    attr.nbytes = nbytes;
    if (strcmp(kind, "create") == 0) {
        mine = calloc(1, nbytes);
        OK(mcomm_win_create(mine, &attr, MCOMM_COMM_WORLD, &win));
    } else {
        OK(mcomm_win_allocate(&attr, MCOMM_COMM_WORLD, (void **)&mine, &win));
    }
}

static inline void window_free(const char *kind)
{
    OK(mcomm_win_free(&win));
    if (strcmp(kind, "create") == 0)
        free(mine);
}

static inline uint64_t get_word(int target, uint64_t disp)
{
    uint64_t word = 0;

    OK(mcomm_get(&word, 8, target, disp, win));
    OK(mcomm_flush(target, win));
    return word;
}

static inline void put_word(int target, uint64_t disp, uint64_t word)
{
    OK(mcomm_put(&word, 8, target, disp, win));
    OK(mcomm_flush(target, win));
}

static inline void fill(unsigned char *buf, size_t nbytes, uint64_t salt)
{
    for (size_t i = 0; i < nbytes; i++)
        buf[i] = (unsigned char)(salt * 31 + i);
}

static inline void expect_fill(const unsigned char *buf, size_t nbytes, uint64_t salt)
{
    for (size_t i = 0; i < nbytes; i++)
        if (buf[i] != (unsigned char)(salt * 31 + i))
            MP_FAIL("byte %zu of block %llu is wrong", i, (unsigned long long)salt);
}

/* main() of a program: the test that argv names, on a window of the kind that argv names. */
struct rma_test {
    const char *name;
    void (*fn)(const char *kind);
};

static inline int rma_main(int argc, char **argv, const struct rma_test *tests, size_t count)
{
    const char *what = argc > 1 ? argv[1] : tests[0].name;

    mp_init();
    for (size_t i = 0; i < count; i++) {
        if (strcmp(what, tests[i].name) != 0)
            continue;
        tests[i].fn(argc > 2 ? argv[2] : "allocate");
        OK(mcomm_finalize());
        return 0;
    }
    MP_FAIL("no test %s", what);
}

#endif
