/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Info objects: keys and values in the order of setting. The caller's alone; hints are copied. */
#include <stdlib.h>
#include <string.h>

#include "mpi_priv.h"

struct entry {
    struct entry *next;
    char *value;
    char key[];
};
struct info {
    struct entry *first;
};
struct info mpi_info_env;

/* ---- lists ---- */
static struct entry **entry_find(struct entry **at, const char *key)
{
    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

static int entry_set(struct info *info, const char *key, const char *value)
{
    struct entry **at = entry_find(&info->first, key), *entry = *at;
    char *copy = strdup(value);

    if (copy == NULL)
        return mpi_no_mem(NULL, strlen(value));
    if (entry == NULL) {
        entry = calloc(1, sizeof(*entry) + strlen(key) + 1);
        if (entry == NULL) {
            free(copy);
            return mpi_no_mem(NULL, sizeof(*entry));
        }
        strcpy(entry->key, key);
        *at = entry;
    }
    free(entry->value);
    entry->value = copy;
    return MPI_SUCCESS;
}

static void entries_free(struct info *info)
{
    while (info->first != NULL) {
        struct entry *entry = info->first;

        info->first = entry->next;
        free(entry->value);
        free(entry);
    }
}

void mpi_info_free(struct info *info)
{
    if (info != NULL)
        entries_free(info);
    free(info);
}

struct info *mpi_info_dup(const struct info *from)
{
    struct info *info = calloc(1, sizeof(*info));

