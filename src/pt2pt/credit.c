/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What pt2pt knows of a peer: the credit on both sides, and all operations that its death ends.
 * A sender spends payload + MSG_OVERHEAD for each eager message; the receiver gives it back, a
 * quarter of the credit at a time, once the data have left its unexpected queue. So a receiver
 * keeps at most the credit for each sender, whatever it is sent.
 */
#include "config.h"

#include "base/settings.h"
#include "pt2pt/pt2pt_priv.h"

size_t mci_credit_limit, mci_credit_batch;

static struct mci_pt2pt_peer *peer_init(struct mci_peer *peer, struct mci_pt2pt_peer *pp)
{
    if (pp == NULL)
        return NULL;
    memset(pp, 0, sizeof(*pp));
    pp->peer = peer;
    mci_list_init(&pp->held);
    mci_list_init(&pp->queued);
    mci_list_init(&pp->waiting);
    mci_list_init(&pp->msgs);
    mci_list_init(&pp->bulk);
    peer->p2p = pp;
    return pp;
}

struct mci_pt2pt_peer *mci_pt2pt_peer_new(struct mci_peer *peer)
{
    return peer_init(peer, mci_mem_alloc(sizeof(struct mci_pt2pt_peer)));
}

struct mci_pt2pt_peer *mci_pt2pt_peer_new_arriving(struct mci_peer *peer)
{
    return peer_init(peer, mci_reserve_take(MCI_RESERVE_PEER));
}

void mci_credit_return(struct mci_pt2pt_peer *pp)
{
    struct mci_frame frame = {.am = MCI_AM_P2P_CREDIT, .w0 = pp->owed};

    pp->owed = 0;
    if (mci_pt2pt.is_up && !mci_peer_is_failed(pp->peer))
        mci_peer_tell(pp->peer, &frame); /* failed: nobody needs it any more */
}

void mci_credit_on_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink)
{
    struct mci_pt2pt_peer *pp = mci_pt2pt_peer_of_sender(peer);

    (void)payload;
    (void)sink;
    if (pp == NULL)
        return;
    pp->used -= frame->w0 < pp->used ? frame->w0 : pp->used;
    mci_send_release_held(pp);
}

void mci_pt2pt_fail_list(struct mci_list *ops, mcomm_err_t err)
{
    struct mci_list *node;

    while ((node = mci_list_pop(ops)) != NULL) {
        struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

        op->status.source = op->source;
        op->status.tag = op->tag;
        mci_recv_finish(op, err);
    }
}

/*
 * ---- a peer failed, or has left: who finalized is missed only by receives that name it ----
 */
struct failed_member {
    int rank;
    bool any_source;
};

static bool want_member(struct mci_recv *op, void *arg)
{
    const struct failed_member *member = arg;

    if (!member->any_source)
        return op->source == member->rank;
    if (op->source != MCOMM_ANY_SOURCE)
        return false;
    if (op->stalled == NULL)
        return true;
    op->stalled(op);
    return false;
}

static void fail_receives(const struct mci_peer *peer)
{
    struct mci_list named, any, *node;

    mci_list_init(&named);
    mci_list_init(&any);
    MCI_LIST_FOREACH (node, &mci_pt2pt.matches) {
        struct mci_match *m = mci_container_of(node, struct mci_match, link);
        struct failed_member member;

        if (m->comm == NULL || (member.rank = mci_comm_rank_of(m->comm, peer)) < 0)
            continue;
        member.any_source = false;
        mci_match_extract(m, want_member, &member, &named);
        if (peer->has_left)
            continue;
        m->failed_count++;
        member.any_source = true;
        mci_match_extract(m, want_member, &member, &any);
    }
    mci_pt2pt_fail_list(&named, MCOMM_ERR_PROC_FAILED);
    mci_pt2pt_fail_list(&any, MCOMM_ERR_PROC_FAILED_PENDING);
}

static void fail_sends(struct mci_list *list)
{
    while (!mci_list_is_empty(list)) /* finish takes it out */
        mci_send_finish(mci_container_of(list->next, struct mci_send, link), MCOMM_ERR_PROC_FAILED);
}

/* Announced messages will not come; those that are all here stay. */
static void fail_messages(struct mci_pt2pt_peer *pp)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &pp->msgs) {
        struct mci_msg *msg = mci_container_of(node, struct mci_msg, peer_link);

        if (!msg->is_rts || msg->is_arriving || msg->flags & FRAME_HAS_DATA)
            continue;
        if (msg->match != NULL) {
            mci_match_remove(msg->match, msg);
            mci_msg_free(msg);
        } else {
            msg->err = MCOMM_ERR_PROC_FAILED;
        }
    }
}

void mci_pt2pt_on_failed(struct mci_peer *peer)
{
    struct mci_pt2pt_peer *pp = peer->p2p;

    fail_receives(peer);
    if (pp != NULL) {
        fail_messages(pp);
        fail_sends(&pp->waiting);
        fail_sends(&pp->held);
    }
    mci_wake_self(); /* probes look themselves */
}

void mci_pt2pt_on_gone(struct mci_peer *peer)
{
    struct mci_pt2pt_peer *pp = peer->p2p;
    struct mci_list *node;

    if (pp == NULL)
        return;
    while (mci_list_pop(&pp->queued) != NULL)
        ; /* the rail ends them */
    fail_sends(&pp->waiting);
    fail_sends(&pp->held);
    while ((node = mci_list_pop(&pp->msgs)) != NULL) {
        struct mci_msg *msg = mci_container_of(node, struct mci_msg, peer_link);

        msg->peer = NULL;
        if (msg->match != NULL)
            mci_match_remove(msg->match, msg);
        msg->match = NULL;
        if (msg->handle == NULL)
            mci_msg_free(msg);
        else if (msg->is_rts && !(msg->flags & FRAME_HAS_DATA))
            msg->err = MCOMM_ERR_PROC_FAILED;
    }
    peer->p2p = NULL;
    mci_mem_free(pp);
}
