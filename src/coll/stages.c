/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A call as a list of calls of smaller teams: of a node, of one member of each node. Each stage
 * chooses its own algorithm when its turn comes, as a whole call does: the node's segment where
 * there is one, else messages, so that nodes need not agree on how they do their part. The stages
 * share the number and the tag of the call: between two members messages come in order, for two
 * members of a node meet in its lane only, others in that of the wire.
 */
#include "coll/stages.h"

#include <string.h>

enum stage_what {
    STAGE_CALL,
    STAGE_PLAN, /* laid down with the list */
    STAGE_THEN
};

struct stage {
    enum stage_what what;
    enum coll_lane lane;
    coll_stage_t after;
    bool is_over;
    void (*more)(struct coll_call *call, void *arg);
    void *arg;
    struct coll_call call;
};

struct coll_stages {
    struct coll_call *call;
    struct stage **list; /* a plan knows its call by address */
    size_t count, room;
    size_t ended;          /* so many are laid down to the end */
    size_t at[LANE_NUM];   /* all of the lane before it are over */
    size_t last[LANE_NUM]; /* of each lane, as added */
    void **scratches;
    size_t scratch_count;
    mcomm_err_t err;
};

static const struct coll_algo plan_algo = {"plan", NULL, mci_coll_plan_step};

/* ---- building ---- */
mcomm_err_t mci_coll_stages_new(struct coll_call *call)
{
    call->stages = mci_mem_zalloc(sizeof(*call->stages));
    if (call->stages == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for its stages",
                           mci_coll_kind_name(call->args.kind));
    call->stages->call = call;
    return MCOMM_SUCCESS;
}

static void no_memory(struct coll_stages *stages, size_t nbytes)
{
    stages->err = mci_err_set(MCOMM_ERR_NO_MEM, "%s: no memory for %zu bytes",
                              mci_coll_kind_name(stages->call->args.kind), nbytes);
}

static struct stage *stage_new(struct coll_stages *stages, enum stage_what what,
                               enum coll_lane lane, coll_stage_t after)
{
    struct stage *stage;

    if (stages->count == stages->room) {
        size_t room = stages->room > 0 ? stages->room * 2 : 8;
        struct stage **list = mci_mem_realloc(stages->list, room * sizeof(*list));

        if (list == NULL) {
            no_memory(stages, room * sizeof(*list));
            return NULL;
        }
        stages->list = list;
        stages->room = room;
    }
    stage = mci_mem_zalloc(sizeof(*stage));
    if (stage == NULL) {
        no_memory(stages, sizeof(*stage));
        return NULL;
    }
    stage->what = what;
    stage->lane = lane;
    stage->after =
        after == STAGE_ALL ? stages->last[lane == LANE_NODE ? LANE_WIRE : LANE_NODE] : after;
    stage->call.comm = stages->call->comm;
    stages->list[stages->count++] = stage;
    stages->last[lane] = stages->count;
    return stage;
}

coll_stage_t mci_coll_stages_add(struct coll_stages *stages, enum coll_lane lane,
                                 coll_stage_t after, struct coll_team team, struct coll_args args)
{
    struct stage *stage = stage_new(stages, STAGE_CALL, lane, after);

    if (stage == NULL)
        return STAGE_NONE;
    stage->call.args = args;
    stage->call.team = team;
    return stages->count;
}

struct coll_plan *mci_coll_stages_plan(struct coll_stages *stages, enum coll_lane lane,
                                       coll_stage_t after)
{
    struct stage *stage = stage_new(stages, STAGE_PLAN, lane, after);

    if (stage == NULL)
        return NULL;
    stage->call.args = stages->call->args;
    stage->call.team = stages->call->team;
    stage->call.algo = &plan_algo;
    if (mci_coll_plan_new(&stage->call) != MCOMM_SUCCESS)
        no_memory(stages, sizeof(*stage));
    return stage->call.plan;
}

