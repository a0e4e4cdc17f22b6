/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The children of the shm rail's tests, and their parent's side: see rail_shm_kid.h. */
#include "rail_shm_kid.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AM_TEST MCI_AM_P2P_EAGER
#define AM_BULK MCI_AM_P2P_RTS  /* child: here is an operation of w1 bytes; w2: its number */
#define AM_PLACE MCI_AM_P2P_CTS /* parent: push it into w0 */
#define AM_START MCI_AM_P2P_FIN /* parent: begin */
#define AM_MESH MCI_AM_P2P_CREDIT
#define BULK_NBYTES 700000u
#define FRAME_SPAN 20000u

static size_t frame_size(uint32_t number)
{
    uint64_t state = KID_SEED + number;

    rng_next(&state);
    return number % 3 == 0 ? rng_next(&state) % 48 : rng_next(&state) % FRAME_SPAN;
}

/* ---- the child ---- */
static struct {
    struct mci_peer *parent;
    bool has_started, is_kicking;
    struct mci_outop out;
    mcomm_iov_t iov;
    bool is_out_busy;
    uint64_t place;
    bool has_place, has_asked;
    uint8_t *src;
} child;

static void child_start(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                        struct mci_sink *sink)
{
    (void)frame;
    (void)payload;
    (void)sink;
    child.parent = peer;
    child.has_started = true;
}

static void child_place(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                        struct mci_sink *sink)
{
    (void)peer;
    (void)payload;
    (void)sink;
    child.place = frame->w0;
    child.has_place = true;
}

static void child_out_done(struct mci_outop *op, mcomm_err_t err)
{
    (void)op;
    (void)err;
    child.is_out_busy = false;
}

static void child_bulk(uint32_t number)
{
    struct mci_frame frame = {.am = AM_BULK, .w1 = BULK_NBYTES, .w2 = number};

    if (child.has_place && !child.is_out_busy) {
        child.has_place = child.has_asked = false;
        child.is_out_busy = true;
        child.iov = (mcomm_iov_t){child.src, BULK_NBYTES};
        child.out = (struct mci_outop){.peer = child.parent,
                                       .remote_id = child.place,
                                       .iov = &child.iov,
                                       .iov_count = 1,
                                       .nbytes = BULK_NBYTES,
                                       .done = child_out_done};
        mci_outop_start(&child.out);
    } else if (number % 50 == 0 && !child.is_out_busy && !child.has_asked) {
        child.has_asked = true;
        pattern_fill(child.src, BULK_NBYTES, number, 0);
        mci_peer_send(child.parent, &frame, NULL, 0, NULL);
    }
}

/* limit frames, or without end. */
static void child_stream(uint32_t limit)
{
    static uint8_t buf[FRAME_SPAN];
    struct mci_waiter w;

    for (uint32_t number = 0; number < limit; number++) {
        struct mci_frame frame = {.am = AM_TEST, .w1 = number};
        size_t nbytes = frame_size(number);

        pattern_fill(buf, nbytes, number, 0);
        if (mci_peer_send(child.parent, &frame, buf, nbytes, NULL) != MCOMM_SUCCESS)
            _exit(3);
        if (child.is_kicking)
            mci_peer_kick(child.parent);
        else if (limit == UINT32_MAX)
            child_bulk(number);
        mci_wait_begin(&w, -1);
        while (!child.parent->ops->is_idle(child.parent))
            mci_wait_step(&w);
    }
}

/* ---- children of other kinds ---- */
/* process_vm_* fails from here on, as in many containers. */
static int forbid_cma(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int filtered_main(void)
{
    uint64_t word;

    if (mci_peer_can_cma(child.parent) != 0)
        return 4;
    if (mci_peer_cma_read(child.parent, &word, (uintptr_t)&word, sizeof(word)) !=
        MCOMM_ERR_UNSUPPORTED)
        return 5;
    child_stream(300);
    return 0;
}

/* A process of its own holds copies of all descriptors until the parent closes the pipe. */
static void leave_forked_child(int fd)
{
    char c;

    if (fork() == 0) {
        ssize_t n = read(fd, &c, 1);

        _exit(n < 0);
    }
}

static int mesh_got;

static void mesh_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink)
{
    (void)payload;
    (void)sink;
    mesh_got += peer->proc_id == frame->w0;
}

