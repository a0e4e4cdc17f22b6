/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the system tells of processes. */
#ifndef MCI_BASE_PROC_H
#define MCI_BASE_PROC_H

#include <stdint.h>
#include <sys/types.h>

/*
 * When process pid (0: this one) started, in clock ticks since boot; 0 if it is not there. With the
 * number it names a process even after the number has been given to another.
 */
uint64_t mci_proc_start_time(pid_t pid);

#endif
