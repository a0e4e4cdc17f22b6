/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Messages in all modes around a ring, with datatypes, probes, persistent requests and errors. */
#include "mpi_test.h"

static int left, right;

static void modes_deliver(void)
{
    static int (*const sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                MPI_Request *) = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
    char room[4 * (MPI_BSEND_OVERHEAD + 4000)], *back;
    int out[1000], in[1000], size;

    OK(MPI_Buffer_attach(room, sizeof(room)));
    for (int mode = 0; mode < 4; mode++) {
        for (int count = 1; count <= 1000; count += 333) {
            MPI_Request requests[2];
            MPI_Status statuses[2];
            int got;

            for (int i = 0; i < count; i++)
                out[i] = me * 10000 + mode * 1000 + i;
            OK(MPI_Irecv(in, count, MPI_INT, left, mode, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(sends[mode](out, count, MPI_INT, right, mode, MPI_COMM_WORLD, &requests[1]));
            OK(MPI_Waitall(2, requests, statuses));
            CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
            CHECK_EQ(statuses[0].MPI_SOURCE, left);
            CHECK_EQ(statuses[0].MPI_TAG, mode);
            OK(MPI_Get_count(&statuses[0], MPI_INT, &got));
            CHECK_EQ(got, count);
            for (int i = 0; i < count; i++)
                CHECK_EQ(in[i], left * 10000 + mode * 1000 + i);
        }
    }
    OK(MPI_Buffer_detach(&back, &size));
    CHECK(back == room && size == (int)sizeof(room));
    EXPECT(MPI_ERR_BUFFER, MPI_Bsend(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD));
}

/* Columns of a matrix leave as a vector and arrive as structs of two. */
static void datatypes_match_by_signature(void)
{
    enum {
        ROWS = 6,
        COLUMNS = 5
    };
    int matrix[ROWS][COLUMNS], pairs[ROWS / 2][4], one = 1;
    MPI_Aint at = 8;
    MPI_Datatype column, second, pair;
    MPI_Status status;
    int got;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i / COLUMNS][i % COLUMNS] = me * 100 + i;
    memset(pairs, -1, sizeof(pairs));
    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Type_create_hindexed_block(1, one, &at, MPI_INT, &second)); /* in the 3rd place of 4 */
    {
        int lengths[2] = {1, 1};
        MPI_Aint places[2] = {0, 0};
        MPI_Datatype parts[2] = {MPI_INT, second}, tight;

        OK(MPI_Type_create_struct(2, lengths, places, parts, &tight));
        OK(MPI_Type_create_resized(tight, 0, 16, &pair));
        OK(MPI_Type_free(&tight));
    }
    OK(MPI_Type_free(&second));
    EXPECT(MPI_ERR_TYPE, MPI_Send(matrix, 1, pair, right, 0, MPI_COMM_WORLD));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Sendrecv(&matrix[0][2], 1, column, right, 1, pairs, ROWS / 2, pair, left, 1,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, pair, &got));
    CHECK_EQ(got, ROWS / 2);
    OK(MPI_Get_elements(&status, pair, &got));
    CHECK_EQ(got, ROWS);
    for (int i = 0; i < ROWS / 2; i++) {
        CHECK_EQ(pairs[i][0], left * 100 + 2 + 2 * i * COLUMNS);
        CHECK_EQ(pairs[i][2], left * 100 + 2 + (2 * i + 1) * COLUMNS);
        CHECK(pairs[i][1] == -1 && pairs[i][3] == -1);
    }
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&pair));
}

