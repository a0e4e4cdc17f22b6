/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every collective in its three forms, with counts of the ranks' own, in place, with a datatype
 * that has gaps, a caller's operation that does not commute, and long double; the oracle is
 * arithmetic.
 */
#include "mpi_test.h"

#define COUNT 5
enum {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT,
    FORMS
};

/* Runs one of three forms; persistent twice. */
#define RUN(form, name, iname, ...)                                                                \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        if ((form) == BLOCKING) {                                                                  \
            OK(MPI_##name(__VA_ARGS__, MPI_COMM_WORLD));                                           \
        } else if ((form) == NONBLOCKING) {                                                        \
            OK(MPI_##iname(__VA_ARGS__, MPI_COMM_WORLD, &request_));                               \
            OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                                            \
        } else {                                                                                   \
            OK(MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request_));          \
            OK(MPI_Start(&request_));                                                              \
            OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                                            \
            OK(MPI_Request_free(&request_));                                                       \
        }                                                                                          \
    } while (0)

static int *buffer(int count, int value)
{
    int *words = malloc((size_t)(count > 0 ? count : 1) * sizeof(int));

    for (int i = 0; i < count; i++)
        words[i] = value;
    return words;
}

static int word(int from, int to, int i)
{
    return from * 10000 + to * 100 + i;
}

static void data_moves(int form, MPI_Datatype type, int extent)
{
    int total = np * COUNT * extent;

    for (int root = 0; root < np; root++) {
        int *own = buffer(COUNT * extent, -1), *all = buffer(total, -1);

        for (int i = 0; i < COUNT; i++)
            own[i * extent] = me == root ? word(root, 0, i) : -1;
        RUN(form, Bcast, Ibcast, own, COUNT, type, root);
        for (int i = 0; i < COUNT * extent; i++)
            CHECK_EQ(own[i], i % extent == 0 ? word(root, 0, i / extent) : -1);
        for (int i = 0; i < COUNT; i++)
            own[i * extent] = word(me, 0, i);
        RUN(form, Gather, Igather, own, COUNT, type, all, COUNT, type, root);
        for (int i = 0; i < total; i++) {
            int at = i / extent;

            CHECK_EQ(all[i], me == root && i % extent == 0 ? word(at / COUNT, 0, at % COUNT) : -1);
        }
        for (int i = 0; i < COUNT; i++)
            own[i * extent] = -1;
        RUN(form, Scatter, Iscatter, all, COUNT, type, own, COUNT, type, root);
        for (int i = 0; i < COUNT; i++)
            CHECK_EQ(own[i * extent], word(me, 0, i));
        free(own);
        free(all);
    }
    {
        int *out = buffer(total, -1), *in = buffer(total, -1);

        for (int i = 0; i < np * COUNT; i++)
            out[i * extent] = word(me, i / COUNT, i % COUNT);
        RUN(form, Alltoall, Ialltoall, out, COUNT, type, in, COUNT, type);
        for (int i = 0; i < total; i++) {
            int at = i / extent;

            CHECK_EQ(in[i], i % extent == 0 ? word(at / COUNT, me, at % COUNT) : -1);
        }
        RUN(form, Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, COUNT, type);
        for (int i = 0; i < np * COUNT; i++)
            CHECK_EQ(in[i * extent], word(me, i / COUNT, i % COUNT));
        RUN(form, Allgather, Iallgather, out, COUNT, type, in, COUNT, type);
        for (int i = 0; i < np * COUNT; i++)
            CHECK_EQ(in[i * extent], word(i / COUNT, 0, i % COUNT));
        free(out);
        free(in);
    }
}

