/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Half round trip of the shm rail alone, between two processes. Run by hand, on two free cores.
 * Both sides rewrite their buffer before they send and read all of it after they received; the time
 * of these passes is taken off and shown apart, since a method that moves its cost into them is not
 * faster. The state of the cores (flag round trip) is printed with each line: it may change while
 * this runs. 2nd best of the batches. Usage: shm_pingpong [core core [min-bytes max-bytes]]
 */
#include "config.h"

#include "base/clock.h"
#include "base/copy.h"
#include "base/lock.h"
#include "base/loop.h"
#include "base/settings.h"
#include "base/wait.h"
#include "rail/rail_priv.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define AM_FRAME MCI_AM_P2P_EAGER
#define AM_PLACE MCI_AM_P2P_CTS
#define BATCHES 21

static struct shared {
    _Alignas(128) _Atomic uint64_t ping;
    _Alignas(128) _Atomic uint64_t pong;
    _Alignas(128) _Atomic uint64_t gate[2];
} * shared;
static int me;
static struct mci_peer *peer;
static char *out_buf, *in_buf;
static uint64_t frames_in, places_in, place_id;
static bool bulk_in, bulk_out;

static void frame_done(void *arg, mcomm_err_t err)
{
    (void)arg;
    if (err == MCOMM_SUCCESS)
        frames_in++;
}

static void frame_received(struct mci_peer *from, const struct mci_frame *frame,
                           const void *payload, struct mci_sink *sink)
{
    static mcomm_iov_t iov;

    (void)from;
    if (payload != NULL) {
        memcpy(in_buf, payload, frame->nbytes);
        frames_in++;
        return;
    }
    iov = (mcomm_iov_t){in_buf, frame->nbytes};
    *sink = (struct mci_sink){&iov, 1, frame_done, NULL};
}

static void place_received(struct mci_peer *from, const struct mci_frame *frame,
                           const void *payload, struct mci_sink *sink)
{
    (void)from;
    (void)payload;
    (void)sink;
    place_id = frame->w0;
    places_in++;
}

static void in_done(struct mci_inop *op, mcomm_err_t err)
{
    (void)op;
    bulk_in = err == MCOMM_SUCCESS;
}

static void out_done(struct mci_outop *op, mcomm_err_t err)
{
    (void)op;
    bulk_out = err == MCOMM_SUCCESS;
}

static void tx_done(struct mci_tx *tx, mcomm_err_t err)
{
    (void)tx;
    (void)err;
    bulk_out = true;
}

/* ---- flag round trip ---- */
static double flag_rtt(void)
{
    static uint64_t value;
    double best = 1e9;

    for (int batch = 0; batch < 9; batch++) {
        int64_t begin = mci_clock_ns();

        for (int i = 0; i < 2000; i++) {
            value++;
            if (me == 0) {
                atomic_store_explicit(&shared->ping, value, memory_order_release);
                while (atomic_load_explicit(&shared->pong, memory_order_acquire) != value)
                    ;
            } else {
                while (atomic_load_explicit(&shared->ping, memory_order_acquire) != value)
                    ;
                atomic_store_explicit(&shared->pong, value, memory_order_release);
            }
        }
        if ((double)(mci_clock_ns() - begin) / 2000 < best)
            best = (double)(mci_clock_ns() - begin) / 2000;
    }
    return best;
}

static void gate(void)
{
    uint64_t value = atomic_fetch_add(&shared->gate[me], 1) + 1;

    while (atomic_load(&shared->gate[!me]) < value)
        mci_progress();
}

/* ---- one message ---- */
static void frame_send(size_t nbytes)
{
    static struct mci_tx tx;
    struct mci_frame frame = {.am = AM_FRAME};

    tx.done = tx_done;
    bulk_out = false;
    if (mci_peer_send(peer, &frame, out_buf, nbytes, &tx) == MCI_PENDING)
        while (!bulk_out)
            mci_progress();
}

static void frame_wait(uint64_t count)
{
    while (frames_in < count)
        mci_progress();
}

static struct mci_inop in;
static mcomm_iov_t in_iov, out_iov;

/* The place for the answer is told before it is needed. */
static void place_open(size_t nbytes)
{
    struct mci_frame frame = {.am = AM_PLACE};

    in_iov = (mcomm_iov_t){in_buf, nbytes};
    in = (struct mci_inop){
        .peer = peer, .iov = &in_iov, .iov_count = 1, .nbytes = nbytes, .done = in_done};
    bulk_in = false;
    mci_inop_open(&in);
    frame.w0 = in.id;
    mci_peer_send(peer, &frame, NULL, 0, NULL);
}

static void bulk_send(size_t nbytes, uint64_t places)
{
    static struct mci_outop out;

    while (places_in < places)
        mci_progress();
    out_iov = (mcomm_iov_t){out_buf, nbytes};
    out = (struct mci_outop){.peer = peer,
                             .remote_id = place_id,
                             .iov = &out_iov,
                             .iov_count = 1,
                             .nbytes = nbytes,
                             .done = out_done};
    bulk_out = false;
    mci_outop_start(&out);
    while (!bulk_out)
        mci_progress();
}

static void bulk_wait(void)
{
    while (!bulk_in)
        mci_progress();
}

/* ---- passes over the buffers ---- */
static volatile uint64_t pass_sum;

static void pass_write(size_t nbytes, uint64_t value)
{
    uint64_t *words = (void *)out_buf;

    for (size_t i = 0; i + 4 <= nbytes / 8; i += 4) {
        words[i] = value + i;
        words[i + 1] = value;
        words[i + 2] = value ^ i;
        words[i + 3] = i;
    }
}

