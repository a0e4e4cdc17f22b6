/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The objects that everybody shares: communicators, groups, requests. News from below (a peer
 * failed) and above (a communicator is revoked) is written here.
 */
#ifndef MCI_CORE_CORE_H
#define MCI_CORE_CORE_H

#include "base/err.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/wait.h"
#include "rail/rail.h"

#include <stdatomic.h>

/* ---- the life of the library (init.c) ---------------------------------------------------------
 */
enum mci_core_phase {
    MCI_CORE_IDLE,
    MCI_CORE_STARTING,
    MCI_CORE_UP,
    MCI_CORE_STOPPING,
    MCI_CORE_FORKED /* a child of a process that used the library: for good */
};
extern _Atomic int mci_core_phase;
mcomm_err_t mci_check_not_up(void); /* the error, with its text */
/* MCOMM_ERR_NOT_INIT, MCOMM_ERR_FORKED */
static inline mcomm_err_t mci_check_init(void)
{
    if (__builtin_expect(atomic_load_explicit(&mci_core_phase, memory_order_acquire) == MCI_CORE_UP,
                         1))
        return MCOMM_SUCCESS;
    return mci_check_not_up();
}

/* ---- groups: immutable, shared by reference ------------------------------------------------- */
struct mci_group {
    _Atomic int refs;
    int size, rank;           /* rank of this process, MCOMM_RANK_UNDEFINED */
    struct mci_peer *peers[]; /* a reference each */
};
struct mci_group *mci_group_new(int size);    /* peers to be filled; refs 1; NULL: no memory */
void mci_group_seal(struct mci_group *group); /* finds own rank; takes a reference on each peer */
struct mci_group *mci_group_ref(struct mci_group *group);
void mci_group_unref(struct mci_group *group);
int mci_group_index(const struct mci_group *group, const struct mci_peer *peer); /* -1: none */
/* Object of a handle: MCOMM_ERR_GROUP, NOT_INIT, FORKED, with text naming name. */
mcomm_err_t mci_group_lookup(const char *name, mcomm_group_t handle, struct mci_group **group_p);

/* ---- communicators --------------------------------------------------------------------------- */
/* A communicator has three message spaces; the low bits of the context tell them apart. */
enum mci_ctx_space {
    MCI_CTX_USER = 0,
    MCI_CTX_COLL = 1, /* collectives' own messages */
    MCI_CTX_CORE = 2, /* making communicators, windows; tag: number of the call */
    MCI_CTX_GROUP = 3 /* mcomm_comm_create_group(); tag: the caller's */
};

/* What the user wants of a communicator; inherited by those that are made from it. */
struct mci_comm_hints {
    bool is_deterministic;
    bool is_info;   /* coll comes from an info object */
    char coll[240]; /* algorithms of collectives, as in the setting */
};

struct mci_comm {
    mcomm_comm_t handle;
    int refs;
    uint64_t ctx; /* low two bits 0 */
    int rank, size;
    struct mci_group *group;
    int *node_of; /* node number of each rank */
    int node_count;
    int node_rank, node_size; /* this rank among those of its node */
    uint32_t children;        /* communicators made from this one: with ctx gives the next id */
    uint32_t epoch;           /* of the active set */
    uint32_t coll_seq;        /* collectives so far */
    uint32_t failed_count;    /* members known to have failed */
    _Atomic bool is_revoked;
    bool is_freed;
    int timeout_ms;       /* of blocking calls */
    struct mci_list link; /* all communicators */
    void *match;          /* pt2pt's: posted and unexpected */
    void *coll;           /* coll's */
    void *rma;            /* rma's */
    struct mci_comm_hints hints;
    const void *made_at; /* return address of the caller that made it, for leak messages */
    char name[64];
};
static inline struct mci_peer *mci_comm_peer(const struct mci_comm *comm, int rank)
{
    return comm->group->peers[rank];
}
static inline uint64_t mci_comm_ctx(const struct mci_comm *comm, enum mci_ctx_space space)
{
    return comm->ctx | (uint64_t)space;
}
/* Object of a handle; NULL and mci_err_set() if not valid, not initialized or forked. */
struct mci_comm *mci_comm_get(mcomm_comm_t handle);
/* The same with the code to return: MCOMM_ERR_COMM, NOT_INIT, FORKED. */
mcomm_err_t mci_comm_lookup(const char *name, mcomm_comm_t handle, struct mci_comm **comm_p);
/*
 * Into a call on a communicator with an output, called name. On success the engine lock is held, so
 * that no other thread frees it meanwhile. Also MCOMM_ERR_ARG: out is NULL.
 */
