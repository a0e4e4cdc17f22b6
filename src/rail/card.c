/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * This process's card: what it tells the others about itself, once. The rails add where they
 * listen when they start; then the bootstrap takes it.
 */
#include "config.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/settings.h"
#include "rail/rail_priv.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mci_card own;

static void read_text(const char *path, char *buf, size_t nbytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, buf, nbytes - 1) : -1;

    buf[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Processes with equal keys see the same abstract sockets and may pass each other memory. */
static uint64_t own_node_key(void)
{
    char boot[64];
    struct stat net = {0};
    uint64_t key;

    read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    stat("/proc/self/ns/net", &net);
    key = mci_hash64(boot, strlen(boot), (uint64_t)net.st_ino);
    return mci_hash64(mci_settings.node, strlen(mci_settings.node), key);
}

static void own_cpus(uint8_t cpus[MCI_CARD_CPU_BYTES])
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (size_t cpu = 0; cpu < MCI_CARD_CPU_BYTES * 8 && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus[cpu / 8] |= (uint8_t)(1u << cpu % 8);
}

/* Launchers bind each rank to a core of its own: only all masks together tell how many there are.
 */
int mci_peer_cpu_count(struct mci_peer *const *peers, int count)
{
    uint8_t all[MCI_CARD_CPU_BYTES] = {0};
    int cpus = 0;

    for (int i = 0; i < count; i++) {
        bool is_known = false;

        if (peers[i]->node_key != own.node_key)
            continue;
        for (size_t b = 0; b < sizeof(all); b++) {
            all[b] |= peers[i]->card->cpus[b];
            is_known |= peers[i]->card->cpus[b] != 0;
        }
        if (!is_known)
            return 0;
    }
    for (size_t b = 0; b < sizeof(all); b++)
        cpus += __builtin_popcount(all[b]);
    return cpus;
}

mcomm_err_t mci_card_make(struct mci_card **card_p)
{
    uint32_t rank = own.world_rank;
    mcomm_err_t err;

    memset(&own, 0, sizeof(own));
    own.magic = MCI_CARD_MAGIC;
    own.version = MCI_WIRE_VERSION;
    own.world_rank = rank;
    err = mci_random(&own.proc_id, sizeof(own.proc_id));
    if (err == MCOMM_SUCCESS)
        err = mci_random(own.key, sizeof(own.key));
    if (err != MCOMM_SUCCESS)
        return err;
    own.node_key = own_node_key();
    own.pid = getpid();
    own.start_time = mci_proc_start_time(0);
    own_cpus(own.cpus);
    gethostname(own.host, sizeof(own.host) - 1);
    *card_p = &own;
    return MCOMM_SUCCESS;
}

const void *mci_rail_card(size_t *nbytes_p)
{
    *nbytes_p = sizeof(own);
    return &own;
}

const struct mci_card *mci_rail_own_card(void)
{
    return &own;
}

void mci_rail_set_world_rank(int rank)
{
    struct mci_peer *self = mci_peer_self();

    own.world_rank = (uint32_t)rank;
    if (self != NULL)
        self->world_rank = rank;
}
