/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What is asked of a rank whose memory is not mapped here. A *call* carries any number of asks; it
 * is answered by whichever thread drives progress there (the monitor while the application
 * computes) from what is mapped at that rank, without waiting. What it cannot do so it says, and
 * the asker does that part one-sided.
 */
#ifndef MCI_KVOBJ_KV_FAR_H
#define MCI_KVOBJ_KV_FAR_H

#include "kvobj/kv_priv.h"

#define KV_CALL_MAX 65408u    /* bytes of the asks of a call */
#define KV_CALLS 8u           /* of one asker in flight */
#define KV_TALK_FEW 8192u     /* bytes of a call that needs no memory of its own: any one key */
#define KV_REPLY_MAX 1048576u /* bytes of values that a call may bring back, or one value */
#define KV_INLINE_MAX 262144u /* larger values do not come with an answer, but are read */
#define KV_FAR_GROUP 128u     /* keys of a batch under way at once */

/* ---- on the wire ---- */
enum kv_call_op {
    KV_CALL_GET = 1, /* what a key stands for */
    KV_CALL_PUBLISH, /* what a key stands for from now on */
    KV_CALL_WRITE,   /* a record that nobody sees yet; counted */
    KV_CALL_COUNT,   /* a record that nobody sees any more: off the counters */
    KV_CALL_SWAP,    /* what a key stands for from now on, if it stands for what is expected */
    KV_CALL_SEAL,    /* a slab, if its word is what is expected; not answered */
    KV_CALL_NUM
};

#define KV_ASK_RECORD 0x80u /* in mode: a record comes with it, to be written first */
#define KV_ASK_HASH 0x40u   /* in mode: the key's hash is in its place */
struct kv_ask {             /* then the key; the record's header and value; each padded to 8 */
    uint64_t loc;    /* get: of the record, 0: look it up; publish: of the new one, 0: remove;
                        seal: number of the slab */
    uint64_t expect; /* get: room for the value; publish: a word whose record the asker counts;
                        swap, seal: the word */
    uint64_t hint;   /* publish, swap: bytes of the record; seal: bytes that are used */
    uint32_t index;  /* the asker's, comes back */
    uint16_t key_nbytes;
    uint8_t mode; /* get: enum kv_want; publish: mcomm_kv_put_mode_t */
    uint8_t zero;
};
_Static_assert(sizeof(struct kv_ask) == 32, "wire format");

enum kv_say { /* what follows an answer, padded to 8 */
    KV_SAY_NOTHING,
    KV_SAY_VALUE, /* a piece of the value, in order; the last one ends the answer */
    KV_SAY_REC,   /* struct kv_spot_wire, struct kv_rec: read it where it lies */
    KV_SAY_SPOT,  /* struct kv_spot_wire: the record is on yet another node */
    KV_SAY_COUNT, /* nothing; the record that was replaced is the asker's to count */
    KV_SAY_FULL   /* struct kv_spot_wire, struct mci_hash128: what may leave, on yet another node */
};

struct kv_answer {
    uint32_t index;
    uint32_t rank; /* that lends the memory */
    uint16_t err;
    uint16_t say;
    uint32_t zero;
    uint64_t value_nbytes;
    uint64_t offset; /* of a piece */
    uint64_t nbytes; /* that follow */
    uint64_t tick;   /* of the lender */
};
_Static_assert(sizeof(struct kv_answer) == 48, "wire format");

struct kv_spot_wire {
    uint64_t bucket, slot, loc, access, hint;
};
static inline struct kv_spot kv_spot_of(int home, const struct kv_spot_wire *wire)
{
    return (struct kv_spot){.home = home,
                            .slot = (unsigned)wire->slot % KV_SLOTS,
                            .bucket = wire->bucket,
                            .loc = wire->loc,
                            .access = wire->access,
                            .hint = wire->hint};
}

/* ---- kv_serve.c: answers ---- */
/*
 * Answers the asks in bytes; emit sends what it is given before it returns. false: they are not
 * well formed. lock: engine
 */
