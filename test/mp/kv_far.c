/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Object stores whose parts are on other nodes: kv_far MODE.
 *   oracle    random puts, removes, overwrites, single and in batches with equal and missing keys,
 *             values of 0 bytes to 40 MiB, on any rank; every rank computes what all must be
 *   hot       one rank replaces an object all the time; the others get and put it, and never lose
 *   death     the last rank dies while all are in batches: every entry has an end of its own
 *   stack     a thread with a small stack puts and gets
 */
#include "kv_check.h"

#include <pthread.h>

#define KEYS 24u /* of each rank */
#define BATCH 20u
#define ROUNDS 6u
#define LARGE ((size_t)40 << 20)
#define UNTOUCHED ((mcomm_err_t)9999)

static void fill(char *buf, size_t nbytes, uint64_t version)
{
    for (size_t at = 0; at < nbytes; at += 8) {
        uint64_t word = mix(version + at);

        memcpy(buf + at, &word, nbytes - at < 8 ? nbytes - at : 8);
    }
}

static void check(const char *buf, size_t nbytes, uint64_t version)
{
    for (size_t at = 0; at < nbytes; at += 8) {
        uint64_t word = mix(version + at);

        if (memcmp(buf + at, &word, nbytes - at < 8 ? nbytes - at : 8) != 0)
            MP_FAIL("version %llu: wrong byte near %zu of %zu", (unsigned long long)version, at,
                    nbytes);
    }
}

/* ---- oracle ---- */
struct object {
    int exists;
    size_t nbytes;
    uint64_t version;
};

struct step { /* what a rank does next; all compute it */
    enum {
        PUT,
        REMOVE,
        PUT_BATCH,
        REMOVE_BATCH
    } what;
    unsigned count;
    int preferred;
    unsigned keys[BATCH];
    struct object objects[BATCH];
};

static size_t far_size(uint64_t *state, int has_large)
{
    switch (rnd(state) % 16) {
    case 0:
        return 0;
    case 1:
        return has_large ? LARGE : 7;
    case 2:
        return 200000 + rnd(state) % 200000;
    case 3:
    case 4:
        return 60000 + rnd(state) % 10000;
    default:
        return rnd(state) % 6000;
    }
}

static void step_plan(struct step *step, int owner, unsigned round, unsigned number)
{
    uint64_t state = mix(((uint64_t)owner << 40) + (round << 20) + number);

    step->what = rnd(&state) % 4;
    step->count = step->what < PUT_BATCH ? 1 : 1 + (unsigned)(rnd(&state) % BATCH);
    step->preferred = (int)(rnd(&state) % (uint64_t)(mp_size + 1)) - 1;
    for (unsigned i = 0; i < step->count; i++) { /* equal keys, too */
        step->keys[i] = (unsigned)(rnd(&state) % KEYS);
        step->objects[i].exists = step->what == PUT || step->what == PUT_BATCH;
        step->objects[i].nbytes = far_size(&state, step->what == PUT && number == 0);
        step->objects[i].version = rnd(&state);
    }
    if (owner == 0 && round == 1 && number == 0) {
        step->what = PUT;
        step->count = 1;
        step->objects[0] = (struct object){1, LARGE, 17};
    }
}

static size_t far_key(char *key, int owner, unsigned k)
{
    size_t n = (size_t)snprintf(key, 64, "rank-%d/key-%u", owner, k);

    if (k % 12 == 11) {
        memset(key + n, 'k', 3000);
        n += 3000;
    }
    return n;
}

static void items_make(mcomm_kv_item_t *items, char (*keys)[4096], const struct step *step,
                       char *buf)
{
    for (unsigned i = 0; i < step->count; i++) {
        size_t nbytes = step->objects[i].nbytes;

        items[i] = (mcomm_kv_item_t){keys[i], far_key(keys[i], mp_rank, step->keys[i]), buf, nbytes,
                                     UNTOUCHED};
        if (step->objects[i].exists) {
            fill(buf, nbytes, step->objects[i].version);
            buf += nbytes;
        }
    }
}

