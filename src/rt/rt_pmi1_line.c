/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * PMI-1's lines, the one connection to the launcher, and its key-value space. Values are short and
 * text only, so bytes go in base64 pieces. Whoever finds the launcher gone or silent marks the
 * connection: no later start uses it.
 */
#include "config.h"

#include "rt/rt_pmi1.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "rt/rt_base64.h"

struct mci_rt_pmi mci_rt_pmi;

static mcomm_err_t launcher_lost(void)
{
    mci_rt_pmi.is_stuck = mci_rt_pmi.is_unresponsive = true;
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher closed PMI_FD=%d during start-up",
                       mci_rt_pmi.fd);
}

static bool wait_fd(short events, int64_t deadline_ns)
{
    struct pollfd poll_fd = {.fd = mci_rt_pmi.fd, .events = events};
    int64_t left_ns;
    int rc;

    do {
        left_ns = deadline_ns - mci_clock_ns();
        if (left_ns < 0)
            return false;
        rc = poll(&poll_fd, 1, left_ns / 1000000 < 1000 ? (int)(left_ns / 1000000) + 1 : 1000);
    } while (rc <= 0);
    return true;
}

mcomm_err_t mci_rt_pmi_send(const char *text, size_t nbytes, int64_t deadline_ns)
{
    while (nbytes > 0) {
        ssize_t n = send(mci_rt_pmi.fd, text, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == ENOTSOCK)
            n = write(mci_rt_pmi.fd, text, nbytes);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return launcher_lost();
        if (n < 0 && !wait_fd(POLLOUT, deadline_ns))
            return MCOMM_ERR_TIMEOUT;
        text += n > 0 ? n : 0;
        nbytes -= n > 0 ? (size_t)n : 0;
    }
    return MCOMM_SUCCESS;
}

/* One line without its newline. MCOMM_ERR_TIMEOUT is returned without an error text. */
static mcomm_err_t read_line(char line[MCI_RT_PMI_LINE_MAX], int64_t deadline_ns)
{
    char *end;

    while ((end = memchr(mci_rt_pmi.line, '\n', mci_rt_pmi.line_got)) == NULL) {
        ssize_t n;

        if (mci_rt_pmi.line_got == sizeof(mci_rt_pmi.line))
            return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher sent a line of over %d bytes",
                               MCI_RT_PMI_LINE_MAX);
        if (!wait_fd(POLLIN, deadline_ns))
            return MCOMM_ERR_TIMEOUT;
        n = read(mci_rt_pmi.fd, mci_rt_pmi.line + mci_rt_pmi.line_got,
                 sizeof(mci_rt_pmi.line) - mci_rt_pmi.line_got);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return launcher_lost();
        mci_rt_pmi.line_got += n > 0 ? (size_t)n : 0;
    }
    memcpy(line, mci_rt_pmi.line, (size_t)(end - mci_rt_pmi.line));
    line[end - mci_rt_pmi.line] = '\0';
    mci_rt_pmi.line_got -= (size_t)(end + 1 - mci_rt_pmi.line);
    memmove(mci_rt_pmi.line, end + 1, mci_rt_pmi.line_got);
    return MCOMM_SUCCESS;
}

bool mci_rt_pmi_line_value(const char *line, const char *key, char *value, size_t nbytes)
{
    size_t key_nbytes = strlen(key);

    for (const char *p = line; *p != '\0'; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");

        if (n > key_nbytes && strncmp(p, key, key_nbytes) == 0 && p[key_nbytes] == '=') {
            if (n - key_nbytes - 1 >= nbytes)
                return false;
            memcpy(value, p + key_nbytes + 1, n - key_nbytes - 1);
            value[n - key_nbytes - 1] = '\0';
            return true;
        }
        p += n;
    }
    return false;
}

int mci_rt_pmi_line_int(const char *line, const char *key, int dflt)
{
    char value[32];

    return mci_rt_pmi_line_value(line, key, value, sizeof(value)) ? atoi(value) : dflt;
}

mcomm_err_t mci_rt_pmi_command(char answer[MCI_RT_PMI_LINE_MAX], const char *name,
                               int64_t deadline_ns, const char *fmt, ...)
{
    char text[MCI_RT_PMI_LINE_MAX], cmd[64];
    mcomm_err_t err;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof(text))
        return mci_err_set(MCOMM_ERR_INTERNAL, "a PMI line of %d bytes", n);
    err = mci_rt_pmi_send(text, (size_t)n, deadline_ns);
    while (err == MCOMM_SUCCESS) {
        err = read_line(answer, deadline_ns);
        if (err != MCOMM_SUCCESS || !mci_rt_pmi_line_value(answer, "cmd", cmd, sizeof(cmd)))
            continue;
        if (strcmp(cmd, "barrier_out") == 0)
            mci_rt_pmi.is_released = true;
        else if (strcmp(cmd, name) == 0)
            return MCOMM_SUCCESS;
    }
    if (err != MCOMM_SUCCESS)
        mci_rt_pmi.is_stuck = mci_rt_pmi.is_unresponsive = true;
    return err;
}

