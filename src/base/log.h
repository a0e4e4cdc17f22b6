/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Log lines on stderr: "mcomm[rank] level: text". Level by setting MCOMM_LOG; default warn. */
#ifndef MCI_BASE_LOG_H
#define MCI_BASE_LOG_H

#include <stdbool.h>

enum mci_log_level {
    MCI_LOG_ERROR = 0,
    MCI_LOG_WARN,
    MCI_LOG_INFO,
    MCI_LOG_DEBUG,
    MCI_LOG_TRACE
};

extern int mci_log_max;                   /* lines above this level are not even formatted */
bool mci_log_set_level(const char *text); /* false: no such level */
void mci_log_set_rank(int rank);          /* -1: none yet */
void mci_log_write(enum mci_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define MCI_LOG(level, ...)                                                                        \
    do {                                                                                           \
        if (__builtin_expect((int)(level) <= mci_log_max, 0))                                      \
            mci_log_write(level, __VA_ARGS__);                                                     \
    } while (0)
#define mci_log_error(...) MCI_LOG(MCI_LOG_ERROR, __VA_ARGS__)
#define mci_log_warn(...) MCI_LOG(MCI_LOG_WARN, __VA_ARGS__)
#define mci_log_info(...) MCI_LOG(MCI_LOG_INFO, __VA_ARGS__)
#define mci_log_debug(...) MCI_LOG(MCI_LOG_DEBUG, __VA_ARGS__)
#define mci_log_trace(...) MCI_LOG(MCI_LOG_TRACE, __VA_ARGS__)

#endif
