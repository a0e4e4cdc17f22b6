/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* For MPI programs under test: a check that fails says where and ends the process. */
#ifndef MPI_TEST_H
#define MPI_TEST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me = -1, np = -1;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "rank %d: %s:%d: not true: %s\n", me, __FILE__, __LINE__, #cond);      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_) {                                                                            \
            fprintf(stderr, "rank %d: %s:%d: %s = %lld, %s = %lld\n", me, __FILE__, __LINE__, #a,  \
                    a_, #b, b_);                                                                   \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
/* A call returns an error of this class. */
#define EXPECT(class, call)                                                                        \
    do {                                                                                           \
        int code_ = (call), class_ = -1;                                                           \
        MPI_Error_class(code_, &class_);                                                           \
        CHECK_EQ(class_, class);                                                                   \
    } while (0)
#define OK(call) EXPECT(MPI_SUCCESS, call)

static inline void test_init(void)
{
    OK(MPI_Init(NULL, NULL));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &np));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

#endif
