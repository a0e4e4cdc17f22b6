/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The number of a communicator's calls passes 2^31, where the messages' tag begins anew, and 2^32,
 * where the number does: calls of all kinds before, across and after. Linked with the archive, to
 * begin with a number just below.
 */
#include "coll_check.h"

#include "core/core.h"

static void begin_with(mcomm_comm_t handle, uint32_t number)
{
    struct mci_comm *comm;

    mci_engine_lock();
    comm = mci_comm_get(handle);
    CHECK(comm != NULL && comm->coll_seq == 0);
    comm->coll_seq = number;
    mci_engine_unlock();
}

static void pass(uint32_t end)
{
    enum {
        OPEN = 12
    };
    static struct small all[OPEN];
    uint64_t state = 5;
    mcomm_comm_t comm;

    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    begin_with(comm, end - 100);
    for (int64_t round = 0; round < 240; round += OPEN) {
        bool is_open = round / OPEN % 2 == 0;

        for (int i = 0; i < OPEN; i++) {
            small_draw(&all[i], &state, round + i, comm, mp_rank, mp_size);
            OK(small_call(&all[i], is_open ? S_NONBLOCKING : S_BLOCKING));
        }
        for (int i = 0; i < OPEN; i++) {
            if (is_open)
                OK(mcomm_wait(&all[i].request, MCOMM_FOREVER, NULL));
            small_check(&all[i]);
        }
    }
    OK(mcomm_comm_free(&comm));
}

int main(void)
{
    mp_init();
    pass(1u << 31);
    pass(0);
    OK(mcomm_finalize());
    return 0;
}
