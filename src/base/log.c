/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Log lines. One write() a line, so that lines of several ranks do not mix. */
#include "config.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int mci_log_max = MCI_LOG_WARN;
static int log_rank = -1;
static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};

bool mci_log_set_level(const char *text)
{
    for (int i = 0; i <= MCI_LOG_TRACE; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            mci_log_max = i;
            return true;
        }
    }
    return false;
}

void mci_log_set_rank(int rank)
{
    log_rank = rank;
}

void mci_log_write(enum mci_log_level level, const char *fmt, ...)
{
    char line[700];
    va_list args;
    int n;
    ssize_t written;

    if (log_rank >= 0)
        n = snprintf(line, sizeof(line), "mcomm[%d] %s: ", log_rank, level_names[level]);
    else
        n = snprintf(line, sizeof(line), "mcomm %s: ", level_names[level]);
    va_start(args, fmt);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
    va_end(args);
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    line[n++] = '\n';
    written = write(STDERR_FILENO, line, (size_t)n);
    (void)written; /* nowhere to report to */
}