mcomm_err_t mci_comm_enter(mcomm_comm_t handle, const char *name, const void *out,
                           struct mci_comm **comm_p);
void mci_comm_ref(struct mci_comm *comm);   /* lock: engine */
void mci_comm_unref(struct mci_comm *comm); /* lock: engine */
struct mci_comm *
mci_comm_find(uint64_t ctx); /* by context, low bits ignored; NULL: none. lock: engine */
/*
 * A new communicator of group with a context that all members agree on. Takes over the reference on
 * group, but not on an error. hints: equal on all members; NULL: the settings. lock: engine
 */
mcomm_err_t mci_comm_new(struct mci_group *group, uint64_t ctx, const struct mci_comm_hints *hints,
                         struct mci_comm **comm_p);
/* Text for messages: the user's name, or "world", "self", "comm 1a2b"; NULL: freed meanwhile.
 * Static per thread. */
const char *mci_comm_text(const struct mci_comm *comm);
/* Rank of peer in comm, -1 if none. */
int mci_comm_rank_of(const struct mci_comm *comm, const struct mci_peer *peer);
/* First failed member, -1 if none. */
int mci_comm_first_failed(const struct mci_comm *comm);
/* Hooks of the layers above, run when a communicator is made and when its last reference goes.
 * lock: engine */
typedef mcomm_err_t (*mci_comm_hook_fn_t)(struct mci_comm *comm);
void mci_comm_on_new(mci_comm_hook_fn_t fn);
void mci_comm_on_gone(mci_comm_hook_fn_t fn);

/* ---- collective work of core and of the layers above that cannot see coll ----------------------
 */
/*
 * Blocking bytes between two members, in one of the communicator's message spaces. pt2pt fills this
 * table when it starts. lock: engine, released while waiting. Both end: PROC_FAILED if the other
 * side is or gets dead, TIMEOUT after timeout_ms (withdrawn). Messages are short (below 64 KiB as a
 * rule) and are not bound by credits, so that send ends although nobody receives yet.
 */
struct mci_core_exchange {
    mcomm_err_t (*send)(struct mci_comm *comm, enum mci_ctx_space space, int dest, int tag,
                        const void *buf, size_t nbytes, int timeout_ms);
    /* Exactly nbytes are expected; another size is MCOMM_ERR_MISMATCH. */
    mcomm_err_t (*recv)(struct mci_comm *comm, enum mci_ctx_space space, int source, int tag,
                        void *buf, size_t nbytes, int timeout_ms);
    /* The receives that are waiting in MCI_CTX_CORE of comm return PROC_FAILED. */
    void (*interrupt)(struct mci_comm *comm);
};
extern struct mci_core_exchange mci_core_exchange;

/*
 * Collective over comm in the core space: every member calls these in the same order (they count
 * as one sequence with dup, split and window calls). nbytes equal on all. The communicator's
 * time limit applies. If a member died, all that live get PROC_FAILED and the text names it,
 * wherever they sit in the tree; the same for an err != MCOMM_SUCCESS that a member puts in. lock:
 * engine
 */
mcomm_err_t mci_comm_allgather(struct mci_comm *comm, mcomm_err_t err, const void *mine, void *all,
                               size_t nbytes);
mcomm_err_t mci_comm_bcast(struct mci_comm *comm, mcomm_err_t err, void *buf, size_t nbytes,
                           int root);
/* All members have come, and all put MCOMM_SUCCESS in; else the error of one that did not. */
mcomm_err_t mci_comm_barrier(struct mci_comm *comm, mcomm_err_t err);

/* ---- requests ---------------------------------------------------------------------------------
 */