coll_stage_t mci_coll_stages_algo(struct coll_stages *stages, enum coll_lane lane,
                                  coll_stage_t after, struct coll_args args,
                                  mcomm_err_t (*build)(struct coll_call *call))
{
    struct stage *stage = stage_new(stages, STAGE_CALL, lane, after);
    mcomm_err_t err;

    if (stage == NULL)
        return STAGE_NONE;
    stage->call.args = args;
    stage->call.team = stages->call->team;
    stage->call.algo = &plan_algo;
    err = build(&stage->call);
    if (err != MCOMM_SUCCESS)
        stages->err = err;
    return stages->count;
}

coll_stage_t mci_coll_stages_last(const struct coll_stages *stages)
{
    return stages->count;
}

void mci_coll_stages_then(struct coll_stages *stages,
                          void (*more)(struct coll_call *call, void *arg), void *arg)
{
    struct stage *stage = stage_new(stages, STAGE_THEN, LANE_NODE, STAGE_ALL);

    if (stage == NULL)
        return;
    stage->more = more;
    stage->arg = arg;
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
    for (; stages->ended < stages->count && stages->err == MCOMM_SUCCESS; stages->ended++)
        if (stages->list[stages->ended]->what == STAGE_PLAN)
            stages->err = mci_coll_plan_end(stages->list[stages->ended]->call.plan);
    return stages->err;
}

void mci_coll_stages_free(struct coll_stages *stages)
{
    if (stages == NULL)
        return;
    for (size_t i = 0; i < stages->count; i++) {
        mci_coll_call_fini(&stages->list[i]->call);
        mci_mem_free(stages->list[i]);
    }
    for (size_t i = 0; i < stages->scratch_count; i++)
        mci_mem_free(stages->scratches[i]);
    mci_mem_free(stages->scratches);
    mci_mem_free(stages->list);
    mci_mem_free(stages);
}

/* ---- going through them ---- */
void mci_coll_stages_rewind(struct coll_stages *stages)
{
    memset(stages->at, 0, sizeof(stages->at));
    for (size_t i = 0; i < stages->count; i++) {
        stages->list[i]->is_over = false;
        mci_coll_call_rewind(&stages->list[i]->call);
    }
}

/* The stage that is next in a lane; NULL: none. */
static struct stage *head_of(struct coll_stages *stages, enum coll_lane lane)
{
    size_t *at = &stages->at[lane];

    while (*at < stages->count && (stages->list[*at]->lane != lane || stages->list[*at]->is_over))
        ++*at;
    return *at < stages->count ? stages->list[*at] : NULL;
}

static bool may_begin(const struct coll_stages *stages, const struct stage *stage)
{
    return stage->after == STAGE_NONE || stages->list[stage->after - 1]->is_over;
}

void mci_coll_stages_withdraw(struct coll_stages *stages)
{
    for (int lane = 0; lane < LANE_NUM; lane++) {
        struct stage *stage = head_of(stages, (enum coll_lane)lane);

        if (stage != NULL)
            mci_coll_call_withdraw(&stage->call);
    }
}

/* true: it is over, with stages->err or the call's. */
static bool stage_step(struct coll_stages *stages, struct stage *stage)
{
    struct coll_call *call = stages->call;

    if (stage->what == STAGE_THEN) {
        if (stage->more != NULL) {
            stage->more(call, stage->arg);
            stage->more = NULL; /* a persistent call keeps what was added */
        }
        call->err = mci_coll_stages_end(stages);
        return true;
    }
    stage->call.seq = call->seq;
    stage->call.tag = call->tag;
    if (!mci_coll_call_step(&stage->call))
        return false;
    call->err = stage->call.err;
    return true;
}

bool mci_coll_stages_step(struct coll_call *call)
{
    struct coll_stages *stages = call->stages;
    bool went_on, is_over;

    do {
        went_on = false;
        is_over = true;
        for (int lane = 0; lane < LANE_NUM; lane++) {
            struct stage *stage = head_of(stages, (enum coll_lane)lane);

            is_over &= stage == NULL;
            if (stage == NULL || !may_begin(stages, stage) || !stage_step(stages, stage))
                continue;
            if (call->err != MCOMM_SUCCESS)
                return true;
            stage->is_over = true;
            went_on = true;
        }
    } while (went_on);
    return is_over;
}
