/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Words and bytes of any rank's windows: loads, stores and CPU atomics where the part is mapped,
 * the remote table elsewhere. All calls here return when the effect is there. A remote operation
 * that ends with PROC_FAILED marks the rank dead in this store, so that the caller's next try goes
 * elsewhere.
 *
 * A word that is not reached for want of memory is tried again for a while: a slab, a lock
 * or an entry that nobody gives back would be in everybody's way.
 */
#include "config.h"

#include "base/copy.h"
#include "kvobj/kv_priv.h"

#include <string.h>

#define STREAM_FROM (256u << 10)    /* into the log */
#define STREAM_READ_FROM (4u << 20) /* into a reader's buffer */

static inline _Atomic uint64_t *word_of(const struct mci_kv *kv, int rank, uint64_t at)
{
    char *base = kv->parts[rank].area[KV_META];

    return base != NULL ? (_Atomic uint64_t *)(void *)(base + at) : NULL;
}

static bool is_again(mcomm_err_t err, struct kv_waiter *w)
{
    return KV_UNLIKELY(err == MCOMM_ERR_NO_MEM) && mci_kv_wait_step(w) == MCOMM_SUCCESS;
}

/* What was begun there is over, whatever err: no buffer is used any more. */
static mcomm_err_t remote_flush(struct mci_kv *kv, int rank, enum kv_area area, mcomm_err_t err)
{
    mcomm_err_t flush_err = kv->remote->flush(kv, rank, area);

    return err == MCOMM_SUCCESS ? flush_err : err;
}

static mcomm_err_t remote_end(struct mci_kv *kv, int rank, mcomm_err_t err)
{
    if (KV_UNLIKELY(err == MCOMM_ERR_PROC_FAILED))
        mci_kv_rank_died(kv, rank);
    return err;
}

mcomm_err_t mci_kv_load(struct mci_kv *kv, int rank, uint64_t at, uint64_t *value_p)
{
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    if (KV_LIKELY(word != NULL)) {
        *value_p = atomic_load_explicit(word, memory_order_acquire);
        return MCOMM_SUCCESS;
    }
    do
        err = mci_kv_read(kv, rank, KV_META, at, value_p, sizeof(*value_p));
    while (is_again(err, &w));
    return err;
}

mcomm_err_t mci_kv_store(struct mci_kv *kv, int rank, uint64_t at, uint64_t value)
{
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    if (KV_LIKELY(word != NULL)) {
        atomic_store_explicit(word, value, memory_order_release);
        return MCOMM_SUCCESS;
    }
    do
        err = mci_kv_write(kv, rank, KV_META, at, &value, sizeof(value));
    while (is_again(err, &w));
    return err;
}

void mci_kv_clear(struct mci_kv *kv, int rank, uint64_t at)
{
    static const uint64_t zero; /* borrowed until some later flush: for ever is long enough */
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};

    if (KV_LIKELY(word != NULL))
        atomic_store_explicit(word, 0, memory_order_release);
    else
        while (is_again(kv->remote->put(kv, rank, KV_META, at, &zero, sizeof(zero)), &w))
            ;
}

mcomm_err_t mci_kv_store_words(struct mci_kv *kv, int rank, const struct kv_word_store *stores,
                               size_t count)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (KV_LIKELY(kv->parts[rank].area[KV_META] != NULL)) {
        for (size_t i = 0; i < count; i++)
            atomic_store_explicit(word_of(kv, rank, stores[i].at), stores[i].value,
                                  memory_order_release);
        return MCOMM_SUCCESS;
    }
    for (size_t i = 0; i < count && err == MCOMM_SUCCESS; i++)
        err = kv->remote->put(kv, rank, KV_META, stores[i].at, &stores[i].value, 8);
    return remote_end(kv, rank, remote_flush(kv, rank, KV_META, err));
}

mcomm_err_t mci_kv_load_words(struct mci_kv *kv, int rank, const uint64_t *ats, uint64_t *values,
                              size_t count)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    if (KV_LIKELY(kv->parts[rank].area[KV_META] != NULL)) {
        for (size_t i = 0; i < count; i++)
            values[i] = atomic_load_explicit(word_of(kv, rank, ats[i]), memory_order_acquire);
        return MCOMM_SUCCESS;
    }
    for (size_t i = 0; i < count && err == MCOMM_SUCCESS; i++)
        err = kv->remote->get(kv, rank, KV_META, ats[i], &values[i], 8);
    return remote_end(kv, rank, remote_flush(kv, rank, KV_META, err));
}