typedef void (*kv_emit_fn_t)(void *arg, const void *bytes, size_t nbytes);
bool mci_kv_serve(struct mci_kv *kv, enum kv_call_op op, const void *bytes, size_t nbytes,
                  kv_emit_fn_t emit, void *arg);

/* ---- kv_call.c: calls under way ---- */
struct kv_writing;
struct kv_call {
    int rank;
    enum kv_call_op op;
    size_t left; /* asks without the end of their answer */
    /* An answer or a piece of it; true: it was the end. lock: engine */
    bool (*take)(void *arg, const struct kv_answer *answer, const char *bytes);
    /* Its patience is at an end: what is asked may still happen. NULL: no harm. lock: engine */
    void (*given_up)(void *arg, const struct kv_call *call);
    void *arg;
    uint32_t first, end; /* indices of its asks are first to end - 1, not all of these */
    mcomm_err_t err;     /* of the call as a whole */
    bool is_done;
    /* kv_call.c's own */
    struct mci_list link;
    struct mci_peer *peer;
    uint32_t id;
};
void mci_kv_call_start(struct mci_kv *kv, struct kv_call *call, const void *bytes, size_t nbytes);
void mci_kv_call_wait(struct mci_kv *kv, struct kv_call *call); /* ends, see call->err */
/* What emit was given at the other end. false: not well formed. */
bool mci_kv_call_take(struct kv_call *call, const void *bytes, size_t nbytes);
/* An ask without key that is not answered, in order with all else to that rank. */
mcomm_err_t mci_kv_call_post(struct mci_kv *kv, int rank, enum kv_call_op op,
                             const struct kv_ask *ask);
/* The entries of the remote table, by frames. */
void mci_kv_frame_start(struct mci_kv *kv, struct kv_call *call, const void *bytes, size_t nbytes);
void mci_kv_frame_wait(struct mci_kv *kv, struct kv_call *call);
mcomm_err_t mci_kv_frame_post(struct mci_kv *kv, int rank, int op, const void *bytes,
                              size_t nbytes);
void mci_kv_calls_start(void);
void mci_kv_calls_end(struct mci_peer *peer); /* it failed. lock: engine */

/* ---- kv_talk.c: asks of any number, a few calls in flight ---- */
struct kv_talk {
    struct mci_kv *kv;
    enum kv_call_op op;
    bool (*take)(void *arg, const struct kv_answer *answer, const char *bytes);
    /* A call with the asks from first to end - 1, some of them, ended so. */
    void (*lost)(void *arg, uint32_t first, uint32_t end, mcomm_err_t err);
    void (*given_up)(void *arg, const struct kv_call *call); /* as struct kv_call's */
    void *arg;
    unsigned first, count;                 /* of calls in flight */
    uint32_t first_index, end_index;       /* of the call being filled */
    size_t nbytes, num_asks, reply_nbytes; /* of the call being filled */
    int rank;
    struct kv_call calls[KV_CALLS];
    char *bytes; /* few, or from the heap once a call needs more */
    size_t room;
    uint64_t few[KV_TALK_FEW / 8];
};
void mci_kv_talk_begin(struct kv_talk *talk, struct mci_kv *kv, enum kv_call_op op);
/* Asks' indices go up. reply_nbytes: that may come back */
void mci_kv_talk_ask(struct kv_talk *talk, int rank, const struct kv_ask *ask,
                     const struct kv_key *key, const struct kv_writing *record,
                     size_t reply_nbytes);  /* record: NULL, or held */
void mci_kv_talk_end(struct kv_talk *talk); /* every ask has its answer, or lost was called */

static inline bool kv_is_mapped(const struct mci_kv *kv, int rank)
{
    return kv->parts[rank].area[KV_META] != NULL && kv->parts[rank].area[KV_DATA] != NULL;
}
static inline bool kv_is_home_far(const struct mci_kv *kv, struct mci_hash128 hash)
{
    int home = kv_home(kv, hash);

    return home != KV_NO_HOME && !kv_is_mapped(kv, home);
}

