/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Small collectives of every kind that check their own results. */
#ifndef TEST_COLL_CHECK_H
#define TEST_COLL_CHECK_H

#include "common/random.h"
#include "mp.h"

#define SMALL_COUNT 12
#define SMALL_RANKS 16

enum small_kind {
    S_BARRIER,
    S_BCAST,
    S_REDUCE,
    S_ALLREDUCE,
    S_GATHER,
    S_SCATTER,
    S_ALLGATHER,
    S_REDUCE_SCATTER,
    S_ALLTOALL,
    S_SCAN,
    S_EXSCAN,
    S_NUM
};
enum small_form {
    S_BLOCKING,
    S_NONBLOCKING,
    S_PERSISTENT,
    S_FORMS
};

struct small {
    enum small_kind kind;
    int rank, size, root;
    int64_t round;
    size_t count;
    mcomm_comm_t comm;
    mcomm_request_t request;
    int64_t in[SMALL_COUNT * SMALL_RANKS], out[SMALL_COUNT * SMALL_RANKS];
};

static inline int64_t small_value(int rank, int64_t round, size_t i)
{
    return rank * 1000003 + round * 31 + (int64_t)i;
}

/* Draws what all ranks draw alike, and fills the buffers. */
static inline void small_draw(struct small *s, uint64_t *state, int64_t round, mcomm_comm_t comm,
                              int rank, int size)
{
    uint64_t r = rnd(state);

    s->kind = (enum small_kind)(r % S_NUM);
    s->root = (int)(r / S_NUM % (uint64_t)size);
    s->count = 1 + (r >> 40) % SMALL_COUNT;
    s->round = round;
    s->comm = comm;
    s->rank = rank;
    s->size = size;
    for (size_t i = 0; i < s->count * (size_t)size; i++) {
        s->in[i] = small_value(rank, round, i);
        s->out[i] = -1;
    }
    if (s->kind == S_BCAST && rank == s->root)
        memcpy(s->out, s->in, s->count * sizeof(int64_t));
}

#define SMALL_CALL(name, ...)                                                                      \
    (form == S_BLOCKING      ? mcomm_##name(__VA_ARGS__, s->comm)                                  \
     : form == S_NONBLOCKING ? mcomm_i##name(__VA_ARGS__, s->comm, &s->request)                    \
                             : mcomm_##name##_init(__VA_ARGS__, s->comm, &s->request))

static inline mcomm_err_t small_call(struct small *s, enum small_form form)
{
    const mcomm_datatype_t t = MCOMM_INT64;

    switch (s->kind) {
    case S_BCAST:
        return SMALL_CALL(bcast, s->out, s->count, t, s->root);
    case S_REDUCE:
        return SMALL_CALL(reduce, s->in, s->out, s->count, t, MCOMM_SUM, s->root);
    case S_ALLREDUCE:
        return SMALL_CALL(allreduce, s->in, s->out, s->count, t, MCOMM_SUM);
    case S_GATHER:
        return SMALL_CALL(gather, s->in, s->out, s->count, t, s->root);
    case S_SCATTER:
        return SMALL_CALL(scatter, s->in, s->out, s->count, t, s->root);
    case S_ALLGATHER:
        return SMALL_CALL(allgather, s->in, s->out, s->count, t);
    case S_REDUCE_SCATTER:
        return SMALL_CALL(reduce_scatter_block, s->in, s->out, s->count, t, MCOMM_SUM);
    case S_ALLTOALL:
        return SMALL_CALL(alltoall, s->in, s->out, s->count, t);
    case S_SCAN:
        return SMALL_CALL(scan, s->in, s->out, s->count, t, MCOMM_SUM);
    case S_EXSCAN:
        return SMALL_CALL(exscan, s->in, s->out, s->count, t, MCOMM_SUM);
    default:
        return form == S_BLOCKING      ? mcomm_barrier(s->comm)
               : form == S_NONBLOCKING ? mcomm_ibarrier(s->comm, &s->request)
                                       : mcomm_barrier_init(s->comm, &s->request);
    }
}

/* out[0..count) holds the sum over ranks below end of element from + i. */
static inline void small_sums(const struct small *s, int end, size_t from)
{
    for (size_t i = 0; i < s->count; i++) {
        int64_t want = 0;

        for (int r = 0; r < end; r++)
            want += small_value(r, s->round, from + i);
        CHECK_EQ(s->out[i], want);
    }
}

/* A block of every rank, from element from of what it sent. */
static inline void small_blocks(const struct small *s, size_t from)
{
    for (int r = 0; r < s->size; r++)
        for (size_t i = 0; i < s->count; i++)
            CHECK_EQ(s->out[(size_t)r * s->count + i], small_value(r, s->round, from + i));
}

static inline void small_check(const struct small *s)
{
    size_t mine = s->count * (size_t)s->rank;
    int is_root = s->rank == s->root;

    if (s->kind == S_ALLREDUCE || (s->kind == S_REDUCE && is_root))
        small_sums(s, s->size, 0);
    else if (s->kind == S_SCAN)
        small_sums(s, s->rank + 1, 0);
    else if (s->kind == S_EXSCAN && s->rank > 0)
        small_sums(s, s->rank, 0);
    else if (s->kind == S_REDUCE_SCATTER)
        small_sums(s, s->size, mine);
    else if (s->kind == S_ALLGATHER || (s->kind == S_GATHER && is_root))
        small_blocks(s, 0);
    else if (s->kind == S_ALLTOALL)
        small_blocks(s, mine);
    for (size_t i = 0; i < s->count && (s->kind == S_BCAST || s->kind == S_SCATTER); i++)
        CHECK_EQ(s->out[i], small_value(s->root, s->round, i + (s->kind == S_SCATTER ? mine : 0)));
}

#endif