static void step_run(mcomm_kv_t kv, const struct step *step, char *buf, struct object *model)
{
    static char keys[BATCH][4096];
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;
    mcomm_kv_item_t items[BATCH];

    attr.preferred_rank = step->preferred;
    items_make(items, keys, step, buf);
    if (step->what == PUT)
        items[0].error = mcomm_kv_put(kv, items[0].key, items[0].key_nbytes, items[0].buf,
                                      items[0].nbytes, &attr);
    else if (step->what == REMOVE)
        items[0].error = mcomm_kv_remove(kv, items[0].key, items[0].key_nbytes);
    else if (step->what == PUT_BATCH)
        OK(mcomm_kv_put_batch(kv, items, step->count, &attr));
    else
        (void)mcomm_kv_remove_batch(kv, items, step->count);
    for (unsigned i = 0; i < step->count; i++) {
        struct object *object = &model[step->keys[i]];

        if (items[i].error !=
            (step->objects[i].exists || object->exists ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND))
            MP_FAIL("entry %u of a step %d ends with %s", i, (int)step->what,
                    mcomm_err_name(items[i].error));
        *object = step->objects[i];
    }
}

static void model_step(const struct step *step, struct object *model)
{
    for (unsigned i = 0; i < step->count; i++)
        model[step->keys[i]] = step->objects[i];
}

static void verify_one(mcomm_kv_t kv, const char *key, size_t key_nbytes,
                       const struct object *object)
{
    size_t nbytes = 0;
    int exists = -1;
    void *value;
    mcomm_err_t err = mcomm_kv_get(kv, key, key_nbytes, &value, &nbytes);

    CHECK_EQ(err, object->exists ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND);
    OK(mcomm_kv_exists(kv, key, key_nbytes, &exists));
    CHECK_EQ(exists, object->exists);
    if (!object->exists)
        return;
    CHECK_EQ(nbytes, object->nbytes);
    check(value, nbytes, object->version);
    mcomm_free(value);
    OK(mcomm_kv_size(kv, key, key_nbytes, &nbytes));
    CHECK_EQ(nbytes, object->nbytes);
}

/* All keys of owner, and one more that never was, in one batch; a second time by size only. */
static void verify(mcomm_kv_t kv, int owner, const struct object *model, char *buf)
{
    static char keys[KEYS + 1][4096];
    mcomm_kv_item_t items[KEYS + 1];
    char *at = buf;

    for (unsigned k = 0; k <= KEYS; k++) {
        size_t room = k < KEYS && model[k].exists ? model[k].nbytes : 0;

        items[k] = (mcomm_kv_item_t){keys[k], far_key(keys[k], owner, k), at, room, UNTOUCHED};
        at += room;
    }
    (void)mcomm_kv_get_batch(kv, items, KEYS + 1);
    for (unsigned k = 0; k <= KEYS; k++) {
        int exists = k < KEYS && model[k].exists;

        CHECK_EQ(items[k].error, exists ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND);
        if (!exists)
            continue;
        CHECK_EQ(items[k].nbytes, model[k].nbytes);
        check(items[k].buf, items[k].nbytes, model[k].version);
        items[k].nbytes = 0;
    }
    OK(mcomm_kv_exists_batch(kv, items, KEYS + 1));
    for (unsigned k = 0; k < KEYS; k++)
        CHECK_EQ(items[k].error, model[k].exists ? MCOMM_SUCCESS : MCOMM_ERR_NOT_FOUND);
    for (unsigned k = 0; k < KEYS; k += 5)
        verify_one(kv, keys[k], items[k].key_nbytes, &model[k]);
}

