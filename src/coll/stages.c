/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A call as a list of calls of smaller teams: of a node, of one member of each node. Each stage
 * chooses its own algorithm when its turn comes, as a whole call does: the node's segment where
 * there is one, else messages, so that nodes need not agree on how they do their part. The stages
 * share the number and the tag of the call: between two members messages come in order.
 */
#include "coll/coll_priv.h"

struct coll_stages {
    struct coll_call *call;
    struct coll_call *list;
    size_t count, room, at;
    void **scratches;
    size_t scratch_count;
    mcomm_err_t err;
};

mcomm_err_t mci_coll_stages_new(struct coll_call *call)
{
    call->stages = mci_mem_zalloc(sizeof(*call->stages));
    if (call->stages == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for its stages",
                           mci_coll_kind_name(call->args.kind));
    call->stages->call = call;
    return MCOMM_SUCCESS;
}

static mcomm_err_t no_memory(struct coll_stages *stages, size_t nbytes)
{
    stages->err = mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for %zu bytes",
                              mci_coll_kind_name(stages->call->args.kind), nbytes);
    return stages->err;
}

void mci_coll_stages_add(struct coll_stages *stages, struct coll_team team, struct coll_args args)
{
    if (stages->count == stages->room) {
        size_t room = stages->room > 0 ? stages->room * 2 : 4;
        struct coll_call *list = mci_mem_realloc(stages->list, room * sizeof(*list));

        if (list == NULL) {
            no_memory(stages, room * sizeof(*list));
            return;
        }
        stages->list = list;
        stages->room = room;
    }
    stages->list[stages->count++] = (struct coll_call){
        .args = args, .team = team, .comm = stages->call->comm, .seq = stages->call->seq};
}

void *mci_coll_stages_scratch(struct coll_stages *stages, size_t nbytes)
{
    void **list = mci_mem_realloc(stages->scratches, (stages->scratch_count + 1) * sizeof(*list));
    void *scratch = mci_mem_alloc(nbytes);

    if (list != NULL)
        stages->scratches = list;
    if (list == NULL || scratch == NULL) {
        mci_mem_free(scratch);
        no_memory(stages, nbytes);
        return NULL;
    }
    stages->scratches[stages->scratch_count++] = scratch;
    return scratch;
}

mcomm_err_t mci_coll_stages_end(struct coll_stages *stages)
{
    return stages->err;
}

void mci_coll_stages_free(struct coll_stages *stages)
{
    if (stages == NULL)
        return;
    for (size_t i = 0; i < stages->count; i++)
        mci_coll_call_fini(&stages->list[i]);
    for (size_t i = 0; i < stages->scratch_count; i++)
        mci_mem_free(stages->scratches[i]);
    mci_mem_free(stages->scratches);
    mci_mem_free(stages->list);
    mci_mem_free(stages);
}

void mci_coll_stages_rewind(struct coll_stages *stages)
{
    stages->at = 0;
    for (size_t i = 0; i < stages->count; i++)
        mci_coll_call_rewind(&stages->list[i]);
}

void mci_coll_stages_withdraw(struct coll_stages *stages)
{
    if (stages->at < stages->count)
        mci_coll_call_withdraw(&stages->list[stages->at]);
}

bool mci_coll_stages_step(struct coll_call *call)
{
    struct coll_stages *stages = call->stages;

    while (stages->at < stages->count) {
        struct coll_call *stage = &stages->list[stages->at];

        stage->seq = call->seq;
        stage->tag = call->tag;
        if (!mci_coll_call_step(stage))
            return false;
        call->err = stage->err;
        if (call->err != MCOMM_SUCCESS)
            return true;
        stages->at++;
    }
    return true;
}
