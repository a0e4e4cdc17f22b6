/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Stores in plain shared memory, for the unit tests of kvobj. */
#include "config.h"

#include "kv_fixture.h"
#include "kvobj/kv_far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct kv_fixture *current;

static char *place(int rank, enum kv_area area, uint64_t at)
{
    return current->memory[rank][area] + at;
}

/* Waits in vain if the rank is stopped. */
static mcomm_err_t stopped_wait(int rank)
{
    if ((current->stopped >> rank & 1) == 0)
        return MCOMM_SUCCESS;
    current->waits += !mci_kv_is_late(rank);
    mci_kv_late_note(rank, MCOMM_ERR_TIMEOUT);
    return MCOMM_ERR_TIMEOUT;
}

static mcomm_err_t fake_get(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, void *buf,
                            size_t nbytes)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    mci_kv_copy_racy(buf, place(rank, area, at), nbytes);
    return MCOMM_SUCCESS;
}

static mcomm_err_t fake_put(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                            const void *buf, size_t nbytes)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    if (nbytes == 8 && at % 8 == 0)
        atomic_store((_Atomic uint64_t *)(void *)place(rank, area, at), *(const uint64_t *)buf);
    else
        memcpy(place(rank, area, at), buf, nbytes);
    return MCOMM_SUCCESS;
}

static mcomm_err_t fake_flush(struct mci_kv *kv, int rank, enum kv_area area)
{
    (void)area;
    return kv_is_dead(kv, rank) ? MCOMM_ERR_PROC_FAILED : stopped_wait(rank);
}

static mcomm_err_t fake_cas(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect,
                            uint64_t want, uint64_t *seen_p)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    if (stopped_wait(rank) != MCOMM_SUCCESS)
        return MCOMM_ERR_TIMEOUT;
    *seen_p = expect;
    atomic_compare_exchange_strong((_Atomic uint64_t *)(void *)place(rank, KV_META, at), seen_p,
                                   want);
    if (!current->is_late)
        return MCOMM_SUCCESS;
    mci_kv_late_note(rank, MCOMM_ERR_TIMEOUT);
    return MCOMM_ERR_TIMEOUT;
}

static mcomm_err_t fake_add(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                            size_t count)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add((_Atomic uint64_t *)(void *)place(rank, KV_META, at + 8 * i), deltas[i]);
    return MCOMM_SUCCESS;
}

static mcomm_err_t fake_fetch_add(struct mci_kv *kv, int rank, uint64_t at, uint64_t delta,
                                  uint64_t *old_p)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    *old_p = atomic_fetch_add((_Atomic uint64_t *)(void *)place(rank, KV_META, at), delta);
    return MCOMM_SUCCESS;
}

static size_t fake_frame_max(struct mci_kv *kv, int rank)
{
    (void)kv;
    (void)rank;
    return 65536;
}

/* What the other rank would do, done here. */
static void fake_take(void *arg, const void *bytes, size_t nbytes)
{
    if (!mci_kv_call_take(arg, bytes, nbytes))
        abort();
}

static void fake_drop(void *arg, const void *bytes, size_t nbytes)
{
    (void)arg;
    (void)bytes;
    (void)nbytes;
}

/* ---- calls that are answered long after the asker has gone ---- */
static void delayed_keep(const struct kv_call *call, const void *bytes, size_t nbytes)
{
    struct kv_fixture_call *d = &current->delayed[current->delayed_count++];

    if (current->delayed_count > FIXTURE_DELAYED)
        abort();
    *d = (struct kv_fixture_call){call->rank, (int)call->op, call->id, malloc(nbytes), nbytes};
    if (d->bytes == NULL)
        abort();
    memcpy(d->bytes, bytes, nbytes);
}

static void delayed_answer(void *arg, const void *bytes, size_t nbytes)
{
    if (!mci_kv_orphans_take(NULL, *(const uint32_t *)arg, bytes, nbytes))
        abort();
}

void kv_fixture_go_on(struct kv_fixture *f)
{
    f->is_delayed = false;
    for (unsigned i = 0; i < f->delayed_count; i++) {
        struct kv_fixture_call *d = &f->delayed[i];

        if (!mci_kv_serve(f->kv[d->rank], (enum kv_call_op)d->op, d->bytes, d->nbytes,
                          delayed_answer, &d->id))
            abort();
        free(d->bytes);
    }
    f->delayed_count = 0;
    for (int rank = 0; rank < f->size; rank++)
        mci_kv_orphans_settle(f->kv[rank]);
}

static void fake_call_start(struct mci_kv *kv, struct kv_call *call, const void *bytes,
                            size_t nbytes)
{
    struct mci_kv *there = current->kv[call->rank];

    call->peer = NULL;
    call->id = ++current->call_count;
    if (kv_is_dead(kv, call->rank)) {
        call->err = MCOMM_ERR_PROC_FAILED;
    } else if (current->stopped >> call->rank & 1) {
        call->err = MCOMM_ERR_TIMEOUT;
    } else if (current->is_delayed) {
        delayed_keep(call, bytes, nbytes);
        call->err = MCOMM_ERR_TIMEOUT;
    } else if (current->is_late) {
        if (!mci_kv_serve(there, call->op, bytes, nbytes, fake_drop, NULL))
            abort();
        call->err = MCOMM_ERR_TIMEOUT;
    } else if (!mci_kv_serve(there, call->op, bytes, nbytes, fake_take, call) || call->left != 0) {
        abort();
    }
}

