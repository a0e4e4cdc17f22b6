/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* mcomm_info: what was built, what this machine is, rails, settings, algorithms of collectives. */
#include "config.h"

#include "mooncake_comm.h"

#include <stdio.h>
#include <string.h>

static const char usage_text[] =
    "usage: mcomm_info [build] [machine] [rails] [settings] [coll]    (none named: all)\n"
    "Starts no job: the process stands alone.\n";

static void print_build(void)
{
    int major, minor, patch;

    mcomm_get_version(&major, &minor, &patch);
    printf("Mooncake Comm %d.%d.%d\n%s\n", major, minor, patch, mcomm_build_config());
}

static void print_rails(void)
{
    mcomm_rail_desc_t rail = {.struct_size = sizeof(rail)};

    printf("Rails\n");
    for (size_t i = 0; i < mcomm_rail_count(); i++) {
        if (mcomm_rail_get(i, &rail) != MCOMM_SUCCESS)
            continue;
        printf("  %-6s %-12s %s", rail.kind, rail.device, rail.address);
        if (rail.mbits > 0)
            printf("  %lld Mbit/s", (long long)rail.mbits);
        if (rail.numa >= 0)
            printf("  NUMA node %d", rail.numa);
        printf("\n");
    }
    printf("\n");
}

static void print_settings(void)
{
    mcomm_setting_t setting = {.struct_size = sizeof(setting)};

    printf("Settings (environment variable = value in force [source; default])\n");
    for (size_t i = 0; i < mcomm_setting_count(); i++) {
        if (mcomm_setting_get(i, &setting) != MCOMM_SUCCESS)
            continue;
        printf("  %s = %s [%s; %s]%s%s\n      %s\n", setting.env, setting.value, setting.source,
               setting.default_value, setting.key != NULL ? " info key " : "",
               setting.key != NULL ? setting.key : "", setting.help);
    }
}

/* "--coll" is as good as "coll". */
static const char *name_of(const char *argument)
{
    return strncmp(argument, "--", 2) == 0 ? argument + 2 : argument;
}

static int is_wanted(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(name_of(argv[i]), name) == 0)
            return 1;
    return argc == 1;
}

static int check_arguments(int argc, char **argv)
{
    static const char *const names[] = {"build", "machine", "rails", "settings", "coll"};
    const size_t count = sizeof(names) / sizeof(names[0]);

    for (int i = 1; i < argc; i++) {
        size_t k = 0;

        while (k < count && strcmp(name_of(argv[i]), names[k]) != 0)
            k++;
        if (k == count) {
            int is_help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;

            if (!is_help)
                fprintf(stderr, "mcomm_info: nothing is called \"%s\"\n", argv[i]);
            fputs(usage_text, is_help ? stdout : stderr);
            return is_help ? 1 : 3;
        }
    }
    return 0;
}

static int alone(const void *mine, void *all, size_t nbytes, void *arg)
{
    (void)arg;
    memcpy(all, mine, nbytes);
    return 0;
}

int main(int argc, char **argv)
{
    const mcomm_oob_t oob = {alone, NULL, 0, 1};
    mcomm_init_attr_t attr = MCOMM_INIT_ATTR_DEFAULT;
    int status = check_arguments(argc, argv);
    mcomm_err_t err;

    if (status != 0)
        return status - 1;
    if (is_wanted(argc, argv, "build"))
        print_build();
    attr.oob = &oob;
    err = mcomm_init(&attr);
    if (err != MCOMM_SUCCESS) {
        fprintf(stderr, "mcomm_info: %s: %s\n", mcomm_err_text(err), mcomm_last_error());
        return 1;
    }
    if (is_wanted(argc, argv, "machine"))
        printf("Machine\n%s\n", mcomm_topology_text());
    if (is_wanted(argc, argv, "rails"))
        print_rails();
    if (is_wanted(argc, argv, "settings"))
        print_settings();
    if (is_wanted(argc, argv, "coll"))
        printf("\nCollectives\n%s", mcomm_coll_text());
    mcomm_finalize();
    return 0;
}
