/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Handles are numbers of 31 bits, so that they are also Fortran's and fit MPI_Comm_toint: kind,
 * generation, index. A freed or garbage handle is recognised without touching the object.
 */
#include <pthread.h>
#include <stdlib.h>

#include "mpi_priv.h"

#define INDEX_BITS 20u
#define GENERATIONS 128u
#define NONE UINT32_MAX

struct handle_entry *mpi_handle_chunks[HANDLE_CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t first_free = NONE, num_entries;

void mpi_lock(void)
{
    pthread_mutex_lock(&lock);
}

void mpi_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static struct handle_entry *entry_at(uint32_t index)
{
    return &mpi_handle_chunks[index / HANDLE_CHUNK][index % HANDLE_CHUNK];
}

/* The generation of a free entry waits in the bits of its last handle, kept in object. */
static bool chunk_add(void)
{
    struct handle_entry *chunk;

    if (num_entries == HANDLE_CHUNK * HANDLE_CHUNKS)
        return false;
    chunk = calloc(HANDLE_CHUNK, sizeof(*chunk));
    if (chunk == NULL)
        return false;
    for (uint32_t i = 0; i < HANDLE_CHUNK; i++)
        chunk[i].next_free = i + 1 < HANDLE_CHUNK ? num_entries + i + 1 : NONE;
    first_free = num_entries;
    __atomic_store_n(&mpi_handle_chunks[num_entries / HANDLE_CHUNK], chunk, __ATOMIC_RELEASE);
    num_entries += HANDLE_CHUNK;
    return true;
}

void *mpi_handle_new(enum kind kind, void *object)
{
    struct handle_entry *entry;
    uint32_t index, generation;
    void *handle = NULL;

    mpi_lock();
    if (first_free != NONE || chunk_add()) {
        index = first_free;
        entry = entry_at(index);
        first_free = entry->next_free;
        generation = ((uint32_t)(uintptr_t)entry->object + 1) % GENERATIONS;
        entry->next_free = generation;
        entry->object = object;
        __atomic_store_n(&entry->handle, (uint32_t)kind << 27 | generation << INDEX_BITS | index,
                         __ATOMIC_RELEASE);
        handle = (void *)(uintptr_t)entry->handle;
    }
    mpi_unlock();
    return handle;
}

void mpi_handle_free(const void *handle)
{
    uint32_t index = (uint32_t)(uintptr_t)handle & ((1u << INDEX_BITS) - 1);
    struct handle_entry *entry = entry_at(index);

    mpi_lock();
    __atomic_store_n(&entry->handle, 0, __ATOMIC_RELEASE);
    entry->object = (void *)(uintptr_t)entry->next_free;
    entry->next_free = first_free;
    first_free = index;
    mpi_unlock();
}

/* ---- handles as integers ---- */
#define AS_INTEGER(name, type)                                                                     \
    DEF(int, name##_toint, (type handle))                                                          \
    {                                                                                              \
        return (int)(intptr_t)handle;                                                              \
    }                                                                                              \
    DEF(type, name##_fromint, (int number))                                                        \
    {                                                                                              \
        return (type)(intptr_t)number;                                                             \
    }
AS_INTEGER(Comm, MPI_Comm)
AS_INTEGER(Errhandler, MPI_Errhandler)
AS_INTEGER(File, MPI_File)
AS_INTEGER(Group, MPI_Group)
AS_INTEGER(Info, MPI_Info)
AS_INTEGER(Message, MPI_Message)
AS_INTEGER(Op, MPI_Op)
AS_INTEGER(Request, MPI_Request)
AS_INTEGER(Session, MPI_Session)
AS_INTEGER(Type, MPI_Datatype)
AS_INTEGER(Win, MPI_Win)
