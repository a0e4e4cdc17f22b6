/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * What the files of kvobj share: the shapes in the windows, one process's view of a store, and the
 * calls between the files.
 *
 * Every rank has two windows. DATA is cut into slabs; a slab is a chain of records. META holds the
 * head (tick, evictions), a word and a counter line for each slab, this process's pins, and the
 * rank's share of the directory. Memory: 48 bytes of directory for each of max_objects * 4 / 3
 * entries, so 64 bytes an object: that full, one key in 4,000 finds all its places taken by others
 * and evicts one of them (of 9 / 8 entries 30); a record adds a header of 64 bytes and the key.
 *
 * Rules that everything rests on:
 *  - What a key stands for changes only by one compare-and-swap of its directory word `loc`.
 *  - A slab's word changes only by compare-and-swap; its generation goes up before a byte of it is
 *    used again. Who read a record's header, then its bytes, then finds the generation in the word
 *    unchanged, has read whole bytes of that record.
 *  - Only sealed slabs are cleaned; a slab is sealed when no record in it waits to be published.
 *  - What a dead rank held (bucket lock, claimed entry, slab, pins) is void once every living rank
 *    that stores has cut it off, so that nothing it has sent can still arrive: kv_is_void().
 */
#ifndef MCI_KVOBJ_KV_PRIV_H
#define MCI_KVOBJ_KV_PRIV_H

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "mooncake_comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KV_UNIT 64u      /* records begin at multiples of it */
#define KV_KEY_MAX 4096u /* bytes */
#define KV_SLICES 4096u  /* of the hash space, each with one home rank */
#define KV_SLOTS 8u      /* entries of a bucket */
#define KV_PROBE 8u      /* a key lies in its home bucket or one of the next seven */
#define KV_RANK_MAX 4096
#define KV_SLAB_MIN (16u << 10)
#define KV_SLAB_MAX (16u << 20)
#define KV_PIECE_MIN 1024u /* smallest extent worth a record, unless it is the last */
#define KV_CAPACITY_MAX ((UINT64_C(1) << 42) - 2 * KV_SLAB_MAX) /* a rank's, with the reserve */
#define KV_PATIENCE_MS 10000 /* of who loses race after race for one object */
#define KV_AGAIN_MS 1000     /* of who finds no memory for a word that nobody may miss */
#define KV_MAGIC 0x4b564f42u

#define KV_LIKELY(x) __builtin_expect(!!(x), 1)
#define KV_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- the directory word `loc`: stamp 16 | rank 12 | place 36 ---- */
/*
 * place: 0 nothing, 1 claimed by rank for a new key, else 2 + offset in the rank's DATA / 64.
 * stamp: of a value the low bits of its slab's generation, so that stamp and place name one record
 * for good; else one more than that of the word before.
 */
#define KV_PLACE_BITS 36u
#define KV_PLACE_MASK ((UINT64_C(1) << KV_PLACE_BITS) - 1)

static inline uint64_t kv_place(int rank, uint64_t offset)
{
    return (uint64_t)rank << KV_PLACE_BITS | (offset / KV_UNIT + 2);
}
static inline uint64_t kv_loc_claim(int rank)
{
    return (uint64_t)rank << KV_PLACE_BITS | 1;
}
static inline uint64_t kv_loc_next(uint64_t loc, uint64_t place)
{
    return ((loc >> 48) + 1) << 48 | place;
}
static inline uint64_t kv_loc_value(uint64_t place, uint64_t gen)
{
    return gen << 48 | place;
}
static inline bool kv_loc_is_gen(uint64_t loc, uint64_t gen)
{
    return loc >> 48 == (gen & 0xffff);
}
static inline bool kv_loc_is_value(uint64_t loc)
{
    return (loc & KV_PLACE_MASK) >= 2;
}
static inline int kv_loc_rank(uint64_t loc)
{
    return (int)(loc >> KV_PLACE_BITS & (KV_RANK_MAX - 1));
}
static inline uint64_t kv_loc_offset(uint64_t loc)
{
    return ((loc & KV_PLACE_MASK) - 2) * KV_UNIT;
}

