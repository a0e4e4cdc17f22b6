/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What this machine lets this process have. Affinity and cgroup quota count, never the launcher's
 * word; where hwloc or /sys tell nothing there are plain defaults. lock: none needed.
 */
#ifndef MCI_TOPO_TOPO_H
#define MCI_TOPO_TOPO_H

#include <stddef.h>

/* Cores this process may really use at a time: by affinity and cgroup quota, at least 1. */
int mci_topo_allowed_cores(void);
/* The same when cpus CPUs may be used: the cgroup's quota bounds it. */
int mci_topo_cores_of(int cpus);
/* Bytes of a core's data cache of level 1, 2 or 3; a usual size if unknown, never 0. */
size_t mci_topo_cache_nbytes(int level);
/* The machine as text, a line a fact. Made once; valid until mci_topo_forget(). */
const char *mci_topo_text(void);
void mci_topo_forget(void);

/*
 * Quota of the cgroup of a process in thousandths of a core; 0: none. proc_cgroup: the file
 * /proc/self/cgroup; sys_cgroup: where the hierarchies are mounted, /sys/fs/cgroup.
 */
long mci_topo_cgroup_quota(const char *proc_cgroup, const char *sys_cgroup);
/* Bytes of the data cache of a level; 0: unknown. folder: a CPU's, as
 * /sys/devices/system/cpu/cpu0/cache. */
size_t mci_topo_cache_in(const char *folder, int level);

#endif
