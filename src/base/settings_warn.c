/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Slips in the environment that are no errors: a variable with our prefix that is no setting, and a
 * short time without unit, of which the writer may have meant seconds. Each gets a line in the log.
 */
#include "config.h"

#include "base/log.h"
#include "base/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "MCOMM_"
#define NAME_MAX_NBYTES 48
#define BARE_MS_MAX 1000 /* from here on milliseconds are likely meant */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be put in, left out or changed (Levenshtein); both are short. */
static size_t distance(const char *a, size_t a_nbytes, const char *b, size_t b_nbytes)
{
    size_t row[NAME_MAX_NBYTES + 1], above_left, above;

    for (size_t k = 0; k <= b_nbytes; k++)
        row[k] = k;
    for (size_t i = 0; i < a_nbytes; i++) {
        above_left = row[0]++;
        for (size_t k = 0; k < b_nbytes; k++) {
            above = row[k + 1];
            row[k + 1] = least(above_left + (toupper((unsigned char)a[i]) != b[k]),
                               least(above, row[k]) + 1);
            above_left = above;
        }
    }
    return row[b_nbytes];
}

const char *mci_settings_nearest(const char *name, size_t nbytes, size_t *distance_p)
{
    const char *nearest = NULL;
    mcomm_setting_t setting;
    size_t d;

    *distance_p = nbytes;
    for (size_t i = 0; i < mci_settings_count() && nbytes <= NAME_MAX_NBYTES; i++) {
        mci_settings_describe(i, &setting);
        d = distance(name, nbytes, setting.env, strlen(setting.env));
        if (d < *distance_p) {
            *distance_p = d;
            nearest = setting.env;
        }
    }
    return nearest;
}

static void variable_check(const char *variable)
{
    size_t nbytes = strcspn(variable, "="), away;
    const char *nearest;

    if (strncmp(variable, PREFIX, strlen(PREFIX)) != 0 || strncmp(variable, "MCOMM_TEST_", 11) == 0)
        return;
    nearest = mci_settings_nearest(variable, nbytes, &away);
    if (nearest != NULL && strncmp(variable, nearest, nbytes) == 0 && nearest[nbytes] == '\0')
        return;
    if (nearest != NULL && away <= (nbytes - strlen(PREFIX)) / 2)
        mci_log_warn("%.*s in the environment is no setting: did you mean %s?",
                     (int)least(nbytes, 200), variable, nearest);
    else
        mci_log_warn("%.*s in the environment is no setting: mcomm_info settings lists them",
                     (int)least(nbytes, 200), variable);
}

static void time_check(const mcomm_setting_t *setting)
{
    const char *text = setting->value;
    size_t digits = strspn(text, "0123456789");
    long ms = strtol(text, NULL, 10);

    if (strcmp(setting->type, "ms") == 0 && text[digits] == '\0' && ms > 0 && ms < BARE_MS_MAX)
        mci_log_warn(
            "%s=%s has no unit and means %ld ms: write %lds if that was meant, %ldms if not",
            setting->env, text, ms, ms, ms);
}

void mci_settings_warn(void)
{
    mcomm_setting_t setting;

    for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
        variable_check(*variable);
    for (size_t i = 0; i < mci_settings_count(); i++) {
        mci_settings_describe(i, &setting);
        time_check(&setting);
    }
}