static void fake_call_wait(struct mci_kv *kv, struct kv_call *call)
{
    (void)kv;
    if (call->err == MCOMM_ERR_TIMEOUT) {
        current->waits += !mci_kv_is_late(call->rank);
        if (call->given_up != NULL)
            call->given_up(call->arg, call);
    }
    call->is_done = true;
}

static mcomm_err_t fake_call_post(struct mci_kv *kv, int rank, int op, const void *bytes,
                                  size_t nbytes)
{
    if (kv_is_dead(kv, rank))
        return MCOMM_ERR_PROC_FAILED;
    if (!mci_kv_serve(current->kv[rank], (enum kv_call_op)op, bytes, nbytes, fake_drop, NULL))
        abort();
    return MCOMM_SUCCESS;
}

static const struct kv_remote_ops fake_ops = {
    .size = sizeof(struct kv_remote_ops),
    .get = fake_get,
    .put = fake_put,
    .flush = fake_flush,
    .cas = fake_cas,
    .add = fake_add,
    .fetch_add = fake_fetch_add,
    .frame_max = fake_frame_max,
    .call_start = fake_call_start,
    .call_wait = fake_call_wait,
    .call_post = fake_call_post,
};

static char *shared_memory(size_t nbytes)
{
    void *base = mmap(NULL, nbytes < 1 ? 1 : nbytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        abort();
    return base;
}

void kv_fixture_make(struct kv_fixture *f, int size, int nodes, const size_t *capacity,
                     size_t max_objects)
{
    memset(f, 0, sizeof(*f));
    current = f;
    f->size = size;
    for (int rank = 0; rank < size; rank++)
        f->facts[rank] = (struct kv_facts){.capacity = capacity[rank],
                                           .max_objects = max_objects,
                                           .node = (uint64_t)(rank % nodes)};
    for (int rank = 0; rank < size; rank++) {
        f->kv[rank] = mci_kv_new(rank, size, f->facts);
        if (f->kv[rank] == NULL)
            abort();
        f->kv[rank]->remote = &fake_ops;
        f->memory[rank][KV_DATA] = shared_memory(f->kv[rank]->parts[rank].data_nbytes);
        f->memory[rank][KV_META] = shared_memory(f->kv[rank]->parts[rank].meta_nbytes);
    }
    for (int rank = 0; rank < size; rank++)
        for (int other = 0; other < size; other++)
            for (int area = 0; area < 2; area++)
                if (f->facts[rank].node == f->facts[other].node)
                    f->kv[rank]->parts[other].area[area] = f->memory[other][area];
}

void kv_fixture_free(struct kv_fixture *f)
{
    for (int rank = 0; rank < f->size; rank++) {
        const struct kv_part *part = &f->kv[rank]->parts[rank];

        munmap(f->memory[rank][KV_DATA], part->data_nbytes < 1 ? 1 : part->data_nbytes);
        munmap(f->memory[rank][KV_META], part->meta_nbytes);
    }
    for (int rank = 0; rank < f->size; rank++) {
        mci_kv_orphans_free(f->kv[rank]);
        mci_kv_delete(f->kv[rank]);
    }
}

struct kv_key kv_fixture_key(char *buf, unsigned number)
{
    return kv_key_make(buf, (size_t)snprintf(buf, 32, "key-%u", number));
}

static uint64_t pattern(unsigned number, unsigned version, size_t i)
{
    return mci_hash_mix((uint64_t)number << 32 | version, i / 8);
}

void kv_fixture_fill(char *buf, size_t nbytes, unsigned number, unsigned version)
{
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t word = pattern(number, version, i);

        memcpy(buf + i, &word, nbytes - i < 8 ? nbytes - i : 8);
    }
}

bool kv_fixture_check(const char *buf, size_t nbytes, unsigned number, unsigned version)
{
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t word = pattern(number, version, i);

        if (memcmp(buf + i, &word, nbytes - i < 8 ? nbytes - i : 8) != 0)
            return false;
    }
    return true;
}

mcomm_err_t kv_fixture_put(struct mci_kv *kv, char *buf, unsigned number, unsigned version,
                           size_t nbytes, unsigned mode)
{
    char name[32];
    struct kv_key key = kv_fixture_key(name, number);

    kv_fixture_fill(buf, nbytes, number, version);
    return mci_kv_put(kv, &key, buf, nbytes, mode, -1);
}

mcomm_err_t kv_fixture_get(struct mci_kv *kv, unsigned number, char *buf, size_t *nbytes_p)
{
    char name[32];
    struct kv_key key = kv_fixture_key(name, number);
    void *place = buf;

    return mci_kv_get(kv, &key, KV_WANT_INTO, &place, nbytes_p);
}
