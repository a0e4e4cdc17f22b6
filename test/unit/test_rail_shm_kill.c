/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The shm rail between real processes. A sender streams numbered frames and bulk operations until
 * it is killed at a random moment: what arrives must be an unbroken, undamaged beginning of it,
 * everything half-way must end with an error, and the loss must be noticed. Also: regions are
 * mapped from a peer that does nothing, messages sent before an orderly end arrive, a stopped
 * process is not a failed one, and cross-memory copies refuse bad addresses.
 */
#include "rail_shm_common.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED 0x2545f4914f6cdd1du
#define AM_TEST MCI_AM_P2P_EAGER
#define AM_BULK MCI_AM_P2P_RTS  /* child: here is an operation of w1 bytes; w2: its number */
#define AM_PLACE MCI_AM_P2P_CTS /* parent: push it into w0 */
#define AM_START MCI_AM_P2P_FIN /* parent: begin */
#define AM_MESH MCI_AM_P2P_CREDIT
#define BULK_NBYTES 700000u
#define FRAME_SPAN 20000u
#ifdef MCI_SANITIZE
#define ROUNDS 40 /* slow there */
#else
#define ROUNDS 200
#endif

static uint64_t rng = SEED;

static size_t frame_size(uint32_t number)
{
    uint64_t state = SEED + number;

    rng_next(&state);
    return number % 3 == 0 ? rng_next(&state) % 48 : rng_next(&state) % FRAME_SPAN;
}

/* ---- the child ---- */
static struct {
    struct mci_peer *parent;
    bool has_started;
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
        if (limit == UINT32_MAX)
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

#define MESH_SIZE 5
static int mesh_got;

static void mesh_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink)
{
    (void)payload;
    (void)sink;
    mesh_got += peer->proc_id == frame->w0;
}

