# L1 topo: add files here, one line each.
libmcomm_all_la_SOURCES += %D%/topo.h %D%/topo_priv.h %D%/topo.c %D%/machine.c %D%/cgroup.c %D%/cache.c
