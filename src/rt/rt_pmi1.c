/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Bootstrap by PMI-1, the line protocol on the descriptor PMI_FD: hydra's mpiexec and
 * srun --mpi=pmi2. Values are short and text only, so packets go in base64 pieces; a get costs
 * up to 5 ms (Slurm), so for more than a few ranks groups of about sqrt(n) are gathered first.
 * The connection stays open until the process exits; each exchange uses new keys.
 */
#include "config.h"

#include "rt/rt_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "rt/rt_again.h"
#include "rt/rt_base64.h"

#define LINE_MAX_BYTES 4096
#define NAME_MAX_BYTES 256
#define VALUE_MAX_BYTES 1024 /* also if the launcher would take more */
#define KEY_MAX_BYTES 64
#define REQUEST_MAX_BYTES 1000 /* Slurm reads no longer line, whatever its limits say */
#define REQUEST_HEAD_BYTES 32  /* cmd=put kvsname= key= value= */
#define FLAT_MAX 8
#define PATIENCE_MS 500 /* then a rank says aloud that it waits */
#define FINALIZE_MS 2000
#define OFFER_NAME "mcomm-again"

/* There is one connection to the launcher in a process. Only the starting thread uses it. */
static struct {
    pid_t owner; /* a forked child has no part in it */
    int fd;
    bool has_exit_hook;
    bool is_stuck;        /* a barrier never ended: no further start */
    bool is_unresponsive; /* an answer never came, or the launcher is gone: no further word */
    unsigned generation;
    bool is_released;    /* the barrier has ended */
    size_t piece_nbytes; /* of a packet per value */
    char kvs[NAME_MAX_BYTES];
    size_t line_got;
    char line[LINE_MAX_BYTES];
} pmi;

static mcomm_err_t launcher_lost(void)
{
    pmi.is_stuck = pmi.is_unresponsive = true;
    return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the launcher closed PMI_FD=%d during start-up",
                       pmi.fd);
}

static bool wait_fd(short events, int64_t deadline_ns)
{
    struct pollfd poll_fd = {.fd = pmi.fd, .events = events};
    int64_t left_ns;
    int rc;

    do {
        left_ns = deadline_ns - mci_clock_ns();
        if (left_ns < 0)
            return false;
        rc = poll(&poll_fd, 1, left_ns / 1000000 < 1000 ? (int)(left_ns / 1000000) + 1 : 1000);
    } while (rc <= 0);
    return true;
}

static mcomm_err_t send_all(const char *text, size_t nbytes, int64_t deadline_ns)
{
    while (nbytes > 0) {
        ssize_t n = send(pmi.fd, text, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == ENOTSOCK)
            n = write(pmi.fd, text, nbytes);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return launcher_lost();
        if (n < 0 && !wait_fd(POLLOUT, deadline_ns))
            return MCOMM_ERR_TIMEOUT;
        text += n > 0 ? n : 0;
        nbytes -= n > 0 ? (size_t)n : 0;
    }
    return MCOMM_SUCCESS;
}

/* One line without its newline. MCOMM_ERR_TIMEOUT is returned without an error text. */
static mcomm_err_t read_line(char line[LINE_MAX_BYTES], int64_t deadline_ns)
{
    char *end;

    while ((end = memchr(pmi.line, '\n', pmi.line_got)) == NULL) {
        ssize_t n;

        if (pmi.line_got == sizeof(pmi.line))
            return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher sent a line of over %d bytes",
                               LINE_MAX_BYTES);
        if (!wait_fd(POLLIN, deadline_ns))
            return MCOMM_ERR_TIMEOUT;
        n = read(pmi.fd, pmi.line + pmi.line_got, sizeof(pmi.line) - pmi.line_got);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return launcher_lost();
        pmi.line_got += n > 0 ? (size_t)n : 0;
    }
    memcpy(line, pmi.line, (size_t)(end - pmi.line));
    line[end - pmi.line] = '\0';
    pmi.line_got -= (size_t)(end + 1 - pmi.line);
    memmove(pmi.line, end + 1, pmi.line_got);
    return MCOMM_SUCCESS;
}

