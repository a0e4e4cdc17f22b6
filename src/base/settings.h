/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The one table of settings: rows in settings.def give field, type, environment variable, info key,
 * default and help. Read once by mci_settings_load(); an object may overlay some from an info.
 */
#ifndef MCI_BASE_SETTINGS_H
#define MCI_BASE_SETTINGS_H

#include "mooncake_comm.h"

#include <stdbool.h>

typedef size_t mci_setting_size; /* "2M", "64k", "1.5G" */
typedef int64_t mci_setting_int; /* "-1" */
typedef int mci_setting_ms;      /* "500ms", "2s", "1m"; -1 = for ever */
typedef bool mci_setting_bool;   /* yes no on off true false 1 0 */
typedef const char *mci_setting_string;
typedef const char *mci_setting_secret; /* a string that is never shown */

/* XX(field, type, key_or_NULL, default text, help). Environment: MCOMM_ + field in capitals. */
struct mci_settings {
#define XX(field, type, key, dflt, help) mci_setting_##type field;
#include "base/settings.def"
#undef XX
};
extern struct mci_settings mci_settings;

/* Parse the environment. MCOMM_ERR_ARG names the variable and the value. Idempotent. */
mcomm_err_t mci_settings_load(void);
void mci_settings_unload(void);
/* Value of key as text from info, else the setting in force, else NULL. */
const char *mci_settings_text(mcomm_info_t info, const char *key);
/* A size / integer setting overlaid by info. Bad text in info: MCOMM_ERR_INFO. */
mcomm_err_t mci_settings_size(mcomm_info_t info, const char *key, size_t *value_p);
mcomm_err_t mci_settings_int(mcomm_info_t info, const char *key, int64_t *value_p); /* also ms */
/* Log what in the environment looks like a slip: names that are no setting, short times without
 * unit. */
void mci_settings_warn(void);
/* The variable that is spelt most like name, and how many letters differ; NULL: none at all. */
const char *mci_settings_nearest(const char *name, size_t nbytes, size_t *distance_p);
/* The list for mcomm_setting_get(); also before load: then what load would find. */
size_t mci_settings_count(void);
void mci_settings_describe(size_t index, mcomm_setting_t *setting); /* all but struct_size */

#endif