mcomm_err_t mci_rt_pmi_await_release(int64_t deadline_ns)
{
    char line[MCI_RT_PMI_LINE_MAX], cmd[64];
    mcomm_err_t err = MCOMM_SUCCESS;

    while (!mci_rt_pmi.is_released && err == MCOMM_SUCCESS) {
        err = read_line(line, deadline_ns);
        if (err == MCOMM_SUCCESS && mci_rt_pmi_line_value(line, "cmd", cmd, sizeof(cmd)))
            mci_rt_pmi.is_released = strcmp(cmd, "barrier_out") == 0;
    }
    return err;
}

mcomm_err_t mci_rt_pmi_no_answer(const struct mci_rt *rt, const char *to)
{
    return mci_err_set(MCOMM_ERR_TIMEOUT, "the PMI launcher did not answer to %s within %d ms", to,
                       rt->timeout_ms);
}

/* ---- key-value space */
/* The length comes first, in the first piece. */
mcomm_err_t mci_rt_pmi_put(struct mci_rt *rt, const char *name, const unsigned char *bytes,
                           size_t nbytes)
{
    unsigned char piece[MCI_RT_PMI_VALUE_MAX];
    char value[MCI_RT_PMI_VALUE_MAX + 1], answer[MCI_RT_PMI_LINE_MAX];
    size_t begin = 0;
    mcomm_err_t err;

    for (int i = 0; i == 0 || begin < nbytes; i++) {
        size_t head = i == 0 ? 4 : 0;
        size_t n = mci_rt_pmi.piece_nbytes - head;

        n = n < nbytes - begin ? n : nbytes - begin;
        for (size_t k = 0; k < head; k++)
            piece[k] = (unsigned char)(nbytes >> 8 * k);
        memcpy(piece + head, bytes + begin, n);
        begin += n;
        mci_rt_base64_encode(piece, head + n, value);
        err = mci_rt_pmi_command(answer, "put_result", rt->deadline_ns,
                                 "cmd=put kvsname=%s key=%s-%d value=%s\n", mci_rt_pmi.kvs, name, i,
                                 value);
        if (err == MCOMM_ERR_TIMEOUT)
            return mci_rt_pmi_no_answer(rt, "put");
        if (err != MCOMM_SUCCESS)
            return err;
        if (mci_rt_pmi_line_int(answer, "rc", 0) != 0)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher did not take %s-%d: %.200s",
                               name, i, answer);
    }
    return MCOMM_SUCCESS;
}

/* MCOMM_ERR_NOT_FOUND, without an error text, if there is no such key. */
static mcomm_err_t get_piece(struct mci_rt *rt, const char *name, int i, unsigned char *piece,
                             size_t *nbytes_p)
{
    char value[MCI_RT_PMI_VALUE_MAX + 1], answer[MCI_RT_PMI_LINE_MAX];
    mcomm_err_t err;

    err = mci_rt_pmi_command(answer, "get_result", rt->deadline_ns,
                             "cmd=get kvsname=%s key=%s-%d\n", mci_rt_pmi.kvs, name, i);
    if (err == MCOMM_ERR_TIMEOUT)
        return mci_rt_pmi_no_answer(rt, "get");
    if (err != MCOMM_SUCCESS)
        return err;
    if (mci_rt_pmi_line_int(answer, "rc", 0) != 0)
        return MCOMM_ERR_NOT_FOUND;
    if (!mci_rt_pmi_line_value(answer, "value", value, sizeof(value)) ||
        !mci_rt_base64_decode(value, piece, MCI_RT_PMI_VALUE_MAX, nbytes_p))
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher spoilt %s-%d", name, i);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_rt_pmi_get(struct mci_rt *rt, const char *name, size_t max, unsigned char **bytes_p,
                           size_t *nbytes_p)
{
    unsigned char piece[MCI_RT_PMI_VALUE_MAX];
    unsigned char *bytes;
    size_t total, got, n = 0;
    mcomm_err_t err;

    err = get_piece(rt, name, 0, piece, &n);
    if (err != MCOMM_SUCCESS)
        return err;
    total = n < 4 ? max + 1
                  : (size_t)piece[0] | (size_t)piece[1] << 8 | (size_t)piece[2] << 16 |
                        (size_t)piece[3] << 24;
    if (total > max || n - 4 > total)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher spoilt %s", name);
    bytes = mci_mem_alloc(total);
    if (bytes == NULL)
        return MCOMM_ERR_NO_MEM;
    memcpy(bytes, piece + 4, n - 4);
    got = n - 4;
    for (int i = 1; got < total && err == MCOMM_SUCCESS; i++) {
        err = get_piece(rt, name, i, piece, &n);
        if (err == MCOMM_SUCCESS && (n == 0 || n > total - got))
            err = MCOMM_ERR_NOT_FOUND;
        if (err == MCOMM_SUCCESS)
            memcpy(bytes + got, piece, n);
        got += n;
    }
    if (err != MCOMM_SUCCESS) {
        mci_mem_free(bytes);
        return err == MCOMM_ERR_NOT_FOUND
                   ? mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher lost a part of %s", name)
                   : err;
    }
    *bytes_p = bytes;
    *nbytes_p = total;
    return MCOMM_SUCCESS;
}