/* The value of key in "cmd=x key=value ...", copied; false if it is not there or too long. */
static bool line_value(const char *line, const char *key, char *value, size_t nbytes)
{
    size_t key_nbytes = strlen(key);

    for (const char *p = line; *p != '\0'; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");

        if (n > key_nbytes && strncmp(p, key, key_nbytes) == 0 && p[key_nbytes] == '=') {
            if (n - key_nbytes - 1 >= nbytes)
                return false;
            memcpy(value, p + key_nbytes + 1, n - key_nbytes - 1);
            value[n - key_nbytes - 1] = '\0';
            return true;
        }
        p += n;
    }
    return false;
}

static int line_int(const char *line, const char *key, int dflt)
{
    char value[32];

    return line_value(line, key, value, sizeof(value)) ? atoi(value) : dflt;
}

/* Send a command and read lines until the answer of that name; the barrier's may come before it. */
__attribute__((format(printf, 4, 5))) static mcomm_err_t
command(char answer[LINE_MAX_BYTES], const char *name, int64_t deadline_ns, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES], cmd[64];
    mcomm_err_t err;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof(text))
        return mci_err_set(MCOMM_ERR_INTERNAL, "a PMI line of %d bytes", n);
    err = send_all(text, (size_t)n, deadline_ns);
    while (err == MCOMM_SUCCESS) {
        err = read_line(answer, deadline_ns);
        if (err != MCOMM_SUCCESS || !line_value(answer, "cmd", cmd, sizeof(cmd)))
            continue;
        if (strcmp(cmd, "barrier_out") == 0)
            pmi.is_released = true;
        else if (strcmp(cmd, name) == 0)
            return MCOMM_SUCCESS;
    }
    if (err != MCOMM_SUCCESS)
        pmi.is_stuck = pmi.is_unresponsive = true;
    return err;
}

/* The barrier is open until its answer comes, at any time. MCOMM_ERR_TIMEOUT without an error text.
 */
static mcomm_err_t await_release(int64_t deadline_ns)
{
    char line[LINE_MAX_BYTES], cmd[64];
    mcomm_err_t err = MCOMM_SUCCESS;

    while (!pmi.is_released && err == MCOMM_SUCCESS) {
        err = read_line(line, deadline_ns);
        if (err == MCOMM_SUCCESS && line_value(line, "cmd", cmd, sizeof(cmd)))
            pmi.is_released = strcmp(cmd, "barrier_out") == 0;
    }
    return err;
}

static mcomm_err_t no_answer(const struct mci_rt *rt, const char *to)
{
    return mci_err_set(MCOMM_ERR_TIMEOUT, "the PMI launcher did not answer to %s within %d ms", to,
                       rt->timeout_ms);
}

/* ---- start */

static void finalize_at_exit(void)
{
    char answer[LINE_MAX_BYTES];

    if (pmi.owner != 0 && pmi.owner == getpid() && !pmi.is_unresponsive)
        command(answer, "finalize_ack", mci_clock_ns() + FINALIZE_MS * INT64_C(1000000),
                "cmd=finalize\n");
    pmi.owner = 0;
}

