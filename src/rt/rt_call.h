/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A call of a foreign library that may never return, made in a thread of its own. */
#ifndef MCI_RT_CALL_H
#define MCI_RT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Call fn and wait for it until deadline_ns (mci_clock_ns()).
 * @param arg   fn works on a copy of these nbytes, which is written back if fn returned in time
 * @param rc_p  what fn returned; may be NULL
 * @return false: it has not come back; its thread is left alone, and so is what fn works on
 */
bool mci_rt_call(int (*fn)(void *arg), void *arg, size_t nbytes, int64_t deadline_ns, int *rc_p);

#endif
