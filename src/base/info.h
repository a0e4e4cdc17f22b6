/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* An info object: a short list of keys and values, both text. lock: one call per object at a time.
 */
#ifndef MCI_BASE_INFO_H
#define MCI_BASE_INFO_H

#include "mooncake_comm.h"

#define MCI_INFO_KEY_MAX 63
#define MCI_INFO_VALUE_MAX 1023

struct mci_info;

struct mci_info *mci_info_new(void); /* NULL: no memory */
void mci_info_free(struct mci_info *info);
/* Copies both; replaces an earlier value. MCOMM_ERR_INFO: key or value too long or empty key. */
mcomm_err_t mci_info_set(struct mci_info *info, const char *key, const char *value);
const char *mci_info_find(const struct mci_info *info, const char *key); /* NULL: not set */
/* Object of a handle. MCOMM_INFO_NULL: SUCCESS and NULL. MCOMM_ERR_INFO: not valid. */
mcomm_err_t mci_info_get(mcomm_info_t handle, struct mci_info **info_p);

#endif
