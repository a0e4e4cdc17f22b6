/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collective work among members below the level of coll: up a binomial tree to the root and down
 * again, 2 ceil(log2 n) steps. Every message begins with the first error met in its part of the
 * tree and who caused it. A rank that meets an error goes on sending and receiving, so that all
 * members end, each with the error, wherever the dead one sat.
 *
 * In the core space all members take part, so a member that is known to be dead decides: nobody
 * waits any more, and sends the error on. Who met the death itself tells all members: one that had
 * got its result before, and is in the next call already, must not wait for others that gave up.
 */
#include "config.h"

#include "core/core_priv.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define TAG_MASK 0x3fffffffu

struct mci_core_exchange mci_core_exchange;

struct tree_msg {
    int32_t err;
    int32_t rank; /* in comm, of the member that caused err */
    unsigned char bytes[];
};

struct tree_run {
    struct mci_tree *tree;
    struct tree_msg *msg; /* room for all data; NULL: no memory */
    mcomm_err_t err;
    int culprit;        /* rank in comm, -1: this process */
    bool is_discoverer; /* met the death of culprit itself */
};

void mci_tree_begin(struct mci_tree *tree, struct mci_comm *comm, int root)
{
    tree->comm = comm;
    tree->space = MCI_CTX_CORE;
    tree->tag = (int)(comm->children++ & TAG_MASK);
    tree->size = comm->size;
    tree->rank = (comm->rank - root + comm->size) % comm->size;
    tree->group = NULL;
    tree->root = root;
    tree->deadline_ns = mci_deadline_ns(comm->timeout_ms);
}

static int member_rank(const struct mci_tree *tree, int rank)
{
    if (tree->group != NULL)
        return mci_comm_rank_of(tree->comm, tree->group->peers[rank]);
    return (rank + tree->root) % tree->comm->size;
}

/* A death outranks all else: it makes the others' calls diverge. */
static void run_fail(struct tree_run *run, mcomm_err_t err, int culprit)
{
    if (err == MCOMM_SUCCESS || (run->err != MCOMM_SUCCESS && (run->err == MCOMM_ERR_PROC_FAILED ||
                                                               err != MCOMM_ERR_PROC_FAILED)))
        return;
    run->err = err;
    run->culprit = culprit;
}

/* An exchange with rank other returned err. */
static void run_fail_own(struct tree_run *run, mcomm_err_t err, int other)
{
    const struct mci_comm *comm = run->tree->comm;
    int dead = other;

    if (err == MCOMM_SUCCESS)
        return;
    if (err == MCOMM_ERR_PROC_FAILED && !mci_peer_is_failed(mci_comm_peer(comm, other)))
        dead = mci_comm_first_failed(comm); /* we were interrupted */
    run_fail(run, err, dead >= 0 ? dead : other);
    run->is_discoverer = run->is_discoverer || err == MCOMM_ERR_PROC_FAILED;
}

/* A member is known to be dead: there is nothing to wait for. */
static bool run_is_hopeless(struct tree_run *run)
{
    const struct mci_tree *tree = run->tree;
    int dead;

    if (tree->space != MCI_CTX_CORE || tree->comm->failed_count == 0)
        return false;
    dead = mci_comm_first_failed(tree->comm);
    run_fail(run, MCOMM_ERR_PROC_FAILED, dead);
    return true;
}

/* Tell every member that the process is dead; it looks for itself. */
static void death_tell(const struct mci_comm *comm, const struct mci_peer *dead)
{
    for (int i = 0; i < comm->size; i++) {
        struct mci_frame frame = {.am = MCI_AM_CORE_FAILED, .w0 = dead->proc_id};
        struct mci_peer *peer = mci_comm_peer(comm, i);

        if (i != comm->rank && !mci_peer_is_failed(peer))
            mci_peer_tell(peer, &frame);
    }
}

void mci_tree_on_death(struct mci_peer *from, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink)
{
    struct mci_peer *peer = mci_peer_find(frame->w0);

    (void)from, (void)payload, (void)sink;
    if (peer != NULL)
        mci_peer_watch(peer);
}