/* Rank r has r + 1 elements, with one place between the ranks' parts. */
static void data_moves_in_unequal_parts(int form, MPI_Datatype type, int extent)
{
    int *counts = buffer(np, 0), *places = buffer(np, 0), *ones = buffer(np, me + 1),
        *bytes = buffer(np, 0), at = 0, total;
    MPI_Datatype *types = malloc((size_t)np * sizeof(*types));

    for (int i = 0; i < np; i++) {
        counts[i] = i + 1;
        places[i] = at;
        bytes[i] = at * extent * (int)sizeof(int);
        types[i] = type;
        at += i + 2;
    }
    total = at * extent;
    for (int root = 0; root < np; root++) {
        int *own = buffer((me + 1) * extent, -1), *all = buffer(total, -1);

        for (int i = 0; i <= me; i++)
            own[i * extent] = word(me, 0, i);
        RUN(form, Gatherv, Igatherv, own, me + 1, type, all, counts, places, type, root);
        if (me == root) {
            for (int rank = 0; rank < np; rank++) {
                for (int i = 0; i <= rank; i++)
                    CHECK_EQ(all[(places[rank] + i) * extent], word(rank, 0, i));
                CHECK_EQ(all[(places[rank] + rank + 1) * extent], -1);
            }
        }
        memset(own, 0, (size_t)((me + 1) * extent) * sizeof(int));
        RUN(form, Scatterv, Iscatterv, all, counts, places, type, own, me + 1, type, root);
        for (int i = 0; i <= me; i++)
            CHECK_EQ(own[i * extent], word(me, 0, i));
        free(own);
        free(all);
    }
    {
        int *out = buffer(total, -1), *all = buffer(total, -1), *in = buffer(total, -1);

        for (int rank = 0; rank < np; rank++) {
            for (int i = 0; i <= rank; i++)
                out[(places[rank] + i) * extent] = word(me, rank, i);
        }
        RUN(form, Allgatherv, Iallgatherv, out + places[me] * extent, me + 1, type, all, counts,
            places, type);
        for (int rank = 0; rank < np; rank++) {
            for (int i = 0; i <= rank; i++)
                CHECK_EQ(all[(places[rank] + i) * extent], word(rank, rank, i));
        }
        /* from each rank I get me + 1 elements */
        for (int i = 0; i < np; i++)
            places[i] = i * (me + 1);
        free(in);
        in = buffer(np * (me + 1) * extent, -1);
        {
            int *from = buffer(np, 0);

            at = 0;
            for (int i = 0; i < np; i++) {
                from[i] = at;
                at += i + 2;
            }
            RUN(form, Alltoallv, Ialltoallv, out, counts, from, type, in, ones, places, type);
            for (int i = 0; i < np * (me + 1); i++)
                CHECK_EQ(in[i * extent], word(i / (me + 1), me, i % (me + 1)));
            memset(in, 0, (size_t)(np * (me + 1) * extent) * sizeof(int));
            for (int i = 0; i < np; i++)
                places[i] *= extent * (int)sizeof(int);
            RUN(form, Alltoallw, Ialltoallw, out, counts, bytes, types, in, ones, places, types);
            for (int i = 0; i < np * (me + 1); i++)
                CHECK_EQ(in[i * extent], word(i / (me + 1), me, i % (me + 1)));
            free(from);
        }
        free(out);
        free(all);
        free(in);
    }
    free(counts);
    free(places);
    free(ones);
    free(bytes);
    free(types);
}

static void sums_are_right(int form)
{
    int own[COUNT], result[COUNT], *wide = buffer(np * COUNT, 0), *counts = buffer(np, COUNT);
    int all = np * (np + 1) / 2, below = me * (me + 1) / 2;

    for (int i = 0; i < COUNT; i++)
        own[i] = me + 1 + i;
    for (int root = 0; root < np; root++) {
        memset(result, 0, sizeof(result));
        RUN(form, Reduce, Ireduce, own, result, COUNT, MPI_INT, MPI_SUM, root);
        for (int i = 0; i < COUNT; i++)
            CHECK_EQ(result[i], me == root ? all + np * i : 0);
    }
    RUN(form, Allreduce, Iallreduce, own, result, COUNT, MPI_INT, MPI_SUM);
    CHECK_EQ(result[3], all + np * 3);
    memcpy(result, own, sizeof(own));
    RUN(form, Allreduce, Iallreduce, MPI_IN_PLACE, result, COUNT, MPI_INT, MPI_SUM);
    CHECK_EQ(result[1], all + np);
    RUN(form, Scan, Iscan, own, result, COUNT, MPI_INT, MPI_SUM);
    CHECK_EQ(result[2], below + me + 1 + (me + 1) * 2);
    memset(result, 0, sizeof(result));
    RUN(form, Exscan, Iexscan, own, result, COUNT, MPI_INT, MPI_SUM);
    CHECK_EQ(result[2], me == 0 ? 0 : below + me * 2);
    for (int i = 0; i < np * COUNT; i++)
        wide[i] = me + i;
    RUN(form, Reduce_scatter_block, Ireduce_scatter_block, wide, result, COUNT, MPI_INT, MPI_SUM);
    CHECK_EQ(result[1], np * (np - 1) / 2 + np * (me * COUNT + 1));
    RUN(form, Reduce_scatter, Ireduce_scatter, wide, result, counts, MPI_INT, MPI_SUM);
    CHECK_EQ(result[4], np * (np - 1) / 2 + np * (me * COUNT + 4));
    free(wide);
    free(counts);
}

