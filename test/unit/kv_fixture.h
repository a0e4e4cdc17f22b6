/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * A store of several ranks in plain shared memory, without communicators or windows: each rank has
 * a struct mci_kv of its own, as in a process of its own. Parts of other "nodes" are reached
 * through a remote table that copies. The memory survives fork(), so a rank may be a child that
 * gets killed.
 */
#ifndef TEST_UNIT_KV_FIXTURE_H
#define TEST_UNIT_KV_FIXTURE_H

#include "kvobj/kv_priv.h"

#define FIXTURE_RANKS 8
#define FIXTURE_DELAYED 8

struct kv_fixture_call {
    int rank, op;
    uint32_t id;
    void *bytes;
    size_t nbytes;
};

struct kv_fixture {
    int size;
    struct mci_kv *kv[FIXTURE_RANKS];
    char *memory[FIXTURE_RANKS][2];
    struct kv_facts facts[FIXTURE_RANKS];
    uint32_t stopped; /* bit of a rank: it answers nothing, and what it is asked for times out */
    bool is_late;     /* what is asked happens, but the answers come too late */
    bool is_delayed;  /* what is asked happens at kv_fixture_go_on() */
    struct kv_fixture_call delayed[FIXTURE_DELAYED];
    unsigned delayed_count;
    uint32_t call_count;
    unsigned waits; /* in vain, each up to the communicator's limit */
};

/* capacity of each rank; ranks are dealt to `nodes` nodes in turn. */
void kv_fixture_make(struct kv_fixture *f, int size, int nodes, const size_t *capacity,
                     size_t max_objects);
void kv_fixture_free(struct kv_fixture *f);
void kv_fixture_go_on(struct kv_fixture *f); /* a rank that did not answer does, after all */
struct kv_key kv_fixture_key(char *buf, unsigned number); /* buf: 32 bytes */
/* nbytes that follow from number and version; check returns false on a byte that does not. */
void kv_fixture_fill(char *buf, size_t nbytes, unsigned number, unsigned version);
bool kv_fixture_check(const char *buf, size_t nbytes, unsigned number, unsigned version);
/* The value goes through buf, which has room for it. Into any rank. */
mcomm_err_t kv_fixture_put(struct mci_kv *kv, char *buf, unsigned number, unsigned version,
                           size_t nbytes, unsigned mode);
/* nbytes_p: in, the room in buf; out, the value's bytes. */
mcomm_err_t kv_fixture_get(struct mci_kv *kv, unsigned number, char *buf, size_t *nbytes_p);

#endif
