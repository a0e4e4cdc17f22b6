# mcomm_perf: one file a kind of benchmark.
bin_PROGRAMS += mcomm_perf
mcomm_perf_SOURCES = %D%/mcomm_perf.c %D%/bench.h %D%/measure.c %D%/bench_p2p.c %D%/bench_rma.c \
	%D%/bench_coll.c %D%/bench_kv.c %D%/bench_flag.c
mcomm_perf_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools
