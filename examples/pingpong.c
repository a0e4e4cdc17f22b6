/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Two ranks throw a message to and fro and check every byte of it. */
#include <mooncake_comm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000
#define MAX_NBYTES ((size_t)1 << 20)

static void must(mcomm_err_t err, const char *what)
{
    if (err == MCOMM_SUCCESS)
        return;
    fprintf(stderr, "pingpong: %s: %s\n", what, mcomm_last_error());
    mcomm_abort(MCOMM_COMM_WORLD, 1, what);
}

static int play(int rank, unsigned char *buf, size_t nbytes)
{
    mcomm_status_t status;

    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            memset(buf, i & 0xff, nbytes);
            must(mcomm_send(buf, nbytes, 1, 7, MCOMM_COMM_WORLD), "send");
        }
        must(mcomm_recv(buf, MAX_NBYTES, 1 - rank, 7, MCOMM_COMM_WORLD, &status), "recv");
        for (size_t k = 0; k < nbytes; k++)
            if (status.nbytes != nbytes || buf[k] != (i & 0xff))
                return -1;
        if (rank == 1)
            must(mcomm_send(buf, nbytes, 0, 7, MCOMM_COMM_WORLD), "send");
    }
    return 0;
}

int main(void)
{
    static unsigned char buf[MAX_NBYTES];
    int rank, size, failed = 0;

    must(mcomm_init(NULL), "init");
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    if (size < 2)
        fprintf(stderr, "pingpong: needs two ranks: mpirun -n 2 pingpong\n");
    for (size_t nbytes = 8; size >= 2 && rank < 2 && nbytes <= MAX_NBYTES; nbytes *= 8) {
        double begin = mcomm_wtime();

        failed |= play(rank, buf, nbytes);
        if (rank == 0)
            printf("%8zu bytes %10.2f us half a round trip, %s\n", nbytes,
                   (mcomm_wtime() - begin) / ROUNDS / 2 * 1e6, failed ? "WRONG" : "verified");
    }
    must(mcomm_finalize(), "finalize");
    return failed || size < 2;
}
