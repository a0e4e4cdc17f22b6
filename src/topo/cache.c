/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Sizes of caches as the kernel tells them. The C library gives all of a package's L3 as one on
 * some processors, many times what a core can use. */
#include "config.h"

#include "topo/topo_priv.h"

#include <stdio.h>
#include <string.h>

#define INDEX_MAX 8
#define LINE_SIZE 32

/* First line of a file, "" if there is none. */
static void line_of(const char *folder, int index, const char *name, char *line)
{
    char path[256];
    FILE *file;

    line[0] = '\0';
    snprintf(path, sizeof(path), "%s/index%d/%s", folder, index, name);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(line, LINE_SIZE, file) == NULL)
        line[0] = '\0';
    fclose(file);
}

/* "1024K" */
static size_t bytes_of(const char *line)
{
    unsigned long number;
    char unit = '\0';

    if (sscanf(line, "%lu%c", &number, &unit) < 1 || number > 1ul << 30)
        return 0;
    return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

size_t mci_topo_cache_in(const char *folder, int level)
{
    char line[LINE_SIZE];
    int found;

    for (int i = 0; i < INDEX_MAX; i++) {
        line_of(folder, i, "level", line);
        if (sscanf(line, "%d", &found) != 1 || found != level)
            continue;
        line_of(folder, i, "type", line);
        if (strncmp(line, "Instruction", strlen("Instruction")) == 0)
            continue;
        line_of(folder, i, "size", line);
        return bytes_of(line);
    }
    return 0;
}
