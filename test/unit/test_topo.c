/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Cores by affinity and by cgroup quota (on made-up trees), and facts without hwloc's help. */
#include "config.h"

#include "topo/topo.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *c = path + strlen(root) + 1; *c != '\0'; c++) {
        if (*c == '/') {
            *c = '\0';
            mkdir(path, 0700);
            *c = '/';
        }
    }
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int tree_make(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/mcomm_topo_XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int tree_remove(void **state)
{
    char command[96];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static long quota(const char *group_line)
{
    char path[128];

    write_file("self_cgroup", group_line);
    snprintf(path, sizeof(path), "%s/self_cgroup", root);
    return mci_topo_cgroup_quota(path, root);
}

static void tightest_quota_of_version_2_counts(void **state)
{
    (void)state;
    assert_int_equal(quota("0::/a/b\n"), 0);
    write_file("a/b/cpu.max", "max 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 0);
    write_file("a/cpu.max", "150000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 1500);
    write_file("a/b/cpu.max", "400000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 1500);
    write_file("a/b/cpu.max", "50000 100000\n");
    assert_int_equal(quota("0::/a/b\n"), 500);
    assert_int_equal(quota("0::/not/there\n"), 0);
    write_file("cpu.max", "300000 100000\n");
    assert_int_equal(quota("0::/not/there\n"), 3000);
    assert_int_equal(quota("0::/\n"), 3000);
}

static void quota_of_version_1_counts(void **state)
{
    (void)state;
    write_file("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    write_file("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota("3:memory:/job\n4:cpu,cpuacct:/job\n"), 0);
    write_file("cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
    assert_int_equal(quota("3:memory:/job\n4:cpu,cpuacct:/job\n"), 2000);
    assert_int_equal(quota("5:cpuset:/job\n"), 0);
    write_file("cpu/cpu.cfs_quota_us", "25000\n"); /* seen from inside a container */
    write_file("cpu/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota("4:cpu:/docker/0123\n"), 500);
}

static void nonsense_is_no_quota(void **state)
{
    (void)state;
    assert_int_equal(quota(""), 0);
    assert_int_equal(quota("garbage\n\n::\n0\n1:cpu\n"), 0);
    write_file("g/cpu.max", "0 0\n");
    assert_int_equal(quota("0::/g\n"), 0);
    write_file("g/cpu.max", "-5 -7\n");
    assert_int_equal(quota("0::/g\n"), 0);
    write_file("g/cpu.max", "99999999999999999999 1\n");
    assert_int_equal(quota("0::/g\n"), 0);
    assert_int_equal(mci_topo_cgroup_quota("/no/such/file", root), 0);
}

static void affinity_bounds_the_cores(void **state)
{
    cpu_set_t before, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_true(mci_topo_allowed_cores() >= 1);
    assert_true(mci_topo_allowed_cores() <= CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(mci_topo_allowed_cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void caches_are_those_of_a_core(void **state)
{
    (void)state;
    assert_int_equal(mci_topo_cache_in(root, 1), 0);
    write_file("index0/level", "1\n");
    write_file("index0/type", "Instruction\n");
    write_file("index0/size", "64K\n");
    assert_int_equal(mci_topo_cache_in(root, 1), 0);
    write_file("index1/level", "1\n");
    write_file("index1/type", "Data\n");
    write_file("index1/size", "48K\n");
    assert_int_equal(mci_topo_cache_in(root, 1), 48 << 10);
    write_file("index3/level", "3\n");
    write_file("index3/type", "Unified\n");
    write_file("index3/size", "32768K\n");
    assert_int_equal(mci_topo_cache_in(root, 3), 32 << 20);
    assert_int_equal(mci_topo_cache_in(root, 2), 0);
    write_file("index3/size", "nonsense\n");
    assert_int_equal(mci_topo_cache_in(root, 3), 0);
    write_file("index3/size", "99999999999999999999K\n");
    assert_int_equal(mci_topo_cache_in(root, 3), 0);
}

static void text_and_caches_do_without_hwloc(void **state)
{
    (void)state;
    for (int level = 1; level <= 3; level++)
        assert_true(mci_topo_cache_nbytes(level) >= 4096);
    assert_non_null(strstr(mci_topo_text(), "cores counted:"));
    mci_topo_forget();
    setenv("HWLOC_XMLFILE", "/no/such/file.xml", 1);
    assert_non_null(strstr(mci_topo_text(), "CPUs allowed:"));
    assert_non_null(strstr(mci_topo_text(), "memory:"));
    mci_topo_forget();
    write_file("broken.xml", "<topology version=\"2.0\"><object type=");
    {
        char path[128];

        snprintf(path, sizeof(path), "%s/broken.xml", root);
        setenv("HWLOC_XMLFILE", path, 1);
    }
    assert_non_null(strstr(mci_topo_text(), "L2 cache:"));
    assert_true(mci_topo_cache_nbytes(2) >= 4096);
    mci_topo_forget();
    unsetenv("HWLOC_XMLFILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tightest_quota_of_version_2_counts, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(quota_of_version_1_counts, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(nonsense_is_no_quota, tree_make, tree_remove),
        cmocka_unit_test(affinity_bounds_the_cores),
        cmocka_unit_test_setup_teardown(caches_are_those_of_a_core, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(text_and_caches_do_without_hwloc, tree_make, tree_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
