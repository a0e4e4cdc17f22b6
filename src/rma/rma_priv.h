/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the files of this folder share. An origin sees a *target* (a member's part of a window): it
 * reaches it through the *map* if there is one, else through a *path* (frames, bulk operations,
 * or reads and writes of the other process's memory). A target sees *origins*.
 */
#ifndef MCI_RMA_RMA_PRIV_H
#define MCI_RMA_RMA_PRIV_H

#include "config.h"

#include "base/hash.h"
#include "base/mem.h"
#include "rma/interval.h"
#include "rma/rma.h"

#define RMA_GET_FRAME_MAX 16384u /* larger gets are bulk operations, received in place */
#define RMA_ACC_CHUNK 8192u      /* operand bytes of one accumulate frame */
#define RMA_OPS_MAX 1024u        /* operations with a record of their own under way to one target */
#define RMA_MARK_NBYTES                                                                            \
    (2u << 20) /* at most two of these are under way without acknowledgement                       \
                */
#define RMA_ACK_EVERY 16u

enum rma_kind {
    RMA_ALLOCATED = 1,
    RMA_CREATED,
    RMA_DYNAMIC
};

/* ---- on the wire ---- */
/* What each member tells the others when a window is made. */
struct rma_part {
    uint64_t base;   /* address at the owner */
    uint64_t nbytes; /* dynamic: all addresses */
    uint64_t disp_unit;
    uint64_t region_id;  /* 0: cannot be mapped */
    uint64_t ctl_offset; /* of the control words in the region */
    uint64_t seed;
    uint32_t key; /* names the window in frames to this member */
    uint32_t access;
    uint32_t kind;
    uint32_t pad;
};

enum rma_flag {           /* frame->flags */
    RMA_F_ACK = 1,        /* tell the count of applied operations after this one */
    RMA_F_OP = 2,         /* w2 is an operation's id, answered by itself; else w2 is the
                             origin's key */
    RMA_F_SIGNAL_SET = 4, /* payload begins with struct rma_signal */
    RMA_F_SIGNAL_ADD = 8,
    RMA_F_LARGE = 16, /* payload ends with the size of a bulk operation to be opened */
    RMA_F_SWAP = 32,  /* fetch: compare and swap; payload: compare, swap */
    RMA_F_INOP = 64   /* reply: w0 is the id of the opened inbound operation */
};

enum rma_sync {         /* frame->aux of MCI_AM_RMA_SYNC; w1: key, w2: as told */
    RMA_SYNC_FLUSH = 1, /* w0: count wanted, w2: origin's key */
    RMA_SYNC_POST,
    RMA_SYNC_COMPLETE,
    RMA_SYNC_LOCK,        /* w0: type, w2: operation; answered by ACK: SUCCESS or TRY_AGAIN */
    RMA_SYNC_UNLOCK,      /* w0: type, w2: operation */
    RMA_SYNC_FREE_ASK,    /* w2: asker's key */
    RMA_SYNC_FREE_ANSWER, /* the sender has no more operations of its own */
    RMA_SYNC_ABANDON,     /* w2: operation, hold: close what it opened */
    RMA_SYNC_LOCK_FREE    /* somebody let go: who was refused asks again */
};

struct rma_signal {
    uint64_t offset, value;
};

#define RMA_HOLD_RANGES 255u /* of one frame */
struct rma_hold {            /* payload of MCI_AM_RMA_HOLD: this, then ranges */
    uint32_t need, alignment;
    uint64_t pad;
};
struct rma_range {
    uint64_t offset, nbytes;
};

/*
 * Control words of a member's part, shared with its local peers. Single writer each, so that a
 * process may die between any two instructions: who waits ignores the words of the dead.
 */
struct rma_ctl {
    _Atomic uint64_t exclusive; /* rank + 1 of the holder or of who waits for the sharers to go */
    char pad1[56];
    _Atomic uint32_t waiters; /* threads of the owner that wait for a signal: ring its bell */
    char pad2[60];
    _Atomic uint32_t shared[]; /* of each rank: holds a shared lock */
};

/* ---- origin's side ---- */
struct rma_path { /* made on first use other than through the map */
    void *region; /* mapped */
    size_t region_nbytes;
    struct rma_ctl *ctl; /* NULL: by frames */
    bool is_probed, is_probing;
    bool has_cma;
    bool is_locking;   /* a thread of this process waits for a lock there */
    bool is_lock_free; /* somebody let go since it asked */
    uint8_t held;      /* mcomm_lock_type_t that this process holds there, 0 */
    uint32_t issued;   /* operations sent that are acknowledged by count */
    uint32_t acked;
    uint32_t asked; /* count for which an acknowledgement is on its way */
    uint32_t mark;
    size_t since_mark;
    uint32_t op_count;
    struct mci_list ops;
    struct mci_peer *peer;
    struct mci_list kick_link; /* something is under way to a peer that may be computing */
    mcomm_err_t err;           /* first one since the last completion call */
    struct mci_list untold;    /* failed operations, one a thread that has not been told yet */
};

struct rma_target {      /* 64 bytes a member */
    _Atomic(char *) map; /* NULL: none (yet) */
    uint64_t nbytes;
    uint64_t disp_unit;
    uint64_t base;
    struct mci_peer *peer;
    struct rma_path *path;
    uint32_t access;
    uint32_t key;
    _Atomic bool is_dead;
    _Atomic bool is_busy; /* something is under way, or an error is to be told */
};

enum rma_op_kind {
    RMA_OP_PUT,
    RMA_OP_GET,
    RMA_OP_FETCH,
    RMA_OP_LOCK,
    RMA_OP_HOLD
};

struct rma_req {
    struct mci_request head;
    struct rma_op *op; /* NULL once done */
};

struct rma_op {           /* an operation that needs an answer of its own */
    struct mci_list link; /* path->ops, oldest first */
    struct mci_win *win;
    int target;
    uint32_t id;
    uint64_t seq;
    const void *thread; /* that made it */
    enum rma_op_kind kind;
    char *buf;
    size_t nbytes, left;
    mcomm_iov_t iov;
    struct mci_inop in;
    struct mci_outop out;
    bool has_in, has_out;
    struct rma_req *req; /* request form */
    bool *done_p;        /* blocking form: set together with *err_p */
    mcomm_err_t *err_p;
    mcomm_err_t err; /* of one of path->untold */
};

/* ---- target's side ---- */
struct rma_origin {
    uint32_t key;     /* its own, as its frames say: they may come before its part is known here */
    uint32_t applied; /* operations from it that are counted */
    uint32_t flush_at;
    bool is_flush_wanted;
    bool is_lock_wanted; /* it was refused and waits */
    bool has_asked_free, has_answered_free;
    mcomm_err_t err;           /* to be told with the next acknowledgement */
    uint32_t posts, completes; /* not yet consumed by start and wait */
    uint32_t late_completes;   /* of epochs that a death ended before: not to be counted */
};

enum rma_serve_kind {
    RMA_SERVE_PUT,
    RMA_SERVE_GET,
    RMA_SERVE_HOLD
};

struct rma_serve { /* what an origin is doing with this process's part */
    struct mci_list link;
    struct mci_win *win;
    int origin;
    uint32_t op_id;
    enum rma_serve_kind kind;
    mcomm_iov_t *uses; /* memory that a detach waits for */
    size_t use_count;
    mcomm_iov_t own[2]; /* uses of a bulk operation: data, signal */
    struct mci_inop in;
    struct mci_outop out;
    uint8_t flags;
    uint64_t signal;
};

struct mci_win {
    mcomm_win_t handle;
    struct mci_comm *comm;
    struct mci_list link;
    uint64_t id; /* agreed by the members */
    uint32_t key;
    int lock_wanted_count; /* of origins */
    enum rma_kind kind;
    int rank, size;
    struct rma_target *targets;
    struct rma_part *parts;
    struct rma_origin *origins;
    char *base;
    size_t nbytes;
    unsigned access;
    struct mci_region *region; /* NULL: control words (and data) are in heap */
    void *heap;
    struct rma_ctl *ctl;
    struct mci_interval_set attached;
    struct mci_list serves;
    uint64_t op_seq;
    uint32_t failed_seen;          /* deaths that wait_signal has told */
    int *post_ranks, *start_ranks; /* open epochs */
    int post_count, start_count;
    bool is_posted, is_started, is_locked_all, is_freeing;
};

/* win.c */
/*
 * Collective. err: what is wrong with this rank's arguments so far; all members return an error
 * then, the others one that names this rank. lock: engine, released while waiting
 */
mcomm_err_t mci_rma_win_make(struct mci_comm *comm, enum rma_kind kind, void *base,
                             const mcomm_win_attr_t *attr, mcomm_err_t err, struct mci_win **win_p);
struct mci_win *mci_rma_win_by_key(uint32_t key); /* NULL: none. lock: engine */
/* Map it, or find out how to reach it. lock: engine, released meanwhile */
mcomm_err_t mci_rma_path_probe(struct mci_win *win, int target, struct rma_path **path_p);
struct rma_path *mci_rma_path_get(struct mci_win *win,
                                  int target);                   /* no probing; NULL: no memory */
mcomm_err_t mci_rma_dead(const struct mci_win *win, int target); /* PROC_FAILED with text */
mcomm_err_t mci_rma_map_ctl(struct mci_win *win, int target, struct rma_ctl **ctl_p);
void mci_rma_win_start(void);
void mci_rma_win_stop(void);
extern struct mci_list mci_rma_wins;

/* local.c */
void mci_rma_copy_start(void);
/* Into the mapped part of t; large ones past the caches. */
void mci_rma_copy_out(const struct rma_target *t, void *dst, const void *src, size_t nbytes);

/* ops.c: records of operations. lock: engine */
void mci_rma_ops_start(void);
void mci_rma_ops_stop(void);
struct rma_op *mci_rma_op_new(struct mci_win *win, int target, enum rma_op_kind kind);
struct rma_op *mci_rma_op_find(uint32_t id, const struct mci_peer *peer);
void mci_rma_op_complete(struct rma_op *op, mcomm_err_t err); /* and free */
void mci_rma_op_drop(struct rma_op *op); /* and free; whoever asked is told otherwise */
void mci_rma_op_abort(struct rma_op *op, mcomm_err_t err); /* tells the target too */
/*
 * What a completion call of this thread tells: an error that nobody has been told of, or else one
 * of an operation of its own, whoever completed it: that buffer was not filled.
 */
mcomm_err_t mci_rma_error_take(struct rma_path *path);
void mci_rma_errors_drop(struct rma_path *path);
/* Those that the calling thread began after number seq: its call fails, its buffers are free. */
void mci_rma_ops_abort_own(struct mci_win *win, int target, uint64_t seq, mcomm_err_t err);
mcomm_err_t mci_rma_req_new(struct mci_win *win, struct rma_req **req_p, mcomm_request_t *handle_p);
mcomm_err_t mci_rma_op_wait(struct rma_op *op, bool *done, mcomm_err_t *result);

/* remote.c: origin's side by frames. lock: engine, may be released while waiting for room */
mcomm_err_t mci_rma_remote_put(struct mci_win *win, int target, struct rma_path *path,
                               const void *buf, size_t nbytes, uint64_t offset,
                               const struct rma_signal *signal, unsigned signal_flag,
                               struct rma_req *req);
mcomm_err_t mci_rma_remote_get(struct mci_win *win, int target, struct rma_path *path, void *buf,
                               size_t nbytes, uint64_t offset, struct rma_req *req);
mcomm_err_t mci_rma_remote_acc(struct mci_win *win, int target, struct rma_path *path,
                               const void *buf, void *result, size_t count, mcomm_datatype_t dtype,
                               uint64_t offset, mcomm_op_t op);
/* One element, waits for the answer. swap != NULL: compare (buf) and swap. */
mcomm_err_t mci_rma_remote_fetch(struct mci_win *win, int target, struct rma_path *path,
                                 const void *buf, const void *swap, void *result,
                                 mcomm_datatype_t dtype, uint64_t offset, mcomm_op_t op);
/* hold.c: ranges of a dynamic window for a call of several frames. lock: engine, may be released */
struct rma_holding {
    struct mci_win *win;
    int target;
    uint32_t name; /* 0: nothing has been asked yet */
    struct rma_hold ask;
    struct rma_range ranges[RMA_HOLD_RANGES];
    size_t count;
};
void mci_rma_hold_begin(struct rma_holding *h, struct mci_win *win, int target, unsigned need,
                        size_t alignment);
mcomm_err_t mci_rma_hold_add(struct rma_holding *h, uint64_t offset, uint64_t nbytes);
mcomm_err_t mci_rma_hold_end(struct rma_holding *h); /* all are held, or the error */
void mci_rma_hold_release(struct rma_holding *h);    /* also after an error */
/* Ask for the count of what has been issued, unless that is known or on its way. */
mcomm_err_t mci_rma_ask_ack(struct mci_win *win, int target, struct rma_path *path);
mcomm_err_t mci_rma_sync_send(struct mci_peer *peer, enum rma_sync what, uint64_t w0, uint32_t w1,
                              uint32_t w2);
void mci_rma_remote_start(void); /* registers ACK and REPLY */

/* target.c */
void mci_rma_target_start(void); /* registers PUT, GET, ACC, FETCH */
void mci_rma_target_stop(void);
void mci_rma_answer_op(struct mci_peer *peer, uint32_t op_id, mcomm_err_t err);
/* Window of a frame and the rank of its sender, else the sender is told that there is none. */
struct mci_win *mci_rma_frame_win(struct mci_peer *peer, const struct mci_frame *frame,
                                  int *origin_p);
int mci_rma_rank_of(struct mci_win *win, struct mci_peer *peer);
void mci_rma_count_applied(struct mci_win *win, int origin, bool want_ack);
/* Memory of this process's part, if the access is legal. */
mcomm_err_t mci_rma_place(struct mci_win *win, uint64_t offset, uint64_t nbytes, unsigned need,
                          size_t alignment, void **place_p);

/* serve.c: on an error nothing is left, and the origin is to be answered */
void mci_rma_serve_start(void); /* registers HOLD */
mcomm_err_t mci_rma_serve_put(struct mci_peer *peer, struct mci_win *win, int origin,
                              const struct mci_frame *frame, const struct rma_signal *signal,
                              void *signal_at, void *place, size_t nbytes);
mcomm_err_t mci_rma_serve_get(struct mci_peer *peer, struct mci_win *win, int origin,
                              uint32_t op_id, uint64_t inop_id, void *place, size_t nbytes);
void mci_rma_serve_close(struct rma_serve *serve);
void mci_rma_serve_abort(struct rma_serve *serve, mcomm_err_t err); /* and tell the origin */
mcomm_err_t mci_rma_signal_place(struct mci_win *win, const struct rma_signal *signal,
                                 void **place_p);
void mci_rma_signal_apply(void *place, uint64_t value, bool is_add);

/* sync.c, lock.c, pscw.c */
void mci_rma_sync_start(void); /* registers SYNC */
mcomm_err_t mci_rma_fence(struct mci_win *win);
mcomm_err_t mci_rma_lock(struct mci_win *win, mcomm_lock_type_t type, int target);
mcomm_err_t mci_rma_unlock(struct mci_win *win, int target);
mcomm_err_t mci_rma_lock_all(struct mci_win *win);
mcomm_err_t mci_rma_unlock_all(struct mci_win *win);
bool mci_rma_lock_try(struct mci_win *win, struct rma_ctl *ctl, int rank, mcomm_lock_type_t type);
void mci_rma_lock_release(struct rma_ctl *ctl, int rank, mcomm_lock_type_t type);
/* origin was refused and waits, or does not any more */
void mci_rma_lock_want(struct mci_win *win, int origin, bool is_wanted);
void mci_rma_lock_tell_free(struct mci_win *win); /* those who wait for it ask again */
mcomm_err_t mci_rma_post(struct mci_win *win, struct mci_group *group);
mcomm_err_t mci_rma_start(struct mci_win *win, struct mci_group *group);
mcomm_err_t mci_rma_complete(struct mci_win *win);
mcomm_err_t mci_rma_wait(struct mci_win *win);
mcomm_err_t mci_rma_test(struct mci_win *win, int *done_p);

/* dynamic.c */
mcomm_err_t mci_rma_attach(struct mci_win *win, void *base, size_t nbytes);
mcomm_err_t mci_rma_detach(struct mci_win *win, const void *base);

/* signal.c */
mcomm_err_t mci_rma_signal_start(void);
void mci_rma_signal_stop(void);

/* ---- kick.c: peers of this node that serve from a monitor thread. lock: engine ---- */
void mci_rma_kick_start(void);
void mci_rma_kick_stop(void);
void mci_rma_kick_later(struct rma_path *path); /* again and again until nothing is under way */

/* ---- checks at the origin, from the exchanged facts ---- */
mcomm_err_t mci_rma_check_failed(const struct mci_win *win, int target, uint64_t disp,
                                 size_t nbytes, unsigned need); /* finds the reason and its text */

static inline mcomm_err_t rma_resolve(const struct mci_win *win, int target, uint64_t disp,
                                      size_t nbytes, unsigned need, struct rma_target **target_p,
                                      uint64_t *offset_p)
{
    struct rma_target *t = win->targets;

    *target_p = t;
    *offset_p = 0;
    if (__builtin_expect((unsigned)target >= (unsigned)win->size, 0))
        return mci_rma_check_failed(win, target, disp, nbytes, need);
    *target_p = t = &win->targets[target];
    if (__builtin_expect(__builtin_mul_overflow(disp, t->disp_unit, offset_p) ||
                             *offset_p > t->nbytes || nbytes > t->nbytes - *offset_p ||
                             (t->access & need) != need ||
                             atomic_load_explicit(&t->is_dead, memory_order_relaxed),
                         0))
        return mci_rma_check_failed(win, target, disp, nbytes, need);
    return MCOMM_SUCCESS;
}

static inline char *rma_map(const struct rma_target *t)
{
    return atomic_load_explicit(&t->map, memory_order_acquire);
}

/* Something is under way to target. lock: engine */
static inline void rma_busy(struct mci_win *win, int target)
{
    struct rma_target *t = &win->targets[target];

    atomic_store_explicit(&t->is_busy, true, memory_order_relaxed);
    if (t->peer->bell != NULL)
        mci_rma_kick_later(t->path);
}

#endif
