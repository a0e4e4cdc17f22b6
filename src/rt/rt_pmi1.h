/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * PMI-1 itself: lines over a descriptor, and the launcher's key-value space. What they are used for
 * is in rt_pmi1.c.
 */
#ifndef MCI_RT_PMI1_H
#define MCI_RT_PMI1_H

#include "rt/rt_priv.h"

#define MCI_RT_PMI_LINE_MAX 4096
#define MCI_RT_PMI_VALUE_MAX 1024 /* also if the launcher would take more */
#define MCI_RT_PMI_KEY_MAX 64

/* There is one connection to the launcher in a process. Only the starting thread uses it. */
struct mci_rt_pmi {
    pid_t owner; /* a forked child has no part in it */
    int fd;
    bool has_exit_hook;
    bool is_stuck;        /* a barrier never ended: no further start */
    bool is_unresponsive; /* an answer never came, or the launcher is gone: no further word */
    unsigned generation;
    bool is_released;    /* the barrier has ended */
    size_t piece_nbytes; /* of a packet per value */
    char kvs[256];
    size_t line_got;
    char line[MCI_RT_PMI_LINE_MAX];
};
extern struct mci_rt_pmi mci_rt_pmi;

mcomm_err_t mci_rt_pmi_send(const char *text, size_t nbytes, int64_t deadline_ns);
/* Send a command and read lines until the answer of that name; the barrier's may come before it. */
__attribute__((format(printf, 4, 5))) mcomm_err_t
mci_rt_pmi_command(char answer[MCI_RT_PMI_LINE_MAX], const char *name, int64_t deadline_ns,
                   const char *fmt, ...);
/* The barrier is open until its answer comes, at any time. MCOMM_ERR_TIMEOUT without an error text.
 */
mcomm_err_t mci_rt_pmi_await_release(int64_t deadline_ns);
mcomm_err_t mci_rt_pmi_no_answer(const struct mci_rt *rt, const char *to);
/* The value of key in "cmd=x key=value ...", copied; false if it is not there or too long. */
bool mci_rt_pmi_line_value(const char *line, const char *key, char *value, size_t nbytes);
int mci_rt_pmi_line_int(const char *line, const char *key, int dflt);

/* Bytes of any length under a name, in pieces. */
mcomm_err_t mci_rt_pmi_put(struct mci_rt *rt, const char *name, const unsigned char *bytes,
                           size_t nbytes);
/* MCOMM_ERR_NOT_FOUND, without an error text, if there is no such name. bytes_p: mci_mem_free() */
mcomm_err_t mci_rt_pmi_get(struct mci_rt *rt, const char *name, size_t max, unsigned char **bytes_p,
                           size_t *nbytes_p);

#endif
