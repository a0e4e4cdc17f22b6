/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the library knows of its build, its machine, its rails and its peers. */
#include "config.h"

#include "core/core_priv.h"

#include <stddef.h>

#include "base/mem.h"
#include "topo/topo.h"

void mcomm_free(void *ptr)
{
    mci_mem_free(ptr);
}

const char *mcomm_build_config(void)
{
    return MCI_CONFIG_TABLE;
}

const char *mcomm_bootstrap_text(void)
{
    return mcomm_is_initialized() ? mci_core_boot_text() : "";
}

const char *mcomm_topology_text(void)
{
    return mci_topo_text();
}

/* ---- peers ---------------------------------------------------------------------------------- */
static bool peer_is_settled(const struct mci_peer *peer)
{
    return peer->state == MCI_PEER_READY || peer->state == MCI_PEER_FAILED;
}

/* lock: engine, released while waiting */
static mcomm_err_t peer_connect(const struct mci_comm *comm, struct mci_peer *peer)
{
    struct mci_waiter waiter;
    mcomm_err_t err = mci_peer_reach(peer);

    mci_wait_begin(&waiter, comm->timeout_ms);
    while (!peer_is_settled(peer) && err == MCOMM_SUCCESS)
        err = mci_wait_step(&waiter);
    return peer_is_settled(peer) ? MCOMM_SUCCESS : err;
}

static void peer_describe(const struct mci_comm *comm, int rank, mcomm_peer_desc_t *desc)
{
    struct mci_peer *peer = mci_comm_peer(comm, rank);

    desc->is_local = peer->is_local;
    desc->is_alive = !mci_peer_is_failed(peer);
    desc->node = comm->node_of[rank];
    desc->rail = mci_peer_rail_name(peer);
    desc->can_cma = mci_peer_can_cma(peer);
    desc->pid = peer->pid;
    desc->host = mci_peer_host(peer);
}

mcomm_err_t mcomm_peer_query(mcomm_comm_t handle, int rank, int connect, mcomm_peer_desc_t *desc_p)
{
    mcomm_peer_desc_t full;
    struct mci_comm *comm;
    mcomm_err_t err = mci_comm_enter(handle, "desc_p", desc_p, &comm);

    if (err != MCOMM_SUCCESS)
        return err;
    err =
        mci_check_struct_size("desc_p", desc_p->struct_size, offsetof(mcomm_peer_desc_t, is_alive));
    if (err == MCOMM_SUCCESS)
        err = mci_check_rank(comm, "rank", rank);
    if (err == MCOMM_SUCCESS) {
        mci_comm_ref(comm);
        if (connect)
            err = peer_connect(comm, mci_comm_peer(comm, rank));
        if (err == MCOMM_SUCCESS)
            peer_describe(comm, rank, &full);
        mci_comm_unref(comm);
    }
    mci_engine_unlock();
    if (err == MCOMM_SUCCESS)
        mci_copy_out(desc_p, &full, sizeof(full));
    return err;
}

/* ---- rails ---------------------------------------------------------------------------------- */
size_t mcomm_rail_count(void)
{
    return mcomm_is_initialized() ? mci_rail_count() : 0;
}

mcomm_err_t mcomm_rail_get(size_t index, mcomm_rail_desc_t *desc_p)
{
    mcomm_rail_desc_t full = {.struct_size = sizeof(full)};
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("desc_p", desc_p);
    if (err == MCOMM_SUCCESS)
        err = mci_check_struct_size("desc_p", desc_p->struct_size,
                                    offsetof(mcomm_rail_desc_t, device));
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = mci_rail_describe(index, &full);
    mci_engine_unlock();
    if (err == MCOMM_SUCCESS)
        mci_copy_out(desc_p, &full, sizeof(full));
    return err;
}
