/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bootstrap by PMI-1, the line protocol on the descriptor PMI_FD: hydra's mpiexec and
 * srun --mpi=pmi2. A get costs up to 5 ms (Slurm), so for more than a few ranks groups of about
 * sqrt(n) are gathered first. The connection stays open until the process exits; each exchange uses
 * new keys.
 */
#include "config.h"

#include "rt/rt_pmi1.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "rt/rt_again.h"

#define REQUEST_MAX_BYTES 1000 /* Slurm reads no longer line, whatever its limits say */
#define REQUEST_HEAD_BYTES 32  /* cmd=put kvsname= key= value= */
#define FLAT_MAX 8
#define PATIENCE_MS 500 /* then a rank says aloud that it waits */
#define FINALIZE_MS 2000
#define OFFER_NAME "mcomm-again"

/* ---- start */

static void finalize_at_exit(void)
{
    char answer[MCI_RT_PMI_LINE_MAX];

    if (mci_rt_pmi.owner != 0 && mci_rt_pmi.owner == getpid() && !mci_rt_pmi.is_unresponsive)
        mci_rt_pmi_command(answer, "finalize_ack", mci_clock_ns() + FINALIZE_MS * INT64_C(1000000),
                           "cmd=finalize\n");
    mci_rt_pmi.owner = 0;
}

static mcomm_err_t greet(struct mci_rt *rt)
{
    char answer[MCI_RT_PMI_LINE_MAX];
    size_t value_max;
    mcomm_err_t err;

    err = mci_rt_pmi_command(answer, "response_to_init", rt->deadline_ns,
                             "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (err == MCOMM_SUCCESS && mci_rt_pmi_line_int(answer, "rc", 0) != 0)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher refuses: %.200s", answer);
    if (err == MCOMM_SUCCESS)
        err = mci_rt_pmi_command(answer, "maxes", rt->deadline_ns, "cmd=get_maxes\n");
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_TIMEOUT ? mci_rt_pmi_no_answer(rt, "init") : err;
    value_max = (size_t)mci_rt_pmi_line_int(answer, "vallen_max", MCI_RT_PMI_VALUE_MAX);
    if (value_max > MCI_RT_PMI_VALUE_MAX)
        value_max = MCI_RT_PMI_VALUE_MAX;
    if (mci_rt_pmi_line_int(answer, "keylen_max", MCI_RT_PMI_KEY_MAX) < MCI_RT_PMI_KEY_MAX ||
        value_max < 64)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher's limits are too low: %.200s",
                           answer);
    err = mci_rt_pmi_command(answer, "my_kvsname", rt->deadline_ns, "cmd=get_my_kvsname\n");
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_TIMEOUT ? mci_rt_pmi_no_answer(rt, "get_my_kvsname") : err;
    if (!mci_rt_pmi_line_value(answer, "kvsname", mci_rt_pmi.kvs, sizeof(mci_rt_pmi.kvs)))
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher gives no name space: %.200s",
                           answer);
    if (value_max >
        REQUEST_MAX_BYTES - REQUEST_HEAD_BYTES - MCI_RT_PMI_KEY_MAX - strlen(mci_rt_pmi.kvs))
        value_max =
            REQUEST_MAX_BYTES - REQUEST_HEAD_BYTES - MCI_RT_PMI_KEY_MAX - strlen(mci_rt_pmi.kvs);
    mci_rt_pmi.piece_nbytes = (value_max - 1) / 4 * 3;
    return MCOMM_SUCCESS;
}

