/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What a status holds besides its three public fields: the bytes received, and whether cancelled.
 */
#include <string.h>

#include "mpi_priv.h"

enum {
    WORD_LOW,
    WORD_HIGH,
    WORD_CANCELLED
};

void mpi_status_bytes(MPI_Status *status, MPI_Count nbytes)
{
    memcpy(&status->MPI_internal[WORD_LOW], &nbytes, sizeof(nbytes));
}

MPI_Count mpi_status_nbytes(const MPI_Status *status)
{
    MPI_Count nbytes;

    memcpy(&nbytes, &status->MPI_internal[WORD_LOW], sizeof(nbytes));
    return nbytes;
}

void mpi_status_empty(MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_internal[WORD_CANCELLED] = 0;
    mpi_status_bytes(status, 0);
}

void mpi_status_set(MPI_Status *status, const mcomm_status_t *from)
{
    status->MPI_SOURCE = from->source >= 0                  ? from->source
                         : from->source == MCOMM_ANY_SOURCE ? MPI_ANY_SOURCE
                                                            : MPI_PROC_NULL;
    status->MPI_TAG = from->tag >= 0 ? from->tag : MPI_ANY_TAG;
    status->MPI_internal[WORD_CANCELLED] = from->cancelled;
    mpi_status_bytes(status, (MPI_Count)from->nbytes);
}

DEF(int, Test_cancelled, (const MPI_Status *status, int *flag))
{
    *flag = status->MPI_internal[WORD_CANCELLED];
    return MPI_SUCCESS;
}

DEF(int, Status_set_cancelled, (MPI_Status * status, int flag))
{
    status->MPI_internal[WORD_CANCELLED] = flag != 0;
    return MPI_SUCCESS;
}

#define FIELD(name, field)                                                                         \
    DEF(int, Status_get_##name, (const MPI_Status *status, int *value_p))                          \
    {                                                                                              \
        *value_p = status->field;                                                                  \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    DEF(int, Status_set_##name, (MPI_Status * status, int value))                                  \
    {                                                                                              \
        status->field = value;                                                                     \
        return MPI_SUCCESS;                                                                        \
    }
FIELD(source, MPI_SOURCE)
FIELD(tag, MPI_TAG)
FIELD(error, MPI_ERROR)

DEF(int, Get_elements_x, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count_p))
{
    return PMPI_Get_elements_c(status, type, count_p);
}

DEF(int, Status_set_elements_x, (MPI_Status * status, MPI_Datatype type, MPI_Count count))
{
    return PMPI_Status_set_elements_c(status, type, count);
}
