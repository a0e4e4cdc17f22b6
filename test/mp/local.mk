# Multi-process tests: programs (linked with the shared library) and their case files.
MP_PROGS += %D%/rt_start
# Start-up is tested below the public interface: linked with the archive.
%C%_rt_start_LDADD = libmcomm_all.la
MP_CASES +=
EXTRA_DIST += %D%/mp.h

# core: communicators, start and end
MP_PROGS += %D%/comm %D%/init
MP_CASES += %D%/comm_dup.mp %D%/comm_split.mp %D%/comm_node.mp %D%/comm_node2.mp %D%/comm_node3.mp \
	%D%/comm_many.mp %D%/comm_group.mp %D%/comm_threads.mp %D%/comm_oob.mp %D%/comm_limit.mp
MP_CASES += %D%/init_cycles.mp %D%/init_cycles_alone.mp %D%/init_counted.mp %D%/init_fork.mp \
	%D%/init_attr.mp
