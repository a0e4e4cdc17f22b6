/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Admission of one end of a stream socket (tcp or unix), driven by the event loop under a
 * deadline. Both ends prove that they know the *acceptor's* card key: the connector has its card,
 * the acceptor its own key. Nothing of what an unproven peer sent is acted upon, garbage closes
 * that socket only, and the number of unproven incoming connections is bounded.
 */
#ifndef MCI_RAIL_HANDSHAKE_H
#define MCI_RAIL_HANDSHAKE_H

#include "base/loop.h"
#include "rail/rail_priv.h"
#include "rt/auth.h"

#define MCI_HANDSHAKE_INCOMING_MAX 128 /* unproven incoming connections; the oldest is dropped */
#define MCI_HANDSHAKE_EXTRA_MAX 64

/* How it ended. On success fd belongs to the callee; on failure it is closed and -1. */
struct mci_handshake_end {
    mcomm_err_t err; /* ERR_AUTH: not admitted; ERR_TIMEOUT; ERR_UNREACHABLE: see sys_errno */
    int sys_errno;   /* of the connect or of the lost connection; 0: closed by the other side */
    int fd;
    const struct mci_card *card; /* the connector's, checked for its form; NULL at the connector */
    const void *extra;           /* what the other side's rail added; valid during the call only */
    size_t extra_nbytes;
};
typedef void (*mci_handshake_fn_t)(void *arg, const struct mci_handshake_end *end);

struct mci_handshake;

/*
 * Both: fd is non-blocking and is taken over, also on error (then it is closed and fn is not
 * called). fn is called once, never from within. extra: at most MCI_HANDSHAKE_EXTRA_MAX bytes of
 * the rail's own that the other side gets once it has proven itself; copied. lock: engine
 *
 * connect: fd may still be connecting; the deadline covers that too. Sends this process's card.
 */
mcomm_err_t mci_handshake_connect(int fd, const struct mci_card *acceptor, const void *extra,
                                  size_t extra_nbytes, int timeout_ms, mci_handshake_fn_t fn,
                                  void *arg, struct mci_handshake **handshake_p);
mcomm_err_t mci_handshake_accept(int fd, const void *extra, size_t extra_nbytes, int timeout_ms,
                                 mci_handshake_fn_t fn, void *arg);
/* Has the other side's system taken the connection? */
bool mci_handshake_is_connected(const struct mci_handshake *handshake);
/* Has the proof been sent? From then on the other side may have taken the connection. */
bool mci_handshake_is_committed(const struct mci_handshake *handshake);
/* Close it; fn is not called. Not after fn was called. */
void mci_handshake_cancel(struct mci_handshake *handshake);
/* Close all incoming ones whose fn this is: the listener goes. */
void mci_handshake_cancel_incoming(mci_handshake_fn_t fn);

#endif
