# L6 coll: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/algos.h %D%/coll.h %D%/coll_priv.h %D%/fold.h %D%/node.h %D%/fold_kernels.h
libmcomm_all_la_SOURCES += %D%/module.c %D%/coll_api.c %D%/check.c %D%/call.c %D%/request.c
libmcomm_all_la_SOURCES += %D%/poison.c %D%/select.c %D%/plan.c %D%/fold.c %D%/op.c %D%/node.c
libmcomm_all_la_SOURCES += %D%/lines.c %D%/slots.c %D%/rings.c %D%/rings.h %D%/ring.c
libmcomm_all_la_SOURCES += %D%/rings_reduce.c %D%/rings_spread.c %D%/rings_exchange.c %D%/rings_scan.c
libmcomm_all_la_SOURCES += %D%/allgather_bruck.c %D%/allgather_ring.c %D%/allreduce_doubling.c
libmcomm_all_la_SOURCES += %D%/allreduce_ring.c %D%/alltoall_bruck.c %D%/alltoall_pairwise.c
libmcomm_all_la_SOURCES += %D%/barrier_dissemination.c %D%/bcast_binomial.c %D%/bcast_chain.c
libmcomm_all_la_SOURCES += %D%/gather_binomial.c %D%/linear.c %D%/reduce_binomial.c
libmcomm_all_la_SOURCES += %D%/reduce_ring.c %D%/reduce_scatter_pairwise.c %D%/reduce_scatter_ring.c
libmcomm_all_la_SOURCES += %D%/scan_doubling.c %D%/scatter_binomial.c
libmcomm_all_la_SOURCES += %D%/tiers.c %D%/stages.c %D%/stages.h %D%/teams.c %D%/wide.c
libmcomm_all_la_SOURCES += %D%/barrier_leaders.c %D%/bcast_leaders.c %D%/reduce_leaders.c
libmcomm_all_la_SOURCES += %D%/allreduce_leaders.c %D%/reduce_slices.c %D%/allgather_leaders.c %D%/allgather_slices.c
libmcomm_all_la_SOURCES += %D%/gather_leaders.c %D%/scatter_leaders.c
libmcomm_all_la_SOURCES += %D%/counted_leaders.c %D%/reduce_scatter_leaders.c
libmcomm_all_la_SOURCES += %D%/reduce_scatter_slices.c %D%/scan_leaders.c %D%/alltoall_leaders.c
libmcomm_all_la_SOURCES += %D%/table.h %D%/table.c %D%/rules.c %D%/scan_chain.c
libmcomm_all_la_SOURCES += %D%/compare.c

# Loops over elements, one library for each set of instructions; fold.c chooses at run time.
FOLD_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
noinst_LTLIBRARIES += libmcomm_fold.la
libmcomm_fold_la_SOURCES = %D%/fold_kernels.c %D%/fold_scalar.c
libmcomm_fold_la_CPPFLAGS = $(AM_CPPFLAGS) -DFOLD_TABLE=mci_fold_plain -DFOLD_VLEN=16
libmcomm_fold_la_CFLAGS = $(FOLD_CFLAGS)
libmcomm_all_la_LIBADD += libmcomm_fold.la
if FOLD_X86
noinst_LTLIBRARIES += libmcomm_fold_avx2.la libmcomm_fold_avx512.la
libmcomm_fold_avx2_la_SOURCES = %D%/fold_kernels.c
libmcomm_fold_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DFOLD_TABLE=mci_fold_avx2 -DFOLD_VLEN=32
libmcomm_fold_avx2_la_CFLAGS = $(FOLD_CFLAGS) $(FOLD_AVX2_CFLAGS)
libmcomm_fold_avx512_la_SOURCES = %D%/fold_kernels.c
libmcomm_fold_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DFOLD_TABLE=mci_fold_avx512 -DFOLD_VLEN=64
libmcomm_fold_avx512_la_CFLAGS = $(FOLD_CFLAGS) $(FOLD_AVX512_CFLAGS)
libmcomm_all_la_LIBADD += libmcomm_fold_avx2.la libmcomm_fold_avx512.la
endif
