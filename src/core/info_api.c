/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Exported functions on settings and info objects; the work is in base/settings.c and base/info.c.
 */
#include "config.h"

#include "core/core_priv.h"

#include <stddef.h>

#include "base/info.h"
#include "base/settings.h"

size_t mcomm_setting_count(void)
{
    return mci_settings_count();
}

mcomm_err_t mcomm_setting_get(size_t index, mcomm_setting_t *setting_p)
{
    mcomm_setting_t full;
    mcomm_err_t err = mci_check_pointer("setting_p", setting_p);

    if (err == MCOMM_SUCCESS)
        err = mci_check_struct_size("setting_p", setting_p->struct_size,
                                    offsetof(mcomm_setting_t, key));
    if (err != MCOMM_SUCCESS)
        return err;
    if (index >= mci_settings_count())
        return mci_err_set(MCOMM_ERR_ARG, "index = %zu: there are %zu settings", index,
                           mci_settings_count());
    mci_settings_describe(index, &full);
    mci_copy_out(setting_p, &full, sizeof(full));
    return MCOMM_SUCCESS;
}

mcomm_err_t mcomm_info_create(mcomm_info_t *info_p)
{
    struct mci_info *info;
    void *handle;
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("info_p", info_p);
    if (err != MCOMM_SUCCESS)
        return err;
    info = mci_info_new();
    handle = info != NULL ? mci_handle_new(MCI_HANDLE_INFO, info) : NULL;
    if (handle == NULL) {
        if (info != NULL)
            mci_info_free(info);
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for an info object");
    }
    *info_p = handle;
    return MCOMM_SUCCESS;
}

static mcomm_err_t info_lookup(const char *name, mcomm_info_t handle, struct mci_info **info_p)
{
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS && handle == MCOMM_INFO_NULL)
        return mci_err_set(MCOMM_ERR_INFO, "%s is MCOMM_INFO_NULL", name);
    return err != MCOMM_SUCCESS ? err : mci_info_get(handle, info_p);
}

mcomm_err_t mcomm_info_set(mcomm_info_t handle, const char *key, const char *value)
{
    struct mci_info *info;
    mcomm_err_t err = info_lookup("info", handle, &info);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("key", key);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("value", value);
    return err != MCOMM_SUCCESS ? err : mci_info_set(info, key, value);
}

mcomm_err_t mcomm_info_get(mcomm_info_t handle, const char *key, const char **value_p)
{
    struct mci_info *info;
    mcomm_err_t err = info_lookup("info", handle, &info);

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("key", key);
    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("value_p", value_p);
    if (err == MCOMM_SUCCESS)
        *value_p = mci_info_find(info, key);
    return err;
}

mcomm_err_t mcomm_info_free(mcomm_info_t *info_p)
{
    struct mci_info *info;
    mcomm_err_t err = mci_check_init();

    if (err == MCOMM_SUCCESS)
        err = mci_check_pointer("info_p", info_p);
    if (err == MCOMM_SUCCESS)
        err = info_lookup("*info_p", *info_p, &info);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_handle_free(MCI_HANDLE_INFO, *info_p);
    mci_info_free(info);
    *info_p = MCOMM_INFO_NULL;
    return MCOMM_SUCCESS;
}
