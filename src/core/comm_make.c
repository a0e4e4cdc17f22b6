/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Making communicators. Two steps: the members learn the new context, which its rank 0 chose from
 * its own identity and counter, so nothing is shared or used up; then each makes its object and all
 * agree that everybody has one. So no message can meet a member that does not know the context
 * yet, and an error anywhere leaves no member with the new communicator.
 */
#include "config.h"

#include "core/core_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/info.h"
#include "base/mem.h"
#include "base/settings_text.h"

struct offer {           /* what every member tells the others */
    uint64_t ctx;        /* the context, should it become rank 0 */
    uint64_t group_hash; /* create_group: all must mean the same group */
    int32_t colour, key;
};

/* Told to the others: nobody waits for this rank in vain. */
static mcomm_err_t no_offers(int size)
{
    return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the offers of %d ranks", size);
}

/* A refused communicator is no member's business any more. */
static mcomm_err_t commit(struct mci_tree *tree, mcomm_err_t err, struct mci_comm *made,
                          struct mci_comm **newcomm_p)
{
    err = mci_tree_bcast(tree, err, NULL, 0);
    if (err == MCOMM_SUCCESS)
        *newcomm_p = made;
    else if (made != NULL)
        mci_comm_free(made);
    return err;
}

static mcomm_err_t comm_of_group(struct mci_group *group, uint64_t ctx,
                                 const struct mci_comm_hints *hints, struct mci_comm **made_p)
{
    mcomm_err_t err = mci_comm_new(group, ctx, hints, made_p);

    if (err != MCOMM_SUCCESS)
        mci_group_unref(group);
    return err;
}