static void run_send(struct tree_run *run, int to, size_t nbytes)
{
    const struct mci_tree *tree = run->tree;
    struct tree_msg header, *msg = run->msg;
    int dest = member_rank(tree, to);
    mcomm_err_t err;

    if (msg == NULL) { /* the receiver sees by the size that it is an error */
        msg = &header;
        nbytes = 0;
    }
    msg->err = (int32_t)run->err;
    msg->rank = run->culprit < 0 ? tree->comm->rank : run->culprit;
    err = mci_core_exchange.send(tree->comm, tree->space, dest, tree->tag, msg,
                                 sizeof(*msg) + nbytes, mci_deadline_left_ms(tree->deadline_ns));
    run_fail_own(run, err, dest);
}

/*
 * false: an error; the bytes of the message are not to be used. Without memory it is taken away all
 * the same: its sender may wait for that, and a later call with the same tag must not meet it.
 */
static bool run_recv(struct tree_run *run, int from, size_t nbytes)
{
    const struct mci_tree *tree = run->tree;
    struct tree_msg header, *msg = run->msg;
    int source = member_rank(tree, from);
    mcomm_err_t err;

    if (run_is_hopeless(run))
        return false;
    if (msg == NULL)
        msg = &header;
    mci_peer_watch(mci_comm_peer(tree->comm, source));
    msg->err = MCOMM_SUCCESS;
    err = mci_core_exchange.recv(tree->comm, tree->space, source, tree->tag, msg,
                                 sizeof(*msg) + (run->msg != NULL ? nbytes : 0),
                                 mci_deadline_left_ms(tree->deadline_ns));
    if (err == MCOMM_ERR_MISMATCH && (run->msg == NULL || msg->err != MCOMM_SUCCESS))
        err = MCOMM_SUCCESS; /* of another size because one of the two has no memory */
    run_fail_own(run, err, source);
    if (err != MCOMM_SUCCESS)
        return false;
    run_fail(run, (mcomm_err_t)msg->err, msg->rank);
    return run->msg != NULL && msg->err == MCOMM_SUCCESS;
}

/* Members in the part of the tree below and with rank, whose parent is reached by mask. */
static int subtree_size(const struct mci_tree *tree, int rank, int mask)
{
    return tree->size - rank < mask ? tree->size - rank : mask;
}

/* Gather into all, in order of tree ranks; every rank's own part is there. */
static void run_up(struct tree_run *run, unsigned char *all, size_t nbytes)
{
    const struct mci_tree *tree = run->tree;
    int mask;

    for (mask = 1; mask < tree->size && !(tree->rank & mask); mask <<= 1) {
        int child = tree->rank + mask;
        size_t part;

        if (child >= tree->size)
            continue;
        part = (size_t)subtree_size(tree, child, mask) * nbytes;
        if (run_recv(run, child, part) && part > 0)
            memcpy(all + (size_t)child * nbytes, run->msg->bytes, part);
    }
    if (tree->rank != 0) {
        size_t part = (size_t)subtree_size(tree, tree->rank, mask) * nbytes;

        if (run->msg != NULL && part > 0)
            memcpy(run->msg->bytes, all + (size_t)tree->rank * nbytes, part);
        run_send(run, tree->rank - mask, part);
    }
}

static void run_down(struct tree_run *run, void *data, size_t nbytes)
{
    const struct mci_tree *tree = run->tree;
    int mask = 1;

    while (mask < tree->size && !(tree->rank & mask))
        mask <<= 1;
    if (tree->rank != 0 && run_recv(run, tree->rank - mask, nbytes) && nbytes > 0)
        memcpy(data, run->msg->bytes, nbytes);
    if (run->msg != NULL && nbytes > 0)
        memcpy(run->msg->bytes, data, nbytes);
    for (mask >>= 1; mask > 0; mask >>= 1) {
        if (tree->rank + mask < tree->size)
            run_send(run, tree->rank + mask, nbytes);
    }
}

