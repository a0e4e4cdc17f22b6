/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The rendezvous protocol without a network: who gets in, who is refused, what everybody gets. */
#include "config.h"

#include "rt/rdv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE 4

static const uint8_t secret[MCI_AUTH_SECRET_BYTES] = "rendezvous secret for the test.";
static struct mci_rdv_server server;
static struct mci_rdv_conn conns[8];
static struct mci_rdv_client clients[8];

static int server_up(void **state)
{
    (void)state;
    memset(clients, 0, sizeof(clients));
    memset(conns, 0, sizeof(conns));
    return (int)mci_rdv_server_init(&server, SIZE, secret, "packet of 0", 11);
}

static int server_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        mci_rdv_client_fini(&clients[i]);
        if (conns[i].server != NULL)
            mci_rdv_conn_fini(&conns[i]);
    }
    mci_rdv_server_fini(&server);
    return 0;
}

/* Move bytes both ways until neither has anything to say. @return what the client said last */
static mcomm_err_t talk(int i, size_t chunk)
{
    mcomm_err_t err = MCOMM_SUCCESS;
    bool has_moved = true;
    const void *buf;
    size_t n;

    while (has_moved) {
        has_moved = false;
        while (err == MCOMM_SUCCESS && (n = mci_rdv_client_output(&clients[i], &buf)) > 0) {
            n = n < chunk ? n : chunk;
            err = mci_rdv_conn_input(&conns[i], buf, n);
            mci_rdv_client_sent(&clients[i], n);
            has_moved = true;
        }
        while ((n = mci_rdv_conn_output(&conns[i], &buf)) > 0) {
            n = n < chunk ? n : chunk;
            err = mci_rdv_client_input(&clients[i], buf, n);
            mci_rdv_conn_sent(&conns[i], n);
            has_moved = true;
        }
    }
    return err;
}

static mcomm_err_t come(int i, uint32_t rank, uint32_t size, uint64_t instance, size_t chunk)
{
    struct mci_rdv_hello hello = {.version = MCI_RDV_VERSION,
                                  .rank = rank,
                                  .size = size,
                                  .pid = 1000 + (uint32_t)i,
                                  .instance = instance};
    char packet[32], from[24];

    snprintf(packet, sizeof(packet), "packet of %u", rank);
    snprintf(from, sizeof(from), "10.0.0.%d:99", i);
    assert_int_equal(mci_rdv_conn_init(&conns[i], &server, from), MCOMM_SUCCESS);
    assert_int_equal(mci_rdv_client_init(&clients[i], secret, &hello, packet, strlen(packet)), 0);
    return talk(i, chunk);
}

static void check_blobs(const struct mci_rt_blobs *blobs)
{
    char packet[32];

    assert_int_equal(blobs->num, SIZE);
    for (int i = 0; i < SIZE; i++) {
        snprintf(packet, sizeof(packet), "packet of %d", i);
        assert_int_equal(blobs->blobs[i].nbytes, strlen(packet));
        assert_memory_equal(blobs->blobs[i].ptr, packet, strlen(packet));
    }
}

static void all_get_all_packets_in_rank_order(void **state)
{
    static const uint32_t ranks[] = {0, 3, 1, 2};
    struct mci_rt_blobs blobs;

    (void)state;
    for (int i = 1; i < SIZE; i++) {
        assert_false(mci_rdv_server_is_complete(&server));
        assert_int_equal(come(i, ranks[i], SIZE, 7, i == 2 ? 1 : 100), MCOMM_SUCCESS);
    }
    assert_true(mci_rdv_server_is_complete(&server));
    assert_int_equal(mci_rdv_server_blobs(&server, &blobs), MCOMM_SUCCESS);
    check_blobs(&blobs);
    mci_rt_blobs_free(&blobs);
    for (int i = 1; i < SIZE; i++) {
        assert_int_equal(talk(i, i), MCOMM_SUCCESS);
        assert_int_equal(clients[i].state, MCI_RDV_CLIENT_DONE);
        assert_int_equal(conns[i].state, MCI_RDV_CONN_DONE);
        check_blobs(&clients[i].blobs);
    }
}

