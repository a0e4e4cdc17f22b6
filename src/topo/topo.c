/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The facts others ask for: how many cores, how large a cache, and all as text. What is needed at
 * every start comes from cheap calls; hwloc is loaded only for the text, or for a cache size that
 * the C library does not know.
 */
#include "config.h"

#include "topo/topo_priv.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPU_MAX 8192 /* the largest affinity mask that is asked for */
#define TEXT_SIZE 2048

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mci_topo_machine machine;
static bool is_looked;
static char *text;

/* ---- cores ---------------------------------------------------------------------------------- */
/* Number of CPUs in the affinity mask, its list ("0-3,8") into buf; 0: unknown. */
static int affinity(char *buf, size_t nbytes)
{
    size_t mask_nbytes = CPU_ALLOC_SIZE(CPU_MAX), n = 0;
    cpu_set_t *mask = CPU_ALLOC(CPU_MAX);
    int count = 0;

    buf[0] = '\0';
    if (mask == NULL)
        return 0;
    if (sched_getaffinity(0, mask_nbytes, mask) == 0)
        count = CPU_COUNT_S(mask_nbytes, mask);
    for (int cpu = 0; count > 0 && cpu < CPU_MAX; cpu++) {
        int last = cpu;

        if (!CPU_ISSET_S((size_t)cpu, mask_nbytes, mask))
            continue;
        while (last + 1 < CPU_MAX && CPU_ISSET_S((size_t)last + 1, mask_nbytes, mask))
            last++;
        if (n + 24 < nbytes)
            n += (size_t)snprintf(buf + n, nbytes - n, last > cpu ? "%s%d-%d" : "%s%d",
                                  n > 0 ? "," : "", cpu, last);
        cpu = last;
    }
    CPU_FREE(mask);
    return count;
}

static long own_quota(void)
{
    return mci_topo_cgroup_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* A part of a core more than n is no core: whoever spins on it is throttled. */
static int cores_by(int allowed, long quota)
{
    if (allowed < 1)
        allowed = 1;
    if (quota > 0 && quota / 1000 < allowed)
        allowed = quota < 1000 ? 1 : (int)(quota / 1000);
    return allowed;
}

int mci_topo_cores_of(int cpus)
{
    return cores_by(cpus, own_quota());
}

int mci_topo_allowed_cores(void)
{
    char list[64];
    int allowed = affinity(list, sizeof(list));

    if (allowed < 1)
        allowed = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cores_by(allowed, own_quota());
}

/* ---- caches --------------------------------------------------------------------------------- */
static const struct mci_topo_machine *machine_get(void)
{
    if (!is_looked)
        mci_topo_look(&machine);
    is_looked = true;
    return &machine;
}

size_t mci_topo_cache_nbytes(int level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    static const size_t usual[] = {32 * 1024, 1024 * 1024, 8 * 1024 * 1024};
    char folder[64];
    int cpu = sched_getcpu();
    size_t nbytes;
    long told;

    if (level < 1 || level > 3)
        return usual[2];
    snprintf(folder, sizeof(folder), "/sys/devices/system/cpu/cpu%d/cache", cpu >= 0 ? cpu : 0);
    nbytes = mci_topo_cache_in(folder, level);
    if (nbytes > 0)
        return nbytes;
    told = sysconf(names[level - 1]);
    if (told > 0)
        return (size_t)told;
    pthread_mutex_lock(&mutex);
    nbytes = machine_get()->cache_nbytes[level];
    pthread_mutex_unlock(&mutex);
    return nbytes > 0 ? nbytes : usual[level - 1];
}

/* ---- text ----------------------------------------------------------------------------------- */
struct writer {
    char *buf;
    size_t n;
};

static void add(struct writer *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct writer *out, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(out->buf + out->n, TEXT_SIZE - out->n, fmt, args);
    va_end(args);
    if (n > 0)
        out->n = out->n + (size_t)n < TEXT_SIZE ? out->n + (size_t)n : TEXT_SIZE - 1;
}

static void add_size(struct writer *out, const char *before, uint64_t nbytes)
{
    if (nbytes == 0)
        add(out, "%sunknown", before);
    else if (nbytes < UINT64_C(16) << 20)
        add(out, "%s%llu KiB", before, (unsigned long long)(nbytes >> 10));
    else if (nbytes < UINT64_C(16) << 30)
        add(out, "%s%llu MiB", before, (unsigned long long)(nbytes >> 20));
    else
        add(out, "%s%llu GiB", before, (unsigned long long)(nbytes >> 30));
}

static void add_cpus(struct writer *out)
{
    char list[512];
    int allowed = affinity(list, sizeof(list));
    long quota = own_quota();

    add(out, "CPUs allowed:   %d (%s) of %ld online\n", allowed, list,
        sysconf(_SC_NPROCESSORS_ONLN));
    if (quota > 0)
        add(out, "cgroup quota:   %ld.%03ld cores\n", quota / 1000, quota % 1000);
    else
        add(out, "cgroup quota:   none\n");
    add(out, "cores counted:  %d\n", cores_by(allowed, quota));
}

static void text_write(struct writer *out, const struct mci_topo_machine *m)
{
    add_cpus(out);
    if (m->cores > 0)
        add(out, "cores:          %d in %d packages\n", m->cores, m->packages);
    for (int level = 1; level <= 3; level++) {
        add(out, "L%d cache:       ", level);
        add_size(out, "", m->cache_nbytes[level]);
        add(out, "\n");
    }
    add(out, "NUMA nodes:     %d", m->numa_nodes > 0 ? m->numa_nodes : 1);
    for (int i = 0; i < m->numa_nodes && i < 16; i++)
        add_size(out, i == 0 ? " of " : ", ", m->numa_nbytes[i]);
    if (m->own_numa >= 0)
        add(out, "; this process runs on node %d", m->own_numa);
    add_size(out, "\nmemory:         ", m->memory_nbytes);
    add(out, "\nknown from:     %s\n", m->source);
}

const char *mci_topo_text(void)
{
    struct writer out = {.n = 0};

    pthread_mutex_lock(&mutex);
    if (text == NULL) {
        out.buf = malloc(TEXT_SIZE);
        if (out.buf != NULL) {
            out.buf[0] = '\0';
            text_write(&out, machine_get());
        }
        text = out.buf;
    }
    pthread_mutex_unlock(&mutex);
    return text != NULL ? text : "";
}

void mci_topo_forget(void)
{
    pthread_mutex_lock(&mutex);
    free(text);
    text = NULL;
    is_looked = false;
    pthread_mutex_unlock(&mutex);
}