static void pass_read(size_t nbytes)
{
    const uint64_t *words = (const void *)in_buf;
    uint64_t sum = 0;

    for (size_t i = 0; i + 4 <= nbytes / 8; i += 4)
        sum += words[i] + words[i + 1] + (words[i + 2] ^ words[i + 3]);
    pass_sum += sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Passes are timed only where they are long against the clock's 25 ns. */
static double batch(size_t nbytes, int rounds, bool is_bulk, double *pass_p)
{
    int64_t begin, mark, pass_ns = 0;
    uint64_t frames = frames_in, places = places_in;
    bool has_passes = nbytes >= 1024;

    gate();
    begin = mci_clock_ns();
    if (is_bulk)
        place_open(nbytes);
    for (int i = 0; i < rounds; i++) {
        for (int turn = 0; turn < 2; turn++) {
            if (turn == me) {
                if (has_passes) {
                    mark = mci_clock_ns();
                    pass_write(nbytes, (uint64_t)i);
                    pass_ns += mci_clock_ns() - mark;
                }
                if (is_bulk)
                    bulk_send(nbytes, ++places);
                else
                    frame_send(nbytes);
                continue;
            }
            if (is_bulk) {
                bulk_wait();
                if (i + 1 < rounds)
                    place_open(nbytes);
            } else {
                frame_wait(++frames);
            }
            if (has_passes) {
                mark = mci_clock_ns();
                pass_read(nbytes);
                pass_ns += mci_clock_ns() - mark;
            }
        }
    }
    /* Both sides' passes lie in the round: this side's twice, as they are alike. */
    *pass_p = (double)pass_ns / rounds / 1e3;
    return (double)(mci_clock_ns() - begin) / rounds / 2e3 - *pass_p;
}

static void measure(size_t nbytes, bool is_bulk)
{
    double usec[BATCHES], pass[BATCHES], rtt;
    int rounds = nbytes <= 1024 ? 20000 : nbytes <= 65536 ? 1000 : nbytes <= 1 << 20 ? 60 : 15;

    gate();
    rtt = flag_rtt();
    for (int i = 0; i < BATCHES; i++)
        usec[i] = batch(nbytes, rounds, is_bulk, &pass[i]);
    qsort(usec, BATCHES, sizeof(usec[0]), by_value);
    qsort(pass, BATCHES, sizeof(pass[0]), by_value);
    if (me == 0)
        printf("%8zu  %-5s  %9.3f  %9.3f  %8.2f  %8.2f   %.3f us %s\n", nbytes,
               is_bulk ? "bulk" : "frame", usec[1], usec[BATCHES / 2], pass[BATCHES / 2],
               (double)nbytes / usec[1] / 1e3, rtt / 1e3,
               rtt < 75    ? "sibling"
               : rtt < 250 ? "near"
                           : "far");
}

/* ---- two processes ---- */
static void start(int sock)
{
    struct mci_card card;
    size_t nbytes;
    const void *own;
    struct mci_waiter w;

    mci_settings_load();
    mci_clock_init();
    mci_copy_start();
    mci_engine_lock_init(true);
    mci_wait_set_local_ranks(2, 2);
    mci_doorbell_start();
    mci_loop_start();
    mci_rail_set_am(AM_FRAME, frame_received);
    mci_rail_set_am(AM_PLACE, place_received);
    if (mci_rail_start() != MCOMM_SUCCESS)
        exit(1);
    own = mci_rail_card(&nbytes);
    if (write(sock, own, nbytes) != (ssize_t)nbytes ||
        read(sock, &card, sizeof(card)) != (ssize_t)sizeof(card))
        exit(1);
    mci_engine_lock();
    if (mci_peer_intern(&card, sizeof(card), &peer) != MCOMM_SUCCESS)
        exit(1);
    if (me == 0)
        mci_peer_watch(peer);
    mci_wait_begin(&w, 10000);
    while (peer->state != MCI_PEER_READY && mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    if (peer->state != MCI_PEER_READY || peer->ops != &mci_rail_shm_ops)
        exit(1);
}

static void pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
    static const size_t frames[] = {8, 36, 128, 1024, 2048, 4096, 8192, 16384, 65536};
    static const size_t bulks[] = {65536, 262144, 1 << 20, 4 << 20};
    size_t min = argc > 4 ? (size_t)atoll(argv[3]) : 0;
    size_t max = argc > 4 ? (size_t)atoll(argv[4]) : SIZE_MAX;
    int fds[2];
    pid_t child;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        return 1;
    child = fork();
    me = child == 0;
    pin(argc > 1 + me ? atoi(argv[1 + me]) : me);
    out_buf = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in_buf = out_buf + (4 << 20);
    memset(out_buf, 1, 8 << 20);
    start(fds[me]);
    if (me == 0)
        printf("   bytes  kind   half rtt     median    passes      GB/s   flag round trip\n"
               "                       us         us        us\n");
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (frames[i] >= min && frames[i] <= max)
            measure(frames[i], false);
    for (size_t i = 0; i < sizeof(bulks) / sizeof(bulks[0]); i++)
        if (bulks[i] >= min && bulks[i] <= max)
            measure(bulks[i], true);
    fflush(stdout);
    gate();
    mci_engine_unlock();
    mci_rail_stop(1000);
    if (me == 0)
        waitpid(child, NULL, 0);
    return 0;
}
