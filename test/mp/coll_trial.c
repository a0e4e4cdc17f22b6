/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A drawn collective: buffers filled, the call in its form, what came against what must come. */
#include "coll_trial.h"

#define GUARD 64 /* bytes looked at before and behind what is received */
#define UNTOUCHED 0x5a

static bool is_root(const struct trial *t)
{
    return t->rank == t->root;
}

static bool is_scatter(const struct trial *t)
{
    return t->kind == SCATTER || t->kind == SCATTERV;
}

/* ---- what each reads ---- */
/* In place: what is sent lies where what is received will. */
static bool reads_recv(const struct trial *t)
{
    return (t->is_in_place && !is_scatter(t)) || (t->kind == BCAST && is_root(t));
}

static void fill_block(struct trial *t, char *buf, size_t displ, size_t count, int block)
{
    for (size_t i = 0; i < count; i++)
        trial_value(t, t->rank, block, i, buf + (displ + i) * t->elem);
}

static void fill_recv(struct trial *t)
{
    const struct trial_layout *r = &t->received;
    bool is_all = t->kind == ALLTOALL || t->kind == ALLTOALLV;

    if (is_all || t->kind == BCAST) {
        for (int b = 0; b < r->num; b++)
            fill_block(t, t->recv, r->displs[b], r->counts[b], b);
    } else if (trial_folds(t)) {
        fill_block(t, t->recv, 0, t->sent.counts[0], 0);
    } else {
        fill_block(t, t->recv, r->displs[t->rank], r->counts[t->rank], 0);
    }
}

void trial_fill(struct trial *t, int run)
{
    t->salt = mix(t->draws + (uint64_t)run);
    memset(t->recv_mem, UNTOUCHED, t->received.total * t->elem + 4 * GUARD);
    if (reads_recv(t))
        fill_recv(t);
    else
        for (int b = 0; b < t->sent.num; b++)
            fill_block(t, t->send, t->sent.displs[b], t->sent.counts[b], b);
}