static mcomm_err_t greet(struct mci_rt *rt)
{
    char answer[LINE_MAX_BYTES];
    size_t value_max;
    mcomm_err_t err;

    err = command(answer, "response_to_init", rt->deadline_ns,
                  "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (err == MCOMM_SUCCESS && line_int(answer, "rc", 0) != 0)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher refuses: %.200s", answer);
    if (err == MCOMM_SUCCESS)
        err = command(answer, "maxes", rt->deadline_ns, "cmd=get_maxes\n");
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_TIMEOUT ? no_answer(rt, "init") : err;
    value_max = (size_t)line_int(answer, "vallen_max", VALUE_MAX_BYTES);
    if (value_max > VALUE_MAX_BYTES)
        value_max = VALUE_MAX_BYTES;
    if (line_int(answer, "keylen_max", KEY_MAX_BYTES) < KEY_MAX_BYTES || value_max < 64)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher's limits are too low: %.200s",
                           answer);
    err = command(answer, "my_kvsname", rt->deadline_ns, "cmd=get_my_kvsname\n");
    if (err != MCOMM_SUCCESS)
        return err == MCOMM_ERR_TIMEOUT ? no_answer(rt, "get_my_kvsname") : err;
    if (!line_value(answer, "kvsname", pmi.kvs, sizeof(pmi.kvs)))
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher gives no name space: %.200s",
                           answer);
    if (value_max > REQUEST_MAX_BYTES - REQUEST_HEAD_BYTES - KEY_MAX_BYTES - strlen(pmi.kvs))
        value_max = REQUEST_MAX_BYTES - REQUEST_HEAD_BYTES - KEY_MAX_BYTES - strlen(pmi.kvs);
    pmi.piece_nbytes = (value_max - 1) / 4 * 3;
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
    pmi.fd = fd;
    pmi.line_got = 0;
    err = greet(rt);
    if (err != MCOMM_SUCCESS)
        return err;
    pmi.owner = getpid();
    if (!pmi.has_exit_hook) {
        pmi.has_exit_hook = true;
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
    if (pmi.is_stuck)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP,
                           "an earlier start-up by PMI did not end: this process "
                           "cannot start again");
    if (pmi.owner != getpid()) {
        err = pmi_connect(rt, ev.pmi_fd);
        if (err != MCOMM_SUCCESS)
            return err;
    }
    rt->info.rank = ev.pmi_rank;
    rt->info.size = ev.pmi_size;
    rt->info.local_rank = ev.local_rank;
    rt->info.local_size = ev.local_size;
    snprintf(rt->job_id, sizeof(rt->job_id), "%.255s", pmi.kvs);
    return MCOMM_SUCCESS;
}

/* ---- key-value space: bytes of any length under a name, in pieces */

/* The length comes first, in the first piece. */
static mcomm_err_t put_bytes(struct mci_rt *rt, const char *name, const unsigned char *bytes,
                             size_t nbytes)
{
    unsigned char piece[VALUE_MAX_BYTES];
    char value[VALUE_MAX_BYTES + 1], answer[LINE_MAX_BYTES];
    size_t begin = 0;
    mcomm_err_t err;

    for (int i = 0; i == 0 || begin < nbytes; i++) {
        size_t head = i == 0 ? 4 : 0;
        size_t n = pmi.piece_nbytes - head;

        n = n < nbytes - begin ? n : nbytes - begin;
        for (size_t k = 0; k < head; k++)
            piece[k] = (unsigned char)(nbytes >> 8 * k);
        memcpy(piece + head, bytes + begin, n);
        begin += n;
        mci_rt_base64_encode(piece, head + n, value);
        err = command(answer, "put_result", rt->deadline_ns,
                      "cmd=put kvsname=%s key=%s-%d value=%s\n", pmi.kvs, name, i, value);
        if (err == MCOMM_ERR_TIMEOUT)
            return no_answer(rt, "put");
        if (err != MCOMM_SUCCESS)
            return err;
        if (line_int(answer, "rc", 0) != 0)
            return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher did not take %s-%d: %.200s",
                               name, i, answer);
    }
    return MCOMM_SUCCESS;
}

/* MCOMM_ERR_NOT_FOUND, without an error text, if there is no such key. */
static mcomm_err_t get_piece(struct mci_rt *rt, const char *name, int i, unsigned char *piece,
                             size_t *nbytes_p)
{
    char value[VALUE_MAX_BYTES + 1], answer[LINE_MAX_BYTES];
    mcomm_err_t err;

    err = command(answer, "get_result", rt->deadline_ns, "cmd=get kvsname=%s key=%s-%d\n", pmi.kvs,
                  name, i);
    if (err == MCOMM_ERR_TIMEOUT)
        return no_answer(rt, "get");
    if (err != MCOMM_SUCCESS)
        return err;
    if (line_int(answer, "rc", 0) != 0)
        return MCOMM_ERR_NOT_FOUND;
    if (!line_value(answer, "value", value, sizeof(value)) ||
        !mci_rt_base64_decode(value, piece, VALUE_MAX_BYTES, nbytes_p))
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher spoilt %s-%d", name, i);
    return MCOMM_SUCCESS;
}

