/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Tells which version of the library runs, as opposed to the one compiled against. */
#include "config.h"

#include "mooncake_comm.h"

#include <stddef.h>

void mcomm_get_version(int *major_p, int *minor_p, int *patch_p)
{
    if (major_p != NULL)
        *major_p = MCOMM_VERSION_MAJOR;
    if (minor_p != NULL)
        *minor_p = MCOMM_VERSION_MINOR;
    if (patch_p != NULL)
        *patch_p = MCOMM_VERSION_PATCH;
}