/* ---- calling ---- */
#define CALL(NAME, ...)                                                                            \
    (t->form == BLOCKING      ? mcomm_##NAME(__VA_ARGS__, t->comm)                                 \
     : t->form == NONBLOCKING ? mcomm_i##NAME(__VA_ARGS__, t->comm, request_p)                     \
                              : mcomm_##NAME##_init(__VA_ARGS__, t->comm, request_p))

/* A list that only others look at may be anything. */
static const size_t *blind(struct trial *t)
{
    return rnd(&t->own) % 2 ? NULL : (const size_t *)(uintptr_t)24;
}

static mcomm_err_t call_v(struct trial *t, const void *send, void *recv, mcomm_request_t *request_p)
{
    const struct trial_layout *s = &t->sent, *r = &t->received;
    const size_t *sent = s->counts, *sent_at = s->displs, *got = r->counts, *got_at = r->displs;

    if (t->kind == SCATTERV && !is_root(t))
        sent = blind(t), sent_at = blind(t);
    if (t->kind == ALLTOALLV && send == MCOMM_IN_PLACE)
        sent = blind(t), sent_at = blind(t);
    if (t->kind == GATHERV && !is_root(t))
        got = blind(t), got_at = blind(t);
    switch (t->kind) {
    case GATHERV:
        return CALL(gatherv, send, s->counts[0], recv, got, got_at, t->dtype, t->root);
    case SCATTERV:
        return CALL(scatterv, send, sent, sent_at, recv, r->counts[0], t->dtype, t->root);
    case ALLGATHERV:
        return CALL(allgatherv, send, s->counts[0], recv, got, got_at, t->dtype);
    case REDUCE_SCATTER:
        return CALL(reduce_scatter, send, recv, t->counts_of[0], t->dtype, t->op);
    default:
        return CALL(alltoallv, send, sent, sent_at, recv, got, got_at, t->dtype);
    }
}

mcomm_err_t trial_call(struct trial *t, mcomm_request_t *request_p)
{
    const void *send = t->is_in_place && !is_scatter(t) ? MCOMM_IN_PLACE : t->send;
    void *recv = t->is_in_place && is_scatter(t) ? MCOMM_IN_PLACE : t->recv;

    switch (t->kind) {
    case BARRIER:
        return t->form == BLOCKING      ? mcomm_barrier(t->comm)
               : t->form == NONBLOCKING ? mcomm_ibarrier(t->comm, request_p)
                                        : mcomm_barrier_init(t->comm, request_p);
    case BCAST:
        return CALL(bcast, recv, t->count, t->dtype, t->root);
    case REDUCE:
        return CALL(reduce, send, recv, t->count, t->dtype, t->op, t->root);
    case ALLREDUCE:
        return CALL(allreduce, send, recv, t->count, t->dtype, t->op);
    case GATHER:
        return CALL(gather, send, recv, t->count, t->dtype, t->root);
    case SCATTER:
        return CALL(scatter, send, recv, t->count, t->dtype, t->root);
    case ALLGATHER:
        return CALL(allgather, send, recv, t->count, t->dtype);
    case REDUCE_SCATTER_BLOCK:
        return CALL(reduce_scatter_block, send, recv, t->count, t->dtype, t->op);
    case ALLTOALL:
        return CALL(alltoall, send, recv, t->count, t->dtype);
    case SCAN:
        return CALL(scan, send, recv, t->count, t->dtype, t->op);
    case EXSCAN:
        return CALL(exscan, send, recv, t->count, t->dtype, t->op);
    default:
        return call_v(t, send, recv, request_p);
    }
}

/* ---- what must have come ---- */
/* Element i of block number block of what this rank receives. */
static void right_value(const struct trial *t, int block, size_t i, char *to)
{
    char mem[TRIAL_RANKS][ORACLE_ELEM_MAX];
    const char *srcs[TRIAL_RANKS];
    int end = t->kind == SCAN ? t->rank + 1 : t->kind == EXSCAN ? t->rank : t->size;

    if (!trial_folds(t)) {
        bool is_own = is_scatter(t) || t->kind == ALLTOALL || t->kind == ALLTOALLV;

        trial_value(t, is_scatter(t) || t->kind == BCAST ? t->root : block, is_own ? t->rank : 0, i,
                    to);
        return;
    }
    if (t->kind == REDUCE_SCATTER_BLOCK)
        i += t->count * (size_t)t->rank;
    for (int r = 0; r < t->rank && t->kind == REDUCE_SCATTER; r++)
        i += t->counts_of[0][r];
    for (int r = 0; r < end; r++) {
        trial_value(t, r, 0, i, mem[r]);
        srcs[r] = mem[r];
    }
    if (t->op == trial_compose || t->op == trial_add) {
        memcpy(to, srcs[end - 1], t->elem);
        for (int r = end - 2; r >= 0; r--) /* associative */
            OK(mcomm_reduce_local(srcs[r], to, 1, t->dtype, t->op));
        return;
    }
    oracle_fold(to, srcs, end, t->dtype, t->op);
    if (end == 1)
        oracle_truth(to, t->dtype, t->op);
}

static void wrong(const struct trial *t, const char *what, int block, size_t i)
{
    static const char *const kinds[KIND_NUM] = {"barrier",
                                                "bcast",
                                                "reduce",
                                                "allreduce",
                                                "gather",
                                                "gatherv",
                                                "scatter",
                                                "scatterv",
                                                "allgather",
                                                "allgatherv",
                                                "reduce_scatter_block",
                                                "reduce_scatter",
                                                "alltoall",
                                                "alltoallv",
                                                "scan",
                                                "exscan"};
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"};

    MP_FAIL("%s %s, rank %d of %d: %s, block %d, element %zu (count %zu, dtype %d, op %d, root %d, "
            "in place %d)",
            forms[t->form], kinds[t->kind], t->rank, t->size, what, block, i, t->count,
            (int)t->dtype, (int)t->op, t->root, t->is_in_place);
}

static void expect_untouched(const struct trial *t, const char *from, size_t nbytes, int block,
                             const char *what)
{
    for (size_t i = 0; i < nbytes; i++)
        if (from[i] != UNTOUCHED)
            wrong(t, what, block, i / t->elem);
}

/* Of long blocks some elements, others each time, and the ends. */
static void verify_block(struct trial *t, int block, size_t displ, size_t count)
{
    size_t step = 1 + count / 500, phase = (size_t)(rnd(&t->own) % step);
    char right[ORACLE_ELEM_MAX];

    for (size_t i = 0; i < count; i += i < 8 || i + 8 >= count ? 1 : step) {
        size_t at = i < 8 || i + step + 8 >= count ? i : i + phase;

        right_value(t, block, at, right);
        if (!trial_is_same(t, t->recv + (displ + at) * t->elem, right))
            wrong(t, "not the right value", block, at);
    }
}

static void verify_sent(struct trial *t)
{
    char right[ORACLE_ELEM_MAX];

    for (int b = 0; b < t->sent.num; b++)
        for (size_t i = 0; i < t->sent.counts[b]; i += 1 + t->sent.counts[b] / 100) {
            trial_value(t, t->rank, b, i, right);
            if (memcmp(t->send + (t->sent.displs[b] + i) * t->elem, right, t->elem) != 0)
                wrong(t, "what was sent is changed", b, i);
        }
}

void trial_verify(struct trial *t)
{
    const struct trial_layout *r = &t->received;
    bool is_nothing = (t->is_in_place && is_scatter(t)) || (t->kind == EXSCAN && t->rank == 0);

    if (t->recv >= t->recv_mem && t->recv <= t->recv_mem + 4 * GUARD) {
        expect_untouched(t, t->recv - GUARD, GUARD, -1, "written before the buffer");
        expect_untouched(t, t->recv + r->total * t->elem, GUARD, -1, "written behind the buffer");
    }
    if (!reads_recv(t))
        verify_sent(t);
    for (int b = 0; b < r->num; b++) {
        if (!is_nothing)
            verify_block(t, b, r->displs[b], r->counts[b]);
        expect_untouched(t, t->recv + (r->displs[b] + r->counts[b]) * t->elem, r->gaps[b] * t->elem,
                         b, "written behind the block");
    }
}