/* Six cache lines: a miss reads one of them, a hit three. */
struct kv_bucket {
    _Atomic uint64_t lo[KV_SLOTS]; /* hash of the key; meaningless while loc is no value */
    _Atomic uint64_t hi[KV_SLOTS];
    _Atomic uint64_t loc[KV_SLOTS];
    _Atomic uint64_t access[KV_SLOTS]; /* storing rank's tick at the last read; 0: not read yet */
    _Atomic uint64_t hint[KV_SLOTS];   /* bytes of the record, so that one remote read may do */
    _Atomic uint64_t lock;             /* rank + 1 of who inserts a key whose home this is */
    _Atomic uint64_t reach; /* how many buckets further keys of this home were ever put */
    uint64_t spare[6];
};
_Static_assert(sizeof(struct kv_bucket) == 384, "shared layout");

/* ---- slabs ---- */
/* Word: state 3 | holder's rank 13 | generation 48. Zeroed memory is a free slab. */
enum kv_slab_state {
    KV_SLAB_FREE = 0,
    KV_SLAB_OPEN,    /* holder appends */
    KV_SLAB_SEALED,  /* belongs to nobody */
    KV_SLAB_CLEANING /* holder moves or evicts what is in it */
};
static inline uint64_t kv_word(enum kv_slab_state state, int holder, uint64_t gen)
{
    return (uint64_t)state | (uint64_t)holder << 3 | gen << 16;
}
static inline enum kv_slab_state kv_word_state(uint64_t word)
{
    return (enum kv_slab_state)(word & 7);
}
static inline int kv_word_holder(uint64_t word)
{
    return (int)(word >> 3 & 0x1fff);
}
static inline uint64_t kv_word_gen(uint64_t word)
{
    return word >> 16;
}

struct kv_count {                  /* of a slab; a line of its own */
    _Atomic uint64_t record_bytes; /* of live records */
    _Atomic uint64_t value_bytes;  /* of objects whose head is here */
    _Atomic uint64_t objects;
    _Atomic uint64_t used; /* at sealing */
    _Atomic uint64_t seal_tick;
    uint64_t spare[3];
};

struct kv_head {           /* of META */
    _Atomic uint64_t tick; /* slabs sealed here so far, plus one */
    uint64_t spare1[7];
    _Atomic uint64_t evictions; /* by this process */
    _Atomic uint64_t is_closing;
    uint64_t spare2[6];
};

/* ---- records ---- */
enum kv_kind {
    KV_INLINE = 1, /* head, key, value */
    KV_SPREAD,     /* head, key, list of extents */
    KV_EXTENT      /* head, part of a value; hash is the key's */
};

struct kv_rec {
    uint32_t magic;
    uint16_t kind;
    uint16_t key_nbytes;
    uint64_t gen;    /* of the slab */
    uint64_t nbytes; /* of the record, multiple of KV_UNIT */
    uint64_t value_nbytes;
    uint64_t lo, hi; /* hash of the key */
    uint32_t extent_count;
    uint32_t check;  /* of the words before */
    uint64_t origin; /* its loc when it was put; a cleaner's copy keeps it */
};
_Static_assert(sizeof(struct kv_rec) == KV_UNIT, "shared layout");

struct kv_extent {
    uint64_t place;  /* of its record */
    uint64_t nbytes; /* of value */
    uint64_t gen;
};

static inline uint64_t kv_round(uint64_t nbytes)
{
    return (nbytes + KV_UNIT - 1) & ~(uint64_t)(KV_UNIT - 1);
}
/* Where the value (or the list) of a record begins: large values are aligned for their users. */
static inline uint64_t kv_body_at(enum kv_kind kind, uint64_t key_nbytes, uint64_t value_nbytes)
{
    uint64_t end = sizeof(struct kv_rec) + key_nbytes;

    return kind == KV_INLINE && value_nbytes >= 1024 ? kv_round(end) : (end + 7) & ~UINT64_C(7);
}

/* ---- one process's view of a store ---- */
enum kv_area {
    KV_DATA = 0,
    KV_META = 1
};

