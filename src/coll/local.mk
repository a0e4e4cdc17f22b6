# L6 coll: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/algos.h %D%/coll.h %D%/coll_priv.h %D%/fold.h %D%/node.h
libmcomm_all_la_SOURCES += %D%/module.c %D%/coll_api.c %D%/check.c %D%/call.c %D%/request.c
libmcomm_all_la_SOURCES += %D%/poison.c %D%/select.c %D%/plan.c %D%/fold.c %D%/node.c
libmcomm_all_la_SOURCES += %D%/slots.c %D%/rings.c %D%/rings.h %D%/ring.c
libmcomm_all_la_SOURCES += %D%/rings_reduce.c %D%/rings_spread.c %D%/rings_exchange.c
libmcomm_all_la_SOURCES += %D%/allgather_bruck.c %D%/allgather_ring.c %D%/allreduce_doubling.c
libmcomm_all_la_SOURCES += %D%/allreduce_ring.c %D%/alltoall_bruck.c %D%/alltoall_pairwise.c
libmcomm_all_la_SOURCES += %D%/barrier_dissemination.c %D%/bcast_binomial.c %D%/bcast_chain.c
libmcomm_all_la_SOURCES += %D%/gather_binomial.c %D%/gather_linear.c %D%/reduce_binomial.c
libmcomm_all_la_SOURCES += %D%/reduce_ring.c %D%/reduce_scatter_pairwise.c %D%/reduce_scatter_ring.c
libmcomm_all_la_SOURCES += %D%/scan_doubling.c %D%/scatter_binomial.c %D%/scatter_linear.c
libmcomm_all_la_SOURCES += %D%/tiers.c %D%/stages.c %D%/leaders.c
libmcomm_all_la_SOURCES += %D%/table.h %D%/table.c %D%/rules.c %D%/scan_chain.c
