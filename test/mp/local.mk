# Multi-process tests: programs (linked with the shared library) and their case files.
MP_PROGS += %D%/rt_start
# Start-up is tested below the public interface: linked with the archive.
%C%_rt_start_LDADD = libmcomm_all.la
MP_CASES +=