static mcomm_err_t pmi_connect(struct mci_rt *rt, int fd)
{
    mcomm_err_t err;

    if (fcntl(fd, F_GETFD) < 0)
        return mci_err_set(
            MCOMM_ERR_BOOTSTRAP,
            "PMI_FD=%d is not open: was this process started by the launcher itself? "
            "else unset PMI_FD, or set MCOMM_RENDEZVOUS=host:port",
            fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* a program that we start is not this rank */
    mci_rt_pmi.fd = fd;
    mci_rt_pmi.line_got = 0;
    err = greet(rt);
    if (err != MCOMM_SUCCESS)
        return err;
    mci_rt_pmi.owner = getpid();
    if (!mci_rt_pmi.has_exit_hook) {
        mci_rt_pmi.has_exit_hook = true;
        atexit(finalize_at_exit);
    }
    return MCOMM_SUCCESS;
}

static mcomm_err_t pmi1_start(struct mci_rt *rt, const mcomm_oob_t *oob)
{
    struct mci_rt_evidence ev;
    mcomm_err_t err;

    (void)oob;
    mci_rt_evidence_read(&ev);
    if (ev.pmi_rank < 0 || ev.pmi_size < 1 || ev.pmi_rank >= ev.pmi_size)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "PMI_FD=%d is set, but PMI_RANK and PMI_SIZE do not "
                           "give a rank",
                           ev.pmi_fd);
    if (mci_rt_pmi.is_stuck)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "an earlier start-up by PMI did not end: this process "
                           "cannot start again");
    if (mci_rt_pmi.owner != getpid()) {
        err = pmi_connect(rt, ev.pmi_fd);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    rt->info.rank = ev.pmi_rank;
    rt->info.size = ev.pmi_size;
    rt->info.local_rank = ev.local_rank;
    rt->info.local_size = ev.local_size;
    snprintf(rt->job_id, sizeof(rt->job_id), "%.255s", mci_rt_pmi.kvs);
    return MCOMM_SUCCESS;
}

/* ---- barrier */

/*
 * Hydra shows what was put only after the barrier, so a rank that waits for long publishes its
 * presence as a service name; those are seen at once, also while the barrier is open.
 */
static mcomm_err_t announce(struct mci_rt *rt, const char *prefix, const char *verb)
{
    char answer[MCI_RT_PMI_LINE_MAX], answer_name[32];

    snprintf(answer_name, sizeof(answer_name), "%s_result", verb);
    return mci_rt_pmi_command(answer, answer_name, rt->deadline_ns,
                              "cmd=%s_name service=%s-%s-%d%s\n", verb, mci_rt_pmi.kvs, prefix,
                              rt->info.rank, verb[0] == 'p' ? " port=here" : "");
}

static bool is_announced(struct mci_rt *rt, const char *prefix, int rank)
{
    char answer[MCI_RT_PMI_LINE_MAX], port[16];

    return mci_rt_pmi_command(answer, "lookup_result", rt->deadline_ns,
                              "cmd=lookup_name service=%s-%s-%d\n", mci_rt_pmi.kvs, prefix,
                              rank) == MCOMM_SUCCESS &&
           mci_rt_pmi_line_value(answer, "port", port, sizeof(port)) && strcmp(port, "here") == 0;
}

static mcomm_err_t name_missing(struct mci_rt *rt, const char *prefix)
{
    unsigned char *here = mci_mem_zalloc((size_t)rt->info.size);
    char ranks[256];
    int num_here = 0;
    mcomm_err_t err;

    if (here == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int i = 0; i < rt->info.size; i++) {
        here[i] = i == rt->info.rank || is_announced(rt, prefix, i);
        num_here += here[i];
    }
    err = num_here == rt->info.size ? mci_rt_pmi_await_release(rt->deadline_ns) : MCOMM_ERR_TIMEOUT;
    if (err == MCOMM_ERR_TIMEOUT && num_here == rt->info.size)
        mci_err_set(MCOMM_ERR_TIMEOUT,
                    "the PMI launcher's barrier did not end within %d ms, though "
                    "all %d ranks came to it",
                    rt->timeout_ms, rt->info.size);
    else if (err == MCOMM_ERR_TIMEOUT)
        mci_err_set(MCOMM_ERR_TIMEOUT,
                    "%d of %d ranks did not start within %d ms; missing: rank %s",
                    rt->info.size - num_here, rt->info.size, rt->timeout_ms,
                    mci_rt_ranks_text(here, rt->info.size, 0, ranks, sizeof(ranks)));
    mci_mem_free(here);
    return err;
}