/* ---- kv_far.c ---- */
enum kv_fetch_state {
    KV_FETCH_NEW,
    KV_FETCH_ASKED,
    KV_FETCH_SPOT, /* where it lies is known */
    KV_FETCH_REC,  /* and what: it is read where it lies */
    KV_FETCH_DONE
};
struct kv_fetch { /* one key that is being read */
    struct kv_key key;
    enum kv_want want;
    enum kv_fetch_state state;
    void *buf;
    size_t room;   /* of buf */
    size_t nbytes; /* out: of the value */
    mcomm_err_t err;
    int asked;       /* rank, -1: none */
    int lender;      /* out */
    bool is_placed;  /* in: spot is known */
    bool is_by_spot; /* who was asked does not see the entry */
    struct kv_spot spot;
    struct kv_object obj;
    uint64_t tick; /* of the lender */
    uint64_t word; /* of the slab, after a large value */
};
/* All of them, some calls at a time. TRY_AGAIN: look again. */
void mci_kv_far_fetch(struct mci_kv *kv, struct kv_fetch *fetches, size_t count);

/* ---- kv_publish.c ---- */
struct kv_publish { /* one key whose entry is to be changed by its home */
    struct kv_key key;
    int rank;     /* the home */
    uint64_t loc; /* 0: remove */
    uint64_t expect, hint;
    unsigned mode;
    struct kv_writing *wr; /* the new record, NULL: none */
    bool has_record;       /* it is to be written with it, else it is there */
    struct kv_object
        *old; /* the record that is replaced, if it is the caller's to count, or NULL */
    /*
     * out: SUCCESS; EXISTS (mode), NOT_FOUND (remove); TRY_AGAIN: look again, at spot if has_spot:
     * whose record must be counted by the caller, who then expects it. UNSUPPORTED: a lock was
     * held; NO_SPACE: the directory is full, if has_spot of objects that the home cannot evict,
     * such as the one at spot, of victim. TIMEOUT: may still happen; wr and old are taken over.
     */
    mcomm_err_t err;
    bool has_spot, is_uncounted;
    struct kv_spot spot;
    struct mci_hash128 victim;
    bool is_done;
};
/* op: PUBLISH; WRITE: the record only; SWAP: expect becomes loc, by the key's hash */
void mci_kv_far_publish(struct mci_kv *kv, enum kv_call_op op, struct kv_publish **list,
                        size_t count);
/*
 * An entry changes as by mci_kv_dir_swap(), wherever it is. wr: of the new value, NULL: it leaves;
 * PUBLISHED on success. old: the record at spot, counted off then. TIMEOUT: as above.
 */
mcomm_err_t mci_kv_entry_swap(struct mci_kv *kv, struct mci_hash128 hash,
                              const struct kv_spot *spot, struct kv_writing *wr,
                              struct kv_object *old);

/* ---- kv_late.c: ranks that do not answer in time, and what they may still do ---- */
/*
 * Who let one wait last the communicator's whole limit is not waited for again by the same call of
 * the application: it gets what is asked, but what is not there is not.
 */
void mci_kv_late_forget(void); /* such a call begins in this thread */
bool mci_kv_is_late(int rank);
void mci_kv_late_note(int rank, mcomm_err_t err);
/*
 * A change that was given up, of the call with this peer and id: records that it may make seen or
 * replace stay whole, in slabs that nobody cleans, until it is known how it ended. lock: engine
 */
void mci_kv_orphan_new(struct mci_kv *kv, const struct kv_call *call, uint32_t index,
                       struct kv_writing *wr, struct kv_object *old);
bool mci_kv_orphan_is(const struct mci_peer *peer, uint32_t id);
/* As mci_kv_call_take(). */
bool mci_kv_orphans_take(struct mci_peer *peer, uint32_t id, const void *bytes, size_t nbytes);
/* All of the peer, or of one call if id is not 0, ended so: nothing was changed. */
void mci_kv_orphans_end(struct mci_peer *peer, uint32_t id, mcomm_err_t err);
void mci_kv_orphans_free(struct mci_kv *kv);   /* it closes. lock: none */
void mci_kv_orphans_settle(struct mci_kv *kv); /* counts those that ended. lock: none */