struct kv_facts { /* what each rank tells at open */
    uint64_t capacity;
    uint64_t max_objects;
    uint64_t node;
    uint64_t hash; /* of a fixed key: all must hash alike */
};

struct kv_part {   /* of a rank */
    char *area[2]; /* mapped into this process, or NULL: by remote operations */
    _Atomic bool is_dead, is_void;
    uint64_t capacity; /* as asked; 0: no slabs, no share of the directory */
    uint64_t slab_nbytes;
    uint32_t slab_count;
    uint32_t slab_base; /* number of its first slab among all slabs */
    uint32_t slab_shift;
    uint64_t node;
    uint64_t bucket_count;
    uint64_t fences_at; /* offset in META: a bit for each rank that this one has cut off */
    uint64_t words_at, counts_at, pins_at, dir_at; /* further offsets */
    uint64_t data_nbytes, meta_nbytes;
};

struct kv_open { /* the slab this process appends to at a rank */
    pthread_mutex_t lock;
    bool is_open;
    uint32_t slab;
    uint64_t gen, pos;
    uint64_t touched;      /* bytes whose pages are mapped for writing, or believed to be */
    _Atomic unsigned skip; /* it was full: so many appends go elsewhere unseen */
};

struct kv_held { /* a slab of this process that is to be sealed */
    uint64_t gen, used;
};

struct mci_kv;
struct kv_call;
struct kv_remote_ops { /* parts that are not mapped. Blocking but for get and put. lock: none */
    size_t size;
    mcomm_err_t (*get)(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, void *buf,
                       size_t nbytes); /* done at the next flush */
    mcomm_err_t (*put)(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, const void *buf,
                       size_t nbytes); /* done at the next flush */
    mcomm_err_t (*flush)(struct mci_kv *kv, int rank, enum kv_area area);
    mcomm_err_t (*cas)(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect, uint64_t want,
                       uint64_t *seen_p);
    mcomm_err_t (*add)(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                       size_t count); /* done at the next flush */
    mcomm_err_t (*fetch_add)(struct mci_kv *kv, int rank, uint64_t at, uint64_t delta,
                             uint64_t *old_p);
    /* Bytes of a put that goes as one frame: copied or sent at once, and before what is sent next.
     */
    size_t (*frame_max)(struct mci_kv *kv, int rank);
    /* kv_far.h. A call is sent after what was put there before, as far as that went in frames. */
    void (*call_start)(struct mci_kv *kv, struct kv_call *call, const void *bytes, size_t nbytes);
    void (*call_wait)(struct mci_kv *kv, struct kv_call *call);
    /* Asks that are not answered, also of a rank that has been late. */
    mcomm_err_t (*call_post)(struct mci_kv *kv, int rank, int op, const void *bytes, size_t nbytes);
};

struct kv_stat { /* of this process */
    _Atomic uint64_t puts, gets, hits_local, hits_node, hits_remote, misses, retries, waits_space;
};

struct mci_kv {
    mcomm_kv_t handle;
    struct mci_list link; /* all stores of the process. lock: engine */
    struct mci_comm *core_comm;
    mcomm_comm_t comm; /* a private duplicate */
    mcomm_win_t wins[2];
    const struct kv_remote_ops *remote;
    int rank, size;
    int put_timeout_ms;
    uint32_t slab_total;
    struct kv_part *parts;
    struct kv_open *open;      /* one a rank */
    _Atomic uint32_t *pending; /* of each slab: records not yet published; KV_CLOSING */
    struct kv_held *held;      /* of each slab: of those that this process has filled */
    bool *is_touched;          /* of each slab: this process has filled it once. lock: open[rank] */
    _Atomic uint16_t homes[KV_SLICES]; /* KV_NO_HOME: no storage rank lives */
    _Atomic uint64_t pool_nbytes;      /* record bytes that all living ranks can hold */
    _Atomic int last_rank;             /* where a pure client appended last */
    _Atomic bool has_dead;             /* some rank */
    _Atomic bool has_ended;            /* a change that had been given up: kv_late.c */
    bool has_far;                      /* parts that are not mapped */
    bool is_attached;                  /* opened at all ranks, but perhaps for a last error */
    _Atomic int unsettled;             /* of the dead: not yet known to be void */
    pthread_mutex_t death_lock;
    struct kv_stat stat;
};
#define KV_NO_HOME 0xffffu
#define KV_CLOSING 0x80000000u

