/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
#include "config.h"

#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets. */
uint64_t mci_proc_start_time(pid_t pid)
{
    char path[32] = "/proc/self/stat", buf[1024];
    unsigned long long ticks = 0;
    const char *p;
    ssize_t n;
    int fd;

    if (pid != 0)
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    p = strrchr(buf, ')');
    for (int field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p != NULL)
        sscanf(p + 1, "%llu", &ticks);
    return ticks;
}