static void persistent_requests_start_again(void)
{
    MPI_Request requests[2];
    int out = 0, in = 0;

    OK(MPI_Send_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]));
    for (int round = 0; round < 10; round++) {
        int index, flag;

        out = me + 100 * round;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_EQ(in, left + 100 * round);
        OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        CHECK_EQ(index, MPI_UNDEFINED);
        OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        CHECK(flag && requests[0] != MPI_REQUEST_NULL);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void probes_find_what_comes(void)
{
    char out[300], in[300];
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int got, flag = 0;

    memset(out, me + 1, sizeof(out));
    OK(MPI_Isend(out, 100 + me, MPI_CHAR, right, 7, MPI_COMM_WORLD, &request));
    while (!flag)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK_EQ(status.MPI_SOURCE, left);
    OK(MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Get_count(&status, MPI_CHAR, &got));
    CHECK_EQ(got, 100 + left);
    OK(MPI_Mrecv(in, got, MPI_CHAR, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL && in[0] == left + 1 && in[got - 1] == left + 1);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    OK(MPI_Mrecv(in, 1, MPI_CHAR, &message, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

static void cancelled_receives_say_so(void)
{
    MPI_Request request;
    MPI_Status status;
    int word, flag;

    OK(MPI_Irecv(&word, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
}

static void errors_have_their_class(void)
{
    int words[4] = {0}, got = -1;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;

    EXPECT(MPI_ERR_COMM, MPI_Send(words, 1, MPI_INT, right, 0, MPI_COMM_NULL));
    EXPECT(MPI_ERR_RANK, MPI_Send(words, 1, MPI_INT, np, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_TAG, MPI_Send(words, 1, MPI_INT, right, -5, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_COUNT, MPI_Send(words, -1, MPI_INT, right, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_TYPE, MPI_Send(words, 1, MPI_DATATYPE_NULL, right, 0, MPI_COMM_WORLD));
    EXPECT(MPI_ERR_REQUEST, MPI_Start(&request));
    EXPECT(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Open_port(MPI_INFO_NULL, NULL));
    OK(MPI_Send(words, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Isend(words, 4, MPI_INT, right, 3, MPI_COMM_WORLD, &request));
    EXPECT(MPI_ERR_TRUNCATE, MPI_Recv(words, 2, MPI_INT, left, 3, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Get_count(&status, MPI_INT, &got));
    CHECK_EQ(status.MPI_SOURCE, left);
}

static void large_counts_are_the_same_calls(void)
{
    long out[3] = {me, me + 1, me + 2}, in[3];
    MPI_Status status;
    MPI_Count got;

    OK(MPI_Sendrecv_c(out, 3, MPI_LONG, right, 8, in, 3, MPI_LONG, left, 8, MPI_COMM_WORLD,
                      &status));
    OK(MPI_Get_count_c(&status, MPI_LONG, &got));
    CHECK(got == 3 && in[2] == left + 2);
    OK(MPI_Sendrecv_replace_c(out, 3, MPI_LONG, right, 8, left, 8, MPI_COMM_WORLD, &status));
    CHECK_EQ(out[0], left);
}

/* A predefined pair is a named type, without contents. */
static void pair_is_named(void)
{
    int ints, addresses, types, combiner;

    OK(MPI_Type_get_envelope(MPI_DOUBLE_INT, &ints, &addresses, &types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_NAMED);
    CHECK_EQ(ints + addresses + types, 0);
}

/* A generalized request that is freed early lives until its work is done. */
static int general_query(void *extra, MPI_Status *status)
{
    (void)extra;
    return MPI_Status_set_elements(status, MPI_INT, 0);
}

static int general_free(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int general_cancel(void *extra, int is_complete)
{
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

static void generalized_requests_end_once(void)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        MPI_Request request, work;
        int freed = 0;

        OK(MPI_Grequest_start(general_query, general_free, general_cancel, &freed, &request));
        work = request;
        if (is_early) {
            OK(MPI_Request_free(&request));
            CHECK(request == MPI_REQUEST_NULL && freed == 0);
        }
        OK(MPI_Grequest_complete(work));
        CHECK_EQ(freed, is_early);
        if (!is_early)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQ(freed, 1);
        EXPECT(MPI_ERR_REQUEST, MPI_Grequest_complete(work));
    }
}

int main(void)
{
    test_init();
    pair_is_named();
    generalized_requests_end_once();
    left = (me + np - 1) % np;
    right = (me + 1) % np;
    modes_deliver();
    datatypes_match_by_signature();
    persistent_requests_start_again();
    probes_find_what_comes();
    cancelled_receives_say_so();
    errors_have_their_class();
    large_counts_are_the_same_calls();
    OK(MPI_Finalize());
    return 0;
}
