# L6 coll: add files here, one line each.
libmcomm_all_la_SOURCES +=