/* @param bytes_p  free with mci_mem_free() */
static mcomm_err_t get_bytes(struct mci_rt *rt, const char *name, size_t max,
                             unsigned char **bytes_p, size_t *nbytes_p)
{
    unsigned char piece[VALUE_MAX_BYTES];
    unsigned char *bytes;
    size_t total, got, n = 0;
    mcomm_err_t err;

    err = get_piece(rt, name, 0, piece, &n);
    if (err != MCOMM_SUCCESS)
        return err;
    total = n < 4 ? max + 1
                  : (size_t)piece[0] | (size_t)piece[1] << 8 | (size_t)piece[2] << 16 |
                        (size_t)piece[3] << 24;
    if (total > max || n - 4 > total)
        return mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher spoilt %s", name);
    bytes = mci_mem_alloc(total);
    if (bytes == NULL)
        return MCOMM_ERR_NO_MEM;
    memcpy(bytes, piece + 4, n - 4);
    got = n - 4;
    for (int i = 1; got < total && err == MCOMM_SUCCESS; i++) {
        err = get_piece(rt, name, i, piece, &n);
        if (err == MCOMM_SUCCESS && (n == 0 || n > total - got))
            err = MCOMM_ERR_NOT_FOUND;
        if (err == MCOMM_SUCCESS)
            memcpy(bytes + got, piece, n);
        got += n;
    }
    if (err != MCOMM_SUCCESS) {
        mci_mem_free(bytes);
        return err == MCOMM_ERR_NOT_FOUND
                   ? mci_err_set(MCOMM_ERR_BOOTSTRAP, "the PMI launcher lost a part of %s", name)
                   : err;
    }
    *bytes_p = bytes;
    *nbytes_p = total;
    return MCOMM_SUCCESS;
}

/* ---- barrier */

/*
 * Hydra shows what was put only after the barrier, so a rank that waits for long publishes its
 * presence as a service name; those are seen at once, also while the barrier is open.
 */
static mcomm_err_t announce(struct mci_rt *rt, const char *prefix, const char *verb)
{
    char answer[LINE_MAX_BYTES], answer_name[32];

    snprintf(answer_name, sizeof(answer_name), "%s_result", verb);
    return command(answer, answer_name, rt->deadline_ns, "cmd=%s_name service=%s-%s-%d%s\n", verb,
                   pmi.kvs, prefix, rt->info.rank, verb[0] == 'p' ? " port=here" : "");
}

