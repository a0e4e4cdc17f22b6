/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * Memory under load. credit: a flood of small messages to ranks that do not receive must not fill
 * their memory, and what was kept is given back. probe: millions of probes keep nothing. many: more
 * announced messages than a receiver accepts envelopes for. huge: a message of over 4 GiB, in
 * sparse memory. fair: of several that send without end to one that receives from any, nobody waits
 * for ever.
 */
#include "pt2pt_check.h"
#include "common/proc.h"

#include <sys/mman.h>

#define WORLD MCOMM_COMM_WORLD
#define MIB ((size_t)1 << 20)

static size_t scale; /* divides the work under a sanitizer */

/* All other ranks flood rank 0, which first looks away, long enough for them to fill what they may.
 */
static void flood_is_bounded(void)
{
    size_t each = 1000000 / scale / (size_t)(mp_size > 1 ? mp_size - 1 : 1);
    unsigned char buf[1024];
    size_t before, heap, worst = 0, senders = (size_t)mp_size - 1;

    if (mp_size == 1)
        return;
    if (mp_rank != 0) {
        pattern_fill(buf, sizeof(buf), 1);
        for (size_t i = 0; i < each; i++) {
            memcpy(buf, &i, sizeof(i));
            OK(mcomm_send(buf, sizeof(buf), 0, 5, WORLD));
        }
        return;
    }
    before = rss_now();
    heap = heap_now();
    for (int i = 0; i < 200000; i++) { /* progress, but no receive */
        int found;

        OK(mcomm_iprobe(MCOMM_ANY_SOURCE, 6, WORLD, &found, NULL));
        CHECK(!found);
    }
    for (int from = 1; from < mp_size; from++) {
        for (size_t i = 0; i < each; i++) {
            mcomm_status_t st;
            size_t got;

            OK(mcomm_recv(buf, sizeof(buf), from, 5, WORLD, &st));
            memcpy(&got, buf, sizeof(got));
            CHECK(got == i && st.nbytes == sizeof(buf));
            if (i % 1000 == 0 && rss_now() > worst)
                worst = rss_now();
        }
    }
    printf("flood: %zu KiB before, %zu KiB at worst\n", before / 1024, worst / 1024);
    /* credit is 4 MiB a sender; what the allocator adds is a part of it, and a sanitizer's
     * quarantine */
    CHECK(scale > 1 || worst < before + senders * 8 * MIB + 4 * MIB);
    printf("heap: %zu KiB before, %zu KiB afterwards\n", heap / 1024, heap_now() / 1024);
    /* given back, but for the buffers of connections */
    CHECK(scale > 1 || heap_now() < heap + senders * MIB);
}

/* Without credit every message waits at its sender. */
static void isend_flood_is_bounded(void)
{
    enum {
        MANY = 70000
    };
    size_t before, worst;
    mcomm_request_t *reqs;
    int *values;

    if (mp_size < 2 || mp_rank > 1)
        return;
    if (mp_rank == 1) {
        reqs = calloc(MANY, sizeof(*reqs));
        values = calloc(MANY, sizeof(*values));
        CHECK(reqs != NULL && values != NULL);
        for (int i = 0; i < MANY; i++) {
            values[i] = i;
            OK(mcomm_issend(&values[i], sizeof(int), 0, 7, WORLD, &reqs[i]));
        }
        OK(mcomm_waitall(MANY, reqs, MCOMM_FOREVER, NULL));
        free(reqs);
        free(values);
        return;
    }
    before = rss_now();
    OK(mcomm_probe(1, 7, WORLD, NULL));
    worst = rss_now();
    for (int i = 0; i < MANY; i++) {
        int value;

        OK(mcomm_recv(&value, sizeof(value), 1, 7, WORLD, NULL));
        CHECK(value == i);
        if (i % 1000 == 0 && rss_now() > worst)
            worst = rss_now();
    }
    printf("envelopes: %zu KiB before, %zu KiB at worst\n", before / 1024, worst / 1024);
    CHECK(scale > 1 || worst < before + 48 * MIB);
}