/* Every process speaks to every other at the same time: both sides of each pair connect. */
static int mesh_main(int fd)
{
    static struct mci_card cards[MESH_SIZE];
    struct mci_peer *peers[MESH_SIZE];
    struct mci_waiter w;

    for (size_t done = 0; done < sizeof(cards);) {
        ssize_t n = read(fd, (char *)cards + done, sizeof(cards) - done);

        if (n <= 0)
            return 6;
        done += (size_t)n;
    }
    mci_engine_lock();
    for (int i = 0; i < MESH_SIZE; i++) {
        struct mci_frame frame = {.am = AM_MESH, .w0 = mci_rail_own_card()->proc_id};

        if (mci_peer_intern(&cards[i], sizeof(cards[i]), &peers[i]) != MCOMM_SUCCESS)
            return 7;
        if (peers[i] != mci_peer_self() &&
            mci_peer_send(peers[i], &frame, NULL, 0, NULL) != MCOMM_SUCCESS)
            return 8;
    }
    mci_wait_begin(&w, 20000);
    while (mesh_got < MESH_SIZE - 1)
        if (mci_wait_step(&w) != MCOMM_SUCCESS)
            return 9;
    for (int i = 0; i < MESH_SIZE; i++)
        if (peers[i] != mci_peer_self() && peers[i]->ops != &mci_rail_shm_ops)
            return 10;
    mci_engine_unlock();
    /* Nobody leaves before all have got theirs. */
    return write(fd, "x", 1) == 1 && read(fd, cards, 1) == 1 ? 0 : 11;
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
    if (strcmp(mode, "mesh") == 0)
        return mesh_main(fd);
    mci_engine_lock();
    mci_wait_flag(&child.has_started, 20000);
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
static struct {
    struct mci_peer *peer;
    uint32_t next, done, aborted;
    struct mci_inop in;
    mcomm_iov_t iov;
    uint32_t in_number;
    bool is_in_open;
    int bulk_done, bulk_failed;
    int failed_calls;
    uint8_t dst[BULK_NBYTES];
} parent;

static void parent_sink_done(void *arg, mcomm_err_t err)
{
    struct incoming *in = arg;

    if (err == MCOMM_SUCCESS) {
        assert_int_equal(pattern_check(in->buf, in->iov.nbytes, in->number, 0), in->iov.nbytes);
        parent.done++;
    } else {
        assert_int_equal(err, MCOMM_ERR_PROC_FAILED);
        parent.aborted++;
    }
    free(in);
}

static void parent_frame(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                         struct mci_sink *sink)
{
    struct incoming *in;

    assert_ptr_equal(peer, parent.peer);
    assert_int_equal(frame->w1, parent.next);
    assert_int_equal(frame->nbytes, frame_size(frame->w1));
    parent.next++;
    if (payload != NULL) {
        assert_int_equal(pattern_check(payload, frame->nbytes, frame->w1, 0), frame->nbytes);
        parent.done++;
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
    parent.is_in_open = false;
    if (err != MCOMM_SUCCESS) {
        parent.bulk_failed++;
        return;
    }
    assert_int_equal(pattern_check(parent.dst, BULK_NBYTES, parent.in_number, 0), BULK_NBYTES);
    parent.bulk_done++;
}

static void parent_bulk(struct mci_peer *peer, const struct mci_frame *frame, const void *payload,
                        struct mci_sink *sink)
{
    struct mci_frame answer = {.am = AM_PLACE};

    (void)payload;
    (void)sink;
    assert_int_equal(frame->w1, BULK_NBYTES);
    if (parent.is_in_open)
        return;
    parent.in_number = frame->w2;
    parent.iov = (mcomm_iov_t){parent.dst, BULK_NBYTES};
    parent.in = (struct mci_inop){.peer = peer,
                                  .iov = &parent.iov,
                                  .iov_count = 1,
                                  .nbytes = BULK_NBYTES,
                                  .done = parent_in_done};
    assert_int_equal(mci_inop_open(&parent.in), MCOMM_SUCCESS);
    parent.is_in_open = true;
    answer.w0 = parent.in.id;
    mci_peer_send(peer, &answer, NULL, 0, NULL);
}

static void parent_failed(struct mci_peer *peer)
{
    if (peer == parent.peer)
        parent.failed_calls++;
}

struct kid {
    pid_t pid;
    int fd;
    uint64_t region_id, word_addr;
};

static void read_all(int fd, void *buf, size_t nbytes)
{
    for (size_t done = 0; done < nbytes;) {
        ssize_t n = read(fd, (char *)buf + done, nbytes - done);

        assert_true(n > 0);
        done += (size_t)n;
    }
}

/* Starts a child and learns its card. */
static struct kid kid_spawn(const char *mode, struct mci_card *card)
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
    read_all(kid.fd, card, sizeof(*card));
    read_all(kid.fd, extra, sizeof(extra));
    kid.region_id = extra[0];
    kid.word_addr = extra[1];
    return kid;
}

/* Engine lock held from here to kid_end(). */
static void kid_know(const struct mci_card *card)
{
    mci_engine_lock();
    parent.next = parent.done = parent.aborted = 0;
    parent.bulk_done = parent.bulk_failed = parent.failed_calls = 0;
    parent.is_in_open = false;
    assert_int_equal(mci_peer_intern(card, sizeof(*card), &parent.peer), MCOMM_SUCCESS);
}

static struct kid kid_start(const char *mode)
{
    struct mci_card card;
    struct kid kid = kid_spawn(mode, &card);

    kid_know(&card);
    return kid;
}

static void kid_begin(void)
{
    struct mci_frame frame = {.am = AM_START};

    assert_int_equal(mci_peer_send(parent.peer, &frame, NULL, 0, NULL), MCOMM_SUCCESS);
}

static void kid_end(struct kid *kid, bool expect_killed)
{
    int status;

    mci_peer_release(parent.peer);
    parent.peer = NULL;
    mci_engine_unlock();
    close(kid->fd);
    assert_int_equal(waitpid(kid->pid, &status, 0), kid->pid);
    if (expect_killed)
        assert_true(WIFSIGNALED(status));
    else
        assert_int_equal(status, 0);
}

static void wait_frames(uint32_t count)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_wait_begin(&w, 20000);
    while (parent.next < count && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    assert_int_equal(err, MCOMM_SUCCESS);
}

static void wait_failure(void)
{
    struct mci_waiter w;
    mcomm_err_t err = MCOMM_SUCCESS;

    mci_wait_begin(&w, 20000);
    while (!mci_peer_is_failed(parent.peer) && err == MCOMM_SUCCESS)
        err = mci_wait_step(&w);
    assert_int_equal(err, MCOMM_SUCCESS);
}

static void what_a_killed_sender_published_is_whole(void **state)
{
    int total_aborted = 0, total_bulk = 0, total_bulk_failed = 0;
    uint64_t total = 0;

    (void)state;
    printf("# seed %#llx\n", (unsigned long long)SEED);
    for (int round = 0; round < ROUNDS; round++) {
        struct kid kid = kid_start("stream");

        kid_begin();
        wait_frames(1);
        /* Killed while this process goes on receiving: at any instruction of the sender's. */
        wait_frames(1 + rng_next(&rng) % 400);
        kill(kid.pid, SIGKILL);
        wait_failure();
        assert_int_equal(parent.failed_calls, 1);
        assert_false(parent.peer->has_left);
        assert_int_equal(parent.done + parent.aborted, parent.next);
        assert_false(parent.is_in_open);
        total += parent.next;
        total_aborted += (int)parent.aborted;
        total_bulk += parent.bulk_done;
        total_bulk_failed += parent.bulk_failed;
        kid_end(&kid, true);
    }
    printf("# %llu frames, %d cut off; %d operations, %d cut off\n", (unsigned long long)total,
           total_aborted, total_bulk, total_bulk_failed);
}

static void frames_sent_before_an_orderly_end_arrive(void **state)
{
    struct kid kid = kid_start("limit");

    (void)state;
    kid_begin();
    wait_failure();
    assert_int_equal(parent.next, 300);
    assert_int_equal(parent.done, 300);
    assert_true(parent.peer->has_left);
    kid_end(&kid, false);
}

static void a_stopped_process_has_not_failed(void **state)
{
    struct kid kid = kid_start("stream");
    struct mci_waiter w;
    uint32_t seen;

    (void)state;
    kid_begin();
    wait_frames(50);
    kill(kid.pid, SIGSTOP);
    waitpid(kid.pid, NULL, WUNTRACED);
    mci_wait_begin(&w, 200); /* a quiet time is what is looked for here */
    while (mci_wait_step(&w) == MCOMM_SUCCESS)
        ;
    assert_false(mci_peer_is_failed(parent.peer));
    seen = parent.next;
    kill(kid.pid, SIGCONT);
    wait_frames(seen + 50);
    kill(kid.pid, SIGKILL);
    wait_failure();
    kid_end(&kid, true);
}

static void regions_of_an_idle_process_can_be_mapped(void **state)
{
    struct kid kid = kid_start("region");
    size_t nbytes = 0;
    void *base = NULL, *again = NULL;

    (void)state;
    assert_int_equal(mci_region_map(parent.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_SUCCESS);
    assert_int_equal(nbytes, 1 << 20);
    assert_int_equal(pattern_check(base, nbytes, 7, 0), nbytes);
    assert_int_equal(mci_region_map(parent.peer, kid.region_id + 1, 10000, &again, &nbytes),
                     MCOMM_ERR_NOT_FOUND);
    assert_int_equal(mci_region_map(parent.peer, kid.region_id, 10000, &again, &nbytes),
                     MCOMM_SUCCESS);
    memset(base, 0x5a, nbytes);
    assert_int_equal(((uint8_t *)again)[12345], 0x5a);
    kill(kid.pid, SIGKILL);
    wait_failure();
    assert_int_equal(((uint8_t *)again)[54321], 0x5a); /* outlives its owner, no SIGBUS */
    mci_region_unmap(base, nbytes);
    mci_region_unmap(again, nbytes);
    assert_int_equal(mci_region_map(parent.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_ERR_PROC_FAILED);
    kid_end(&kid, true);
}

static void cross_memory_copies_work_or_say_why_not(void **state)
{
    struct kid kid = kid_start("region");
    uint64_t word = 0, other = 0x8877665544332211;
    size_t nbytes;
    void *base;

    (void)state;
    assert_int_equal(mci_region_map(parent.peer, kid.region_id, 10000, &base, &nbytes),
                     MCOMM_SUCCESS);
    mci_region_unmap(base, nbytes);
    if (mci_peer_can_cma(parent.peer) != 1) {
        printf("# no cross-memory attach here\n");
        assert_int_equal(mci_peer_cma_read(parent.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_ERR_UNSUPPORTED);
    } else {
        assert_int_equal(mci_peer_cma_read(parent.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_SUCCESS);
        assert_int_equal(word, 0x1122334455667788);
        assert_int_equal(mci_peer_cma_write(parent.peer, &other, kid.word_addr, sizeof(other)),
                         MCOMM_SUCCESS);
        assert_int_equal(mci_peer_cma_read(parent.peer, &word, kid.word_addr, sizeof(word)),
                         MCOMM_SUCCESS);
        assert_int_equal(word, other);
        assert_int_equal(mci_peer_cma_read(parent.peer, &word, 16, sizeof(word)), MCOMM_ERR_BUFFER);
    }
    kid_end(&kid, false);
}

static void frames_flow_where_cma_is_forbidden(void **state)
{
    struct kid kid = kid_start("filtered");

    (void)state;
    kid_begin();
    wait_failure();
    assert_int_equal(parent.done, 300);
    kid_end(&kid, false);
}

static void a_death_is_noticed_though_a_forked_child_lives(void **state)
{
    struct kid kid = kid_start("forked");

    (void)state;
    kid_begin();
    wait_frames(20);
    kill(kid.pid, SIGKILL);
    wait_failure();
    assert_int_equal(parent.done + parent.aborted, parent.next);
    kid_end(&kid, true);
}

static void tcp_carries_a_peer_whose_socket_is_not_there(void **state)
{
    struct mci_card card;
    struct kid kid = kid_spawn("limit", &card);

    (void)state;
    mci_random(card.unix_name, sizeof(card.unix_name));
    kid_know(&card);
    kid_begin();
    wait_failure();
    assert_ptr_equal(parent.peer->ops, &mci_rail_tcp_ops);
    assert_int_equal(parent.done, 300);
    kid_end(&kid, false);
}

static void all_processes_may_connect_to_each_other_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct mci_card cards[MESH_SIZE];
        struct kid kids[MESH_SIZE];
        char c;

        for (int i = 0; i < MESH_SIZE; i++)
            kids[i] = kid_spawn("mesh", &cards[i]);
        for (int i = 0; i < MESH_SIZE; i++)
            assert_int_equal(write(kids[i].fd, cards, sizeof(cards)), sizeof(cards));
        for (int i = 0; i < MESH_SIZE; i++)
            read_all(kids[i].fd, &c, 1);
        for (int i = 0; i < MESH_SIZE; i++)
            assert_int_equal(write(kids[i].fd, "x", 1), 1);
        for (int i = 0; i < MESH_SIZE; i++) {
            int status;

            assert_int_equal(waitpid(kids[i].pid, &status, 0), kids[i].pid);
            assert_int_equal(status, 0);
            close(kids[i].fd);
        }
    }
}

static void own_regions_can_be_mapped_and_ids_are_never_reused(void **state)
{
    struct mci_region *region;
    uint64_t last = 0;
    size_t nbytes;
    void *base;

    (void)state;
    mci_engine_lock();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mci_region_create(5000, 1 << 21, &region), MCOMM_SUCCESS);
        assert_true(region->id > last);
        last = region->id;
        assert_int_equal((uintptr_t)region->base % (1 << 21), 0);
        memset(region->base, i, 5000);
        assert_int_equal(mci_region_map(mci_peer_self(), region->id, 0, &base, &nbytes),
                         MCOMM_SUCCESS);
        mci_region_free(region);
        assert_int_equal(*(uint8_t *)base, (uint8_t)i);
        mci_region_unmap(base, nbytes);
        assert_int_equal(mci_region_map(mci_peer_self(), last, 0, &base, &nbytes),
                         MCOMM_ERR_NOT_FOUND);
    }
    assert_int_equal(mci_region_create(0, 0, &region), MCOMM_ERR_COUNT);
    assert_int_equal(mci_region_create(10, 48, &region), MCOMM_ERR_ARG);
    assert_int_equal(mci_region_create(SIZE_MAX - 5, 0, &region), MCOMM_ERR_COUNT);
    mci_engine_unlock();
}

static int rail_up(void **state)
{
    (void)state;
    mci_rail_set_am(AM_TEST, parent_frame);
    mci_rail_set_am(AM_BULK, parent_bulk);
    mci_rail_on_failed(parent_failed);
    base_up();
    return mci_rail_start() == MCOMM_SUCCESS ? 0 : -1;
}

static int rail_down(void **state)
{
    (void)state;
    mci_rail_stop(0);
    base_down();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_sender_published_is_whole),
        cmocka_unit_test(frames_sent_before_an_orderly_end_arrive),
        cmocka_unit_test(a_stopped_process_has_not_failed),
        cmocka_unit_test(regions_of_an_idle_process_can_be_mapped),
        cmocka_unit_test(cross_memory_copies_work_or_say_why_not),
        cmocka_unit_test(frames_flow_where_cma_is_forbidden),
        cmocka_unit_test(a_death_is_noticed_though_a_forked_child_lives),
        cmocka_unit_test(tcp_carries_a_peer_whose_socket_is_not_there),
        cmocka_unit_test(all_processes_may_connect_to_each_other_at_once),
        cmocka_unit_test(own_regions_can_be_mapped_and_ids_are_never_reused),
    };

    if (argc == 4 && strcmp(argv[1], "child") == 0)
        return child_main(argv[2], atoi(argv[3]));
    return cmocka_run_group_tests(tests, rail_up, rail_down);
}
