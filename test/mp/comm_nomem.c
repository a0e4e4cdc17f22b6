/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One rank has no memory in the middle of the making of a communicator: all ranks are told, nobody
 * waits in vain, and the next call, with the same tag, works. calloc() is this program's: it fails
 * the n-th call of the thread that is in a library call, for n = 1, 2, ... until none failed.
 */
#include "mp.h"

#include <errno.h>

#define TAG 5

extern void *__libc_calloc(size_t count, size_t nbytes);

static __thread int calls_left; /* the call that ends at 0 fails; 0: none does */

__attribute__((visibility("default"))) void *calloc(size_t count, size_t nbytes)
{
    if (calls_left > 0 && --calls_left == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, nbytes);
}

/* The caller's own allgather has memory. */
static int gather(const void *mine, void *all, size_t nbytes, void *arg)
{
    int left = calls_left;
    mcomm_err_t err;

    calls_left = 0;
    err = mcomm_allgather(mine, all, nbytes, MCOMM_BYTE, arg);
    calls_left = left;
    return err == MCOMM_SUCCESS ? 0 : -1;
}

static mcomm_err_t make(int how, mcomm_group_t group, mcomm_comm_t *comm_p)
{
    mcomm_oob_t oob = {gather, MCOMM_COMM_WORLD, mp_rank, mp_size};

    switch (how) {
    case 0:
        return mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, comm_p);
    case 1:
        return mcomm_comm_split(MCOMM_COMM_WORLD, 0, -mp_rank, comm_p);
    case 2:
        return mcomm_comm_create_oob(&oob, comm_p);
    default:
        return mcomm_comm_create_group(MCOMM_COMM_WORLD, group, TAG, comm_p);
    }
}

static void check_works(mcomm_comm_t comm)
{
    int32_t one = 1, sum = 0;

    OK(mcomm_allreduce(&one, &sum, 1, MCOMM_INT32, MCOMM_SUM, comm));
    CHECK_EQ(sum, mp_size);
}

int main(void)
{
    mcomm_group_t group;

    mp_init();
    check_works(MCOMM_COMM_WORLD); /* everybody is connected: no more memory is needed for that */
    OK(mcomm_comm_group(MCOMM_COMM_WORLD, &group));
    for (int how = 0; how < 4; how++) {
        for (int victim = 0; victim < mp_size; victim++) {
            int has_failed = 0;
            int32_t results[2] = {1, 0}, all[2] = {1, 0}; /* was a call refused; the error */
            int n;

            for (n = 1; all[0]; n++) {
                mcomm_comm_t comm = MCOMM_COMM_NULL;

                calls_left = mp_rank == victim ? n : 0;
                results[1] = (int32_t)make(how, group, &comm);
                results[0] = mp_rank == victim && calls_left == 0;
                calls_left = 0;
                OK(mcomm_allreduce(results, all, 2, MCOMM_INT32, MCOMM_MAX, MCOMM_COMM_WORLD));
                CHECK_EQ(results[1], all[1]); /* the same at all ranks */
                CHECK(all[1] == MCOMM_SUCCESS || (all[0] && all[1] == MCOMM_ERR_NO_MEM));
                CHECK(mcomm_last_error()[0] != '\0' || all[1] == MCOMM_SUCCESS);
                has_failed += all[1] != MCOMM_SUCCESS;
                if (all[1] == MCOMM_SUCCESS)
                    check_works(comm);
                if (comm != MCOMM_COMM_NULL)
                    OK(mcomm_comm_free(&comm));
            }
            CHECK(n > 2 && has_failed > 0);
        }
    }
    OK(mcomm_group_free(&group));
    OK(mcomm_finalize());
    return 0;
}
