/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Mooncake Comm: the whole public interface.
 *
 * A communicator knows who is alive; a window is memory that its members may reach; everything
 * else is built from these two. Chapters: 1 errors, 2 start and end, 3 settings and info,
 * 4 groups, 5 communicators, 6 requests, 7 messages, 8 windows, 9 collectives, 10 objects,
 * 11 what the library knows about this machine. The manual pages teach; this file states the
 * contracts.
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *  - Sizes are bytes (`nbytes`) or elements (`count`), both size_t. Times are milliseconds
 *    (`timeout_ms`); MCOMM_FOREVER waits without limit.
 *  - Outputs come last, end in `_p` and are written only on success.
 *  - `const` input is borrowed until the call returns; the buffers of a nonblocking call are
 *    borrowed until its request completes. Who creates, frees.
 *  - Completed means applied at the target and readable there. After an error, a time-out or a
 *    cancel the library touches the caller's buffers no more.
 *  - Every wait ends: with success, a named error, or the caller's time-out.
 *  - Without a thread line: any thread, at any time after mcomm_init(); before it every call
 *    returns MCOMM_ERR_NOT_INIT, in a child made by fork() MCOMM_ERR_FORKED.
 *  - "@blocks": the call waits for other processes, within the communicator's time limit
 *    (mcomm_comm_set_timeout()). Others return at once, but for the first contact with a process
 *    or with its part of a window, which waits for its answer. Collective: all members call.
 *  - A bad argument is MCOMM_ERR_ARG or a more exact code of the same scope; nothing is sent or
 *    written, and mcomm_last_error() names the argument and its value.
 */
#ifndef MOONCAKE_COMM_H
#define MOONCAKE_COMM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCOMM_VERSION_MAJOR 0 /* compiled against; mcomm_get_version() tells what runs */
#define MCOMM_VERSION_MINOR 1
#define MCOMM_VERSION_PATCH 0

#if defined(__GNUC__)
#define MCOMM_EXPORT __attribute__((visibility("default")))
#else
#define MCOMM_EXPORT
#endif

/* ---- handles: opaque, one pointer, passed by value ---- */
typedef struct mcomm_comm *mcomm_comm_t;
typedef struct mcomm_group *mcomm_group_t;
typedef struct mcomm_request *mcomm_request_t;
typedef struct mcomm_message *mcomm_message_t; /* a matched, not yet received message */
typedef struct mcomm_info *mcomm_info_t;
typedef struct mcomm_win *mcomm_win_t;
typedef struct mcomm_kv *mcomm_kv_t;

#define MCOMM_COMM_NULL ((mcomm_comm_t)0)
#define MCOMM_GROUP_NULL ((mcomm_group_t)0)
#define MCOMM_REQUEST_NULL ((mcomm_request_t)0)
#define MCOMM_MESSAGE_NULL ((mcomm_message_t)0)
#define MCOMM_INFO_NULL ((mcomm_info_t)0)
#define MCOMM_WIN_NULL ((mcomm_win_t)0)
#define MCOMM_KV_NULL ((mcomm_kv_t)0)

#define MCOMM_FOREVER (-1)    /* timeout_ms: no limit */
#define MCOMM_ANY_SOURCE (-1) /* receive and probe: from any rank of the communicator */
#define MCOMM_ANY_TAG (-1)    /* receive and probe: any tag */
#define MCOMM_RANK_NULL (-2)  /* a peer that is nobody: the call succeeds at once, moves nothing */
#define MCOMM_RANK_UNDEFINED (-3)
#define MCOMM_TAG_MAX 2147483647 /* on every path */
#define MCOMM_IN_PLACE ((void *)-1)
#define MCOMM_STATUS_IGNORE ((mcomm_status_t *)0)
#define MCOMM_STATUSES_IGNORE ((mcomm_status_t *)0)
#define MCOMM_INDEX_NONE ((size_t)-1)

/* ========================================================================================
 * 1. Errors
 *
 * Codes are grouped by the widest thing that is now broken: 1-99 this call, 100-199 resources of
 * this process, 200-299 a peer, 300-399 the communicator, 400-499 an object of a store.
 * ======================================================================================== */
#define MCOMM_ERR_LIST(XX)                                                                         \
    XX(SUCCESS, 0, "success")                                                                      \
    XX(ERR_ARG, 1, "an argument is not valid")                                                     \
    XX(ERR_COMM, 2, "not a valid communicator")                                                    \
    XX(ERR_RANK, 3, "rank is outside the communicator")                                            \
    XX(ERR_TAG, 4, "tag is not valid")                                                             \
    XX(ERR_COUNT, 5, "count or size is not valid")                                                 \
    XX(ERR_TYPE, 6, "not a valid element type")                                                    \
    XX(ERR_OP, 7, "not a valid operation for this type")                                           \
    XX(ERR_REQUEST, 8, "not a valid request")                                                      \
    XX(ERR_WIN, 9, "not a valid window")                                                           \
    XX(ERR_GROUP, 10, "not a valid group")                                                         \
    XX(ERR_INFO, 11, "not a valid info object, key or value")                                      \
    XX(ERR_BUFFER, 12, "buffer is null, overlaps or is misaligned")                                \
    XX(ERR_TRUNCATE, 13, "the message is longer than the receive buffer")                          \
    XX(ERR_STATE, 14, "the object is not in a state that allows this call")                        \
    XX(ERR_TIMEOUT, 15, "the time limit passed")                                                   \
    XX(ERR_TRY_AGAIN, 16, "no room now; try again")                                                \
    XX(ERR_CANCELLED, 17, "the operation was cancelled")                                           \
    XX(ERR_UNSUPPORTED, 18, "not supported by this build or on this path")                         \
    XX(ERR_NOT_INIT, 19, "the library is not initialized")                                         \
    XX(ERR_MISMATCH, 20, "ranks called a collective with different arguments")                     \
    XX(ERR_RMA_RANGE, 21, "access outside the target's part of the window")                        \
    XX(ERR_RMA_ACCESS, 22, "the target does not permit this access")                               \
    XX(ERR_RMA_SYNC, 23, "window synchronisation calls do not pair")                               \
    XX(ERR_FORKED, 24, "called in a child made by fork()")                                         \
    XX(ERR_MESSAGE, 25, "not a valid matched message")                                             \
    XX(ERR_NO_MEM, 100, "out of memory")                                                           \
    XX(ERR_SYS, 101, "a system call failed")                                                       \
    XX(ERR_BOOTSTRAP, 103, "could not find out who takes part in the job")                         \
    XX(ERR_NET, 104, "no usable network interface or address")                                     \
    XX(ERR_AUTH, 105, "the other side did not prove the job's secret")                             \
    XX(ERR_LIMIT, 106, "a limit of the library or the system is reached")                          \
    XX(ERR_INTERNAL, 107, "internal error; please report it")                                      \
    XX(ERR_PROC_FAILED, 200, "a process in the communicator failed")                               \
    XX(ERR_PROC_FAILED_PENDING, 201, "a possible sender failed; the receive stays posted")         \
    XX(ERR_UNREACHABLE, 202, "the process cannot be reached")                                      \
    XX(ERR_REVOKED, 300, "the communicator is revoked")                                            \
    XX(ERR_NOT_FOUND, 400, "no such object")                                                       \
    XX(ERR_EXISTS, 401, "the object exists already")                                               \
    XX(ERR_NO_SPACE, 402, "the store has no room for the object")                                  \
    XX(ERR_TOO_LARGE, 403, "the object or key is larger than the store can hold")

typedef enum mcomm_err {
#define MCOMM_ERR_ENUM(name, code, text) MCOMM_##name = code,
    MCOMM_ERR_LIST(MCOMM_ERR_ENUM)
#undef MCOMM_ERR_ENUM
} mcomm_err_t;

typedef enum mcomm_err_scope {
    MCOMM_SCOPE_NONE = 0, /* success */
    MCOMM_SCOPE_CALL,     /* only this call */
    MCOMM_SCOPE_LOCAL,    /* resources of this process */
    MCOMM_SCOPE_PEER,     /* one or more other processes */
    MCOMM_SCOPE_COMM,     /* the whole communicator */
    MCOMM_SCOPE_OBJECT    /* an object of a store */
} mcomm_err_scope_t;

/** Text of an error code; never NULL, static. @threads any thread, also before init */
MCOMM_EXPORT const char *mcomm_err_text(mcomm_err_t err);
/** Name of an error code as in this file ("MCOMM_ERR_RANK"). @threads any thread, also before init
 */
