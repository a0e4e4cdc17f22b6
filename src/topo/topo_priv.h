/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Between the files of topo. */
#ifndef MCI_TOPO_TOPO_PRIV_H
#define MCI_TOPO_TOPO_PRIV_H

#include "topo/topo.h"

#include <stdbool.h>
#include <stdint.h>

/* What a look at the machine gave; 0 or -1: unknown. */
struct mci_topo_machine {
    char source[96];        /* "hwloc 2.9.0" or why it gave nothing */
    size_t cache_nbytes[4]; /* by level; [0] unused */
    int cores, packages;
    int numa_nodes;
    int own_numa;
    uint64_t memory_nbytes;
    uint64_t numa_nbytes[16]; /* the first nodes' */
};
/* Slow (milliseconds): asks hwloc, then libnuma and sysconf for what it did not tell. */
void mci_topo_look(struct mci_topo_machine *machine);

#endif
