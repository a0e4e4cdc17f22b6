/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A rank dies whose child made by fork() lives on: the others notice all the same. */
#include "pt2pt_check.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

int main(void)
{
    int other, number = 0;
    pid_t child;

    mp_init();
    CHECK(mp_size == 2);
    other = 1 - mp_rank;
    if (mp_rank == 1) {
        OK(mcomm_sendrecv(NULL, 0, other, 1, NULL, 0, other, 1, MCOMM_COMM_WORLD, NULL));
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            for (;;)
                pause();
        }
        OK(mcomm_send(&child, sizeof(child), other, 2, MCOMM_COMM_WORLD));
        OK(mcomm_recv(&number, sizeof(number), other, 3, MCOMM_COMM_WORLD, NULL));
        raise(SIGKILL);
    }
    OK(mcomm_sendrecv(NULL, 0, other, 1, NULL, 0, other, 1, MCOMM_COMM_WORLD, NULL));
    OK(mcomm_recv(&child, sizeof(child), other, 2, MCOMM_COMM_WORLD, NULL));
    OK(mcomm_send(&number, sizeof(number), other, 3, MCOMM_COMM_WORLD));
    EXPECT(MCOMM_ERR_PROC_FAILED,
           mcomm_recv(&number, sizeof(number), other, 4, MCOMM_COMM_WORLD, NULL));
    CHECK(kill(child, 0) == 0); /* it is not its end that was noticed */
    CHECK(kill(child, SIGKILL) == 0);
    OK(mcomm_finalize());
    return 0;
}