MCOMM_EXPORT const char *mcomm_err_name(mcomm_err_t err);
/** The widest thing that an error code says is broken. @threads any thread, also before init */
MCOMM_EXPORT mcomm_err_scope_t mcomm_err_scope(mcomm_err_t err);
/**
 * What exactly was wrong in the calling thread's last failing call: names the argument and its
 * value, or the rank and the reason. Valid until the thread's next failing call; "" if none.
 * @threads any thread, also before init
 */
MCOMM_EXPORT const char *mcomm_last_error(void);

/* ========================================================================================
 * 2. Start and end
 *
 * mcomm_init() finds out by evidence in the environment who takes part (PMIx, PMI-1, a TCP
 * rendezvous, a caller's allgather, or nobody else), and makes MCOMM_COMM_WORLD and
 * MCOMM_COMM_SELF. It may be called again: each call is paired with one mcomm_finalize().
 * ======================================================================================== */
typedef enum mcomm_thread_level {
    MCOMM_THREAD_MULTIPLE = 0, /* default: any thread may call at any time */
    MCOMM_THREAD_SINGLE = 1    /* the caller promises that only one thread ever calls; locks go */
} mcomm_thread_level_t;

/**
 * A caller's own allgather: gives nbytes of `mine` and receives size x nbytes in rank order into
 * `all`. Blocking; returns 0 on success.
 */
typedef int (*mcomm_oob_allgather_fn_t)(const void *mine, void *all, size_t nbytes, void *arg);

typedef struct mcomm_oob {
    mcomm_oob_allgather_fn_t allgather;
    void *arg;
    int rank;
    int size;
} mcomm_oob_t;

typedef struct mcomm_init_attr {
    size_t struct_size; /* sizeof as the caller knows it: the struct may grow at its end */
    mcomm_thread_level_t thread_level;
    int startup_timeout_ms; /* 0: the setting MCOMM_STARTUP_TIMEOUT */
    const mcomm_oob_t *oob; /* NULL: choose the bootstrap by evidence */
} mcomm_init_attr_t;
#define MCOMM_INIT_ATTR_DEFAULT                                                                    \
    {                                                                                              \
        sizeof(mcomm_init_attr_t), MCOMM_THREAD_MULTIPLE, 0, NULL                                  \
    }

/**
 * Start the library, or count one more user of it. Collective over the job the first time.
 * @param attr  NULL for all defaults; later calls ignore it
 * @return MCOMM_SUCCESS; MCOMM_ERR_BOOTSTRAP (text says what to do, or which rank could not start
 *         and why); MCOMM_ERR_TIMEOUT (text names the missing ranks and what is known of them);
 *         MCOMM_ERR_AUTH; MCOMM_ERR_NET; MCOMM_ERR_LIMIT; MCOMM_ERR_NO_MEM
 * A rank that cannot start for a reason of its own, once it has found the job, still waits for the
 * others to tell them. One that fails before (a setting, no way to the others) is missing: they
 * wait for it until the time-out.
 * @threads any thread  @blocks until all ranks of the job came or the start-up time-out passed
 */
MCOMM_EXPORT mcomm_err_t mcomm_init(const mcomm_init_attr_t *attr);
/**
 * Give up one use; the last one frees everything the library holds. Handles of the caller that
 * were not freed become invalid. Waits (MCOMM_FINALIZE_TIMEOUT at most each) until collectives
 * that were begun have ended and messages that were sent have left.
 * @threads any thread, no other call in progress
 */
MCOMM_EXPORT mcomm_err_t mcomm_finalize(void);
/** 1 if initialized in this process and not yet finalized, else 0. @threads any thread */
MCOMM_EXPORT int mcomm_is_initialized(void);
/** End the whole job as well as the launcher allows; does not return. @threads any thread */
MCOMM_EXPORT void mcomm_abort(mcomm_comm_t comm, int exit_code, const char *message);
/** Version of the running library; pointers may be NULL. @threads any thread, also before init */
MCOMM_EXPORT void mcomm_get_version(int *major_p, int *minor_p, int *patch_p);
/** Seconds of a monotonic clock, for measuring. @threads any thread, also before init */
MCOMM_EXPORT double mcomm_wtime(void);

/* ========================================================================================
 * 3. Settings and info
 *
 * One table of settings gives environment variable (MCOMM_NAME), info key (name), default, help,
 * mcomm_env(7) and the output of the tool mcomm_info. An info object carries the same keys as
 * hints for one object; unknown keys are ignored.
 * ======================================================================================== */
typedef struct mcomm_setting {
    size_t struct_size;
    const char *env;           /* "MCOMM_SHM_RING" */
    const char *key;           /* info key: "shm_ring"; NULL if it cannot be set for one object */
    const char *type;          /* "size", "int", "bool", "string", "ms", "secret" */
    const char *default_value; /* as text */
    const char *value;         /* in force, as text; valid until finalize */
    const char *source;        /* "default" or "environment" */
    const char *help;
} mcomm_setting_t;

/** How many settings there are. @threads any thread, also before init */
MCOMM_EXPORT size_t mcomm_setting_count(void);
/** The index-th setting; setting_p->struct_size is set by the caller. @threads any thread, also
 * before init */
MCOMM_EXPORT mcomm_err_t mcomm_setting_get(size_t index, mcomm_setting_t *setting_p);

/** A new info object without keys; the caller frees it. @return also MCOMM_ERR_NO_MEM */
MCOMM_EXPORT mcomm_err_t mcomm_info_create(mcomm_info_t *info_p);
/** Set key to value (both copied; key 1-63 characters, value up to 1023). @threads one call per
 * info at a time */
MCOMM_EXPORT mcomm_err_t mcomm_info_set(mcomm_info_t info, const char *key, const char *value);
/** Value of key, NULL if not set (still MCOMM_SUCCESS); valid until the next set or free.
 * @threads as mcomm_info_set() */
MCOMM_EXPORT mcomm_err_t mcomm_info_get(mcomm_info_t info, const char *key, const char **value_p);
/** Free and set to MCOMM_INFO_NULL. What was made with it keeps its hints. */
MCOMM_EXPORT mcomm_err_t mcomm_info_free(mcomm_info_t *info_p);

/* ========================================================================================
 * 4. Groups: ordered sets of processes, local objects, nothing is communicated
 * ======================================================================================== */
typedef enum mcomm_compare {
    MCOMM_IDENT = 0, /* same members, same order (communicators: the same object) */
    MCOMM_CONGRUENT, /* communicators: same members and order, another context */
    MCOMM_SIMILAR,   /* same members, another order */
    MCOMM_UNEQUAL
} mcomm_compare_t;

/** The group of a communicator; the caller frees it. @threads any thread */
MCOMM_EXPORT mcomm_err_t mcomm_comm_group(mcomm_comm_t comm, mcomm_group_t *group_p);
/** Number of members. */
MCOMM_EXPORT mcomm_err_t mcomm_group_size(mcomm_group_t group, int *size_p);
/** Rank of the caller in group, MCOMM_RANK_UNDEFINED if not a member. */
MCOMM_EXPORT mcomm_err_t mcomm_group_rank(mcomm_group_t group, int *rank_p);
/** Members ranks[0..count) of group, in that order; duplicates are MCOMM_ERR_RANK. */
MCOMM_EXPORT mcomm_err_t mcomm_group_incl(mcomm_group_t group, size_t count, const int *ranks,
                                          mcomm_group_t *group_p);
/** All members but ranks[0..count). */
MCOMM_EXPORT mcomm_err_t mcomm_group_excl(mcomm_group_t group, size_t count, const int *ranks,
                                          mcomm_group_t *group_p);
/** a, then those of b that are not in a. */
MCOMM_EXPORT mcomm_err_t mcomm_group_union(mcomm_group_t a, mcomm_group_t b,
                                           mcomm_group_t *group_p);
/** Those of a that are in b, in a's order. */
MCOMM_EXPORT mcomm_err_t mcomm_group_intersection(mcomm_group_t a, mcomm_group_t b,
                                                  mcomm_group_t *group_p);
/** Those of a that are not in b, in a's order. */
MCOMM_EXPORT mcomm_err_t mcomm_group_difference(mcomm_group_t a, mcomm_group_t b,
                                                mcomm_group_t *group_p);
/** Ranks in b of the processes with ranks ranks_a[0..count) in a; MCOMM_RANK_UNDEFINED where
 * absent. */
