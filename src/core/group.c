/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Groups: immutable ordered sets of peers, shared by reference between communicators and handles.
 * A group holds one reference on each of its peers, taken when it is sealed.
 */
#include "config.h"

#include "core/core_priv.h"

#include "base/hash.h"
#include "base/mem.h"

struct mci_group *mci_group_new(int size)
{
    struct mci_group *group;

    group = mci_mem_zalloc(sizeof(*group) + (size_t)size * sizeof(group->peers[0]));
    if (group == NULL)
        return NULL;
    atomic_init(&group->refs, 1);
    group->size = size;
    group->rank = MCOMM_RANK_UNDEFINED;
    return group;
}

void mci_group_seal(struct mci_group *group)
{
    const struct mci_peer *self = mci_peer_self();

    for (int i = 0; i < group->size; i++) {
        group->peers[i]->refs++;
        if (group->peers[i] == self)
            group->rank = i;
    }
}

struct mci_group *mci_group_ref(struct mci_group *group)
{
    atomic_fetch_add_explicit(&group->refs, 1, memory_order_relaxed);
    return group;
}

void mci_group_unref(struct mci_group *group)
{
    if (group == NULL || atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < group->size; i++)
        mci_peer_release(group->peers[i]);
    mci_mem_free(group);
}

int mci_group_index(const struct mci_group *group, const struct mci_peer *peer)
{
    for (int i = 0; i < group->size; i++) {
        if (group->peers[i] == peer)
            return i;
    }
    return -1;
}

mcomm_err_t mci_group_lookup(const char *name, mcomm_group_t handle, struct mci_group **group_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    *group_p = mci_handle_get(MCI_HANDLE_GROUP, handle);
    if (*group_p == NULL)
        return mci_err_set(MCOMM_ERR_GROUP, "%s = %p is not a valid group", name, (void *)handle);
    return MCOMM_SUCCESS;
}

/* ---- sets ----------------------------------------------------------------------------------- */
struct mci_group *mci_group_union(struct mci_group *a, struct mci_group *b)
{
    struct mci_group *group = mci_group_new(a->size + b->size);
    int size = a->size;

    if (group == NULL)
        return NULL;
    for (int i = 0; i < a->size; i++)
        group->peers[i] = a->peers[i];
    for (int i = 0; i < b->size; i++) {
        if (mci_group_index(a, b->peers[i]) < 0)
            group->peers[size++] = b->peers[i];
    }
    group->size = size;
    mci_group_seal(group);
    return group;
}

struct mci_group *mci_group_select(struct mci_group *a, struct mci_group *b, bool is_in_b)
{
    struct mci_group *group = mci_group_new(a->size);
    int size = 0;

    if (group == NULL)
        return NULL;
    for (int i = 0; i < a->size; i++) {
        if ((mci_group_index(b, a->peers[i]) >= 0) == is_in_b)
            group->peers[size++] = a->peers[i];
    }
    group->size = size;
    mci_group_seal(group);
    return group;
}

struct mci_group *mci_group_incl(struct mci_group *group, size_t count, const int *ranks)
{
    struct mci_group *result = mci_group_new((int)count);

    if (result == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        result->peers[i] = group->peers[ranks[i]];
    mci_group_seal(result);
    return result;
}

struct mci_group *mci_group_excl(struct mci_group *group, size_t count, const int *ranks)
{
    struct mci_group *result = mci_group_new(group->size);
    int size = 0;

    if (result == NULL)
        return NULL;
    for (int i = 0; i < group->size; i++)
        result->peers[i] = group->peers[i];
    for (size_t i = 0; i < count; i++)
        result->peers[ranks[i]] = NULL;
    for (int i = 0; i < group->size; i++) {
        if (result->peers[i] != NULL)
            result->peers[size++] = result->peers[i];
    }
    result->size = size;
    mci_group_seal(result);
    return result;
}

mcomm_compare_t mci_group_compare(const struct mci_group *a, const struct mci_group *b)
{
    bool is_same_order = true;

    if (a->size != b->size)
        return MCOMM_UNEQUAL;
    for (int i = 0; i < a->size; i++) {
        if (a->peers[i] == b->peers[i])
            continue;
        is_same_order = false;
        if (mci_group_index(b, a->peers[i]) < 0)
            return MCOMM_UNEQUAL;
    }
    return is_same_order ? MCOMM_IDENT : MCOMM_SIMILAR;
}

uint64_t mci_group_hash(const struct mci_group *group)
{
    uint64_t hash = (uint64_t)group->size;

    for (int i = 0; i < group->size; i++)
        hash = mci_hash_mix(hash, group->peers[i]->proc_id);
    return hash;
}
