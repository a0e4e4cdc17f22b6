/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * CPU quota of control groups, version 1 and 2. The tightest one on the way from the process's
 * group to the root counts. A container may show less of the tree than the path says: what is not
 * there is passed over.
 */
#include "config.h"

#include "topo/topo_priv.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 1024

static bool read_line(const char *path, char *buf, size_t nbytes)
{
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(buf, (int)nbytes, file) != NULL;

    if (file != NULL)
        fclose(file);
    return is_read;
}

static long thousandths(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota / period > 1000000)
        return 0;
    return (long)(quota * 1000 / period);
}

/* cpu.max: "max 100000" or "150000 100000" */
static long quota_v2(const char *dir)
{
    char path[PATH_SIZE + 32], line[128];
    long long quota, period;

    snprintf(path, sizeof(path), "%s/cpu.max", dir);
    if (!read_line(path, line, sizeof(line)) || sscanf(line, "%lld %lld", &quota, &period) != 2)
        return 0;
    return thousandths(quota, period);
}

static long quota_v1(const char *dir)
{
    char path[PATH_SIZE + 32], line[128];
    long long quota, period;

    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", dir);
    if (!read_line(path, line, sizeof(line)) || sscanf(line, "%lld", &quota) != 1)
        return 0;
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
    if (!read_line(path, line, sizeof(line)) || sscanf(line, "%lld", &period) != 1)
        return 0;
    return thousandths(quota, period);
}

static long tighter(long a, long b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* From root/group up to root. */
static long quota_upwards(const char *root, const char *group, long (*quota_of)(const char *dir))
{
    size_t root_nbytes = strlen(root);
    char dir[PATH_SIZE];
    long quota = 0;

    if (snprintf(dir, sizeof(dir), "%s%s", root, group) >= (int)sizeof(dir))
        return 0;
    for (;;) {
        char *slash;

        quota = tighter(quota, quota_of(dir));
        slash = strrchr(dir, '/');
        if (strlen(dir) <= root_nbytes || slash == NULL || slash < dir + root_nbytes)
            break;
        *slash = '\0';
    }
    return quota;
}

static bool has_cpu(const char *controllers)
{
    char list[128], *save = NULL;

    snprintf(list, sizeof(list), "%s", controllers);
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        if (strcmp(name, "cpu") == 0)
            return true;
    }
    return false;
}

/* A line of /proc/self/cgroup: "0::/path" or "4:cpu,cpuacct:/path". */
static long line_quota(char *line, const char *sys_cgroup)
{
    char *controllers = strchr(line, ':'), *group, root[PATH_SIZE];
    long quota;

    if (controllers == NULL)
        return 0;
    group = strchr(++controllers, ':');
    if (group == NULL)
        return 0;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0') {
        quota = quota_upwards(sys_cgroup, group, quota_v2);
        snprintf(root, sizeof(root), "%s/unified", sys_cgroup);
        return tighter(quota, quota_upwards(root, group, quota_v2));
    }
    if (!has_cpu(controllers))
        return 0;
    snprintf(root, sizeof(root), "%s/%s", sys_cgroup, controllers);
    quota = quota_upwards(root, group, quota_v1);
    snprintf(root, sizeof(root), "%s/cpu", sys_cgroup);
    return quota != 0 ? quota : quota_upwards(root, group, quota_v1);
}

long mci_topo_cgroup_quota(const char *proc_cgroup, const char *sys_cgroup)
{
    FILE *file = fopen(proc_cgroup, "re");
    char line[PATH_SIZE];
    long quota = 0;

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof(line), file) != NULL)
        quota = tighter(quota, line_quota(line, sys_cgroup));
    fclose(file);
    return quota;
}
