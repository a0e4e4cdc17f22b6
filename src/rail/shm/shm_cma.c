/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reading and writing a local peer's memory directly (cross-memory attach). Whether it works is
 * found out for each pair by a real read: user ids, ptrace scope, seccomp filters and containers
 * all have a say, and no setting tells them all.
 */
#include "config.h"

#include "base/log.h"
#include "base/settings.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif
#ifndef PR_SET_PTRACER_ANY
#define PR_SET_PTRACER_ANY ((unsigned long)-1)
#endif

/*
 * Yama's scope 1 lets only ancestors attach, and a process can name just one exception: so, only
 * there, all processes of this user are allowed, as they are without Yama.
 */
void mci_shm_cma_init(void)
{
    FILE *file;

    if (!mci_settings.cma)
        return;
    file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file == NULL)
        return;
    if (fgetc(file) == '1')
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    fclose(file);
}

static ssize_t cma_once(pid_t pid, void *local, uint64_t remote, size_t nbytes, bool is_write)
{
    struct iovec here = {local, nbytes};
    struct iovec there = {(void *)(uintptr_t)remote, nbytes};

    return is_write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                    : process_vm_readv(pid, &here, 1, &there, 1, 0);
}

void mci_shm_cma_probe(struct mci_shm_conn *conn, uint64_t addr, uint64_t token)
{
    uint64_t seen = ~token;

    conn->can_cma = 0;
    if (!mci_settings.cma || conn->pid <= 0)
        return;
    conn->can_cma =
        cma_once(conn->pid, &seen, addr, sizeof(seen), false) == (ssize_t)sizeof(seen) &&
        seen == token;
    if (!conn->can_cma)
        mci_log_debug("shm rail: peer %d: no direct access to its memory: %s",
                      conn->peer->world_rank, strerror(errno));
}

int mci_peer_can_cma(struct mci_peer *peer)
{
    struct mci_shm_conn *conn = peer->conn;

    if (peer == mci_peer_self())
        return 1;
    if (peer->state != MCI_PEER_READY)
        return peer->is_local && !mci_peer_is_failed(peer) ? -1 : 0;
    return peer->ops == &mci_rail_shm_ops ? conn->can_cma : 0;
}

/* A call may stop short at a page that is not mapped: the next one tells why. */
static mcomm_err_t cma_copy(struct mci_peer *peer, char *local, uint64_t remote, size_t nbytes,
                            bool is_write)
{
    struct mci_shm_conn *conn = peer->conn;
    pid_t pid = peer == mci_peer_self() ? getpid() : 0;
    size_t done = 0;

    if (pid == 0 && mci_peer_is_failed(peer))
        return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job: %s", peer->world_rank,
                           mci_peer_reason(peer));
    if (pid == 0 && mci_peer_can_cma(peer) != 1)
        return mci_err_set(MCOMM_ERR_UNSUPPORTED, "no direct access to the memory of rank %d",
                           peer->world_rank);
    pid = pid == 0 ? conn->pid : pid;
    while (done < nbytes) {
        ssize_t n = cma_once(pid, local + done, remote + done, nbytes - done, is_write);

        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == ESRCH)
            return mci_err_set(MCOMM_ERR_PROC_FAILED, "rank %d of the job has died",
                               peer->world_rank);
        return mci_err_sys(n < 0 && errno == EFAULT ? MCOMM_ERR_BUFFER : MCOMM_ERR_UNSUPPORTED,
                           n < 0 ? errno : EIO, "%zu bytes at %#llx of rank %d", nbytes,
                           (unsigned long long)remote, peer->world_rank);
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_peer_cma_read(struct mci_peer *peer, void *local, uint64_t remote, size_t nbytes)
{
    return cma_copy(peer, local, remote, nbytes, false);
}

mcomm_err_t mci_peer_cma_write(struct mci_peer *peer, const void *local, uint64_t remote,
                               size_t nbytes)
{
    return cma_copy(peer, (void *)(uintptr_t)local, remote, nbytes, true);
}
