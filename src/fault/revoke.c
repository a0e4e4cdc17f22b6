/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Revoking a communicator: one member says so, and every operation on it ends at all members.
 *
 * The member tells all others. Everybody who learns it passes it on once, to the ranks at distances
 * 1, 2, 4, ... on both sides, before ending operations of its own: so all living members learn it
 * although the first one died amid telling, at 2 log2(n) frames each. The news goes ahead of
 * whatever ends with it, so nobody sees a withdrawn message where it should see the reason.
 *
 * Frame: w0 context.
 */
#include "config.h"

#include "fault/fault.h"
#include "pt2pt/pt2pt.h"

#define EARLY_MAX 256u

/* Contexts that were revoked while this process did not know them, the latest ones: it has freed
 * them, or is about to make them. */
static struct {
    uint64_t contexts[EARLY_MAX];
    uint64_t count;
} early;

static void tell(const struct mci_comm *comm, int rank)
{
    struct mci_frame frame = {.am = MCI_AM_REVOKE, .w0 = comm->ctx};
    struct mci_peer *peer = mci_comm_peer(comm, rank);

    if (rank != comm->rank && !mci_peer_is_failed(peer))
        mci_peer_tell(peer, &frame);
}

static void tell_all(const struct mci_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        tell(comm, i);
}

static void tell_some(const struct mci_comm *comm)
{
    for (int64_t distance = 1; distance < comm->size; distance *= 2) {
        tell(comm, (int)((comm->rank + distance) % comm->size));
        tell(comm, (int)((comm->rank - distance + comm->size) % comm->size));
    }
}

static void end_here(struct mci_comm *comm, void (*pass_on)(const struct mci_comm *comm))
{
    if (atomic_exchange(&comm->is_revoked, true))
        return;
    mci_comm_ref(comm); /* what ends may have held the last reference */
    pass_on(comm);
    mci_pt2pt_interrupt(comm, MCOMM_ERR_REVOKED);
    mci_comm_unref(comm);
    mci_wake_self(); /* who waits for something else looks at the mark */
}

void mci_revoke(struct mci_comm *comm)
{
    end_here(comm, tell_all);
}

static bool is_early(uint64_t ctx)
{
    for (uint64_t i = 0; i < early.count && i < EARLY_MAX; i++)
        if (early.contexts[i] == ctx)
            return true;
    return false;
}

static void on_revoke(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                      struct mci_sink *sink)
{
    struct mci_comm *comm = mci_comm_find(frame->w0);

    (void)peer, (void)payload, (void)sink;
    if (comm != NULL)
        end_here(comm, tell_some);
    else if (!is_early(frame->w0))
        early.contexts[early.count++ % EARLY_MAX] = frame->w0;
}

static mcomm_err_t comm_new(struct mci_comm *comm)
{
    if (is_early(comm->ctx))
        end_here(comm, tell_some);
    return MCOMM_SUCCESS;
}

void mci_revoke_start(void)
{
    early.count = 0;
    mci_rail_set_am(MCI_AM_REVOKE, on_revoke);
    mci_comm_on_new(comm_new);
}