/* Every process speaks to every other at the same time: both sides of each pair connect. */
static int mesh_main(int fd, bool is_shm_wanted)
{
    static struct mci_card cards[KID_MESH_SIZE];
    struct mci_peer *peers[KID_MESH_SIZE];
    struct mci_waiter w;

    for (size_t done = 0; done < sizeof(cards);) {
        ssize_t n = read(fd, (char *)cards + done, sizeof(cards) - done);

        if (n <= 0)
            return 6;
        done += (size_t)n;
    }
    mci_engine_lock();
    for (int i = 0; i < KID_MESH_SIZE; i++) {
        struct mci_frame frame = {.am = AM_MESH, .w0 = mci_rail_own_card()->proc_id};

        if (mci_peer_intern(&cards[i], sizeof(cards[i]), &peers[i]) != MCOMM_SUCCESS)
            return 7;
        if (peers[i] != mci_peer_self() &&
            mci_peer_send(peers[i], &frame, NULL, 0, NULL) != MCOMM_SUCCESS)
            return 8;
    }
    mci_wait_begin(&w, 20000);
    while (mesh_got < KID_MESH_SIZE - 1)
        if (mci_wait_step(&w) != MCOMM_SUCCESS)
            return 9;
    for (int i = 0; i < KID_MESH_SIZE; i++)
        if (is_shm_wanted && peers[i] != mci_peer_self() && peers[i]->ops != &mci_rail_shm_ops)
            return 10;
    mci_engine_unlock();
    /* Nobody leaves before all have got theirs. */
    return write(fd, "x", 1) == 1 && read(fd, cards, 1) == 1 ? 0 : 11;
}

/* Counts the process whose card comes as failed. */
static int refuser_main(int fd)
{
    struct mci_card card;
    struct mci_peer *peer;
    char c;

    if (read(fd, &card, sizeof(card)) != sizeof(card))
        return 6;
    mci_engine_lock();
    if (mci_peer_intern(&card, sizeof(card), &peer) != MCOMM_SUCCESS)
        return 7;
    mci_peer_fail(peer, "the test says so");
    mci_engine_unlock();
    return write(fd, "x", 1) == 1 && read(fd, &c, 1) == 0 ? 0 : 8;
}

/* argv: child MODE FD. Gives its card, then waits to be spoken to over shared memory. */
static int child_main(const char *mode, int fd)
{
    size_t nbytes;
    const void *card;
    struct mci_region *region = NULL;
    static uint64_t word = 0x1122334455667788;
    int rc = 0;

    mci_rail_set_am(AM_START, child_start);
    mci_rail_set_am(AM_PLACE, child_place);
    mci_rail_set_am(AM_MESH, mesh_frame);
    if (strcmp(mode, "filtered") == 0 && forbid_cma() != 0)
        return 77;
    base_up();
    if (mci_rail_start() != MCOMM_SUCCESS)
        return 2;
    child.src = malloc(BULK_NBYTES);
    card = mci_rail_card(&nbytes);
    if (strcmp(mode, "region") == 0) {
        mci_engine_lock();
        if (mci_region_create(1 << 20, 1 << 16, &region) != MCOMM_SUCCESS)
            return 2;
        mci_engine_unlock();
        pattern_fill(region->base, 1 << 20, 7, 0);
    }
    {
        uint64_t extra[2] = {region != NULL ? region->id : 0, (uintptr_t)&word};

        if (write(fd, card, nbytes) != (ssize_t)nbytes ||
            write(fd, extra, sizeof(extra)) != (ssize_t)sizeof(extra))
            return 2;
    }
    if (strcmp(mode, "region") == 0) {
        char c;

        return read(fd, &c, 1) == 0 ? 0 : 2; /* no call into the library until the parent ends */
    }
    if (strncmp(mode, "mesh", 4) == 0)
        return mesh_main(fd, strcmp(mode, "mesh") == 0);
    if (strcmp(mode, "refuser") == 0)
        return refuser_main(fd);
    mci_engine_lock();
    mci_wait_flag(&child.has_started, 20000);
    child.is_kicking = strcmp(mode, "kicks") == 0;
    if (strcmp(mode, "forked") == 0)
        leave_forked_child(fd);
    if (strcmp(mode, "filtered") == 0)
        rc = filtered_main();
    else
        child_stream(strcmp(mode, "limit") == 0 ? 300 : UINT32_MAX);
    mci_engine_unlock();
    mci_rail_stop(5000);
    base_down();
    return rc;
}

/* ---- the parent ---- */
struct incoming {
    mcomm_iov_t iov;
    uint32_t number;
    uint8_t buf[FRAME_SPAN];
};
struct kid_seen kid_seen;
static struct {
    struct mci_inop in;
    mcomm_iov_t iov;
    uint32_t in_number;
    uint8_t dst[BULK_NBYTES];
} place;

static void parent_sink_done(void *arg, mcomm_err_t err)
{
    struct incoming *in = arg;

    if (err == MCOMM_SUCCESS) {
        assert_int_equal(pattern_check(in->buf, in->iov.nbytes, in->number, 0), in->iov.nbytes);
        kid_seen.done++;
    } else {
        assert_int_equal(err, MCOMM_ERR_PROC_FAILED);
        kid_seen.aborted++;
    }
    free(in);
}

static void parent_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink)
{
    struct incoming *in;

    assert_ptr_equal(peer, kid_seen.peer);
    assert_int_equal(frame->w1, kid_seen.next);
    assert_int_equal(frame->nbytes, frame_size(frame->w1));
    kid_seen.next++;
    if (payload != NULL) {
        assert_int_equal(pattern_check(payload, frame->nbytes, frame->w1, 0), frame->nbytes);
        kid_seen.done++;
        return;
    }
    in = malloc(sizeof(*in));
    in->number = frame->w1;
    in->iov = (mcomm_iov_t){in->buf, frame->nbytes};
    *sink = (struct mci_sink){&in->iov, 1, parent_sink_done, in};
}