static void mode_oracle(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)160 << 20);
    struct object *model = calloc((size_t)mp_size * KEYS, sizeof(*model));
    char *buf = malloc(8 * LARGE);
    mcomm_kv_stats_t stats = {.struct_size = sizeof(stats)};

    CHECK(model != NULL && buf != NULL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t objects = 0, used = 0;

        for (int owner = 0; owner < mp_size; owner++)
            for (unsigned n = 0; n < 12; n++) {
                struct step step;

                step_plan(&step, owner, round, n);
                if (owner == mp_rank)
                    step_run(kv, &step, buf, model + (size_t)owner * KEYS);
                else
                    model_step(&step, model + (size_t)owner * KEYS);
            }
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
        for (int i = 0; i < mp_size; i++)
            verify(kv, (mp_rank + i) % mp_size, model + (size_t)((mp_rank + i) % mp_size) * KEYS,
                   buf);
        for (size_t k = 0; k < (size_t)mp_size * KEYS; k++) {
            objects += (uint64_t)model[k].exists;
            used += model[k].exists ? model[k].nbytes : 0;
        }
        OK(mcomm_kv_stats(kv, &stats));
        CHECK_EQ(stats.objects, objects);
        CHECK_EQ(stats.used, used);
        OK(mcomm_barrier(MCOMM_COMM_WORLD));
    }
    free(buf);
    free(model);
    OK(mcomm_kv_close(&kv));
}

/* ---- hot ---- */
static int all_done(mcomm_kv_t kv)
{
    char key[32];
    int exists = 1;

    for (int rank = 1; rank < mp_size && exists; rank++)
        OK(mcomm_kv_exists(kv, key, (size_t)snprintf(key, sizeof(key), "done-%d", rank), &exists));
    return exists;
}

static void mode_hot(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)1 << 20);
    char buf[3000], key[32];
    size_t got;

    fill(buf, sizeof(buf), 1);
    for (unsigned k = 0; k < 4; k++)
        OK(mcomm_kv_put(kv, key, (size_t)snprintf(key, sizeof(key), "hot-%u", k), buf, sizeof(buf),
                        NULL));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    for (uint64_t i = 0; mp_rank == 0 && (i % 64 != 0 || !all_done(kv)); i++)
        OK(mcomm_kv_put(kv, key, (size_t)snprintf(key, sizeof(key), "hot-%u", (unsigned)(i % 4)),
                        buf, sizeof(buf), NULL));
    for (unsigned i = 0; mp_rank != 0 && i < 400; i++) {
        size_t n = (size_t)snprintf(key, sizeof(key), "hot-%u", i % 4);

        OK(mcomm_kv_get_into(kv, key, n, buf, sizeof(buf), &got));
        CHECK_EQ(got, sizeof(buf));
        check(buf, got, 1);
        OK(mcomm_kv_put(kv, key, n, buf, sizeof(buf), NULL));
    }
    OK(mcomm_kv_put(kv, key, (size_t)snprintf(key, sizeof(key), "done-%d", mp_rank), NULL, 0,
                    NULL));
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    OK(mcomm_kv_close(&kv));
}

/* ---- death ---- */
static void batches_run(mcomm_kv_t kv, uint64_t *state, char *buf, int is_calm)
{
    char keys[BATCH][32];
    mcomm_kv_item_t items[BATCH];
    mcomm_kv_put_attr_t attr = MCOMM_KV_PUT_ATTR_DEFAULT;

    attr.preferred_rank = (int)(rnd(state) % (uint64_t)mp_size);
    for (int is_get = 0; is_get < 2; is_get++) {
        for (unsigned i = 0; i < BATCH; i++) {
            size_t n =
                (size_t)snprintf(keys[i], sizeof(keys[i]), "k%u", (unsigned)(rnd(state) % 50));

            items[i] = (mcomm_kv_item_t){keys[i], n, buf + i * 4096, 4096, UNTOUCHED};
            fill(items[i].buf, 4096, keys[i][1]);
        }
        if (is_get)
            (void)mcomm_kv_get_batch(kv, items, BATCH);
        else
            (void)mcomm_kv_put_batch(kv, items, BATCH, &attr);
        for (unsigned i = 0; i < BATCH; i++) {
            mcomm_err_t err = items[i].error;

            if (err != MCOMM_SUCCESS && !(is_get && err == MCOMM_ERR_NOT_FOUND) &&
                (is_calm || err != MCOMM_ERR_PROC_FAILED))
                MP_FAIL("entry %u of a %s ends with %s", i, is_get ? "get" : "put",
                        mcomm_err_name(err));
            if (err == MCOMM_SUCCESS)
                check(items[i].buf, 4096, keys[i][1]);
        }
    }
}