struct mci_request;
struct mci_request_ops {
    const char *name;
    mcomm_err_t (*start)(struct mci_request *req); /* persistent; lock: engine */
    bool (*cancel)(struct mci_request *req);       /* true: withdrawn, the caller completes it */
    void (*free)(struct mci_request *req);         /* return its memory; lock: engine */
    /* NULL, or: mci_err_set() what exactly went wrong, in the thread that takes the error away */
    void (*explain)(struct mci_request *req);
    bool is_receive; /* the last mcomm_finalize() withdraws it instead of waiting for it */
};
/* Head of every request; modules put it first in their own struct. */
struct mci_request {
    const struct mci_request_ops *ops;
    mcomm_request_t handle; /* NULL: internal, never seen by a user */
    struct mci_comm *comm;  /* a reference */
    _Atomic bool is_done;
    bool is_persistent, is_active; /* a new persistent one: set both, true and false */
    bool is_detached;              /* freed by the user before completion */
    mcomm_err_t stall; /* not SUCCESS: may never complete; waits and tests return this */
    mcomm_status_t status;
    void (*on_done)(struct mci_request *req); /* internal users; may free it */
};
void mci_request_init(struct mci_request *req, const struct mci_request_ops *ops,
                      struct mci_comm *comm); /* takes a comm reference; active, not done */
/* Gives it a handle for the user. */
mcomm_err_t mci_request_publish(struct mci_request *req, mcomm_request_t *request_p);
/* Exactly once per activation: sets status.error, wakes sleepers, runs on_done. lock: engine */
void mci_request_complete(struct mci_request *req, mcomm_err_t err);
/* It stays active, but whoever waits for it or tests it gets err: PROC_FAILED_PENDING. lock: engine
 */
void mci_request_stall(struct mci_request *req, mcomm_err_t err);
void mci_request_release(
    struct mci_request *req); /* handle, comm reference, ops->free. lock: engine */
/* By handle: MCOMM_ERR_REQUEST, NOT_INIT, FORKED, with a text that begins with name. */
mcomm_err_t mci_request_lookup(const char *name, mcomm_request_t handle,
                               struct mci_request **req_p);
/*
 * Wait for a request. Once req->is_done: its status.error; else MCOMM_ERR_TIMEOUT or req->stall,
 * and it goes on. Does not release it. lock: engine
 */
mcomm_err_t mci_request_wait(struct mci_request *req, int timeout_ms);
/* Give the calling thread the text of a failed request (ops->explain, or a general one). */
void mci_request_explain(struct mci_request *req);

/* ---- checks every _api.c makes ------------------------------------------------------------------
 */
mcomm_err_t mci_check_pointer(const char *name, const void *ptr); /* MCOMM_ERR_ARG if NULL */
mcomm_err_t mci_check_timeout(const char *name, int timeout_ms);  /* MCOMM_ERR_ARG if below -1 */
/* MCOMM_ERR_RANK if not 0 ... size-1. */
mcomm_err_t mci_check_rank(const struct mci_comm *comm, const char *name, int rank);
mcomm_err_t mci_check_buffer(const char *name, const void *buf,
                             size_t nbytes); /* NULL with nbytes > 0; nbytes > PTRDIFF_MAX */
/* A cast negative count becomes huge: refuses count * elem over PTRDIFF_MAX, naming it. */
mcomm_err_t mci_check_count(const char *name, size_t count, size_t elem_nbytes);

/* Per-job facts set by init. */
struct mci_core {
    int init_count;
    bool is_single_thread;
    struct mci_comm *world, *self;
};
extern struct mci_core mci_core;

/* Start-up and shut-down hooks of the layers above, in order of registration / reverse order. */
struct mci_core_module {
    const char *name;
    mcomm_err_t (*start)(
        void);             /* before the rails start: register am handlers and hooks. lock: none */
    void (*stop)(void);    /* after the rails stopped. lock: none */
    void (*quiesce)(void); /* at the last finalize, rails still up; may wait. lock: none */
};
/* NULL-terminated, lowest layer first; defined in src/modules.c, the one file above all layers. */
extern const struct mci_core_module *const mci_core_modules[];

#endif
