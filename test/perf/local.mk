# Run by hand, never by `make check`: make test/perf/shm_pingpong, test/perf/copy_kernels
EXTRA_PROGRAMS += %D%/shm_pingpong
%C%_shm_pingpong_LDADD = $(UNIT_LDADD)
EXTRA_PROGRAMS += %D%/copy_kernels
%C%_copy_kernels_LDADD = $(UNIT_LDADD)
