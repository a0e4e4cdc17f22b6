# Run by hand, never by `make check`: make test/perf/shm_pingpong, test/perf/copy_kernels, test/perf/coll_rail
EXTRA_PROGRAMS += %D%/shm_pingpong
%C%_shm_pingpong_LDADD = $(UNIT_LDADD)
EXTRA_PROGRAMS += %D%/copy_kernels
%C%_copy_kernels_LDADD = $(UNIT_LDADD)
EXTRA_PROGRAMS += %D%/coll_rail
%C%_coll_rail_LDADD = libmooncake_comm.la
EXTRA_DIST += %D%/coll_rail.sh