static void mode_death(long after_us)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)4 << 20);
    mcomm_peer_desc_t desc = {.struct_size = sizeof(desc)};
    uint64_t state = (uint64_t)mp_rank;
    char *buf = malloc((size_t)BATCH * 4096);

    CHECK(buf != NULL);
    OK(mcomm_barrier(MCOMM_COMM_WORLD));
    mp_leave_last(mp_size - 1);
    if (mp_rank == mp_size - 1)
        die_after(after_us);
    do {
        batches_run(kv, &state, buf, 0);
        OK(mcomm_peer_query(MCOMM_COMM_WORLD, mp_size - 1, 0, &desc));
    } while (desc.is_alive || mp_rank == mp_size - 1);
    for (unsigned i = 0; i < 100; i++)
        batches_run(kv, &state, buf, 1);
    free(buf);
    OK(mcomm_kv_close(&kv));
}

/* ---- a thread with a small stack ---- */
#define STACK_NBYTES ((size_t)64 << 10) /* half of what musl gives */
#define STACK_BATCH 128u
#define STACK_VALUE 60000u

static void stack_batch(mcomm_kv_t kv, mcomm_kv_item_t *items, char (*keys)[32], char *value)
{
    for (unsigned i = 0; i < STACK_BATCH; i++) {
        snprintf(keys[i], sizeof(keys[i]), "small/%d/%u", mp_rank, i);
        items[i] = (mcomm_kv_item_t){
            .key = keys[i], .key_nbytes = strlen(keys[i]), .buf = value, .nbytes = 1000};
    }
    OK(mcomm_kv_put_batch(kv, items, STACK_BATCH, NULL)); /* new */
    OK(mcomm_kv_put_batch(kv, items, STACK_BATCH, NULL)); /* replaces: headers are read */
    OK(mcomm_kv_get_batch(kv, items, STACK_BATCH));
    OK(mcomm_kv_remove_batch(kv, items, STACK_BATCH));
}

static void *stack_thread(void *arg)
{
    mcomm_kv_t kv = *(mcomm_kv_t *)arg;
    mcomm_kv_item_t *items = calloc(STACK_BATCH, sizeof(*items));
    char(*keys)[32] = calloc(STACK_BATCH, sizeof(*keys)), *value = malloc(LARGE), key[32];
    static const size_t sizes[] = {0, 100, 9000, STACK_VALUE, 100000, 300000};
    size_t nbytes;

    CHECK(items != NULL && keys != NULL && value != NULL);
    for (unsigned i = 0; i < 20 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];

        snprintf(key, sizeof(key), "one/%d/%u", mp_rank, i / 2);
        fill(value, n, i);
        OK(mcomm_kv_put(kv, key, strlen(key), value, n, NULL));
        memset(value, 0, n);
        OK(mcomm_kv_get_into(kv, key, strlen(key), value, LARGE, &nbytes));
        CHECK_EQ(nbytes, n);
        check(value, n, i);
    }
    stack_batch(kv, items, keys, value);
    free(value);
    free(keys);
    free(items);
    return NULL;
}

static void mode_stack(void)
{
    mcomm_kv_t kv = store_open(MCOMM_COMM_WORLD, (size_t)64 << 20);
    pthread_attr_t attr;
    pthread_t thread;

    CHECK(pthread_attr_init(&attr) == 0);
    CHECK(pthread_attr_setstacksize(&attr, STACK_NBYTES) == 0);
    CHECK(pthread_create(&thread, &attr, stack_thread, &kv) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attr);
    OK(mcomm_kv_close(&kv));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    mp_init();
    if (strcmp(mode, "oracle") == 0)
        mode_oracle();
    else if (strcmp(mode, "hot") == 0)
        mode_hot();
    else if (strcmp(mode, "stack") == 0)
        mode_stack();
    else if (strcmp(mode, "death") == 0)
        mode_death(argc > 2 ? atol(argv[2]) : 10000);
    else
        MP_FAIL("no such mode: %s", mode);
    OK(mcomm_finalize());
    return 0;
}
