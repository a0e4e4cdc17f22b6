/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A look at the machine through hwloc. It may give nothing (a broken HWLOC_XMLFILE, a hidden /sys)
 * or nonsense; then libnuma and sysconf() are asked, and whatever nobody knows stays unknown.
 */
#include "config.h"

#include "topo/topo_priv.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_NUMA
#include <numa.h>
#endif

static void numa_from_hwloc(hwloc_topology_t topology, struct mci_topo_machine *machine)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    hwloc_obj_t node = NULL;

    machine->numa_nodes = count > 0 ? count : 0;
    for (int i = 0; i < count; i++) {
        node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node);
        if (node == NULL)
            return;
        machine->memory_nbytes += node->attr->numanode.local_memory;
        if (i < (int)(sizeof(machine->numa_nbytes) / sizeof(machine->numa_nbytes[0])))
            machine->numa_nbytes[i] = node->attr->numanode.local_memory;
    }
}

static void caches_from_hwloc(hwloc_topology_t topology, struct mci_topo_machine *machine)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE};

    for (int level = 1; level <= 3; level++) {
        hwloc_obj_t cache = hwloc_get_next_obj_by_type(topology, types[level - 1], NULL);

        if (cache != NULL)
            machine->cache_nbytes[level] = (size_t)cache->attr->cache.size;
    }
}

static void own_numa_from_hwloc(hwloc_topology_t topology, struct mci_topo_machine *machine)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();

    if (cpus != NULL && nodes != NULL &&
        hwloc_get_last_cpu_location(topology, cpus, HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_cpuset_to_nodeset(topology, cpus, nodes);
        machine->own_numa = hwloc_bitmap_first(nodes);
    }
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(nodes);
}

static void look_with_hwloc(struct mci_topo_machine *machine)
{
    hwloc_topology_t topology;
    unsigned version = hwloc_get_api_version();

    snprintf(machine->source, sizeof(machine->source), "hwloc gave nothing");
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        numa_from_hwloc(topology, machine);
        caches_from_hwloc(topology, machine);
        machine->cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        machine->packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
        if (hwloc_topology_is_thissystem(topology))
            own_numa_from_hwloc(topology, machine);
        snprintf(machine->source, sizeof(machine->source), "hwloc (interface %u.%u.%u)",
                 version >> 16, version >> 8 & 0xff, version & 0xff);
    }
    hwloc_topology_destroy(topology);
}

static void look_with_numa(struct mci_topo_machine *machine)
{
#ifdef HAVE_NUMA
    if (machine->numa_nodes > 0 || numa_available() < 0)
        return;
    machine->numa_nodes = numa_num_configured_nodes();
    for (int i = 0; i < machine->numa_nodes && i < 16; i++) {
        long long nbytes = numa_node_size64(i, NULL);

        machine->numa_nbytes[i] = nbytes > 0 ? (uint64_t)nbytes : 0;
    }
#else
    (void)machine;
#endif
}

static void look_with_sysconf(struct mci_topo_machine *machine)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    if (machine->memory_nbytes == 0 && pages > 0 && page > 0)
        machine->memory_nbytes = (uint64_t)pages * (uint64_t)page;
    for (int level = 1; level <= 3; level++) {
        long nbytes = sysconf(names[level - 1]);

        if (machine->cache_nbytes[level] == 0 && nbytes > 0)
            machine->cache_nbytes[level] = (size_t)nbytes;
    }
}

void mci_topo_look(struct mci_topo_machine *machine)
{
    memset(machine, 0, sizeof(*machine));
    machine->own_numa = -1;
    look_with_hwloc(machine);
    look_with_numa(machine);
    look_with_sysconf(machine);
}