static mcomm_err_t barrier(struct mci_rt *rt, const char *prefix)
{
    int64_t patience_ms = rt->timeout_ms / 4 < PATIENCE_MS ? rt->timeout_ms / 4 : PATIENCE_MS;
    int64_t patience_ns = patience_ms * INT64_C(1000000);
    static const char barrier_in[] = "cmd=barrier_in\n";
    mcomm_err_t err;

    mci_rt_pmi.is_released = false;
    err = mci_rt_pmi_send(barrier_in, sizeof(barrier_in) - 1, rt->deadline_ns);
    if (err == MCOMM_SUCCESS)
        err = mci_rt_pmi_await_release(mci_clock_ns() + patience_ns);
    if (err != MCOMM_ERR_TIMEOUT)
        return err;
    err = announce(rt, prefix, "publish");
    if (err == MCOMM_SUCCESS)
        err = mci_rt_pmi_await_release(rt->deadline_ns - patience_ns);
    if (err == MCOMM_ERR_TIMEOUT && mci_rt_time_left_ms(rt) > 0)
        err = name_missing(rt, prefix);
    else if (err == MCOMM_ERR_TIMEOUT)
        mci_rt_pmi_no_answer(rt, "barrier_in");
    if (err == MCOMM_SUCCESS)
        err = announce(rt, prefix, "unpublish");
    if (err == MCOMM_ERR_TIMEOUT)
        mci_rt_pmi.is_stuck = true;
    return err;
}

/* ---- exchange */

static mcomm_err_t never_published(const char *name)
{
    return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                       "the PMI launcher does not know %s; did a rank die during "
                       "start-up?",
                       name);
}

/* What was published under name, at most max bytes, to at. */
static mcomm_err_t fetch(struct mci_rt *rt, const char *name, size_t max, unsigned char *at,
                         size_t *nbytes_p)
{
    unsigned char *bytes;
    mcomm_err_t err = mci_rt_pmi_get(rt, name, max, &bytes, nbytes_p);

    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_NOT_FOUND ? never_published(name) : err;
    memcpy(at, bytes, *nbytes_p);
    mci_mem_free(bytes);
    return MCOMM_SUCCESS;
}

/* The packets of ranks first .. first + num - 1, each under prefix and its number, as one run. */
static mcomm_err_t gather(struct mci_rt *rt, const char *prefix, int first, int num,
                          unsigned char **frame_p, size_t *nbytes_p)
{
    unsigned char *frame = mci_mem_alloc((size_t)num * (4 + MCI_RT_PACKET_MAX));
    char name[MCI_RT_PMI_KEY_MAX];
    size_t used = 0, n;
    mcomm_err_t err;

    if (frame == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int i = first; i < first + num; i++) {
        snprintf(name, sizeof(name), "%s-%d", prefix, i);
        err = fetch(rt, name, MCI_RT_PACKET_MAX, frame + used + 4, &n);
        if (err != MCOMM_SUCCESS) {
            mci_mem_free(frame);
            return err;
        }
        for (size_t k = 0; k < 4; k++)
            frame[used + k] = (unsigned char)(n >> 8 * k);
        used += 4 + n;
    }
    *frame_p = frame;
    *nbytes_p = used;
    return MCOMM_SUCCESS;
}

/* The frames of all groups, one behind the other, are the frame of all ranks. */
static mcomm_err_t gather_groups(struct mci_rt *rt, const char *prefix, int group_size,
                                 unsigned char **frame_p, size_t *nbytes_p)
{
    size_t max = (size_t)group_size * (4 + MCI_RT_PACKET_MAX);
    unsigned char *frame =
        mci_mem_alloc(((size_t)rt->info.size + (size_t)group_size) * (4 + MCI_RT_PACKET_MAX));
    char name[MCI_RT_PMI_KEY_MAX];
    size_t used = 0, n;
    mcomm_err_t err;

    if (frame == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int first = 0; first < rt->info.size; first += group_size) {
        snprintf(name, sizeof(name), "%s-g%d", prefix, first);
        err = fetch(rt, name, max, frame + used, &n);
        if (err != MCOMM_SUCCESS) {
            mci_mem_free(frame);
            return err;
        }
        used += n;
    }
    *frame_p = frame;
    *nbytes_p = used;
    return MCOMM_SUCCESS;
}

