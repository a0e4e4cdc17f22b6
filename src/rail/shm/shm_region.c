/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Shared regions: sealed memfds of this process that local peers may map. A peer asks for the
 * descriptor over the connection's socket; the owner's monitor thread answers, whatever its
 * application does. An id is used once in the life of a process, so a mapping can never be taken
 * for that of a later region at the same address. An asker's record is answered, or ends with the
 * connection.
 */
#include "config.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/hash.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mci_map regions;
static uint64_t next_id = 1, next_cookie = 1;

/* With strict overcommit a page may be refused when it is touched: SIGBUS. Take them all then. */
static bool is_overcommit_strict(void)
{
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    bool is_strict = file != NULL && fgetc(file) == '2';

    if (file != NULL)
        fclose(file);
    return is_strict;
}

/* A mapping whose address is a multiple of alignment (power of two). */
static void *map_aligned(int fd, size_t nbytes, size_t alignment)
{
    size_t room = nbytes + (alignment > MCI_SHM_PAGE ? alignment : 0);
    char *base = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t head, tail;

    if (base == MAP_FAILED)
        return NULL;
    head = alignment > MCI_SHM_PAGE ? -(uintptr_t)base & (alignment - 1) : 0;
    tail = room - head - nbytes;
    if (mmap(base + head, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        munmap(base, room);
        return NULL;
    }
    if (head > 0)
        munmap(base, head);
    if (tail > 0)
        munmap(base + head + nbytes, tail);
    return base + head;
}

static mcomm_err_t region_back(struct mci_region *region, size_t alignment)
{
    region->fd = mci_shm_memfd("mcomm-region", region->nbytes);
    if (region->fd < 0)
        return mci_err_sys(mci_err_of_errno(errno), errno, "shared memory of %zu bytes",
                           region->nbytes);
    if (is_overcommit_strict() && fallocate(region->fd, 0, 0, (off_t)region->nbytes) != 0)
        return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "shared memory of %zu bytes", region->nbytes);
    region->base = map_aligned(region->fd, region->nbytes, alignment);
    if (region->base == NULL)
        return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "mapping %zu bytes", region->nbytes);
    return mci_map_put(&regions, region->id, region);
}

mcomm_err_t mci_region_create(size_t nbytes, size_t alignment, struct mci_region **region_p)
{
    struct mci_region *region = mci_mem_zalloc(sizeof(*region));
    mcomm_err_t err;

    if (region == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for a region");
    region->fd = -1;
    region->id = next_id++;
    region->nbytes = (nbytes + MCI_SHM_PAGE - 1) & ~(size_t)(MCI_SHM_PAGE - 1);
    if (region->nbytes < nbytes || region->nbytes > PTRDIFF_MAX)
        err = mci_err_set(MCOMM_ERR_COUNT, "nbytes is %zu: too large for shared memory", nbytes);
    else if ((alignment & (alignment - 1)) != 0)
        err = mci_err_set(MCOMM_ERR_ARG, "alignment is %zu, not a power of two", alignment);
    else if (region->nbytes == 0)
        err = mci_err_set(MCOMM_ERR_COUNT, "nbytes is 0");
    else
        err = region_back(region, alignment);
    if (err != MCOMM_SUCCESS) {
        mci_region_free(region);
        return err;
    }
    *region_p = region;
    return MCOMM_SUCCESS;
}

void mci_region_free(struct mci_region *region)
{
    if (region == NULL)
        return;
    mci_map_remove(&regions, region->id);
    if (region->base != NULL)
        munmap(region->base, region->nbytes);
    if (region->fd >= 0)
        close(region->fd);
    mci_mem_free(region);
}

/* ---- the owner's side ---- */
void mci_shm_region_asked(struct mci_shm_conn *conn, uint64_t id, uint64_t cookie)
{
    const struct mci_region *region = mci_map_get(&regions, id);
    uint64_t arg[4] = {id, cookie, region != NULL ? region->nbytes : 0};

    if (region != NULL &&
        mci_shm_ctl_send(conn, MCI_SHM_CTL_REGION, arg, &region->fd, 1) == MCOMM_SUCCESS)
        return;
    /* None, or none that can be given away now: the asker goes another way. */
    mci_shm_ctl_send(conn, MCI_SHM_CTL_REGION, arg, NULL, 0);
}

/* ---- the asker's side ---- */
void mci_shm_region_answered(struct mci_shm_conn *conn, const struct mci_shm_ctl *msg, int fd)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &conn->asks) {
        struct mci_region_ask *ask = mci_container_of(node, struct mci_region_ask, link);

        if (ask->cookie != msg->arg[1])
            continue;
        mci_list_remove(&ask->link);
        ask->nbytes = msg->arg[2];
        ask->fd = fd;
        ask->done(ask);
        return;
    }
    if (fd >= 0)
        close(fd); /* nobody waits any more */
}