MCOMM_EXPORT mcomm_err_t mcomm_group_translate(mcomm_group_t a, size_t count, const int *ranks_a,
                                               mcomm_group_t b, int *ranks_b_p);
/** MCOMM_IDENT, MCOMM_SIMILAR or MCOMM_UNEQUAL. */
MCOMM_EXPORT mcomm_err_t mcomm_group_compare(mcomm_group_t a, mcomm_group_t b,
                                             mcomm_compare_t *result_p);
/** Free and set to MCOMM_GROUP_NULL; communicators made from it stay. */
MCOMM_EXPORT mcomm_err_t mcomm_group_free(mcomm_group_t *group_p);

/* ========================================================================================
 * 5. Communicators
 *
 * An ordered set of processes with a message space of its own. Ranks are 0 ... size-1. Calls
 * marked collective are made by all members in the same order. If a member dies inside, the
 * others return MCOMM_ERR_PROC_FAILED and have no new communicator.
 * ======================================================================================== */
/** All ranks of the job, and this process alone; MCOMM_COMM_NULL before mcomm_init(), after
 * mcomm_finalize() and in a child. */
MCOMM_EXPORT mcomm_comm_t mcomm_comm_world(void);
MCOMM_EXPORT mcomm_comm_t mcomm_comm_self(void);
#define MCOMM_COMM_WORLD (mcomm_comm_world())
#define MCOMM_COMM_SELF (mcomm_comm_self())

/** The caller's rank, and the number of ranks. */
MCOMM_EXPORT mcomm_err_t mcomm_comm_rank(mcomm_comm_t comm, int *rank_p);
MCOMM_EXPORT mcomm_err_t mcomm_comm_size(mcomm_comm_t comm, int *size_p);
/** MCOMM_IDENT: the same communicator; MCOMM_CONGRUENT: same members in the same order. */
MCOMM_EXPORT mcomm_err_t mcomm_comm_compare(mcomm_comm_t a, mcomm_comm_t b,
                                            mcomm_compare_t *result_p);
/**
 * Same members, new message space. @param info MCOMM_INFO_NULL or hints, of which rank 0's count:
 * "deterministic" = "yes": the bits of reductions depend on the inputs and their order of ranks
 * only, not on where ranks run; "coll": algorithms of collectives, as in MCOMM_COLL. Communicators
 * made from this one inherit them. Collective. @return also MCOMM_ERR_INFO @blocks yes
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_dup(mcomm_comm_t comm, mcomm_info_t info,
                                        mcomm_comm_t *newcomm_p);
/**
 * One new communicator for each colour; ranks by key, then by old rank. colour >= 0, or
 * MCOMM_RANK_UNDEFINED to get MCOMM_COMM_NULL. Collective. @blocks yes
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_split(mcomm_comm_t comm, int colour, int key,
                                          mcomm_comm_t *newcomm_p);
/** One new communicator for each node (processes that share memory). Collective. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_comm_split_node(mcomm_comm_t comm, int key, mcomm_comm_t *newcomm_p);
/**
 * A communicator of the members of group, called by these only. tag (>= 0) keeps apart calls that
 * are under way at the same time in different threads. @blocks yes
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_create_group(mcomm_comm_t comm, mcomm_group_t group, int tag,
                                                 mcomm_comm_t *newcomm_p);
/** A communicator from a caller's own allgather, for frameworks that bring their own store. @blocks
 * yes */
MCOMM_EXPORT mcomm_err_t mcomm_comm_create_oob(const mcomm_oob_t *oob, mcomm_comm_t *newcomm_p);
/**
 * Free and set to MCOMM_COMM_NULL. Local; operations that are pending keep what they need.
 * World and self cannot be freed (MCOMM_ERR_COMM).
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_free(mcomm_comm_t *comm_p);
/** A name for messages and tools, copied, up to 63 characters. */
MCOMM_EXPORT mcomm_err_t mcomm_comm_set_name(mcomm_comm_t comm, const char *name);
/** The name that was set, "" if none; valid until it is set again or comm is freed. */
MCOMM_EXPORT mcomm_err_t mcomm_comm_get_name(mcomm_comm_t comm, const char **name_p);
/**
 * Time limit of the blocking calls on comm: after it they return MCOMM_ERR_TIMEOUT and the
 * operation is withdrawn. MCOMM_FOREVER (default) = none. A collective that timed out leaves the
 * communicator good only for mcomm_comm_free().
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_set_timeout(mcomm_comm_t comm, int timeout_ms);
/**
 * Cancel everything on comm, at all members: what waits for a member (receives, sends that nobody
 * has taken yet, collectives in every form, probes, calls that make communicators or windows) ends
 * with MCOMM_ERR_REVOKED, and so do later calls but mcomm_comm_free(), mcomm_win_free() and
 * queries. The library touches none of their buffers any more. Windows and stores made before live
 * on (mcomm_win_fence() and mcomm_wait_signal() need comm), communicators made from it are not
 * affected. One member calls it; it reaches all that live,
 * also if the caller dies right after it. Again: no effect.
 * @blocks no @return also MCOMM_ERR_COMM
 */
MCOMM_EXPORT mcomm_err_t mcomm_comm_revoke(mcomm_comm_t comm);
/** *is_revoked_p: 1 once this process knows that comm is revoked, else 0. @blocks no */
MCOMM_EXPORT mcomm_err_t mcomm_comm_is_revoked(mcomm_comm_t comm, int *is_revoked_p);

/* ========================================================================================
 * 6. Requests
 *
 * A nonblocking call gives a request; it completes exactly once, with success, an error or
 * cancelled. test and wait give the operation's own error as their return value and in the
 * status, free the request and set it to MCOMM_REQUEST_NULL (a persistent one becomes inactive
 * and stays). MCOMM_REQUEST_NULL and inactive requests count as complete with an empty status.
 * On MCOMM_ERR_TIMEOUT from a wait the request goes on.
 * ======================================================================================== */
typedef struct mcomm_status {
    int source;        /* sender's rank; MCOMM_ANY_SOURCE in an empty status */
    int tag;           /* MCOMM_ANY_TAG in an empty status */
    mcomm_err_t error; /* of this operation */
    int cancelled;     /* 1: withdrawn by mcomm_cancel() before it was received */
    size_t nbytes;     /* received; on MCOMM_ERR_TRUNCATE: the size that was sent */
} mcomm_status_t;

/** Has it completed? Drives progress once. done_p: 1 or 0. @threads any thread, one call per
 * request at a time */
MCOMM_EXPORT mcomm_err_t mcomm_test(mcomm_request_t *request_p, int *done_p,
                                    mcomm_status_t *status_p);
/** Wait for one. @blocks up to timeout_ms */
MCOMM_EXPORT mcomm_err_t mcomm_wait(mcomm_request_t *request_p, int timeout_ms,
                                    mcomm_status_t *status_p);
/**
 * Wait for all of requests[0..count). Returns the first error by index; statuses (NULL or count
 * of them) hold each one's. On MCOMM_ERR_TIMEOUT those done are MCOMM_REQUEST_NULL, with statuses.
 */
MCOMM_EXPORT mcomm_err_t mcomm_waitall(size_t count, mcomm_request_t *requests, int timeout_ms,
                                       mcomm_status_t *statuses_p);
/** Wait for any one; index_p = MCOMM_INDEX_NONE if all are null or inactive. */
MCOMM_EXPORT mcomm_err_t mcomm_waitany(size_t count, mcomm_request_t *requests, int timeout_ms,
                                       size_t *index_p, mcomm_status_t *status_p);
/** Wait for at least one; indices_p and statuses_p have room for count. done_count_p may be 0 if
 * all are null. */
MCOMM_EXPORT mcomm_err_t mcomm_waitsome(size_t count, mcomm_request_t *requests, int timeout_ms,
                                        size_t *done_count_p, size_t *indices_p,
                                        mcomm_status_t *statuses_p);
/** All complete? If not (done_p = 0) none is touched. */
MCOMM_EXPORT mcomm_err_t mcomm_testall(size_t count, mcomm_request_t *requests, int *done_p,
                                       mcomm_status_t *statuses_p);
/** One of them complete? done_p and index_p are written in either case; MCOMM_INDEX_NONE as in
 * mcomm_waitany(). */
MCOMM_EXPORT mcomm_err_t mcomm_testany(size_t count, mcomm_request_t *requests, size_t *index_p,
                                       int *done_p, mcomm_status_t *status_p);
