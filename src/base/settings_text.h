/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Values of settings as text. All return false for text that is not wholly such a value. */
#ifndef MCI_BASE_SETTINGS_TEXT_H
#define MCI_BASE_SETTINGS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool mci_text_to_size(const char *text, size_t *value_p); /* "65536", "64k", "1.5G", "2MiB" */
bool mci_text_to_int(const char *text, int64_t *value_p); /* "-1" */
bool mci_text_to_ms(const char *text, int *value_p);      /* "500", "500ms", "2s", "1.5m", "-1" */
bool mci_text_to_bool(const char *text, bool *value_p);   /* yes no on off true false 1 0 */
const char *mci_text_syntax(const char *type); /* for messages: how a value of the type looks */

#endif
