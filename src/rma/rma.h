/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Windows, one-sided operations and their synchronisation: the contract to the layers above.
 * Where a target's part is mapped into this process an operation is a few instructions and takes
 * no lock; everywhere else it goes under the engine lock, which these functions take themselves
 * when they need it.
 */
#ifndef MCI_RMA_RMA_H
#define MCI_RMA_RMA_H

#include "core/core.h"

struct mci_win;

extern const struct mci_core_module mci_rma_module;

/* ---- element types and operations (atomics.c) --------------------------------------------------
 */
size_t mci_dtype_nbytes(mcomm_datatype_t dtype); /* 0: not a type */
const char *mci_dtype_name(mcomm_datatype_t dtype);
const char *mci_op_name(mcomm_op_t op);
bool mci_dtype_is_windows(mcomm_datatype_t dtype); /* else collectives only */
bool mci_op_is_legal(mcomm_op_t op, mcomm_datatype_t dtype);
/*
 * mem[i] = mem[i] op operand[i], each element atomically; the old elements go to old, if not NULL.
 * mem is aligned to its element; operand and old need not be. operand may be NULL for NO_OP.
 */
void mci_rma_acc_apply(void *mem, const void *operand, void *old, size_t count,
                       mcomm_datatype_t dtype, mcomm_op_t op);
bool mci_rma_swap_is_legal(mcomm_datatype_t dtype);
void mci_rma_swap_apply(void *mem, const void *compare, const void *swap, void *old,
                        mcomm_datatype_t dtype);

/* ---- windows: collective. lock: engine, released while waiting --------------------------------
 */
struct mci_win *
mci_win_get(mcomm_win_t handle); /* NULL and mci_err_set() if not valid. lock: none */
/* Whatever it returns the window is gone afterwards. */
mcomm_err_t mci_rma_win_free(struct mci_win *win);
mcomm_win_t mci_win_handle(const struct mci_win *win);
/* Is target on another node, or to be served by its owner? Asks the peer if need be. lock: none */
mcomm_err_t mci_rma_shared_query(struct mci_win *win, int rank, void **base_p);

/* ---- operations. lock: none --------------------------------------------------------------------
 */
mcomm_err_t mci_rma_put(struct mci_win *win, const void *buf, size_t nbytes, int target,
                        uint64_t disp);
mcomm_err_t mci_rma_get(struct mci_win *win, void *buf, size_t nbytes, int target, uint64_t disp);
mcomm_err_t mci_rma_rput(struct mci_win *win, const void *buf, size_t nbytes, int target,
                         uint64_t disp, mcomm_request_t *request_p);
mcomm_err_t mci_rma_rget(struct mci_win *win, void *buf, size_t nbytes, int target, uint64_t disp,
                         mcomm_request_t *request_p);
mcomm_err_t mci_rma_putv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target);
mcomm_err_t mci_rma_getv(struct mci_win *win, const mcomm_rma_seg_t *segs, size_t seg_count,
                         int target);
mcomm_err_t mci_rma_accumulate(struct mci_win *win, const void *buf, size_t count,
                               mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op);
mcomm_err_t mci_rma_get_accumulate(struct mci_win *win, const void *buf, void *result, size_t count,
                                   mcomm_datatype_t dtype, int target, uint64_t disp,
                                   mcomm_op_t op);
mcomm_err_t mci_rma_fetch_and_op(struct mci_win *win, const void *buf, void *result,
                                 mcomm_datatype_t dtype, int target, uint64_t disp, mcomm_op_t op);
mcomm_err_t mci_rma_compare_and_swap(struct mci_win *win, const void *swap, const void *compare,
                                     void *result, mcomm_datatype_t dtype, int target,
                                     uint64_t disp);
mcomm_err_t mci_rma_put_signal(struct mci_win *win, const void *buf, size_t nbytes, int target,
                               uint64_t disp, uint64_t signal_disp, uint64_t signal,
                               mcomm_signal_op_t op);
mcomm_err_t mci_rma_wait_signal(struct mci_win *win, uint64_t signal_disp, mcomm_cmp_t cmp,
                                uint64_t value, int timeout_ms, uint64_t *value_p);
mcomm_err_t mci_rma_flush(struct mci_win *win, int target);
mcomm_err_t mci_rma_flush_local(struct mci_win *win, int target);
mcomm_err_t mci_rma_flush_all(struct mci_win *win);
mcomm_err_t mci_rma_flush_local_all(struct mci_win *win);

/* ---- for frames of the layers above that ask a peer and are answered. lock: engine -------------
 */
struct rma_waiter {
    struct mci_waiter inner;
    struct mci_peer *peer;
    int timeout_ms;
    int64_t deadline_ns, kick_ns, interval_ns;
};
/* As mci_wait_begin() and mci_wait_step(), for an answer of peer, which may be computing. */
void mci_rma_wait_begin(struct rma_waiter *w, struct mci_peer *peer, int timeout_ms);
mcomm_err_t mci_rma_wait_step(struct rma_waiter *w);
/* Waits for answers that this thread begins last that long at most, whatever the communicator's
 * limit; -1: no limit but that. */
void mci_rma_wait_cap(int timeout_ms);
/* fn again, with the whole payload, once it has arrived. */
void mci_rma_defer(struct mci_peer *peer, const struct mci_frame *frame, struct mci_sink *sink,
                   mci_am_fn_t fn);

#endif