/**
 * Withdraw a receive that is not matched, or a send that waits here, whole or in part, and is not
 * announced to the receiver. It still must be completed by test or wait: status.cancelled tells
 * whether it was withdrawn (error MCOMM_ERR_CANCELLED) or had already gone too far. @threads any
 * thread
 */
MCOMM_EXPORT mcomm_err_t mcomm_cancel(mcomm_request_t request);
/** Start an inactive persistent request. */
MCOMM_EXPORT mcomm_err_t mcomm_start(mcomm_request_t request);
/** Start all, or, if one cannot be started, none. */
MCOMM_EXPORT mcomm_err_t mcomm_startall(size_t count, mcomm_request_t *requests);
/** Give up a request: an active one completes by itself (its buffers stay borrowed until then). */
MCOMM_EXPORT mcomm_err_t mcomm_request_free(mcomm_request_t *request_p);

/* ========================================================================================
 * 7. Messages
 *
 * Matched by communicator, source and tag, in the order sent. Small messages travel eagerly
 * within a credit per sender; beyond it they wait at the sender, so a receiver's memory is bounded.
 * A message for a longer than expected receive buffer is MCOMM_ERR_TRUNCATE on that receive only:
 * the buffer is filled, nothing past its end is written, status.nbytes tells the size sent.
 * If the peer dies: MCOMM_ERR_PROC_FAILED. If this process has no descriptor left to connect to it:
 * MCOMM_ERR_LIMIT, and the call may be made again.
 * ======================================================================================== */
typedef struct mcomm_iov {
    void *base;
    size_t nbytes;
} mcomm_iov_t;

/**
 * Send nbytes at buf to rank dest. Returns when buf may be reused.
 * @param tag  0 ... MCOMM_TAG_MAX
 * @threads any thread  @blocks until the message is on its way or, when large or without credit,
 * received
 */
MCOMM_EXPORT mcomm_err_t mcomm_send(const void *buf, size_t nbytes, int dest, int tag,
                                    mcomm_comm_t comm);
/** As mcomm_send(), but returns only after the receiver has matched it. @blocks until then */
MCOMM_EXPORT mcomm_err_t mcomm_ssend(const void *buf, size_t nbytes, int dest, int tag,
                                     mcomm_comm_t comm);
/**
 * Receive up to nbytes into buf.
 * @param source  rank or MCOMM_ANY_SOURCE   @param tag  tag or MCOMM_ANY_TAG
 * @param status_p  NULL (MCOMM_STATUS_IGNORE) or filled, also on MCOMM_ERR_TRUNCATE
 * @blocks until a message has come
 */
MCOMM_EXPORT mcomm_err_t mcomm_recv(void *buf, size_t nbytes, int source, int tag,
                                    mcomm_comm_t comm, mcomm_status_t *status_p);
