/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Garbage in the segment of a pair: the receiver fails the peer, and nothing else happens. */
#include "rail_shm_pair.h"

/* Each case damages one thing; the receiver must fail the peer and stay alive. */
static void garbage_case(int which)
{
    struct mci_shm_conn *from, *to;
    struct mci_shm_slot *slot;
    struct mci_shm_long head;

    pair_up(MCI_SHM_RING_MIN);
    from = ends[0]->conn;
    to = ends[1]->conn;
    slot = &from->tx_slots[0];
    frame_send(0, which == 6 ? 8 : 20000, true);
    memcpy(&head, slot->rest, sizeof(head));
    switch (which) {
    case 0:
        slot->frame.nbytes = UINT32_MAX;
        break;
    case 1:
        head.pos = 1u << 20;
        break;
    case 2:
        head.how = 77;
        break;
    case 3:
        head.how = MCI_SHM_WHOLE;
        break;
    case 4:
        *(uint64_t *)(void *)from->tx_flags = UINT64_MAX / 3;
        break;
    case 5:
        slot->frame.am = MCI_AM_RAIL_SLICE;
        slot->frame.nbytes = 1u << 30;
        break;
    default:
        /* The other way: a receiver acknowledges more than was sent. */
        to->rx_back->slots_done = 5000;
        to->rx_back->ring_done = UINT64_MAX / 2;
        for (int i = 0; i < 70; i++)
            frame_send(0, 60000, true);
        break;
    }
    if (which < 6)
        memcpy(slot->rest, &head, sizeof(head));
    for (int i = 0; i < 10; i++)
        mci_shm_poll(NULL);
    assert_true(mci_peer_is_failed(which < 6 ? ends[1] : ends[0]));
    pair_down();
}

static void garbage_in_shared_memory_fails_the_peer_only(void **state)
{
    (void)state;
    mci_log_set_level("error");
    for (int which = 0; which < 7; which++)
        garbage_case(which);
}

/* Random damage anywhere in head, slots and flags: any outcome but a crash or a hang is right. */
static volatile uint8_t bytes_seen;

static void ignore_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink)
{
    (void)peer;
    (void)sink;
    if (payload != NULL)
        for (size_t i = 0; i < frame->nbytes; i++)
            bytes_seen ^= ((const uint8_t *)payload)[i];
}

static void random_damage_never_crashes(void **state)
{
    (void)state;
    mci_log_set_level("error");
    for (int round = 0; round < 200; round++) {
        struct mci_shm_conn *conn;
        uint64_t keep;

        pair_up(MCI_SHM_RING_MIN);
        mci_rail_set_am(AM_TEST, ignore_frame);
        rng = keep = SEED + (uint64_t)round * 7919;
        for (int i = 0; i < 40 && ends[0]->conn != NULL && ends[1]->conn != NULL; i++) {
            frame_send(i % 2, random_size(), false);
            conn = ends[0]->conn;
            for (int k = 0; k < 4; k++)
                ((uint8_t *)conn->seg.base)[rng_next(&rng) % conn->seg.base_nbytes] =
                    (uint8_t)rng_next(&rng);
            for (int k = 0; k < 4; k++)
                ((uint8_t *)conn->tx_slots)[rng_next(&rng) % 512] ^= (uint8_t)rng_next(&rng);
            mci_shm_poll(NULL);
        }
        pair_down();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_in_shared_memory_fails_the_peer_only),
        cmocka_unit_test(random_damage_never_crashes),
    };

    return cmocka_run_group_tests(tests, rail_up, rail_down);
}
