/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The Mooncake Comm Authors */
/* The segment that the members of a communicator on one node share. */
#ifndef MCI_COLL_NODE_H
#define MCI_COLL_NODE_H

#include "coll/coll_priv.h"

void mci_coll_node_free(struct coll_comm *cc);
void mci_coll_flow_end(struct coll_call *call);

#endif