/* x -> a x + b: composition, which does not commute; modulo 2^32 */
struct affine {
    unsigned a, b, unused;
};

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct affine *f = in, *g = inout; /* f of the lower ranks comes first */

    (void)type;
    for (int i = 0; i < *count; i++) {
        g[i].b += g[i].a * f[i].b;
        g[i].a *= f[i].a;
    }
}

static struct affine affine_of(int rank)
{
    return (struct affine){(unsigned)rank * 2 + 3, (unsigned)rank * 7 + 1, 77};
}

static struct affine composed(int first, int end)
{
    struct affine all = {1, 0, 77}, next;
    int count = 1;

    for (int rank = first; rank < end; rank++) {
        next = affine_of(rank);
        compose(&all, &next, &count, NULL);
        all = next;
    }
    return all;
}

static void own_operations_keep_the_order(int form)
{
    struct affine own[2] = {affine_of(me), affine_of(me)}, result[2], expected = composed(0, np);
    struct affine *wide = malloc((size_t)np * sizeof(*wide));
    int *ones = buffer(np, 1);
    MPI_Datatype two, type;
    MPI_Op op;

    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &two));
    OK(MPI_Type_create_resized(two, 0, sizeof(struct affine), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(compose, 0, &op));
#define IS(given, wanted)                                                                          \
    CHECK((given).a == (wanted).a && (given).b == (wanted).b && (given).unused == 5)
#define CLEAR() result[0].unused = result[1].unused = 5
    CLEAR();
    RUN(form, Allreduce, Iallreduce, own, result, 2, type, op);
    IS(result[0], expected);
    IS(result[1], expected);
    CLEAR();
    RUN(form, Reduce, Ireduce, own, result, 2, type, op, np - 1);
    if (me == np - 1)
        IS(result[1], expected);
    CLEAR();
    RUN(form, Scan, Iscan, own, result, 2, type, op);
    IS(result[1], composed(0, me + 1));
    CLEAR();
    RUN(form, Exscan, Iexscan, own, result, 2, type, op);
    if (me > 0)
        IS(result[0], composed(0, me));
    for (int i = 0; i < np; i++) {
        wide[i] = affine_of(me);
        wide[i].b += (unsigned)i;
    }
    CLEAR();
    RUN(form, Reduce_scatter_block, Ireduce_scatter_block, wide, result, 1, type, op);
    memset(result + 1, 0, sizeof(*result));
    RUN(form, Reduce_scatter, Ireduce_scatter, wide, result + 1, ones, type, op);
    CHECK(result[0].a == result[1].a && result[0].b == result[1].b && result[0].a == expected.a);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&two));
    free(wide);
    free(ones);
}

static void long_doubles_are_summed(int form)
{
    long double own = me + 0.5L, sum;
    struct {
        long double value;
        int rank;
    } place = {(long double)((me * 3) % np), me}, least;

    RUN(form, Allreduce, Iallreduce, &own, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM);
    CHECK(sum == (long double)np * np / 2);
    RUN(form, Allreduce, Iallreduce, &place, &least, 1, MPI_LONG_DOUBLE_INT, MPI_MINLOC);
    CHECK(least.value == 0 && least.rank == 0);
}

int main(void)
{
    MPI_Datatype spaced;
    MPI_Request request;

    test_init();
    OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spaced));
    OK(MPI_Type_commit(&spaced));
    for (int form = 0; form < FORMS; form++) {
        data_moves(form, MPI_INT, 1);
        data_moves(form, spaced, 3);
        data_moves_in_unequal_parts(form, MPI_INT, 1);
        data_moves_in_unequal_parts(form, spaced, 3);
        sums_are_right(form);
        own_operations_keep_the_order(form);
        long_doubles_are_summed(form);
    }
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT(MPI_ERR_ROOT, MPI_Bcast(NULL, 0, MPI_INT, np, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_OP, MPI_Allreduce(&me, &np, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD));
    OK(MPI_Type_free(&spaced));
    OK(MPI_Finalize());
    return 0;
}
