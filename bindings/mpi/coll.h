/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the files of collectives share. */
#ifndef MPI_COLL_H
#define MPI_COLL_H

#include "mpi_priv.h"

struct side { /* one end of an exchange: pieces of the caller's memory, and what the library sees */
    char *buf;
    char *wire; /* in place, or a packed copy */
    bool is_copy;
    int n;
    struct piece *pieces;
    size_t *bytes, *displs; /* of wire */
    struct piece piece;     /* where n is 1 */
    size_t one_bytes, one_displ;
};
struct exchange {
    enum collective which;
    int root;
    bool send_in_place, recv_in_place;
    bool recv_is_read, recv_is_written;
    struct side send, recv;
    size_t each; /* bytes of one rank's part, where all are equal or it is this one's */
};
int mpi_side_set(const struct owner *owner, struct side *side, const struct ends *ends, int n);
void mpi_side_pack(const struct side *side);
void mpi_side_unpack(const struct side *side);
void mpi_side_free(struct side *side);
int mpi_root_check(enum collective which, const struct comm *comm, int root);

#endif
