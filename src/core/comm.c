/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The life of communicator objects: list, contexts, references, and the news that a member failed.
 * The user's handle is one reference, each pending operation another. At the end of the library
 * those that are left become zombies: everything is given up but the struct itself, so that an
 * operation that ends late finds no stray pointer.
 */
#include "config.h"

#include "core/core_priv.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/settings.h"

#define HOOK_MAX 8
#define CTX_SPACES 3u /* the low bits */

static struct {
    struct mci_list all; /* the oldest first */
    struct mci_list zombies;
    struct mci_map by_ctx;
    size_t count;
    uint64_t next_id; /* with the process's identity it gives contexts that nobody else uses */
    mci_comm_hook_fn_t on_new[HOOK_MAX], on_gone[HOOK_MAX];
} comms;

/* ---- hooks ---------------------------------------------------------------------------------- */
static void hook_add(mci_comm_hook_fn_t *hooks, mci_comm_hook_fn_t fn)
{
    for (int i = 0; i < HOOK_MAX; i++) {
        if (hooks[i] == fn)
            return;
        if (hooks[i] == NULL) {
            hooks[i] = fn;
            return;
        }
    }
    mci_log_error("more than %d hooks on communicators", HOOK_MAX);
}

void mci_comm_on_new(mci_comm_hook_fn_t fn)
{
    hook_add(comms.on_new, fn);
}

void mci_comm_on_gone(mci_comm_hook_fn_t fn)
{
    hook_add(comms.on_gone, fn);
}

/* Run the first count (-1: all) hooks of the layers above, the highest first. */
static void hooks_gone(struct mci_comm *comm)
{
    for (int i = HOOK_MAX - 1; i >= 0; i--) {
        if (comms.on_gone[i] != NULL)
            comms.on_gone[i](comm);
    }
}

static mcomm_err_t hooks_new(struct mci_comm *comm)
{
    mcomm_err_t err = MCOMM_SUCCESS;

    for (int i = 0; err == MCOMM_SUCCESS && i < HOOK_MAX && comms.on_new[i] != NULL; i++)
        err = comms.on_new[i](comm);
    return err;
}

/* ---- the members' nodes --------------------------------------------------------------------- */
/* Equal node keys share a node; nodes are numbered by their first rank. */
static mcomm_err_t nodes_number(struct mci_comm *comm)
{
    const struct mci_group *group = comm->group;
    struct mci_map seen; /* node key -> any rank of the node, plus one */
    mcomm_err_t err = MCOMM_SUCCESS;

    comm->node_of = mci_mem_alloc((size_t)comm->size * sizeof(int));
    if (comm->node_of == NULL)
        return MCOMM_ERR_NO_MEM;
    mci_map_init(&seen);
    for (int i = 0; i < comm->size && err == MCOMM_SUCCESS; i++) {
        uint64_t key = group->peers[i]->node_key;
        uintptr_t first = (uintptr_t)mci_map_get(&seen, key);

        if (first != 0) {
            comm->node_of[i] = comm->node_of[first - 1];
            continue;
        }
        comm->node_of[i] = comm->node_count++;
        err = mci_map_put(&seen, key, (void *)(uintptr_t)(i + 1));
    }
    mci_map_fini(&seen);
    for (int i = 0; i < comm->size && err == MCOMM_SUCCESS; i++) {
        if (comm->node_of[i] != comm->node_of[comm->rank])
            continue;
        comm->node_rank += i < comm->rank;
        comm->node_size++;
    }
    return err;
}

/* ---- new and gone --------------------------------------------------------------------------- */
static mcomm_err_t comm_index(struct mci_comm *comm)
{
    mcomm_err_t err;

    if (mci_map_get(&comms.by_ctx, comm->ctx) != NULL)
        return mci_err_set(MCOMM_ERR_INTERNAL, "context %#llx is in use",
                           (unsigned long long)comm->ctx);
    err = mci_map_put(&comms.by_ctx, comm->ctx, comm);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_list_push(&comms.all, &comm->link);
    comms.count++;
    return MCOMM_SUCCESS;
}

static void comm_unindex(struct mci_comm *comm)
{
    mci_map_remove(&comms.by_ctx, comm->ctx);
    mci_list_remove(&comm->link);
    comms.count--;
}

