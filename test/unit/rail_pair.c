/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Both ends of a pair, and what both sides of every test do. */
#include "config.h"

#include "rail_pair.h"

#include "base/clock.h"
#include "base/copy.h"
#include "base/loop.h"

#include <sys/socket.h>
#include <sys/wait.h>

struct pair_seen pair_seen;

void pair_say(struct pair_end *end, char what)
{
    CHECK(write(end->sock, &what, 1) == 1);
}

void pair_hear(struct pair_end *end, char what)
{
    char got = 0;

    CHECK(read(end->sock, &got, 1) == 1);
    CHECK(got == what);
}

void pair_wait(const bool *flag)
{
    CHECK(mci_wait_flag(flag, 60000) == MCOMM_SUCCESS);
}

void pair_exchange(struct pair_end *end)
{
    struct mci_frame frame = {.am = PAIR_AM_DONE};

    CHECK(mci_peer_send(end->peer, &frame, NULL, 0, NULL) == MCOMM_SUCCESS);
    pair_wait(&pair_seen.is_done);
    mci_engine_unlock();
    pair_say(end, 'e');
    pair_hear(end, 'e');
    mci_engine_lock();
}

static void on_done(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                    struct mci_sink *sink)
{
    (void)peer;
    (void)frame;
    (void)payload;
    (void)sink;
    pair_seen.is_done = true;
}

static void on_failed(struct mci_peer *peer)
{
    pair_seen.has_left = peer->has_left;
    pair_seen.is_failed = true;
}

void rails_up(const char *node)
{
    setenv("MCOMM_NODE", node, 1);
    CHECK(mci_settings_load() == MCOMM_SUCCESS);
    mci_log_set_level(mci_settings.log);
    mci_clock_init();
    mci_copy_start();
    mci_engine_lock_init(false);
    CHECK(mci_doorbell_start() == MCOMM_SUCCESS);
    CHECK(mci_loop_start() == MCOMM_SUCCESS);
    CHECK(mci_rail_start() == MCOMM_SUCCESS);
}

void rails_down(void)
{
    mci_rail_stop(10000);
    mci_loop_stop();
    mci_doorbell_stop();
    mci_settings_unload();
}

static void pair_main(struct pair_end *end, pair_fn_t fn)
{
    const void *card;
    size_t nbytes;

    mci_rail_set_am(PAIR_AM_DONE, on_done);
    mci_rail_on_failed(on_failed);
    rails_up(end->side == 0 ? "left" : "right");
    mci_rail_set_world_rank(end->side);
    card = mci_rail_card(&nbytes);
    CHECK(write(end->sock, card, nbytes) == (ssize_t)nbytes);
    CHECK(recv(end->sock, &end->other_card, sizeof(end->other_card), MSG_WAITALL) ==
          (ssize_t)sizeof(end->other_card));
    mci_engine_lock();
    CHECK(mci_peer_intern(&end->other_card, sizeof(end->other_card), &end->peer) == MCOMM_SUCCESS);
    fn(end);
    mci_engine_unlock();
    rails_down();
}

int pair_run(pair_fn_t left, pair_fn_t right)
{
    pair_fn_t fns[2] = {left, right};
    int socks[2], statuses[2] = {0, 0};
    pid_t pids[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) != 0)
        return -1;
    fflush(NULL);
    for (int side = 0; side < 2; side++) {
        pids[side] = fork();
        if (pids[side] == 0) {
            struct pair_end end = {.side = side, .sock = socks[side]};

            close(socks[1 - side]);
            pair_main(&end, fns[side]);
            exit(0);
        }
    }
    close(socks[0]);
    close(socks[1]);
    for (int i = 0; i < 2; i++) {
        int status = 0, side = waitpid(-1, &status, 0) == pids[0] ? 0 : 1;

        statuses[side] = status;
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && i == 0)
            kill(pids[1 - side], SIGKILL); /* it would wait for nothing */
    }
    for (int side = 0; side < 2; side++)
        if (WIFSIGNALED(statuses[side]) && WTERMSIG(statuses[side]) == SIGKILL)
            statuses[side] = 0; /* the test killed it */
    return statuses[0] | statuses[1];
}
