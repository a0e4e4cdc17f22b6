/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Tables of posted receives and unexpected messages of one communicator. A receive sits in one
 * bucket, chosen by its class (what it leaves open) and a hash of the rest; a message looks into
 * one bucket of each class that is in use and takes the receive posted first. A message sits in one
 * bucket of every class, so a receive finds the first message that fits in one bucket. A receive
 * that is posted alone, the usual case, needs no bucket.
 * Invariant: entries of one key are in one bucket in the order of posting or arrival.
 */
#include "config.h"

#include "pt2pt/pt2pt_priv.h"

#define MATCH_BITS_MAX 22u
#define MATCH_KEEP_BITS 10u /* an empty table larger than this is given back */

static inline unsigned class_of(int source, int tag)
{
    return (source == MCOMM_ANY_SOURCE ? MATCH_ANY_SOURCE : 0u) |
           (tag == MCOMM_ANY_TAG ? MATCH_ANY_TAG : 0u);
}

static inline struct mci_list *head_of(const struct mci_match_table *t, unsigned cls,
                                       unsigned space, int source, int tag)
{
    uint64_t from = cls & MATCH_ANY_SOURCE ? 0 : (uint32_t)source;
    uint64_t what = cls & MATCH_ANY_TAG ? 0 : (uint32_t)tag;
    uint64_t key = (from << 34) ^ ((uint64_t)space << 32) ^ what;

    key = (key ^ (key >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return &t->heads[((size_t)cls << t->bits) | (key >> (64 - t->bits))];
}

static inline struct mci_msg *msg_of(struct mci_list *node, unsigned cls)
{
    return (struct mci_msg *)(void *)(node - cls); /* link[] is the first member */
}

static void heads_init(struct mci_list *heads, uint32_t bits)
{
    for (size_t i = 0; i < (size_t)MATCH_CLASSES << bits; i++)
        mci_list_init(&heads[i]);
}

static void table_init(struct mci_match_table *t)
{
    t->heads = t->first;
    t->bits = MATCH_FIRST_BITS;
    t->count = 0;
    heads_init(t->heads, t->bits);
}

static void table_fini(struct mci_match_table *t)
{
    if (t->heads != t->first)
        mci_mem_free(t->heads);
    t->heads = t->first;
}

/* Four times the buckets; entries of one bucket keep their order. Without memory it stays as it is.
 */
static void table_grow(struct mci_match_table *t, bool is_posted)
{
    struct mci_list *old_heads = t->heads, *heads, *node;
    uint32_t old_bits = t->bits;

    if (t->bits + 2 > MATCH_BITS_MAX)
        return;
    heads = mci_mem_alloc(((size_t)MATCH_CLASSES << (t->bits + 2)) * sizeof(*heads));
    if (heads == NULL)
        return;
    t->bits += 2;
    heads_init(heads, t->bits);
    t->heads = heads;
    for (unsigned cls = 0; cls < MATCH_CLASSES; cls++) {
        for (size_t i = 0; i < (size_t)1 << old_bits; i++) {
            while ((node = mci_list_pop(&old_heads[((size_t)cls << old_bits) | i])) != NULL) {
                if (is_posted) {
                    struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

                    mci_list_push(head_of(t, cls, op->space, op->source, op->tag), node);
                } else {
                    struct mci_msg *msg = msg_of(node, cls);

                    mci_list_push(head_of(t, cls, msg->space, msg->source, msg->tag), node);
                }
            }
        }
    }
    if (old_heads != t->first)
        mci_mem_free(old_heads);
}

static inline void table_added(struct mci_match_table *t, bool is_posted)
{
    if (unlikely(++t->count > (size_t)2 << t->bits))
        table_grow(t, is_posted);
}

static inline void table_removed(struct mci_match_table *t)
{
    if (unlikely(--t->count == 0 && t->bits > MATCH_KEEP_BITS)) {
        table_fini(t);
        table_init(t);
    }
}

void mci_match_init(struct mci_match *m, uint64_t key)
{
    memset(m, 0, sizeof(*m));
    mci_list_init(&m->link);
    m->key = key;
    table_init(&m->posted);
    table_init(&m->unexpected);
}

void mci_match_fini(struct mci_match *m)
{
    table_fini(&m->posted);
    table_fini(&m->unexpected);
}

void mci_match_post(struct mci_match *m, struct mci_recv *op)
{
    unsigned cls;

    op->seq = m->seq++;
    if (m->posted.count == 0 && m->lone == NULL) {
        m->lone = op;
        return;
    }
    cls = class_of(op->source, op->tag);
    mci_list_push(head_of(&m->posted, cls, op->space, op->source, op->tag), &op->link);
    m->class_count[cls]++;
    table_added(&m->posted, true);
}

void mci_match_unpost(struct mci_match *m, struct mci_recv *op)
{
    if (m->lone == op) {
        m->lone = NULL;
        return;
    }
    mci_list_remove(&op->link);
    m->class_count[class_of(op->source, op->tag)]--;
    table_removed(&m->posted);
}

/* First of one class, NULL if none. */
static inline struct mci_recv *posted_first(const struct mci_match *m, unsigned cls, unsigned space,
                                            int source, int tag)
{
    struct mci_list *head = head_of(&m->posted, cls, space, source, tag), *node;

    MCI_LIST_FOREACH (node, head) {
        struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

        if (op->space == space && (cls & MATCH_ANY_SOURCE || op->source == source) &&
            (cls & MATCH_ANY_TAG || op->tag == tag))
            return op;
    }
    return NULL;
}

struct mci_recv *mci_match_take_bucketed(struct mci_match *m, unsigned space, int source, int tag)
{
    struct mci_recv *best = NULL;

    for (unsigned cls = 0; cls < MATCH_CLASSES; cls++) {
        struct mci_recv *op;

        if (m->class_count[cls] == 0)
            continue;
        op = posted_first(m, cls, space, source, tag);
        if (op != NULL && (best == NULL || op->seq < best->seq))
            best = op;
    }
    if (best != NULL)
        mci_match_unpost(m, best);
    return best;
}

void mci_match_add(struct mci_match *m, struct mci_msg *msg)
{
    for (unsigned cls = 0; cls < MATCH_CLASSES; cls++)
        mci_list_push(head_of(&m->unexpected, cls, msg->space, msg->source, msg->tag),
                      &msg->link[cls]);
    table_added(&m->unexpected, false);
}

void mci_match_remove(struct mci_match *m, struct mci_msg *msg)
{
    for (unsigned cls = 0; cls < MATCH_CLASSES; cls++)
        mci_list_remove(&msg->link[cls]);
    table_removed(&m->unexpected);
}

struct mci_msg *mci_match_search(const struct mci_match *m, unsigned space, int source, int tag)
{
    unsigned cls = class_of(source, tag);
    struct mci_list *head, *node;

    head = head_of(&m->unexpected, cls, space, source, tag);
    MCI_LIST_FOREACH (node, head) {
        struct mci_msg *msg = msg_of(node, cls);

        if (msg->space == space && (cls & MATCH_ANY_SOURCE || msg->source == source) &&
            (cls & MATCH_ANY_TAG || msg->tag == tag))
            return msg;
    }
    return NULL;
}

void mci_match_extract(struct mci_match *m, bool (*want)(struct mci_recv *op, void *arg), void *arg,
                       struct mci_list *out)
{
    size_t heads = (size_t)MATCH_CLASSES << m->posted.bits;
    struct mci_list *node, *tmp;

    if (m->lone != NULL && want(m->lone, arg)) {
        m->lone->state = RECV_FAILING;
        mci_list_push(out, &m->lone->link);
        m->lone = NULL;
    }
    for (size_t i = 0; i < heads && m->posted.count > 0; i++) {
        MCI_LIST_FOREACH_SAFE (node, tmp, &m->posted.heads[i]) {
            struct mci_recv *op = mci_container_of(node, struct mci_recv, link);

            if (!want(op, arg))
                continue;
            mci_list_remove(node);
            m->class_count[class_of(op->source, op->tag)]--;
            m->posted.count--; /* the table keeps its size: we walk over it */
            op->state = RECV_FAILING;
            mci_list_push(out, node);
        }
    }
}
