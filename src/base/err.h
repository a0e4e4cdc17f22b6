/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Errors of the calling thread. Whoever decides that something is an error calls mci_err_set()
 * once, with the values that decided; callers pass the code up.
 */
#ifndef MCI_BASE_ERR_H
#define MCI_BASE_ERR_H

#include "mooncake_comm.h"

/* Internal: the operation was queued; its callback tells how it ends. Never leaves the library. */
#define MCI_PENDING ((mcomm_err_t)-1)

/* Remember the text for mcomm_last_error(), log it at level debug, return err. */
mcomm_err_t mci_err_set(mcomm_err_t err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* As mci_err_set(), and append ": " and the text of errno value sys_errno. */
mcomm_err_t mci_err_sys(mcomm_err_t err, int sys_errno, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The code for a resource that the system did not give: LIMIT for descriptors, NO_MEM, else SYS. */
mcomm_err_t mci_err_of_errno(int sys_errno);

void mci_err_clear(void); /* forget the text */

/* The value is err itself: compiler and analyzer see that an error is not a success. */
#define mci_err_set(err, ...)                                                                      \
    ({                                                                                             \
        const mcomm_err_t err_set_ = (err);                                                        \
        (mci_err_set)(err_set_, __VA_ARGS__);                                                      \
        err_set_;                                                                                  \
    })
#define mci_err_sys(err, ...)                                                                      \
    ({                                                                                             \
        const mcomm_err_t err_sys_ = (err);                                                        \
        (mci_err_sys)(err_sys_, __VA_ARGS__);                                                      \
        err_sys_;                                                                                  \
    })

#endif
