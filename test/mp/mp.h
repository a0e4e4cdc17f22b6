/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * For the programs of multi-process tests. A check that fails says where, what and on which rank,
 * and ends the process at once: the runner then ends the others.
 */
#ifndef TEST_MP_H
#define TEST_MP_H

#include "mooncake_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Weak: one for all files of a program. */
__attribute__((weak)) int mp_rank = -1, mp_size = -1;
__attribute__((weak)) _Thread_local char mp_repeat[320]; /* how to repeat what this thread does */

/* Also from a handler of signals. */
static inline void mp_repeat_print(void)
{
    if (mp_repeat[0] != '\0' && write(2, mp_repeat, strlen(mp_repeat)) > 0 && write(2, "\n", 1) < 1)
        _exit(1);
}

#define MP_FAIL(...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "rank %d: %s:%d: ", mp_rank, __FILE__, __LINE__);                          \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        mp_repeat_print();                                                                         \
        _exit(1);                                                                                  \
    } while (0)

/* A condition holds. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            MP_FAIL("not true: %s", #cond);                                                        \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_)                                                                              \
            MP_FAIL("%s = %lld, %s = %lld", #a, a_, #b, b_);                                       \
    } while (0)
/* A call returns a given error code. */
#define EXPECT(code, call)                                                                         \
    do {                                                                                           \
        mcomm_err_t code_ = (code), err_ = (call);                                                 \
        if (err_ != code_)                                                                         \
            MP_FAIL("%s: %s (%s), expected %s", #call, mcomm_err_name(err_), mcomm_last_error(),   \
                    mcomm_err_name(code_));                                                        \
    } while (0)
#define OK(call) EXPECT(MCOMM_SUCCESS, call)
/* The text of the last error names something. */
#define CHECK_TEXT(part)                                                                           \
    do {                                                                                           \
        if (strstr(mcomm_last_error(), (part)) == NULL)                                            \
            MP_FAIL("\"%s\" is not in the error text \"%s\"", (part), mcomm_last_error());         \
    } while (0)

static inline void mp_init(void)
{
    OK(mcomm_init(NULL));
    OK(mcomm_comm_rank(MCOMM_COMM_WORLD, &mp_rank));
    OK(mcomm_comm_size(MCOMM_COMM_WORLD, &mp_size));
}

/* Who is to die leaves this last: then all others are out of the collective call before it. */
static inline void mp_leave_last(int victim)
{
    enum {
        TAG_LEFT = 987
    };

    if (mp_rank != victim)
        OK(mcomm_send(NULL, 0, victim, TAG_LEFT, MCOMM_COMM_WORLD));
    for (int i = 1; mp_rank == victim && i < mp_size; i++)
        OK(mcomm_recv(NULL, 0, MCOMM_ANY_SOURCE, TAG_LEFT, MCOMM_COMM_WORLD, NULL));
}

#endif