static mcomm_err_t publish_group(struct mci_rt *rt, const char *prefix, int group_size)
{
    int first = rt->info.rank;
    int num = rt->info.size - first < group_size ? rt->info.size - first : group_size;
    char name[MCI_RT_PMI_KEY_MAX];
    unsigned char *frame;
    size_t nbytes;
    mcomm_err_t err;

    err = gather(rt, prefix, first, num, &frame, &nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    snprintf(name, sizeof(name), "%s-g%d", prefix, first);
    err = mci_rt_pmi_put(rt, name, frame, nbytes);
    mci_mem_free(frame);
    return err;
}

static mcomm_err_t gather_all(struct mci_rt *rt, const char *prefix, unsigned char **frame_p,
                              size_t *nbytes_p)
{
    int group_size = 1;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (rt->info.size <= FLAT_MAX)
        return gather(rt, prefix, 0, rt->info.size, frame_p, nbytes_p);
    while (group_size * group_size < rt->info.size)
        group_size++;
    if (rt->info.rank % group_size == 0)
        err = publish_group(rt, prefix, group_size);
    if (err == MCOMM_SUCCESS)
        err = barrier(rt, prefix);
    if (err == MCOMM_SUCCESS)
        err = gather_groups(rt, prefix, group_size, frame_p, nbytes_p);
    return err;
}

static mcomm_err_t exchange_by_store(struct mci_rt *rt, const void *packet, size_t nbytes,
                                     struct mci_rt_blobs *out)
{
    char prefix[24], name[MCI_RT_PMI_KEY_MAX];
    unsigned char *frame = NULL;
    size_t frame_nbytes = 0;
    mcomm_err_t err;

    snprintf(prefix, sizeof(prefix), "mcomm-%u", mci_rt_pmi.generation++);
    snprintf(name, sizeof(name), "%s-%d", prefix, rt->info.rank);
    err = mci_rt_pmi_put(rt, name, packet, nbytes);
    if (err == MCOMM_SUCCESS)
        err = barrier(rt, prefix);
    if (err == MCOMM_SUCCESS)
        err = gather_all(rt, prefix, &frame, &frame_nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    err = mci_rt_blobs_unpack(frame, frame_nbytes, rt->info.size, out);
    mci_mem_free(frame);
    return err;
}

static mcomm_err_t put_offer(struct mci_rt *rt)
{
    unsigned char offer[MCI_RT_OFFER_BYTES];

    if (rt->info.rank != 0)
        return MCOMM_SUCCESS;
    mci_rt_again_offer(rt, offer);
    return mci_rt_pmi_put(rt, OFFER_NAME, offer, sizeof(offer));
}

/* Every rank learns rank 0's offer, or none does. */
static mcomm_err_t take_offer(struct mci_rt *rt)
{
    unsigned char *offer;
    size_t nbytes;
    mcomm_err_t err;

    if (rt->info.rank == 0)
        return MCOMM_SUCCESS;
    err = mci_rt_pmi_get(rt, OFFER_NAME, MCI_RT_OFFER_BYTES, &offer, &nbytes);
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_NOT_FOUND ? never_published(OFFER_NAME) : err;
    if (nbytes == MCI_RT_OFFER_BYTES)
        mci_rt_again_accept(offer);
    mci_mem_free(offer);
    return MCOMM_SUCCESS;
}

static mcomm_err_t pmi1_exchange(struct mci_rt *rt, const void *packet, size_t nbytes,
                                 struct mci_rt_blobs *out)
{
    bool has_offer = mci_rt_pmi.generation == MCI_RT_OFFER_GENERATION;
    mcomm_err_t err = MCOMM_SUCCESS;

    if (rt->info.size == 1)
        return mci_rt_singleton_ops.exchange(rt, packet, nbytes, out);
    if (mci_rt_again_is_ready())
        return mci_rt_again_exchange(rt, packet, nbytes, out);
    if (has_offer)
        err = put_offer(rt);
    if (err == MCOMM_SUCCESS)
        err = exchange_by_store(rt, packet, nbytes, out);
    if (err != MCOMM_SUCCESS || !has_offer)
        return err;
    err = take_offer(rt);
    if (err != MCOMM_SUCCESS)
        mci_rt_blobs_free(out);
    return err;
}

static void pmi1_abort(struct mci_rt *rt, int code, const char *msg)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "cmd=abort exitcode=%d\n", code);

    (void)rt;
    (void)msg;
    if (mci_rt_pmi.owner == getpid())
        mci_rt_pmi_send(text, (size_t)n, mci_clock_ns() + INT64_C(1000000000));
}

static void pmi1_stop(struct mci_rt *rt)
{
    (void)rt; /* the connection serves the next start, or ends at exit */
}

const struct mci_rt_ops mci_rt_pmi1_ops = {
    .size = sizeof(struct mci_rt_ops),
    .name = "pmi1",
    .start = pmi1_start,
    .exchange = pmi1_exchange,
    .abort = pmi1_abort,
    .stop = pmi1_stop,
};
