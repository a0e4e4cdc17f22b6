/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Drawing a collective: kind, type, operation, counts, layouts, addresses. */
#include "coll_trial.h"

#define GUARD 64             /* bytes around what is received */
#define NBYTES_MAX (4 << 20) /* of a buffer, about */

static size_t draw(struct trial *t, size_t end)
{
    return (size_t)(rnd(&t->draws) % end);
}

static size_t draw_own(struct trial *t, size_t end)
{
    return (size_t)(rnd(&t->own) % end);
}

bool trial_folds(const struct trial *t)
{
    return t->kind == REDUCE || t->kind == ALLREDUCE || t->kind == REDUCE_SCATTER_BLOCK ||
           t->kind == REDUCE_SCATTER || t->kind == SCAN || t->kind == EXSCAN;
}

static bool has_root(const struct trial *t)
{
    return t->kind == BCAST || t->kind == REDUCE || t->kind == GATHER || t->kind == GATHERV ||
           t->kind == SCATTER || t->kind == SCATTERV;
}

/* ---- type and operation ---- */
static void draw_type(struct trial *t)
{
    do {
        t->dtype = (mcomm_datatype_t)(MCOMM_INT8 + draw(t, MCOMM_SHORT_INT - MCOMM_INT8 + 1));
        t->op = (mcomm_op_t)(MCOMM_SUM + draw(t, MCOMM_MAXLOC - MCOMM_SUM + 3));
        if ((int)t->op > MCOMM_MAXLOC) {
            t->op = (int)t->op == MCOMM_MAXLOC + 1 ? trial_compose : trial_add;
            break;
        }
    } while (!oracle_has(t->dtype, t->op) ||
             (t->op == MCOMM_AVG && (t->kind == SCAN || t->kind == EXSCAN)));
    t->elem = mcomm_datatype_size(t->dtype);
}

/* ---- counts ---- */
static size_t draw_count(struct trial *t, size_t most)
{
    static const size_t primes[] = {2,   3,   5,    7,    11,   13,   29,    61,   127,
                                    251, 509, 1021, 2039, 4093, 8191, 16381, 65537};
    size_t exponent = draw(t, 18), other = draw(t, 18), count = 0;

    if (other < exponent)
        exponent = other; /* small ones more often */
    switch (draw(t, 8)) {
    case 0:
        count = draw(t, 2);
        break;
    case 1:
    case 2:
        count = primes[draw(t, sizeof(primes) / sizeof(primes[0]))];
        break;
    default:
        count = ((size_t)1 << exponent) - 1 + draw(t, 3);
    }
    while (count > most)
        count /= 2;
    return count;
}

/* Blocks one behind the other, or with gaps and in this rank's own order. */
static void lay(struct trial *t, struct trial_layout *l, bool is_free)
{
    int order[TRIAL_RANKS];

    for (int i = 0; i < l->num; i++) {
        int j = is_free ? (int)draw_own(t, (size_t)i + 1) : i;

        order[i] = order[j];
        order[j] = i;
    }
    l->total = 0;
    for (int i = 0; i < l->num; i++) {
        int block = order[i];

        l->gaps[block] = is_free ? draw_own(t, 3) : 0;
        l->displs[block] = l->total;
        l->total += l->counts[block] + l->gaps[block];
    }
}

static void lay_even(struct trial *t, struct trial_layout *l, int num, size_t count)
{
    l->num = num;
    for (int i = 0; i < num; i++)
        l->counts[i] = count;
    lay(t, l, false);
}

static void lay_free(struct trial *t, struct trial_layout *l, const size_t *counts)
{
    l->num = t->size;
    for (int i = 0; i < t->size; i++)
        l->counts[i] = counts[i];
    lay(t, l, true);
}

/* What each member has: often nothing. */
static void draw_counts(struct trial *t, size_t *counts)
{
    size_t most = t->count, zeros = draw(t, 4);

    for (int i = 0; i < t->size; i++) {
        counts[i] = draw(t, most + 1);
        if (draw(t, 4) < zeros)
            counts[i] = 0;
    }
}

static void draw_alltoallv(struct trial *t)
{
    size_t to[TRIAL_RANKS], from[TRIAL_RANKS];

    for (int i = 0; i < t->size; i++)
        draw_counts(t, t->counts_of[i]);
    for (int i = 0; i < t->size && t->is_in_place; i++) /* both directions alike */
        for (int j = 0; j < i; j++)
            t->counts_of[i][j] = t->counts_of[j][i];
    for (int i = 0; i < t->size; i++) {
        to[i] = t->counts_of[t->rank][i];
        from[i] = t->counts_of[i][t->rank];
    }
    lay_free(t, &t->sent, to);
    lay_free(t, &t->received, from);
}

