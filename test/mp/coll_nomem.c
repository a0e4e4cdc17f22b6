/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * One member has no memory for a moment within a collective: the n-th allocation or mapping there
 * fails, for n = 1, 2, ... until none failed. The call works all the same, or ends everywhere, with
 * NO_MEM at the others, too; a nonblocking one that was refused may be made again. malloc(),
 * calloc(), realloc() and mmap() are this program's.
 */
#include "coll_kinds.h"
#include "nomem.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define LARGE 3000 /* elements of a block: more than goes at once */

extern void *__libc_malloc(size_t nbytes);
extern void *__libc_calloc(size_t count, size_t nbytes);
extern void *__libc_realloc(void *ptr, size_t nbytes);
void *mmap64(void *at, size_t nbytes, int prot, int flags, int fd, off_t offset);

#define OURS __attribute__((visibility("default")))

OURS void *malloc(size_t nbytes)
{
    return fails() ? NULL : __libc_malloc(nbytes);
}

OURS void *calloc(size_t count, size_t nbytes)
{
    return fails() ? NULL : __libc_calloc(count, nbytes);
}

OURS void *realloc(void *ptr, size_t nbytes)
{
    return fails() ? NULL : __libc_realloc(ptr, nbytes);
}

OURS void *mmap(void *at, size_t nbytes, int prot, int flags, int fd, off_t offset)
{
    return fails() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, nbytes, prot, flags, fd, offset);
}

OURS void *mmap64(void *at, size_t nbytes, int prot, int flags, int fd, off_t offset)
{
    return mmap(at, nbytes, prot, flags, fd, offset);
}

static int64_t in[SMALL_RANKS * LARGE], out[SMALL_RANKS * LARGE]; /* in: 1 everywhere */
static size_t failures, refused; /* calls for memory that failed; collectives that ended so */

static int is(const struct kind *kind, const char *part)
{
    return strstr(kind->name, part) != NULL;
}

/* What came, of a call that worked. */
static void check(const struct kind *kind, int root)
{
    int is_gather = is(kind, "gather"), is_for_all = is(kind, "all");
    size_t end = counts[0] * (size_t)(is_gather || is(kind, "alltoall") ? mp_size : 1);
    int64_t want = mp_size;

    if (is(kind, "barrier") || ((is_gather || is(kind, "reduce")) && !is_for_all &&
                                !is(kind, "reduce_scatter") && mp_rank != root))
        return;
    if (!(kind->takes & OP))
        want = 1;
    else if (kind->takes & PREFIX)
        want = is(kind, "exscan") ? mp_rank : mp_rank + 1;
    CHECK_EQ(out[0], want);
    CHECK_EQ(out[end - 1], want);
}

static mcomm_err_t run(const struct kind *kind, const struct args *a, enum small_form form)
{
    mcomm_request_t request;
    mcomm_err_t err;

    if (form == S_BLOCKING)
        return kind->call(a, S_BLOCKING, NULL);
    do
        err = kind->call(a, form, &request);
    while (err == MCOMM_ERR_NO_MEM); /* one call for memory fails: not twice */
    OK(err);
    if (form == S_PERSISTENT)
        OK(mcomm_start(request));
    err = mcomm_wait(&request, MCOMM_FOREVER, NULL);
    if (form == S_PERSISTENT)
        OK(mcomm_request_free(&request));
    return err;
}

/* true: there was an n-th call for memory. */
static int round_fails(const struct kind *kind, enum small_form form, int victim, int n)
{
    struct args a = good_args();
    int32_t was_reached, any;
    mcomm_err_t err;

    OK(mcomm_comm_dup(W, MCOMM_INFO_NULL, &a.comm));
    a.root = n % mp_size;
    a.dtype = MCOMM_INT64;
    a.send = in;
    a.recv = out;
    memset(out, 0, sizeof(out));
    if (is(kind, "bcast") && a.root == mp_rank)
        memcpy(out, in, sizeof(out));
    atomic_store(&calls_left, mp_rank == victim ? n : 0);
    err = run(kind, &a, form);
    was_reached = mp_rank == victim && atomic_load(&calls_left) <= 0;
    atomic_store(&calls_left, 0);
    if (err != MCOMM_SUCCESS && (err != MCOMM_ERR_NO_MEM || mcomm_last_error()[0] == '\0'))
        MP_FAIL("%s, form %d, number %d at rank %d: %s (%s)", kind->name, (int)form, n, victim,
                mcomm_err_name(err), mcomm_last_error());
    if (err == MCOMM_SUCCESS)
        check(kind, a.root);
    else
        refused++;
    OK(mcomm_comm_free(&a.comm));
    OK(mcomm_allreduce(&was_reached, &any, 1, MCOMM_INT32, MCOMM_MAX, W));
    failures += (size_t)any;
    return any;
}

int main(void)
{
    int nodes;

    mp_init();
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
        in[i] = 1;
    for (size_t count = 1; count <= LARGE; count += LARGE - 1) {
        kinds_prepare(count);
        for (size_t i = 0; i < KIND_NUM; i++)
            for (int form = 0; form < S_FORMS; form++) {
                int victim = (int)(i + (size_t)form) % mp_size, n = 1;

                while (round_fails(&kinds[i], (enum small_form)form, victim, n))
                    n++;
            }
    }
    OK(mcomm_comm_node_count(W, &nodes));
    CHECK(failures > 100 && (nodes == 1 || refused > 100)); /* a node does without its segment */
    OK(mcomm_finalize());
    return 0;
}
