# Run by hand, never by `make check`: make test/perf/shm_pingpong
EXTRA_PROGRAMS += %D%/shm_pingpong
%C%_shm_pingpong_LDADD = $(UNIT_LDADD)
