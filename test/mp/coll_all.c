/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Every collective in every form, drawn at random: coll_all SEED CALLS [THREADS [FIRST]]. Each
 * thread has communicators of its own, made anew every 64 rounds. A round is up to six calls that
 * are under way together; it is drawn from the seed and its number. A failure prints the line by
 * which it can be repeated.
 */
#include "coll_trial.h"

#include <pthread.h>
#include <signal.h>

#define LIVE 6   /* calls of a round */
#define EPOCH 64 /* rounds with the same communicators */
#define COMMS 6
#define THREADS 8
#define LIMIT_MS 60000

struct player {
    uint64_t run_seed, seed, own; /* of all threads, of this one, its state of this rank alone */
    long first, calls;            /* round to begin with; how many calls to make */
    int threads;
    mcomm_comm_t base, comms[COMMS];
    struct trial trials[LIVE];
    mcomm_request_t requests[LIVE];
    int runs[LIVE]; /* 0: not a member, or over */
};

/* ---- a failure tells how to repeat it ---- */
static void repeat_and_die(int signum)
{
    mp_repeat_print();
    signal(signum, SIG_DFL);
    raise(signum);
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void repeat_prepare(void)
{
    static const int signums[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(mp_repeat_print);
        return;
    }
    for (size_t i = 0; i < sizeof(signums) / sizeof(signums[0]); i++)
        signal(signums[i], repeat_and_die);
}

static void repeat_note(const struct player *p, long round)
{
    const char *variant = getenv("MCOMM_TEST_VARIANT");

    snprintf(mp_repeat, sizeof(mp_repeat),
             "repeat: mprun %s args=\"%llu %ld %d\", or from the round that failed on: args=\"%llu "
             "%ld 1 %ld\"",
             variant != NULL ? variant : "CASE", (unsigned long long)p->run_seed, p->calls,
             p->threads, (unsigned long long)p->seed, p->calls, round);
}

/* ---- communicators ---- */
static void comm_take(struct player *p, int i, mcomm_comm_t comm)
{
    p->comms[i] = comm;
    if (comm != MCOMM_COMM_NULL)
        OK(mcomm_comm_set_timeout(comm, LIMIT_MS));
}

static void comms_make(struct player *p, uint64_t seed)
{
    uint64_t state = seed;
    int colors[COMMS] = {0}, keys[COMMS] = {0};
    mcomm_comm_t comm;
    mcomm_info_t info;

    for (int r = 0; r < mp_size; r++)
        for (int i = 2; i < COMMS; i++) {
            int color = (int)(rnd(&state) % (uint64_t)(i - 2 + (i == 2))) - (i == 5);
            int key = (int)(rnd(&state) % 100);

            if (r == mp_rank)
                colors[i] = color < 0 ? MCOMM_RANK_UNDEFINED : color, keys[i] = key;
        }
    colors[2] = 0;       /* all ranks, those of a node not one after the other */
    colors[3] = mp_rank; /* each alone */
    OK(mcomm_comm_dup(p->base, MCOMM_INFO_NULL, &comm));
    comm_take(p, 0, comm);
    OK(mcomm_info_create(&info));
    OK(mcomm_info_set(info, "deterministic", "yes"));
    OK(mcomm_comm_dup(p->base, info, &comm));
    comm_take(p, 1, comm);
    OK(mcomm_info_free(&info));
    for (int i = 2; i < COMMS; i++) {
        OK(mcomm_comm_split(p->base, colors[i], keys[i], &comm));
        comm_take(p, i, comm);
    }
}

static void comms_free(struct player *p)
{
    for (int i = 0; i < COMMS; i++)
        if (p->comms[i] != MCOMM_COMM_NULL)
            OK(mcomm_comm_free(&p->comms[i]));
}

/* ---- a round ---- */
/* All ranks draw the same forms and communicators, also those that are not members. */
static long round_begin(struct player *p, uint64_t *state, int live)
{
    static const int weights[] = {0, 0, 0, 1, 2, 2, 3, 4, 4, 5};
    long calls = 0;

    for (int i = 0; i < live; i++) {
        enum trial_form form = (enum trial_form)(rnd(state) % FORM_NUM);
        int which = weights[rnd(state) % 10];
        int runs = form == PERSISTENT ? 1 + (int)(rnd(state) % 3) : 1;
        uint64_t seed = rnd(state);
        struct trial *t = &p->trials[i];

        calls += runs;
        p->runs[i] = 0;
        p->requests[i] = MCOMM_REQUEST_NULL;
        if (p->comms[which] == MCOMM_COMM_NULL)
            continue;
        trial_draw(t, form, p->comms[which], which == 1, seed);
        trial_fill(t, 0);
        OK(trial_call(t, &p->requests[i]));
        if (form == BLOCKING) {
            trial_verify(t);
            trial_free(t);
        } else {
            p->runs[i] = runs;
        }
    }
    return calls;
}

/* Started in one order by all members. */
static void round_start(struct player *p, int live, bool is_together)
{
    mcomm_request_t starts[LIVE];
    size_t count = 0;

    for (int i = 0; i < live; i++) {
        if (p->runs[i] == 0 || p->trials[i].form != PERSISTENT)
            continue;
        if (is_together)
            starts[count++] = p->requests[i];
        else
            OK(mcomm_start(p->requests[i]));
    }
    if (is_together)
        OK(mcomm_startall(count, starts));
}

/* Waited for in an order and a way of this rank's own. */
static void round_wait(struct player *p, int live)
{
    int way = (int)(rnd(&p->own) % 4), from = (int)(rnd(&p->own) % LIVE), done = 0;
    size_t index;

    if (way == 0)
        OK(mcomm_waitall((size_t)live, p->requests, LIMIT_MS, NULL));
    if (way == 1)
        do
            OK(mcomm_waitany((size_t)live, p->requests, LIMIT_MS, &index, NULL));
        while (index != MCOMM_INDEX_NONE);
    for (int looks = 0; way == 2 && looks < 100 && !done; looks++)
        OK(mcomm_testall((size_t)live, p->requests, &done, NULL));
    for (int i = live - 1; i >= 0; i--)
        OK(mcomm_wait(&p->requests[(i + from) % live], LIMIT_MS, NULL));
}

static void round_verify(struct player *p, int live, int run)
{
    for (int i = 0; i < live; i++) {
        struct trial *t = &p->trials[i];

        if (p->runs[i] == 0)
            continue;
        trial_verify(t);
        if (--p->runs[i] > 0) {
            trial_fill(t, run + 1);
            continue;
        }
        if (t->form == PERSISTENT)
            OK(mcomm_request_free(&p->requests[i]));
        CHECK(p->requests[i] == MCOMM_REQUEST_NULL);
        trial_free(t);
    }
}

static long round_play(struct player *p, uint64_t seed)
{
    uint64_t state = seed;
    int live = 1 + (int)(rnd(&state) % LIVE);
    bool is_together = rnd(&state) % 2;
    long calls = round_begin(p, &state, live);

    for (int run = 0; run < 3; run++) {
        round_start(p, live, is_together);
        round_wait(p, live);
        round_verify(p, live, run);
    }
    return calls;
}

/* ---- all rounds ---- */
static void *player_main(void *arg)
{
    struct player *p = arg;
    long calls = 0;

    p->own = mix(p->seed + 1000 + (uint64_t)mp_rank);
    for (long round = p->first; calls < p->calls; round++) {
        repeat_note(p, round);
        if (round == p->first || round % EPOCH == 0) {
            if (round != p->first)
                comms_free(p);
            comms_make(p, mix(p->seed + (uint64_t)(round / EPOCH)));
        }
        calls += round_play(p, mix(p->seed * 0x9e3779b97f4a7c15u + (uint64_t)round));
    }
    comms_free(p);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    long calls = argc > 2 ? atol(argv[2]) : 1000, first = argc > 4 ? atol(argv[4]) : 0;
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    struct player *players = calloc(THREADS, sizeof(*players));
    pthread_t ids[THREADS];

    CHECK(threads >= 1 && threads <= THREADS && players != NULL);
    mp_init();
    repeat_prepare();
    trial_ops_create();
    if (mp_rank == 0)
        printf("seed %llu: %ld calls by %d threads\n", (unsigned long long)seed, calls, threads);
    for (int i = 0; i < threads; i++) {
        struct player *p = &players[i];

        p->run_seed = seed;
        p->seed = seed + (uint64_t)i;
        p->first = first;
        p->calls = calls;
        p->threads = threads;
        OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &p->base));
    }
    for (int i = 1; i < threads; i++)
        CHECK(pthread_create(&ids[i], NULL, player_main, &players[i]) == 0);
    player_main(&players[0]);
    for (int i = 1; i < threads; i++)
        CHECK(pthread_join(ids[i], NULL) == 0);
    for (int i = 0; i < threads; i++)
        OK(mcomm_comm_free(&players[i].base));
    trial_ops_free();
    free(players);
    OK(mcomm_finalize());
    return 0;
}