static void parent_in_done(struct mci_inop *op, mcomm_err_t err)
{
    (void)op;
    kid_seen.is_in_open = false;
    if (err != MCOMM_SUCCESS) {
        kid_seen.bulk_failed++;
        return;
    }
    assert_int_equal(pattern_check(place.dst, BULK_NBYTES, place.in_number, 0), BULK_NBYTES);
    kid_seen.bulk_done++;
}

static void parent_bulk(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                        struct mci_sink *sink)
{
    struct mci_frame answer = {.am = AM_PLACE};

    (void)payload;
    (void)sink;
    assert_int_equal(frame->w1, BULK_NBYTES);
    if (kid_seen.is_in_open)
        return;
    place.in_number = frame->w2;
    place.iov = (mcomm_iov_t){place.dst, BULK_NBYTES};
    place.in = (struct mci_inop){.peer = peer,
                                 .iov = &place.iov,
                                 .iov_count = 1,
                                 .nbytes = BULK_NBYTES,
                                 .done = parent_in_done};
    assert_int_equal(mci_inop_open(&place.in), MCOMM_SUCCESS);
    kid_seen.is_in_open = true;
    answer.w0 = place.in.id;
    mci_peer_send(peer, &answer, NULL, 0, NULL);
}

static void parent_failed(struct mci_peer *peer)
{
    if (peer == kid_seen.peer)
        kid_seen.failed_calls++;
}

void kid_read(int fd, void *buf, size_t nbytes)
{
    for (size_t done = 0; done < nbytes;) {
        ssize_t n = read(fd, (char *)buf + done, nbytes - done);

        assert_true(n > 0);
        done += (size_t)n;
    }
}

struct kid kid_spawn(const char *mode, struct mci_card *card)
{
    struct kid kid;
    uint64_t extra[2];
    char fd_text[16];
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    snprintf(fd_text, sizeof(fd_text), "%d", fds[1]);
    kid.pid = fork();
    assert_true(kid.pid >= 0);
    if (kid.pid == 0) {
        int fd = dup(fds[1]); /* loses close-on-exec */

        snprintf(fd_text, sizeof(fd_text), "%d", fd);
        execl("/proc/self/exe", "test", "child", mode, fd_text, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    kid.fd = fds[0];
    kid_read(kid.fd, card, sizeof(*card));
    kid_read(kid.fd, extra, sizeof(extra));
    kid.region_id = extra[0];
    kid.word_addr = extra[1];
    return kid;
}

void kid_know(const struct mci_card *card)
{
    mci_engine_lock();
    kid_seen.next = kid_seen.done = kid_seen.aborted = 0;
    kid_seen.bulk_done = kid_seen.bulk_failed = kid_seen.failed_calls = 0;
    kid_seen.is_in_open = false;
    assert_int_equal(mci_peer_intern(card, sizeof(*card), &kid_seen.peer), MCOMM_SUCCESS);
}

struct kid kid_start(const char *mode)
{
    struct mci_card card;
    struct kid kid = kid_spawn(mode, &card);

    kid_know(&card);
    return kid;
}

void kid_begin(void)
{
    struct mci_frame frame = {.am = AM_START};

    assert_int_equal(mci_peer_send(kid_seen.peer, &frame, NULL, 0, NULL), MCOMM_SUCCESS);
}

void kid_end(struct kid *kid, bool expect_killed)
{
    int status;

    mci_peer_release(kid_seen.peer);
    kid_seen.peer = NULL;
    mci_engine_unlock();
    close(kid->fd);
    assert_int_equal(waitpid(kid->pid, &status, 0), kid->pid);
    if (expect_killed)
        assert_true(WIFSIGNALED(status));
    else
        assert_int_equal(status, 0);
}

void kid_wait_frames(uint32_t count)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_wait_begin(&w, 20000);
    while (kid_seen.next < count && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    assert_int_equal(err, MCOMM_SUCCESS);
}

void kid_wait_failure(void)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_wait_begin(&w, 20000);
    while (!mci_peer_is_failed(kid_seen.peer) && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    assert_int_equal(err, MCOMM_SUCCESS);
}

int kid_rail_up(void **state)
{
    (void)state;
    mci_rail_set_am(AM_TEST, parent_frame);
    mci_rail_set_am(AM_BULK, parent_bulk);
    mci_rail_on_failed(parent_failed);
    base_up();
    return mci_rail_start() == MCOMM_SUCCESS ? 0 : -1;
}

int kid_rail_down(void **state)
{
    (void)state;
    mci_rail_stop(0);
    base_down();
    return 0;
}

void kid_main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "child") == 0)
        exit(child_main(argv[2], atoi(argv[3])));
}