static void probes_keep_nothing(void)
{
    size_t before;
    int found, value = 3;

    if (mp_size == 1)
        OK(mcomm_send(&value, sizeof(value), 0, 8, WORLD));
    else if (mp_rank == 1)
        OK(mcomm_send(&value, sizeof(value), 0, 8, WORLD));
    if (mp_rank != 0)
        return;
    OK(mcomm_probe(MCOMM_ANY_SOURCE, 8, WORLD, NULL));
    for (int i = 0; i < 1000; i++)
        OK(mcomm_iprobe(MCOMM_ANY_SOURCE, 9, WORLD, &found, NULL));
    before = rss_now();
    for (size_t i = 0; i < 10000000 / scale; i++) {
        OK(mcomm_iprobe(MCOMM_ANY_SOURCE, i & 1 ? 9 : 8, WORLD, &found, NULL));
        CHECK(found == !(i & 1));
    }
    CHECK(rss_now() <= before + MIB / 4);
    OK(mcomm_recv(&value, sizeof(value), MCOMM_ANY_SOURCE, 8, WORLD, NULL));
    CHECK(value == 3);
}

static size_t memory_available(void)
{
    unsigned long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (size_t)kib * 1024;
}

/* More than 4 GiB from memory that is never touched but for a few marks; the receiver touches all
 * of its own. */
static void huge_message(void)
{
    size_t nbytes = ((size_t)4 << 30) + 3, pages = 5;
    unsigned char *buf;
    mcomm_status_t st;

    if (memory_available() < (size_t)12 << 30) {
        printf("SKIP: less than 12 GiB of memory available\n");
        OK(mcomm_finalize());
        exit(77);
    }
    buf = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               -1, 0);
    CHECK(buf != MAP_FAILED);
    if (mp_rank == 0)
        for (size_t i = 0; i <= pages; i++)
            buf[i * ((nbytes - 1) / pages)] = (unsigned char)(i + 1);
    if (mp_rank == 0)
        OK(mcomm_send(buf, nbytes, 1, 3, WORLD));
    if (mp_rank == 1) {
        OK(mcomm_recv(buf, nbytes, 0, 3, WORLD, &st));
        CHECK(st.nbytes == nbytes);
        for (size_t i = 0; i <= pages; i++)
            CHECK(buf[i * ((nbytes - 1) / pages)] == (unsigned char)(i + 1));
        CHECK(buf[nbytes / 2 + 1] == 0 && buf[(size_t)1 << 32 >> 1] == 0);
    }
    munmap(buf, nbytes);
}

/* The others send until they are told to stop; that comes once each has been heard often enough. */
static void nobody_starves(void)
{
    enum {
        TAG_DATA,
        TAG_STOP,
        TAG_LAST,
        ENOUGH = 2000
    };
    size_t heard[64] = {0};
    int is_told = 0, rich = 0;
    mcomm_comm_t comm; /* not the one in which the ranks meet later */
    mcomm_request_t stop;
    char buf[512] = {0};

    CHECK(mp_size <= 64);
    OK(mcomm_comm_dup(MCOMM_COMM_WORLD, MCOMM_INFO_NULL, &comm));
    if (mp_rank != 0) {
        OK(mcomm_irecv(NULL, 0, 0, TAG_STOP, comm, &stop));
        while (!is_told) {
            OK(mcomm_send(buf, (size_t)mp_rank * 100, 0, TAG_DATA, comm));
            OK(mcomm_test(&stop, &is_told, NULL));
        }
        OK(mcomm_send(NULL, 0, 0, TAG_LAST, comm));
        return;
    }
    for (int last = 0; last < mp_size - 1;) {
        mcomm_status_t st;

        OK(mcomm_recv(buf, sizeof(buf), MCOMM_ANY_SOURCE, MCOMM_ANY_TAG, comm, &st));
        last += st.tag == TAG_LAST;
        rich += st.tag == TAG_DATA && ++heard[st.source] == ENOUGH;
        if (rich < mp_size - 1 || is_told)
            continue;
        is_told = 1;
        for (int rank = 1; rank < mp_size; rank++)
            OK(mcomm_send(NULL, 0, rank, TAG_STOP, comm));
    }
    for (int rank = 1; rank < mp_size; rank++)
        printf("rank %d was heard %zu times\n", rank, heard[rank]);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *sanitize = getenv("MCOMM_TEST_SANITIZE");

    scale = sanitize != NULL && *sanitize != '\0' && strcmp(sanitize, "no") != 0 ? 20 : 1;
    mp_init();
    if (strcmp(what, "credit") == 0)
        flood_is_bounded();
    else if (strcmp(what, "many") == 0)
        isend_flood_is_bounded();
    else if (strcmp(what, "probe") == 0)
        probes_keep_nothing();
    else if (strcmp(what, "huge") == 0)
        huge_message();
    else if (strcmp(what, "fair") == 0)
        nobody_starves();
    else
        MP_FAIL("what is %s?", what);
    test_meet(1000);
    OK(mcomm_finalize());
    return 0;
}