mcomm_err_t mci_kv_cas(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect, uint64_t want,
                       uint64_t *seen_p)
{
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    if (KV_LIKELY(word != NULL)) {
        *seen_p = expect;
        atomic_compare_exchange_strong(word, seen_p, want);
        return MCOMM_SUCCESS;
    }
    do
        err = kv->remote->cas(kv, rank, at, expect, want, seen_p);
    while (is_again(err, &w));
    return remote_end(kv, rank, err);
}

mcomm_err_t mci_kv_add(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                       size_t count)
{
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    if (KV_LIKELY(word != NULL)) {
        for (size_t i = 0; i < count; i++)
            if (deltas[i] != 0)
                atomic_fetch_add_explicit(word + i, deltas[i], memory_order_relaxed);
        return MCOMM_SUCCESS;
    }
    do
        err = kv->remote->add(kv, rank, at, deltas, count);
    while (is_again(err, &w));
    return remote_end(kv, rank, remote_flush(kv, rank, KV_META, err));
}

mcomm_err_t mci_kv_fetch_add(struct mci_kv *kv, int rank, uint64_t at, uint64_t delta,
                             uint64_t *old_p)
{
    _Atomic uint64_t *word = word_of(kv, rank, at);
    struct kv_waiter w = {.timeout_ms = KV_AGAIN_MS};
    mcomm_err_t err;

    if (KV_LIKELY(word != NULL)) {
        *old_p = atomic_fetch_add(word, delta);
        return MCOMM_SUCCESS;
    }
    do
        err = kv->remote->fetch_add(kv, rank, at, delta, old_p);
    while (is_again(err, &w));
    return remote_end(kv, rank, err);
}

mcomm_err_t mci_kv_read(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, void *buf,
                        size_t nbytes)
{
    char *base = kv->parts[rank].area[area];
    mcomm_err_t err;

    if (KV_LIKELY(base != NULL)) {
        mci_kv_copy_racy(buf, base + at, nbytes);
        return MCOMM_SUCCESS;
    }
    err = kv->remote->get(kv, rank, area, at, buf, nbytes);
    return remote_end(kv, rank, remote_flush(kv, rank, area, err));
}

mcomm_err_t mci_kv_write(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                         const void *buf, size_t nbytes)
{
    char *base = kv->parts[rank].area[area];
    mcomm_err_t err;

    if (KV_LIKELY(base != NULL)) {
        mci_kv_copy_in(base + at, buf, nbytes);
        return MCOMM_SUCCESS;
    }
    err = kv->remote->put(kv, rank, area, at, buf, nbytes);
    return remote_end(kv, rank, remote_flush(kv, rank, area, err));
}

/* ---- copies ---- */
#if defined(KV_IS_TSAN)
/* The race is meant; a plain loop keeps the checker's interceptors out of it. */
__attribute__((no_sanitize("thread"), noinline)) void mci_kv_copy_racy(void *dst, const void *src,
                                                                       size_t nbytes)
{
    const volatile char *from = src;
    volatile char *to = dst;

    for (size_t i = 0; i < nbytes; i++)
        to[i] = from[i];
}

__attribute__((no_sanitize("thread"), noinline)) bool
mci_kv_equal_racy(const void *shared, const void *own, size_t nbytes)
{
    const volatile char *a = shared;
    const volatile char *b = own;

    for (size_t i = 0; i < nbytes; i++)
        if (a[i] != b[i])
            return false;
    return true;
}
#else
void mci_kv_copy_racy(void *dst, const void *src, size_t nbytes)
{
    if (nbytes > 0)
        mci_copy(dst, src, nbytes, STREAM_READ_FROM);
}

bool mci_kv_equal_racy(const void *shared, const void *own, size_t nbytes)
{
    return memcmp(shared, own, nbytes) == 0;
}
#endif

void mci_kv_copy_in(void *dst, const void *src, size_t nbytes)
{
    mci_copy(dst, src, nbytes, STREAM_FROM);
}
