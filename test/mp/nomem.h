/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The n-th call for memory fails, in whichever thread; the program's own malloc() and such ask. */
#ifndef TEST_MP_NOMEM_H
#define TEST_MP_NOMEM_H

#include <errno.h>
#include <stdatomic.h>

static _Atomic int calls_left; /* the call that ends at 0 fails; 0 and below: none does */

static int fails(void)
{
    if (atomic_load(&calls_left) <= 0 || atomic_fetch_sub(&calls_left, 1) != 1)
        return 0;
    errno = ENOMEM;
    return 1;
}

#endif