static mcomm_err_t hints_of_settings(struct mci_comm_hints *hints)
{
    *hints = (struct mci_comm_hints){.is_deterministic = mci_settings.deterministic};
    if (mci_settings.coll == NULL) /* a unit test without settings */
        return MCOMM_SUCCESS;
    if (strlen(mci_settings.coll) >= sizeof(hints->coll))
        return mci_err_set(MCOMM_ERR_ARG, "MCOMM_COLL=%.40s...: longer than %zu characters",
                           mci_settings.coll, sizeof(hints->coll) - 1);
    strcpy(hints->coll, mci_settings.coll);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_comm_new(struct mci_group *group, uint64_t ctx, const struct mci_comm_hints *hints,
                         struct mci_comm **comm_p)
{
    struct mci_comm *comm = mci_mem_zalloc(sizeof(*comm));
    mcomm_err_t err = MCOMM_ERR_NO_MEM;

    if (comm == NULL)
        goto no_comm;
    comm->refs = 1;
    atomic_init(&comm->is_revoked, false);
    comm->group = group;
    comm->ctx = ctx & ~(uint64_t)CTX_SPACES;
    comm->rank = group->rank;
    comm->size = group->size;
    comm->timeout_ms = MCOMM_FOREVER;
    err = MCOMM_SUCCESS;
    if (hints != NULL)
        comm->hints = *hints;
    else
        err = hints_of_settings(&comm->hints);
    if (err != MCOMM_SUCCESS)
        goto free_comm;
    for (int i = 0; i < group->size; i++)
        comm->failed_count += mci_peer_is_failed(group->peers[i]) && !group->peers[i]->has_left;
    err = nodes_number(comm);
    if (err != MCOMM_SUCCESS)
        goto free_comm;
    comm->handle = mci_handle_new(MCI_HANDLE_COMM, comm);
    if (comm->handle == NULL) {
        err = MCOMM_ERR_NO_MEM;
        goto free_comm;
    }
    err = comm_index(comm);
    if (err != MCOMM_SUCCESS)
        goto free_handle;
    err = hooks_new(comm);
    if (err != MCOMM_SUCCESS)
        goto unindex;
    *comm_p = comm;
    return MCOMM_SUCCESS;

unindex:
    hooks_gone(comm);
    comm_unindex(comm);
free_handle:
    mci_handle_free(MCI_HANDLE_COMM, comm->handle);
free_comm:
    mci_mem_free(comm->node_of);
    mci_mem_free(comm);
no_comm:
    if (err == MCOMM_ERR_NO_MEM)
        mci_err_set(err, "no memory for a communicator of %d ranks; %zu are alive", group->size,
                    comms.count);
    return err;
}

/* Everything but the struct. */
static void comm_give_up(struct mci_comm *comm)
{
    hooks_gone(comm);
    comm_unindex(comm);
    mci_group_unref(comm->group);
    comm->group = NULL;
    mci_mem_free(comm->node_of);
    comm->node_of = NULL;
}

void mci_comm_ref(struct mci_comm *comm)
{
    comm->refs++;
}

void mci_comm_unref(struct mci_comm *comm)
{
    if (--comm->refs > 0)
        return;
    if (comm->group == NULL) /* a zombie: mci_comms_fini() frees it */
        return;
    comm_give_up(comm);
    mci_mem_free(comm);
}

void mci_comm_free(struct mci_comm *comm)
{
    if (comm->is_freed)
        return;
    comm->is_freed = true;
    mci_handle_free(MCI_HANDLE_COMM, comm->handle);
    comm->handle = MCOMM_COMM_NULL;
    mci_wake_self(); /* who waits in a call on it */
    mci_comm_unref(comm);
}

/* ---- all of them ---------------------------------------------------------------------------- */
mcomm_err_t mci_comms_init(void)
{
    memset(&comms, 0, sizeof(comms));
    mci_list_init(&comms.all);
    mci_list_init(&comms.zombies);
    mci_map_init(&comms.by_ctx);
    return mci_random(&comms.next_id, sizeof(comms.next_id));
}

void mci_comms_drop_user_refs(void)
{
    struct mci_list *node, *tmp;

    MCI_LIST_FOREACH_SAFE (node, tmp, &comms.all)
        mci_comm_free(mci_container_of(node, struct mci_comm, link));
}

void mci_comms_end(void)
{
    while (!mci_list_is_empty(&comms.all)) {
        struct mci_comm *comm = mci_container_of(comms.all.next, struct mci_comm, link);

        mci_log_debug("%s: %d operations did not end", mci_comm_text(comm), comm->refs);
        mci_comm_free(comm);
        if (comms.all.next != &comm->link)
            continue;
        comm_give_up(comm);
        mci_list_push(&comms.zombies, &comm->link);
    }
}

void mci_comms_fini(void)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&comms.zombies)) != NULL)
        mci_mem_free(mci_container_of(node, struct mci_comm, link));
    mci_map_fini(&comms.by_ctx);
}

size_t mci_comms_count(void)
{
    return comms.count;
}

