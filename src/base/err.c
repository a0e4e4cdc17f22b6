/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* Error texts: the static table and the calling thread's last error. */
#include "config.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    mcomm_err_t code;
    const char *name, *text;
} err_rows[] = {
#define ERR_ROW(name, code, text) {MCOMM_##name, "MCOMM_" #name, text},
    MCOMM_ERR_LIST(ERR_ROW)
#undef ERR_ROW
};

static __thread char last_text[1024];

static const char *err_column(mcomm_err_t err, bool want_name)
{
    for (size_t i = 0; i < sizeof(err_rows) / sizeof(err_rows[0]); i++)
        if (err_rows[i].code == err)
            return want_name ? err_rows[i].name : err_rows[i].text;
    return want_name ? "MCOMM_ERR_UNKNOWN" : "unknown error code";
}

const char *mcomm_err_text(mcomm_err_t err)
{
    return err_column(err, false);
}

const char *mcomm_err_name(mcomm_err_t err)
{
    return err_column(err, true);
}

mcomm_err_scope_t mcomm_err_scope(mcomm_err_t err)
{
    static const mcomm_err_scope_t scopes[] = {MCOMM_SCOPE_CALL, MCOMM_SCOPE_LOCAL,
                                               MCOMM_SCOPE_PEER, MCOMM_SCOPE_COMM,
                                               MCOMM_SCOPE_OBJECT};

    if (err == MCOMM_SUCCESS)
        return MCOMM_SCOPE_NONE;
    if ((int)err < 0 || (int)err >= 500)
        return MCOMM_SCOPE_CALL;
    return scopes[(int)err / 100];
}

const char *mcomm_last_error(void)
{
    return last_text;
}

void mci_err_clear(void)
{
    last_text[0] = '\0';
}

__attribute__((format(printf, 2, 0))) static void err_vset(mcomm_err_t err, const char *fmt,
                                                           va_list args)
{
    char text[sizeof(last_text)]; /* an argument may be the text before, mcomm_last_error() */

    vsnprintf(text, sizeof(text), fmt, args);
    memcpy(last_text, text, strlen(text) + 1);
    mci_log_debug("%s: %s", mcomm_err_name(err), last_text);
}

mcomm_err_t(mci_err_set)(mcomm_err_t err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    err_vset(err, fmt, args);
    va_end(args);
    return err;
}

mcomm_err_t(mci_err_sys)(mcomm_err_t err, int sys_errno, const char *fmt, ...)
{
    char text[400], buf[96];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return mci_err_set(err, "%s: %s", text, strerror_r(sys_errno, buf, sizeof(buf)));
}

mcomm_err_t mci_err_of_errno(int sys_errno)
{
    switch (sys_errno) {
    case EMFILE:
    case ENFILE:
        return MCOMM_ERR_LIMIT;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
        return MCOMM_ERR_NO_MEM;
    default:
        return MCOMM_ERR_SYS;
    }
}