    if (info == NULL)
        return NULL;
    for (const struct entry *entry = from != NULL ? from->first : NULL; entry;
         entry = entry->next) {
        if (entry_set(info, entry->key, entry->value) != MPI_SUCCESS) {
            mpi_info_free(info);
            return NULL;
        }
    }
    return info;
}

const char *mpi_info_find(const struct info *info, const char *key)
{
    const struct entry *entry = info != NULL ? info->first : NULL;

    while (entry != NULL && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry != NULL ? entry->value : NULL;
}

/* ---- handles ---- */
struct info *mpi_info_get(MPI_Info handle)
{
    return handle == MPI_INFO_ENV ? &mpi_info_env : mpi_handle_get(KIND_INFO, handle);
}

static int bad_info(MPI_Info handle)
{
    return mpi_fail(NULL, MPI_ERR_INFO, "info %p is none", (void *)handle);
}

int mpi_info_check(const struct owner *owner, MPI_Info handle)
{
    if (handle == MPI_INFO_NULL || mpi_info_get(handle) != NULL)
        return MPI_SUCCESS;
    return mpi_fail(owner, MPI_ERR_INFO, "info %p is none", (void *)handle);
}

int mpi_info_publish(struct info *info, MPI_Info *handle_p)
{
    void *handle = info != NULL ? mpi_handle_new(KIND_INFO, info) : NULL;

    if (handle == NULL) {
        mpi_info_free(info);
        return mpi_no_mem(NULL, sizeof(*info));
    }
    *handle_p = handle;
    return MPI_SUCCESS;
}

#define GET_INFO(info, handle)                                                                     \
    struct info *info = mpi_info_get(handle);                                                      \
    if (info == NULL)                                                                              \
    return bad_info(handle)

static int key_check(const char *key)
{
    size_t length = key != NULL ? strlen(key) : 0;

    if (length == 0 || length >= MPI_MAX_INFO_KEY)
        return mpi_fail(NULL, MPI_ERR_INFO_KEY, "key \"%.60s\" has %zu characters, not 1 to %d",
                        key != NULL ? key : "", length, MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

/* ---- calls ---- */
DEF(int, Info_create, (MPI_Info * handle_p))
{
    return mpi_info_publish(mpi_info_dup(NULL), handle_p);
}

/* What MPI_INFO_ENV holds: of an environment that is not told, nothing. */
DEF(int, Info_create_env, (int argc, char *argv[], MPI_Info *handle_p))
{
    (void)argc;
    (void)argv;
    return mpi_info_publish(mpi_info_dup(&mpi_info_env), handle_p);
}

DEF(int, Info_dup, (MPI_Info handle, MPI_Info *new_p))
{
    GET_INFO(info, handle);
    return mpi_info_publish(mpi_info_dup(info), new_p);
}

DEF(int, Info_free, (MPI_Info * handle_p))
{
    struct info *info = mpi_handle_get(KIND_INFO, *handle_p);

    if (info == NULL)
        return bad_info(*handle_p);
    mpi_handle_free(*handle_p);
    mpi_info_free(info);
    *handle_p = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

DEF(int, Info_set, (MPI_Info handle, const char *key, const char *value))
{
    GET_INFO(info, handle);
    if (info == &mpi_info_env)
        return bad_info(handle);
    if (key_check(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    if (value == NULL || strlen(value) >= MPI_MAX_INFO_VAL)
        return mpi_fail(NULL, MPI_ERR_INFO_VALUE,
                        "value of key \"%s\" is NULL or has over %d characters", key,
                        MPI_MAX_INFO_VAL - 1);
    return entry_set(info, key, value);
}

DEF(int, Info_delete, (MPI_Info handle, const char *key))
{
    struct entry **at, *entry;

    GET_INFO(info, handle);
    if (key_check(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    at = entry_find(&info->first, key);
    entry = *at;
    if (entry == NULL)
        return mpi_fail(NULL, MPI_ERR_INFO_NOKEY, "key \"%s\" is not set", key);
    *at = entry->next;
    free(entry->value);
    free(entry);
    return MPI_SUCCESS;
}

/* Copies what fits in room bytes, the final zero included. */
static void value_copy(char *to, size_t room, const char *value)
{
    size_t length = strnlen(value, room - 1);

    memcpy(to, value, length);
    to[length] = '\0';
}

DEF(int, Info_get, (MPI_Info handle, const char *key, int valuelen, char *value, int *flag))
{
    const char *found;

    GET_INFO(info, handle);
    if (key_check(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    if (valuelen < 0)
        return mpi_fail(NULL, MPI_ERR_ARG, "valuelen %d", valuelen);
    found = mpi_info_find(info, key);
    *flag = found != NULL;
    if (found != NULL)
        value_copy(value, (size_t)valuelen + 1, found);
    return MPI_SUCCESS;
}

DEF(int, Info_get_string, (MPI_Info handle, const char *key, int *buflen, char *value, int *flag))
{
    const char *found;

    GET_INFO(info, handle);
    if (key_check(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    if (*buflen < 0)
        return mpi_fail(NULL, MPI_ERR_ARG, "buflen %d", *buflen);
    found = mpi_info_find(info, key);
    *flag = found != NULL;
    if (found == NULL)
        return MPI_SUCCESS;
    if (*buflen > 0)
        value_copy(value, (size_t)*buflen, found);
    *buflen = (int)strlen(found) + 1;
    return MPI_SUCCESS;
}

DEF(int, Info_get_valuelen, (MPI_Info handle, const char *key, int *valuelen, int *flag))
{
    const char *found;

    GET_INFO(info, handle);
    if (key_check(key) != MPI_SUCCESS)
        return MPI_ERR_INFO_KEY;
    found = mpi_info_find(info, key);
    *flag = found != NULL;
    if (found != NULL)
        *valuelen = (int)strlen(found);
    return MPI_SUCCESS;
}

DEF(int, Info_get_nkeys, (MPI_Info handle, int *nkeys))
{
    int count = 0;

    GET_INFO(info, handle);
    for (struct entry *entry = info->first; entry != NULL; entry = entry->next)
        count++;
    *nkeys = count;
    return MPI_SUCCESS;
}

DEF(int, Info_get_nthkey, (MPI_Info handle, int n, char *key))
{
    struct entry *entry;
    int left = n;

    GET_INFO(info, handle);
    for (entry = info->first; entry != NULL && left > 0; entry = entry->next)
        left--;
    if (n < 0 || entry == NULL)
        return mpi_fail(NULL, MPI_ERR_ARG, "n = %d is not below the number of keys", n);
    strcpy(key, entry->key);
    return MPI_SUCCESS;
}
