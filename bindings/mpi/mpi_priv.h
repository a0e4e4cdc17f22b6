/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the files of the MPI layer share. The layer is a user of mooncake_comm.h: its objects wrap
 * the library's, and carry what MPI wants besides (error handlers, attributes, names, datatypes).
 */
#ifndef MPI_PRIV_H
#define MPI_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mooncake_comm.h"
#include "mpi.h"

/* Defines PMPI_name, and MPI_name as a weak name of the same function. */
#define DEF(type, name, parameters)                                                                \
    __attribute__((weak, alias("PMPI_" #name))) type MPI_##name parameters;                        \
    type PMPI_##name parameters

/* The calls with counts are compiled twice: NAME.c, and NAME_c.c that defines LARGE. */
#ifdef LARGE
#define DEF_COUNT(name, parameters) DEF_LARGE_(name##_c, parameters)
#define DEF_LARGE_(name, parameters) DEF(int, name, parameters)
#define COUNT_NAME(name) name##_large
#define MPI_NUM MPI_Count
#define MPI_DISP MPI_Aint
#define MPI_BYTES MPI_Count
#define NUM_MAX INT64_MAX
#else
#define DEF_COUNT(name, parameters) DEF(int, name, parameters)
#define COUNT_NAME(name) name##_small
#define MPI_NUM int
#define MPI_DISP int
#define MPI_BYTES MPI_Aint
#define NUM_MAX INT32_MAX
#endif

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Where a datatype begins is arithmetic on addresses, also of MPI_BOTTOM, which is NULL. */
#define AT(base, offset) ((char *)((uintptr_t)(base) + (uintptr_t)(offset)))

/* ---- handle.c ---- */
enum kind {
    KIND_COMM = 1,
    KIND_GROUP,
    KIND_INFO,
    KIND_ERRHANDLER,
    KIND_REQUEST,
    KIND_MESSAGE,
    KIND_TYPE,
    KIND_OP,
    KIND_WIN,
    KIND_SESSION
};
#define HANDLE_CHUNK 1024u
#define HANDLE_CHUNKS 1024u
struct handle_entry {
    void *object;
    uint32_t handle; /* 0: free */
    uint32_t next_free;
};
extern struct handle_entry *mpi_handle_chunks[HANDLE_CHUNKS];
/* A number of 31 bits (kind, generation, index) as pointer; NULL: no memory or over 2^20 objects.
 */
void *mpi_handle_new(enum kind kind, void *object);
void mpi_handle_free(const void *handle);
static inline void *mpi_handle_get(enum kind kind, const void *handle)
{
    uintptr_t bits = (uintptr_t)handle;
    struct handle_entry *entry;

    if (bits >> 27 != (uintptr_t)kind)
        return NULL;
    entry =
        __atomic_load_n(&mpi_handle_chunks[bits / HANDLE_CHUNK % HANDLE_CHUNKS], __ATOMIC_ACQUIRE);
    if (entry == NULL)
        return NULL;
    entry += bits % HANDLE_CHUNK;
    return __atomic_load_n(&entry->handle, __ATOMIC_ACQUIRE) == bits ? entry->object : NULL;
}
void mpi_lock(void); /* of the layer's tables and reference counts; short, leaves */
void mpi_unlock(void);

/* ---- error.c ---- */
struct errhandler {
    int kind; /* of enum kind: what it may be attached to, 0: anything; predefined ones below 0 */
    int refs;
    void (*fn)(void *handle, int *code, ...);
    MPI_Errhandler handle;
};
struct owner { /* begins every object that has an error handler */
    enum kind kind;
    void *handle;
    struct errhandler *errhandler;
};
extern struct errhandler mpi_errors_are_fatal, mpi_errors_return, mpi_errors_abort;
/* Says what is wrong, calls owner's error handler (NULL: MPI_COMM_SELF's), returns the code. */
int mpi_fail(const struct owner *owner, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int mpi_raise(const struct owner *owner, int code);
int mpi_class_of(mcomm_err_t err);
/* An error that the library found; its text tells. */
int mpi_fail_mcomm(const struct owner *owner, mcomm_err_t err);
static inline int mpi_done(const struct owner *owner, mcomm_err_t err)
{
    return __builtin_expect(err == MCOMM_SUCCESS, 1) ? MPI_SUCCESS : mpi_fail_mcomm(owner, err);
}
int mpi_no_mem(const struct owner *owner, size_t nbytes);
void mpi_errhandler_ref(struct errhandler *errhandler);
void mpi_errhandler_unref(struct errhandler *errhandler);
int mpi_errhandler_set(struct owner *owner, MPI_Errhandler handle);
struct errhandler *mpi_errhandler_get(MPI_Errhandler handle);
extern int mpi_last_used_code;

/* ---- attr.c ---- */
struct attr;
struct attrs {
    struct attr *first;
};
int mpi_attrs_copy(enum kind kind, void *old_handle, struct attrs *from, struct attrs *to);
int mpi_attrs_free(enum kind kind, void *handle, struct attrs *attrs);

/* ---- info.c ---- */
struct info;
extern struct info mpi_info_env;
struct info *mpi_info_get(MPI_Info handle); /* NULL: MPI_INFO_NULL or not valid */
const char *mpi_info_find(const struct info *info, const char *key);
struct info *mpi_info_dup(const struct info *info); /* of NULL: an empty one; NULL: no memory */
void mpi_info_free(struct info *info);
int mpi_info_publish(struct info *info, MPI_Info *handle_p); /* takes info */
int mpi_info_check(const struct owner *owner, MPI_Info handle);

/* ---- group.c ---- */
int mpi_group_new(mcomm_group_t inner, MPI_Group *handle_p); /* takes inner */
mcomm_group_t mpi_group_inner(MPI_Group handle);             /* MCOMM_GROUP_NULL: not valid */

void mpi_group_down(void);

/* ---- comm.c ---- */
struct cart {
    int ndims;
    int *dims, *periods, *coords;
};
struct comm {
    struct owner owner; /* first */
    mcomm_comm_t inner;
    int rank, size;
    int refs; /* the handle, and requests */
    struct attrs attrs;
    struct info *info;
    struct cart *cart;
    struct bsend_buffer *buffer;
    char name[MPI_MAX_OBJECT_NAME];
};
extern struct comm mpi_world, mpi_self;
extern bool mpi_is_up; /* between init and finalize, sessions included */
static inline struct comm *mpi_comm_get(MPI_Comm handle)
{
    if (__builtin_expect(handle == MPI_COMM_WORLD, 1))
        return mpi_world.inner != MCOMM_COMM_NULL ? &mpi_world : NULL;
    if (handle == MPI_COMM_SELF)
        return mpi_self.inner != MCOMM_COMM_NULL ? &mpi_self : NULL;
    return mpi_handle_get(KIND_COMM, handle);
}
int mpi_bad_comm(MPI_Comm handle);
#define GET_COMM(object, given)                                                                    \
    struct comm *object = mpi_comm_get(given);                                                     \
    if (__builtin_expect(object == NULL, 0))                                                       \
    return mpi_bad_comm(given)
int mpi_comm_new(struct comm *parent, mcomm_comm_t inner, MPI_Comm *handle_p); /* takes inner */
void mpi_comm_ref(struct comm *comm);
void mpi_comm_unref(struct comm *comm);
int mpi_comm_release(struct comm *comm); /* what the handle held */
void mpi_cart_free(struct cart *cart);

/* ---- type.c: what a datatype is, and walking over one ---- */
struct type;
struct piece { /* count elements of type, extents apart, disp bytes from the beginning */
    MPI_Aint disp;
    MPI_Count count;
    struct type *type;
};
struct made {       /* how the caller made it, for MPI_Type_get_contents */
    bool is_failed; /* no memory for it */
    int combiner;
    bool is_large;
    int num_ints, num_addresses, num_counts, num_types;
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    struct type **types;
};
enum leaf {
    LEAF_NONE, /* made of others */
    LEAF_INT,
    LEAF_UINT,
    LEAF_FLOAT,
    LEAF_COMPLEX,
    LEAF_LOGICAL,
    LEAF_BYTE,
    LEAF_CHAR
};
struct type {
    MPI_Count size; /* bytes of data */
    MPI_Count lb, extent, true_lb, true_extent;
    bool is_dense; /* count of them are count x size bytes, without gaps, from true_lb on */
    bool is_committed;
    bool is_predefined;
    uint8_t leaf;            /* enum leaf */
    struct type *basic;      /* the only kind of leaf in it, NULL: several */
    mcomm_datatype_t native; /* element type of collectives and windows, 0: none */
    /* a loop: n times child, stride bytes apart; or, stride unused, a list of n pieces */
    MPI_Count n;
    MPI_Count stride;
    struct type *child;
    struct piece *pieces;
    int num_handles;
    int refs; /* handles, types made of it, operations under way */
    MPI_Datatype handle;
    struct made made;
    struct attrs attrs;
    const char *given_name; /* of predefined ones */
    char name[MPI_MAX_OBJECT_NAME];
};
#define TYPES_FIRST 0x200u
#define TYPES_NUM 0x100u
extern struct type mpi_types[TYPES_NUM]; /* the predefined ones */
static inline struct type *mpi_type_get(MPI_Datatype handle)
{
    uintptr_t index = (uintptr_t)handle - TYPES_FIRST;

    if (__builtin_expect(index < TYPES_NUM, 1))
        return mpi_types[index].is_predefined ? &mpi_types[index] : NULL;
    return mpi_handle_get(KIND_TYPE, handle);
}
int mpi_bad_type(const struct owner *owner, MPI_Datatype handle);
/* For calls that move data: also committed. */
#define GET_TYPE(object, given, owner)                                                             \
    struct type *object = mpi_type_get(given);                                                     \
    if (__builtin_expect(object == NULL || !object->is_committed, 0))                              \
    return mpi_bad_type(owner, given)
void mpi_type_ref(struct type *type);
void mpi_type_unref(struct type *type);
/* A run: count leaves of one kind, close together, at base + offset. Non-zero ends the walk. */
typedef int (*run_fn_t)(void *arg, MPI_Aint offset, MPI_Count count, const struct type *leaf);
int mpi_type_walk(const struct type *type, MPI_Count count, MPI_Aint offset, run_fn_t run,
                  void *arg);
/* A type of n pieces (taken); NULL: no memory */
struct type *mpi_type_list(MPI_Count n, struct piece *pieces);
struct type *mpi_type_loop(MPI_Count n, MPI_Aint stride, struct type *child);
/* Notes how a type is made: counts and sizes in bytes as the call had them, integers, types. */
void mpi_made_num(struct made *made, MPI_Count num);
void mpi_made_bytes(struct made *made, MPI_Count nbytes);
void mpi_made_int(struct made *made, int number);
void mpi_made_type(struct made *made, struct type *type); /* takes a reference */
void mpi_made_free(struct made *made);
/* One handle more on a type that lives in another one; a predefined one has its own for ever. */
int mpi_type_reopen(struct type *type, MPI_Datatype *handle_p);
/* Sets other bounds than those of its data. */
void mpi_type_resize(struct type *type, MPI_Count lb, MPI_Count extent);
struct array { /* the part of an array, or this process's share, in MPI_ORDER_C */
    int ndims;
    const MPI_Count *sizes, *subsizes, *starts;
};
struct type *mpi_type_subarray(const struct array *array, int order, struct type *old);
/* Gives type a handle and takes what it is made of; frees type on failure. */
int mpi_type_publish(struct type *type, const struct made *made, MPI_Datatype *handle_p);
/* From the caller's buffer to close together and back; nbytes: at most, returns what was moved. */
void mpi_pack(const void *buf, MPI_Count count, const struct type *type, void *packed);
MPI_Count mpi_unpack(const void *packed, MPI_Count nbytes, void *buf, MPI_Count count,
                     const struct type *type);

/* ---- request.c ---- */
struct request {
    MPI_Request handle;
    mcomm_request_t inner[2]; /* the first one's status is the request's */
    uint8_t pending;          /* bits: of inner, which have not ended */
    bool is_persistent, is_active, is_finished;
    bool is_collective;
    bool has_own; /* nothing of inner was begun */
    mcomm_err_t err;
    mcomm_status_t status;
    MPI_Status own; /* without inner: the status of the operation */
    int own_code;
    struct comm *comm;         /* a reference; NULL: a window's, or none */
    const struct owner *owner; /* whose error handler */
    /* Of the operation, each may be NULL: before a start; when all of inner have ended; at the end.
     * start and done get and give the error so far. */
    mcomm_err_t (*start)(struct request *request);
    mcomm_err_t (*done)(struct request *request, mcomm_err_t err);
    void (*release)(struct request *request);
    void *arg;
    struct general *general; /* of MPI_Grequest_start */
    struct request *next_orphan;
};
struct request *mpi_request_new(struct comm *comm); /* NULL: no memory */
void mpi_request_drop(struct request *request);     /* and what it holds */
/* Hands out what a call began: err is of that call. */
int mpi_request_give(struct request *request, mcomm_err_t err, MPI_Request *handle_p);
void mpi_requests_end(void); /* waits for those that were given up */
/* Have all of inner ended? Drives progress. is_wait: until they have. */
bool mpi_request_advance(struct request *request, bool is_wait);

/* ---- grequest.c ---- */
bool mpi_general_is_done(struct general *general);
void mpi_general_wait(struct general *general);
int mpi_general_query(struct general *general, MPI_Status *status);
int mpi_general_cancel(struct general *general);
/* Its handle is freed. false: it is not done, and ends by itself when it is. */
bool mpi_general_let_go(struct general *general);
int mpi_general_free(struct general *general);

/* ---- status.c ---- */
void mpi_status_set(MPI_Status *status, const mcomm_status_t *from);
void mpi_status_empty(MPI_Status *status);
void mpi_status_bytes(MPI_Status *status, MPI_Count nbytes);
MPI_Count mpi_status_nbytes(const MPI_Status *status);
static inline int mpi_rank_in(int rank)
{
    return __builtin_expect(rank >= 0, 1) ? rank
           : rank == MPI_ANY_SOURCE       ? MCOMM_ANY_SOURCE
           : rank == MPI_PROC_NULL        ? MCOMM_RANK_NULL
                                          : -100;
}
static inline int mpi_tag_in(int tag)
{
    return __builtin_expect(tag >= 0, 1) ? tag : tag == MPI_ANY_TAG ? MCOMM_ANY_TAG : -100;
}

/* ---- op.c ---- */
struct op {
    mcomm_op_t native; /* of predefined ones */
    const char *name;  /* of predefined ones */
    bool is_commutative, is_large;
    union {
        MPI_User_function *small;
        MPI_User_function_c *large;
    } fn;
    int refs;
    MPI_Op handle;
};
struct op *mpi_op_get(MPI_Op handle);
int mpi_bad_op(const struct owner *owner, MPI_Op handle);
void mpi_op_ref(struct op *op);
void mpi_op_unref(struct op *op);
/* MPI_SUCCESS: op is one of collectives on type; else raises. */
int mpi_op_check(const struct owner *owner, const struct op *op, const struct type *type);
/* Is it the library's own operation and element type? */
static inline bool mpi_op_is_native(const struct op *op, const struct type *type)
{
    return op->native != MCOMM_OP_NULL && type->native != 0;
}
/* inout[i] = in[i] op inout[i], where mpi_op_check() was content */
mcomm_err_t mpi_op_apply(const struct op *op, const void *in, void *inout, MPI_Count count,
                         const struct type *type);

/* ---- coll.c ---- */
enum form {
    BLOCKING,
    NONBLOCKING,
    PERSISTENT
};
struct numbers { /* an array of the caller's, of int or wider */
    const void *array;
    bool is_large; /* 64 bits */
};
static inline MPI_Count mpi_number(struct numbers numbers, int i)
{
    return numbers.is_large ? ((const MPI_Count *)numbers.array)[i]
                            : ((const int *)numbers.array)[i];
}
struct ends { /* one side of a collective: count of type, or one of each per rank */
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
    struct numbers counts, displs; /* in extents, with types in bytes */
    const MPI_Datatype *types;
};
struct reduction {
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count;
    struct numbers counts;
    MPI_Datatype type;
    MPI_Op op;
    int root;
};
enum collective {
    COLL_BARRIER,
    COLL_BCAST,
    COLL_GATHER,
    COLL_GATHERV,
    COLL_SCATTER,
    COLL_SCATTERV,
    COLL_ALLGATHER,
    COLL_ALLGATHERV,
    COLL_ALLTOALL,
    COLL_ALLTOALLV,
    COLL_ALLTOALLW,
    COLL_REDUCE,
    COLL_ALLREDUCE,
    COLL_REDUCE_SCATTER,
    COLL_REDUCE_SCATTER_BLOCK,
    COLL_SCAN,
    COLL_EXSCAN
};
/* Moves data; request_p NULL with BLOCKING. */
int mpi_exchange(enum form form, enum collective which, const struct ends *send,
                 const struct ends *recv, int root, MPI_Comm comm, MPI_Request *request_p);
int mpi_reduction(enum form form, enum collective which, const struct reduction *what,
                  MPI_Comm comm, MPI_Request *request_p);

/* ---- pt2pt.c ---- */
enum mode {
    MODE_SEND,
    MODE_SSEND,
    MODE_BSEND
};
int mpi_send(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             enum mode mode);
int mpi_isend(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              enum mode mode, bool is_persistent, MPI_Request *request);
int mpi_recv(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status);
int mpi_irecv(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              bool is_persistent, MPI_Request *request);
int mpi_mrecv(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *handle_p,
              MPI_Status *status);
int mpi_imrecv(void *buf, MPI_Count count, MPI_Datatype type, MPI_Message *handle_p,
               MPI_Request *request);
struct sendrecv {
    const void *sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    int dest, sendtag;
    void *recvbuf; /* replace: also what is sent */
    MPI_Count recvcount;
    MPI_Datatype recvtype;
    int source, recvtag;
    MPI_Comm comm;
};
int mpi_sendrecv(const struct sendrecv *given, bool is_replace, MPI_Status *status);
int mpi_isendrecv(const struct sendrecv *given, bool is_replace, MPI_Request *handle_p);

/* ---- bsend.c ---- */
mcomm_err_t mpi_bsend(struct comm *comm, const void *buf, MPI_Count count, const struct type *type,
                      int dest, int tag);
int mpi_bsend_attach(struct comm *comm, struct bsend_buffer **buffer_p, void *base, MPI_Count size);
int mpi_bsend_detach(struct comm *comm, struct bsend_buffer **buffer_p, void *base_p,
                     MPI_Count *size_p);
void mpi_bsend_end(struct bsend_buffer **buffer_p); /* waits for what is in it, and takes it off */
extern struct bsend_buffer *mpi_bsend_buffer;       /* of the process */

/* ---- init.c ---- */
extern int mpi_thread_level;
int mpi_up(int required);
int mpi_down(void);

#endif
