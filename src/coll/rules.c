/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* A user's choice of algorithms as text: the setting MCOMM_COLL, the info key "coll". */
#include "base/settings_text.h"
#include "coll/table.h"

#include <stdio.h>
#include <string.h>

enum coll_kind mci_coll_kind_of(const char *name, size_t length)
{
    for (int kind = COLL_BARRIER; kind < COLL_KIND_NUM; kind++) {
        const char *known = mci_coll_kind_name((enum coll_kind)kind);

        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return (enum coll_kind)kind;
    }
    return 0;
}

/* Names of the kinds, or of the algorithms of one. */
static const char *names(enum coll_kind kind)
{
    static __thread char text[256];
    size_t used = 0;

    text[0] = '\0';
    if (kind == 0) {
        for (int i = COLL_BARRIER; i < COLL_KIND_NUM && used < sizeof(text); i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 1 ? ", " : "",
                                     mci_coll_kind_name((enum coll_kind)i));
        return text;
    }
    for (size_t i = 0; i < mci_coll_row_count && used < sizeof(text); i++)
        if (mci_coll_rows[i].kind == kind && strstr(text, mci_coll_rows[i].name) == NULL)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? ", " : "",
                                     mci_coll_rows[i].name);
    return text;
}

static const struct coll_row *row_of(enum coll_kind kind, const char *name, size_t length)
{
    for (size_t i = 0; i < mci_coll_row_count; i++) {
        const struct coll_row *row = &mci_coll_rows[i];

        if (row->kind == kind && strlen(row->name) == length &&
            memcmp(row->name, name, length) == 0)
            return row;
    }
    return NULL;
}

static mcomm_err_t add(struct coll_rules *rules, const struct coll_row *row, size_t from,
                       mcomm_err_t err)
{
    if (rules->count == COLL_RULES_MAX)
        return mci_err_set(err, "coll: more than %d rules", COLL_RULES_MAX);
    rules->list[rules->count++] = (struct coll_rule){row, from};
    return MCOMM_SUCCESS;
}

/* For every collective that has the algorithm. */
static mcomm_err_t add_all(struct coll_rules *rules, const char *algo, size_t from, mcomm_err_t err)
{
    mcomm_err_t result = MCOMM_SUCCESS;
    int before = rules->count;

    for (int kind = COLL_BARRIER; kind < COLL_KIND_NUM && result == MCOMM_SUCCESS; kind++) {
        const struct coll_row *row = row_of((enum coll_kind)kind, algo, strlen(algo));

        if (row != NULL)
            result = add(rules, row, from, err);
    }
    if (result == MCOMM_SUCCESS && rules->count == before)
        return mci_err_set(err, "coll: no collective has an algorithm \"%s\"", algo);
    return result;
}

/* One "kind:algorithm@from" of length characters. */
static mcomm_err_t rule_parse(const char *text, size_t length, mcomm_err_t err,
                              struct coll_rules *rules)
{
    char item[96], *algo, *at;
    enum coll_kind kind;
    const struct coll_row *row;
    size_t from = 0;

    if (length >= sizeof(item))
        return mci_err_set(err, "coll: \"%.40s...\" is too long for a rule", text);
    memcpy(item, text, length);
    item[length] = '\0';
    algo = strchr(item, ':');
    if (algo == NULL)
        return mci_err_set(err, "coll: \"%s\" is no rule such as allreduce:ring@64k", item);
    *algo++ = '\0';
    at = strchr(algo, '@');
    if (at != NULL)
        *at++ = '\0';
    if (at != NULL && !mci_text_to_size(at, &from))
        return mci_err_set(err, "coll: %s:%s@%s: not a size (%s)", item, algo, at,
                           mci_text_syntax("size"));
    if (strcmp(item, "*") == 0)
        return add_all(rules, algo, from, err);
    kind = mci_coll_kind_of(item, strlen(item));
    if (kind == 0)
        return mci_err_set(err, "coll: \"%s\" is no collective; there are %s", item, names(0));
    row = row_of(kind, algo, strlen(algo));
    if (row == NULL)
        return mci_err_set(err, "coll: %s has no algorithm \"%s\"; it has %s", item, algo,
                           names(kind));
    return add(rules, row, from, err);
}

mcomm_err_t mci_coll_rules_parse(const char *text, mcomm_err_t err, struct coll_rules *rules)
{
    mcomm_err_t result = MCOMM_SUCCESS;

    rules->count = 0;
    while (*text != '\0' && result == MCOMM_SUCCESS) {
        size_t length = strcspn(text, ",");

        result = rule_parse(text, length, err, rules);
        text += length;
        text += *text == ',';
    }
    return result;
}