void mci_shm_region_abort(struct mci_shm_conn *conn, mcomm_err_t err)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&conn->asks)) != NULL) {
        struct mci_region_ask *ask = mci_container_of(node, struct mci_region_ask, link);

        ask->err = err;
        ask->done(ask);
    }
}

/* Maps what was sent, if it is what it says: sealed and long enough, so no access can fault. */
static mcomm_err_t answer_map(const struct mci_region_ask *ask, void **base_p, size_t *nbytes_p)
{
    struct stat st;
    void *base;

    if (ask->err != MCOMM_SUCCESS)
        return ask->err;
    if (ask->fd < 0)
        return mci_err_set(MCOMM_ERR_NOT_FOUND, "the peer has no such region any more");
    if (fstat(ask->fd, &st) != 0 || (uint64_t)st.st_size < ask->nbytes || ask->nbytes == 0 ||
        !(fcntl(ask->fd, F_GET_SEALS) & F_SEAL_SHRINK))
        return mci_err_set(MCOMM_ERR_INTERNAL, "a peer's region is not a sealed memfd");
    base = mmap(NULL, ask->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, ask->fd, 0);
    if (base == MAP_FAILED)
        return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "mapping a region of %zu bytes",
                           (size_t)ask->nbytes);
    *base_p = base;
    *nbytes_p = ask->nbytes;
    return MCOMM_SUCCESS;
}

/* Until the peer is connected or cannot be. Uses up part of the time limit. */
static mcomm_err_t peer_wait(struct mci_peer *peer, struct mci_waiter *w)
{
    mcomm_err_t err = mci_peer_reach(peer);

    while (peer->state == MCI_PEER_CONNECTING && err == MCOMM_SUCCESS)
        err = mci_wait_step(w);
    if (mci_peer_is_failed(peer))
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: %s", peer->world_rank,
                           mci_peer_reason(peer));
    return err;
}

static mcomm_err_t own_map(uint64_t id, void **base_p, size_t *nbytes_p)
{
    const struct mci_region *region = mci_map_get(&regions, id);
    struct mci_region_ask ask = {.fd = -1};

    if (region != NULL) {
        ask.fd = region->fd;
        ask.nbytes = region->nbytes;
    }
    return answer_map(&ask, base_p, nbytes_p);
}

mcomm_err_t mci_region_ask(struct mci_peer *peer, uint64_t id, struct mci_region_ask *ask)
{
    uint64_t arg[4] = {id, next_cookie++};
    struct mci_shm_conn *conn;
    mcomm_err_t err;

    if (peer->state != MCI_PEER_READY || peer->ops != &mci_rail_shm_ops)
        return mci_err_set(MCOMM_ERR_UNSUPPORTED, "rank %d is not connected by shared memory",
                           peer->world_rank);
    conn = peer->conn;
    ask->cookie = arg[1];
    ask->nbytes = 0;
    ask->fd = -1;
    ask->err = MCOMM_SUCCESS;
    mci_list_init(&ask->link);
    err = mci_shm_ctl_send(conn, MCI_SHM_CTL_REGION_ASK, arg, NULL, 0);
    if (err == MCOMM_SUCCESS)
        mci_list_push(&conn->asks, &ask->link);
    return err;
}

mcomm_err_t mci_region_answer(struct mci_region_ask *ask, void **base_p, size_t *nbytes_p)
{
    mcomm_err_t err = answer_map(ask, base_p, nbytes_p);

    mci_region_ask_cancel(ask);
    return err;
}

void mci_region_ask_cancel(struct mci_region_ask *ask)
{
    mci_list_remove(&ask->link);
    if (ask->fd >= 0)
        close(ask->fd);
    ask->fd = -1;
}

static void ask_done(struct mci_region_ask *ask)
{
    *(bool *)ask->arg = true;
    mci_wake_self();
}

mcomm_err_t mci_region_map(struct mci_peer *peer, uint64_t id, int timeout_ms, void **base_p,
                           size_t *nbytes_p)
{
    bool is_done = false;
    struct mci_region_ask ask = {.done = ask_done, .arg = &is_done};
    const volatile bool *is_set = &is_done; /* written in other threads, under the lock */
    struct mci_waiter w;
    mcomm_err_t err;

    if (peer == mci_peer_self())
        return own_map(id, base_p, nbytes_p);
    if (!peer->is_local)
        return mci_err_set(MCOMM_ERR_UNSUPPORTED, "rank %d is not on this node", peer->world_rank);
    mci_wait_begin(&w, timeout_ms);
    err = peer_wait(peer, &w);
    if (err == MCOMM_SUCCESS)
        err = mci_region_ask(peer, id, &ask);
    if (err != MCOMM_SUCCESS)
        return err;
    while (!*is_set && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    if (*is_set)
        return mci_region_answer(&ask, base_p, nbytes_p);
    mci_region_ask_cancel(&ask);
    return err;
}

void mci_region_unmap(void *base, size_t nbytes)
{
    munmap(base, nbytes);
}