static bool is_announced(struct mci_rt *rt, const char *prefix, int rank)
{
    char answer[LINE_MAX_BYTES], port[16];

    return command(answer, "lookup_result", rt->deadline_ns, "cmd=lookup_name service=%s-%s-%d\n",
                   pmi.kvs, prefix, rank) == MCOMM_SUCCESS &&
           line_value(answer, "port", port, sizeof(port)) && strcmp(port, "here") == 0;
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
    err = num_here == rt->info.size ? await_release(rt->deadline_ns) : MCOMM_ERR_TIMEOUT;
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

    pmi.is_released = false;
    err = send_all(barrier_in, sizeof(barrier_in) - 1, rt->deadline_ns);
    if (err == MCOMM_SUCCESS)
        err = await_release(mci_clock_ns() + patience_ns);
    if (err != MCOMM_ERR_TIMEOUT)
        return err;
    err = announce(rt, prefix, "publish");
    if (err == MCOMM_SUCCESS)
        err = await_release(rt->deadline_ns - patience_ns);
    if (err == MCOMM_ERR_TIMEOUT && mci_rt_time_left_ms(rt) > 0)
        err = name_missing(rt, prefix);
    else if (err == MCOMM_ERR_TIMEOUT)
        no_answer(rt, "barrier_in");
    if (err == MCOMM_SUCCESS)
        err = announce(rt, prefix, "unpublish");
    if (err == MCOMM_ERR_TIMEOUT)
        pmi.is_stuck = true;
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

/* The packets of ranks first .. first + num - 1, each under prefix and its number, as one run. */
static mcomm_err_t gather(struct mci_rt *rt, const char *prefix, int first, int num,
                          unsigned char **frame_p, size_t *nbytes_p)
{
    unsigned char *frame = mci_mem_alloc((size_t)num * (4 + MCI_RT_PACKET_MAX));
    char name[KEY_MAX_BYTES];
    unsigned char *bytes;
    size_t used = 0, n;
    mcomm_err_t err;

    if (frame == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int i = first; i < first + num; i++) {
        snprintf(name, sizeof(name), "%s-%d", prefix, i);
        err = get_bytes(rt, name, MCI_RT_PACKET_MAX, &bytes, &n);
        if (err != MCOMM_SUCCESS) {
            mci_mem_free(frame);
            return err == MCOMM_ERR_NOT_FOUND ? never_published(name) : err;
        }
        for (size_t k = 0; k < 4; k++)
            frame[used + k] = (unsigned char)(n >> 8 * k);
        memcpy(frame + used + 4, bytes, n);
        used += 4 + n;
        mci_mem_free(bytes);
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
    char name[KEY_MAX_BYTES];
    unsigned char *bytes;
    size_t used = 0, n;
    mcomm_err_t err;

    if (frame == NULL)
        return MCOMM_ERR_NO_MEM;
    for (int first = 0; first < rt->info.size; first += group_size) {
        snprintf(name, sizeof(name), "%s-g%d", prefix, first);
        err = get_bytes(rt, name, max, &bytes, &n);
        if (err != MCOMM_SUCCESS) {
            mci_mem_free(frame);
            return err == MCOMM_ERR_NOT_FOUND ? never_published(name) : err;
        }
        memcpy(frame + used, bytes, n);
        used += n;
        mci_mem_free(bytes);
    }
    *frame_p = frame;
    *nbytes_p = used;
    return MCOMM_SUCCESS;
}

static mcomm_err_t publish_group(struct mci_rt *rt, const char *prefix, int group_size)
{
    int first = rt->info.rank;
    int num = rt->info.size - first < group_size ? rt->info.size - first : group_size;
    char name[KEY_MAX_BYTES];
    unsigned char *frame;
    size_t nbytes;
    mcomm_err_t err;

    err = gather(rt, prefix, first, num, &frame, &nbytes);
    if (err != MCOMM_SUCCESS)
        return err;
    snprintf(name, sizeof(name), "%s-g%d", prefix, first);
    err = put_bytes(rt, name, frame, nbytes);
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
    char prefix[24], name[KEY_MAX_BYTES];
    unsigned char *frame = NULL;
    size_t frame_nbytes = 0;
    mcomm_err_t err;

    snprintf(prefix, sizeof(prefix), "mcomm-%u", pmi.generation++);
    snprintf(name, sizeof(name), "%s-%d", prefix, rt->info.rank);
    err = put_bytes(rt, name, packet, nbytes);
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
    return put_bytes(rt, OFFER_NAME, offer, sizeof(offer));
}

/* Every rank learns rank 0's offer, or none does. */
static mcomm_err_t take_offer(struct mci_rt *rt)
{
    unsigned char *offer;
    size_t nbytes;
    mcomm_err_t err;

    if (rt->info.rank == 0)
        return MCOMM_SUCCESS;
    err = get_bytes(rt, OFFER_NAME, MCI_RT_OFFER_BYTES, &offer, &nbytes);
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
    bool has_offer = pmi.generation == MCI_RT_OFFER_GENERATION;
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
    if (pmi.owner == getpid())
        send_all(text, (size_t)n, mci_clock_ns() + INT64_C(1000000000));
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
