/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What /proc says of processes. What cannot be asked ends the test. */
#ifndef TEST_COMMON_PROC_H
#define TEST_COMMON_PROC_H

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

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

/* Bytes of memory that this process has touched. */
static inline size_t rss_now(void)
{
    unsigned long total, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu", &total, &pages) != 2)
        abort();
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t heap_now(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* What a process holds of the system. */
struct footprint {
    int fds, threads, maps;
    size_t heap;
};

static inline struct footprint footprint_now(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    struct footprint now = {
        .fds = count_entries("/proc/self/fd"),
        .threads = count_entries("/proc/self/task"),
        .heap = heap_now(),
    };
    int c;

    if (file == NULL)
        abort();
    while ((c = getc(file)) != EOF)
        now.maps += c == '\n';
    fclose(file);
    return now;
}

#endif