static void second_process_with_a_rank_is_refused_naming_both(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    assert_int_equal(come(2, 2, SIZE, 8, 100), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "rank 2"));
    assert_non_null(strstr(mcomm_last_error(), "process 1001 at 10.0.0.1:99"));
    assert_non_null(strstr(mcomm_last_error(), "process 1002 at 10.0.0.2:99"));
    assert_true(clients[2].is_fatal);
    assert_int_equal(conns[1].state, MCI_RDV_CONN_JOINED); /* the first one is not disturbed */
    assert_int_equal(server.num_arrived, 2);
}

static void other_size_is_refused_naming_both(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, 5, 7, 100), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "has 5 ranks"));
    assert_non_null(strstr(mcomm_last_error(), "says 4"));
    assert_int_equal(server.num_arrived, 1);
}

static void rank_zero_or_outside_is_refused(void **state)
{
    (void)state;
    assert_int_equal(come(1, 0, SIZE, 7, 100), MCOMM_ERR_BOOTSTRAP);
    assert_non_null(strstr(mcomm_last_error(), "rank 0"));
    assert_int_equal(come(2, 4, SIZE, 7, 100), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(come(3, UINT32_MAX, SIZE, 7, 100), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(server.num_arrived, 1);
}

static void same_process_may_come_again_over_a_new_connection(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    assert_int_equal(come(2, 3, SIZE, 7, 100), MCOMM_SUCCESS);
    conns[3].server = NULL;
    conns[1].hello.pid = 1003; /* as if connection 1 had been of the process that comes as 3 */
    assert_int_equal(come(3, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    assert_int_equal(server.num_arrived, 3);
    assert_ptr_equal(server.slots[2].conn, &conns[3]);
    mci_rdv_conn_fini(&conns[1]); /* the old one's end changes nothing */
    assert_int_equal(server.num_arrived, 3);
}

static void who_goes_away_before_the_end_has_not_arrived(void **state)
{
    char text[256];

    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    assert_int_equal(server.num_arrived, 2);
    mci_rdv_conn_fini(&conns[1]);
    assert_int_equal(server.num_arrived, 1);
    assert_string_equal(mci_rdv_server_missing(&server, text, sizeof(text)),
                        "rank 1, 3; came, but their connection ended: rank 2");
    assert_int_equal(come(2, 2, SIZE, 8, 100),
                     MCOMM_SUCCESS); /* a restarted one may take its place */
    assert_int_equal(server.num_arrived, 2);
}

static void what_is_known_of_each_missing_rank_is_told(void **state)
{
    struct mci_rdv_hello hello = {.version = MCI_RDV_VERSION, .rank = 3, .size = SIZE};
    char text[256];
    const void *buf;
    size_t n;

    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    mci_rdv_client_late(&clients[1]);
    assert_int_equal(talk(1, 100), MCOMM_SUCCESS);
    mci_rdv_conn_fini(&conns[1]);
    assert_int_equal(mci_rdv_conn_init(&conns[3], &server, "10.0.0.3:99"), MCOMM_SUCCESS);
    assert_int_equal(mci_rdv_client_init(&clients[3], secret, &hello, "x", 1), MCOMM_SUCCESS);
    while (conns[3].state == MCI_RDV_CONN_ADMISSION) { /* and not one byte more */
        n = mci_rdv_client_output(&clients[3], &buf);
        assert_true(n > 0);
        assert_int_equal(mci_rdv_conn_input(&conns[3], buf, n), MCOMM_SUCCESS);
        mci_rdv_client_sent(&clients[3], n);
        while ((n = mci_rdv_conn_output(&conns[3], &buf)) > 0) {
            assert_int_equal(mci_rdv_client_input(&clients[3], buf, n), MCOMM_SUCCESS);
            mci_rdv_conn_sent(&conns[3], n);
        }
    }
    assert_string_equal(mci_rdv_server_missing(&server, text, sizeof(text)),
                        "rank 1; connected, but silent: rank 3; came, but gave up when their own "
                        "time was over: rank 2");
    mci_rdv_conn_fini(&conns[3]);
    assert_int_equal(server.num_arrived, 1);
}

static void waiting_rank_learns_who_is_missing(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    mci_rdv_client_ask(&clients[1]);
    mci_rdv_client_ask(&clients[1]);
    assert_int_equal(talk(1, 100), MCOMM_SUCCESS);
    assert_string_equal(clients[1].missing, "rank 1, 3");
    assert_int_equal(come(2, 1, SIZE, 7, 100), MCOMM_SUCCESS);
    mci_rdv_client_ask(&clients[1]);
    assert_int_equal(talk(1, 3), MCOMM_SUCCESS);
    assert_string_equal(clients[1].missing, "rank 3");
}

static void server_that_gives_up_says_why(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    mci_rdv_conn_give_up(&conns[1], "rank 1 is missing");
    assert_int_equal(talk(1, 100), MCOMM_ERR_TIMEOUT);
    assert_non_null(strstr(mcomm_last_error(), "rank 1 is missing"));
}

static void another_secret_gets_nowhere(void **state)
{
    static const uint8_t other[MCI_AUTH_SECRET_BYTES] = "of another user";
    struct mci_rdv_hello hello = {.version = MCI_RDV_VERSION, .rank = 1, .size = SIZE};

    (void)state;
    mci_rdv_conn_init(&conns[1], &server, "10.0.0.1:1");
    mci_rdv_client_init(&clients[1], other, &hello, "x", 1);
    assert_int_equal(talk(1, 100), MCOMM_ERR_AUTH);
    assert_true(clients[1].is_fatal);
    assert_int_equal(server.num_arrived, 1);
}

static void text_of_the_network_is_made_printable(void **state)
{
    (void)state;
    assert_int_equal(come(1, 2, SIZE, 7, 100), MCOMM_SUCCESS);
    mci_rdv_conn_give_up(&conns[1], "a\x1b[31mb\nc");
    assert_int_equal(talk(1, 100), MCOMM_ERR_TIMEOUT);
    assert_string_equal(mcomm_last_error(), "a?[31mb?c");
}

static void rank_sets_are_named_shortly(void **state)
{
    unsigned char flags[300] = {0};
    char text[64];

    (void)state;
    assert_string_equal(mci_rt_ranks_text(flags, 300, 1, text, sizeof(text)), "none");
    assert_string_equal(mci_rt_ranks_text(flags, 300, 0, text, sizeof(text)), "0-299");
    flags[0] = flags[4] = flags[5] = flags[299] = 1;
    assert_string_equal(mci_rt_ranks_text(flags, 300, 1, text, sizeof(text)), "0, 4-5, 299");
    for (int i = 0; i < 300; i += 2)
        flags[i] = 1;
    mci_rt_ranks_text(flags, 300, 1, text, sizeof(text));
    assert_non_null(strstr(text, "..."));
}

static void malformed_frames_of_packets_are_errors(void **state)
{
    static const unsigned char frames[][12] = {
        {1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b'}, /* good for 2, 10 bytes */
        {9, 0, 0, 0, 'a', 1, 0, 0, 0, 'b'},
        {255, 255, 255, 255, 'a', 1, 0, 0, 0, 'b'},
    };
    struct mci_rt_blobs blobs;

    (void)state;
    assert_int_equal(mci_rt_blobs_unpack(frames[0], 10, 2, &blobs), MCOMM_SUCCESS);
    assert_memory_equal(blobs.blobs[1].ptr, "b", 1);
    mci_rt_blobs_free(&blobs);
    for (size_t n = 0; n < 10; n++)
        assert_int_equal(mci_rt_blobs_unpack(frames[0], n, 2, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(mci_rt_blobs_unpack(frames[0], 10, 1, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(mci_rt_blobs_unpack(frames[0], 10, 3, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(mci_rt_blobs_unpack(frames[1], 10, 2, &blobs), MCOMM_ERR_BOOTSTRAP);
    assert_int_equal(mci_rt_blobs_unpack(frames[2], 10, 2, &blobs), MCOMM_ERR_BOOTSTRAP);
}

#define RDV_TEST(name) cmocka_unit_test_setup_teardown(name, server_up, server_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RDV_TEST(all_get_all_packets_in_rank_order),
        RDV_TEST(second_process_with_a_rank_is_refused_naming_both),
        RDV_TEST(other_size_is_refused_naming_both),
        RDV_TEST(rank_zero_or_outside_is_refused),
        RDV_TEST(same_process_may_come_again_over_a_new_connection),
        RDV_TEST(who_goes_away_before_the_end_has_not_arrived),
        RDV_TEST(what_is_known_of_each_missing_rank_is_told),
        RDV_TEST(waiting_rank_learns_who_is_missing),
        RDV_TEST(server_that_gives_up_says_why),
        RDV_TEST(another_secret_gets_nowhere),
        RDV_TEST(text_of_the_network_is_made_printable),
        cmocka_unit_test(rank_sets_are_named_shortly),
        cmocka_unit_test(malformed_frames_of_packets_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
