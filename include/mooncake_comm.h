/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The whole public interface of Mooncake Comm. */
#ifndef MOONCAKE_COMM_H
#define MOONCAKE_COMM_H

#ifdef __cplusplus
extern "C" {
#endif

#define MCOMM_EXPORT __attribute__((visibility("default")))
#define MCOMM_VERSION_MAJOR 0 /* compiled against; mcomm_get_version() tells what runs */
#define MCOMM_VERSION_MINOR 1
#define MCOMM_VERSION_PATCH 0

MCOMM_EXPORT void mcomm_get_version(int *major_p, int *minor_p, int *patch_p);

#ifdef __cplusplus
}
#endif
#endif
