/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Reading of sizes, times, numbers and truth values. Decimal fractions are read by hand, because
 * strtod() follows the application's locale. Overflow is a failure, never a wrap.
 */
#include "config.h"

#include "base/settings_text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", 1024},
    {"kb", 1024},
    {"kib", 1024},
    {"m", 1024 * 1024},
    {"mb", 1024 * 1024},
    {"mib", 1024 * 1024},
    {"g", UINT64_C(1) << 30},
    {"gb", UINT64_C(1) << 30},
    {"gib", UINT64_C(1) << 30},
    {"t", UINT64_C(1) << 40},
    {"tb", UINT64_C(1) << 40},
    {"tib", UINT64_C(1) << 40},
    {NULL, 0},
};

static const struct unit ms_units[] = {
    {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};

static const char *skip_space(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static uint64_t unit_factor(const struct unit *units, const char *text)
{
    size_t nbytes;

    text = skip_space(text);
    nbytes = strlen(text);
    while (nbytes > 0 && isspace((unsigned char)text[nbytes - 1]))
        nbytes--;
    for (; units->name != NULL; units++) {
        if (strlen(units->name) == nbytes && strncasecmp(units->name, text, nbytes) == 0)
            return units->factor;
    }
    return 0;
}

/* Digits, optionally a point and more digits (three count), a unit. */
static bool parse_scaled(const char *text, const struct unit *units, uint64_t *value_p)
{
    uint64_t whole = 0, thousandths = 0, weight = 100, factor;
    const char *c = skip_space(text);

    if (!isdigit((unsigned char)*c))
        return false;
    for (; isdigit((unsigned char)*c); c++) {
        if (__builtin_mul_overflow(whole, UINT64_C(10), &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*c - '0'), &whole))
            return false;
    }
    if (*c == '.') {
        for (c++; isdigit((unsigned char)*c); c++, weight /= 10)
            thousandths += weight * (uint64_t)(*c - '0');
    }
    factor = unit_factor(units, c);
    if (factor == 0 || __builtin_mul_overflow(whole, factor, &whole))
        return false;
    return !__builtin_add_overflow(whole, factor * thousandths / 1000, value_p);
}

bool mci_text_to_size(const char *text, size_t *value_p)
{
    uint64_t value;

    if (!parse_scaled(text, size_units, &value) || value > PTRDIFF_MAX)
        return false;
    *value_p = (size_t)value;
    return true;
}

bool mci_text_to_ms(const char *text, int *value_p)
{
    uint64_t value;

    if (strcmp(text, "-1") == 0) {
        *value_p = -1;
        return true;
    }
    if (!parse_scaled(text, ms_units, &value) || value > INT_MAX)
        return false;
    *value_p = (int)value;
    return true;
}

bool mci_text_to_int(const char *text, int64_t *value_p)
{
    long long value;
    char *end;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *skip_space(end) != '\0')
        return false;
    *value_p = value;
    return true;
}

bool mci_text_to_bool(const char *text, bool *value_p)
{
    static const char *const yes[] = {"yes", "on", "true", "1", "y"};
    static const char *const no[] = {"no", "off", "false", "0", "n"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *value_p = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

const char *mci_text_syntax(const char *type)
{
    static const char *const syntax[][2] = {
        {"size", "bytes, as in 65536, 64k, 1.5G"},
        {"int", "a whole number"},
        {"ms", "with unit, as in 500ms, 2s, 1m, 1h; without one milliseconds; -1 is for ever"},
        {"bool", "yes or no"},
    };

    for (size_t i = 0; i < sizeof(syntax) / sizeof(syntax[0]); i++) {
        if (strcmp(type, syntax[i][0]) == 0)
            return syntax[i][1];
    }
    return "text";
}
