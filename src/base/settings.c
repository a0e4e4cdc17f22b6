/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The table of settings: from the rows of settings.def come the environment variables, the info
 * keys, the defaults and the list that tools and manual pages print. Values are read once per start
 * of the library; a value that cannot be read is an error that names it, never a silent default.
 */
#include "config.h"

#include "base/settings.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/info.h"
#include "base/mem.h"
#include "base/settings_text.h"

enum setting_kind {
    KIND_size,
    KIND_int,
    KIND_ms,
    KIND_bool,
    KIND_string,
    KIND_secret
};

struct setting_row {
    const char *field, *type, *key, *default_value, *help;
    enum setting_kind kind;
    size_t offset; /* in struct mci_settings */
};

static const struct setting_row rows[] = {
#define XX(field, type, key, dflt, help)                                                           \
    {#field, #type, key, dflt, help, KIND_##type, offsetof(struct mci_settings, field)},
#include "base/settings.def"
#undef XX
};
#define NUM_ROWS (sizeof(rows) / sizeof(rows[0]))
#define ENV_NAME_MAX 48

struct mci_settings mci_settings;
static char env_names[NUM_ROWS][ENV_NAME_MAX];
static pthread_once_t env_names_once = PTHREAD_ONCE_INIT;
static char *texts[NUM_ROWS]; /* copies of what the environment said; NULL: default in force */
static bool is_loaded;

static void env_names_make(void)
{
    for (size_t i = 0; i < NUM_ROWS; i++) {
        snprintf(env_names[i], ENV_NAME_MAX, "MCOMM_%s", rows[i].field);
        for (char *c = env_names[i]; *c != '\0'; c++)
            *c = (char)toupper((unsigned char)*c);
    }
}

static const char *env_name(size_t index)
{
    pthread_once(&env_names_once, env_names_make);
    return env_names[index];
}

/* Store text at the row's place in *out. false: the text cannot be read as the row's type. */
static bool row_parse(const struct setting_row *row, const char *text, void *out)
{
    char *place = (char *)out + row->offset;

    switch (row->kind) {
    case KIND_size:
        return mci_text_to_size(text, (size_t *)(void *)place);
    case KIND_int:
        return mci_text_to_int(text, (int64_t *)(void *)place) &&
               *(int64_t *)(void *)place == (int)*(int64_t *)(void *)place;
    case KIND_ms:
        return mci_text_to_ms(text, (int *)(void *)place);
    case KIND_bool:
        return mci_text_to_bool(text, (bool *)(void *)place);
    case KIND_string:
    case KIND_secret:
        *(const char **)(void *)place = text;
        return true;
    }
    return false;
}

static mcomm_err_t row_load(size_t index, struct mci_settings *out)
{
    const char *env = getenv(env_name(index));
    const char *text = rows[index].default_value;

    if (env != NULL) {
        texts[index] = mci_mem_dup(env, strlen(env) + 1);
        if (texts[index] == NULL)
            return mci_err_set(MCOMM_ERR_NO_MEM, "no memory for the value of %s", env_name(index));
        text = texts[index];
    }
    if (!row_parse(&rows[index], text, out))
        return mci_err_set(MCOMM_ERR_ARG, "%s=%.200s: not a value of type %s (%s)", env_name(index),
                           text, rows[index].type, mci_text_syntax(rows[index].type));
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_settings_load(void)
{
    struct mci_settings loaded;
    mcomm_err_t err;

    if (is_loaded)
        return MCOMM_SUCCESS;
    memset(&loaded, 0, sizeof(loaded));
    for (size_t i = 0; i < NUM_ROWS; i++) {
        err = row_load(i, &loaded);
        if (err != MCOMM_SUCCESS) {
            mci_settings_unload();
            return err;
        }
    }
    mci_settings = loaded;
    is_loaded = true;
    return MCOMM_SUCCESS;
}

void mci_settings_unload(void)
{
    for (size_t i = 0; i < NUM_ROWS; i++) {
        mci_mem_free(texts[i]);
        texts[i] = NULL;
    }
    memset(&mci_settings, 0, sizeof(mci_settings));
    is_loaded = false;
}

/* ---- the list for tools --------------------------------------------------------------------- */
static const char *row_env_text(size_t index)
{
    return is_loaded ? texts[index] : getenv(env_name(index));
}

size_t mci_settings_count(void)
{
    return NUM_ROWS;
}

void mci_settings_describe(size_t index, mcomm_setting_t *setting)
{
    const char *text = row_env_text(index);

    setting->env = env_name(index);
    setting->key = rows[index].key;
    setting->type = rows[index].type;
    setting->default_value = rows[index].default_value;
    setting->value = text != NULL ? text : rows[index].default_value;
    if (rows[index].kind == KIND_secret && setting->value[0] != '\0')
        setting->value = "(not shown)";
    setting->source = text != NULL ? "environment" : "default";
    setting->help = rows[index].help;
}

/* ---- overlays by info objects --------------------------------------------------------------- */
static const struct setting_row *row_of_key(const char *key, size_t *index_p)
{
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (rows[i].key != NULL && strcmp(rows[i].key, key) == 0) {
            *index_p = i;
            return &rows[i];
        }
    }
    return NULL;
}

static const char *info_text(mcomm_info_t handle, const char *key)
{
    struct mci_info *info;

    if (mci_info_get(handle, &info) != MCOMM_SUCCESS || info == NULL)
        return NULL;
    return mci_info_find(info, key);
}

const char *mci_settings_text(mcomm_info_t info, const char *key)
{
    const char *text = info_text(info, key);
    size_t index;

    if (text != NULL)
        return text;
    if (row_of_key(key, &index) == NULL)
        return NULL;
    text = row_env_text(index);
    return text != NULL ? text : rows[index].default_value;
}

static mcomm_err_t bad_info_text(const char *key, const char *text, const char *type)
{
    return mci_err_set(MCOMM_ERR_INFO, "info key %s = \"%.200s\": not a value of type %s (%s)", key,
                       text, type, mci_text_syntax(type));
}

mcomm_err_t mci_settings_size(mcomm_info_t info, const char *key, size_t *value_p)
{
    const char *text = mci_settings_text(info, key);

    if (text == NULL)
        return mci_err_set(MCOMM_ERR_INFO, "info key %s is not set and is no setting", key);
    if (!mci_text_to_size(text, value_p))
        return bad_info_text(key, text, "size");
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_settings_int(mcomm_info_t info, const char *key, int64_t *value_p)
{
    const char *text = mci_settings_text(info, key);
    size_t index;
    int ms;

    if (text == NULL)
        return mci_err_set(MCOMM_ERR_INFO, "info key %s is not set and is no setting", key);
    if (row_of_key(key, &index) != NULL && rows[index].kind == KIND_ms) {
        if (!mci_text_to_ms(text, &ms))
            return bad_info_text(key, text, "ms");
        *value_p = ms;
        return MCOMM_SUCCESS;
    }
    if (!mci_text_to_int(text, value_p))
        return bad_info_text(key, text, "int");
    return MCOMM_SUCCESS;
}
