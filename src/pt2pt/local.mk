# L4 pt2pt: add files here, one line each.
libmcomm_all_la_SOURCES +=