static void draw_layouts(struct trial *t)
{
    bool is_root = t->rank == t->root;
    size_t counts[TRIAL_RANKS], sum = 0;

    draw_counts(t, counts);
    for (int i = 0; i < t->size; i++)
        sum += counts[i];
    switch (t->kind) {
    case BARRIER:
    case KIND_NUM:
        break;
    case BCAST:
        lay_even(t, &t->received, 1, t->count);
        break;
    case REDUCE:
        lay_even(t, &t->sent, 1, t->count);
        lay_even(t, &t->received, is_root, t->count);
        break;
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
        lay_even(t, &t->sent, 1, t->count);
        lay_even(t, &t->received, 1, t->count);
        break;
    case GATHER:
    case ALLGATHER:
        lay_even(t, &t->sent, 1, t->count);
        lay_even(t, &t->received, is_root || t->kind == ALLGATHER ? t->size : 0, t->count);
        break;
    case SCATTER:
        lay_even(t, &t->sent, is_root ? t->size : 0, t->count);
        lay_even(t, &t->received, 1, t->count);
        break;
    case ALLTOALL:
        lay_even(t, &t->sent, t->size, t->count);
        lay_even(t, &t->received, t->size, t->count);
        break;
    case REDUCE_SCATTER_BLOCK:
        lay_even(t, &t->sent, 1, t->count * (size_t)t->size);
        lay_even(t, &t->received, 1, t->count);
        break;
    case REDUCE_SCATTER:
        memcpy(t->counts_of[0], counts, sizeof(counts));
        lay_even(t, &t->sent, 1, sum);
        lay_even(t, &t->received, 1, counts[t->rank]);
        break;
    case GATHERV:
    case ALLGATHERV:
        lay_even(t, &t->sent, 1, counts[t->rank]);
        if (is_root || t->kind == ALLGATHERV)
            lay_free(t, &t->received, counts);
        break;
    case SCATTERV:
        lay_even(t, &t->received, 1, counts[t->rank]);
        if (is_root)
            lay_free(t, &t->sent, counts);
        break;
    case ALLTOALLV:
        draw_alltoallv(t);
        break;
    }
}

/* ---- memory ---- */
/* Where nobody looks a pointer may be anything. */
static char *place(struct trial *t, char *mem, size_t total)
{
    if (total == 0 && draw_own(t, 2))
        return draw_own(t, 2) ? NULL : (char *)(uintptr_t)24;
    return mem + GUARD + (draw_own(t, 2) ? 0 : draw_own(t, 64));
}

static void allocate(struct trial *t)
{
    size_t total = t->received.total;

    if (t->is_in_place && (t->kind == REDUCE_SCATTER || t->kind == REDUCE_SCATTER_BLOCK))
        total = t->received.total = t->sent.total; /* the result at its beginning */
    t->send_mem = malloc(t->sent.total * t->elem + 4 * GUARD);
    t->recv_mem = malloc(total * t->elem + 4 * GUARD);
    CHECK(t->send_mem != NULL && t->recv_mem != NULL);
    t->send = place(t, t->send_mem, t->sent.total);
    t->recv = place(t, t->recv_mem, total);
}

void trial_free(struct trial *t)
{
    free(t->send_mem);
    free(t->recv_mem);
}

/* ---- all of it ---- */
void trial_draw(struct trial *t, enum trial_form form, mcomm_comm_t comm, bool is_deterministic,
                uint64_t seed)
{
    size_t most;

    memset(t, 0, sizeof(*t));
    t->form = form;
    t->comm = comm;
    t->is_deterministic = is_deterministic;
    OK(mcomm_comm_rank(comm, &t->rank));
    OK(mcomm_comm_size(comm, &t->size));
    CHECK(t->size <= TRIAL_RANKS);
    t->draws = seed;
    t->own = mix(seed + (uint64_t)t->rank + 1);
    t->kind = (enum trial_kind)draw(t, KIND_NUM);
    t->root = (int)draw(t, (size_t)t->size);
    draw_type(t);
    most = (draw(t, 64) ? NBYTES_MAX : 4 * NBYTES_MAX) / t->elem;
    if (t->kind != BCAST && t->kind != REDUCE && t->kind != ALLREDUCE)
        most /= (size_t)t->size;
    t->count = draw_count(t, most);
    t->is_in_place = draw(t, 3) == 0 && t->kind != BCAST && t->kind != BARRIER;
    if (has_root(t))
        t->is_in_place &= t->rank == t->root; /* there only */
    draw_layouts(t);
    allocate(t);
}