static inline bool kv_is_dead(const struct mci_kv *kv, int rank)
{
    return rank >= kv->size || atomic_load_explicit(&kv->parts[rank].is_dead, memory_order_relaxed);
}
static inline void kv_count_up(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Fences; the thread sanitizer does not know any, and needs none for its own purposes. */
#if defined(__SANITIZE_THREAD__)
#define KV_IS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KV_IS_TSAN 1
#endif
#endif
#if defined(KV_IS_TSAN)
#define kv_fence_acquire() atomic_signal_fence(memory_order_acquire)
#define kv_fence_full() atomic_signal_fence(memory_order_seq_cst)
#else
#define kv_fence_acquire() atomic_thread_fence(memory_order_acquire)
#define kv_fence_full() atomic_thread_fence(memory_order_seq_cst)
#endif

/* ---- kv_place.c: layout and homes ---- */
/* A store of size ranks seen from rank, not yet attached to memory. NULL: no memory. */
struct mci_kv *mci_kv_new(int rank, int size, const struct kv_facts *facts);
void mci_kv_delete(struct mci_kv *kv);
/* After the rails have closed it: nothing of it arrives here any more. lock: any or none */
void mci_kv_rank_died(struct mci_kv *kv, int rank);
/* Asks who of the dead has been cut off by every living rank that stores. May go over a network. */
void mci_kv_settle_dead(struct mci_kv *kv);
static inline void mci_kv_settle(struct mci_kv *kv)
{
    if (KV_UNLIKELY(atomic_load_explicit(&kv->unsettled, memory_order_relaxed) > 0))
        mci_kv_settle_dead(kv);
}
/* It has: what the rank held is anybody's. */
static inline bool kv_is_void(const struct mci_kv *kv, int rank)
{
    return rank < kv->size && atomic_load_explicit(&kv->parts[rank].is_void, memory_order_acquire);
}
static inline int kv_home(const struct mci_kv *kv, struct mci_hash128 hash)
{
    return atomic_load_explicit(&kv->homes[hash.hi % KV_SLICES], memory_order_relaxed);
}

/* ---- kv_mem.c: a word or bytes at (rank, area, offset), mapped or remote ---- */
mcomm_err_t mci_kv_load(struct mci_kv *kv, int rank, uint64_t at, uint64_t *value_p);
mcomm_err_t mci_kv_store(struct mci_kv *kv, int rank, uint64_t at, uint64_t value);
void mci_kv_clear(struct mci_kv *kv, int rank, uint64_t at); /* a word becomes 0, soon */
/* Several words of one rank in one round trip, in no order. */
struct kv_word_store {
    uint64_t at, value;
};
mcomm_err_t mci_kv_store_words(struct mci_kv *kv, int rank, const struct kv_word_store *stores,
                               size_t count);
mcomm_err_t mci_kv_load_words(struct mci_kv *kv, int rank, const uint64_t *ats, uint64_t *values,
                              size_t count);
/* *seen_p == expect: swapped */
mcomm_err_t mci_kv_cas(struct mci_kv *kv, int rank, uint64_t at, uint64_t expect, uint64_t want,
                       uint64_t *seen_p);
mcomm_err_t mci_kv_add(struct mci_kv *kv, int rank, uint64_t at, const uint64_t *deltas,
                       size_t count); /* to adjacent words */
mcomm_err_t mci_kv_fetch_add(struct mci_kv *kv, int rank, uint64_t at, uint64_t delta,
                             uint64_t *old_p);
mcomm_err_t mci_kv_read(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at, void *buf,
                        size_t nbytes);
mcomm_err_t mci_kv_write(struct mci_kv *kv, int rank, enum kv_area area, uint64_t at,
                         const void *buf, size_t nbytes);
/* Bytes that another thread may be changing: the caller finds out afterwards whether they are good.
 */
void mci_kv_copy_racy(void *dst, const void *src, size_t nbytes);
bool mci_kv_equal_racy(const void *shared, const void *own, size_t nbytes);
void mci_kv_copy_in(void *dst, const void *src, size_t nbytes); /* large ones past the caches */

/* ---- kv_rma.c ---- */
extern const struct kv_remote_ops mci_kv_rma_ops;

/* ---- kv_wait.c: the one place where the store waits ---- */
struct kv_waiter {
    int64_t deadline_ns;
    int timeout_ms;
    unsigned rounds;
    bool is_hurried; /* must not wait at all, nor go over a network */
};
void mci_kv_wait_begin(struct kv_waiter *w, int timeout_ms);
mcomm_err_t mci_kv_wait_step(struct kv_waiter *w); /* MCOMM_ERR_TIMEOUT once the limit has passed */

/* ---- kv_dir.c: the directory ---- */
struct kv_key {
    const void *ptr;
    size_t nbytes;
    struct mci_hash128 hash;
};
static inline struct kv_key kv_key_make(const void *ptr, size_t nbytes)
{
    struct kv_key key = {ptr, nbytes, mci_hash128(ptr, nbytes, 0)};

    return key;
}
struct kv_spot { /* an entry as it was seen */
    int home;
    unsigned slot;
    uint64_t bucket;
    uint64_t loc, access, hint;
};
struct kv_bucket *mci_kv_dir_peek(struct mci_kv *kv,
                                  struct mci_hash128 hash); /* NULL: not mapped */
/* SUCCESS or NOT_FOUND. A home that died meanwhile: looks in the new one. */
mcomm_err_t mci_kv_dir_find(struct mci_kv *kv, struct mci_hash128 hash, struct kv_spot *spot);
mcomm_err_t mci_kv_dir_find_at(struct mci_kv *kv, int home, struct mci_hash128 hash,
                               struct kv_spot *spot);
mcomm_err_t mci_kv_dir_reload(struct mci_kv *kv, const struct kv_spot *spot, uint64_t *loc_p);
/* Is spot still an entry of this hash, with the same loc? TRY_AGAIN: no. */
mcomm_err_t mci_kv_dir_confirm(struct mci_kv *kv, struct mci_hash128 hash,
                               const struct kv_spot *spot);
/* spot->loc becomes loc, of a value, or place 0 or a claim. SUCCESS, or TRY_AGAIN: it had changed.
 */
mcomm_err_t mci_kv_dir_swap(struct mci_kv *kv, const struct kv_spot *spot, uint64_t loc,
                            uint64_t hint);
void mci_kv_dir_touch(struct mci_kv *kv, const struct kv_spot *spot, uint64_t tick);
/* A new key, at a home that is mapped. MCOMM_ERR_EXISTS: somebody was faster, look again. */
mcomm_err_t mci_kv_dir_insert(struct mci_kv *kv, struct mci_hash128 hash, uint64_t loc,
                              uint64_t hint, struct kv_waiter *w);
mcomm_err_t mci_kv_dir_insert_at(struct mci_kv *kv, int home, struct mci_hash128 hash, uint64_t loc,
                                 uint64_t hint, struct kv_waiter *w);
/*
 * What may leave where hash has no room: the object that was read longest ago. is_hurried: best one
 * that can be evicted without a network, *is_here_p; its pins have been looked at only then.
 */
bool mci_kv_dir_victim(struct mci_kv *kv, int home, struct mci_hash128 hash, bool is_hurried,
                       struct kv_spot *spot, struct mci_hash128 *victim_p, bool *is_here_p);
mcomm_err_t mci_kv_dir_full(int home);                                    /* the error for it */
bool mci_kv_dir_is_pinned(struct mci_kv *kv, const struct kv_spot *spot); /* by a view */

/* ---- kv_record.c ---- */
struct kv_object { /* the head record of an object, or an extent's */
    struct kv_rec rec;
    int rank;
    uint32_t slab;
    uint64_t at;               /* offset in DATA */
    struct kv_extent *extents; /* heap, after mci_kv_object_extents() */
};
uint32_t mci_kv_rec_check(const struct kv_rec *rec);
/* Is it the header of a record with room bytes to the end of its slab? */
bool mci_kv_rec_is_valid(const struct kv_rec *rec, uint64_t room);
/* NOT_FOUND: there is no such record (any more). */
mcomm_err_t mci_kv_object_read(struct mci_kv *kv, uint64_t loc, struct kv_object *obj);
mcomm_err_t mci_kv_object_extents(struct mci_kv *kv, struct kv_object *obj);
/*
 * The object with this hash at spot, with its extents. TRY_AGAIN: the entry changed; *is_lost_p:
 * the entry stands for nothing (any more), there is nothing to count.
 */
mcomm_err_t mci_kv_object_at(struct mci_kv *kv, struct mci_hash128 hash, const struct kv_spot *spot,
                             struct kv_object *obj, bool *is_lost_p);
void mci_kv_object_free(struct kv_object *obj);
/*
 * The counters of the slabs that hold it go up (sign 1) or down (-1). An error: perhaps not. Too
 * much in them does no harm; what lives and is not counted would be given away.
 */
mcomm_err_t mci_kv_object_count(struct mci_kv *kv, const struct kv_object *obj, int sign);
mcomm_err_t mci_kv_extent_count(struct mci_kv *kv, int rank, uint64_t at, uint64_t rec_nbytes,
                                int sign);
static inline uint32_t kv_slab_of(const struct kv_part *part, uint64_t at)
{
    return (uint32_t)(at >> part->slab_shift);
}

/* ---- kv_slab.c ---- */
struct kv_room { /* a record being written; keeps its slab from being sealed */
    int rank;
    uint32_t slab;
    uint64_t at;
};
static inline uint64_t kv_word_at(const struct kv_part *part, uint32_t slab)
{
    return part->words_at + 8 * (uint64_t)slab;
}
static inline uint64_t kv_count_at(const struct kv_part *part, uint32_t slab)
{
    return part->counts_at + sizeof(struct kv_count) * slab;
}
/* SUCCESS: no byte of the slab has been given to others since gen; TRY_AGAIN: some have. */
mcomm_err_t mci_kv_slab_check(struct mci_kv *kv, int rank, uint32_t slab, uint64_t gen);
/* The words of all slabs of rank, heap. Those that the dead held open or were cleaning get sealed.
 */
mcomm_err_t mci_kv_slab_words(struct mci_kv *kv, int rank, uint64_t **words_p);
/*
 * The word changes from one to the other; false: it was another, or is out of reach. A rank that
 * takes too long is asked to let go of the slab again, right behind.
 */
bool mci_kv_slab_swap(struct mci_kv *kv, int rank, uint32_t slab, uint64_t from, uint64_t to);
unsigned mci_kv_slab_free_count(struct mci_kv *kv, int rank);
/* The slab belongs to nobody. TRY_AGAIN: its word was not `word`. Of a far one: is asked to be. */
mcomm_err_t mci_kv_slab_seal(struct mci_kv *kv, int rank, uint32_t slab, uint64_t word,
                             uint64_t used);
/* Take a free slab if more than `leave` are free; it becomes the open one. lock: open[rank] */
mcomm_err_t mci_kv_slab_open(struct mci_kv *kv, int rank, unsigned leave);
void mci_kv_slab_close(struct mci_kv *kv, int rank); /* no more appends. lock: open[rank] */
/*
 * Append a record of *rec's kind with at least min and at most max bytes and write its header, if
 * it is mapped; else that is the caller's. For an extent value_nbytes is cut to what fits.
 * TRY_AGAIN: no room. lock: open[rank]
 */
mcomm_err_t mci_kv_slab_append(struct mci_kv *kv, int rank, uint64_t min, uint64_t max,
                               struct kv_rec *rec, struct kv_room *room);
void mci_kv_room_done(struct mci_kv *kv, const struct kv_room *room); /* published or given up */
bool mci_kv_slab_is_pinned(struct mci_kv *kv, int rank, uint32_t slab);
/* A pin of our own, 1 or -1; false: there was none to take away. */
bool mci_kv_slab_pin(struct mci_kv *kv, int rank, uint32_t slab, int delta);

/* ---- kv_clean.c ---- */
/*
 * Make room for need bytes in the open slab of rank. TRY_AGAIN: somebody else is at it; NO_SPACE:
 * nothing can be cleaned now. lock: open[rank]
 */
mcomm_err_t mci_kv_clean(struct mci_kv *kv, int rank, uint64_t need, bool is_urgent);
/* The object with this hash at spot leaves. TRY_AGAIN: it had changed. */
mcomm_err_t mci_kv_evict(struct mci_kv *kv, struct mci_hash128 hash, const struct kv_spot *spot);

/* ---- kv_room.c: which rank, and what to do when all are full ---- */
/* As mci_kv_slab_append(), anywhere; waits. is_fresh_only: TRY_AGAIN rather than clean or wait. */
mcomm_err_t mci_kv_room_take(struct mci_kv *kv, int preferred, uint64_t min, uint64_t max,
                             bool is_fresh_only, struct kv_rec *rec, struct kv_waiter *w,
                             struct kv_room *room);

/* ---- the operations. lock: none ---- */
mcomm_err_t mci_kv_put(struct mci_kv *kv, const struct kv_key *key, const void *value,
                       size_t nbytes, unsigned mode, int preferred);
enum kv_want {
    KV_WANT_INTO,  /* into buf, at most *nbytes_p bytes */
    KV_WANT_ALLOC, /* into new memory */
    KV_WANT_SIZE,
    KV_WANT_REC /* the header of a record, far away only */
};
/* *nbytes_p: in: room (INTO); out: size, also with MCOMM_ERR_TRUNCATE */
mcomm_err_t mci_kv_get(struct mci_kv *kv, const struct kv_key *key, enum kv_want want, void **buf_p,
                       size_t *nbytes_p);
mcomm_err_t mci_kv_remove(struct mci_kv *kv, const struct kv_key *key);
/* The parts of a get. TRY_AGAIN: it moved away, look again. */
mcomm_err_t
mci_kv_record_find(struct mci_kv *kv, const struct kv_key *key, uint64_t loc,
                   struct kv_object *obj); /* NOT_FOUND: what is there is not the key's */
mcomm_err_t mci_kv_lookup_at(struct mci_kv *kv, const struct kv_key *key,
                             const struct kv_spot *spot, struct kv_object *obj);
mcomm_err_t mci_kv_value_read(struct mci_kv *kv, struct kv_object *obj, void *buf);
mcomm_err_t mci_kv_get_at(struct mci_kv *kv, const struct kv_key *key, const struct kv_spot *spot,
                          enum kv_want want, void **buf_p, size_t room, size_t *nbytes_p);
void mci_kv_hit_count(struct mci_kv *kv, int rank);
void mci_kv_use(struct mci_kv *kv, const struct kv_spot *spot,
                int rank); /* for eviction, counters */
mcomm_err_t mci_kv_acquire(struct mci_kv *kv, const struct kv_key *key, mcomm_kv_view_t *view);
mcomm_err_t mci_kv_release(struct mci_kv *kv, mcomm_kv_view_t *view);
#define KV_GROUP 16u /* keys fetched ahead together */
/* op for each item in list order, its result in item->error; returns the first error. */
mcomm_err_t mci_kv_each(struct mci_kv *kv, mcomm_kv_item_t *items, size_t count,
                        mcomm_err_t (*op)(struct mci_kv *kv, const struct kv_key *key,
                                          mcomm_kv_item_t *item, const void *arg),
                        const void *arg);
mcomm_err_t mci_kv_get_stats(struct mci_kv *kv, mcomm_kv_stats_t *stats);

/* ---- kv_open.c ---- */
struct mci_kv *mci_kv_by_ctx(uint64_t ctx); /* of its communicator; NULL: none. lock: engine */
/* err: of this rank's arguments; all ranks fail then */
mcomm_err_t mci_kv_open(mcomm_comm_t comm, mcomm_err_t err, const mcomm_kv_attr_t *attr,
                        struct mci_kv **kv_p);
mcomm_err_t mci_kv_close(struct mci_kv *kv);

#endif
