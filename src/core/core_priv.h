/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* What the files of core share among themselves. */
#ifndef MCI_CORE_CORE_PRIV_H
#define MCI_CORE_CORE_PRIV_H

#include "core/core.h"
#include "rt/rt.h"

#include <string.h>

/* ---- the life of the library (init.c) -------------------------------------------------------- */
mcomm_err_t mci_core_init(const mcomm_init_attr_t *attr); /* attr complete and checked */
mcomm_err_t mci_core_finalize(void);
struct mci_rt *mci_core_rt(void);     /* NULL unless up */
const char *mci_core_boot_text(void); /* "" unless up */

/* ---- news of the bootstrap (event.c) --------------------------------------------------------- */
mcomm_err_t mci_core_event_start(struct mci_rt *rt);
void mci_core_event_stop(struct mci_rt *rt); /* twice is legal */

struct mci_info;

/* ---- communicators (comm.c) ------------------------------------------------------------------ */
mcomm_err_t mci_comms_init(void);
void mci_comms_end(void);  /* those that are left become zombies, with hooks. lock: engine */
void mci_comms_fini(void); /* after the rails stopped: frees the zombies */
void mci_comms_peer_failed(struct mci_peer *peer); /* lock: engine */
const char *mci_comms_oldest_text(void);
void mci_comms_drop_user_refs(void); /* handles become invalid. lock: engine */
size_t mci_comms_count(void);
/* MCOMM_ERR_LIMIT, with the number of live ones and where the oldest was made. lock: engine */
mcomm_err_t mci_comms_check_room(void);
uint64_t
mci_comms_next_ctx(void); /* derived from this process's identity; used by nobody. lock: engine */
/* The user's handle goes; object when the last pending operation ends. lock: engine */
void mci_comm_free(struct mci_comm *comm);

/* ---- making of communicators (comm_make.c). lock: engine ------------------------------------- */
/* info: NULL, or hints that go before the parent's; those of rank 0 count. */
mcomm_err_t mci_comm_dup(struct mci_comm *comm, const struct mci_info *info,
                         struct mci_comm **newcomm_p);
/* *newcomm_p = NULL for MCOMM_RANK_UNDEFINED */
mcomm_err_t mci_comm_split(struct mci_comm *comm, int colour, int key, struct mci_comm **newcomm_p);
mcomm_err_t mci_comm_create_group(struct mci_comm *comm, struct mci_group *group, int tag,
                                  struct mci_comm **newcomm_p);
/* lock: none, taken inside: the caller's allgather runs without it */
mcomm_err_t mci_comm_create_oob(const mcomm_oob_t *oob, struct mci_comm **newcomm_p);

/* ---- the tree of members (tree.c) ------------------------------------------------------------ */
struct mci_tree {
    struct mci_comm *comm;
    enum mci_ctx_space space;
    int tag;
    int size, rank;                /* of the tree; rank 0 is its root */
    const struct mci_group *group; /* of the members; NULL: all, (rank + root) % size in comm */
    int root;
    int64_t deadline_ns;
};
/*
 * Up: mine of every rank comes to the root; down: all of it goes to every rank (up_nbytes each, in
 * order of tree rank). err: as in mci_comm_allgather(). all may be NULL if err is an error.
 */
mcomm_err_t mci_tree_allgather(struct mci_tree *tree, mcomm_err_t err, const void *mine, void *all,
                               size_t nbytes);
mcomm_err_t mci_tree_bcast(struct mci_tree *tree, mcomm_err_t err, void *buf, size_t nbytes);
/* Frame handler of MCI_AM_CORE_FAILED. */
void mci_tree_on_death(struct mci_peer *from, const struct mci_frame *frame, const void *payload,
                       struct mci_sink *sink);
void mci_tree_begin(struct mci_tree *tree, struct mci_comm *comm, int root);

/* ---- groups (group.c, group_set.c). lock: engine where peers' references change ---------------
 */
struct mci_group *mci_group_union(struct mci_group *a, struct mci_group *b);
struct mci_group *mci_group_select(struct mci_group *a, struct mci_group *b, bool is_in_b);
struct mci_group *mci_group_incl(struct mci_group *group, size_t count, const int *ranks);
struct mci_group *mci_group_excl(struct mci_group *group, size_t count, const int *ranks);
mcomm_compare_t mci_group_compare(const struct mci_group *a, const struct mci_group *b);
uint64_t mci_group_hash(const struct mci_group *group); /* of members and order */

/* ---- requests (request.c) -------------------------------------------------------------------- */
/* A request that is done leaves the user's hands: status out, freed or inactive. Returns its error.
 * lock: engine */
mcomm_err_t mci_request_finish(struct mci_request *req, mcomm_request_t *request_p,
                               mcomm_status_t *status_p);
/* The user gives it up. lock: engine */
void mci_request_detach(struct mci_request *req);
mcomm_err_t mci_request_cancel(struct mci_request *req); /* lock: engine */
mcomm_err_t mci_request_start(struct mci_request *req);  /* lock: engine */
void mci_status_clear(mcomm_status_t *status);           /* the empty status */

/* ---- more checks (check.c) ------------------------------------------------------------------- */
/* A caller's struct may be older (shorter) or newer (longer) than ours, but not shorter than min.
 */
mcomm_err_t mci_check_struct_size(const char *name, size_t struct_size, size_t min);
mcomm_err_t mci_check_oob(const char *name, const mcomm_oob_t *oob);
/* Fill a caller's struct from ours, as much as it knows; its struct_size stays. */
static inline void mci_copy_out(void *dst, const void *src, size_t src_nbytes)
{
    size_t struct_size = *(const size_t *)dst;
    size_t nbytes = struct_size < src_nbytes ? struct_size : src_nbytes;

    memcpy((char *)dst + sizeof(size_t), (const char *)src + sizeof(size_t),
           nbytes - sizeof(size_t));
}

#endif
