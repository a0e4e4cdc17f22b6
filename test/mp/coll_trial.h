/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One collective, drawn at random, that checks itself. All members draw alike from the same seed,
 * except for what each may choose alone: addresses, displacements, what a pointer is that nobody
 * looks at. Every rank can compute every rank's input, so each knows the right answer by itself.
 */
#ifndef TEST_COLL_TRIAL_H
#define TEST_COLL_TRIAL_H

#include "common/fold_oracle.h"
#include "common/random.h"
#include "mp.h"

#define TRIAL_RANKS 80

enum trial_kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    REDUCE_SCATTER_BLOCK,
    REDUCE_SCATTER,
    ALLTOALL,
    ALLTOALLV,
    SCAN,
    EXSCAN,
    KIND_NUM
};

enum trial_form {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT,
    FORM_NUM
};

/* Blocks in a buffer, one behind the other or anywhere, with gaps. */
struct trial_layout {
    int num;                                                            /* blocks */
    size_t counts[TRIAL_RANKS], displs[TRIAL_RANKS], gaps[TRIAL_RANKS]; /* elements; gap behind */
    size_t total;
};

struct trial {
    enum trial_kind kind;
    enum trial_form form;
    mcomm_comm_t comm;
    int rank, size, root;
    bool is_in_place, is_deterministic; /* folds of floats are those of a loop in rank order */
    size_t count, elem;
    mcomm_datatype_t dtype;
    mcomm_op_t op;
    uint64_t draws;                             /* state: equal on all members */
    uint64_t own;                               /* state: of this rank alone */
    uint64_t salt;                              /* of the values; another in every run */
    size_t counts_of[TRIAL_RANKS][TRIAL_RANKS]; /* alltoallv: from, to */
    struct trial_layout sent, received;         /* what is read, what comes */
    char *send_mem, *recv_mem;                  /* allocated */
    char *send, *recv;                          /* in them; NULL or worse where nobody looks */
};

/* The user's operations, for any type: one keeps the order of ranks, one does not matter. */
extern mcomm_op_t trial_compose, trial_add;
void trial_ops_create(void);
void trial_ops_free(void);

/* coll_trial_draw.c: draws a call of comm and allocates its buffers. */
void trial_draw(struct trial *t, enum trial_form form, mcomm_comm_t comm, bool is_deterministic,
                uint64_t seed);
void trial_free(struct trial *t);
bool trial_folds(const struct trial *t);

/* coll_trial_value.c: element i of the block that rank sends to member block (else 0). */
void trial_value(const struct trial *t, int rank, int block, size_t i, char *to);
bool trial_is_same(const struct trial *t, const char *a, const char *b);

/* coll_trial.c: fills the buffers for run number run; makes the call; looks at what came. */
void trial_fill(struct trial *t, int run);
mcomm_err_t trial_call(struct trial *t, mcomm_request_t *request_p);
void trial_verify(struct trial *t);

#endif
