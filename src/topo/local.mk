# L1 topo: add files here, one line each.
libmcomm_all_la_SOURCES +=