/** The same with a request: buf is borrowed until it completes. @return also MCOMM_ERR_NO_MEM */
MCOMM_EXPORT mcomm_err_t mcomm_isend(const void *buf, size_t nbytes, int dest, int tag,
                                     mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_issend(const void *buf, size_t nbytes, int dest, int tag,
                                      mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_irecv(void *buf, size_t nbytes, int source, int tag,
                                     mcomm_comm_t comm, mcomm_request_t *request_p);
/** Send and receive at the same time; the buffers must not overlap (MCOMM_ERR_BUFFER). @blocks yes
 */
MCOMM_EXPORT mcomm_err_t mcomm_sendrecv(const void *sendbuf, size_t send_nbytes, int dest,
                                        int sendtag, void *recvbuf, size_t recv_nbytes, int source,
                                        int recvtag, mcomm_comm_t comm, mcomm_status_t *status_p);
/** Gather from and scatter to lists; the list is copied, the buffers are borrowed. Up to 2^20
 * entries. */
MCOMM_EXPORT mcomm_err_t mcomm_isendv(const mcomm_iov_t *iov, size_t iov_count, int dest, int tag,
                                      mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_irecvv(const mcomm_iov_t *iov, size_t iov_count, int source, int tag,
                                      mcomm_comm_t comm, mcomm_request_t *request_p);
/** Wait until a matching message is there; do not receive it. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_probe(int source, int tag, mcomm_comm_t comm,
                                     mcomm_status_t *status_p);
/** Is a matching message there? O(1) memory however often it is called. */
MCOMM_EXPORT mcomm_err_t mcomm_iprobe(int source, int tag, mcomm_comm_t comm, int *found_p,
                                      mcomm_status_t *status_p);
/** As probe, and take the message out of matching: only mrecv/imrecv can receive it. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_mprobe(int source, int tag, mcomm_comm_t comm,
                                      mcomm_message_t *message_p, mcomm_status_t *status_p);
/** As mprobe, without waiting: found_p 1 or 0; message_p is written if found. */
MCOMM_EXPORT mcomm_err_t mcomm_improbe(int source, int tag, mcomm_comm_t comm, int *found_p,
                                       mcomm_message_t *message_p, mcomm_status_t *status_p);
/** Receive a matched message; *message_p becomes MCOMM_MESSAGE_NULL. @blocks until it is
 * whole */
MCOMM_EXPORT mcomm_err_t mcomm_mrecv(void *buf, size_t nbytes, mcomm_message_t *message_p,
                                     mcomm_status_t *status_p);
MCOMM_EXPORT mcomm_err_t mcomm_imrecv(void *buf, size_t nbytes, mcomm_message_t *message_p,
                                      mcomm_request_t *request_p);
/** Persistent forms: an inactive request, to be started any number of times. */
MCOMM_EXPORT mcomm_err_t mcomm_send_init(const void *buf, size_t nbytes, int dest, int tag,
                                         mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_ssend_init(const void *buf, size_t nbytes, int dest, int tag,
                                          mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_recv_init(void *buf, size_t nbytes, int source, int tag,
                                         mcomm_comm_t comm, mcomm_request_t *request_p);

/* ========================================================================================
 * 8. Windows
 *
 * Memory of each member that all members may reach. Operations may be issued at any time between
 * creation and free; flush, fence, unlock or complete makes them complete, which means applied at
 * the target. Local peers reach allocated windows by plain loads and stores, without the target's
 * help; remote and user-memory targets are served by the library's monitor thread, also while the
 * target computes. Displacements count in the target's disp_unit. Bounds, permissions and
 * alignment are checked; a bad access changes nothing. Operations to a dead rank end with
 * MCOMM_ERR_PROC_FAILED; the window goes on for the others. An error at one rank while a window
 * is made (its arguments, its memory) is returned at all ranks; the others' text names the rank.
 * ======================================================================================== */
typedef enum mcomm_datatype {
    MCOMM_INT8 = 1,
    MCOMM_UINT8,
    MCOMM_INT16,
    MCOMM_UINT16,
    MCOMM_INT32,
    MCOMM_UINT32,
    MCOMM_INT64,
    MCOMM_UINT64,
    MCOMM_FLOAT,
    MCOMM_DOUBLE,
    MCOMM_FLOAT16,  /* IEEE binary16; sums and products are made in float, rounded once */
    MCOMM_BFLOAT16, /* upper half of a float; as FLOAT16 */
    MCOMM_BOOL,     /* one byte, 0 or not 0; results are 0 or 1 */
    MCOMM_BYTE,     /* one byte without arithmetic: only REPLACE, NO_OP and bitwise operations */
    /* collectives only: */
    MCOMM_FLOAT8_E4M3, /* one byte, 4 bits exponent, OCP FP8: no infinity; what rounds to more than
                          448 becomes NaN */
    MCOMM_FLOAT8_E5M2, /* one byte, 5 bits exponent, OCP FP8; both: as FLOAT16 */
    MCOMM_COMPLEX_FLOAT, /* real, imaginary part; SUM, AVG, PROD (no rescue of infinities) */
    MCOMM_COMPLEX_DOUBLE,
    MCOMM_FLOAT_INT, /* MINLOC, MAXLOC: struct { float value; int index; } and the like */
    MCOMM_DOUBLE_INT,
    MCOMM_LONG_INT,
    MCOMM_INT_INT,
    MCOMM_SHORT_INT
} mcomm_datatype_t;

typedef enum mcomm_op {
    MCOMM_SUM = 1,
    MCOMM_PROD,
    MCOMM_MIN,
    MCOMM_MAX,
    MCOMM_LAND,
    MCOMM_LOR,
    MCOMM_LXOR,
    MCOMM_BAND,
    MCOMM_BOR,
    MCOMM_BXOR,
    MCOMM_REPLACE, /* windows only: the new value */
    MCOMM_NO_OP,   /* windows only: fetch without a change */
    MCOMM_AVG, /* collectives only: the sum divided by the number of ranks; not of scans. Of floats
                  it overflows only if the average does; of integers the sum wraps and the
                  quotient is truncated */
    MCOMM_MINLOC, /* collectives only: the least value, of equals the one of least index */
    MCOMM_MAXLOC, /* collectives only */
    MCOMM_OP_USER = 0x1000, /* from here on: mcomm_op_create() */
    MCOMM_OP_LAST = 0x7fffffff
} mcomm_op_t;
#define MCOMM_OP_NULL ((mcomm_op_t)0)

/** Bytes of one element, 0 if dtype is none. @threads any thread, also before init */
MCOMM_EXPORT size_t mcomm_datatype_size(mcomm_datatype_t dtype);

#define MCOMM_WIN_READ 1u   /* others may get */
#define MCOMM_WIN_WRITE 2u  /* others may put */
#define MCOMM_WIN_ATOMIC 4u /* others may accumulate, fetch, swap, signal */
#define MCOMM_WIN_ALL 7u

typedef struct mcomm_win_attr {
    size_t struct_size;
    size_t nbytes;     /* of this rank's part; 0 is legal; may differ between ranks */
    size_t alignment;  /* of allocated memory: power of two up to 2 MiB, 0 = 64 */
    size_t disp_unit;  /* bytes per displacement unit at this rank, 0 = 1 */
    unsigned access;   /* what others may do here: MCOMM_WIN_* bits, 0 = MCOMM_WIN_ALL */
    mcomm_info_t info; /* hints or MCOMM_INFO_NULL */
} mcomm_win_attr_t;
#define MCOMM_WIN_ATTR_DEFAULT                                                                     \
    {                                                                                              \
        sizeof(mcomm_win_attr_t), 0, 0, 0, 0, NULL                                                 \
    }

/** Library memory, zeroed, mapped by local peers on first use. Collective. base_p: this rank's
 * part. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_allocate(const mcomm_win_attr_t *attr, mcomm_comm_t comm,
                                            void **base_p, mcomm_win_t *win_p);
/** The caller's memory [base, base + attr->nbytes), which must outlive the window. Collective.
 * @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_create(void *base, const mcomm_win_attr_t *attr,
                                          mcomm_comm_t comm, mcomm_win_t *win_p);
/** No memory yet: attach it later; displacements are then addresses at the target. Collective.
 * @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_create_dynamic(const mcomm_win_attr_t *attr, mcomm_comm_t comm,
                                                  mcomm_win_t *win_p);
/** Make [base, base + nbytes) of this process reachable; ranges may overlap, each attach is paired
 * with a detach. */
MCOMM_EXPORT mcomm_err_t mcomm_win_attach(mcomm_win_t win, void *base, size_t nbytes);
/** Take back one attach of exactly this base; returns after the last access to it has ended. What
 * the communicator's time limit cuts off is MCOMM_ERR_RMA_RANGE at its origin; bytes that another
 * attach covers are not concerned. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_detach(mcomm_win_t win, const void *base);
/** Complete all own operations, wait for all members, free; sets MCOMM_WIN_NULL. Collective.
 * @threads no other call on it in progress  @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_free(mcomm_win_t *win_p);
/** Size and displacement unit of rank's part; pointers may be NULL. */
MCOMM_EXPORT mcomm_err_t mcomm_win_query(mcomm_win_t win, int rank, size_t *nbytes_p,
                                         size_t *disp_unit_p);
/**
 * Address in this process of rank's part of an allocated window; NULL (with MCOMM_SUCCESS) if it
 * cannot be mapped: another node, or user memory. Valid until mcomm_win_free(), even if the owner
 * dies.
 */
MCOMM_EXPORT mcomm_err_t mcomm_win_shared_query(mcomm_win_t win, int rank, void **base_p);

/** Write nbytes of buf to target's part at disp. buf is borrowed until flush, flush_local, fence,
 * unlock or complete. */
MCOMM_EXPORT mcomm_err_t mcomm_put(const void *buf, size_t nbytes, int target, uint64_t disp,
                                   mcomm_win_t win);
/** Read nbytes from target's part at disp into buf; buf holds them after the next completion call.
 */
MCOMM_EXPORT mcomm_err_t mcomm_get(void *buf, size_t nbytes, int target, uint64_t disp,
                                   mcomm_win_t win);
/** Request forms: put is complete = applied at the target; get = buf holds the data. */
MCOMM_EXPORT mcomm_err_t mcomm_rput(const void *buf, size_t nbytes, int target, uint64_t disp,
                                    mcomm_win_t win, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_rget(void *buf, size_t nbytes, int target, uint64_t disp,
                                    mcomm_win_t win, mcomm_request_t *request_p);

typedef struct mcomm_rma_seg { /* one piece of a list transfer */
    void *buf;                 /* local */
    size_t nbytes;
    uint64_t disp; /* at the target */
} mcomm_rma_seg_t;
/** Many pieces to or from one target; all are checked before any is moved (of a dynamic window by
 * the target: one round trip more). The list is copied. */
MCOMM_EXPORT mcomm_err_t mcomm_putv(const mcomm_rma_seg_t *segs, size_t seg_count, int target,
                                    mcomm_win_t win);
MCOMM_EXPORT mcomm_err_t mcomm_getv(const mcomm_rma_seg_t *segs, size_t seg_count, int target,
                                    mcomm_win_t win);

/**
 * Combine count elements of buf into target's memory with op, each element atomically with respect
 * to all other atomic calls of this chapter on it. @return also MCOMM_ERR_OP, MCOMM_ERR_BUFFER
 * (misaligned disp)
 */
MCOMM_EXPORT mcomm_err_t mcomm_accumulate(const void *buf, size_t count, mcomm_datatype_t dtype,
                                          int target, uint64_t disp, mcomm_op_t op,
                                          mcomm_win_t win);
/** As accumulate, and give the old elements in result after the next completion call. */
MCOMM_EXPORT mcomm_err_t mcomm_get_accumulate(const void *buf, void *result, size_t count,
                                              mcomm_datatype_t dtype, int target, uint64_t disp,
                                              mcomm_op_t op, mcomm_win_t win);
/** One element; *result holds the old value on return. @blocks for the round trip */
MCOMM_EXPORT mcomm_err_t mcomm_fetch_and_op(const void *buf, void *result, mcomm_datatype_t dtype,
                                            int target, uint64_t disp, mcomm_op_t op,
                                            mcomm_win_t win);
/** One integer element: if equal to *compare it becomes *swap; *result holds the old value on
 * return. @blocks for the round trip */
MCOMM_EXPORT mcomm_err_t mcomm_compare_and_swap(const void *swap, const void *compare, void *result,
                                                mcomm_datatype_t dtype, int target, uint64_t disp,
                                                mcomm_win_t win);

/** All own operations to target are applied there; gets and results are in their buffers. @blocks
 * yes */
MCOMM_EXPORT mcomm_err_t mcomm_flush(int target, mcomm_win_t win);
/** Own buffers of operations to target may be reused. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_flush_local(int target, mcomm_win_t win);
/** The same for all targets. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_flush_all(mcomm_win_t win);
MCOMM_EXPORT mcomm_err_t mcomm_flush_local_all(mcomm_win_t win);
/** flush_all, then a barrier of the window's communicator. Collective. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_fence(mcomm_win_t win);

typedef enum mcomm_lock_type {
    MCOMM_LOCK_SHARED = 1,
    MCOMM_LOCK_EXCLUSIVE = 2
} mcomm_lock_type_t;
/** Mutual exclusion among the processes that lock target's part; a dead holder's lock is released.
 * A process has one lock on a target at a time, else MCOMM_ERR_RMA_SYNC. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_lock(mcomm_lock_type_t type, int target, mcomm_win_t win);
/** Flush target, then release. MCOMM_ERR_RMA_SYNC: no lock there, or one by lock_all.
 * @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_unlock(int target, mcomm_win_t win);
/** A shared lock at every member, and its release. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_lock_all(mcomm_win_t win);
MCOMM_EXPORT mcomm_err_t mcomm_win_unlock_all(mcomm_win_t win);

/** Open my part to the members of group (they call start and complete). Does not block. */
MCOMM_EXPORT mcomm_err_t mcomm_win_post(mcomm_group_t group, mcomm_win_t win);
/** Wait until every member of group has posted. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_start(mcomm_group_t group, mcomm_win_t win);
/** End start: all operations since are applied at their targets. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_complete(mcomm_win_t win);
/** End post: every member of its group has completed. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_win_wait(mcomm_win_t win);
/** As wait, without waiting: done_p 1 (the post is over) or 0. */
MCOMM_EXPORT mcomm_err_t mcomm_win_test(mcomm_win_t win, int *done_p);

typedef enum mcomm_signal_op {
    MCOMM_SIGNAL_SET = 1,
    MCOMM_SIGNAL_ADD = 2
} mcomm_signal_op_t;
typedef enum mcomm_cmp {
    MCOMM_CMP_EQ = 1,
    MCOMM_CMP_NE,
    MCOMM_CMP_GT,
    MCOMM_CMP_GE,
    MCOMM_CMP_LT,
    MCOMM_CMP_LE
} mcomm_cmp_t;
/**
 * Put nbytes, then set or add to the uint64_t at signal_disp of the same part: whoever sees the
 * signal sees the data. nbytes = 0 sends the signal alone. buf is borrowed as for mcomm_put().
 */
MCOMM_EXPORT mcomm_err_t mcomm_put_signal(const void *buf, size_t nbytes, int target, uint64_t disp,
                                          uint64_t signal_disp, uint64_t signal,
                                          mcomm_signal_op_t op, mcomm_win_t win);
/** Wait until the uint64_t at signal_disp of my part compares true with value. value_p: what was
 * seen, or NULL. @blocks up to timeout_ms */
MCOMM_EXPORT mcomm_err_t mcomm_wait_signal(uint64_t signal_disp, mcomm_cmp_t cmp, uint64_t value,
                                           int timeout_ms, uint64_t *value_p, mcomm_win_t win);

/* ========================================================================================
 * 9. Collectives: every member calls, in the same order on each communicator
 *
 * Each comes in three forms. Blocking: mcomm_allreduce(). Nonblocking: mcomm_iallreduce() gives a
 * request (chapter 6); any number may be outstanding, those of one communicator end in the order
 * of their calls. Persistent: mcomm_allreduce_init() gives an inactive request, which mcomm_start()
 * starts any number of times; starts count in the communicator's order like calls. Blocking and
 * nonblocking forms of one collective match each other. Buffers, and the arrays of counts and
 * displacements, are borrowed until the call or the request is complete (persistent: until it is
 * freed).
 *
 * Counts and displacements are elements. Buffers may not overlap; sendbuf may be MCOMM_IN_PLACE
 * where a comment says what is read then. Count 0 is legal, with any buffer pointers. What only
 * the root uses may be anything elsewhere. Operations are folded in rank order whenever op does not
 * commute; every rank of one call gets the same bits. Integers wrap. Sums, products and averages of
 * 16- and 8-bit floats are made in float and rounded once, over all ranks; all their NaNs become
 * one. MIN and MAX of a NaN and a number: the lower ranks' one.
 *
 * A member that died, or finalized without a call that others wait for, makes the others return
 * MCOMM_ERR_PROC_FAILED; some may have succeeded, and the buffers are undefined. With MCOMM_CHECK=1
 * arguments that differ between ranks are found: MCOMM_ERR_MISMATCH names both ranks and both
 * values. All: @threads any thread, @blocks the blocking forms
 * @return also MCOMM_ERR_BUFFER, _COUNT, _TYPE, _OP, _RANK, _COMM, _REVOKED, _TIMEOUT, _NO_MEM
 * ======================================================================================== */
/**
 * A caller's own operation: inout[i] = in[i] op inout[i] for count elements; in holds the lower
 * ranks. Associative. Any thread that is in a call of the library may run it, with the library's
 * lock held: it must not call back into the library and must not wait for another thread.
 */
typedef void (*mcomm_reduce_fn_t)(const void *in, void *inout, size_t count, mcomm_datatype_t dtype,
                                  void *arg);
/** Make an operation of fn; arg is handed to it. is_commutative 0: the order of ranks is kept. */
MCOMM_EXPORT mcomm_err_t mcomm_op_create(mcomm_reduce_fn_t fn, void *arg, int is_commutative,
                                         mcomm_op_t *op_p);
/** Free and set to MCOMM_OP_NULL. Collectives under way and persistent requests still use it. */
MCOMM_EXPORT mcomm_err_t mcomm_op_free(mcomm_op_t *op_p);
/** inout[i] = in[i] op inout[i]; local; in and inout may not overlap. Of AVG there is none. */
MCOMM_EXPORT mcomm_err_t mcomm_reduce_local(const void *in, void *inout, size_t count,
                                            mcomm_datatype_t dtype, mcomm_op_t op);

/** Nobody leaves before all have come. @source MPI 4.1 chapter 6, for all of this chapter */
MCOMM_EXPORT mcomm_err_t mcomm_barrier(mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ibarrier(mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_barrier_init(mcomm_comm_t comm, mcomm_request_t *request_p);

/** count elements of root's buf to everybody's buf. */
MCOMM_EXPORT mcomm_err_t mcomm_bcast(void *buf, size_t count, mcomm_datatype_t dtype, int root,
                                     mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ibcast(void *buf, size_t count, mcomm_datatype_t dtype, int root,
                                      mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_bcast_init(void *buf, size_t count, mcomm_datatype_t dtype, int root,
                                          mcomm_comm_t comm, mcomm_request_t *request_p);
/** Combine count elements of all ranks in root's recvbuf. MCOMM_IN_PLACE at root: its recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_reduce(const void *sendbuf, void *recvbuf, size_t count,
                                      mcomm_datatype_t dtype, mcomm_op_t op, int root,
                                      mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ireduce(const void *sendbuf, void *recvbuf, size_t count,
                                       mcomm_datatype_t dtype, mcomm_op_t op, int root,
                                       mcomm_comm_t comm, mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_reduce_init(const void *sendbuf, void *recvbuf, size_t count,
                                           mcomm_datatype_t dtype, mcomm_op_t op, int root,
                                           mcomm_comm_t comm, mcomm_request_t *request_p);
/** Combine count elements of all ranks in everybody's recvbuf. MCOMM_IN_PLACE: recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_allreduce(const void *sendbuf, void *recvbuf, size_t count,
                                         mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iallreduce(const void *sendbuf, void *recvbuf, size_t count,
                                          mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm,
                                          mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_allreduce_init(const void *sendbuf, void *recvbuf, size_t count,
                                              mcomm_datatype_t dtype, mcomm_op_t op,
                                              mcomm_comm_t comm, mcomm_request_t *request_p);
/** Each rank's count elements, in rank order, to root's recvbuf (size x count). MCOMM_IN_PLACE at
 * root: its part is in its place in recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_gather(const void *sendbuf, void *recvbuf, size_t count,
                                      mcomm_datatype_t dtype, int root, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_igather(const void *sendbuf, void *recvbuf, size_t count,
                                       mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                       mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_gather_init(const void *sendbuf, void *recvbuf, size_t count,
                                           mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                           mcomm_request_t *request_p);
/** send_count elements of each rank r to root's recvbuf + displs[r]; recv_counts[r] equals r's
 * send_count; both arrays matter at root only. MCOMM_IN_PLACE as in gather. */
MCOMM_EXPORT mcomm_err_t mcomm_gatherv(const void *sendbuf, size_t send_count, void *recvbuf,
                                       const size_t *recv_counts, const size_t *displs,
                                       mcomm_datatype_t dtype, int root, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_igatherv(const void *sendbuf, size_t send_count, void *recvbuf,
                                        const size_t *recv_counts, const size_t *displs,
                                        mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                        mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_gatherv_init(const void *sendbuf, size_t send_count, void *recvbuf,
                                            const size_t *recv_counts, const size_t *displs,
                                            mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                            mcomm_request_t *request_p);
/** The r-th count elements of root's sendbuf to rank r. recvbuf MCOMM_IN_PLACE at root: its part
 * stays where it is. */
MCOMM_EXPORT mcomm_err_t mcomm_scatter(const void *sendbuf, void *recvbuf, size_t count,
                                       mcomm_datatype_t dtype, int root, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iscatter(const void *sendbuf, void *recvbuf, size_t count,
                                        mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                        mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_scatter_init(const void *sendbuf, void *recvbuf, size_t count,
                                            mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                            mcomm_request_t *request_p);
/** send_counts[r] elements of root's sendbuf + displs[r] to rank r; arrays at root only. recvbuf
 * MCOMM_IN_PLACE as in scatter. */
MCOMM_EXPORT mcomm_err_t mcomm_scatterv(const void *sendbuf, const size_t *send_counts,
                                        const size_t *displs, void *recvbuf, size_t recv_count,
                                        mcomm_datatype_t dtype, int root, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iscatterv(const void *sendbuf, const size_t *send_counts,
                                         const size_t *displs, void *recvbuf, size_t recv_count,
                                         mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                         mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_scatterv_init(const void *sendbuf, const size_t *send_counts,
                                             const size_t *displs, void *recvbuf, size_t recv_count,
                                             mcomm_datatype_t dtype, int root, mcomm_comm_t comm,
                                             mcomm_request_t *request_p);
/** Each rank's count elements, in rank order, to everybody's recvbuf (size x count).
 * MCOMM_IN_PLACE: own part is in its place in recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_allgather(const void *sendbuf, void *recvbuf, size_t count,
                                         mcomm_datatype_t dtype, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iallgather(const void *sendbuf, void *recvbuf, size_t count,
                                          mcomm_datatype_t dtype, mcomm_comm_t comm,
                                          mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_allgather_init(const void *sendbuf, void *recvbuf, size_t count,
                                              mcomm_datatype_t dtype, mcomm_comm_t comm,
                                              mcomm_request_t *request_p);
/** recv_counts[r] elements of each rank r to everybody's recvbuf + displs[r]; the arrays are equal
 * on all ranks (displs may differ). MCOMM_IN_PLACE as in allgather. */
MCOMM_EXPORT mcomm_err_t mcomm_allgatherv(const void *sendbuf, size_t send_count, void *recvbuf,
                                          const size_t *recv_counts, const size_t *displs,
                                          mcomm_datatype_t dtype, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iallgatherv(const void *sendbuf, size_t send_count, void *recvbuf,
                                           const size_t *recv_counts, const size_t *displs,
                                           mcomm_datatype_t dtype, mcomm_comm_t comm,
                                           mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_allgatherv_init(const void *sendbuf, size_t send_count,
                                               void *recvbuf, const size_t *recv_counts,
                                               const size_t *displs, mcomm_datatype_t dtype,
                                               mcomm_comm_t comm, mcomm_request_t *request_p);
/** Combine size x count elements of all ranks; the r-th count of the result to rank r.
 * MCOMM_IN_PLACE, at all ranks or at none: the input is in recvbuf, the result at its beginning. */
MCOMM_EXPORT mcomm_err_t mcomm_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                    size_t count, mcomm_datatype_t dtype,
                                                    mcomm_op_t op, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ireduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                     size_t count, mcomm_datatype_t dtype,
                                                     mcomm_op_t op, mcomm_comm_t comm,
                                                     mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
                                                         size_t count, mcomm_datatype_t dtype,
                                                         mcomm_op_t op, mcomm_comm_t comm,
                                                         mcomm_request_t *request_p);
/** Combine the sum of recv_counts[] elements of all ranks; the r-th recv_counts[r] of the result to
 * rank r; recv_counts is equal on all ranks. MCOMM_IN_PLACE as in reduce_scatter_block. */
MCOMM_EXPORT mcomm_err_t mcomm_reduce_scatter(const void *sendbuf, void *recvbuf,
                                              const size_t *recv_counts, mcomm_datatype_t dtype,
                                              mcomm_op_t op, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                               const size_t *recv_counts, mcomm_datatype_t dtype,
                                               mcomm_op_t op, mcomm_comm_t comm,
                                               mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_reduce_scatter_init(const void *sendbuf, void *recvbuf,
                                                   const size_t *recv_counts,
                                                   mcomm_datatype_t dtype, mcomm_op_t op,
                                                   mcomm_comm_t comm, mcomm_request_t *request_p);
/** The r-th count elements of my sendbuf to rank r, whose recvbuf gets them at my rank's place.
 * MCOMM_IN_PLACE, at all ranks or at none: recvbuf is sent and replaced. */
MCOMM_EXPORT mcomm_err_t mcomm_alltoall(const void *sendbuf, void *recvbuf, size_t count,
                                        mcomm_datatype_t dtype, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ialltoall(const void *sendbuf, void *recvbuf, size_t count,
                                         mcomm_datatype_t dtype, mcomm_comm_t comm,
                                         mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_alltoall_init(const void *sendbuf, void *recvbuf, size_t count,
                                             mcomm_datatype_t dtype, mcomm_comm_t comm,
                                             mcomm_request_t *request_p);
/** send_counts[r] elements at sendbuf + send_displs[r] to rank r; recv_counts[r] from rank r to
 * recvbuf + recv_displs[r]. MCOMM_IN_PLACE, at all ranks or at none: recvbuf with the recv arrays
 * is sent and replaced. */
MCOMM_EXPORT mcomm_err_t mcomm_alltoallv(const void *sendbuf, const size_t *send_counts,
                                         const size_t *send_displs, void *recvbuf,
                                         const size_t *recv_counts, const size_t *recv_displs,
                                         mcomm_datatype_t dtype, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_ialltoallv(const void *sendbuf, const size_t *send_counts,
                                          const size_t *send_displs, void *recvbuf,
                                          const size_t *recv_counts, const size_t *recv_displs,
                                          mcomm_datatype_t dtype, mcomm_comm_t comm,
                                          mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_alltoallv_init(const void *sendbuf, const size_t *send_counts,
                                              const size_t *send_displs, void *recvbuf,
                                              const size_t *recv_counts, const size_t *recv_displs,
                                              mcomm_datatype_t dtype, mcomm_comm_t comm,
                                              mcomm_request_t *request_p);
/** Combine the count elements of ranks 0 ... mine, in my recvbuf. MCOMM_IN_PLACE: recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_scan(const void *sendbuf, void *recvbuf, size_t count,
                                    mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iscan(const void *sendbuf, void *recvbuf, size_t count,
                                     mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm,
                                     mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_scan_init(const void *sendbuf, void *recvbuf, size_t count,
                                         mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm,
                                         mcomm_request_t *request_p);
/** Combine the count elements of the ranks below mine; rank 0's recvbuf is not written.
 * MCOMM_IN_PLACE: recvbuf. */
MCOMM_EXPORT mcomm_err_t mcomm_exscan(const void *sendbuf, void *recvbuf, size_t count,
                                      mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm);
MCOMM_EXPORT mcomm_err_t mcomm_iexscan(const void *sendbuf, void *recvbuf, size_t count,
                                       mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm,
                                       mcomm_request_t *request_p);
MCOMM_EXPORT mcomm_err_t mcomm_exscan_init(const void *sendbuf, void *recvbuf, size_t count,
                                           mcomm_datatype_t dtype, mcomm_op_t op, mcomm_comm_t comm,
                                           mcomm_request_t *request_p);

/* ========================================================================================
 * 10. Objects: a key-value store made of windows
 *
 * Every member of the communicator lends capacity (0 = it only uses the store). Keys are 1 to
 * 4096 bytes, values 0 bytes to what the pool holds (in pools of many small parts less). A put that
 * has returned is seen by every get that starts afterwards; readers see the old value or the new
 * one, never a mixture. When room is needed, the least recently used objects are evicted. A call
 * waits for the rank on another node that has to answer it.
 * ======================================================================================== */
typedef struct mcomm_kv_attr {
    size_t struct_size;
    size_t capacity;    /* bytes of values this rank stores; 0: pure client */
    size_t max_objects; /* in the whole store, about: sizes the directory; 0: from capacity */
    int put_timeout_ms; /* how long a put may wait for room; 0: the setting MCOMM_KV_PUT_TIMEOUT */
    mcomm_info_t info;
} mcomm_kv_attr_t;
#define MCOMM_KV_ATTR_DEFAULT                                                                      \
    {                                                                                              \
        sizeof(mcomm_kv_attr_t), 0, 0, 0, NULL                                                     \
    }

#define MCOMM_KV_REPLACE 0u   /* default: a new value takes the place of the old one */
#define MCOMM_KV_IF_ABSENT 1u /* an existing object stays; the put is a success without effect */
#define MCOMM_KV_EXCLUSIVE 2u /* an existing object is MCOMM_ERR_EXISTS */
typedef struct mcomm_kv_put_attr {
    size_t struct_size;
    unsigned mode;      /* MCOMM_KV_* */
    int preferred_rank; /* where to store if there is room; -1: this rank first if it has capacity
                         */
} mcomm_kv_put_attr_t;
#define MCOMM_KV_PUT_ATTR_DEFAULT                                                                  \
    {                                                                                              \
        sizeof(mcomm_kv_put_attr_t), MCOMM_KV_REPLACE, -1                                          \
    }

typedef struct mcomm_kv_view { /* a value that stays in place until released */
    const void *data;
    size_t nbytes;
    int rank;    /* that holds it */
    int is_copy; /* 1: a copy: the value is on another node or lies in several pieces */
    void *token; /* the library's */
} mcomm_kv_view_t;

typedef struct mcomm_kv_stats {
    size_t struct_size;
    uint64_t capacity;    /* bytes, all ranks */
    uint64_t used;        /* bytes, all ranks */
    uint64_t objects;     /* all ranks */
    uint64_t evictions;   /* all ranks, since open */
    uint64_t puts;        /* this rank */
    uint64_t gets;        /* this rank */
    uint64_t hits_local;  /* this rank: value was in this rank's memory */
    uint64_t hits_node;   /* this rank: value was in another rank's memory on this node */
    uint64_t hits_remote; /* this rank: value came from another node */
    uint64_t misses;      /* this rank */
    uint64_t retries;     /* this rank: reads repeated because the object changed meanwhile */
    uint64_t waits_space; /* this rank: puts that had to wait for room */
} mcomm_kv_stats_t;

/** Open a store over comm. Collective; attributes may differ between ranks; a bad one at one rank
 * is an error at all. comm's time limit (mcomm_comm_set_timeout(), as it is now) is the store's: a
 * call waits that long for a rank on another node that does not answer, once, then ends with
 * MCOMM_ERR_TIMEOUT. A change that ended so may still be made when the rank goes on, whole.
 * Without a limit a rank is waited for until it answers or is declared dead. @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_kv_open(mcomm_comm_t comm, const mcomm_kv_attr_t *attr,
                                       mcomm_kv_t *kv_p);
/** Close and free; views must be released before. Collective: waits for all members that live,
 * within the store's time limit, once for the whole call; MCOMM_ERR_TIMEOUT: not all were there,
 * and it is freed.
 * @blocks yes */
MCOMM_EXPORT mcomm_err_t mcomm_kv_close(mcomm_kv_t *kv_p);
/**
 * Store nbytes of value under key.
 * @return MCOMM_SUCCESS: every later get finds it; MCOMM_ERR_EXISTS; MCOMM_ERR_NO_SPACE (after the
 *         put time-out); MCOMM_ERR_TOO_LARGE; MCOMM_ERR_TIMEOUT (others changed the object again
 *         and again for 10 s, gets, too; or a rank on another node did not answer within the
 *         store's time limit: the value may still be put); MCOMM_ERR_PROC_FAILED. On any other
 *         error the old value stays.
 * @threads any thread
 */
MCOMM_EXPORT mcomm_err_t mcomm_kv_put(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                      const void *value, size_t nbytes,
                                      const mcomm_kv_put_attr_t *attr);
/** Value in new memory (freed by the caller with mcomm_free()). MCOMM_ERR_NOT_FOUND if absent. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_get(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                      void **value_p, size_t *nbytes_p);
/** Value into buf; *nbytes_p = its size, also with MCOMM_ERR_TRUNCATE when it is over capacity.
 * With TRUNCATE buf is untouched, unless a value that fitted was replaced by this longer one while
 * it was copied. After any other error what was in buf may be gone: the object may go while it is
 * copied. The same for the buffers of a batch. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_get_into(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                           void *buf, size_t capacity, size_t *nbytes_p);
/** exists_p: 1 or 0. Does not count as a use for eviction. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_exists(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                         int *exists_p);
/** Size of the value; MCOMM_ERR_NOT_FOUND if absent. Does not count as a use. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_size(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                       size_t *nbytes_p);
/** The object is gone for every get that starts afterwards; MCOMM_ERR_NOT_FOUND if it was absent.
 * Views of it stay whole. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_remove(mcomm_kv_t kv, const void *key, size_t key_nbytes);
/** Look at a value where it lies: it is neither changed nor evicted until released. No copy
 * where view_p->is_copy is 0. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_acquire(mcomm_kv_t kv, const void *key, size_t key_nbytes,
                                          mcomm_kv_view_t *view_p);
/** Give a view back; *view_p is cleared. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_release(mcomm_kv_t kv, mcomm_kv_view_t *view_p);

typedef struct mcomm_kv_item { /* one entry of a batch */
    const void *key;
    size_t key_nbytes;
    void *buf;         /* put: value (read only); get: destination */
    size_t nbytes;     /* put: of the value; get: in: room at buf, out: size of the value */
    mcomm_err_t error; /* out: of this entry */
} mcomm_kv_item_t;
/**
 * Batches: every entry is done and has its own error; the call returns MCOMM_SUCCESS if all did,
 * else the first entry's error. Entries with equal keys take effect in list order.
 */
MCOMM_EXPORT mcomm_err_t mcomm_kv_put_batch(mcomm_kv_t kv, mcomm_kv_item_t *items, size_t count,
                                            const mcomm_kv_put_attr_t *attr);
MCOMM_EXPORT mcomm_err_t mcomm_kv_get_batch(mcomm_kv_t kv, mcomm_kv_item_t *items, size_t count);
/** error = MCOMM_SUCCESS where the key exists (nbytes = its size), MCOMM_ERR_NOT_FOUND where not;
 * returns MCOMM_SUCCESS. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_exists_batch(mcomm_kv_t kv, mcomm_kv_item_t *items, size_t count);
/** As mcomm_kv_remove() for each entry; buf and nbytes are not looked at. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_remove_batch(mcomm_kv_t kv, mcomm_kv_item_t *items, size_t count);
/** stats_p->struct_size is set by the caller. Not collective. */
MCOMM_EXPORT mcomm_err_t mcomm_kv_stats(mcomm_kv_t kv, mcomm_kv_stats_t *stats_p);

/* ========================================================================================
 * 11. What the library knows
 * ======================================================================================== */
/** Free memory that the library handed to the caller. @threads any thread */
MCOMM_EXPORT void mcomm_free(void *ptr);
/** The table that configure printed. Static. @threads any thread, also before init */
MCOMM_EXPORT const char *mcomm_build_config(void);
/** How this process found its job, and what in the environment said so. Static until finalize. */
MCOMM_EXPORT const char *mcomm_bootstrap_text(void);

typedef struct mcomm_peer_desc {
    size_t struct_size;
    int is_local;     /* shares memory with this process */
    int is_alive;     /* as far as this process knows */
    int node;         /* number of its node in the communicator, 0 ... node_count-1 */
    const char *rail; /* "self", "shm", "tcp", or "none" while not connected */
    int can_cma;      /* 1: process_vm_readv works to it, 0: not, -1: not tried yet */
    int64_t pid;
    const char *host; /* "" if unknown */
} mcomm_peer_desc_t;
/** What is known of a rank; connects to it if connect != 0 and there is no connection yet
 * (@blocks). desc_p->struct_size is set by the caller. */
MCOMM_EXPORT mcomm_err_t mcomm_peer_query(mcomm_comm_t comm, int rank, int connect,
                                          mcomm_peer_desc_t *desc_p);
/** Number of nodes over which the communicator spreads. */
MCOMM_EXPORT mcomm_err_t mcomm_comm_node_count(mcomm_comm_t comm, int *count_p);

typedef struct mcomm_rail_desc {
    size_t struct_size;
    const char *kind;    /* "shm", "tcp" */
    const char *device;  /* interface name, or "" */
    const char *address; /* what was bound, as text */
    int64_t mbits;       /* line rate, -1 unknown */
    int numa;            /* node of the device, -1 unknown */
} mcomm_rail_desc_t;
/** How many ways of moving bytes this process has; 0 before mcomm_init(). */
MCOMM_EXPORT size_t mcomm_rail_count(void);
/** The index-th; desc_p->struct_size is set by the caller; texts are valid until finalize. */
MCOMM_EXPORT mcomm_err_t mcomm_rail_get(size_t index, mcomm_rail_desc_t *desc_p);

/** The machine as text, one line per fact: allowed CPUs, caches, NUMA nodes, memory. Static until
 * finalize. */
MCOMM_EXPORT const char *mcomm_topology_text(void);
/** The algorithms of collectives and their sizes. Static storage, overwritten by the next call. */
MCOMM_EXPORT const char *mcomm_coll_text(void);

#ifdef __cplusplus
}
#endif
#endif /* MOONCAKE_COMM_H */
