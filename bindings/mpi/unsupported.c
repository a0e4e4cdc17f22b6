/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What is not there yet: a function for each MPI_NO line, which says so. */
#include "mpi_priv.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#undef MPI_NUM
#undef MPI_DISP
#undef MPI_BYTES
#define MPI_FN(type, name, parameters)
#define MPI_NO(type, name, parameters)                                                             \
    DEF(type, name, parameters)                                                                    \
    {                                                                                              \
        return mpi_fail(NULL, MPI_ERR_UNSUPPORTED_OPERATION, "MPI_%s", #name);                     \
    }
#include "mpi_calls.h"
#include "mpi_calls_data.h"
#include "mpi_calls_io.h"
#define MPI_NUM int
#define MPI_DISP int
#define MPI_BYTES MPI_Aint
#include "mpi_calls_count.h"
#undef MPI_NUM
#undef MPI_DISP
#undef MPI_BYTES
#undef MPI_NO
#define MPI_NO(type, name, parameters) NO_LARGE(type, name##_c, parameters)
#define NO_LARGE(type, name, parameters)                                                           \
    DEF(type, name, parameters)                                                                    \
    {                                                                                              \
        return mpi_fail(NULL, MPI_ERR_UNSUPPORTED_OPERATION, "MPI_%s", #name);                     \
    }
#define MPI_NUM MPI_Count
#define MPI_DISP MPI_Aint
#define MPI_BYTES MPI_Count
#include "mpi_calls_count.h"
