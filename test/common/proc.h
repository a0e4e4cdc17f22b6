/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What /proc says of processes. What cannot be asked ends the test. */
#ifndef TEST_COMMON_PROC_H
#define TEST_COMMON_PROC_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Its first thread stands, by a signal. */
static inline int is_stopped(pid_t pid)
{
    char path[64], line[256] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL)
        abort();
    fclose(file);
    return strstr(line, ") T ") != NULL;
}

/* Of a folder, such as /proc/self/fd; "." and ".." count. */
static inline int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    if (dir == NULL)
        abort();
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

#endif