/* ---- kv_put.c: records being written ---- */
struct kv_put_how {
    unsigned mode;
    int preferred; /* rank, -1 */
};
enum kv_writing_state {
    KV_WRITING_NOTHING,
    KV_WRITING_DONE, /* whole, counted, not yet to be seen */
    KV_WRITING_PUBLISHED
};
struct kv_writing {
    enum kv_writing_state state;
    struct kv_object obj;
    struct kv_room head;
    struct kv_room *rooms; /* of the extents, as many as obj.rec.extent_count */
    uint32_t extent_max;
    size_t piece_min; /* bytes of value */
    bool is_counted;
    struct kv_moved { /* an extent that moves with the head */
        struct kv_room room;
        uint64_t was, nbytes; /* place before; of the record, 0: none */
    } moved;
    int unflushed;    /* lender that it is on its way to, in frames; -1: it is there */
    const void *held; /* the value of a record that has not been sent yet */
    uint64_t deltas[3];
};
void mci_kv_writing_begin(struct kv_writing *wr);
struct kv_rec mci_kv_rec_start(const struct kv_key *key, enum kv_kind kind, uint64_t nbytes);
bool mci_kv_is_small(const struct mci_kv *kv, int preferred, uint64_t need); /* never cut */
/* What a put of a key that exists returns, unless it replaces. */
mcomm_err_t mci_kv_put_exists(const struct kv_key *key, unsigned mode);
mcomm_err_t mci_kv_record_write(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                                const void *body, size_t body_nbytes, int preferred,
                                bool is_fresh_only, struct kv_waiter *w); /* wr->obj.rec: started */
/* A put whose record has perhaps been written; ends it. */
mcomm_err_t mci_kv_put_written(struct mci_kv *kv, struct kv_writing *wr, const struct kv_key *key,
                               const void *value, size_t nbytes, unsigned mode, int preferred);
void mci_kv_writing_end(struct mci_kv *kv, struct kv_writing *wr);
/* Becomes empty; its rooms stay taken. */
void mci_kv_writing_move(struct kv_writing *to, struct kv_writing *from);
void mci_kv_writing_leave(struct kv_writing *wr);

/* ---- kv_change.c ---- */
enum kv_change_step {
    KV_CHANGE_NEW,
    KV_CHANGE_INSERT, /* at a home that is mapped: there is no such key */
    KV_CHANGE_OLD,    /* a record is replaced that is counted off here */
    KV_CHANGE_DONE
};
struct kv_change { /* of what a key stands for */
    struct kv_key key;
    struct kv_writing *wr; /* the new record, NULL: remove */
    uint64_t loc, hint;    /* set from it */
    unsigned mode;
    uint64_t origin; /* of the value seen first, 0 before; kept from try to try */
    /* out: SUCCESS; EXISTS (mode); NOT_FOUND (remove); TRY_AGAIN; errors that are the caller's */
    mcomm_err_t err;
    bool is_published; /* false with SUCCESS: another one was put after it already */
    /* kv_change.c's own */
    enum kv_change_step step;
    int home;
    bool is_home_near, is_lost, is_reading, is_counting;
    struct kv_spot spot;
    struct kv_object old;
    struct kv_publish publish;
};
/* At most KV_FAR_GROUP, of different keys. */
void mci_kv_changes_apply(struct mci_kv *kv, struct kv_change *changes, size_t count,
                          struct kv_waiter *w);

/* ---- kv_group.c: batches; as mci_kv_each() ---- */
mcomm_err_t mci_kv_group_get(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                             enum kv_want want);
mcomm_err_t mci_kv_group_put(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                             const struct kv_put_how *how);
mcomm_err_t mci_kv_group_remove(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count);

#endif
