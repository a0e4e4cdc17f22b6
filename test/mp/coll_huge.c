/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Collectives of more than 2^31 elements: coll_huge SEED CALLS. The memory is sparse: the same
 * 257 pages over and over (no divisor of 2^32: a position that is cut to 32 bits shows), but for
 * windows of their own at both ends and around 2^31. Values depend on the position within the
 * period, so what comes to the same page twice is the same.
 */
#include "config.h"

#include "common/random.h"
#include "mp.h"

#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define PERIOD (257 * PAGE)
#define WINDOW (16 * PAGE)
#define HALF ((size_t)1 << 31)
#define UNTOUCHED 0x5a

enum kind {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    KIND_MOVES, /* below: values are only moved */
    REDUCE = KIND_MOVES,
    ALLREDUCE,
    REDUCE_SCATTER_BLOCK,
    REDUCE_SCATTER,
    SCAN,
    EXSCAN,
    KIND_NUM
};

struct sparse {
    unsigned char *base;
    size_t nbytes;
};

/* ---- memory ---- */
static void own_pages(struct sparse *s, size_t at, size_t nbytes)
{
    CHECK(mmap(s->base + at, nbytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

static struct sparse sparse_make(size_t nbytes)
{
    size_t room = (nbytes + PAGE) / PAGE * PAGE;
    struct sparse s = {mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), nbytes};
    int fd = memfd_create("coll_huge", MFD_CLOEXEC);

    CHECK(s.base != MAP_FAILED && fd >= 0 && ftruncate(fd, (off_t)PERIOD) == 0);
    for (size_t at = 0; at < room; at += PERIOD)
        CHECK(mmap(s.base + at, room - at < PERIOD ? room - at : PERIOD, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
    close(fd);
    if (room <= 3 * WINDOW + PERIOD)
        return s;
    own_pages(&s, 0, WINDOW);
    own_pages(&s, room - WINDOW, WINDOW);
    if (room > HALF + 2 * WINDOW)
        own_pages(&s, HALF - WINDOW / 2, WINDOW);
    return s;
}

static void sparse_free(struct sparse *s)
{
    munmap(s->base, (s->nbytes + PAGE) / PAGE * PAGE);
}

/* Calls fn for every byte that has memory of its own. */
static void sparse_each(const struct sparse *s, void (*fn)(const struct sparse *s, size_t at))
{
    size_t firsts[] = {0, WINDOW, HALF - WINDOW / 2, s->nbytes - WINDOW};
    size_t counts[] = {WINDOW, PERIOD, WINDOW, WINDOW};

    for (int k = 0; k < 4; k++)
        for (size_t at = firsts[k]; at < firsts[k] + counts[k] && at < s->nbytes; at++)
            fn(s, at);
}

/* ---- one call ---- */
#define RANKS 8
static struct {
    enum kind kind;
    int root;
    size_t count; /* of a vector, or of one block */
    mcomm_op_t op;
    uint64_t salt;
    size_t counts[RANKS], displs[RANKS], total; /* of all blocks */
} t;

static int has_blocks(enum kind kind)
{
    return kind != BCAST && kind != REDUCE && kind != ALLREDUCE && kind != SCAN && kind != EXSCAN;
}

static int sends_all(void)
{
    return t.kind == SCATTER || t.kind == SCATTERV || t.kind == ALLTOALL || t.kind == ALLTOALLV ||
           t.kind == REDUCE_SCATTER_BLOCK || t.kind == REDUCE_SCATTER;
}

static int gets_all(void)
{
    return t.kind == GATHER || t.kind == GATHERV || t.kind == ALLGATHER || t.kind == ALLGATHERV ||
           t.kind == ALLTOALL || t.kind == ALLTOALLV;
}

static unsigned char value(int rank, size_t at)
{
    return (unsigned char)mix(t.salt + (uint64_t)rank * 0x9e3779b97f4a7c15u + at % PERIOD);
}

static void fill_sent(const struct sparse *s, size_t at)
{
    if (t.kind < KIND_MOVES) /* what lies there at the receiver of all, or at the root */
        s->base[at] = value(0, at + (gets_all() && !sends_all() ? t.displs[mp_rank] : 0));
    else
        s->base[at] = value(mp_rank, at);
}

static void fill_untouched(const struct sparse *s, size_t at)
{
    s->base[at] = UNTOUCHED;
}

static void expect(const struct sparse *s, size_t at)
{
    size_t where = at + (sends_all() && !gets_all() ? t.displs[mp_rank] : 0);
    int end = t.kind < KIND_MOVES ? 1
              : t.kind == SCAN    ? mp_rank + 1
              : t.kind == EXSCAN  ? mp_rank
                                  : mp_size;
    unsigned char want = value(0, where), next;

    for (int r = 1; r < end; r++) {
        next = value(r, where);
        want = t.op == MCOMM_SUM    ? (unsigned char)(want + next)
               : t.op == MCOMM_BXOR ? want ^ next
               : next > want        ? next
                                    : want;
    }
    if (s->base[at] != want)
        MP_FAIL("kind %d, count %zu, root %d, op %d: byte %zu is %d, not %d", (int)t.kind, t.count,
                t.root, (int)t.op, at, s->base[at], want);
}

static mcomm_err_t call(const void *send, void *recv)
{
    const mcomm_datatype_t u8 = MCOMM_UINT8;
    const size_t *counts = t.counts, *displs = t.displs;
    size_t mine = t.counts[mp_rank];
    mcomm_comm_t w = MCOMM_COMM_WORLD;

    switch (t.kind) {
    case BCAST:
        return mcomm_bcast(recv, t.count, u8, t.root, w);
    case GATHER:
        return mcomm_gather(send, recv, t.count, u8, t.root, w);
    case GATHERV:
        return mcomm_gatherv(send, mine, recv, counts, displs, u8, t.root, w);
    case SCATTER:
        return mcomm_scatter(send, recv, t.count, u8, t.root, w);
    case SCATTERV:
        return mcomm_scatterv(send, counts, displs, recv, mine, u8, t.root, w);
    case ALLGATHER:
        return mcomm_allgather(send, recv, t.count, u8, w);
    case ALLGATHERV:
        return mcomm_allgatherv(send, mine, recv, counts, displs, u8, w);
    case ALLTOALL:
        return mcomm_alltoall(send, recv, t.count, u8, w);
    case ALLTOALLV:
        return mcomm_alltoallv(send, counts, displs, recv, counts, displs, u8, w);
    case REDUCE:
        return mcomm_reduce(send, recv, t.count, u8, t.op, t.root, w);
    case ALLREDUCE:
        return mcomm_allreduce(send, recv, t.count, u8, t.op, w);
    case REDUCE_SCATTER_BLOCK:
        return mcomm_reduce_scatter_block(send, recv, t.count, u8, t.op, w);
    case REDUCE_SCATTER:
        return mcomm_reduce_scatter(send, recv, counts, u8, t.op, w);
    case SCAN:
        return mcomm_scan(send, recv, t.count, u8, t.op, w);
    default:
        return mcomm_exscan(send, recv, t.count, u8, t.op, w);
    }
}

/* All together more than 2^31 elements. Of alltoall every block has all values. */
static void draw(enum kind kind, uint64_t *state)
{
    int is_v = kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == REDUCE_SCATTER;

    t.kind = kind;
    t.root = (int)(rnd(state) % (uint64_t)mp_size);
    t.op = (mcomm_op_t[]){MCOMM_SUM, MCOMM_MAX, MCOMM_BXOR}[rnd(state) % 3];
    t.salt = rnd(state);
    t.count = HALF + 1 + rnd(state) % (4 * PAGE);
    if (has_blocks(kind))
        t.count = t.count / (size_t)mp_size + 1;
    if (kind == ALLTOALL || kind == ALLTOALLV)
        t.count = (t.count + PERIOD - 1) / PERIOD * PERIOD;
    t.total = 0;
    for (int r = 0; r < mp_size; r++) {
        t.counts[r] = t.count + (is_v ? (size_t)r * 1000 : 0);
        t.displs[r] = t.total;
        t.total += t.counts[r];
    }
}

static int is_result_here(void)
{
    if (t.kind == GATHER || t.kind == GATHERV || t.kind == REDUCE)
        return mp_rank == t.root;
    return t.kind != EXSCAN || mp_rank > 0;
}

static void one_call(void)
{
    size_t one = has_blocks(t.kind) ? t.counts[mp_rank] : t.count;
    int is_root = mp_rank == t.root;
    struct sparse send = sparse_make(sends_all() ? t.total : one);
    struct sparse recv = sparse_make(gets_all() ? t.total : one);

    sparse_each(&send, fill_sent);
    sparse_each(&recv, t.kind == BCAST && is_root ? fill_sent : fill_untouched);
    OK(call(send.base, recv.base));
    if (is_result_here())
        sparse_each(&recv, expect);
    sparse_free(&send);
    sparse_free(&recv);
}

int main(int argc, char **argv)
{
    uint64_t state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int calls = argc > 2 ? atoi(argv[2]) : 4, kinds, first;

    mp_init();
    CHECK(mp_size <= RANKS);
    if (mp_rank == 0)
        printf("seed %s: %d calls\n", argc > 1 ? argv[1] : "1", calls);
    /* by messages partial results would lie in what is received, one over the other */
    OK(mcomm_comm_node_count(MCOMM_COMM_WORLD, &kinds));
    kinds = kinds == 1 ? KIND_NUM : KIND_MOVES;
    first = (int)(rnd(&state) % (uint64_t)kinds);
    for (int i = 0; i < calls; i++) {
        draw((enum kind)((first + i) % kinds), &state);
        snprintf(mp_repeat, sizeof(mp_repeat), "repeat: mprun %s args=\"%s %d\"",
                 getenv("MCOMM_TEST_VARIANT"), argc > 1 ? argv[1] : "1", i + 1);
        one_call();
    }
    OK(mcomm_finalize());
    return 0;
}