/* "prog+0x12ab (main)" of an address in the caller's program. */
static void site_text(const void *address, char *buf, size_t nbytes)
{
    Dl_info where;

    if (address == NULL || dladdr(address, &where) == 0 || where.dli_fname == NULL) {
        snprintf(buf, nbytes, "%p", address);
        return;
    }
    snprintf(buf, nbytes, "%s+%#tx%s%s%s", where.dli_fname,
             (const char *)address - (const char *)where.dli_fbase,
             where.dli_sname != NULL ? " (" : "", where.dli_sname != NULL ? where.dli_sname : "",
             where.dli_sname != NULL ? ")" : "");
}

const char *mci_comms_oldest_text(void)
{
    static __thread char text[384];
    char site[256];
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &comms.all) {
        struct mci_comm *comm = mci_container_of(node, struct mci_comm, link);

        if (comm == mci_core.world || comm == mci_core.self || comm->made_at == NULL)
            continue;
        site_text(comm->made_at, site, sizeof(site));
        snprintf(text, sizeof(text), "%s, made by a call at %s", mci_comm_text(comm), site);
        return text;
    }
    return "none of them made by the application";
}

mcomm_err_t mci_comms_check_room(void)
{
    if (mci_settings.comm_max <= 0 || comms.count < (size_t)mci_settings.comm_max)
        return MCOMM_SUCCESS;
    return mci_err_set(MCOMM_ERR_LIMIT,
                       "%zu communicators are alive (MCOMM_COMM_MAX=%lld); the "
                       "oldest is %s",
                       comms.count, (long long)mci_settings.comm_max, mci_comms_oldest_text());
}

uint64_t mci_comms_next_ctx(void)
{
    uint64_t ctx;

    do {
        ctx = mci_hash_mix(mci_peer_self()->proc_id, comms.next_id++) & ~(uint64_t)CTX_SPACES;
    } while (ctx == 0 || mci_comm_find(ctx) != NULL);
    return ctx;
}

/* ---- looking up ----------------------------------------------------------------------------- */
mcomm_err_t mci_comm_lookup(const char *name, mcomm_comm_t handle, struct mci_comm **comm_p)
{
    mcomm_err_t err = mci_check_init();

    if (err != MCOMM_SUCCESS)
        return err;
    *comm_p = mci_handle_get(MCI_HANDLE_COMM, handle);
    if (*comm_p == NULL)
        return mci_err_set(MCOMM_ERR_COMM, "%s = %p is not a valid communicator", name,
                           (void *)handle);
    return MCOMM_SUCCESS;
}

struct mci_comm *mci_comm_get(mcomm_comm_t handle)
{
    struct mci_comm *comm;

    return mci_comm_lookup("comm", handle, &comm) == MCOMM_SUCCESS ? comm : NULL;
}

struct mci_comm *mci_comm_find(uint64_t ctx)
{
    return mci_map_get(&comms.by_ctx, ctx & ~(uint64_t)CTX_SPACES);
}

int mci_comm_rank_of(const struct mci_comm *comm, const struct mci_peer *peer)
{
    int rank = peer->world_rank;

    if (comm->group == NULL) /* the library ends: a peer that goes now is no member any more */
        return -1;
    if (rank >= 0 && rank < comm->size && comm->group->peers[rank] == peer)
        return rank; /* world, and whatever is ordered like it */
    return mci_group_index(comm->group, peer);
}

const char *mci_comm_text(const struct mci_comm *comm)
{
    static __thread char text[80];

    if (comm == NULL)
        return "a communicator freed meanwhile";
    if (comm->name[0] != '\0')
        return comm->name;
    if (comm == mci_core.world)
        return "world";
    if (comm == mci_core.self)
        return "self";
    snprintf(text, sizeof(text), "comm %llx", (unsigned long long)(comm->ctx >> 2));
    return text;
}

/* ---- failures ------------------------------------------------------------------------------- */
int mci_comm_first_failed(const struct mci_comm *comm)
{
    if (comm == NULL || comm->group == NULL) /* freed, or the library has ended */
        return -1;
    for (int i = 0; comm->failed_count > 0 && i < comm->size; i++) {
        if (mci_peer_is_failed(comm->group->peers[i]) && !comm->group->peers[i]->has_left)
            return i;
    }
    return -1;
}

void mci_comms_peer_failed(struct mci_peer *peer)
{
    struct mci_list *node;

    if (peer->has_left)
        return;
    MCI_LIST_FOREACH (node, &comms.all) {
        struct mci_comm *comm = mci_container_of(node, struct mci_comm, link);

        if (mci_comm_rank_of(comm, peer) < 0)
            continue;
        comm->failed_count++;
        if (mci_core_exchange.interrupt != NULL)
            mci_core_exchange.interrupt(comm);
    }
    mci_wake_self();
}