/* ---- dup ------------------------------------------------------------------------------------ */
/* What info says, over what the parent has. */
static mcomm_err_t hints_read(const struct mci_info *info, struct mci_comm_hints *hints)
{
    const char *coll = info != NULL ? mci_info_find(info, "coll") : NULL;
    const char *fixed = info != NULL ? mci_info_find(info, "deterministic") : NULL;

    if (fixed != NULL && !mci_text_to_bool(fixed, &hints->is_deterministic))
        return mci_err_set(MCOMM_ERR_INFO, "info key deterministic = \"%.200s\": not a bool (%s)",
                           fixed, mci_text_syntax("bool"));
    if (coll == NULL)
        return MCOMM_SUCCESS;
    if (strlen(coll) >= sizeof(hints->coll))
        return mci_err_set(MCOMM_ERR_INFO, "info key coll = \"%.40s...\": over %zu characters",
                           coll, sizeof(hints->coll) - 1);
    strcpy(hints->coll, coll);
    hints->is_info = true;
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_comm_dup(struct mci_comm *comm, const struct mci_info *info,
                         struct mci_comm **newcomm_p)
{
    struct mci_comm *made = NULL;
    struct mci_tree tree;
    struct {
        uint64_t ctx;
        struct mci_comm_hints hints; /* of rank 0: equal on all */
    } of_root = {.hints = comm->hints};
    mcomm_err_t err, info_err = hints_read(info, &of_root.hints);

    mci_comm_ref(comm);
    mci_tree_begin(&tree, comm, 0);
    err = info_err != MCOMM_SUCCESS ? info_err : mci_comms_check_room();
    if (comm->rank == 0)
        of_root.ctx = mci_comms_next_ctx();
    err = mci_tree_bcast(&tree, err, &of_root, sizeof(of_root));
    if (err == MCOMM_SUCCESS) {
        err = comm_of_group(mci_group_ref(comm->group), of_root.ctx, &of_root.hints, &made);
        err = commit(&tree, err, made, newcomm_p);
    }
    mci_comm_unref(comm);
    return err;
}

/* ---- split ---------------------------------------------------------------------------------- */
struct split_member {
    int key, rank;
};

static int split_order(const void *left, const void *right)
{
    const struct split_member *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static mcomm_err_t split_make(struct mci_comm *comm, const struct offer *offers, int colour,
                              struct mci_comm **made_p)
{
    struct split_member *members = mci_mem_alloc((size_t)comm->size * sizeof(*members));
    struct mci_group *group;
    mcomm_err_t err;
    int size = 0;

    if (members == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory to sort %d ranks", comm->size);
    for (int i = 0; i < comm->size; i++) {
        if (offers[i].colour == colour)
            members[size++] = (struct split_member){offers[i].key, i};
    }
    qsort(members, (size_t)size, sizeof(*members), split_order);
    group = mci_group_new(size);
    if (group != NULL) {
        for (int i = 0; i < size; i++)
            group->peers[i] = mci_comm_peer(comm, members[i].rank);
        mci_group_seal(group);
        err = comm_of_group(group, offers[members[0].rank].ctx, &comm->hints, made_p);
    } else {
        err = mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a group of %d", size);
    }
    mci_mem_free(members);
    return err;
}

mcomm_err_t mci_comm_split(struct mci_comm *comm, int colour, int key, struct mci_comm **newcomm_p)
{
    struct offer mine = {.ctx = mci_comms_next_ctx(), .colour = colour, .key = key};
    struct offer *offers = mci_mem_zalloc((size_t)comm->size * sizeof(*offers));
    struct mci_comm *made = NULL;
    struct mci_tree tree;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_comm_ref(comm);
    mci_tree_begin(&tree, comm, 0);
    if (offers == NULL)
        err = no_offers(comm->size);
    else if (colour != MCOMM_RANK_UNDEFINED)
        err = mci_comms_check_room();
    err = mci_tree_allgather(&tree, err, &mine, offers, sizeof(mine));
    if (err == MCOMM_SUCCESS) {
        if (colour != MCOMM_RANK_UNDEFINED)
            err = split_make(comm, offers, colour, &made);
        err = commit(&tree, err, made, newcomm_p);
    }
    mci_mem_free(offers);
    mci_comm_unref(comm);
    return err;
}

/* ---- create_group --------------------------------------------------------------------------- */
static mcomm_err_t check_same_group(const struct mci_tree *tree, const struct offer *offers)
{
    for (int i = 1; i < tree->size; i++) {
        if (offers[i].group_hash != offers[0].group_hash)
            return mci_err_set(MCOMM_ERR_MISMATCH, "group differs between ranks %d and %d of %s",
                               mci_comm_rank_of(tree->comm, tree->group->peers[0]),
                               mci_comm_rank_of(tree->comm, tree->group->peers[i]),
                               mci_comm_text(tree->comm));
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t check_members(const struct mci_comm *comm, const struct mci_group *group)
{
    for (int i = 0; i < group->size; i++) {
        if (mci_comm_rank_of(comm, group->peers[i]) < 0)
            return mci_err_set(MCOMM_ERR_GROUP,
                               "member %d of group (rank %d of its job) is not in %s", i,
                               group->peers[i]->world_rank, mci_comm_text(comm));
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t group_run(struct mci_tree *tree, struct mci_group *group, struct offer *offers,
                             struct mci_comm **newcomm_p)
{
    struct offer mine = {.ctx = mci_comms_next_ctx(), .group_hash = mci_group_hash(group)};
    struct mci_comm *made = NULL;
    mcomm_err_t err = offers != NULL ? mci_comms_check_room() : no_offers(group->size);

    err = mci_tree_allgather(tree, err, &mine, offers, sizeof(mine));
    if (err == MCOMM_SUCCESS)
        err = check_same_group(tree, offers);
    if (err != MCOMM_SUCCESS)
        return err;
    err = comm_of_group(mci_group_ref(group), offers[0].ctx, &tree->comm->hints, &made);
    return commit(tree, err, made, newcomm_p);
}

mcomm_err_t mci_comm_create_group(struct mci_comm *comm, struct mci_group *group, int tag,
                                  struct mci_comm **newcomm_p)
{
    struct mci_tree tree = {.comm = comm,
                            .space = MCI_CTX_GROUP,
                            .tag = tag,
                            .size = group->size,
                            .rank = group->rank,
                            .group = group};
    struct offer *offers;
    mcomm_err_t err = check_members(comm, group);

    if (err != MCOMM_SUCCESS)
        return err;
    offers = mci_mem_zalloc((size_t)group->size * sizeof(*offers));
    mci_comm_ref(comm);
    mci_group_ref(group);
    tree.deadline_ns = mci_deadline_ns(comm->timeout_ms);
    err = group_run(&tree, group, offers, newcomm_p);
    mci_group_unref(group);
    mci_comm_unref(comm);
    mci_mem_free(offers);
    return err;
}

/* ---- from a caller's allgather -------------------------------------------------------------- */
#define OOB_CARD_MAX 2048
#define OOB_FEW 1024 /* ranks whose results fit the stack */
struct oob_offer {
    uint64_t ctx;
    uint32_t nbytes;
    uint32_t pad;
    unsigned char card[OOB_CARD_MAX];
};

static mcomm_err_t oob_call(const mcomm_oob_t *oob, const void *mine, void *all, size_t nbytes)
{
    int rc = oob->allgather(mine, all, nbytes, oob->arg);

    if (rc != 0)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "oob->allgather returned %d for %zu bytes", rc,
                           nbytes);
    return MCOMM_SUCCESS;
}

static void oob_offer_fill(struct oob_offer *mine)
{
    size_t nbytes;
    const void *card;

    mci_engine_lock();
    card = mci_rail_card(&nbytes);
    mine->ctx = mci_comms_next_ctx();
    mci_engine_unlock();
    mine->nbytes = (uint32_t)nbytes;
    memcpy(mine->card, card, nbytes);
}

/* The group of the processes whose cards came. lock: engine */
static mcomm_err_t oob_group(const mcomm_oob_t *oob, const struct oob_offer *offers,
                             struct mci_group **group_p)
{
    struct mci_group *group = mci_group_new(oob->size);
    mcomm_err_t err = MCOMM_SUCCESS;
    int known = 0;

    if (group == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a group of %d", oob->size);
    for (; known < oob->size && err == MCOMM_SUCCESS; known += err == MCOMM_SUCCESS) {
        if (offers[known].nbytes > OOB_CARD_MAX)
            err =
                mci_err_set(MCOMM_ERR_BOOTSTRAP, "oob->allgather gave no card for rank %d", known);
        else
            err = mci_peer_intern(offers[known].card, offers[known].nbytes, &group->peers[known]);
    }
    if (err == MCOMM_SUCCESS && group->peers[oob->rank] != mci_peer_self())
        err = mci_err_set(MCOMM_ERR_ARG,
                          "oob->rank = %d: another process's card came back at this "
                          "place",
                          oob->rank);
    if (err != MCOMM_SUCCESS) {
        while (known > 0)
            mci_peer_release(group->peers[--known]);
        mci_mem_free(group);
        return err;
    }
    mci_group_seal(group);
    for (int i = 0; i < group->size; i++)
        mci_peer_release(group->peers[i]); /* intern's; the group has its own */
    group->rank = oob->rank;
    *group_p = group;
    return MCOMM_SUCCESS;
}

static mcomm_err_t oob_make(const mcomm_oob_t *oob, const struct oob_offer *offers,
                            struct mci_comm **made_p)
{
    struct mci_group *group = NULL;
    mcomm_err_t err = mci_comms_check_room();

    if (err == MCOMM_SUCCESS)
        err = oob_group(oob, offers, &group);
    if (err == MCOMM_SUCCESS)
        err = comm_of_group(group, offers[0].ctx, NULL, made_p);
    return err;
}

/*
 * Is all well with all ranks? By the caller's allgather. A rank that has failed gets its own error,
 * the others that of the first of those.
 */
static mcomm_err_t oob_agree(const mcomm_oob_t *oob, mcomm_err_t err, int32_t *results)
{
    int32_t mine = (int32_t)err;
    mcomm_err_t call_err = oob_call(oob, &mine, results, sizeof(mine));

    if (err == MCOMM_SUCCESS)
        err = call_err;
    for (int i = 0; err == MCOMM_SUCCESS && i < oob->size; i++) {
        if (results[i] != MCOMM_SUCCESS)
            err = mci_err_set((mcomm_err_t)results[i], "rank %d: %s", i,
                              mcomm_err_text((mcomm_err_t)results[i]));
    }
    return err;
}

/* offers: room for all and one more; NULL: no memory, which the others are told */
static mcomm_err_t oob_run(const mcomm_oob_t *oob, struct oob_offer *offers, int32_t *results,
                           struct mci_comm **made_p)
{
    mcomm_err_t err = offers != NULL ? MCOMM_SUCCESS : no_offers(oob->size);

    err = oob_agree(oob, err, results);
    if (err != MCOMM_SUCCESS)
        return err;
    oob_offer_fill(&offers[oob->size]);
    err = oob_call(oob, &offers[oob->size], offers, sizeof(*offers));
    if (err != MCOMM_SUCCESS)
        return err;
    mci_engine_lock();
    err = oob_make(oob, offers, made_p);
    mci_engine_unlock();
    return oob_agree(oob, err, results);
}

mcomm_err_t mci_comm_create_oob(const mcomm_oob_t *oob, struct mci_comm **newcomm_p)
{
    size_t size = (size_t)oob->size;
    int32_t few[OOB_FEW], *results = few;
    struct oob_offer *offers;
    struct mci_comm *made = NULL;
    mcomm_err_t err;

    if (size > OOB_FEW)
        results = mci_mem_alloc(size * sizeof(*results));
    if (results == NULL) /* the one thing without which it cannot be told */
        return no_offers(oob->size);
    offers = mci_mem_zalloc((size + 1) * sizeof(*offers));
    err = oob_run(oob, offers, results, &made);
    if (err == MCOMM_SUCCESS) {
        *newcomm_p = made;
    } else if (made != NULL) {
        mci_engine_lock();
        mci_comm_free(made);
        mci_engine_unlock();
    }
    mci_mem_free(offers);
    if (results != few)
        mci_mem_free(results);
    return err;
}
