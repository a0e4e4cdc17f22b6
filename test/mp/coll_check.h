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
    S_GATHERV,
    S_SCATTER,
    S_SCATTERV,
    S_ALLGATHER,
    S_ALLGATHERV,
    S_REDUCE_SCATTER_BLOCK,
    S_REDUCE_SCATTER,
    S_ALLTOALL,
    S_ALLTOALLV,
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
    size_t to[SMALL_RANKS], from[SMALL_RANKS], places[SMALL_RANKS]; /* of forms with counts */
    int64_t in[SMALL_COUNT * SMALL_RANKS], out[SMALL_COUNT * SMALL_RANKS];
};

static inline int64_t small_value(int rank, int64_t round, size_t i)
{
    return rank * 1000003 + round * 31 + (int64_t)i;
}

/* Forms with counts: what from sends to to, often nothing. All expect the same of allgatherv and of
 * reduce_scatter. */
static inline size_t small_part(const struct small *s, int from, int to)
{
    int is_for_all = s->kind == S_ALLGATHERV || s->kind == S_REDUCE_SCATTER;
    uint64_t sum = (uint64_t)s->round + s->count + (uint64_t)from * 7;

    return (is_for_all ? sum : sum + (uint64_t)to * 3) % (s->count + 1);
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
    for (int other = 0; other < size; other++) {
        s->to[other] = small_part(s, rank, other);
        s->from[other] = small_part(s, other, rank);
        s->places[other] = (size_t)other * s->count;
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
    case S_GATHERV:
        return SMALL_CALL(gatherv, s->in, s->to[s->root], s->out, s->from, s->places, t, s->root);
    case S_SCATTER:
        return SMALL_CALL(scatter, s->in, s->out, s->count, t, s->root);
    case S_SCATTERV:
        return SMALL_CALL(scatterv, s->in, s->to, s->places, s->out, s->from[s->root], t, s->root);
    case S_ALLGATHER:
        return SMALL_CALL(allgather, s->in, s->out, s->count, t);
    case S_ALLGATHERV:
        return SMALL_CALL(allgatherv, s->in, s->to[0], s->out, s->from, s->places, t);
    case S_REDUCE_SCATTER_BLOCK:
        return SMALL_CALL(reduce_scatter_block, s->in, s->out, s->count, t, MCOMM_SUM);
    case S_REDUCE_SCATTER:
        return SMALL_CALL(reduce_scatter, s->in, s->out, s->from, t, MCOMM_SUM);
    case S_ALLTOALL:
        return SMALL_CALL(alltoall, s->in, s->out, s->count, t);
    case S_ALLTOALLV:
        return SMALL_CALL(alltoallv, s->in, s->to, s->places, s->out, s->from, s->places, t);
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
static inline void small_sums(const struct small *s, int end, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t want = 0;

        for (int r = 0; r < end; r++)
            want += small_value(r, s->round, from + i);
        CHECK_EQ(s->out[i], want);
    }
}

/* At places[at] count elements of a rank, from element from of what it sent, and nothing behind. */
static inline void small_block(const struct small *s, int rank, int at, size_t from, size_t count)
{
    const int64_t *out = s->out + s->places[at];

    for (size_t i = 0; i < s->count; i++)
        CHECK_EQ(out[i], i < count ? small_value(rank, s->round, from + i) : -1);
}

static inline void small_blocks(const struct small *s, size_t from)
{
    for (int r = 0; r < s->size; r++)
        small_block(s, r, r, from, s->count);
}

static inline void small_blocks_v(const struct small *s, size_t from)
{
    for (int r = 0; r < s->size; r++)
        small_block(s, r, r, from, s->from[r]);
}

static inline void small_check(const struct small *s)
{
    size_t mine = s->places[s->rank], first = 0;
    int is_root = s->rank == s->root;

    switch (s->kind) {
    case S_BCAST:
        small_block(s, s->root, 0, 0, s->count);
        break;
    case S_REDUCE:
        if (is_root)
            small_sums(s, s->size, 0, s->count);
        break;
    case S_ALLREDUCE:
        small_sums(s, s->size, 0, s->count);
        break;
    case S_GATHER:
        if (is_root)
            small_blocks(s, 0);
        break;
    case S_GATHERV:
        if (is_root)
            small_blocks_v(s, 0);
        break;
    case S_SCATTER:
        small_block(s, s->root, 0, mine, s->count);
        break;
    case S_SCATTERV:
        small_block(s, s->root, 0, mine, s->from[s->root]);
        break;
    case S_ALLGATHER:
        small_blocks(s, 0);
        break;
    case S_ALLGATHERV:
        small_blocks_v(s, 0);
        break;
    case S_REDUCE_SCATTER_BLOCK:
        small_sums(s, s->size, mine, s->count);
        break;
    case S_REDUCE_SCATTER:
        for (int r = 0; r < s->rank; r++)
            first += s->from[r];
        small_sums(s, s->size, first, s->from[s->rank]);
        break;
    case S_ALLTOALL:
        small_blocks(s, mine);
        break;
    case S_ALLTOALLV:
        small_blocks_v(s, mine);
        break;
    case S_SCAN:
        small_sums(s, s->rank + 1, 0, s->count);
        break;
    case S_EXSCAN:
        small_sums(s, s->rank, 0, s->rank > 0 ? s->count : 0);
        break;
    default: /* a barrier */
        break;
    }
}

#endif
