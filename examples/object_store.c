/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* One store over all ranks: everybody puts objects, everybody finds everybody's. */
#include <mooncake_comm.h>

#include <stdio.h>
#include <string.h>

static void must(mcomm_err_t err, const char *what)
{
    if (err == MCOMM_SUCCESS)
        return;
    fprintf(stderr, "object_store: %s: %s\n", what, mcomm_last_error());
    mcomm_abort(MCOMM_COMM_WORLD, 1, what);
}

int main(void)
{
    mcomm_kv_attr_t attr = MCOMM_KV_ATTR_DEFAULT;
    char key[64], value[64], found[64];
    int rank, size, wrong = 0, exists;
    size_t nbytes;
    mcomm_kv_t kv;

    must(mcomm_init(NULL), "init");
    mcomm_comm_rank(MCOMM_COMM_WORLD, &rank);
    mcomm_comm_size(MCOMM_COMM_WORLD, &size);
    attr.capacity = 16 << 20; /* bytes that this rank lends */
    must(mcomm_kv_open(MCOMM_COMM_WORLD, &attr, &kv), "kv_open");

    snprintf(key, sizeof(key), "greeting/%d", rank);
    snprintf(value, sizeof(value), "hello from rank %d", rank);
    must(mcomm_kv_put(kv, key, strlen(key), value, strlen(value), NULL), "kv_put");
    must(mcomm_barrier(MCOMM_COMM_WORLD), "barrier");

    for (int other = 0; other < size; other++) {
        snprintf(key, sizeof(key), "greeting/%d", other);
        snprintf(value, sizeof(value), "hello from rank %d", other);
        must(mcomm_kv_get_into(kv, key, strlen(key), found, sizeof(found), &nbytes), "kv_get_into");
        wrong += nbytes != strlen(value) || memcmp(found, value, nbytes) != 0;
    }
    must(mcomm_kv_exists(kv, "nobody", 6, &exists), "kv_exists");
    wrong += exists;
    if (rank == 0)
        printf("%d objects found by %d ranks, %d wrong\n", size, size, wrong);
    must(mcomm_kv_close(&kv), "kv_close");
    must(mcomm_finalize(), "finalize");
    return wrong != 0;
}
