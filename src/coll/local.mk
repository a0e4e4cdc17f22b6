# L6 coll: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/coll.h %D%/coll_priv.h
libmcomm_all_la_SOURCES += %D%/module.c %D%/coll_api.c %D%/select.c %D%/call.c %D%/poison.c
libmcomm_all_la_SOURCES += %D%/check.c %D%/op.c
libmcomm_all_la_SOURCES += %D%/barrier_dissemination.c %D%/bcast_binomial.c %D%/bcast_chain.c
libmcomm_all_la_SOURCES += %D%/allgather_bruck.c %D%/allgather_ring.c
libmcomm_all_la_SOURCES += %D%/allreduce_doubling.c %D%/allreduce_ring.c