/* has_room: the caller has memory for all data; else, as without msg, an error is sent on. */
static mcomm_err_t run_begin(struct tree_run *run, struct mci_tree *tree, mcomm_err_t err,
                             size_t nbytes, bool has_room)
{
    run->tree = tree;
    run->err = err;
    run->culprit = -1;
    run->is_discoverer = false;
    run->msg = NULL;
    if (atomic_load(&tree->comm->is_revoked)) /* the others learn it, too */
        return mci_err_set(MCOMM_ERR_REVOKED, "%s is revoked", mci_comm_text(tree->comm));
    if (tree->size == 1 || !has_room)
        return MCOMM_SUCCESS;
    if (mci_core_exchange.send == NULL)
        return mci_err_set(MCOMM_ERR_UNSUPPORTED, "there is no message layer");
    run->msg = mci_mem_zalloc(sizeof(*run->msg) + nbytes);
    if (run->msg == NULL)
        run_fail(run, mci_err_set(MCOMM_ERR_NO_MEM, "no memory for %zu bytes", nbytes), -1);
    return MCOMM_SUCCESS;
}

static mcomm_err_t run_end(struct tree_run *run)
{
    const struct mci_comm *comm = run->tree->comm;
    const struct mci_peer *peer;

    mci_mem_free(run->msg);
    if (run->err == MCOMM_SUCCESS || run->culprit < 0 || run->culprit >= comm->size ||
        comm->group == NULL)
        return run->err;
    peer = mci_comm_peer(comm, run->culprit);
    if (run->is_discoverer && run->err == MCOMM_ERR_PROC_FAILED)
        death_tell(comm, peer);
    if (run->err == MCOMM_ERR_PROC_FAILED)
        return mci_err_set(run->err, "rank %d of %s failed: %s", run->culprit, mci_comm_text(comm),
                           mci_peer_is_failed(peer) ? mci_peer_reason(peer)
                                                    : "another rank says so");
    if (run->err == MCOMM_ERR_REVOKED)
        return mci_err_set(run->err, "%s is revoked", mci_comm_text(comm));
    if (run->err == MCOMM_ERR_TIMEOUT)
        return mci_err_set(run->err, "rank %d of %s did not come within the time limit",
                           run->culprit, mci_comm_text(comm));
    return mci_err_set(run->err, "rank %d of %s: %s", run->culprit, mci_comm_text(comm),
                       mcomm_err_text(run->err));
}

mcomm_err_t mci_tree_allgather(struct mci_tree *tree, mcomm_err_t err, const void *mine, void *all,
                               size_t nbytes)
{
    unsigned char *bytes = all;
    struct tree_run run;
    mcomm_err_t begin_err = run_begin(&run, tree, err, (size_t)tree->size * nbytes, all != NULL);

    if (begin_err != MCOMM_SUCCESS)
        return begin_err;
    if (all != NULL && nbytes > 0)
        memcpy(bytes + (size_t)tree->rank * nbytes, mine, nbytes);
    run_up(&run, bytes, nbytes);
    run_down(&run, bytes, (size_t)tree->size * nbytes);
    return run_end(&run);
}

mcomm_err_t mci_tree_bcast(struct mci_tree *tree, mcomm_err_t err, void *buf, size_t nbytes)
{
    struct tree_run run;
    mcomm_err_t begin_err = run_begin(&run, tree, err, nbytes, true);

    if (begin_err != MCOMM_SUCCESS)
        return begin_err;
    run_up(&run, NULL, 0);
    run_down(&run, buf, nbytes);
    return run_end(&run);
}

/* ---- for the layers above ------------------------------------------------------------------- */
mcomm_err_t mci_comm_allgather(struct mci_comm *comm, mcomm_err_t err, const void *mine, void *all,
                               size_t nbytes)
{
    struct mci_tree tree;

    mci_comm_ref(comm);
    mci_tree_begin(&tree, comm, 0);
    err = mci_tree_allgather(&tree, err, mine, all, nbytes);
    mci_comm_unref(comm);
    return err;
}

mcomm_err_t mci_comm_bcast(struct mci_comm *comm, mcomm_err_t err, void *buf, size_t nbytes,
                           int root)
{
    struct mci_tree tree;

    mci_comm_ref(comm);
    mci_tree_begin(&tree, comm, root);
    err = mci_tree_bcast(&tree, err, buf, nbytes);
    mci_comm_unref(comm);
    return err;
}

mcomm_err_t mci_comm_barrier(struct mci_comm *comm, mcomm_err_t err)
{
    return mci_comm_bcast(comm, err, NULL, 0, 0);
}
