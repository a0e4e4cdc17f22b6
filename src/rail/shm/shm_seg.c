/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/*
 * The pair segment: one memfd, made by the connector, sealed so that nobody can make an access
 * fault by cutting it. It has no name anywhere: it goes with the last process that maps it. Slots
 * are backed at once; ring memory is taken as the ring is first used, so idle pairs cost little,
 * and lack of memory is an error, not a signal.
 *
 * File: head page; per direction one page of counters and one of slots; then per direction flags;
 * then per direction the ring.
 */
#include "config.h"

#include "base/log.h"
#include "rail/shm/shm_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#define FIXED_NBYTES (5u * MCI_SHM_PAGE)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

_Static_assert(MCI_SHM_SLOTS * sizeof(struct mci_shm_slot) == MCI_SHM_PAGE, "slots fill a page");

static size_t flags_nbytes(size_t ring_nbytes)
{
    return ring_nbytes / MCI_SHM_UNIT * MCI_SHM_FLAG_STRIDE;
}

static size_t file_nbytes(size_t ring_nbytes)
{
    return FIXED_NBYTES + 2 * flags_nbytes(ring_nbytes) + 2 * ring_nbytes;
}

int mci_shm_memfd(const char *name, size_t nbytes)
{
    struct rlimit limit;
    int fd, saved;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        nbytes > limit.rlim_cur) {
        errno = EFBIG; /* the kernel would send SIGXFSZ */
        return -1;
    }
    fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)nbytes) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* The ring, and its beginning once more behind its end: no payload ever wraps. */
static char *map_ring(int fd, size_t offset, size_t nbytes)
{
    char *base = mmap(NULL, nbytes + MCI_SHM_WRAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        return NULL;
    if (mmap(base, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) !=
            MAP_FAILED &&
        mmap(base + nbytes, MCI_SHM_WRAP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             (off_t)offset) != MAP_FAILED)
        return base;
    munmap(base, nbytes + MCI_SHM_WRAP);
    return NULL;
}

static mcomm_err_t seg_map(struct mci_shm_seg *seg)
{
    size_t flags = flags_nbytes(seg->ring_nbytes);
    char *base;

    seg->base_nbytes = FIXED_NBYTES + 2 * flags;
    base = mmap(NULL, seg->base_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, seg->fd, 0);
    if (base == MAP_FAILED)
        return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "mapping a pair segment of %zu bytes",
                           seg->base_nbytes);
    seg->base = base;
    for (int d = 0; d < 2; d++) {
        struct mci_shm_dir *dir = &seg->dir[d];

        dir->back = (void *)(base + (1 + 2 * d) * MCI_SHM_PAGE);
        dir->slots = (void *)(base + (2 + 2 * d) * MCI_SHM_PAGE);
        dir->flags = base + FIXED_NBYTES + d * flags;
        if (seg->ring_nbytes == 0)
            continue;
        dir->ring = map_ring(seg->fd, seg->base_nbytes + d * seg->ring_nbytes, seg->ring_nbytes);
        if (dir->ring == NULL)
            return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "mapping a ring of %zu bytes",
                               (size_t)seg->ring_nbytes);
    }
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_shm_seg_create(struct mci_shm_seg *seg, size_t ring_nbytes)
{
    struct mci_shm_head *head;
    mcomm_err_t err;

    memset(seg, 0, sizeof(*seg));
    seg->ring_nbytes = ring_nbytes;
    seg->fd = mci_shm_memfd("mcomm-pair", file_nbytes(ring_nbytes));
    if (seg->fd < 0)
        return mci_err_sys(mci_err_of_errno(errno), errno, "shared memory of %zu bytes for a pair",
                           file_nbytes(ring_nbytes));
    if (fallocate(seg->fd, 0, 0, FIXED_NBYTES) != 0 && errno != EOPNOTSUPP) {
        err = mci_err_sys(MCOMM_ERR_NO_MEM, errno, "shared memory of %u bytes", FIXED_NBYTES);
        mci_shm_seg_free(seg);
        return err;
    }
    err = seg_map(seg);
    if (err != MCOMM_SUCCESS) {
        mci_shm_seg_free(seg);
        return err;
    }
    head = seg->base;
    *head = (struct mci_shm_head){MCI_SHM_MAGIC, MCI_WIRE_VERSION, ring_nbytes,
                                  file_nbytes(ring_nbytes)};
    return MCOMM_SUCCESS;
}

/* Length and seals are the kernel's word; the head is the peer's and must agree with them. */
static mcomm_err_t head_read(int fd, struct mci_shm_head *head)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || st.st_size < (off_t)FIXED_NBYTES ||
        (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS ||
        pread(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
        return mci_err_set(MCOMM_ERR_AUTH, "the peer's pair segment is not a sealed memfd");
    if (head->magic != MCI_SHM_MAGIC || head->version != MCI_WIRE_VERSION ||
        head->ring_nbytes > MCI_SHM_RING_MAX ||
        (head->ring_nbytes & (head->ring_nbytes - 1)) != 0 ||
        (head->ring_nbytes != 0 && head->ring_nbytes < MCI_SHM_RING_MIN) ||
        file_nbytes(head->ring_nbytes) != (uint64_t)st.st_size)
        return mci_err_set(MCOMM_ERR_AUTH, "the peer's pair segment: version %u, ring %llu, %lld",
                           head->version, (unsigned long long)head->ring_nbytes,
                           (long long)st.st_size);
    return MCOMM_SUCCESS;
}

mcomm_err_t mci_shm_seg_attach(struct mci_shm_seg *seg, int fd)
{
    struct mci_shm_head head;
    mcomm_err_t err;

    memset(seg, 0, sizeof(*seg));
    seg->fd = fd;
    err = head_read(fd, &head);
    if (err == MCOMM_SUCCESS) {
        seg->ring_nbytes = head.ring_nbytes;
        err = seg_map(seg);
    }
    if (err != MCOMM_SUCCESS)
        mci_shm_seg_free(seg);
    return err;
}

void mci_shm_seg_free(struct mci_shm_seg *seg)
{
    for (int d = 0; d < 2; d++)
        if (seg->dir[d].ring != NULL)
            munmap(seg->dir[d].ring, seg->ring_nbytes + MCI_SHM_WRAP);
    if (seg->base != NULL)
        munmap(seg->base, seg->base_nbytes);
    if (seg->fd >= 0)
        close(seg->fd);
    memset(seg, 0, sizeof(*seg));
    seg->fd = -1;
}

/* fallocate() first: it fails where a store would raise SIGBUS. Then the pages are mapped at once.
 */
mcomm_err_t mci_shm_seg_grow(struct mci_shm_seg *seg, int dir, uint64_t pos)
{
    size_t offset = pos & (seg->ring_nbytes - 1);
    size_t flags = flags_nbytes(seg->ring_nbytes), flags_offset = flags_nbytes(offset);
    off_t at = (off_t)(seg->base_nbytes + (size_t)dir * seg->ring_nbytes + offset);

    if (fallocate(seg->fd, 0, at, MCI_SHM_GROW) != 0 ||
        fallocate(seg->fd, 0, (off_t)(FIXED_NBYTES + (size_t)dir * flags + flags_offset),
                  (off_t)flags_nbytes(MCI_SHM_GROW)) != 0)
        return mci_err_sys(MCOMM_ERR_NO_MEM, errno, "memory for a shared ring");
    madvise(seg->dir[dir].ring + offset, MCI_SHM_GROW, MADV_POPULATE_WRITE);
    return MCOMM_SUCCESS;
}
