/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Info objects. They live beside the settings, because a key of an info overlays the setting of the
 * same name for one object. Few entries are expected: a list, searched linearly.
 */
#include "config.h"

#include "base/info.h"

#include <string.h>

#include "base/err.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/mem.h"

struct info_entry {
    struct mci_list link;
    char *value;
    char key[MCI_INFO_KEY_MAX + 1];
};

struct mci_info {
    struct mci_list entries;
};

struct mci_info *mci_info_new(void)
{
    struct mci_info *info = mci_mem_alloc(sizeof(*info));

    if (info != NULL)
        mci_list_init(&info->entries);
    return info;
}

void mci_info_free(struct mci_info *info)
{
    struct mci_list *node;

    while ((node = mci_list_pop(&info->entries)) != NULL) {
        struct info_entry *entry = mci_container_of(node, struct info_entry, link);

        mci_mem_free(entry->value);
        mci_mem_free(entry);
    }
    mci_mem_free(info);
}

static struct info_entry *entry_find(const struct mci_info *info, const char *key)
{
    struct mci_list *node;

    MCI_LIST_FOREACH (node, &info->entries) {
        struct info_entry *entry = mci_container_of(node, struct info_entry, link);

        if (strcmp(entry->key, key) == 0)
            return entry;
    }
    return NULL;
}

mcomm_err_t mci_info_set(struct mci_info *info, const char *key, const char *value)
{
    size_t key_nbytes = strnlen(key, MCI_INFO_KEY_MAX + 1);
    size_t value_nbytes = strnlen(value, MCI_INFO_VALUE_MAX + 1);
    struct info_entry *entry;
    char *copy;

    if (key_nbytes == 0 || key_nbytes > MCI_INFO_KEY_MAX)
        return mci_err_set(MCOMM_ERR_INFO, "key = \"%.70s\" has %s: 1 to %d are allowed", key,
                           key_nbytes == 0 ? "no characters" : "too many characters",
                           MCI_INFO_KEY_MAX);
    if (value_nbytes > MCI_INFO_VALUE_MAX)
        return mci_err_set(MCOMM_ERR_INFO,
                           "value = \"%.20s...\" of key \"%s\" is longer than %d "
                           "characters",
                           value, key, MCI_INFO_VALUE_MAX);
    copy = mci_mem_dup(value, value_nbytes + 1);
    if (copy == NULL)
        return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the value of info key \"%s\"", key);
    entry = entry_find(info, key);
    if (entry == NULL) {
        entry = mci_mem_alloc(sizeof(*entry));
        if (entry == NULL) {
            mci_mem_free(copy);
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for info key \"%s\"", key);
        }
        memcpy(entry->key, key, key_nbytes + 1);
        mci_list_push(&info->entries, &entry->link);
    } else {
        mci_mem_free(entry->value);
    }
    entry->value = copy;
    return MCOMM_SUCCESS;
}

const char *mci_info_find(const struct mci_info *info, const char *key)
{
    const struct info_entry *entry = entry_find(info, key);

    return entry != NULL ? entry->value : NULL;
}

mcomm_err_t mci_info_get(mcomm_info_t handle, struct mci_info **info_p)
{
    struct mci_info *info = NULL;

    if (handle != MCOMM_INFO_NULL) {
        info = mci_handle_get(MCI_HANDLE_INFO, handle);
        if (info == NULL)
            return mci_err_set(MCOMM_ERR_INFO, "info = %p is not a valid info object",
                               (void *)handle);
    }
    *info_p = info;
    return MCOMM_SUCCESS;
}
